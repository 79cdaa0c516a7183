"""What the site spider tells the history of each answer."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from scrapy.http import HtmlResponse

from contentspider.crawl.hold.binding import ROW_META_KEY
from contentspider.crawl.queue.addresses import PERMANENT, status_reason
from contentspider.state.ledger.visits import Answer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy import Request
    from scrapy.http import Response

    from contentspider.crawl.hold.holder import Holder
    from contentspider.crawl.queue.keeper import Keeper
    from contentspider.page.input.page import Page

ORPHAN_META_KEY = "contentspider_orphan"
# The id of the page that was asked for if it has changed; that it is asked for all the same.
CONDITIONAL_META_KEY = "contentspider_conditional"
CHECK_META_KEY = "contentspider_check"
NOT_MODIFIED = "not modified"
MAX_VALIDATOR_CHARS = 500
PASSWORD = re.compile(rb"""<input\b[^>]{0,500}\btype\s*=\s*["']?password""", re.IGNORECASE)


def note_answer(keeper: Keeper, response: Response, links: Iterable[str]) -> None:
    """Keep what an answer says of its page beside the text, and where the page leads, for the
    crawl's history, if it has one.
    """
    row = response.meta.get(ROW_META_KEY)
    if keeper.revisits is None or keeper.is_broken or row is None:
        return
    known = keeper.revisits.validators(response.url) if NOT_MODIFIED in response.flags else ("", "")
    answer = Answer(
        validator(response, "ETag") or known[0],
        validator(response, "Last-Modified") or known[1],
        tuple(links),
        moved_from(response),
        ORPHAN_META_KEY in response.meta,
        CHECK_META_KEY in response.meta,
        NOT_MODIFIED in response.flags,
    )
    with keeper.guarded:
        keeper.revisits.note_answer(row, answer)


def validator(response: Response, header: str) -> str:
    """Return a header by which a later request may ask whether the page has changed."""
    value = (response.headers.get(header) or b"").decode("latin-1").strip()
    return value if len(value) <= MAX_VALIDATOR_CHARS and value.isprintable() else ""


def redirect_reason(request: Request) -> str | None:
    """Return by which answer a request was redirected; None if it was not, or by its page."""
    reasons = request.meta.get("redirect_reasons")
    return status_reason(reasons[-1]) if reasons and isinstance(reasons[-1], int) else None


def moved_from(response: Response) -> tuple[tuple[str, str], ...]:
    """Return the addresses from which permanent redirects alone led to an answer, and how."""
    reasons = response.meta.get("redirect_reasons", ())
    if not all(reason in PERMANENT for reason in reasons):
        return ()
    return tuple(
        (url, status_reason(reason))
        for url, reason in zip(response.meta.get("redirect_urls", ()), reasons, strict=False)
    )


def known_links(keeper: Keeper, response: Response) -> list[str]:
    """Return where a page led when it was last read, if it has not been sent since it has not
    changed.
    """
    if NOT_MODIFIED not in response.flags or keeper.revisits is None:
        return []
    return list(keeper.revisits.known_links(response.url))


def standing_in(keeper: Keeper, holder: Holder, response: Response, page: Page) -> str:
    """Return what stands in the place of a page, if its site has a history
    (`Revisits.stands_in`).
    """
    if keeper.revisits is None or keeper.revisits.is_first or NOT_MODIFIED in response.flags:
        return ""
    has_password = isinstance(response, HtmlResponse) and PASSWORD.search(response.body)

    def content() -> str:
        model = holder.site(response.url).model
        return model.extract(page).text if model is not None else ""

    return keeper.revisits.stands_in(page, response.url, bool(has_password), content)
