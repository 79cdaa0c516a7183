"""The list of results that a search shows: pages, with a snippet and the sections that match."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from contentspider.index.questions import subject_of
from contentspider.index.sections import page_sections
from contentspider.index.snippets import matching_words, snippet
from contentspider.index.words import query_prefixes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from contentspider.index.engine import Hit, Query, Results
    from contentspider.index.sections import Section

    # The parts of a snippet, each with True if the part matches a searched word.
    Pieces = Sequence[tuple[str, bool]]

MAX_SECTIONS = 2
SHOWN_DATES = ("published_at", "modified_at")


@dataclass(frozen=True, slots=True)
class SectionRow:
    """A section of a page that matches a query: its *url*, *headings* (`Section`) and a snippet."""

    url: str
    headings: Sequence[str]
    pieces: Pieces = field(repr=False)

    @property
    def heading(self) -> str:
        """The section's own heading."""
        return self.headings[-1]

    def to_dict(self) -> dict[str, Any]:
        """Return the fields that ``contentspider search --json`` prints of a section."""
        return {"url": self.url, "headings": list(self.headings), "snippet": _text(self.pieces)}


@dataclass(frozen=True, slots=True)
class ResultRow:
    """A search result in a list. *rank* counts from 1.

    *pieces* are the snippet of the page. *sections* are the sections that have most words of the
    query, at most `MAX_SECTIONS`. *also_at* has the addresses of further results with the same
    title and content, and of the copies that their items list.
    """

    rank: int
    score: float
    id: str
    url: str
    title: str
    pieces: Pieces = field(repr=False)
    record: Mapping[str, Any] = field(repr=False)
    sections: Sequence[SectionRow] = ()
    also_at: Sequence[str] = ()

    @property
    def own_fields(self) -> Mapping[str, Any]:
        """The user's own fields of the page, by name."""
        fields: Mapping[str, Any] = self.record.get("fields", {})
        return fields

    def to_dict(self) -> dict[str, Any]:
        """Return the fields that ``contentspider search --json`` prints."""
        return {
            "rank": self.rank,
            "score": round(self.score, 4),
            "id": self.id,
            "url": self.url,
            "title": self.title,
            "snippet": _text(self.pieces),
            "sections": [section.to_dict() for section in self.sections],
            "also_at": list(self.also_at),
            "fields": self.own_fields,
            **{name: str(self.record.get(name, "")) for name in SHOWN_DATES},
        }


def result_rows(query: Query, results: Results) -> list[ResultRow]:
    """Return a row for each document in the results of a query. Equal pages share one row."""
    words = results.corrected or query.words
    rows = []
    for rank, (hit, copies) in enumerate(_without_copies(results.hits), query.offset + 1):
        record = hit.record
        url, title = str(record.get("url", "")), str(record.get("title", ""))
        languages = [record.get("language", "")]
        if hit.snippet is None:
            searched = query.synonyms.with_synonyms(subject_of(words, languages), languages)
        else:
            searched = " ".join(text for text, is_match in hit.snippet if is_match)
        prefixes = query_prefixes(searched, languages)
        rows.append(
            ResultRow(
                rank,
                hit.score,
                str(record["id"]),
                url,
                title or url,
                hit.snippet or snippet(_shown_text(record), prefixes),
                record,
                _section_rows(record, prefixes, hit.nearest_section),
                _other_addresses([hit.record, *(copy.record for copy in copies)]),
            )
        )
    return rows


def _shown_text(record: Mapping[str, Any]) -> str:
    """Return the text that the snippet of a document comes from: its content, or its description.

    A sign stands behind headings that end in a word: in a snippet, which is one line, they would
    run into the prose.
    """
    headings = {heading.lstrip("# ") for heading in record.get("headings", ())}
    lines = str(record.get("content") or record.get("description") or "").split("\n")
    return "\n".join(
        f"{line} ·" if line in headings and line[-1:].isalnum() else line for line in lines
    )


def listed_copies(record: Mapping[str, Any]) -> list[str]:
    """Return the addresses of copies that the item of a document lists (its field ``also_at``)."""
    addresses = record.get("more", {}).get("also_at", [])
    return list(map(str, addresses)) if isinstance(addresses, list) else []


def _other_addresses(records: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return all addresses of equal documents, without the address of the first document."""
    first, *further = (str(record.get("url", "")) for record in records)
    listed = (address for record in records for address in listed_copies(record))
    return [address for address in dict.fromkeys([*further, *listed]) if address != first]


def _without_copies(hits: Iterable[Hit]) -> list[tuple[Hit, list[Hit]]]:
    """Return the hits, each with the later hits that have the same title and content."""
    hits_by_text: dict[tuple[str, str], tuple[Hit, list[Hit]]] = {}
    for hit in hits:
        content = hit.record.get("content")
        text = (
            (str(hit.record.get("title", "")), str(content)) if content else (hit.record["id"], "")
        )
        first, copies = hits_by_text.setdefault(text, (hit, []))
        if first is not hit:
            copies.append(hit)
    return list(hits_by_text.values())


def _section_rows(
    record: Mapping[str, Any], prefixes: Sequence[str], nearest_section: int
) -> list[SectionRow]:
    """Return the sections that have most of the searched words, the best first, or the section that
    is nearest in meaning if none has any of the words.

    Some sections lead to no better place than their page, and are left out: sections without an
    anchor, sections whose heading is the page's title, and sections with fewer of the words than
    the text above all headings.
    """
    candidates: list[tuple[int, int, bool, Section]] = []
    most = 0
    for number, section in enumerate(page_sections(record)):
        heading = section.headings[-1] if section.headings else ""
        in_heading = matching_words(heading, prefixes)
        count = len(in_heading | matching_words(section.text, prefixes))
        most = max(most, count)
        if section.url != record.get("url") and heading != record.get("title"):
            candidates.append((count, len(in_heading), number == nearest_section, section))
    best = sorted(
        (candidate for candidate in candidates if candidate[0] == most and (most or candidate[2])),
        key=lambda candidate: -candidate[1],
    )
    return [
        SectionRow(section.url, section.headings, snippet(section.text, prefixes))
        for *_, section in best[:MAX_SECTIONS]
    ]


def _text(pieces: Pieces) -> str:
    return "".join(text for text, _ in pieces)
