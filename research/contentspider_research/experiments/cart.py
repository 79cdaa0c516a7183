"""A thesis' judge (Yunis, 2016): a binary tree for each type of element, of other owners' gold."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import numpy as np
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.tree import DecisionTreeClassifier

from contentspider_research.experiments.charts import split_chart, tree_chart
from contentspider_research.experiments.elementtypes import (
    COLUMN,
    COLUMNS,
    TYPES,
    Elements,
    read_elements,
)
from contentspider_research.experiments.experiments import owner_folds
from contentspider_research.metric import measures

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from contentspider_research.experiments.experiments import ExperimentSite

logger = logging.getLogger(__name__)

# Of rpart, which the thesis used; its complexity is chosen by inner cross-validation here.
SPLIT_CASES, LEAF_CASES = 20, 7
COMPLEXITIES = (0.0, 0.0005, 0.002, 0.005)
INNER_FOLDS = 3
# What is drawn is meant to be read.
DRAWN_LEAVES = 12
# The source's example of a split that is pure, and of one that takes many off.
SPLITS = ("is_sib_p", "is_desc_nav")
SUM = "all"
COUNTED = ("noise, dropped", "noise, kept", "content, dropped", "content, kept")
MEASURES = ("elements", "words", "characters")


def grow(elements: Elements, owners: NDArray[np.int64]) -> DecisionTreeClassifier:
    """Return a type's tree; *owners* part the inner folds. Of one class it is a leaf."""
    labels = elements.labels & ~elements.vetoed
    tree = DecisionTreeClassifier(
        criterion="entropy",
        min_samples_split=SPLIT_CASES,
        min_samples_leaf=LEAF_CASES,
        random_state=0,
    )
    count = min(INNER_FOLDS, len(set(owners.tolist())))
    if count < 2 or labels.all() or not labels.any():
        return tree.fit(elements.features, labels)
    search = GridSearchCV(tree, {"ccp_alpha": COMPLEXITIES}, cv=GroupKFold(count))
    return search.fit(elements.features, labels, groups=owners).best_estimator_


def judge(tree: DecisionTreeClassifier | None, elements: Elements) -> NDArray[np.bool_]:
    """Tell which elements are content: what no rule makes noise and the tree says. Of a type that
    no other owner has (None) it is what the rules leave.
    """
    if tree is None:
        return ~elements.vetoed
    return np.asarray(tree.predict(elements.features), dtype=bool) & ~elements.vetoed


def count(elements: Elements, kept: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the matrices ``[[true noise, wrong content], [missed content, true content]]`` of
    `MEASURES`.
    """
    found = np.zeros((3, 2, 2))
    for sums, weights in zip(
        found, (np.ones(len(kept)), elements.words, elements.chars), strict=True
    ):
        np.add.at(sums, (elements.labels.astype(int), kept.astype(int)), weights)
    return found


def cart_tables(sites: Sequence[ExperimentSite], folds: int, chart: Path) -> list[str]:
    """Return the tables of the trees by type and by site, and draw beside *chart* each type's tree
    and how the classes split.
    """
    by_site = {site.name: _read(site) for site in sites}
    sums: dict[tuple[str, str], NDArray[np.float64]] = {}
    of_site: dict[str, NDArray[np.float64]] = {}
    vetoed = right = 0
    for kind in dict.fromkeys(TYPES.values()):
        for judged, others in owner_folds(sites, folds):
            seen = [site for site in others if kind in by_site[site.name]]
            tree = None
            if seen:
                groups = sorted({site.group for site in seen})
                owners = [
                    np.full(len(by_site[site.name][kind].labels), groups.index(site.group))
                    for site in seen
                ]
                tree = grow(
                    Elements.joined([by_site[site.name][kind] for site in seen]),
                    np.concatenate(owners),
                )
            for site in judged:
                if kind not in by_site[site.name]:
                    continue
                elements = by_site[site.name][kind]
                found = count(elements, judge(tree, elements))
                vetoed += int(elements.vetoed.sum())
                right += int((elements.vetoed & ~elements.labels).sum())
                for key in ((kind, site.suite), (SUM, site.suite)):
                    sums[key] = sums.get(key, 0) + found
                of_site[site.name] = of_site.get(site.name, 0) + found
        logger.info("%s: judged", kind)
    _draw(by_site, sums, chart)
    lines = [
        f"| CART: elements | suite | unit | {' | '.join(COUNTED)} | P | R | F1 | accuracy |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for (kind, suite), matrices in sorted(sums.items(), key=lambda item: item[0][0] == SUM):
        for unit, matrix in zip(MEASURES, matrices, strict=True):
            cells = [f"{value:,.0f}" for value in matrix.ravel()]
            cells += [f"{value:.4f}" for value in measures(matrix)]
            lines.append(f"| {kind} | {suite} | {unit} | {' | '.join(cells)} |")
    lines += [
        "",
        f"Rules made noise of {vetoed:,} elements, of which {right:,} are noise to the gold.",
        "",
        "| CART: site | words, F1 | wrong words, kept | words missed |",
        "|---|---|---|---|",
    ]
    for name, matrices in sorted(of_site.items(), key=lambda item: measures(item[1][1])[2]):
        (_, wrong), (missed, _) = matrices[1].tolist()
        f1 = measures(matrices[1])[2]
        lines.append(f"| {name} | {f1:.4f} | {wrong:,.0f} | {missed:,.0f} |")
    return lines


def _read(site: ExperimentSite) -> dict[str, Elements]:
    pages = [
        read_elements(page, gold)
        for page, gold in zip(site.pages, site.gold, strict=True)
        if gold is not None
    ]
    return {
        kind: Elements.joined([page[kind] for page in pages if kind in page])
        for kind in {kind for page in pages for kind in page}
    }


def _draw(
    by_site: dict[str, dict[str, Elements]],
    sums: dict[tuple[str, str], NDArray[np.float64]],
    chart: Path,
) -> None:
    """Draw of each type the tree of all sites, with what its like reach of other owners'."""
    for kind in {kind for types in by_site.values() for kind in types}:
        elements = Elements.joined([types[kind] for types in by_site.values() if kind in types])
        tree = DecisionTreeClassifier(
            criterion="entropy",
            min_samples_split=SPLIT_CASES,
            min_samples_leaf=LEAF_CASES,
            max_leaf_nodes=DRAWN_LEAVES,
            random_state=0,
        ).fit(elements.features, elements.labels & ~elements.vetoed)
        reached = ", ".join(
            f"{suite} {measures(matrices[1])[2]:.3f}"
            for (each, suite), matrices in sorted(sums.items())
            if each == kind
        )
        title = f"{kind}: {len(elements.labels):,} elements; F1 by word of other owners': {reached}"
        tree_chart(chart.with_stem(f"{chart.stem}-tree-{kind}"), tree, COLUMNS, title)
        if kind == "p":
            split_chart(
                chart.with_stem(f"{chart.stem}-splits"),
                {
                    f"{name} = {value}": [
                        int((is_there == value)[elements.labels == label].sum())
                        for label in (False, True)
                    ]
                    for name in SPLITS
                    for is_there in [elements.features[:, COLUMN[name]] > 0]
                    for value in (0, 1)
                },
            )
