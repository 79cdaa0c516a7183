"""What a crawl gives to others: models and history to stores, pages to search indexes."""

import logging
import time
from collections.abc import Callable
from pathlib import Path

from scrapy.statscollectors import StatsCollector
from scrapy.utils.asyncio import run_in_thread

from contentspider.crawl.options import CrawlOptions
from contentspider.ground.errors import ContentSpiderError
from contentspider.index.engine import connect, shown
from contentspider.index.operations import sync
from contentspider.index.sync import Limits
from contentspider.state.crawls.folder import index_url
from contentspider.state.stores.models import ModelStore
from contentspider.state.stores.remote import RemoteError, is_url, open_objects
from contentspider.state.stores.shared import SharedHistory
from contentspider.state.stores.shared_models import SharedModels

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


class Indexing:
    """Brings the indexes of ``CONTENTSPIDER_INDEX`` up to date when the crawl has ended."""

    def __init__(self, options: CrawlOptions, stats: StatsCollector) -> None:
        self._urls = [index_url(url, options.state_dir) for url in options.index]
        self._limits = Limits(force=options.force)
        self._progress_secs = options.progress_secs
        self._stats = stats

    def check(self) -> None:
        """Raise `EngineError` if a URL is none of an index, or its engine's package is missing."""
        for url in self._urls:
            connect(url)

    async def run(self, history: Path) -> None:
        """Bring in what changed; what fails is said and counted, and the crawl none the worse."""
        count = self._stats.inc_value
        for url in self._urls:
            try:
                report = await run_in_thread(sync, history, url, self._limits, self._teller(url))
            except ContentSpiderError as error:
                count("contentspider/index/failed")
                logger.error(
                    f"{error}. What is missing there is in the history: 'contentspider index sync"
                    f" {history.stem} {shown(url)}' brings it in, and so does the next crawl"
                )
                continue
            logger.info("%s: %s", shown(url), report)
            for name in ("upserted", "deleted", "retries"):
                count(f"contentspider/index/{name}", getattr(report, name))
            count("contentspider/index/refused", len(report.refused))

    def _teller(self, url: str) -> Callable[[int, int], None]:
        """Return what says in the log, every some seconds, how far an index is."""
        last = time.monotonic()

        def tell(done: int, total: int) -> None:
            nonlocal last
            if self._progress_secs and time.monotonic() - last >= self._progress_secs:
                last = time.monotonic()
                logger.info("%s: %d of %d changes are in", shown(url), done, total)

        return tell
