"""Documents and queries in tantivy's terms."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Any

import tantivy

from contentspider.index.schema import (
    DATES,
    FACETS,
    LISTING,
    LISTING_WEIGHT,
    OWN,
    TEXTS,
    Document,
    Stored,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from contentspider.index.engine import Query
    from contentspider.index.words import Term

QUERIES, MUST, SHOULD = tantivy.Query, tantivy.Occur.Must, tantivy.Occur.Should
TOKENIZER = "whitespace"


def to_tantivy(document: Document) -> tantivy.Document:
    """Return a document as tantivy takes it; raises ValueError or TypeError if that cannot be."""
    record = document.record()
    written = {name: record[name] for name in (*OWN, *FACETS) if name in record}
    written |= {name: datetime.fromisoformat(record[name]) for name in DATES if name in record}
    # In ASCII: "more" may have a half emoji (a lone surrogate).
    written |= document.words() | {"record": json.dumps(record).encode()}
    return tantivy.Document.from_dict(written, SCHEMA)


def to_query(query: Query, wanted: Sequence[Term], is_all: bool) -> tantivy.Query:
    """Return the query for documents with all of the terms *wanted*, or some."""
    parts = [
        (MUST, QUERIES.const_score_query(equal(name, value), 0.0))
        for name, value in query.filters.items()
    ]
    if not wanted:
        return QUERIES.boolean_query([*parts, (MUST, QUERIES.all_query())])
    found = [(MUST if is_all else SHOULD, _anywhere(term)) for term in wanted]
    row = tuple(word for term in wanted for word in term[0])
    if len(row) == len(wanted) > 1:
        # A title that was typed comes first of those with the same words.
        found.append((SHOULD, _anywhere((row,))))
    return QUERIES.boolean_query([*parts, (MUST, _pages_first(QUERIES.boolean_query(found)))])


def _pages_first(found: tantivy.Query) -> tantivy.Query:
    """Return a query that finds the same, with listings behind pages that fit as well."""
    listing = QUERIES.const_score_query(equal("page_type", LISTING), 0.0)
    pages = QUERIES.boolean_query([(MUST, found), (tantivy.Occur.MustNot, listing)])
    listings = QUERIES.boolean_query([(MUST, found), (MUST, listing)])
    weighted = QUERIES.boost_query(listings, LISTING_WEIGHT)
    return QUERIES.boolean_query([(SHOULD, pages), (SHOULD, weighted)])


def _anywhere(term: Term) -> tantivy.Query:
    """Return the query for one of a term's forms in any text of a document."""
    fields = []
    for text in TEXTS:
        for row in term:
            found = (
                QUERIES.phrase_query(SCHEMA, text.name, list(row))
                if len(row) > 1
                else QUERIES.term_query(SCHEMA, text.name, row[0])
            )
            fields.append((SHOULD, QUERIES.boost_query(found, text.weight)))
    return QUERIES.boolean_query(fields)


def equal(name: str, value: str) -> tantivy.Query:
    """Return the query for documents with this value."""
    return QUERIES.term_query(SCHEMA, name, value, "basic")


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    for name in ("id", "crawl", "hash"):
        builder.add_text_field(name, stored=True, tokenizer_name="raw", index_option="basic")
    builder.add_integer_field("version", stored=True)
    for name in FACETS:
        builder.add_text_field(name, fast=True, tokenizer_name="raw", index_option="basic")
    for name in DATES:
        builder.add_date_field(name, indexed=True, fast=True)
    for text in TEXTS:
        builder.add_text_field(text.name, tokenizer_name=TOKENIZER)
    builder.add_bytes_field("record", stored=True)
    return builder.build()


def to_stored(found: tantivy.Document) -> Stored:
    """Return the state of a document that was found."""
    values: list[Any] = [found.get_first(name) for name in OWN]
    return Stored(*values)


def to_record(found: tantivy.Document) -> dict[str, Any]:
    """Return the fields of a document that was found, as they were written."""
    whole: Any = found.get_first("record")
    record: dict[str, Any] = json.loads(bytes(whole))
    return record


SCHEMA = _schema()
