"""Posts: readers' comments below a text, and the posts of a discussion, which are content.

Also the lines that accompany a text or a post: its author, its date, its repeated title.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from contentspider.page.about.jsonld import title_key
from contentspider.page.about.written_dates import find_dates
from contentspider.page.tree.text import SENTENCE_CHARS
from contentspider.site.judge.comments import (
    BELOW_SHARE,
    below_comment_headings,
    has_day,
    has_named_step,
)
from contentspider.site.judge.slots import TEMPLATE_PAGES
from contentspider.site.vote.blocks import (
    all_blocks,
    cached_per_site,
    count_pages,
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

# A line beside a text is shorter than this. In a cluster of such lines at least this share of the
# blocks must have a date, or recur.
LINE_CHARS = 200
LINES_SHARE = 0.5
# On a page with this many posts each post may repeat the page's title.
MIN_POSTS = 3
TIME = re.compile(r"\b\d{1,2}[:.]\d\d\b")
NUMBER = re.compile(r"\d+")
# A page with this many characters besides its "comments" is a text with comments below it.
COMMENTED_CHARS = 500
# Cells of tables and lists of terms hold facts, which may be dates.
CELLS = frozenset(["td", "th", "dd", "dt"])


@cached_per_site
def dated(site: SiteBlocks) -> Bools:
    """Tell which blocks say who wrote a text and when, such as "Ada, 7 May 2019".

    They are short and have a date, and so have most blocks of their cluster. Two such blocks never
    follow each other: blocks that do are the entries of a chronicle.
    """
    bylines = _dated_lines(site) & ~_facts(site)
    follows_same = (np.diff(site.clusters) == 0) & (np.diff(site.pages) == 0)
    bylines &= ~np.append(follows_same, False) & ~np.append(False, follows_same)
    ones = np.ones_like(site.chars)
    return bylines & (group_mean(site.clusters, bylines * ones, ones) > LINES_SHARE)


@cached_per_site
def post_lines(site: SiteBlocks) -> Bools:
    """Tell which lines accompany the posts of a discussion.

    They are lines with a date (in tables and headings: with a date and a time), and lines that
    recur on other pages in most blocks of their cluster, apart from numbers and the page's own
    title: the author's name and rank, "Re: Tea", "Top". Their cluster occurs with most posts of a
    page.

    The posts of a page are recognised by their dates: all are in one cluster, and between one date
    and the next there is a text.
    """
    dates = _dated_lines(site) & _in_clusters_between_texts(site, _dated_lines(site))
    is_line = dates.copy()
    post_dates = _post_dates(site, dates)
    posts = np.bincount(site.pages, post_dates, len(site.contents))[site.pages]
    on_post_pages = np.flatnonzero(posts > 0)
    if len(on_post_pages):
        is_line[on_post_pages] |= _recurring_post_lines(
            site, on_post_pages, posts[on_post_pages], post_dates
        )
    return np.asarray(is_line & [block.tag != "h1" for block in all_blocks(site)])


def _recurring_post_lines(site: SiteBlocks, blocks: Ints, posts: Ints, post_dates: Bools) -> Bools:
    """Tell which of *blocks*, on pages with posts, are lines that recur with the posts.

    *blocks* are numbers of blocks, and *posts* the number of posts on the page of each.
    """
    lines = _lines(site)[blocks]
    clusters = site.clusters[blocks]
    forms = number_pairs(clusters, _forms(site, blocks, posts))
    recurs = lines & (count_pages(forms, site.sources[blocks])[forms] > 1)
    # Count with how many posts of its page each cluster occurs.
    cluster_posts = number_pairs(clusters, post_dates.astype(np.int64).cumsum()[blocks])
    is_first = np.zeros(len(blocks))
    is_first[np.unique(cluster_posts, return_index=True)[1]] = 1
    page_clusters = number_pairs(site.pages[blocks], clusters)
    with_most_posts = 2 * np.bincount(page_clusters, is_first)[page_clusters] > posts
    ones = np.ones(len(blocks))
    accompanies = group_mean(clusters, recurs * ones, ones) > LINES_SHARE
    accompanies &= group_mean(clusters, with_most_posts * ones, posts.astype(float)) > LINES_SHARE
    return np.asarray(accompanies & lines & (recurs | (site.chars[blocks] < SENTENCE_CHARS)))


def _post_dates(site: SiteBlocks, dates: Bools) -> Bools:
    """Tell which *dates* are in the cluster with most dates of their page: one for each post."""
    page_clusters = number_pairs(site.pages, site.clusters)
    # Of several clusters with most dates the one with the lowest number counts.
    counts = np.bincount(page_clusters, dates)[page_clusters]
    rank = dates * (counts * len(dates) - site.clusters)
    highest = np.zeros(len(site.contents))
    np.maximum.at(highest, site.pages, rank)
    return np.asarray(dates & (rank == highest[site.pages]))


def _in_clusters_between_texts(site: SiteBlocks, dates: Bools) -> Bools:
    """Tell which blocks are in a cluster whose *dates* mostly have a text before the next date."""
    prose = np.where(dates | (site.chars < SENTENCE_CHARS), 0, site.unlinked)
    prose_before = np.append(0, np.cumsum(prose))
    order = np.flatnonzero(dates)
    order = order[np.lexsort((order, site.clusters[order], site.pages[order]))]
    has_next = (np.diff(site.pages[order]) == 0) & (np.diff(site.clusters[order]) == 0)
    first, second = order[:-1][has_next], order[1:][has_next]
    has_text = prose_before[second] - prose_before[first] >= SENTENCE_CHARS
    clusters, count = site.clusters[first], int(site.clusters.max(initial=0)) + 1
    # The clusters that have such a date on each page; the remainder is the cluster's number.
    by_page = np.unique(clusters[has_text] + count * site.sources[first[has_text]]) % count
    is_between = np.bincount(by_page, minlength=count) > TEMPLATE_PAGES
    dates_of_cluster = np.bincount(clusters, minlength=count)
    is_between &= np.bincount(clusters, has_text, count) > LINES_SHARE * dates_of_cluster
    return np.asarray(is_between[site.clusters])


def _forms(site: SiteBlocks, indexes: Ints, posts: Ints) -> Ints:
    """Return a number for the form of each text; texts of one form have the same number.

    The form of a text is the text without dates and numbers. Only the part before a colon counts
    ("Re: Tea" and "Re: Milk" are one form). On a page with many *posts* the page's title has an
    empty form. Every other heading has a form of its own, since listings repeat the headings of
    their entries. *indexes* are the numbers of the blocks.
    """
    title_keys = [[title_key(title) for title in hints.titles] for hints in site.hints]
    forms: list[Hashable] = []
    blocks, pages = all_blocks(site), site.pages.tolist()
    for index, post_count in zip(indexes.tolist(), posts.tolist(), strict=True):
        text = blocks[index].text[:LINE_CHARS]
        form = _form(text, title_keys[pages[index]], post_count)
        is_unique = site.headings[index] and form == text
        forms.append(len(forms) if is_unique else NUMBER.sub("", form))
    return number_keys(forms)


def _form(text: str, titles: list[str], post_count: int) -> str:
    """Return the form of a text with its numbers, see `_forms`; *titles* are keys of titles."""
    key = title_key(text)
    if key and any(key in title for title in titles):
        form = "" if post_count >= MIN_POSTS else text
    else:
        form = text[: text.find(":") + 1] or text
    if date := next(find_dates(form), None):
        form = form[: date.start] + form[date.end :]
    return form


def _lines(site: SiteBlocks) -> Bools:
    """Tell which blocks are short, and in a cluster that several pages have."""
    return (site.chars < LINE_CHARS) & (pages_of_cluster(site) > TEMPLATE_PAGES)


@cached_per_site
def _facts(site: SiteBlocks) -> Bools:
    """Tell which blocks are headings, or stand in a table or a list of terms."""
    return site.headings | [block.tag in CELLS for block in all_blocks(site)]


@cached_per_site
def _dated_lines(site: SiteBlocks) -> Bools:
    """Tell which lines have a date; headings and cells must have a time, too."""
    is_dated, facts = _lines(site), _facts(site)
    for index in np.flatnonzero(is_dated).tolist():
        text = all_blocks(site)[index].text
        is_dated[index] = has_day(text) and (not facts[index] or TIME.search(text) is not None)
    return is_dated


def comment(site: SiteBlocks, prior: Floats) -> Bools:
    """Tell which blocks are readers' comments below a text."""
    return split_comments(site, prior)[0]


@cached_per_site
def comment_like(site: SiteBlocks) -> Bools:
    """Tell which blocks stand in an element that is named comment, reply or the like, or in a
    section with a heading of comments and dated lines.
    """
    sections = [below_comment_headings(page.blocks) for page in site.contents]
    return np.asarray(_in_named_elements(site, "comment") | np.concatenate(sections))


def _in_named_elements(site: SiteBlocks, group_name: str) -> Bools:
    """Tell which blocks stand in an element with a name of a group of `NAME_GROUPS`."""
    has_name = {slot: has_named_step(slot, group_name) for slot in set(site.slots)}
    return np.array([has_name[slot] for slot in site.slots], dtype=bool)


def split_comments(site: SiteBlocks, prior: Floats) -> tuple[Bools, Bools]:
    """Tell which blocks are readers' comments below a text, and which are posts of a discussion.

    Both stand in elements with names of comments (`comment_like`). Only pages with such elements
    are judged. They are comments if most of these pages also have another text: a long text, or any
    text if most of the site's texts are without comments. Otherwise they are posts.

    They are also posts if most of the other text of these pages stands in elements with names of
    forums and of lists of tickets: then that text is the first post. Blocks with much of the other
    text below them are neither: they belong to the text, for example captions, or a section
    "Requests and responses".
    """
    likely = comment_like(site)
    nothing = np.zeros_like(likely)
    if not likely.any():
        return nothing, nothing
    share = repeat_shares(site)
    # Text that many pages repeat, such as a cookie notice, is not an article.
    prose = np.where((share < 0.3) & (site.chars >= SENTENCE_CHARS), site.unlinked, 0)
    other_prose = np.where(~likely & (prior >= 0.5), prose, 0)
    has_comments = np.bincount(site.pages, np.where(likely, prose, 0)) > 0
    commented = np.where(has_comments[site.pages], other_prose, 0)
    if 2 * commented[_in_named_elements(site, "forum")].sum() > commented.sum():
        return nothing, likely
    page_prose = np.bincount(site.pages, other_prose)
    above = np.cumsum(other_prose) - (np.cumsum(page_prose) - page_prose)[site.pages]
    below_text = likely & (above >= BELOW_SHARE * page_prose[site.pages])
    if not has_comments.any():
        return below_text, nothing
    is_rare = has_comments.sum() <= (has_comments | (page_prose > 0)).sum() / 2
    if np.median(page_prose[has_comments]) >= (1 if is_rare else COMMENTED_CHARS):
        return below_text, nothing
    return nothing, likely
