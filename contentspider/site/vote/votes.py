"""The vote of a site: labels each block by the blocks of its slot and cluster on all pages.

Algorithm 1 of the paper sums the relevance of a cluster's blocks over all pages of a site. This
vote sums the log odds of the prior in the same way, once by slot and once by cluster: a slot is
more precise, and a cluster has more blocks. Relevance to the page's hints decides where these sums
are even. Objections (`contentspider.site.vote.objections`) lower the odds by evidence that only the
whole site has.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from contentspider.page.about.jsonld import title_key
from contentspider.page.tree.text import SENTENCE_CHARS
from contentspider.site.judge.slots import SURE_SHARE, TEMPLATE_PAGES
from contentspider.site.vote.blocks import (
    TEMPLATE_SHARE,
    all_blocks,
    cached_per_site,
    group_mean,
    pages_of_spot,
    repeat_shares,
    window_mean,
)
from contentspider.site.vote.objections import OBJECTIONS, OVERRULED, TRUSTED
from contentspider.site.vote.posts import split_comments

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from contentspider.page.about.hints import Hints
    from contentspider.page.tree.blocks import PageBlocks
    from contentspider.site.arrays import Bools, Floats
    from contentspider.site.vote.blocks import SiteBlocks
    from contentspider.site.vote.objections import Objection

# Added to all log odds of a large sample, and less for a small one: without it the vote drops more
# content than it keeps boilerplate.
LENIENCY = 0.3
# Added to even log odds if most text that only single pages have is undecided.
NEED = 3.0
# The range of log odds that count as undecided. The tables of a reference are mostly below 0.
UNDECIDED = -2.0, 1.0
# The weight of relevance to the hints where the votes are even. A higher one would keep teasers.
RELEVANCE = 0.5
# The weight of the neighbouring blocks in the log odds of a short text that the site repeats.
LABEL_COMPANY = 1.5
# The log odds of a page's headline are raised to this.
HEADLINE = 3.0
# A block has this many neighbours before and after it.
REACH = 3
# In the end, the prior of a block counts like the votes of this many pages.
PRIOR_PAGES = 3
# Where the blocks of a cluster disagree most, the prior of each counts this share.
DISAGREEING = 0.5
# Log odds of a prior that is sure, and how many of a spot's texts it must be sure of.
SURE_ODDS, SURE_TEXTS = 2.0, 0.2
# A question on the control that opens its answer, and the sign beside it.
QUESTION = re.compile(r"[?？؟;՞፧]\W{0,8}\Z")
CONTROLS = frozenset(["button", "summary"])
# Elements that name facts. Tables and lists of terms on many pages have the same names of facts.
FACT_NAMES = frozenset(["th", "dt"])


@dataclass(frozen=True, slots=True)
class Voter:
    """A voter of a site.

    *probability* is a function of the site's blocks and the prior's probability of each block. It
    returns a probability from 0 to 1 for each block. *weight* is relative to the other voters'.
    """

    name: str
    weight: float
    probability: Callable[[SiteBlocks, Floats], Floats]


def by_cluster(site: SiteBlocks, prior: Floats) -> Floats:
    """Return for each block the mean of the prior over its cluster."""
    return group_mean(site.clusters, prior, site.weights)


def by_slot(site: SiteBlocks, prior: Floats) -> Floats:
    """Return for each block the mean of the prior over its spot and its cluster.

    The more blocks a spot has, the more it counts relative to the cluster.
    """
    block_counts = np.bincount(site.spots)[site.spots]
    trust = block_counts / (block_counts + TRUSTED)
    of_spot = group_mean(site.spots, prior, site.weights)
    return trust * of_spot + (1 - trust) * by_cluster(site, prior)


def by_articles(site: SiteBlocks, prior: Floats) -> Floats:
    """Return for each block the mean of the prior over its cluster; articles weigh more."""
    ranks = article_ranks(site, prior)[site.pages]
    return group_mean(site.clusters, prior, (site.weights * ranks**2 + 1e-6).astype(np.float32))


def by_neighbours(site: SiteBlocks, prior: Floats) -> Floats:
    """Return for each block the mean of the prior over the clusters of its neighbours."""
    return window_mean(by_cluster(site, prior), site.weights, site.pages, REACH, REACH)


def article_ranks(site: SiteBlocks, prior: Floats) -> Floats:
    """Return for each page how much of an article it is, from 0 to 1.

    The rank is the share of the page's text that is content by the prior, relative to the best
    tenth of the pages.
    """
    share = np.bincount(site.pages, prior * site.chars) / np.bincount(site.pages, site.chars)
    return (share / max(float(np.quantile(share, 0.9)), 0.05)).clip(0, 1).astype(np.float32)


# The weights were measured on the open corpora, see docs/how-it-works.md.
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
    """Return for each block the probability that it is content, from 0 to 1, by the whole site.

    *prior* is the prior's probability of each block. *unnamed* is the prior's probability without
    the features that mark comments; it replaces *prior* for the posts of a discussion.
    """
    _, discussion = split_comments(site, prior)
    prior = np.where(discussion, unnamed, prior)
    odds = mean_odds(site, prior, voters)
    odds = odds + relevance_odds(site, odds)
    against = strongest_evidence(site, prior, objections)
    odds = odds + needed_odds(site, odds, against <= 0)
    odds = np.where((against <= 0) & sure_elsewhere(site, prior), np.maximum(odds, SURE_ODDS), odds)
    odds = beside_prior(site, odds - against, prior)
    odds = adjust_short_texts(site, odds, against > 0)
    odds = with_answers(site, odds)
    headline = headlines(site, odds) & (against <= 0)
    odds = np.where(headline, np.maximum(odds, HEADLINE), odds)
    return np.asarray(1 / (1 + np.exp(-odds)), dtype=np.float32)


def log_odds(probability: Floats) -> Floats:
    """Return the logarithm of the odds; probabilities are first cut to the range 0.01 to 0.99."""
    clipped = np.clip(probability, 0.01, 0.99)
    return np.log(clipped / (1 - clipped)).astype(np.float32)


def undecided(odds: Floats) -> Floats:
    """Return how undecided log odds are, from 0 to 1: 4 p (1 - p) for the probability p."""
    return np.asarray(1 - np.tanh(odds / 2) ** 2)


def mean_odds(site: SiteBlocks, prior: Floats, voters: Sequence[Voter]) -> Floats:
    """Return the weighted mean of the voters' log odds, plus `leniency`."""
    odds = [voter.weight * log_odds(voter.probability(site, prior)) for voter in voters]
    mean = np.sum(odds, axis=0) / sum(voter.weight for voter in voters)
    return np.asarray(mean + leniency(site))


def beside_prior(site: SiteBlocks, odds: Floats, prior: Floats) -> Floats:
    """Return the mean of the vote's *odds* and the prior's odds (see `page_share`)."""
    return np.asarray(odds + page_share(site, prior) * (log_odds(prior) - odds))


def page_share(site: SiteBlocks, prior: Floats) -> Floats:
    """Return how much the prior of each block counts beside the whole vote, from 0 to 1.

    The fewer pages a site has, and the less the blocks of a cluster agree, the less they say of a
    block that its own page does not say. A slot that holds all that a page has, such as a cell of a
    layout table, has blocks that the prior is sure of either way.
    """
    of_few_pages = PRIOR_PAGES / (site.distinct_pages + PRIOR_PAGES)
    mean = by_cluster(site, prior)
    variance = group_mean(site.clusters, prior**2, site.weights) - mean**2
    # 0: all blocks have the same probability; 1: each has 0 or 1.
    disagreement = (variance / np.maximum(mean * (1 - mean), 1e-3)).clip(0, 1)
    return np.asarray(of_few_pages + (1 - of_few_pages) * DISAGREEING * disagreement**2)


def leniency(site: SiteBlocks) -> float:
    """Return the number that is added to the log odds of each block of a site (`LENIENCY`)."""
    return LENIENCY * site.distinct_pages / (site.distinct_pages + TRUSTED)


def relevance_odds(site: SiteBlocks, odds: Floats) -> Floats:
    """Return the log odds that the relevance of a cluster's prose adds, most where *odds* are even.

    Only prose counts: links and labels, such as breadcrumbs, just repeat the page's title.
    """
    contrast = group_mean(site.clusters, np.where(site.is_prose, site.contrast, 0), site.weights)
    return np.asarray(RELEVANCE * undecided(odds) * contrast.clip(-0.2, 0.5))


def needed_odds(site: SiteBlocks, odds: Floats, allowed: Bools) -> Floats:
    """Return the log odds to add if much of the text that only single pages have is undecided.

    That is so on sites such as references, whose content is tables. Nothing is added if at most a
    quarter of this text is undecided (on most sites it is at most a sixth), and nothing to texts
    that nearly all pages repeat. Only *allowed* blocks, without objections, are counted.
    """
    share = repeat_shares(site)
    is_unrepeated = allowed & (share <= TEMPLATE_SHARE)
    prose = np.where(is_unrepeated, site.unlinked, 0)
    low, high = UNDECIDED
    sure, even = prose[odds >= high].sum(), prose[(odds > low) & (odds < high)].sum()
    need = NEED * (4 * even / max(sure + even, 1) - 1).clip(0, 1)
    return np.asarray(np.where(share <= SURE_SHARE, need * undecided(odds), 0))


def sure_elsewhere(site: SiteBlocks, prior: Floats) -> Bools:
    """Tell which blocks are prose of single pages in spots of which the prior is sure on others.

    The questions below a short article are in the element with most of the page's prose, and beside
    it below a long one. So the prior of the same spot is high on some pages and low on others.
    """
    is_sure = (log_odds(prior) >= SURE_ODDS).astype(np.float32)
    shares = group_mean(site.spots, is_sure, site.weights)
    is_unrepeated = site.is_prose & (repeat_shares(site) <= TEMPLATE_SHARE)
    return np.asarray(is_unrepeated & (shares >= SURE_TEXTS) & (pages_of_spot(site) >= TRUSTED))


def with_answers(site: SiteBlocks, odds: Floats) -> Floats:
    """Return the *odds*, with the odds of each question on a button raised to those of its answer.

    The answer is the prose right after the button. The button opens it.
    """
    blocks, raised = all_blocks(site), odds.copy()
    answers = site.is_prose[1:] & (site.pages[1:] == site.pages[:-1]) & (odds[1:] > odds[:-1])
    for index in np.flatnonzero(answers).tolist():
        if blocks[index].tag in CONTROLS and QUESTION.search(blocks[index].text):
            raised[index] = odds[index + 1]
    return np.asarray(raised)


def strongest_evidence(site: SiteBlocks, prior: Floats, objections: Sequence[Objection]) -> Floats:
    """Return for each block the log odds that the strongest objection takes, or 0."""
    against = [objection.weight * objection.evidence(site, prior) for objection in objections]
    return np.asarray(np.max([np.zeros(len(site.chars)), *against], axis=0))


def headlines(site: SiteBlocks, odds: Floats) -> Bools:
    """Tell which blocks are the headlines of pages.

    The headline of a page is the last of its `_title_blocks` that is an ``h1``, or that is
    undecided and before the text. A page lacks a headline if no text of it is kept, or if a kept
    block says the same.
    """
    is_kept = odds >= 0
    prose = np.where(is_kept, site.unlinked, 0)
    has_text = np.bincount(site.pages, prose) >= SENTENCE_CHARS
    text_starts = np.full(len(site.contents), len(is_kept))
    texts = np.flatnonzero(is_kept & site.is_prose)
    np.minimum.at(text_starts, site.pages[texts], texts)
    is_headline = np.zeros(len(is_kept), dtype=bool)
    blocks = all_blocks(site)
    for page, candidates in enumerate(_title_blocks(site)):
        for index, repetitions in reversed(candidates):
            is_likely = odds[index] > UNDECIDED[0] and index < text_starts[page]
            if is_likely or blocks[index].tag == "h1":
                is_headline[index] = has_text[page] and not is_kept[repetitions].any()
                break
    return is_headline


@cached_per_site
def _title_blocks(site: SiteBlocks) -> list[list[tuple[int, list[int]]]]:
    """Return the blocks of each page that may be its headline, each with its repetitions.

    It is the ``h1`` with the longest part of the page's title; on a page without one, each
    heading, and block outside of links, that has at least half of the title. Blocks that many pages
    repeat are the site's name, and do not count.
    """
    title_blocks = []
    is_own = (site.headings | (site.link_share < 0.5)) & (repeat_shares(site) <= TEMPLATE_SHARE)
    start = 0
    for page, hints in zip(site.contents, site.hints, strict=True):
        end = start + len(page.blocks)
        keys = _keys_in_titles(page, hints, np.flatnonzero(is_own[start:end]).tolist())
        numbers = sorted(keys)
        if top := [number for number in numbers if page.blocks[number].tag == "h1"]:
            numbers = [max(top, key=lambda number: len(keys[number]))]
        title_blocks.append(
            [(start + one, [start + other for other in _repetitions(page, one)]) for one in numbers]
        )
        start = end
    return title_blocks


def _keys_in_titles(page: PageBlocks, hints: Hints, numbers: Sequence[int]) -> dict[int, str]:
    """Return the keys of those blocks of *numbers* that are part of one of the page's titles: all
    ``h1``, and other blocks with at least half of the title.
    """
    titles = [title_key(title) for title in hints.titles]
    max_chars = max(map(len, hints.titles), default=0)
    keys = {}
    for number in numbers:
        block = page.blocks[number]
        if len(block.text) <= max_chars:
            key = title_key(block.text)
            least = 0 if block.tag == "h1" else 0.5
            if any(key in title and len(key) >= least * len(title) for title in titles):
                keys[number] = key
    return keys


def _repetitions(page: PageBlocks, heading: int) -> Iterator[int]:
    """Yield the numbers of the other blocks of a page that say the same as a heading."""
    key = title_key(page.blocks[heading].text)
    # The same text may have other dashes and quotes, but is not much longer.
    max_chars = 2 * len(page.blocks[heading].text)
    for number, block in enumerate(page.blocks):
        if len(block.text) <= max_chars and number != heading and title_key(block.text) == key:
            yield number


def is_name(site: SiteBlocks, index: int) -> bool:
    """Tell whether a heading is part of one of its page's titles, and not the whole title."""
    key = title_key(all_blocks(site)[index].text)
    titles = map(title_key, site.hints[site.pages[index]].titles)
    return any("" != key != title and key in title for title in titles)


def adjust_short_texts(site: SiteBlocks, odds: Floats, overruled: Bools) -> Floats:
    """Return the *odds*, with the odds of repeated short texts adjusted to their neighbours.

    A repeated short text is a heading of the content ("Ingredients") or of the template ("Read
    more"). It mostly belongs to the blocks beside it, so it follows their votes; the surer its own
    votes are, the less. All copies of the text at one spot get the same odds. A text on nearly
    every page belongs to the template, unless it names a fact, or is a heading that does not name
    the site or one of its sections. Texts that an objection *overruled* are not adjusted.
    """
    share = repeat_shares(site)
    label = (share > TEMPLATE_SHARE) & (site.chars < SENTENCE_CHARS) & ~overruled
    others = np.where(label, 0, site.weights)
    # A heading belongs to the blocks below it.
    before = np.where(site.headings, 0, REACH)
    company = window_mean(np.tanh(odds / 2), others, site.pages, before, REACH)
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
