"""The extension that writes all requests and responses of a crawl to a WARC file."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from http.client import responses
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy import Request, signals
from scrapy.exceptions import NotConfigured

from contentspider.crawl.base.engine import Component, end_at_start
from contentspider.crawl.base.meta import CONDITIONAL_META_KEY, LOGIN_META_KEY
from contentspider.crawl.base.options import CrawlOptions
from contentspider.crawl.base.outcomes import NOT_MODIFIED_STATUS
from contentspider.ground import __version__
from contentspider.ground.addresses import origin_of, split_address
from contentspider.ground.errors import ContentSpiderError
from contentspider.state.files.warc import Exchange, WarcFile
from contentspider.state.outcome import OUTPUTS_STAT, REVISITS_STAT

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Headers, Response

logger = logging.getLogger(__name__)


class WarcArchive(Component):
    """Writes each response with its request to a WARC file, before it is decompressed. The requests
    of a login are left out.
    """

    def __init__(self, crawler: Crawler) -> None:
        options = CrawlOptions.from_settings(crawler.settings)
        path = options.warc_file
        if not path:
            raise NotConfigured
        super().__init__(crawler)
        # The user's headers (``-H``), which may be secret, are not written.
        self._hidden = {name.lower() for name in options.headers}
        self._logins = options.logins
        self.warc: WarcFile | None = None
        try:
            self.warc = WarcFile(Path(path), f"contentspider/{__version__}")
        except ContentSpiderError as error:
            logger.error("%s; nothing is crawled", error)
            self.stats.set_value("contentspider/warc/failed", str(error))
            end_at_start(self.crawler, "warc")  # the crawl could not be archived
            return
        crawler.signals.connect(self.downloaded, signal=signals.response_downloaded)
        crawler.signals.connect(self.closed, signal=signals.spider_closed)

    def downloaded(self, response: Response, request: Request) -> None:
        """Write a response with its request."""
        parts = split_address(response.url)
        if self.warc is None or parts.scheme not in ("http", "https"):
            return
        if LOGIN_META_KEY in request.meta:
            return
        # A session's cookies would let a reader of the file in.
        hidden = {"set-cookie"} if origin_of(response.url) in self._logins else set()
        is_revisit = response.status == NOT_MODIFIED_STATUS and CONDITIONAL_META_KEY in request.meta
        exchange = Exchange(
            url=response.url,
            method=request.method,
            target=(parts.path or "/") + (f"?{parts.query}" if parts.query else ""),
            request_headers=[
                ("Host", parts.netloc.rpartition("@")[2]),
                *(pair for pair in _pairs(request.headers) if pair[0].lower() not in self._hidden),
            ],
            request_body=request.body,
            status=f"{response.status} {responses.get(response.status, 'Unknown')}",
            response_headers=[
                pair for pair in _pairs(response.headers) if pair[0].lower() not in hidden
            ],
            body=response.body,
            address=str(response.ip_address or ""),
            is_revisit=is_revisit,
        )
        try:
            self.warc.write(exchange)
            self.stats.inc_value("contentspider/warc/written")
            if is_revisit:
                self.stats.inc_value(REVISITS_STAT)
        except OSError as error:
            logger.error(
                f"{self.warc.path} cannot be written ({error.strerror}): it misses all later"
                " requests and responses"
            )
            self.stats.inc_value(OUTPUTS_STAT)
            self.closed()

    def closed(self) -> None:
        """Close the file."""
        if self.warc is not None:
            self.warc.close()
            self.warc = None


def _pairs(headers: Headers) -> Iterator[tuple[str, str]]:
    for name, values in headers.items():
        for value in values:
            yield name.decode("latin-1"), value.decode("latin-1")
