"""The results of the sites of a run, now and in their last crawl, its outcome, and its summary."""

from __future__ import annotations

import json
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

from contentspider.ground.atomic import write_json, writing
from contentspider.ground.errors import DAMAGE, ContentSpiderError
from contentspider.state.crawls.books import accept_gone, crawl_book, is_hopeless, read_book
from contentspider.state.crawls.export import books
from contentspider.state.crawls.folder import state_folder
from contentspider.state.outcome import FINISHED, LIMITS, DoubtfulTemplate, Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from contentspider.state.book.book import Run

LOGS = "logs"
# The outcomes of sites that were not crawled; other outcomes are in `Outcome`.
NOT_DUE, RUNNING, NOT_STARTED = "not_due", "running", "not_started"
UNCRAWLED = (NOT_DUE, RUNNING, NOT_STARTED)
INTERRUPTED, ERROR = Outcome.INTERRUPTED.name.lower(), Outcome.ERROR.name.lower()
# Outcomes of crawls that may have read nothing.
NOTHING = tuple(
    outcome.name.lower() for outcome in (Outcome.ERROR, Outcome.NOTHING_READ, Outcome.INCOMPLETE)
)
# Outcomes of a crawl that is complete but needs attention. A run has one of them if it is the only
# problem of its crawls.
OUTCOMES_OF_RUNS = (
    Outcome.MONITOR_FAILED,
    Outcome.GONE_DOUBTED,
    Outcome.INDEX_BEHIND,
    Outcome.OUTPUT_FAILED,
    Outcome.CONTENT_HIDDEN,
)
# A site is due early by this share of its interval, so that a daily timer that comes a few
# minutes early does not skip a day.
SLACK = 0.05
MOST_INTERVALS = 8  # between two crawls of a site that is down
# Before a crawl is tried again that failed here, such as for a full disk.
AFTER_ERROR = timedelta(hours=1)
AT_ONCE = datetime.min.replace(tzinfo=timezone.utc)


@dataclass(frozen=True, slots=True)
class LastCrawl:
    """The last crawl of a site: when it *began* (None: never), and whether it is unfinished. A
    crawl that reached a limit of its user is finished. If it read nothing, *tried* is when it was
    tried last, and *failures* counts the crawls in a row that found the site down. *is_killed*: its
    last run did not end by itself, or it still runs. *is_error*: it failed on this machine, not on
    the site.
    """

    began: datetime | None = None
    is_unfinished: bool = False
    tried: datetime | None = None
    failures: int = 0
    is_killed: bool = False
    is_error: bool = False

    def due(self, interval: timedelta | None) -> datetime:
        """Return when the site is due. An unfinished crawl was due when it began. A crawl that
        began in the future is due at once, because the clock was wrong.

        The *interval* (None: due at once) counts from the beginning of the last crawl, so that a
        daily crawl does not start later each day. A site that gave nothing to read is due after its
        interval. If it is down, it is then due after twice, and so on, up to `MOST_INTERVALS`. A
        crawl that failed here is due after `AFTER_ERROR`, if the interval is not shorter.
        """
        if interval and self.tried and self.tried <= datetime.now(timezone.utc):
            count = min(1 << min(max(self.failures - 1, 0), MOST_INTERVALS), MOST_INTERVALS)
            interval = min(interval, AFTER_ERROR) if self.is_error else interval
            return self.tried + interval * (1 - SLACK) * count
        if self.began is None or self.began > datetime.now(timezone.utc):
            return AT_ONCE
        if self.is_unfinished or not interval:
            return self.began
        return self.began + interval * (1 - SLACK)

    def with_result(
        self, result: SiteResult | None, entry: Callable[[], str] | None = None
    ) -> LastCrawl:
        """Return this crawl with data from the *result* of the site's last crawl. If that was not
        complete, and the *entry* of the site (`PlannedSite.digest`) has changed since, or if it was
        stopped before it had begun, the site is due at once.
        """
        if result is None or not result.started:
            return self
        if result.is_failed and entry and result.entry and entry() != result.entry:
            return LastCrawl()
        started = datetime.fromisoformat(result.started)
        if result.outcome == INTERRUPTED and self.began and started > self.began:
            return replace(self, is_unfinished=True)  # it ended before its book had it
        if not result.has_read_nothing:
            return self
        is_error = result.outcome == ERROR
        return replace(self, tried=started, failures=result.failures, is_error=is_error)


def last_crawl(path: Path) -> LastCrawl:
    """Return the last crawl in a book; none if it is unreadable, which the next crawl reports."""
    if path.is_file():
        broken = (ContentSpiderError, ValueError, TypeError)
        with suppress(*broken), closing(read_book(path)) as book:
            if runs := book.runs.all():
                is_over = runs[-1].reason in (FINISHED, *LIMITS) or is_hopeless(book)
                began = datetime.fromisoformat(runs[0].started)
                return LastCrawl(began, not is_over, is_killed=runs[-1].ended is None)
    return LastCrawl()


@dataclass(frozen=True, slots=True)
class SiteResult:
    """The result of a site. *outcome* is the outcome of its crawl, or `NOT_DUE`, `RUNNING` (in
    another process) or `NOT_STARTED`.

    *exit_code* is the process' (negative: the signal that ended it). *items* counts the items of
    this run, *read* the pages that it has read, *pages* the pages that the site has, and *changes*
    the pages of each kind of change.
    *f1* is their quality, measured on *f1_pages* pages with an own text (0: predicted).
    *relearned* counts the new models of sites whose template has changed.
    *doubtful* are templates whose items may be wrong, *warnings* the figures of the crawl that are
    beyond their limits, in words. *indexes* are the URLs of the search indexes that the crawl
    updates. If the site is down, *down_since* is the time of the first of the *failures* crawls in
    a row that read nothing. *due* is when ``--due`` crawls it again. *entry* is a digest of the
    site's entry in *file*, the file of sites. *last_failure* is the outcome of the last crawl of a
    site that is not due, if that crawl was not complete. *accepted* has the outcome, exit code and
    reasons that the crawl gets if a person accepts that the doubted pages are gone. Times are ISO
    8601 in UTC; *log* is a path, or a URL in the store of the site's state.
    """

    site: str
    outcome: str
    exit_code: int | None = None
    started: str | None = None
    ended: str | None = None
    seconds: float | None = None
    items: int | None = None
    read: int | None = None
    pages: int | None = None
    changes: dict[str, int] = field(default_factory=dict)
    f1: float | None = None
    f1_pages: int = 0
    relearned: int = 0
    doubtful: tuple[DoubtfulTemplate, ...] = ()
    reasons: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    indexes: tuple[str, ...] = ()
    log: str | None = None
    down_since: str | None = None
    failures: int = 0
    due: str | None = None
    entry: str | None = None
    file: str | None = None
    last_failure: str | None = None
    accepted: dict[str, Any] = field(default_factory=dict)

    @property
    def is_failed(self) -> bool:
        """Whether the site was crawled, but the crawl is not complete."""
        return self.outcome not in (*UNCRAWLED, Outcome.COMPLETE.name.lower())

    @property
    def has_read_nothing(self) -> bool:
        """Whether the crawl could not begin, or read no page."""
        return self.outcome in NOTHING and not self.read

    @property
    def is_still_down(self) -> bool:
        """Whether an earlier crawl has found already that the site is down."""
        return self.failures > 1

    def after(
        self,
        before: SiteResult | None,
        interval: timedelta | None,
        last: LastCrawl | None = None,
    ) -> SiteResult:
        """Return this result of a site with an *interval*, continued from the result *before*,
        with the time when the site is due again. *last* is the crawl in the site's book.
        """
        result = self
        if self.failures and before is not None and before.failures:
            count = self.failures + before.failures
            result = replace(self, failures=count, down_since=before.down_since)
        if not interval or not self.started:
            return result
        last = last or LastCrawl(datetime.fromisoformat(self.started))
        due = last.with_result(result).due(interval)
        return replace(result, due=due.isoformat(timespec="seconds"))

    @classmethod
    def load(cls, record: Mapping[str, Any]) -> SiteResult:
        """Return the result that `dataclasses.asdict` and JSON made a *record* of."""
        doubtful = tuple(DoubtfulTemplate(**template) for template in record["doubtful"])
        # Earlier versions counted only the pages that the crawl had read.
        read = record.get("read", record["pages"])
        return cls(**{**_lists(record), "read": read, "doubtful": doubtful})

    @classmethod
    def not_due(cls, site: str, due: datetime, before: SiteResult | None) -> SiteResult:
        """Return the result of a site that is *due* later; *before*: of its last crawl."""
        reason = f"due {due.isoformat(timespec='seconds')}"
        if before is None:
            return cls(site, NOT_DUE, reasons=(reason,))
        return cls(
            site,
            NOT_DUE,
            reasons=(reason,),
            down_since=before.down_since,
            failures=before.failures,
            last_failure=before.outcome if before.is_failed else None,
        )

    @classmethod
    def failed(cls, site: str, reason: str) -> SiteResult:
        """Return the result of a site that was not crawled because of an error."""
        return cls(site, Outcome.ERROR.name.lower(), reasons=(reason,))


def _lists(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a *record* with tuples in place of its lists of texts, as `SiteResult` has them."""
    names = ("reasons", "warnings", "indexes")
    return {**record, **{name: tuple(record[name]) for name in names if name in record}}


def times(started: datetime) -> dict[str, Any]:
    """Return the times when a crawl *started* and ended (now), and the seconds between."""
    ended = datetime.now(timezone.utc)
    return {
        "started": started.isoformat(timespec="seconds"),
        "ended": ended.isoformat(timespec="seconds"),
        "seconds": round((ended - started).total_seconds(), 3),
    }


def outcome_words(result: SiteResult) -> str:
    """Return the outcome of a site in words, with the day since when it is down, and whether it was
    learned again.
    """
    if result.is_still_down and result.down_since:
        return f"still down since {result.down_since[:10]}"
    words = result.outcome.replace("_", " ")
    return f"{words}, learned again" if result.relearned else words


def logs_folder(state_dir: str) -> Path:
    """Return the folder with the logs, stats and results of the crawls of many sites."""
    return state_folder(state_dir).absolute() / LOGS


def known_sites(state_dir: str = "") -> list[Path]:
    """Return the paths of the books of all sites. A site whose crawls could not begin has a path,
    but no file.
    """
    ending = ".result.json"
    results = logs_folder(state_dir).glob(f"*{ending}")
    tried = {crawl_book(path.name.removesuffix(ending), state_dir) for path in results}
    return sorted({*books(state_dir), *tried})


def result_file(logs: Path, name: str) -> Path:
    """Return where the result of the last crawl of the site *name* is."""
    return logs / f"{name}.result.json"


def write_result(path: Path, result: SiteResult) -> None:
    """Write the result of a site's crawl to *path*, for `read_result`; raises
    `ContentSpiderError`.
    """
    with writing(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, asdict(result))


def read_result(path: Path) -> SiteResult | None:
    """Return the result that `write_result` wrote; None if there is none, or if it is damaged."""
    with suppress(OSError, *DAMAGE):
        return SiteResult.load(json.loads(path.read_bytes()))
    return None


def accept_losses(book: Path) -> int:
    """Record the pages as gone that the last crawl with this book held back, and return their
    number (`accept_gone`). The result of that crawl then counts them as gone, and not as doubted.
    """
    file = result_file(book.parent / LOGS, book.stem)
    result, last = read_result(file), last_run(book)
    count = accept_gone(book)
    if count and result and last and last.started <= str(result.ended):
        result = replace(result, **_lists(result.accepted), accepted={})
        changes = {**result.changes, "gone": result.changes.get("gone", 0) + count}
        ended = datetime.now(timezone.utc).isoformat(timespec="seconds")
        write_result(file, replace(result, changes=changes, ended=ended))
    return count


def last_run(path: Path) -> Run | None:
    """Return the last run in a book; raises the errors of `read_book`."""
    with closing(read_book(path)) as book:
        return book.runs.last()


def run_outcome(
    results: Sequence[SiteResult], is_stopped: bool, is_scheduled: bool = False
) -> Outcome:
    """Return the outcome of a run: complete if all its crawls are complete. If it *is_scheduled*
    (``--due``), sites that are still down do not count: an earlier run has told them.
    """
    if is_stopped:
        return Outcome.INTERRUPTED
    told = [result for result in results if not (is_scheduled and result.is_still_down)]
    bad = {result.outcome for result in told} - {NOT_DUE, RUNNING, "complete"}
    for outcome in OUTCOMES_OF_RUNS:
        if bad == {outcome.name.lower()}:
            return outcome
    return Outcome.INCOMPLETE if bad else Outcome.COMPLETE


def summary_of(
    results: Sequence[SiteResult], outcome: Outcome, started: datetime
) -> dict[str, Any]:
    """Return the outcomes of a run and its sites as JSON data."""
    summary = {"outcome": outcome.name.lower(), "exit_code": int(outcome), **times(started)}
    return summary | {"sites": [asdict(result) for result in results]}
