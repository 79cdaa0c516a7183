"""The embedded engine: what is its own. What every engine does is in `contentspider.testing`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from contentspider.index.engine import Query, create_engine
from contentspider.index.errors import EngineDownError, EngineError
from contentspider.index.marks import VERSION, SchemaMismatchError
from contentspider.index.schema import Document, document_fields

pytest.importorskip("tantivy")
from contentspider.index.engines.tantivy import INDEX, MANIFEST, TantivyEngine

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def document(name: str, version: int = 1, **fields: object) -> Document:
    fields = {"url": f"http://example.org/{name}", "site": "example.org"} | fields
    return Document(name, "crawl", version, f"{name}{version}", document_fields(fields))


def engine_at(path: Path, is_writer: bool = True) -> TantivyEngine:
    engine = TantivyEngine(f"tantivy:{path}")
    engine.open(is_writer)
    return engine


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "pages.index"


@pytest.fixture
def engine(path: Path) -> Iterator[TantivyEngine]:
    engine = engine_at(path)
    yield engine
    engine.close()


def found(engine: TantivyEngine, words: str, **filters: str) -> list[str]:
    return [hit.record["id"] for hit in engine.search(Query(words, filters)).hits]


def test_tantivy_scheme_connects_to_tantivy_engine(path: Path) -> None:
    assert isinstance(create_engine(f"tantivy:{path}"), TantivyEngine)


def test_missing_tantivy_error_names_search_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tantivy", None)
    with pytest.raises(EngineError, match=r"pip install 'contentspider\[search\]'"):
        create_engine("tantivy:pages.index")


@pytest.mark.parametrize(
    ("content", "words", "is_found"),
    [
        ("東京タワーに行きました。", "東京", True),
        ("東京タワーに行きました。", "タワー", True),
        ("東京タワーに行きました。", "京東", False),
        ("東京タワーに行きました。", "行", True),
        ("如何安装数据库服务器", "数据库", True),
        ("如何安装数据库服务器", "安装 服务器", True),
        ("한국어를 배우는 책", "한국어", True),
        ("การติดตั้งฐานข้อมูลบนเครื่อง", "ฐานข้อมูล", True),
        ("การติดตั้งฐานข้อมูลบนเครื่อง", "ข้อสอบ", False),
        ("ＡＢＣ　ｶﾀｶﾅ", "abc カタカナ", True),
        ("Un café à l’Étoile", "cafe etoile", True),
        ("Un cafe\u0301", "café", True),
        ("Đường đi Hà Nội", "ha noi", True),
        ("हिन्दी में लिखा", "हिन्दी", True),
        ("כתבה על תה ירוק", "תה ירוק", True),
    ],
)
def test_words_of_any_script_are_found(
    engine: TantivyEngine, content: str, words: str, is_found: bool
) -> None:
    engine.upsert([document("one", content=content), document("two", content="Something else")])
    engine.flush()
    assert found(engine, words) == ["one"] * is_found


@pytest.mark.parametrize(
    "words",
    [
        *('tea "', "tea (", "tea)", "tea a:b", "title:tea", "-tea", "+tea", "tea AND"),
        "tea OR NOT",
        "tea*",
        "te?a tea",
        "tea~2",
        "[tea TO *]",
        "{tea}",
        "tea^9",
        "tea \\",
        "/tea/",
        "tea \0",
        "tea \udc80",
        "'; DROP TABLE tea; --",
        "tea " + "many words of it " * 20_000,
    ],
)
def test_query_syntax_characters_are_searched_literally(engine: TantivyEngine, words: str) -> None:
    engine.upsert([document("one", content="Green tea"), document("two", content="Coffee")])
    engine.flush()
    assert found(engine, words) == ["one"]


@pytest.mark.parametrize("words", ['"', "()", "* - +", "。、"])
def test_query_of_punctuation_finds_nothing(engine: TantivyEngine, words: str) -> None:
    engine.upsert([document("one", content='"()* - +。、')])
    engine.flush()
    assert found(engine, words) == []


def test_search_falls_back_to_documents_with_some_words(engine: TantivyEngine) -> None:
    engine.upsert(
        [
            document("both", content="Tea is made of leaves " + "and of more " * 200),
            document("one", content="tea tea tea tea"),
        ]
    )
    engine.flush()
    assert found(engine, "tea leaves") == ["both"]
    assert set(found(engine, "tea mountains")) == {"both", "one"}


def test_title_matches_rank_above_content_matches(engine: TantivyEngine) -> None:
    engine.upsert(
        [
            document("text", title="Of drinks", content="About tea"),
            document("title", title="About tea", content="Of drinks"),
        ]
    )
    engine.flush()
    assert found(engine, "tea") == ["title", "text"]


def test_phrase_matches_rank_first(engine: TantivyEngine) -> None:
    engine.upsert(
        [
            document("other", title="Notes of release 1.2", content="Release 2.1 " * 9),
            document("asked", title="Notes of release 2.1", content="Nothing of the kind: 2, 1."),
        ]
    )
    engine.flush()
    assert found(engine, "notes of release 2.1") == ["asked", "other"]


def test_document_fields_are_returned_unchanged(engine: TantivyEngine) -> None:
    one = document(
        "one", title="T\0\n ", content="x" * 100_000, half="\ud83d", price=[1, {"a": None}]
    )
    engine.upsert([one])
    engine.flush()
    assert engine.get("one") == one.record()


def test_unwritable_document_is_rejected_alone(engine: TantivyEngine) -> None:
    wrong = Document("wrong", "crawl", 2**70, "h", {})
    refused = engine.upsert([document("one"), wrong, document("two")])
    assert [entry.id for entry in refused] == ["wrong"]
    engine.flush()
    assert {stored.id for stored in engine.documents()} == {"one", "two"}


def test_all_documents_are_listed_in_pages(
    engine: TantivyEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("contentspider.index.engines.tantivy.BATCH", 3)
    engine.upsert([document(str(number)) for number in range(10)])
    engine.delete(["4"])
    engine.flush()
    assert sorted(stored.id for stored in engine.documents("crawl")) == list("012356789")


def test_second_writer_is_rejected_while_first_is_open(path: Path, engine: TantivyEngine) -> None:
    with pytest.raises(EngineDownError, match="another process is writing"):
        engine_at(path)
    engine.close()
    engine_at(path).close()


def test_readers_see_only_flushed_documents(path: Path, engine: TantivyEngine) -> None:
    reader = engine_at(path, is_writer=False)
    engine.upsert([document("one", content="tea")])
    assert found(reader, "tea") == []
    engine.flush()
    assert found(reader, "tea") == ["one"]
    with pytest.raises(EngineError, match="not open for writing"):
        reader.upsert([document("two")])


def test_readers_continue_during_rebuild(path: Path, engine: TantivyEngine) -> None:
    engine.upsert([document("old", content="tea")])
    engine.flush()
    reader = engine_at(path, is_writer=False)
    wrong: list[object] = []
    ended = threading.Event()

    def read() -> None:
        while not ended.is_set():
            if (names := found(reader, "tea")) not in (["old"], ["new"]):
                wrong.append(names)

    thread = threading.Thread(target=read)
    thread.start()
    with engine.rebuild() as (fresh, _):
        fresh.upsert([document("new", content="tea")])
        assert found(engine, "tea") == ["old"]
    ended.set()
    thread.join()
    assert not wrong
    assert found(engine, "tea") == found(reader, "tea") == ["new"]
    assert len(list(path.glob(f"{INDEX}*"))) == 1
    engine.upsert([document("more", content="tea")])
    engine.flush()
    assert len(found(reader, "tea")) == 2


def test_failed_rebuild_leaves_index_unchanged(path: Path, engine: TantivyEngine) -> None:
    engine.upsert([document("old", content="tea")])
    engine.flush()
    with pytest.raises(ZeroDivisionError), engine.rebuild() as (fresh, _):
        fresh.upsert([document("new", content="tea")])
        raise ZeroDivisionError
    assert found(engine, "tea") == ["old"]
    assert len(list(path.glob(f"{INDEX}*"))) == 1


def test_index_of_other_schema_is_replaced_only_by_rebuild(path: Path) -> None:
    engine_at(path).close()
    manifest = path / MANIFEST
    manifest.write_text(manifest.read_text().replace(f'"version": {VERSION}', '"version": 99'))
    engine = TantivyEngine(f"tantivy:{path}")
    with pytest.raises(SchemaMismatchError, match="99"):
        engine.open(is_writer=True)
    with engine.rebuild() as (fresh, _):
        fresh.upsert([document("one", content="tea")])
    engine.close()
    assert found(engine_at(path, is_writer=False), "tea") == ["one"]


def test_failed_writer_releases_index_folder(path: Path) -> None:
    engine_at(path).close()
    manifest = path / MANIFEST
    manifest.write_text(manifest.read_text().replace(f'"version": {VERSION}', '"version": 99'))
    engines = [TantivyEngine(f"tantivy:{path}") for _ in range(2)]
    for engine in engines:
        with pytest.raises(SchemaMismatchError, match="99"):
            engine.open(is_writer=True)


def test_folder_with_other_files_is_left_unchanged(path: Path) -> None:
    path.mkdir()
    (path / "letter.txt").write_text("Dear reader")
    with pytest.raises(EngineError, match="other files"):
        engine_at(path)
    assert [file.name for file in path.iterdir()] == ["letter.txt"]


def test_file_in_place_of_index_folder_raises_engine_error(path: Path) -> None:
    path.write_text("")
    with pytest.raises(EngineError, match="cannot be written"):
        engine_at(path)
    with pytest.raises(EngineError, match="cannot be read"):
        engine_at(path, is_writer=False)


def test_reader_does_not_create_index(path: Path) -> None:
    with pytest.raises(EngineError, match="does not exist"):
        engine_at(path, is_writer=False)
    assert not path.exists()


@pytest.mark.parametrize("suffix", ["meta.json", ".store", ".idx", ".term", ".fast"])
@pytest.mark.parametrize("is_writer", [True, False])
def test_damaged_index_raises_engine_error(path: Path, suffix: str, is_writer: bool) -> None:
    engine = engine_at(path)
    engine.upsert([document("one", content="tea")])
    engine.flush()
    engine.close()
    [file] = (file for file in path.rglob(f"*{suffix}") if file.name != ".managed.json")
    file.write_bytes(b"\0" * 50)
    with pytest.raises(EngineError, match=r"is damaged: .*contentspider index rebuild"):
        found(engine_at(path, is_writer), "tea")


CRASH = """
import sys
from contentspider.index.schema import Document
from contentspider.index.engines.tantivy import TantivyEngine
engine = TantivyEngine("tantivy:" + sys.argv[1])
engine.open(True)
def put(name, version):
    fields = {"content": "tea " * 500}
    engine.upsert([Document(f"{name}{n}", "crawl", version, "h", fields) for n in range(500)])
put("first", 1)
engine.flush()
print("flushed", flush=True)
for round in range(2, 1_000):
    put("first", round)
    put(f"round{round}-", round)
    engine.flush()
    print(round, flush=True)
"""


@pytest.mark.parametrize("rounds", [0, 1, 3])
def test_killed_writer_leaves_consistent_index(path: Path, rounds: int) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", CRASH, str(path)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "flushed\n"
        last = 1
        for _ in range(rounds):
            last = int(process.stdout.readline())
        os.kill(process.pid, signal.SIGKILL)
        rest = process.stdout.read().split()
    flushed = int(rest[-1]) if rest else last
    engine = engine_at(path)
    states = list(engine.documents())
    versions = {stored.version for stored in states if stored.id.startswith("first")}
    # What was flushed is there; of the flush at which it died, all or nothing.
    assert len(versions) == 1
    assert versions <= {flushed, flushed + 1}
    assert len(states) == 500 * max(versions)
    engine.upsert([document("after", content="coffee")])
    engine.flush()
    assert found(engine, "coffee") == ["after"]
    engine.close()


LITTLE = """
import os, sys
from contentspider.index.schema import Document
from contentspider.index.engines.tantivy import TantivyEngine
engine = TantivyEngine("tantivy:" + sys.argv[1])
engine.open(True)
number = int(sys.argv[2])
names = [f"{number}-{place}" for place in range(40 - number)]
engine.upsert([Document(name, "crawl", 1, "h", {"content": "tea"}) for name in names])
if number == 9:
    engine.delete([f"{other}-0" for other in range(1, 9)])
engine.flush()
os._exit(0)  # before its segments are merged
"""


@pytest.mark.thorough
def test_first_deletion_reaches_segments_being_merged(
    path: Path,
) -> None:
    for number in range(10):
        subprocess.run([sys.executable, "-c", LITTLE, str(path), str(number)], check=True)
    engine = engine_at(path)
    engine.delete(["5-1"])
    engine.upsert([document("new")])
    engine.flush()
    engine.close()
    engine = engine_at(path)
    assert engine.find(["5-0", "5-1", "5-2"]).keys() == {"5-2"}
    engine.close()


def test_unflushed_documents_of_broken_writer_are_not_reported_as_written(
    engine: TantivyEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.upsert([document("one")])
    engine.flush()
    engine.upsert([document("two")])

    class Broken:
        def commit(self) -> None:
            raise ValueError("no space left on device")

    monkeypatch.setattr(engine, "_writer", Broken())
    for _ in range(2):
        with pytest.raises(EngineDownError, match="no space left"):
            engine.flush()
    with pytest.raises(EngineDownError, match="no space left"):
        engine.upsert([document("three")])
    engine.close()
    engine.open(is_writer=True)
    assert [stored.id for stored in engine.documents()] == ["one"]


def test_pages_with_one_score_keep_their_order_when_one_is_updated(engine: TantivyEngine) -> None:
    names = [f"p{number:02}" for number in range(60)]
    for name in names[::-1]:
        engine.upsert([document(name, title="Green tea", content="Tea is drunk hot.")])
        engine.flush()
    for offset in (0, 10, 50):
        query = Query("tea", {}, limit=10, offset=offset)
        assert [hit.record["id"] for hit in engine.search(query).hits] == names[offset:][:10]
    before = [hit.record["id"] for hit in engine.search(Query("tea")).hits]
    changed = document("p07", 2, title="Green tea", content="Tea is drunk hot.")
    engine.upsert([changed])
    engine.flush()
    assert [hit.record["id"] for hit in engine.search(Query("tea")).hits] == before
