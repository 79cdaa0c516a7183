"""Conversion of documents and queries to the types of tantivy."""

from __future__ import annotations

import json
from datetime import datetime
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Any

import tantivy

from contentspider.index.filters import PAGE_DATE, Bound, Condition, utc_text
from contentspider.index.own_fields import ORDER, OWN, TEXT, seconds_of, with_sortable_integers
from contentspider.index.schema import (
    DATE_FIELDS,
    DEMOTED_TYPES,
    DEMOTED_WEIGHT,
    FACETS,
    NAME_FIELDS,
    STATE_FIELDS,
    TEXT_FIELDS,
    Document,
    DocumentState,
)
from contentspider.index.titles import NAMED_SCORE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from contentspider.index.engine import Query
    from contentspider.index.filters import Order
    from contentspider.index.titles import Titled
    from contentspider.index.words import Term

QUERIES, MUST, SHOULD = tantivy.Query, tantivy.Occur.Must, tantivy.Occur.Should
TEXT_WEIGHTS = {text.name: text.weight for text in TEXT_FIELDS}
TOKENIZER = "whitespace"
OTHER_FIELDS = 0.1  # the share of the score of a word in further fields; measured with 0.1 to 1
# The smallest and the largest integer, and the first and the last second of dates since 1970.
INTEGERS = 1 - 2**63, 2**63 - 1
PAGE_DATES = -62_135_596_800, 253_402_300_799
# Words of a query that follow each other in the text with at most so many words between them have
# this weight more: pages whose paragraph is searched win. Measured with 0.25 to 1.5.
NEAR_WORDS, NEAR_WEIGHT = (10, 40), 1.5
# Each page has a document, and so has each of its sections. The field PAGE has the id of the page.
KIND, PAGE, SECTION = "kind", "page", "section"


def to_tantivy(document: Document) -> list[tantivy.Document]:
    """Convert a document to the documents of its page and of the page's sections.

    Raises ValueError or TypeError if it cannot be converted.
    """
    record = document.record()
    shared = {name: record[name] for name in FACETS if name in record} | {PAGE: document.id}
    shared |= {name: datetime.fromisoformat(record[name]) for name in DATE_FIELDS if name in record}
    if own_values := document.own_values():
        shared[OWN] = with_sortable_integers(own_values)
    values = {name: record[name] for name in STATE_FIELDS}
    values |= {KIND: PAGE, **shared, **document.searchable_words()}
    # JSON escapes lone surrogates, which may be in "more".
    values["record"] = json.dumps(record).encode()
    sections = [{KIND: SECTION, **shared, **words} for words in document.searchable_sections()]
    return [tantivy.Document.from_dict(fields, SCHEMA) for fields in (values, *sections)]


def pages_only(query: tantivy.Query) -> tantivy.Query:
    """Return the query for the pages, without the sections, that match a query."""
    page = QUERIES.const_score_query(equal(KIND, PAGE), 0.0)
    return QUERIES.boolean_query([(MUST, page), (MUST, query)])


def to_query(
    query: Query, groups: Sequence[Sequence[Term]], titles: Titled, has_demoted: bool
) -> tantivy.Query:
    """Return the query for pages and sections with all terms of one of the *groups*; all of them if
    there is none. Pages with *titles* and their sections come first. Without `DEMOTED_TYPES` among
    the pages (*has_demoted*), it takes half of the time.
    """
    parts = _filters(query)
    if not groups:
        return QUERIES.boolean_query([*parts, (MUST, QUERIES.all_query())])
    alternatives = [*map(_all_of, groups), *_with_titles(titles)]
    words = QUERIES.boolean_query([(SHOULD, each) for each in alternatives])
    bonuses = [(SHOULD, _named(whole)) for whole in titles.wholes]
    bonuses += [
        (SHOULD, QUERIES.const_score_query(_any_page([page]), score))
        for page, score in titles.scores.items()
    ]
    if has_demoted:
        words = _demote_types(words)
    return QUERIES.boolean_query([*parts, (MUST, words), *bonuses])


def to_matches_query(
    query: Query, groups: Sequence[Sequence[Term]], titles: Titled
) -> tantivy.Query:
    """Return the query for the pages that `to_query` finds, without scores: it takes a third of the
    time.
    """
    words = QUERIES.all_query()
    if groups:
        alternatives = [_all_of(terms, False) for terms in groups] + _with_titles(titles)
        words = QUERIES.boolean_query([(SHOULD, each) for each in alternatives])
    return pages_only(QUERIES.boolean_query([*_filters(query), (MUST, words)]))


def to_titles_query(query: Query, phrases: Sequence[tuple[str, ...]]) -> tantivy.Query:
    """Return the query for pages that match the filters of a query, and whose titles have one of
    the *phrases*. The rarest phrases come first, and then the shortest titles.
    """
    titles = QUERIES.boolean_query([(SHOULD, _form(phrase, "title")) for phrase in phrases])
    return pages_only(QUERIES.boolean_query([*_filters(query), (MUST, titles)]))


def _filters(query: Query) -> list[tuple[tantivy.Occur, tantivy.Query]]:
    """Return the clauses of the filters of a query, which do not change scores."""
    filters = [
        QUERIES.term_set_query(SCHEMA, name, list(values))
        for name, values in query.conditions.items()
    ]
    filters += map(_any_of, query.required)
    return [(MUST, QUERIES.const_score_query(each, 0.0)) for each in filters]


def _any_page(ids: Sequence[str | int]) -> tantivy.Query:
    """Return the query for some pages and their sections."""
    return QUERIES.term_set_query(SCHEMA, PAGE, list(ids))


def _all_of(terms: Sequence[Term], is_scored: bool = True) -> tantivy.Query:
    """Return the query for documents with all of some terms."""
    clauses = [(MUST, _any_text_field(term)) for term in terms]
    phrase = tuple(word for term in terms for word in term[0])
    if is_scored and len(phrase) == len(terms) > 1:
        # Of pages with the same words, pages with the words in this order come first.
        clauses.append((SHOULD, _any_text_field((phrase,))))
        for most in NEAR_WORDS:
            near = QUERIES.phrase_query(SCHEMA, "content", list(phrase), most)
            clauses.append((SHOULD, QUERIES.boost_query(near, NEAR_WEIGHT)))
    return QUERIES.boolean_query(clauses)


def _with_titles(titles: Titled) -> list[tantivy.Query]:
    """Return the queries for the pages that have one of the *titles*, maybe without all words."""
    return [_form((title,), "title") for title in titles.titles]


def _named(text: str) -> tantivy.Query:
    """Return the query for documents with a title, a heading or a text of a link that is the query
    (`whole_text`).
    """
    forms = [(SHOULD, _form((text,), name)) for name in NAME_FIELDS]
    return QUERIES.const_score_query(QUERIES.boolean_query(forms), NAMED_SCORE)


def order_path(order: Order) -> str:
    """Return the path of the values that an order sorts by."""
    return order.name if order.is_page_date else own_path(ORDER, order.name)


def with_order_value(query: tantivy.Query, order: Order, value: str | int | None) -> tantivy.Query:
    """Return the query for the documents that match a query and have a *value* that an order sorts
    by: the text of a date, or an integer (`with_sortable_integers`). With None it is the query for
    the documents without a value.
    """
    kind = PAGE_DATE if order.is_page_date else ORDER
    first, last = PAGE_DATES if order.is_page_date else INTEGERS
    if isinstance(value, int):
        first = last = value
    elif value is not None:
        first, last = seconds_of(value) or PAGE_DATES
    bounds = (Bound(">=", first), Bound("<=", last))
    within = _within(Condition(kind, order.name, bounds))
    if value is None:
        return QUERIES.boolean_query([(MUST, query), (tantivy.Occur.MustNot, within)])
    return QUERIES.boolean_query([(MUST, query), (MUST, QUERIES.const_score_query(within, 0.0))])


def _any_of(alternatives: Sequence[Condition]) -> tantivy.Query:
    """Return the query for documents that meet one of several conditions."""
    return QUERIES.boolean_query([(SHOULD, _within(condition)) for condition in alternatives])


def _within(condition: Condition) -> tantivy.Query:
    """Return the query for documents with a value of a field within the bounds of a condition."""
    path = own_path(condition.type, condition.name)
    if condition.type == TEXT:
        return equal(path, str(condition.bounds[0].value))
    # The package tantivy makes queries for ranges in JSON from text only.
    if condition.type == PAGE_DATE:
        path = condition.name
        bounds = [(operator, utc_text(float(value))) for operator, value in condition.bounds]
    else:
        bounds = [(operator, f"{Decimal(repr(value)):f}") for operator, value in condition.bounds]
    low, high = "{*", "*}"
    for operator, value in bounds:
        low = {">": f"{{{value}", ">=": f"[{value}", "=": f"[{value}"}.get(operator, low)
        high = {"<": f"{value}}}", "<=": f"{value}]", "=": f"{value}]"}.get(operator, high)
    return _parser().parse_query(f"{path}:{low} TO {high}")


@cache
def _parser() -> tantivy.Index:
    return tantivy.Index(SCHEMA)


def own_path(kind: str, name: str) -> str:
    """Return the path of the values of an own field that have a type, or of its `ORDER`."""
    return f"{OWN}.{kind}.{name}"


def _demote_types(matches: tantivy.Query) -> tantivy.Query:
    """Return a query that matches the same documents and lowers the scores of `DEMOTED_TYPES`."""
    types = [(SHOULD, equal("page_type", page_type)) for page_type in DEMOTED_TYPES]
    type_filter = QUERIES.const_score_query(QUERIES.boolean_query(types), 0.0)
    pages = QUERIES.boolean_query([(MUST, matches), (tantivy.Occur.MustNot, type_filter)])
    listings = QUERIES.boolean_query([(MUST, matches), (MUST, type_filter)])
    demoted = QUERIES.boost_query(listings, DEMOTED_WEIGHT)
    return QUERIES.boolean_query([(SHOULD, pages), (SHOULD, demoted)])


def _any_text_field(term: Term) -> tantivy.Query:
    """Return the query for any form of a term in any of the text fields.

    The best field counts in full, the others for a share: a word that is in the title, a heading
    and the text is one word.
    """
    forms = [
        QUERIES.boost_query(_form(phrase, name), TEXT_WEIGHTS[name])
        for name in TEXT_WEIGHTS
        for phrase in term
    ]
    return QUERIES.disjunction_max_query(forms, OTHER_FIELDS)


def _form(phrase: tuple[str, ...], name: str) -> tantivy.Query:
    """Return the query for a phrase of one or more words in the text field *name*."""
    if len(phrase) > 1:
        return QUERIES.phrase_query(SCHEMA, name, list(phrase))
    return QUERIES.term_query(SCHEMA, name, phrase[0])


def equal(name: str, value: str) -> tantivy.Query:
    """Return the query for documents whose field *name* has this value."""
    return QUERIES.term_query(SCHEMA, name, value, "basic")


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    for name in ("id", "crawl", "hash", PAGE):
        builder.add_text_field(name, stored=True, tokenizer_name="raw", index_option="basic")
    builder.add_text_field(KIND, tokenizer_name="raw", index_option="basic")
    builder.add_integer_field("version", stored=True)
    for name in FACETS:
        builder.add_text_field(name, fast=True, tokenizer_name="raw", index_option="basic")
    for name in DATE_FIELDS:
        builder.add_date_field(name, indexed=True, fast=True)
    for text in TEXT_FIELDS:
        builder.add_text_field(text.name, tokenizer_name=TOKENIZER)
    builder.add_json_field(OWN, fast=True, tokenizer_name="raw", index_option="basic")
    builder.add_bytes_field("record", stored=True)
    return builder.build()


def to_state(document: tantivy.Document) -> DocumentState:
    """Return the state of a document that tantivy returned."""
    values: list[Any] = [document.get_first(name) for name in STATE_FIELDS]
    return DocumentState(*values)


def page_id(document: tantivy.Document) -> str:
    """Return the id of the page of a document that tantivy returned."""
    page: Any = document.get_first(PAGE)
    return str(page)


def is_page(document: tantivy.Document) -> bool:
    """Tell whether a document that tantivy returned is a page, not a section."""
    return document.get_first("id") is not None


def to_record(document: tantivy.Document) -> dict[str, Any]:
    """Return all fields of a document that tantivy returned, as they were written."""
    json_bytes: Any = document.get_first("record")
    record: dict[str, Any] = json.loads(bytes(json_bytes))
    return record


SCHEMA = _schema()
