"""How two versions of a page differ: as a whole, and in their main content."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

from rapidfuzz.distance import Indel

if TYPE_CHECKING:
    from contentspider.page.input.page import Page

MAX_WORDS = 20_000  # longer texts are compared by paragraphs: words would take minutes


@dataclass(frozen=True, slots=True)
class Difference:
    """How a page differs from the known one; *numbered*: places where only numbers do; *lines*:
    those that differ (`contentspider.recrawl.template`), if they are few.
    """

    change: str
    cause: str = ""
    ratio: float = 0.0
    numbered: tuple[str, ...] = ()
    is_recut: bool = False
    lines: tuple[str, ...] = ()


def text_hash(page: Page) -> str:
    """Return a hash of a page's whole text, 32 hexadecimal digits, independent of the model."""
    text = "\n".join(block.text for block in page.content.blocks)
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def change_ratio(old: str, new: str) -> float:
    """Return how much of two texts differs, 0 to 1, by the longest common subsequence of words.

    >>> change_ratio("The ferry leaves at nine", "The ferry leaves at ten")
    0.2
    """
    first, second = old.split(), new.split()
    if len(first) + len(second) > 2 * MAX_WORDS:
        first, second = old.splitlines(), new.splitlines()
    ratio = Indel.normalized_distance(first, second)
    # Different texts never have a ratio of 0.
    return max(round(ratio, 4), 0.0001) if first != second else 0.0


def is_recut(old: Page, old_content: str, new: Page, new_content: str) -> bool:
    """Tell whether contents differ only in kept blocks: what one lacks is elsewhere on its page."""
    before, now = _lines([old_content]), _lines([new_content])
    return (
        before != now
        and now - before <= _lines(block.text for block in old.content.blocks)
        and before - now <= _lines(block.text for block in new.content.blocks)
    )


def without_recut(old: Page, old_content: str, new: Page, new_content: str) -> tuple[str, str]:
    """Return both contents without text that only one of them has, but both pages."""
    before, now = old_content.splitlines(), new_content.splitlines()
    on_old, on_new = (_lines(block.text for block in page.content.blocks) for page in (old, new))
    return (
        "\n".join(_shared(before, frozenset(now), on_new)),
        "\n".join(_shared(now, frozenset(before), on_old)),
    )


def _shared(lines: list[str], others: frozenset[str], texts: set[str]) -> Iterator[str]:
    for line in lines:
        if line in others or not texts.issuperset(line.split("\t")):
            yield line


def cells(content: str) -> Iterator[str]:
    """Yield the lines of a content, and each cell of a table's row, which is a line with tabs."""
    return (cell for line in content.splitlines() for cell in line.split("\t"))


def _lines(texts: Iterable[str]) -> set[str]:
    return {cell for text in texts for cell in cells(text)}


def diff_lines(old: str, new: str, before: str, after: str) -> Iterator[str]:
    """Yield a unified diff of two texts, which *before* and *after* name."""
    return difflib.unified_diff(old.splitlines(), new.splitlines(), before, after, lineterm="", n=1)
