"""The end of a run: its pages and its output are published, and the book says how it ended."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from contentspider.crawl.base.overrides import LeftOverrides
from contentspider.crawl.revisits.gone import no_exclusion
from contentspider.ground.counts import counted
from contentspider.recrawl.changes import UNCHANGED
from contentspider.state.book.database import BookFullError
from contentspider.state.outcome import (
    FINISHED,
    LEFT_OUT_STAT,
    LEFT_OVERRIDES_STAT,
    SHUTDOWN,
    UNLEARNED_FACT,
    Ending,
    hidden_sites,
)

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from contentspider.crawl.base.state import CrawlState
    from contentspider.crawl.queue.sharing import Sharing
    from contentspider.crawl.revisits.revisits import Revisits
    from contentspider.state.book.book import Book
    from contentspider.state.files.output import JsonLinesWriter

logger = logging.getLogger(__name__)

# Seconds between two pauses of the last work, and between two reports of its progress.
PAUSE_SECS, REPORT_SECS = 0.2, 10.0


class EndInterruptedError(Exception):
    """Raised when a signal comes while a crawl does its last work."""


class Pauses:
    """Pauses the last work of a crawl: to commit it, to report its progress, and to look for
    signals.
    """

    def __init__(self, crawler: Crawler, book: Book) -> None:
        self._crawler = crawler
        self._book = book
        self._next_pause = time.monotonic()
        self._next_report = self._next_pause + REPORT_SECS  # most ends are over by then

    async def pause(self) -> None:
        """Pause if it is time; raises `EndInterruptedError` if the crawl was told to end."""
        now = time.monotonic()
        if now >= self._next_pause:
            self._next_pause = now + PAUSE_SECS
            self._book.commit()
            await asyncio.sleep(0)
        if not self._crawler.crawling:
            raise EndInterruptedError("the crawl was stopped")

    async def report(self, step: str) -> None:
        """Log the present *step* of the end ("filters pages again"), if it is time; then pause."""
        now = time.monotonic()
        if now >= self._next_report:
            self._next_report = now + REPORT_SECS
            logger.info("end of the crawl: it %s", step)
        await self.pause()


class RunEnd:
    """Writes the end of a run of a *crawl*: publishes its pages by *revisits* and its output by
    *writer*, and ends the run in the book.
    """

    def __init__(
        self,
        crawl: CrawlState,
        revisits: Revisits | None,
        writer: JsonLinesWriter | None,
        sharing: Sharing,
    ) -> None:
        self._crawl, self._book = crawl, crawl.book
        self._revisits, self._writer, self._sharing = revisits, writer, sharing
        # The changes of the pages are published, so that indexes can follow.
        self.is_published = False

    async def write(self, reason: str) -> None:
        """Publish the pages and the output, and end the run in the book."""
        ending = self._ending(reason)
        self._set_stats(ending)
        if self._revisits and ending.is_end:
            ending = await self._publish_pages(self._revisits, ending)
        self._book.commit()
        if self._writer:
            self._writer.sync()
        self._book.sync()
        if self._writer:
            self._publish(self._writer, ending)
        # The run ends last: after a kill before this step a resumed crawl repeats the steps above.
        self._book.end_run(ending.word)
        if self.is_published:
            await self._clean(ending.word == FINISHED)

    def _set_stats(self, ending: Ending) -> None:
        for name, value in ending.stats().items():
            self._crawl.stats.set_value(name, value)

    async def _clean(self, is_over: bool) -> None:
        """Delete from the book what nobody needs any more. After a signal the rest stays until the
        next crawl has ended: the crawl is complete without this step.
        """
        pauses = Pauses(self._crawl.crawler, self._book)
        try:
            for _ in self._book.clean(is_over):
                await pauses.pause()
        except (EndInterruptedError, BookFullError) as error:
            self._book.rollback()
            logger.info("the book keeps more than it needs: %s", error)

    async def _publish_pages(self, revisits: Revisits, ending: Ending) -> Ending:
        """Publish the changes of the pages, and count them. Return how the crawl ended. Nothing is
        published if a signal interrupts the crawl meanwhile.
        """
        self._sharing.begin_change()
        exclusion = getattr(self._crawl.crawler.spider, "exclusion", no_exclusion)
        try:
            pauses = Pauses(self._crawl.crawler, self._book)
            counts = await revisits.end(ending, exclusion, pauses.report)
        except EndInterruptedError as error:
            self._book.rollback()
            self._crawl.stats.set_value("finish_reason", SHUTDOWN)
            logger.warning(
                "%s while its pages were settled: nothing of it is published, and --resume"
                " (CONTENTSPIDER_RESUME) publishes it",
                error,
            )
            return replace(ending, reason=SHUTDOWN)
        for change, number in counts.items():
            self._crawl.stats.set_value(f"contentspider/changes/{change}", number)
        if left_out := self._book.items.count(UNCHANGED) - ending.unchanged:
            items, unchanged = ending.items - left_out, ending.unchanged + left_out
            ending = replace(ending, items=items, unchanged=unchanged)
            self._set_stats(ending)
            self._crawl.stats.inc_value(LEFT_OUT_STAT, left_out)
        self.is_published = True
        for site, text in LeftOverrides(self._book, self._crawl.options).all():
            self._crawl.stats.set_value(LEFT_OVERRIDES_STAT + site, text)
            logger.warning("corrections: %s", text)
        if not self._crawl.options.force:
            unseen = counts.get("kept", 0) + counts.get("doubted", 0) - counts.get("excluded", 0)
            ending = replace(ending, unseen=unseen)
            self._crawl.stats.set_value("contentspider/book/unseen", ending.unseen)
        return ending

    def _publish(self, writer: JsonLinesWriter, ending: Ending) -> None:
        """Replace the output file, unless the crawl misses too many pages of the old file."""
        if self._book.items.has_refilled:
            writer.rewrite(self._book.items.lines())
        if ending.may_replace(writer.path.exists()):
            writer.publish()
            return
        counts = [
            (ending.queued, "addresses", "in the queue"),
            (ending.unread, "addresses", "that could not be read"),
            (ending.unseen, "known pages", "that it did not read"),
        ]
        left = "".join(f", {counted(n, what)} {how}" for n, what, how in counts if n)
        logger.warning(
            f"{writer.path} is left unchanged: the crawl ended ({ending.word}) with"
            f" {counted(ending.items, 'items')}{left}.{self._next_step(writer, ending)}"
        )

    def _next_step(self, writer: JsonLinesWriter, ending: Ending) -> str:
        """Return a sentence about the items of a crawl whose output is not replaced."""
        if not ending.items:
            return ""
        if ending.word != FINISHED:
            return f" The new items are in {writer.partial.name}; a resumed crawl continues it"
        name = self._book.path.stem if self._book.path else "CRAWL"
        replay = f"contentspider replay {name} -o FILE"
        return f" '{replay}' writes the new items to a file of your choice"

    def _ending(self, reason: str) -> Ending:
        """Return how the crawl ended, with the counts that its outcome depends on."""
        items, frontier = self._book.items, self._book.frontier
        scraped = self._crawl.stats.get_value("item_scraped_count", 0)
        return Ending(
            reason,
            items=items.count() if self._crawl.is_durable else scraped,
            queued=frontier.queue.length,
            unread=frontier.unread,
            held=sum(items.held_counts().values()),
            unchanged=items.count(UNCHANGED),
            never_read=self._never_read(),
            unlearned=len(self._book.runs.fact(UNLEARNED_FACT) or []),
            hidden=sum(count for _, count in hidden_sites(self._crawl.stats.get_stats()).values()),
        )

    def _never_read(self) -> int:
        """Return how many unread addresses no earlier crawl has read; 0 in the first crawl."""
        if self._revisits is None or self._revisits.is_first:
            return 0
        addresses = self._book.frontier.unread_addresses()
        return sum(not self._revisits.is_known(address) for address, _ in addresses)
