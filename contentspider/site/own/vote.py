"""The vote of a site with the evidence of its own texts.

Three steps: the judge of blocks is adapted to the site (`contentspider.site.own.adaptation`); its
votes are summed over all pages (`contentspider.site.vote.votes`); and a linear SVM that was trained
on the pages with labels decides in the clusters that they have. The last is Algorithm 1 with the
own texts as descriptions.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from contentspider.site.judge.featuresets import SLOTS, SiteFeatures
from contentspider.site.judge.prior import features_of
from contentspider.site.judge.svm import STEEPNESS, LinearSVM
from contentspider.site.own.adaptation import UNKNOWN_WEIGHT, correction, standardised
from contentspider.site.own.evidence import Evidence, gather_evidence
from contentspider.site.vote.blocks import count_pages, number_pairs, repeat_shares
from contentspider.site.vote.objections import template_prose
from contentspider.site.vote.votes import log_odds, vote

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from contentspider.page.input.page import Page
    from contentspider.site.arrays import Bools, Floats, Ints
    from contentspider.site.judge.prior import Prior
    from contentspider.site.judge.rows import Row
    from contentspider.site.own.texts import OwnText
    from contentspider.site.vote.blocks import SiteBlocks
    from contentspider.site.vote.objections import Objection
    from contentspider.site.vote.votes import Voter


# Pages with labels on which a cluster must stand for these to weigh 2 to 3.
TRUSTED_PAGES = 1.5
# What the vote is sure of by itself.
SURE = 0.8
# Pages with labels that can contradict it: on one or two, a place may stand for another.
SURE_PAGES = 3
# Of a sample with more blocks the features would fill the memory: own texts are not used.
MAX_BLOCKS = 100_000
# The longest odds: those of `log_odds`.
MAX_ODDS = 4.6


class OwnVote:
    """The vote of a *sample* over a *prior* (None: none) and *own_texts* by page number."""

    def __init__(
        self,
        sample: Sequence[Page],
        site: SiteBlocks,
        prior: Prior | None,
        own_texts: Mapping[int, Sequence[OwnText]],
        voters: Sequence[Voter],
        objections: Sequence[Objection],
    ) -> None:
        self.sample, self.site = sample, site
        self._voters, self._objections = voters, objections
        self._has_prior = prior is not None
        has_texts = bool(own_texts) and len(site.chars) <= MAX_BLOCKS
        self._page_features = [*features_of(sample)] if has_texts else []
        if prior is not None:
            self._named, self._unnamed = prior.judge(sample, self._page_features)
            self.plain_vote: Floats = self._vote(self._named, self._unnamed)
        else:
            self._named = self._unnamed = np.full(len(site.chars), 0.5, dtype=np.float32)
            self.plain_vote = _unrepeated_prose(site)
        self.evidence = (
            gather_evidence(site, own_texts, self.plain_vote, self.judged)
            if has_texts
            else Evidence(np.full(len(site.chars), np.nan))
        )

    @property
    def judged(self) -> Floats:
        """Return how probably each block is content by its page alone; without a prior, by what is
        known without own texts.
        """
        return self._named if self._has_prior else self.plain_vote

    def probabilities(self, evidence: Evidence) -> Floats:
        """Return for each block how probably it is content, by this site's *evidence* or a part.

        Only whole texts count: an excerpt does not show what is noise. Without any it is the
        `plain_vote`; what that is sure of is overruled only at places labelled as noise on several
        pages.
        """
        if not evidence.whole:
            return self.plain_vote
        if excerpts := evidence.pages - evidence.whole.keys():
            evidence = evidence.without(frozenset(excerpts), self.site)
        named, unnamed = log_odds(self._named), log_odds(self._unnamed)
        judged = self.plain_vote if self._has_prior else None
        added = correction(self.site, self._features, evidence, judged, named)
        voted = self._vote(_probability(named + added), _probability(unnamed + added))
        pages = self._labelled_pages(self.site.clusters, evidence)
        trust = pages / (pages + TRUSTED_PAGES)
        odds = (1 - trust) * log_odds(voted) + trust * self._svm_odds(evidence, voted)
        if self._has_prior:
            sure = (self.plain_vote >= SURE) & ~self._is_noise(evidence)
            odds = np.where(sure, log_odds(self.plain_vote), odds)
        told = template_prose(self.site) & self._is_told(evidence)
        return np.maximum(_probability(odds), np.where(told, np.float32(SURE), 0))

    def _labelled_pages(self, places: Ints, evidence: Evidence) -> Ints:
        """Return for each block on how many pages its place has a label."""
        known = evidence.known
        pairs = number_pairs(places[known], self.site.pages[known])
        _, first = np.unique(pairs, return_index=True)
        return np.bincount(places[known][first], minlength=places.max() + 1)[places]

    def _is_noise(self, evidence: Evidence) -> Bools:
        """Return which blocks' slot is labelled as noise on `SURE_PAGES` pages whose ``body`` has
        the same names: pages of another template may have their text in that slot.
        """
        signs = np.where(evidence.known, evidence.labels - 0.5, 0) * self.site.weights
        places = number_pairs(self.site.slot_numbers, self.site.bodies)
        is_labelled = self._labelled_pages(places, evidence) >= SURE_PAGES
        return np.asarray(is_labelled & (np.bincount(places, signs) < 0)[places])

    def _is_told(self, evidence: Evidence) -> Bools:
        """Return which texts are labelled as content at the place of their cluster."""
        signs = np.where(evidence.known, evidence.labels - 0.5, 0)
        texts = self.site.cluster_texts
        return np.asarray((np.bincount(texts, signs) > 0)[texts])

    def _vote(self, named: Floats, unnamed: Floats) -> Floats:
        return vote(self.site, named, unnamed, self._voters, self._objections)

    def _svm_odds(self, evidence: Evidence, voted: Floats) -> Floats:
        """Return the log odds by an SVM that was trained on the pages with labels."""
        chosen = np.flatnonzero(np.isin(self.site.pages, list(evidence.pages)))
        known = evidence.known
        labels = np.where(known, evidence.labels, voted) > 0.5
        weights = self.site.weights * np.where(known, 1, UNKNOWN_WEIGHT)
        rows = self._rows
        svm = LinearSVM.fit([rows[index] for index in chosen], labels[chosen], weights[chosen])
        return np.asarray((STEEPNESS * svm.margins(rows)).clip(-MAX_ODDS, MAX_ODDS))

    @cached_property
    def _features(self) -> NDArray[np.float32]:
        features, self._page_features = self._page_features, []  # one copy of them is enough
        return standardised(np.vstack(features or [*features_of(self.sample)]))

    @cached_property
    def _rows(self) -> list[Row]:
        features = SiteFeatures((SLOTS,), self.site.table, frozenset())
        return [row for page in self.sample for row in features.rows(page.content)]


def _probability(odds: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-odds)), dtype=np.float32)


def _unrepeated_prose(site: SiteBlocks) -> Floats:
    """Return what may be content without a prior: unlinked sentences that are on no other page."""
    alone = count_pages(site.texts, site.sources)[site.texts] < 2
    return np.where(site.is_prose & alone & (repeat_shares(site) == 0), 0.75, 0.4)
