"""Reads the documents (PDF, office files, texts) of a crawl, several at a time."""

from __future__ import annotations

import asyncio
import logging
import os
from functools import partial
from typing import TYPE_CHECKING

from scrapy.utils.asyncio import run_in_thread

from contentspider.crawl.base.engine import header, is_closing
from contentspider.crawl.middlewares.guard import RefusedError
from contentspider.page.input.documents import (
    BusyMachineError,
    SlowDocumentError,
    read_document,
    seconds_for,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from contentspider.page.input.page import Page

logger = logging.getLogger(__name__)

MAX_PROCESSES = 4  # each may take 1 GB
# After files that could not be read have taken the first number of seconds of processor time in
# total, each further file gets only the second number of seconds.
MAX_LOST_SECS, SHORT_SECS = 300, 2


class Documents:
    """Reads the documents of a crawl in processes, as many as there are processors. *is_at_end*
    tells whether the crawl asks only for failed pages again: documents are then read one by one,
    because the machine was too busy to read these before.
    """

    def __init__(self, crawler: Crawler, is_at_end: Callable[[], bool]) -> None:
        self._crawler = crawler
        self._is_at_end = is_at_end
        self._processes = asyncio.Semaphore(min(os.cpu_count() or 1, MAX_PROCESSES))
        self._alone = asyncio.Semaphore(1)
        self._lost_secs = 0.0

    async def read(self, response: Response) -> Page | None:
        """Return a document as a page; None if it cannot be read. Raises `RefusedError` if the
        machine is too busy to read it, or the crawl ends meanwhile: the file is asked for again, at
        the end of the crawl or in the next run.
        """
        is_over = partial(is_closing, self._crawler)
        async with self._alone if self._is_at_end() else self._processes:
            seconds = self._seconds_for(response.body)
            content_type = header(response, "Content-Type")
            arguments = (response.body, response.url, seconds, is_over, content_type)
            try:
                page = await run_in_thread(read_document, *arguments)
            except SlowDocumentError as error:
                logger.info("%s cannot be read: %s", response.url, error)
                self._note_loss(seconds)
                return None
            except BusyMachineError as error:
                raise RefusedError("busy", str(error)) from error
        if page is None and is_over():
            raise RefusedError("cut_short", "the crawl ended while this file was read")
        return page

    def _seconds_for(self, body: bytes) -> float:
        is_short = self._lost_secs >= MAX_LOST_SECS
        return SHORT_SECS if is_short else seconds_for(body)

    def _note_loss(self, seconds: float) -> None:
        was_short = self._lost_secs >= MAX_LOST_SECS
        self._lost_secs += seconds
        if self._lost_secs >= MAX_LOST_SECS and not was_short:
            logger.warning(
                "%d s of processor time were lost in documents that cannot be read in their time:"
                " further files get %d s each",
                self._lost_secs,
                SHORT_SECS,
            )
