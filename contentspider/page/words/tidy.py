"""Cleans short texts for display: one line, limited length, printable characters only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from contentspider.page.tree.text import clean_text

if TYPE_CHECKING:
    from collections.abc import Iterable

CONTROLS = dict.fromkeys([*range(0x20), *range(0x7F, 0xA0)], " ")
# These characters change the direction of the text that follows.
CONTROLS.update(dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A)], ""))


def tidy(text: str, limit: int) -> str:
    """Return *text* on one line with at most *limit* characters, without control characters and
    lone surrogates.
    """
    text = text[: 4 * limit]
    if not text.isprintable():
        text = text.encode("utf-8", "replace").decode().translate(CONTROLS)
    return clean_text(text)[:limit].rstrip()


def unique(texts: Iterable[str], most: int, limit: int) -> tuple[str, ...]:
    """Return the first *most* different *texts*, each cleaned by `tidy` to *limit* characters.

    Empty texts are left out. Texts that differ only in upper and lower case count as equal.
    """
    texts_by_key: dict[str, str] = {}
    for text in texts:
        if len(texts_by_key) == most:
            break
        if cleaned := tidy(text, limit):
            texts_by_key.setdefault(cleaned.casefold(), cleaned)
    return tuple(texts_by_key.values())
