"""The limit on how many pages a crawl requests (``--max-pages``)."""

from __future__ import annotations


class PageBudget:
    """Counts the pages that a crawl requests, up to *limit* (0: no limit). Duplicates and pages
    that cannot be read count, too. Redirects and retries of a page do not count again.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._rows: set[int] = set()
        self._answers = 0

    def reserve(self, row: int) -> bool:
        """Tell whether the address in *row* may be requested, and count it if it may."""
        if not self.limit or row in self._rows:
            return True
        if self.is_spent:
            return False
        self._rows.add(row)
        return True

    def note_answer(self) -> bool:
        """Count a page that was answered or that failed for good. Return whether the crawl must
        end: it may request no further page, and every requested page is answered.
        """
        self._answers += 1
        return bool(self.limit) and self._answers >= self.limit and self.is_spent

    @property
    def is_spent(self) -> bool:
        """Whether the crawl may request no further page."""
        return bool(self.limit) and len(self._rows) >= self.limit
