"""Hosts that are down, ask for a pause, or find requests too many."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from scrapy.utils.datatypes import LocalCache

from contentspider.crawl.base.engine import header
from contentspider.ground.addresses import host_of

if TYPE_CHECKING:
    from scrapy.http import Response

logger = logging.getLogger(__name__)

FAILURES = 8  # requests in a row without an answer: fewer are bad luck, or no host
# Twice as many each time that the host turned out to live while these failed, up to this number: a
# part of it that is down costs few pauses, and a host that is down after all few requests.
MAX_FAILURES = 64
# Until the next request to a host that is down; doubled each time that it gets no answer.
FIRST_PAUSE_SECS = 1.0
MAX_PAUSE_SECS = 60.0
ASKED_SECS = 180.0  # a request whose end nobody tells is waited for no longer than this
MAX_RETRY_AFTER_SECS = 86_400.0  # nobody waits for a longer pause in one crawl
# Hosts in trouble that are remembered; those in which it began first are forgotten first.
MAX_HOSTS = 10_000
# Seconds between two requests: at first, doubled each time, at most. Each answer shortens them, so
# that some 70 come before the host is asked too often again; below the last they are none.
FIRST_DELAY_SECS, MAX_DELAY_SECS, MIN_DELAY_SECS = 0.25, 60.0, 0.02
DELAY_PER_ANSWER = 0.99
TOO_MANY_REQUESTS, UNAVAILABLE = 429, 503
# What stands before a server that is down answers so: its proxy, or its provider.
NO_SERVER = (502, UNAVAILABLE, 504, 522, 524)


@dataclass(slots=True)
class Trouble:
    """A host that did not answer: paused *since*, not asked *until*, then for another *pause*."""

    failures: int = 0
    pause: float = FIRST_PAUSE_SECS
    since: float | None = None
    until: float = -math.inf
    # One request is on its way, to see whether there is an answer; it is for a witness.
    has_request: bool = False
    is_witness: bool = False
    # The next request is to be for a witness; how many have been.
    needs_witness: bool = False
    witnesses: int = 0
    has_asked_for_pause: bool = False  # another answer does not end it
    # The addresses that found requests too many, and the seconds that each wants to wait; whether a
    # witness is to tell if their host does.
    limited: dict[str, float] = field(default_factory=dict)
    is_doubted: bool = False


class Pace:
    """Keeps a time between requests, which Scrapy's delays do not once a host asks for a pause."""

    def __init__(self) -> None:
        self._delays: LocalCache[str, float] = LocalCache(MAX_HOSTS)
        self._next: LocalCache[str, float] = LocalCache(MAX_HOSTS)

    def slow(self, host: str) -> None:
        """Ask a host half as often as before."""
        delay = 2 * self._delays.get(host, FIRST_DELAY_SECS / 2)
        self._delays[host] = min(delay, MAX_DELAY_SECS)

    def hasten(self, host: str, by: float = 0.5) -> None:
        """Ask a host more often: as before it was slowed, if it was not the host that asked."""
        if host in self._delays:
            self._delays[host] *= by
            if self._delays[host] < MIN_DELAY_SECS:
                del self._delays[host]
                self._next.pop(host, None)

    def ask(self, host: str, now: float) -> bool:
        """Note that a host is asked; tell whether it has to wait for its next request."""
        if host in self._delays:
            self._next[host] = now + self._delays[host]
        return host in self._delays

    def waiting(self, now: float) -> dict[str, float]:
        """Return the hosts that have to wait, and until when."""
        return {host: until for host, until in self._next.items() if until > now}


class Hosts:
    """Which hosts may be asked now. One without an answer gets one request at a time, after
    `FAILURES` in a row now and then; one that asks for a pause none. It is asked for a *witness*,
    an address that has answered: if that does at once, only a part fails. One that finds requests
    too many gets fewer. After *limit_secs* a host is *lost*: the crawl does not wait for it alone.
    """

    def __init__(self, limit_secs: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit_secs = limit_secs
        self._clock = clock
        self._troubles: LocalCache[str, Trouble] = LocalCache(MAX_HOSTS)
        # What `closed` has found, until a time or a change.
        self._closed: set[str] = set()
        self._due_witnesses: list[str] = []
        self._valid_until = math.inf
        # How many failures in a row are waited for, of hosts that lived while a part failed.
        self._patience: LocalCache[str, int] = LocalCache(MAX_HOSTS)
        self._pace = Pace()
        # Addresses that find requests too many while their hosts do not, with the seconds that they
        # want to wait; and these hosts.
        self._limited: LocalCache[str, float] = LocalCache(MAX_HOSTS)

    def closed(self) -> set[str]:
        """Return the hosts that may not be asked now."""
        now = self._clock()
        if now >= self._valid_until:
            troubles = self._troubles.items()
            until = {host: one.until for host, one in troubles if one.until > now}
            wanted = (host for host, one in troubles if one.needs_witness)
            self._due_witnesses = [host for host in wanted if host not in until]
            for host, end in self._pace.waiting(now).items():
                until[host] = max(end, until.get(host, end))
            self._closed, self._valid_until = set(until), min(until.values(), default=math.inf)
        return self._closed

    def due_witness(self) -> tuple[str, int] | None:
        """Return, once, a host to ask for a witness now, and how many it was asked for before."""
        self.closed()
        if not self._due_witnesses:
            return None
        host = self._due_witnesses.pop()
        trouble = self._troubles[host]
        trouble.needs_witness = False
        return host, trouble.witnesses

    def is_partly_down(self, host: str) -> bool:
        """Tell whether what failed last is a part of a host, which lived while others failed."""
        found = self._troubles.get(host)
        return host in self._patience and not (found and found.has_request and found.is_witness)

    def wait_of(self, address: str) -> float | None:
        """Return how many seconds an address wants to wait that finds requests too many while its
        host does not; None if it is no such address.
        """
        return self._limited.get(address)

    def slow_limited(self) -> None:
        """Ask what is left of hosts slowly of which addresses found requests too many: witnesses
        that were asked at a better moment said nothing of them.
        """
        for name in self._limited:
            if "/" not in name:
                self._pace.slow(name)

    def is_paused(self, host: str) -> bool:
        """Tell whether a host is down, or has asked for a pause."""
        return host in self._troubles and self._troubles[host].since is not None

    def lost(self) -> list[str]:
        """Return the hosts that have been down for longer than the crawl waits, or will be."""
        now = self._clock()
        return [
            host
            for host, trouble in self._troubles.items()
            if trouble.since is not None
            and max(now, trouble.until) - trouble.since >= self._limit_secs
        ]

    def next_change(self) -> float | None:
        """Return in how many seconds a host may be asked again, None if all may be asked."""
        self.closed()
        return self._valid_until - self._clock() if self._closed else None

    def ask(self, host: str, is_witness: bool = False) -> None:
        """Note that a request is sent to a host, for the next of its addresses or for a witness."""
        if self._pace.ask(host, self._clock()):
            self._valid_until = -math.inf
        if host in self._troubles:
            trouble = self._trouble(host)
            trouble.is_doubted &= is_witness  # else there was none
            trouble.has_request, trouble.is_witness = True, is_witness
            trouble.witnesses += is_witness
            trouble.until = self._clock() + ASKED_SECS

    def answered(self, host: str, is_witness: bool = False) -> None:
        """Note that a host has answered a request, or that for a witness."""
        self._pace.hasten(host, DELAY_PER_ANSWER)
        if host not in self._troubles:
            return
        trouble, now = self._trouble(host), self._clock()
        if trouble.is_doubted:
            if is_witness:
                self._blame(host, trouble.limited)
                self._pace.hasten(host)
                del self._troubles[host]
            return
        if trouble.has_asked_for_pause and trouble.until > now and not trouble.has_request:
            if trouble.until - now > self._limit_secs:
                self._doubt(trouble)  # nothing had answered before
                return
            trouble.failures, trouble.pause, trouble.since = 0, FIRST_PAUSE_SECS, now
            return
        if trouble.since is not None:
            logger.info("%s: there is an answer again after %.0f s", host, now - trouble.since)
            self._learn_patience(host, trouble)
        del self._troubles[host]

    def _learn_patience(self, host: str, trouble: Trouble) -> None:
        if trouble.witnesses == 1 and trouble.is_witness:  # the first one answered
            if host not in self._patience:
                logger.warning("%s answers, but for a part of it: that is asked again later", host)
            patience = self._patience.get(host, FAILURES)
            self._patience[host] = min(2 * patience, MAX_FAILURES)
        elif trouble.witnesses:
            self._patience.pop(host, None)

    def release(self, host: str) -> None:
        """Note that a request that was to be sent to a host was not."""
        if host in self._troubles and self._troubles[host].has_request:
            trouble = self._trouble(host)
            trouble.has_request, trouble.is_doubted = False, False
            trouble.until = -math.inf

    def failed(self, host: str, waiting: Callable[[int], int]) -> None:
        """Note that a host gave no answer; *waiting* counts its queued addresses up to a number."""
        trouble = self._trouble(host)
        trouble.failures += 1
        trouble.is_doubted = False
        if not self._is_news(trouble):
            return
        if trouble.since is None:
            # A host with few addresses is at its end soon enough.
            patience = self._patience.get(host, FAILURES)
            if trouble.failures < patience or waiting(FAILURES) < FAILURES:
                trouble.until = -math.inf
                return
            tell = logger.info if host in self._patience else logger.warning
            tell(
                f"{host}: {trouble.failures} requests in a row got no answer. Its addresses wait"
                f" until there is one, for CONTENTSPIDER_OUTAGE_SECS={self._limit_secs:g}; those"
                " of other hosts go on"
            )
        trouble.has_asked_for_pause = False
        self._pause(trouble, 0, needs_witness=True)

    def wait(self, host: str, seconds: float | None, has_witness: bool = False) -> None:
        """Note that a host asks for a pause, of as many *seconds* if it says so; if a part may
        (*has_witness*), a witness is asked after the second in a row, and before one that is too
        long.
        """
        trouble = self._trouble(host)
        wanted = min(seconds or 0, MAX_RETRY_AFTER_SECS)
        is_too_long = wanted > self._limit_secs
        needs_witness = has_witness and (is_too_long or trouble.since is not None)
        if needs_witness and is_too_long and not (trouble.has_request and trouble.is_witness):
            wanted = 0
        else:
            self._report(host, wanted, trouble.since is None)
        trouble.has_asked_for_pause = True
        if self._is_news(trouble):
            self._pause(trouble, wanted, needs_witness)
        else:
            trouble.until = max(trouble.until, self._clock() + wanted)

    def limit(
        self, address: str, seconds: float | None, has_witness: bool, is_witness: bool = False
    ) -> None:
        """Note that an *address* finds requests too many, and asks for a pause, of as many
        *seconds* if it says so. A witness tells whether its host does: at once if no pause was
        asked for, a long one, or if one address did before; else after the second pause in a row.
        """
        host, wanted = host_of(address), min(seconds or 0, MAX_RETRY_AFTER_SECS)
        trouble, is_too_long = self._trouble(host), wanted > self._limit_secs
        if is_witness:
            trouble.has_request = False
        elif trouble.is_doubted:
            trouble.limited[address] = wanted
            return
        elif not self._is_news(trouble):
            if not is_too_long:
                trouble.until = max(trouble.until, self._clock() + wanted)
            return
        else:
            trouble.limited = {address: wanted}
        may_doubt = has_witness and not is_witness
        if may_doubt and (seconds is None or is_too_long or host in self._limited):
            self._doubt(trouble)
            return
        is_first = trouble.since is None
        self._report(host, wanted, is_first)
        if not trouble.has_asked_for_pause:  # pauses in a row are longer and longer by themselves
            self._pace.slow(host)
        trouble.is_doubted = may_doubt and not is_first
        trouble.has_asked_for_pause = True
        self._pause(trouble, wanted, trouble.is_doubted)

    def _report(self, host: str, wanted: float, is_first: bool) -> None:
        if wanted > self._limit_secs:
            logger.warning(
                f"{host} asks for a pause of {wanted:.0f} s, longer than"
                f" CONTENTSPIDER_OUTAGE_SECS={self._limit_secs:g}: if its addresses are all that is"
                " left, go on with --resume then"
            )
        elif is_first:
            logger.info("%s asks for a pause", host)

    def _doubt(self, trouble: Trouble) -> None:
        """Ask for a witness at once."""
        trouble.since = self._clock() if trouble.since is None else trouble.since
        trouble.until, trouble.needs_witness = -math.inf, True
        trouble.is_doubted = bool(trouble.limited)

    def _blame(self, host: str, waits: dict[str, float]) -> None:
        if host not in self._limited:
            logger.warning("%s answers, but some addresses want a pause: they wait alone", host)
        for name, seconds in ({host: 0.0} | waits).items():
            self._limited[name] = seconds

    def _trouble(self, host: str) -> Trouble:
        """Return the trouble of a host, which is about to change."""
        self._valid_until = -math.inf
        return self._troubles.setdefault(host, Trouble())

    def _is_news(self, trouble: Trouble) -> bool:
        """Tell whether a failure is news, not that of a request sent before the pause."""
        was_asked, trouble.has_request = trouble.has_request, False
        return was_asked or trouble.until <= self._clock()

    def _pause(self, trouble: Trouble, at_least: float, needs_witness: bool) -> None:
        now = self._clock()
        trouble.needs_witness = needs_witness
        trouble.since = now if trouble.since is None else trouble.since
        trouble.until = now + max(trouble.pause, at_least)
        trouble.pause = min(2 * trouble.pause, MAX_PAUSE_SECS)


def retry_after(response: Response) -> float | None:
    """Return the seconds of a Retry-After, which is a number or a date; None if it is neither."""
    said = header(response, "Retry-After")
    if said.isascii() and said.isdigit():
        return float(said[:9])
    try:
        return max(parsedate_to_datetime(said).timestamp() - time.time(), 0.0)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
