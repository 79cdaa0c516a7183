"""``contentspider run``: crawls many sites when they are due, each in a process of its own."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, closing, nullcontext, suppress
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta, timezone
from functools import partial
from typing import TYPE_CHECKING, Any

from contentspider.crawl.learning.learn_server import LearnServer
from contentspider.ground.atomic import write_json
from contentspider.ground.errors import ContentSpiderError
from contentspider.run.summary import site_qualities
from contentspider.state.crawls.folder import state_folder
from contentspider.state.crawls.ledgers import crawl_ledger, is_hopeless
from contentspider.state.ledger.database import is_in_use
from contentspider.state.ledger.ledger import Ledger
from contentspider.state.outcome import (
    FINISHED,
    LIMITS,
    DoubtfulTemplate,
    Outcome,
    doubtful_templates,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path
    from types import FrameType
    from typing import TypeAlias

    from contentspider.run.sitesfile import PlannedSite

    # A context manager that yields whether this process may crawl the site with a name. The
    # function in its arguments ends the crawl if the process loses that right.
    Hold: TypeAlias = Callable[[str, Callable[[], None]], AbstractContextManager[bool]]

logger = logging.getLogger(__name__)

CHILD = "contentspider.crawl_process"
LOGS = "logs"
# If a crawl ends before it can write its stats, the last line of its log gives the reason.
TAIL_BYTES = 4_096
# The outcomes of sites that were not crawled; other outcomes are in `Outcome`.
NOT_DUE, RUNNING, NOT_STARTED = "not_due", "running", "not_started"
# A site is due early by this share of its interval, so that a daily timer that comes a few
# minutes early does not skip a day.
SLACK = 0.05
# Outcomes of a crawl that is complete but needs attention. A run has one of them if it is the only
# problem of its crawls.
OUTCOMES_OF_RUNS = (
    Outcome.MONITOR_FAILED,
    Outcome.GONE_DOUBTED,
    Outcome.INDEX_BEHIND,
    Outcome.OUTPUT_FAILED,
    Outcome.CONTENT_HIDDEN,
)
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
    """Return the last crawl in a ledger; none if it is unreadable, which the next crawl reports."""
    if path.is_file():
        broken = (ContentSpiderError, ValueError, TypeError)
        with suppress(*broken), closing(Ledger(path, read_only=True)) as ledger:
            if runs := ledger.runs.all():
                is_over = runs[-1].reason in (FINISHED, *LIMITS) or is_hopeless(ledger)
                return LastCrawl(datetime.fromisoformat(runs[0].started), not is_over)
    return LastCrawl()


@dataclass(frozen=True, slots=True)
class SiteResult:
    """The result of a site. *outcome* is the outcome of its crawl, or `NOT_DUE`, `RUNNING` (in
    another process) or `NOT_STARTED`.

    *exit_code* is the process' (negative: the signal that ended it). *items* counts the items of
    this run. *f1* is their quality, measured on *f1_pages* pages with an own text (0: predicted).
    *doubtful* are templates whose items may be wrong. Times are ISO 8601 in UTC; *log* is a path.
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


class Jobs:
    """Crawls sites, *jobs* at a time. With *only_due*, only the due ones, the most overdue first.

    Each crawl is a process in its own session, so that Ctrl-C in a terminal reaches it once,
    through this process. *state_dir* is the state folder ("": the default). With *force* the crawls
    accept that known pages are gone, however many. *hold* keeps other machines from the same site.
    """

    def __init__(
        self,
        jobs: int,
        only_due: bool = False,
        state_dir: str = "",
        force: bool = False,
        hold: Hold | None = None,
    ) -> None:
        self._hold = hold or (lambda name, stop: nullcontext(enter_result=True))
        self._jobs, self._only_due, self._state_dir = jobs, only_due, state_dir
        # None stands for an option that was not given.
        self._options = {"state_dir": state_dir or None, "force": force or None}
        self._logs = state_folder(state_dir).absolute() / LOGS
        self._learner = LearnServer()
        self._running: dict[str, subprocess.Popen[str]] = {}
        self._ended: set[str] = set()  # sites whose crawls must end, or must not begin
        # Reentrant: a signal handler runs in the main thread, and may interrupt itself.
        self._lock = threading.RLock()
        self.is_stopped = False

    def run(self, sites: Sequence[PlannedSite]) -> list[SiteResult]:
        """Crawl the sites and return their results in the order of *sites*. SIGINT and SIGTERM are
        passed on to the running crawls; after them no crawl begins.
        """
        order = sorted(sites, key=self._due) if self._only_due else list(sites)
        with ExitStack() as stack:
            for number in (signal.SIGINT, signal.SIGTERM):
                stack.callback(signal.signal, number, signal.signal(number, self._stop))
            self._learner = stack.enter_context(LearnServer())
            pool = stack.enter_context(ThreadPoolExecutor(self._jobs))
            results = {result.site: result for result in pool.map(self._run, order)}
        return [results[site.name] for site in sites]

    def _stop(self, number: int, _frame: FrameType | None) -> None:
        with self._lock:
            self.is_stopped = True
            for name in self._running:
                self._stop_crawl(name)
            logger.warning(
                "%s: stopping %d crawls; a second signal stops without waiting for open requests",
                signal.Signals(number).name,
                len(self._running),
            )

    def _stop_crawl(self, name: str) -> None:
        """Ask the crawl of a site to end, if it is running."""
        with self._lock, suppress(ProcessLookupError, KeyError):
            self._ended.add(name)
            self._running[name].send_signal(signal.SIGTERM)

    def _ledger(self, site: PlannedSite) -> Path:
        return crawl_ledger(site.name, self._state_dir)

    def _due(self, site: PlannedSite) -> datetime:
        ledger = self._ledger(site)
        # The ledger of a running crawl is not opened.
        return AT_ONCE if is_in_use(ledger) else last_crawl(ledger).due(site.interval)

    def _run(self, site: PlannedSite) -> SiteResult:
        """Crawl a site, unless another process has crawled it since the run began."""
        if self.is_stopped:
            return SiteResult(site.name, NOT_STARTED)
        try:
            with self._hold(site.name, partial(self._stop_crawl, site.name)) as is_ours:
                return self._run_here(site) if is_ours else self._running_elsewhere(site)
        except ContentSpiderError as error:
            logger.error("%s: %s", site.name, error)
            return SiteResult(site.name, Outcome.ERROR.name.lower(), reasons=(str(error),))

    def _run_here(self, site: PlannedSite) -> SiteResult:
        if is_in_use(self._ledger(site)):
            return self._running_elsewhere(site)
        last = last_crawl(self._ledger(site))
        due = last.due(site.interval)
        if self._only_due and due > datetime.now(timezone.utc):
            reason = f"due {due.isoformat(timespec='seconds')}"
            return SiteResult(site.name, NOT_DUE, reasons=(reason,))
        try:
            return self._crawl(site, last.is_unfinished)
        except OSError as error:
            reason = f"{error.filename or CHILD}: {error.strerror or error}"
            logger.error("%s: the crawl cannot begin: %s", site.name, reason)
            return SiteResult(site.name, Outcome.ERROR.name.lower(), reasons=(reason,))

    def _running_elsewhere(self, site: PlannedSite) -> SiteResult:
        logger.warning("%s: skipped, because its crawl is running elsewhere", site.name)
        return SiteResult(site.name, RUNNING, reasons=("its crawl is running elsewhere",))

    def _crawl(self, site: PlannedSite, resume: bool) -> SiteResult:
        self._logs.mkdir(parents=True, exist_ok=True)
        log = self._logs / f"{site.name}.log"
        stats = log.with_suffix(".stats.json")
        stats.unlink(missing_ok=True)
        if log.exists():  # a person may not have read yet why the last crawl failed
            log.replace(log.with_suffix(".previous.log"))
        # By standard input, because all users of the machine can see a command line.
        options = json.dumps(site.options | self._options | {"stats": str(stats), "resume": resume})
        started = datetime.now(timezone.utc)
        with log.open("wb") as file:
            with self._lock:
                if self.is_stopped or site.name in self._ended:
                    return SiteResult(site.name, NOT_STARTED)
                process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                    [sys.executable, "-m", CHILD, site.name],
                    stdin=subprocess.PIPE,
                    stdout=file,
                    stderr=file,
                    env=os.environ | self._learner.environment,
                    text=True,
                    start_new_session=True,
                )
                self._running[site.name] = process
            logger.info("%s: %s", site.name, "resumes" if resume else "begins")
            try:
                process.communicate(options)
            finally:
                with self._lock:
                    del self._running[site.name]
        return self._result(site, process.returncode, started, log, stats)

    def _result(
        self, site: PlannedSite, code: int, started: datetime, log: Path, stats: Path
    ) -> SiteResult:
        outcome = _outcome_of(code)
        items, quality = None, None
        doubtful: list[DoubtfulTemplate] = []
        try:
            record = json.loads(stats.read_bytes())
        except (OSError, ValueError):  # the crawl ended before it wrote its stats
            if outcome is Outcome.ERROR and is_in_use(self._ledger(site)):
                return self._running_elsewhere(site)  # another process began this crawl first
            reasons = (
                [f"it was ended by {signal.Signals(-code).name}"] if code < 0 else _last_line(log)
            )
        else:
            reasons = record["reasons"]
            items = record["stats"].get("item_scraped_count", 0)
            quality = next(iter(site_qualities(record["stats"])), None)
            doubtful = doubtful_templates(record["stats"])
        f1, f1_pages = quality[:2] if quality else (None, 0)
        result = SiteResult(
            site=site.name,
            outcome=outcome.name.lower(),
            exit_code=code,
            **_times(started),
            items=items,
            f1=f1,
            f1_pages=f1_pages,
            doubtful=tuple(doubtful),
            reasons=tuple(reasons),
            log=str(log),
        )
        _log_result(result, is_complete=outcome is Outcome.COMPLETE)
        return result


def _outcome_of(code: int) -> Outcome:
    """Return the outcome for the exit code of a process; a signal is an interruption."""
    if code in [*Outcome]:
        return Outcome(code)
    return Outcome.INTERRUPTED if code < 0 else Outcome.ERROR


def _log_result(result: SiteResult, is_complete: bool) -> None:
    logger.log(
        logging.INFO if is_complete else logging.WARNING,
        "%s: %s after %.0f s, %s%s",
        result.site,
        result.outcome.replace("_", " "),
        result.seconds,
        "items unknown" if result.items is None else f"{result.items:,} items",
        f": {'; '.join(result.reasons)} ({result.log})" if result.reasons else "",
    )
    for template in result.doubtful:
        logger.warning("%s: doubtful: %s", result.site, template)


def _times(started: datetime) -> dict[str, Any]:
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


def write_summary(
    path: Path, results: Sequence[SiteResult], outcome: Outcome, started: datetime
) -> None:
    """Write the outcomes of a run and its sites as JSON; raises `ContentSpiderError`."""
    summary = {"outcome": outcome.name.lower(), "exit_code": int(outcome), **_times(started)}
    write_json(path, summary | {"sites": [asdict(result) for result in results]})


def _last_line(log: Path) -> list[str]:
    """Return the last line of a log, which says why a crawl did not begin."""
    try:
        text = log.read_bytes()[-TAIL_BYTES:].decode(errors="replace")
    except OSError:
        return []
    return [line for line in text.splitlines() if line.strip()][-1:]
