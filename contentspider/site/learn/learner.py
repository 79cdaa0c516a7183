"""Learning the model of a site from its pages, without labels."""

from __future__ import annotations

import logging
from bisect import insort
from functools import cache, cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from contentspider.ground.errors import NotEnoughTextError
from contentspider.ground.times import now
from contentspider.site.images import repeated_pictures
from contentspider.site.judge.classifier import CLASSIFIERS
from contentspider.site.judge.featuresets import SiteFeatures
from contentspider.site.judge.prior import Prior
from contentspider.site.judge.rows import text_key
from contentspider.site.learn.options import LearningOptions, OptionError
from contentspider.site.models.model import ENOUGH_PAGES, SiteModel
from contentspider.site.models.summary import Baseline, SlotSummary
from contentspider.site.own.assessment import assess
from contentspider.site.own.matching import by_page, path_key, stated_by
from contentspider.site.own.vote import OwnVote
from contentspider.site.sample import sample_order
from contentspider.site.vote.blocks import all_blocks, count_pages, gather, group_mean
from contentspider.site.vote.labels import LABELS, OWN, VOTES
from contentspider.site.vote.objections import OBJECTIONS
from contentspider.site.vote.teasers import teaser_slots
from contentspider.site.vote.votes import VOTERS, vote

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from contentspider.page.input.page import Page
    from contentspider.site.arrays import Bools, Floats
    from contentspider.site.own.quality import Quality
    from contentspider.site.own.texts import OwnText
    from contentspider.site.vote.blocks import SiteBlocks
    from contentspider.site.vote.objections import Objection
    from contentspider.site.vote.votes import Voter

logger = logging.getLogger(__name__)

# More pages take longer and label no better (research/docs/experiments.md, learning curve).
MAX_SAMPLE = 200
# Pages with hundreds of blocks make smaller samples: learning takes about 1 s for 12,000 blocks.
MAX_SAMPLE_BLOCKS = 25_000
MIN_SAMPLE = 40
# What pages that are made to fill the memory may take together, in characters of texts and paths; a
# block counts as so many. 200 pages of a website have up to 69 million.
MAX_SAMPLE_CHARS = 80_000_000
BLOCK_CHARS = 500
# Pages with an own text that come first into the sample: ten show most.
MAX_WITH_TEXT = 40
# Blocks that the SVM is trained on: about 1.5 s of liblinear.
MAX_TRAINING_BLOCKS = 60_000
MAX_NOISE_TEXTS = 5_000
EXAMPLE_CHARS = 80


class SiteLabels(NamedTuple):
    """Each block's probability, the digest of the *prior* that judged ("": none), the quality."""

    probabilities: Floats
    prior: str = ""
    quality: Quality | None = None


class LearnedSite(NamedTuple):
    """A *model*, the pages that it was learned from, and how probably each of their blocks was
    content, as it was taught.
    """

    model: SiteModel
    sample: list[Page]
    labels: list[Floats]


class SiteLearner:
    """Learns what is content on one site from the site's own pages.

    *site* names the site in the model. *prior* is the general judge (None: the one that the
    *options* name). *voters* and *objections* are those of `contentspider.site.vote.votes`.

    >>> from contentspider import LearningOptions, Page
    >>> learner = SiteLearner("example.org", LearningOptions(features=["slots", "tags"]))
    >>> html = "<title>Tea</title><nav><a href=/>Home</a></nav><p>Tea is made of leaves and water. "
    >>> model = learner.fit([Page.from_html(html * 3, "/tea")])
    >>> model.pages
    1
    """

    def __init__(
        self,
        site: str = "",
        options: LearningOptions | None = None,
        prior: Prior | None = None,
        voters: Sequence[Voter] = VOTERS,
        objections: Sequence[Objection] = OBJECTIONS,
    ) -> None:
        self.site = site
        self.options = options or LearningOptions()
        self.prior = prior
        self.voters = voters
        self.objections = objections

    def fit(self, pages: Iterable[Page], own_texts: Iterable[OwnText] = ()) -> SiteModel:
        """Learn a site from its *pages* and return its model. The order of the pages does not
        matter.

        *own_texts* are texts of these pages that the site publishes without its template, for
        example in its feed. Texts that the pages state in their markup are used as well. A large
        site is learned from a `sample`. Raises `NotEnoughTextError` if no page has any text.
        """
        return self.learn(pages, own_texts).model

    def learn(self, pages: Iterable[Page], own_texts: Iterable[OwnText] = ()) -> LearnedSite:
        """Return the model that `fit` returns, with what it was learned from."""
        own_texts = list(own_texts)
        sample = self.sample(pages, own_texts)
        if not sample:
            raise NotEnoughTextError(
                f"{self.site or 'the site'}: none of the pages has any text to learn from; are they"
                " HTML pages, and not empty?"
            )
        site = gather([page.content for page in sample], [page.hints for page in sample])
        labels = self.label(sample, site, own_texts)
        model = self._train(sample, site, labels)
        if labels.prior:
            model.judge = self.judge
        starts = np.searchsorted(site.pages, np.arange(1, len(sample)))
        return LearnedSite(model, sample, np.split(labels.probabilities, starts))

    @staticmethod
    def sample(pages: Iterable[Page], own_texts: Iterable[OwnText] = ()) -> list[Page]:
        """Return the pages with text that `fit` learns from, in the order of samples
        (`contentspider.site.sample`): at most `MAX_SAMPLE`, and of as many blocks as are allowed.

        Up to `MAX_WITH_TEXT` pages with *own_texts* come first.
        """
        # By path: they may be at an old domain of the site.
        text_keys = {path_key(own.url) for own in own_texts}
        with_text, others = _First(MAX_SAMPLE + MAX_WITH_TEXT), _First(MAX_SAMPLE)
        for page in pages:
            if page.content.blocks:
                has_text = bool(text_keys) and path_key(page.url) in text_keys
                (with_text if has_text else others).add(page)
        first, more = with_text.pages[:MAX_WITH_TEXT], with_text.pages[MAX_WITH_TEXT:]
        sample = (first + sorted(others.pages + more, key=_order))[:MAX_SAMPLE]
        blocks = sum(len(page.content.blocks) for page in sample)
        size = max(MIN_SAMPLE, len(sample) * MAX_SAMPLE_BLOCKS // max(blocks, 1))
        if blocks > MAX_SAMPLE_BLOCKS:
            sample = sample[:size]
        return sorted(sample, key=_order)

    @cached_property
    def judge(self) -> Prior:
        """Return the prior that was given, else the one that the options name."""
        return self.prior or Prior.chosen(self.options.prior_file) or Prior.shipped()

    def label(
        self, sample: list[Page], site: SiteBlocks, own_texts: Iterable[OwnText] = ()
    ) -> SiteLabels:
        """Return the labels of the sample's blocks; raises `OptionError` if they are none."""
        method = self.options.labels
        if method in (VOTES, OWN):
            prior = self.judge if method == VOTES else None
            digest = prior.digest if prior else ""
            if prior and len(sample) == 1:  # a site of one page has no votes
                return SiteLabels(prior.judge_page(sample[0])[0], digest)
            texts = by_page(sample, [*own_texts, *stated_by(sample)])
            own_vote = OwnVote(sample, site, prior, texts, self.voters, self.objections)
            found = own_vote.probabilities(own_vote.evidence)
            return SiteLabels(found, digest, assess(own_vote, found))
        found = np.asarray(LABELS.load(method)(sample, site), dtype=np.float32)
        if found.shape != site.chars.shape or not ((found >= 0) & (found <= 1)).all():
            raise OptionError(
                "labels",
                method,
                f"gave an array of shape {found.shape}; it must give a probability from 0 to 1 for"
                f" each of the {len(site.chars)} blocks",
            )
        return SiteLabels(found)

    def _train(self, sample: list[Page], site: SiteBlocks, found: SiteLabels) -> SiteModel:
        probabilities = found.probabilities
        labels = probabilities >= 0.5
        votes = self.options.labels == VOTES
        # The paper's SVM only uses where a block stands.
        voted = self.options.labels in (VOTES, OWN)
        noise_texts = _noise_texts(site, labels) if voted else frozenset()
        features = SiteFeatures(self.options.features, site.table, noise_texts)
        # One page shows no template: the prior judges others.
        is_alone = votes and len(sample) == 1
        rows = [] if is_alone else [row for page in sample for row in features.rows(page.content)]
        # A block counts by its length and by how sure its label is.
        weights = site.weights * (0.1 + np.abs(2 * probabilities - 1))
        chosen = np.arange(len(rows))
        if len(rows) > MAX_TRAINING_BLOCKS:
            draw = np.random.default_rng(0)
            chosen = np.sort(draw.choice(len(rows), MAX_TRAINING_BLOCKS, replace=False))
        classifier = CLASSIFIERS.load(self.options.classifier).fit(
            [rows[index] for index in chosen], labels[chosen], weights[chosen]
        )
        decided = probabilities
        if not is_alone:
            decided = classifier.decide(rows)
            agreed = site.weights[(decided > 0.5) == labels].sum() / site.weights.sum()
            logger.info(
                "%s: learned from %d pages, %d blocks; the classifier agrees with %.2f %% of its"
                " labels",
                self.site or "site",
                len(sample),
                len(rows),
                100 * float(agreed),
            )
        starts = np.searchsorted(site.pages, np.arange(1, len(sample)))
        slot_of, baseline = cache(site.table.slot), None
        if len(sample) >= ENOUGH_PAGES:
            parts = [part.tolist() for part in np.split(decided, starts)]
            baseline = Baseline.of(zip(sample, parts, strict=True), slot_of)
        return SiteModel(
            site=self.site,
            labels=self.options.labels,
            pages=len(sample),
            names=site.table.kept,
            slots=frozenset(site.slots),
            noise_texts=noise_texts,
            pictures=repeated_pictures(sample),
            classifier=classifier,
            classifier_name=self.options.classifier,
            summary=_summary(site, decided, probabilities),
            prior=found.prior,
            baseline=baseline,
            quality=found.quality,
            learned_at=now(),
            features=tuple(self.options.features),
            teasers=teaser_slots(sample, np.split(decided > 0.5, starts), slot_of),
        )


def label_by_votes(sample: list[Page], site: SiteBlocks, prior: Prior | None = None) -> Floats:
    """Return how probably each block is content by the votes over *prior* (None: the shipped)."""
    return vote(site, *(prior or Prior.shipped()).judge(sample))


def label_by_own_texts(sample: list[Page], site: SiteBlocks) -> Floats:
    """Return how probably each block is content by what the pages state, without any prior."""
    own_vote = OwnVote(sample, site, None, by_page(sample, stated_by(sample)), VOTERS, OBJECTIONS)
    return own_vote.probabilities(own_vote.evidence)


class _First:
    """The first *most* pages in the order of samples of those that are added, and no more than have
    `MAX_SAMPLE_CHARS` together.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._chars = self._added = 0
        self._end: tuple[bytes, list[str]] | None = None
        self._kept: list[tuple[tuple[bytes, list[str]], int, Page]] = []

    @property
    def pages(self) -> list[Page]:
        """Return the pages in their order."""
        return [page for _, _, page in self._kept]

    def add(self, page: Page) -> None:
        """Keep a page, and let those go that it leaves no room for."""
        key = _order(page)
        if self._end is not None and key >= self._end:
            return
        self._added += 1
        self._chars += _chars(page)
        insort(self._kept, (key, self._added, page))
        is_long = self._chars > MAX_SAMPLE_CHARS
        while len(self._kept) > self._most or (is_long and len(self._kept) > 1):
            self._end, _, last = self._kept.pop()
            self._chars -= _chars(last)
            is_long = self._chars > MAX_SAMPLE_CHARS


def _chars(page: Page) -> int:
    return sum(len(block.text) + len(block.path) + BLOCK_CHARS for block in page.content.blocks)


def _order(page: Page) -> tuple[bytes, list[str]]:
    """Return the sort key of a page in samples; pages of one address are sorted by their text."""
    return sample_order(page.url), [block.text for block in page.content.blocks]


def _noise_texts(site: SiteBlocks, labels: Bools) -> frozenset[str]:
    """Return the keys of the most frequent texts that recur on the site's pages as boilerplate."""
    pages = count_pages(site.texts, site.pages)
    noisy = np.bincount(site.texts, ~labels) / np.bincount(site.texts)
    chosen = np.flatnonzero((pages >= 2) & (noisy > 0.5))
    chosen = chosen[np.argsort(-pages[chosen], kind="stable")][:MAX_NOISE_TEXTS]
    blocks = all_blocks(site)
    texts = {blocks[index].text for index in np.flatnonzero(np.isin(site.texts, chosen)).tolist()}
    return frozenset(map(text_key, texts))


def _summary(site: SiteBlocks, decided: Floats, probabilities: Floats) -> list[SlotSummary]:
    """Describe the slots, those with the most text first."""
    slots = site.slot_numbers
    mean = group_mean(slots, decided, site.weights)
    score = np.bincount(slots, probabilities * site.weights)
    total = max(float(score.sum()), 1e-9)
    blocks = np.bincount(slots)
    pages = count_pages(slots, site.pages)
    chars = np.bincount(slots, site.chars)
    texts = [block.text for block in all_blocks(site)]
    # The longest of a slot's first texts is the best example.
    example: dict[int, int] = {}
    for index, slot in enumerate(slots.tolist()):
        if slot not in example or (index < 2_000 and len(texts[index]) > len(texts[example[slot]])):
            example[slot] = index
    return [
        SlotSummary(
            slot=site.slots[example[number]],
            probability=round(float(mean[example[number]]), 3),
            score=round(float(score[number]) / total, 5),
            blocks=int(blocks[number]),
            pages=int(pages[number]),
            example=texts[example[number]][:EXAMPLE_CHARS],
        )
        for number in np.argsort(-chars, kind="stable").tolist()[:500]
    ]
