"""Runs the crawl of a site as a child process, and reads its result."""

from __future__ import annotations

import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from contentspider.crawl.progress import TERMINAL_VARIABLES
from contentspider.ground.children import shared_server
from contentspider.run.results import SiteResult, times
from contentspider.run.summary import with_record
from contentspider.state.outcome import Ending, Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

logger = logging.getLogger(__name__)

CHILD = "contentspider.crawl_process"
# If a crawl ends before it can write its stats, the last line of its log gives the reason.
LITTLE_BYTES = 1_000_000  # free on a disk that is as good as full
TAIL_BYTES = 4_096


@dataclass(frozen=True, slots=True)
class Ended:
    """The *result* of a crawl, and its *ending* (None: it ended before it could tell)."""

    result: SiteResult
    ending: Ending | None = None


class Child:
    """The child process that crawls the site *name*; its log and stats go to the folder *logs*.

    Each child is in its own session, so that Ctrl-C in a terminal reaches it once, through this
    process. If it *has_lease*, it ends unless `renew` is called in time, or if this process dies.
    """

    def __init__(self, name: str, logs: Path, has_lease: bool) -> None:
        self._name, self._has_lease = name, has_lease
        self.log = logs / f"{name}.log"
        self.stats = logs / f"{name}.stats.json"
        self.progress = progress_file(logs, name)
        self._lock = threading.RLock()
        self._process: subprocess.Popen[str] | None = None
        self.is_stopped = False

    def run(
        self,
        options: Mapping[str, Any],
        ends: float,
        tick: Callable[[], None] | None,
        tick_secs: float,
    ) -> Ended | None:
        """Run the crawl with *options*, and return its result; None if it was stopped before. The
        lease ends at *ends*. *tick* is called every *tick_secs* meanwhile. Raises OSError.
        """
        self.log.parent.mkdir(parents=True, exist_ok=True)
        self.stats.unlink(missing_ok=True)
        if self.log.exists():  # a person may not have read yet why the last crawl failed
            self.log.replace(self.log.with_suffix(".previous.log"))
        started = datetime.now(timezone.utc)
        # By standard input, because all users of the machine can see a command line.
        given = dict(options) | {"stats": str(self.stats), "lease": self._has_lease}
        given |= {"progress": str(self.progress)}
        # Its output is a log, even if this process has a terminal.
        environment = {
            name: value for name, value in os.environ.items() if name not in TERMINAL_VARIABLES
        }
        with self.log.open("wb") as file:
            with self._lock:
                if self.is_stopped:
                    return None
                self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                    [sys.executable, "-m", CHILD, self._name],
                    stdin=subprocess.PIPE,
                    stdout=file,
                    stderr=file,
                    env=environment | shared_server(),
                    text=True,
                    start_new_session=True,
                )
                self._tell(json.dumps(given))
            if self._has_lease:
                self.renew(ends)
            else:
                self.end()
            try:
                code = self._wait(tick, tick_secs)
            finally:
                self.end()
                self.progress.unlink(missing_ok=True)
        return self._ended(code, started)

    def _wait(self, tick: Callable[[], None] | None, tick_secs: float) -> int:
        assert self._process
        while tick:
            with suppress(subprocess.TimeoutExpired):
                return self._process.wait(tick_secs)
            tick()
        return self._process.wait()

    def _tell(self, line: str) -> None:
        with self._lock, suppress(OSError, ValueError):  # it has ended
            if self._process and self._process.stdin:
                self._process.stdin.write(line + "\n")
                self._process.stdin.flush()

    def renew(self, ends: float) -> None:
        """Tell the child that the lease ends at *ends* on the clock of `time.monotonic`."""
        self._tell(repr(ends))

    def end(self) -> None:
        """Close the standard input of the child. If it has a lease, it is killed."""
        with self._lock, suppress(OSError):
            if self._process and self._process.stdin:
                self._process.stdin.close()

    def stop(self) -> bool:
        """Ask the crawl to end in order, or not to begin; return whether it is running."""
        with self._lock:
            self.is_stopped = True
            if self._process is None or self._process.poll() is not None:
                return False
            with suppress(ProcessLookupError):
                self._process.send_signal(signal.SIGTERM)
            return True

    def _ended(self, code: int, started: datetime) -> Ended:
        outcome = _outcome_of(code)
        result = SiteResult(
            self._name, outcome.name.lower(), code, **times(started), log=str(self.log)
        )
        try:
            record = json.loads(self.stats.read_bytes())
        except (OSError, ValueError):  # the crawl ended before it wrote its stats
            how = f"it was ended by {signal.Signals(-code).name}" if code < 0 else ""
            told = (how,) if how else _last_line(self.log) or (_silent(code, self.log.parent),)
            return Ended(replace(result, reasons=told))
        return Ended(with_record(result, outcome, record), Ending.from_stats(record["stats"]))


def progress_file(logs: Path, name: str) -> Path:
    """Return where the crawl of the site *name* writes its progress while it runs."""
    return logs / f"{name}.progress.json"


def _outcome_of(code: int) -> Outcome:
    """Return the outcome for the exit code of a process; a signal is an interruption."""
    if code in [*Outcome]:
        return Outcome(code)
    return Outcome.INTERRUPTED if code < 0 else Outcome.ERROR


def _last_line(log: Path) -> tuple[str, ...]:
    """Return the last line of a log, which says why a crawl did not begin."""
    try:
        text = log.read_bytes()[-TAIL_BYTES:].decode(errors="replace")
    except OSError:
        return ()
    lines = [line for line in text.splitlines() if line.strip()]
    return tuple(line.removeprefix("contentspider: ") for line in lines[-1:])


def _silent(code: int, logs: Path) -> str:
    """Return what is known of a crawl that has written nothing into the folder *logs*."""
    is_full = shutil.disk_usage(logs).free < LITTLE_BYTES
    why = f", because {logs} has no space left" if is_full else ""
    return f"it ended with the exit code {code}, and wrote neither a log nor its stats{why}"
