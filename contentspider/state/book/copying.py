"""Copies a book to a file, for a store."""

from __future__ import annotations

import sqlite3
from contextlib import closing, suppress
from typing import TYPE_CHECKING

from contentspider.state.outcome import FINISHED

if TYPE_CHECKING:
    from pathlib import Path

LAST_REASON = "SELECT reason FROM runs ORDER BY number DESC LIMIT 1"
# A finished crawl no longer needs these tables.
FRONTIER_TABLES = ("addresses", "requests", "claims", "answers", "sitemap_dates")


def has_unfinished_run(path: Path) -> bool:
    """Tell whether the last run in a book has not finished its crawl; False for other files."""
    with closing(sqlite3.connect(path)) as book, suppress(sqlite3.Error):
        return book.execute(LAST_REASON).fetchone() not in (None, (FINISHED,))
    return False


def copy_book(source: Path, target: Path) -> Path:
    """Copy a book as its last commit left it, also while another process writes it. The copy lacks
    the frontier of a crawl that is over. Raises sqlite3.Error.
    """
    target.unlink(missing_ok=True)
    with closing(sqlite3.connect(source)) as old, closing(sqlite3.connect(target)) as new:
        old.backup(new)
        if new.execute(LAST_REASON).fetchone() == (FINISHED,):
            with new:
                for table in FRONTIER_TABLES:
                    new.execute(f"DELETE FROM {table}")  # noqa: S608 - our own names
            new.execute("VACUUM")
    return target
