"""``scrapy crawl`` and ``scrapy runspider`` that know our feed formats.

Scrapy checks the format of ``-O pages.parquet`` before it runs add-ons. So these commands, which
stand in for Scrapy's own (entry point group ``scrapy.commands``), add the exporter before that, in
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
    """A command that takes our feed formats where our add-on is enabled."""

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        """Read the options, with our feed formats among the known ones."""
        assert self.settings is not None
        if any(load_object(addon) is Addon for addon in self.settings.getdict("ADDONS")):
            add_feed_formats(self.settings)
        super().process_options(args, opts)


class CrawlCommand(FeedFormats, crawl.Command):
    """``scrapy crawl``."""


class RunSpiderCommand(FeedFormats, runspider.Command):
    """``scrapy runspider``."""
