"""The Scrapy add-on. A project enables it with ``ADDONS = {"contentspider.Addon": 500}``."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from scrapy.extensions.httpcache import DummyPolicy
from scrapy.utils.misc import load_object

from contentspider.crawl.base.options import DEFAULTS
from contentspider.crawl.checks import checked_options
from contentspider.crawl.handlers import enable_handlers
from contentspider.crawl.learning.holder import ItemHolder, ItemPipelines
from contentspider.crawl.learning.pipeline import ContentPipeline
from contentspider.crawl.middlewares.cookies import SiteCookies
from contentspider.crawl.middlewares.headers import HeadersMiddleware
from contentspider.crawl.middlewares.login import (
    LOGIN_ORDER,
    LOGIN_PAGES_ORDER,
    LoginMiddleware,
    LoginPagesMiddleware,
)
from contentspider.crawl.middlewares.outages import OutageMiddleware
from contentspider.crawl.middlewares.pages import (
    BODIES_ORDER,
    BlocksMiddleware,
    BodiesMiddleware,
    PagesMiddleware,
)
from contentspider.crawl.progress import Progress
from contentspider.crawl.queue.keeper import BookKeeper
from contentspider.crawl.queue.memory import MemoryWatch
from contentspider.crawl.queue.requests import OrderedFingerprinter
from contentspider.crawl.queue.scheduler import BookScheduler
from contentspider.crawl.warc import WarcArchive
from contentspider.ground.errors import ContentSpiderError

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from contentspider.crawl.base.options import CrawlOptions

logger = logging.getLogger(__name__)

# A path, so that the module is imported only for a feed of this format.
PARQUET_EXPORTER = "contentspider.crawl.parquet_feed.ParquetItemExporter"
SCRAPY_COOKIES = "scrapy.downloadermiddlewares.cookies.CookiesMiddleware"
COOKIES_ORDER = 700
COMPONENTS = (
    ("EXTENSIONS", BookKeeper, 400),
    ("EXTENSIONS", ItemHolder, 410),
    ("EXTENSIONS", MemoryWatch, 420),
    ("EXTENSIONS", Progress, 500),
    ("EXTENSIONS", WarcArchive, 510),
    # Below redirects (600), so that the requests of redirects get no headers from the old request.
    ("DOWNLOADER_MIDDLEWARES", HeadersMiddleware, 690),
    # An order below 550 sees responses after they are decompressed and redirected. An order above
    # the cache's is needed, since the cache stores no pages.
    ("DOWNLOADER_MIDDLEWARES", BlocksMiddleware, 540),
    # Nearer to the downloader than the middlewares for retries (550) and redirects (600).
    ("DOWNLOADER_MIDDLEWARES", OutageMiddleware, 650),
    ("DOWNLOADER_MIDDLEWARES", BodiesMiddleware, BODIES_ORDER),
    # Next to the engine, so that all other spider middlewares see an item before it is held.
    ("SPIDER_MIDDLEWARES", PagesMiddleware, 10),
    # First, so that the other pipelines find the content.
    ("ITEM_PIPELINES", ContentPipeline, 0),
)


class Addon:
    """Enables the components of contentspider, and sets the defaults of its settings."""

    def update_settings(self, settings: BaseSettings) -> None:
        """Add the components and the defaults of our settings; raises `SettingError`."""
        for name, default in DEFAULTS.items():
            if name not in settings:
                settings.set(name, default, "default")
        try:
            options = checked_options(settings)
        except ContentSpiderError as error:
            _say_in_one_line(error)
            raise
        if options.enabled:
            self._enable(settings, options)

    def _enable(self, settings: BaseSettings, options: CrawlOptions) -> None:
        add_feed_formats(settings)
        enable_handlers(settings, options)
        if options.durable:
            _claim(settings, "SCHEDULER", BookScheduler, "a killed crawl cannot be resumed")
            _warn_of_cache(settings)
        consequence = "items that are held are lost when the crawl is stopped from outside"
        settings.set("REQUEST_FINGERPRINTER_CLASS", OrderedFingerprinter, "addon")
        # A page that redirects or reloads after more than a second has content of its own.
        settings.set("METAREFRESH_MAXDELAY", 1, "addon")
        _claim(settings, "ITEM_PROCESSOR", ItemPipelines, consequence)
        if options.render != "never":
            from contentspider.render.middleware import enable_rendering

            enable_rendering(settings, options)
        for name, component, order in COMPONENTS:
            settings.setdefault_in_component_priority_dict(name, component, order)
        if options.login:
            _enable_logins(settings)


def _say_in_one_line(error: ContentSpiderError) -> None:
    """Log an error in one line if nobody handles it. ``scrapy crawl`` leaves the errors of add-ons
    to the event loop, which would log a traceback.
    """
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:  # `scrapy shell` starts its loop later, and raises the error
        return
    handle = loop.get_exception_handler()

    def say(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if context.get("exception") is error:
            logger.error("nothing is crawled: %s", error)
        elif handle is not None:
            handle(loop, context)
        else:
            loop.default_exception_handler(context)

    loop.set_exception_handler(say)


def _enable_logins(settings: BaseSettings) -> None:
    """Add the middlewares that log in, and our cookies in place of Scrapy's."""
    name = "DOWNLOADER_MIDDLEWARES"
    settings[name].setdefault(SCRAPY_COOKIES, None)
    settings.setdefault_in_component_priority_dict(name, SiteCookies, COOKIES_ORDER)
    settings.setdefault_in_component_priority_dict(name, LoginMiddleware, LOGIN_ORDER)
    settings.setdefault_in_component_priority_dict(name, LoginPagesMiddleware, LOGIN_PAGES_ORDER)


def add_feed_formats(settings: BaseSettings) -> None:
    """Add our feed formats to Scrapy's base formats. FEED_EXPORTERS belongs to the project."""
    settings["FEED_EXPORTERS_BASE"].setdefault("parquet", PARQUET_EXPORTER)


def _warn_of_cache(settings: BaseSettings) -> None:
    """Warn of a cache whose answers never expire: later crawls would see no change of a page."""
    if not settings.getbool("HTTPCACHE_ENABLED") or settings.getint("HTTPCACHE_EXPIRATION_SECS"):
        return
    if load_object(settings["HTTPCACHE_POLICY"]) is DummyPolicy:
        logger.warning(
            "HTTPCACHE_ENABLED: the cache keeps answers for ever (HTTPCACHE_EXPIRATION_SECS is 0),"
            " so later crawls see no changes of pages that are in it. Set"
            " HTTPCACHE_EXPIRATION_SECS, or HTTPCACHE_POLICY ="
            " 'scrapy.extensions.httpcache.RFC2616Policy', or leave the cache off"
        )


def _claim(settings: BaseSettings, name: str, component: type, consequence: str) -> None:
    """Set a component, and warn of the *consequence* if the project sets another."""
    settings.set(name, component, "addon")
    if settings[name] is not component:
        logger.warning(
            f"{name} is {settings[name]!r}, in place of contentspider's {component.__name__}:"
            f" {consequence}. Leave {name} to the add-on"
        )
