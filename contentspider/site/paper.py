"""Labels to the letter of the paper: one best cluster of blocks (Zhou and Mashuq, section 3).

The blocks of all pages are clustered with DBSCAN on their one-hot tag paths, scaled, with
``min_samples=1``; the score of a cluster is the sum over its blocks of the longest common subsequence
with the page's own titles and descriptions, as lower-cased text without spaces; the cluster with the
highest score is content, everything else is not (Algorithm 1). On plain HTML this finds the body
paragraphs of the dominant template only: `contentspider.site.learner` does better by default.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sklearn.cluster import DBSCAN
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import StandardScaler

from contentspider.page.hints import squeeze
from contentspider.page.names import step_tag
from contentspider.site.relevance import lcs_length

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from contentspider.page.document import Page

# Scaled one-hot vectors of two different tag paths are never nearer than this (paper, section 3.2).
EPSILON = 0.5


def _tag_path(path: str) -> str:
    return "/".join(map(step_tag, path.split("/")))


def label_like_the_paper(pages: Sequence[Page]) -> tuple[NDArray[np.float32], NDArray[np.int64], dict[int, float]]:
    """Return for all blocks of *pages* their label (1 content, 0 not), their cluster, and each cluster's score."""
    blocks = [block for page in pages for block in page.content.blocks]
    paths = [_tag_path(block.path) for block in blocks]
    distinct = list(dict.fromkeys(paths))
    number = {path: index for index, path in enumerate(distinct)}
    # One column a distinct tag path: equal paths fall on one point, so distinct ones are enough.
    one_hot = CountVectorizer(analyzer=lambda path: [path]).fit_transform(distinct)
    points = StandardScaler(with_mean=False).fit_transform(one_hot)
    found = DBSCAN(eps=EPSILON, min_samples=1).fit_predict(points)
    clusters = np.array([found[number[path]] for path in paths], dtype=np.int64)
    scores: dict[int, float] = {}
    index = 0
    for page in pages:
        hints = [squeeze(text) for text in page.hints.texts()]
        for block in page.content.blocks:
            text = squeeze(block.text)
            score = sum(lcs_length(text, hint) for hint in hints)
            cluster = int(clusters[index])
            scores[cluster] = scores.get(cluster, 0.0) + score
            index += 1
    best = max(scores, key=lambda cluster: (scores[cluster], -cluster))
    return (clusters == best).astype(np.float32), clusters, scores
