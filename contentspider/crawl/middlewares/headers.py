"""Who the crawler says it is, and headers and passwords that go to the user's own sites only."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from w3lib.http import basic_auth_header

from contentspider.crawl.base.engine import Component
from contentspider.ground.addresses import clean_address, split_address
from contentspider.ground.sites import SiteKeys
from contentspider.ground.useragent import user_agent

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.settings import BaseSettings


def set_user_agent(settings: BaseSettings) -> None:
    """Let the site spider say who it is, unless the project or its user says so."""
    name = "CONTENTSPIDER_CONTACT"
    contact = settings.get(name) or os.environ.get(name, "")
    settings.set("USER_AGENT", user_agent(contact), "addon")


class Credentials:
    """User names and passwords, by the scheme, host and port that they were given for."""

    def __init__(self) -> None:
        self._headers: dict[tuple[str, str], bytes] = {}

    def take(self, addresses: Iterable[str]) -> list[str]:
        """Return the addresses without their users and passwords, which are remembered.

        >>> given = Credentials()
        >>> given.take(["https://me:secret@example.org/a"])
        ['https://example.org/a']
        >>> given.header("https://example.org/b"), given.header("http://example.org/b")
        (b'Basic bWU6c2VjcmV0', None)
        """
        cleaned = []
        for address in addresses:
            clean = clean_address(address)
            user, at, _ = split_address(address).netloc.rpartition("@")
            if at:
                name, _, password = map(unquote, user.partition(":"))
                self._headers[_origin(clean)] = basic_auth_header(name, password, "utf-8")
            cleaned.append(clean)
        return cleaned

    def header(self, address: str) -> bytes | None:
        """Return the Authorization header for an address, if there is one for its origin."""
        return self._headers.get(_origin(clean_address(address))) if self._headers else None


def _origin(address: str) -> tuple[str, str]:
    parts = split_address(address)
    return parts.scheme, parts.netloc.lower()


class HeadersMiddleware(Component):
    """Puts the user's headers on requests to their sites, and takes them off before any retry."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._headers = crawler.settings.getdict("CONTENTSPIDER_HEADERS")
        self._keys = SiteKeys(crawler.settings.get("CONTENTSPIDER_SITE_BY", "domain"))
        starts = getattr(crawler.spider, "start_urls", ()) if self._headers else ()
        self._sites = {self._keys.key(address) for address in starts}

    def of(self, request: Request) -> dict[str, Any]:
        """Return the headers that the user gave for a request."""
        found = {}
        credentials = getattr(self.crawler.spider, "credentials", None)
        if isinstance(credentials, Credentials) and (header := credentials.header(request.url)):
            found["Authorization"] = header
        if self._headers and self._keys.key(request.url) in self._sites:
            found |= self._headers
        return found

    def process_request(self, request: Request) -> None:
        """Put the headers on."""
        request.headers.update(self.of(request))

    def process_response(self, request: Request, response: Response) -> Response:
        """Take the headers off."""
        self._take_off(request)
        return response

    def process_exception(self, request: Request, exception: Exception) -> None:
        """Take the headers off."""
        self._take_off(request)

    def _take_off(self, request: Request) -> None:
        for name in self.of(request):
            request.headers.pop(name, None)
