"""The vote of a site that uses the evidence of its own texts.

It has three steps. The prior is adapted to the site (`contentspider.site.own.adaptation`). The
vote sums the adapted probabilities over all pages (`contentspider.site.vote.votes`). And a linear
SVM, trained on the labelled pages, decides in the clusters that occur on these pages. The last step
is Algorithm 1 with the own texts as descriptions.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from contentspider.site.judge.featuresets import SLOTS, SiteFeatures
from contentspider.site.judge.prior import features_of
from contentspider.site.judge.svm import STEEPNESS, LinearSVM
from contentspider.site.own.adaptation import UNLABELLED_WEIGHT, correction, standardised
from contentspider.site.own.evidence import Evidence, gather_evidence
from contentspider.site.own.matching import rarely_announced
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


# The SVM counts n / (n + TRUSTED_PAGES) in a cluster that is on n labelled pages.
TRUSTED_PAGES = 1.5
# From this probability on the vote without own texts is sure that a block is content.
SURE = 0.8
# A sure vote is overruled only by labels on this many pages: on one or two pages a slot may hold
# something else.
SURE_PAGES = 3
# Own texts are not used for a sample with more blocks, whose features would fill the memory.
MAX_BLOCKS = 100_000
# The limit of log odds, which is also the limit of `log_odds`.
MAX_ODDS = 4.6


class OwnVote:
    """The vote of a *sample* of pages, with a *prior* and own texts.

    *site* has the blocks of the sample. *prior* is None if no prior is to be used. *own_texts* has
    the texts of each page by the page's number.
    """

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
        # The labels of the blocks by the own texts.
        self.evidence = (
            gather_evidence(site, own_texts, self.plain_vote, self.judged, rarely_announced(sample))
            if has_texts
            else Evidence(np.full(len(site.chars), np.nan))
        )

    @property
    def judged(self) -> Floats:
        """The prior's probability of each block, which depends on the block's page only. Without a
        prior it is the `plain_vote`.
        """
        return self._named if self._has_prior else self.plain_vote

    def probabilities(self, evidence: Evidence) -> Floats:
        """Return for each block the probability that it is content.

        *evidence* is `self.evidence` or a part of it. Only whole texts count, since an excerpt does
        not show which blocks are boilerplate. Without whole texts the result is the `plain_vote`.
        Blocks that the `plain_vote` is sure of stay content, unless their slot is labelled as
        boilerplate on several pages. The local labels of the evidence count on their pages.
        """
        voted = self._general(evidence)
        if evidence.local is None:
            return voted
        return np.where(np.isnan(evidence.local), voted, evidence.local).astype(np.float32)

    def _general(self, evidence: Evidence) -> Floats:
        """Return the `probabilities` without local labels."""
        if not evidence.whole:
            return self.plain_vote
        if excerpts := evidence.pages - evidence.whole.keys():
            evidence = evidence.without(frozenset(excerpts), self.site)
        named_odds, unnamed_odds = log_odds(self._named), log_odds(self._unnamed)
        judged = self.plain_vote if self._has_prior else None
        added = correction(self.site, self._features, evidence, judged, named_odds)
        voted = self._vote(_probability(named_odds + added), _probability(unnamed_odds + added))
        pages = self._labelled_pages(self.site.clusters, evidence)
        trust = pages / (pages + TRUSTED_PAGES)
        odds = (1 - trust) * log_odds(voted) + trust * self._svm_odds(evidence, voted)
        if self._has_prior:
            sure = (self.plain_vote >= SURE) & ~self._in_noise_slot(evidence)
            odds = np.where(sure, log_odds(self.plain_vote), odds)
        # Prose that all pages repeat is content if own texts have it.
        confirmed = template_prose(self.site) & self._is_labelled_content(evidence)
        return np.maximum(_probability(odds), np.where(confirmed, np.float32(SURE), 0))

    def _labelled_pages(self, groups: Ints, evidence: Evidence) -> Ints:
        """Return for each block on how many pages its group has a label.

        *groups* has the number of each block's group, for example of its cluster.
        """
        has_label = evidence.has_label
        pairs = number_pairs(groups[has_label], self.site.pages[has_label])
        _, first = np.unique(pairs, return_index=True)
        counts = np.bincount(groups[has_label][first], minlength=groups.max() + 1)
        return counts[groups]

    def _in_noise_slot(self, evidence: Evidence) -> Bools:
        """Return which blocks stand in a slot that is labelled as boilerplate.

        The slot must have labels on at least `SURE_PAGES` pages. Only pages whose ``body`` has the
        same names are compared: pages of another template may have their text in this slot.
        """
        signs = np.where(evidence.has_label, evidence.labels - 0.5, 0) * self.site.weights
        slots = number_pairs(self.site.slot_numbers, self.site.bodies)
        is_labelled = self._labelled_pages(slots, evidence) >= SURE_PAGES
        return np.asarray(is_labelled & (np.bincount(slots, signs) < 0)[slots])

    def _is_labelled_content(self, evidence: Evidence) -> Bools:
        """Return which blocks have a text that is labelled as content in their cluster."""
        signs = np.where(evidence.has_label, evidence.labels - 0.5, 0)
        texts = self.site.cluster_texts
        return np.asarray((np.bincount(texts, signs) > 0)[texts])

    def _vote(self, named: Floats, unnamed: Floats) -> Floats:
        return vote(self.site, named, unnamed, self._voters, self._objections)

    def _svm_odds(self, evidence: Evidence, voted: Floats) -> Floats:
        """Return the log odds of all blocks by an SVM that is trained on the labelled pages."""
        chosen = np.flatnonzero(np.isin(self.site.pages, list(evidence.pages)))
        has_label = evidence.has_label
        labels = np.where(has_label, evidence.labels, voted) > 0.5
        weights = self.site.weights * np.where(has_label, 1, UNLABELLED_WEIGHT)
        rows = self._rows
        svm = LinearSVM.fit([rows[index] for index in chosen], labels[chosen], weights[chosen])
        return np.asarray((STEEPNESS * svm.margins(rows)).clip(-MAX_ODDS, MAX_ODDS))

    @cached_property
    def _features(self) -> NDArray[np.float32]:
        # The list is emptied, since the features take much memory.
        features, self._page_features = self._page_features, []
        return standardised(np.vstack(features or [*features_of(self.sample)]))

    @cached_property
    def _rows(self) -> list[Row]:
        features = SiteFeatures((SLOTS,), self.site.table, frozenset())
        return [row for page in self.sample for row in features.rows(page.content)]


def _probability(odds: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-odds)), dtype=np.float32)


def _unrepeated_prose(site: SiteBlocks) -> Floats:
    """Return probabilities without a prior: higher for sentences that are on no other page.

    Sentences that are mostly links do not count.
    """
    is_unique = count_pages(site.texts, site.sources)[site.texts] < 2
    return np.where(site.is_prose & is_unique & (repeat_shares(site) == 0), 0.75, 0.4)
