"""What a run over an index says of what it found, and does not do."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from contentspider.index import sync as sync_module
from contentspider.index.errors import EngineError, Retries
from contentspider.index.sync import Differences, Report
from tests.indexes import Crawls, Memory
from tests.messages import wording

if TYPE_CHECKING:
    from pathlib import Path


def test_a_history_without_items_gives_one_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    crawls = Crawls(tmp_path)
    crawls.crawl({})
    crawls.sync(Memory()).run()
    crawls.close()
    (message,) = caplog.messages
    assert message.startswith("e.org.sqlite has no pages with content yet")


def test_index_filled_from_other_history_logs_warning(
    crawls: Crawls, engine: Memory, caplog: pytest.LogCaptureFixture
) -> None:
    crawls.close()
    crawls.path.unlink()
    crawls.crawl({number: f"title {number}" for number in range(20)})
    crawls.sync(engine).run()
    (message,) = caplog.messages
    assert message.startswith(
        "memory:index " + wording("index.other-history") + " than e.org.sqlite"
    )


def test_older_history_error_suggests_verify_mend(crawls: Crawls, engine: Memory) -> None:
    mark = json.loads(engine.marks["e.org"])
    mark["stand"] |= {"key": "another", "ended": "2999-01-01T00:00:00+00:00"}
    engine.marks["e.org"] = json.dumps(mark)
    with pytest.raises(EngineError) as raised:
        crawls.sync(engine).run()
    ended = crawls.sync(engine)._entries.position().ended
    facts = ("memory:index", "2999-01-01T00:00:00+00:00", "e.org.sqlite", ended, "--mend --force'")
    for fact in facts:
        assert fact in str(raised.value)


def test_refused_deletion_error_suggests_force(crawls: Crawls, engine: Memory) -> None:
    crawls.crawl({30: "new"}, gone=range(12))
    with pytest.raises(EngineError) as raised:
        crawls.sync(engine).run()
    share = sync_module.MAX_GONE_SHARE
    for fact in ("memory:index: 12 documents of e.org", f"{share:g};", "--force"):
        assert fact in str(raised.value)
    assert len(engine.there) == 21
    report = crawls.sync(engine, force=True).run()
    assert (report.upserted, report.deleted) == (0, 12)


def test_rejected_documents_are_logged_up_to_limit(
    crawls: Crawls,
    engine: Memory,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(sync_module, "MAX_LOGGED_REFUSALS", 2)
    engine.refusing = {"bad"}
    crawls.crawl({1: "bad", 2: "bad", 3: "bad", 4: "good"})
    report = crawls.sync(engine).run()
    assert list(report.refused.values()) == ["no such title"] * 3
    named = [f"memory:index refused document {number:032x}: no such title" for number in (1, 2)]
    assert caplog.messages == [*named, "memory:index refused 1 more document"]
    crawls.crawl({}, gone=[1])
    sync = crawls.sync(engine)
    sync.run()
    assert set(sync._refused) == {f"{2:032x}", f"{3:032x}"}, "what is gone is missed no more"


def test_error_of_engine_rejecting_all_documents_names_engine(
    crawls: Crawls, engine: Memory
) -> None:
    engine.refusing = {"a", "b"}
    crawls.crawl({1: "a", 2: "b"})
    with pytest.raises(EngineError, match=r"^memory:index .*: no such title$"):
        crawls.sync(engine).run()


def test_sync_report_counts_retries(
    crawls: Crawls, engine: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("contentspider.index.errors.time.sleep", lambda seconds: None)
    crawls.crawl({1: "changed"})
    engine.down = 2
    sync = crawls.sync(engine)
    sync._retry = Retries(60)
    assert sync.run().retries == 2


def test_report_text_lists_all_counts() -> None:
    report = Report(3, 2, unchanged=9, taken_over=1, kept=4, refused={"a": "no", "b": "no"})
    assert str(report) == (
        "3 documents written, 2 deleted, 1 taken over from another crawl,"
        " 4 kept until a crawl is complete, 2 refused by the engine"
    )
    assert str(Report()) == "0 documents written, 0 deleted"


@pytest.mark.parametrize("kind", ["missing", "stale", "extra"])
def test_differences_are_true_if_any_document_differs(kind: str) -> None:
    assert Differences(**{kind: ["a"]})  # type: ignore[arg-type]
    assert not Differences(same=3, refused=["a"])
