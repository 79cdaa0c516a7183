"""The delay between requests to a host, for all workers: PostgreSQL reserves time slots."""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING

from contentspider.crawl.queue.outage import HostPauses

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# A slot that is not used this many seconds after its time is lost. Later requests would come too
# close to the requests of other workers.
USABLE_SECS = 0.1
# Slots are further apart than the delay, so that a late request and the next one keep the delay.
MARGIN = 1.15
AHEAD_SECS = 1.5  # a worker reserves the slots of this time ahead


class SharedHosts(HostPauses):
    """Tells which hosts may be requested now. With a *delay* between requests a host also needs a
    time slot of this worker. *waiting* returns how many addresses wait, by host.
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
        self._requested_hosts: set[str] = set()

    def missing_slots(self) -> dict[str, int]:
        """Return how many slots to reserve for each host."""
        if not self._delay:
            return {}
        most = max(int(AHEAD_SECS / self.spacing), 1)
        closed = super().closed()
        counts = {
            host: min(count, most) - len(self._usable_slots(host))
            for host, count in self._waiting().items()
            if host not in closed
        }
        return {host: count for host, count in counts.items() if count > 0}

    def add(self, slots: Mapping[str, list[float]]) -> None:
        """Add reserved slots, by host, in seconds from now."""
        now = self._clock()
        for host, times in slots.items():
            self._slots.setdefault(host, deque()).extend(now + seconds for seconds in times)

    def _usable_slots(self, host: str) -> deque[float]:
        """Return the slots of a host, without lost ones."""
        slots = self._slots.setdefault(host, deque())
        now = self._clock()
        while slots and slots[0] + USABLE_SECS < now:
            slots.popleft()
        return slots

    def closed(self) -> set[str]:
        """Return the hosts that may not be requested now."""
        if not self._delay:
            return super().closed()
        now = self._clock()
        early = set()
        for host in self._waiting():
            slots = self._usable_slots(host)
            if not slots or slots[0] > now:
                early.add(host)
        return super().closed() | early

    def next_change(self) -> float | None:
        """Return in how many seconds a host opens, None if all hosts are open."""
        host_change = super().next_change()
        changes = [] if host_change is None else [host_change]
        for host in self._waiting() if self._delay else ():
            if slots := self._usable_slots(host):
                changes.append(max(slots[0] - self._clock(), 0.001))
        return min(changes, default=None)

    def ask(self, host: str, is_witness: bool = False) -> None:
        """Record that a request is sent to a host. The request uses the next slot of the host."""
        super().ask(host, is_witness)
        slots = self._usable_slots(host) if self._delay else deque()
        # Before the first request to a host, robots.txt uses a slot.
        for _ in range(1 if host in self._requested_hosts else 2):
            if slots:
                slots.popleft()
        self._requested_hosts.add(host)
