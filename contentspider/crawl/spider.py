"""The site spider: crawls whole websites, follows links and sitemaps, and yields each page once."""

from __future__ import annotations

import logging
import re
from hashlib import blake2b
from itertools import count
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

from scrapy import Request, Spider, signals
from scrapy.exceptions import CloseSpider
from scrapy.http import HtmlResponse, Response
from scrapy.utils.gz import gunzip, gzip_magic_number
from scrapy.utils.sitemap import Sitemap, sitemap_urls_from_robots
from w3lib.url import canonicalize_url

from contentspider.crawl.failures import why
from contentspider.crawl.items import ContentItem
from contentspider.crawl.keeper import ROW_META_KEY, Keeper
from contentspider.crawl.links import MAX_LINKS, page_links
from contentspider.crawl.middleware import PAGE_META_KEY
from contentspider.crawl.sites import SiteKeys
from contentspider.crawl.traps import Traps, without_session
from contentspider.site.record import page_id
from contentspider.storage.database import LedgerFullError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from lxml.etree import _Element
    from scrapy.crawler import Crawler
    from twisted.python.failure import Failure

    from contentspider.page.document import Page

logger = logging.getLogger(__name__)

# A sitemap may unpack to this many bytes (the protocol allows 50 MB); a larger one is a bomb.
MAX_SITEMAP_BYTES = 60_000_000
SITEMAP_DEPTH = 3
# An index may name 50,000 sitemaps, each of them another index: more than this is a trap.
MAX_SITEMAPS = 10_000
START_META_KEY = "contentspider_start"
MAX_RECENT = 50_000


class SiteSpider(Spider):
    """Crawls the sites of its start addresses: ``scrapy crawl site -a url=https://example.org``.

    Arguments: *url*, one or several addresses, separated by commas or spaces; *max_pages* and
    *max_depth* (0: no limit); *sitemaps*, whether to read robots.txt's sitemaps and /sitemap.xml
    (yes).
    """

    name = "site"
    keys: SiteKeys
    keeper: Keeper
    allowed_keys: set[str]
    traps: Traps

    def __init__(
        self,
        url: str = "",
        max_pages: int | str = 0,
        max_depth: int | str = 0,
        sitemaps: bool | str = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.start_urls = [
            with_scheme(part) for part in re.split(r"\s+|,(?=\s*https?://)", url) if part
        ]
        if not self.start_urls:
            raise ValueError(
                "the site spider needs an address: scrapy crawl site -a url=https://example.org"
            )
        self.max_pages = int(max_pages)
        self.max_depth = int(max_depth)
        self.sitemaps = str(sitemaps).lower() not in ("0", "false", "no")
        self.pages = 0
        self.sitemaps_asked = 0
        self.is_limited = False
        self.failures: dict[str, str] = {}
        self._recent: dict[
            str, None
        ] = {}  # addresses that have been queued: most links are to these
        self._anonymous = count(1)

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> SiteSpider:
        """Return the spider of a crawler; sites are told apart as in the pipeline."""
        spider = super().from_crawler(crawler, *args, **kwargs)
        spider.keys = SiteKeys(crawler.settings.get("CONTENTSPIDER_SITE_BY", "domain"))
        spider.allowed_keys = {spider.keys.key(address) for address in spider.start_urls}
        crawler.signals.connect(spider.opened, signal=signals.spider_opened)
        spider.traps = Traps(crawler)
        crawler.signals.connect(spider.request_dropped, signal=signals.request_dropped)
        return spider

    def opened(self) -> None:
        """Find the ledger, and what it knows of an earlier run."""
        keeper = self.crawler.get_extension(Keeper)
        if keeper is None:
            raise RuntimeError(
                "the site spider needs contentspider's add-on: ADDONS = {'contentspider.Addon':"
                " 500}"
            )
        self.keeper = keeper
        self.allowed_keys |= set(keeper.ledger.runs.fact("sites") or [])

    async def start(self) -> AsyncIterator[Request]:
        """Yield the start addresses and their sites' robots.txt and sitemaps."""
        seen = set()
        for address in self.start_urls:
            meta = {START_META_KEY: True}
            yield Request(
                address,
                callback=self.parse,
                errback=self.start_failed,
                meta=meta,
                dont_filter=True,
                priority=10,
            )
            root = urljoin(address, "/")
            if self.sitemaps and root not in seen:
                seen.add(root)
                yield Request(
                    urljoin(root, "/robots.txt"),
                    callback=self.parse_robots,
                    errback=self.ignore,
                    meta={"dont_obey_robotstxt": True},
                )
                for request in self._sitemap_requests(urljoin(root, "/sitemap.xml"), 1):
                    yield request

    def is_own(self, address: str) -> bool:
        """Tell whether an address is on one of the sites that are crawled."""
        try:
            return self.keys.key(address) in self.allowed_keys
        except ValueError:
            return False  # no address at all, such as http://[x

    def parse_robots(self, response: Response) -> Iterator[Request]:
        """Follow the sitemaps that robots.txt names."""
        for address in sitemap_urls_from_robots(response.body, base_url=response.url):
            if self.is_own(address):
                yield from self._sitemap_requests(address, 1)

    def parse_sitemap(self, response: Response, level: int) -> Iterator[Request]:
        """Follow a sitemap's pages, and the sitemaps of an index."""
        body = response.body
        try:
            if gzip_magic_number(response):
                body = gunzip(body, max_size=MAX_SITEMAP_BYTES)
            entries = Sitemap(body) if body.strip() else None
        except Exception as error:  # noqa: BLE001 - lxml, zlib and Scrapy raise a dozen kinds for a broken sitemap
            logger.warning(
                "%s: the sitemap cannot be read (%s); its pages are found by links only",
                response.url,
                error,
            )
            return
        if entries is None or entries.type not in ("urlset", "sitemapindex"):
            return
        for entry in entries:
            try:
                address = urljoin(response.url, entry.get("loc", "").strip())
            except ValueError:
                continue
            if not address.startswith(("http://", "https://")) or not self.is_own(address):
                continue
            if entries.type == "urlset":
                yield from self._page_request(address, 1)
            elif level < SITEMAP_DEPTH:
                yield from self._sitemap_requests(address, level + 1)

    def parse(self, response: Response) -> Iterator[Any]:
        """Yield the page's item and requests for the pages that it links to."""
        page = response.meta.get(PAGE_META_KEY)
        if not isinstance(response, HtmlResponse) or page is None:
            self._skip(response, "not_html")
            return
        if response.meta.get(START_META_KEY):
            self.allowed_keys.add(self.keys.key(response.url))  # the site may have moved
            self.keeper.ledger.runs.set_fact("sites", sorted(self.allowed_keys))
        if not self.is_own(response.url):
            self._skip(response, "offsite_redirect")
            return
        if self.max_pages and self.pages >= self.max_pages:
            self._count("skipped/max_pages")
            self.keeper.put_back(response.meta.get(ROW_META_KEY))  # for a crawl that goes on
            return
        # A page without any markup has no tree.
        root = response.selector.root if response.body.strip() else None
        # A session id that the server put in by a redirect is no part of the page's address.
        url = without_session(response.url) if "redirect_urls" in response.meta else response.url
        address = self._claim(url, response, page)
        if address:
            self.pages += 1
            item = ContentItem.from_response(response)
            item.url, item.id = address, page_id(address)
            yield item
        else:
            self._skip(response, "duplicate")
        if root is None or not hasattr(root, "iter"):
            return
        depth = response.meta.get("depth", 0) + 1
        if not self.max_depth or depth <= self.max_depth:
            yield from self._link_requests(root, response, page)
        if self.max_pages and self.pages >= self.max_pages:
            self.is_limited = True
            raise CloseSpider("max_pages")

    def _link_requests(
        self, root: _Element, response: HtmlResponse, page: Page
    ) -> Iterator[Request]:
        links = page_links(root, response.url)
        if len(links) >= MAX_LINKS:
            self.traps.report("cut", response.url, MAX_LINKS)
        for link in self.traps.follow(
            [link for link in links if link in self._recent or self.is_own(link)], page
        ):
            if link not in self._recent:
                self._recent[link] = None
                yield from self._page_request(link, 0)
        while len(self._recent) > MAX_RECENT:
            del self._recent[next(iter(self._recent))]

    def _page_request(self, address: str, priority: int) -> Iterator[Request]:
        yield Request(address, callback=self.parse, errback=self.page_failed, priority=priority)

    def _sitemap_requests(self, address: str, level: int) -> Iterator[Request]:
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

    def _claim(self, address: str, response: Response, page: Page) -> str:
        """Return the address to emit a page under, or nothing if the same page has been emitted.

        Two addresses are one page if they lead to one text and either differ in form only (``/``
        and ``/index.html``) or name the same canonical address. The canonical address is taken over
        where it differs from the page's own in form or query; one with another path is often wrong
        (every page of a pagination naming the first), and pages must not be lost to it.
        """
        canonical, named = page.hints.canonical, ""
        digest = blake2b(
            "\n".join(block.text for block in page.content.blocks).encode("utf-8", "replace"),
            digest_size=8,
        ).hexdigest()
        if canonical:
            try:
                named = urljoin(address, canonical).partition("#")[0]
                if urlsplit(named).scheme not in ("http", "https") or not self.is_own(named):
                    named = ""
            except ValueError:
                logger.debug("%s names %r canonical, which is no address", address, canonical)
        owner = response.meta.get(ROW_META_KEY) or -next(self._anonymous)
        claims = [
            f"{_plain(candidate)} {digest}"
            for candidate in dict.fromkeys([address, named])
            if candidate
        ]
        is_form = (
            bool(named) and _plain(named).partition("?")[0] == _plain(address).partition("?")[0]
        )
        try:
            if named and named != address:
                self.keeper.ledger.frontier.set_canonical(owner, named)
            if not self.keeper.ledger.frontier.claim(map(_key, [page_id(address), *claims]), owner):
                return ""
            return (
                named
                if is_form and self.keeper.ledger.frontier.claim([_key(page_id(named))], owner)
                else address
            )
        except LedgerFullError as error:
            self.keeper.fail(error)
            return ""

    def _skip(self, response: Response, reason: str) -> None:
        self._count(f"skipped/{reason}")
        self.keeper.note(response.meta.get(ROW_META_KEY), "skipped", reason)

    def _count(self, name: str) -> None:
        if self.crawler.stats:
            self.crawler.stats.inc_value(f"contentspider/pages/{name}")

    def start_failed(self, failure: Failure) -> None:
        """Note why a start address could not be read."""
        request = failure.request  # type: ignore[attr-defined]
        kind, reason = why(failure)
        self.failures[request.url] = reason
        logger.error("%s could not be read: %s", request.url, reason)
        self._count_failed(kind)

    def page_failed(self, failure: Failure) -> None:
        """Count a page that could not be read."""
        kind, reason = why(failure)
        if kind == "robots":
            self._count("skipped/robots")
            return
        logger.info("%s could not be read: %s", failure.request.url, reason)  # type: ignore[attr-defined]
        self._count_failed(kind)

    def request_dropped(self, request: Request) -> None:
        """Count a page that redirects to itself: Scrapy drops the second request for it without a
        word.
        """
        if request.callback == self.parse and request.url in request.meta.get("redirect_urls", ()):
            logger.info("%s could not be read: it redirects to itself", request.url)
            self._count_failed("redirects")

    def _count_failed(self, kind: str) -> None:
        self._count("failed")
        self._count(f"unread/{kind}")

    def ignore(self, failure: Failure) -> None:
        """Do without a robots.txt or sitemap that is not there."""
        logger.debug("%s is not there: %s", failure.request.url, why(failure)[1])  # type: ignore[attr-defined]


def _key(claim: str) -> bytes:
    return blake2b(claim.encode("utf-8", "replace"), digest_size=12).digest()


INDEX_NAME = re.compile(r"/(?:index|default)\.(?:x?html?|php|aspx?|jsp)$", re.IGNORECASE)


def _plain(address: str) -> str:
    """Return an address without what differs between the forms of one address: scheme, www, index
    name, last slash.
    """
    parts = urlsplit(canonicalize_url(address))
    path = INDEX_NAME.sub("/", parts.path).rstrip("/")
    return parts.netloc.removeprefix("www.") + path + ("?" + parts.query if parts.query else "")


def with_scheme(address: str) -> str:
    """Return the address with https:// before it if it names no scheme."""
    return address if "://" in address else "https://" + address
