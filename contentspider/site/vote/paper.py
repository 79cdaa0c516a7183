"""Labels to the letter of the paper: one best cluster of blocks (Zhou and Mashuq, section 3).

The blocks of all pages are clustered with DBSCAN on their one-hot tag paths (of rendered pages: and
their computed CSS and width), scaled, with ``min_samples=1``. A cluster's score is the sum over its
blocks of the longest common subsequence with the page's own titles and descriptions, joined to one
lower-cased text without spaces; the cluster with the highest score is content (Algorithm 1). On
plain HTML this finds the paragraphs of the dominant template only.
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
from contentspider.page.words.names import step_tag
from contentspider.site.vote.relevance import lcs_length_pylcs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from contentspider.page.input.page import Page
    from contentspider.site.vote.blocks import SiteBlocks

# Scaled one-hot vectors of two different tag paths are never nearer than this (paper, section 3.2).
EPSILON = 0.5


def tag_path(path: str) -> str:
    """Return a selector path without names."""
    return "/".join(map(step_tag, path.split("/")))


def cluster_blocks(pages: Sequence[Page]) -> NDArray[np.int64]:
    """Return the cluster of each block: equal tag paths, and if rendered, near CSS and width."""
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
    # Equal blocks are one point, which counts as often as they are.
    counts = Counter(points)
    number = {point: index for index, point in enumerate(counts)}
    vectors = DictVectorizer().fit_transform([dict(point) for point in counts])
    scaler = StandardScaler(with_mean=False).fit(vectors, sample_weight=list(counts.values()))
    found = DBSCAN(eps=EPSILON, min_samples=1).fit_predict(scaler.transform(vectors))
    return np.array([found[number[point]] for point in points], dtype=np.int64)


def stated_text(page: Page) -> str:
    """Return what a page states of itself: all titles, then all descriptions."""
    # Rendered pages come as JSON, which can hold half an emoji.
    return clean_text(" ".join(page.hints.stated).encode("utf-8", "replace").decode())


def relevance(pages: Sequence[Page]) -> NDArray[np.floating[Any]]:
    """Return for each block the length of its longest common subsequence with `stated_text`."""
    values = []
    for page in pages:
        stated = squeeze(stated_text(page))
        values += [lcs_length_pylcs(squeeze(block.text), stated) for block in page.content.blocks]
    return np.array(values, dtype=np.float64)


def best_clusters(
    clusters: NDArray[np.integer[Any]], scores: NDArray[np.floating[Any]], best: int = 1
) -> NDArray[np.float32]:
    """Return 1 for blocks of the *best* clusters by the sum of *scores*, else 0."""
    chosen = np.argsort(-np.bincount(clusters, scores), kind="stable")[:best]
    return np.asarray(np.isin(clusters, chosen), dtype=np.float32)


def label_like_the_paper(pages: Sequence[Page], site: SiteBlocks) -> NDArray[np.float32]:
    """Return for all blocks of *pages* 1 (content) or 0 (not), by Algorithm 1."""
    return best_clusters(cluster_blocks(pages), relevance(pages))
