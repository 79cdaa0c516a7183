"""Labels blocks exactly as the paper does: one cluster of blocks is content (Zhou and Mashuq, 3).

DBSCAN clusters the blocks of all pages by their scaled one-hot tag paths, with ``min_samples=1``.
For rendered pages the computed CSS and the width are added. The score of a cluster is the sum of
its blocks' relevance: the length of the longest common subsequence with the page's titles and
descriptions, joined to one lower-cased text without spaces. The cluster with the highest score is
content (Algorithm 1). On plain HTML this only finds the paragraphs of the most frequent template.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.cluster import DBSCAN
from sklearn.feature_extraction import DictVectorizer
from sklearn.preprocessing import StandardScaler

from contentspider.page.about.hints import squeeze
from contentspider.page.tree.text import clean_text
from contentspider.site.judge.slots import tag_path
from contentspider.site.vote.relevance import lcs_length_pylcs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from contentspider.page.input.page import Page
    from contentspider.site.vote.blocks import SiteBlocks

# The scaled one-hot vectors of different tag paths are never nearer than this (paper, section 3.2).
EPSILON = 0.5


def cluster_blocks(pages: Sequence[Page]) -> NDArray[np.int64]:
    """Return the cluster of each block, by tag path, and by CSS and width if pages are rendered."""
    points: list[tuple[tuple[str, str | float], ...]] = []
    for page in pages:
        visuals: Sequence[dict[str, str]] = page.content.visuals or [{}] * len(page.content.blocks)
        for block, visual in zip(page.content.blocks, visuals, strict=True):
            point: dict[str, str | float] = {
                name: value for name, value in visual.items() if not name.startswith("box ")
            }
            if visual:
                point["box width"] = float(visual["box width"])
            point["path"] = tag_path(block.path)
            points.append(tuple(sorted(point.items())))
    # Equal blocks are one point, weighted by their number.
    counts = Counter(points)
    number = {point: index for index, point in enumerate(counts)}
    vectors = DictVectorizer().fit_transform([dict(point) for point in counts])
    scaler = StandardScaler(with_mean=False).fit(vectors, sample_weight=list(counts.values()))
    clusters = DBSCAN(eps=EPSILON, min_samples=1).fit_predict(scaler.transform(vectors))
    return np.array([clusters[number[point]] for point in points], dtype=np.int64)


def stated_text(page: Page) -> str:
    """Return all titles of a page, followed by all its descriptions, as one text."""
    # Rendered pages come as JSON, which can contain lone surrogates.
    return clean_text(" ".join(page.hints.stated).encode("utf-8", "replace").decode())


def relevance(pages: Sequence[Page]) -> NDArray[np.floating[Any]]:
    """Return for each block the length of its LCS with the `stated_text` of its page."""
    values = []
    for page in pages:
        stated = squeeze(stated_text(page))
        values += [lcs_length_pylcs(squeeze(block.text), stated) for block in page.content.blocks]
    return np.array(values, dtype=np.float64)


def best_clusters(
    clusters: NDArray[np.integer[Any]], scores: NDArray[np.floating[Any]], best: int = 1
) -> NDArray[np.float32]:
    """Return 1 for the blocks of the *best* clusters with the highest sums of *scores*, else 0."""
    chosen = np.argsort(-np.bincount(clusters, scores), kind="stable")[:best]
    return np.asarray(np.isin(clusters, chosen), dtype=np.float32)


def label_like_the_paper(pages: Sequence[Page], site: SiteBlocks) -> NDArray[np.float32]:
    """Return the label of each block of *pages* by Algorithm 1: 1 (content) or 0 (not content)."""
    return best_clusters(cluster_blocks(pages), relevance(pages))
