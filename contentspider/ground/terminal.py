"""Makes untrusted text safe for terminals and logs: no control characters, no passwords."""

from __future__ import annotations

import logging
import re
import sys
from typing import TYPE_CHECKING
from unicodedata import category, east_asian_width

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

# Control characters except tab and line feed, and marks that change the direction of text.
STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
NUMBER = re.compile(r"-|[\d,.]+( s)?")
CREDENTIALS = re.compile(r"(?<=://)[^/?#\s'\"<>]*@")


def printable(text: str) -> str:
    r"""Return a text that is safe to print. Control characters and halves of surrogate pairs are
    replaced, and passwords in addresses are hidden.

    >>> printable("\x1b[2Jhttps://me:secret@example.org/\ud83d")
    '\ufffd[2Jhttps://***@example.org/?'
    """
    text = CREDENTIALS.sub("***@", STEERING.sub("\ufffd", text))
    return text.encode("utf-8", "replace").decode()


def escape_steering(text: str) -> str:
    r"""Return JSON that is safe to print, and has the same values: control characters and marks
    that change the direction of text are escaped.

    >>> escape_steering('{"title": "a\x9bb"}')
    '{"title": "a\\u009bb"}'
    """
    return STEERING.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


# What `worded` applies.
_rewordings: list[Callable[[str], str]] = []


def reword(by: Callable[[str], str]) -> None:
    """From now on, what this process says and logs is put in other words by a function."""
    _rewordings.append(by)


def worded(text: str) -> str:
    """Return a text as `reword` asks for it."""
    for by in _rewordings:
        text = by(text)
    return text


def say(text: str) -> None:
    """Write a line to standard error, as `worded` and `printable` return it."""
    sys.stderr.write(printable(worded(text)) + "\n")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table, made safe by `printable`. Columns of numbers stand right.

    >>> table(["site", "pages"], [["tea", "1,200"], ["milk", "3"]])
    ['site  pages', 'tea   1,200', 'milk      3']
    >>> table(["title", "change"], [["緑茶", "new"], ["ที่", "gone"]])
    ['title  change', '緑茶   new', 'ที่      gone']
    """
    cells = [[" ".join(printable(cell).split()) or "-" for cell in row] for row in (head, *rows)]
    columns = list(zip(*cells, strict=True))
    widths = [max(map(columns_of, column)) for column in columns]
    are_numbers = [all(map(NUMBER.fullmatch, column[1:])) for column in columns]
    return [
        "  ".join(
            cell.rjust(width) if is_number else cell + " " * (width - columns_of(cell))
            for cell, width, is_number in zip(row, widths, are_numbers, strict=True)
        ).rstrip()
        for row in cells
    ]


def columns_of(text: str) -> int:
    """Return how many columns of a terminal a printable text takes: two for wide characters of East
    Asia, none for marks on letters and for joiners.

    >>> columns_of("tea"), columns_of("緑茶"), columns_of("ที่")
    (3, 4, 1)
    """
    if text.isascii():
        return len(text)
    return sum(
        0 if category(char) in ("Mn", "Me", "Cf") else 1 + (east_asian_width(char) in "WF")
        for char in text
    )


class SafeFormatter(logging.Formatter):
    """Formats log records as `logging.Formatter` does, `worded` and `printable`."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the lines of a log record."""
        return printable(worded(super().format(record)))
