"""Searches by words and meaning in SQLite: what is found, and what is embedded when."""

from __future__ import annotations

import json
import sqlite3
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import numpy as np
import pytest

from contentspider.cli import main
from contentspider.index import vectors as vector_tables
from contentspider.index.engine import Engine, Query, create_engine
from contentspider.index.errors import EmbedderError, EngineDownError, EngineError, Retries
from contentspider.index.filters import Comparison, Order
from contentspider.index.marks import Manifest, SchemaMismatchError
from contentspider.index.operations import open_index, rebuild, sync, verify
from contentspider.index.result_rows import result_rows
from contentspider.index.vectors import MAX_TEXTS, NEAREST_PAGES
from contentspider.testing.engines import document
from tests.embedders import NAME, vectors
from tests.indexes import Crawls

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

VARIABLE = "CONTENTSPIDER_EMBEDDER"
GUIDE = (
    '<p>What we know.</p><h2 id="tea">Tea</h2><p>It grows in Uji.</p>'
    '<h2 id="drive">Driving</h2><p>Your automobile needs oil.</p>'
)


@pytest.fixture(autouse=True)
def embedder(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors.reset()
    monkeypatch.setenv(VARIABLE, NAME)
    monkeypatch.setattr(vector_tables, "Retries", lambda: Retries(0))


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:{tmp_path / 'pages.db'}"


@pytest.fixture
def engine(url: str) -> Iterator[Engine]:
    """Give an index of four pages; a car is in two of them by its name, in one as a synonym."""
    with closing(create_engine(url)) as made:
        made.open(is_writer=True)
        made.upsert(
            [
                document(1, title="Cars", content="A car on a road."),
                document(2, title="Garage", content="The car of my neighbour is in a garage."),
                document(3, title="Guide", content="Tea Driving", content_html=GUIDE),
                document(4, title="Weather", content="Rain and wind.", site="f.org"),
            ]
        )
        made.flush()
        yield made


@pytest.fixture
def crawls(tmp_path: Path) -> Iterator[Crawls]:
    made = Crawls(tmp_path)
    made.crawl({number: f"title {number}" for number in range(7)})
    yield made
    made.close()


def found(engine: Engine, words: str, **filters: str) -> list[int]:
    results = engine.search(Query(words, filters))
    assert results.total == len(results.hits) == sum(results.facets["site"].values())
    return [int(hit.record["id"], 16) for hit in results.hits]


def stored(url: str) -> dict[int, int]:
    """Return the number of vectors of each page; fail if a page has none, or a vector no page."""
    with closing(sqlite3.connect(url.partition(":")[2])) as index:
        pages = {row[0] for row in index.execute("SELECT number FROM documents")}
        sections = [row[0] for row in index.execute("SELECT section FROM vectors")]
    counts = dict.fromkeys(pages, 0)
    for section in sections:
        counts[section // 1_000] += 1
    assert all(counts.values())
    return counts


def test_page_with_other_words_is_found_behind_pages_with_the_words(engine: Engine) -> None:
    assert found(engine, "car") == [1, 2, 3]
    assert not found(engine, "car", site="f.org")
    assert found(engine, "automobile") == [1, 3, 2]
    assert found(engine, "zebra") == []
    assert sorted(found(engine, "")) == [1, 2, 3, 4]
    assert found(engine, "*") == []


def test_page_is_found_by_meaning_although_no_page_has_the_words(engine: Engine) -> None:
    engine.delete([document(1).id, document(2).id])
    engine.flush()
    assert found(engine, "cars") == [3]
    (row,) = result_rows(Query("cars"), engine.search(Query("cars")))
    assert [section.url for section in row.sections] == ["http://e.org/3#drive"]


def test_own_fields_narrow_and_order_results_by_meaning(engine: Engine) -> None:
    pages = [(1, "Cars", 3.0), (2, "Garage", 20.0), (3, "An automobile", 1.0)]
    documents = [
        document(number, 2, title=title, content="A car.", fields={"price": price})
        for number, title, price in pages
    ]
    engine.upsert(documents)
    engine.add_own_types({"price": {"number"}})
    engine.flush()
    cheap = [Comparison.parse("price<10")]
    for words in ("car", "automobile"):
        results = engine.search(Query(words, comparisons=cheap, order=Order("price")))
        assert results.total == 2
        assert [int(hit.record["id"], 16) for hit in results.hits] == [3, 1]


def test_parts_of_results_have_each_page_once(engine: Engine) -> None:
    engine.upsert([document(number, content="My car.") for number in range(10, 90)])
    engine.flush()
    whole = engine.search(Query("car", limit=200))
    parts = [engine.search(Query("car", limit=7, offset=offset)) for offset in range(0, 90, 7)]
    ids = [hit.record["id"] for part in parts for hit in part.hits]
    assert ids == [hit.record["id"] for hit in whole.hits]
    assert {part.total for part in parts} == {len(ids)}
    assert NEAREST_PAGES < len(set(ids)) == len(ids) <= 83


def test_a_word_that_is_being_typed_is_not_embedded(engine: Engine) -> None:
    calls = vectors.calls
    assert engine.search(Query("garag", is_typing=True)).total == 1
    assert vectors.calls == calls


def test_sections_with_known_texts_are_not_embedded_again(engine: Engine) -> None:
    before = list(vectors.texts)
    assert len(before) == 3 + 3, "three pages, and three sections"
    engine.upsert([document(3, 2, title="Guide", content_html=GUIDE, author=["Ida"])])
    engine.upsert([document(7, title="Weather", content="Rain and wind.")])
    assert vectors.texts == before
    changed = GUIDE.replace("Uji", "Assam")
    engine.upsert([document(3, 3, title="Guide", content="Tea", content_html=changed)])
    assert vectors.texts[len(before) :] == ["Guide\nTea\nIt grows in Assam."]


def test_requests_are_bounded(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    embed = type(vectors).embed
    monkeypatch.setattr(
        vectors, "embed", lambda texts: sizes.append(len(texts)) or embed(vectors, texts), False
    )
    engine.upsert([document(number, content=f"Page {number} " * 900) for number in range(5, 45)])
    assert sizes == [MAX_TEXTS, 40 - MAX_TEXTS]
    assert max(map(len, vectors.texts)) <= vector_tables.MAX_CHARS


def test_sync_embeds_only_changes(crawls: Crawls, url: str) -> None:
    sync(crawls.path, url)
    assert len(vectors.texts) == 7
    sync(crawls.path, url)
    assert not verify(crawls.path, url, force=False, is_mending=True)
    assert len(vectors.texts) == 7
    crawls.crawl({3: "third", 8: "new"}, gone=[1, 2], moved={8: 4})
    sync(crawls.path, url)
    assert len(vectors.texts) == 9
    assert len(stored(url)) == 5


@pytest.mark.parametrize("fails_at", range(4))
@pytest.mark.parametrize(
    ("failure", "raised"),
    [
        (RuntimeError("out of memory"), EmbedderError),
        (EngineDownError("busy"), EmbedderError),
        (KeyboardInterrupt(), KeyboardInterrupt),
    ],
)
def test_sync_continues_after_embedder_failed(
    crawls: Crawls,
    url: str,
    monkeypatch: pytest.MonkeyPatch,
    failure: BaseException,
    raised: type[BaseException],
    fails_at: int,
) -> None:
    monkeypatch.setattr(vector_tables, "MAX_DOCUMENTS", 2)
    monkeypatch.setattr("contentspider.index.sync.FLUSH_SECS", -1.0)
    monkeypatch.setattr("contentspider.index.sync.Retries", lambda: Retries(0))
    vectors.fails_at, vectors.failure = fails_at, failure
    with pytest.raises(raised):
        sync(crawls.path, url)
    assert len(stored(url)) == 2 * fails_at, "whole batches are there"
    with open_index(url, is_writer=True) as (engine, _):
        assert engine.mark("e.org") == ""
    sync(crawls.path, url)
    assert len(stored(url)) == 7
    assert not verify(crawls.path, url, force=False, is_mending=False)
    assert sorted(vectors.texts) == sorted(set(vectors.texts)), "nothing is embedded twice"


def test_index_of_another_embedder_is_refused_until_it_is_rebuilt(
    crawls: Crawls, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync(crawls.path, url)
    monkeypatch.setenv(VARIABLE, "tests.embedders:other")
    for is_writer in (True, False):
        with pytest.raises(SchemaMismatchError, match=NAME), open_index(url, is_writer):
            pass
    monkeypatch.delenv(VARIABLE)
    with pytest.raises(SchemaMismatchError, match=NAME):
        sync(crawls.path, url)
    with open_index(url, is_writer=False) as (engine, _):
        assert engine.search(Query("title")).total == 7
    rebuild([crawls.path], url)
    assert sync(crawls.path, url).upserted == 0
    monkeypatch.setenv(VARIABLE, NAME)
    with pytest.raises(SchemaMismatchError, match="no embedder"):
        sync(crawls.path, url)
    rebuild([crawls.path], url)
    assert len(stored(url)) == 7


def test_vectors_of_another_length_are_refused(engine: Engine) -> None:
    vectors.dimensions = 9
    with pytest.raises(EmbedderError, match=r"9 .*256"):
        engine.upsert([document(5, content="New words.")])
    assert not engine.find([document(5).id])
    assert engine.search(Query("car")).note


def test_vectors_of_several_lengths_are_refused(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lengths = iter([3, 4])
    monkeypatch.setattr(
        vectors, "embed", lambda texts: np.ones((len(texts), next(lengths))), raising=False
    )
    with open_index(url, is_writer=True) as (engine, _), pytest.raises(EmbedderError):
        engine.upsert([document(number, content=f"Page {number}.") for number in range(40)])


@pytest.mark.parametrize("vector", [b"", b"abc", b"abcd", "text", 7])
def test_damaged_vector_leaves_a_search_by_words(engine: Engine, url: str, vector: object) -> None:
    engine.close()
    with closing(sqlite3.connect(url.partition(":")[2])) as index:
        index.execute("UPDATE vectors SET vector = ? WHERE section = 4000", [vector])
        index.commit()
    with open_index(url, is_writer=False) as (reader, _):
        results = reader.search(Query("car"))
    assert (results.total, bool(results.note)) == (2, True)


@pytest.mark.parametrize("result", [[], [[1.0, float("nan")]], [1.0], "text", None, [["a"]]])
def test_wrong_vectors_are_refused(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, result: object
) -> None:
    monkeypatch.setattr(vectors, "embed", lambda texts: result, raising=False)
    with pytest.raises(EmbedderError, match=NAME):
        engine.upsert([document(5, content="New words.")])


def test_index_cannot_choose_a_module(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE)
    with open_index(url, is_writer=True) as (engine, _):
        engine.upsert([document(1)])
        engine.write_manifest(Manifest.new("this:module").dump())
    monkeypatch.setitem(sys.modules, "this", None)  # an import of it fails
    with open_index(url, is_writer=False) as (engine, _):
        assert engine.search(Query("words")).total == 1
    with pytest.raises(SchemaMismatchError), open_index(url, is_writer=True):
        pass


@pytest.mark.parametrize(
    "name",
    [
        *("tests.embedders", "tests.embedders:", ":vectors", "https://", "ftp://e.org/v1"),
        *("no_such_module:x", "tests.embedders:x", "tests.embedders:not_an_embedder"),
        *("tests.embedders:WordVectors", "https://e.org/v1/embeddings", "https://me:secret@e.org"),
    ],
)
def test_embedder_that_cannot_be_used_is_refused(
    name: str, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, name)
    with pytest.raises(EmbedderError) as caught:
        create_engine(url)
    assert "secret" not in str(caught.value)


def test_other_engines_refuse_an_embedder(tmp_path: Path) -> None:
    pytest.importorskip("tantivy")
    with pytest.raises(EngineError, match="sqlite:FILE"):
        create_engine(f"tantivy:{tmp_path / 'pages'}")


def test_search_without_the_embedder_of_the_index_warns_once(
    engine: Engine,
    url: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    engine.search(Query("car"))
    assert not caplog.records
    monkeypatch.delenv(VARIABLE)
    with open_index(url, is_writer=False) as (reader, _):
        for _ in range(2):
            assert reader.search(Query("car")).total
    (record,) = caplog.records
    assert NAME in record.getMessage()


def test_failing_embedder_leaves_a_search_by_words_and_a_note(
    engine: Engine, url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    note = engine.search(Query("car")).note
    assert not note
    vectors.fails_at = vectors.calls
    results = engine.search(Query("car"))
    assert ([int(hit.record["id"], 16) for hit in results.hits], results.total) == ([1, 2], 2)
    assert results.note and "out of memory" not in results.note
    vectors.fails_at = vectors.calls
    assert main(["search", "car", "--index", url, "--json"]) == 0
    told = capsys.readouterr()
    assert results.note in told.err
    assert len([json.loads(line) for line in told.out.splitlines()]) == 2
