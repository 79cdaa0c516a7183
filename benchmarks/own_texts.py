"""What a site's own texts bring: F1 without and with what its feeds say of its pages.

    python benchmarks/own_texts.py OWN --priors DIR [--corpora CORPORA] [--plot FILE]
        [--only NAME ...]

OWN has folders with gold text of which some have ``own.jsonl``, what their feeds say of which page.
With *--corpora* the gold texts of ten pages of each folder there are heard as if a feed had them:
**simulated** feeds, as good as a feed can be. The priors are the files ``N.npz`` in *--priors*,
each beside an ``N.txt`` with the names of the folders that it has not seen.

Only the feeds are heard, not what pages state of themselves. All F1 but those of told pages are of
*untold* gold pages, of which no text is heard; where a feed tells of all gold pages, half of them
are held back (every other one in the order of samples). *Measured* is what the site measures of
itself by its feeds, *predicted* what the vote without own texts lets expect, of all gold pages.

*--plot* draws measured and predicted F1 over the true one.
"""

from __future__ import annotations

import argparse
import re
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import compress
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING

import numpy as np

from contentspider.evaluation.corpora import find_corpora
from contentspider.page.write.output import to_text
from contentspider.site.judge.prior import Prior
from contentspider.site.learn.learner import SiteLearner
from contentspider.site.learn.sampling import MAX_SAMPLE
from contentspider.site.own.assessment import measure, predict
from contentspider.site.own.evidence import gather_evidence
from contentspider.site.own.matching import texts_by_page
from contentspider.site.own.texts import OwnText
from contentspider.site.own.vote import OwnVote
from contentspider.site.sample import sample_order
from contentspider.site.scores import text_score
from contentspider.site.title import page_title
from contentspider.site.vote.blocks import gather
from contentspider.site.vote.objections import OBJECTIONS
from contentspider.site.vote.votes import VOTERS
from contentspider_research.experiments.charts import scatter_chart

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from types import ModuleType

    from numpy.typing import NDArray

    from contentspider.evaluation.corpora import Corpus

    Told = Mapping[int, Sequence[OwnText]]

# A loss of F1 up to this much is noise.
WORSE = 0.002
# Texts that a simulated feed has, and told pages from which on no prior is needed.
FEED_TEXTS = 10
COUNTS = (1, 2, 5, 10)
EXCERPT_WORDS = 55
WHOLE, EXCERPT, NOTHING = "whole", "excerpt", "-"


class Site:
    """A folder's sample and gold, and the vote of its pages with whatever own texts are heard."""

    def __init__(
        self,
        corpus: Corpus,
        prior: Prior,
        own_texts: Sequence[OwnText] = (),
        most: int = MAX_SAMPLE,
    ) -> None:
        self.name, self.suite = corpus.name, corpus.suite
        self.sample = SiteLearner.sample(corpus.pages(), own_texts)[:most]
        self.numbers = {page.url: number for number, page in enumerate(self.sample)}
        self.gold = {
            self.numbers[gold.path]: gold for gold in corpus.gold() if gold.path in self.numbers
        }
        self.blocks = gather(self.sample)
        self.starts = np.searchsorted(self.blocks.pages, np.arange(len(self.sample) + 1)).tolist()
        self.vote = OwnVote(self.sample, self.blocks, prior, {}, VOTERS, OBJECTIONS)
        self.told: Told = texts_by_page(self.sample, own_texts)
        self._scores: dict[tuple[int, bytes], float] = {}

    @cached_property
    def priorless(self) -> OwnVote:
        """Return the vote of ``labels="own"``, which has no prior."""
        return OwnVote(self.sample, self.blocks, None, {}, VOTERS, OBJECTIONS)

    def in_order(self, pages: Iterable[int]) -> list[int]:
        """Return the numbers of pages in the order of samples."""
        return sorted(pages, key=lambda page: sample_order(self.sample[page].url))

    def simulate(self) -> None:
        """Let a feed tell the gold text of the first pages with one."""
        for page in self.in_order(self.gold)[:FEED_TEXTS]:
            url, title = self.sample[page].url, page_title(self.sample[page])
            own = OwnText(url, self.gold[page].text, "feed simulated", title)
            self.told = {**self.told, page: [own]}

    def hold_back(self) -> set[int]:
        """Return the gold pages that nothing tells of; if there are none, half of them are not told
        of any more.
        """
        untold = self.gold.keys() - self.told.keys()
        if not untold:
            untold = set(self.in_order(self.gold)[1::2])
            self.told = {page: own for page, own in self.told.items() if page not in untold}
        return set(untold)

    def hear(self, told: Told, vote: OwnVote | None = None) -> NDArray[np.floating]:
        """Return how probably each block is content if these texts are heard."""
        vote = vote or self.vote
        vote.evidence = gather_evidence(self.blocks, told, vote.plain_vote, vote.judged)
        return vote.probabilities(vote.evidence)

    def f1(self, probabilities: NDArray[np.floating], pages: Iterable[int]) -> float:
        """Return the mean F1 of gold pages, NaN of none."""
        kept = np.split(probabilities > 0.5, self.starts[1:-1])
        scores = [self._score(page, kept[page]) for page in pages]
        return mean(scores) if scores else float("nan")

    def _score(self, page: int, kept: NDArray[np.bool_]) -> float:
        key = page, kept.tobytes()
        if key not in self._scores:
            text = to_text(list(compress(self.sample[page].content.blocks, kept.tolist())))
            gold = self.gold[page]
            self._scores[key] = text_score(text, gold.text, gold.optional).f1
        return self._scores[key]


@contextmanager
def changed(module: ModuleType, name: str, value: object) -> Iterator[None]:
    """Let a name of a module stand for something else meanwhile."""
    usual = getattr(module, name)
    setattr(module, name, value)
    try:
        yield
    finally:
        setattr(module, name, usual)


@dataclass(frozen=True, slots=True)
class Row:
    """The figures of one folder."""

    name: str
    suite: str
    told: int
    whole: int
    kind: str
    before: float
    after: float
    priorless: float
    told_before: float
    told_after: float
    measured: float
    predicted: float
    true: float
    curve: Sequence[float] = ()
    excerpts: Mapping[str, tuple[bool, float]] = field(default_factory=dict)

    def __str__(self) -> str:
        figures = (self.before, self.after, self.priorless, self.told_before, self.told_after)
        figures = (*figures, self.measured, self.predicted, self.true)
        return f"| {self.name} | {self.told} | {self.kind} | {' | '.join(map(cell, figures))} |"


HEAD = """\
| site | told pages | texts | without | with | no prior | told, without | told, with | measured |\
 predicted | true |
|---|---|---|---|---|---|---|---|---|---|---|"""


def cell(value: float) -> str:
    """Return a figure for a table, of NaN a dash."""
    return "-" if np.isnan(value) else f"{value:.4f}"


def evaluate(site: Site) -> Row:
    """Return what a site's texts bring."""
    untold = site.hold_back()
    told = site.told
    unheard = site.vote.plain_vote
    found = site.hear(told) if told else unheard
    evidence = site.vote.evidence
    quality = measure(site.vote)
    heard = site.gold.keys() & evidence.pages
    kind = WHOLE if evidence.whole else EXCERPT if evidence.pages else NOTHING
    is_told = kind != NOTHING
    before = site.f1(unheard, untold)
    curve, excerpts = [], {}
    if len(evidence.whole) >= max(COUNTS):
        first = site.in_order(evidence.whole)
        curve = [
            site.f1(site.hear({page: told[page] for page in first[:count]}), untold)
            for count in COUNTS
        ]
    if kind == WHOLE:
        for name, shorten in EXCERPTS.items():
            short = {
                page: [replace(own, text=shorten(own.text)) for own in texts]
                for page, texts in told.items()
            }
            f1 = site.f1(site.hear(short), untold)
            excerpts[name] = (bool(site.vote.evidence.whole), f1 - before)
    nothing = float("nan")
    return Row(
        site.name,
        site.suite,
        len(evidence.pages),
        len(evidence.whole),
        kind,
        before,
        site.f1(found, untold) if is_told else nothing,
        site.f1(site.hear(told, site.priorless), untold) if is_told else nothing,
        site.f1(unheard, heard),
        site.f1(found, heard),
        quality.f1 if quality else nothing,
        predict(site.vote, unheard).f1,
        site.f1(unheard, site.gold),
        curve,
        excerpts,
    )


def first_words(text: str) -> str:
    """Return the first words of a text, with the mark that WordPress sets behind them."""
    words = re.findall(r"\S+\s*", text)
    return "".join(words[:EXCERPT_WORDS]).rstrip() + (" […]" if len(words) > EXCERPT_WORDS else "")


def first_paragraph(text: str) -> str:
    """Return a text's first line of more than 60 characters."""
    lines = text.split("\n")
    return next((line for line in lines if len(line) > 60), lines[0])


def first_half(text: str) -> str:
    """Return the first half of a text's paragraphs."""
    lines = text.split("\n")
    return "\n".join(lines[: max(1, len(lines) // 2)])


EXCERPTS: dict[str, Callable[[str], str]] = {
    f"first {EXCERPT_WORDS} words": first_words,
    "first paragraph": first_paragraph,
    "first half": first_half,
}


def summarise(title: str, rows: Sequence[Row]) -> None:
    """Print what is true of many folders."""
    print(f"\n{title}:\n")
    for kind in (WHOLE, EXCERPT):
        some = [row for row in rows if row.kind == kind]
        if not some:
            continue
        before, after = mean(row.before for row in some), mean(row.after for row in some)
        print(
            f"- {kind}, {len(some)} sites: untold pages {before:.4f} without, {after:.4f} with"
            f" ({100 * (after - before) / (1 - before):.0f} % of the distance to 1)"
        )
        told = [row for row in some if not np.isnan(row.told_before)]
        if told:
            before, after = mean(row.told_before for row in told), mean(r.told_after for r in told)
            print(f"- {kind}, told gold pages, {len(told)} sites: {before:.4f}, {after:.4f}")
        worse = [row for row in some if row.after < row.before - WORSE]
        names = ", ".join(f"{row.name} {row.after - row.before:+.4f}" for row in worse)
        print(f"- {kind}, sites worse by more than {WORSE}: {len(worse)}{names and f' ({names})'}")
    many = [row for row in rows if row.whole >= FEED_TEXTS]
    if many:
        print(
            f"- no prior, {len(many)} sites with {FEED_TEXTS} whole texts or more:"
            f" {mean(row.priorless for row in many):.4f} (prior without own texts"
            f" {mean(row.before for row in many):.4f}, with {mean(row.after for row in many):.4f})"
        )
    pairs = [(row.measured, row.after) for row in rows if not np.isnan(row.measured)]
    print_distance("measured", pairs)
    print_distance("predicted", [(row.predicted, row.true) for row in rows])
    curves = [row for row in rows if row.curve]
    for index, count in enumerate(COUNTS if curves else ()):
        changes = {row.name: row.curve[index] - row.before for row in curves}
        print(
            f"- {count} told, {len(curves)} sites:"
            f" {mean(row.before for row in curves):.4f} without,"
            f" {mean(row.curve[index] for row in curves):.4f} with, {worst_of(changes)}"
        )
    for name in EXCERPTS:
        some = {row.name: row.excerpts[name] for row in rows if name in row.excerpts}
        if some:
            changes = {site: change for site, (_, change) in some.items()}
            print(
                f"- simulated excerpts, {name}, {len(some)} sites:"
                f" {sum(whole for whole, _ in some.values())} called whole,"
                f" {mean(changes.values()):+.4f} in the mean, {worst_of(changes)}"
            )


def print_distance(name: str, pairs: Sequence[tuple[float, float]]) -> None:
    """Print how far figures are from the true ones, beside how far 1 is, whatever the site."""
    if pairs:
        print(
            f"- {name} to true F1, {len(pairs)} sites:"
            f" {mean(abs(guess - true) for guess, true in pairs):.4f} apart"
            f" (1 for every site: {mean(1 - true for _, true in pairs):.4f})"
        )


def worst_of(changes: Mapping[str, float]) -> str:
    """Return how many sites lost, and which one most."""
    worse = sum(change < -WORSE for change in changes.values())
    site = min(changes, key=lambda name: changes[name])
    return f"{worse} worse" + (f" (worst: {site} {changes[site]:+.4f})" if worse else "")


def read_priors(folder: Path) -> dict[str, Prior]:
    """Return for each folder's name the prior that has not seen it."""
    found = {}
    for file in sorted(folder.glob("*.npz")):
        prior = Prior.from_file(file)
        names = file.with_suffix(".txt").read_text(encoding="utf-8").splitlines()
        found.update(dict.fromkeys(filter(None, names), prior))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("own", type=Path, help="unpacked folders, some with own.jsonl")
    parser.add_argument("--corpora", type=Path, help="unpacked folders to simulate feeds for")
    parser.add_argument("--priors", type=Path, metavar="DIR", required=True)
    parser.add_argument("--plot", type=Path, metavar="FILE", help="an SVG file to write")
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME", help="these folders only")
    options = parser.parse_args()

    def chosen(folder: Path) -> list[Corpus]:
        found = find_corpora(folder)
        return [corpus for corpus in found if not options.only or corpus.name in options.only]

    own = chosen(options.own)
    priors = read_priors(options.priors)
    print(HEAD)
    rows = []
    for corpus in own:
        rows.append(evaluate(Site(corpus, priors[corpus.name], corpus.own_texts())))
        print(rows[-1], flush=True)
    summarise("Sites and their own feeds", rows)
    simulated: list[Row] = []
    if options.corpora:
        print(f"\nSimulated feeds, the gold text of {FEED_TEXTS} pages:\n\n{HEAD}")
        for corpus in chosen(options.corpora):
            site = Site(corpus, priors[corpus.name])
            site.simulate()
            simulated.append(evaluate(site))
            print(simulated[-1], flush=True)
        for suite in sorted({row.suite for row in simulated}, reverse=True):
            some = [row for row in simulated if row.suite == suite]
            summarise(f"Simulated feeds, {suite}", some)
    if options.plot:
        draw(options.plot, rows, simulated)


def draw(path: Path, rows: Sequence[Row], simulated: Sequence[Row]) -> None:
    """Write the plot of measured and predicted F1 over the true one."""
    series = {}
    for name, some in (("feeds", rows), ("simulated feeds", simulated)):
        measured = [(r.after, r.measured) for r in some if not np.isnan(r.measured)]
        series[f"measured, {name}"] = measured
        series[f"predicted, {name}"] = [(r.true, r.predicted) for r in some]
    scatter_chart(
        path,
        {name: points for name, points in series.items() if points},
        "true F1 on gold pages",
        "F1 that the site measures or predicts",
    )


if __name__ == "__main__":
    main()
