"""What becomes of the fields of an item in a document, and what an index says of itself."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from contentspider.index.engines.common import ServerEngine
from contentspider.index.errors import EngineError
from contentspider.index.marks import VERSION, Manifest, SchemaMismatchError
from contentspider.index.schema import (
    FACETS,
    FIELDS_BY_NAME,
    TEXT_FIELDS,
    Document,
    Kind,
    document_fields,
    join_lines,
)
from contentspider.index.sqlite import SQLiteEngine


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"title": "Tea", "content": ""}, {"title": "Tea"}),
        ({"title": 5, "headings": ["a", 5], "author": "Ada"}, None),
        ({"price": 0, "tags": [], "sizes": {}, "note": None}, {"more": {"price": 0}}),
        ({"more": "x", "price": [1]}, {"more": {"more": "x", "price": [1]}}),
        ({"id": "a", "crawl": "b", "version": 3, "hash": "c"}, {}),
        ({"title": "\ud83d!", "keywords": ["\ud83d"]}, {"title": "?!", "keywords": ["?"]}),
        ({"published_at": "2026-01-02"}, {"published_at": "2026-01-02T00:00:00+00:00"}),
        ({"published_at": "2026-01-02T03:04:05.6Z"}, {"published_at": "2026-01-02T03:04:05+00:00"}),
        ({"published_at": "soon"}, {"more": {"published_at": "soon"}}),
        (
            {"published_at": "0001-01-01T00:00+02:00"},
            {"more": {"published_at": "0001-01-01T00:00+02:00"}},
        ),
    ],
)
def test_item_fields_are_converted_to_their_document_types(
    given: dict[str, Any], found: Any
) -> None:
    expected = found if found is not None else {"title": "5", "headings": ["a", "5"]}
    expected |= {"author": ["Ada"]} if found is None else {}
    assert document_fields(given) == expected


def test_list_field_is_joined_by_newlines() -> None:
    assert join_lines(["a", "b"]) == "a\nb"
    assert (join_lines("a"), join_lines(None), join_lines(5)) == ("a", "", "5")


def test_document_record_and_words_contain_its_fields() -> None:
    fields = {"headings": ["Green tea", "Black"], "title": "Tea", "url": "http://e.org/"}
    document = Document("a", "e.org", 3, "h", fields)
    assert document.record() == fields | {"id": "a", "crawl": "e.org", "version": 3, "hash": "h"}
    words = document.searchable_words()
    assert list(words) == [text.name for text in TEXT_FIELDS]
    assert (words["title"], words["content"]) == ("tea ␟tea", "")
    assert words["headings"] == "green tea black ␟green␟tea ␟black"


def test_index_schema_constants_are_stable() -> None:
    assert FACETS == ("site", "language", "page_type")
    assert {text.name: text.weight for text in TEXT_FIELDS} == {
        "title": 4.0,
        "headings": 2.0,
        "description": 1.0,
        "keywords": 1.0,
        "content": 1.0,
        "anchors": 2.0,
    }
    lists = [field.name for field in FIELDS_BY_NAME.values() if field.is_list]
    assert lists == ["headings", "keywords", "anchors", "section", "author"]
    assert {field.kind for field in FIELDS_BY_NAME.values() if field.is_list} == {
        Kind.TEXT,
        Kind.KEYWORD,
    }


def test_index_manifest_is_checked_on_opening() -> None:
    one, other = Manifest.new(), Manifest.new()
    assert one.identity != other.identity
    assert Manifest.load(one.dump(), "it") == one
    assert json.loads(one.dump()) == {
        "version": VERSION,
        "identity": one.identity,
        "marks": {},
        "embedder": "",
        "own_types": {},
    }
    for wrong in ("", "[]", "{}", '{"version": 2}', '{"version": "x", "identity": ""}'):
        with pytest.raises(EngineError, match=r"^it exists") as raised:
            Manifest.load(wrong, "it")
        assert type(raised.value) is EngineError
    with pytest.raises(SchemaMismatchError) as mismatch:
        Manifest.load(Manifest(VERSION + 1, "x").dump(), "it")
    for fact in (
        f"it has schema {VERSION + 1},",
        f"schema {VERSION}:",
        "contentspider index rebuild",
    ):
        assert fact in str(mismatch.value)


def test_index_with_words_of_an_older_schema_has_to_be_rebuilt(tmp_path: Path) -> None:
    url = f"sqlite:{tmp_path / 'index.sqlite'}"
    engine = SQLiteEngine(url)
    engine.open(is_writer=True)
    older = replace(Manifest.load(engine.manifest(), url), version=VERSION - 1)
    engine.write_manifest(older.dump())
    engine.flush()
    engine.close()
    for is_writer in (False, True):
        with pytest.raises(SchemaMismatchError, match="index rebuild"):
            SQLiteEngine(url).open(is_writer)
    # Servers search by their own rules, so the change of our words does not concern them.
    assert Manifest.load(older.dump(), url, ServerEngine.older_schemas).version == VERSION - 1
