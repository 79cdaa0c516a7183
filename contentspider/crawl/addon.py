"""The Scrapy add-on: ``ADDONS = {"contentspider.Addon": 500}`` is all that a project needs."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from contentspider.crawl.hold.bodies import BODIES_ORDER, BodiesMiddleware
from contentspider.crawl.hold.holder import Holder, ItemPipelines
from contentspider.crawl.hold.middleware import BlocksMiddleware, PagesMiddleware
from contentspider.crawl.hold.pipeline import ContentPipeline
from contentspider.crawl.options import DEFAULTS, CrawlOptions
from contentspider.crawl.progress import Progress
from contentspider.crawl.queue.answers import AnswersMiddleware
from contentspider.crawl.queue.keeper import Keeper
from contentspider.crawl.queue.scheduler import LedgerScheduler
from contentspider.crawl.spider.headers import HeadersMiddleware
from contentspider.crawl.warc import WarcArchive

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

logger = logging.getLogger(__name__)

# By its path: only a feed of that format needs it.
PARQUET_EXPORTER = "contentspider.crawl.parquet_feed.ParquetItemExporter"
# Below 550, so that responses come decompressed and redirected; above the cache, so that it stays
# lean.
BLOCKS_ORDER = 540
# Nearer to the downloader than who makes new requests of one (redirects, 600): these are without.
HEADERS_ORDER = 690
# Nearer to the downloader than who sends requests again (550), or elsewhere (600).
ANSWERS_ORDER = 650
# Next to the engine: all other spider middlewares see an item, with the response that it is from,
# before it is held.
PAGES_ORDER = 10
# First, so that the other pipelines find the content.
PIPELINE_ORDER = 0


class Addon:
    """Enables contentspider's middlewares, pipeline and progress, and sets its defaults."""

    def update_settings(self, settings: BaseSettings) -> None:
        """Add the components, and the default of each of our settings that the project leaves out.

        Raises `SettingError` if one of them cannot work.
        """
        for name, default in DEFAULTS.items():
            if name not in settings:
                settings.set(name, default, "default")
        options = CrawlOptions.from_settings(settings)
        if not options.enabled:
            return
        # Not in FEED_EXPORTERS, which is the project's own.
        settings["FEED_EXPORTERS_BASE"].setdefault("parquet", PARQUET_EXPORTER)
        if options.durable:
            settings.set("SCHEDULER", LedgerScheduler, "addon")
            if settings["SCHEDULER"] is not LedgerScheduler:
                logger.warning(
                    "CONTENTSPIDER_DURABLE needs SCHEDULER to be left to the add-on; it is %r: a"
                    " killed crawl cannot go on",
                    settings["SCHEDULER"],
                )
        settings.setdefault_in_component_priority_dict("EXTENSIONS", Keeper, 400)
        settings.setdefault_in_component_priority_dict("EXTENSIONS", Holder, 410)
        settings.set("ITEM_PROCESSOR", ItemPipelines, "addon")
        if settings["ITEM_PROCESSOR"] is not ItemPipelines:
            logger.warning(
                "contentspider needs ITEM_PROCESSOR to be left to the add-on; it is %r: items that"
                " are held when the crawl is ended from outside are lost",
                settings["ITEM_PROCESSOR"],
            )
        settings.setdefault_in_component_priority_dict(
            "DOWNLOADER_MIDDLEWARES", BodiesMiddleware, BODIES_ORDER
        )
        settings.setdefault_in_component_priority_dict(
            "DOWNLOADER_MIDDLEWARES", BlocksMiddleware, BLOCKS_ORDER
        )
        settings.setdefault_in_component_priority_dict(
            "DOWNLOADER_MIDDLEWARES", HeadersMiddleware, HEADERS_ORDER
        )
        settings.setdefault_in_component_priority_dict(
            "DOWNLOADER_MIDDLEWARES", AnswersMiddleware, ANSWERS_ORDER
        )
        settings.setdefault_in_component_priority_dict(
            "SPIDER_MIDDLEWARES", PagesMiddleware, PAGES_ORDER
        )
        settings.setdefault_in_component_priority_dict(
            "ITEM_PIPELINES", ContentPipeline, PIPELINE_ORDER
        )
        settings.setdefault_in_component_priority_dict("EXTENSIONS", Progress, 500)
        settings.setdefault_in_component_priority_dict("EXTENSIONS", WarcArchive, 510)
