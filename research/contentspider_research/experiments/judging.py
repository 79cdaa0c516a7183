"""``experiment classifiers``: is it the features, the labels or the classifier?

Each classifier learns a site's own labels, by several sets of numbers, as the site's SVM does; and
gold of other owners, as the prior does; and the experiment of the hybrid paper is made with each.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import numpy as np
from sklearn.decomposition import TruncatedSVD

from contentspider.ground.errors import ContentSpiderError
from contentspider.page.features.extractor import FEATURE_NAMES, FeatureExtractor
from contentspider.site.judge.classifier import matrix_of
from contentspider.site.judge.featuresets import SLOTS, SiteFeatures
from contentspider_research.classifiers.matrix import CLASSIFIERS, COMPONENTS
from contentspider_research.experiments.experiments import (
    fold_numbers,
    measure,
    owner_folds,
    per_site,
)
from contentspider_research.experiments.hybrid import six_numbers
from contentspider_research.features.wordcounts import count_words
from contentspider_research.training import label_blocks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from contentspider_research.classifiers.matrix import NumberClassifier
    from contentspider_research.experiments.experiments import ExperimentSite, Result

    Matrices = list[NDArray[np.float32]]

logger = logging.getLogger(__name__)

# Of a site's names as many directions as tell most of them apart.
SVD_NUMBERS = 100
# Blocks that a classifier learns from; of more a sample says the same, and trees take minutes.
MAX_BLOCKS = 20_000
# Of the components these are enough where each site learns its own labels.
SITE_COMPONENTS = ("PCA, one direction", "PCA, 90% of the variance")
# Numbers of text and place: of the prior's features those that are no names of tags, ids or
# classes, no phrases, and do not ask for a main or article element, or a series of like ones.
NUMERIC = [
    index
    for index, name in enumerate(FEATURE_NAMES)
    if name.partition("_")[0]
    not in ("tag", "inside", "own", "near", "far", "says", "heading", "main", "article")
    and not name.startswith(("inner_", "outer_"))
]
SITE_CLASSIFIERS = CLASSIFIERS | {
    name: make for name, make in COMPONENTS.items() if name in SITE_COMPONENTS
}


def words_of(site: ExperimentSite) -> Matrices:
    """Return the six word features of the blocks of each page."""
    return [
        np.array([six_numbers(count) for count in count_words(page.content)], dtype=np.float32)
        for page in site.pages
    ]


def numbers_of(site: ExperimentSite) -> Matrices:
    """Return the numeric features of the prior of the blocks of each page."""
    extractor = FeatureExtractor()
    return [extractor.features(page.content, page.hints)[:, NUMERIC] for page in site.pages]


def slots_of(site: ExperimentSite) -> Matrices:
    """Return what the site's SVM decides by, as numbers: singular vectors of the names."""
    features = SiteFeatures([SLOTS], site.table)
    rows = [features.rows(page.content) for page in site.pages]
    matrix, _ = matrix_of([row for page in rows for row in page])
    count = min(SVD_NUMBERS, min(matrix.shape) - 1)
    if count < 1:
        return [np.zeros((len(page), 1), dtype=np.float32) for page in rows]
    numbers = TruncatedSVD(count, random_state=0).fit_transform(matrix).astype(np.float32)
    return np.split(numbers, np.cumsum([len(page) for page in rows])[:-1])


NUMBERS: dict[str, Callable[[ExperimentSite], Matrices]] = {
    "six words": words_of,
    "the prior's numbers": numbers_of,
}
SITE_NUMBERS = NUMBERS | {f"slots, {SVD_NUMBERS} directions": slots_of}


def train(
    make: Callable[[], NumberClassifier],
    numbers: Sequence[NDArray[np.float32]],
    labels: Sequence[NDArray[np.bool_]],
) -> Callable[[NDArray[np.float32]], NDArray[np.bool_]]:
    """Return what decides after a classifier has learned from pages; of one class there is nothing
    to learn.
    """
    matrix, wanted = np.concatenate(numbers), np.concatenate(labels)
    if len(wanted) > MAX_BLOCKS:
        chosen = np.random.default_rng(0).choice(len(wanted), MAX_BLOCKS, replace=False)
        matrix, wanted = matrix[chosen], wanted[chosen]
    if wanted.all() or not wanted.any():
        value = bool(wanted.any())
        return lambda rows: np.full(len(rows), value)
    classifier = make()
    classifier.fit(matrix, wanted)
    return classifier.predict


def site_judges(sites: Sequence[ExperimentSite], folds: int) -> Iterator[tuple[str, list[Result]]]:
    """Yield for each classifier and set of numbers what it reaches as the site's own classifier,
    cross-validated over its pages in *folds*; the SVM first.
    """
    yield "SVM: slots", per_site(sites, [SLOTS], folds)
    for numbers, of in SITE_NUMBERS.items():
        matrices = {site.name: of(site) for site in sites}
        for name, make in SITE_CLASSIFIERS.items():
            results = []
            for site in sites:
                rows = matrices[site.name]
                kept = [np.zeros(0, dtype=bool)] * len(rows)
                fold_of = fold_numbers(len(rows), min(folds, len(rows)))
                for fold in set(fold_of):
                    seen = [index for index, number in enumerate(fold_of) if number != fold] or [0]
                    decide = train(
                        make,
                        [rows[index] for index in seen],
                        [site.labels[index] for index in seen],
                    )
                    for index, number in enumerate(fold_of):
                        if number == fold:
                            kept[index] = decide(rows[index])
                results.append(measure(site, kept))
            logger.info("%s of %s: judged", name, numbers)
            yield f"{name}: {numbers}", results


def general_judges(
    sites: Sequence[ExperimentSite], folds: int
) -> Iterator[tuple[str, list[Result]]]:
    """Yield for each classifier and set of numbers what it reaches as the prior does: it learns
    gold of other owners' sites.
    """
    gold = {
        site.name: [
            label_blocks(page, gold)[0] if gold else np.zeros(len(page.content.blocks), dtype=bool)
            for page, gold in zip(site.pages, site.gold, strict=True)
        ]
        for site in sites
    }
    for numbers, of in NUMBERS.items():
        matrices = {site.name: of(site) for site in sites}
        for name, make in (CLASSIFIERS | COMPONENTS).items():
            results = []
            for judged, others in owner_folds(sites, folds):
                decide = train(
                    make,
                    [rows for site in others for rows in matrices[site.name]],
                    [labels for site in others for labels in gold[site.name]],
                )
                results += [
                    measure(site, [decide(rows) for rows in matrices[site.name]]) for site in judged
                ]
            logger.info("%s of %s: judged by other owners'", name, numbers)
            yield f"{name}: {numbers}", results


def with_gold(sites: Sequence[ExperimentSite]) -> list[ExperimentSite]:
    """Return the sites all of whose pages have gold text; at least two owners' must be there."""
    found = [site for site in sites if None not in site.gold]
    if len({site.group for site in found}) < 2:
        raise ContentSpiderError(
            "this experiment learns from gold text of other owners: it needs gold of two owners or"
            " more"
        )
    return found
