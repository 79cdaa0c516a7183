"""What tantivy is given, and asked: documents, words and queries in its terms."""

from __future__ import annotations

import json
import re
from itertools import groupby
from typing import TYPE_CHECKING, Any
from unicodedata import normalize

import tantivy

from contentspider.index.engine import Stored
from contentspider.index.errors import EngineError
from contentspider.index.schema import FACETS, LISTING, LISTING_WEIGHT, TEXTS
from contentspider.page.text import TOKEN, UNSPACED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from contentspider.index.document import Document
    from contentspider.index.engine import Query

# The name of `ANALYZER` in an index: each who opens one has to say what it is.
WORDS = "words"
# Nobody writes longer words: data is not searched.
MAX_WORD_BYTES = 200
# What is searched of a query: beyond this each word costs time, and tells nothing more.
MAX_TERMS = 64
# Chinese, Japanese and Korean words have two characters mostly; in Thai, where vowels and tones are
# characters, so many.
GRAM, THAI_GRAM = 2, 4
UNSPACED_CHARACTER = re.compile(rf"[{UNSPACED}]")
THAI = re.compile(r"[\u0e00-\u0e7f]")


def to_tantivy(document: Document) -> tantivy.Document:
    """Return a document as tantivy takes it; raises ValueError or TypeError if that cannot be."""
    record = document.record()
    written = tantivy.Document()
    written.add_text("id", document.id)
    written.add_text("crawl", document.crawl)
    written.add_integer("version", document.version)
    written.add_text("hash", document.hash)
    for name in FACETS:
        if name in record:
            written.add_text(name, record[name])
    for text in TEXTS:
        values = record.get(text.name, ())
        for value in values if text.is_list else [values] if values else ():
            written.add_text(text.name, normalize("NFKC", value))
    # "more" may have a half emoji (a lone surrogate): it comes back as it was.
    whole = json.dumps(record, ensure_ascii=False).encode("utf-8", "surrogatepass")
    written.add_bytes("record", whole)
    return written


def to_query(query: Query, occur: tantivy.Occur) -> tantivy.Query:
    """Return the query for documents with all words of *query* (Must) or some (Should)."""
    queries = tantivy.Query
    parts = []
    for name, value in query.filters.items():
        if name not in FACETS:
            raise EngineError(f"results are not narrowed by {name!r}; by {', '.join(FACETS)}")
        is_so = queries.term_query(SCHEMA, name, value, "basic")
        parts.append((tantivy.Occur.Must, queries.const_score_query(is_so, 0.0)))
    if query.words.strip():
        terms, row = _terms(query.words)
        words = [(occur, _anywhere(term)) for term in terms]
        if len(row) > 1:
            # Who types a title has it first, among others with the same words.
            words.append((tantivy.Occur.Should, _anywhere(row)))
        found = _pages_first(queries.boolean_query(words)) if words else queries.empty_query()
    else:
        found = queries.all_query()
    return queries.boolean_query([*parts, (tantivy.Occur.Must, found)])


def _pages_first(found: tantivy.Query) -> tantivy.Query:
    """Return a query that finds the same, with listings behind pages that fit as well."""
    queries = tantivy.Query
    listing = queries.const_score_query(
        queries.term_query(SCHEMA, "page_type", LISTING, "basic"), 0.0
    )
    pages = queries.boolean_query([(tantivy.Occur.Must, found), (tantivy.Occur.MustNot, listing)])
    listings = queries.boolean_query([(tantivy.Occur.Must, found), (tantivy.Occur.Must, listing)])
    return queries.boolean_query(
        [
            (tantivy.Occur.Should, pages),
            (tantivy.Occur.Should, queries.boost_query(listings, LISTING_WEIGHT)),
        ]
    )


def _anywhere(term: tuple[str, ...]) -> tantivy.Query:
    """Return the query for a word, or characters in a row, in any text of a document."""
    queries = tantivy.Query
    fields = []
    for text in TEXTS:
        found = (
            queries.phrase_query(SCHEMA, text.name, list(term))
            if len(term) > 1
            else queries.term_query(SCHEMA, text.name, term[0])
        )
        fields.append((tantivy.Occur.Should, queries.boost_query(found, text.weight)))
    return queries.boolean_query(fields)


def _terms(words: str) -> tuple[list[tuple[str, ...]], tuple[str, ...]]:
    """Return what is searched: each word, and of scripts without spaces each so many characters
    in a row, since nobody says where their words end; and all words and characters in their row.
    """
    terms: dict[tuple[str, ...], None] = {}
    run: list[str] = []
    end = -1
    # What a terminal hands over may be no UTF-8.
    written = normalize("NFKC", words).encode("utf-8", "replace").decode()
    tokens = ANALYZER.pre_tokenize(written).tokens
    for token in tokens:
        is_unspaced = UNSPACED_CHARACTER.match(token.text)
        if run and (not is_unspaced or token.char_offset_from != end):
            terms |= dict.fromkeys(_grams(run))
            run = []
        if is_unspaced:
            run.append(token.text)
            end = token.char_offset_to
        else:
            terms[(token.text,)] = None
    terms |= dict.fromkeys(_grams(run))
    return list(terms)[:MAX_TERMS], tuple(token.text for token in tokens[:MAX_TERMS])


def _grams(run: list[str]) -> Iterator[tuple[str, ...]]:
    """Yield what is searched of unspaced characters in a row."""
    for is_thai, characters in groupby(run, key=lambda character: bool(THAI.match(character))):
        row = tuple(characters)
        length = THAI_GRAM if is_thai else GRAM
        for start in range(max(len(row) - length, 0) + 1):
            yield row[start : start + length]


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    for name in ("id", "crawl", "hash"):
        builder.add_text_field(name, stored=True, tokenizer_name="raw", index_option="basic")
    builder.add_integer_field("version", stored=True)
    for name in FACETS:
        builder.add_text_field(name, fast=True, tokenizer_name="raw", index_option="basic")
    for text in TEXTS:
        builder.add_text_field(text.name, tokenizer_name=WORDS)
    builder.add_bytes_field("record", stored=True)
    return builder.build()


def _analyzer() -> tantivy.TextAnalyzer:
    """Return how texts and queries are read: single characters of scripts without spaces, words
    of others, in small letters and without accents.
    """
    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.regex(TOKEN.pattern))
    for step in (
        tantivy.Filter.remove_long(MAX_WORD_BYTES),
        tantivy.Filter.lowercase(),
        tantivy.Filter.ascii_fold(),
    ):
        builder = builder.filter(step)
    return builder.build()


def to_stored(found: tantivy.Document) -> Stored:
    """Return the state of a document that was found."""
    values: list[Any] = [found.get_first(name) for name in ("id", "crawl", "version", "hash")]
    return Stored(*values)


def to_record(found: tantivy.Document) -> dict[str, Any]:
    """Return the fields of a document that was found, as they were written."""
    whole: Any = found.get_first("record")
    record: dict[str, Any] = json.loads(bytes(whole).decode("utf-8", "surrogatepass"))
    return record


SCHEMA = _schema()
ANALYZER = _analyzer()
