"""The crawler's user agent, and the user's headers and passwords for the sites of a crawl."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from w3lib.http import basic_auth_header

from contentspider.crawl.base.engine import Component
from contentspider.crawl.base.options import CrawlOptions
from contentspider.ground.addresses import origin_of, page_address, split_address
from contentspider.ground.sites import SiteKeys
from contentspider.ground.useragent import user_agent

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.settings import BaseSettings


def set_user_agent(settings: BaseSettings) -> None:
    """Set the site spider's user agent, unless the project or the command line sets one."""
    name = "CONTENTSPIDER_CONTACT"
    contact = settings.get(name) or os.environ.get(name, "")
    settings.set("USER_AGENT", user_agent(contact), "addon")


class Credentials:
    """The user names and passwords of start addresses, by scheme, host and port."""

    def __init__(self) -> None:
        self._headers: dict[tuple[str, str], bytes] = {}

    def take(self, addresses: Iterable[str]) -> list[str]:
        """Store the user names and passwords of addresses; return the addresses without them.

        >>> credentials = Credentials()
        >>> credentials.take(["https://me:secret@example.org/a"])
        ['https://example.org/a']
        >>> credentials.header("https://example.org/b"), credentials.header("http://example.org/b")
        (b'Basic bWU6c2VjcmV0', None)
        """
        cleaned = []
        for address in addresses:
            clean = page_address(address)
            user, at, _ = split_address(address).netloc.rpartition("@")
            if at:
                name, _, password = map(unquote, user.partition(":"))
                self._headers[origin_of(clean)] = basic_auth_header(name, password, "utf-8")
            cleaned.append(clean)
        return cleaned

    def header(self, address: str) -> bytes | None:
        """Return the Authorization header for an address; None for an origin without one."""
        return self._headers.get(origin_of(address)) if self._headers else None


class HeadersMiddleware(Component):
    """Adds the user's headers to requests for the start sites, and removes them before retries.

    The headers are sent over http, which everybody on the way can read, only to sites with a start
    address of http, or if ``CONTENTSPIDER_VERIFY_TLS`` is ``never``.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        options = CrawlOptions.from_settings(crawler.settings)
        self._headers = crawler.settings.getdict("CONTENTSPIDER_HEADERS")
        self._keys = SiteKeys(options.site_by)
        starts = list(getattr(crawler.spider, "start_urls", ())) if self._headers else []
        self._sites = {self._keys.key(address) for address in starts}
        self._http_sites = {
            self._keys.key(address)
            for address in starts
            if options.verify_tls == "never" or split_address(address).scheme == "http"
        }

    def headers_for(self, request: Request) -> dict[str, Any]:
        """Return the user's headers for a request."""
        headers = {}
        credentials = getattr(self.crawler.spider, "credentials", None)
        if isinstance(credentials, Credentials) and (header := credentials.header(request.url)):
            headers["Authorization"] = header
        if self._headers and self._may_send(request.url):
            headers |= self._headers
        return headers

    def _may_send(self, address: str) -> bool:
        """Tell whether the headers of ``-H`` may be sent to an address."""
        is_encrypted = split_address(address).scheme == "https"
        return self._keys.key(address) in (self._sites if is_encrypted else self._http_sites)

    def process_request(self, request: Request) -> None:
        """Add the user's headers."""
        request.headers.update(self.headers_for(request))

    def process_response(self, request: Request, response: Response) -> Response:
        """Take the headers off."""
        self._take_off(request)
        return response

    def process_exception(self, request: Request, exception: Exception) -> None:
        """Take the headers off."""
        self._take_off(request)

    def _take_off(self, request: Request) -> None:
        for name in self.headers_for(request):
            request.headers.pop(name, None)
