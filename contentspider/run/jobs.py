"""``contentspider run``: crawls many sites when they are due, each as a job of an engine."""

from __future__ import annotations

import logging
import signal
import threading
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from contentspider.crawl.progress import CrawlProgress
from contentspider.ground.counts import counted
from contentspider.ground.engines import LOCAL, Engine, ForgottenError, open_engine
from contentspider.ground.errors import ContentSpiderError
from contentspider.run.child import progress_file
from contentspider.run.progress import RunProgress, read_progress
from contentspider.run.report import SHOWN_CHANGES
from contentspider.run.results import (
    AT_ONCE,
    NOT_STARTED,
    LastCrawl,
    SiteResult,
    last_crawl,
    logs_folder,
    outcome_words,
    read_result,
    result_file,
)
from contentspider.run.site_job import crawl_site, hosts_of, stop_crawls
from contentspider.state.book.database import is_in_use
from contentspider.state.crawls.books import crawl_book
from contentspider.state.crawls.folder import state_folder
from contentspider.state.outcome import Outcome
from contentspider.state.stores.lease import read_record
from contentspider.state.stores.remote import open_objects
from contentspider.state.stores.site_state import lease_name

if TYPE_CHECKING:
    from types import FrameType

    from contentspider.run.sitesfile import PlannedSite

logger = logging.getLogger(__name__)

TICK_SECS = 1.0  # how soon a new worker gets a job
MOST_FORGOTTEN = 20  # then the job itself may be too much for its engine
READERS = 16  # threads that read records of sites from a store
STORE_SECS = 10.0  # between two looks at the progress in a store


class Jobs:
    """Crawls sites on an *engine*. With *only_due*, only the due ones, the most overdue first.
    Sites that share a host are never crawled at the same time.

    The local engine crawls *jobs* sites at a time, with the state folder *state_dir* ("": the
    default). *state* is the URL of a store of states ("": none). With *force* the crawls accept
    that known pages are gone, however many. *options* are further arguments of `crawl_site`.
    """

    def __init__(
        self,
        jobs: int,
        only_due: bool = False,
        state_dir: str = "",
        force: bool = False,
        engine: str = LOCAL,
        state: str = "",
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self._jobs, self._only_due, self._state_dir = jobs, only_due, state_dir
        self._engine_name, self._objects = engine, open_objects(state) if state else None
        self._logs = logs_folder(state_dir)
        self._run_id = uuid.uuid4().hex
        # On this machine the files stay in the state folder, where other commands find them.
        folder = state_dir or (str(state_folder().absolute()) if state else "")
        self._arguments = {
            "state": state,
            "only_due": only_due,
            "force": force,
            "run": self._run_id,
            "state_dir": folder if engine == LOCAL else "",
            **(options or {}),
        }
        self._forgotten = Counter[str]()
        self._wake = threading.Event()
        self._signals: list[int] = []  # received, and not passed on yet
        self.is_stopped = False

    def run(self, sites: Sequence[PlannedSite]) -> list[SiteResult]:
        """Crawl the sites and return their results in the order of *sites*. SIGINT and SIGTERM are
        passed on to the running crawls; after them no crawl begins. Raises `ContentSpiderError` if
        the engine cannot be used.
        """
        results: dict[str, SiteResult] = {}
        order = self._ordered(sites, results)
        with ExitStack() as stack:
            engine = stack.enter_context(closing(open_engine(self._engine_name, self._jobs)))
            for number in (signal.SIGINT, signal.SIGTERM):
                stack.callback(signal.signal, number, signal.signal(number, self._on_signal))
            progress = stack.enter_context(
                RunProgress(len(order), self._look, STORE_SECS if self._objects else TICK_SECS)
            )
            self._crawl(engine, order, results, progress)
        return [results[site.name] for site in sites]

    def _ordered(
        self, sites: Sequence[PlannedSite], results: dict[str, SiteResult]
    ) -> list[PlannedSite]:
        """Return the sites to crawl, in order. Sites that are not due get their *results*."""
        if not self._only_due:
            return list(sites)
        with ThreadPoolExecutor(READERS) as pool:
            due = dict(zip((site.name for site in sites), pool.map(self._due, sites), strict=True))
        for site in sites:
            time, before = due[site.name]
            if self._objects and time > datetime.now(timezone.utc):
                results[site.name] = SiteResult.not_due(site.name, time, before)
        left = [site for site in sites if site.name not in results]
        return sorted(left, key=lambda site: due[site.name][0])

    def _due(self, site: PlannedSite) -> tuple[datetime, SiteResult | None]:
        """Return when a site is due, and the result of its last crawl, if it is known; with a store
        by its record there: its lease is not held yet.
        """
        if self._objects:
            facts = read_record(self._objects, lease_name(site.name))[0].facts
            last = facts.get("last") or {}
            began = datetime.fromisoformat(last["began"]) if last.get("began") else None
            before = SiteResult.load(facts["result"]) if facts.get("result") else None
            crawl = LastCrawl(began, bool(last.get("is_unfinished")))
            return crawl.with_result(before, site.digest).due(site.interval), before
        book = crawl_book(site.name, self._state_dir)
        if is_in_use(book):  # the book of a running crawl is not opened
            return AT_ONCE, None
        before = read_result(result_file(self._logs, site.name))
        return last_crawl(book).with_result(before, site.digest).due(site.interval), before

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        self.is_stopped = True
        self._signals.append(number)
        self._wake.set()

    def _crawl(
        self,
        engine: Engine,
        order: Sequence[PlannedSite],
        results: dict[str, SiteResult],
        progress: RunProgress,
    ) -> None:
        """Run the jobs of all sites."""
        pending = list(order)
        running: dict[str, tuple[PlannedSite, Any]] = {}
        while pending or running:
            self._wake.clear()
            if self.is_stopped:
                results |= {site.name: SiteResult(site.name, NOT_STARTED) for site in pending}
                pending.clear()
                self._stop(engine, running, results)
            try:
                self._submit(engine, pending, running)
            except ContentSpiderError as error:  # the engine does not come back
                left = [*running, *(site.name for site in pending)]
                results |= {name: SiteResult.failed(name, str(error)) for name in left}
                return
            progress.report(running, results)
            if running or pending:
                self._wake.wait(TICK_SECS)
            self._collect(engine, pending, running, results)

    def _submit(
        self,
        engine: Engine,
        pending: list[PlannedSite],
        running: dict[str, tuple[PlannedSite, Any]],
    ) -> None:
        """Start as many jobs as the engine has room for."""
        slots = engine.slots() if pending else 0
        while len(running) < slots and (site := _next(pending, running)):
            try:
                job = engine.submit(self._on_done, crawl_site, site, **self._arguments)
            except ForgottenError as error:
                logger.warning("%s: %s", site.name, error)
                return
            pending.remove(site)
            running[site.name] = site, job

    def _collect(
        self,
        engine: Engine,
        pending: list[PlannedSite],
        running: dict[str, tuple[PlannedSite, Any]],
        results: dict[str, SiteResult],
    ) -> None:
        """Collect the results of the jobs that have ended."""
        for name, (site, job) in list(running.items()):
            if job.done():
                del running[name]
                if result := self._result(engine, name, job):
                    results[name] = result
                else:
                    pending.insert(0, site)

    def _on_done(self, _job: Any) -> None:
        self._wake.set()

    def _result(self, engine: Engine, name: str, job: Any) -> SiteResult | None:
        """Return the result of a job, or None if it must be submitted again."""
        try:
            result: SiteResult = engine.result(job)
        except ForgottenError as error:
            self._forgotten[name] += 1
            if self._forgotten[name] <= MOST_FORGOTTEN and not self.is_stopped:
                logger.warning("%s: its job is submitted again, because %s", name, error)
                return None
            result = SiteResult.failed(name, f"{error}, {counted(self._forgotten[name], 'times')}")
        except Exception as error:  # noqa: BLE001 - the engine's: all workers that had it died
            result = SiteResult.failed(name, f"{type(error).__name__}: {error}")
        if self._engine_name != LOCAL or result.seconds is not None:  # else the job has logged it
            _log_result(result)
        return result

    def _stop(
        self,
        engine: Engine,
        running: dict[str, tuple[PlannedSite, Any]],
        results: dict[str, SiteResult],
    ) -> None:
        """Pass signals on to the running crawls."""
        while self._signals:
            logger.warning(
                "%s: stopping %s; a second signal stops without waiting for open requests",
                signal.Signals(self._signals.pop(0)).name,
                counted(len(running), "crawls"),
            )
            try:
                engine.everywhere(stop_crawls, self._run_id)
            except ContentSpiderError as error:
                logger.error("%s. The crawls go on by themselves", error)
                results |= {name: SiteResult.failed(name, str(error)) for name in running}
                running.clear()

    def _look(self, site: PlannedSite) -> tuple[str, CrawlProgress | None]:
        """Return where a site is crawled now ("": not yet), and how far, if it is known."""
        if not self._objects:
            return "here", read_progress(progress_file(self._logs, site.name))
        record = read_record(self._objects, lease_name(site.name))[0]
        is_ours = record.holder and record.run == self._run_id
        told = record.facts.get("progress")
        return record.by if is_ours else "", CrawlProgress(**told) if told else None


def _next(
    pending: Sequence[PlannedSite], running: Mapping[str, tuple[PlannedSite, Any]]
) -> PlannedSite | None:
    """Return the first site that shares no host with a running one."""
    busy = {host for site, _ in running.values() for host in hosts_of(site)}
    return next((site for site in pending if not hosts_of(site) & busy), None)


def _found(result: SiteResult) -> list[str]:
    """Return in words what a crawl has found."""
    if result.pages is None:
        return []
    changes = [f"{count:,} {kind}" for kind in SHOWN_CHANGES if (count := result.changes.get(kind))]
    return [", ".join([counted(result.pages, "pages"), *changes])]


def _log_result(result: SiteResult) -> None:
    is_fine = result.outcome == Outcome.COMPLETE.name.lower() or result.is_still_down
    line = f"{result.site}: {outcome_words(result)}"
    if result.seconds is not None:
        line += f" ({result.seconds:.0f} s)"
    facts = [*result.reasons, f"log: {result.log}"] if result.reasons else _found(result)
    level = logging.INFO if is_fine else logging.WARNING
    logger.log(level, "%s", f"{line}: {'; '.join(facts)}" if facts else line)
    for warning in result.warnings:
        logger.warning("%s: %s", result.site, warning)
    for template in result.doubtful:
        logger.warning("%s: doubtful: %s", result.site, template)
