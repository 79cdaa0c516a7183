"""The state that all parts of a running crawl share, and the errors of the machine that end it."""

from __future__ import annotations

import asyncio
import errno
import logging
import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from scrapy.exceptions import NotConfigured

from contentspider.crawl.base.engine import Component
from contentspider.crawl.base.items import Bindings
from contentspider.crawl.base.options import CrawlOptions
from contentspider.ground.process_memory import MB, memory_limit
from contentspider.site.models.failures import Failures
from contentspider.state.book.database import BookFullError, MemoryShortError

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from contentspider.state.book.book import Book

logger = logging.getLogger(__name__)

# The rows of the pages that the machine failed to process, in this run and in earlier ones.
BLAMED_FACT = "blamed"
# Errors that another page would meet as well: no room, no memory, no more files or processes.
NUMBERS = frozenset(
    [
        *(errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO),
        *(errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN),
    ]
)
NO_THREAD = "can't start new thread"


class MachineError(BookFullError):
    """The machine has failed while a page was read; earlier commits of the book are intact."""

    code = "machine"
    ending = "machine_failed"


def shortage() -> MemoryShortError:
    """Return the error that names the memory limit, and says what to do."""
    limit = memory_limit()
    limit_text = f" (its limit, ulimit -v, is {limit / MB:,.0f} MB)" if limit < math.inf else ""
    return MemoryShortError(f"the process is out of memory{limit_text}: give it more")


def is_memory_error(error: object) -> bool:
    """Tell whether too little memory causes an error."""
    if isinstance(error, MemoryError):
        return True
    return isinstance(error, RuntimeError) and str(error) == NO_THREAD


def machine_error(error: BaseException | None, url: str) -> BookFullError | None:
    """Return the error that stops a crawl if the machine has caused an *error* while the page at an
    address was read; None if the page, or our code, has caused it.
    """
    if isinstance(error, BookFullError):
        return error
    if is_memory_error(error):
        return shortage()
    if isinstance(error, OSError) and error.errno in NUMBERS:
        return MachineError(f"{url}: the machine failed while the page was read ({error})")
    return None


class CrawlState(Component):
    """The options and the book of a crawl. The book of a durable crawl is a file, and a later
    run can resume the crawl from it.
    """

    book: Book
    # `scrapy shell`, `scrapy fetch` and `scrapy parse` have a book in memory.
    is_inspection = False
    # The book cannot be written any more.
    is_broken = False
    # This run continues an earlier run that did not finish.
    is_resumed = False

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self.options = CrawlOptions.from_settings(crawler.settings)
        if not self.options.enabled:
            raise NotConfigured("CONTENTSPIDER_ENABLED is False")
        self.is_durable = self.options.durable
        self.guarded = _Guarded(self.fail)
        self.bindings = Bindings()
        self.failures = Failures(lambda name: self.stats.inc_value(f"contentspider/{name}"))

    @property
    def is_stopping(self) -> bool:
        """Whether the crawl stops because its book cannot be written; it can be resumed."""
        return self.is_broken and self.is_durable

    def commit(self) -> None:
        """Commit the book; a subclass also commits the files that must agree with it."""
        self.book.commit()

    def fail(self, error: Exception) -> None:
        """Stop the crawl because its book cannot be written. The last commit stays intact."""
        if self.is_broken:
            return
        self.is_broken = True
        self.book.rollback()
        self.stats.set_value("contentspider/book/failed", str(error))
        if not self.is_durable:
            logger.error("%s; new items pass without waiting for their site's model", error)
            return
        logger.error(
            f"{error}; the crawl stops, nothing is lost. Mend the cause, then continue with"
            " --resume (CONTENTSPIDER_RESUME)"
        )
        engine = self.crawler.engine
        if engine is not None and engine.spider is not None:
            ending = getattr(error, "ending", BookFullError.ending)
            closing = engine.close_spider_async(reason=ending)
            self._closing = asyncio.get_running_loop().create_task(closing)

    def stop_for(self, error: BookFullError, row: int | None) -> bool:
        """Stop a durable crawl because the machine has failed on the page of the address in
        *row*; tell whether it stops. It goes on if the page has stopped an earlier run:
        `set_aside` the page.
        """
        if not self.is_durable:
            return False
        is_of_page = isinstance(error, (MachineError, MemoryShortError)) and row is not None
        if is_of_page and not self.is_broken:
            with self.guarded:
                blamed = self.book.runs.fact(BLAMED_FACT) or []
                if row in blamed:
                    return False
                self.book.runs.set_fact(BLAMED_FACT, [*blamed, row])
                self.commit()
                self.book.end_run(error.ending)  # so that the next run suspects no other page
        self.fail(error)
        return True


class _Guarded:
    """``with state.guarded:`` stops the crawl on a `BookFullError`, and suppresses the error."""

    def __init__(self, fail: Callable[[Exception], None]) -> None:
        self._fail = fail

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if isinstance(error, BookFullError):
            self._fail(error)
            return True
        return False
