"""Untrusted text for a terminal or a log, without control characters and passwords."""

from __future__ import annotations

import logging
import re
import sys

# Control characters but tab and line feed, and marks that change the direction of text.
STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
CREDENTIALS = re.compile(r"(?<=://)[^/?#\s'\"<>]*@")


def printable(text: str) -> str:
    r"""Return the text as it may be printed: control characters and halves of surrogate pairs
    replaced, passwords in addresses left out.

    >>> printable("\x1b[2Jhttps://me:secret@example.org/\ud83d")
    '\ufffd[2Jhttps://***@example.org/?'
    """
    text = CREDENTIALS.sub("***@", STEERING.sub("\ufffd", text))
    return text.encode("utf-8", "replace").decode()


def say(text: str) -> None:
    """Write a line to standard error, as `printable` makes it."""
    sys.stderr.write(printable(text) + "\n")


class SafeFormatter(logging.Formatter):
    """Formats log records as `logging.Formatter` does, and makes them `printable`."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record's lines."""
        return printable(super().format(record))
