"""How many pages a crawl may ask for (``--max-pages``)."""

from __future__ import annotations


class PageBudget:
    """Counts the pages that a crawl asks for: at most *limit* (0: no limit). Copies and pages that
    cannot be read count, too; redirects and second tries do not.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._rows: set[int] = set()
        self._answers = 0

    def take(self, row: int) -> bool:
        """Tell whether the page of a ledger row may be asked for, and count it if so."""
        if not self.limit or row in self._rows:
            return True
        if self.is_spent:
            return False
        self._rows.add(row)
        return True

    def note_answer(self) -> None:
        """Note that a page was answered, or failed for good."""
        self._answers += 1

    @property
    def is_spent(self) -> bool:
        """Whether no other page may be asked for."""
        return bool(self.limit) and len(self._rows) >= self.limit

    @property
    def is_over(self) -> bool:
        """Whether no other page may be asked for, and all that were have been answered."""
        return self.is_spent and self._answers >= self.limit
