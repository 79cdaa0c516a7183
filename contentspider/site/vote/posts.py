"""What stands with a post beside its text: who wrote it, and when, its title once more."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from contentspider.page.about.datetext import find_dates
from contentspider.page.about.jsonld import title_key
from contentspider.page.text import SENTENCE_CHARS
from contentspider.site.vote.blocks import (
    TEMPLATE_PAGES,
    count_pages,
    found_once,
    group_mean,
    number_keys,
    number_pairs,
    pages_of_cluster,
)

if TYPE_CHECKING:
    from collections.abc import Hashable

    from contentspider.page.blocks import Block
    from contentspider.site.arrays import Bools, Ints
    from contentspider.site.vote.blocks import SiteBlocks

# The length of a line beside a text, and the share of such lines at a place that decides.
LINE_CHARS = 200
LINES_SHARE = 0.5
DAY = re.compile(r"\b\d{1,2}/\d{1,2}/(?:19|20)\d\d\b")
TIME = re.compile(r"\b\d{1,2}[:.]\d\d\b")
NUMBER = re.compile(r"\d+")
# Pages with so many posts show what comes with each.
MIN_POSTS = 3
# A shorter title may be any word; so many labels stand before it ("Subject: Re: Tea").
TITLE_CHARS = 6
LABELS = 3
# Facts in tables and lists of terms have days.
CELLS = frozenset(["td", "th", "dd", "dt"])


@found_once
def dated(site: SiteBlocks) -> Bools:
    """Tell which blocks say who wrote a text, and when: short ones with a day ("Ada, 7 May 2019"),
    at a place where most are such, and none stands beside the next, as in a chronicle.
    """
    found = _lines(site) & ~site.headings & ~_cells(site)
    beside = (np.diff(site.clusters) == 0) & (np.diff(site.pages) == 0)
    found &= ~np.append(beside, False) & ~np.append(False, beside)
    found &= _has_day(site)
    each = np.ones_like(site.chars)
    return found & (group_mean(site.clusters, found * each, each) > LINES_SHARE)


@found_once
def furniture(site: SiteBlocks) -> Bools:
    """Tell which lines come with each post of a discussion: those with a day, in tables and
    headings with a time, and those at places where most are on other pages, too, numbers and the
    page's own title aside: an author's name and rank, "Re: Tea", "Top".

    Between a post's day and the next one's, at the same place, is a text. What comes with posts is
    at least half as often on a page.
    """
    blocks = _blocks(site)
    lines, days = _lines(site), _has_day(site).copy()
    for index in np.flatnonzero(days & (site.headings | _cells(site))).tolist():
        days[index] = TIME.search(blocks[index].text) is not None
    days &= _are_before_texts(site, days)
    found = days.copy()
    heads = _heads(site, days)
    posts = np.bincount(site.pages, heads, len(site.contents))[site.pages]
    there = np.flatnonzero(posts > 0)
    if len(there):
        places, posts = site.clusters[there], posts[there]
        texts = [blocks[index].text[:LINE_CHARS] for index in there.tolist()]
        forms = number_pairs(places, _forms(site, texts, there))
        recurs = lines[there] & (count_pages(forms, site.sources[there])[forms] > 1)
        # With how many of its page's posts a place comes.
        with_post = number_pairs(places, heads.astype(np.int64).cumsum()[there])
        first = np.zeros(len(there))
        first[np.unique(with_post, return_index=True)[1]] = 1
        on_page = number_pairs(site.pages[there], places)
        often = 2 * np.bincount(on_page, first)[on_page] >= posts
        each, many = np.ones(len(there)), (posts >= MIN_POSTS).astype(float)
        comes = group_mean(places, recurs * each, each) > LINES_SHARE
        comes &= group_mean(places, often * many, many) > LINES_SHARE
        found[there] |= comes & lines[there] & (recurs | (site.chars[there] < SENTENCE_CHARS))
    found &= [block.tag != "h1" for block in blocks]
    return found


def _heads(site: SiteBlocks, days: Bools) -> Bools:
    """Tell which *days* stand at the place where their page has most of them: one for each post."""
    found = np.flatnonzero(days)
    on_page = number_pairs(site.pages[found], site.clusters[found])
    # The first place of those with most.
    rank = np.bincount(on_page)[on_page] * (len(days) + 1) - site.clusters[found]
    most = np.zeros(len(site.contents), dtype=np.int64)
    np.maximum.at(most, site.pages[found], rank)
    heads = np.zeros_like(days)
    heads[found] = rank == most[site.pages[found]]
    return heads


def _are_before_texts(site: SiteBlocks, days: Bools) -> Bools:
    """Tell which blocks stand at places where between most of a page's *days* is a text."""
    prose = np.where(days | (site.chars < SENTENCE_CHARS), 0, site.chars * (1 - site.link_share))
    before = np.append(0, np.cumsum(prose))
    order = np.flatnonzero(days)
    order = order[np.lexsort((order, site.clusters[order], site.pages[order]))]
    same = (np.diff(site.pages[order]) == 0) & (np.diff(site.clusters[order]) == 0)
    first, then = order[:-1][same], order[1:][same]
    posts = before[then] - before[first] >= SENTENCE_CHARS
    places = int(site.clusters.max(initial=0)) + 1
    share = np.bincount(site.clusters[first], posts, places) / np.maximum(
        np.bincount(site.clusters[first], minlength=places), 1
    )
    pages = np.unique(site.clusters[first[posts]] + places * site.sources[first[posts]]) % places
    of_place = np.bincount(pages, minlength=places)
    return ((share > LINES_SHARE) & (of_place > TEMPLATE_PAGES))[site.clusters]


def _forms(site: SiteBlocks, texts: list[str], there: Ints) -> Ints:
    """Return the number of each text's form: the text without its day, numbers and own title. A
    heading that has neither is like no other: listings share those of their entries.
    """
    titles = [[title_key(title) for title in hints.titles] for hints in site.hints]
    forms: list[Hashable] = []
    headings = site.headings[there].tolist()
    for text, page, heading in zip(texts, site.pages[there].tolist(), headings, strict=True):
        form = text
        for label in range(min(text.count(":"), LABELS) + 1):
            rest = text.split(":", label)[-1]
            key = title_key(rest)
            if len(key) >= TITLE_CHARS and any(key in title for title in titles[page]):
                form = text[: len(text) - len(rest)]
                break
        for day in find_dates(form):
            form = form[: day.start] + form[day.end :]
            break
        forms.append(len(forms) if heading and form == text else NUMBER.sub("", form))
    return number_keys(forms)


def _lines(site: SiteBlocks) -> Bools:
    return (site.chars < LINE_CHARS) & (pages_of_cluster(site) > TEMPLATE_PAGES)


@found_once
def _cells(site: SiteBlocks) -> Bools:
    return np.array([block.tag in CELLS for block in _blocks(site)], dtype=bool)


@found_once
def _has_day(site: SiteBlocks) -> Bools:
    """Tell which of the lines say a day."""
    known: dict[str, bool] = {}
    found = _lines(site)
    blocks = _blocks(site)
    for index in np.flatnonzero(found).tolist():
        text = blocks[index].text
        if text not in known:
            known[text] = DAY.search(text) is not None or any(find_dates(text))
        found[index] = known[text]
    return found


def _blocks(site: SiteBlocks) -> list[Block]:
    return [block for page in site.contents for block in page.blocks]
