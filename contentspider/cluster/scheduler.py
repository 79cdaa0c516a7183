"""The scheduler of a worker in a shared crawl."""

from __future__ import annotations

from typing import TYPE_CHECKING

from contentspider.crawl.queue.scheduler import LedgerScheduler

if TYPE_CHECKING:
    from scrapy import Request

    from contentspider.cluster.keeper import SharedKeeper


class SharedScheduler(LedgerScheduler):
    """Puts requests into the ledger of a worker, which shares them with all workers."""

    keeper: SharedKeeper

    def has_pending_requests(self) -> bool:
        """Tell whether any worker has, or may find, requests."""
        return super().has_pending_requests() or self.keeper.is_open

    def next_request(self) -> Request | None:
        """Return the next request; None if another worker may have taken over the addresses."""
        self.keeper.request_addresses()
        return super().next_request() if self.keeper.holds_lease else None
