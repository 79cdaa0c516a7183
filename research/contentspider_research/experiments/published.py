"""The experiments of Zhou and Mashuq (2013) as they did them, where that is not how a site is
learned here: every block counts once, lengths are numbers, and pages of many sites are folded by
blocks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from rapidfuzz.distance import LCSseq

from contentspider.page.about.hints import squeeze
from contentspider.site.judge.classifier import matrix_of
from contentspider.site.judge.featuresets import SiteFeatures
from contentspider.site.vote.paper import cluster_blocks
from contentspider_research.features.sets import NUMBERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray
    from scipy.sparse import csr_matrix

    from contentspider.page.input.page import Page
    from contentspider.site.judge.slots import SlotTable

    Bools = NDArray[np.bool_]
    Numbers = NDArray[np.floating[Any]]


def label_by_gold(pages: Sequence[Page], gold: Sequence[str]) -> list[Bools]:
    """Return which blocks of each page are of the cluster whose joined text has the longest common
    subsequence with the page's *gold* text, in characters without white space.
    """
    ends = np.cumsum([len(page.content.blocks) for page in pages])[:-1]
    labels = []
    for page, text, clusters in zip(
        pages, gold, np.split(cluster_blocks(pages), ends), strict=True
    ):
        wanted = squeeze(text)
        joined: dict[int, str] = {}
        for block, cluster in zip(page.content.blocks, clusters.tolist(), strict=True):
            joined[cluster] = joined.get(cluster, "") + squeeze(block.text)
        best = max(joined, key=lambda cluster: LCSseq.similarity(joined[cluster], wanted))
        labels.append(clusters == best)
    return labels


def judge_pages(
    pages: Sequence[Page],
    labels: Sequence[Bools],
    features: Sequence[str],
    table: SlotTable,
    fold_of: Sequence[int],
) -> list[Bools]:
    """Return what the published classifier keeps of each page, trained on the pages of other
    folds.
    """
    counts = [len(page.content.blocks) for page in pages]
    return _judge(pages, labels, features, table, np.repeat(fold_of, counts))


def judge_blocks(
    pages: Sequence[Page],
    labels: Sequence[Bools],
    features: Sequence[str],
    table: SlotTable,
    folds: int,
    shuffled: bool,
) -> list[Bools]:
    """Return what it keeps if the folds are of blocks, in the order of the pages or *shuffled*:
    then it has seen most pages that it judges.
    """
    count = sum(len(page.content.blocks) for page in pages)
    fold_of = np.arange(count) * folds // count
    if shuffled:
        np.random.default_rng(0).shuffle(fold_of)
    return _judge(pages, labels, features, table, fold_of)


def _judge(
    pages: Sequence[Page],
    labels: Sequence[Bools],
    features: Sequence[str],
    table: SlotTable,
    fold_of: NDArray[np.int64],
) -> list[Bools]:
    names, numbers = _matrix(pages, features, table)
    wanted = np.concatenate(labels)
    kept = np.zeros(len(wanted), dtype=bool)
    for fold in np.unique(fold_of):
        seen = fold_of != fold
        if not seen.any():  # a single page is judged by what it says itself
            seen = ~seen
        kept[fold_of == fold] = _fit_and_decide(names, numbers, wanted, seen, fold_of == fold)
    return np.split(kept, np.cumsum([len(page.content.blocks) for page in pages])[:-1])


def _matrix(
    pages: Iterable[Page], features: Sequence[str], table: SlotTable
) -> tuple[csr_matrix, Numbers]:
    """Return the blocks' names, 0 or 1 in a column for each, and their numbers."""
    numeric = [NUMBERS[name] for name in features if name in NUMBERS]
    of_site = SiteFeatures([name for name in features if name not in NUMBERS], table)
    rows, numbers = [], []
    for page in pages:
        rows += of_site.rows(page.content)
        columns = [zip(*numbers_of(page.content), strict=True) for numbers_of in numeric]
        numbers.append(np.array([column for found in columns for column in found], dtype=float).T)
    count = len(rows)
    return matrix_of(rows)[0], (np.concatenate(numbers) if numeric else np.zeros((count, 0)))


def _fit_and_decide(
    names: csr_matrix, numbers: Numbers, labels: Bools, seen: Bools, judged: Bools
) -> Bools:
    """Return what is kept of the *judged* blocks by a linear SVM with hinge loss of those *seen*,
    in which each counts once (the classes alike), and whose numbers have mean 0 and variance 1.
    """
    from scipy.sparse import csr_matrix, hstack
    from sklearn.svm import LinearSVC

    if labels[seen].all() or not labels[seen].any():
        return np.full(int(judged.sum()), labels[seen].all())
    spread = numbers[seen].std(axis=0)
    scaled = (numbers - numbers[seen].mean(axis=0)) / np.where(spread > 0, spread, 1)
    matrix = hstack([names, csr_matrix(scaled)], format="csr")
    svm = LinearSVC(C=1, loss="hinge", class_weight="balanced", random_state=0, max_iter=50_000)
    return np.asarray(svm.fit(matrix[seen], labels[seen]).predict(matrix[judged]), dtype=bool)
