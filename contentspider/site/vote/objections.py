"""The objections of the vote: evidence against blocks that only the whole site shows."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import compress
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from contentspider.page.about.hints import squeeze
from contentspider.page.about.jsonld import title_key
from contentspider.page.tree.blocks import common_element
from contentspider.page.tree.tags import is_link
from contentspider.page.tree.text import SENTENCE_CHARS
from contentspider.page.words.phrases import NOISE_PHRASES
from contentspider.site.judge.slots import SURE_SHARE, TEMPLATE_PAGES
from contentspider.site.vote.blocks import (
    all_blocks,
    cached_per_site,
    count_pages,
    group_mean,
    number_keys,
    number_pairs,
    pages_of_cluster,
    pages_of_spot,
)
from contentspider.site.vote.excerpts import teaser
from contentspider.site.vote.posts import comment, dated, post_lines
from contentspider.site.vote.relevance import lcs_length

if TYPE_CHECKING:
    from collections.abc import Callable

    from contentspider.page.about.hints import Hints
    from contentspider.page.tree.blocks import Block, PageBlocks
    from contentspider.site.arrays import Bools, Floats, Ints
    from contentspider.site.vote.blocks import SiteBlocks

# The weight of objections that overrule the prior.
OVERRULED = 6.0
# The weight of objections that a sure prior can overrule.
DOUBTED = 3.0
# A spot with this many blocks counts as much as its cluster; a site with this many pages gets half
# of the leniency.
TRUSTED = 8
# The page's own headline has at least this share of its characters in the title, in order.
OWN_HEADLINE = 0.9
# A longer line is not a breadcrumb trail. Shorter titles are at the end of many lines by chance.
TRAIL_CHARS, TITLE_CHARS = 200, 3
# A spot of texts in turn is on this many pages, and at most this share of its text is on few pages.
TURNING_PAGES, OWN_SHARE = 12, 0.05
# Texts at the end of more than this share of the site's pages belong to the template.
END_SHARE = 0.3


@dataclass(frozen=True, slots=True)
class Objection:
    """An objection to blocks of a site.

    *evidence* is a function of the site's blocks and the prior's probability of each block. It
    returns for each block how strong the evidence against its being content is, from 0 to 1. The
    evidence times *weight* is subtracted from the block's log odds. If several objections apply to
    a block, only the strongest counts.
    """

    name: str
    weight: float
    evidence: Callable[[SiteBlocks, Floats], Floats | Bools]


@cached_per_site
def template_prose(site: SiteBlocks) -> Bools:
    """Tell which blocks are prose that most other pages have in the same spot or cluster, or that
    most pages have somewhere.

    Headings do not count as prose, even long ones: a form has headings wherever it recurs.
    """
    recurs, pages = _recurs(site), count_pages(site.texts, site.sources)[site.texts]
    is_common = (2 * pages > site.distinct_pages) & (pages > TEMPLATE_PAGES)
    # A page that has the text at its usual place may have it in its own text, too.
    page_texts = number_pairs(site.pages, site.texts)
    is_common &= np.bincount(page_texts, recurs)[page_texts] == 0
    return (recurs | is_common) & (site.chars >= SENTENCE_CHARS) & ~site.headings


@cached_per_site
def template_section(site: SiteBlocks) -> Bools:
    """Tell which blocks are headings of a section that most pages repeat.

    All blocks of such a section recur, and at least one of them is prose of the template. Hidden
    boxes with help are examples.
    """
    recurs = _recurs(site)
    begins = site.headings | (np.diff(site.pages, prepend=-1) != 0)
    sections = begins.cumsum()
    has_prose = np.bincount(sections, template_prose(site)) > 0
    has_unrepeated = np.bincount(sections, ~recurs & ~site.headings) > 0
    pages = count_pages(site.cluster_texts, site.sources)[site.cluster_texts]
    is_common = recurs & (pages > SURE_SHARE * site.distinct_pages)
    return np.asarray(site.headings & is_common & (has_prose & ~has_unrepeated)[sections])


@cached_per_site
def _recurs(site: SiteBlocks) -> Bools:
    """Tell which blocks have a text that most other pages have in the same spot or cluster."""
    repeated = np.zeros(len(site.chars), dtype=bool)
    for pages, texts in (
        (pages_of_spot(site), site.spot_texts),
        (pages_of_cluster(site), site.cluster_texts),
    ):
        other_pages = count_pages(texts, site.sources)[texts] - 1
        repeated |= (other_pages > SURE_SHARE * (pages - 1)) & (other_pages >= TEMPLATE_PAGES)
    return repeated


@cached_per_site
def in_turn(site: SiteBlocks) -> Bools:
    """Tell which blocks are prose in a spot whose texts the site shows in turn, such as adverts:
    each of them is on several pages, and no page has a text of its own there.
    """
    recurs = count_pages(site.spot_texts, site.sources)[site.spot_texts] > TEMPLATE_PAGES
    own = group_mean(site.spots, np.where(recurs, 0, 1), site.weights)
    is_seen = (pages_of_spot(site) >= TURNING_PAGES) & (own <= OWN_SHARE)
    return np.asarray(recurs & is_seen & site.is_prose & ~site.headings)


@cached_per_site
def other_article(site: SiteBlocks) -> Bools:
    """Tell which blocks belong to another article than the page's own.

    They stand below the headline of the other article (`other_headlines`). Most such headlines in
    its cluster must be followed by prose that another page has, too.
    """
    shared = ~template_prose(site) & (site.chars >= SENTENCE_CHARS)
    shared &= count_pages(site.texts, site.originals)[site.texts] > 1
    articles: list[tuple[int, int]] = []
    start = 0
    for page, hints in zip(site.contents, site.hints, strict=True):
        clusters = site.clusters[start : start + len(page.blocks)]
        articles += [
            (start + first, start + end) for first, end in other_headlines(page, hints, clusters)
        ]
        start += len(page.blocks)
    is_other = np.zeros(len(shared), dtype=bool)
    if articles:
        clusters = site.clusters[[first for first, _ in articles]]
        is_shared = np.array([shared[first:end].any() for first, end in articles])
        most_are_shared = group_mean(clusters, is_shared, np.ones(len(articles))) > 0.5
        for first, end in compress(articles, most_are_shared.tolist()):
            is_other[first:end] = True
    return is_other


class _Headline(NamedTuple):
    """An ``h1`` of a page, with the *prose* below it; the next ``h1`` is the block *end*.

    *likeness* is the share of its characters that are in the page's title, in order.
    """

    number: int
    end: int
    likeness: float
    prose: list[Block]


def other_headlines(page: PageBlocks, hints: Hints, clusters: Ints) -> list[tuple[int, int]]:
    """Return the range of blocks of each other article of a page: its first block and its end.

    A page with an infinite scroll has several articles. The ``h1`` of the first is in the page's
    title. The ``h1`` of another article is not in the title, and stands outside of the element that
    holds the first one with its prose, which contains all sections of the first article. It must
    be in the same cluster as the first: where it is not, the first ``h1`` is the name of a blog or
    a listing, and the others belong to its posts. *clusters* has the cluster of each block of the
    page.

    A page of several sections can look the same, and so can a sidebar; `other_article` excludes
    these.
    """
    headlines = _headlines(page, hints)
    if len(headlines) < 2:
        return []
    # A hidden header may repeat the headline, so the one with most prose counts.
    own = max(headlines, key=lambda headline: (headline.likeness, len(headline.prose)))
    if own.likeness < OWN_HEADLINE or not own.prose:
        return []
    holder = page.blocks[own.number].container
    for block in own.prose:
        holder = common_element(page.parents, holder, block.container)
    articles = []
    for headline in headlines:
        is_later = headline.number > own.number
        if not is_later or headline.likeness >= OWN_HEADLINE:
            continue
        if clusters[headline.number] != clusters[own.number]:
            continue
        container = page.blocks[headline.number].container
        if common_element(page.parents, holder, container) != holder:
            articles.append((headline.number, headline.end))
    return articles


def _headlines(page: PageBlocks, hints: Hints) -> list[_Headline]:
    """Return the ``h1`` of a page in order; nothing if there is only one."""
    numbers = [number for number, block in enumerate(page.blocks) if block.tag == "h1"]
    if len(numbers) < 2:
        return []
    titles = [squeeze(title) for title in hints.titles]
    headlines = []
    for number, end in zip(numbers, [*numbers[1:], len(page.blocks)], strict=True):
        text = squeeze(page.blocks[number].text)
        common = max((lcs_length(text, title) for title in titles), default=0)
        prose = [
            block
            for block in page.blocks[number + 1 : end]
            if len(block.text) - block.link_chars >= SENTENCE_CHARS
        ]
        headlines.append(_Headline(number, end, common / max(len(text), 1), prose))
    return headlines


@cached_per_site
def pointer(site: SiteBlocks) -> Bools:
    """Tell which blocks are a link after a label that several pages have: "Next message: Re: Tea".

    The label must have a phrase such as "next page" or "previous" (`NOISE_PHRASES`).
    """
    blocks = all_blocks(site)
    labels = [block.text[: len(block.text) - block.link_chars].lower() for block in blocks]
    spot_labels = number_pairs(site.spots, number_keys(labels))
    other_pages = count_pages(spot_labels, site.sources)[spot_labels] - 1
    is_pointer = (site.link_share > 0) & (other_pages >= TEMPLATE_PAGES)
    for index in np.flatnonzero(is_pointer).tolist():
        is_pointer[index] = NOISE_PHRASES["move"].search(labels[index]) is not None
    return is_pointer


@cached_per_site
def breadcrumb_trail(site: SiteBlocks) -> Bools:
    """Tell which blocks are breadcrumb trails.

    A trail is a short line with links that ends with the page's own title. Most lines of its
    cluster must end like that.
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
    ones = np.ones_like(site.chars)
    return np.asarray(trails & (group_mean(site.clusters, trails * ones, ones) > 0.5))


def _text_after_links(block: Block) -> str:
    """Return the text after the last link of a block, "" for a block without links."""
    ends = [end for _, end, mark in block.spans if is_link(mark)]
    return block.text[max(ends) :] if ends else ""


@cached_per_site
def page_end(site: SiteBlocks) -> Bools:
    """Tell which blocks belong to an ending that many pages share, such as an address.

    The block and all blocks below it have texts that recur in their clusters, and a block above it
    has not. Headings do not count.
    """
    pages = count_pages(site.cluster_texts, site.sources)[site.cluster_texts]
    recurs = pages > max(TEMPLATE_PAGES, END_SHARE * site.distinct_pages)
    index = np.arange(len(recurs))
    last_unrepeated = np.full(len(site.contents), -1)
    np.maximum.at(last_unrepeated, site.pages[~recurs], index[~recurs])
    page_last = last_unrepeated[site.pages]
    ends = (index > page_last) & (page_last >= 0)
    end_chars = np.bincount(site.pages, ends * site.chars, len(site.contents))
    return np.asarray(ends & (end_chars[site.pages] >= SENTENCE_CHARS) & ~site.headings)


OBJECTIONS: tuple[Objection, ...] = (
    Objection("template_prose", OVERRULED, template_prose),
    Objection("template_section", OVERRULED, template_section),
    Objection("in_turn", OVERRULED, in_turn),
    Objection("other_article", OVERRULED, other_article),
    Objection("teaser", OVERRULED, teaser),
    Objection("breadcrumb_trail", OVERRULED, breadcrumb_trail),
    Objection("page_end", DOUBTED, page_end),
    Objection("dated", DOUBTED, dated),
    Objection("post_lines", DOUBTED, post_lines),
    Objection("pointer", DOUBTED, pointer),
    Objection("comment", OVERRULED, comment),
)
