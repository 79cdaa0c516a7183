"""The experiment of Uzun, Agun and Yerlikaya (2013) and of those who repeat it: blocks of a page by
six word features, sites of other owners to learn from.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from statistics import mean
from typing import TYPE_CHECKING

import numpy as np

from contentspider.site.scores import text_score
from contentspider_research.classifiers.matrix import CLASSIFIERS
from contentspider_research.experiments.charts import line_chart
from contentspider_research.experiments.experiments import owner_folds, text_of
from contentspider_research.features.wordcounts import CELLS, LAYOUT, count_unit_words, units
from contentspider_research.metric import measures
from contentspider_research.training import label_blocks

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from contentspider.evaluation.corpora import GoldPage
    from contentspider.page.input.page import Page
    from contentspider.page.tree.blocks import PageBlocks
    from contentspider_research.classifiers.matrix import NumberClassifier
    from contentspider_research.experiments.experiments import ExperimentSite
    from contentspider_research.features.wordcounts import WordCounts

UNITS = {"div, td": CELLS, "layout": LAYOUT}


@dataclass(slots=True)
class UnitPage:
    """A page with gold by its units: of each its six *numbers*, *words*, whether it is content, and
    its start tag; *unit* tells whose each block of the page is (-1: of one without words).
    """

    page: Page
    gold: GoldPage
    unit: NDArray[np.int64]
    numbers: NDArray[np.float64]
    words: NDArray[np.int64]
    labels: NDArray[np.bool_]
    start_tags: list[str]

    @classmethod
    def of(cls, page: Page, gold: GoldPage, tags: frozenset[str]) -> UnitPage:
        """Return the units of a page that *tags* make; content is what has half of its words, or
        more, in blocks of the gold.
        """
        counts = {
            element: count
            for element, count in count_unit_words(page.content, tags).items()
            if count.words
        }
        place = {element: number for number, element in enumerate(counts)}
        unit_of = units(page.content, tags)
        unit = np.array([place.get(element, -1) for element in unit_of])
        start_tags = _start_tags(page.content, unit_of)
        wanted, _ = label_blocks(page, gold)
        sizes = np.array([max(len(block.text.split()), 1) for block in page.content.blocks])
        both = np.zeros((2, len(counts)))
        has = unit >= 0
        np.add.at(both[0], unit[has], sizes[has])
        np.add.at(both[1], unit[has & wanted], sizes[has & wanted])
        return cls(
            page=page,
            gold=gold,
            unit=unit,
            numbers=np.array([six_numbers(count) for count in counts.values()]).reshape(-1, 6),
            words=np.array([count.words for count in counts.values()], dtype=np.int64),
            labels=both[1] >= both[0] / 2,
            start_tags=[start_tags[element] for element in counts],
        )

    def blocks(self, kept: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Tell which of the page's blocks are in units that are kept."""
        return np.append(kept, False)[self.unit]


def six_numbers(count: WordCounts) -> tuple[float, ...]:
    """Return the six word features as numbers."""
    return (
        count.words,
        count.density,
        count.links,
        count.linked,
        count.words_per_link,
        count.link_ratio,
    )


def _start_tags(page: PageBlocks, unit_of: Sequence[int]) -> dict[int, str]:
    """Return each unit's tag with its id and classes, as the paths of its blocks write it."""
    found: dict[int, str] = {}
    for block, unit in zip(page.blocks, unit_of, strict=True):
        if unit not in found:
            steps, element = block.path.split("/"), block.container
            while element != unit:
                steps.pop()
                element = page.parents[element]
            found[unit] = steps[-1]
    return found


BY_TAG = ", by start tag"
BINS = 10
HEAD = (
    "by block: P | R | F1 | accuracy | by word: P | R | F1 | accuracy | pages' token F1 |",
    "---|---|---|---|---|---|---|---|---|",
)


@dataclass(frozen=True, slots=True)
class Judged:
    """A page as it was judged: its site, its words, its counts of units and of their words
    (``[[true noise, wrong content], [missed content, true content]]``), and its token F1.
    """

    site: str
    suite: str
    page_words: int
    units: NDArray[np.float64]
    words: NDArray[np.float64]
    f1: float


def hybrid_tables(sites: Sequence[ExperimentSite], folds: int, chart: Path) -> list[str]:
    """Return the experiment's tables over all sites with gold: by suite, and by the number of words
    of the page; and write the chart of the latter.
    """
    lines = [f"| blocks | classifier | suite | {HEAD[0]}", f"|---|---|---|{HEAD[1]}"]
    by_words: dict[str, list[Judged]] = {}
    for kind, tags in UNITS.items():
        pages = {
            site.name: [
                UnitPage.of(page, gold, tags)
                for page, gold in zip(site.pages, site.gold, strict=True)
                if gold is not None
            ]
            for site in sites
        }
        for name, make in CLASSIFIERS.items():
            for title, judged in judge_units(sites, pages, make, folds).items():
                for suite in sorted({page.suite for page in judged}, reverse=True):
                    members = [page for page in judged if page.suite == suite]
                    lines.append(f"| {kind} | {name}{title} | {suite} | {_cells(members)} |")
                if not by_words.get(name) and not title:
                    by_words[name] = judged
    lines += ["", f"| words of the page | classifier | {HEAD[0]}", f"|---|---|{HEAD[1]}"]
    words = sorted(page.page_words for page in next(iter(by_words.values())))
    edges = [0, *sorted({words[len(words) * number // BINS] for number in range(1, BINS)}), 1 << 40]
    labels: list[str] = []
    curves: dict[str, list[float]] = {name: [] for name in by_words}
    for low, high in pairwise(edges):
        if not any(low <= count < high for count in words):
            continue
        labels.append(f"{low}-{min(high - 1, words[-1])}")
        for name, judged in by_words.items():
            members = [page for page in judged if low <= page.page_words < high]
            curves[name].append(mean(page.f1 for page in members))
            lines.append(f"| {labels[-1]} | {name} | {_cells(members)} |")
    line_chart(chart, labels, curves, "words of the page", "token F1 of pages")
    return lines


def judge_units(
    sites: Sequence[ExperimentSite],
    pages: Mapping[str, Sequence[UnitPage]],
    make: Callable[[], NumberClassifier],
    folds: int,
) -> dict[str, list[Judged]]:
    """Judge every page by a classifier of pages of other owners: unit by unit (""), and by the
    site's start tags, whose units decide together, each by its words (`BY_TAG`).
    """
    found: dict[str, list[Judged]] = {"": [], BY_TAG: []}
    for judged, others in owner_folds(sites, folds):
        seen = [page for site in others for page in pages[site.name]]
        classifier = make()
        classifier.fit(
            np.concatenate([page.numbers for page in seen]),
            np.concatenate([page.labels for page in seen]),
        )
        for site in judged:
            decided = [classifier.predict(page.numbers) for page in pages[site.name]]
            votes: dict[str, int] = {}
            for page, kept in zip(pages[site.name], decided, strict=True):
                for tag, words, keeps in zip(page.start_tags, page.words, kept, strict=True):
                    votes[tag] = votes.get(tag, 0) + int(words if keeps else -words)
            for page, kept in zip(pages[site.name], decided, strict=True):
                by_tag = np.array([votes[tag] > 0 for tag in page.start_tags], dtype=bool)
                found[""].append(_judged(site, page, kept))
                found[BY_TAG].append(_judged(site, page, by_tag))
    return found


def _judged(site: ExperimentSite, page: UnitPage, kept: NDArray[np.bool_]) -> Judged:
    counts = np.zeros((2, 2, 2))
    for weights, sums in zip((np.ones(len(kept)), page.words), counts, strict=True):
        np.add.at(sums, (page.labels.astype(int), kept.astype(int)), weights)
    text = text_of(page.page, page.blocks(kept))
    score = text_score(text, page.gold.text, page.gold.optional)
    return Judged(site.name, site.suite, int(page.words.sum()), counts[0], counts[1], score.f1)


def _cells(judged: Sequence[Judged]) -> str:
    """Return the cells of a row: the means over sites of what the sums over their pages give."""
    rows = []
    for site in {page.site for page in judged}:
        members = [page for page in judged if page.site == site]
        units, words = (
            np.sum([getattr(page, column) for page in members], axis=0)
            for column in ("units", "words")
        )
        rows.append([*measures(units), *measures(words), mean(page.f1 for page in members)])
    return " | ".join(f"{mean(column):.4f}" for column in zip(*rows, strict=True))
