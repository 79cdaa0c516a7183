"""The rules of the vote: what only the whole site can know of a block, each a function by itself.

A rule looks at all blocks of a site and returns for each how much speaks against its being content,
from 0 to 1. What that weighs stands beside the rule in `RULES`; `contentspider.site.votes` sums it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from contentspider.page.hints import squeeze
from contentspider.page.names import HEADINGS, NAME_GROUPS, name_groups
from contentspider.site.blocks import (
    SENTENCE_CHARS,
    TEMPLATE_SHARE,
    count_pages,
    group_mean,
    repeat_shares,
)
from contentspider.site.relevance import lcs_length

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from contentspider.page.blocks import PageBlocks
    from contentspider.page.hints import Hints
    from contentspider.site.blocks import SiteBlocks

    Floats = NDArray[np.floating[Any]]
    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]

# What a rule takes from the log odds of a block that the site knows better than the prior.
OVERRULED = 6.0
# Blocks, or pages, after which a spot speaks for itself as loudly as its cluster does.
TRUSTED = 8
# Other pages that must have a text for it to be the template's: a large share of few pages proves
# nothing.
TEMPLATE_PAGES = 4
FOREIGN_SHARE = 0.5
FOREIGN_EVIDENCE = 0.1
# By how much a slot must suit a text worse than its home for the text to be foreign there, and what
# standing last on the page rather than first counts in that.
FOREIGN_FIT = 0.15
LATENESS = 0.4
OWN_CONTRAST = 0.2
# Share of a headline's characters that the page's title has in order: above the one it is the
# page's own headline, below the other (which any two texts of one language reach) it is another's.
OWN_HEADLINE = 0.9
OTHER_HEADLINE = 0.75
# A page with this much text besides what is called comments is a text with comments below it.
COMMENTED_CHARS = 500


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of the vote: *evidence* against content, and what it weighs.

    *evidence* is called with all blocks of a site and the prior's probability of each, and returns
    for each block from 0 (nothing speaks against it) to 1; *weight* is what 1 takes from the log
    odds. Where several rules speak, the strongest counts.
    """

    name: str
    weight: float
    evidence: Callable[[SiteBlocks, Floats], Floats | Bools]


def template_prose(site: SiteBlocks, prior: Floats) -> Bools:
    """Tell which blocks are prose that most other pages repeat at its place: the template's."""
    share = repeat_shares(site)
    others = count_pages(site.cluster_texts, site.originals)[site.cluster_texts] - 1
    cluster_pages = count_pages(site.clusters, site.originals)[site.clusters]
    repeated = np.maximum(share, others / np.maximum(cluster_pages - 1, 1)) > TEMPLATE_SHARE
    return repeated & (others >= TEMPLATE_PAGES) & (site.chars >= SENTENCE_CHARS)


def foreign_text(site: SiteBlocks, prior: Floats) -> Bools:
    """Tell which blocks stand where most recurring prose is at home on other pages.

    That must be so whether copies of pages count or not: a listing with copies is nobody's home,
    and an article with copies is still at home on each of them.
    """
    every, distinct = (foreign_share(site, pages) for pages in (site.pages, site.originals))
    return np.minimum(every, distinct) > FOREIGN_SHARE


def foreign_share(site: SiteBlocks, pages: Ints) -> Floats:
    """Return for each block how much of its slot's prose belongs to other pages, from 0 to 1.

    An infinite scroll repeats whole articles of other pages, a listing their first lines. A long
    text that several pages have is at home where the slot's surroundings speak of the page's own
    hints, where the slot's texts do not recur, and where it comes first; at a slot much worse by
    these it is foreign. A slot full of foreign texts is no page's own content, whatever stands
    there on this page. *pages* are the numbers that pages are told apart by.
    """
    index = np.arange(len(site.pages))
    first = np.searchsorted(site.pages, site.pages, side="left")
    last = np.searchsorted(site.pages, site.pages, side="right")
    lateness = (index - first) / np.maximum(last - first, 1)
    times = count_pages(site.spot_texts, pages)[site.spot_texts]
    rate = group_mean(
        site.spots,
        (times > 1).astype(np.float32),
        np.where(site.chars >= SENTENCE_CHARS, site.chars, 1e-3).astype(np.float32),
    )
    once_each = np.ones_like(site.weights)
    own = (
        group_mean(site.parent_spots, site.contrast, site.weights)
        - rate
        - LATENESS * group_mean(site.spots, lateness, once_each)
    )
    # A spot of few pages says little by itself: it is taken for what its cluster is.
    spot_pages = count_pages(site.spots, pages)[site.spots]
    trust = spot_pages / (spot_pages + TRUSTED)
    fit = trust * own + (1 - trust) * group_mean(site.clusters, own, once_each)
    several = (count_pages(site.texts, site.originals)[site.texts] > 1) & (
        site.chars >= SENTENCE_CHARS
    )
    best = np.full(int(site.texts.max()) + 1, -np.inf)
    np.maximum.at(best, site.texts, fit)
    # At home a text stands once: what stands there on several pages (a law that is often cited) is
    # no page's own.
    has_home = np.zeros(len(best), dtype=bool)
    has_home[site.texts[(times == 1) & (fit >= best[site.texts])]] = True
    # What speaks of the page's own hints is its own, wherever else it stands: titles stand on every
    # listing.
    is_own = site.contrast >= OWN_CONTRAST
    foreign = (
        several & ~is_own & has_home[site.texts] & (best[site.texts] - fit > FOREIGN_FIT)
    ).astype(np.float32)
    of_slot = np.maximum(
        _foreign_slots(site, site.spots, foreign, several),
        _foreign_slots(site, site.parent_spots, foreign, several),
    )
    return np.where(is_own, 0, np.maximum(foreign, of_slot))


def _foreign_slots(site: SiteBlocks, groups: Ints, foreign: Floats, several: Bools) -> Floats:
    """Return the share of foreign texts among those of a slot that recur at all, 0 if too few do to
    tell.
    """
    recurring = np.bincount(groups, several * site.chars)
    share = np.bincount(groups, foreign * site.chars) / np.maximum(recurring, 1)
    enough = (recurring > FOREIGN_EVIDENCE * np.bincount(groups, site.chars)) & (
        np.bincount(groups, several) >= 3
    )
    return np.asarray(np.where(enough, share, 0)[groups], dtype=np.float32)


def other_article(site: SiteBlocks, prior: Floats) -> Bools:
    """Tell which blocks stand below another article's headline than the page's own."""
    return np.concatenate(
        [
            below_other_headline(page, hints)
            for page, hints in zip(site.contents, site.hints, strict=True)
        ]
    )


def below_other_headline(page: PageBlocks, hints: Hints) -> Bools:
    """Tell which blocks stand below an ``h1`` that is the headline of another article than the
    page's own.

    That is so where one ``h1`` is in the page's title, and another is not and stands outside of the
    element that holds the first with its prose: an infinite scroll. The sections of one article
    stand inside.
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
    own = int(np.argmax(likeness))
    if likeness[own] < OWN_HEADLINE:
        return found
    ends = [*headlines[1:], len(page.blocks)]
    holder = page.blocks[headlines[own]].container
    prose = [
        block
        for block in page.blocks[headlines[own] : ends[own]]
        if len(block.text) - block.link_chars >= SENTENCE_CHARS
    ]
    if not prose:
        return found
    for block in prose:
        holder = _common_ancestor(page.parents, holder, block.container)
    for index, number in enumerate(headlines):
        container = page.blocks[number].container
        if (
            index > own
            and likeness[index] < OTHER_HEADLINE
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


def comment_like(site: SiteBlocks) -> Bools:
    """Tell which blocks stand under an element that is called comment, reply or the like."""
    called: dict[str, bool] = {}
    for slot in site.slots:
        if slot not in called:
            called[slot] = any(COMMENT_NAME in name_groups(step) for step in slot.split("/")[1:])
    return np.fromiter((called[slot] for slot in site.slots), dtype=bool, count=len(site.slots))


def split_comments(site: SiteBlocks, prior: Floats) -> tuple[Bools, Bools]:
    """Tell which blocks are readers' comments below a text, and which are a discussion that is the
    page.

    What is called comments is comments if most pages with them have a text besides. Where most have
    none, as in a forum, it is the discussion, but for those pages that do have a text.
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
    beside = np.bincount(
        site.pages, np.where(~likely & (prior >= 0.5), prose, 0), minlength=site.page_count
    )
    commented = (
        np.bincount(site.pages, np.where(likely, prose, 0), minlength=site.page_count)
        >= COMMENTED_CHARS / 4
    )
    if not commented.any():
        return likely, nothing
    if np.median(beside[commented]) >= COMMENTED_CHARS:
        return likely, nothing
    has_text = (beside >= COMMENTED_CHARS)[site.pages]
    return likely & has_text, likely & ~has_text


RULES: tuple[Rule, ...] = (
    Rule("template_prose", OVERRULED, template_prose),
    Rule("foreign_text", OVERRULED, foreign_text),
    Rule("other_article", OVERRULED, other_article),
    Rule("echo", OVERRULED, echo),
    Rule("comment", OVERRULED, comment),
)
