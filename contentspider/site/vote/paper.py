"""Labels to the letter of the paper: one best cluster of blocks (Zhou and Mashuq, section 3), and
variations.

The blocks of all pages are clustered with DBSCAN on their one-hot tag paths (of rendered pages: and
their computed CSS and width), scaled, with ``min_samples=1``; the score of a cluster is the sum
over its blocks of the longest common subsequence with the page's own titles and descriptions,
joined to one lower-cased text without spaces; the cluster with the highest score is content,
everything else is not (Algorithm 1). On plain HTML this finds the body paragraphs of the dominant
template only: `contentspider.site.learn.learner` does better by default.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.cluster import DBSCAN
from sklearn.feature_extraction import DictVectorizer
from sklearn.preprocessing import StandardScaler

from contentspider.page.about.hints import squeeze
from contentspider.page.blocks import clean_text
from contentspider.page.text import tokens
from contentspider.page.words.names import step_tag
from contentspider.site.vote.relevance import contrasts, lcs_length_pylcs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from contentspider.page.input.page import Page
    from contentspider.site.vote.blocks import SiteBlocks

# Scaled one-hot vectors of two different tag paths are never nearer than this (paper, section 3.2).
EPSILON = 0.5


def _tag_path(path: str) -> str:
    return "/".join(map(step_tag, path.split("/")))


def cluster_blocks(pages: Sequence[Page]) -> NDArray[np.int64]:
    """Return the cluster of each block: equal tag paths, and if rendered, near computed CSS and
    width.
    """
    points: list[tuple[tuple[str, str | float], ...]] = []
    for page in pages:
        visuals: Sequence[dict[str, str]] = page.content.visuals or [{}] * len(page.content.blocks)
        for block, visual in zip(page.content.blocks, visuals, strict=True):
            point: dict[str, str | float] = {
                name: value for name, value in visual.items() if not name.startswith("box ")
            }
            if visual:
                point["box width"] = float(visual["box width"])
            point["path"] = _tag_path(block.path)
            points.append(tuple(sorted(point.items())))
    # Equal blocks fall on one point, so distinct ones are enough: each counts as often as it is.
    counts = Counter(points)
    number = {point: index for index, point in enumerate(counts)}
    vectors = DictVectorizer().fit_transform([dict(point) for point in counts])
    scaler = StandardScaler(with_mean=False).fit(vectors, sample_weight=list(counts.values()))
    found = DBSCAN(eps=EPSILON, min_samples=1).fit_predict(scaler.transform(vectors))
    return np.array([found[number[point]] for point in points], dtype=np.int64)


def _stated(page: Page) -> str:
    # Rendered pages come as JSON, which can hold half an emoji.
    text = " ".join(page.hints.stated).encode("utf-8", "replace").decode()
    return clean_text(text)


def _relevance(pages: Sequence[Page]) -> NDArray[np.floating[Any]]:
    """Return for each block the length of its longest common subsequence with what its page states
    of itself: all titles, then all descriptions, in one.
    """
    values = []
    for page in pages:
        stated = squeeze(_stated(page))
        values += [lcs_length_pylcs(squeeze(block.text), stated) for block in page.content.blocks]
    return np.array(values, dtype=np.float64)


def _weighted_contrasts(pages: Sequence[Page]) -> NDArray[np.floating[Any]]:
    """Return each block's contrast times its unlinked characters: by itself it chooses the
    headings, which repeat the title.
    """
    chars = [len(block.text) - block.link_chars for page in pages for block in page.content.blocks]
    return contrasts([page.content for page in pages], [page.hints for page in pages]) * np.array(
        chars, dtype=np.float64
    )


def _shared_terms(pages: Sequence[Page]) -> NDArray[np.floating[Any]]:
    """Return for each block what the terms that it shares with its page's titles and descriptions
    weigh: their frequency in both, times the logarithm of the share of pages that have them
    (tf-idf, the first report of Zhou and Mashuq).
    """
    stated = [Counter(tokens(_stated(page))) for page in pages]
    texts = [[Counter(tokens(block.text)) for block in page.content.blocks] for page in pages]
    frequency: Counter[str] = Counter()
    for terms, blocks in zip(stated, texts, strict=True):
        frequency.update(set(terms).union(*blocks))
    values = []
    for terms, blocks in zip(stated, texts, strict=True):
        weights = {term: math.log(len(pages) / frequency[term]) for term in terms}
        values += [
            sum((block[term] + terms[term]) * weights[term] for term in block.keys() & terms.keys())
            for block in blocks
        ]
    return np.array(values, dtype=np.float64)


def _best_clusters(
    clusters: NDArray[np.integer[Any]], relevance: NDArray[np.floating[Any]], best: int = 1
) -> NDArray[np.float32]:
    """Return 1 for the blocks of the *best* clusters, by the sum of their *relevance*."""
    scores = np.bincount(clusters, relevance)
    # Of equal ones the first.
    chosen = np.argsort(-scores, kind="stable")[:best]
    return np.asarray(np.isin(clusters, chosen), dtype=np.float32)


def label_like_the_paper(pages: Sequence[Page], site: SiteBlocks) -> NDArray[np.float32]:
    """Return for all blocks of *pages* 1 (content) or 0 (not), by Algorithm 1."""
    return _best_clusters(cluster_blocks(pages), _relevance(pages))


def label_with_two_clusters(pages: Sequence[Page], site: SiteBlocks) -> NDArray[np.float32]:
    """Label by Algorithm 1, but with the two best clusters."""
    return _best_clusters(cluster_blocks(pages), _relevance(pages), best=2)


def label_by_terms(pages: Sequence[Page], site: SiteBlocks) -> NDArray[np.float32]:
    """Label by Algorithm 1, with terms in common in place of a common subsequence."""
    return _best_clusters(cluster_blocks(pages), _shared_terms(pages))


def label_by_terms_with_two_clusters(
    pages: Sequence[Page], site: SiteBlocks
) -> NDArray[np.float32]:
    """Label by terms in common, with the two best clusters."""
    return _best_clusters(cluster_blocks(pages), _shared_terms(pages), best=2)


def label_slots_by_terms(pages: Sequence[Page], site: SiteBlocks) -> NDArray[np.float32]:
    """Label by terms in common, with the best of our own clusters, those of slots."""
    return _best_clusters(site.clusters, _shared_terms(pages))


def label_slots_by_terms_with_two_clusters(
    pages: Sequence[Page], site: SiteBlocks
) -> NDArray[np.float32]:
    """Label by terms in common, with the two best clusters of slots."""
    return _best_clusters(site.clusters, _shared_terms(pages), best=2)


def label_page_by_page(pages: Sequence[Page], site: SiteBlocks) -> NDArray[np.float32]:
    """Label with the best cluster of each page by itself: the paper's baseline for its global
    score.
    """
    clusters, relevance = cluster_blocks(pages), _relevance(pages)
    owners = np.repeat(np.arange(len(pages)), [len(page.content.blocks) for page in pages])
    chosen = np.full(len(pages), -1, dtype=np.int64)
    for page in range(len(pages)):
        mine = owners == page
        if mine.any():
            chosen[page] = int(np.argmax(np.bincount(clusters[mine], relevance[mine])))
    return np.asarray(clusters == chosen[owners], dtype=np.float32)


def label_by_contrast(pages: Sequence[Page], site: SiteBlocks) -> NDArray[np.float32]:
    """Label by Algorithm 1 with the relevance to the hints of the page less that to other pages'
    (the bare sum of lengths any long text wins).
    """
    return _best_clusters(cluster_blocks(pages), _weighted_contrasts(pages))


def label_template_by_template(pages: Sequence[Page], site: SiteBlocks) -> NDArray[np.float32]:
    """Label by Algorithm 1 on clusters of equal tag paths, and again on the pages that have nothing
    of the cluster it chose, until each page that has hints has some content.

    The paper's one cluster is one template's: pages of another are left empty. Looks are left out,
    since a template that sets its paragraphs in columns gives them many widths.
    """
    numbers: dict[str, int] = {}
    clusters = np.array(
        [
            numbers.setdefault(_tag_path(block.path), len(numbers))
            for page in pages
            for block in page.content.blocks
        ],
        dtype=np.int64,
    )
    owners = np.repeat(np.arange(len(pages)), [len(page.content.blocks) for page in pages])
    relevance = _relevance(pages)
    labels = np.zeros(len(clusters), dtype=np.float32)
    left = np.full(len(clusters), fill_value=True)
    while left.any():
        scores = np.bincount(clusters[left], relevance[left])
        if not scores.max():
            break
        chosen = left & (clusters == int(np.argmax(scores)))
        labels[chosen] = 1
        left &= ~np.isin(owners, owners[chosen])
    return labels
