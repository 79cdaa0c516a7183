"""Leases in a store: one process at a time holds a lease, and only it can replace the data that
the lease names.

A lease is one object, which is written only with the condition that nobody has written it since. It
names its holder, and the state that it published last. So a process that slept past its lease
can neither renew it nor publish: its condition fails. No two clocks are compared: a lease has ended
if another process has seen the same object, unchanged, for as long as the lease lasts.
"""

from __future__ import annotations

import json
import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from contentspider.ground.errors import ContentSpiderError
from contentspider.state.stores.remote import Objects, RemoteError, ReplacedError, writer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LEASE_SECS = 30.0
RENEWALS = 3  # how often a lease is renewed before it would end
# The shares of a lease after which a crawl ends in order if the lease was not renewed, and after
# which it is killed. So it sends no request when another machine may crawl the site.
STOP_SHARE, KILL_SHARE = 0.67, 0.9
LOOKS = 10  # how often a lease of another process is looked at before it would end


class LeaseLostError(ContentSpiderError):
    """Another process holds the lease now; this one must publish nothing."""

    code = "lease-lost"


@dataclass(frozen=True, slots=True)
class Record:
    """The object of a lease. *holder* is a unique name ("": nobody holds the lease), and *by* says
    where it runs, and for which *run*. *number* counts the holders, and *beat* the times that one
    wrote the object. The lease lasts *secs* seconds. *facts* are what holders have published.
    """

    number: int = 0
    holder: str = ""
    by: str = ""
    run: str = ""
    beat: int = 0
    secs: float = LEASE_SECS
    facts: Mapping[str, Any] = field(default_factory=dict)


def read_record(objects: Objects, name: str) -> tuple[Record, str]:
    """Return the record of the lease *name*, and its mark ("": there is none). Raises
    `RemoteError`.
    """
    current = objects.read(name)
    if current is None:
        return Record(), ""
    try:
        record = Record(**json.loads(current[0]))
        return replace(record, facts=dict(record.facts)), current[1]
    except (ValueError, TypeError) as error:
        raise RemoteError(
            f"{objects.url}/{name} is not a lease: {error}; if no crawl uses it, delete it",
            code="lease-damaged",
        ) from error


class Lease:
    """The lease *name* in a store; it lasts *secs* seconds after each renewal. *run* names the run
    that wants it, if any. Threads may share it. Methods raise `RemoteError` if the store fails.
    """

    def __init__(
        self, objects: Objects, name: str, secs: float = LEASE_SECS, run: str = ""
    ) -> None:
        self.name, self.secs, self._run = name, secs, run
        self._objects = objects
        self._holder = uuid.uuid4().hex
        self._lock = threading.Lock()
        self._mark: str | None = None  # None: the lease was not read yet
        self._seen_at = 0.0
        # When our lease ends, on the clock of `time.monotonic`.
        self.ends = 0.0
        # Whether the holder before us did not give the lease up.
        self.is_taken_over = False
        self.record = Record()

    def is_free(self) -> bool | None:
        """Tell whether the lease can be acquired: False while its holder renews it, and None while
        this process has not looked at it for long enough.
        """
        record, mark = read_record(self._objects, self.name)
        now = time.monotonic()  # after the answer, so that a slow answer does not shorten the wait
        known, self._mark, self.record = self._mark, mark, record
        if not record.holder:
            return True
        if known is None:
            self._seen_at = now
            return None
        if mark != known:
            self._seen_at = now
            return False
        return True if now - self._seen_at > record.secs else None

    def take(self) -> None:
        """Acquire the lease that `is_free`; raises `ReplacedError` if another process did."""
        old = self.record
        self._write(
            Record(old.number + 1, self._holder, writer(), self._run, 0, self.secs, old.facts)
        )
        self.is_taken_over = bool(old.holder)

    @property
    def is_of_same_run(self) -> bool:
        """Tell whether the lease that `is_free` looked at is held for the run that wants it."""
        return bool(self._run) and self.record.run == self._run

    def write(self, **facts: Any) -> None:
        """Renew the lease, and change *facts*. Raises `LeaseLostError` if another holds it."""
        with self._lock:
            record = self.record
            record = replace(record, beat=record.beat + 1, facts={**record.facts, **facts})
            self._write_ours(record)

    def release(self) -> None:
        """Give the lease up; raises `LeaseLostError` if another process holds it."""
        with self._lock:
            self._write_ours(replace(self.record, holder=""))

    def _write_ours(self, record: Record) -> None:
        try:
            self._write(record)
        except ReplacedError:
            current, mark = read_record(self._objects, self.name)
            if current.holder != self._holder:
                raise LeaseLostError(
                    f"{self._objects.url}/{self.name}: the lease is lost to {current.by}"
                ) from None
            self._mark = mark  # we wrote it, and the answer was lost
            self._write(replace(record, beat=max(record.beat, current.beat + 1)))

    def _write(self, record: Record) -> None:
        started = time.monotonic()
        data = json.dumps(asdict(record)).encode()
        self._mark = self._objects.replace(self.name, data, self._mark or "")
        self.record = record
        self.ends = started + self.secs


def acquire(leases: Sequence[Lease], stopped: threading.Event) -> bool:
    """Acquire all *leases*, or none. Leases of dead processes end while this function waits. Return
    False if *stopped* is set, or if a living process holds one for another run. For a process of
    the same run it waits: an engine may have given one task to two processes.
    """
    while not stopped.is_set():
        states = [lease.is_free() for lease in leases]
        held = [lease for lease, free in zip(leases, states, strict=True) if free is False]
        if not all(lease.is_of_same_run for lease in held):
            return False
        if all(states) and _take(leases):
            return True
        stopped.wait(min(lease.record.secs for lease in leases) / LOOKS)
    return False


def _take(leases: Sequence[Lease]) -> bool:
    """Take all free leases; if another process is faster with one, give the others back."""
    taken: list[Lease] = []
    try:
        for lease in leases:
            lease.take()
            taken.append(lease)
    except RemoteError as error:
        for lease in taken:
            with suppress(ContentSpiderError):  # then it ends by itself
                lease.release()
        if isinstance(error, ReplacedError):
            return False
        raise
    return True


@contextmanager
def renewed(
    leases: Sequence[Lease],
    facts: Callable[[], Mapping[str, Any]],
    on_renewal: Callable[[float], None],
    on_failure: Callable[[ContentSpiderError], None],
) -> Iterator[None]:
    """Renew *leases* in a thread until the context ends, the first one with *facts*. *on_renewal*
    gets the time when they end, on the clock of `time.monotonic`, and *on_failure* an error. The
    thread ends when a lease is lost (`LeaseLostError`).
    """
    is_over = threading.Event()

    def renew() -> None:
        while not is_over.wait(leases[0].secs / RENEWALS):
            try:
                leases[0].write(**facts())
                for lease in leases[1:]:
                    lease.write()
                on_renewal(min(lease.ends for lease in leases))
            except (LeaseLostError, RemoteError) as error:  # noqa: PERF203 - once in seconds
                on_failure(error)
                if isinstance(error, LeaseLostError):
                    return

    thread = threading.Thread(target=renew, daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
