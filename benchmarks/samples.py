"""What a site's model owes to the pages that it was learned from, on corpora with gold text.

    python benchmarks/samples.py CORPORA [SINGLE_PAGES ...] [--priors DIR] [--folds N]
        [--only NAME ...] [--every N] [--sizes 5 10 20] [--kinds halves drawn] [--draws N]
        [--pairs N] [--gold N]

Two tables, by priors that have not seen the site (as `contentspider-research evaluate --cross-fit`;
DIR keeps them for the next time, since they take the longest), and then the folders one by one:

- small samples: N pages of a folder are drawn, listings too, and learned. F1 of the gold pages
  among them, and of gold pages that the model has not seen, beside that of each page alone.
- two samples: each folder is learned twice, and its gold pages are extracted by both models. Once
  from disjoint halves of its pages (100 each at most), once from 80 % of them (200 at most) drawn
  twice, as two crawls draw them. *Equal* are pages with the same text, *both*, *one* and *none*
  those which that many of the models were learned from.

*--every* takes every so manyth folder, *--draws* are the samples of a size, *--pairs* those of two
samples, *--gold* the gold pages that are extracted of a folder.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import defaultdict
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING

import numpy as np

from contentspider.evaluation.corpora import find_corpora
from contentspider.site.judge.prior import Prior
from contentspider.site.learn.learner import SiteLearner
from contentspider.site.learn.single_page import extract_page
from contentspider.site.scores import text_score
from contentspider_research.training import cross_fit

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from contentspider.evaluation.corpora import Corpus, GoldPage
    from contentspider.page.input.page import Page
    from contentspider.site.models.model import SiteModel

HALF, DRAWN, DRAWN_SHARE = 100, 200, 0.8
# So much less than one page alone is below it.
BELOW = 0.002
INDEX = "priors.json"
SEEN = ("none", "one", "both")


class Remembering(Prior):
    """A prior that judges each page of a site once, however many models ask for it."""

    @classmethod
    def of(cls, prior: Prior) -> Remembering:
        return cls(prior.trees, prior.card)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "_judged", {})
        object.__setattr__(self, "_alone", {})

    def judge(
        self, pages: Sequence[Page], features: Sequence[NDArray[np.float32]] = ()
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        for page in pages:
            if page.url not in self._judged:
                self._judged[page.url] = super().judge([page])
        named, unnamed = zip(*(self._judged[page.url] for page in pages), strict=True)
        return np.concatenate(named), np.concatenate(unnamed)

    def judge_page(self, page: Page) -> tuple[NDArray[np.float32], bool]:
        if page.url not in self._alone:
            self._alone[page.url] = super().judge_page(page)
        return self._alone[page.url]


def fold_priors(corpora: Sequence[Corpus], folds: int, cache: Path | None) -> dict[str, Prior]:
    """Return for each site a prior that has not seen it; read from *cache*, or kept there."""
    names = {corpus.name for corpus in corpora if not corpus.is_collection}
    trained = {"folds": folds, "corpora": sorted(corpus.name for corpus in corpora)}
    if cache and (cache / INDEX).is_file():
        index = json.loads((cache / INDEX).read_text(encoding="utf-8"))
        if index["trained"] != trained:
            sys.exit(f"{cache} has priors of other folders or folds: give another one (--priors)")
        read = {file: Prior.from_file(cache / file) for file in set(index["files"].values())}
        return {name: read[file] for name, file in index["files"].items()}
    priors = {name: prior for name, prior in cross_fit(corpora, folds).items() if name in names}
    if cache:
        cache.mkdir(parents=True, exist_ok=True)
        for prior in {prior.digest: prior for prior in priors.values()}.values():
            (cache / f"{prior.digest}.npz").write_bytes(prior.dump())
        files = {name: f"{prior.digest}.npz" for name, prior in priors.items()}
        index = {"trained": trained, "files": files}
        (cache / INDEX).write_text(json.dumps(index, indent=1), encoding="utf-8")
    return priors


class Site:
    """A folder's pages and gold; what a page alone gives, and how draws are made."""

    def __init__(self, corpus: Corpus, prior: Prior) -> None:
        self.name = corpus.name
        self.suite = corpus.suite
        self.prior = Remembering.of(prior)
        self.pages = {page.url: page for page in corpus.pages() if page.content.blocks}
        self.gold = {page.path: page for page in corpus.gold() if page.path in self.pages}
        self._alone: dict[str, float] = {}

    def draw(self, paths: Iterable[str], count: int, *seed: object) -> list[str]:
        """Return *count* of the *paths*, or all; the same ones for the same seed."""
        ordered = sorted(paths)
        draw = random.Random("/".join(map(str, (self.name, *seed))))
        return draw.sample(ordered, min(count, len(ordered)))

    def learn(self, paths: Iterable[str]) -> SiteModel:
        """Return the model of these pages."""
        return SiteLearner(self.name, prior=self.prior).fit(self.pages[path] for path in paths)

    def f1(self, path: str, text: str) -> float:
        """Return the F1 of a gold page's text."""
        gold: GoldPage = self.gold[path]
        return text_score(text, gold.text, gold.optional).f1

    def alone(self, path: str) -> float:
        """Return the F1 of a gold page that is judged by itself."""
        if path not in self._alone:
            text = extract_page(self.pages[path], self.name, self.prior).text
            self._alone[path] = self.f1(path, text)
        return self._alone[path]


def small_samples(
    site: Site, size: int, draws: int, most: int
) -> dict[str, tuple[float, float, int]]:
    """Return the F1 alone and by the model, and the number of pages: of the gold pages that the
    models of *size* pages were *learned* from, and of *most* at most that are *new* to them.
    """
    found: dict[str, list[tuple[float, float]]] = {"learned": [], "new": []}
    if size > len(site.pages):
        return {}
    for number in range(draws if size < len(site.pages) else 1):
        sample = site.draw(site.pages, size, "small", size, number)
        model = site.learn(sample)
        new = site.draw(site.gold.keys() - set(sample), most, "new", size, number)
        for kind, paths in (("learned", site.gold.keys() & set(sample)), ("new", new)):
            found[kind] += [
                (site.alone(path), site.f1(path, model.extract(site.pages[path]).text))
                for path in sorted(paths)
            ]
    return {
        kind: (mean(alone for alone, _ in scores), mean(f1 for _, f1 in scores), len(scores))
        for kind, scores in found.items()
        if scores
    }


def two_samples(
    site: Site, kind: str, draws: int, most: int
) -> dict[str, list[tuple[bool, float]]]:
    """Return whether both models give the same text, and how far their F1 differ, of *most* gold
    pages a draw, by how many of the models were learned from the page.
    """
    found: dict[str, list[tuple[bool, float]]] = defaultdict(list)
    for number in range(draws):
        if kind == "halves":
            half = min(HALF, len(site.pages) // 2)
            both = site.draw(site.pages, 2 * half, kind, number)
            samples = [both[:half], both[half:]]
        else:
            size = min(DRAWN, round(DRAWN_SHARE * len(site.pages)))
            samples = [site.draw(site.pages, size, kind, number, which) for which in (0, 1)]
        models = [site.learn(sample) for sample in samples]
        for path in site.draw(site.gold, most, "two", number):
            texts = [model.extract(site.pages[path]).text for model in models]
            gap = abs(site.f1(path, texts[0]) - site.f1(path, texts[1]))
            seen = SEEN[sum(path in sample for sample in samples)]
            found[seen].append((texts[0] == texts[1], gap))
    return found


def share(found: Sequence[tuple[bool, float]]) -> str:
    """Return the share of equal pages, and their number, for a table."""
    return f"{100 * mean(same for same, _ in found):.1f} ({len(found)})" if found else "-"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("corpora", type=Path, nargs="+", help="folders of unpacked corpora")
    parser.add_argument("--priors", type=Path, metavar="DIR", help="keep the folds' priors here")
    parser.add_argument("--folds", type=int, default=7, metavar="N", help="folds of the priors")
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME", help="these folders only")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="every so manyth folder")
    parser.add_argument("--sizes", type=int, nargs="*", default=[5, 10, 20], metavar="N")
    parser.add_argument("--kinds", nargs="*", default=["halves", "drawn"], metavar="KIND")
    parser.add_argument("--draws", type=int, default=3, metavar="N", help="samples of a size")
    parser.add_argument("--pairs", type=int, default=1, metavar="N", help="pairs of samples")
    parser.add_argument("--gold", type=int, default=50, metavar="N", help="gold pages of a folder")
    options = parser.parse_args()

    corpora = find_corpora(*options.corpora)
    priors = fold_priors(corpora, options.folds, options.priors)
    chosen = [
        corpus
        for corpus in corpora
        if corpus.name in priors and (not options.only or corpus.name in options.only)
    ][:: options.every]
    small: dict[tuple[str, int, str], dict[str, tuple[float, float, int]]] = defaultdict(dict)
    two: dict[tuple[str, str], dict[str, dict[str, list[tuple[bool, float]]]]] = defaultdict(dict)
    for corpus in chosen:
        site = Site(corpus, priors[corpus.name])
        for size in options.sizes:
            for kind, row in small_samples(site, size, options.draws, options.gold).items():
                small[kind, size, site.suite][site.name] = row
        if site.suite == "sites":
            for kind in options.kinds:
                two[kind, site.suite][site.name] = two_samples(
                    site, kind, options.pairs, options.gold
                )
        print(".", end="", flush=True)
    print("\n\n| F1 of pages that are | of | suite | folders | alone | by the model | below |")
    print("|---|---|---|---|---|---|---|")
    for (kind, size, suite), rows in sorted(small.items()):
        below = [name for name, (alone, f1, _) in rows.items() if f1 < alone - BELOW]
        alone, f1 = (mean(row[column] for row in rows.values()) for column in (0, 1))
        print(
            f"| {kind} | {size} pages | {suite} | {len(rows)} | {alone:.4f} | {f1:.4f} |"
            f" {len(below)} |"
        )
    print(
        "\n| two samples | suite | folders | pages equal, % | mean of folders, % | 98 % and more |"
        " F1 apart | both | one | none |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    for (kind, suite), sites in two.items():
        every = {
            name: [row for rows in found.values() for row in rows] for name, found in sites.items()
        }
        shares = [mean(same for same, _ in rows) for rows in every.values()]
        flat = [row for rows in every.values() for row in rows]
        columns = [
            share([row for found in sites.values() for row in found[seen]]) for seen in SEEN[::-1]
        ]
        print(
            f"| {kind} | {suite} | {len(sites)} | {share(flat)} | {100 * mean(shares):.1f} |"
            f" {sum(value >= 0.98 for value in shares)} | {mean(gap for _, gap in flat):.4f} |"
            f" {' | '.join(columns)} |"
        )
    print("\nBelow one page alone:\n")
    for (kind, size, _), rows in sorted(small.items()):
        for name, (alone, f1, count) in sorted(rows.items()):
            if f1 < alone - BELOW:
                print(f"- {name}, {kind} of {size}: {f1:.4f}, alone {alone:.4f}, {count} pages")
    for (kind, _), sites in two.items():
        print(f"\nEqual, {kind}:\n")
        for name, found in sorted(sites.items()):
            columns = [f"{seen} {share(found[seen])}" for seen in SEEN[::-1]]
            rows = [row for many in found.values() for row in many]
            gap = mean(gap for _, gap in rows)
            print(f"- {name}: {share(rows)} ({', '.join(columns)}), F1 {gap:.4f} apart")


if __name__ == "__main__":
    main()
