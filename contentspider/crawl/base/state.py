"""The state of a running crawl: its ledger, and whether it can be written."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from scrapy.exceptions import NotConfigured

from contentspider.crawl.base.binding import Bindings
from contentspider.crawl.base.engine import Component
from contentspider.crawl.base.options import CrawlOptions
from contentspider.state.ledger.database import LedgerFullError

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from contentspider.state.ledger.ledger import Ledger

logger = logging.getLogger(__name__)


class CrawlState(Component):
    """The ledger of a crawl, which may outlive the process (*is_resumed*); that of ``scrapy shell``
    and others (*is_inspection*) is in memory. If it *is_broken*, nothing more is written.
    """

    ledger: Ledger
    is_inspection = False
    is_broken = False
    is_resumed = False

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self.options = CrawlOptions.from_settings(crawler.settings)
        if not self.options.enabled:
            raise NotConfigured("CONTENTSPIDER_ENABLED is False")
        self.is_durable = self.options.durable
        self.guarded = _Guarded(self.fail)
        self.bindings = Bindings()

    @property
    def is_stopping(self) -> bool:
        """Tell whether the crawl stops at a ledger that is full: a resumed one does the rest."""
        return self.is_broken and self.is_durable

    def fail(self, error: Exception) -> None:
        """Stop the crawl, since its ledger cannot be written. What was committed is whole."""
        if self.is_broken:
            return
        self.is_broken = True
        self.ledger.rollback()
        self.stats.set_value("contentspider/ledger/failed", str(error))
        if not self.is_durable:
            logger.error("%s; items are held no longer", error)
            return
        logger.error(
            f"{error}; the crawl stops. Once that is mended, go on with --resume"
            " (CONTENTSPIDER_RESUME): nothing is lost"
        )
        engine = self.crawler.engine
        if engine is not None and engine.spider is not None:
            ending = getattr(error, "ending", LedgerFullError.ending)
            closing = engine.close_spider_async(reason=ending)
            self._closing = asyncio.get_running_loop().create_task(closing)


class _Guarded:
    """``with state.guarded:`` ends the crawl if the ledger is full, and goes on after it."""

    def __init__(self, fail: Callable[[Exception], None]) -> None:
        self._fail = fail

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if isinstance(error, LedgerFullError):
            self._fail(error)
            return True
        return False
