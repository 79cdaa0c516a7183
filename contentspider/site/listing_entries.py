"""The entries of a listing, found by the markup that repeats on the page itself, and their records:
title, address, day, picture and text.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from contentspider.ground.addresses import absolute, is_web_address
from contentspider.page.about.visible import MAX_BYLINE_CHARS, visible_dates
from contentspider.page.tree.resolver import Resolver
from contentspider.page.tree.tags import is_link
from contentspider.page.words.names import HEADINGS
from contentspider.page.words.tidy import tidy
from contentspider.page.write.output import to_text
from contentspider.site.judge.slots import step_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from contentspider.page.input.page import Page
    from contentspider.page.tree.blocks import Block, PageBlocks
    from contentspider.site.arrays import Bools

# At least this share of the entries have a heading that links to a page of its own, and the link is
# at least this share of the heading's text.
TITLED_SHARE, LINKED_SHARE = 0.8, 0.5
# If a larger number of elements inside the entries has at least this share of the entries' text,
# these elements are the entries.
SAME_SHARE = 0.9
# Elements are articles, not entries, if one of them has more than this share of the text of all, or
# if their mean length in characters is above this.
LARGEST_SHARE, MEAN_CHARS = 0.5, 1_500
MIN_ENTRIES, MIN_ENTRIES_OF_LISTING = 3, 2
MAX_READ = 100  # the heading of an entry is searched in this many blocks
MAX_TITLE_CHARS = 300


def with_entries(page: PageBlocks, kept: Bools, is_listing: bool) -> Bools:
    """Return which blocks of a page to keep: all blocks of its entries and no others, or *kept*.

    The entries replace *kept* if they have most of the text that is kept, and are at least three,
    or two if the page *is a listing*.
    """
    entries = listing_entries(page)
    in_entries = np.zeros(len(kept), dtype=bool)
    for entry in entries:
        in_entries[entry.start : entry.stop] = True
    chars = np.array([len(block.text) for block in page.blocks])
    entry_chars, other_chars = chars[kept & in_entries].sum(), chars[kept & ~in_entries].sum()
    has_most = entry_chars >= other_chars and (entry_chars > 0 or is_listing)
    min_entries = MIN_ENTRIES_OF_LISTING if is_listing else MIN_ENTRIES
    if has_most and len(entries) >= min_entries:
        return in_entries
    return kept


def listing_entries(page: PageBlocks) -> list[range]:
    """Return the entries of a listing, each as the range of its blocks' numbers.

    The entries are elements with one tag path, and with a class in common if they have classes.
    Most of them have a heading that links to another page. Among several such groups of elements
    the one with the most text wins, or a more numerous group inside of it with nearly all of its
    text. The result is empty if the page has no such group.
    """
    spans = _spans(page)
    chars_before = np.cumsum([0, *(len(block.text) for block in page.blocks)])
    groups = [
        (group, [int(chars_before[spans[n].stop] - chars_before[spans[n].start]) for n in group])
        for group in _groups_by_tag_path(page, spans)
    ]
    best: list[int] = []
    min_chars = 0.0
    for group, chars in sorted(groups, key=lambda group_and_chars: -sum(group_and_chars[1])):
        is_more_numerous = len(group) > max(len(best), 1) and sum(chars) >= min_chars
        if is_more_numerous and _are_short(chars) and _are_entries(page, group, spans):
            best, min_chars = group, min_chars or SAME_SHARE * sum(chars)
    return [spans[element] for element in best]


def _groups_by_tag_path(page: PageBlocks, spans: Sequence[range]) -> list[list[int]]:
    """Return the elements that hold blocks, by their number, in one group for each tag path."""
    groups: dict[tuple[int, str], list[int]] = {}
    path_numbers: dict[tuple[int, str], int] = {}
    path_of_element: list[int] = []
    for element, (parent, tag) in enumerate(zip(page.parents, page.tags, strict=True)):
        parent_path = path_of_element[parent] if parent >= 0 else -1
        path = (parent_path, tag)
        path_of_element.append(path_numbers.setdefault(path, len(path_numbers)))
        if spans[element]:
            groups.setdefault(path, []).append(element)
    return list(groups.values())


def _are_short(chars: Sequence[int]) -> bool:
    """Tell whether elements with these numbers of characters are short enough for entries."""
    total = sum(chars)
    if total > MEAN_CHARS * len(chars):
        return False
    return len(chars) == MIN_ENTRIES_OF_LISTING or max(chars) <= LARGEST_SHARE * total


def _spans(page: PageBlocks) -> list[range]:
    """Return for each element the range of its blocks' numbers, which are consecutive."""
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
    """Tell whether the elements of a group look like entries: each links to a page of its own, and
    they have a class in common, or no classes at all.

    A share of 1 - `TITLED_SHARE` of the elements may lack a page of its own.
    """
    names = [step_names(page.paths[element].rpartition("/")[2]) for element in group]
    classes = [{name for name in element_names if name[0] == "."} for element_names in names]
    if any(classes) and not classes[0].intersection(*classes):
        return False
    pages = set()
    for element in group:
        span = spans[element]
        pages.add(_linked_page(page.blocks[span.start : span.stop][:MAX_READ]))
    return len(pages - {""}) >= TITLED_SHARE * len(group)


def _linked_page(blocks: Sequence[Block]) -> str:
    """Return the page that the headings of the highest level in an entry link to.

    The result is "" if they link to no page or to several, or if the links are less than
    `LINKED_SHARE` of their text.
    """
    top = min(HEADINGS.get(block.tag, 9) for block in blocks)
    headings = [block for block in blocks if HEADINGS.get(block.tag) == top]
    chars = sum(len(block.text) for block in headings)
    link_chars = sum(block.link_chars for block in headings)
    marks = {mark for block in headings for _, _, mark in block.spans}
    pages = {mark for mark in marks if is_link(mark) and "#" not in mark}
    if len(pages) == 1 and link_chars >= LINKED_SHARE * chars:
        return pages.pop()
    return ""


def listing_records(page: Page) -> list[dict[str, str]]:
    """Return a record for each entry of a listing (`listing_entries`), in the order of the page.

    A record has the ``title`` of the entry, the ``url`` that the title links to, the day that the
    entry shows (``published_at``, ISO 8601), the address of its first picture (``image``), and all
    its ``text``, one block a line. Values that an entry lacks are "". On a page without an address
    of the web, links stay as they are.
    """
    base = page.base
    resolve = partial(absolute, base) if is_web_address(base) else Resolver(base).resolve
    records = []
    for entry in listing_entries(page.content):
        blocks = page.content.blocks[entry.start : entry.stop]
        title, address = _linked_title(blocks)
        bylines = [block for block in blocks if len(block.text) <= MAX_BYLINE_CHARS]
        pictures = (resolve(image[1]) for block in blocks for image in block.images)
        records.append(
            {
                "title": tidy(title, MAX_TITLE_CHARS),
                "url": resolve(address) if address else "",
                "published_at": visible_dates((), bylines, page.hints.language)[0],
                "image": next(filter(None, pictures), ""),
                "text": to_text(blocks),
            }
        )
    return records


def _linked_title(blocks: Sequence[Block]) -> tuple[str, str]:
    """Return the title of an entry and the address that it links to: of the first heading with a
    link, or else of the first link. Without any link the title is the first heading.
    """
    headings = [block for block in blocks if block.tag in HEADINGS]
    for block in (*headings, *blocks):
        for start, stop, address in block.spans:
            if is_link(address):
                return block.text if block.tag in HEADINGS else block.text[start:stop], address
    return headings[0].text if headings else "", ""
