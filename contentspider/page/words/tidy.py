"""Short texts for display: on one line, bounded, printable."""

from __future__ import annotations

from typing import TYPE_CHECKING

from contentspider.page.tree.text import clean_text

if TYPE_CHECKING:
    from collections.abc import Iterable

CONTROLS = dict.fromkeys([*range(0x20), *range(0x7F, 0xA0)], " ")
# They change the direction of the following text.
CONTROLS.update(dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A)], ""))


def tidy(text: str, limit: int) -> str:
    """Return *text* on one line of *limit* characters, without controls and half characters."""
    text = text[: 4 * limit]
    if not text.isprintable():
        text = text.encode("utf-8", "replace").decode().translate(CONTROLS)
    return clean_text(text)[:limit].rstrip()


def unique(texts: Iterable[str], most: int, limit: int) -> tuple[str, ...]:
    """Return *most* of the *texts*, each `tidy`; no empty ones, none twice but for capitals."""
    found: dict[str, str] = {}
    for text in texts:
        if len(found) == most:
            break
        if word := tidy(text, limit):
            found.setdefault(word.casefold(), word)
    return tuple(found.values())
