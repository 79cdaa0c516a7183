"""Learns the model of a site from its pages, without labels by people."""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from dataclasses import asdict, replace
from functools import cache, cached_property
from itertools import compress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from contentspider.ground.address_keys import path_key
from contentspider.ground.addresses import is_web_address
from contentspider.ground.counts import counted
from contentspider.ground.errors import NotEnoughTextError
from contentspider.ground.pickles import pickled
from contentspider.ground.times import now
from contentspider.page.input.page import Page
from contentspider.page.words.language import (
    are_close,
    detect_language,
    looks_english,
    script_language,
)
from contentspider.site.design import sites_of
from contentspider.site.fields.example_pages import ExamplePages
from contentspider.site.fields.learning import learn_fields
from contentspider.site.images import repeated_pictures
from contentspider.site.judge.classifier import CLASSIFIERS, UnfitError
from contentspider.site.judge.featuresets import SiteFeatures
from contentspider.site.judge.prior import Prior
from contentspider.site.judge.rows import text_key
from contentspider.site.judge.svm import LinearSVM
from contentspider.site.learn.options import LearningOptions, OptionError
from contentspider.site.learn.sampling import sample_pages
from contentspider.site.models.model import SiteModel
from contentspider.site.models.record import text_sample
from contentspider.site.models.summary import ENOUGH_PAGES, Baseline, SlotSummary, shown_shares
from contentspider.site.own.assessment import assess
from contentspider.site.own.matching import stated_texts, texts_by_page
from contentspider.site.own.vote import OwnVote
from contentspider.site.vote.blocks import all_blocks, count_pages, gather, group_mean
from contentspider.site.vote.labels import LABELS, OWN, PAPER, VOTES
from contentspider.site.vote.objections import OBJECTIONS
from contentspider.site.vote.paper import SiteScores
from contentspider.site.vote.teasers import teaser_slots
from contentspider.site.vote.votes import VOTERS, vote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from contentspider.ground.pickles import Pickled
    from contentspider.site.arrays import Bools, Floats
    from contentspider.site.judge.classifier import Classifier
    from contentspider.site.judge.rows import Row
    from contentspider.site.own.quality import Quality
    from contentspider.site.own.texts import OwnText
    from contentspider.site.vote.blocks import SiteBlocks
    from contentspider.site.vote.objections import Objection
    from contentspider.site.vote.votes import Voter

logger = logging.getLogger(__name__)

# Imported when a site is learned; see `contentspider.ground.child_process`.
PRELOADED = ("sklearn.cluster", "sklearn.preprocessing", "sklearn.svm")
# The SVM is trained on at most this many blocks, which takes about 1.5 s.
MAX_TRAINING_BLOCKS = 60_000
MAX_NOISE_TEXTS = 5_000
# A classifier is refused if it agrees with a smaller share of its labels. On the open sites all
# agree with at least 95 %.
AGREES = 0.8
EXAMPLE_CHARS = 80
EXAMPLE_BLOCKS = 2_000  # examples longer than a slot's first text are searched in this many blocks
MAX_SUMMARY = 500  # slots in a manifest
SVM = "svm"  # the name of `LinearSVM`
# Fewer pages that state a wrong language may be exceptions, and more teach no more.
MIN_PAGES, MAX_PAGES = 3, 50


class SiteLabels(NamedTuple):
    """The labels of a sample's blocks, as *probabilities* of being content.

    *prior* is the digest of the prior that was used ("": none was). *quality* says how good the
    labels are.
    """

    probabilities: Floats
    prior: str = ""
    quality: Quality | None = None


class LearnedSite(NamedTuple):
    """A *model*, the *sample* of pages that it was learned from, and the *labels* it was taught.

    The labels are one array for each page of the sample, with the probability of each block.
    """

    model: SiteModel
    sample: list[Page]
    labels: list[Floats]


class SiteLearner:
    """Learns the site model of one site from the site's own pages.

    *site* is the name of the site in the model (TypeError if it is no text). *prior* is the prior
    to use (None: the one that the *options* name). *voters* and *objections* take part in the vote
    (`contentspider.site.vote.votes`).

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
        if not isinstance(site, str):
            raise TypeError(
                f"the site of a learner is its name as text, not {type(site).__name__}; pages are"
                " for `fit`"
            )
        if not isinstance(options, LearningOptions | None):
            raise TypeError(
                "the options of a learner are LearningOptions, such as"
                f" LearningOptions(labels='votes'), not {type(options).__name__}"
            )
        self.site = site
        self.options = options or LearningOptions()
        self.prior = prior
        self.voters = voters
        self.objections = objections

    def __reduce__(self) -> Pickled:
        arguments = asdict(self.options), self.prior, self.voters, self.objections
        return pickled(_restored, self.site, *arguments)

    def fit(self, pages: Iterable[Page], own_texts: Iterable[OwnText] = ()) -> SiteModel:
        """Return the model of a site, learned from its *pages* in any order.

        *own_texts* are texts of these pages that the site publishes without its template, for
        example in its feed. Texts that the pages state in their markup are used as well. A large
        site is learned from a `sample`. Raises `NotEnoughTextError` if no page has any text, and
        TypeError if one is no `Page`, such as its HTML.
        """
        return self.learn(pages, own_texts).model

    def learn(self, pages: Iterable[Page], own_texts: Iterable[OwnText] = ()) -> LearnedSite:
        """Return the model that `fit` returns, with its sample and the sample's labels."""
        own_texts = list(own_texts)
        if hasattr(pages, "hints"):
            raise TypeError("this takes several pages, not one Page: give [page]")
        pages = map(Page.checked, pages)
        examples = ExamplePages(self.options.own_fields)
        scores = SiteScores() if self.options.labels == PAPER else None
        watched = examples.watch(pages)
        sample = self.sample(scores.watch(watched) if scores else watched, own_texts)
        if not sample:
            raise NotEnoughTextError(
                f"{self.site or 'the site'}: no page has any text to learn from; give HTML pages"
                " with text"
            )
        self._warn_of_sites(sample)
        site = gather(sample)
        if scores is None:
            labels = self.label(sample, site, own_texts)
        else:
            labels = SiteLabels(scores.labels(sample))
        model = self._train(sample, site, labels)
        model.use_own_fields(examples.learn(sample, self.site, model.slot_of), examples.digest)
        if model.baseline is not None:
            shown = shown_shares(sample, model.slot_of, model.unstated_fields)
            model.baseline = replace(model.baseline, shown=shown)
        if labels.prior:
            model.judge = self.judge
        starts = np.searchsorted(site.pages, np.arange(1, len(sample)))
        return LearnedSite(model, sample, np.split(labels.probabilities, starts))

    def _warn_of_sites(self, sample: Sequence[Page]) -> None:
        """Warn if saved pages seem to be of several sites; the address of a page says its site."""
        saved = [page for page in sample if not is_web_address(page.url)]
        if sites := sites_of(saved):
            logger.warning(
                "%s: its pages seem to be of several sites, by their %s. They are learned as one"
                " site: give a folder for each site, or judge each page alone (--alone)",
                self.site or "the site",
                sites,
            )

    @staticmethod
    def sample(pages: Iterable[Page], own_texts: Iterable[OwnText] = ()) -> list[Page]:
        """Return the pages that `fit` learns from, in the order of `contentspider.site.sample`.

        Only pages with text are chosen: at most `MAX_SAMPLE`, and fewer if they have more than
        `MAX_SAMPLE_BLOCKS` blocks. Up to `MAX_WITH_TEXT` pages with *own_texts* are preferred.
        """
        return sample_pages(pages, {path_key(own.url) for own in own_texts})

    @cached_property
    def judge(self) -> Prior:
        """The prior that the constructor got, or the one that the options name, or the shipped."""
        return self.prior or Prior.chosen(self.options.prior_file) or Prior.shipped()

    def label(
        self, sample: list[Page], site: SiteBlocks, own_texts: Iterable[OwnText] = ()
    ) -> SiteLabels:
        """Return the labels of the sample's blocks.

        Raises `OptionError` if a plug-in returns anything but a probability for each block.
        """
        method = self.options.labels
        if method in (VOTES, OWN):
            prior = self.judge if method == VOTES else None
            digest = prior.digest if prior else ""
            if prior and len(sample) == 1:  # other pages are needed for a vote
                return SiteLabels(prior.judge_page(sample[0])[0], digest)
            texts = texts_by_page(sample, [*own_texts, *stated_texts(sample)])
            own_vote = OwnVote(sample, site, prior, texts, self.voters, self.objections)
            probabilities = own_vote.probabilities(own_vote.evidence)
            return SiteLabels(probabilities, digest, assess(own_vote, probabilities))
        probabilities = np.asarray(LABELS.load(method)(sample, site), dtype=np.float32)
        has_all = probabilities.shape == site.chars.shape
        if not has_all or not ((probabilities >= 0) & (probabilities <= 1)).all():
            raise OptionError(
                "labels",
                method,
                f"gave an array of shape {probabilities.shape}; it must give a probability from 0"
                f" to 1 for each of the {counted(len(site.chars), 'blocks')}",
                code="label-shape",
            )
        return SiteLabels(probabilities)

    def _train(self, sample: list[Page], site: SiteBlocks, site_labels: SiteLabels) -> SiteModel:
        """Return the model of a site whose sample has these labels."""
        probabilities = site_labels.probabilities
        noise_texts: frozenset[str] = frozenset()
        # The SVM of the paper only uses the position of a block, not its text.
        if self.options.labels in (VOTES, OWN):
            noise_texts = _noise_texts(site, probabilities >= 0.5)
        # A single page does not show its template: the prior judges the site's other pages.
        needs_rows = len(sample) > 1 or self.options.labels != VOTES
        rows = self._rows(sample, site, noise_texts) if needs_rows else []
        classifier, decided = self._taught(rows, site, probabilities)
        is_refused = classifier is None and needs_rows
        if decided is None:
            decided = probabilities
        starts = np.searchsorted(site.pages, np.arange(1, len(sample)))
        slot_of = cache(site.table.slot)
        return SiteModel(
            site=self.site,
            labels=self.options.labels,
            pages=len(sample),
            names=site.table.kept,
            slots=frozenset(site.slots),
            noise_texts=noise_texts,
            pictures=repeated_pictures(sample),
            wrong_languages=wrong_languages(sample, np.split(decided > 0.5, starts)),
            fields=learn_fields(sample, slot_of),
            classifier=classifier or LinearSVM({}, -1.0),
            classifier_name=self.options.classifier if classifier else SVM,
            is_refused=is_refused,
            summary=_summary(site, decided, probabilities),
            prior=site_labels.prior,
            baseline=None if is_refused else _baseline(sample, np.split(decided, starts), slot_of),
            # It is the quality of the labels, which the pages of a refused classifier do not get.
            quality=None if is_refused else site_labels.quality,
            learned_at=now(),
            features=tuple(self.options.features),
            teasers=teaser_slots(sample, np.split(decided > 0.5, starts), slot_of),
        )

    def _rows(self, sample: list[Page], site: SiteBlocks, noise_texts: frozenset[str]) -> list[Row]:
        """Return the features of all blocks of the sample."""
        features = SiteFeatures(self.options.features, site.table, noise_texts)
        return [row for page in sample for row in features.rows(page.content)]

    def _taught(
        self, rows: list[Row], site: SiteBlocks, probabilities: Floats
    ) -> tuple[Classifier | None, Floats | None]:
        """Return a classifier that is trained on *rows*, and its probabilities for them. Both are
        None without rows, and if the classifier disagrees with its labels.
        """
        if not rows:
            return None, None
        try:
            classifier = self._fit_classifier(rows, site, probabilities)
            decided = classifier.decide(rows)
            problem = self._problem(site, decided, probabilities)
        except UnfitError as error:
            problem = str(error)
        if not problem:
            return classifier, decided
        logger.error(
            "%s: its model is refused, since %s; the prior judges each page of the site alone",
            self.site or "site",
            problem,
        )
        return None, None

    def _problem(self, site: SiteBlocks, decided: Floats, probabilities: Floats) -> str:
        """Return why a classifier is refused that *decided* so about its own training blocks, ""
        if it is not.
        """
        if not np.isfinite(decided).all():
            return "it gives probabilities that are no numbers"
        agrees = (decided > 0.5) == (probabilities >= 0.5)
        share = float(site.weights[agrees].sum() / site.weights.sum())
        logger.info(
            "%s: learned from %s, %s; the classifier agrees with %.2f %% of its labels",
            self.site or "site",
            counted(len(site.contents), "pages"),
            counted(len(site.chars), "blocks"),
            100 * share,
        )
        # Labels of Algorithm 1 of the paper, and of other packages, may be impossible to learn.
        is_ours = self.options.labels in (VOTES, OWN)
        return f"it agrees with {share:.0%} of its labels" if is_ours and share < AGREES else ""

    def _fit_classifier(
        self, rows: list[Row], site: SiteBlocks, probabilities: Floats
    ) -> Classifier:
        """Return a classifier trained on *rows*, or on a random part of too many rows."""
        labels = probabilities >= 0.5
        # A block counts by its length and by how sure its label is.
        weights = site.weights * (0.1 + np.abs(2 * probabilities - 1))
        chosen = np.arange(len(rows))
        if len(rows) > MAX_TRAINING_BLOCKS:
            generator = np.random.default_rng(0)
            chosen = np.sort(generator.choice(len(rows), MAX_TRAINING_BLOCKS, replace=False))
        return CLASSIFIERS.load(self.options.classifier).fit(
            [rows[index] for index in chosen], labels[chosen], weights[chosen]
        )


def _restored(site: str, options: dict[str, Any], *arguments: Any) -> SiteLearner:
    """Return a learner that was pickled; raises `OptionError` for options that fail here."""
    return SiteLearner(site, LearningOptions(**options), *arguments)


def label_by_votes(sample: list[Page], site: SiteBlocks, prior: Prior | None = None) -> Floats:
    """Return each block's probability by the vote over *prior* (None: the prior that ships)."""
    return vote(site, *(prior or Prior.shipped()).judge(sample))


def label_by_own_texts(sample: list[Page], site: SiteBlocks) -> Floats:
    """Return each block's probability by the texts that the pages state, without any prior."""
    texts = texts_by_page(sample, stated_texts(sample))
    own_vote = OwnVote(sample, site, None, texts, VOTERS, OBJECTIONS)
    return own_vote.probabilities(own_vote.evidence)


def _noise_texts(site: SiteBlocks, labels: Bools) -> frozenset[str]:
    """Return the keys of the most frequent texts that recur as boilerplate.

    A text counts if it is on at least two pages, and most of its blocks are not content by
    *labels*.
    """
    pages = count_pages(site.texts, site.pages)
    noisy = np.bincount(site.texts, ~labels) / np.bincount(site.texts)
    chosen = np.flatnonzero((pages >= 2) & (noisy > 0.5))
    chosen = chosen[np.argsort(-pages[chosen], kind="stable")][:MAX_NOISE_TEXTS]
    blocks = all_blocks(site)
    texts = {blocks[index].text for index in np.flatnonzero(np.isin(site.texts, chosen)).tolist()}
    return frozenset(map(text_key, texts))


def _baseline(
    sample: Sequence[Page], decided: Sequence[Floats], slot_of: Callable[[str], str]
) -> Baseline | None:
    """Return what share of the text the model keeps in the sample; None for few pages."""
    if len(sample) < ENOUGH_PAGES:
        return None
    parts = [part.tolist() for part in decided]
    return Baseline.of(zip(sample, parts, strict=True), slot_of)


def _summary(site: SiteBlocks, decided: Floats, probabilities: Floats) -> list[SlotSummary]:
    """Describe the slots of a site for its manifest; slots with the most text come first.

    Each array has one entry per block: *decided* has the model's probability of content, and
    *probabilities* the label that the model was taught.
    """
    slots = site.slot_numbers
    mean = group_mean(slots, decided, site.weights)
    score = np.bincount(slots, probabilities * site.weights)
    total = max(float(score.sum()), 1e-9)
    blocks = np.bincount(slots)
    pages = count_pages(slots, site.pages)
    chars = np.bincount(slots, site.chars)
    texts = [block.text for block in all_blocks(site)]
    # The example of a slot is its longest text among the site's first blocks.
    example: dict[int, int] = {}
    for index, slot in enumerate(slots.tolist()):
        is_longer = slot in example and len(texts[index]) > len(texts[example[slot]])
        if slot not in example or (is_longer and index < EXAMPLE_BLOCKS):
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
        for number in np.argsort(-chars, kind="stable").tolist()[:MAX_SUMMARY]
    ]


def wrong_languages(pages: Sequence[Page], kept: Iterable[Bools]) -> frozenset[str]:
    """Return the languages that most *pages* which state them are not in.

    Many themes state one language for texts in any. *kept* tells for the blocks of each page
    whether they are content. The extra ``language`` reads pages only if most of them may be in
    another language, since loading it takes a second: pages that state English, and lack its
    frequent words, and pages that state another language in a script of several languages.
    """
    samples: defaultdict[str, list[str]] = defaultdict(list)
    for page, is_kept in zip(pages, kept, strict=True):
        stated = page.hints.language.partition("-")[0]
        if stated and len(samples[stated]) < MAX_PAGES:
            sample = text_sample(list(compress(page.content.blocks, is_kept.tolist())))
            samples[stated] += filter(None, [sample])
    return frozenset(stated for stated, texts in samples.items() if _is_wrong(stated, texts))


def _is_wrong(stated: str, samples: Sequence[str]) -> bool:
    """Tell whether most texts are in one other language than the *stated* one."""
    strange = [sample for sample in samples if _may_be_another(stated, sample)]
    if len(strange) < MIN_PAGES or 2 * len(strange) <= len(samples):
        return False
    try:
        languages = Counter(map(detect_language, strange))
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - a library may raise anything, and costs no model
        logger.warning(
            "the language of pages that state %r cannot be checked (%r): it counts as right",
            stated,
            error,
        )
        return False
    del languages[""]
    foreign = sum(count for tag, count in languages.items() if not are_close(tag, stated))
    return 2 * foreign > len(samples)


def _may_be_another(stated: str, sample: str) -> bool:
    if stated == "en":
        return not looks_english(sample)
    return not script_language(sample)  # a script of one language needs no other pages
