"""Variations of the paper's labels (``--labels NAME``).

``paper-local``: Algorithm 1 with the best cluster chosen a page at a time; ``paper-top2``: with the
two best clusters; ``tfidf`` and ``tfidf-top2``: with terms in common, ``tfidf-slots`` and
``tfidf-slots-top2``: of them and the learner's clusters of slots. ``paper-again``: Algorithm 1 by
tag paths, and again on pages of which it chose nothing. ``paper-box``: what stands in the column
of the best cluster joins it, on rendered pages. ``contrast``: Algorithm 1 with the relevance to
the page's own hints less that to other pages'.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from contentspider.page.tree.text import tokens
from contentspider.site.judge.slots import tag_path
from contentspider.site.vote.paper import cluster_blocks, page_relevance, stated_text
from contentspider.site.vote.relevance import contrasts
from contentspider_research.features.geometry import Box, box_around, read_boxes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from contentspider.page.input.page import Page
    from contentspider.site.vote.blocks import SiteBlocks

# In pixels: what the box of a page's content is wider by, and how far a block's left edge may be
# from that of the column.
MARGIN = 5.0


def relevance(pages: Sequence[Page]) -> NDArray[np.floating[Any]]:
    """Return for each block the length of its LCS with the `stated_text` of its page."""
    return np.array([length for page in pages for length in page_relevance(page)], dtype=np.float64)


def best_clusters(
    clusters: NDArray[np.integer[Any]], scores: NDArray[np.floating[Any]], best: int = 1
) -> NDArray[np.float32]:
    """Return 1 for the blocks of the *best* clusters with the highest sums of *scores*, else 0."""
    chosen = np.argsort(-np.bincount(clusters, scores), kind="stable")[:best]
    return np.asarray(np.isin(clusters, chosen), dtype=np.float32)


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
    stated = [Counter(tokens(stated_text(page))) for page in pages]
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


def label_with_two_clusters(pages: Sequence[Page], site: SiteBlocks) -> NDArray[np.float32]:
    """Label by Algorithm 1, but with the two best clusters."""
    return best_clusters(cluster_blocks(pages), relevance(pages), best=2)


def label_by_terms(pages: Sequence[Page], site: SiteBlocks) -> NDArray[np.float32]:
    """Label by Algorithm 1, with terms in common in place of a common subsequence."""
    return best_clusters(cluster_blocks(pages), _shared_terms(pages))


def label_by_terms_with_two_clusters(
    pages: Sequence[Page], site: SiteBlocks
) -> NDArray[np.float32]:
    """Label by terms in common, with the two best clusters."""
    return best_clusters(cluster_blocks(pages), _shared_terms(pages), best=2)


def label_slots_by_terms(pages: Sequence[Page], site: SiteBlocks) -> NDArray[np.float32]:
    """Label by terms in common, with the best of our own clusters, those of slots."""
    return best_clusters(site.clusters, _shared_terms(pages))


def label_slots_by_terms_with_two_clusters(
    pages: Sequence[Page], site: SiteBlocks
) -> NDArray[np.float32]:
    """Label by terms in common, with the two best clusters of slots."""
    return best_clusters(site.clusters, _shared_terms(pages), best=2)


def label_page_by_page(pages: Sequence[Page], site: SiteBlocks) -> NDArray[np.float32]:
    """Label with the best cluster of each page by itself: the paper's baseline for its global
    score.
    """
    clusters, scores = cluster_blocks(pages), relevance(pages)
    page_of = np.repeat(np.arange(len(pages)), [len(page.content.blocks) for page in pages])
    chosen = np.full(len(pages), -1, dtype=np.int64)
    for page in range(len(pages)):
        mine = page_of == page
        if mine.any():
            chosen[page] = int(np.argmax(np.bincount(clusters[mine], scores[mine])))
    return np.asarray(clusters == chosen[page_of], dtype=np.float32)


def _in_the_column(boxes: Sequence[Box], content: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Tell of each box whether it lies in the box around the page's *content* and begins where
    that does: quotations, embedded posts and captions stand in it too, but are set in.
    """
    inside = [box for box, chosen in zip(boxes, content, strict=True) if chosen]
    around, left = box_around(inside), float(np.median([box.left for box in inside]))
    return np.array(
        [
            abs(box.left - left) <= MARGIN
            and box.top >= around.top - MARGIN
            and box.right <= around.right + MARGIN
            and box.bottom <= around.bottom + MARGIN
            for box in boxes
        ]
    )


def label_in_the_box(pages: Sequence[Page], site: SiteBlocks) -> NDArray[np.float32]:
    """Label by Algorithm 1; on each rendered page blocks of other clusters with a score join that
    lie in the box around the best cluster's, if they begin at its left edge.
    """
    clusters, scores = cluster_blocks(pages), relevance(pages)
    labels = best_clusters(clusters, scores)
    joins = np.bincount(clusters, scores)[clusters] > 0
    start = 0
    for page in pages:
        here = slice(start, start + len(page.content.blocks))
        start = here.stop
        content = labels[here] > 0
        if page.content.visuals and content.any():
            column = _in_the_column(read_boxes(page.content), content)
            labels[here] = content | (joins[here] & column)
    return labels


def label_by_contrast(pages: Sequence[Page], site: SiteBlocks) -> NDArray[np.float32]:
    """Label by Algorithm 1 with the relevance to the hints of the page less that to other pages'
    (the bare sum of lengths any long text wins).
    """
    return best_clusters(cluster_blocks(pages), _weighted_contrasts(pages))


def label_template_by_template(pages: Sequence[Page], site: SiteBlocks) -> NDArray[np.float32]:
    """Label by Algorithm 1 on clusters of equal tag paths, and again on the pages that have nothing
    of the cluster it chose, until each page that has hints has some content.

    The paper's one cluster is one template's: pages of another are left empty. Looks are left out,
    since a template that sets its paragraphs in columns gives them many widths.
    """
    numbers: dict[str, int] = {}
    clusters = np.array(
        [
            numbers.setdefault(tag_path(block.path), len(numbers))
            for page in pages
            for block in page.content.blocks
        ],
        dtype=np.int64,
    )
    page_of = np.repeat(np.arange(len(pages)), [len(page.content.blocks) for page in pages])
    scores_of_blocks = relevance(pages)
    labels = np.zeros(len(clusters), dtype=np.float32)
    left = np.full(len(clusters), fill_value=True)
    while left.any():
        scores = np.bincount(clusters[left], scores_of_blocks[left])
        if not scores.max():
            break
        chosen = left & (clusters == int(np.argmax(scores)))
        labels[chosen] = 1
        left &= ~np.isin(page_of, page_of[chosen])
    return labels
