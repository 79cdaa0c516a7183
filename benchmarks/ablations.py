"""What each group of the prior's features brings, on every suite.

    python benchmarks/ablations.py CORPORA PAGES [--folds 3] [--judged 2] [--seeds 1] [--noise 3]
        [--share 0.15] [--trees 50] [--only GROUP ...]

Each group is taken away, trees are fitted anew, and the gold pages of folders and hosts that they
have not seen are judged: single pages, pages of sites and of news each by itself, and sites and
news by the vote of up to 40 of their gold pages. Beside that the same trees with all features, the
group's values exchanged between blocks at random: how much the trees lean on a group, where others
may say the same. What the vote's own parts bring, `benchmarks/choices.py` tells.

Whole priors would take days: *--judged* of the *--folds* are judged, by *--trees* trees (of a
higher rate, with coarser steps), which are fitted on a *--share* of each page's blocks. With all
features they are fitted by *--noise* seeds: what differs between those says nothing.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from contentspider.evaluation.corpora import find_corpora
from contentspider.page.features.extractor import FEATURE_NAMES, GROUPS, FeatureExtractor
from contentspider.page.input.page import Page
from contentspider.page.tree.blocks import new_walker
from contentspider.page.write.output import to_text
from contentspider.site.judge.expected_f1 import maximise_expected_f1
from contentspider.site.judge.prior import COMMENT_COLUMNS, Prior
from contentspider.site.scores import text_score
from contentspider.site.vote.blocks import gather
from contentspider.site.vote.votes import vote
from contentspider_research.corpora import group_of
from contentspider_research.training import (
    NAME_COLUMNS,
    NAMELESS_SHARE,
    PAGES_PER_SITE,
    training_rows,
    trees_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from contentspider.evaluation.corpora import Corpus, GoldPage
    from contentspider.site.judge.prior import Trees
    from contentspider_research.training import PageRows

COLUMNS = ("single pages", "sites, alone", "news, alone", "sites, vote", "news, vote")
PHRASES = {name.removeprefix("says_") for name in GROUPS["text"] if name.startswith("says_")}
NEARNESS = ("own_", "near_", "far_")


def in_no_tree() -> list[str]:
    """Return the features that no tree of the shipped prior asks for."""
    asked = set(Prior.shipped().trees.feature.tolist())
    return [name for column, name in enumerate(FEATURE_NAMES) if column not in asked]


def feature_groups() -> dict[str, list[str]]:
    """Return the names of the features of each group, by what they look at; some are in two."""

    def those(test: Callable[[str], bool]) -> list[str]:
        return [name for name in FEATURE_NAMES if test(name)]

    def is_phrase(name: str) -> bool:
        start, _, what = name.partition("_")
        return start in ("says", "heading") and what in PHRASES

    levels = ("0", "1", "2", "3", "4", "6")
    path = GROUPS["path"]
    return {
        "text: length, words, characters": [
            name
            for name in GROUPS["text"]
            if not is_phrase(name) and "link" not in name and name != "repeats_on_page"
        ],
        "links, wherever": those(lambda name: "link" in name),
        "phrases, of the block and the heading above": those(is_phrase),
        "headings: the last above, the h1": those(
            lambda name: (
                not is_phrase(name)
                and ("h1" in name or name.startswith(("heading", "since_heading")))
                and not name.startswith("tag_")
            )
        ),
        "position on the page": [
            name
            for name in GROUPS["position"]
            if not is_phrase(name)
            and "path" not in name
            and "h1" not in name
            and "heading" not in name
        ],
        "blocks of the same path": [name for name in GROUPS["position"] if "path" in name],
        "the page as a whole": GROUPS["page"],
        "elements around, own to 1 above": [
            name for name in GROUPS["levels"] if name[-1] in levels[:2]
        ],
        "elements around, 2 to 6 above": [
            name for name in GROUPS["levels"] if name[-1] in levels[2:]
        ],
        "trunk: the element with most prose": GROUPS["trunk"],
        "main and article": GROUPS["main"] + GROUPS["article"],
        "blocks beside": GROUPS["offsets"] + GROUPS["windows"],
        "the page's hints": GROUPS["hints"],
        "tags": [name for name in path if not name.startswith(NEARNESS)],
        "ids and classes, own": [name for name in path if name.startswith("own_")],
        "ids and classes, two above": [name for name in path if name.startswith("near_")],
        "ids and classes, further above": [name for name in path if name.startswith("far_")],
        "ids and classes, all": [name for name in path if name.startswith(NEARNESS)],
        "repetition: series, repeated texts": [*GROUPS["units"], "repeats_on_page"],
        "those in no tree of the shipped prior": in_no_tree(),
    }


@dataclass(frozen=True, slots=True)
class Judged:
    """A gold page to judge, its features, and the scores of what was kept of it so far."""

    page: Page
    gold: GoldPage
    features: NDArray[np.float32]
    scores: dict[bytes, float] = field(default_factory=dict)

    def f1(self, kept: NDArray[np.bool_]) -> float:
        """Return the F1 of the page if these of its blocks are kept."""
        key = kept.tobytes()
        if key not in self.scores:
            blocks = self.page.content.blocks
            text = to_text([block for block, keep in zip(blocks, kept, strict=True) if keep])
            self.scores[key] = text_score(text, self.gold.text, self.gold.optional).f1
        return self.scores[key]


def read_pages(corpus: Corpus) -> list[Judged]:
    """Return the single pages of a collection, or a sample of the gold pages of a site."""
    gold = {page.path: page for page in corpus.gold()}
    chosen = sorted(gold)
    if not corpus.is_collection and len(chosen) > PAGES_PER_SITE:
        chosen = sorted(random.Random(0).sample(chosen, PAGES_PER_SITE))
    extractor, walker, found = FeatureExtractor(), new_walker(), []
    for path in chosen:
        page = Page.from_html((corpus.folder / "html" / path).read_bytes(), path, walker=walker)
        found.append(Judged(page, gold[path], extractor.features(page.content, page.hints)))
    return found


def fit(
    pages: Sequence[PageRows], without: Sequence[int], seed: int, options: argparse.Namespace
) -> Trees:
    """Return trees as `contentspider_research.training.fit_prior` makes them, but fewer, and of
    a share of the blocks; the columns *without* are the same for all blocks.
    """
    features = np.concatenate([page.features for page in pages])
    labels = np.concatenate([page.labels for page in pages])
    weights = np.concatenate([page.weights for page in pages])
    generator = np.random.default_rng(seed)
    chosen = (generator.random(len(labels)) < options.share) & (weights > 0)
    features, labels, weights = features[chosen], labels[chosen], weights[chosen]
    nameless = generator.random(len(labels)) < NAMELESS_SHARE
    features[:, NAME_COLUMNS] *= ~nameless[:, np.newaxis]
    features[:, list(without)] = 0
    classifier = HistGradientBoostingClassifier(
        max_iter=options.trees,
        learning_rate=0.2,
        max_leaf_nodes=31,
        min_samples_leaf=20,
        l2_regularization=5.0,
        max_features=0.3,
        max_bins=63,
        early_stopping=False,
        random_state=seed,
    )
    classifier.fit(features, labels, sample_weight=weights / weights.mean())
    return trees_of(classifier)


def exchanged(
    rows: NDArray[np.float32], columns: Sequence[int], generator: np.random.Generator
) -> NDArray[np.float32]:
    """Return the rows with these columns, together, those of other rows."""
    found = rows.copy()
    found[:, list(columns)] = rows[generator.permutation(len(rows))][:, list(columns)]
    return found


class Fold:
    """What one fold's trees are fitted on, and what they judge."""

    def __init__(self, rows: list[PageRows], corpora: dict[str, tuple[str, list[Judged]]]) -> None:
        self.rows = rows
        self.corpora = corpora
        self.sites = {
            name: gather([judged.page for judged in pages])
            for name, (suite, pages) in corpora.items()
            if suite != "pages"
        }

    def scores(self, trees: Trees, mixed: Sequence[int] = ()) -> dict[str, float]:
        """Return the mean F1 by "suite/folder"; values of the columns *mixed* are exchanged between
        the blocks of a folder.
        """
        found = {}
        for name, (suite, pages) in self.corpora.items():
            rows = np.vstack([judged.features for judged in pages])
            if len(mixed):
                rows = exchanged(rows, mixed, np.random.default_rng(0))
            ends = np.cumsum([len(judged.features) for judged in pages])[:-1]
            kept = [
                maximise_expected_f1(
                    part, np.array([len(b.text) for b in judged.page.content.blocks], float)
                )
                > 0.5
                for part, judged in zip(
                    np.split(trees.probabilities(rows), ends), pages, strict=True
                )
            ]
            pairs = zip(pages, kept, strict=True)
            found[f"{suite}, alone/{name}"] = mean(page.f1(blocks) for page, blocks in pairs)
            if suite != "pages":
                neutral = rows.copy()
                neutral[:, COMMENT_COLUMNS] = 0
                named, unnamed = trees.probabilities(rows), trees.probabilities(neutral)
                chances = vote(self.sites[name], named, unnamed)
                voted = np.split(chances >= 0.5, ends)
                pairs = zip(pages, voted, strict=True)
                found[f"{suite}, vote/{name}"] = mean(page.f1(blocks) for page, blocks in pairs)
        return found


def by_suite(found: Sequence[dict[str, float]]) -> list[float]:
    """Return the means of `COLUMNS` over the folders of all folds: types of a collection are one
    each.
    """
    folders: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for scores in found:
        for name, value in scores.items():
            suite, _, folder = name.partition("/")
            folders[suite.replace("pages, alone", COLUMNS[0])][folder].append(value)
    return [mean(mean(values) for values in folders[column].values()) for column in COLUMNS]


def make_folds(corpora: Sequence[Corpus], folds: int, judged: int) -> list[Fold]:
    """Return the folds to judge; a site in several years, and a host, is in one only."""
    rows = [page for corpus in corpora for page in training_rows(corpus, 0)]
    read = {corpus.name: (corpus, read_pages(corpus)) for corpus in corpora}
    group_of = {
        (name, page.gold.path): page.gold.host if corpus.is_collection else group_of(corpus)
        for name, (corpus, pages) in read.items()
        for page in pages
    }
    groups = sorted(set(group_of.values()))
    random.Random(0).shuffle(groups)
    fold_of = {group: index % folds for index, group in enumerate(groups)}
    found = []
    for fold in range(judged):
        mine = {
            name: (
                corpus.suite,
                [page for page in pages if fold_of[group_of[name, page.gold.path]] == fold],
            )
            for name, (corpus, pages) in read.items()
        }
        found.append(
            Fold(
                [page for page in rows if fold_of[page.group] != fold],
                {name: (suite, pages) for name, (suite, pages) in mine.items() if pages},
            )
        )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("corpora", type=Path, nargs="+", help="folders of unpacked corpora")
    parser.add_argument("--folds", type=int, default=3, metavar="N")
    parser.add_argument("--judged", type=int, default=2, metavar="N", help="folds to judge")
    parser.add_argument("--seeds", type=int, default=1, metavar="N", help="fits without a group")
    parser.add_argument("--noise", type=int, default=3, metavar="N", help="fits of all features")
    parser.add_argument("--share", type=float, default=0.15, help="share of the blocks to fit on")
    parser.add_argument("--trees", type=int, default=50, metavar="N")
    parser.add_argument("--only", nargs="*", default=[], metavar="GROUP")
    options = parser.parse_args()
    started = time.monotonic()

    def row(name: str, size: int, values: Sequence[float], signed: bool) -> None:
        cells = " | ".join(f"{value:+.4f}" if signed else f"{value:.4f}" for value in values)
        print(f"| {name} | {size} | {cells} |", flush=True)
        print(f"{time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)

    folds = make_folds(find_corpora(*options.corpora), options.folds, options.judged)
    print(f"| | features | {' | '.join(COLUMNS)} |\n|---|---|---|---|---|---|---|")
    whole, trees = [], []
    for seed in range(max(options.noise, options.seeds)):
        trees.append([fit(fold.rows, (), seed, options) for fold in folds])
        scores = [fold.scores(fitted) for fold, fitted in zip(folds, trees[seed], strict=True)]
        whole.append(np.array(by_suite(scores)))
        row(f"all features, seed {seed}", len(FEATURE_NAMES), whole[seed].tolist(), False)
    row("largest difference of two seeds", 0, np.ptp(whole, axis=0).tolist(), False)
    groups = {
        name: [FEATURE_NAMES.index(feature) for feature in features]
        for name, features in feature_groups().items()
        if not options.only or name in options.only
    }
    for name, columns in groups.items():
        mixed = [fold.scores(fitted, columns) for fold, fitted in zip(folds, trees[0], strict=True)]
        row(f"exchanged: {name}", len(columns), (by_suite(mixed) - whole[0]).tolist(), True)
    for name, columns in groups.items():
        without = np.mean(
            [
                by_suite([fold.scores(fit(fold.rows, columns, seed, options)) for fold in folds])
                for seed in range(options.seeds)
            ],
            axis=0,
        )
        change = without - np.mean(whole[: options.seeds], axis=0)
        row(f"without: {name}", len(columns), change.tolist(), True)


if __name__ == "__main__":
    main()
