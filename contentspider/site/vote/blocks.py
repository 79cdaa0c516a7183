"""The blocks of all pages of a sample as arrays, with their slots, clusters and texts."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, TypeVar

import numpy as np
from scipy.sparse import csr_matrix

from contentspider.page.tree.text import SENTENCE_CHARS
from contentspider.page.words.names import HEADINGS, step_tag
from contentspider.site.judge.rows import layout_positions
from contentspider.site.judge.slots import SlotTable, count_names, step_names
from contentspider.site.vote.copies import find_sources
from contentspider.site.vote.relevance import contrasts

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Sequence

    from contentspider.page.about.hints import Hints
    from contentspider.page.input.page import Page
    from contentspider.page.tree.blocks import Block, PageBlocks
    from contentspider.site.arrays import Bools, Floats, Ints

T = TypeVar("T")
# A text on more than this share of the pages with its spot is part of the template.
TEMPLATE_SHARE = 0.4
# Slots up to this cosine distance form one cluster: the slots of odd and even rows, but not those
# of a paragraph and a list item (measured, see docs/how-it-works.md).
CLUSTER_DISTANCE = 0.06
# DBSCAN compares all pairs of slots. Beyond this number each slot is a cluster of its own.
MAX_CLUSTERED = 4_000


def number_keys(keys: Iterable[Hashable]) -> Ints:
    """Return the number of each key: equal keys have equal numbers, counted from 0."""
    ids: dict[Hashable, int] = {}
    return np.fromiter((ids.setdefault(key, len(ids)) for key in keys), dtype=np.int64)


def number_pairs(first: Ints, second: Ints) -> Ints:
    """Return the number of each pair of entries: equal pairs have equal numbers, from 0."""
    _, numbers = np.unique(first * (second.max(initial=0) + 1) + second, return_inverse=True)
    return numbers


def group_mean(groups: Ints, values: Floats, weights: Floats) -> Floats:
    """Return for each entry the weighted mean of *values* over its group."""
    sums = np.bincount(groups, values * weights)
    totals = np.bincount(groups, weights)
    return (sums / np.maximum(totals, 1e-9))[groups].astype(np.float32)


def count_pages(groups: Ints, pages: Ints) -> Ints:
    """Return for each group the number of pages that have it."""
    pairs = np.unique(groups * (pages.max() + 1) + pages)
    return np.bincount(pairs // (pages.max() + 1), minlength=groups.max() + 1)


def window_mean(
    values: Floats, weights: Floats, pages: Ints, before: Ints | int, after: int
) -> Floats:
    """Return for each block the weighted mean of *values* over the block and its neighbours.

    *before* and *after* are how many neighbours count on each side. Neighbours on other pages do
    not count.
    """
    sums = np.concatenate([[0.0], np.cumsum(values * weights, dtype=np.float64)])
    totals = np.concatenate([[0.0], np.cumsum(weights, dtype=np.float64)])
    index = np.arange(len(values))
    low = np.maximum(index - before, np.searchsorted(pages, pages, side="left"))
    high = np.minimum(index + after + 1, np.searchsorted(pages, pages, side="right"))
    mean = (sums[high] - sums[low]) / np.maximum(totals[high] - totals[low], 1e-9)
    return np.asarray(mean, dtype=np.float32)


def cluster_slots(slots: Sequence[str], weights: Floats) -> Ints:
    """Return the cluster number of each slot, as DBSCAN finds them by cosine distance.

    The vector of a slot has an entry for each tag and name of each step. The entries are separate
    by the step's distance from the end, and smaller with this distance: slots that differ only in
    their first steps are nearer than slots that differ at the end. As in the paper every slot has a
    cluster (``min_samples=1``). Only the `MAX_CLUSTERED` slots with the highest *weights* share
    clusters.
    """
    # Imported here: crawling and filtering do not need it, and it takes 100 MB and one second.
    from sklearn.cluster import DBSCAN
    from sklearn.preprocessing import normalize

    order = np.argsort(-np.asarray(weights, dtype=float), kind="stable")
    clustered, unclustered = order[:MAX_CLUSTERED], order[MAX_CLUSTERED:]
    vectors = normalize(_slot_vectors([slots[index] for index in clustered]))
    dbscan = DBSCAN(eps=float(np.sqrt(2 * CLUSTER_DISTANCE)), min_samples=1)
    numbers = dbscan.fit_predict(vectors)
    first_free = numbers.max() + 1 if len(numbers) else 0
    clusters = np.empty(len(slots), dtype=np.int64)
    clusters[clustered] = numbers
    clusters[unclustered] = np.arange(len(unclustered)) + first_free
    return clusters


def _slot_vectors(slots: Sequence[str]) -> csr_matrix:
    """Return the vectors of slots, one row per slot (see `cluster_slots`)."""
    column_of: dict[tuple[int, str], int] = {}
    rows, columns, values = [], [], []
    for row, slot in enumerate(slots):
        for distance, step in enumerate(reversed(slot.split("/"))):
            strength = 1.0 / (1 + distance) ** 0.5
            tag = step_tag(step)
            for name in {tag, *step_names(step)}:
                rows.append(row)
                columns.append(column_of.setdefault((distance, name), len(column_of)))
                values.append(strength * (1.5 if name == tag else 1.0))
    shape = (len(slots), max(len(column_of), 1))
    return csr_matrix((values, (rows, columns)), shape=shape)


@dataclass(slots=True)
class SiteBlocks:
    """All blocks of a sample of a site's pages. Each array has one entry per block.

    - *contents*, *hints*, *urls* and *bases* have the pages, their addresses, and what their links
      are relative to, in the order of the pages' numbers.
    - *pages* has the number of each block's page. *originals* has the number of the page that this
      page copies. *sources* has the number of the page that the block's text comes from, since a
      listing shows posts of other pages. A page that neither copies nor shows another page has its
      own number. Counts by *originals* count copies once; counts by *sources* also count posts in
      listings once. *distinct_pages* is the number of pages without copies.
    - *slots* has the slots as texts. *slot_numbers*, *clusters* and *texts* have the numbers of the
      slots, of the clusters of slots, and of the texts: equal texts have equal numbers.
    - *bodies* has the number of each page's slot of ``body``. *spots* has the number of the block's
      spot: a slot at one position of the layout, on pages with the same slot of ``body``.
    - *spot_texts* and *cluster_texts* have the number of the pair of the text and its spot, or its
      cluster.
    - *chars* has the length of the text in characters, *link_share* the share of the text in links,
      from 0 to 1, and *contrast* its relevance to its own page's hints minus its relevance to other
      pages' hints.
    - *headings* tells which blocks are headings. *table* maps paths to slots.

    *cache* has the results of functions with `cached_per_site`.
    """

    contents: Sequence[PageBlocks]
    hints: Sequence[Hints]
    urls: Sequence[str]
    bases: Sequence[str]
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
    cache: dict[object, Any] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.slot_numbers = number_keys(self.slots)
        self.spot_texts = number_pairs(self.spots, self.texts)
        self.cluster_texts = number_pairs(self.clusters, self.texts)
        self.distinct_pages = len(np.unique(self.originals))

    @property
    def weights(self) -> Floats:
        """Return the weight of each block in a mean: the square root of its length."""
        return np.sqrt(self.chars)

    @property
    def unlinked(self) -> Ints:
        """Return how many characters of each block are outside of links."""
        return np.rint(self.chars * (1 - self.link_share)).astype(np.int64)

    @property
    def is_prose(self) -> Bools:
        """Return which blocks are as long as a sentence, and not mostly links."""
        return (self.chars >= SENTENCE_CHARS) & (self.link_share < 0.5)


def gather(sample: Sequence[Page]) -> SiteBlocks:
    """Return the blocks of all pages as arrays, with their slots, clusters and repeated texts."""
    pages, hints = [page.content for page in sample], [page.hints for page in sample]
    blocks = [block for page in pages for block in page.blocks]
    page_numbers = np.repeat(np.arange(len(pages)), [len(page.blocks) for page in pages])
    texts = number_keys(block.text for block in blocks)
    chars = np.array([len(block.text) for block in blocks], dtype=np.float32)
    originals, sources = find_sources(page_numbers, texts, chars, len(pages))
    table = _slot_table(pages, originals)
    slot_of = {path: table.slot(path) for path in dict.fromkeys(block.path for block in blocks)}
    slots = [slot_of[block.path] for block in blocks]
    clusters = number_keys(slots)
    if blocks:
        weights = np.bincount(clusters, np.sqrt(chars)).astype(np.float64)
        clusters = cluster_slots(list(dict.fromkeys(slots)), weights)[clusters]
    bodies = number_keys(table.body(page.paths[0]) if page.paths else "" for page in pages)
    body_numbers = bodies[page_numbers]
    positions: list[str] = []
    for page in pages:
        positions += layout_positions(page)
    links = [block.link_chars / len(block.text) for block in blocks]
    return SiteBlocks(
        contents=pages,
        hints=hints,
        urls=[page.url for page in sample],
        bases=[page.base for page in sample],
        pages=page_numbers,
        originals=originals[page_numbers],
        sources=sources,
        slots=slots,
        clusters=clusters,
        spots=number_keys(zip(body_numbers.tolist(), positions, slots, strict=True)),
        texts=texts,
        chars=chars,
        link_share=np.array(links, dtype=np.float32),
        contrast=contrasts(pages, hints, originals.tolist()),
        headings=np.array([block.tag in HEADINGS for block in blocks]),
        bodies=body_numbers,
        table=table,
    )


def _slot_table(pages: Sequence[PageBlocks], originals: Ints) -> SlotTable:
    """Return the table of a site's slots; pages with the same *originals* count as one page."""
    paths_of: dict[int, set[str]] = {}
    for original, page in zip(originals.tolist(), pages, strict=True):
        paths_of.setdefault(original, set()).update(block.path for block in page.blocks)
    return SlotTable(count_names(paths_of.values()), len(paths_of))


def cached_per_site(
    compute: Callable[[SiteBlocks], T],
) -> Callable[Concatenate[SiteBlocks, ...], T]:
    """Cache the result of a function of a site in the site, since several votes need it.

    The decorated function ignores further arguments, so that it can serve as an objection.
    """

    @wraps(compute)
    def cached(site: SiteBlocks, *ignored: object) -> T:
        if compute not in site.cache:
            site.cache[compute] = compute(site)
        result: T = site.cache[compute]
        return result

    return cached


@cached_per_site
def repeat_shares(site: SiteBlocks) -> Floats:
    """Return for each block the share of its spot's other pages that have its text at this spot.

    Copies of a page count once. The result has full precision, since it is compared with limits.
    """
    other_pages = count_pages(site.spot_texts, site.sources)[site.spot_texts] - 1
    return np.asarray(other_pages / np.maximum(pages_of_spot(site) - 1, 1))


@cached_per_site
def main_slots(site: SiteBlocks) -> Ints:
    """Return for each page the number of the slot that has most of its text outside of links.

    Pages of one template have the same number. For a page without blocks it is 0.
    """
    page_slots = number_pairs(site.pages, site.slot_numbers)
    chars = np.bincount(page_slots, site.unlinked)[page_slots]
    # The slot with most text comes last in its page. Of equal slots the one with the lowest number
    # comes last.
    order = np.lexsort((-site.slot_numbers, chars, site.pages))
    slots = np.zeros(site.pages.max() + 1, dtype=np.int64)
    slots[site.pages[order]] = site.slot_numbers[order]
    return slots


@cached_per_site
def pages_of_spot(site: SiteBlocks) -> Ints:
    """Return for each block the number of pages with its spot; copies of a page count once."""
    return np.asarray(count_pages(site.spots, site.sources)[site.spots])


@cached_per_site
def pages_of_cluster(site: SiteBlocks) -> Ints:
    """Return for each block the number of pages with its cluster; copies of a page count once."""
    return np.asarray(count_pages(site.clusters, site.sources)[site.clusters])


@cached_per_site
def all_blocks(site: SiteBlocks) -> list[Block]:
    """Return the blocks of all pages, in the order of the arrays."""
    return [block for page in site.contents for block in page.blocks]
