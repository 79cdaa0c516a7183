"""Who decides on a site: F1 of each part of the judgement alone, and without each.

    python benchmarks/deciders.py CORPORA... --priors DIR [--only NAME ...]

CORPORA are folders of sites with gold text, which the priors in *--priors* (see
`benchmarks/own_texts.py`) have not seen. A folder of corpora is one column group; of those with
feeds only the sites are taken whose feeds tell whole texts. There, F1 is of gold pages that no feed
tells of; where a feed tells of all, half of them are held back. What pages state of their own text
is heard as well, as when a site is learned.

*Changed* is the share of a site's blocks, and of their characters, that are decided otherwise
without the part, the mean of the sites. The first parts make the vote, which teaches the SVM. What
a model of all pages decides on them is compared with the vote, and what models of half of the pages
decide on the other half.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from own_texts import Site, changed, read_priors
from samples import Remembering

from contentspider.evaluation.corpora import find_corpora
from contentspider.site.learn.learner import SiteLearner
from contentspider.site.own.matching import stated_texts, texts_by_page
from contentspider.site.own.vote import OwnVote
from contentspider.site.vote import votes
from contentspider.site.vote.blocks import number_keys
from contentspider.site.vote.labels import LABELS
from contentspider.site.vote.objections import OBJECTIONS
from contentspider.site.vote.votes import VOTERS, Voter

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from contentspider.evaluation.corpora import Corpus
    from contentspider.site.judge.prior import Prior
    from contentspider.site.models.model import SiteModel
    from contentspider.site.vote.blocks import SiteBlocks
    from contentspider.site.vote.objections import Objection

    Floats = NDArray[np.floating]

NOTHING = float("nan")
PRIOR, OWN, RELEVANCE = "prior", "own texts", "relevance to the hints"
CLUSTERS, SUMS, RULED = "clusters of slots (DBSCAN)", "sums over the pages", "rules"
NEW, LEARNED = "SVM, on new pages", "SVM, on learned pages"
# What stands in the table where there is no such part by itself.
CANNOT = {
    CLUSTERS: "cannot: it only groups",
    SUMS: "cannot: it sums what others say",
    RULED: "cannot: they only speak against",
    NEW: "cannot: it learns the vote",
    LEARNED: "cannot: it learns the vote",
}


class Figures(NamedTuple):
    """F1 of a part alone, of all parts and without this one, and the shares of blocks and of
    characters that change without it, in percent; NaN is none.
    """

    alone: float
    all: float
    without: float
    blocks: float
    chars: float


class Judged(Site):
    """A site whose votes are those that it is learned by, and others."""

    def __init__(self, corpus: Corpus, prior: Prior) -> None:
        remembering = Remembering.of(prior)
        super().__init__(corpus, remembering, corpus.own_texts())
        self.prior = remembering
        if self.told:
            self.hear(self.told)
        self.has_whole_feed = bool(self.vote.evidence.whole)
        self.untold = self.hold_back()
        self.feeds = [own for texts in self.told.values() for own in texts]
        self.told = texts_by_page(self.sample, [*self.feeds, *stated_texts(self.sample)])

    def voted(
        self,
        prior: Prior | None,
        *,
        blocks: SiteBlocks | None = None,
        voters: Sequence[Voter] = VOTERS,
        objections: Sequence[Objection] = OBJECTIONS,
        relevance: float = votes.RELEVANCE,
    ) -> Floats:
        """Return the vote, of other *blocks* if they are given."""
        with changed(votes, "RELEVANCE", relevance):
            vote = OwnVote(self.sample, blocks or self.blocks, prior, self.told, voters, objections)
            return vote.probabilities(vote.evidence)

    def figures(self) -> dict[str, Figures]:
        """Return the figures of each part."""
        every = self.voted(self.prior)
        hints = LABELS.load("contrast")(self.sample, self.blocks)
        slots = replace(self.blocks, clusters=number_keys(self.blocks.slots))
        told = OwnVote(self.sample, self.blocks, None, self.told, VOTERS, ()).evidence.whole
        alone = {
            PRIOR: self.f1(self.prior.judge(self.sample)[0], self.untold),
            RELEVANCE: self.f1(hints, self.untold),
            OWN: self.f1(self.voted(None, objections=(), relevance=0), self.untold)
            if told
            else NOTHING,
        }
        without = {
            PRIOR: self.voted(None),
            OWN: OwnVote(self.sample, self.blocks, self.prior, {}, VOTERS, OBJECTIONS).plain_vote,
            RELEVANCE: self.voted(self.prior, relevance=0),
            CLUSTERS: self.voted(self.prior, blocks=slots),
            SUMS: self.voted(self.prior, voters=(Voter("block", 1.0, itself),)),
            RULED: self.voted(self.prior, objections=()),
        }
        f1 = self.f1(every, self.untold)
        found = {
            name: Figures(alone.get(name, NOTHING), f1, *self.compare(every, probabilities))
            for name, probabilities in without.items()
        }
        new = self.on_new_pages()
        pages = range(len(self.sample))
        learned = self.extract(self.learn(pages), pages)
        for name, decided in ((NEW, new), (LEARNED, learned)):
            f1 = self.f1(decided, self.untold)
            found[name] = Figures(NOTHING, f1, *self.compare(decided, every))
        return found

    def compare(self, every: Floats, without: Floats) -> tuple[float, float, float]:
        """Return the F1 of what is kept *without* a part, and what shares of blocks and characters
        are decided otherwise.
        """
        changed = (every > 0.5) != (without > 0.5)
        chars = self.blocks.chars
        return (
            self.f1(without, self.untold),
            100 * float(changed.mean()),
            100 * float(chars[changed].sum() / chars.sum()),
        )

    def learn(self, numbers: Iterable[int]) -> SiteModel:
        """Return the model of some of the pages."""
        pages = [self.sample[number] for number in numbers]
        return SiteLearner(self.name, prior=self.prior).fit(pages, self.feeds)

    def extract(self, model: SiteModel, numbers: Iterable[int]) -> Floats:
        """Return what a model says of the blocks of some pages, 0 of the others'."""
        found = np.zeros(len(self.blocks.chars), dtype=np.float32)
        for number in numbers:
            here = slice(self.starts[number], self.starts[number + 1])
            found[here] = model.probabilities(self.sample[number])
        return found

    def on_new_pages(self) -> Floats:
        """Return what models of one half of the pages say of the blocks of the other."""
        order = self.in_order(range(len(self.sample)))
        halves = (order[::2], order[1::2])
        models = [self.learn(half) for half in halves]
        return self.extract(models[0], halves[1]) + self.extract(models[1], halves[0])


def itself(site: SiteBlocks, prior: Floats) -> Floats:
    """Return what the prior says of each block, and nothing of other pages."""
    return prior


def show(title: str, sites: Sequence[dict[str, Figures]]) -> None:
    """Print the means of a folder's sites."""
    print(f"\n{title}, {len(sites)} sites:\n")
    print("| part | F1 alone | with all | without | blocks changed, % | characters changed, % |")
    print("|---|---|---|---|---|---|")
    for name in sites[0]:
        columns = np.array([figures[name] for figures in sites])
        heard = int((~np.isnan(columns[:, 0])).sum())
        alone = CANNOT.get(name) or (
            f"{np.nanmean(columns[:, 0]):.4f}" if heard else "nothing told"
        )
        few = f" ({heard} sites)" if 0 < heard < len(sites) else ""
        _, every, without, blocks, chars = columns.mean(axis=0)
        print(
            f"| {name} | {alone}{few} | {every:.4f} | {without:.4f} | {blocks:.2f} | {chars:.2f} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("corpora", type=Path, nargs="+", help="folders of unpacked corpora")
    parser.add_argument("--priors", type=Path, metavar="DIR", required=True)
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME", help="these folders only")
    options = parser.parse_args()
    priors = read_priors(options.priors)
    for folder in options.corpora:
        sites = []
        for corpus in find_corpora(folder):
            has_feeds = (corpus.folder / "own.jsonl").is_file()
            is_wanted = not options.only or corpus.name in options.only
            if not is_wanted or (corpus.suite != "sites" and not has_feeds):
                continue
            site = Judged(corpus, priors[corpus.name])
            if corpus.suite == "sites" or site.has_whole_feed:
                sites.append(site.figures())
                print(".", end="", file=sys.stderr, flush=True)
        if sites:
            show(folder.name, sites)


if __name__ == "__main__":
    main()
