"""What each constant, voter and rule of the vote gains on sites that nobody chose it on.

    python benchmarks/choices.py CORPORA... --priors DIR DIR [DIR ...] [--pages N]
        [--only NAME ...] [--choices CHOICE ...]

Each choice is made otherwise: a constant, or the weight of a voter or a rule, is halved, doubled or
left out. The folders are dealt into two halves; the priors have not seen what they judge (as in
`benchmarks/own_texts.py`; each DIR has those of another seed). The table says by how much the mean
F1 of each half changes, for each DIR, and which folder loses and gains most (first DIR). What
neither half misses is not needed; what only one asks for is chance. The last row has the difference
of the DIRs, in each half and in the folder where it is largest: less than that says nothing.
"""

from __future__ import annotations

import argparse
import sys
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from own_texts import Site, changed, read_priors
from samples import Remembering

from contentspider.evaluation.corpora import find_corpora
from contentspider.site.vote import blocks, objections, posts, votes
from contentspider.site.vote.objections import OBJECTIONS
from contentspider.site.vote.votes import VOTERS, vote

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from contentspider.evaluation.corpora import Corpus
    from contentspider.site.judge.prior import Prior
    from contentspider.site.vote.objections import Objection
    from contentspider.site.vote.votes import Voter

MODULES = (objections, posts, votes)
FACTORS = (0.5, 2)
# The weights of the rules, which these have taken over.
NO_CHOICE = {"OVERRULED", "DOUBTED"}
OFF = {"RELEVANCE": (0.0,), "NEED": (0.0,), "LENIENCY": (0.0,), "HEADLINE": (-99.0,)}


class Voted:
    """A folder's sample, voted on by a prior in whatever way."""

    def __init__(self, corpus: Corpus, prior: Prior, pages: int) -> None:
        remembering = Remembering.of(prior)
        self.site = Site(corpus, remembering, most=pages)
        self.judged = remembering.judge(self.site.sample)

    def f1(
        self, voters: Sequence[Voter] = VOTERS, objections: Sequence[Objection] = OBJECTIONS
    ) -> float:
        """Return the F1 of the gold pages by a vote of these parts."""
        self.site.blocks.cache.clear()
        found = vote(self.site.blocks, *self.judged, voters, objections)
        return self.site.f1(found, self.site.gold)

    def with_value(self, name: str, value: float) -> float:
        """Return the F1 with another value of a constant, wherever it is used."""
        with ExitStack() as stack:
            for module in (*MODULES, blocks):
                if hasattr(module, name):
                    stack.enter_context(changed(module, name, value))
            return self.f1()


def choices() -> dict[str, Callable[[Voted], float]]:
    """Return what judges a folder by each other choice."""
    constants = {
        name: value
        for module in MODULES
        for name, value in vars(module).items()
        if name.isupper() and type(value) in (int, float) and name not in NO_CHOICE
    }
    found: dict[str, Callable[[Voted], float]] = {}
    for name, usual in constants.items():
        for value in [*(usual * factor for factor in FACTORS), *OFF.get(name, ())]:
            # A whole number counts something.
            other = max(round(value), 1) if isinstance(usual, int) else value
            found[f"{name} {usual} -> {other}"] = partial(Voted.with_value, name=name, value=other)
    for parts, kind in ((VOTERS, "voters"), (OBJECTIONS, "objections")):
        for part in parts:
            rest = [one for one in parts if one is not part]
            found[f"without {part.name} of the {kind}"] = partial(Voted.f1, **{kind: rest})
            for factor in FACTORS:
                other = replace(part, weight=part.weight * factor)
                changes = {kind: [other if one is part else one for one in parts]}
                found[f"{part.name} weighs {other.weight}"] = partial(Voted.f1, **changes)
    return found


def row(name: str, sites: Mapping[str, list[float]]) -> str:
    """Return a line of the table: the mean of each half by each DIR, the most lost and gained."""
    values = np.array(list(sites.values()))
    halves = [values[half::2].mean(axis=0) for half in (0, 1)]
    cells = [" ".join(f"{value:+.4f}" for value in half) for half in halves]
    for end in (min, max):
        site = end(sites, key=lambda one: sites[one][0])
        cells.append(f"{sites[site][0]:+.4f} {site}" if sites[site][0] else "-")
    return f"| {name} | {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("corpora", type=Path, nargs="+", help="folders of unpacked corpora")
    parser.add_argument("--priors", type=Path, nargs="+", metavar="DIR", required=True)
    parser.add_argument("--pages", type=int, default=60, metavar="N", help="pages of a folder")
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME", help="these folders only")
    parser.add_argument("--choices", nargs="*", default=[""], metavar="CHOICE", help="these only")
    options = parser.parse_args()
    if len(options.priors) < 2:
        parser.error("--priors takes two folders at least: one says nothing of chance")
    priors = [read_priors(folder) for folder in options.priors]
    wanted = {
        name: judge
        for name, judge in choices().items()
        if any(part in name for part in options.choices)
    }
    usual: dict[str, list[float]] = {}
    found: dict[str, dict[str, list[float]]] = {name: {} for name in wanted}
    for corpus in find_corpora(*options.corpora):
        name = corpus.name
        if corpus.is_collection or (options.only and name not in options.only):
            continue
        voted = [Voted(corpus, of[name], options.pages) for of in priors]
        if not all(one.site.gold for one in voted):
            continue
        usual[name] = [one.f1() for one in voted]
        for choice, judge in wanted.items():
            pairs = zip(voted, usual[name], strict=True)
            found[choice][name] = [judge(one) - before for one, before in pairs]
        print(".", end="", file=sys.stderr, flush=True)
    print("\n| choice | half 1 | half 2 | loses most | gains most |\n|---|---|---|---|---|")
    for choice, sites in found.items():
        print(row(choice, sites))
    print(row("as it is", usual))
    apart = {name: [one - values[0] for one in values[1:]] for name, values in usual.items()}
    print(row("the other DIRs less the first", apart))


if __name__ == "__main__":
    main()
