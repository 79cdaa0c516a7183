"""The model of one site: what was learned from its pages, and how it filters a page."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING

import numpy as np

from contentspider.errors import StateError
from contentspider.page.output import to_markdown, to_text
from contentspider.site.classifier import BlockClassifier
from contentspider.site.featuresets import SLOTS, FeatureNames, parse_feature_sets
from contentspider.site.pagetype import page_type
from contentspider.site.scorer import BlockScorer, confidence
from contentspider.site.slots import SlotTable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from contentspider.page.blocks import Block
    from contentspider.page.document import Page

SCHEMA = 2


@dataclass(frozen=True, slots=True)
class SlotSummary:
    """A slot of the site's template, for people: where it is, how much of it is content, an
    example.

    *weight* is the SVM's mean margin over its blocks (above 0 is content), *score* the slot's share in
    the global score of Algorithm 1, *blocks* and *pages* how often it was seen.
    """

    slot: str
    weight: float
    score: float
    blocks: int
    pages: int
    example: str


@dataclass(frozen=True, slots=True)
class Extraction:
    """What a model makes of a page.

    *kept* tells for each block whether it is content; *text* is the kept blocks, one a line;
    *confidence* is from 0 to 1; *page_type* is article, listing, form or other.
    """

    page: Page
    kept: NDArray[np.bool_]
    confidence: float
    page_type: str

    @property
    def blocks(self) -> list[Block]:
        """Return the kept blocks in reading order."""
        return [
            block for block, kept in zip(self.page.content.blocks, self.kept, strict=True) if kept
        ]

    @property
    def text(self) -> str:
        """Return the kept text, one block a line."""
        return to_text(self.blocks)

    @property
    def markdown(self) -> str:
        """Return the kept blocks as Markdown."""
        return to_markdown(self.blocks)


@dataclass(slots=True)
class SiteModel:
    """A site's slots and the weights of its linear SVM; `extract` filters a page with them.

    *names* are the ids and classes that the template uses, *noise_texts* the keys of texts that recur as
    boilerplate, *teasers* the slots of a listing's entries, *features* the feature sets that the
    SVM decides by.
    """

    site: str
    labels: str
    pages: int
    names: frozenset[str]
    noise_texts: frozenset[str]
    classifier: BlockClassifier
    summary: list[SlotSummary]
    prior: str = ""
    features: tuple[str, ...] = (SLOTS,)
    teasers: frozenset[str] = frozenset()
    _table: SlotTable = field(init=False, repr=False)
    _scorer: BlockScorer | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._table = SlotTable.of_names(self.names)
        weights, intercept = self.classifier.weights, self.classifier.intercept
        self._scorer = (
            BlockScorer(self._table, weights, intercept, self.noise_texts)
            if self.features == (SLOTS,)
            else None
        )

    @property
    def version(self) -> str:
        """Return a short digest of what decides: two models with one version filter alike."""
        return sha256(self.dump_weights()).hexdigest()[:12]

    def margins(self, page: Page) -> NDArray[np.float32]:
        """Return the SVM's margin for each block of the page: above 0 is content."""
        return self._decide(page)[0]

    def extract(self, page: Page, keep_teasers: bool = False) -> Extraction:
        """Return which blocks of the page are content; with *keep_teasers* those of a listing's
        entries, too.
        """
        margins, known = self._decide(page)
        kept = margins > 0
        kind = page_type(page, kept)
        if keep_teasers and kind == "listing" and self.teasers:
            kept |= np.array(
                [self._table.slot(block.path) in self.teasers for block in page.content.blocks]
            )
        return Extraction(
            page, kept, confidence(page.content.blocks, margins.tolist(), known), kind
        )

    def _decide(self, page: Page) -> tuple[NDArray[np.float32], list[bool]]:
        """Return the margin of each block, and whether its slot was there when the model was
        learned.
        """
        if self._scorer:
            scores, known = self._scorer.score(page.content)
            return np.array(scores, dtype=np.float32), known
        rows = FeatureNames(self.features, self._table).page(page.content, self.noise_texts)
        return self.classifier.decide(rows), [True] * len(rows)

    def dump_weights(self) -> bytes:
        """Return what decides as canonical JSON, for `load`."""
        record = {
            "schema": SCHEMA,
            "names": sorted(self.names),
            "noise_texts": sorted(self.noise_texts),
            "teasers": sorted(self.teasers),
            "features": list(self.features),
            "weights": dict(sorted(self.classifier.weights.items())),
            "intercept": self.classifier.intercept,
        }
        return json.dumps(record, ensure_ascii=False, indent=0).encode("utf-8", "surrogatepass")

    def manifest(self) -> dict[str, object]:
        """Return what a person wants to know of the model, as JSON values."""
        return {
            "schema": SCHEMA,
            "site": self.site,
            "version": self.version,
            "labels": self.labels,
            "pages": self.pages,
            "prior": self.prior,
            "slots": [asdict(slot) for slot in self.summary],
        }

    @classmethod
    def load(cls, manifest: dict[str, object], weights: bytes) -> SiteModel:
        """Return the model saved as *manifest* and *weights*; damaged ones raise `StateError`."""
        try:
            record = json.loads(weights.decode("utf-8", "surrogatepass"))
            if manifest["schema"] != SCHEMA or record["schema"] != SCHEMA:
                raise ValueError(
                    f"its schema is {manifest['schema']!r}, this version reads {SCHEMA}"
                )
            slots = manifest["slots"]
            if not isinstance(slots, list) or not isinstance(manifest["pages"], int):
                raise TypeError("its manifest is malformed")
            return cls(
                site=str(manifest["site"]),
                labels=str(manifest["labels"]),
                pages=manifest["pages"],
                names=frozenset(record["names"]),
                noise_texts=frozenset(record["noise_texts"]),
                classifier=BlockClassifier(
                    {name: float(weight) for name, weight in record["weights"].items()},
                    float(record["intercept"]),
                ),
                summary=[SlotSummary(**slot) for slot in slots],
                prior=str(manifest.get("prior", "")),
                features=parse_feature_sets(record["features"]),
                teasers=frozenset(record["teasers"]),
            )
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise StateError(f"the model cannot be used: {error}") from error
