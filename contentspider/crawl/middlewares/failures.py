"""Why an address could not be read: a word for the stats, and a few for people."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from scrapy.exceptions import IgnoreRequest

from contentspider.crawl.base.outcomes import MAX_ASKED_AGAIN
from contentspider.crawl.middlewares.guard import RefusedError

if TYPE_CHECKING:
    from scrapy.statscollectors import StatsCollector

SKIPPED_KINDS = ("robots", "offsite_redirect", "private_address", "scheme")  # what must not be read
KINDS = {
    "DownloadTimeoutError": ("timeout", "it took longer than DOWNLOAD_TIMEOUT"),
    "TCPTimedOutError": ("timeout", "the server does not answer"),
    "DownloadConnectionRefusedError": ("unreachable", "the server refuses connections"),
    "CannotResolveHostError": ("unreachable", "there is no such host"),
    "ResponseDataLossError": ("cut_short", "its answer was cut short"),
    "DownloadCancelledError": ("too_large", "it is larger than DOWNLOAD_MAXSIZE"),
    "DownloadFailedError": ("broken", "the connection was lost, or the answer is not HTTP"),
    "BadGzipFile": ("broken", "it cannot be unpacked"),
}


def why(error: BaseException | None) -> tuple[str, str]:
    """Return the kind of a failure, and what went wrong in a few words."""
    response = getattr(error, "response", None)
    if response is not None and hasattr(response, "status"):
        return f"status_{response.status}", f"the server answered {response.status}"
    text = re.sub(r"\s+", " ", str(error)).strip()[:200]
    if isinstance(error, RefusedError):
        return error.kind, text
    if isinstance(error, IgnoreRequest):
        if text == "Forbidden by robots.txt":
            return "robots", (
                f"it may not be fetched ({text}); robots.txt is obeyed by default, -s"
                " ROBOTSTXT_OBEY=False on a site of your own"
            )
        if text == "max redirections reached":
            return "redirects", "it redirects without end"
        if "DOWNLOAD_MAXSIZE" in text:
            return "too_large", "it unpacks to more than DOWNLOAD_MAXSIZE"
    name = type(error).__name__
    return KINDS.get(name, ("other", text or name))


class UnreadPages:
    """Counts in the stats, by kind, the pages that could not be read, not even when asked again."""

    def __init__(self, stats: StatsCollector) -> None:
        self._stats = stats
        self._kinds: dict[int, str] = {}

    def add(self, row: int | None, kind: str) -> None:
        """Count a page, by the row of its address, if it has one."""
        self.forget(row)
        self._count(kind, 1)
        if row is not None and len(self._kinds) < MAX_ASKED_AGAIN:
            self._kinds[row] = kind

    def forget(self, row: int | None) -> None:
        """Count a page no longer: an answer has come."""
        if row is not None and (kind := self._kinds.pop(row, None)):
            self._count(kind, -1)

    def _count(self, kind: str, by: int) -> None:
        self._stats.inc_value("contentspider/pages/failed", by)
        self._stats.inc_value(f"contentspider/pages/unread/{kind}", by)
