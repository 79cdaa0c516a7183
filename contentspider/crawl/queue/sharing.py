"""Shares models and the book with other machines, through stores at fsspec URLs."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.utils.asyncio import run_in_thread

from contentspider.state.stores.remote import RemoteError, is_url, open_objects
from contentspider.state.stores.shared import SharedBook
from contentspider.state.stores.shared_models import SharedModels

if TYPE_CHECKING:
    from scrapy.statscollectors import StatsCollector

    from contentspider.crawl.base.options import CrawlOptions
    from contentspider.state.stores.models import ModelStore

logger = logging.getLogger(__name__)


class Sharing:
    """Shares the models and the book of a crawl, if their options name stores."""

    def __init__(self, options: CrawlOptions, stats: StatsCollector) -> None:
        self._options = options
        self._stats = stats
        # The store of the crawl's models.
        self.models: ModelStore | None = None
        self._book: SharedBook | None = None

    def check(self) -> None:
        """Raise `RemoteError` if a store cannot be used, or cannot lock out a second writer."""
        for url in {self._options.models_dir, self._options.history_url}:
            if is_url(url):
                open_objects(url).check()

    def pull(self, path: Path) -> None:
        """Download the book to *path*; raises `RemoteError`."""
        if self._options.history_url:
            self._book = SharedBook(open_objects(self._options.history_url), path)
            self._book.pull()

    def begin_change(self) -> None:
        """Record that the local book is about to become newer than the book in the store."""
        if self._book:
            self._book.begin_change()

    async def send(self) -> None:
        """Upload the book and the saved models. The next run uploads what fails now."""
        for error in await run_in_thread(self._send):
            self._stats.inc_value("contentspider/remote/unsent")
            logger.error("%s. The files stay on this machine, and the next run uploads them", error)

    def _send(self) -> list[RemoteError]:
        """Upload, and return the errors."""
        errors = self.models.send() if isinstance(self.models, SharedModels) else []
        try:
            if self._book:
                self._book.push()
        except RemoteError as error:
            errors.append(error)
        return errors
