"""What leads to a site's pages beside their links: robots.txt, sitemaps, feeds and own texts."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin
from uuid import uuid4

from scrapy import Request, Spider
from scrapy.http import HtmlResponse
from scrapy.utils.sitemap import sitemap_urls_from_robots

from contentspider.crawl.hold.binding import PAGE_META_KEY, ROW_META_KEY
from contentspider.crawl.queue.addresses import NOT_MODIFIED_STATUS
from contentspider.crawl.queue.failures import why
from contentspider.crawl.spider.feeds import Feeds
from contentspider.crawl.spider.owntexts import MAX_OWN_BYTES
from contentspider.crawl.spider.robots import SITEMAPS_META_KEY
from contentspider.crawl.spider.sitemaps import (
    MAX_SITEMAP_BYTES,
    MAX_SITEMAPS,
    SITEMAP_DEPTH,
    read_sitemap,
)
from contentspider.page.input.page import Page
from contentspider.site.own.readers.feeds import read_entries

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator

    from scrapy.http import Response
    from twisted.python.failure import Failure

    from contentspider.crawl.queue.keeper import Keeper
    from contentspider.crawl.revisits.revisits import Revisits
    from contentspider.crawl.spider.links import Head
    from contentspider.crawl.spider.owntexts import OwnTexts
    from contentspider.ground.scope import Scope

logger = logging.getLogger(__name__)


class FindingSpider(Spider):
    """Reads robots.txt, sitemaps, feeds and own texts for the addresses of pages in its
    *scope*.
    """

    scope: Scope
    keeper: Keeper
    own: OwnTexts
    sitemaps: bool
    sitemaps_asked = 0

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        # Folders in which an address was asked for that cannot be.
        self.probed: set[str] = set()
        self.feeds = Feeds()

    @property
    def revisits(self) -> Revisits | None:
        """Return what earlier crawls knew; None if no history is kept, or the crawl has not begun:
        the keeper opens it after the spider.
        """
        return self.keeper.revisits if "keeper" in self.__dict__ else None

    def page_requests(self, address: str, priority: int) -> Iterator[Request]:
        """Yield the request of a page."""
        raise NotImplementedError

    def probe_requests(self, starts: Iterable[str]) -> Iterator[Request]:
        """Yield the requests of an address on each start's host where nothing can be, to learn how
        the site's error page looks: it may stand elsewhere, answered with a success. Of a site that
        is crawled for the first time there is nothing yet that could turn into that.
        """
        if self.revisits is None or self.revisits.is_first:
            return
        for root in dict.fromkeys(urljoin(start, "/") for start in starts):
            yield from self.probe_beside(root)

    def probe_beside(self, address: str) -> Iterator[Request]:
        """Yield the request, once, of an address in the folder of another where nothing can be."""
        folder = urljoin(address, ".")
        if folder not in self.probed:
            self.probed.add(folder)
            yield Request(
                urljoin(folder, uuid4().hex),
                callback=self.parse_probe,
                errback=self.ignore,
                meta={"handle_httpstatus_list": [404, 410]},
                priority=20,
            )

    def parse_probe(self, response: Response) -> None:
        """Learn how an error page of the site looks, whatever status it has here."""
        page = response.meta.get(PAGE_META_KEY)
        if page is None and isinstance(response, HtmlResponse) and response.body.strip():
            page = Page.from_selector(response.selector, response.url)
        if page is not None and self.revisits is not None:
            self.revisits.learn_error_page(page)

    def robots_requests(self, root: str) -> Iterator[Request]:
        """Yield the requests of robots.txt and of the usual sitemap of the host with that
        *root*.
        """
        yield Request(
            urljoin(root, "/robots.txt"),
            callback=self.parse_robots,
            errback=self.ignore,
            # The first is for our own middleware, the second for any other.
            meta={SITEMAPS_META_KEY: True, "dont_obey_robotstxt": True},
        )
        yield from self._sitemap_requests(urljoin(root, "/sitemap.xml"), 1)

    def parse_robots(self, response: Response) -> Iterator[Request]:
        """Follow the sitemaps that robots.txt names."""
        for address in sitemap_urls_from_robots(response.body, base_url=response.url):
            yield from self._sitemap_requests(address, 1)

    def parse_sitemap(self, response: Response, level: int) -> Iterator[Request]:
        """Follow a sitemap's pages, and the sitemaps of an index."""
        addresses, is_index = read_sitemap(response)
        for address, lastmod in addresses:
            if not is_index:
                if self.scope.has(address):
                    self._note_lastmod(address, lastmod)
                    yield from self.page_requests(address, 1)
            elif level < SITEMAP_DEPTH:
                yield from self._sitemap_requests(address, level + 1)

    def _note_lastmod(self, address: str, lastmod: str) -> None:
        if not lastmod or self.revisits is None or self.keeper.is_broken:
            return
        with self.keeper.guarded:
            self.revisits.lastmods.note(address, lastmod)

    async def parse_feed(self, response: Response) -> AsyncIterator[Request]:
        """Follow the pages that a feed names, and keep what it tells of them."""
        for request in self.feed_pages(response):
            yield request
        await self.own.take(response)

    def feed_pages(self, response: Response) -> Iterator[Request]:
        """Yield the requests of the pages that a feed names."""
        entries = read_entries(response.body, response.url, texts=0)
        if not entries:
            logger.debug("%s: the feed names no pages, or cannot be read", response.url)
        for entry in entries:
            if self.scope.has(entry.url):
                yield from self.page_requests(entry.url, 1)

    def feed_request(self, address: str) -> Request:
        """Return the request of a feed."""
        return Request(address, callback=self.parse_feed, errback=self.own_texts_failed, priority=5)

    def own_requests(self, url: str, head: Head, is_start: bool) -> Iterator[Request]:
        """Yield the requests of the own texts that a page announces, within its site's budget."""
        feeds = head.feeds if self.sitemaps else ()
        for address in self.own.addresses(url, head, is_start, feeds):
            yield Request(
                address,
                callback=self.parse_own_texts,
                errback=self.own_texts_failed,
                headers=self.own.headers(address),
                meta={
                    "download_maxsize": MAX_OWN_BYTES,
                    "handle_httpstatus_list": [NOT_MODIFIED_STATUS],
                    "dont_retry": True,
                },
                priority=5,
            )

    async def parse_own_texts(self, response: Response) -> AsyncIterator[Request]:
        """Keep what an answer tells of the crawl's pages, and follow them."""
        for address in await self.own.take(response):
            if self.sitemaps:
                for request in self.page_requests(address, 1):
                    yield request

    def own_texts_failed(self, failure: Failure) -> None:
        """Do with what the last crawl knew, or without: but for a feed, which leads to pages,
        nothing of the site is unread then.
        """
        request = failure.request  # type: ignore[attr-defined]
        address = request.meta.get("redirect_urls", [request.url])[0]
        self.own.take_known(address)
        if request.callback == self.parse_own_texts:
            if why(failure.value)[0] == "robots":
                self.own.give_back(address)
            self.keeper.addresses.note(request.meta.get(ROW_META_KEY), "skipped", "no own texts")
        self.ignore(failure)

    def _sitemap_requests(self, address: str, level: int) -> Iterator[Request]:
        if not self.scope.has_site(address):
            return
        self.sitemaps_asked += 1
        if self.sitemaps_asked <= MAX_SITEMAPS:
            meta = {"download_maxsize": MAX_SITEMAP_BYTES}
            yield Request(
                address,
                callback=self.parse_sitemap,
                errback=self.ignore,
                meta=meta,
                cb_kwargs={"level": level},
                priority=5,
            )
        elif self.sitemaps_asked == MAX_SITEMAPS + 1:
            logger.warning(
                "there are more than %d sitemaps: %s and those after it are not read",
                MAX_SITEMAPS,
                address,
            )

    def ignore(self, failure: Failure) -> None:
        """Do without a robots.txt or sitemap that is not there."""
        logger.debug("%s is not there: %s", failure.request.url, why(failure.value)[1])  # type: ignore[attr-defined]
