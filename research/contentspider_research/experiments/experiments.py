"""The experiments of the paper and the thesis on pages with and without gold text.

A classifier is trained on the learner's own labels (nobody's). What it reaches is told twice, and
the two are never mixed: **agreement** with those labels on pages that it was not trained on, as the
paper's tables have it, and
**truth** against gold text, where there is any. Both are given by block and by word.
"""

from __future__ import annotations

import logging
import random
from dataclasses import dataclass
from itertools import compress
from statistics import mean
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np

from contentspider.evaluation.corpora import find_corpora
from contentspider.ground.errors import ContentSpiderError
from contentspider.ground.sites import SiteKeys
from contentspider.page.input.page import Page
from contentspider.page.tree.text import tokens
from contentspider.page.write.output import to_text
from contentspider.site.judge.featuresets import SiteFeatures
from contentspider.site.judge.slots import SlotTable, count_names
from contentspider.site.judge.svm import LinearSVM
from contentspider.site.learn.learner import SiteLearner
from contentspider.site.learn.options import LearningOptions
from contentspider.site.scores import text_score
from contentspider.site.vote.blocks import gather
from contentspider_research import BY_LENGTH, EQUAL
from contentspider_research.corpora import group_of
from contentspider_research.experiments.published import judge_blocks, judge_pages, label_by_gold
from contentspider_research.metric import block_score, edit_score
from contentspider_research.rendered_sites import RENDERED, add_boxes, find_rendered
from contentspider_research.training import cross_fit, label_blocks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from contentspider.evaluation.corpora import Corpus, GoldPage
    from contentspider.site.judge.prior import Prior
    from contentspider.site.judge.rows import Row
    from contentspider.site.scores import Score

logger = logging.getLogger(__name__)

# Blocks that a classifier of many sites is trained on; more take minutes and change nothing.
MAX_MIXED_BLOCKS = 60_000
# The suite of rendered pages that belong to no corpus.
RENDERED_SUITE = "rendered"
Kept = list["NDArray[np.bool_]"]


@dataclass(slots=True)
class ExperimentSite:
    """A site's pages, its gold by page (None: it has none), the learner's own labels, who shares
    its owner, and whether it is no site, but single pages of many.
    """

    name: str
    group: str
    suite: str
    pages: list[Page]
    gold: list[GoldPage | None]
    labels: Kept
    prior: Prior | None
    is_mixed: bool = False

    @property
    def table(self) -> SlotTable:
        """Return the site's slots."""
        return SlotTable(
            count_names({block.path for block in page.content.blocks} for page in self.pages),
            len(self.pages),
        )

    def own_labels(self, method: str) -> Kept:
        """Return the learner's labels of the pages' blocks by another method."""
        learner = SiteLearner(self.name, LearningOptions(labels=method), self.prior)
        site = gather(self.pages)
        probabilities = learner.label(self.pages, site).probabilities
        return np.split(
            probabilities >= 0.5, np.cumsum([len(page.content.blocks) for page in self.pages])[:-1]
        )


def read_sites(source: Path, pages: int) -> list[ExperimentSite]:
    """Return the sites of *source*, without labels and priors: a folder of corpora, or a file or
    folder of rendered pages (``.jsonl.gz``, `contentspider_research.rendered_sites`).

    Of a corpus a sample of *pages* gold pages is taken. If the corpus has a file `RENDERED`, its
    pages have the boxes and computed CSS in it.
    """
    if rendered := find_rendered(source):
        return [
            ExperimentSite(
                site.name, site.file, RENDERED_SUITE, site.pages, site.gold, [], None, site.is_mixed
            )
            for site in rendered
        ]
    return [_read_corpus(corpus, pages) for corpus in find_corpora(source)]


def _read_corpus(corpus: Corpus, pages: int) -> ExperimentSite:
    gold = {page.path: page for page in corpus.gold()}
    chosen = sorted(gold)
    if len(chosen) > pages:
        chosen = sorted(random.Random(0).sample(chosen, pages))
    sample = [
        Page.from_html((corpus.folder / "html" / path).read_bytes(), path, attributes=True)
        for path in chosen
    ]
    sample = [page for page in sample if page.content.blocks]
    add_boxes(sample, corpus.folder / RENDERED)
    return ExperimentSite(
        corpus.name,
        group_of(corpus),
        corpus.suite,
        sample,
        [gold[page.url] for page in sample],
        [],
        None,
    )


def load_sites(source: Path, labels: str, pages: int) -> list[ExperimentSite]:
    """Return the sites of *source* as `read_sites` does, with the learner's labels. The prior that
    labels a corpus has not seen it (cross-fit).
    """
    sites = read_sites(source, pages)
    has_corpora = any(site.suite != RENDERED_SUITE for site in sites)
    priors = (
        cross_fit(find_corpora(source))
        if has_corpora and labels == "votes" and len(sites) > 1
        else {}
    )
    for site in sites:
        site.prior = priors.get(site.name)
        site.labels = site.own_labels(labels)
        logger.info(
            "%s: %d pages, %d blocks labelled",
            site.name,
            len(site.pages),
            sum(map(len, site.labels)),
        )
    return sites


@dataclass(frozen=True, slots=True)
class Result:
    """What was reached on one site: F1 of the agreement with its own labels and of the truth
    against gold, each by block and by word; of the truth also `edit_score`.

    The *matrices* count the agreement and *gold_matrices* the truth (None: no gold) by each of
    `UNITS`: ``[[true noise, wrong content], [missed content, true content]]``.
    """

    name: str
    suite: str
    pages: int
    blocks: int
    agreement: Score
    agreement_by_word: float
    gold: float | None
    gold_by_word: float | None
    gold_by_edit: float | None
    matrices: dict[str, NDArray[np.int64]]
    gold_matrices: dict[str, NDArray[np.int64]] | None


# What a matrix counts: the thesis has elements, and a text-based one whose units are called words
# and must be characters (107 in a mean noise element).
UNITS: dict[str, Callable[[str], int]] = {
    "blocks": lambda text: 1,
    "words": lambda text: len(tokens(text)),
    "characters": lambda text: len("".join(text.split())),
}


def _matrices(
    kept: NDArray[np.bool_], labels: NDArray[np.bool_], texts: Sequence[str]
) -> dict[str, NDArray[np.int64]]:
    cells = 2 * labels + kept
    return {
        unit: np.bincount(cells, [count(text) for text in texts], 4).astype(np.int64).reshape(2, 2)
        for unit, count in UNITS.items()
    }


def text_of(page: Page, kept: NDArray[np.bool_]) -> str:
    """Return the text of the blocks that are kept of a page."""
    return to_text([block for block, keeps in zip(page.content.blocks, kept, strict=True) if keeps])


def measure(site: ExperimentSite, kept: Kept) -> Result:
    """Compare what was kept of a site's pages with its own labels, and with its gold."""
    every, labels = np.concatenate(kept), np.concatenate(site.labels)
    agreement = block_score(every, labels)
    words = mean(
        text_score(text_of(page, found), text_of(page, own)).f1
        for page, found, own in zip(site.pages, kept, site.labels, strict=True)
    )
    truth, judged, texts, edits = [], list[str](), [], []
    for page, found, gold in zip(site.pages, kept, site.gold, strict=True):
        if gold is not None:
            wanted, weights = label_blocks(page, gold)
            counts = weights > 0  # people disagree about the others
            truth.append((found[counts], wanted[counts]))
            judged += [block.text for block in compress(page.content.blocks, counts)]
            text = text_of(page, found)
            texts.append(text_score(text, gold.text, gold.optional).f1)
            edits.append(edit_score(text, gold.text))
    gold_kept, gold_labels = (
        (np.concatenate(column) for column in zip(*truth, strict=True))
        if truth
        else (every[:0], every[:0])
    )
    return Result(
        name=site.name,
        suite=site.suite,
        pages=len(site.pages),
        blocks=len(every),
        agreement=agreement,
        agreement_by_word=words,
        gold=block_score(gold_kept, gold_labels).f1 if truth else None,
        gold_by_word=mean(texts) if texts else None,
        gold_by_edit=mean(edits) if edits else None,
        matrices=_matrices(
            every, labels, [block.text for page in site.pages for block in page.content.blocks]
        ),
        gold_matrices=_matrices(gold_kept, gold_labels, judged) if truth else None,
    )


def _rows(site: ExperimentSite, features: Sequence[str], table: SlotTable) -> list[list[Row]]:
    of_site = SiteFeatures(features, table)
    return [of_site.rows(page.content) for page in site.pages]


def _train(
    rows: Iterable[list[Row]], labels: Iterable[NDArray[np.bool_]], pages: Iterable[Page]
) -> LinearSVM:
    every = [row for page in rows for row in page]
    wanted = np.concatenate(list(labels))
    weights = np.sqrt([len(block.text) for page in pages for block in page.content.blocks])
    chosen = np.arange(len(every))
    if len(every) > MAX_MIXED_BLOCKS:
        chosen = np.sort(
            np.random.default_rng(0).choice(len(every), MAX_MIXED_BLOCKS, replace=False)
        )
    return LinearSVM.fit([every[index] for index in chosen], wanted[chosen], weights[chosen])


def fold_numbers(count: int, folds: int) -> list[int]:
    """Return for each of *count* things the fold that it is in; the same ones each time."""
    numbers = [index % folds for index in range(count)]
    random.Random(0).shuffle(numbers)
    return numbers


class Owned(Protocol):
    """A site, and in *group* what all sites of its owner share."""

    group: str


OwnedSite = TypeVar("OwnedSite", bound=Owned)


def owner_folds(
    sites: Sequence[OwnedSite], folds: int
) -> Iterator[tuple[list[OwnedSite], list[OwnedSite]]]:
    """Yield for each of *folds* (no more than there are owners) the sites that it judges, and those
    of other owners to learn from.
    """
    groups = sorted({site.group for site in sites})
    fold_of = dict(zip(groups, fold_numbers(len(groups), min(folds, len(groups))), strict=True))
    for fold in sorted(set(fold_of.values())):
        yield (
            [site for site in sites if fold_of[site.group] == fold],
            [site for site in sites if fold_of[site.group] != fold],
        )


def split_by_owner(sites: Sequence[ExperimentSite]) -> list[ExperimentSite]:
    """Return the sites with the registered domain of their pages as owner, and a collection of
    single pages as a site for each owner. Pages of corpora have no host: their owner stays.
    """
    keys = SiteKeys()
    split = []
    for site in sites:
        rows: dict[str, tuple[list[Page], list[GoldPage | None]]] = {}
        for page, gold in zip(site.pages, site.gold, strict=True):
            owner = keys.key(page.url) if "://" in page.url else site.group
            pages, golds = rows.setdefault(owner, ([], []))
            pages.append(page)
            golds.append(gold)
        for owner, (pages, golds) in rows.items():
            name = f"{site.name} {owner}" if site.is_mixed else site.name
            suite = site.name if site.is_mixed else site.suite
            split.append(ExperimentSite(name, owner, suite, pages, golds, [], None))
    return split


def per_site(
    sites: Sequence[ExperimentSite],
    features: Sequence[str],
    folds: int,
    weights: str = BY_LENGTH,
) -> list[Result]:
    """Approach 1 (the paper's table 1): a classifier a site, cross-validated over its pages in
    *folds*; ours, or with *weights* ``equal`` the published one.
    """
    results = []
    for site in sites:
        fold_of = fold_numbers(len(site.pages), min(folds, len(site.pages)))
        if weights == EQUAL:
            found = judge_pages(site.pages, site.labels, features, site.table, fold_of)
            results.append(measure(site, found))
            continue
        rows = _rows(site, features, site.table)
        kept: Kept = [np.zeros(0, dtype=bool)] * len(site.pages)
        for fold in set(fold_of):
            seen = [index for index, number in enumerate(fold_of) if number != fold] or [0]
            classifier = _train(
                (rows[index] for index in seen),
                (site.labels[index] for index in seen),
                (site.pages[index] for index in seen),
            )
            for index, number in enumerate(fold_of):
                if number == fold:
                    kept[index] = classifier.decide(rows[index]) > 0.5
        results.append(measure(site, kept))
    return results


def _common_table(sites: Sequence[ExperimentSite]) -> SlotTable:
    """Return a table that keeps every name which two pages have: across sites no template is
    common.
    """
    counts = count_names(
        {block.path for block in page.content.blocks} for site in sites for page in site.pages
    )
    return SlotTable.of_names(name for name, count in counts.items() if count > 1)


def _of_collection(
    sites: Sequence[ExperimentSite], features: Sequence[str], folds: int, shuffled: bool
) -> list[Result]:
    """Judge single pages of many sites as published: labels of those that have gold come from it,
    and folds are of blocks.
    """
    results = []
    for site in sites:
        chosen = [(page, gold) for page, gold in zip(site.pages, site.gold, strict=True) if gold]
        pages, gold = [page for page, _ in chosen], [gold for _, gold in chosen]
        labels = label_by_gold(pages, [found.text for found in gold])
        found = ExperimentSite(
            site.name, site.group, site.suite, pages, [*gold], labels, None, is_mixed=True
        )
        kept = judge_blocks(pages, labels, features, found.table, folds, shuffled)
        results.append(measure(found, kept))
    return results


def other_sites(
    sites: Sequence[ExperimentSite], features: Sequence[str], folds: int
) -> list[Result]:
    """Approach 2: a classifier of all other sites (of other owners) judges a site; *folds* plays no
    part. A collection of single pages is folded by blocks in its order.
    """
    if all(site.is_mixed for site in sites):
        return _of_collection(sites, features, folds, shuffled=False)
    table = _common_table(sites)
    rows = {site.name: _rows(site, features, table) for site in sites}
    results = []
    for site in sites:
        others = [other for other in sites if other.group != site.group]
        if not others:
            raise ContentSpiderError("this experiment needs sites of two owners or more")
        classifier = _train(
            (page for other in others for page in rows[other.name]),
            (labels for other in others for labels in other.labels),
            (page for other in others for page in other.pages),
        )
        results.append(measure(site, [classifier.decide(page) > 0.5 for page in rows[site.name]]))
    return results


def mixed_pages(
    sites: Sequence[ExperimentSite], features: Sequence[str], folds: int
) -> list[Result]:
    """Approach 3: one classifier of all sites, cross-validated over the pages of all of them in
    *folds*. A collection of single pages is folded by blocks, shuffled.
    """
    if all(site.is_mixed for site in sites):
        return _of_collection(sites, features, folds, shuffled=True)
    table = _common_table(sites)
    everything = [
        (site, index, rows)
        for site in sites
        for index, rows in enumerate(_rows(site, features, table))
    ]
    fold_of = fold_numbers(len(everything), folds)
    kept: dict[str, Kept] = {
        site.name: [np.zeros(0, dtype=bool)] * len(site.pages) for site in sites
    }
    for fold in range(folds):
        seen = [entry for entry, number in zip(everything, fold_of, strict=True) if number != fold]
        classifier = _train(
            (rows for _, _, rows in seen),
            (site.labels[index] for site, index, _ in seen),
            (site.pages[index] for site, index, _ in seen),
        )
        for (site, index, rows), number in zip(everything, fold_of, strict=True):
            if number == fold:
                kept[site.name][index] = classifier.decide(rows) > 0.5
    return [measure(site, kept[site.name]) for site in sites]


APPROACHES: dict[str, Callable[[Sequence[ExperimentSite], Sequence[str], int], list[Result]]] = {
    "approach2": other_sites,
    "approach3": mixed_pages,
}
