"""``--frontier``: the parts of a crawl of one machine give way to those that share it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from contentspider.cluster.holder import SharedHolder
from contentspider.cluster.keeper import SharedKeeper
from contentspider.cluster.scheduler import SharedScheduler
from contentspider.crawl.learning.holder import Holder
from contentspider.crawl.queue.keeper import Keeper

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings


def enable_frontier(settings: BaseSettings) -> None:
    """Replace the parts that are of one process by those that share with others."""
    for one, shared, order in ((Keeper, SharedKeeper, 400), (Holder, SharedHolder, 410)):
        settings.replace_in_component_priority_dict("EXTENSIONS", one, shared, order)
    settings.set("SCHEDULER", SharedScheduler, "addon")
    # Requests have times, which hold for all workers together.
    settings.set("FRONTIER_DELAY", settings.getfloat("DOWNLOAD_DELAY"), "addon")
    settings.set("DOWNLOAD_DELAY", 0, "cmdline")
    settings.set("AUTOTHROTTLE_ENABLED", False, "cmdline")
