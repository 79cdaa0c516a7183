"""Reads sitemaps as streams, while pages are fetched."""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections import deque
from collections.abc import Iterator
from io import BytesIO, StringIO
from typing import TYPE_CHECKING

from lxml import etree
from scrapy.utils.gz import gunzip, gzip_magic_number

from contentspider.crawl.base.engine import header, is_closing, wake
from contentspider.crawl.base.meta import ROW_META_KEY
from contentspider.ground.addresses import (
    MAX_ADDRESS_CHARS,
    absolute,
    clean_address,
    is_web_address,
)
from contentspider.page.input.body import decode, is_binary
from contentspider.site.own.readers.feeds import JSON_VERSION, read_entries
from contentspider.site.own.readers.reading import is_json, mend_ampersands

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from contentspider.crawl.queue.keeper import BookKeeper

logger = logging.getLogger(__name__)

MAX_SITEMAP_BYTES = 60_000_000  # unpacked; the protocol allows 50 MB, a larger file is a zip bomb
MAX_SITEMAP_TAGS = 2_500_000  # 50,000 pages with 20 links each; a tag takes 110 bytes
MAX_SITEMAP_LINES = 250_000  # lines of a plain text sitemap; the protocol allows 50,000
FEED_START = re.compile(rb"<(?:\w+:)?(?:RDF|rss|feed)[\s>]")
FEED_START_BYTES = 2_000
# A tag after an optional byte order mark. The zero bytes match UTF-16.
MARKUP_START = re.compile(rb"[\xef\xbb\xbf\xfe\xff\0\s]*<")
XHTML = "{http://www.w3.org/1999/xhtml}"
# Seconds of reading after which the crawl has its turn.
TURN_SECS = 0.01
# Sitemaps in memory. If more have come, the crawl waits.
MAX_WAITING = 20
POLL_SECS = 0.1


class SitemapReader:
    """Queues the addresses of sitemaps in turns of `TURN_SECS`, while pages are fetched.

    A sitemap's own address is open in the book until all its addresses are queued: if the run
    ends before, the next run reads the sitemap again.
    """

    def __init__(self, crawler: Crawler, keeper: BookKeeper) -> None:
        self._crawler = crawler
        self._keeper = keeper
        # Each sitemap with the requests for its addresses, which are made when they are needed.
        self._waiting: deque[tuple[Response, Iterator[list[Request]]]] = deque()
        self._task: asyncio.Task[None] | None = None

    @property
    def is_reading(self) -> bool:
        """Whether addresses of sitemaps are still to be queued in this run."""
        return bool(self._waiting) and not self._is_over

    @property
    def _is_over(self) -> bool:
        is_limited = getattr(self._crawler.spider, "is_limited", False)
        return is_limited or self._keeper.is_broken or is_closing(self._crawler)

    async def add(self, response: Response, requests: Iterator[list[Request]]) -> None:
        """Read a sitemap when the earlier ones are read. The *requests* are those for each address
        in it.
        """
        while len(self._waiting) >= MAX_WAITING and not self._is_over:  # noqa: ASYNC110 - no event tells that a crawl ends
            await asyncio.sleep(POLL_SECS)
        row = response.meta.get(ROW_META_KEY)
        if row is not None and not self._keeper.is_broken:
            with self._keeper.guarded:
                self._keeper.book.frontier.keep_open(row)
                self._keeper.book.frontier.pardon(row)
        self._waiting.append((response, requests))
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._read())

    async def _read(self) -> None:
        while self._waiting and not self._is_over:
            response, requests = self._waiting[0]
            if not self._queue_some(response, requests):
                self._waiting.popleft()
                row = response.meta.get(ROW_META_KEY)
                if row is not None and not self._keeper.is_broken:
                    with self._keeper.guarded:
                        self._keeper.book.frontier.allow_end(row)
            await asyncio.sleep(0)
        self._task = None
        wake(self._crawler)  # the crawl may have waited for us to end

    def _queue_some(self, response: Response, requests: Iterator[list[Request]]) -> bool:
        """Queue requests of a sitemap for `TURN_SECS`; return whether there may be more."""
        assert self._crawler.engine is not None
        depth = response.meta.get("depth", 0) + 1  # as Scrapy's middleware for callbacks sets it
        end = time.monotonic() + TURN_SECS
        try:
            for address_requests in requests:
                for request in address_requests:
                    request.meta["depth"] = depth
                    self._crawler.engine.crawl(request)
                if time.monotonic() > end:
                    return True
        except Exception:
            logger.exception("%s: reading the sitemap failed", response.url)
            assert self._crawler.stats
            self._crawler.stats.inc_value("spider_exceptions/count")
        return False


def read_sitemap(
    response: Response, alternates: bool = False
) -> tuple[Iterator[tuple[str, str]], bool]:
    """Return the addresses in a sitemap, each with its ``lastmod``, and whether the sitemap is an
    index of sitemaps. With *alternates* the addresses of pages in other languages follow each. A
    feed or a plain list of addresses is read as a sitemap. A broken sitemap gives the addresses
    before its fault. The addresses are read one by one.
    """
    body = response.body
    try:
        if gzip_magic_number(response):
            body = gunzip(body, max_size=MAX_SITEMAP_BYTES)
        if body.count(b"<") > MAX_SITEMAP_TAGS:
            raise ValueError(f"it has more than {MAX_SITEMAP_TAGS:,} tags")
        is_index, entries = _sitemap_entries(body, response, alternates)
    except Exception as error:  # noqa: BLE001 - lxml, zlib and Scrapy raise a dozen types
        _log_fault(response.url, error)
        return iter(()), False
    return _entries_before_fault(response.url, entries), is_index


def _entries_before_fault(
    url: str, entries: Iterator[tuple[str, str]]
) -> Iterator[tuple[str, str]]:
    try:
        for entry in entries:
            if entry[0]:
                yield entry
    except Exception as error:  # noqa: BLE001 - lxml and our readers raise a dozen types
        _log_fault(url, error)


def _log_fault(url: str, error: Exception) -> None:
    logger.warning(
        "%s: the sitemap cannot be read (%s); the crawl finds its pages through links only",
        url,
        error,
    )


def _sitemap_entries(
    body: bytes, response: Response, alternates: bool
) -> tuple[bool, Iterator[tuple[str, str]]]:
    """Return whether a sitemap is an index, and its entries (address and ``lastmod``)."""
    start, content_type = body[:FEED_START_BYTES], header(response, "Content-Type")
    if FEED_START.search(start) or is_json(body):
        feed = read_entries(body, response.url, content_type, texts=0)
        return False, ((entry.url, "") for entry in feed)
    if not (MARKUP_START.match(start) or is_binary(body)):
        return False, ((line, "") for line in listed_addresses(decode(body, content_type)))
    elements = _elements(mend_ampersands(body))
    kind = _name(next(elements))
    if kind not in ("urlset", "sitemapindex"):
        return False, iter(())
    entries = (
        (absolute(response.url, address), lastmod)
        for element in elements
        for address, lastmod in _addresses(element, alternates)
    )
    return kind == "sitemapindex", entries


def _elements(body: bytes) -> Iterator[etree._Element]:
    """Yield the root of an XML sitemap when it begins, and then each entry when it ends."""
    events = etree.iterparse(
        BytesIO(body),
        events=("start", "end"),
        recover=True,
        resolve_entities=False,
        remove_comments=True,
        remove_pis=True,
        collect_ids=False,
    )
    root = next(events, None)
    if root is None:  # lxml finds no element, and raises nothing
        raise ValueError("it is not XML")
    yield root[1]
    for event, element in events:
        if event == "end" and _name(element) in ("url", "sitemap"):
            yield element
            element.clear()
            while (parent := element.getparent()) is not None and element.getprevious() is not None:
                del parent[0]


def _name(element: etree._Element) -> str:
    """Return the name of an element without its namespace."""
    return str(element.tag).rpartition("}")[2]


def _addresses(entry: etree._Element, alternates: bool) -> Iterator[tuple[str, str]]:
    """Yield the address of an entry of a sitemap, with its ``lastmod``, and then its *alternates*.
    Elements of other namespaces belong to images, videos and the like.
    """
    prefix = str(entry.tag).removesuffix(_name(entry))
    address = _text(entry.find(f"{prefix}loc"))
    if address:
        yield address, _text(entry.find(f"{prefix}lastmod"))
    else:
        logger.info("an entry of a sitemap has no address that can be read")
    for link in entry.iterfind(f"{XHTML}link") if alternates else ():
        if href := (link.get("href") or "").strip():
            yield href, ""


def _text(element: etree._Element | None) -> str:
    """Return the text of an element, "" if it has an entity that is not resolved."""
    return (element.text or "").strip() if element is not None and not len(element) else ""


def listed_addresses(text: str) -> Iterator[str]:
    """Yield the addresses of a plain text sitemap, which has one in each line. Raises `ValueError`
    after `MAX_SITEMAP_LINES` lines.
    """
    for number, line in enumerate(StringIO(text, newline=None)):
        if number == MAX_SITEMAP_LINES:
            raise ValueError(f"it has more than {MAX_SITEMAP_LINES:,} lines")
        address = clean_address(line.strip())
        if len(address) <= MAX_ADDRESS_CHARS and is_web_address(address):
            yield address


def is_feed(response: Response) -> bool:
    """Tell whether a response is a feed (RSS, Atom, JSON). Its Content-Type does not matter."""
    start = response.body[:FEED_START_BYTES]
    is_json_feed = is_json(start) and JSON_VERSION.encode() in start
    return is_json_feed or FEED_START.search(start) is not None
