"""The model of one site: what was learned from its pages, and how it filters a page."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from contentspider.ground.errors import DAMAGE, StateError
from contentspider.page.tree.text import SENTENCE_CHARS
from contentspider.site.entries import with_entries
from contentspider.site.guess import mean_of_odds
from contentspider.site.judge.classifier import CLASSIFIERS
from contentspider.site.judge.featuresets import SLOTS, SiteFeatures, parse_feature_sets
from contentspider.site.judge.prior import Prior
from contentspider.site.judge.rows import text_key
from contentspider.site.models.counts import count_prose, kept_chars, sureness
from contentspider.site.models.folder import read_model
from contentspider.site.models.generations import Generations
from contentspider.site.models.record import Extraction
from contentspider.site.models.summary import Baseline, SlotSummary
from contentspider.site.notes import with_notes
from contentspider.site.own.quality import Quality
from contentspider.site.pagetype import page_type
from contentspider.site.slots import SlotTable
from contentspider.site.vote.labels import VOTES

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from contentspider.page.input.page import Page
    from contentspider.site.arrays import Floats
    from contentspider.site.judge.classifier import Classifier

SCHEMA = 4
# A model of fewer pages asks the prior, too; one of more is right at unseen places more often than
# the prior (research/NOTES.md).
ENOUGH_PAGES = 21
# There the prior's log odds count like so many pages. Two to five measure alike.
PRIOR_PAGES = 3
# The prior alone judges a page of which less than a sentence is kept, and more than this share of
# the prose that is not known as boilerplate stands at unseen places. It is no half, since comments
# stand at known places (research/NOTES.md).
UNSEEN_SHARE = 0.25
MAX_PATHS = 20_000  # in the cache of seen places


class _Seen(dict[str, bool]):
    """Whether paths, as far as they have been asked for, are at a slot that the model has seen."""

    def __init__(self, table: SlotTable, slots: frozenset[str]) -> None:
        super().__init__()
        self._table, self._slots = table, slots

    def __missing__(self, path: str) -> bool:
        if len(self) >= MAX_PATHS:
            self.clear()
        found = self[path] = self._table.slot(path) in self._slots
        return found


class _Decision(NamedTuple):
    """The probabilities of a page's blocks, by the prior or not, and whether they are a guess."""

    probabilities: Floats
    by_prior: bool = False
    is_guess: bool = False


@dataclass(slots=True, repr=False)
class SiteModel:
    """What was learned of a site; `extract` filters a page with it.

    *names* are the ids and classes that the template uses, *slots* the places that were seen,
    *noise_texts* the keys of texts that recur as boilerplate, *pictures* those of the template's
    pictures, *teasers* the slots of a listing's entries, *features* the classifier's feature sets.
    *prior* is the digest of the prior that gave the labels; *judge* is the prior for pages unlike
    those that it was learned from (None: the shipped one). *baseline* is what later pages are
    compared with, *quality* how good the labels are (None: not known).

    >>> from contentspider import Page, SiteLearner
    >>> html = "<title>Tea</title><nav><a href=/>Home</a></nav><p>Tea is made of leaves and water. "
    >>> model = SiteLearner("example.org").fit([Page.from_html(html * 3, "/tea")])
    >>> model
    <SiteModel of 'example.org': learned from 1 pages, 2 slots>
    """

    site: str
    labels: str
    pages: int
    names: frozenset[str]
    slots: frozenset[str]
    noise_texts: frozenset[str]
    classifier: Classifier
    summary: list[SlotSummary]
    classifier_name: str = "svm"
    prior: str = ""
    features: tuple[str, ...] = (SLOTS,)
    teasers: frozenset[str] = frozenset()
    pictures: frozenset[str] = frozenset()
    judge: Prior | None = None
    baseline: Baseline | None = field(default=None, compare=False)
    quality: Quality | None = field(default=None, compare=False)
    learned_at: str = field(default="", compare=False)
    _table: SlotTable = field(init=False)
    _features: SiteFeatures = field(init=False)
    _seen: _Seen = field(init=False)
    _version: str = field(init=False, default="")
    # The last page is cached: drift detection decides a page before it is filtered.
    _last: tuple[Page, _Decision] | None = field(init=False, compare=False, default=None)

    def __post_init__(self) -> None:
        self._table = SlotTable.of_names(self.names)
        self._features = SiteFeatures(self.features, self._table, self.noise_texts)
        self._seen = _Seen(self._table, self.slots)

    def __repr__(self) -> str:
        learned = f"learned from {self.pages} pages, {len(self.slots)} slots"
        return f"<SiteModel of {self.site!r}: {learned}>"

    @property
    def version(self) -> str:
        """Return a short digest of the weights: models with the same version filter alike."""
        self._version = self._version or sha256(self.dump_weights()).hexdigest()[:12]
        return self._version

    def probabilities(self, page: Page) -> Floats:
        """Return for each block the probability that it is content; above 0.5 is kept. The
        classifier decides, with the prior where the model has few pages, and the prior alone of
        pages unlike those that were seen. People's corrections (`Page.corrections`) come last.
        """
        return self._corrected(page).probabilities

    def _corrected(self, page: Page) -> _Decision:
        if self._last is None or self._last[0] is not page:
            self._last = (page, self._decide(page))
        decision = self._last[1]
        if page.corrections:
            corrected = page.corrections.correct(decision.probabilities)
            return decision._replace(probabilities=corrected)
        return decision

    def _decide(self, page: Page) -> _Decision:
        if self.pages == 1 and self.labels == VOTES and page.content.blocks:
            return self._judge(page)
        decided = self.classifier.decide(self._features.rows(page.content))
        if self.labels != VOTES or not page.content.blocks:
            return _Decision(decided)
        if self.pages < ENOUGH_PAGES:
            prior = self._judge(page).probabilities
            return _Decision(mean_of_odds(decided, prior, PRIOR_PAGES / self.pages), True)
        return self._judge(page) if self._is_strange(page, decided) else _Decision(decided)

    def _judge(self, page: Page) -> _Decision:
        self.judge = self.judge or Prior.shipped()
        probabilities, is_guess = self.judge.judge_page(page)
        return _Decision(probabilities, True, is_guess)

    def _is_strange(self, page: Page, decided: Floats) -> bool:
        """Tell whether hardly any is kept of prose that is new, known boilerplate aside."""
        if kept_chars(page.content, decided.tolist()) >= SENTENCE_CHARS:
            return False
        chars, unseen = self.unseen_prose(page)
        known = sum(
            len(block.text) - block.link_chars
            for block in page.content.blocks
            if text_key(block.text) in self.noise_texts
        )
        return unseen > UNSEEN_SHARE * (chars - known)

    def unseen_prose(self, page: Page) -> tuple[int, int]:
        """Return a page's characters outside of links, and how many are at unseen places."""
        return count_prose(page.content, self._seen)

    def slot_of(self, path: str) -> str:
        """Return the slot of a block's path."""
        return self._table.slot(path)

    def unseen_slots(self, page: Page) -> Iterator[tuple[str, int]]:
        """Yield the slot and the characters outside of links of each block at an unseen place."""
        for block in page.content.blocks:
            slot = self._table.slot(block.path)
            if slot not in self.slots:
                yield slot, len(block.text) - block.link_chars

    def explain(self, page: Page, index: int) -> list[tuple[str, float]]:
        """Return what speaks for (above 0) and against a block's being content, strongest first."""
        row = self._features.rows(page.content)[index]
        return [(" ".join(feature), weight) for feature, weight in self.classifier.explain(row)]

    def is_of(self, prior: Prior | None) -> bool:
        """Tell whether no other than *prior* (None: the shipped one) labelled its pages."""
        return not self.prior or self.prior == (prior or Prior.shipped()).digest

    def extract(self, page: Page, keep_teasers: bool = False) -> Extraction:
        """Return which blocks are content; with *keep_teasers* a listing's entries are, too."""
        probabilities, by_prior, is_guess = self._corrected(page)
        kept = probabilities > 0.5
        kind = page_type(page, kept)
        if keep_teasers and page.content.blocks:
            if kind == "listing" and self.teasers:
                slots = map(self._table.slot, (block.path for block in page.content.blocks))
                kept |= np.array([slot in self.teasers for slot in slots])
            kept = with_entries(page.content, kept, kind == "listing")
        if page.content.blocks:
            kept = with_notes(page.content.blocks, kept)
            if page.corrections:
                kept[page.corrections.kept] = True
                kept[page.corrections.dropped] = False
        # A strange page has another template.
        seen = None if by_prior and self.pages >= ENOUGH_PAGES else self._seen
        confidence = sureness(page.content, probabilities.tolist(), seen)
        how = (self.site, self.version, by_prior, is_guess, self.pictures)
        return Extraction(page, kept, probabilities, confidence, kind, *how)

    def dump_weights(self) -> bytes:
        """Return the weights as canonical JSON, for `parse`."""
        record: dict[str, object] = {
            "schema": SCHEMA,
            "names": sorted(self.names),
            "slots": sorted(self.slots),
            "noise_texts": sorted(self.noise_texts),
            "teasers": sorted(self.teasers),
            "features": list(self.features),
            "classifier": {"name": self.classifier_name, **self.classifier.dump()},
        }
        if self.pictures:
            record["pictures"] = sorted(self.pictures)
        return json.dumps(record, ensure_ascii=False).encode("utf-8", "surrogatepass")

    def manifest(self) -> dict[str, object]:
        """Return the facts about the model for people, as JSON values."""
        return {
            "schema": SCHEMA,
            "site": self.site,
            "version": self.version,
            "labels": self.labels,
            "pages": self.pages,
            "prior": self.prior,
            "learned_at": self.learned_at,
            "baseline": asdict(self.baseline) if self.baseline is not None else None,
            "quality": self.quality.to_record() if self.quality is not None else None,
            "summary": [asdict(slot) for slot in self.summary],
        }

    @classmethod
    def parse(cls, manifest: dict[str, Any], weights: bytes) -> SiteModel:
        """Return the model of a `manifest` and `dump_weights`; damage raises `StateError`."""
        try:
            record = json.loads(weights.decode("utf-8", "surrogatepass"))
            if manifest["schema"] != SCHEMA or record["schema"] != SCHEMA:
                raise ValueError(
                    f"its schema is {manifest['schema']!r}, this version reads {SCHEMA}"
                )
            summary, pages = manifest["summary"], manifest["pages"]
            if not isinstance(summary, list) or not isinstance(pages, int):
                raise TypeError("its manifest is malformed")
            name = str(record["classifier"]["name"])
            return cls(
                site=str(manifest["site"]),
                labels=str(manifest["labels"]),
                pages=pages,
                names=_texts(record["names"]),
                slots=_texts(record["slots"]),
                noise_texts=_texts(record["noise_texts"]),
                classifier=CLASSIFIERS.load(name).load(record["classifier"]),
                classifier_name=name,
                summary=[SlotSummary.parse(slot) for slot in summary],
                prior=str(manifest["prior"]),
                learned_at=str(manifest["learned_at"]),
                baseline=Baseline.parse(manifest["baseline"]) if manifest["baseline"] else None,
                quality=Quality.parse(manifest["quality"]) if manifest["quality"] else None,
                features=parse_feature_sets(record["features"]),
                teasers=_texts(record["teasers"]),
                pictures=_texts(record.get("pictures", [])),
            )
        except DAMAGE as error:
            raise StateError(f"the model cannot be used: {error}") from error

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Save the model in the folder *path*, beside earlier ones, and return the folder. A crash
        leaves the old model or the new one.
        """
        Generations(Path(path)).add(self.manifest(), self.dump_weights())
        return Path(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> SiteModel:
        """Return a saved model; raises FileNotFoundError, or `StateError` if it is unusable."""
        return cls.parse(*read_model(Path(path)))


def _texts(values: list[str]) -> frozenset[str]:
    "".join(values)  # it raises TypeError unless all are texts
    return frozenset(values)
