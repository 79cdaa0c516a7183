"""Indexes are brought to what a history has: whatever the engine does, nothing is lost."""

from __future__ import annotations

import json
import re
import sys
from contextlib import suppress
from itertools import count
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from contentspider.index.engine import create_engine
from contentspider.index.errors import (
    LONGEST_WAIT_SECS,
    EngineDownError,
    EngineError,
    Retries,
    redacted_url,
)
from contentspider.index.marks import VERSION, Manifest, SchemaMismatchError
from contentspider.index.sync import Report, batches
from tests.indexes import Crawls, Memory
from tests.messages import wording

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from contentspider.index.schema import DocumentState


DATED = {"published_at": "2026-01-02"}


def test_sync_writes_changed_and_deletes_gone_documents(crawls: Crawls, engine: Memory) -> None:
    crawls.crawl({3: "third", 30: "new"}, gone=[4, 5])
    report = crawls.sync(engine).run()
    assert (report.upserted, report.deleted, report.unchanged) == (2, 2, 0)
    crawls.assert_in(engine)
    engine.calls.clear()
    report = crawls.sync(engine).run()
    assert (report.upserted, report.deleted, set(engine.calls)) == (0, 0, {"flush"})


def test_the_types_of_own_fields_are_recorded_and_a_new_type_is_a_warning(
    crawls: Crawls, engine: Memory, caplog: pytest.LogCaptureFixture
) -> None:
    crawls.crawl({3: "a", 4: "b"}, fields={3: {"price": "free", "day": "2026-02-05"}})
    crawls.sync(engine).run()
    assert engine.types == {"price": {"text"}, "day": {"date"}}
    crawls.crawl({3: "c", 4: "d"}, fields={3: {"day": "soon"}, 4: {"price": [2.0, 3.0]}})
    assert not caplog.records
    for _ in range(2):
        crawls.sync(engine).run()
    assert engine.types == {"price": {"text", "number"}, "day": {"date", "text"}}
    (warning,) = caplog.records
    assert "price" in warning.getMessage()


def test_own_fields_of_an_interrupted_update_are_recorded(
    crawls: Crawls, engine: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.marks = {}
    crawls.crawl({3: "a"}, gone=[4], fields={3: {"price": 1.0}})
    with monkeypatch.context() as patch:
        patch.setattr(Memory, "delete", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            crawls.sync(engine).run()
    crawls.sync(engine).run()
    crawls.assert_in(engine)
    assert engine.types == {"price": {"number"}}


def test_own_fields_that_another_process_has_overwritten_are_recorded_again(
    crawls: Crawls, engine: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    crawls.crawl({3: "a"}, fields={3: {"price": 1.0}})
    monkeypatch.setattr(engine, "upsert", lambda documents: engine.types.clear() or [])
    crawls.sync(engine).run()
    assert engine.types == {"price": {"number"}}


def test_own_fields_are_recorded_if_other_documents_are_kept(
    crawls: Crawls, engine: Memory
) -> None:
    crawls.close()
    crawls.path.unlink()
    crawls.titles = {}
    crawls.crawl({1: "one"}, is_complete=False, fields={1: {"price": 1.0}})
    assert crawls.sync(engine).run().kept
    assert engine.types == {"price": {"number"}}


def test_own_field_with_the_name_of_a_date_of_pages_is_a_warning(
    crawls: Crawls, engine: Memory, caplog: pytest.LogCaptureFixture
) -> None:
    crawls.crawl({3: "a", 9: "b"}, fields={3: DATED, 9: DATED})
    crawls.sync(engine).run()
    (warning,) = caplog.records
    assert "published_at" in warning.getMessage()


def test_batches_respect_limits_of_engine() -> None:
    engine: Any = SimpleNamespace(max_documents=3, max_bytes=100)

    def lengths(*sizes: int) -> list[int]:
        entries: Any = [SimpleNamespace(item={"content": "x" * size}) for size in sizes]
        return [len(batch) for batch in batches(entries, engine)]

    assert lengths(50, 50, 50, 50, 1) == [2, 2, 1]
    assert lengths(1, 1, 1, 1) == [3, 1]
    assert lengths(1, 999, 1) == [1, 1, 1]
    assert lengths() == []


def test_a_run_reports_its_progress_after_each_batch(crawls: Crawls) -> None:
    reports: list[tuple[int, int]] = []
    sync = crawls.sync(Memory())
    sync._on_progress = lambda done, total: reports.append((done, total))
    sync.run()
    assert reports == [(done, 20) for done in range(4, 21, 4)]


def test_index_catches_up_after_long_downtime(crawls: Crawls, engine: Memory) -> None:
    for week in range(5):
        crawls.crawl({1: f"week {week}", 40 + week: "new"}, gone=[10 + week])
        engine.down = 1
        with pytest.raises(EngineDownError):
            crawls.sync(engine).run()
    report = crawls.sync(engine).run()
    assert (report.upserted, report.deleted) == (6, 5)
    crawls.assert_in(engine)


def test_interrupted_sync_continues_at_next_run(crawls: Crawls) -> None:
    engine, breaks = Memory(), 0
    for calls in range(1, 13):
        engine.calls.clear()
        whole = engine._called

        def broken(name: str, calls: int = calls, whole: Callable[[str], None] = whole) -> None:
            whole(name)
            if len(engine.calls) == calls:
                raise EngineDownError("killed")

        engine._called = broken  # type: ignore[method-assign]
        try:
            crawls.sync(engine).run()
        except EngineDownError:
            breaks += 1
        del engine._called  # type: ignore[method-assign]
        gone = [49 + calls] if calls > 1 else []  # what the crawl before found new
        crawls.crawl({calls: f"again {calls}", 50 + calls: "new"}, gone)
    assert breaks >= 6
    crawls.sync(engine).run()
    crawls.assert_in(engine)


@pytest.mark.parametrize("before", range(1, 6))
def test_moved_page_is_indexed_once_after_interrupted_sync(
    crawls: Crawls, engine: Memory, monkeypatch: pytest.MonkeyPatch, before: int
) -> None:
    monkeypatch.setattr("contentspider.index.sync.FLUSH_SECS", -1)
    crawls.crawl(dict.fromkeys(range(before), "changed") | {50: "there"}, moved={50: 9})
    whole, finds = engine.find, 0

    def broken(ids: Sequence[str]) -> Mapping[str, DocumentState]:
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


def test_index_without_valid_sync_mark_is_compared_completely(
    crawls: Crawls, engine: Memory
) -> None:
    crawls.crawl({}, gone=[7])
    for mark in ("", "{", "[]", '{"stand": {}, "refused": {}}', '{"stand": 3, "refused": {}}'):
        engine.marks["e.org"] = mark
        crawls.sync(engine).run()
        crawls.assert_in(engine)
    engine.calls.clear()
    assert str(crawls.sync(engine).run()) == "0 documents written, 0 deleted"
    assert set(engine.calls) == {"flush"}


def test_history_without_items_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    crawls = Crawls(tmp_path)
    crawls.crawl({})
    assert crawls.sync(Memory()).run().upserted == 0
    crawls.close()
    assert caplog.messages[0].startswith("e.org.sqlite has no pages with content yet")


def restored(crawls: Crawls, copy: bytes) -> None:
    """Put an earlier copy in the place of the history."""
    crawls.close()
    for suffix in ("-wal", "-shm"):
        crawls.path.with_name(crawls.path.name + suffix).unlink(missing_ok=True)
    crawls.path.write_bytes(copy)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let a minute pass at each look at the clock."""
    minutes = count()

    def now() -> str:
        hour, minute = divmod(next(minutes), 60)
        return f"2026-03-01T{hour:02}:{minute:02}:00+00:00"

    for module in ("changes", "book"):
        monkeypatch.setattr(f"contentspider.state.book.{module}.now", now)
    return None


def test_index_survives_loss_of_history(
    crawls: Crawls, engine: Memory, caplog: pytest.LogCaptureFixture
) -> None:
    for week in range(3):
        crawls.crawl({number: f"title {number} of week {week}" for number in range(20)})
        crawls.sync(engine).run()
    crawls.close()
    crawls.path.unlink()
    # What the index has has larger numbers than all of the new history.
    crawls.titles = {}
    crawls.crawl({number: f"new title {number}" for number in range(2, 22)})
    caplog.clear()
    report = crawls.sync(engine).run()
    assert (report.upserted, report.deleted) == (20, 2)
    assert ("memory:index " + wording("index.other-history") + " than e.org.sqlite") in caplog.text
    crawls.assert_in(engine)
    caplog.clear()
    crawls.crawl({3: "newest"}, gone=[4])
    report = crawls.sync(engine).run()
    assert (report.upserted, report.deleted, caplog.text) == (1, 1, "")
    crawls.assert_in(engine)


def test_unchanged_documents_are_not_rewritten(crawls: Crawls, engine: Memory) -> None:
    titles = dict(crawls.titles)
    crawls.close()
    crawls.path.unlink()
    crawls.titles = {}
    crawls.crawl(titles | {3: "third"})
    assert crawls.sync(engine).run().upserted == 1
    crawls.assert_in(engine)


@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize("lost", [1, 3])
def test_index_follows_restored_history(crawls: Crawls, engine: Memory, lost: int) -> None:
    crawls.sync(engine).run()
    crawls.close()
    backup, titles = crawls.path.read_bytes(), dict(crawls.titles)
    for week in range(lost):
        crawls.crawl({number: f"lost {week} {number}" for number in range(10)}, gone=[19 - week])
        crawls.sync(engine).run()
    restored(crawls, backup)
    # Shorter than what was lost, and with the same numbers: other pages are behind them.
    crawls.titles = titles
    crawls.crawl({5: "found again", 19: "still here", 40: "new"}, gone=[0])
    crawls.sync(engine).run()
    crawls.assert_in(engine)


@pytest.mark.usefixtures("clock")
def test_resumed_crawl_counts_as_same_history(
    crawls: Crawls, engine: Memory, caplog: pytest.LogCaptureFixture
) -> None:
    for title in ("first", "second"):
        crawls.number = 1  # the same crawl
        crawls.crawl({3: title})
        engine.calls.clear()
        assert crawls.sync(engine).run().upserted == 1
        assert set(engine.calls) == {"find", "upsert", "flush"}
    assert not caplog.text


def test_documents_missing_from_incomplete_history_are_kept(
    crawls: Crawls, engine: Memory, caplog: pytest.LogCaptureFixture
) -> None:
    crawls.close()
    crawls.path.unlink()
    crawls.titles = {}
    crawls.crawl({1: "one", 2: "two"}, is_complete=False)
    report = crawls.sync(engine).run()
    assert (report.upserted, report.deleted, report.kept) == (2, 0, 18)
    assert str(report).endswith(", 18 kept until a crawl is complete")
    assert "18 documents left as before, though the book (e.org.sqlite" in caplog.text
    crawls.crawl(dict.fromkeys(range(17), "again"))
    report = crawls.sync(engine).run()
    assert (report.deleted, report.kept) == (3, 0)
    crawls.assert_in(engine)


@pytest.mark.usefixtures("clock")
def test_restored_history_keeps_newer_documents_until_seen_again(
    crawls: Crawls, engine: Memory, caplog: pytest.LogCaptureFixture
) -> None:
    crawls.sync(engine).run()
    crawls.close()
    backup, titles = crawls.path.read_bytes(), dict(crawls.titles)
    crawls.crawl({1: "newer", 2: "newer", 3: "newer", 50: "newer"}, gone=[4])
    crawls.sync(engine).run()
    restored(crawls, backup)
    crawls.titles = titles
    crawls.crawl({2: "newest", 51: "new"}, is_complete=False)
    for upserted in (2, 0):
        report = crawls.sync(engine).run()
        # Of 1, 3, 4 and 50 the history may have what is older.
        assert (report.upserted, report.deleted, report.kept) == (upserted, 0, 4)
    there = {int(one, 16): document.fields["title"] for one, document in engine.there.items()}
    newer = {1: "newer", 2: "newest", 3: "newer", 50: "newer", 51: "new"}
    assert there == {number: titles[number] for number in titles if number != 4} | newer
    crawls.crawl(dict.fromkeys(range(1, 4), "seen"))
    crawls.sync(engine).run()
    crawls.assert_in(engine)
    assert "4 documents left as before" in caplog.text


def test_index_rebuilt_during_sync_keeps_old_sync_mark(
    crawls: Crawls, engine: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    crawls.crawl({1: "first"})
    mark = engine.marks["e.org"]
    sync = crawls.sync(engine)
    monkeypatch.setattr(engine, "identity", lambda: "another")
    with pytest.raises(EngineError, match="has rebuilt memory:index"):
        sync.run()
    assert engine.marks["e.org"] == mark


@pytest.fixture
def other(crawls: Crawls) -> Iterator[Crawls]:
    """Give a second history, of a crawl into the same index."""
    found = Crawls(crawls.path.parent)
    found.path = found.path.with_name("f.org.sqlite")
    yield found
    found.close()


def test_page_in_two_crawls_belongs_to_the_crawl_that_wrote_it_first(
    crawls: Crawls, other: Crawls, engine: Memory, caplog: pytest.LogCaptureFixture
) -> None:
    other.crawl({3: "theirs", 99: "theirs"})
    report = other.sync(engine).run()
    assert (report.upserted, report.taken_over, report.foreign) == (1, 0, {"e.org": 1})
    assert engine.there[f"{3:032x}"].fields["title"] == "title 3"
    (warning,) = caplog.messages
    for fact in ("1 page of f.org", "e.org: 1", "--take-over"):
        assert fact in warning
    assert other.sync(engine).run().foreign == {"e.org": 1}
    assert len(caplog.messages) == 1, "it is said once"
    differences = other.sync(engine).differences()
    assert (bool(differences), differences.foreign) == (False, {f"{3:032x}": "e.org"})
    # The owner updates it, and who has it no more leaves it alone.
    crawls.crawl({3: "newer"})
    crawls.sync(engine).run()
    other.crawl({}, gone=[3])
    assert other.sync(engine).run().deleted == 0
    assert engine.there[f"{3:032x}"].fields["title"] == "newer"


def test_page_that_its_owner_has_deleted_is_written_by_the_other_crawl(
    crawls: Crawls, other: Crawls, engine: Memory
) -> None:
    other.crawl({3: "theirs", 99: "theirs"})
    other.sync(engine).run()
    crawls.crawl({}, gone=[3])
    assert crawls.sync(engine).run().deleted == 1
    assert other.sync(engine).run().upserted == 1
    assert engine.there[f"{3:032x}"].fields["title"] == "theirs"


def test_documents_that_are_gone_from_the_index_are_written_again(
    crawls: Crawls, engine: Memory, caplog: pytest.LogCaptureFixture
) -> None:
    engine.delete([f"{number:032x}" for number in range(13)])
    assert crawls.sync(engine).run().upserted == 13
    (warning,) = caplog.messages
    for fact in ("memory:index", "7 documents of e.org", "had 20"):
        assert fact in warning
    crawls.assert_in(engine)
    # So are those that another crawl took over, and deleted.
    del engine.there[f"{5:032x}"]
    crawls.crawl({6: "sixth"}, gone=[7])
    report = crawls.sync(engine).run()
    assert (report.upserted, report.deleted) == (2, 1)
    crawls.assert_in(engine)


def test_pages_that_have_moved_are_deleted_when_all_documents_are_compared(
    crawls: Crawls, other: Crawls, engine: Memory
) -> None:
    other.crawl({number: f"title {number}" for number in range(3)} | {99: "theirs"})
    other.crawl({number: f"old {number}" for number in range(100, 110)})
    other.sync(engine).run()
    moved = {number + 100: number for number in range(100, 110)}
    other.crawl({new: f"old {old}" for new, old in moved.items()}, moved=moved)
    report = other.sync(engine).run()
    assert (report.upserted, report.deleted) == (10, 10)


def test_mark_of_an_older_version_leads_to_a_comparison(crawls: Crawls, engine: Memory) -> None:
    mark = json.loads(engine.marks["e.org"])
    engine.marks["e.org"] = json.dumps({name: mark[name] for name in ("stand", "refused")})
    engine.delete([f"{3:032x}"])
    assert crawls.sync(engine).run().upserted == 1
    crawls.assert_in(engine)


def test_renamed_crawl_takes_over_its_documents(
    crawls: Crawls, engine: Memory, caplog: pytest.LogCaptureFixture
) -> None:
    renamed = Crawls(crawls.path.parent)
    renamed.path = renamed.path.with_name("renamed.sqlite")
    renamed.crawl({number: f"title {number}" for number in range(19)} | {3: "third"})
    assert renamed.sync(engine).run().foreign == {"e.org": 19}
    caplog.clear()
    assert renamed.sync(engine, take_over=True).run().taken_over == 19
    assert "memory:index: 19 documents of another crawl" in caplog.text
    renamed.crawl({}, gone=[4])
    assert renamed.sync(engine).run().deleted == 1
    assert engine.there[f"{3:032x}"].fields["title"] == "third"
    # The crawl with the old name hears of it, and takes nothing back.
    assert crawls.sync(engine).run().foreign == {"renamed": 18}
    renamed.close()


def test_mass_deletion_is_refused_without_force(crawls: Crawls, engine: Memory) -> None:
    crawls.crawl({1: "first"}, gone=range(5, 15))
    with pytest.raises(EngineError, match=r"10 documents of e\.org would be deleted.*--force"):
        crawls.sync(engine).run()
    assert len(engine.there) == 20
    assert engine.there[f"{1:032x}"].fields["title"] == "first"
    with pytest.raises(EngineError, match="would be deleted"):
        crawls.sync(engine).run()
    assert crawls.sync(engine, force=True).run().deleted == 10
    crawls.assert_in(engine)


def test_mass_deletion_is_refused_for_index_without_sync_mark(
    crawls: Crawls, engine: Memory
) -> None:
    crawls.crawl({}, gone=range(5, 15))
    engine.marks.clear()
    with pytest.raises(EngineError, match="would be deleted"):
        crawls.sync(engine).run()
    assert len(engine.there) == 20
    sync = crawls.sync(engine)
    with pytest.raises(EngineError, match="would be deleted"):
        sync.mend(sync.differences())
    assert crawls.sync(engine, force=True).run().deleted == 10


@pytest.mark.parametrize("way", ["refusing", "failing"])
def test_rejected_document_is_logged_and_retried_later(
    crawls: Crawls, engine: Memory, way: str, caplog: pytest.LogCaptureFixture
) -> None:
    setattr(engine, way, {"bad"})
    crawls.crawl({1: "good", 2: "bad", 3: "good too", 60: "bad"})
    report = crawls.sync(engine).run()
    assert (report.upserted, len(report.refused)) == (2, 2)
    reason = "no such title" if way == "refusing" else "HTTP 400"
    assert f"memory:index refused document {2:032x}: {reason}" in caplog.messages
    assert set(json.loads(engine.marks["e.org"])["refused"]) == {f"{2:032x}", f"{60:032x}"}
    found = crawls.sync(engine).differences()
    assert not found
    assert sorted(found.refused) == [f"{2:032x}", f"{60:032x}"]
    setattr(engine, way, set())
    sync = crawls.sync(engine)
    assert sync.mend(sync.differences()).upserted == 2
    crawls.assert_in(engine)


def test_engine_rejecting_all_documents_raises_engine_error(crawls: Crawls, engine: Memory) -> None:
    engine.refusing = {"a", "b", "c"}
    crawls.crawl({1: "a", 2: "b", 3: "c"})
    with pytest.raises(EngineError, match=r"^memory:index .*no such title$"):
        crawls.sync(engine).run()
    engine.refusing = set()
    crawls.sync(engine).run()
    crawls.assert_in(engine)


@pytest.mark.usefixtures("clock")
def test_older_copy_of_history_never_reverts_index(crawls: Crawls, engine: Memory) -> None:
    crawls.sync(engine).run()
    crawls.close()
    backup, titles = crawls.path.read_bytes(), dict(crawls.titles)
    crawls.crawl({1: "newer", 2: "newer"})
    crawls.sync(engine).run()
    restored(crawls, backup)
    with pytest.raises(EngineError, match=r"contentspider index verify \S+ \S+ --mend --force"):
        crawls.sync(engine).run()
    assert engine.there[f"{1:032x}"].fields["title"] == "newer"
    crawls.titles = titles
    sync = crawls.sync(engine)
    sync.mend(sync.differences())
    crawls.assert_in(engine)
    assert str(crawls.sync(engine).run()) == "0 documents written, 0 deleted"


def test_foreign_changes_to_index_are_mended(crawls: Crawls, engine: Memory) -> None:
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


def test_report_text_counts_taken_and_refused_documents() -> None:
    assert str(Report(3, 2, unchanged=9)) == "3 documents written, 2 deleted"
    text = str(Report(taken_over=4, refused={"a": "no"}))
    assert text.endswith("4 taken over from another crawl, 1 refused by the engine")


def test_engine_that_is_down_is_retried_with_growing_waits(monkeypatch: pytest.MonkeyPatch) -> None:
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
    assert max(slept) <= 1.5 * LONGEST_WAIT_SECS


def test_index_urls_never_contain_credentials() -> None:
    assert (
        redacted_url("opensearch://me:secret@host:9200/pages?key=s")
        == "opensearch://host:9200/pages"
    )
    for url in ("opensearch://me:secret@host/pages", "typesense://h/a b", "sqlite:x?key=secret"):
        with pytest.raises(EngineError, match="credentials in the environment") as raised:
            create_engine(url)
        assert "secret" not in str(raised.value)
    for url in ("pages", "sqlite:", "nowhere://x", ""):
        with pytest.raises(EngineError, match="sqlite"):
            create_engine(url)


def test_missing_engine_package_error_names_pip_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    monkeypatch.setitem(sys.modules, "typesense", None)
    for url in ("postgresql://host/database/table", "typesense+https://host/pages"):
        engine = url.partition(":")[0].partition("+")[0]
        wanted = f"pip install 'contentspider[{engine}]'"
        with pytest.raises(EngineError, match=re.escape(wanted)):
            create_engine(url)


def test_foreign_manifests_are_rejected() -> None:
    with pytest.raises(EngineError, match=r"^it exists"):
        Manifest.load("{}", "it")
    with pytest.raises(
        SchemaMismatchError,
        match=rf"has schema {VERSION + 1}, .* schema {VERSION}: .* index rebuild",
    ):
        Manifest.load(Manifest(VERSION + 1, "x").dump(), "it")
