"""How two versions of a page differ: as a whole, and in their main content."""

from __future__ import annotations

import difflib
from hashlib import blake2b
from typing import TYPE_CHECKING

from rapidfuzz.distance import Indel

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from contentspider.page.document import Page

# Of longer texts the paragraphs are compared: words would take minutes.
MAX_WORDS = 20_000


def text_hash(page: Page) -> str:
    """Return a hash of a page's whole text, 32 hexadecimal digits: whatever a model keeps of it."""
    text = "\n".join(block.text for block in page.content.blocks)
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def change_ratio(old: str, new: str) -> float:
    """Return how much of two texts differs: 0 (nothing) to 1 (all), by the longest common
    subsequence of their words.

    >>> change_ratio("The ferry leaves at nine", "The ferry leaves at ten")
    0.2
    """
    first, second = old.split(), new.split()
    if len(first) + len(second) > 2 * MAX_WORDS:
        first, second = old.splitlines(), new.splitlines()
    ratio = Indel.normalized_distance(first, second)
    # What differs at all is no 0, however long the text.
    return max(round(ratio, 4), 0.0001) if first != second else 0.0


def is_recut(old: Page, old_content: str, new: Page, new_content: str) -> bool:
    """Tell whether the contents of two versions of a page differ only in which of its texts they
    have: what one has alone stands on the other page, too, outside of the content.
    """
    before, now = _lines([old_content]), _lines([new_content])
    return (
        before != now
        and now - before <= _lines(block.text for block in old.content.blocks)
        and before - now <= _lines(block.text for block in new.content.blocks)
    )


def _lines(texts: Iterable[str]) -> set[str]:
    # The cells of a table's row are one line of a content, with tabs.
    return {cell for text in texts for line in text.splitlines() for cell in line.split("\t")}


def diff_lines(old: str, new: str, before: str, after: str) -> Iterator[str]:
    """Yield what changed from one text to another, as a unified diff of their lines; *before* and
    *after* name the two.
    """
    return difflib.unified_diff(old.splitlines(), new.splitlines(), before, after, lineterm="", n=1)
