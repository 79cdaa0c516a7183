"""What the whole site says of each block: the votes of Algorithm 1, by slot and cluster.

The paper sums the relevance of a cluster's blocks over all pages of the site. Here the log odds of
the prior are summed the same way, at several widths, since a narrow slot is precise and a wide one
has seen more blocks. Relevance decides where they do not, and what only the site can know
(`contentspider.site.vote.objections`) speaks against them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from contentspider.page.about.jsonld import title_key
from contentspider.page.tree.text import SENTENCE_CHARS
from contentspider.site.slots import SURE_SHARE, TEMPLATE_PAGES
from contentspider.site.vote.blocks import (
    TEMPLATE_SHARE,
    all_blocks,
    found_once,
    group_mean,
    pages_of_spot,
    repeat_shares,
    window_mean,
)
from contentspider.site.vote.objections import OBJECTIONS, OVERRULED, TRUSTED
from contentspider.site.vote.posts import split_comments

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from contentspider.site.arrays import Bools, Floats
    from contentspider.site.vote.blocks import SiteBlocks
    from contentspider.site.vote.objections import Objection

# Added to the log odds, the more of the site was seen: more content is missed than wrongly kept.
LENIENCY = 0.3
# What is added to even log odds of a site of which otherwise little would be kept.
NEED = 3.0
# Log odds that are undecided then. What a reference has of its own is rather below than above.
UNDECIDED = -2.0, 1.0
# What relevance to the hints adds where the votes are undecided; more would keep teasers.
RELEVANCE = 0.5
# How much a repeated short text follows the blocks beside it, in log odds.
LABEL_COMPANY = 1.5
# The least log odds of a page's headline.
HEADLINE = 3.0
# Blocks before and after a block that are beside it.
REACH = 3
# A table and a list of terms name each page's facts alike.
FACT_NAMES = frozenset(["th", "dt"])


@dataclass(frozen=True, slots=True)
class Voter:
    """A voter: *probability* gives for all blocks of a site, and the prior's probability of each,
    one for each block, from 0 to 1; *weight* is relative to the other voters'.
    """

    name: str
    weight: float
    probability: Callable[[SiteBlocks, Floats], Floats]


def by_cluster(site: SiteBlocks, prior: Floats) -> Floats:
    """Return the mean prior of each block's cluster."""
    return group_mean(site.clusters, prior, site.weights)


def by_slot(site: SiteBlocks, prior: Floats) -> Floats:
    """Return the mean prior of each block's spot if it was seen often, else of its cluster."""
    seen = np.bincount(site.spots)[site.spots]
    trust = seen / (seen + TRUSTED)
    of_spot = group_mean(site.spots, prior, site.weights)
    return trust * of_spot + (1 - trust) * by_cluster(site, prior)


def by_articles(site: SiteBlocks, prior: Floats) -> Floats:
    """Return the mean prior of each block's cluster, weighted by how much pages are articles."""
    ranks = article_ranks(site, prior)[site.pages]
    return group_mean(site.clusters, prior, (site.weights * ranks**2 + 1e-6).astype(np.float32))


def by_neighbours(site: SiteBlocks, prior: Floats) -> Floats:
    """Return the mean prior of the clusters of the blocks beside each block."""
    return window_mean(by_cluster(site, prior), site.weights, site.pages, REACH)


def article_ranks(site: SiteBlocks, prior: Floats) -> Floats:
    """Return how much of an article each page is, from 0 to 1, by the prior's share of its text."""
    share = np.bincount(site.pages, prior * site.chars) / np.bincount(site.pages, site.chars)
    return (share / max(float(np.quantile(share, 0.9)), 0.05)).clip(0, 1).astype(np.float32)


# Their weights were measured on the open corpora, see docs/how-it-works.md.
VOTERS: tuple[Voter, ...] = (
    Voter("slot", 2.0, by_slot),
    Voter("articles", 3.0, by_articles),
    Voter("beside", 1.0, by_neighbours),
)


def vote(
    site: SiteBlocks,
    prior: Floats,
    unnamed: Floats,
    voters: Sequence[Voter] = VOTERS,
    objections: Sequence[Objection] = OBJECTIONS,
) -> Floats:
    """Return for each block how probably, from 0 to 1, it is content by the vote of the whole site.

    *prior* is each block's probability from its page alone; *unnamed*, the same without names of
    comments, judges the posts of a discussion.
    """
    _, discussion = split_comments(site, prior)
    prior = np.where(discussion, unnamed, prior)
    odds = mean_odds(site, prior, voters)
    odds = odds + relevance_odds(site, odds)
    against = strongest_evidence(site, prior, objections)
    odds = odds + needed_odds(site, odds, against <= 0)
    odds = adjust_short_texts(site, odds - against, against > 0)
    headline = headlines(site, odds) & (against <= 0)
    odds = np.where(headline, np.maximum(odds, HEADLINE), odds)
    return np.asarray(1 / (1 + np.exp(-odds)), dtype=np.float32)


def log_odds(probability: Floats) -> Floats:
    """Return the logarithm of the odds; what is nearer than 1 % to 0 or 1 counts as that near."""
    clipped = np.clip(probability, 0.01, 0.99)
    return np.log(clipped / (1 - clipped)).astype(np.float32)


def undecided(odds: Floats) -> Floats:
    """Return how even log odds are: 4 p (1 - p), from 0 to 1."""
    return np.asarray(1 - np.tanh(odds / 2) ** 2)


def mean_odds(site: SiteBlocks, prior: Floats, voters: Sequence[Voter]) -> Floats:
    """Return the mean of the voters' log odds by their weights, and `leniency` more."""
    odds = [voter.weight * log_odds(voter.probability(site, prior)) for voter in voters]
    mean = np.sum(odds, axis=0) / sum(voter.weight for voter in voters)
    return np.asarray(mean + leniency(site))


def leniency(site: SiteBlocks) -> float:
    """Return what is added to the log odds of each block of a site."""
    return LENIENCY * site.distinct_pages / (site.distinct_pages + TRUSTED)


def relevance_odds(site: SiteBlocks, odds: Floats) -> Floats:
    """Return what the contrast of a cluster's prose adds: most where the *odds* are even. Links and
    labels, such as a breadcrumb, say no more than the page's title.
    """
    contrast = group_mean(site.clusters, np.where(site.is_prose, site.contrast, 0), site.weights)
    return np.asarray(RELEVANCE * undecided(odds) * contrast.clip(-0.2, 0.5))


def needed_odds(site: SiteBlocks, odds: Floats, allowed: Bools) -> Floats:
    """Return what is added to even *odds* where most of what only single pages have is undecided:
    the tables of a reference. Nothing up to a quarter of it; most sites have a sixth at most. And
    nothing to what nearly all pages repeat.
    """
    share = repeat_shares(site)
    own = allowed & (share <= TEMPLATE_SHARE)
    prose = np.where(own, site.unlinked, 0)
    low, high = UNDECIDED
    sure, even = prose[odds >= high].sum(), prose[(odds > low) & (odds < high)].sum()
    need = NEED * (4 * even / max(sure + even, 1) - 1).clip(0, 1)
    return np.asarray(np.where(share <= SURE_SHARE, need * undecided(odds), 0))


def strongest_evidence(site: SiteBlocks, prior: Floats, objections: Sequence[Objection]) -> Floats:
    """Return what the strongest objection takes from each block's log odds."""
    against = [one.weight * one.evidence(site, prior) for one in objections]
    return np.asarray(np.max([np.zeros(len(site.chars)), *against], axis=0))


def headlines(site: SiteBlocks, odds: Floats) -> Bools:
    """Tell which blocks are headlines: of each page of which text is kept the ``h1`` that has most
    of the page's own title. What pages repeat is the site's name; and a block that is kept may say
    the same already.
    """
    kept = odds >= 0
    prose = np.where(kept, site.unlinked, 0)
    has_text = np.bincount(site.pages, prose) >= SENTENCE_CHARS
    found = np.zeros(len(kept), dtype=bool)
    for index, same in _titles_in_text(site):
        found[index] = has_text[site.pages[index]] and not kept[same].any()
    return found


@found_once
def _titles_in_text(site: SiteBlocks) -> list[tuple[int, list[int]]]:
    """Return the ``h1`` of each page that has most of its title, and which blocks say the same."""
    found = []
    own = site.headings & (repeat_shares(site) <= TEMPLATE_SHARE)
    start = 0
    for page, hints in zip(site.contents, site.hints, strict=True):
        titles = [title_key(title) for title in hints.titles]
        keys = {
            number: title_key(page.blocks[number].text)
            for number in np.flatnonzero(own[start : start + len(page.blocks)]).tolist()
            if page.blocks[number].tag == "h1"
        }
        named = [number for number, key in keys.items() if any(key in title for title in titles)]
        if named:
            first = max(named, key=lambda number: len(keys[number]))
            most = 2 * len(page.blocks[first].text)  # the same with other dashes and quotes
            same = [
                start + number
                for number, block in enumerate(page.blocks)
                if len(block.text) <= most
                and number != first
                and title_key(block.text) == keys[first]
            ]
            found.append((start + first, same))
        start += len(page.blocks)
    return found


def is_name(site: SiteBlocks, index: int) -> bool:
    """Tell whether a heading of many pages is in a title beside other words."""
    key = title_key(all_blocks(site)[index].text)
    titles = map(title_key, site.hints[site.pages[index]].titles)
    return any("" != key != title and key in title for title in titles)


def adjust_short_texts(site: SiteBlocks, odds: Floats, overruled: Bools) -> Floats:
    """Return the *odds*, those of short texts that the site repeats adjusted to their neighbours,
    but for *overruled* ones.

    Such a text is a heading of the content ("Ingredients") or of the template ("Read more"), like
    the blocks beside it, the less the surer the votes are; and the same on all pages, at its place.
    One on nearly every page is the template's, but for names of facts, and headings that do not
    name the site, or a section of it.
    """
    share = repeat_shares(site)
    label = (share > TEMPLATE_SHARE) & (site.chars < SENTENCE_CHARS) & ~overruled
    others = np.where(label, 0, site.weights)
    company = window_mean(np.tanh(odds / 2), others, site.pages, REACH)
    plain = odds - leniency(site)
    followed = plain + LABEL_COMPANY * company * undecided(plain)
    alike = group_mean(site.spot_texts, followed, np.ones_like(followed))
    adjusted = np.where(label, alike, odds)
    least = np.where(site.headings, TEMPLATE_PAGES, max(TEMPLATE_PAGES, site.distinct_pages / 2))
    constant = label & (share > SURE_SHARE) & (pages_of_spot(site) > least)
    for index in np.flatnonzero(constant).tolist():
        tag = all_blocks(site)[index].tag
        constant[index] = is_name(site, index) if site.headings[index] else tag not in FACT_NAMES
    return np.where(constant, adjusted - OVERRULED, adjusted)
