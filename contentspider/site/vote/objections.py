"""The objections of the vote: what only the whole site can know of a block.

An objection looks at all blocks of a site and returns for each how much speaks against its being
content, from 0 to 1. Its weight stands beside it in `OBJECTIONS`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from contentspider.page.about.hints import squeeze
from contentspider.page.text import SENTENCE_CHARS, tokens
from contentspider.page.words.names import HEADINGS, NAME_GROUPS, name_groups
from contentspider.site.vote.blocks import count_pages, number_pairs, repeat_shares
from contentspider.site.vote.relevance import lcs_length

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from contentspider.page.about.hints import Hints
    from contentspider.page.blocks import PageBlocks
    from contentspider.site.vote.blocks import SiteBlocks

    Floats = NDArray[np.floating[Any]]
    Bools = NDArray[np.bool_]

# The weight of objections where the site knows better than the prior.
OVERRULED = 6.0
# The weight of objections that the prior may contradict.
DOUBTED = 3.0
# Blocks, or pages, after which a spot counts as much as its cluster.
TRUSTED = 8
# A template's text must be on so many other pages: a large share of few pages proves nothing.
TEMPLATE_PAGES = 4
# And on this share of the other pages of its place.
TEMPLATE_PROSE_SHARE = 0.7
# The length of a sentence that is filled in, and the share of its words on other pages.
FILL_IN_CHARS = 25
MAX_FILL_IN_CHARS = 200
FILL_IN_SHARE = 0.5
NUMBER = re.compile(r"\d+")
# Share of a headline's characters that are in the page's title in order. Above the first it is the
# page's own headline; below the second, which any two texts reach, it is another article's.
OWN_HEADLINE = 0.9
OTHER_HEADLINE = 0.75
# A page with this much text besides its "comments" is a text with comments below it.
COMMENTED_CHARS = 500
# Or this much, if fewer than half of the site's texts have comments: in a forum most have posts.
SHORT_COMMENTED_CHARS = 100
# A page has comments if it has this many characters of them.
COMMENT_CHARS = 125


@dataclass(frozen=True, slots=True)
class Objection:
    """An objection of the vote: *evidence* against content, and what it weighs.

    *evidence* is called with all blocks of a site and the prior's probability of each, and returns
    for each block from 0 (nothing speaks against it) to 1; *weight* is what 1 takes from the log
    odds. Of several objections the strongest counts.
    """

    name: str
    weight: float
    evidence: Callable[[SiteBlocks, Floats], Floats | Bools]


def template_prose(site: SiteBlocks, prior: Floats) -> Bools:
    """Tell which blocks are prose that most other pages repeat at its place, a spot or a cluster:
    the template's.
    """
    repeated = np.zeros(len(site.chars), dtype=bool)
    for places, texts in ((site.spots, site.spot_texts), (site.clusters, site.cluster_texts)):
        others = count_pages(texts, site.sources)[texts] - 1
        pages = count_pages(places, site.sources)[places] - 1
        repeated |= (others > TEMPLATE_PROSE_SHARE * pages) & (others >= TEMPLATE_PAGES)
    return repeated & (site.chars >= SENTENCE_CHARS)


def other_article(site: SiteBlocks, prior: Floats) -> Bools:
    """Tell which blocks stand below the headline of another article than the page's own.

    Some of its prose is on another page, too: its own page, or one that continues with it.
    """
    shared = (
        (count_pages(site.texts, site.originals)[site.texts] > 1)
        & (site.chars >= SENTENCE_CHARS)
        & ~template_prose(site, prior)
    )
    starts = np.searchsorted(site.pages, np.arange(1, len(site.contents)))
    return np.concatenate(
        [
            below_other_headline(page, hints, elsewhere)
            for page, hints, elsewhere in zip(
                site.contents, site.hints, np.split(shared, starts), strict=True
            )
        ]
    )


def below_other_headline(page: PageBlocks, hints: Hints, shared: Bools) -> Bools:
    """Tell which blocks stand below an ``h1`` that is the headline of another article than the
    page's own.

    That is so where one ``h1`` is in the page's title, and another is not and stands outside of the
    element that holds the first with its prose: an infinite scroll. The sections of one article
    stand inside. Of what follows the headline some must be *shared* with other pages: a sidebar
    may have an ``h1``, too.
    """
    found = np.zeros(len(page.blocks), dtype=bool)
    headlines = [number for number, block in enumerate(page.blocks) if block.tag == "h1"]
    if len(headlines) < 2:
        return found
    titles = [squeeze(title) for title in hints.titles]
    likeness = []
    for number in headlines:
        text = squeeze(page.blocks[number].text)
        likeness.append(
            max((lcs_length(text, title) for title in titles), default=0) / max(len(text), 1)
        )
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
        return found
    holder = page.blocks[headlines[own]].container
    for block in prose[own]:
        holder = _common_ancestor(page.parents, holder, block.container)
    for index, number in enumerate(headlines):
        container = page.blocks[number].container
        if (
            index > own
            and likeness[index] < OTHER_HEADLINE
            and shared[number : ends[index]].any()
            and _common_ancestor(page.parents, holder, container) != holder
        ):
            found[number : ends[index]] = True
    return found


def _common_ancestor(parents: list[int], first: int, second: int) -> int:
    """Return the innermost element that holds two elements; a parent's index is below its
    children's.
    """
    while first != second:
        if first > second:
            first = parents[first]
        else:
            second = parents[second]
    return first


def fill_in(site: SiteBlocks, prior: Floats) -> Bools:
    """Tell which blocks are a sentence of the template that each page fills in: "Posted on 7 May by
    Ada in Tea", opening hours, counters.

    At least half of its words are on the other pages of the cluster; all numbers count as one word.
    Words in many texts of a page count less: they are the language's, not the template's. If such
    sentences are most of the prose that the prior would keep of a page, they are its text.
    """
    if site.common_words is None:  # cached: it costs most, and a site is voted on several times
        site.common_words = _common_words(site)
    pages = count_pages(site.clusters, site.sources)[site.clusters] - 1
    is_sentence = (site.chars >= FILL_IN_CHARS) & ~site.headings
    found = is_sentence & (site.common_words > FILL_IN_SHARE) & (pages >= TEMPLATE_PAGES)
    own, lost = (
        np.bincount(site.pages, site.chars * chosen)
        for chosen in (prior >= 0.5, found & (prior >= 0.5))
    )
    return found & (2 * lost <= own)[site.pages]


def _common_words(site: SiteBlocks) -> Floats:
    """Return for each block the share of its words that the other pages of its cluster have."""
    texts = [block.text for page in site.contents for block in page.blocks]
    short = np.flatnonzero(site.chars < MAX_FILL_IN_CHARS)
    words: dict[str, int] = {}
    blocks: list[int] = []
    numbers: list[int] = []
    for index in short.tolist():
        # Not a set: sums would depend on its order, which differs between processes.
        for word in dict.fromkeys(tokens(NUMBER.sub("0", texts[index]))):
            blocks.append(index)
            numbers.append(words.setdefault(word, len(words)))
    if not blocks:
        return np.zeros(len(texts))
    of = np.array(blocks)
    pairs = number_pairs(site.clusters[of], np.array(numbers))
    others = count_pages(pairs, site.sources[of])[pairs] - 1
    pages = count_pages(site.clusters, site.sources)[site.clusters] - 1
    once = (others + 1) / np.bincount(pairs)[pairs]
    shares = np.bincount(of, once * others / np.maximum(pages[of], 1), minlength=len(texts))
    return shares / np.maximum(np.bincount(of, minlength=len(texts)), 1)


def echo(site: SiteBlocks, prior: Floats) -> Bools:
    """Tell which blocks only repeat a heading of their page: in the bread crumbs, or a table of
    contents.
    """
    found: list[bool] = []
    for page in site.contents:
        headings = {block.text for block in page.blocks if block.tag in HEADINGS}
        found += [block.tag not in HEADINGS and block.text in headings for block in page.blocks]
    return np.array(found, dtype=bool)


def comment(site: SiteBlocks, prior: Floats) -> Bools:
    """Tell which blocks are readers' comments below a text."""
    return split_comments(site, prior)[0]


COMMENT_NAME = NAME_GROUPS.index("comment")
# What an element has or lacks, by its name, is not what it is: themes call posts "has-comments".
FLAG = re.compile(r"\.(?:has|no|without|with)[-_][^#.\[]*")


def comment_like(site: SiteBlocks) -> Bools:
    """Tell which blocks stand in an element named comment, reply or the like."""
    is_comment = {
        slot: any(COMMENT_NAME in name_groups(FLAG.sub("", step)) for step in slot.split("/")[1:])
        for slot in set(site.slots)
    }
    return np.array([is_comment[slot] for slot in site.slots], dtype=bool)


def split_comments(site: SiteBlocks, prior: Floats) -> tuple[Bools, Bools]:
    """Tell which blocks are readers' comments below a text, and which are the posts of a
    discussion.

    They are comments if most pages with them have a text besides: a long one, or a short one if
    most of the site's texts have no comments. Otherwise, as in a forum, they are a discussion, but
    for pages that do have a long text.
    """
    likely = comment_like(site)
    nothing = np.zeros_like(likely)
    if not likely.any():
        return nothing, nothing
    share = repeat_shares(site)
    # Text that many pages repeat (a cookie notice) is nobody's article.
    prose = np.where(
        (share < 0.3) & (site.chars >= SENTENCE_CHARS), site.chars * (1 - site.link_share), 0
    )
    beside = np.bincount(site.pages, np.where(~likely & (prior >= 0.5), prose, 0))
    commented = np.bincount(site.pages, np.where(likely, prose, 0)) >= COMMENT_CHARS
    if not commented.any():
        return likely, nothing
    texts = commented | (beside >= SHORT_COMMENTED_CHARS)
    is_rare = commented.sum() <= texts.sum() / 2
    if np.median(beside[commented]) >= (SHORT_COMMENTED_CHARS if is_rare else COMMENTED_CHARS):
        return likely, nothing
    has_text = (beside >= COMMENTED_CHARS)[site.pages]
    return likely & has_text, likely & ~has_text


OBJECTIONS: tuple[Objection, ...] = (
    Objection("template_prose", OVERRULED, template_prose),
    Objection("other_article", OVERRULED, other_article),
    Objection("fill_in", DOUBTED, fill_in),
    Objection("echo", DOUBTED, echo),
    Objection("comment", OVERRULED, comment),
)
