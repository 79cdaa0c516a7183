"""Access to private parts of Scrapy, all checked by ``tests/crawl/test_engine_contract.py``, and
the end of a crawl within seconds after a signal: work that can wait is left to a resumed run.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

from parsel import Selector
from scrapy import Request, signals
from scrapy import __version__ as scrapy_version
from scrapy.exceptions import NotConfigured
from scrapy.utils.asyncio import AsyncioLoopingCall, create_looping_call

from contentspider.crawl.base.outcomes import NOT_MODIFIED
from contentspider.ground.errors import ContentSpiderError

if TYPE_CHECKING:
    from collections.abc import Callable

    from lxml.etree import _Element
    from scrapy.crawler import Crawler
    from scrapy.http import HtmlResponse, Response
    from twisted.internet.task import LoopingCall
    from typing_extensions import Self

Extension = TypeVar("Extension")
# What this module needs of Scrapy's engine at every crawl.
NEEDED = ("_slot", "downloader.slots", "downloader.handlers.download_request_async")
POLL_SECS = 0.25  # Scrapy sends no signal when it is told to stop
# Requests that have been sent by then are answered, or sent again by a resumed run.
GRACE_SECS = 1.0


class Component:
    """A Scrapy component: an extension, a middleware or a pipeline."""

    def __init__(self, crawler: Crawler) -> None:
        assert crawler.stats
        self.crawler = crawler
        self.stats = crawler.stats

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return the component of a crawler."""
        return cls(crawler)


def extension(crawler: Crawler, kind: type[Extension]) -> Extension:
    """Return the crawl's extension of a class; raises `NotConfigured` if the add-on is missing."""
    component = crawler.get_extension(kind)
    if component is None:
        raise NotConfigured(
            f"contentspider's {kind.__name__} is not in EXTENSIONS. Its add-on puts it there, so"
            " enable the add-on: ADDONS = {'contentspider.Addon': 500}"
        )
    return component


def tree_of(response: HtmlResponse) -> _Element | None:
    """Return the lxml tree of a page; None if the body is empty."""
    if not response.body.strip():
        return None
    try:
        root: _Element = response.selector.root
    except ValueError:  # Scrapy's selector resolves the address in <base>, which is broken here
        root = Selector(response.text, type="html").root
    return root if hasattr(root, "iter") else None


def header(response: Response, name: str) -> str:
    """Return a header of a response, empty if it has none."""
    return (response.headers.get(name) or b"").decode("latin-1").strip()


def is_empty(response: Response) -> bool:
    """Tell whether a server sent only white space. The answer "not modified" is not empty."""
    return NOT_MODIFIED not in response.flags and not response.body.strip()


def asked_address(response: Response) -> str:
    """Return the first address that was requested, before any redirect."""
    return str(response.meta.get("redirect_urls", [response.url])[0])


def referer_of(response: Response) -> str:
    """Return the address of the page that a request was found on, "" if it is not known."""
    request = response.request
    return (request.headers.get(b"Referer") or b"").decode("latin-1") if request else ""


def forget_tree(response: HtmlResponse) -> None:
    """Free the parsed tree of a page. The tree takes far more memory than the response."""
    response._cached_selector = None


def check_scrapy(crawler: Crawler) -> None:
    """Raise `ContentSpiderError` if Scrapy's engine lacks a name that this module needs, most of
    them private. A later Scrapy may have renamed it.
    """
    for name in NEEDED:
        try:
            attrgetter(name)(crawler.engine)
        except AttributeError:  # noqa: PERF203 - it happens once at most
            raise ContentSpiderError(
                f"Scrapy {scrapy_version} is not supported: its engine has no {name}. Install the"
                " newest contentspider, or an earlier Scrapy (pip install 'scrapy<"
                f"{scrapy_version}')",
                code="scrapy-version",
            ) from None


def in_progress(crawler: Crawler) -> Collection[Request]:
    """Return the requests that are being sent, or whose callbacks or items are unfinished."""
    slot = crawler.engine._slot if crawler.engine else None
    return slot.inprogress if slot else ()


def downloading(crawler: Crawler) -> Collection[Request]:
    """Return the requests that are being sent, including requests for robots.txt."""
    return crawler.engine.downloader.active if crawler.engine else ()


class StoppedError(Exception):
    """A request was not sent, or its answer was not awaited, because the crawl was told to end."""


class Downloads:
    """The requests of a crawl that wait for their turn in the downloader, or that are being sent.
    Scrapy would send all of them after a signal, with the delay of their host between them.
    """

    def __init__(self, crawler: Crawler) -> None:
        assert crawler.engine is not None
        self._slots = crawler.engine.downloader.slots
        self._running: set[asyncio.Task[Response]] = set()
        handlers = crawler.engine.downloader.handlers
        self._download = handlers.download_request_async
        handlers.download_request_async = self._run  # type: ignore[method-assign]

    async def _run(self, request: Request) -> Response:
        task = asyncio.get_running_loop().create_task(self._download(request))
        self._running.add(task)
        try:
            return await task
        except asyncio.CancelledError:
            raise StoppedError from None
        finally:
            self._running.discard(task)

    def end_waiting(self) -> None:
        """Fail the requests that wait with a `StoppedError`."""
        for slot in self._slots.values():
            while slot.queue:
                _, result = slot.queue.popleft()
                result.errback(StoppedError())

    def end_running(self) -> None:
        """Close the connections of the requests that are being sent. They fail, too."""
        for task in self._running:
            task.cancel()


def space_out(crawler: Crawler, request: Request, seconds: float) -> None:
    """Make the downloader wait at least *seconds* between two requests to the host of a request.

    This turns off the random factor (0.5 to 1.5) that Scrapy applies to a delay.
    """
    downloader = crawler.engine.downloader if crawler.engine else None
    slot = downloader.slots.get(request.meta.get("download_slot", "")) if downloader else None
    if slot is not None:
        slot.delay = max(slot.delay, seconds)
        # Scrapy 2.19 replaces the switch `randomize_delay` by the number `jitter`.
        setattr(slot, "jitter" if hasattr(slot, "jitter") else "randomize_delay", 0)


def queue_length(crawler: Crawler) -> int:
    """Return how many requests wait in the scheduler; 0 if the scheduler does not define `len`."""
    slot = crawler.engine._slot if crawler.engine else None
    scheduler: Any = slot.scheduler if slot else None
    return len(scheduler) if hasattr(scheduler, "__len__") else 0


def wake(crawler: Crawler) -> None:
    """Make the engine ask the scheduler for requests, and check whether the spider is idle."""
    slot = crawler.engine._slot if crawler.engine else None
    if slot is not None and slot.closing is None:
        slot.nextcall.schedule()


def is_closing(crawler: Crawler) -> bool:
    """Tell whether the crawl is about to end: at its end, at a limit or after a signal."""
    slot = crawler.engine._slot if crawler.engine else None
    return slot is not None and slot.closing is not None


def end_at_start(crawler: Crawler, reason: str) -> None:
    """End a crawl before its first request. ``scrapy crawl`` then ends with exit code 1, as for a
    crawler without a spider.

    In old versions of Scrapy, ``CloseSpider`` does not prevent the first request.
    """

    async def end() -> None:
        assert crawler.engine is not None
        if crawler.engine.spider is not None:
            await crawler.engine.close_spider_async(reason=reason)
        crawler.spider = None

    crawler.signals.connect(end, signal=signals.engine_started, weak=False)


async def pass_item(crawler: Crawler, item: Any) -> None:
    """Pass an item through all pipelines, as if a callback had yielded it."""
    assert crawler.engine is not None
    scraper = crawler.engine.scraper
    try:
        await scraper.start_itemproc_async(item, response=None)
    finally:
        # A closing spider waits until its items have passed. Scrapy does not check this after the
        # items that we pass.
        if scraper.slot and scraper.slot.closing and not scraper.slot.closing.called:
            scraper._check_if_closing()


class Interruption:
    """Notices that a crawl was told to end by a signal, ends its downloads, and calls *listeners*
    once. A request that waits or is sent goes back into the queue (`OutageMiddleware`).
    """

    def __init__(self, crawler: Crawler) -> None:
        self.listeners: list[Callable[[], None]] = []
        self._crawler = crawler
        self._downloads: Downloads | None = None
        self._loop: AsyncioLoopingCall | LoopingCall | None = None
        self._since: float | None = None

    @property
    def is_set(self) -> bool:
        """Whether the crawl was told to end."""
        return self._since is not None

    def begin(self) -> None:
        """Begin to look for a signal."""
        self._downloads = Downloads(self._crawler)
        self._loop = create_looping_call(self._look)
        self._loop.start(POLL_SECS, now=False)

    def _look(self) -> None:
        if self._crawler.crawling:
            return
        if self._since is None:
            self._since = time.monotonic()
            for listener in self.listeners:
                listener()
        assert self._downloads
        self._downloads.end_waiting()
        if time.monotonic() - self._since >= GRACE_SECS:
            self._downloads.end_running()

    def end(self) -> None:
        """Look no more."""
        if self._loop and self._loop.running:
            self._loop.stop()
