"""Accepts the loss of pages that a crawl held back as doubtful."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from contentspider.ground.errors import ContentSpiderError
from contentspider.state.book.book import Book
from contentspider.state.book.losses import Losses
from contentspider.state.crawls.books import import_old
from contentspider.state.outcome import FINISHED

if TYPE_CHECKING:
    from pathlib import Path


def accept_gone(path: Path) -> int:
    """Mark the pages as gone that the last crawl with the book at *path* held back as doubtful;
    return their number. Raises `BookBusyError` while a crawl runs, and `ContentSpiderError` if
    one has begun and is not finished, since its change records would be published with these.
    """
    import_old(path)
    with closing(Book(path)) as book:
        doubted = list(book.known.doubted())
        if doubted and next(book.pages.all_found(), None) is not None:
            raise ContentSpiderError(
                f"{path}: a crawl has begun since, and is not finished: resume it (--resume), or"
                " crawl anew, and look at its changes again",
                code="crawl-unfinished",
            )
        if doubted:
            last = book.runs.last()
            is_complete = book.is_complete
            book.runs.begin()
            losses = Losses(book)
            for page in doubted:
                losses.mark_gone(page, page.doubt)
            book.runs.end((last and last.reason) or FINISHED)
            book.publish(is_complete)
            book.sync()
        return len(doubted)
