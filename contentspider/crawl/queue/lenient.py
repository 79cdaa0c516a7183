"""Scrapy's components made to bear what sites do: redirects to what is no address, and pages that
reload themselves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy import Request
from scrapy.downloadermiddlewares.redirect import MetaRefreshMiddleware, RedirectMiddleware

from contentspider.crawl.spider.guard import RefusedError

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.http import Response


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
