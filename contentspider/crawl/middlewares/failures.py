"""Explains why an address could not be read: with a kind for the stats, and with a text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from scrapy.exceptions import IgnoreRequest

from contentspider.crawl.base.outcomes import MAX_ASKED_AGAIN
from contentspider.crawl.middlewares.guard import RefusedError

if TYPE_CHECKING:
    from scrapy.statscollectors import StatsCollector

# Kinds of addresses that must not be read. They count as skipped, not as failed.
SKIPPED_KINDS = (
    *("robots", "offsite_redirect", "private_address", "scheme"),
    *("logout", "login_form"),
)
KINDS = {
    "DownloadTimeoutError": ("timeout", "it took longer than DOWNLOAD_TIMEOUT"),
    "TCPTimedOutError": ("timeout", "the server does not answer"),
    "DownloadConnectionRefusedError": ("unreachable", "the server refuses connections"),
    "CannotResolveHostError": ("unreachable", "there is no such host"),
    "ResponseDataLossError": ("cut_short", "its answer was cut short"),
    "StoppedError": ("stopped", "the crawl was told to end"),
    "HeadTooLargeError": ("headers_too_large", "its headers are too large, or do not end"),
    "DownloadCancelledError": ("too_large", "it is larger than DOWNLOAD_MAXSIZE"),
    "DownloadFailedError": ("broken", "the connection was lost, or the answer is not HTTP"),
}
ROBOTS_ADVICE = (
    ". robots.txt is obeyed by default: ask the owner to allow your robot, or on a site of your own"
    " set -s ROBOTSTXT_OBEY=False"
)
# The messages of Scrapy's `IgnoreRequest`.
IGNORED = {
    "Forbidden by robots.txt": (
        "robots",
        f"it may not be fetched (Forbidden by robots.txt){ROBOTS_ADVICE}",
    ),
    "max redirections reached": ("redirects", "it redirects without end"),
}
# The modules whose errors mean that an answer cannot be unpacked.
UNPACKERS = ("gzip", "zlib", "brotli", "brotlicffi", "zstandard", "backports", "compression")


def why(error: BaseException | None) -> tuple[str, str]:
    """Return the kind of a failure, and a text that explains it."""
    response = getattr(error, "response", None)
    if response is not None and hasattr(response, "status"):
        return f"status_{response.status}", f"the server answered {response.status}"
    text = re.sub(r"\s+", " ", str(error)).strip()[:200]
    if isinstance(error, RefusedError):
        return error.kind, text + (ROBOTS_ADVICE if error.kind == "robots" else "")
    if isinstance(error, IgnoreRequest):
        if text in IGNORED:
            return IGNORED[text]
        if "DOWNLOAD_MAXSIZE" in text:
            return "too_large", "it unpacks to more than DOWNLOAD_MAXSIZE"
    if type(error).__module__.split(".")[0] in UNPACKERS:
        return "broken", "it cannot be unpacked"
    name = type(error).__name__
    if name == "CertificateError":
        return "certificate", text
    return KINDS.get(name, ("other", text or name))


class UnreadPages:
    """Counts the pages that could not be read in the stats, by kind. A page whose retry succeeds is
    no longer counted.
    """

    def __init__(self, stats: StatsCollector) -> None:
        self._stats = stats
        self._kinds: dict[int, str] = {}

    def add(self, row: int | None, kind: str) -> None:
        """Count a page, by the row of its address (None if it has none)."""
        self.forget(row)
        self._count(kind, 1)
        if row is not None and len(self._kinds) < MAX_ASKED_AGAIN:
            self._kinds[row] = kind

    def forget(self, row: int | None) -> None:
        """Remove a page from the counts, because it was read after all."""
        if row is not None and (kind := self._kinds.pop(row, None)):
            self._count(kind, -1)

    def _count(self, kind: str, by: int) -> None:
        self._stats.inc_value("contentspider/pages/failed", by)
        self._stats.inc_value(f"contentspider/pages/unread/{kind}", by)
