"""The site model: it is learned from a sample of a site's pages, and filters pages of the site."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from contentspider.ground.compression import pack, unpack
from contentspider.ground.counts import counted
from contentspider.ground.errors import DAMAGE, StateError
from contentspider.ground.pickles import pickled
from contentspider.ground.tables import to_arrow, to_pandas
from contentspider.page.input.page import Page
from contentspider.page.tree.text import SENTENCE_CHARS
from contentspider.page.write.notebook import bars_html
from contentspider.site.companions import with_footnotes, with_labels, with_titles
from contentspider.site.fields.own_fields import OwnKnowledge
from contentspider.site.fields.site_fields import FIELD_NAMES, FieldKnowledge, SiteFields
from contentspider.site.judge.classifier import CLASSIFIERS
from contentspider.site.judge.expected_f1 import mean_of_odds
from contentspider.site.judge.featuresets import SLOTS, SiteFeatures, parse_feature_sets
from contentspider.site.judge.prior import Prior
from contentspider.site.judge.rows import text_key
from contentspider.site.judge.slots import SlotTable
from contentspider.site.listing_entries import with_entries
from contentspider.site.models.counts import count_prose, kept_chars, sureness
from contentspider.site.models.folder import Generations, read_model
from contentspider.site.models.record import Extraction
from contentspider.site.models.summary import ENOUGH_PAGES, Baseline, SlotSummary
from contentspider.site.own.quality import Quality
from contentspider.site.pagetype import page_type
from contentspider.site.vote.labels import VOTES

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping

    from contentspider.ground.pickles import Pickled
    from contentspider.site.arrays import Bools, Floats
    from contentspider.site.judge.classifier import Classifier
    from contentspider.site.models.reasons import Explanation

SCHEMA = 4
# In a model of fewer than `ENOUGH_PAGES` pages, the log odds of the prior count like this many
# pages. Two to five pages give about the same F1.
PRIOR_PAGES = 3
# The prior alone judges a page if the model keeps less than a sentence of it, and more than this
# share of its prose, without known boilerplate, is in unseen slots. The share is below one half
# since comments are in known slots (research/NOTES.md).
UNSEEN_SHARE = 0.25
MAX_PATHS = 20_000  # in the cache of paths


class _SeenPaths(dict[str, bool]):
    """A cache that tells whether the slot of a path is one of the model's *slots*."""

    def __init__(self, table: SlotTable, slots: frozenset[str]) -> None:
        super().__init__()
        self._table, self._slots = table, slots

    def __missing__(self, path: str) -> bool:
        if len(self) >= MAX_PATHS:
            self.clear()
        is_seen = self[path] = self._table.slot(path) in self._slots
        return is_seen


class _Decision(NamedTuple):
    """The probabilities of a page's blocks.

    *by_prior* tells whether the prior took part, and *is_guess* whether even the prior was unsure.
    """

    probabilities: Floats
    by_prior: bool = False
    is_guess: bool = False


@dataclass(slots=True, repr=False, eq=False)
class SiteModel:
    """A site model; `extract` filters a page with it.

    - *pages* is the number of pages that it was learned from, *labels* the way of labelling them.
    - *names* are the ids and classes that the template uses. *slots* are the slots that were seen,
      *teasers* the slots of listing entries.
    - *noise_texts* and *pictures* are the keys of boilerplate texts and of the template's pictures.
    - *wrong_languages* are the languages that most pages which state them are not in.
    - *fields* is the learned knowledge of dates and authors, by the field's name.
    - *own_fields* is the learned knowledge of the user's own fields, by the field's name.
      *examples_digest* is the digest of the fields and examples that they were learned from.
    - *features* are the feature sets of the classifier.
    - *prior* is the digest of the prior that was used for the labels. *judge* is the prior for
      pages that do not resemble the sample (None: the prior that ships).
    - *is_refused* is true if the classifier did not learn its labels: the prior judges all pages.
    - *baseline* describes the sample, so that drift can be detected. *quality* says how good the
      labels are. Each is None if it is unknown.

    Models of one site and `version` are equal.

    >>> from contentspider import Page, SiteLearner
    >>> html = "<title>Tea</title><nav><a href=/>Home</a></nav><p>Tea is made of leaves and water. "
    >>> model = SiteLearner("example.org").fit([Page.from_html(html * 3, "/tea")])
    >>> model
    <SiteModel of 'example.org': learned from 1 page, 2 slots>
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
    wrong_languages: frozenset[str] = frozenset()
    fields: Mapping[str, FieldKnowledge] = field(default_factory=dict)
    own_fields: Mapping[str, OwnKnowledge] = field(default_factory=dict)
    examples_digest: str = ""
    is_refused: bool = False
    judge: Prior | None = None
    baseline: Baseline | None = field(default=None, compare=False)
    quality: Quality | None = field(default=None, compare=False)
    learned_at: str = field(default="", compare=False)
    _table: SlotTable = field(init=False)
    _features: SiteFeatures = field(init=False)
    _site_fields: SiteFields = field(init=False, compare=False)
    _seen: _SeenPaths = field(init=False)
    _version: str = field(init=False, default="")
    # The decision on the last page is cached, since drift detection needs it before extraction.
    _last: tuple[Page, _Decision] | None = field(init=False, compare=False, default=None)
    _last_extraction: tuple[Extraction, bool] | None = field(
        init=False, compare=False, default=None
    )

    def __post_init__(self) -> None:
        self._table = SlotTable.of_names(self.names)
        self._features = SiteFeatures(self.features, self._table, self.noise_texts)
        self._seen = _SeenPaths(self._table, self.slots)
        self._site_fields = SiteFields(self.fields, self._table.slot, self.own_fields)

    def __repr__(self) -> str:
        learned = (
            f"learned from {counted(self.pages, 'pages')}, {counted(len(self.slots), 'slots')}"
        )
        return f"<SiteModel of {self.site!r}: {learned}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SiteModel):
            return NotImplemented
        return self is other or (self.site, self.version) == (other.site, other.version)

    def __hash__(self) -> int:
        return hash(self.site)

    def use_own_fields(self, knowledge: Mapping[str, OwnKnowledge], digest: str) -> None:
        """Set the learned knowledge of own fields, and the digest of their examples."""
        self.own_fields, self.examples_digest = knowledge, digest
        self._site_fields = SiteFields(self.fields, self._table.slot, knowledge)
        self._version = ""

    def unstated_fields(self, page: Page) -> dict[str, bool]:
        """Return the fields that a page does not state, and whether it shows each of them."""
        return self._site_fields.unstated(page)

    def keep_own_fields(self, earlier: SiteModel) -> None:
        """Take over own fields from an *earlier* model of the same examples. Only fields without a
        place in this model are taken over: the pages of their examples were not read again.
        """
        if earlier.examples_digest != self.examples_digest:
            return
        missing = {
            name: knowledge
            for name, knowledge in earlier.own_fields.items()
            if name not in self.own_fields or not self.own_fields[name].places
        }
        if missing:
            self.use_own_fields({**self.own_fields, **missing}, self.examples_digest)

    @property
    def version(self) -> str:
        """Return a short digest of the weights; models with the same version filter identically."""
        self._version = self._version or sha256(self.dump_weights()).hexdigest()[:12]
        return self._version

    def probabilities(self, page: Page) -> Floats:
        """Return for each block the probability that it is content, above 0.5 if it is kept, as an
        array of float32 of the shape (n_blocks,).

        The classifier decides, together with the prior if the model was learned from few pages. The
        prior alone decides about pages that do not resemble the sample. A person's overrides
        (`Page.corrections`) come last.
        """
        return self._corrected(page).probabilities

    def _corrected(self, page: Page) -> _Decision:
        if self._last is None or self._last[0] is not page:
            self._last = (Page.checked(page), self._decide(page))
        decision = self._last[1]
        if page.corrections:
            corrected = page.corrections.correct(decision.probabilities)
            return decision._replace(probabilities=corrected)
        return decision

    def _decide(self, page: Page) -> _Decision:
        is_alone = self.is_refused or (self.pages == 1 and self.labels == VOTES)
        if is_alone and page.content.blocks:
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
        """Tell whether hardly any of a page is kept, and much of its prose is in unseen slots."""
        if kept_chars(page.content, decided.tolist()) >= SENTENCE_CHARS:
            return False
        chars, unseen = self.unseen_prose(page)
        noise_chars = sum(
            len(block.text) - block.link_chars
            for block in page.content.blocks
            if text_key(block.text) in self.noise_texts
        )
        return unseen > UNSEEN_SHARE * (chars - noise_chars)

    def unseen_prose(self, page: Page) -> tuple[int, int]:
        """Count the characters of a page outside of links, in all slots and in unseen slots."""
        return count_prose(page.content, self._seen)

    def slot_of(self, path: str) -> str:
        """Return the slot of a block's path."""
        return self._table.slot(path)

    def unseen_slots(self, page: Page) -> Iterator[tuple[str, int]]:
        """Yield for each block in an unseen slot the slot, and its characters outside of links."""
        for block in page.content.blocks:
            slot = self._table.slot(block.path)
            if slot not in self.slots:
                yield slot, len(block.text) - block.link_chars

    def explain(self, page: Page, index: int | str) -> Explanation:
        """Return why a block of a page is kept or dropped; `print` shows it in words. *index* is
        the number of the block, or a part of its text: the first block with it counts. Raises
        IndexError or ValueError without such a block.
        """
        # Imported here, since only explaining needs CSS selectors.
        from contentspider.site.models.reasons import Reasons, blocks_with

        if isinstance(index, str):
            found = blocks_with(page, index)
            if not found:
                raise ValueError(f"the page has no text with {index!r}")
            index = found[0]
        return Reasons(self).explain(self.extract(page), index)

    def weights(self, page: Page, index: int) -> list[tuple[str, float]]:
        """Return the features of a block with their weights, the strongest first.

        A weight above 0 speaks for content, one below 0 against it.
        """
        row = self._features.rows(page.content)[index]
        return [(" ".join(feature), weight) for feature, weight in self.classifier.explain(row)]

    def is_of(self, prior: Prior | None) -> bool:
        """Tell whether the labels of the sample are by *prior* (None: the prior that ships). It is
        also true if they were made without any prior.
        """
        return not self.prior or self.prior == (prior or Prior.shipped()).digest

    def to_pandas(self) -> Any:
        """Return a DataFrame with a row for each slot of the template: slot, probability and score
        (float, 0 to 1), blocks, pages (int), example. Raises `MissingExtraError` without pandas.
        """
        return to_pandas([asdict(slot) for slot in self.summary])

    def to_arrow(self) -> Any:
        """Return the table of `to_pandas` as a pyarrow Table (extra ``parquet``)."""
        return to_arrow([asdict(slot) for slot in self.summary])

    def _repr_html_(self) -> str:
        """Return a plot for notebooks: the slots of the template by score, each with a bar of its
        probability, green for content and grey for boilerplate.
        """
        slots = sorted(self.summary, key=lambda slot: -slot.score)
        bars = [(slot.slot, slot.probability, slot.example) for slot in slots]
        return bars_html(repr(self), bars, "slots")

    def extract(self, page: Page, keep_teasers: bool = False) -> Extraction:
        """Return the content of a page; *keep_teasers* also keeps the entries of a listing. Raises
        TypeError if *page* is no `Page`, such as its HTML.
        """
        # A crawl looks for drift in a page first, and fills its item then.
        last = self._last_extraction
        if last is None or last[0].page is not page or last[1] != keep_teasers:
            last = self._last_extraction = (self._extract(page, keep_teasers), keep_teasers)
        return last[0]

    def _extract(self, page: Page, keep_teasers: bool) -> Extraction:
        probabilities, by_prior, is_guess = self._corrected(page)
        is_kept = probabilities > 0.5
        kind = page_type(page, is_kept)
        if page.content.blocks:
            if keep_teasers:
                is_kept = self._with_teasers(page, is_kept, kind)
            is_kept = with_footnotes(page.content.blocks, is_kept)
            is_kept = with_titles(page.content.blocks, is_kept)
            is_kept = with_labels(page.content, is_kept)
            if page.corrections:
                is_kept[page.corrections.kept] = True
                is_kept[page.corrections.dropped] = False
        # A page that only the prior judged has another template, so its paths count as unseen.
        seen_paths = None if by_prior and self.pages >= ENOUGH_PAGES else self._seen
        return Extraction(
            page=page,
            kept=is_kept,
            probabilities=probabilities,
            confidence=sureness(page.content, probabilities.tolist(), seen_paths),
            page_type=kind,
            site=self.site,
            model_version=self.version,
            by_prior=by_prior,
            is_guess=is_guess,
            pictures=self.pictures,
            wrong_languages=self.wrong_languages,
            site_fields=self._site_fields,
        )

    def _with_teasers(self, page: Page, kept: Bools, kind: str) -> Bools:
        """Return *kept*, extended by the entries of a listing with their teasers."""
        is_listing = kind == "listing"
        if is_listing and self.teasers:
            slots = [self._table.slot(block.path) for block in page.content.blocks]
            kept = kept | np.array([slot in self.teasers for slot in slots])
        return with_entries(page.content, kept, is_listing)

    @classmethod
    def of_prior(cls, site: str, judge: Prior | None) -> SiteModel:
        """Return a model that knows nothing of its site: the prior *judge* judges all pages."""
        nothing: frozenset[str] = frozenset()
        svm = CLASSIFIERS.load("svm").load({"intercept": -1.0, "weights": []})
        return cls(
            site=site,
            labels=VOTES,
            pages=0,
            names=nothing,
            slots=nothing,
            noise_texts=nothing,
            classifier=svm,
            summary=[],
            is_refused=True,
            judge=judge,
        )

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
        if self.wrong_languages:
            record["wrong_languages"] = sorted(self.wrong_languages)
        if self.is_refused:
            record["is_refused"] = True
        if self.fields:
            record["fields"] = {name: each.to_record() for name, each in self.fields.items()}
        if self.examples_digest:
            own = {name: each.to_record() for name, each in self.own_fields.items()}
            record["own_fields"] = {"examples": self.examples_digest, "known": own}
        return json.dumps(record, ensure_ascii=False).encode("utf-8", "surrogatepass")

    def manifest(self) -> dict[str, object]:
        """Return the manifest: facts about the model for people, as JSON values."""
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
        """Return the model of a `manifest` and its `dump_weights`; damage raises `StateError`."""
        try:
            record = json.loads(weights.decode("utf-8", "surrogatepass"))
            if manifest["schema"] != SCHEMA or record["schema"] != SCHEMA:
                raise ValueError(
                    f"its schema is {manifest['schema']!r}, but this version reads {SCHEMA}"
                )
            summary, pages = manifest["summary"], manifest["pages"]
            if not isinstance(summary, list) or not isinstance(pages, int):
                raise TypeError("in its manifest summary is not a list, or pages not a number")
            name = str(record["classifier"]["name"])
            own = record.get("own_fields", {})
            return cls(
                site=str(manifest["site"]),
                labels=str(manifest["labels"]),
                pages=pages,
                names=_text_set(record["names"]),
                slots=_text_set(record["slots"]),
                noise_texts=_text_set(record["noise_texts"]),
                classifier=CLASSIFIERS.load(name).load(record["classifier"]),
                classifier_name=name,
                summary=[SlotSummary.parse(slot) for slot in summary],
                prior=str(manifest["prior"]),
                learned_at=str(manifest["learned_at"]),
                baseline=Baseline.parse(manifest["baseline"]) if manifest["baseline"] else None,
                quality=Quality.parse(manifest["quality"]) if manifest["quality"] else None,
                features=parse_feature_sets(record["features"]),
                teasers=_text_set(record["teasers"]),
                pictures=_text_set(record.get("pictures", [])),
                wrong_languages=_text_set(record.get("wrong_languages", [])),
                is_refused=bool(record.get("is_refused", False)),
                fields={
                    name: FieldKnowledge.parse(each)
                    for name, each in record.get("fields", {}).items()
                    if name in FIELD_NAMES
                },
                own_fields={
                    name: OwnKnowledge.parse(each) for name, each in own.get("known", {}).items()
                },
                examples_digest=str(own.get("examples", "")),
            )
        except DAMAGE as error:
            raise StateError(f"the model cannot be used: {error}") from error

    def to_bytes(self) -> bytes:
        """Return the model as bytes for `from_bytes`, without the prior that `judge` names. A model
        takes some 100 kB.
        """
        manifest = json.dumps(self.manifest()).encode()
        return pack(manifest + b"\n" + self.dump_weights())

    @classmethod
    def from_bytes(cls, data: bytes) -> SiteModel:
        """Return the model that `to_bytes` wrote. Raises `StateError` if *data* is damaged, or of
        another version.
        """
        try:
            manifest, _, weights = unpack(data).partition(b"\n")
            record = json.loads(manifest)
        except DAMAGE as error:
            raise StateError(f"the model cannot be used: {error}") from error
        return cls.parse(record, weights)

    @classmethod
    def _restored(cls, data: bytes, judge: Prior | None) -> SiteModel:
        model = cls.from_bytes(data)
        model.judge = judge
        return model

    def __reduce__(self) -> Pickled:
        return pickled(SiteModel._restored, self.to_bytes(), self.judge)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Save the model as a new generation in the folder *path*, and return the folder.

        Earlier generations stay. A crash leaves the old model or the new one, never a mixture.
        """
        Generations(Path(path)).add(self.manifest(), self.dump_weights())
        return Path(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> SiteModel:
        """Return the model in the folder *path*.

        Raises FileNotFoundError if the folder has none, and `StateError` if it is damaged.
        """
        return cls.parse(*read_model(Path(path)))


def _text_set(values: list[str]) -> frozenset[str]:
    """Return the texts as a set; raises TypeError if one of them is not a text."""
    "".join(values)
    return frozenset(values)
