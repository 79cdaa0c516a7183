"""Pauses that single addresses ask for, whose host lives."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

from contentspider.crawl.hold.binding import ROW_META_KEY
from contentspider.crawl.queue.addresses import Again
from contentspider.crawl.queue.outage import UNAVAILABLE

if TYPE_CHECKING:
    from scrapy import Request

    from contentspider.crawl.queue.addresses import Addresses


class Pauses:
    """Has *addresses* wait that ask for it: they are asked again at the end of the crawl, all when
    the last of their pauses is over, or by a crawl that goes on if that takes longer than
    *limit_secs*.
    """

    def __init__(self, addresses: Addresses, limit_secs: float) -> None:
        self._addresses = addresses
        self._limit_secs = limit_secs
        self._until = -math.inf

    def wait(self, request: Request, seconds: float) -> None:
        """Note that the address of a request asks for a pause of as many *seconds*."""
        again = Again.AT_END
        if seconds > self._limit_secs:
            again = Again.LATER
        else:
            self._until = max(self._until, time.monotonic() + seconds)
        reason = f"HTTP {UNAVAILABLE}, Retry-After: {seconds:.0f}"
        self._addresses.note(request.meta.get(ROW_META_KEY), "failed", reason, again=again)
        request.meta["dont_retry"] = True

    @property
    def is_on(self) -> bool:
        """Tell whether the end of the crawl has to wait for one."""
        return not self._addresses.is_at_end and time.monotonic() < self._until
