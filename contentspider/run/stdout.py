"""The items of a crawl on standard output, one by one."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import TYPE_CHECKING, Any

from itemadapter import ItemAdapter
from scrapy import signals

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


class LinesToStdout:
    """Writes each item of a crawl to standard output when it comes out, a JSON line each; the crawl
    is stopped if nobody reads them any more.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        crawler.signals.connect(self.write, signal=signals.item_scraped)

    def write(self, item: Any) -> None:
        """Write an item."""
        line = json.dumps(ItemAdapter(item).asdict(), ensure_ascii=False, default=str)
        try:
            sys.stdout.write(line + "\n")
            sys.stdout.flush()
        except BrokenPipeError:
            # What Python flushes at its end has no reader either.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            self._stopping = asyncio.get_running_loop().create_task(self._crawler.stop_async())
