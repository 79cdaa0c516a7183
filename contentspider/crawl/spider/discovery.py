"""Discovery sources beside links: robots.txt, sitemaps, feeds and own texts."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from scrapy import Request, Spider
from scrapy.http import HtmlResponse, Response
from scrapy.utils.datatypes import LocalCache
from scrapy.utils.sitemap import sitemap_urls_from_robots

from contentspider.crawl.base.engine import header, tree_of
from contentspider.crawl.base.links import resolve_link
from contentspider.crawl.base.meta import PAGE_META_KEY, ROW_META_KEY, SITEMAPS_META_KEY
from contentspider.crawl.base.outcomes import NOT_MODIFIED_STATUS, NOT_THERE, OK_STATUS
from contentspider.crawl.middlewares.failures import why
from contentspider.crawl.spider.hiding import read_answer
from contentspider.crawl.spider.owntexts import MAX_OWN_BYTES, OwnTexts
from contentspider.crawl.spider.sitemaps import MAX_SITEMAP_BYTES, SitemapReader, read_sitemap
from contentspider.ground.addresses import absolute, folder_address, host_of, join
from contentspider.page.input.page import Page
from contentspider.site.own.readers.feeds import read_entries
from contentspider.site.own.readers.llms import read_links
from contentspider.site.own.readers.versions import is_llms

if TYPE_CHECKING:
    from twisted.python.failure import Failure

    from contentspider.crawl.base.links import Head
    from contentspider.crawl.learning.holder import ItemHolder
    from contentspider.crawl.queue.keeper import BookKeeper
    from contentspider.crawl.revisits.revisits import Revisits
    from contentspider.ground.scope import Scope

logger = logging.getLogger(__name__)

SITEMAP_DEPTH = 3
# These are requested before all pages; further sitemaps when the pages of earlier ones were read.
FIRST_SITEMAPS = 3
MAX_SITEMAPS = 10_000  # sitemaps per crawl: 50,000 in an index may be indexes themselves
MAX_FEEDS = 20  # feeds per host: a main feed, and feeds of sections or languages
MIN_NAMING = 3  # pages that must name a feed before it is read; comment feeds have one page
MAX_NAMED = 10_000  # feeds whose count of naming pages is remembered; the oldest are forgotten


class DiscoverySpider(Spider):
    """Discovers the pages in its *scope* through robots.txt, sitemaps, feeds and own texts."""

    scope: Scope
    keeper: BookKeeper
    holder: ItemHolder
    own_texts: OwnTexts
    sitemap_reader: SitemapReader
    sitemaps: bool
    reads_documents: bool
    follows_alternates: bool

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        # Folders that have been probed with an address that does not exist.
        self.probed: set[str] = set()
        self.feeds = Feeds()
        self.sitemap_count = 0

    @property
    def revisits(self) -> Revisits | None:
        """The known pages; None if the crawl has none, or before the keeper opens."""
        return self.keeper.revisits if "keeper" in self.__dict__ else None

    def page_requests(self, address: str, priority: int) -> Iterator[Request]:
        """Yield the request of a page, or nothing if the page need not be read now."""
        raise NotImplementedError

    def probe_requests(self, starts: Iterable[str]) -> Iterator[Request]:
        """Yield requests of addresses that cannot exist, to learn the site's error page."""
        if self.revisits is not None and not self.revisits.is_first:
            for root in dict.fromkeys(join(start, "/") for start in starts):
                yield from self.probe_folder(root)

    def probe_folder(self, address: str) -> Iterator[Request]:
        """Yield a request of a random address in the folder of *address*, once for each folder."""
        folder, name = folder_address(address), uuid4().hex
        if folder not in self.probed:
            self.probed.add(folder)
            meta = {"handle_httpstatus_list": list(NOT_THERE)}
            probe = folder + name if "#" in folder else join(folder, name)
            # It may be redirected to a page that has been requested, such as a form to log in.
            yield self._request(probe, self.parse_probe, meta, priority=20, dont_filter=True)

    def _request(
        self, address: str, callback: Callable[..., Any], meta: dict[str, Any], **fields: Any
    ) -> Request:
        return Request(address, callback, errback=self.source_failed, meta=meta, **fields)

    def parse_probe(self, response: Response) -> None:
        """Learn the site's error page from the answer to a probe, which can have any status. If it
        is a success, note that the site gives a page for every address.
        """
        page = response.meta.get(PAGE_META_KEY)
        root = tree_of(response) if isinstance(response, HtmlResponse) else None
        if page is None and root is not None:
            page = Page.from_root(root, response.url)
        if page is None:
            return
        if response.status == OK_STATUS:
            answer = read_answer(response, page, root, is_probe=True)
            if answer is not None:
                self.holder.hidden.note(response.url, answer)
        if self.revisits is not None:
            self.revisits.replaced.learn_error_page(page)

    def robots_requests(self, root: str) -> Iterator[Request]:
        """Yield the requests of robots.txt and of the usual sitemap below the *root* of a host."""
        # RobotsMiddleware reads the first key, Scrapy's own middleware the second.
        meta = {SITEMAPS_META_KEY: True, "dont_obey_robotstxt": True}
        yield self._request(join(root, "/robots.txt"), self.parse_robots, meta)
        yield from self._sitemap_requests(join(root, "/sitemap.xml"), 1)

    def parse_robots(self, response: Response) -> Iterator[Request]:
        """Yield the requests of the sitemaps that robots.txt names."""
        for address in sitemap_urls_from_robots(response.body):
            yield from self._sitemap_requests(absolute(response.url, address), 1)

    def _sitemap_requests(self, address: str, level: int) -> Iterator[Request]:
        if level > SITEMAP_DEPTH or not self.scope.has_site(address):
            return
        self.sitemap_count += 1
        if self.sitemap_count <= MAX_SITEMAPS:
            meta, arguments = {"download_maxsize": MAX_SITEMAP_BYTES}, {"level": level}
            priority = 5 if self.sitemap_count <= FIRST_SITEMAPS else 0
            yield self._request(
                address, self.parse_sitemap, meta, cb_kwargs=arguments, priority=priority
            )
        elif self.sitemap_count == MAX_SITEMAPS + 1:
            logger.warning(
                f"the site has more than {MAX_SITEMAPS} sitemaps: {address} and later ones are not"
                " read"
            )

    async def parse_sitemap(self, response: Response, level: int) -> None:
        """Let the `SitemapReader` queue the addresses of a sitemap while pages are fetched."""
        await self.sitemap_reader.add(response, self.sitemap_requests(response, level))

    def sitemap_requests(self, response: Response, level: int) -> Iterator[list[Request]]:
        """Yield the requests for each address of a sitemap: its pages, or an index's sitemaps."""
        addresses, is_index = read_sitemap(response, self.follows_alternates)
        is_empty = True
        for address, lastmod in addresses:
            is_empty = False
            if is_index:
                yield list(self._sitemap_requests(address, level + 1))
            elif self.scope.has(address):
                if lastmod and self.revisits is not None and not self.keeper.is_broken:
                    with self.keeper.guarded:
                        self.revisits.lastmods.note(address, lastmod)
                yield list(self.page_requests(address, 1))
            else:
                yield []
        if is_empty:
            logger.info("%s: the sitemap has no addresses, or its format is unknown", response.url)

    @property
    def is_reading(self) -> bool:
        """Whether sitemaps are being read that may name further pages."""
        return self.sitemap_reader.is_reading

    def feed_request(self, address: str) -> Request:
        """Return the request of a feed."""
        return self._request(address, self.parse_feed, {}, priority=5)

    async def parse_feed(self, response: Response) -> AsyncIterator[Request]:
        """Yield the requests of the pages that a feed names, and store the feed's own texts."""
        for request in self.feed_pages(response):
            yield request
        await self.own_texts.store_answer(response)

    def feed_pages(self, response: Response) -> Iterator[Request]:
        """Yield the requests of the pages that a feed names."""
        entries = read_entries(response.body, response.url, texts=0)
        if not entries:
            logger.debug("%s: the feed has no entries, or cannot be read", response.url)
        for entry in entries:
            if self.scope.has(entry.url):
                yield from self.page_requests(entry.url, 1)

    def source_requests(self, url: str, head: Head, is_start: bool) -> Iterator[Request]:
        """Yield the requests of the feeds that a page names, and of the own texts that it announces
        within its site's budget.
        """
        feeds = head.feeds if self.sitemaps else ()
        site_feeds = filter(self.scope.has_site, feeds)
        yield from map(self.feed_request, self.feeds.choose(site_feeds, is_start))
        addresses = self.own_texts.addresses(url, head, is_start, feeds)
        yield from map(self._own_text_request, addresses)

    def _own_text_request(self, address: str) -> Request:
        meta: dict[str, Any] = {"download_maxsize": MAX_OWN_BYTES, "dont_retry": True}
        meta["handle_httpstatus_list"] = [NOT_MODIFIED_STATUS]
        headers = self.own_texts.headers(address)
        return self._request(address, self.parse_own_texts, meta, headers=headers, priority=5)

    async def parse_own_texts(self, response: Response) -> AsyncIterator[Request]:
        """Store the own texts of an answer. Yield the requests of their pages, and of the pages and
        the own texts that an ``llms.txt`` names.
        """
        pages = await self.own_texts.store_answer(response)
        links = read_links(response.body, response.url, header(response, "Content-Type"))
        for address in self.own_texts.within_budget(links.own_texts):
            yield self._own_text_request(address)
        linked = (resolve_link(response.url, page, self.reads_documents) for page in links.pages)
        for address in (*pages, *filter(self.scope.has, linked)):
            if self.sitemaps:
                for request in self.page_requests(address, 1):
                    yield request

    def source_failed(self, failure: Failure) -> None:
        """Fall back on the own texts that the last crawl read from a source that failed now. The
        stats do not count the source as an unread page.
        """
        request = failure.request  # type: ignore[attr-defined]
        address = request.meta.get("redirect_urls", [request.url])[0]
        self.own_texts.store_previous(address)
        if request.callback == self.parse_own_texts:
            status = getattr(getattr(failure.value, "response", None), "status", None)
            # Every site is asked for an llms.txt, and most have none.
            is_missing_list = is_llms(address) and status in NOT_THERE
            if is_missing_list or why(failure.value)[0] == "robots":
                self.own_texts.refund(address)
            self.keeper.addresses.note(request.meta.get(ROW_META_KEY), "skipped", "no own texts")
        logger.debug("%s cannot be read: %s", request.url, why(failure.value)[1])


class Feeds:
    """Chooses which feeds a crawl reads. Each feed is chosen at most once."""

    def __init__(self) -> None:
        # Feeds that have not been chosen, and how many pages have named each.
        self._named: LocalCache[str, int] = LocalCache(MAX_NAMED)
        self._chosen: set[str] = set()
        self._counts: Counter[str] = Counter()

    def choose(self, feeds: Iterable[str], is_start: bool) -> Iterator[str]:
        """Yield the feeds to read now, of the *feeds* that a page names. Feeds of a start page are
        read at once, other feeds when `MIN_NAMING` pages have named them.
        """
        for feed in dict.fromkeys(feeds):
            host = host_of(feed)
            if feed in self._chosen or self._counts[host] >= MAX_FEEDS:
                continue
            pages = self._named.pop(feed, 0) + 1
            if is_start or pages >= MIN_NAMING:
                self._chosen.add(feed)
                self._counts[host] += 1
                yield feed
            else:
                self._named[feed] = pages
