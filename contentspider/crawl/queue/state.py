"""The state of a running crawl: its ledger, and whether it can be written."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from scrapy.exceptions import NotConfigured

from contentspider.crawl.options import CrawlOptions
from contentspider.state.ledger.database import LedgerFullError

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from contentspider.state.ledger.ledger import Ledger

logger = logging.getLogger(__name__)


class CrawlState:
    """The ledger of a *crawler*'s crawl, which all parts of the crawl share.

    A ledger that is durable (``CONTENTSPIDER_DURABLE``) outlives the crawl, and a crawl that was
    killed goes on with it (*is_resumed*). Where single pages are looked at (``scrapy shell``,
    ``fetch`` and ``parse``: *is_inspection*) it is in memory. Once it cannot be written
    (*is_broken*) nothing more is written.
    """

    ledger: Ledger

    def __init__(self, crawler: Crawler) -> None:
        self.options = CrawlOptions.from_settings(crawler.settings)
        if not self.options.enabled:
            raise NotConfigured("CONTENTSPIDER_ENABLED is False")
        assert crawler.stats
        self.crawler = crawler
        self.stats = crawler.stats
        self.is_durable = self.options.durable
        self.is_inspection = False
        self.is_broken = False
        self.is_resumed = False
        self.guarded = _Guarded(self)

    @property
    def is_stopping(self) -> bool:
        """Tell whether the crawl stops since its ledger cannot be written: a resumed crawl does
        again what comes now.
        """
        return self.is_broken and self.is_durable

    def fail(self, error: Exception) -> None:
        """Stop the crawl, since its ledger cannot be written.

        What was committed is whole; a resumed crawl does the rest again.
        """
        if self.is_broken:
            return
        self.is_broken = True
        self.ledger.rollback()
        self.stats.set_value("contentspider/ledger/failed", str(error))
        if not self.is_durable:
            logger.error("%s; items are held no longer", error)
            return
        logger.error(
            "%s; the crawl stops. Once that is mended, go on with --resume (CONTENTSPIDER_RESUME):"
            " nothing is lost",
            error,
        )
        engine = self.crawler.engine
        if engine is not None and engine.spider is not None:
            self._closing = asyncio.get_running_loop().create_task(
                engine.close_spider_async(reason="ledger_full")
            )


class _Guarded:
    """``with state.guarded:`` ends the crawl (`CrawlState.fail`) if the ledger is full, and goes on
    behind the block.
    """

    def __init__(self, state: CrawlState) -> None:
        self._state = state

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> bool:
        if not isinstance(error, LedgerFullError):
            return False
        self._state.fail(error)
        return True
