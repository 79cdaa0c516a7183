"""What a search shows of the documents that it found."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from contentspider.index.words import query_terms, snippet

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from contentspider.index.engine import Query, Results

# A snippet's characters, and how much of a text is looked at for it.
SNIPPET_CHARS = 240
MAX_CHARS = 1_000_000


@dataclass(frozen=True, slots=True)
class Shown:
    """A document as a list of results shows it: its place in it (*rank*, from 1), how well it fits
    (*score*), and the part of its text that has most of the words, in pieces of which those that
    were searched are marked (True).
    """

    rank: int
    score: float
    id: str
    url: str
    title: str
    pieces: Sequence[tuple[str, bool]] = field(repr=False)
    record: Mapping[str, Any] = field(repr=False)

    @property
    def snippet(self) -> str:
        """Return the part of the text without marks."""
        return "".join(text for text, _ in self.pieces)

    def to_dict(self) -> dict[str, Any]:
        """Return what ``contentspider search --json`` says of it."""
        return {
            "rank": self.rank,
            "score": round(self.score, 4),
            "id": self.id,
            "url": self.url,
            "title": self.title,
            "snippet": self.snippet,
        }


def shown_results(query: Query, results: Results) -> list[Shown]:
    """Return the documents that a query found as a list shows them."""
    terms = query_terms(query.words)
    return [
        Shown(
            query.offset + place,
            hit.score,
            str(hit.record["id"]),
            str(hit.record.get("url", "")),
            str(hit.record.get("title") or hit.record.get("url", "")),
            snippet(_text(hit.record), terms, SNIPPET_CHARS),
            hit.record,
        )
        for place, hit in enumerate(results.hits, 1)
    ]


def _text(record: Mapping[str, Any]) -> str:
    return str(record.get("content") or record.get("description") or "")[:MAX_CHARS]
