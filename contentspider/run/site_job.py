"""Crawls one site, on any machine: the job of ``contentspider run`` and of task engines."""

from __future__ import annotations

import logging
import tempfile
import threading
import time
from contextlib import ExitStack, suppress
from dataclasses import asdict, replace
from datetime import datetime, timezone
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from contentspider.ground.errors import ContentSpiderError
from contentspider.ground.sites import SiteKeys
from contentspider.run.child import CHILD, Child, Ended
from contentspider.run.progress import read_progress
from contentspider.run.publishing import Publisher
from contentspider.run.results import (
    LOGS,
    NOT_STARTED,
    RUNNING,
    SiteResult,
    last_crawl,
    logs_folder,
    read_result,
    result_file,
    write_result,
)
from contentspider.state.book.database import is_in_use
from contentspider.state.crawls.books import KILLED, crawl_book
from contentspider.state.crawls.folder import index_url
from contentspider.state.outcome import Ending, Outcome
from contentspider.state.stores.lease import (
    LEASE_SECS,
    STOP_SHARE,
    Lease,
    LeaseLostError,
    acquire,
    renewed,
)
from contentspider.state.stores.remote import RemoteError, open_objects
from contentspider.state.stores.site_state import SiteState

if TYPE_CHECKING:
    from collections.abc import Callable

    from contentspider.run.sitesfile import PlannedSite

logger = logging.getLogger(__name__)

UPLOAD_SECS = 300.0  # pages that a lost machine read since the last upload are read again
PATIENCE_SECS = 600.0  # how long a crawl that has ended waits for a store that does not answer
RETRY_SECS = 5.0
T = TypeVar("T")
INTERRUPTED = Outcome.INTERRUPTED.name.lower()

_jobs: set[SiteJob] = set()
_stopped_runs: set[str] = set()
_lock = threading.RLock()


def crawl_site(
    site: PlannedSite,
    state: str = "",
    *,
    state_dir: str = "",
    only_due: bool = False,
    force: bool = False,
    run: str = "",
    lease_secs: float = LEASE_SECS,
    upload_secs: float = UPLOAD_SECS,
) -> SiteResult:
    """Crawl a *site* of a file of sites (`read_sites`) and return its result; errors are results,
    too. Arguments and result can be pickled.

    *state* is the URL of a store, such as ``s3://bucket/state``. With it, any machine may crawl the
    site: this process first acquires the site's lease (*lease_secs* seconds long) or returns the
    outcome ``running``; it downloads book and models, uploads changes every
    *upload_secs* seconds and at the end, and then publishes models, outputs and search indexes. An
    unfinished crawl is resumed. *state_dir* is the folder for these files ("": a temporary one with
    *state*, else the default one). With *only_due* the site is crawled only if its interval has
    passed. With *force* the crawl accepts that known pages are gone, however many. Jobs of one
    *run* wait for each other if an engine delivers a task twice: both return the same result.
    """
    job = SiteJob(site, state, state_dir, only_due, force, run, lease_secs, upload_secs)
    with _lock:
        if run in _stopped_runs:
            return SiteResult(site.name, NOT_STARTED)
        _jobs.add(job)
    try:
        return job.run()
    finally:
        with _lock:
            _jobs.discard(job)


def stop_crawls(run: str) -> int:
    """Ask all crawls of a *run* in this process to end in order, and let no other begin. Return how
    many were running.
    """
    with _lock:
        _stopped_runs.add(run)
        return sum([job.stop() for job in _jobs if job.of_run == run])


class SiteJob:
    """See `crawl_site`."""

    def __init__(
        self,
        site: PlannedSite,
        state: str,
        state_dir: str,
        only_due: bool,
        force: bool,
        run: str,
        lease_secs: float,
        upload_secs: float,
    ) -> None:
        self._site, self._url, self._state_dir = site, state.rstrip("/"), state_dir
        self._only_due, self._force, self.of_run = only_due, force, run
        self._lease_secs, self._upload_secs = lease_secs, upload_secs
        self._stopped, self._stops = threading.Event(), 0
        self._lost: ContentSpiderError | None = None
        self._is_late = False  # the crawl heard of no renewal for so long that it has ended
        # When the lease ends, as the crawl was told, and when the crawl ends if it hears no more.
        self._ends = self._stops_at = 0.0
        self._child: Child | None = None

    def run(self) -> SiteResult:
        """Crawl the site and return its result."""
        name = self._site.name
        try:
            return self._run_with_state() if self._url else self._run_here()
        except LeaseLostError as error:
            logger.error("%s: %s", name, error)
            return SiteResult(name, RUNNING, reasons=(str(error),))
        except ContentSpiderError as error:
            logger.error("%s: %s", name, error)
            return SiteResult.failed(name, str(error))
        except OSError as error:
            reason = f"{error.filename or CHILD}: {error.strerror or error}"
            logger.error("%s: the crawl cannot begin: %s", name, reason)
            return SiteResult.failed(name, reason)

    def stop(self) -> bool:
        """Ask the crawl to end in order; return whether it is running."""
        self._stopped.set()
        self._stops += 1
        child = self._child
        return child is not None and child.stop()

    def _run_here(self) -> SiteResult:
        """Crawl the site with the state folder of this machine."""
        book = crawl_book(self._site.name, self._state_dir)
        if is_in_use(book):
            return self._running_elsewhere()
        file = result_file(logs_folder(self._state_dir), self._site.name)
        before = read_result(file)
        if not_due := self._not_due(book, before):
            return not_due
        self._note_begin(file, before)
        is_resumed = self._is_resumed(book)
        result = self._crawl(book, self._state_dir, {}, is_resumed).result
        if result.outcome in (NOT_STARTED, RUNNING):
            return result
        result = self._continued(result, before, book)
        try:
            write_result(file, result)
        except ContentSpiderError as error:
            logger.error("%s: %s: the next run does not know this crawl", self._site.name, error)
        return result

    def _note_begin(self, file: Path, before: SiteResult | None) -> None:
        """Note of which file the site is, even if nobody is left to note how its crawl ends."""
        if before is None or before.file != self._site.file:
            known = before or SiteResult(self._site.name, RUNNING)
            with suppress(ContentSpiderError):  # the end of the crawl tells
                write_result(file, replace(known, file=self._site.file))

    def _is_resumed(self, book: Path) -> bool:
        """Tell whether the crawl in a book must be resumed; say so if its last run was killed."""
        last = last_crawl(book)
        if last.is_killed:
            logger.warning(
                "%s: the last run of its crawl %s; this run resumes it", self._site.name, KILLED
            )
        return last.is_unfinished

    @cached_property
    def _entry(self) -> str:
        """The digest of the site's entry when its crawl began: a person may mend it meanwhile."""
        return self._site.digest()

    def _planned(self) -> dict[str, Any]:
        """Return what the file of sites says of the site, beside the options of its crawl, as JSON
        data. The crawl itself notes it in its result, if this process is killed meanwhile.
        """
        interval = self._site.interval
        return {
            "file": self._site.file,
            "entry": self._entry,
            "interval": interval and interval.total_seconds(),
        }

    def _continued(self, result: SiteResult, before: SiteResult | None, book: Path) -> SiteResult:
        """Add to a result the data that the next run reads: counts that continue the result
        *before*, the digest of the site's entry, and the time when it is due.
        """
        result = replace(result, entry=self._entry, file=self._site.file)
        return result.after(before, self._site.interval, last_crawl(book))

    def _not_due(self, book: Path, before: SiteResult | None) -> SiteResult | None:
        due = last_crawl(book).with_result(before, self._site.digest).due(self._site.interval)
        if not self._only_due or due <= datetime.now(timezone.utc):
            return None
        return SiteResult.not_due(self._site.name, due, before)

    def _running_elsewhere(self) -> SiteResult:
        logger.warning("%s: skipped, because its crawl is running elsewhere", self._site.name)
        return SiteResult(self._site.name, RUNNING, reasons=("its crawl is running elsewhere",))

    def _crawl(
        self, book: Path, state_dir: str, options: dict[str, Any], is_resumed: bool
    ) -> Ended:
        """Run the crawl in a child process, with *options* in addition to the site's options."""
        name = self._site.name
        child = Child(name, logs_folder(state_dir), has_lease=bool(self._url))
        with _lock:
            self._child = child
            if self._stopped.is_set():
                return Ended(SiteResult(name, NOT_STARTED))
        logger.info("%s: %s", name, "resumes" if is_resumed else "begins")
        # None stands for an option that was not given.
        given: dict[str, Any] = {"state_dir": state_dir or None, "force": self._force or None}
        given |= self._site.options | options | {"resume": is_resumed}
        given |= {"planned": self._planned()}
        self._expect(self._ends)
        tick = self._upload if self._url else None
        ended = child.run(given, self._ends, tick, self._upload_secs)
        if ended is None:
            return Ended(SiteResult(name, NOT_STARTED))
        is_busy = ended.ending is None and ended.result.outcome == Outcome.ERROR.name.lower()
        if is_busy and is_in_use(book):
            return Ended(self._running_elsewhere())  # another process began this crawl first
        return ended

    def _run_with_state(self) -> SiteResult:
        """Crawl the site with the state in the store."""
        name, objects = self._site.name, open_objects(self._url)
        with ExitStack() as stack:
            folder = self._state_dir or stack.enter_context(
                tempfile.TemporaryDirectory(prefix="contentspider-", ignore_cleanup_errors=True)
            )
            book = crawl_book(name, folder)
            if is_in_use(book):
                return self._running_elsewhere()
            self._state = SiteState.of_folder(objects, name, folder, self._lease_secs, self.of_run)
            hosts = sorted(hosts_of(self._site))
            leases = [self._state.lease] + [
                Lease(objects, f"hosts/{host}.json", self._lease_secs, self.of_run)
                for host in hosts
            ]
            if not self._insist(lambda: acquire(leases, self._stopped)):
                stopped = self._stopped.is_set()
                return SiteResult(name, NOT_STARTED) if stopped else self._running_elsewhere()
            stack.callback(_release, leases)
            self._expect(min(lease.ends for lease in leases))
            stack.enter_context(renewed(leases, self._progress, self._renewed, self._failed))
            self._publisher = Publisher(self._url, self._state, self._site.options, self._check)
            return self._run_as_holder(folder)

    def _run_as_holder(self, folder: str) -> SiteResult:
        self._insist(self._state.pull)
        if self._state.lease.is_taken_over:
            self._insist(self._state.delete_strays)
        self._insist(self._publisher.pull_models)
        facts = self._state.lease.record.facts
        if facts.get("is_published") is False:  # the last holder died before it could
            ending = Ending(**facts["ending"]) if facts["ending"] else None
            self._publish(Ended(SiteResult.load(facts["result"]), ending))
            facts = self._state.lease.record.facts
        if self.of_run and facts.get("run") == self.of_run:
            return SiteResult.load(facts["result"])
        book = self._state.book
        before = SiteResult.load(facts["result"]) if facts.get("result") else None
        if not_due := self._not_due(book, before):
            return not_due
        ended = self._crawl_as_holder(folder, before)
        if ended.result.outcome in (NOT_STARTED, RUNNING):
            return ended.result
        return self._publish(ended)

    def _crawl_as_holder(self, folder: str, before: SiteResult | None) -> Ended:
        """Crawl the site, and upload its state. A crawl that ended because the store did not answer
        goes on when it does. *before* is the result of the last crawl.
        """
        options: dict[str, Any] = {"models": str(self._state.models), "output": None, "index": []}
        book = self._state.book
        items, started = None, None
        while True:
            self._is_late = False
            is_resumed = self._is_resumed(book)
            ended = self._crawl(book, folder, options, is_resumed)
            if self._lost:
                raise self._lost
            result = ended.result
            if result.outcome in (NOT_STARTED, RUNNING):
                return ended
            if result.items is not None:
                items = (items or 0) + result.items
            started = started or result.started
            result = replace(result, items=items, started=started)
            result = replace(result, log=self._log_url, indexes=self._indexes)
            ended = replace(ended, result=result)
            is_late = self._is_late or self._is_silent()
            if self._stopped.is_set() or not is_late or result.outcome != INTERRUPTED:
                break
            self._insist(self._check)
        ended = replace(ended, result=self._continued(ended.result, before, book))
        facts = {"run": self.of_run, "is_published": False, **asdict(ended)}
        self._insist(lambda: self._push(**facts))
        return ended

    def _publish(self, ended: Ended) -> SiteResult:
        result = self._insist(lambda: self._publisher.publish(ended.result, ended.ending))
        facts = {"result": asdict(result), "is_published": True}
        self._insist(lambda: self._state.lease.write(**facts))
        return result

    def _push(self, **facts: Any) -> None:
        """Upload the state, and the log of the crawl."""
        last = last_crawl(self._state.book)
        began = last.began and last.began.isoformat()
        self._state.push(last={"began": began, "is_unfinished": last.is_unfinished}, **facts)
        objects, child = open_objects(self._url), self._child
        for path in (child.log, child.stats) if child else ():
            if path.exists():
                objects.upload(path, f"{LOGS}/{path.name}")

    @property
    def _indexes(self) -> tuple[str, ...]:
        """The indexes that the crawl's changes are published in: the child updates none."""
        urls = self._site.options.get("index") or ()
        return tuple(index_url(url, self._state_dir, absolute=True) for url in urls)

    @property
    def _log_url(self) -> str:
        return f"{self._url}/{LOGS}/{self._site.name}.log"

    def _upload(self) -> None:
        """Upload the state during the crawl."""
        try:
            self._push()
        except LeaseLostError as error:
            self._failed(error)
        except RemoteError as error:
            logger.warning("%s: %s; the next upload has everything", self._site.name, error)

    def _insist(self, step: Callable[[], T]) -> T:
        """Return the result of a *step*, which is repeated until the store answers. Raises
        `RemoteError` if it does not for long, or after a second signal.
        """
        end = time.monotonic() + PATIENCE_SECS
        while True:
            try:
                return step()
            except RemoteError as error:  # noqa: PERF203 - the loop is for it
                if time.monotonic() > end or self._stops > 1:
                    raise
                logger.warning("%s: %s; it is tried again", self._site.name, error)
                time.sleep(RETRY_SECS)

    def _check(self) -> None:
        """Renew the lease now; raises `LeaseLostError` if another process has it."""
        if self._lost:
            raise self._lost
        self._state.lease.write()

    def _progress(self) -> dict[str, Any]:
        progress = read_progress(self._child.progress) if self._child else None
        return {"progress": progress and asdict(progress)}

    def _renewed(self, ends: float) -> None:
        """Tell the child that its parent has the lease until *ends*."""
        self._is_late = self._is_late or self._is_silent()
        self._expect(ends)
        if self._child:
            self._child.renew(ends)

    def _expect(self, ends: float) -> None:
        """Note that the child is told now that the lease lasts until *ends*."""
        now = time.monotonic()
        # No later than the child itself, which reads it after this moment.
        self._ends, self._stops_at = ends, now + (ends - now) * STOP_SHARE

    def _is_silent(self) -> bool:
        """Tell whether the child may have ended, because it was told of no renewal."""
        return time.monotonic() > self._stops_at

    def _failed(self, error: ContentSpiderError) -> None:
        """End the crawl if its lease is lost."""
        if isinstance(error, LeaseLostError):
            self._lost = error
            if self._child:
                self._child.end()
        else:
            logger.warning("%s: %s", self._site.name, error)


def hosts_of(site: PlannedSite) -> set[str]:
    """Return the hosts of a site's start addresses, each safe as a file name."""
    return set(map(SiteKeys("host").key, site.options["url"]))


def _release(leases: list[Lease]) -> None:
    for lease in leases:
        with suppress(LeaseLostError):  # then it is not ours to give up
            try:
                lease.release()
            except RemoteError as error:
                logger.warning("%s; the lease ends by itself", error)
