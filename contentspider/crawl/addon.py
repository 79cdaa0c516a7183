"""The Scrapy add-on: ``ADDONS = {"contentspider.Addon": 500}`` is all that a project needs."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from contentspider.crawl.base.options import DEFAULTS
from contentspider.crawl.checks import checked_options
from contentspider.crawl.learning.holder import Holder, ItemPipelines
from contentspider.crawl.learning.pipeline import ContentPipeline
from contentspider.crawl.middlewares.headers import HeadersMiddleware
from contentspider.crawl.middlewares.outages import AnswersMiddleware
from contentspider.crawl.middlewares.pages import (
    BODIES_ORDER,
    BlocksMiddleware,
    BodiesMiddleware,
    PagesMiddleware,
)
from contentspider.crawl.progress import Progress
from contentspider.crawl.queue.keeper import Keeper
from contentspider.crawl.queue.memory import MemoryWatch
from contentspider.crawl.queue.requests import OrderedFingerprinter
from contentspider.crawl.queue.scheduler import LedgerScheduler
from contentspider.crawl.warc import WarcArchive

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

logger = logging.getLogger(__name__)

# By its path: only a feed of that format needs it.
PARQUET_EXPORTER = "contentspider.crawl.parquet_feed.ParquetItemExporter"
COMPONENTS = (
    ("EXTENSIONS", Keeper, 400),
    ("EXTENSIONS", Holder, 410),
    ("EXTENSIONS", MemoryWatch, 420),
    ("EXTENSIONS", Progress, 500),
    ("EXTENSIONS", WarcArchive, 510),
    # Below redirects (600): new requests that are made of one are without.
    ("DOWNLOADER_MIDDLEWARES", HeadersMiddleware, 690),
    # Below 550: responses come decompressed and redirected; above the cache, which stays lean.
    ("DOWNLOADER_MIDDLEWARES", BlocksMiddleware, 540),
    # Nearer to the downloader than who sends requests again (550), or elsewhere (600).
    ("DOWNLOADER_MIDDLEWARES", AnswersMiddleware, 650),
    ("DOWNLOADER_MIDDLEWARES", BodiesMiddleware, BODIES_ORDER),
    # Next to the engine: all other spider middlewares see an item before it is held.
    ("SPIDER_MIDDLEWARES", PagesMiddleware, 10),
    # First, so that the other pipelines find the content.
    ("ITEM_PIPELINES", ContentPipeline, 0),
)


class Addon:
    """Enables contentspider's middlewares, pipeline and progress, and sets its defaults."""

    def update_settings(self, settings: BaseSettings) -> None:
        """Add the components and our settings' defaults; raises `SettingError`."""
        for name, default in DEFAULTS.items():
            if name not in settings:
                settings.set(name, default, "default")
        options = checked_options(settings)
        if not options.enabled:
            return
        add_feed_formats(settings)
        if options.durable:
            _claim(settings, "SCHEDULER", LedgerScheduler, "a killed crawl cannot go on")
        lost = "items that are held when the crawl is ended from outside are lost"
        settings.set("REQUEST_FINGERPRINTER_CLASS", OrderedFingerprinter, "addon")
        # A page that leads on after a while, or reloads itself, is a page.
        settings.set("METAREFRESH_MAXDELAY", 1, "addon")
        _claim(settings, "ITEM_PROCESSOR", ItemPipelines, lost)
        if options.render != "never":
            from contentspider.render.middleware import enable_rendering

            enable_rendering(settings, options)
        for name, component, order in COMPONENTS:
            settings.setdefault_in_component_priority_dict(name, component, order)
        if options.frontier:
            from contentspider.cluster.frontier import enable_frontier

            enable_frontier(settings)


def add_feed_formats(settings: BaseSettings) -> None:
    """Add our feed formats to Scrapy's own; FEED_EXPORTERS is left to the project."""
    settings["FEED_EXPORTERS_BASE"].setdefault("parquet", PARQUET_EXPORTER)


def _claim(settings: BaseSettings, name: str, component: type, otherwise: str) -> None:
    """Set a component, and say what is lost if the project has set another."""
    settings.set(name, component, "addon")
    if settings[name] is not component:
        logger.warning(
            f"contentspider needs {name} to be left to the add-on; it is {settings[name]!r}:"
            f" {otherwise}"
        )
