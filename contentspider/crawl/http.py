"""The download handler for http: it limits the bytes that a server may send before a body."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy.core.downloader.handlers.http11 import HTTP11DownloadHandler
from scrapy.exceptions import DownloadFailedError
from twisted.python.failure import Failure
from twisted.web._newclient import HEADER, STATUS

from contentspider.ground.errors import ContentSpiderError

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

HANDLER = "contentspider.crawl.http.BoundedHandler"
SCRAPY_HANDLER = "scrapy.core.downloader.handlers.http11.HTTP11DownloadHandler"
# The bytes of status line and headers, including interim answers (status 1xx). curl allows
# as many. Of very short headers, each takes far more memory than it has bytes.
MAX_HEAD_BYTES = 300_000
MAX_HEAD_LINES = 2_000


class HeadTooLargeError(ContentSpiderError):
    """Raised for an answer with too many bytes before its body; the rest of it is not read."""

    code = "head-too-large"

    def __init__(self) -> None:
        super().__init__(
            f"its headers have more than {MAX_HEAD_BYTES // 1_000} kB, or {MAX_HEAD_LINES:,} lines"
        )


class BoundedHandler(HTTP11DownloadHandler):
    """Downloads over http. It closes a connection whose headers do not end (`HeadLimit`)."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._pool._factory = _with_limit(self._pool._factory)

    async def download_request(self, request: Request) -> Response:
        """Download a request; raises `HeadTooLargeError` if its headers are too large."""
        try:
            return await super().download_request(request)
        except DownloadFailedError as error:
            reasons = getattr(error.__cause__, "reasons", ())
            if any(reason.check(HeadTooLargeError) for reason in reasons):
                raise HeadTooLargeError from error
            raise


def _with_limit(factory: Any) -> Any:
    """Return a subclass of a Twisted *factory* of connections that limits each connection."""

    class LimitedFactory(factory):  # type: ignore[misc]
        noisy = False

        def buildProtocol(self, addr: Any) -> Any:  # noqa: N802 - Twisted's name
            protocol = super().buildProtocol(addr)
            HeadLimit(protocol)
            return protocol

    return LimitedFactory


class HeadLimit:
    """Counts the bytes and lines that a connection (Twisted's `HTTP11ClientProtocol`) receives
    before a body, and ends it beyond `MAX_HEAD_BYTES` or `MAX_HEAD_LINES`.
    """

    def __init__(self, protocol: Any) -> None:
        self._protocol = protocol
        self._send, self._receive = protocol.request, protocol.dataReceived
        protocol.request, protocol.dataReceived = self.request, self.received
        self._bytes = self._lines = 0

    def request(self, request: Any) -> Any:
        """Send a request. Twisted calls this method."""
        self._bytes = self._lines = 0
        return self._send(request)

    def received(self, data: bytes) -> None:
        """Pass on received bytes. Twisted calls this method."""
        self._receive(data)
        parser = self._protocol._parser
        if parser is None or parser.state not in (STATUS, HEADER):
            return
        self._bytes += len(data)
        self._lines += data.count(b"\n")
        if self._bytes > MAX_HEAD_BYTES or self._lines > MAX_HEAD_LINES:
            self._protocol.transport.abortConnection()
            failure = Failure(HeadTooLargeError())  # type: ignore[no-untyped-call]
            self._protocol._disconnectParser(failure)
