"""Indexes are brought to what a history has: whatever the engine does, nothing is lost."""

from __future__ import annotations

import json
import re
import sys
from contextlib import suppress
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from contentspider.index.engine import connect, shown
from contentspider.index.errors import LONGEST_WAIT, EngineDownError, EngineError, Retries
from contentspider.index.schema import Manifest, SchemaMismatchError
from contentspider.index.sync import Report, batches
from tests.indexes import Crawls, Memory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from contentspider.index.schema import Stored


@pytest.fixture
def crawls(tmp_path: Path) -> Iterator[Crawls]:
    """Give a history of twenty pages."""
    found = Crawls(tmp_path)
    found.crawl({number: f"title {number}" for number in range(20)})
    yield found
    found.close()


@pytest.fixture
def engine(crawls: Crawls) -> Memory:
    """Return an index that is up to date."""
    engine = Memory()
    report = crawls.sync(engine).run()
    assert (report.upserted, report.deleted) == (20, 0)
    crawls.assert_in(engine)
    return engine


def test_only_what_changed_goes_in_and_what_is_gone_goes_out(
    crawls: Crawls, engine: Memory
) -> None:
    crawls.crawl({3: "third", 30: "new"}, gone=[4, 5])
    report = crawls.sync(engine).run()
    assert (report.upserted, report.deleted, report.left) == (2, 2, 0)
    crawls.assert_in(engine)
    engine.calls.clear()
    report = crawls.sync(engine).run()
    assert (report.upserted, report.deleted, set(engine.calls)) == (0, 0, {"flush"})


def test_batches_are_as_large_as_an_engine_takes() -> None:
    engine: Any = SimpleNamespace(max_documents=3, max_bytes=100)

    def lengths(*sizes: int) -> list[int]:
        entries: Any = [SimpleNamespace(item={"content": "x" * size}) for size in sizes]
        return [len(batch) for batch in batches(entries, engine)]

    assert lengths(50, 50, 50, 50, 1) == [2, 2, 1]
    assert lengths(1, 1, 1, 1) == [3, 1]
    assert lengths(1, 999, 1) == [1, 1, 1]
    assert lengths() == []


def test_how_far_a_run_is_is_told(crawls: Crawls) -> None:
    told: list[tuple[int, int]] = []
    sync = crawls.sync(Memory())
    sync._tell = lambda done, total: told.append((done, total))
    sync.run()
    assert told == [(done, 20) for done in range(4, 21, 4)]


def test_an_index_that_was_down_for_weeks_catches_up(crawls: Crawls, engine: Memory) -> None:
    for week in range(5):
        crawls.crawl({1: f"week {week}", 40 + week: "new"}, gone=[10 + week])
        engine.down = 1
        with pytest.raises(EngineDownError):
            crawls.sync(engine).run()
    report = crawls.sync(engine).run()
    assert (report.upserted, report.deleted) == (6, 5)
    crawls.assert_in(engine)


def test_a_run_that_breaks_anywhere_is_gone_on_with(crawls: Crawls) -> None:
    engine = Memory()
    for calls in range(1, 13):
        engine.calls.clear()
        whole = engine._called

        def broken(name: str, calls: int = calls, whole: Callable[[str], None] = whole) -> None:
            whole(name)
            if len(engine.calls) == calls:
                raise EngineDownError("killed")

        engine._called = broken  # type: ignore[method-assign]
        with pytest.raises(EngineDownError):
            crawls.sync(engine).run()
        del engine._called  # type: ignore[method-assign]
        gone = [49 + calls] if calls > 1 else []  # what the crawl before found new
        crawls.crawl({calls: f"again {calls}", 50 + calls: "new"}, gone)
    crawls.sync(engine).run()
    crawls.assert_in(engine)


@pytest.mark.parametrize("before", range(1, 6))
def test_a_page_that_moved_is_there_once_wherever_a_run_breaks(
    crawls: Crawls, engine: Memory, monkeypatch: pytest.MonkeyPatch, before: int
) -> None:
    monkeypatch.setattr("contentspider.index.sync.FLUSH_SECS", -1)
    crawls.crawl(dict.fromkeys(range(before), "changed") | {50: "there"}, moved={50: 9})
    whole, finds = engine.find, 0

    def broken(ids: Sequence[str]) -> Mapping[str, Stored]:
        nonlocal finds
        finds += 1
        if finds == 2:
            raise EngineDownError("killed")
        return whole(ids)

    monkeypatch.setattr(engine, "find", broken)
    with suppress(EngineDownError):
        crawls.sync(engine).run()
    monkeypatch.setattr(engine, "find", whole)
    crawls.sync(engine).run()
    crawls.assert_in(engine)


def test_an_index_that_lost_its_cursor_is_compared(crawls: Crawls, engine: Memory) -> None:
    crawls.crawl({}, gone=[7])
    crawls.path.with_suffix(".indexes.json").unlink()
    report = crawls.sync(engine).run()
    assert (report.upserted, report.deleted, report.left) == (0, 1, 19)
    crawls.assert_in(engine)


def test_a_history_without_items_is_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    crawls = Crawls(tmp_path)
    crawls.crawl({})
    assert crawls.sync(Memory()).run().upserted == 0
    crawls.close()
    assert caplog.messages[0] == (
        "e.org.sqlite has no items yet, so that there is nothing to index: the next crawl of the"
        " site brings them"
    )


def test_cursors_that_are_broken_are_said(
    crawls: Crawls, engine: Memory, caplog: pytest.LogCaptureFixture
) -> None:
    path = crawls.path.with_suffix(".indexes.json")
    for text in ("{", "[]", '{"a": {"b": 1}}', '{"a": 3}'):
        path.write_text(text)
        caplog.clear()
        assert crawls.sync(engine).run().left == 20
        assert "compared with the whole history" in caplog.text


def test_other_crawls_documents_are_left_alone(crawls: Crawls, engine: Memory) -> None:
    other = Crawls(crawls.path.parent)
    other.path = other.path.with_name("f.org.sqlite")
    other.crawl({3: "theirs", 99: "theirs"})
    report = other.sync(engine).run()
    assert (report.upserted, report.foreign, report.deleted) == (1, 1, 0)
    other.crawl({}, gone=[3])
    assert other.sync(engine).run().deleted == 0
    other.close()
    assert engine.there[f"{3:032x}"].crawl == "e.org"
    assert not crawls.sync(engine).differences()


def test_a_mass_deletion_is_refused(crawls: Crawls, engine: Memory) -> None:
    crawls.crawl({1: "first"}, gone=range(5, 15))
    with pytest.raises(EngineError, match=r"10 documents of e\.org would be deleted.*--force"):
        crawls.sync(engine).run()
    assert len(engine.there) == 20
    assert engine.there[f"{1:032x}"].fields["title"] == "first"
    with pytest.raises(EngineError, match="would be deleted"):
        crawls.sync(engine).run()
    assert crawls.sync(engine, force=True).run().deleted == 10
    crawls.assert_in(engine)


def test_a_mass_deletion_is_refused_without_a_cursor(crawls: Crawls, engine: Memory) -> None:
    crawls.crawl({}, gone=range(5, 15))
    crawls.path.with_suffix(".indexes.json").unlink()
    with pytest.raises(EngineError, match="would be deleted"):
        crawls.sync(engine).run()
    assert len(engine.there) == 20
    sync = crawls.sync(engine)
    with pytest.raises(EngineError, match="would be deleted"):
        sync.mend(sync.differences())
    assert crawls.sync(engine, force=True).run().deleted == 10


@pytest.mark.parametrize("way", ["refusing", "failing"])
def test_a_bad_document_is_named_and_kept_aside(
    crawls: Crawls, engine: Memory, way: str, caplog: pytest.LogCaptureFixture
) -> None:
    setattr(engine, way, {"bad"})
    crawls.crawl({1: "good", 2: "bad", 3: "good too", 60: "bad"})
    report = crawls.sync(engine).run()
    assert (report.upserted, len(report.refused)) == (2, 2)
    reason = "no such title" if way == "refusing" else "HTTP 400"
    assert f"memory:index refused document {2:032x}: {reason}" in caplog.messages
    told = json.loads(crawls.path.with_suffix(".indexes.json").read_text())
    assert set(told["identity"]["refused"]) == {f"{2:032x}", f"{60:032x}"}
    found = crawls.sync(engine).differences()
    assert not found
    assert sorted(found.refused) == [f"{2:032x}", f"{60:032x}"]
    setattr(engine, way, set())
    sync = crawls.sync(engine)
    assert sync.mend(sync.differences()).upserted == 2
    crawls.assert_in(engine)


def test_an_engine_that_takes_nothing_is_an_error(crawls: Crawls, engine: Memory) -> None:
    engine.refusing = {"a", "b", "c"}
    crawls.crawl({1: "a", 2: "b", 3: "c"})
    with pytest.raises(EngineError, match="takes no document: no such title"):
        crawls.sync(engine).run()
    engine.refusing = set()
    crawls.sync(engine).run()
    crawls.assert_in(engine)


def test_what_is_newer_than_the_history_stays_until_it_is_mended(
    crawls: Crawls, engine: Memory, caplog: pytest.LogCaptureFixture
) -> None:
    crawls.close()
    old = crawls.path.read_bytes()
    titles = dict(crawls.titles)
    crawls.crawl({1: "newer", 2: "newer"})
    crawls.sync(engine).run()
    crawls.close()
    for suffix in ("-wal", "-shm"):
        crawls.path.with_name(crawls.path.name + suffix).unlink(missing_ok=True)
    crawls.path.write_bytes(old)
    assert crawls.sync(engine).run().newer == 2
    assert "memory:index has more than e.org.sqlite, which may be an older copy" in caplog.text
    assert engine.there[f"{1:032x}"].fields["title"] == "newer"
    crawls.titles = titles
    sync = crawls.sync(engine)
    sync.mend(sync.differences())
    crawls.assert_in(engine)


def test_what_somebody_else_did_to_an_index_is_mended(crawls: Crawls, engine: Memory) -> None:
    del engine.there[f"{1:032x}"]
    stranger = engine.there[f"{2:032x}"]
    engine.there["f" * 32] = type(stranger)("f" * 32, "e.org", 1, "", stranger.fields)
    engine.there[stranger.id] = type(stranger)(stranger.id, "e.org", 1, "x", {"title": "x"})
    sync = crawls.sync(engine)
    found = sync.differences()
    assert (found.missing, found.stale, found.extra) == (
        [f"{1:032x}"],
        [stranger.id],
        ["f" * 32],
    )
    assert found.same == 18
    sync.mend(found)
    crawls.assert_in(engine)


def test_a_report_says_what_was_not_put_in() -> None:
    assert str(Report(3, 2, left=9)) == "3 documents in, 2 out"
    assert str(Report(newer=1, refused={"a": "no"})).endswith(
        "1 are newer than the history and left alone, 1 refused by the engine"
    )
    assert str(Report(foreign=4)).endswith(", 4 are of another crawl and left alone")


def test_an_engine_that_is_down_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    clock = SimpleNamespace(sleep=slept.append, monotonic=lambda: sum(slept))
    monkeypatch.setattr("contentspider.index.errors.time", clock)
    asked = iter([EngineDownError("no"), EngineDownError("no", wait=7.0), "answer"])

    def ask() -> str:
        found = next(asked)
        if isinstance(found, Exception):
            raise found
        return found

    retries = Retries(60)
    assert retries(ask) == "answer"
    assert retries.count == 2
    assert 0.1 <= slept[0] <= 0.3
    assert slept[1] == 7.0

    def never() -> str:
        raise EngineDownError("still down")

    slept.clear()
    with pytest.raises(EngineDownError, match="still down"):
        retries(never)
    assert 20 < sum(slept) <= 60, "with longer and longer waits"
    assert max(slept) <= 1.5 * LONGEST_WAIT


def test_urls_hold_no_secrets() -> None:
    assert shown("opensearch://me:secret@host:9200/pages?key=s") == "opensearch://host:9200/pages"
    for url in ("opensearch://me:secret@host/pages", "typesense://h/a b", "sqlite:x?key=secret"):
        with pytest.raises(EngineError, match="credentials in the environment") as raised:
            connect(url)
        assert "secret" not in str(raised.value)
    for url in ("pages", "sqlite:", "nowhere://x", ""):
        with pytest.raises(EngineError, match="sqlite"):
            connect(url)


def test_an_engine_that_is_not_installed_is_named_with_what_brings_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    monkeypatch.setitem(sys.modules, "typesense", None)
    for url in ("postgresql://host/database/table", "typesense+https://host/pages"):
        engine = url.partition(":")[0].partition("+")[0]
        wanted = f"pip install 'contentspider[{engine}]'"
        with pytest.raises(EngineError, match=re.escape(wanted)):
            connect(url)


def test_manifests_of_others_are_refused() -> None:
    with pytest.raises(EngineError, match="has not made it"):
        Manifest.load("{}", "it")
    with pytest.raises(
        SchemaMismatchError, match=r"has schema 7, .* writes schema 2: make it anew"
    ):
        Manifest.load(Manifest(7, "x").dump(), "it")
