"""When sites are due, in what order, and how many are crawled at a time."""

from __future__ import annotations

import shutil
import threading
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from contentspider.run import site_job
from contentspider.run.child import Child, Ended
from contentspider.run.jobs import Jobs
from contentspider.run.report import report_lines
from contentspider.run.results import AT_ONCE, LastCrawl, SiteResult, last_crawl, run_outcome
from contentspider.run.site_job import SiteJob
from contentspider.run.sitesfile import PlannedSite
from contentspider.state.book import book as runs
from contentspider.state.book.book import Book
from contentspider.state.book.database import is_in_use, lock_of
from contentspider.state.crawls.books import crawl_book
from contentspider.state.outcome import Outcome
from tests.messages import wording

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

DAY = timedelta(days=1)
BEGAN = datetime(2026, 3, 1, 3, tzinfo=timezone.utc)


def crawled(
    path: Path, monkeypatch: pytest.MonkeyPatch, *reasons: str, began: datetime = BEGAN
) -> LastCrawl:
    """Return how a crawl stands whose runs, an hour each, ended so; "" is one that was killed."""
    kept = Book(path)
    for number, reason in enumerate(reasons):
        times = iter([began + timedelta(hours=number), began + timedelta(hours=number + 1)])
        monkeypatch.setattr(runs, "now", lambda times=times: next(times).isoformat())
        kept.runs.begin()
        if reason:
            kept.runs.end(reason)
    kept.commit()
    kept.close()
    return last_crawl(path)


@pytest.mark.parametrize(
    ("reasons", "is_unfinished"),
    [
        (["finished"], False),
        (["shutdown", "finished"], False),
        (["max_pages"], False),  # the user's own limit
        (["closespider_timeout"], False),
        ([""], True),
        (["shutdown"], True),
        (["outage"], True),
        (["incomplete"], True),
        (["incomplete", ""], True),
        (["incomplete", "incomplete"], False),  # pages that cannot be read: in vain
    ],
)
def test_last_crawl_is_finished_or_resumable(
    reasons: list[str], is_unfinished: bool, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    last = LastCrawl(BEGAN, is_unfinished, is_killed=reasons[-1] == "")
    assert crawled(path, monkeypatch, *reasons) == last


def test_missing_or_damaged_book_counts_as_no_crawl(path: Path) -> None:
    assert last_crawl(path) == LastCrawl()
    Book(path).close()
    assert last_crawl(path) == LastCrawl()
    path.write_bytes(b"no database" * 100)
    assert last_crawl(path) == LastCrawl()


def test_interval_counts_from_start_of_crawl_with_tolerance() -> None:
    assert LastCrawl().due(DAY) == AT_ONCE
    assert LastCrawl(BEGAN, is_unfinished=True).due(DAY) == BEGAN
    early = BEGAN + DAY - timedelta(minutes=10)
    assert BEGAN + DAY / 2 < LastCrawl(BEGAN).due(DAY) < early


@pytest.mark.parametrize(("failures", "days"), [(1, 1), (2, 2), (3, 4), (4, 8), (5, 8), (999, 8)])
def test_site_that_is_down_is_due_after_doubled_intervals(failures: int, days: int) -> None:
    result = SiteResult("tea", "incomplete", started=BEGAN.isoformat(), failures=failures)
    last = LastCrawl(BEGAN - DAY, is_unfinished=True).with_result(result)
    due = last.due(DAY)
    assert BEGAN + days * DAY * 0.9 < due < BEGAN + days * DAY
    assert last.due(None) == BEGAN - DAY, "without an interval it is due at once"


def test_site_whose_crawl_was_stopped_before_it_began_is_due() -> None:
    later = BEGAN + DAY / 4
    stopped = SiteResult("tea", "interrupted", started=later.isoformat())
    assert LastCrawl(BEGAN).with_result(stopped).due(DAY) == BEGAN
    complete = replace(stopped, outcome="complete")
    assert LastCrawl(BEGAN).with_result(complete).due(DAY) > later


def test_crawl_that_failed_here_is_due_within_the_hour() -> None:
    failed = SiteResult("tea", "error", started=BEGAN.isoformat())
    due = LastCrawl(BEGAN - DAY, is_unfinished=True).with_result(failed).due(DAY)
    assert BEGAN < due <= BEGAN + DAY / 24
    assert LastCrawl().with_result(failed).due(DAY / 48) <= BEGAN + DAY / 48


def test_crawl_that_could_write_nothing_has_a_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    child = Child("tea", tmp_path, has_lease=False)
    (told,) = child._ended(1, BEGAN).result.reasons
    assert "no space" not in told
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=0))
    child.log.touch()
    (told,) = child._ended(1, BEGAN).result.reasons
    assert "no space" in told


def test_run_names_what_accepts_doubted_pages_and_crawls_only_other_sites_again() -> None:
    doubted, failed = SiteResult("tea", "gone_doubted"), SiteResult("ferry", "incomplete")
    last = report_lines([doubted], Outcome.GONE_DOUBTED)[-1]
    assert "contentspider changes tea --accept-gone" in last and "--only" not in last
    last = report_lines([doubted, failed], Outcome.INCOMPLETE)[-1]
    assert "contentspider changes tea --accept-gone" in last and last.endswith("--only ferry")


def test_failures_in_a_row_are_counted_until_site_is_up() -> None:
    first = SiteResult("tea", "nothing_read", started="1", failures=1, down_since="1")
    second = SiteResult("tea", "incomplete", started="2", failures=1, down_since="2")
    assert not first.after(None, None).is_still_down
    third = second.after(second.after(first, None), None)
    assert (third.failures, third.down_since, third.is_still_down) == (3, "1", True)
    assert SiteResult("tea", "complete").after(third, None).failures == 0
    assert run_outcome([third], False, is_scheduled=True) is Outcome.COMPLETE
    assert run_outcome([third], False) is Outcome.INCOMPLETE


def planned(name: str, interval: timedelta = DAY) -> PlannedSite:
    return PlannedSite(name, {"url": [f"http://{name}.example/"]}, interval)


def test_site_whose_crawl_failed_is_due_when_a_secret_was_corrected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "login.toml"
    fields = 'fields = {name = "me", password = {env = "TEA_PASSWORD"}}'
    file.write_text(f'[login.tea]\nform = "https://e.org/login"\n{fields}\n')
    site = PlannedSite("tea", {"url": ["https://e.org"], "login": str(file)}, DAY)
    monkeypatch.setenv("TEA_PASSWORD", "wrong")
    now = datetime.now(timezone.utc)
    failed = SiteResult("tea", "nothing_read", started=now.isoformat(), entry=site.digest())
    assert "wrong" not in str(failed.entry)
    last = LastCrawl(now, is_unfinished=True)
    assert last.with_result(failed, site.digest).due(DAY) > now
    monkeypatch.setenv("TEA_PASSWORD", "right")
    assert last.with_result(failed, site.digest).due(DAY) == AT_ONCE
    done = replace(failed, outcome="complete")
    assert last.with_result(done, site.digest).due(DAY) != AT_ONCE, "it is well as it is"


def instead_of_crawls(
    monkeypatch: pytest.MonkeyPatch, crawl: Callable[[PlannedSite, bool], None]
) -> None:
    """Call a function with the site, and whether it is resumed, instead of each crawl."""

    def complete(job: SiteJob, *_: object, resume: bool = False) -> Ended:
        crawl(job._site, resume)
        return Ended(SiteResult(job._site.name, "complete", 0))

    monkeypatch.setattr(
        SiteJob, "_crawl", lambda job, *given: complete(job, *given[:-1], resume=given[-1])
    )


def test_due_sites_are_crawled_most_overdue_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = datetime.now(timezone.utc)
    state = str(tmp_path)
    for name, reason, days in (
        ("early", "finished", 0.5),
        ("late", "finished", 2),
        ("later", "finished", 5),
        ("weekly", "finished", 5),
        ("stopped", "shutdown", 3),
    ):
        kept = crawl_book(name, state)
        crawled(kept, monkeypatch, reason, began=now - timedelta(days=days))
    order = []

    def crawl(site: PlannedSite, resume: bool) -> None:
        order.append((site.name, resume))
        if site.name == "new":  # elsewhere somebody crawls the next one
            crawled(crawl_book("meanwhile", state), monkeypatch, "finished", began=now)

    instead_of_crawls(monkeypatch, crawl)
    sites = [planned(name) for name in ("early", "late", "new", "later", "stopped", "meanwhile")]
    results = Jobs(1, only_due=True, state_dir=state).run([*sites, planned("weekly", 7 * DAY)])
    assert order == [("new", False), ("later", False), ("stopped", True), ("late", False)]
    told = [(result.site, result.outcome) for result in results]
    assert told == [
        ("early", "not_due"),
        ("late", "complete"),
        ("new", "complete"),
        ("later", "complete"),
        ("stopped", "complete"),
        ("meanwhile", "not_due"),
        ("weekly", "not_due"),
    ]
    assert results[0].reasons[0].startswith("due 20")
    order.clear()
    with lock_of(crawl_book("late", state)):
        results = Jobs(1, state_dir=state).run(sites[:3])
    assert order == [("early", False), ("new", False)], "in the file's order, whatever is due"
    assert results[1] == SiteResult("late", "running", reasons=(wording("run.runs-elsewhere"),))
    assert run_outcome(results, is_stopped=False) is Outcome.COMPLETE


def test_number_of_parallel_crawls_is_limited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = threading.Barrier(2, timeout=60)  # nobody passes alone
    running, most = set[str](), []

    def crawl(site: PlannedSite, resume: bool) -> None:
        running.add(site.name)
        both.wait()
        most.append(len(running))
        both.wait()
        running.discard(site.name)

    instead_of_crawls(monkeypatch, crawl)
    Jobs(2, state_dir=str(tmp_path)).run([planned(name) for name in "abcdef"])
    assert len(most) == 6
    assert set(most) == {2}


def test_sites_that_share_a_host_are_never_crawled_at_the_same_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    running, done, alone = set[str](), list[str](), threading.Event()

    def crawl(site: PlannedSite, resume: bool) -> None:
        running.add(site.name)
        assert not {"a", "b"} <= running
        if site.name == "a":
            assert alone.wait(60), "the third site has its turn while the second one waits"
        alone.set()
        running.discard(site.name)
        done.append(site.name)

    instead_of_crawls(monkeypatch, crawl)
    sites = [
        PlannedSite("a", {"url": ["http://h.example/a"]}),
        PlannedSite("b", {"url": ["http://h.example/b", "http://b.example/"]}),
        PlannedSite("c", {"url": ["http://c.example/"]}),
    ]
    results = Jobs(2, state_dir=str(tmp_path)).run(sites)
    assert done[0] == "c"
    assert [result.outcome for result in results] == ["complete"] * 3


def test_crawl_that_cannot_start_does_not_stop_other_crawls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "logs").write_text("no folder")
    results = Jobs(1, state_dir=str(tmp_path)).run([planned("a"), planned("b")])
    assert [result.outcome for result in results] == ["error", "error"]
    assert "logs" in results[0].reasons[0]


def test_crawl_started_elsewhere_meanwhile_is_not_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    options = {"name": "a", "output": [f"{tmp_path}/a.jsonl"], "url": ["http://127.0.0.1:9/"]}
    site = PlannedSite("a", options)
    kept = crawl_book("a", str(tmp_path))
    looks = iter([False])  # when it is looked at first, the other one has not begun
    monkeypatch.setattr(site_job, "is_in_use", lambda path: next(looks, is_in_use(path)))
    with lock_of(kept):
        (result,) = Jobs(1, state_dir=str(tmp_path)).run([site])
    assert result.outcome == "running"
    assert "a" + wording("run.skipped") in caplog.text
    assert "in use by another process" in (tmp_path / "logs" / "a.log").read_text()


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        ([], Outcome.COMPLETE),
        (["complete", "not_due", "running"], Outcome.COMPLETE),
        (["complete", "monitor_failed"], Outcome.MONITOR_FAILED),
        (["complete", "gone_doubted"], Outcome.GONE_DOUBTED),
        (["complete", "index_behind"], Outcome.INDEX_BEHIND),
        (["complete", "output_failed", "not_due"], Outcome.OUTPUT_FAILED),
        (["output_failed", "index_behind"], Outcome.INCOMPLETE),
        (["monitor_failed", "gone_doubted"], Outcome.INCOMPLETE),
        (["monitor_failed", "error"], Outcome.INCOMPLETE),
        (["complete", "nothing_read"], Outcome.INCOMPLETE),
        (["interrupted"], Outcome.INCOMPLETE),  # one crawl was killed, not the run
    ],
)
def test_run_exit_code_follows_from_site_outcomes(outcomes: list[str], expected: Outcome) -> None:
    results = [SiteResult("a", outcome) for outcome in outcomes]
    assert run_outcome(results, is_stopped=False) is expected
    assert run_outcome(results, is_stopped=True) is Outcome.INTERRUPTED
