"""The download handlers. Both limit the bytes that a server may send before a body. The handler for
https also verifies the certificates of servers that get secrets.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from scrapy import __version__ as scrapy_version
from scrapy.core.downloader.handlers.http11 import HTTP11DownloadHandler
from scrapy.exceptions import DownloadFailedError
from twisted import __version__ as twisted_version
from twisted.python.failure import Failure

try:
    from scrapy.core.downloader.contextfactory import _ScrapyClientContextFactory
    from twisted.web._newclient import HEADER, STATUS
except ImportError as error:  # private names, which a later version may have renamed
    raise ImportError(
        f"Scrapy {scrapy_version} with Twisted {twisted_version} is not supported ({error}):"
        " install the newest contentspider, or earlier versions of both"
    ) from error

from contentspider.crawl.base.options import CrawlOptions
from contentspider.crawl.middlewares.cookies import SiteCookies
from contentspider.crawl.middlewares.headers import HeadersMiddleware
from contentspider.ground.addresses import origin_of
from contentspider.ground.errors import ContentSpiderError

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.settings import BaseSettings

logger = logging.getLogger(__name__)

HTTP_HANDLER = "contentspider.crawl.handlers.BoundedHandler"
HTTPS_HANDLER = "contentspider.crawl.handlers.VerifyingHandler"
SCRAPY_HANDLER = "scrapy.core.downloader.handlers.http11.HTTP11DownloadHandler"
# The bytes of status line and headers, including interim answers (status 1xx). curl allows
# as many. Of very short headers, each takes far more memory than it has bytes.
MAX_HEAD_BYTES = 300_000
MAX_HEAD_LINES = 2_000
TLS_LOGGER = "scrapy.core.downloader.tls"
MAX_WARNINGS = 1_000
# Parts of the messages of OpenSSL and of service_identity, which compares the host names.
INVALID = ("certificate verify failed", "VerificationError", "CertificateError")


def enable_handlers(settings: BaseSettings, options: CrawlOptions) -> None:
    """Replace Scrapy's handlers for http and https. DOWNLOAD_HANDLERS belongs to the project: if it
    has a handler for https, warn that this handler has to verify certificates.
    """
    handlers = settings["DOWNLOAD_HANDLERS_BASE"]
    for scheme, handler in (("http", HTTP_HANDLER), ("https", HTTPS_HANDLER)):
        if handlers.get(scheme) == SCRAPY_HANDLER:
            handlers[scheme] = handler
    handler = settings.getwithbase("DOWNLOAD_HANDLERS").get("https")
    is_needed = options.verify_tls == "always" or (
        options.verify_tls == "secrets" and options.headers
    )
    if (
        handler != HTTPS_HANDLER
        and is_needed
        and not settings.getbool("DOWNLOAD_VERIFY_CERTIFICATES")
    ):
        logger.warning(
            f"DOWNLOAD_HANDLERS has a handler of the project for https ({handler!r}), which"
            " CONTENTSPIDER_VERIFY_TLS does not change: set DOWNLOAD_VERIFY_CERTIFICATES"
        )


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


class RepeatedWarnings(logging.Filter):
    """Passes each message of a logger once. Scrapy warns of an invalid certificate for each
    connection, so that a site with an expired one would fill the log.
    """

    def __init__(self) -> None:
        super().__init__()
        self._messages: set[str] = set()

    def filter(self, record: logging.LogRecord) -> bool:
        """Tell whether a message is new. After `MAX_WARNINGS` different ones, all pass."""
        message = record.getMessage()
        if message in self._messages:
            return False
        if len(self._messages) < MAX_WARNINGS:
            self._messages.add(message)
        return True


# One filter for the process: `Logger.addFilter` ignores a filter that the logger has already.
TLS_WARNINGS = RepeatedWarnings()


class CertificateError(ContentSpiderError):
    """Raised for a request to a server whose certificate is invalid; nothing was sent to it."""

    code = "certificate"


class VerifyingHandler(BoundedHandler):
    """Downloads over https, and verifies certificates if ``CONTENTSPIDER_VERIFY_TLS`` says so.

    Verified connections have a pool of their own, so that a request with a secret is never sent
    over a connection that was opened without verification.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        logging.getLogger(TLS_LOGGER).addFilter(TLS_WARNINGS)
        options = CrawlOptions.from_settings(crawler.settings)
        self._when, self._logins = options.verify_tls, options.logins
        self._verified = BoundedHandler(crawler)
        policy = _ScrapyClientContextFactory.from_crawler(crawler)  # has the project's TLS versions
        # The attribute is read before it is set. If a version of Scrapy renames it, https then
        # fails with an error, and certificates never go unverified.
        if not policy._verify_certificates:
            policy._verify_certificates = True
        self._verified._contextFactory = policy  # type: ignore[assignment]

    async def download_request(self, request: Request) -> Response:
        """Download a request; raises `CertificateError` if a certificate is invalid."""
        if self._when == "never" or (self._when == "secrets" and not self._has_secret(request)):
            return await super().download_request(request)
        try:
            return await self._verified.download_request(request)
        except DownloadFailedError as error:
            if any(part in str(error) for part in INVALID):
                raise CertificateError(
                    "the certificate of its server is invalid, so nothing was sent to it"
                    " (--verify-tls never: send it all the same)"
                ) from error
            raise

    def _has_secret(self, request: Request) -> bool:
        """Tell whether a request has a header of the user, a password, a form (which may be a
        login), the cookies of a login, or cookies that a project's own spider keeps.
        """
        crawler = self._crawler
        user_headers = crawler.get_downloader_middleware(HeadersMiddleware)
        if user_headers is not None and user_headers.headers_for(request):
            return True
        if "Authorization" in request.headers or request.body:
            return True
        if origin_of(request.url) in self._logins:
            return True
        # The site spider's own cookies come from redirects: nobody has logged in to get them.
        return "Cookie" in request.headers and not crawler.get_downloader_middleware(SiteCookies)

    async def close(self) -> None:
        """Close all connections."""
        await self._verified.close()
        await super().close()
