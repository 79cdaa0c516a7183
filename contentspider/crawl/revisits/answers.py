"""What answers say of known pages, and what the history keeps of them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from scrapy.exceptions import NotConfigured
from scrapy.http import HtmlResponse, Response

from contentspider.crawl.engine import Component, extension, header
from contentspider.crawl.hold.binding import BINDINGS_META_KEY, PAGE_META_KEY, ROW_META_KEY
from contentspider.crawl.hold.holder import Holder
from contentspider.crawl.queue.addresses import NOT_MODIFIED_STATUS, PERMANENT, status_reason
from contentspider.crawl.revisits.due import CHECKED_EACH
from contentspider.state.ledger.visits import Answer

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

    from contentspider.crawl.queue.keeper import Keeper
    from contentspider.page.input.page import Page
    from contentspider.state.history.known import KnownPage
    from contentspider.state.ledger.own_texts import OwnAnswer

ORPHAN_META_KEY = "contentspider_orphan"
# The id of the page that was asked for if it has changed; that it is asked for all the same.
CONDITIONAL_META_KEY = "contentspider_conditional"
CHECK_META_KEY = "contentspider_check"
NOT_MODIFIED = "not modified"
MAX_VALIDATOR_CHARS = 500
PASSWORD = re.compile(rb"""<input\b[^>]{0,500}\btype\s*=\s*["']?password""", re.IGNORECASE)
CONDITIONAL_ORDER = 535  # after a page is tagged: an answer of 304 has no blocks
ASKING = {"etag": "If-None-Match", "last_modified": "If-Modified-Since"}


class ConditionalMiddleware(Component):
    """Asks for known pages only if they have changed; if not (304), the history gives the page."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self.holder = extension(crawler, Holder)
        self.keeper = self.holder.keeper
        if not self.holder.options.conditional or not self.keeper.is_durable:
            raise NotConfigured
        self._answered: dict[str, int] = {}

    def process_request(self, request: Request) -> None:
        """Ask whether a known page has changed, if the site is to be believed."""
        # A redirect and a retry copy the headers of the request before.
        if request.meta.pop(CONDITIONAL_META_KEY, None):
            for header in ASKING.values():
                request.headers.pop(header, None)
        revisits = self.keeper.revisits
        if revisits is None or self.keeper.is_broken or CHECK_META_KEY in request.meta:
            return
        is_page = getattr(self.crawler.spider, "is_page_request", lambda _: False)
        if not is_page(request) or self.holder.models.overrides(request.url) is not None:
            return
        known = revisits.conditional(request.url, self.holder.keys.key(request.url))
        if known is not None:
            request.headers.update(asking(known))
            request.meta[CONDITIONAL_META_KEY] = known.id

    def process_response(self, request: Request, response: Response) -> Request | Response:
        """Take the page from the history if it has not changed."""
        known = request.meta.get(CONDITIONAL_META_KEY)
        revisits = self.keeper.revisits
        if response.status != NOT_MODIFIED_STATUS or known is None or revisits is None:
            return response
        page = revisits.stored(known)
        site = self.holder.keys.key(request.url)
        count = self._answered[site] = self._answered.get(site, 0) + 1
        if page is None or count % CHECKED_EACH == 1:
            return request.replace(dont_filter=True, meta={**request.meta, CHECK_META_KEY: True})
        request.meta[PAGE_META_KEY] = page
        request.meta[BINDINGS_META_KEY] = self.holder.bindings
        self.stats.inc_value("contentspider/pages/not_modified")
        given = {"headers": response.headers, "flags": [*response.flags, NOT_MODIFIED]}
        return HtmlResponse(response.url, request=request, encoding="utf-8", **given)


def asking(known: KnownPage | OwnAnswer) -> dict[str, str]:
    """Return the headers that ask for what has changed since something was known."""
    return {header: value for name, header in ASKING.items() if (value := getattr(known, name))}


def note_answer(keeper: Keeper, response: Response, links: Iterable[str]) -> None:
    """Keep for the history what an answer says beside its text, and where its page leads."""
    row = response.meta.get(ROW_META_KEY)
    if keeper.revisits is None or keeper.is_broken or row is None:
        return
    is_unsent = NOT_MODIFIED in response.flags
    known = keeper.revisits.known(response.url) if is_unsent else None
    answer = Answer(
        _validator(response, "ETag") or (known.etag if known else ""),
        _validator(response, "Last-Modified") or (known.last_modified if known else ""),
        tuple(links),
        _moved_from(response),
        ORPHAN_META_KEY in response.meta,
        CHECK_META_KEY in response.meta,
        is_unsent,
    )
    with keeper.guarded:
        keeper.ledger.visits.answer(row, answer)


def _validator(response: Response, name: str) -> str:
    """Return a header by which a later request may ask whether the page has changed."""
    value = header(response, name)
    return value if len(value) <= MAX_VALIDATOR_CHARS and value.isprintable() else ""


def redirect_reason(request: Request) -> str | None:
    """Return by which answer a request was redirected; None if it was not."""
    reasons = request.meta.get("redirect_reasons")
    return status_reason(reasons[-1]) if reasons else None


def _moved_from(response: Response) -> tuple[tuple[str, str], ...]:
    """Return the addresses from which permanent redirects alone led to an answer, and how."""
    reasons = response.meta.get("redirect_reasons", ())
    if not all(reason in PERMANENT for reason in reasons):
        return ()
    moved = zip(response.meta.get("redirect_urls", ()), map(status_reason, reasons), strict=False)
    # One that leads back to itself sets a cookie.
    return tuple((url, reason) for url, reason in moved if url != response.url)


def previous_links(keeper: Keeper, response: Response) -> list[str]:
    """Return where a page led when it was last read, if it was not sent this time."""
    if NOT_MODIFIED not in response.flags or keeper.revisits is None:
        return []
    return keeper.revisits.previous_links(response.url)


def replacement_of(keeper: Keeper, holder: Holder, response: Response, page: Page) -> str:
    """Return what stands in the place of a known page (`Revisits.replacement_kind`)."""
    if keeper.revisits is None or keeper.revisits.is_first or NOT_MODIFIED in response.flags:
        return ""
    has_password = isinstance(response, HtmlResponse) and PASSWORD.search(response.body)

    def content() -> str:
        model = holder.site(response.url).model
        return model.extract(page).text if model is not None else ""

    return keeper.revisits.replacement_kind(page, response.url, bool(has_password), content)
