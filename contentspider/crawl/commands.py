"""``scrapy crawl`` and ``scrapy runspider`` with our feed formats and exit codes, and ``scrapy
parse`` with the content of items. They replace Scrapy's own commands (entry point group
``scrapy.commands``).

Scrapy checks the format of ``-O pages.parquet`` before it runs add-ons. In projects that enable our
add-on, our exporters are added before the check.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydispatch import dispatcher
from scrapy import Request, signals
from scrapy.commands import BaseRunSpiderCommand, crawl, parse, runspider
from scrapy.signalmanager import SignalManager
from scrapy.utils.misc import load_object

from contentspider.crawl.addon import Addon, add_feed_formats
from contentspider.crawl.learning.holder import ItemHolder
from contentspider.crawl.middlewares.pages import page_of_item
from contentspider.crawl.queue.keeper import BookKeeper
from contentspider.state.outcome import INCOMPLETE, Ending, Outcome, Remaining, decide, pages_read

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from twisted.internet.defer import Deferred

DURABLE = "CONTENTSPIDER_DURABLE"


class _RunCommand(BaseRunSpiderCommand):
    """A command that runs a spider. If the project enables our add-on, it accepts our feed formats,
    and if its crawls are durable, it ends with the exit code of ``contentspider crawl``.
    """

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        """Read the options after our feed formats have been added."""
        assert self.settings is not None
        if any(load_object(addon) is Addon for addon in self.settings.getdict("ADDONS")):
            add_feed_formats(self.settings)
        super().process_options(args, opts)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Run the spider, and set the exit code."""
        crawlers: list[Crawler] = []

        def note(spider: Spider) -> None:
            crawlers.append(spider.crawler)

        SignalManager(dispatcher.Any).connect(note, signals.spider_opened)
        super().run(args, opts)  # type: ignore[safe-super] # of crawl.Command or runspider.Command
        for crawler in crawlers:
            self.exitcode = self.exitcode or _exit_code(crawler)


class CrawlCommand(_RunCommand, crawl.Command):
    """``scrapy crawl``."""


class RunSpiderCommand(_RunCommand, runspider.Command):
    """``scrapy runspider``."""


def _exit_code(crawler: Crawler) -> int:
    """Return the exit code of a crawl that has ended. A crawl that is not durable has the code 0,
    because it has no book, and nothing else knows which pages were not read.
    """
    assert crawler.stats
    if not (crawler.get_extension(BookKeeper) and crawler.settings.getbool(DURABLE)):
        return 0
    # The spider may mean to see only a part of the known pages.
    stats = crawler.stats.get_stats() | {"contentspider/changes/kept": 0}
    ending = Ending.from_stats(stats)
    outcome, _ = decide(stats, Remaining(ending.queued, ending.held))
    if outcome is Outcome.NOTHING_READ and pages_read(stats):  # the spider yields no items
        outcome = Outcome.INCOMPLETE if ending.word == INCOMPLETE else Outcome.COMPLETE
    return outcome


class ParseCommand(parse.Command):
    """``scrapy parse``. It gives the items of a callback to no spider middleware."""

    def run_callback(
        self,
        response: Response,
        callback: Callable[..., Any],
        cb_kwargs: dict[str, Any] | None = None,
    ) -> Deferred[Any]:
        """Run a callback, and fill its items."""
        outputs = super().run_callback(response, callback, cb_kwargs)
        holder = self.pcrawler.get_extension(ItemHolder)
        return outputs.addCallback(_filled, response, holder) if holder else outputs


def _filled(outputs: Iterable[Any], response: Response, holder: ItemHolder) -> Iterator[Any]:
    """Yield the requests and items of a callback, after the items are bound to the page."""
    for output in outputs:
        if not isinstance(output, Request) and output is not None:
            page = page_of_item(output, response, holder)
            if page is not None and not holder.bindings.has(output):
                holder.bindings.bind(output, page.page, page.page_row)
        yield output
