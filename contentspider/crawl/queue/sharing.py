"""What a crawl shares with other machines: models and history, by stores on fsspec URLs."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.utils.asyncio import run_in_thread

from contentspider.state.stores.remote import RemoteError, is_url, open_objects
from contentspider.state.stores.shared import SharedHistory
from contentspider.state.stores.shared_models import SharedModels

if TYPE_CHECKING:
    from scrapy.statscollectors import StatsCollector

    from contentspider.crawl.base.options import CrawlOptions
    from contentspider.state.stores.models import ModelStore

logger = logging.getLogger(__name__)


class Sharing:
    """What one crawl shares; nothing, if its models are in a folder and its history is local."""

    def __init__(self, options: CrawlOptions, stats: StatsCollector) -> None:
        self._options = options
        self._stats = stats
        # The store of the models that are saved in the crawl.
        self.models: ModelStore | None = None
        self._history: SharedHistory | None = None

    def check(self) -> None:
        """Raise `RemoteError` unless the stores can be used, and keep two writers apart."""
        for url in {self._options.models_dir, self._options.history_url}:
            if is_url(url):
                open_objects(url).check()

    def pull_history(self, path: Path) -> None:
        """Bring the history that belongs at *path* here; raises `RemoteError` if that cannot be."""
        if self._options.history_url:
            self._history = SharedHistory(open_objects(self._options.history_url), path)
            self._history.pull()

    def begin_change(self) -> None:
        """Note that the history is about to become newer than the store's."""
        if self._history:
            self._history.begin_change()

    async def send(self) -> None:
        """Bring history and saved models into their stores; the next run sends what fails."""
        for error in await run_in_thread(self._send):
            self._stats.inc_value("contentspider/remote/unsent")
            logger.error("%s. It is kept here, and the next run sends it", error)

    def _send(self) -> list[RemoteError]:
        errors = self.models.send() if isinstance(self.models, SharedModels) else []
        try:
            if self._history:
                self._history.push()
        except RemoteError as error:
            errors.append(error)
        return errors
