"""What the whole site says of each block: the votes of Algorithm 1, by slot and cluster.

The paper sums the relevance of a cluster's blocks over all pages of the site. Here the log odds of
the prior are summed the same way, at several widths, since a narrow slot is precise and a wide one
has seen more blocks; relevance decides where they do not; and what only the site can know (text
that recurs at its place, text at home on another page, comments) overrules them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from contentspider.page.features import HEADINGS
from contentspider.page.hints import squeeze
from contentspider.page.names import NAME_GROUPS, name_groups
from contentspider.site.clusters import cluster_slots
from contentspider.site.relevance import contrasts, lcs_length
from contentspider.site.scorer import places
from contentspider.site.slots import SlotTable, count_names

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from numpy.typing import NDArray

    from contentspider.page.blocks import PageBlocks
    from contentspider.page.hints import Hints

    Floats = NDArray[np.floating[Any]]
    Ints = NDArray[np.int64]


def _group(keys: Iterable[Hashable]) -> Ints:
    ids: dict[Hashable, int] = {}
    return np.fromiter((ids.setdefault(key, len(ids)) for key in keys), dtype=np.int64)


def group_mean(groups: Ints, values: Floats, weights: Floats) -> Floats:
    """Return for each entry the weighted mean of *values* over its group."""
    sums = np.bincount(groups, values * weights)
    totals = np.bincount(groups, weights)
    return (sums / np.maximum(totals, 1e-9))[groups].astype(np.float32)


def count_pages(groups: Ints, pages: Ints) -> Ints:
    """Return for each group on how many pages it occurs."""
    pairs = np.unique(groups * (pages.max() + 1) + pages)
    return np.bincount(pairs // (pages.max() + 1), minlength=groups.max() + 1)


@dataclass(slots=True)
class SiteBlocks:
    """All blocks of a sample of a site's pages, side by side; every array has one entry a block.

    *pages* numbers the page, *texts* the text, *clusters* the cluster of slots. *exact* is the slot together
    with its place in the layout and the names on ``body``, *around* the same of the element above.
    *other_articles* marks what stands below another article's headline, *echoes* what only repeats a heading of its page, *headings* the headings. *contrast* is the relevance to the page's own hints less that to other pages' hints.
    """

    pages: Ints
    slots: list[str]
    clusters: Ints
    exact: Ints
    around: Ints
    texts: Ints
    chars: Floats
    link_share: Floats
    contrast: Floats
    other_articles: NDArray[np.bool_]
    echoes: NDArray[np.bool_]
    headings: NDArray[np.bool_]
    table: SlotTable

    @property
    def page_count(self) -> int:
        """Return how many pages the blocks come from."""
        return int(self.pages.max()) + 1 if len(self.pages) else 0


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


def _other_articles(page: PageBlocks, hints: Hints) -> NDArray[np.bool_]:
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
        if len(block.text) - block.link_chars >= LONG_CHARS
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


def _echoes(page: PageBlocks) -> list[bool]:
    """Tell which blocks only repeat a heading of their page: in the bread crumbs, or a table of
    contents.
    """
    headings = {block.text for block in page.blocks if block.tag in HEADINGS}
    return [block.tag not in HEADINGS and block.text in headings for block in page.blocks]


def gather(pages: Sequence[PageBlocks], hints: Sequence[Hints]) -> SiteBlocks:
    """Lay the blocks of all pages side by side and find their slots, clusters and repeated texts."""
    table = SlotTable(
        count_names({block.path for block in page.blocks} for page in pages), len(pages)
    )
    blocks = [block for page in pages for block in page.blocks]
    paths = {block.path: "" for block in blocks}
    for path in paths:
        paths[path] = table.slot(path)
    slots = [paths[block.path] for block in blocks]
    chars = np.array([len(block.text) for block in blocks], dtype=np.float32)
    slot_ids = _group(slots)
    distinct = list(dict.fromkeys(slots))
    clusters = slot_ids
    if blocks:
        clusters = cluster_slots(
            distinct, np.bincount(slot_ids, np.sqrt(chars)).astype(np.float64)
        )[slot_ids]
    spots = [(table.body(page.paths[0]), place) for page in pages for place in places(page)]
    above = {slot: slot.rpartition("/")[0] for slot in distinct}
    return SiteBlocks(
        pages=np.repeat(np.arange(len(pages)), [len(page.blocks) for page in pages]),
        slots=slots,
        clusters=clusters,
        exact=_group((spot, slot) for spot, slot in zip(spots, slots, strict=True)),
        around=_group((spot, above[slot]) for spot, slot in zip(spots, slots, strict=True)),
        texts=_group(block.text for block in blocks),
        chars=chars,
        link_share=np.array(
            [block.link_chars / len(block.text) for block in blocks], dtype=np.float32
        ),
        contrast=contrasts(pages, hints),
        other_articles=np.concatenate(
            [_other_articles(page, hint) for page, hint in zip(pages, hints, strict=True)]
        ),
        echoes=np.array([echo for page in pages for echo in _echoes(page)]),
        headings=np.array([block.tag in HEADINGS for block in blocks]),
        table=table,
    )


# How much each voter counts; measured on the open corpora, see docs/how-it-works.md.
VOTES = {"block": 1.0, "slot": 2.0, "articles": 3.0, "beside": 1.0}
# Added to the log odds: of a site's content more is missed than wrongly kept.
LENIENCY = 0.3
# What a cluster's relevance to the hints adds where the others are undecided. More of it keeps
# teasers.
RELEVANCE = 0.5
# Taken from the log odds of a block that the site knows better than the prior.
OVERRULED = 6.0
# Blocks after which an exact slot speaks for itself as loudly as its cluster does.
TRUSTED_BLOCKS = 8
# Prose that this share of the slot's other pages repeat is part of the template.
TEMPLATE_SHARE = 0.4
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
# How much a repeated short text follows the blocks beside it, in log odds.
LABEL_COMPANY = 1.5
CONSTANT_SHARE = 0.9
# Text of this length is somebody's sentence: two pages that have it do not have it by chance.
LONG_CHARS = 60
# A page with this much text besides what is called comments is a text with comments below it.
COMMENTED_CHARS = 500


def _window(values: Floats, weights: Floats, pages: Ints, reach: int) -> Floats:
    """Return the weighted mean over the *reach* blocks before and after, within the page."""
    sums = np.concatenate([[0.0], np.cumsum(values * weights, dtype=np.float64)])
    totals = np.concatenate([[0.0], np.cumsum(weights, dtype=np.float64)])
    index = np.arange(len(values))
    first = np.searchsorted(pages, pages, side="left")
    last = np.searchsorted(pages, pages, side="right")
    low, high = np.maximum(index - reach, first), np.minimum(index + reach + 1, last)
    return np.asarray(
        (sums[high] - sums[low]) / np.maximum(totals[high] - totals[low], 1e-9), dtype=np.float32
    )


def repeat_rates(site: SiteBlocks) -> tuple[Floats, Floats]:
    """Return for each block on which share of its exact slot's other pages its text stands there
    too, and the slot's mean.
    """
    exact = site.exact
    place = _group(zip(exact.tolist(), site.texts.tolist(), strict=True))
    others = count_pages(place, site.pages)[place] - 1
    slot_pages = count_pages(exact, site.pages)[exact]
    share = (others / np.maximum(slot_pages - 1, 1)).astype(np.float32)
    repeated = (others > 0).astype(np.float32)
    return share, group_mean(
        exact, repeated, np.where(site.chars >= LONG_CHARS, site.chars, 1e-3).astype(np.float32)
    )


def foreign_share(site: SiteBlocks) -> Floats:
    """Return for each block how much of its slot's prose belongs to other pages, from 0 to 1.

    An infinite scroll repeats whole articles of other pages, a listing their first lines. A long
    text that several pages have is at home where the slot's surroundings speak of the page's own
    hints, where the slot's texts do not recur, and where it comes first; at a slot much worse by
    these it is foreign. A slot full of foreign texts is no page's own content, whatever stands
    there on this page.
    """
    weights = np.sqrt(site.chars)
    index = np.arange(len(site.pages))
    first = np.searchsorted(site.pages, site.pages, side="left")
    last = np.searchsorted(site.pages, site.pages, side="right")
    lateness = (index - first) / np.maximum(last - first, 1)
    _, rate = repeat_rates(site)
    own = (
        group_mean(site.around, site.contrast, weights)
        - rate
        - LATENESS * group_mean(site.exact, lateness, np.ones_like(weights))
    )
    # An exact slot of few pages says little by itself: it is taken for what its cluster is.
    pages = count_pages(site.exact, site.pages)[site.exact]
    trust = pages / (pages + TRUSTED_BLOCKS)
    fit = trust * own + (1 - trust) * group_mean(site.clusters, own, np.ones_like(weights))
    several = (count_pages(site.texts, site.pages)[site.texts] > 1) & (site.chars >= LONG_CHARS)
    best = np.full(int(site.texts.max()) + 1, -np.inf)
    np.maximum.at(best, site.texts, fit)
    # At home a text stands once: what stands there on several pages (a law that is often cited) is
    # no page's own.
    place = _group(zip(site.exact.tolist(), site.texts.tolist(), strict=True))
    once = count_pages(place, site.pages)[place] == 1
    has_home = np.zeros(len(best), dtype=bool)
    has_home[site.texts[once & (fit >= best[site.texts])]] = True
    # What speaks of the page's own hints is its own, wherever else it stands: titles stand on every
    # listing.
    is_own = site.contrast >= OWN_CONTRAST
    foreign = (
        several & ~is_own & has_home[site.texts] & (best[site.texts] - fit > FOREIGN_FIT)
    ).astype(np.float32)
    of_slot = np.maximum(
        _foreign_slots(site, site.exact, foreign, several),
        _foreign_slots(site, site.around, foreign, several),
    )
    return np.where(is_own, 0, np.maximum(foreign, of_slot))


def _foreign_slots(
    site: SiteBlocks, groups: Ints, foreign: Floats, several: NDArray[np.bool_]
) -> Floats:
    """Return the share of foreign texts among those of a slot that recur at all, 0 if too few do to
    tell.
    """
    recurring = np.bincount(groups, several * site.chars)
    share = np.bincount(groups, foreign * site.chars) / np.maximum(recurring, 1)
    enough = (recurring > FOREIGN_EVIDENCE * np.bincount(groups, site.chars)) & (
        np.bincount(groups, several) >= 3
    )
    return np.asarray(np.where(enough, share, 0)[groups], dtype=np.float32)


COMMENT_NAME = NAME_GROUPS.index("comment")


def comment_like(site: SiteBlocks) -> NDArray[np.bool_]:
    """Tell which blocks stand under an element that is called comment, reply or the like."""
    called: dict[str, bool] = {}
    for slot in site.slots:
        if slot not in called:
            called[slot] = any(COMMENT_NAME in name_groups(step) for step in slot.split("/")[1:])
    return np.fromiter((called[slot] for slot in site.slots), dtype=bool, count=len(site.slots))


def split_comments(site: SiteBlocks, prior: Floats) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Tell which blocks are readers' comments below a text, and which are a discussion that is the
    page.

    What is called comments is comments if most pages with them have a text besides. Where most have
    none, as in a forum, it is the discussion, but for those pages that do have a text.
    """
    likely = comment_like(site)
    nothing = np.zeros_like(likely)
    if not likely.any():
        return nothing, nothing
    share, _ = repeat_rates(site)
    # Text that many pages repeat (a cookie notice) is nobody's article.
    prose = np.where(
        (share < 0.3) & (site.chars >= LONG_CHARS), site.chars * (1 - site.link_share), 0
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


def _log_odds(probability: Floats) -> Floats:
    clipped = np.clip(probability, 0.01, 0.99)
    return np.log(clipped / (1 - clipped)).astype(np.float32)


def _page_ranks(site: SiteBlocks, prior: Floats) -> Floats:
    """Return for each page how much of an article it is, from 0 to 1, by the prior's share of its
    text.

    On a listing the title of an article is a link among others: it must not outvote the one that
    stands above the article on its own page.
    """
    total = site.page_count
    share = np.bincount(site.pages, prior * site.chars, minlength=total) / np.bincount(
        site.pages, site.chars, minlength=total
    )
    return (share / max(float(np.quantile(share, 0.9)), 0.05)).clip(0, 1).astype(np.float32)


def vote(site: SiteBlocks, prior: Floats, unnamed: Floats) -> Floats:
    """Return for each block the probability, from 0 to 1, that it is content by the vote of the
    whole site.

    *prior* is each block's probability from its page alone, *unnamed* the same had nothing been called a
    comment: it judges the posts of a discussion. The result is the weighted mean of log odds: of
    the block itself, of its slot (the exact one as far as it has been seen often enough, else the
    cluster), of the cluster on the site's articles, and of the slots beside it. What only the site
    knows overrules it: prose that most pages of the slot repeat is the template's, prose at home on
    another page is that page's, comments below a text are not it, and short texts that recur go
    with what is beside them.
    """
    comments, discussion = split_comments(site, prior)
    prior = np.where(discussion, unnamed, prior)
    weights = np.sqrt(site.chars)
    place = _group(zip(site.clusters.tolist(), site.texts.tolist(), strict=True))
    at_place = count_pages(place, site.pages)[place]
    cluster_pages = count_pages(site.clusters, site.pages)[site.clusters]
    article_weights = (weights * _page_ranks(site, prior)[site.pages] ** 2 + 1e-6).astype(
        np.float32
    )
    exact = site.exact
    seen = np.bincount(exact)[exact]
    trust = seen / (seen + TRUSTED_BLOCKS)
    by_cluster = group_mean(site.clusters, prior, weights)
    by_slot = trust * group_mean(exact, prior, weights) + (1 - trust) * by_cluster
    voters: dict[str, Floats] = {
        "block": prior,
        "slot": by_slot,
        "articles": group_mean(site.clusters, prior, article_weights),
        "beside": _window(by_cluster, weights, site.pages, 3),
    }
    odds = (
        np.sum(
            [VOTES[name] * _log_odds(probability) for name, probability in voters.items()], axis=0
        )
        / sum(VOTES.values())
        + LENIENCY
    )
    undecided = 1 - np.tanh(odds / 2) ** 2  # 4 p (1 - p)
    odds += (
        RELEVANCE * undecided * group_mean(site.clusters, site.contrast, weights).clip(-0.2, 0.5)
    )
    share, _ = repeat_rates(site)
    repeated = np.maximum(share, (at_place - 1) / np.maximum(cluster_pages - 1, 1)) > TEMPLATE_SHARE
    overruled = (
        (repeated & (site.chars >= LONG_CHARS))
        | (foreign_share(site) > FOREIGN_SHARE)
        | site.other_articles
        | site.echoes
        | comments
    )
    odds = odds - OVERRULED * overruled
    # A short text that the site repeats is a heading of the content, or a label of the template: as
    # what is beside it.
    label = (share > TEMPLATE_SHARE) & (site.chars < LONG_CHARS) & ~overruled
    company = _window(np.tanh(odds / 2), np.where(label, 0, weights), site.pages, 4)
    odds = np.where(label, odds - LENIENCY + LABEL_COMPANY * company, odds)
    # But a text that is no heading, and stands on nearly every page of the site, says nothing of
    # any of them.
    exact_pages = count_pages(site.exact, site.pages)[site.exact]
    constant = (
        label
        & ~site.headings
        & (share > CONSTANT_SHARE)
        & (exact_pages > site.page_count / 2)
        & (site.page_count >= 5)
    )
    odds = np.where(constant, odds - 2 * LABEL_COMPANY, odds)
    return np.asarray(1 / (1 + np.exp(-odds)), dtype=np.float32)
