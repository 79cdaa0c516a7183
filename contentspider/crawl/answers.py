"""The middleware that notes which requests got no answer, and has them wait in an outage."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.exceptions import IgnoreRequest, NotConfigured

from contentspider.crawl.keeper import Keeper

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response


class AnswersMiddleware:
    """Notes in the ledger what became of requests without an answer, and puts them back in the
    queue in an outage.

    Next to the downloader: before it is decided whether a request is sent again.
    """

    def __init__(self, crawler: Crawler) -> None:
        keeper = crawler.get_extension(Keeper)
        if keeper is None:
            raise NotConfigured("contentspider's Keeper is not in EXTENSIONS")
        self.keeper = keeper

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> AnswersMiddleware:
        """Return the middleware of a crawler."""
        return cls(crawler)

    def process_response(self, request: Request, response: Response) -> Response:
        """Note that there are answers."""
        if request.url.startswith("http") and "cached" not in response.flags:
            self.keeper.outage.answered()
        return response

    def process_exception(self, request: Request, exception: Exception) -> Request | None:
        """Note why an address could not be fetched; in an outage it waits in the queue."""
        if isinstance(exception, IgnoreRequest):
            self.keeper.addresses.skipped(request, exception)
            return None
        if self.keeper.addresses.unanswered(request, exception):
            # One place down: the next to be asked is another one.
            return request.replace(dont_filter=True, priority=request.priority - 1)
        return None
