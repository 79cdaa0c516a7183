"""Hosts that are down, ask for a pause (Retry-After), or limit requests (HTTP 429)."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from scrapy.utils.datatypes import LocalCache

from contentspider.crawl.base.engine import header
from contentspider.ground.addresses import host_of
from contentspider.ground.counts import counted

if TYPE_CHECKING:
    from scrapy.http import Response

logger = logging.getLogger(__name__)

# A host is down after this many requests in a row without an answer. Fewer may be bad luck, or an
# address with a wrong host.
FAILURES = 8
# If the host answered a witness while these requests failed, only a part of it is down, and twice
# as many failures are accepted the next time, up to this number. So a broken part causes few
# pauses, and a host that really goes down gets few requests.
MAX_FAILURES = 64
# Seconds until the next request to a host that is down, doubled after each request without answer.
FIRST_PAUSE_SECS = 1.0
MAX_PAUSE_SECS = 60.0
# A request whose end is not reported blocks its host for no longer than this.
ASKED_SECS = 180.0
# A longer Retry-After counts as this: no crawl waits longer.
MAX_RETRY_AFTER_SECS = 86_400.0
# The number of paused hosts that are remembered. The oldest are forgotten first.
MAX_HOSTS = 10_000
# Seconds between two requests to a host that limits requests. Each 429 doubles the delay, each
# answer shortens it, so that about 70 answers come before the next 429. A delay below the minimum
# is removed.
FIRST_DELAY_SECS, MAX_DELAY_SECS, MIN_DELAY_SECS = 0.25, 60.0, 0.02
DELAY_PER_ANSWER = 0.99
TOO_MANY_REQUESTS, UNAVAILABLE = 429, 503
# Statuses that a proxy or provider sends in place of a server that is down.
NO_SERVER = (502, UNAVAILABLE, 504, 522, 524)


@dataclass(slots=True)
class HostState:
    """The state of a host with failed requests. It is paused *since* a time, gets no request
    *until* a time, and then gets the next *pause*. Times are seconds of the clock.
    """

    failures: int = 0
    pause: float = FIRST_PAUSE_SECS
    since: float | None = None
    until: float = -math.inf
    # A single request is being sent, to test whether the host answers; for a witness or not.
    has_request: bool = False
    is_witness: bool = False
    # The next test must request a witness.
    needs_witness: bool = False
    # How many witnesses were requested.
    witnesses: int = 0
    # The host asked for the pause, so an answer to an earlier request does not end it.
    has_asked_for_pause: bool = False
    # The addresses that answered 429, with the seconds that each asks to wait.
    limited: dict[str, float] = field(default_factory=dict)
    # A witness must show whether the whole host limits requests, or only these addresses.
    is_doubted: bool = False

    def request_witness(self, now: float) -> None:
        """Make a witness of the host the next request, without a wait."""
        self.since = now if self.since is None else self.since
        self.until, self.needs_witness = -math.inf, True
        self.is_doubted = bool(self.limited)


class RequestDelays:
    """Spaces out the requests to hosts that limit requests (429), and knows the addresses that do
    so while the rest of their host answers. Scrapy's own delays do not hold after a pause.
    """

    def __init__(self) -> None:
        self._delays: LocalCache[str, float] = LocalCache(MAX_HOSTS)
        self._next: LocalCache[str, float] = LocalCache(MAX_HOSTS)
        # Single addresses, with the seconds that they ask to wait; and their hosts, with 0.
        self.limited: LocalCache[str, float] = LocalCache(MAX_HOSTS)

    def lengthen(self, host: str) -> None:
        """Double the delay of a host, from `FIRST_DELAY_SECS` on."""
        delay = 2 * self._delays.get(host, FIRST_DELAY_SECS / 2)
        self._delays[host] = min(delay, MAX_DELAY_SECS)

    def shorten(self, host: str, factor: float = 0.5) -> None:
        """Multiply the delay of a host by a *factor*; the default undoes `lengthen`."""
        if host in self._delays:
            self._delays[host] *= factor
            if self._delays[host] < MIN_DELAY_SECS:
                del self._delays[host]
                self._next.pop(host, None)

    def note_request(self, host: str, now: float) -> bool:
        """Record that a request is sent to a host. Return whether the host has a delay."""
        if host in self._delays:
            self._next[host] = now + self._delays[host]
        return host in self._delays

    def waiting(self, now: float) -> dict[str, float]:
        """Return the hosts that must wait, with the ends of their waits."""
        return {host: until for host, until in self._next.items() if until > now}

    def limit(self, host: str, waits: dict[str, float]) -> None:
        """Limit single addresses of a host that answers, by the seconds that they ask to wait."""
        if host not in self.limited:
            logger.warning("%s answers, but some of its addresses ask for a pause", host)
        for name, seconds in ({host: 0.0} | waits).items():
            self.limited[name] = seconds

    def wait_of(self, address: str) -> float | None:
        """Return how many seconds an address asks to wait, if it answers 429 while the rest of its
        host answers; None for other addresses.
        """
        return self.limited.get(address)

    def slow_limited(self) -> None:
        """Lengthen the delays of the hosts that have addresses with an answer of 429. Their
        witnesses may have answered only because the host had less load at that moment.
        """
        for name in self.limited:
            if "/" not in name:
                self.lengthen(name)


class HostPauses:
    """Decides which hosts may get a request now.

    A host that does not answer gets one request at a time; after `FAILURES` failures in a row it is
    paused, and tested with single requests. A host that asks for a pause gets no request until the
    pause ends. A test requests a *witness*, an address of the host that has answered before: if the
    first witness answers, only a part of the host is down. A host that answers 429 gets its
    requests with longer delays.

    A host that is paused for *limit_secs* is *lost*: the crawl ends when only requests to lost
    hosts remain.
    """

    def __init__(self, limit_secs: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit_secs = limit_secs
        self._clock = clock
        self._states: LocalCache[str, HostState] = LocalCache(MAX_HOSTS)
        # The results of `closed`, valid until a time, or until a state changes.
        self._closed: set[str] = set()
        self._due_witnesses: list[str] = []
        self._valid_until = math.inf
        # Hosts that were partly down, with the number of failures in a row that pauses them.
        self._allowed_failures: LocalCache[str, int] = LocalCache(MAX_HOSTS)
        self.delays = RequestDelays()

    def closed(self) -> set[str]:
        """Return the hosts that must not get a request now."""
        now = self._clock()
        if now >= self._valid_until:
            states = self._states.items()
            until = {host: state.until for host, state in states if state.until > now}
            self._due_witnesses = [
                host for host, state in states if state.needs_witness and host not in until
            ]
            for host, end in self.delays.waiting(now).items():
                until[host] = max(end, until.get(host, end))
            self._closed, self._valid_until = set(until), min(until.values(), default=math.inf)
        return self._closed

    def due_witness(self) -> tuple[str, int] | None:
        """Return a host that must get a request for a witness now, and the number of its witnesses
        so far. Each host is returned once.
        """
        self.closed()
        if not self._due_witnesses:
            return None
        host = self._due_witnesses.pop()
        state = self._states[host]
        state.needs_witness = False
        return host, state.witnesses

    def is_partly_down(self, host: str) -> bool:
        """Tell whether only a part of a host failed, while the rest of it answered."""
        if host not in self._allowed_failures:
            return False
        state = self._states.get(host)
        return not (state and state.has_request and state.is_witness)

    def is_paused(self, host: str) -> bool:
        """Tell whether a host is down, or has asked for a pause."""
        return host in self._states and self._states[host].since is not None

    def lost(self) -> list[str]:
        """Return the hosts whose pause is, or will be, longer than the crawl waits."""
        now = self._clock()
        return [
            host
            for host, state in self._states.items()
            if state.since is not None and max(now, state.until) - state.since >= self._limit_secs
        ]

    def paused_secs(self, hosts: Iterable[str]) -> float:
        """Return for how many seconds paused *hosts* have been paused: the longest pause."""
        states = (self._states.get(host) for host in hosts)
        since = (state.since for state in states if state is not None)
        return max((self._clock() - each for each in since if each is not None), default=0.0)

    def limit_of(self, host: str) -> float | None:
        """Return the seconds of the last pause that a host asked for, if it is paused because of
        answers of 429; None for other hosts.
        """
        state = self._states.get(host)
        if state is None or not (state.has_asked_for_pause and state.limited):
            return None
        return max(state.limited.values())

    def next_change(self) -> float | None:
        """Return the seconds until a closed host opens; None if no host is closed."""
        self.closed()
        return self._valid_until - self._clock() if self._closed else None

    def ask(self, host: str, is_witness: bool = False) -> None:
        """Record that a request is sent to a host, for its next address or for a witness."""
        if self.delays.note_request(host, self._clock()):
            self._valid_until = -math.inf
        if host in self._states:
            state = self._changing_state(host)
            # If the request is not for a witness, the scheduler did not find a witness.
            state.is_doubted &= is_witness
            state.has_request, state.is_witness = True, is_witness
            if is_witness:
                state.witnesses += 1
            state.until = self._clock() + ASKED_SECS

    def answered(self, host: str, is_witness: bool = False) -> None:
        """Record that a host has answered a request, which may be for a witness."""
        self.delays.shorten(host, DELAY_PER_ANSWER)
        if host not in self._states:
            return
        state, now = self._changing_state(host), self._clock()
        if state.is_doubted:
            if is_witness:
                self.delays.limit(host, state.limited)
                self.delays.shorten(host)
                del self._states[host]
            return
        if state.has_asked_for_pause and state.until > now and not state.has_request:
            if state.until - now > self._limit_secs:
                state.request_witness(now)  # only now does the host have a witness
                return
            state.failures, state.pause, state.since = 0, FIRST_PAUSE_SECS, now
            return
        if state.since is not None:
            logger.info("%s answers again after %.0f s", host, now - state.since)
            self._adapt_allowed_failures(host, state)
        del self._states[host]

    def _adapt_allowed_failures(self, host: str, state: HostState) -> None:
        """Allow twice as many failures if the first witness answered; else the usual number."""
        if state.witnesses == 1 and state.is_witness:
            if host not in self._allowed_failures:
                logger.warning(
                    "%s answers, but a part of it does not: failed addresses are retried later",
                    host,
                )
            allowed = self._allowed_failures.get(host, FAILURES)
            self._allowed_failures[host] = min(2 * allowed, MAX_FAILURES)
        elif state.witnesses:
            self._allowed_failures.pop(host, None)

    def release(self, host: str) -> None:
        """Undo `ask`: the request to the host was not sent after all."""
        if host in self._states and self._states[host].has_request:
            state = self._changing_state(host)
            state.has_request, state.is_doubted = False, False
            state.until = -math.inf

    def failed(self, host: str, waiting: Callable[[int], int]) -> None:
        """Record that a request to a host got no answer. *waiting* returns the number of queued
        addresses of the host, counted up to its argument.
        """
        state = self._changing_state(host)
        state.failures += 1
        state.is_doubted = False
        if not self._is_current(state):
            return
        if state.since is None:
            # A host with few addresses is not paused: its requests end soon.
            allowed = self._allowed_failures.get(host, FAILURES)
            if state.failures < allowed or waiting(FAILURES) < FAILURES:
                state.until = -math.inf
                return
            level = logging.INFO if host in self._allowed_failures else logging.WARNING
            logger.log(
                level,
                f"{host}: {counted(state.failures, 'requests')} in a row got no answer. Its other"
                f" requests wait for up to CONTENTSPIDER_OUTAGE_SECS={self._limit_secs:g} until it"
                " answers; requests to other hosts continue",
            )
        state.has_asked_for_pause = False
        self._pause(state, 0, needs_witness=True)

    def wait(self, host: str, seconds: float | None, has_witness: bool = False) -> None:
        """Record that a host asks for a pause, of *seconds* if it names them. If the host has a
        witness, perhaps only a part of the host needs the pause: the witness is requested after the
        second pause in a row, and before a pause that is longer than the crawl waits.
        """
        state = self._changing_state(host)
        pause = min(seconds or 0, MAX_RETRY_AFTER_SECS)
        is_too_long = pause > self._limit_secs
        needs_witness = has_witness and (is_too_long or state.since is not None)
        if needs_witness and is_too_long and not (state.has_request and state.is_witness):
            pause = 0
        else:
            self._report_pause(host, pause, state.since is None)
        state.has_asked_for_pause = True
        if self._is_current(state):
            self._pause(state, pause, needs_witness)
        else:
            state.until = max(state.until, self._clock() + pause)

    def limit(
        self, address: str, seconds: float | None, has_witness: bool, is_witness: bool = False
    ) -> None:
        """Record that an *address* answers 429 and asks for a pause, of *seconds* if it names them.

        If the host has a witness, the witness shows whether the whole host limits requests. It is
        requested at once if no pause was named, if the pause is longer than the crawl waits, or if
        single addresses of the host answered 429 before; else after the second pause in a row.
        """
        host, pause = host_of(address), min(seconds or 0, MAX_RETRY_AFTER_SECS)
        state, is_too_long = self._changing_state(host), pause > self._limit_secs
        if is_witness:
            state.has_request = False
        elif not self._note_limited(state, address, pause):
            return
        may_doubt = has_witness and not is_witness
        if may_doubt and (seconds is None or is_too_long or host in self.delays.limited):
            state.request_witness(self._clock())
            return
        is_first = state.since is None
        self._report_pause(host, pause, is_first)
        # Each further pause in a row is longer anyway.
        if not state.has_asked_for_pause:
            self.delays.lengthen(host)
        state.is_doubted = may_doubt and not is_first
        state.has_asked_for_pause = True
        self._pause(state, pause, state.is_doubted)

    def _note_limited(self, state: HostState, address: str, pause: float) -> bool:
        """Record that an address, which is not a witness, answers 429. Return False if the host
        needs no new pause, because it is paused or waits for a witness.
        """
        if state.is_doubted:
            state.limited[address] = pause
            return False
        if not self._is_current(state):
            if pause <= self._limit_secs:
                state.until = max(state.until, self._clock() + pause)
            return False
        state.limited = {address: pause}
        return True

    def _report_pause(self, host: str, pause: float, is_first: bool) -> None:
        """Log that a host asks for a pause."""
        if pause > self._limit_secs:
            logger.warning(
                f"{host} asks for a pause of {pause:.0f} s, longer than"
                f" CONTENTSPIDER_OUTAGE_SECS={self._limit_secs:g}. If only its addresses remain,"
                " the crawl ends: continue with --resume after the pause"
            )
        elif is_first:
            logger.info("%s asks for a pause", host)

    def _changing_state(self, host: str) -> HostState:
        """Return the state of a host, a new one if need be, to change it."""
        self._valid_until = -math.inf
        return self._states.setdefault(host, HostState())

    def _is_current(self, state: HostState) -> bool:
        """Tell whether a failure belongs to a request that was sent after the pause began."""
        has_request, state.has_request = state.has_request, False
        return has_request or state.until <= self._clock()

    def _pause(self, state: HostState, min_secs: float, needs_witness: bool) -> None:
        """Pause a host for at least *min_secs*. The next pause is twice as long."""
        now = self._clock()
        state.needs_witness = needs_witness
        state.since = now if state.since is None else state.since
        state.until = now + max(state.pause, min_secs)
        state.pause = min(2 * state.pause, MAX_PAUSE_SECS)


def retry_after(response: Response) -> float | None:
    """Return the seconds of a Retry-After header, a number or a date; None if it is neither."""
    value = header(response, "Retry-After")
    if value.isascii() and value.isdigit():
        return float(value[:9])
    try:
        return max(parsedate_to_datetime(value).timestamp() - time.time(), 0.0)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
