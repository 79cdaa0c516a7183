"""The objections of the vote: what only the whole site can know of a block."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import compress
from typing import TYPE_CHECKING

import numpy as np

from contentspider.page.about.hints import squeeze
from contentspider.page.about.jsonld import title_key
from contentspider.page.tree.blocks import common_element
from contentspider.page.tree.tags import is_link
from contentspider.page.tree.text import SENTENCE_CHARS
from contentspider.page.words.phrases import NOISE_PHRASES
from contentspider.site.slots import SURE_SHARE, TEMPLATE_PAGES
from contentspider.site.vote.blocks import (
    all_blocks,
    count_pages,
    found_once,
    group_mean,
    number_keys,
    number_pairs,
    pages_of_cluster,
    pages_of_spot,
)
from contentspider.site.vote.posts import comment, dated, furniture
from contentspider.site.vote.relevance import lcs_length

if TYPE_CHECKING:
    from collections.abc import Callable

    from contentspider.page.about.hints import Hints
    from contentspider.page.tree.blocks import Block, PageBlocks
    from contentspider.site.arrays import Bools, Floats, Ints
    from contentspider.site.vote.blocks import SiteBlocks

# The weight of objections where the site knows better than the prior.
OVERRULED = 6.0
# The weight of objections that the prior may contradict.
DOUBTED = 3.0
# Blocks, or pages, after which a spot counts as much as its cluster.
TRUSTED = 8
# Share of the characters of a page's own headline that are in its title, in order.
OWN_HEADLINE = 0.9
# A longer line is no breadcrumb trail, and a shorter title ends too many lines by chance.
TRAIL_CHARS, TITLE_CHARS = 200, 3
# What ends a larger share of the site's pages is the template's.
END_SHARE = 0.3


@dataclass(frozen=True, slots=True)
class Objection:
    """An objection: *evidence* gives for all blocks of a site, and the prior's probability of each,
    how much speaks against each block's being content, from 0 to 1; *weight* is what 1 takes from
    the log odds. Of several objections the strongest counts.
    """

    name: str
    weight: float
    evidence: Callable[[SiteBlocks, Floats], Floats | Bools]


@found_once
def template_prose(site: SiteBlocks) -> Bools:
    """Tell which blocks are prose that most other pages have at the same spot or cluster.

    Headings are none, however long: those of a form recur with it.
    """
    return _recurs(site) & (site.chars >= SENTENCE_CHARS) & ~site.headings


@found_once
def template_section(site: SiteBlocks) -> Bools:
    """Tell which headings most pages of the site have with all that stands below them, among it
    prose of the template: a hidden box of help has some.
    """
    recurs = _recurs(site)
    begins = site.headings | (np.diff(site.pages, prepend=-1) != 0)
    sections = begins.cumsum()
    has_prose = np.bincount(sections, template_prose(site)) > 0
    has_own = np.bincount(sections, ~recurs & ~site.headings) > 0
    pages = count_pages(site.cluster_texts, site.sources)[site.cluster_texts]
    is_common = recurs & (pages > SURE_SHARE * site.distinct_pages)
    return np.asarray(site.headings & is_common & (has_prose & ~has_own)[sections])


@found_once
def _recurs(site: SiteBlocks) -> Bools:
    """Tell which texts most other pages have at the same spot or cluster."""
    repeated = np.zeros(len(site.chars), dtype=bool)
    for pages, texts in (
        (pages_of_spot(site), site.spot_texts),
        (pages_of_cluster(site), site.cluster_texts),
    ):
        others = count_pages(texts, site.sources)[texts] - 1
        repeated |= (others > SURE_SHARE * (pages - 1)) & (others >= TEMPLATE_PAGES)
    return repeated


@found_once
def other_article(site: SiteBlocks) -> Bools:
    """Tell which blocks stand below the headline of another article than the page's own, at a place
    where most such headlines have prose below them that is on another page, too.
    """
    shared = ~template_prose(site) & (site.chars >= SENTENCE_CHARS)
    shared &= count_pages(site.texts, site.originals)[site.texts] > 1
    parts: list[tuple[int, int]] = []
    start = 0
    for page, hints in zip(site.contents, site.hints, strict=True):
        places = site.clusters[start : start + len(page.blocks)]
        parts += [
            (start + first, start + end) for first, end in other_headlines(page, hints, places)
        ]
        start += len(page.blocks)
    found = np.zeros(len(shared), dtype=bool)
    if parts:
        places = site.clusters[[first for first, _ in parts]]
        is_shared = np.array([shared[first:end].any() for first, end in parts])
        most = group_mean(places, is_shared, np.ones(len(parts))) > 0.5
        for first, end in compress(parts, most.tolist()):
            found[first:end] = True
    return found


def other_headlines(page: PageBlocks, hints: Hints, places: Ints) -> list[tuple[int, int]]:
    """Return the first block and the end of what stands below each ``h1`` that is the headline of
    another article.

    That is so in an infinite scroll: one ``h1`` is in the page's title, another is not and stands
    outside of the element that holds the first with its prose (sections of one article are inside),
    but at the same one of the template's *places*: the first is a blog's or a listing's name where
    its posts have others. A page of several sections looks alike, and so may a sidebar.
    """
    headlines = [number for number, block in enumerate(page.blocks) if block.tag == "h1"]
    if len(headlines) < 2:
        return []
    titles = [squeeze(title) for title in hints.titles]
    texts = [squeeze(page.blocks[number].text) for number in headlines]
    likeness = [
        max((lcs_length(text, title) for title in titles), default=0) / max(len(text), 1)
        for text in texts
    ]
    ends = [*headlines[1:], len(page.blocks)]
    prose = [
        [
            block
            for block in page.blocks[number + 1 : end]
            if len(block.text) - block.link_chars >= SENTENCE_CHARS
        ]
        for number, end in zip(headlines, ends, strict=True)
    ]
    # A hidden header may say the headline, too.
    own = max(range(len(headlines)), key=lambda index: (likeness[index], len(prose[index]), -index))
    if likeness[own] < OWN_HEADLINE or not prose[own]:
        return []
    holder = page.blocks[headlines[own]].container
    for block in prose[own]:
        holder = common_element(page.parents, holder, block.container)
    return [
        (number, ends[index])
        for index, number in enumerate(headlines)
        if index > own
        and likeness[index] < OWN_HEADLINE
        and places[number] == places[headlines[own]]
        and common_element(page.parents, holder, page.blocks[number].container) != holder
    ]


@found_once
def pointer(site: SiteBlocks) -> Bools:
    """Tell which blocks are a label of several pages and a link: "Next message: Re: Tea"."""
    blocks = all_blocks(site)
    labels = [block.text[: len(block.text) - block.link_chars].lower() for block in blocks]
    there = number_pairs(site.spots, number_keys(labels))
    others = count_pages(there, site.sources)[there] - 1
    found = (site.link_share > 0) & (others >= TEMPLATE_PAGES)
    for index in np.flatnonzero(found).tolist():
        found[index] = NOISE_PHRASES["move"].search(labels[index]) is not None
    return found


@found_once
def breadcrumb_trail(site: SiteBlocks) -> Bools:
    """Tell which blocks are a breadcrumb trail: a short line with links that ends in the page's own
    title, at a place where most lines do.
    """
    trails = (site.chars < TRAIL_CHARS) & (site.link_share > 0) & ~site.headings
    trails &= pages_of_cluster(site) > TEMPLATE_PAGES
    titles = [[key for key in map(title_key, hints.titles) if key] for hints in site.hints]
    blocks, pages = all_blocks(site), site.pages.tolist()
    for index in np.flatnonzero(trails).tolist():
        ending = title_key(_text_after_links(blocks[index]))
        trails[index] = len(ending) >= TITLE_CHARS and any(
            ending in title or title in ending for title in titles[pages[index]]
        )
    each = np.ones_like(site.chars)
    return np.asarray(trails & (group_mean(site.clusters, trails * each, each) > 0.5))


def _text_after_links(block: Block) -> str:
    """Return the text after the last link of a block, empty if it has no link."""
    ends = [end for _, end, mark in block.spans if is_link(mark)]
    return block.text[max(ends) :] if ends else ""


@found_once
def page_end(site: SiteBlocks) -> Bools:
    """Tell which texts end many pages: they and all below them recur at their place, and something
    above them does not. An address that closes half of the pages is one.
    """
    pages = count_pages(site.cluster_texts, site.sources)[site.cluster_texts]
    recurs = pages > max(TEMPLATE_PAGES, END_SHARE * site.distinct_pages)
    index = np.arange(len(recurs))
    last_own = np.full(len(site.contents), -1)
    np.maximum.at(last_own, site.pages[~recurs], index[~recurs])
    ends = (index > last_own[site.pages]) & (last_own[site.pages] >= 0)
    end_chars = np.bincount(site.pages, ends * site.chars, len(site.contents))
    return np.asarray(ends & (end_chars[site.pages] >= SENTENCE_CHARS) & ~site.headings)


OBJECTIONS: tuple[Objection, ...] = (
    Objection("template_prose", OVERRULED, template_prose),
    Objection("template_section", OVERRULED, template_section),
    Objection("other_article", OVERRULED, other_article),
    Objection("breadcrumb_trail", OVERRULED, breadcrumb_trail),
    Objection("page_end", DOUBTED, page_end),
    Objection("dated", DOUBTED, dated),
    Objection("furniture", DOUBTED, furniture),
    Objection("pointer", DOUBTED, pointer),
    Objection("comment", OVERRULED, comment),
)
