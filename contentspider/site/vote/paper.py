"""Labels blocks exactly as the paper does: one cluster of blocks is content (Zhou and Mashuq, 3).

DBSCAN clusters the blocks of all pages by their scaled one-hot tag paths, with ``min_samples=1``.
For rendered pages the computed CSS and the width are added. The score of a cluster is the sum of
its blocks' relevance: the length of the longest common subsequence with the page's titles and
descriptions, joined to one lower-cased text without spaces. The cluster with the highest score is
content (Algorithm 1). On plain HTML this only finds the paragraphs of the most frequent template.
"""

from __future__ import annotations

import logging
from collections import Counter
from hashlib import blake2b
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from contentspider.page.about.hints import squeeze
from contentspider.page.tree.text import clean_text
from contentspider.site.judge.slots import tag_path
from contentspider.site.vote.blocks import number_keys
from contentspider.site.vote.relevance import lcs_lengths

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from contentspider.page.input.page import Page
    from contentspider.site.vote.blocks import SiteBlocks

logger = logging.getLogger(__name__)

# DBSCAN's distance in scaled widths. The scaled one-hot vectors of different tag paths or styles
# are never nearer than 2 (paper, section 3.2).
EPSILON = 0.5
# At most this many points of a site are counted: the points with the shortest tag paths. A thousand
# rendered pages have some ten thousand points; only hostile sites have more.
MAX_POINTS = 50_000
STYLE_BYTES = 16

# What DBSCAN knows of a block: the number of steps of its tag path, the hash of the tag path and
# the computed CSS, and the width in pixels (0 if its page is not rendered).
Point: TypeAlias = tuple[int, bytes, float]


class SiteScores:
    """The sums of Algorithm 1 over all pages of a site, added page by page in bounded memory.

    Neither the order of the pages matters nor how they are divided: `merge` adds the sums of other
    pages of the site.
    """

    def __init__(self) -> None:
        self._blocks: Counter[Point] = Counter()  # how many blocks each point has
        self._relevance: Counter[Point] = Counter()
        self._is_cut = False

    def add(self, page: Page) -> None:
        """Add the blocks of a page."""
        points = _points(page)
        self._blocks.update(points)
        for point, relevance in zip(points, page_relevance(page), strict=True):
            self._relevance[point] += relevance
        if len(self._blocks) > 2 * MAX_POINTS:
            self._cut()

    def watch(self, pages: Iterable[Page]) -> Iterator[Page]:
        """Yield *pages*, and add each of them."""
        for page in pages:
            self.add(page)
            yield page

    def merge(self, other: SiteScores) -> None:
        """Add the sums of other pages."""
        self._blocks.update(other._blocks)
        self._relevance.update(other._relevance)
        self._is_cut |= other._is_cut
        self._cut()

    def _cut(self) -> None:
        """Drop all but `MAX_POINTS` points. The sums of the others are complete, since a point that
        was dropped once is never among them.
        """
        if len(self._blocks) <= MAX_POINTS:
            return
        self._is_cut = True
        for point in sorted(self._blocks)[MAX_POINTS:]:
            del self._blocks[point], self._relevance[point]

    def clusters(self) -> dict[Point, Point]:
        """Return the cluster of each point, as its first point.

        Points with one tag path and style are one cluster if their widths are near, or if a chain
        of near widths joins them: DBSCAN with ``min_samples=1`` finds the same clusters.
        """
        self._cut()
        if self._is_cut:
            logger.warning(
                "Algorithm 1 counts %d kinds of blocks; the site has more, which are no content",
                MAX_POINTS,
            )
        points = sorted(self._blocks)
        if not points:
            return {}
        counts = np.array([self._blocks[point] for point in points], dtype=np.float64)
        widths = np.array([width for _, _, width in points], dtype=np.float64)
        reach = EPSILON * (_deviation(widths, counts) or 1.0)
        clusters: dict[Point, Point] = {}
        cluster = last = points[0]
        for point in points:
            if point[:2] != last[:2] or point[2] - last[2] > reach:
                cluster = point
            clusters[point], last = cluster, point
        return clusters

    def labels(self, pages: Sequence[Page]) -> NDArray[np.float32]:
        """Return the label of each block of *pages*: 1 in the cluster with the highest sum of
        relevance over all added pages, else 0. Of equal sums the one with the shortest tag path
        wins.
        """
        clusters = self.clusters()
        scores: Counter[Point] = Counter()
        for point, cluster in clusters.items():
            scores[cluster] += self._relevance[point]
        best = min(scores, key=lambda cluster: (-scores[cluster], cluster), default=None)
        labels = [clusters.get(point) == best for page in pages for point in _points(page)]
        return np.array(labels, dtype=np.float32)


def _deviation(values: NDArray[np.float64], counts: NDArray[np.float64]) -> float:
    """Return the standard deviation of *values*; *counts* says how often each value occurs."""
    mean = np.average(values, weights=counts)
    return float(np.sqrt(np.average((values - mean) ** 2, weights=counts)))


def _points(page: Page) -> list[Point]:
    """Return the point of each block of a page."""
    visuals = page.content.visuals or [{}] * len(page.content.blocks)
    points = []
    for block, visual in zip(page.content.blocks, visuals, strict=True):
        path = tag_path(block.path)
        style = sorted(item for item in visual.items() if not item[0].startswith("box "))
        text = repr((path, style)) if style else path
        digest = blake2b(text.encode("utf-8", "replace"), digest_size=STYLE_BYTES).digest()
        points.append((path.count("/"), digest, float(visual.get("box width", 0))))
    return points


def cluster_blocks(pages: Sequence[Page]) -> NDArray[np.int64]:
    """Return the cluster of each block, by tag path, and by CSS and width if pages are rendered."""
    scores = SiteScores()
    for page in pages:
        scores.add(page)
    clusters = scores.clusters()
    return number_keys(clusters.get(point) for page in pages for point in _points(page))


def stated_text(page: Page) -> str:
    """Return all titles of a page, followed by all its descriptions, as one text."""
    # Rendered pages come as JSON, which can contain lone surrogates.
    return clean_text(" ".join(page.hints.stated).encode("utf-8", "replace").decode())


def page_relevance(page: Page) -> list[int]:
    """Return for each block the length of its LCS with the `stated_text` of its page."""
    texts = [squeeze(block.text) for block in page.content.blocks]
    if not texts:
        return []
    return [int(length) for length in lcs_lengths(texts, [squeeze(stated_text(page))])[:, 0]]


def label_like_the_paper(pages: Sequence[Page], site: SiteBlocks) -> NDArray[np.float32]:
    """Return the label of each block of *pages* by Algorithm 1: 1 (content) or 0 (not content)."""
    scores = SiteScores()
    for page in pages:
        scores.add(page)
    return scores.labels(pages)
