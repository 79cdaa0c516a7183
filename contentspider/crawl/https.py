"""The download handler for https: it verifies the certificates of servers that get secrets."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from scrapy.core.downloader.contextfactory import _ScrapyClientContextFactory
from scrapy.exceptions import DownloadFailedError

from contentspider.crawl import http
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

SCHEME = "https"
HANDLER = "contentspider.crawl.https.VerifyingHandler"
TLS_LOGGER = "scrapy.core.downloader.tls"
MAX_WARNINGS = 1_000
# Parts of the messages of OpenSSL and of service_identity, which compares the host names.
INVALID = ("certificate verify failed", "VerificationError", "CertificateError")


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


def enable_handlers(settings: BaseSettings, options: CrawlOptions) -> None:
    """Replace Scrapy's handlers for http and https. DOWNLOAD_HANDLERS belongs to the project: if it
    has a handler for https, warn that this handler has to verify certificates.
    """
    handlers = settings["DOWNLOAD_HANDLERS_BASE"]
    for scheme, handler in (("http", http.HANDLER), (SCHEME, HANDLER)):
        if handlers.get(scheme) == http.SCRAPY_HANDLER:
            handlers[scheme] = handler
    handler = settings.getwithbase("DOWNLOAD_HANDLERS").get(SCHEME)
    is_needed = options.verify_tls == "always" or (
        options.verify_tls == "secrets" and options.headers
    )
    if handler != HANDLER and is_needed and not settings.getbool("DOWNLOAD_VERIFY_CERTIFICATES"):
        logger.warning(
            f"DOWNLOAD_HANDLERS has a handler of the project for https ({handler!r}), which"
            " CONTENTSPIDER_VERIFY_TLS does not change: set DOWNLOAD_VERIFY_CERTIFICATES"
        )


class VerifyingHandler(http.BoundedHandler):
    """Downloads over https, and verifies certificates if ``CONTENTSPIDER_VERIFY_TLS`` says so.

    Verified connections have a pool of their own, so that a request with a secret is never sent
    over a connection that was opened without verification.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        logging.getLogger(TLS_LOGGER).addFilter(TLS_WARNINGS)
        options = CrawlOptions.from_settings(crawler.settings)
        self._when, self._logins = options.verify_tls, options.logins
        self._verified = http.BoundedHandler(crawler)
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
