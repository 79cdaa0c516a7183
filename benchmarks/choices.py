"""What each constant, voter and rule of the vote gains on sites that nobody chose it on.

    python benchmarks/choices.py CORPORA... --priors DIR [DIR ...] [--pages N] [--only NAME ...]
        [--choices CHOICE ...]

Each choice is made otherwise: a constant is halved and doubled, a voter or a rule left out. The
folders are dealt into two halves; the priors have not seen what they judge (as in
`benchmarks/own_texts.py`, a DIR a seed). The table says by how much the mean F1 of each half
changes, for each DIR, and which folder loses and gains most (first DIR). What neither half misses
is not needed; what only one asks for is chance. Its last row is the difference of the DIRs: a
change that is smaller says nothing.
"""

from __future__ import annotations

import argparse
import sys
from contextlib import contextmanager
from functools import partial
from itertools import compress
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from own_texts import read_priors

from contentspider.evaluation.corpora import find_corpora
from contentspider.page.write.output import to_text
from contentspider.site.learn.learner import SiteLearner
from contentspider.site.scores import text_score
from contentspider.site.vote import objections, votes
from contentspider.site.vote.blocks import gather
from contentspider.site.vote.objections import OBJECTIONS
from contentspider.site.vote.votes import VOTERS, vote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from types import ModuleType

    from numpy.typing import NDArray

    from contentspider.evaluation.corpora import Corpus
    from contentspider.site.judge.prior import Prior
    from contentspider.site.vote.blocks import SiteBlocks
    from contentspider.site.vote.objections import Objection
    from contentspider.site.vote.votes import Voter

    Probabilities: TypeAlias = NDArray[np.float32]

CONSTANTS: dict[ModuleType, str] = {
    votes: (
        "LENIENCY NEED RELEVANCE LABEL_COMPANY ARTICLE_CHARS ARTICLE_RANK HEADLINE REACH TRUSTED"
        " TEMPLATE_SHARE"
    ),
    objections: (
        "TEMPLATE_PAGES SURE_SHARE FILL_IN_CHARS LINE_CHARS FILLED_SHARE OWN_HEADLINE"
        " COMMENTED_CHARS SHORT_COMMENTED_CHARS"
    ),
}
STEPS = {"relevance_odds": float, "needed_odds": float, "headlines": bool, "emptied": bool}
FACTORS = (0.5, 2)


class Site:
    """A folder's sample, with what each prior says of its blocks."""

    def __init__(self, corpus: Corpus, priors: Sequence[Prior], most: int) -> None:
        self.name = corpus.name
        gold = {page.path: page for page in corpus.gold()}
        sample = SiteLearner.sample(corpus.pages())
        self.pages = sorted(sample, key=lambda page: page.url not in gold)[:most]
        self.gold = [gold.get(page.url) for page in self.pages]
        contents = [page.content for page in self.pages]
        self.blocks = gather(contents, [page.hints for page in self.pages])
        self.judged = [prior.judge(self.pages) for prior in priors]
        self.starts = np.searchsorted(self.blocks.pages, np.arange(1, len(contents)))
        self._scores: dict[tuple[int, bytes], float] = {}

    def f1(self, voted: Callable[..., Probabilities]) -> list[float]:
        """Return the mean F1 of the gold pages, for each prior."""
        found = []
        for judged in self.judged:
            self.blocks.found.clear()
            kept = np.split(voted(self.blocks, *judged) >= 0.5, self.starts)
            found.append(mean(self._score(number, kept[number]) for number in self._of_gold()))
        return found

    def _of_gold(self) -> list[int]:
        return [number for number, gold in enumerate(self.gold) if gold]

    def _score(self, number: int, kept: NDArray[np.bool_]) -> float:
        key = number, kept.tobytes()
        gold = self.gold[number]
        if key not in self._scores and gold:
            text = to_text(list(compress(self.pages[number].content.blocks, kept.tolist())))
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


def choices() -> dict[str, Callable[[Site], list[float]]]:
    """Return what judges a site by each other choice."""

    def with_value(site: Site, module: ModuleType, name: str, value: object) -> list[float]:
        with changed(module, name, value):
            return site.f1(vote)

    def with_these(
        site: Site, voters: Sequence[Voter] = VOTERS, rules: Sequence[Objection] = OBJECTIONS
    ) -> list[float]:
        return site.f1(partial(vote, voters=voters, objections=rules))

    def nothing(site: SiteBlocks, *_: object, kind: type) -> NDArray[np.generic]:
        return np.zeros(len(site.chars), dtype=kind)

    found: dict[str, Callable[[Site], list[float]]] = {}
    for module, names in CONSTANTS.items():
        for name in names.split():
            usual = getattr(module, name)
            for factor in FACTORS:
                value = max(round(usual * factor), 1) if isinstance(usual, int) else usual * factor
                found[f"{name} {usual} -> {value}"] = partial(
                    with_value, module=module, name=name, value=value
                )
    for voter in VOTERS:
        left = [one for one in VOTERS if one is not voter]
        found[f"without voter {voter.name}"] = partial(with_these, voters=left)
    for rule in OBJECTIONS:
        rest = [one for one in OBJECTIONS if one is not rule]
        found[f"without rule {rule.name}"] = partial(with_these, rules=rest)
    for name, kind in STEPS.items():
        none = partial(nothing, kind=kind)
        found[f"without {name}"] = partial(with_value, module=votes, name=name, value=none)
    return found


def row(name: str, sites: Mapping[str, list[float]]) -> str:
    """Return a line of the table: the mean of each half by each DIR, the most lost and gained."""
    values = np.array(list(sites.values()))
    halves = [values[half::2].mean(axis=0) for half in (0, 1)]
    cells = [" ".join(f"{value:+.4f}" for value in half) for half in halves]
    first = {site: changes[0] for site, changes in sites.items()}
    ends = [min(first, key=first.__getitem__), max(first, key=first.__getitem__)]
    cells += [f"{first[site]:+.4f} {site}" if first[site] else "-" for site in ends]
    return f"| {name} | {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("corpora", type=Path, nargs="+", help="folders of unpacked corpora")
    parser.add_argument("--priors", type=Path, nargs="+", metavar="DIR", required=True)
    parser.add_argument("--pages", type=int, default=80, metavar="N", help="pages of a folder")
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME", help="these folders only")
    parser.add_argument("--choices", nargs="*", default=[], metavar="CHOICE", help="these only")
    options = parser.parse_args()
    priors = [read_priors(folder) for folder in options.priors]
    corpora = [
        corpus
        for corpus in find_corpora(*options.corpora)
        if not corpus.is_collection and (not options.only or corpus.name in options.only)
    ]
    usual: dict[str, list[float]] = {}
    found: dict[str, dict[str, list[float]]] = {}
    for corpus in corpora:
        site = Site(corpus, [of[corpus.name] for of in priors], options.pages)
        usual[site.name] = site.f1(vote)
        for name, judge in choices().items():
            if not options.choices or any(one in name for one in options.choices):
                pairs = zip(judge(site), usual[site.name], strict=True)
                found.setdefault(name, {})[site.name] = [new - old for new, old in pairs]
        print(".", end="", file=sys.stderr, flush=True)
    print("| choice | half 1 | half 2 | loses most | gains most |\n|---|---|---|---|---|")
    for name, sites in found.items():
        print(row(name, sites))
    print(row("as it is", usual))
    print(row("difference of the DIRs", {k: [max(v) - min(v)] for k, v in usual.items()}))


if __name__ == "__main__":
    main()
