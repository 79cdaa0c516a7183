"""``experiment cart``: the trees of a thesis (Yunis, 2016), one for each type of element.

A tree learns from the gold of other owners' sites. Of rendered pages it is measured with and
without the geometry of the elements.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.tree import DecisionTreeClassifier

from contentspider_research.experiments.charts import bar_chart, split_chart, tree_chart
from contentspider_research.experiments.elementtypes import (
    COLUMN,
    COLUMNS,
    GEOMETRY_COLUMNS,
    TYPES,
    Elements,
    read_elements,
)
from contentspider_research.experiments.experiments import owner_folds, split_by_owner
from contentspider_research.experiments.judging import with_gold
from contentspider_research.metric import measures

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
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
    confusion = np.zeros((3, 2, 2))
    for sums, weights in zip(
        confusion, (np.ones(len(kept)), elements.words, elements.chars), strict=True
    ):
        np.add.at(sums, (elements.labels.astype(int), kept.astype(int)), weights)
    return confusion


@dataclass(slots=True)
class Judged:
    """What trees of other owners reach: the confusion (`count`) by type and suite, and by site.

    *columns* names the features. The rules made noise of *vetoed* elements; *right* of these are
    noise to the gold.
    """

    columns: Sequence[str]
    by_site: dict[str, dict[str, Elements]]
    sums: dict[tuple[str, str], NDArray[np.float64]] = field(default_factory=dict)
    of_site: dict[str, NDArray[np.float64]] = field(default_factory=dict)
    vetoed: int = 0
    right: int = 0

    def add(self, kind: str, site: ExperimentSite, kept: NDArray[np.bool_]) -> None:
        """Count what was *kept* of a site's elements of a type."""
        elements = self.by_site[site.name][kind]
        confusion = count(elements, kept)
        self.vetoed += int(elements.vetoed.sum())
        self.right += int((elements.vetoed & ~elements.labels).sum())
        for key in ((kind, site.suite), (SUM, site.suite)):
            self.sums[key] = self.sums.get(key, 0) + confusion
        self.of_site[site.name] = self.of_site.get(site.name, 0) + confusion


def judge_sites(sites: Sequence[ExperimentSite], folds: int, with_geometry: bool = False) -> Judged:
    """Judge the elements of each site by trees that learned from other owners' sites."""
    by_site = {site.name: _read(site, with_geometry) for site in sites}
    judged = Judged(COLUMNS + GEOMETRY_COLUMNS if with_geometry else COLUMNS, by_site)
    for kind in dict.fromkeys(TYPES.values()):
        for judged_sites, other_sites in owner_folds(sites, folds):
            tree = _grow_on(
                kind, [site for site in other_sites if kind in by_site[site.name]], by_site
            )
            for site in judged_sites:
                if kind in by_site[site.name]:
                    judged.add(kind, site, judge(tree, by_site[site.name][kind]))
        logger.info("%s: judged", kind)
    return judged


def _grow_on(
    kind: str, sites: Sequence[ExperimentSite], by_site: Mapping[str, Mapping[str, Elements]]
) -> DecisionTreeClassifier | None:
    """Return the tree of a type that learns from *sites*; None if there are none."""
    if not sites:
        return None
    groups = sorted({site.group for site in sites})
    owners = [
        np.full(len(by_site[site.name][kind].labels), groups.index(site.group)) for site in sites
    ]
    return grow(
        Elements.joined([by_site[site.name][kind] for site in sites]), np.concatenate(owners)
    )


def cart_tables(sites: Sequence[ExperimentSite], folds: int, chart: Path) -> list[str]:
    """Return the tables of the trees by type and by site, and draw the *chart* of their F1 and
    beside it each type's tree and how the classes split.

    If pages were rendered, only these are judged, without and with the geometry of the elements.
    Raises `ContentSpiderError` if fewer than two owners have gold.
    """
    sites = with_gold(_pages_to_judge(split_by_owner(sites)))
    variants = {"CART": judge_sites(sites, folds)}
    _draw_trees(variants["CART"], chart)
    _draw_splits(variants["CART"], chart.with_stem(f"{chart.stem}-splits"))
    if any(page.content.visuals for site in sites for page in site.pages):
        variants["CART with geometry"] = judge_sites(sites, folds, with_geometry=True)
        _draw_trees(variants["CART with geometry"], chart.with_stem(f"{chart.stem}-with-geometry"))
    rows = sorted(variants["CART"].sums, key=lambda row: row[0] == SUM)
    bar_chart(
        chart,
        [f"{kind} ({suite})" for kind, suite in rows],
        {
            name: [measures(judged.sums[row][1])[2] for row in rows]
            for name, judged in variants.items()
        },
        "F1 by word",
    )
    return [line for name, judged in variants.items() for line in (*_tables(name, judged), "")]


def _pages_to_judge(sites: Sequence[ExperimentSite]) -> list[ExperimentSite]:
    """Return the sites with those of their pages that have gold, and if any page was rendered, a
    rendering. Sites without such pages are left out.
    """
    must_be_rendered = any(page.content.visuals for site in sites for page in site.pages)
    chosen = []
    for site in sites:
        rows = [
            (page, gold)
            for page, gold in zip(site.pages, site.gold, strict=True)
            if gold and (page.content.visuals or not must_be_rendered)
        ]
        if len(rows) < len(site.pages):
            logger.warning(
                "%s: %d of %d pages have no gold, or no rendering, and are left out",
                site.name,
                len(site.pages) - len(rows),
                len(site.pages),
            )
        if rows:
            pages, golds = zip(*rows, strict=True)
            chosen.append(replace(site, pages=[*pages], gold=[*golds]))
    return chosen


def _tables(name: str, judged: Judged) -> list[str]:
    """Return the tables of what was judged, by type and by site."""
    rules = f"Rules made noise of {judged.vetoed:,} elements"
    rules += f", of which {judged.right:,} are noise to the gold."
    lines = [
        f"| {name}: elements | suite | truth by | {' | '.join(COUNTED)} | P | R | F1 | accuracy |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for (kind, suite), matrices in sorted(judged.sums.items(), key=lambda item: item[0][0] == SUM):
        for unit, matrix in zip(MEASURES, matrices, strict=True):
            cells = [f"{value:,.0f}" for value in matrix.ravel()]
            cells += [f"{value:.4f}" for value in measures(matrix)]
            lines.append(f"| {kind} | {suite} | {unit} | {' | '.join(cells)} |")
    lines += [
        "",
        rules,
        "",
        f"| {name}: site | words, F1 | wrong words, kept | words missed |",
        "|---|---|---|---|",
    ]
    for site, matrices in sorted(judged.of_site.items(), key=lambda item: measures(item[1][1])[2]):
        (_, wrong), (missed, _) = matrices[1].tolist()
        f1 = measures(matrices[1])[2]
        lines.append(f"| {site} | {f1:.4f} | {wrong:,.0f} | {missed:,.0f} |")
    return lines


def _read(site: ExperimentSite, with_geometry: bool) -> dict[str, Elements]:
    pages = [
        read_elements(page, gold, with_geometry)
        for page, gold in zip(site.pages, site.gold, strict=True)
        if gold is not None
    ]
    return {
        kind: Elements.joined([page[kind] for page in pages if kind in page])
        for kind in {kind for page in pages for kind in page}
    }


def _draw_trees(judged: Judged, chart: Path) -> None:
    """Draw the tree of each type, learned from all sites, with the F1 of other owners' trees."""
    all_types = judged.by_site.values()
    for kind in {kind for types in all_types for kind in types}:
        elements = Elements.joined([types[kind] for types in all_types if kind in types])
        tree = DecisionTreeClassifier(
            criterion="entropy",
            min_samples_split=SPLIT_CASES,
            min_samples_leaf=LEAF_CASES,
            max_leaf_nodes=DRAWN_LEAVES,
            random_state=0,
        ).fit(elements.features, elements.labels & ~elements.vetoed)
        reached = ", ".join(
            f"{suite} {measures(matrices[1])[2]:.3f}"
            for (each, suite), matrices in sorted(judged.sums.items())
            if each == kind
        )
        title = f"{kind}: {len(elements.labels):,} elements; F1 by word of other owners': {reached}"
        tree_chart(chart.with_stem(f"{chart.stem}-tree-{kind}"), tree, judged.columns, title)


def _draw_splits(judged: Judged, chart: Path) -> None:
    """Draw how the classes of paragraphs split by each feature of `SPLITS`."""
    paragraphs = [types["p"] for types in judged.by_site.values() if "p" in types]
    if not paragraphs:
        return
    elements = Elements.joined(paragraphs)
    counts = {}
    for name in SPLITS:
        has_feature = elements.features[:, COLUMN[name]] > 0
        for value in (0, 1):
            labels = elements.labels[has_feature == value]
            counts[f"{name} = {value}"] = [int((~labels).sum()), int(labels.sum())]
    split_chart(chart, counts)
