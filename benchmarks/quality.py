"""How true the predicted quality of a site's labels is, on sites as they are and on harder runs.

    python benchmarks/quality.py CORPORA [MORE ...] --folds tests/folds [--plot FILE] [--fit]

Each site is judged by a prior that has not seen it: all of its pages; ten of its pages, twice; its
pages with numbered class names; and four times by a prior with random errors, which are the same in
each slot. For each run it prints the true F1 of the gold pages, the predicted one, and the bound.
*--fit* prints the weights of `contentspider.site.own.signs.SIGNS`, fitted on these runs, and the
figures of weights that are fitted without the site.
"""

from __future__ import annotations

import argparse
import zlib
from dataclasses import dataclass, field
from itertools import compress
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Any

import numpy as np

from contentspider.evaluation.corpora import find_corpora
from contentspider.page.input.page import Page
from contentspider.page.write.output import to_text
from contentspider.site.judge.prior import Prior
from contentspider.site.learn.learner import SiteLearner
from contentspider.site.own.matching import stated_texts, texts_by_page
from contentspider.site.own.quality import DOUBTED_F1, LOSS_BOUND
from contentspider.site.own.signs import SIGNS, Signs, read_signs
from contentspider.site.own.vote import OwnVote
from contentspider.site.scores import text_score
from contentspider.site.vote.blocks import gather, main_slots
from contentspider.site.vote.objections import OBJECTIONS
from contentspider.site.vote.votes import VOTERS, log_odds
from contentspider_research.experiments.charts import scatter_chart
from contentspider_research.numbered import number_names

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from contentspider.evaluation.corpora import Corpus, GoldPage
    from contentspider.site.arrays import Floats

# The standard deviation of a judge's errors in log odds, and the seed of its errors.
ERRORS = ((1.5, 1), (1.5, 2), (3.0, 3), (3.0, 4))
BAD, GOOD = 0.9, 0.95


@dataclass
class Run:
    """A vote of a *site*: the true F1 of its gold pages, and the signs of its templates with their
    number of pages, of gold pages, and their true F1.
    """

    site: str
    kind: str
    true: float
    templates: list[tuple[Signs, int, int, float]] = field(default_factory=list)

    def predicted(self) -> float:
        pages = sum(count for _, count, _, _ in self.templates)
        return sum(signs.f1 * count for signs, count, _, _ in self.templates) / pages


class FaultyJudge:
    """Judges blocks as a prior does, with an *error* of the log odds for each block."""

    def __init__(self, named: Floats, unnamed: Floats, error: Floats) -> None:
        self._judged = tuple(1 / (1 + np.exp(-log_odds(part) - error)) for part in (named, unnamed))

    def judge(self, *_: object) -> tuple[Floats, Floats]:
        first, second = self._judged
        return first.astype(np.float32), second.astype(np.float32)


def runs(corpus: Corpus, prior: Prior) -> Iterator[Run]:
    """Yield the runs of a site."""
    gold = {page.path: page for page in corpus.gold()}
    pages = list(corpus.pages())
    yield from votes(corpus.name, "all", pages, prior, gold, ERRORS)
    known = [page for page in pages if page.url in gold]
    draw = np.random.default_rng(zlib.crc32(corpus.name.encode()))
    for _ in range(2):
        ten = [known[index] for index in draw.permutation(len(known))[:10]]
        yield from votes(corpus.name, "ten pages", ten, prior, gold)
    html = {page.url: (corpus.folder / "html" / page.url).read_bytes() for page in known}
    renamed = [Page.from_html(number_names(text), path) for path, text in html.items()]
    yield from votes(corpus.name, "numbered names", renamed, prior, gold)


def votes(
    name: str,
    kind: str,
    pages: Sequence[Page],
    prior: Prior,
    gold: Mapping[str, GoldPage],
    errors: Sequence[tuple[float, int]] = (),
) -> Iterator[Run]:
    """Yield the run by *prior*, and one for each of the *errors*."""
    sample = SiteLearner.sample(pages)
    site = gather(sample)
    named, unnamed = prior.judge(sample)
    texts = texts_by_page(sample, stated_texts(sample))
    for size, seed in ((0.0, 0), *errors):
        slots = np.random.default_rng(seed).normal(0, size, site.slot_numbers.max() + 1)
        judge: Any = FaultyJudge(named, unnamed, slots[site.slot_numbers].astype(np.float32))
        vote = OwnVote(sample, site, judge, texts, VOTERS, OBJECTIONS)
        yield measured(Run(name, f"errors of {size}" if size else kind, 0.0), vote, gold)


def measured(run: Run, vote: OwnVote, gold: Mapping[str, GoldPage]) -> Run:
    """Return the run with the F1 of its gold pages and the signs of its templates."""
    site, probabilities = vote.site, vote.probabilities(vote.evidence)
    starts = np.searchsorted(site.pages, np.arange(len(vote.sample) + 1)).tolist()
    scores = {}
    for number, page in enumerate(vote.sample):
        if known := gold.get(page.url):
            kept = probabilities[starts[number] : starts[number + 1]] > 0.5
            text = to_text(list(compress(page.content.blocks, kept.tolist())))
            scores[number] = text_score(text, known.text, known.optional).f1
    run.true = mean(scores.values())
    slots = main_slots(site)
    for slot in np.unique(slots[np.unique(site.pages)]).tolist():
        blocks = slots[site.pages] == slot
        signs = read_signs(site, blocks, probabilities, vote.judged > 0.5)
        numbers = np.flatnonzero(slots == slot).tolist()
        own = [scores[number] for number in numbers if number in scores]
        run.templates.append((signs, len(numbers), len(own), mean(own) if own else 0.0))
    return run


def report(found: Sequence[Run], predicted: Sequence[float]) -> None:
    """Print how far predictions are from the truth."""
    true, said = np.array([run.true for run in found]), np.array(predicted)
    plain = np.array([run.kind == "all" for run in found])
    bound = 1 - LOSS_BOUND * (1 - said)
    print(f"runs {len(found)}, sites {len({run.site for run in found})}")
    distance, holds = np.abs(said - true), true >= bound
    print(f"distance: all {distance.mean():.4f}, sites {distance[plain].mean():.4f}")
    print(f"at least the bound: all {holds.mean():.3f}, sites {holds[plain].mean():.3f}")
    bad, good = true < BAD, true >= GOOD
    for name, part in (("all", plain | True), ("sites", plain)):
        print(
            f"{name}: said below {DOUBTED_F1}: {(said[part & bad] < DOUBTED_F1).sum()} of"
            f" {(part & bad).sum()} below {BAD}, {(said[part & good] < DOUBTED_F1).sum()} of"
            f" {(part & good).sum()} from {GOOD} on"
        )
    for part in np.array_split(np.argsort(said), 10):
        print(f"  said {said[part].mean():.3f}, true {true[part].mean():.3f}")


def fitted(found: Sequence[Run]) -> tuple[list[float], list[float]]:
    """Return the constant and the weights, and each run's prediction by those of other sites."""
    from sklearn.linear_model import TweedieRegressor
    from sklearn.model_selection import GroupKFold

    rows, losses, weights, owners = [], [], [], []
    for number, run in enumerate(found):
        gold = sum(count for _, _, count, _ in run.templates)
        for signs, _, count, f1 in run.templates:
            pairs = zip(SIGNS.values(), signs, strict=True)
            rows.append([np.log(x + 0.01) if sign.logarithm else x for sign, x in pairs])
            losses.append(max(1 - f1, 0.002))
            weights.append(count / gold)
            owners.append(number)
    x, y, w, owner = np.array(rows), np.array(losses), np.array(weights), np.array(owners)

    def fit(chosen: np.ndarray) -> TweedieRegressor:
        chosen = chosen[w[chosen] > 0]
        model = TweedieRegressor(power=1.5, link="log", alpha=0.0005, max_iter=5000)
        return model.fit(x[chosen], y[chosen], sample_weight=w[chosen])

    sites = np.array([found[number].site for number in owners])
    loss = np.zeros(len(y))
    for chosen, left in GroupKFold(10).split(x, y, sites):
        loss[left] = fit(chosen).predict(x[left]).clip(0.002, 0.6)
    pages = np.array([count for run in found for _, count, _, _ in run.templates])
    by_run = np.bincount(owner, loss * pages) / np.bincount(owner, pages)
    model = fit(np.arange(len(y)))
    return [float(model.intercept_), *map(float, model.coef_)], (1 - by_run).tolist()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("corpora", nargs="+", type=Path)
    parser.add_argument("--folds", type=Path, required=True, help="a folder with fold*.npz")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="an SVG file to write")
    parser.add_argument("--fit", action="store_true", help="fit the weights of the signs")
    options = parser.parse_args()
    priors = [Prior.from_file(path) for path in sorted(options.folds.glob("fold*.npz"))]
    found: list[Run] = []
    for corpus in find_corpora(*options.corpora):
        unseen = [prior for prior in priors if corpus.name not in prior.card["trained_on"]]
        if corpus.is_collection or not unseen:
            continue
        found += runs(corpus, unseen[0])
        print(f"{corpus.name}: true {found[-1].true:.3f} ({found[-1].kind})", flush=True)
    predicted = [run.predicted() for run in found]
    report(found, predicted)
    if options.fit:
        weights, predicted = fitted(found)
        print("constant and weights:", [round(weight, 3) for weight in weights])
        report(found, predicted)
    if options.plot:
        series: dict[str, list[tuple[float, float]]] = {}
        for run, said in zip(found, predicted, strict=True):
            series.setdefault(run.kind, []).append((run.true, said))
        scatter_chart(options.plot, series, "true F1 on gold pages", "predicted F1")


if __name__ == "__main__":
    main()
