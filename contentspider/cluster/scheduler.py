"""The queue of a worker: requests that it finds are for all workers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from contentspider.crawl.queue.scheduler import LedgerScheduler

if TYPE_CHECKING:
    from scrapy import Request

    from contentspider.cluster.keeper import SharedKeeper


class SharedScheduler(LedgerScheduler):
    """Queues requests in the ledger of a worker, for all workers."""

    keeper: SharedKeeper

    def has_pending_requests(self) -> bool:
        """Tell whether requests wait anywhere, or may be found."""
        return super().has_pending_requests() or self.keeper.is_open

    def next_request(self) -> Request | None:
        """Return the next request, if nobody can have taken it over."""
        self.keeper.look()
        return super().next_request() if self.keeper.holds_lease else None
