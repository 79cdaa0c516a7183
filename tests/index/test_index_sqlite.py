"""The index in an SQLite file: what it says of files that are none, and what it leaves."""

from __future__ import annotations

import json
import sqlite3
from typing import TYPE_CHECKING

import pytest

from contentspider.cli import main
from contentspider.index.engine import Query
from contentspider.index.errors import EngineDownError, EngineError, IndexDamagedError
from contentspider.index.schema import Document
from contentspider.index.sqlite import SQLiteEngine
from tests.sites import prose

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a folder" / "pages.db"


@pytest.fixture
def engine(path: Path) -> Iterator[SQLiteEngine]:
    made = SQLiteEngine(f"sqlite:{path}")
    made.open(is_writer=True)
    yield made
    made.close()


def document(name: str, version: int = 1, **fields: object) -> Document:
    return Document(name, "e.org", version, "h", {"title": f"tea {name}", **fields})


def test_sqlite_reader_is_read_only_and_sees_flushed_documents(
    engine: SQLiteEngine, path: Path
) -> None:
    reader = SQLiteEngine(f"sqlite://{path}")
    identity = reader.open(is_writer=False)
    engine.upsert([document("a")])
    assert reader.search(Query("tea")).total == 0
    engine.flush()
    assert reader.search(Query("tea")).total == 1
    with pytest.raises(EngineError, match=r"^sqlite:.*pages\.db: attempt to write a readonly"):
        reader.delete(["a"])
    reader.close()
    engine.close()
    assert engine.open(is_writer=True) == identity


def test_concurrent_creation_of_sqlite_index_raises_engine_down_error(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (SQLiteEngine(f"sqlite:{path}") for _ in range(2))
    execute = SQLiteEngine._execute

    def overtaken(statement: str, values: Sequence[object] = ()) -> sqlite3.Cursor:
        cursor = execute(first, statement, values)
        if "sqlite_master" in statement:
            second.open(is_writer=True)
            second.close()
        return cursor

    monkeypatch.setattr(first, "_execute", overtaken)
    with pytest.raises(EngineDownError, match="already exists"):
        first.open(is_writer=True)
    monkeypatch.undo()
    assert first.open(is_writer=True) == first.identity()
    first.close()


def test_sqlite_search_returns_ranked_hits_with_facets(engine: SQLiteEngine) -> None:
    for name, language in (("b", "en"), ("a", "en"), ("c", "de"), ("d", "")):
        engine.upsert([document(name, language=language, site="e.org")])
    engine.upsert([document("e", headings=["tea time"], page_type="listing", more={"n": [1]})])
    found = engine.search(Query("tea"))
    assert [hit.record["id"] for hit in found.hits] == ["a", "b", "c", "d", "e"]
    scores = [hit.score for hit in found.hits]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] == scores[3] > scores[4] > 0
    assert found.total == 5
    assert list(found.facets["language"].items()) == [("en", 2), ("de", 1)]
    assert (found.facets["site"], found.facets["page_type"]) == ({"e.org": 4}, {"listing": 1})
    part = engine.search(Query("tea", limit=2, offset=1))
    assert [hit.record["id"] for hit in part.hits] == ["b", "c"]
    everything = engine.search(Query("", filters={"language": "en"}))
    assert [(hit.record["id"], hit.score) for hit in everything.hits] == [("a", 0.0), ("b", 0.0)]
    assert engine.search(Query("")).total == 5
    assert engine.get("e") == document("e", headings=["tea time"], page_type="listing").record() | {
        "more": {"n": [1]}
    }
    assert engine.get("f") is None


def test_invalid_sqlite_index_raises_engine_error(path: Path, tmp_path: Path) -> None:
    url = f"sqlite:{path}"
    engine = SQLiteEngine(url)
    with pytest.raises(EngineError, match="contentspider index sync") as raised:
        engine.open(is_writer=False)
    assert str(raised.value).startswith(f"{url} does not exist")
    assert not path.parent.exists()
    with pytest.raises(EngineError) as raised:
        engine.find(["a"])
    assert str(raised.value) == f"{url} is not open"
    path.parent.mkdir()
    path.write_bytes(b"no database" * 99)
    for is_writer in (False, True):
        with pytest.raises(EngineError, match="contentspider index sync") as raised:
            engine.open(is_writer)
        assert str(raised.value).startswith(f"{url} is damaged")
        assert "file is not a database" in str(raised.value)
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE mine (x)")
    connection.close()
    with pytest.raises(EngineError, match=r"other\.db exists, but"):
        SQLiteEngine(f"sqlite:{other}").open(is_writer=True)
    (tmp_path / "file").touch()
    beneath = SQLiteEngine(f"sqlite:{tmp_path}/file/pages.db")
    with pytest.raises(EngineError, match=r"pages\.db: (Not a directory|File exists)$"):
        beneath.open(is_writer=True)


def test_locked_sqlite_index_raises_engine_down_error(
    engine: SQLiteEngine, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("contentspider.index.sqlite.BUSY_SECS", 0.01)
    other = SQLiteEngine(f"sqlite:{path}")
    with pytest.raises(EngineDownError, match=r"^sqlite:.*pages\.db: database is locked$"):
        other.open(is_writer=True)
    other.close()
    assert engine.find(["a"]) == {}


def test_sqlite_rebuild_leaves_no_other_files(engine: SQLiteEngine, path: Path) -> None:
    engine.upsert([document("old")])
    engine.flush()
    with engine.rebuild() as (fresh, identity):
        fresh.upsert([document("new")])
        assert fresh is not engine
    assert [one.name for one in path.parent.iterdir()] == [path.name]
    assert engine.open(is_writer=False) == identity
    assert list(engine.documents("e.org")) == list(engine.documents())
    assert [stored.id for stored in engine.documents()] == ["new"]
    assert list(engine.documents("other.org")) == []
    engine.close()
    with pytest.raises(KeyError), engine.rebuild():
        raise KeyError
    assert {one.name for one in path.parent.iterdir()} <= {
        path.name + end for end in ("", "-wal", "-shm")
    }


def test_printed_results_have_no_control_characters(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    title = "tea \x9b2J\u202egreen\u2069"
    writer = SQLiteEngine(f"sqlite:{tmp_path}/pages.db")
    writer.open(is_writer=True)
    writer.upsert([document("a", title=title)])
    writer.flush()
    writer.close()
    assert main(["search", "tea", "--index", f"sqlite:{tmp_path}/pages.db", "--json"]) == 0
    line = capsys.readouterr().out
    assert not {"\x9b", "\u202e", "\u2069"} & set(line)
    assert json.loads(line)["title"] == title


def test_search_for_a_word_of_all_pages_takes_linear_time(tmp_path: Path) -> None:
    """SQLite's steps are counted, since times vary."""
    steps = []
    for count in (150, 600):
        engine = SQLiteEngine(f"sqlite:{tmp_path / str(count)}.db")
        engine.open(is_writer=True)
        engine.upsert([document(str(number), fields={"brand": "A"}) for number in range(count)])
        engine.add_own_types({"brand": {"text"}})
        calls: list[None] = []
        assert engine._connection is not None
        engine._connection.set_progress_handler(lambda calls=calls: calls.append(None), 100)
        assert engine.search(Query("tea", counted=["brand"])).total == count
        steps.append(len(calls))
        engine.close()
    assert steps[1] < 6 * steps[0]


def test_index_has_at_most_twice_the_bytes_of_its_texts(engine: SQLiteEngine, path: Path) -> None:
    size = 0
    for number in range(40):
        parts = [prose(number * 60 + part) for part in range(60)]
        html = "".join(
            f'<h2 id="{at}">Part {at}</h2><p>{part}</p>' for at, part in enumerate(parts)
        )
        content = "\n".join(parts)
        size += len(content) + len(html)
        engine.upsert([document(str(number), content=content, more={"content_html": html})])
    engine.flush()
    engine.close()
    assert path.stat().st_size < 2 * size


def test_words_of_deleted_and_replaced_documents_leave_the_index(engine: SQLiteEngine) -> None:
    html = '<h2 id="a">Harbour</h2><p>A crane.</p><h2 id="b">Quay</h2><p>Nets.</p>'
    content = "Harbour\nA crane.\nQuay\nNets."
    engine.upsert([document(name, content=content, more={"content_html": html}) for name in "ab"])
    engine.delete(["a"])
    engine.upsert([document("b", 2, content="Nothing else.")])
    assert [engine.search(Query(word)).total for word in ("crane", "nets", "else")] == [0, 0, 1]
    assert not engine._vocabulary("crane") and not engine.damage()


def test_words_that_are_not_those_of_the_index_are_damage(engine: SQLiteEngine) -> None:
    engine.upsert([document(name, content=f"A crane and {name} nets.") for name in "ab"])
    assert not engine.damage()
    engine._execute("UPDATE words SET words = (SELECT words FROM words WHERE number = 1)")
    assert engine.damage()


def test_words_of_a_document_that_somebody_else_deleted_leave_with_the_next_one(
    engine: SQLiteEngine,
) -> None:
    engine.upsert([document(name, content=f"A crane and {name}.") for name in ("nets", "oars")])
    engine._execute("DELETE FROM documents WHERE id = 'oars'")
    assert not engine.damage()
    engine.upsert([document("quay", content="A crane and quay.")])
    assert [engine.search(Query(word)).total for word in ("crane", "oars", "quay")] == [2, 0, 1]
    assert not engine._vocabulary("oars") and not engine.damage()


def test_document_without_words_is_damage(engine: SQLiteEngine) -> None:
    engine.upsert([document("a")])
    engine._execute("DELETE FROM words")
    assert engine.damage()


def test_damaged_words_are_seen_and_need_a_rebuild(engine: SQLiteEngine) -> None:
    engine.upsert([document("a")])
    engine._execute("UPDATE words SET words = x'00'")
    with pytest.raises(IndexDamagedError, match="index rebuild"):
        engine.damage()
    with pytest.raises(IndexDamagedError, match="index rebuild"):
        engine.delete(["a"])


def test_path_that_cannot_be_read_raises_engine_error(tmp_path: Path) -> None:
    with pytest.raises(EngineError):
        SQLiteEngine(f"sqlite:{tmp_path}/{'x' * 300}.db").open(is_writer=False)
