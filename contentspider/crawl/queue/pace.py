"""How fast hosts are asked that have found requests too many."""

from __future__ import annotations

# Seconds between two requests: at first, doubled each time, at most. Each answer shortens them, so
# that some 70 come before the host is asked too often again; below the last they are none.
FIRST_DELAY_SECS, MAX_DELAY_SECS, MIN_DELAY_SECS = 0.25, 60.0, 0.02
DELAY_PER_ANSWER = 0.99
MAX_HOSTS = 10_000


class Pace:
    """Keeps a time between the requests to hosts that were asked too often: Scrapy's delays hold
    for requests that it has been handed, which would not wait when the host asks for a pause.
    """

    def __init__(self) -> None:
        self._delays: dict[str, float] = {}
        self._next: dict[str, float] = {}

    def slow(self, host: str) -> None:
        """Ask a host half as often as before."""
        if host not in self._delays and len(self._delays) >= MAX_HOSTS:
            self._forget(next(iter(self._delays)))
        delay = 2 * self._delays.get(host, FIRST_DELAY_SECS / 2)
        self._delays[host] = min(delay, MAX_DELAY_SECS)

    def hasten(self, host: str, by: float = 0.5) -> None:
        """Ask a host more often: as before it was slowed, if it was not the host that asked."""
        if host in self._delays:
            self._delays[host] *= by
            if self._delays[host] < MIN_DELAY_SECS:
                self._forget(host)

    def ask(self, host: str, now: float) -> bool:
        """Note that a host is asked; tell whether it has to wait for its next request."""
        if host in self._delays:
            self._next[host] = now + self._delays[host]
        return host in self._delays

    def waiting(self, now: float) -> dict[str, float]:
        """Return the hosts that have to wait, and until when."""
        return {host: until for host, until in self._next.items() if until > now}

    def _forget(self, host: str) -> None:
        del self._delays[host]
        self._next.pop(host, None)
