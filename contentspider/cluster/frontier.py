"""Replaces components of a crawl by components of a crawl that several machines share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from contentspider.cluster.holder import SharedHolder
from contentspider.cluster.keeper import SharedKeeper
from contentspider.cluster.scheduler import SharedScheduler
from contentspider.crawl.learning.holder import ItemHolder
from contentspider.crawl.queue.keeper import LedgerKeeper

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings


def enable_frontier(settings: BaseSettings) -> None:
    """Replace Scrapy components for a crawl with ``--frontier``."""
    for component, shared, order in (
        (LedgerKeeper, SharedKeeper, 400),
        (ItemHolder, SharedHolder, 410),
    ):
        settings.replace_in_component_priority_dict("EXTENSIONS", component, shared, order)
    settings.set("SCHEDULER", SharedScheduler, "addon")
    # Time slots (`SharedHosts`) keep the delay for all workers together. The delay of each worker
    # is turned off.
    settings.set("FRONTIER_DELAY", settings.getfloat("DOWNLOAD_DELAY"), "addon")
    settings.set("DOWNLOAD_DELAY", 0, "cmdline")
    settings.set("AUTOTHROTTLE_ENABLED", False, "cmdline")
