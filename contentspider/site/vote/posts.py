"""Posts: readers' comments below a text, or those of a discussion, which a forum is for; and what
stands with one beside its text: who wrote it, and when, its title once more.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from contentspider.page.about.jsonld import title_key
from contentspider.page.about.written_dates import find_dates
from contentspider.page.tree.text import SENTENCE_CHARS
from contentspider.site.comments import BELOW_SHARE, is_named, says_day
from contentspider.site.slots import TEMPLATE_PAGES
from contentspider.site.vote.blocks import (
    all_blocks,
    count_pages,
    found_once,
    group_mean,
    number_keys,
    number_pairs,
    pages_of_cluster,
    repeat_shares,
)

if TYPE_CHECKING:
    from collections.abc import Hashable

    from contentspider.site.arrays import Bools, Floats, Ints
    from contentspider.site.vote.blocks import SiteBlocks

# The length of a line beside a text, and the share of such lines at a place that decides.
LINE_CHARS = 200
LINES_SHARE = 0.5
# Of so many posts each may say the page's title.
MIN_POSTS = 3
TIME = re.compile(r"\b\d{1,2}[:.]\d\d\b")
NUMBER = re.compile(r"\d+")
# A page with this much text besides its "comments" is a text with comments below it.
COMMENTED_CHARS = 500
# Facts in tables and lists of terms have days.
CELLS = frozenset(["td", "th", "dd", "dt"])


@found_once
def dated(site: SiteBlocks) -> Bools:
    """Tell which blocks say who wrote a text, and when: short ones with a day ("Ada, 7 May 2019"),
    at a place where most are such, and none stands beside the next, as in a chronicle.
    """
    found = _days(site) & ~_facts(site)
    beside = (np.diff(site.clusters) == 0) & (np.diff(site.pages) == 0)
    found &= ~np.append(beside, False) & ~np.append(False, beside)
    each = np.ones_like(site.chars)
    return found & (group_mean(site.clusters, found * each, each) > LINES_SHARE)


@found_once
def furniture(site: SiteBlocks) -> Bools:
    """Tell which lines come with each post of a discussion: those with a day, in tables and
    headings with a time, and those at places where most are on other pages, too, numbers and the
    page's own title aside: an author's name and rank, "Re: Tea", "Top".

    Between a post's day and the next one's, at the same place, is a text. What comes with posts
    comes with most of a page's.
    """
    lines = _lines(site)
    days = _days(site) & _are_before_texts(site, _days(site))
    found = days.copy()
    heads = _heads(site, days)
    posts = np.bincount(site.pages, heads, len(site.contents))[site.pages]
    there = np.flatnonzero(posts > 0)
    if len(there):
        places, posts = site.clusters[there], posts[there]
        forms = number_pairs(places, _forms(site, there, posts))
        recurs = lines[there] & (count_pages(forms, site.sources[there])[forms] > 1)
        # With how many of its page's posts a place comes.
        with_post = number_pairs(places, heads.astype(np.int64).cumsum()[there])
        first = np.zeros(len(there))
        first[np.unique(with_post, return_index=True)[1]] = 1
        on_page = number_pairs(site.pages[there], places)
        often = 2 * np.bincount(on_page, first)[on_page] > posts
        each = np.ones(len(there))
        comes = group_mean(places, recurs * each, each) > LINES_SHARE
        comes &= group_mean(places, often * each, posts.astype(float)) > LINES_SHARE
        found[there] |= comes & lines[there] & (recurs | (site.chars[there] < SENTENCE_CHARS))
    return np.asarray(found & [block.tag != "h1" for block in all_blocks(site)])


def _heads(site: SiteBlocks, days: Bools) -> Bools:
    """Tell which *days* stand at the place where their page has most of them: one for each post."""
    on_page = number_pairs(site.pages, site.clusters)
    # The first place of those with most.
    rank = days * (np.bincount(on_page, days)[on_page] * len(days) - site.clusters)
    most = np.zeros(len(site.contents))
    np.maximum.at(most, site.pages, rank)
    return np.asarray(days & (rank == most[site.pages]))


def _are_before_texts(site: SiteBlocks, days: Bools) -> Bools:
    """Tell which blocks stand at places where between most of a page's *days* is a text."""
    prose = np.where(days | (site.chars < SENTENCE_CHARS), 0, site.unlinked)
    before = np.append(0, np.cumsum(prose))
    order = np.flatnonzero(days)
    order = order[np.lexsort((order, site.clusters[order], site.pages[order]))]
    same = (np.diff(site.pages[order]) == 0) & (np.diff(site.clusters[order]) == 0)
    first, then = order[:-1][same], order[1:][same]
    posts = before[then] - before[first] >= SENTENCE_CHARS
    at, size = site.clusters[first], int(site.clusters.max(initial=0)) + 1
    on_pages = np.unique(at[posts] + size * site.sources[first[posts]]) % size
    found = np.bincount(on_pages, minlength=size) > TEMPLATE_PAGES
    found &= np.bincount(at, posts, size) > LINES_SHARE * np.bincount(at, minlength=size)
    return np.asarray(found[site.clusters])


def _forms(site: SiteBlocks, there: Ints, posts: Ints) -> Ints:
    """Return a number for the form of each text; texts of one form have the same number.

    The form of a text is the text without days and numbers. Only the part before a colon counts
    ("Re: Tea" and "Re: Milk" are one form). On a page with many *posts* the page's title has an
    empty form. Every other heading has a form of its own, since listings repeat the headings of
    their entries.
    """
    titles = [[title_key(title) for title in hints.titles] for hints in site.hints]
    forms: list[Hashable] = []
    blocks, pages = all_blocks(site), site.pages.tolist()
    for index, count in zip(there.tolist(), posts.tolist(), strict=True):
        form = text = blocks[index].text[:LINE_CHARS]
        key = title_key(text)
        if key and any(key in title for title in titles[pages[index]]):
            form = "" if count >= MIN_POSTS else text
        else:  # "Re: Tea"
            form = form[: form.find(":") + 1] or form
        if day := next(find_dates(form), None):
            form = form[: day.start] + form[day.end :]
        forms.append(len(forms) if site.headings[index] and form == text else NUMBER.sub("", form))
    return number_keys(forms)


def _lines(site: SiteBlocks) -> Bools:
    return (site.chars < LINE_CHARS) & (pages_of_cluster(site) > TEMPLATE_PAGES)


@found_once
def _facts(site: SiteBlocks) -> Bools:
    """Tell which blocks are headings, or stand in a table or a list of terms."""
    return site.headings | [block.tag in CELLS for block in all_blocks(site)]


@found_once
def _days(site: SiteBlocks) -> Bools:
    """Tell which lines say a day: a time, too, where facts stand."""
    found, facts = _lines(site), _facts(site)
    for index in np.flatnonzero(found).tolist():
        text = all_blocks(site)[index].text
        found[index] = says_day(text) and (not facts[index] or TIME.search(text) is not None)
    return found


def comment(site: SiteBlocks, prior: Floats) -> Bools:
    """Tell which blocks are readers' comments below a text."""
    return split_comments(site, prior)[0]


@found_once
def comment_like(site: SiteBlocks) -> Bools:
    """Tell which blocks stand in an element named comment, reply or the like."""
    return _named(site, "comment")


def _named(site: SiteBlocks, name: str) -> Bools:
    """Tell which blocks stand in an element whose name is of a group of `NAME_GROUPS`."""
    named = {slot: is_named(slot, name) for slot in set(site.slots)}
    return np.array([named[slot] for slot in site.slots], dtype=bool)


def split_comments(site: SiteBlocks, prior: Floats) -> tuple[Bools, Bools]:
    """Tell which blocks are readers' comments below a text, and which are posts of a discussion.

    They are comments if most pages with them have a text besides: a long one, or any if most of the
    site's texts have no comments; else a discussion. Where most of the text besides is named so, it
    is the first post. Where more of it comes after, they are part of it, whatever their name:
    captions, a section "Requests and responses".
    """
    likely = comment_like(site)
    nothing = np.zeros_like(likely)
    if not likely.any():
        return nothing, nothing
    share = repeat_shares(site)
    # Text that many pages repeat (a cookie notice) is nobody's article.
    prose = np.where((share < 0.3) & (site.chars >= SENTENCE_CHARS), site.unlinked, 0)
    besides = np.where(~likely & (prior >= 0.5), prose, 0)
    if 2 * besides[_named(site, "forum")].sum() > besides.sum():
        return nothing, likely
    beside = np.bincount(site.pages, besides)
    above = np.cumsum(besides) - (np.cumsum(beside) - beside)[site.pages]
    below_text = likely & (above >= BELOW_SHARE * beside[site.pages])
    commented = np.bincount(site.pages, np.where(likely, prose, 0)) > 0
    if not commented.any():
        return below_text, nothing
    is_rare = commented.sum() <= (commented | (beside > 0)).sum() / 2
    if np.median(beside[commented]) >= (1 if is_rare else COMMENTED_CHARS):
        return below_text, nothing
    return nothing, likely
