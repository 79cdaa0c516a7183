"""The item pipeline: hold items until their site is learned, then filter their content."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scrapy import Request, signals
from scrapy.exceptions import DontCloseSpider, DropItem, NotConfigured
from scrapy.utils.asyncio import run_in_thread

from contentspider.crawl.keeper import RELEASE_URL, Keeper, Passing, passing
from contentspider.crawl.learning import learn_apart
from contentspider.crawl.middleware import PagesMiddleware, Source
from contentspider.crawl.settings import CrawlOptions
from contentspider.crawl.sites import SiteKeys
from contentspider.errors import NotEnoughTextError
from contentspider.site.record import page_fields
from contentspider.storage.database import LedgerFullError
from contentspider.storage.models import ModelStore

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.crawler import Crawler

    from contentspider.page.document import Page
    from contentspider.site.model import SiteModel

logger = logging.getLogger(__name__)

# Held items come back before anything else is fetched.
RELEASE_PRIORITY = 1_000_000
# Pages of a template that the model has not seen are below: unknown places count half at most.
LOW_CONFIDENCE = 0.5


@dataclass(slots=True)
class SiteState:
    """What the crawl knows of a site: its model, once there is one, and whether it is being
    learned.
    """

    key: str
    model: SiteModel | None = None
    version: str = ""
    held: int = 0
    pages: int = 0
    last_url: str = ""
    learning: asyncio.Task[None] | None = None
    is_releasing: bool = False
    failed: bool = False

    @property
    def is_ready(self) -> bool:
        """Tell whether items need not be held (any more)."""
        return self.model is not None or self.failed


class ContentPipeline:
    """Fills the content of items; holds those of a site that has not been learned yet.

    A held item is dropped (at level DEBUG) and comes back, through every later pipeline and the
    feeds, when its site has been learned: after ``CONTENTSPIDER_LEARN_PAGES`` pages or when the
    spider is idle.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.options = options = CrawlOptions.from_settings(crawler.settings)
        assert crawler.stats
        self.crawler = crawler
        self.stats = crawler.stats
        self.learning = options.learning
        self.field_map = options.item_fields
        self.keys = SiteKeys(options.site_by)
        self.store = ModelStore(options.models_dir)
        self.sites: dict[str, SiteState] = {}
        self.closing = False
        self.warned: set[str] = set()
        crawler.signals.connect(self._on_opened, signal=signals.spider_opened)
        crawler.signals.connect(self._on_idle, signal=signals.spider_idle)
        crawler.signals.connect(self._on_gone, signal=signals.item_dropped)
        crawler.signals.connect(self._on_gone, signal=signals.item_error)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> ContentPipeline:
        """Return the pipeline of a crawler."""
        return cls(crawler)

    def open_spider(self) -> None:
        """Find the middleware that knows the items' pages, and the ledger."""
        middleware = self.crawler.get_spider_middleware(PagesMiddleware)
        keeper = self.crawler.get_extension(Keeper)
        if middleware is None or keeper is None:
            raise NotConfigured(
                "ContentPipeline needs contentspider's PagesMiddleware in SPIDER_MIDDLEWARES and"
                " Keeper in EXTENSIONS; the add-on sets all of them"
            )
        self.sources = middleware.sources
        self.keeper = keeper
        keeper.open()
        self.ledger = keeper.ledger
        # Scrapy closes all pipelines at once: what is held must pass them before any of them is
        # closed.
        assert self.crawler.engine is not None
        manager = self.crawler.engine.scraper.itemproc
        close_pipelines = manager.close_spider_async

        async def release_and_close() -> None:
            await self._release_all()
            await close_pipelines()

        manager.close_spider_async = release_and_close  # type: ignore[method-assign]

    async def process_item(self, item: Any) -> Any:
        """Fill an item, hold it, or pass it on if it asks for nothing."""
        passing.set(None)
        fields = self.field_map.fields(item)
        if fields is None:
            return item
        source = self.sources.take(item)
        if source is None:
            self._warn_once(
                "untagged",
                "An item of %s came without its page (its response was not HTML, or another"
                " component replaced it): it passes as it is",
                type(item).__name__,
            )
            self.stats.inc_value("contentspider/items/untagged")
            return item
        if self.keeper.is_stopping:
            raise DropItem(
                "the ledger cannot be written: the crawl stops, and a resumed one fetches this page"
                " again",
                log_level="DEBUG",
            )
        state = self._site(self.keys.key(source.page.url))
        key = source.key or self.keeper.key(source.row, source.place)
        if source.held_row is None:
            is_unknown = not state.is_ready and not source.page.is_document
            if is_unknown and not self.closing and self._hold(state, item, source, key):
                raise DropItem(f"held until {state.key} has been learned", log_level="DEBUG")
            if key is not None and self.ledger.items.has_item(key):
                raise DropItem(
                    "it was held or released before the crawl was resumed", log_level="DEBUG"
                )
        values = self._fill(item, source.page, state)
        passing.set(Passing(item, key, source.held_row, source.row, str(values["content_hash"])))
        return item

    def _site(self, key: str) -> SiteState:
        state = self.sites.get(key)
        if state is None:
            state = self.sites[key] = SiteState(key)
            learned_here = self.keeper.is_resumed and key in (
                self.ledger.runs.fact("learned") or []
            )
            model = self.store.load(key) if learned_here or not self.options.relearn else None
            if model is not None and (model.labels, model.features, model.classifier_name) == (
                self.learning.labels,
                self.learning.features,
                self.learning.classifier,
            ):
                state.model, state.version = model, model.version
                self.stats.inc_value("contentspider/models/loaded")
                logger.info(
                    "%s: loaded model %s, learned from %d pages", key, state.version, model.pages
                )
        return state

    def _fill(self, item: Any, page: Page, state: SiteState) -> dict[str, object]:
        try:
            extraction = (
                state.model.extract(page, self.learning.keep_teasers)
                if state.model and not page.is_document
                else None
            )
        except Exception as error:  # noqa: BLE001 - a page that breaks us must not be lost
            self.stats.inc_value(f"contentspider/pages/failed/{type(error).__name__}")
            self._warn_once(
                f"extract {type(error).__name__}",
                "%s: its content could not be filtered (%r); it passes unfiltered. Please report"
                " this page",
                page.url,
                error,
            )
            extraction = None
        values = page_fields(page, state.key, extraction, state.version)
        self.field_map.fill(item, values)
        total = sum(len(block.text) for block in page.content.blocks)
        kept = sum(len(block.text) for block in extraction.blocks) if extraction else total
        self.stats.inc_value("contentspider/chars/kept", kept)
        self.stats.inc_value("contentspider/chars/dropped", total - kept)
        if page.is_document:
            self.stats.inc_value("contentspider/items/documents")
        else:
            self.stats.inc_value(
                "contentspider/items/filtered" if extraction else "contentspider/items/unfiltered"
            )
        if extraction and extraction.confidence < LOW_CONFIDENCE:
            self.stats.inc_value("contentspider/pages/low_confidence")
        self.stats.inc_value(f"contentspider/page_type/{values['page_type']}")
        if self.keeper.is_durable and not page.is_document:
            self.ledger.pages.offer(state.key, page)
        return values

    def _hold(self, state: SiteState, item: Any, source: Source, key: str | None) -> bool:
        """Hold an item on disk and start to learn when there are enough; tell whether it is held
        (or was already out).
        """
        try:
            if self.keeper.is_broken or self.keeper.is_inspection:
                return False
            if not self.ledger.items.hold(state.key, item, source.page, key, source.row):
                return True
        except LedgerFullError as error:
            self.keeper.fail(error)
            if self.keeper.is_stopping:
                return True
            # What is held stays readable: the site is learned from it, and what comes now passes.
            if state.held:
                self._start_learning(state)
            else:
                state.failed = True
            return False
        self.keeper.note(source.row, "held")
        state.held += 1
        state.pages += source.page.url != state.last_url
        state.last_url = source.page.url
        self.stats.inc_value("contentspider/items/held")
        if state.pages >= self.options.learn_pages:
            self._start_learning(state)
        return True

    def _start_learning(self, state: SiteState) -> None:
        if state.learning is None and not state.is_ready:
            state.learning = asyncio.get_running_loop().create_task(self._learn_and_release(state))

    async def _learn_and_release(self, state: SiteState) -> None:
        await self._learn(state)
        self._start_release(state)

    def _start_release(self, state: SiteState) -> None:
        """Let the held items of a site come back, by a request of our own whose callback yields
        them.
        """
        engine = self.crawler.engine
        if self.closing or engine is None or engine.spider is None or state.is_releasing:
            return
        state.is_releasing = True
        meta = {
            "dont_obey_robotstxt": True,
            "dont_cache": True,
            "dont_redirect": True,
            "download_slot": "contentspider",
        }
        engine.crawl(
            Request(
                RELEASE_URL,
                callback=self._release,
                # Should a middleware refuse the request: what an errback yields goes the same way.
                errback=lambda failure: self._release(failure, state),
                cb_kwargs={"state": state},
                meta=meta,
                dont_filter=True,
                priority=RELEASE_PRIORITY,
            )
        )

    async def _learn(self, state: SiteState) -> None:
        """Learn a site from its held pages; on failure its items will pass unfiltered."""
        started = time.monotonic()
        logger.info("%s: learning from %d held items", state.key, state.held)
        self.keeper.commit()  # the learner reads what is on disk
        assert self.ledger.path  # in memory nothing is held
        try:
            model = await run_in_thread(
                learn_apart,
                self.ledger.path,
                state.key,
                self.learning,
                self.options.learn_secs,
            )
        except NotEnoughTextError as error:
            logger.warning("%s; its items pass unfiltered", error)
            state.failed = True
            return
        except Exception as error:  # noqa: BLE001 - whatever it is (no thread, no memory), the crawl goes on
            logger.error(
                "%s could not be learned from its %d pages: its items pass unfiltered, marked model_version 'unfiltered'. The cause: %s",
                state.key,
                state.held,
                error,
            )
            self.stats.inc_value("contentspider/sites/failed")
            state.failed = True
            return
        state.model, state.version = model, model.version
        self.stats.inc_value("contentspider/sites/learned")
        logger.info(
            "%s: learned model %s from %d pages in %.1f s",
            state.key,
            state.version,
            model.pages,
            time.monotonic() - started,
        )
        if self.closing or getattr(self.crawler.spider, "is_limited", False):
            logger.info(
                "%s: its model is not saved, since the crawl was cut short: the next one learns the"
                " site from more pages",
                state.key,
            )
            return
        try:
            self.store.save(model)
            self.ledger.runs.set_fact(
                "learned", sorted({state.key, *(self.ledger.runs.fact("learned") or [])})
            )
            self.stats.inc_value("contentspider/models/saved")
        except LedgerFullError as error:
            self.keeper.fail(error)
        except OSError as error:
            logger.error(
                "%s: its model could not be saved in %s (%s): the next crawl will learn it again",
                state.key,
                self.store.folder,
                error.strerror,
            )

    def _release(self, source: object, state: SiteState) -> Iterator[Any]:
        """Yield the held items of a learned site, each with its source."""
        try:
            for held in self.ledger.items.release(state.key):
                self.sources.put(
                    held.item, Source(held.page, held.address_row, held_row=held.row, key=held.key)
                )
                self.stats.inc_value("contentspider/items/released")
                yield held.item
        finally:
            state.held = state.pages = 0
            state.is_releasing = False

    def _on_gone(self, item: Any) -> None:
        self.sources.take(item)

    def _on_opened(self) -> None:
        """Go on with what a killed crawl has held."""
        for key, count in self.ledger.items.held_counts().items():
            state = self._site(key)
            state.held = state.pages = count
            self.stats.inc_value("contentspider/items/held", count)
            if state.is_ready:
                self._start_release(state)
            elif state.pages >= self.options.learn_pages:
                self._start_learning(state)

    def _on_idle(self) -> None:
        """Learn the sites that were too small to be learned before; the spider stays open
        meanwhile.
        """
        busy = False
        for state in self.sites.values():
            if state.held or state.learning:
                self._start_learning(state)
                if state.held or (state.learning and not state.learning.done()):
                    busy = True
        if busy and not self.keeper.is_stopping:
            raise DontCloseSpider

    async def _release_all(self) -> None:
        """Let the items go that are still held when the crawl is ended from outside.

        Scrapy takes no more requests then; the pipelines and feeds are still open.
        """
        self.closing = True
        for state in self.sites.values():
            if state.learning and not state.learning.done():
                await state.learning
            if not state.held or self.keeper.is_stopping or self.crawler.engine is None:
                continue
            if not state.is_ready:
                await self._learn(state)
            for item in self._release(None, state):
                await self.crawler.engine.scraper.start_itemproc_async(item, response=None)

    def _warn_once(self, key: str, message: str, *values: object) -> None:
        if key not in self.warned:
            self.warned.add(key)
            logger.warning(message, *values)
