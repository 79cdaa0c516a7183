"""The entries of a listing, by what repeats on the page itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from contentspider.page.tree.tags import is_link
from contentspider.page.words.names import HEADINGS
from contentspider.site.slots import step_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from contentspider.page.tree.blocks import Block, PageBlocks
    from contentspider.site.arrays import Bools

# So many of the entries have a heading that links to a page of its own, by so much of its text.
TITLED, LINKED = 0.8, 0.5
# Parts with so much of the text of all entries are entries themselves. An entry with more than half
# of it, or of more characters in the mean, is an article.
SAME, LARGEST, MEAN_CHARS = 0.9, 0.5, 1_500
MIN_ENTRIES, MIN_ENTRIES_OF_LISTING = 3, 2
MAX_READ = 100  # blocks of an entry in which its heading is looked for


def with_entries(page: PageBlocks, kept: Bools, is_listing: bool) -> Bools:
    """Return which blocks are kept of a page: those of its entries alone, if they have most of the
    text that is *kept*, and are three or more (two if the page *is a listing*); else what is kept.
    """
    entries = listing_entries(page)
    inside = np.zeros(len(kept), dtype=bool)
    for entry in entries:
        inside[entry.start : entry.stop] = True
    chars = np.array([len(block.text) for block in page.blocks])
    own, others = chars[kept & inside].sum(), chars[kept & ~inside].sum()
    has_most = own >= others and (own > 0 or is_listing)
    enough = len(entries) >= (MIN_ENTRIES_OF_LISTING if is_listing else MIN_ENTRIES)
    return inside if enough and has_most else kept


def listing_entries(page: PageBlocks) -> list[range]:
    """Return the entries of a listing, each as the numbers of its blocks; none if there are none.

    They are elements of one path of tags, with a class in common if they have any, most of which
    have a heading that links to another page. Of such groups the one with the most text is taken,
    or more numerous parts of it with nearly all of that.
    """
    spans = _spans(page)
    before = np.cumsum([0, *(len(block.text) for block in page.blocks)])
    groups: dict[tuple[int, str], list[int]] = {}
    numbers: dict[tuple[int, str], int] = {}
    paths: list[int] = []
    for element, (parent, tag) in enumerate(zip(page.parents, page.tags, strict=True)):
        path = (paths[parent] if parent >= 0 else -1, tag)
        paths.append(numbers.setdefault(path, len(numbers)))
        if spans[element]:
            groups.setdefault(path, []).append(element)
    found = [
        (group, [int(before[spans[one].stop] - before[spans[one].start]) for one in group])
        for group in groups.values()
    ]
    best: list[int] = []
    least = 0.0
    for group, chars in sorted(found, key=lambda one: -sum(one[1])):
        if (
            len(group) > max(len(best), 1)
            and least <= sum(chars) <= MEAN_CHARS * len(group)
            and (len(group) == MIN_ENTRIES_OF_LISTING or max(chars) <= LARGEST * sum(chars))
            and _are_entries(page, group, spans)
        ):
            best, least = group, least or SAME * sum(chars)
    return [spans[element] for element in best]


def _spans(page: PageBlocks) -> list[range]:
    """Return the numbers of the blocks in each element: they follow each other."""
    first, last = [len(page.blocks)] * len(page.tags), [-1] * len(page.tags)
    for number, block in enumerate(page.blocks):
        first[block.container] = min(first[block.container], number)
        last[block.container] = number
    for element in range(len(page.tags) - 1, 0, -1):
        parent = page.parents[element]
        first[parent] = min(first[parent], first[element])
        last[parent] = max(last[parent], last[element])
    return [range(start, end + 1) for start, end in zip(first, last, strict=True)]


def _are_entries(page: PageBlocks, group: Sequence[int], spans: Sequence[range]) -> bool:
    """Tell whether elements have a class in common, or none, and lead to as many pages."""
    names = [set(step_names(page.paths[element].rpartition("/")[2])) for element in group]
    classes = [{name for name in each if name[0] == "."} for each in names]
    if any(classes) and not classes[0].intersection(*classes):
        return False
    read = [
        page.blocks[span.start : span.stop][:MAX_READ] for span in map(spans.__getitem__, group)
    ]
    return len({*map(_page_of, read)} - {""}) >= TITLED * len(group)


def _page_of(blocks: Sequence[Block]) -> str:
    """Return the page that the largest heading of an entry links to, "" if it links to none."""
    top = min(HEADINGS.get(block.tag, 9) for block in blocks)
    largest = [block for block in blocks if HEADINGS.get(block.tag) == top]
    chars = sum(len(block.text) for block in largest)
    linked = sum(block.link_chars for block in largest)
    marks = {mark for block in largest for _, _, mark in block.spans}
    pages = {mark for mark in marks if is_link(mark) and "#" not in mark}
    return pages.pop() if len(pages) == 1 and linked >= LINKED * chars else ""
