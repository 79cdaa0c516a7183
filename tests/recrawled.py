"""Crawls of a small site, one after the other, over one book."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from scrapy.settings import Settings

from contentspider.crawl.base.options import CrawlOptions
from contentspider.crawl.learning.models import SiteState
from contentspider.crawl.revisits.revisits import Revisits
from contentspider.ground.json_text import json_text
from contentspider.page.input.page import Page
from contentspider.site.models.failures import Failures
from contentspider.site.models.identity import page_id
from contentspider.site.models.record import page_fields
from contentspider.state.book.answers import Answer
from contentspider.state.book.book import Book
from contentspider.state.book.items import ItemBinding
from contentspider.state.crawls.books import open_crawl
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
    """A crawl whose pages are given one by one; its book is the file at *path*."""

    def __init__(self, path: Path, **values: object) -> None:
        self.path = path
        self.options = options(durable=True, **values)
        max_bytes = self.options.book_mb * 1_000_000
        self.book, self.is_resumed = open_crawl(path, resume=False, max_bytes=max_bytes)
        self.book.begin_run()
        self.revisits = Revisits(self.book, self.options, Failures())
        self.state = SiteState(SITE)
        earlier = self.book.database.count("SELECT count(*) FROM crawls WHERE ended != ''")
        self.at = f"2026-01-{earlier + 1:02}T00:00:00+00:00"

    def address(
        self, path: str, state: str = "fetched", reason: str | None = None, **more: Any
    ) -> int:
        """Have an address with its outcome (`Frontier.finish`), and return its row."""
        frontier = self.book.frontier
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
        links: tuple[str, ...] = (),
    ) -> dict[str, Any]:
        """Visit a page, and return the fields of its item, whose address may be *named* so."""
        row = self.address(path)
        if answer is not None or links:
            answer = answer or Answer()
            if links:
                number = self.book.answers.put_links(dict.fromkeys(links, ()), None)
                answer = replace(answer, links=number)
            self.book.answers.put(row, answer)
        page = html if isinstance(html, Page) else Page.from_html(html, address(path))
        extraction = self.state.model.extract(page) if self.state.model else None
        fields = page_fields(page, SITE, extraction, self.state.version)
        url = address(named or path)
        fields |= {"url": url, "id": page_id(url), "crawled_at": self.at}
        hand = ItemBinding(page, row, row, f"{row}/0", page_id=page_id(url), is_unsent=is_unsent)
        self.revisits.compare(fields, hand, self.state)
        self.book.visits.take_item(page_id(url), None, None, hand.text, is_left_out=True)
        self.hand = hand
        return fields

    def release(self, item: dict[str, Any], **values: Any) -> None:
        """Record that an item of the page that was seen last has passed the pipelines."""
        hand = replace(self.hand, **values)
        is_new, number = self.book.items.record(hand, json_text(item).encode())
        assert is_new
        assert hand.page_id
        assert number
        number, ours = self.book.items.by_our_names(number, hand.names)
        self.book.visits.take_item(hand.page_id, ours, number, hand.text)

    def leave_out(self) -> None:
        """Record that the item of the page that was seen last was left out as unchanged."""
        self.book.items.record(self.hand, None, "unchanged")

    def end(self, ending: Ending = FINISHED) -> Counter[str]:
        """End the crawl, and return how many pages changed how."""
        counts = asyncio.run(self.revisits.end(ending))
        self.book.end_run(ending.word)
        self.close()
        return +counts

    def resume(self) -> None:
        """Go on as a resumed crawl does."""
        self.book.commit()
        self.book.close()
        self.book, self.is_resumed = open_crawl(self.path, resume=True, max_bytes=10**9)
        self.book.begin_run()
        self.revisits = Revisits(self.book, self.options, Failures())

    def close(self) -> None:
        self.book.close()


class Crawls:
    """The crawls of a site, one after the other, each with the history of those before: the first
    one has *count* articles, ``/1``, ``/2`` ...
    """

    def __init__(self, history: Path, count: int = 4) -> None:
        self.history = history
        self._open: list[OneCrawl] = []
        crawl = self.begin()
        for number in range(1, count + 1):
            crawl.see(f"/{number}", article(number), Answer('"tag"'), links=(address("/9"),))
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

    def known(self) -> Book:
        """Return the book, to look at it and to change it, between two crawls."""
        self.close()
        return Book(self.history)


def records(history: Path) -> list[tuple[str, str, str]]:
    """Return the path, change and reason of all records of a book, but for unchanged pages."""
    known = Book(history, read_only=True)
    found = [
        (record["url"].removeprefix(address("")), record["change"], record["reason"])
        for record in known.changes.records()
        if record["change"] != "unchanged"
    ]
    known.close()
    return found
