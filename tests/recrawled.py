"""Crawls of a small site with a ledger in memory, one after the other, over one history."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from scrapy.settings import Settings

from contentspider.crawl.base.options import CrawlOptions
from contentspider.crawl.learning.models import SiteState
from contentspider.crawl.revisits.revisits import Revisits
from contentspider.page.input.page import Page
from contentspider.site.models.failures import Failures
from contentspider.site.models.record import page_fields, page_id
from contentspider.state.history.history import History
from contentspider.state.ledger.ledger import Ledger
from contentspider.state.ledger.visits import Answer
from contentspider.state.outcome import Ending
from tests.sites import article

if TYPE_CHECKING:
    from collections import Counter
    from pathlib import Path

SITE = "e.org"
FINISHED = Ending("finished", 1)


def address(path: str) -> str:
    return f"http://{SITE}{path}"


def options(**values: object) -> CrawlOptions:
    named = {f"CONTENTSPIDER_{name.upper()}": value for name, value in values.items()}
    return CrawlOptions.from_settings(Settings(named))


class OneCrawl:
    """A crawl whose pages are given one by one; *history* is the file of its site's history."""

    def __init__(self, history: Path, **values: object) -> None:
        self.path = history
        self.options = options(durable=True, **values)
        self.ledger = Ledger(None)
        self.ledger.begin_run()
        self.revisits = Revisits(self.ledger, history, self.options, Failures())
        self.state = SiteState(SITE)
        earlier = self.revisits._history._database.count("SELECT count(*) FROM crawls")
        self.at = f"2026-01-{earlier + 1:02}T00:00:00+00:00"

    def address(
        self, path: str, state: str = "fetched", reason: str | None = None, **more: Any
    ) -> int:
        """Have an address with its outcome (`Frontier.finish`), and return its row."""
        frontier = self.ledger.frontier
        row = frontier.enqueue(path.encode(), address(path), 0, "{}")
        frontier.queue.take()
        frontier.finish(row, state, reason, **more)
        return row

    def see(
        self,
        path: str,
        html: str | Page,
        answer: Answer | None = None,
        named: str = "",
        is_unsent: bool = False,
    ) -> dict[str, Any]:
        """Visit a page, and return the fields of its item, whose address may be *named* so."""
        row = self.address(path)
        if answer is not None:
            self.ledger.visits.answer(row, answer)
        page = html if isinstance(html, Page) else Page.from_html(html, address(path))
        extraction = self.state.model.extract(page) if self.state.model else None
        fields = page_fields(page, SITE, extraction, self.state.version)
        url = address(named or path)
        fields |= {"url": url, "id": page_id(url), "crawled_at": self.at}
        self.revisits.compare(fields, page, row, self.state, is_unsent)
        return fields

    def end(self, ending: Ending = FINISHED) -> Counter[str]:
        """End the crawl, and return how many pages changed how."""
        counts = asyncio.run(self.revisits.end(ending))
        self.close()
        return +counts

    def resume(self) -> None:
        """Go on with the ledger as a resumed crawl does."""
        self.revisits.close()
        self.revisits = Revisits(self.ledger, self.path, self.options, Failures())

    def close(self) -> None:
        self.revisits.close()
        self.ledger.close()


class Crawls:
    """The crawls of a site, one after the other, each with the history of those before: the first
    one has *count* articles, ``/1``, ``/2`` ...
    """

    def __init__(self, history: Path, count: int = 4) -> None:
        self.history = history
        self._open: list[OneCrawl] = []
        crawl = self.begin()
        for number in range(1, count + 1):
            crawl.see(f"/{number}", article(number), Answer('"tag"', "", (address("/9"),)))
        if count:
            crawl.end()

    def begin(self, **values: object) -> OneCrawl:
        """Begin the next crawl."""
        self.close()
        self._open.append(OneCrawl(self.history, **values))
        return self._open[0]

    def close(self) -> None:
        while self._open:
            self._open.pop().close()

    def known(self) -> History:
        """Return the history, to look at it and to change it, between two crawls."""
        self.close()
        return History(self.history)


def records(history: Path) -> list[tuple[str, str, str]]:
    """Return the path, change and reason of all records of a history, but for unchanged pages."""
    known = History(history, read_only=True)
    found = [
        (record["url"].removeprefix(address("")), record["change"], record["reason"])
        for record in known.changes()
        if record["change"] != "unchanged"
    ]
    known.close()
    return found
