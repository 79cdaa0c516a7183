"""Accepts the loss of pages that a crawl held back as doubtful."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from contentspider.state.book.book import Book
from contentspider.state.book.losses import Losses
from contentspider.state.crawls.books import import_old
from contentspider.state.outcome import FINISHED

if TYPE_CHECKING:
    from pathlib import Path


def accept_gone(path: Path) -> int:
    """Mark the pages as gone that the last crawl with the book at *path* held back as doubtful;
    return their number. Raises `LedgerBusyError` while a crawl runs.
    """
    import_old(path)
    with closing(Book(path)) as book:
        doubted = list(book.known.doubted())
        last = book.runs.last()
        if doubted and last is not None:
            is_complete = book.is_complete
            book.runs.begin()
            losses = Losses(book)
            for page in doubted:
                losses.mark_gone(page, page.doubt)
            book.runs.end(last.reason or FINISHED)
            book.publish(is_complete)
            book.sync()
        return len(doubted)
