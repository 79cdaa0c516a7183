"""Finds the page that a copy belongs to, by the books of crawls."""

from __future__ import annotations

import logging
from contextlib import closing
from typing import TYPE_CHECKING

from contentspider.ground.errors import ContentSpiderError
from contentspider.state.crawls.books import read_book

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

logger = logging.getLogger(__name__)


def original_ids(books: Iterable[Path], copy_id: str) -> Iterator[str]:
    """Yield the ids of the pages that crawls recorded as the originals of a copy.

    A book that cannot be read is left out, with a warning.
    """
    for path in books:
        try:
            with closing(read_book(path)) as book:
                original = book.known.original_of(copy_id)
        except ContentSpiderError as error:
            logger.warning("copies of pages in %s are not found: %s", path, error)
            continue
        if original:
            yield original
