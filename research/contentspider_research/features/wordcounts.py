"""The six word features of Uzun, Agun and Yerlikaya (2013, section 4.2), exact, by three kinds of
blocks: ours, and two that stand around them.
"""

from __future__ import annotations

from collections import Counter
from math import log2
from typing import TYPE_CHECKING, NamedTuple

from contentspider.page.tree.tags import is_link
from contentspider.page.tree.text import runs

if TYPE_CHECKING:
    from collections.abc import Collection

    from contentspider.page.tree.blocks import Block, PageBlocks

# The paper's blocks: these elements without such elements in them.
CELLS = frozenset(["div", "td"])
# What pages of today are laid out with beside them.
LAYOUT = CELLS | frozenset("section article main aside nav header footer li ul ol table".split())


class WordCounts(NamedTuple):
    """A block's words, its links, and the words in them; *page_words* are the whole page's."""

    words: int
    links: int
    linked: int
    page_words: int

    @property
    def density(self) -> float:
        """Return the share of the page's words."""
        return self.words / max(self.page_words, 1)

    @property
    def words_per_link(self) -> float:
        """Return the words in links a link, 0 if there are none."""
        return self.linked / max(self.links, 1)

    @property
    def link_ratio(self) -> float:
        """Return the share of the words that are in links."""
        return self.linked / max(self.words, 1)


def bin_of(value: float, steps: float = 2) -> int:
    """Return the number of a bin on a logarithmic scale: *steps* bins to a doubling."""
    return int(steps * log2(1 + value))


def block_words(block: Block) -> tuple[list[str], int]:
    """Return the words of a block, and how many of them stand in links.

    A word ends where a link begins or ends, because the items of a menu may stand side by side
    without a space. For links in preformatted text and on rendered pages, only the number of
    characters is known: if all characters are in links, all words are, and otherwise none.
    """
    links = sorted((start, end) for start, end, mark in block.spans if is_link(mark))
    if not links:
        words = runs(block.text)
        return words, len(words) if block.link_chars >= len(block.text) else 0
    words, linked, at = [], 0, 0
    for start, end in links:
        words += runs(block.text[at:start])
        inside = runs(block.text[start:end])
        words, linked, at = words + inside, linked + len(inside), end
    return words + runs(block.text[at:]), linked


def count_words(page: PageBlocks) -> list[WordCounts]:
    """Return the counts of each block of a page. Links without text are not counted."""
    counted = [block_words(block) for block in page.blocks]
    total = sum(len(words) for words, _ in counted)
    return [
        WordCounts(len(words), block.links, linked, total)
        for block, (words, linked) in zip(page.blocks, counted, strict=True)
    ]


def units(page: PageBlocks, tags: Collection[str]) -> list[int]:
    """Return for each block its unit: the index of the innermost element around it with one of the
    *tags*; 0, the body, if there is none.
    """
    unit = _unit_of_elements(page, tags)
    return [unit[block.container] for block in page.blocks]


def _unit_of_elements(page: PageBlocks, tags: Collection[str]) -> list[int]:
    """Return for each element of a page its unit."""
    unit = [0] * len(page.parents)
    for element in range(1, len(page.parents)):
        unit[element] = element if page.tags[element] in tags else unit[page.parents[element]]
    return unit


def count_unit_words(page: PageBlocks, tags: Collection[str]) -> dict[int, WordCounts]:
    """Return the counts of each of a page's `units`, in reading order, without units inside it.

    Links are all ``a`` elements with an address, as in the paper. If the page was read without its
    attributes, links without text are not counted.
    """
    sums: dict[int, list[int]] = {}
    counts = count_words(page)
    for unit, count in zip(units(page, tags), counts, strict=True):
        at = sums.setdefault(unit, [0, 0, 0])
        for column in range(3):
            at[column] += count[column]
    if page.around:
        links = _links_of_units(page, tags)
        for unit, at in sums.items():
            at[1] = links[unit]
    total = counts[0].page_words if counts else 0
    return {
        unit: WordCounts(words, links, linked, total)
        for unit, (words, links, linked) in sums.items()
    }


def _links_of_units(page: PageBlocks, tags: Collection[str]) -> Counter[int]:
    """Return how many ``a`` elements with an address each unit of a page has. Units without text
    are missing.
    """
    counts: Counter[int] = Counter()
    for unit, around in zip(_unit_of_elements(page, tags), page.around, strict=True):
        counts[unit] += sum(not any(tag in tags for tag in link.split()) for link in around.links)
    return counts


def named(count: WordCounts) -> tuple[tuple[str, ...], ...]:
    """Return the six numbers as features, each by its bin."""
    return (
        ("words", f"{bin_of(count.words)}"),
        ("density", f"{bin_of(1000 * count.density)}"),
        ("link count", f"{bin_of(count.links)}"),
        ("words in links", f"{bin_of(count.linked)}"),
        ("words a link", f"{bin_of(count.words_per_link)}"),
        ("link ratio", f"{round(10 * count.link_ratio)}"),
    )
