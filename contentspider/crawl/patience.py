"""Scrapy's components made to bear what sites do: pages that reload themselves, and a robots.txt
without end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy import Request
from scrapy.downloadermiddlewares.redirect import MetaRefreshMiddleware, RedirectMiddleware
from scrapy.robotstxt import ProtegoRobotParser

from contentspider.crawl.guard import RefusedError

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Response

# RFC 9309 asks for 500 KiB at least, and Google reads no more; each request looks through all
# rules.
MAX_ROBOTS_BYTES = 512_000


class SafeRedirectMiddleware(RedirectMiddleware):
    """Says of a redirect to what is no address (``http://[x``) that it is one."""

    def process_response(
        self, request: Request, response: Response, spider: Spider | None = None
    ) -> Request | Response:
        """Return the request that the response redirects to, or the response."""
        try:
            return super().process_response(request, response)
        except ValueError as error:
            raise RefusedError(
                "redirects", f"it redirects to what is no address ({error})"
            ) from error


class RefreshMiddleware(MetaRefreshMiddleware):
    """Reads a page that reloads itself by ``<meta http-equiv=refresh>``, which Scrapy takes for a
    redirect and drops.
    """

    def process_response(
        self, request: Request, response: Response, spider: Spider | None = None
    ) -> Request | Response:
        """Return the request for the page's refresh, or the page if that is an address which led
        here.
        """
        try:
            refreshed = super().process_response(request, response)
        except ValueError:
            return response  # its refresh is no address
        if isinstance(refreshed, Request) and refreshed.url in (
            request.url,
            *request.meta.get("redirect_urls", ()),
        ):
            return response
        return refreshed


class BoundedRobots(ProtegoRobotParser):
    """Reads the first `MAX_ROBOTS_BYTES` of a robots.txt."""

    @classmethod
    def from_crawler(cls, crawler: Crawler, robotstxt_body: bytes) -> BoundedRobots:
        """Return the parser of a robots.txt."""
        return cls(robotstxt_body[:MAX_ROBOTS_BYTES], crawler.spider)
