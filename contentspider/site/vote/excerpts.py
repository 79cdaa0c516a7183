"""Teasers of other pages: the entries of a box such as "Related", within or beside a page's text.

A teaser is the beginning of a text that another page has in full: "Tea is made of lea... read
more". The teasers of a listing are its content, so only those on pages with other text count.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from contentspider.ground.address_keys import address_key
from contentspider.ground.addresses import join
from contentspider.page.tree.blocks import common_element
from contentspider.page.tree.tags import is_link
from contentspider.page.tree.text import SENTENCE_CHARS
from contentspider.site.judge.slots import TEMPLATE_PAGES
from contentspider.site.vote.blocks import (
    TEMPLATE_SHARE,
    all_blocks,
    cached_per_site,
    count_pages,
    group_mean,
    repeat_shares,
)

if TYPE_CHECKING:
    from contentspider.page.tree.blocks import Block, PageBlocks
    from contentspider.site.arrays import Bools, Floats, Ints
    from contentspider.site.vote.blocks import SiteBlocks

# What shows that a text is cut, and signs before the link to the whole text.
ELLIPSIS = re.compile(r"\u2026|\.\.\.")
SIGNS = " \u2026.[]()"
# Words such as "Read more" have at most so many characters.
MORE_CHARS = 60
# At least this share of a slot of teasers begins texts of other pages.
TEASERS_SHARE = 0.5


def teaser(site: SiteBlocks, prior: Floats) -> Bools:
    """Tell which blocks belong to teasers of other pages, or are the heading above them.

    Most pages with teasers in the same slot must have text of their own: prose that is content by
    the *prior*, that few pages have, and that is not a teaser.
    """
    teasers = _teasers(site)
    if not teasers.any():
        return teasers
    entries = _entries(site, teasers)
    is_text = site.is_prose & ~entries & (prior >= 0.5) & (repeat_shares(site) <= TEMPLATE_SHARE)
    has_text = np.bincount(site.pages, is_text, len(site.contents))[site.pages] > 0
    in_boxes = group_mean(site.slot_numbers, has_text.astype(float), teasers.astype(float)) > 0.5
    entries = _entries(site, teasers & in_boxes)
    is_above = np.append(entries[1:] & (np.diff(site.pages) == 0), False) & site.headings & ~entries
    return np.asarray(entries | is_above)


@cached_per_site
def _teasers(site: SiteBlocks) -> Bools:
    """Tell which blocks are in a slot whose text mostly begins longer texts of other pages.

    Where a slot leads to pages outside of the sample, those count that lead to pages of the sample.
    """
    prose = np.flatnonzero((site.chars >= SENTENCE_CHARS) & ~site.headings)
    blocks = all_blocks(site)
    texts = [_beginning(blocks[index]) for index in prose.tolist()]
    sources = site.sources[prose].tolist()
    sources_of: dict[str, set[int]] = {}
    for text, source in zip(texts, sources, strict=True):
        sources_of.setdefault(text, set()).add(source)
    # If texts begin with a text, the first of them comes right after it in this order.
    following = dict(pairwise([*sorted(sources_of), ""]))
    begins = np.zeros(len(site.chars))
    begins[prose] = [
        len(text) >= SENTENCE_CHARS
        and following[text].startswith(text)
        and not sources_of[following[text]] <= {source}
        for text, source in zip(texts, sources, strict=True)
    ]
    slots = site.slot_numbers
    pages = count_pages(slots, site.sources)[slots]
    is_teaser = (group_mean(slots, begins, site.chars) > TEASERS_SHARE) & (pages >= TEMPLATE_PAGES)
    has_teaser = np.isin(slots, slots[begins > 0])
    leads = _leads_to_sample(site, prose[has_teaser[prose]])
    most_begin = group_mean(slots, begins, site.chars * leads) > TEASERS_SHARE
    confirmed = (begins > 0) & leads
    texts_of_slot = np.unique(np.column_stack([slots, site.texts])[confirmed], axis=0)[:, 0]
    confirmed_texts = np.bincount(texts_of_slot, minlength=slots.max() + 1)[slots]
    return np.asarray(is_teaser | (most_begin & (confirmed_texts >= TEMPLATE_PAGES)))


def _leads_to_sample(site: SiteBlocks, prose: Ints) -> Bools:
    """Tell of which blocks of *prose* the last link leads to another page of the sample."""
    keys, blocks = [address_key(url) for url in site.urls], all_blocks(site)
    known = set(keys)
    leads = np.zeros(len(site.chars), dtype=bool)
    for index in prose.tolist():
        if links := [mark for _, _, mark in blocks[index].spans if is_link(mark)]:
            page = site.pages[index]
            key = address_key(join(site.bases[page], links[-1]))
            leads[index] = key != keys[page] and key in known
    return leads


def _beginning(block: Block) -> str:
    """Return the text of a block up to where it is cut: before its last link, or before an ellipsis
    that is followed by that link or ends the text, with at most `MORE_CHARS` characters between or
    after them. Without one of these it is the text without signs at its end.
    """
    text, end = block.text, len(block.text)
    links = [(start, stop) for start, stop, mark in block.spans if is_link(mark)]
    for start, stop in links[-1:]:
        if start and len(text) - stop <= MORE_CHARS:
            end = start
    ellipsis = ELLIPSIS.search(text, max(0, end - MORE_CHARS), end)
    return text[: ellipsis.start() if ellipsis else end].rstrip(SIGNS)


def _entries(site: SiteBlocks, teasers: Bools) -> Bools:
    """Tell which blocks are in the entries of *teasers*.

    An entry is the largest element that has one teaser alone. It is found where two teasers of a
    slot follow each other on a page; elsewhere the slot's smallest entry counts.
    """
    numbers = np.flatnonzero(teasers)
    starts = np.searchsorted(site.pages, np.arange(len(site.contents)))
    levels: dict[int, int] = {}
    for first, second in pairwise(numbers.tolist()):
        page, slot = site.pages[first], site.slot_numbers[first]
        if page == site.pages[second] and slot == site.slot_numbers[second]:
            content, start = site.contents[page], starts[page]
            level = _levels(content, first - start, second - start)
            levels[slot] = min(level, levels.get(slot, level))
    is_entry = teasers.copy()
    for index in numbers.tolist():
        page, start = site.contents[site.pages[index]], starts[site.pages[index]]
        element = page.blocks[index - start].container
        for _ in range(levels.get(site.slot_numbers[index], 0)):
            element = page.parents[element]
        first = last = index - start
        while first > 0 and _is_within(page, first - 1, element):
            first -= 1
        while last + 1 < len(page.blocks) and _is_within(page, last + 1, element):
            last += 1
        is_entry[start + first : start + last + 1] = True
    return is_entry


def _levels(page: PageBlocks, first: int, second: int) -> int:
    """Return how many elements around the first block do not contain the second."""
    element, other = page.blocks[first].container, page.blocks[second].container
    common, levels = common_element(page.parents, element, other), 0
    while element != common and page.parents[element] != common:
        element, levels = page.parents[element], levels + 1
    return levels


def _is_within(page: PageBlocks, number: int, element: int) -> bool:
    container = page.blocks[number].container
    return common_element(page.parents, container, element) == element
