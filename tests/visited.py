"""Crawls that write pages into a book, visit by visit, without a site."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from contentspider.page.input.page import Page
from contentspider.recrawl.changes import LIVE
from contentspider.recrawl.judge import Facts, judge
from contentspider.state.book.answers import Answer
from contentspider.state.book.contents import PAGE
from contentspider.state.book.items import ItemBinding
from contentspider.state.book.losses import Losses
from contentspider.state.book.visits import Visit

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from contentspider.state.book.book import Book
    from contentspider.state.book.pages import PageVersion

DAYS = [f"2026-03-{day:02}T00:00:00+00:00" for day in range(1, 10)]
HTML = "<p>Words that go on for a while, with commas.</p>"
LONG = " ".join(f"word{number}" for number in range(60))
UNKNOWN: dict[str, Any] = {}  # the crawl wants changed pages only, and has left the item out


@dataclass(frozen=True)
class Seen:
    """The visit of the page *name* on a day, by which it *change*d so. *text* is its main content,
    if that is new. *item* is its item, None for one that was dropped. *moved_from* is the name of
    the page that moved here. *values* are other values of the `Visit`.
    """

    name: str
    change: str = "new"
    day: int = 0
    text: str | None = None
    cause: str = "page"
    ratio: float = 0.5
    item: dict[str, Any] | None = field(default_factory=lambda: UNKNOWN)
    page: Page | None = None
    answer: Answer = Answer("e", "m")  # noqa: RUF009 - it is frozen
    links: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    moved_from: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)

    @property
    def facts(self) -> Facts:
        """The facts of a page that changed so, as far as the page alone shows it."""
        cause = "" if self.change == "unchanged" else self.cause
        return Facts(
            cause, self.ratio, is_new=self.change == "new", is_moved=self.change == "moved"
        )


def address(name: str) -> str:
    return f"http://e.org/{name}"


def see(book: Book, seen: Seen) -> PageVersion:
    """Write a visit into a book whose run has begun."""
    found = book.frontier.find(address(seen.name))
    row = (
        found.row
        if found
        else book.frontier.enqueue(seen.name.encode(), address(seen.name), 0, "{}")
    )
    known = book.known.page(seen.moved_from or seen.name)
    links = book.answers.put_links(seen.links, known.links if known else None)
    answer = replace(seen.answer, links=links)
    page = known.page if known and known.id == seen.name else None
    if seen.page is not None:
        page = book.contents.put(PAGE, seen.page.to_json()) if book.has_room else None
    values = {
        "id": seen.name,
        "url": address(seen.name),
        "site": "e.org",
        "at": DAYS[seen.day],
        "facts": seen.facts,
        "content_hash": f"content {seen.day}",
        "text_hash": f"text {seen.day}",
        "layout_hash": "layout",
        "model": "m1",
        "base": known if known is not None and known.state == LIVE else None,
        "page": page,
        **seen.values,
    }
    visit = Visit(**values)
    version = book.visits.write(visit, judge(visit.facts), answer, row)
    text = seen.text if visit.has_new_content else None
    if seen.item is UNKNOWN or seen.item is None:
        book.visits.take_item(seen.name, None, None, text, is_left_out=seen.item is UNKNOWN)
    else:
        hand = ItemBinding(Page.from_html(""), row, row, f"{row}/0", page_id=seen.name)
        line = json.dumps(seen.item).encode()
        _, number = book.items.record(hand, line, base=version.page)
        book.visits.take_item(seen.name, seen.item, number, text)
    return version


@contextmanager
def crawling(book: Book, is_complete: bool = True) -> Iterator[Losses]:
    """Begin a crawl, which the block writes, and publish it."""
    book.begin_crawl()
    book.begin_run()
    losses = Losses(book)
    yield losses
    end(book, losses, is_complete)


def end(book: Book, losses: Losses, is_complete: bool = True) -> None:
    """End a crawl, as `CrawlEnd` does it, and publish it."""
    run, crawl = book.runs.current, book.runs.crawl
    for page_id, seq in book.changes.moves():
        losses.mark_moved(page_id, seq)
    for _ in book.copies.forget_old(run, crawl, is_complete):
        pass
    for page_id, state, links, old_state, old_links in book.pages.link_changes():
        before = old_links if old_state == LIVE else None
        for _ in book.anchors.replace(before, links if state == LIVE else None, run):
            pass
        if (state == LIVE) != (old_state == LIVE):
            book.copies.note(page_id, run)
    for _ in book.anchors.flush(run):
        pass
    for _ in book.anchors.update(run, crawl):
        pass
    book.publish(is_complete)
    book.end_run("finished")


def crawl(book: Book, *visits: Seen, is_complete: bool = True) -> None:
    """Write and publish a crawl with some visits."""
    with crawling(book, is_complete):
        for seen in visits:
            see(book, seen)


def clean(book: Book, is_over: bool = True) -> None:
    """Delete what nobody needs any more."""
    for _ in book.clean(is_over):
        pass


def known(book: Book, name: str) -> PageVersion:
    version = book.known.page(name)
    assert version is not None
    return version
