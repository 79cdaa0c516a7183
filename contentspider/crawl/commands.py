"""``scrapy crawl`` and ``scrapy runspider`` with our feed formats.

Scrapy checks the format of ``-O pages.parquet`` before it runs add-ons. These commands replace
Scrapy's own (entry point group ``scrapy.commands``), and add our exporters before the check, in
projects that enable our add-on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.commands import BaseRunSpiderCommand, crawl, runspider
from scrapy.utils.misc import load_object

from contentspider.crawl.addon import Addon, add_feed_formats

if TYPE_CHECKING:
    import argparse


class FeedFormats(BaseRunSpiderCommand):
    """A command that accepts our feed formats if the project enables our add-on."""

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        """Read the options after our feed formats have been added."""
        assert self.settings is not None
        if any(load_object(addon) is Addon for addon in self.settings.getdict("ADDONS")):
            add_feed_formats(self.settings)
        super().process_options(args, opts)


class CrawlCommand(FeedFormats, crawl.Command):
    """``scrapy crawl``."""


class RunSpiderCommand(FeedFormats, runspider.Command):
    """``scrapy runspider``."""
