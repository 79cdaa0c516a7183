"""The results of the sites of a run, now and in their last crawl, its outcome, and its summary."""

from __future__ import annotations

from contextlib import closing, suppress
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

from contentspider.ground.errors import ContentSpiderError
from contentspider.state.crawls.books import is_hopeless, read_book
from contentspider.state.outcome import FINISHED, LIMITS, DoubtfulTemplate, Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

# The outcomes of sites that were not crawled; other outcomes are in `Outcome`.
NOT_DUE, RUNNING, NOT_STARTED = "not_due", "running", "not_started"
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
AT_ONCE = datetime.min.replace(tzinfo=timezone.utc)


@dataclass(frozen=True, slots=True)
class LastCrawl:
    """The last crawl of a site: when it *began* (None: never), and whether it is unfinished. A
    crawl that reached a limit of its user is finished.
    """

    began: datetime | None = None
    is_unfinished: bool = False

    def due(self, interval: timedelta | None) -> datetime:
        """Return when the site is due. An unfinished crawl was due when it began. A crawl that
        began in the future is due at once, because the clock was wrong.

        The *interval* (None: due at once) counts from the beginning of the last crawl, so that a
        daily crawl does not start later each day.
        """
        if self.began is None or self.began > datetime.now(timezone.utc):
            return AT_ONCE
        if self.is_unfinished or not interval:
            return self.began
        return self.began + interval * (1 - SLACK)


def last_crawl(path: Path) -> LastCrawl:
    """Return the last crawl in a book; none if it is unreadable, which the next crawl reports."""
    if path.is_file():
        broken = (ContentSpiderError, ValueError, TypeError)
        with suppress(*broken), closing(read_book(path)) as book:
            if runs := book.runs.all():
                is_over = runs[-1].reason in (FINISHED, *LIMITS) or is_hopeless(book)
                return LastCrawl(datetime.fromisoformat(runs[0].started), not is_over)
    return LastCrawl()


@dataclass(frozen=True, slots=True)
class SiteResult:
    """The result of a site. *outcome* is the outcome of its crawl, or `NOT_DUE`, `RUNNING` (in
    another process) or `NOT_STARTED`.

    *exit_code* is the process' (negative: the signal that ended it). *items* counts the items of
    this run. *f1* is their quality, measured on *f1_pages* pages with an own text (0: predicted).
    *doubtful* are templates whose items may be wrong. Times are ISO 8601 in UTC; *log* is a path,
    or a URL in the store of the site's state.
    """

    site: str
    outcome: str
    exit_code: int | None = None
    started: str | None = None
    ended: str | None = None
    seconds: float | None = None
    items: int | None = None
    f1: float | None = None
    f1_pages: int = 0
    doubtful: tuple[DoubtfulTemplate, ...] = ()
    reasons: tuple[str, ...] = ()
    log: str | None = None

    @classmethod
    def load(cls, record: Mapping[str, Any]) -> SiteResult:
        """Return the result that `dataclasses.asdict` and JSON made a *record* of."""
        doubtful = tuple(DoubtfulTemplate(**template) for template in record["doubtful"])
        return cls(**{**record, "doubtful": doubtful, "reasons": tuple(record["reasons"])})

    @classmethod
    def failed(cls, site: str, reason: str) -> SiteResult:
        """Return the result of a site that was not crawled because of an error."""
        return cls(site, Outcome.ERROR.name.lower(), reasons=(reason,))


def times(started: datetime) -> dict[str, Any]:
    """Return the times when a crawl *started* and ended (now), and the seconds between."""
    ended = datetime.now(timezone.utc)
    return {
        "started": started.isoformat(timespec="seconds"),
        "ended": ended.isoformat(timespec="seconds"),
        "seconds": round((ended - started).total_seconds(), 3),
    }


def run_outcome(results: Sequence[SiteResult], is_stopped: bool) -> Outcome:
    """Return the outcome of a run: complete if all its crawls are complete."""
    if is_stopped:
        return Outcome.INTERRUPTED
    bad = {result.outcome for result in results} - {NOT_DUE, RUNNING, "complete"}
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
