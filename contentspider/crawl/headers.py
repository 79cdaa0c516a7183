"""Headers of the user's own, such as cookies, for the sites that are crawled and for no others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.exceptions import NotConfigured

from contentspider.crawl.sites import SiteKeys

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from typing_extensions import Self


class HeadersMiddleware:
    """Puts the headers of ``CONTENTSPIDER_HEADERS`` on requests to the sites of the start
    addresses.

    On a redirect to another site Scrapy takes off cookies and authorisation only: here all of them
    go.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.headers = crawler.settings.getdict("CONTENTSPIDER_HEADERS")
        if not self.headers:
            raise NotConfigured  # without a reason: with one it would be warned of
        self.keys = SiteKeys(crawler.settings.get("CONTENTSPIDER_SITE_BY", "domain"))
        assert crawler.spider is not None
        self.sites = {self.keys.key(address) for address in crawler.spider.start_urls}

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return the middleware of a crawler."""
        return cls(crawler)

    def process_request(self, request: Request) -> None:
        """Put the headers on, or take them off."""
        is_own = self.keys.key(request.url) in self.sites
        for name, value in self.headers.items():
            if is_own:
                request.headers[name] = value
            elif request.headers.get(name) == value.encode():
                del request.headers[name]
