"""What the index in a folder says of folders that are none, and of what it has not flushed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from contentspider.index.engine import Query
from contentspider.index.errors import EngineDownError, EngineError
from contentspider.index.schema import Document, DocumentState
from tests.messages import raises

pytest.importorskip("tantivy")
from contentspider.index.engines import tantivy

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from contentspider.index.engine import Engine


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "pages"


@pytest.fixture
def engine(folder: Path) -> Iterator[Engine]:
    made: Engine = tantivy.TantivyEngine(f"tantivy:{folder}")
    made.open(is_writer=True)
    yield made
    made.close()


def document(name: str, crawl: str = "e.org", version: int = 3) -> Document:
    return Document(name, crawl, version, f"hash {name}", {"title": f"tea {name}"})


def failing(engine: Engine, is_writer: bool) -> str:
    with pytest.raises(EngineError) as raised:
        engine.open(is_writer)
    return str(raised.value)


def test_unflushed_documents_are_known_but_not_searchable(engine: Engine) -> None:
    engine.upsert([document("a"), document("b", "other.org", 7)])
    stored = {
        "a": DocumentState("a", "e.org", 3, "hash a"),
        "b": DocumentState("b", "other.org", 7, "hash b"),
    }
    assert engine.find(["a", "b", "c"]) == stored
    assert engine.search(Query("tea")).total == 0
    assert list(engine.documents()) == []
    engine.flush()
    assert engine.find(["a", "b", "c"]) == stored
    assert engine.search(Query("tea")).total == 2
    assert list(engine.documents("other.org")) == [stored["b"]]
    engine.delete(["a"])
    assert engine.find(["a", "b"]) == {"b": stored["b"]}
    assert engine.get("a") is not None
    engine.flush()
    assert engine.get("a") is None
    assert list(engine.documents()) == [stored["b"]]


def test_search_returns_requested_number_of_hits(engine: Engine) -> None:
    engine.upsert([document(name) for name in "abc"])
    engine.flush()
    for limit, count in ((0, 0), (2, 2), (9, 3)):
        found = engine.search(Query("tea", limit=limit))
        assert (len(found.hits), found.total) == (count, 3)
    assert len(engine.search(Query("tea", limit=9, offset=2)).hits) == 1


def test_invalid_index_folders_raise_engine_error(folder: Path, tmp_path: Path) -> None:
    url = f"tantivy:{folder}"
    engine = tantivy.TantivyEngine(url)
    message = failing(engine, is_writer=False)
    assert message.startswith(f"{url} does not exist")
    assert "contentspider index sync" in message
    with pytest.raises(EngineError) as raised:
        engine.find(["a"])
    assert str(raised.value) == f"{url} is not open"
    folder.mkdir()
    (folder / "mine.txt").touch()
    assert failing(engine, is_writer=True).startswith(f"{folder} contains other files")
    assert [one.name for one in folder.iterdir()] == ["mine.txt"]
    (tmp_path / "file").touch()
    beneath = tantivy.TantivyEngine(f"tantivy:{tmp_path}/file/pages")
    assert failing(beneath, is_writer=True).startswith(
        f"tantivy:{tmp_path}/file/pages cannot be written: {tmp_path}/file/pages: Not a directory"
    )


def test_one_process_writes_while_readers_are_read_only(engine: Engine, folder: Path) -> None:
    url = f"tantivy:{folder}"
    other = tantivy.TantivyEngine(url)
    with pytest.raises(EngineDownError, match="another process is writing") as down:
        other.open(is_writer=True)
    assert url in str(down.value)
    other.close()
    reader = tantivy.TantivyEngine(url)
    reader.open(is_writer=False)
    with raises(EngineError, "index-read-only", url):
        reader.delete(["a"])
    reader.close()


def test_damaged_index_error_suggests_rebuild(engine: Engine, folder: Path) -> None:
    engine.upsert([document("a")])
    engine.flush()
    engine.close()
    (meta,) = folder.glob("*/meta.json")
    meta.write_text("no index")
    reader = tantivy.TantivyEngine(f"tantivy:{folder}")
    message = failing(reader, is_writer=False)
    assert message.startswith(f"tantivy:{folder} is damaged")
    assert "contentspider index rebuild" in message


def test_failed_rebuild_leaves_no_folder(engine: Engine, folder: Path) -> None:
    before = sorted(one.name for one in folder.iterdir())
    with pytest.raises(KeyError), engine.rebuild() as (fresh, _):
        fresh.upsert([document("new")])
        raise KeyError
    assert sorted(one.name for one in folder.iterdir()) == before
    with engine.rebuild() as (fresh, identity):
        fresh.upsert([document("new")])
    assert list(engine.find(["new"])) == ["new"]
    assert sorted(one.name for one in folder.iterdir()) != before
    (index,) = (one.name for one in folder.iterdir() if one.is_dir())
    assert index.endswith(identity)
