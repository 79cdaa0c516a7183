"""What contentspider knows of Scrapy's insides; ``tests/test_engine_contract.py`` checks it."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any, TypeVar

from parsel import Selector
from scrapy import Request, signals
from scrapy.exceptions import NotConfigured

if TYPE_CHECKING:
    from lxml.etree import _Element
    from scrapy.crawler import Crawler
    from scrapy.http import HtmlResponse, Response
    from typing_extensions import Self

Extension = TypeVar("Extension")


class Component:
    """A part of a crawl that Scrapy makes: an extension, a middleware or a pipeline."""

    def __init__(self, crawler: Crawler) -> None:
        assert crawler.stats
        self.crawler = crawler
        self.stats = crawler.stats

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return the part of a crawler."""
        return cls(crawler)


def extension(crawler: Crawler, kind: type[Extension]) -> Extension:
    """Return an extension of a crawl that the add-on sets; raises `NotConfigured` without it."""
    found = crawler.get_extension(kind)
    if found is None:
        raise NotConfigured(
            f"contentspider's {kind.__name__} is not in EXTENSIONS, where its add-on puts it:"
            " ADDONS = {'contentspider.Addon': 500}"
        )
    return found


def tree_of(response: HtmlResponse) -> _Element | None:
    """Return the tree of a page, None if it has no markup."""
    if not response.body.strip():
        return None
    try:
        root: _Element = response.selector.root
    except ValueError:  # the address in its <base> is broken, which Scrapy's selector resolves
        root = Selector(response.text, type="html").root
    return root if hasattr(root, "iter") else None


def header(response: Response, name: str) -> str:
    """Return a header of a response, empty if it has none."""
    return (response.headers.get(name) or b"").decode("latin-1").strip()


def asked_address(response: Response) -> str:
    """Return the address that was asked for, wherever it led."""
    return str(response.meta.get("redirect_urls", [response.url])[0])


def forget_tree(response: HtmlResponse) -> None:
    """Let the tree of a page go, which takes much more memory than the response."""
    response._cached_selector = None


def in_progress(crawler: Crawler) -> Collection[Request]:
    """Return the requests that are being sent, or whose callbacks and items are not done."""
    slot = crawler.engine._slot if crawler.engine else None
    return slot.inprogress if slot else ()


def downloading(crawler: Crawler) -> Collection[Request]:
    """Return the requests that are being sent, those for robots.txt too."""
    return crawler.engine.downloader.active if crawler.engine else ()


def space_out(crawler: Crawler, request: Request, seconds: float) -> None:
    """Let at least some *seconds* pass between the requests to a request's host, and never less:
    Scrapy otherwise waits for half to one and a half times a delay, at random.
    """
    downloader = crawler.engine.downloader if crawler.engine else None
    slot = downloader.slots.get(request.meta.get("download_slot", "")) if downloader else None
    if slot is not None:
        slot.delay = max(slot.delay, seconds)
        # Scrapy 2.19 has a number in place of the former switch.
        setattr(slot, "jitter" if hasattr(slot, "jitter") else "randomize_delay", 0)


def queue_length(crawler: Crawler) -> int:
    """Return how many requests wait in the scheduler, 0 if it does not tell."""
    slot = crawler.engine._slot if crawler.engine else None
    scheduler: Any = slot.scheduler if slot else None
    return len(scheduler) if hasattr(scheduler, "__len__") else 0


def wake(crawler: Crawler) -> None:
    """Make the engine ask the scheduler for requests, and look whether the spider is idle."""
    slot = crawler.engine._slot if crawler.engine else None
    if slot is not None and slot.closing is None:
        slot.nextcall.schedule()


def end_at_start(crawler: Crawler, reason: str) -> None:
    """End a crawl before its first request: where Scrapy is old, ``CloseSpider`` does not."""

    async def end() -> None:
        assert crawler.engine is not None
        if crawler.engine.spider is not None:
            await crawler.engine.close_spider_async(reason=reason)

    crawler.signals.connect(end, signal=signals.engine_started, weak=False)


async def pass_item(crawler: Crawler, item: Any) -> None:
    """Pass an item through all pipelines, as if a callback had yielded it."""
    assert crawler.engine is not None
    scraper = crawler.engine.scraper
    try:
        await scraper.start_itemproc_async(item, response=None)
    finally:
        # A spider that is being closed waits for items, and nobody tells it that this was the last.
        if scraper.slot and scraper.slot.closing and not scraper.slot.closing.called:
            scraper._check_if_closing()
