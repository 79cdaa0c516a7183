"""``--frontier``: the parts of a crawl of one machine give way to those that share it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from contentspider.crawl.hold.holder import Holder
from contentspider.crawl.option import SettingError
from contentspider.crawl.queue.keeper import Keeper
from contentspider.ground.errors import ContentSpiderError
from contentspider_cluster.connection import check_url
from contentspider_cluster.holder import SharedHolder
from contentspider_cluster.keeper import SharedKeeper
from contentspider_cluster.scheduler import SharedScheduler
from contentspider_cluster.sites import keep_apart

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from contentspider.crawl.options import CrawlOptions


class PostgreSQLFrontier:
    """What `contentspider.crawl.options.cluster` gives."""

    @staticmethod
    def check(options: CrawlOptions) -> None:
        """Raise `SettingError` if a crawl with these options cannot be shared."""
        try:
            check_url(options.frontier)
        except ContentSpiderError as error:
            raise SettingError(f"CONTENTSPIDER_FRONTIER (--frontier): {error}") from error
        if not options.durable:
            raise SettingError(
                "CONTENTSPIDER_FRONTIER cannot be used: it needs CONTENTSPIDER_DURABLE=True"
            )
        for name in ("due", "index"):
            if getattr(options, name) and not options.history_url:
                raise SettingError(
                    f"CONTENTSPIDER_{name.upper()} needs the history of all machines: give one that"
                    " they share (--history s3://..., docs/sharing.md)"
                )

    keep_apart = staticmethod(keep_apart)

    @staticmethod
    def enable(settings: BaseSettings) -> None:
        """Replace the parts that are of one process by those that share with others."""
        for one, shared, order in ((Keeper, SharedKeeper, 400), (Holder, SharedHolder, 410)):
            settings.replace_in_component_priority_dict("EXTENSIONS", one, shared, order)
        settings.set("SCHEDULER", SharedScheduler, "addon")
        # Requests have times, which hold for all workers together.
        settings.set("FRONTIER_DELAY", settings.getfloat("DOWNLOAD_DELAY"), "addon")
        settings.set("DOWNLOAD_DELAY", 0, "cmdline")
        settings.set("AUTOTHROTTLE_ENABLED", False, "cmdline")
