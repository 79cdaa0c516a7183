"""The pace of all workers together: requests to a host have times, which PostgreSQL gives out."""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING

from contentspider.crawl.queue.outage import HostPauses

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# A time that is not used so many seconds after it has come is lost: requests that a process sends
# late, one after the other, would meet those of the others.
USABLE_SECS = 0.1
# Times are further apart than the delay, so that one that is used late and the next that is not
# are not nearer.
MARGIN = 1.15
AHEAD_SECS = 1.5  # for which times are reserved


class SharedHosts(HostPauses):
    """Which hosts may be asked now: of those that may, such for which a time has come, if there is
    a *delay* between requests. *waiting* tells how many addresses wait, by host.
    """

    def __init__(
        self,
        limit_secs: float,
        delay: float,
        waiting: Callable[[], Mapping[str, int]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(limit_secs, clock)
        self._delay, self._waiting = delay, waiting
        self.spacing = delay * MARGIN
        self._slots: dict[str, deque[float]] = {}
        self._asked: set[str] = set()

    def wanted(self) -> dict[str, int]:
        """Return for how many requests to each host times are to be reserved."""
        if not self._delay:
            return {}
        most = max(int(AHEAD_SECS / self.spacing), 1)
        shut = super().closed()
        wanted = {
            host: min(count, most) - len(self._coming(host))
            for host, count in self._waiting().items()
            if host not in shut
        }
        return {host: count for host, count in wanted.items() if count > 0}

    def add(self, slots: Mapping[str, list[float]]) -> None:
        """Add times, in seconds from now."""
        now = self._clock()
        for host, times in slots.items():
            self._slots.setdefault(host, deque()).extend(now + each for each in times)

    def _coming(self, host: str) -> deque[float]:
        """Return the times for a host, without those that are lost."""
        times = self._slots.setdefault(host, deque())
        now = self._clock()
        while times and times[0] + USABLE_SECS < now:
            times.popleft()
        return times

    def closed(self) -> set[str]:
        """Return the hosts that may not be asked now."""
        if not self._delay:
            return super().closed()
        now = self._clock()
        early = {
            host for host in self._waiting() if not (times := self._coming(host)) or times[0] > now
        }
        return super().closed() | early

    def next_change(self) -> float | None:
        """Return in how many seconds a host may be asked again, None if all may be asked."""
        changes = [] if (first := super().next_change()) is None else [first]
        for host in self._waiting() if self._delay else ():
            if times := self._coming(host):
                changes.append(max(times[0] - self._clock(), 0.001))
        return min(changes, default=None)

    def ask(self, host: str, is_witness: bool = False) -> None:
        """Note that a request is sent to a host: its time is used."""
        super().ask(host, is_witness)
        times = self._coming(host) if self._delay else deque()
        # The first has that for robots.txt before it.
        for _ in range(1 if host in self._asked else 2):
            if times:
                times.popleft()
        self._asked.add(host)
