"""A crawl's reading of a page: with it, a page that has not changed need not be read again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import compress
from struct import Struct, error
from typing import TYPE_CHECKING

from contentspider.state.outcome import DROPPED

if TYPE_CHECKING:
    from collections.abc import Iterable

    from contentspider.site.models.record import Extraction

# The stats of the doubts about a page, without their prefix. Each is one bit of `Reading.dump`.
DOUBTS = ("low_confidence", "by_prior", "guessed")
# Pages of an unknown template have a lower confidence: blocks in unknown slots count half at most.
LOW_CONFIDENCE = 0.5
IS_REPEATED = 1 << len(DOUBTS)
NO_TEXT = "no_text"
# Why the item of a page has less than a sentence ("": it has more). They follow in the same byte.
EMPTY = ("", NO_TEXT, "listing", DROPPED)
EMPTY_BIT = len(DOUBTS) + 1
CLAIM_BYTES = 12
NO_CLAIM = bytes(CLAIM_BYTES)
RECORD = Struct(f"<8sIIB4s{CLAIM_BYTES}s")


@dataclass(frozen=True, slots=True)
class Reading:
    """The result of a page, apart from its item.

    *key* (8 bytes) stands for all that the result depends on beside the page: the model of its
    site, the options of the crawl, and the version of this package. *kept* and *dropped* count the
    characters of its text, *doubts* are some of `DOUBTS`. *template* is the number of its template
    (`page_template`). *content_claim* is the claim on its main content (b"": none), *claims* are
    those on its texts. It *is_repeated* if it had no new text among the pages of its shape. *empty*
    is one of `EMPTY`.
    """

    key: bytes
    kept: int
    dropped: int
    doubts: tuple[str, ...]
    template: bytes
    content_claim: bytes
    claims: tuple[bytes, ...] = ()
    is_repeated: bool = False
    empty: str = ""

    def dump(self) -> bytes:
        """Return the reading as bytes, for `load`."""
        flags = sum(1 << number for number, name in enumerate(DOUBTS) if name in self.doubts)
        flags |= IS_REPEATED if self.is_repeated else 0
        flags |= EMPTY.index(self.empty) << EMPTY_BIT
        counts = self.kept, self.dropped, flags
        claim = self.content_claim or NO_CLAIM
        return RECORD.pack(self.key, *counts, self.template, claim) + b"".join(self.claims)

    @classmethod
    def load(cls, data: bytes) -> Reading | None:
        """Return the reading that `dump` wrote; None for b"", or if it is damaged."""
        try:
            key, kept, dropped, flags, template, claim = RECORD.unpack_from(data)
        except (error, TypeError):
            return None
        return cls(
            key,
            kept,
            dropped,
            tuple(name for number, name in enumerate(DOUBTS) if flags & 1 << number),
            template,
            claim if claim != NO_CLAIM else b"",
            _pieces(data[RECORD.size :]),
            bool(flags & IS_REPEATED),
            EMPTY[flags >> EMPTY_BIT & 3],
        )

    def with_claims(self, data: bytes) -> Reading | None:
        """Return the reading with what `dump_claims` wrote; None for b""."""
        if not data:
            return None
        return replace(self, is_repeated=bool(data[0]), claims=_pieces(data[1:]))


def doubts_of(extraction: Extraction) -> tuple[str, ...]:
    """Return which `DOUBTS` there are about a model's decision."""
    is_unsure = extraction.confidence < LOW_CONFIDENCE
    flags = (is_unsure, extraction.by_prior, extraction.is_guess)
    return tuple(compress(DOUBTS, flags))


def dump_claims(claims: Iterable[bytes], is_repeated: bool) -> bytes:
    """Return the *claims* of a page on its texts, and whether it *is_repeated*, as bytes."""
    return bytes([is_repeated]) + b"".join(claims)


def _pieces(data: bytes) -> tuple[bytes, ...]:
    return tuple(data[at : at + CLAIM_BYTES] for at in range(0, len(data), CLAIM_BYTES))
