"""What is done to indexes from the command line: fill, compare, mend and make anew."""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING

import pytest
from filelock import FileLock

from contentspider.ground.errors import ContentSpiderError
from contentspider.index import operations
from contentspider.index.engine import ENGINES, create_engine
from contentspider.index.errors import EngineDownError, EngineError
from contentspider.index.marks import VERSION, Manifest, SchemaMismatchError
from contentspider.index.operations import open_index, rebuild, sync, verify
from contentspider.index.sqlite import SQLiteEngine
from contentspider.index.term_engine import TermEngine
from tests.indexes import Crawls, Memory

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def crawls(tmp_path: Path) -> Iterator[Crawls]:
    found = Crawls(tmp_path)
    found.crawl({number: f"title {number}" for number in range(6)})
    yield found
    found.close()


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:{tmp_path / 'pages.db'}"


def ids(url: str) -> list[str]:
    with open_index(url, is_writer=False) as (engine, _):
        return sorted(stored.id for stored in engine.documents())


def delete(url: str, *numbers: int) -> None:
    with open_index(url, is_writer=True) as (engine, _):
        engine.delete([f"{number:032x}" for number in numbers])
        engine.flush()


def test_index_is_filled_verified_and_mended(crawls: Crawls, url: str) -> None:
    told: list[tuple[int, int]] = []
    assert sync(crawls.path, url, on_progress=lambda *how: told.append(how)).upserted == 6
    assert told[-1] == (6, 6)
    delete(url, 1, 2)
    found = verify(crawls.path, url, force=False, is_mending=False)
    assert (found.same, len(found.missing)) == (4, 2)
    assert len(ids(url)) == 4
    assert len(verify(crawls.path, url, force=False, is_mending=True).missing) == 2
    assert len(ids(url)) == 6
    assert not verify(crawls.path, url, force=False, is_mending=True)


def test_index_is_rebuilt(crawls: Crawls, url: str) -> None:
    sync(crawls.path, url)
    delete(url, 1)
    told: list[tuple[int, int]] = []
    report = rebuild([crawls.path], url, on_progress=lambda *how: told.append(how))["e.org"]
    assert (report.upserted, told[-1], len(ids(url))) == (6, (6, 6), 6)


def test_rebuild_is_refused_if_documents_of_other_crawls_would_be_lost(
    crawls: Crawls, url: str, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    other = Crawls(tmp_path / "other")
    other.path = other.path.with_name("a.org.sqlite")
    other.crawl({9: "of another"})
    sync(other.path, url)
    with pytest.raises(EngineError, match="--force") as raised:
        rebuild([crawls.path], url)
    assert str(raised.value).startswith(f"{url} has documents of a.org,")
    assert ids(url) == [f"{9:032x}"]
    assert rebuild([crawls.path], url, force=True)["e.org"].upserted == 6
    assert len(ids(url)) == 6


@pytest.mark.parametrize("name", ["a.org", "f.org"])
def test_rebuild_keeps_latest_version_of_page_in_two_crawls(
    crawls: Crawls, url: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("contentspider.state.book.book.now", lambda: "2999-01-01")
    other = Crawls(crawls.path.parent)
    other.path = other.path.with_name(f"{name}.sqlite")
    other.crawl({3: "seen last"})
    reports = rebuild(sorted([crawls.path, other.path]), url)
    assert (list(reports), reports["e.org"].foreign) == ([name, "e.org"], {name: 1})
    with open_index(url, is_writer=False) as (engine, _):
        document = engine.get(f"{3:032x}")
    assert document is not None
    assert document["title"] == "seen last"


def test_index_with_other_schema_is_rebuilt(
    crawls: Crawls, url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "contentspider")
    with monkeypatch.context() as other:
        other.setattr(Manifest, "new", lambda: Manifest(VERSION + 1, "old"))
        with pytest.raises(SchemaMismatchError), open_index(url, is_writer=True):
            pass
    assert rebuild([crawls.path], url)["e.org"].upserted == 6
    assert caplog.messages[0].startswith(f"{url} has schema {VERSION + 1}")
    assert len(ids(url)) == 6


def test_rebuild_of_index_with_other_schema_keeps_documents_without_history(
    crawls: Crawls, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync(crawls.path, url)
    monkeypatch.setattr("contentspider.index.marks.VERSION", 99)
    with pytest.raises(EngineError, match=r"has documents of e\.org.*--force"):
        rebuild([], url)
    monkeypatch.undo()
    assert len(ids(url)) == 6
    monkeypatch.setattr("contentspider.index.marks.VERSION", 99)
    assert rebuild([], url, force=True) == {}
    assert not ids(url)


def test_only_one_process_at_a_time_syncs_history(crawls: Crawls, url: str) -> None:
    lock = FileLock(crawls.path.with_suffix(".indexes.lock"))
    with lock, pytest.raises(ContentSpiderError, match=r"another process is indexing e\.org"):
        sync(crawls.path, url)
    assert sync(crawls.path, url).upserted == 6


class OldEngine(SQLiteEngine):
    """An engine with the names of an earlier interface."""

    _found = SQLiteEngine._search_terms
    _search_terms = TermEngine._search_terms


def test_engine_for_another_version_is_an_error_that_names_what_it_lacks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(ENGINES.shipped, "old", f"{__name__}:OldEngine")
    with pytest.raises(EngineError, match=r"^old:x: its engine has no _search_terms: install"):
        create_engine("old:x")
    for missing in ("contentspider.index.engine:connect", "contentspider.index.nowhere:Engine"):
        monkeypatch.setitem(ENGINES.shipped, "old", missing)
        with pytest.raises(EngineError, match=r"^old:x: its engine cannot be imported \(.*install"):
            create_engine("old:x")


def test_index_writer_retries_until_engine_is_up_and_reader_does_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    engine = Memory()
    engine.open = lambda is_writer: engine._called("open") or "identity"  # type: ignore[func-returns-value,method-assign]
    monkeypatch.setattr(operations, "create_engine", lambda url: engine)
    monkeypatch.setattr("contentspider.index.errors.time.sleep", lambda seconds: None)
    engine.down = 2
    with open_index("memory:", is_writer=True) as opened:
        assert opened == (engine, "identity")
    assert engine.calls == ["open", "open", "open", "close"]
    engine.down = 1
    with pytest.raises(EngineDownError), open_index("memory:", is_writer=False):
        pass


@pytest.mark.parametrize(
    ("url", "facts"),
    [
        (
            "postgresql://host/database/table",
            ["postgresql://host/database/table: ", "pip install 'contentspider[postgresql]'"],
        ),
        ("opensearch://me@host/x", ["the opensearch index", "'@'", "docs/indexing.md"]),
        ("sqlite:", ["'sqlite:'", "sqlite:pages.db", ", ".join(ENGINES.names())]),
    ],
)
def test_a_wrong_index_url_is_an_error_that_says_what_to_do(
    url: str, facts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(EngineError) as raised:
        create_engine(url)
    for fact in facts:
        assert fact in str(raised.value)
    with pytest.raises(EngineError, match=r"^nowhere://x: .*nowhere"):
        create_engine("nowhere://x")
