"""The blocks of a site's pages side by side: their places in the template, and what recurs."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, TypeVar

import numpy as np
from scipy.sparse import csr_matrix

from contentspider.page.tree.text import SENTENCE_CHARS
from contentspider.page.words.names import HEADINGS, step_tag
from contentspider.site.judge.rows import places
from contentspider.site.slots import SlotTable, count_names, step_names
from contentspider.site.vote.copies import sources
from contentspider.site.vote.relevance import contrasts

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Sequence

    from contentspider.page.about.hints import Hints
    from contentspider.page.tree.blocks import Block, PageBlocks
    from contentspider.site.arrays import Bools, Floats, Ints

T = TypeVar("T")
# A text on this share of the pages that could have it is part of their template.
TEMPLATE_SHARE = 0.4
# Slots up to this cosine distance are one: an odd and an even row, but not a paragraph and a list
# item (measured, see docs/how-it-works.md).
CLUSTER_DISTANCE = 0.06
# DBSCAN's neighbourhoods are computed pairwise; slots beyond this number stand alone.
MAX_CLUSTERED = 4_000


def number_keys(keys: Iterable[Hashable]) -> Ints:
    """Return for each key its number: equal keys have equal numbers, counted from 0."""
    ids: dict[Hashable, int] = {}
    return np.fromiter((ids.setdefault(key, len(ids)) for key in keys), dtype=np.int64)


def number_pairs(first: Ints, second: Ints) -> Ints:
    """Return for each pair of two entries its number: equal pairs have equal numbers, from 0."""
    _, numbers = np.unique(first * (second.max(initial=0) + 1) + second, return_inverse=True)
    return numbers


def group_mean(groups: Ints, values: Floats, weights: Floats) -> Floats:
    """Return for each entry the weighted mean of *values* over its group."""
    sums = np.bincount(groups, values * weights)
    totals = np.bincount(groups, weights)
    return (sums / np.maximum(totals, 1e-9))[groups].astype(np.float32)


def count_pages(groups: Ints, pages: Ints) -> Ints:
    """Return for each group on how many pages it occurs."""
    pairs = np.unique(groups * (pages.max() + 1) + pages)
    return np.bincount(pairs // (pages.max() + 1), minlength=groups.max() + 1)


def window_mean(values: Floats, weights: Floats, pages: Ints, reach: int) -> Floats:
    """Return the weighted mean over the *reach* blocks before and after, within the page."""
    sums = np.concatenate([[0.0], np.cumsum(values * weights, dtype=np.float64)])
    totals = np.concatenate([[0.0], np.cumsum(weights, dtype=np.float64)])
    index = np.arange(len(values))
    low = np.maximum(index - reach, np.searchsorted(pages, pages, side="left"))
    high = np.minimum(index + reach + 1, np.searchsorted(pages, pages, side="right"))
    mean = (sums[high] - sums[low]) / np.maximum(totals[high] - totals[low], 1e-9)
    return np.asarray(mean, dtype=np.float32)


def cluster_slots(slots: Sequence[str], weights: Floats) -> Ints:
    """Return the cluster number of each slot: DBSCAN over their steps, by cosine distance.

    A slot's vector has one entry a tag and name of each of its steps, by the step's distance from
    the end: slots that differ only far up are nearer than those that differ at the end. As in the
    paper every slot has a cluster (``min_samples=1``); only the heaviest are clustered with others.
    """
    # Imported here: what crawls, and filters by models, needs neither its 100 MB nor its second.
    from sklearn.cluster import DBSCAN
    from sklearn.preprocessing import normalize

    order = np.argsort(-np.asarray(weights, dtype=float), kind="stable")
    clustered = order[:MAX_CLUSTERED]
    columns: dict[tuple[int, str], int] = {}
    rows, cols, data = [], [], []
    for row, index in enumerate(clustered):
        steps = slots[index].split("/")
        for distance, step in enumerate(reversed(steps)):
            strength = 1.0 / (1 + distance) ** 0.5
            tag = step_tag(step)
            for name in {tag, *step_names(step)}:
                rows.append(row)
                cols.append(columns.setdefault((distance, name), len(columns)))
                data.append(strength * (1.5 if name == tag else 1.0))
    matrix = normalize(
        csr_matrix((data, (rows, cols)), shape=(len(clustered), max(len(columns), 1)))
    )
    found = DBSCAN(eps=float(np.sqrt(2 * CLUSTER_DISTANCE)), min_samples=1).fit_predict(matrix)
    clusters = np.empty(len(slots), dtype=np.int64)
    clusters[clustered] = found
    rest = order[MAX_CLUSTERED:]
    clusters[rest] = np.arange(len(rest)) + (found.max() + 1 if len(found) else 0)
    return clusters


@dataclass(slots=True)
class SiteBlocks:
    """All blocks of a sample of a site's pages. An array has one entry for each block.

    - *contents* and *hints* are the pages, in the order of their numbers.
    - *pages* has the number of each block's page, *originals* the number of the page that this page
      copies, and *sources* the number of the page that the block's text comes from: a listing shows
      posts of other pages. A page that copies or shows no other has its own number. Counts by
      *originals* count copies once; counts by *sources* also count posts in listings once.
      *distinct_pages* is the number of pages without copies.
    - *slots* are the slots as text. *slot_numbers*, *clusters* and *texts* number the slots, the
      clusters of slots, and the texts: equal ones have equal numbers.
    - *bodies* numbers the pages' ``body`` elements by those of their names that the template uses.
      *spots* numbers a slot at one position of the layout, on pages with the same ``body``.
    - *spot_texts* and *cluster_texts* number the pairs of a text and its spot, or its cluster.
    - *chars* is the length of the text in characters, *link_share* the share of it in links, from 0
      to 1, *contrast* its relevance to the hints of its own page minus that to other pages' hints.
    - *headings* tells which blocks are headings. *table* maps paths to slots.

    *found* caches the results of functions with `found_once`.
    """

    contents: Sequence[PageBlocks]
    hints: Sequence[Hints]
    pages: Ints
    originals: Ints
    sources: Ints
    slots: list[str]
    clusters: Ints
    spots: Ints
    texts: Ints
    chars: Floats
    link_share: Floats
    contrast: Floats
    headings: Bools
    bodies: Ints
    table: SlotTable
    slot_numbers: Ints = field(init=False)
    spot_texts: Ints = field(init=False)
    cluster_texts: Ints = field(init=False)
    distinct_pages: int = field(init=False)
    found: dict[object, Any] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.slot_numbers = number_keys(self.slots)
        self.spot_texts = number_pairs(self.spots, self.texts)
        self.cluster_texts = number_pairs(self.clusters, self.texts)
        self.distinct_pages = len(np.unique(self.originals))

    @property
    def weights(self) -> Floats:
        """Return how much each block counts in a mean: the root of its length."""
        return np.sqrt(self.chars)

    @property
    def unlinked(self) -> Ints:
        """Return how many characters of each block are outside of links."""
        return np.rint(self.chars * (1 - self.link_share)).astype(np.int64)

    @property
    def is_prose(self) -> Bools:
        """Return which blocks are as long as a sentence, and not mostly links."""
        return (self.chars >= SENTENCE_CHARS) & (self.link_share < 0.5)


def gather(pages: Sequence[PageBlocks], hints: Sequence[Hints]) -> SiteBlocks:
    """Lay the blocks of all pages side by side; find their slots, clusters and repeated texts."""
    blocks = [block for page in pages for block in page.blocks]
    page_numbers = np.repeat(np.arange(len(pages)), [len(page.blocks) for page in pages])
    texts = number_keys(block.text for block in blocks)
    chars = np.array([len(block.text) for block in blocks], dtype=np.float32)
    original, source = sources(page_numbers, texts, chars, len(pages))
    paths_of: dict[int, set[str]] = {}
    for number, page in zip(original.tolist(), pages, strict=True):
        paths_of.setdefault(number, set()).update(block.path for block in page.blocks)
    table = SlotTable(count_names(paths_of.values()), len(paths_of))
    slot_of = {path: table.slot(path) for path in dict.fromkeys(block.path for block in blocks)}
    slots = [slot_of[block.path] for block in blocks]
    clusters = number_keys(slots)
    if blocks:
        weights = np.bincount(clusters, np.sqrt(chars)).astype(np.float64)
        clusters = cluster_slots(list(dict.fromkeys(slots)), weights)[clusters]
    bodies = number_keys(table.body(page.paths[0]) if page.paths else "" for page in pages)
    body_numbers = bodies[page_numbers]
    layout = [place for page in pages for place in places(page)]
    links = [block.link_chars / len(block.text) for block in blocks]
    return SiteBlocks(
        contents=pages,
        hints=hints,
        pages=page_numbers,
        originals=original[page_numbers],
        sources=source,
        slots=slots,
        clusters=clusters,
        spots=number_keys(zip(body_numbers.tolist(), layout, slots, strict=True)),
        texts=texts,
        chars=chars,
        link_share=np.array(links, dtype=np.float32),
        contrast=contrasts(pages, hints, original.tolist()),
        headings=np.array([block.tag in HEADINGS for block in blocks]),
        bodies=body_numbers,
        table=table,
    )


def found_once(find: Callable[[SiteBlocks], T]) -> Callable[Concatenate[SiteBlocks, ...], T]:
    """Let what depends on the site alone be found once: a site is voted on several times."""

    @wraps(find)
    def once(site: SiteBlocks, *others: object) -> T:
        if find not in site.found:
            site.found[find] = find(site)
        found: T = site.found[find]
        return found

    return once


@found_once
def repeat_shares(site: SiteBlocks) -> Floats:
    """Return for each block on which share of its spot's other pages its text stands there too.

    Copies of a page count once. In full precision: a share of just 0.4 is no more than 0.4.
    """
    others = count_pages(site.spot_texts, site.sources)[site.spot_texts] - 1
    return np.asarray(others / np.maximum(pages_of_spot(site) - 1, 1))


@found_once
def main_slots(site: SiteBlocks) -> Ints:
    """Return for each page the number of the slot with most of its text outside of links: pages of
    one template have the same. Of a page without blocks it is 0.
    """
    places = number_pairs(site.pages, site.slot_numbers)
    chars = np.bincount(places, site.unlinked)[places]
    # A page's places with most text come last; of equal ones the slot with the least number.
    order = np.lexsort((-site.slot_numbers, chars, site.pages))
    slots = np.zeros(site.pages.max() + 1, dtype=np.int64)
    slots[site.pages[order]] = site.slot_numbers[order]
    return slots


@found_once
def pages_of_spot(site: SiteBlocks) -> Ints:
    """Return for each block on how many pages its spot is; copies of a page count once."""
    return np.asarray(count_pages(site.spots, site.sources)[site.spots])


@found_once
def pages_of_cluster(site: SiteBlocks) -> Ints:
    """Return for each block on how many pages its cluster is; copies of a page count once."""
    return np.asarray(count_pages(site.clusters, site.sources)[site.clusters])


@found_once
def all_blocks(site: SiteBlocks) -> list[Block]:
    """Return the blocks of all pages, in the order of the arrays."""
    return [block for page in site.contents for block in page.blocks]
