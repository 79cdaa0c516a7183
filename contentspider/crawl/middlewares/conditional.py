"""Conditional requests for known pages. The answers are recorded in the book."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from hashlib import blake2b
from typing import TYPE_CHECKING

from scrapy.exceptions import NotConfigured
from scrapy.http import HtmlResponse, Response

from contentspider.crawl.base.engine import Component, extension, header
from contentspider.crawl.base.meta import (
    BINDINGS_META_KEY,
    CHECK_META_KEY,
    CONDITIONAL_META_KEY,
    ORPHAN_META_KEY,
    PAGE_META_KEY,
    ROW_META_KEY,
)
from contentspider.crawl.base.outcomes import (
    NOT_MODIFIED,
    NOT_MODIFIED_STATUS,
    OK_STATUS,
    PERMANENT,
    SAME_BODY,
    status_reason,
)
from contentspider.crawl.learning.holder import ItemHolder
from contentspider.crawl.queue.keeper import BookKeeper
from contentspider.crawl.revisits.due_pages import CHECKED_EACH
from contentspider.state.book.answers import Answer

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

    from contentspider.page.input.page import Page
    from contentspider.state.book.own_texts import OwnAnswer
    from contentspider.state.book.pages import PageVersion

MAX_VALIDATOR_CHARS = 500
PASSWORD = re.compile(rb"""<input\b[^>]{0,500}\btype\s*=\s*["']?password""", re.IGNORECASE)
CONDITIONAL_ORDER = 535  # after the middleware that reads pages, as a 304 has an empty body
SAME_BODY_ORDER = 587  # after bodies are decompressed (590), before they are read (585)
# A page without validators gets the hash of its body, which is never sent.
BODY_VALIDATOR = "body:"
# Headers that change how a page is read.
READING_HEADERS = ("Content-Type", "X-Robots-Tag")
CONDITIONAL_HEADERS = {"etag": "If-None-Match", "last_modified": "If-Modified-Since"}
# The ETag of a compressed body: the name of the coding follows the tag of the file.
CODED_ETAG = re.compile(r'((?:W/)?"[^"]+?)(?:-{1,2}|[;+:])(?:gzip|deflate|br|zstd)"')


class ConditionalMiddleware(Component):
    """Requests known pages only if they have changed. For the answer 304 (not modified) it returns
    the page from the book; one in `CHECKED_EACH` such pages is fetched to check the server.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self.holder = extension(crawler, ItemHolder)
        self.keeper = self.holder.keeper
        if not self.keeper.is_durable:
            raise NotConfigured
        # By site, the number of its 304 answers.
        self._not_modified: dict[str, int] = {}

    def process_request(self, request: Request) -> None:
        """Add the validators of a known page, unless its site has answered 304 wrongly."""
        # Redirects and retries copy the headers of the earlier request.
        if request.meta.pop(CONDITIONAL_META_KEY, None):
            for name in CONDITIONAL_HEADERS.values():
                request.headers.pop(name, None)
        revisits = self.keeper.revisits
        if revisits is None or self.keeper.is_broken or CHECK_META_KEY in request.meta:
            return
        is_page = getattr(self.crawler.spider, "is_page_request", lambda _: False)
        if not is_page(request) or self.holder.models.overrides(request.url) is not None:
            return
        known_page = revisits.page_with_validators(request.url, self.holder.keys.key(request.url))
        if known_page is not None:
            request.headers.update(conditional_headers(known_page))
            request.meta[CONDITIONAL_META_KEY] = known_page.id

    def process_response(self, request: Request, response: Response) -> Request | Response:
        """Return the page from the book if the answer is 304, or a request to check it."""
        known_id = request.meta.get(CONDITIONAL_META_KEY)
        revisits = self.keeper.revisits
        if response.status != NOT_MODIFIED_STATUS or known_id is None or revisits is None:
            return response
        page = self._unchanged(request, response, known_id) or revisits.stored_page(known_id)
        is_same_body = SAME_BODY in response.flags
        if page is None or (not is_same_body and self._must_check(request)):
            # If this crawl reads pages in another way than the last crawl, a difference does not
            # show that the server was wrong.
            meta = {**request.meta, CHECK_META_KEY: page is not None}
            return request.replace(dont_filter=True, meta=meta)
        request.meta[PAGE_META_KEY] = page
        request.meta[BINDINGS_META_KEY] = self.holder.bindings
        kind = "same_body" if is_same_body else "not_modified"
        self.stats.inc_value(f"contentspider/pages/{kind}")
        fields = {"headers": response.headers, "flags": [*response.flags, NOT_MODIFIED]}
        return HtmlResponse(response.url, request=request, encoding="utf-8", **fields)

    def _unchanged(self, request: Request, response: Response, known_id: str) -> Page | None:
        """Return a page that this crawl would read as the last one; None if it must be read."""
        assert self.keeper.revisits
        state = self.holder.site(response.url)
        if not state.is_settled or request.meta.get("redirect_urls"):
            return None
        page = self.keeper.revisits.unchanged_page(known_id, state.reading_key)
        return page if page is not None and page.url == response.url else None

    def _must_check(self, request: Request) -> bool:
        """Count an answer 304 of a site; tell whether its page must be fetched as a check."""
        site = self.holder.keys.key(request.url)
        count = self._not_modified[site] = self._not_modified.get(site, 0) + 1
        return count % CHECKED_EACH == 1


class SameBodyMiddleware(Component):
    """Avoids reading a page again if its bytes have not changed, for servers without validators.

    A response with the same body as at the last visit gets the status 304 (not modified), so that
    `ConditionalMiddleware` returns the page from the book.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        # The text of a page that is rendered depends on more than its body.
        if extension(crawler, ItemHolder).options.render != "never":
            raise NotConfigured
        self.keeper = extension(crawler, BookKeeper)

    def process_response(self, request: Request, response: Response) -> Response:
        """Return the response, without its body if that is known."""
        known_id, revisits = request.meta.get(CONDITIONAL_META_KEY), self.keeper.revisits
        if known_id is None or revisits is None or response.status != OK_STATUS:
            return response
        validator = revisits.validator_of(known_id)
        if not validator.startswith(BODY_VALIDATOR):
            return response
        reading_key = getattr(self.crawler.spider, "reading_key", lambda _: "")(request)
        if validator != body_validator(response, reading_key):
            return response
        flags = [*response.flags, SAME_BODY]
        return response.replace(status=NOT_MODIFIED_STATUS, body=b"", flags=flags)


def body_validator(response: Response, reading_key: str) -> str:
    """Return a validator for a page without validators of its server: a hash of its body, and of
    all else that its blocks and links depend on. The *reading_key* stands for the crawl's options.
    """
    headers = (response.headers.get(name) or b"" for name in READING_HEADERS)
    key = b"\n".join([reading_key.encode("utf-8", "replace"), *headers])
    return BODY_VALIDATOR + blake2b(key + b"\n" + response.body, digest_size=16).hexdigest()


def conditional_headers(previous: PageVersion | OwnAnswer) -> dict[str, str]:
    """Return the headers that request an address only if it has changed since *previous*.

    Apache's mod_deflate and mod_brotli add the coding to the ETag of a compressed body, but compare
    with the tag of the file (2.4.71): both tags are sent.
    """
    headers = {}
    for name, header_name in CONDITIONAL_HEADERS.items():
        validator = getattr(previous, name)
        if validator and not validator.startswith(BODY_VALIDATOR):
            headers[header_name] = validator
    if coded := CODED_ETAG.fullmatch(headers.get("If-None-Match", "")):
        headers["If-None-Match"] += f', {coded[1]}"'
    return headers


def note_answer(
    keeper: BookKeeper,
    response: Response,
    links: Mapping[str, Iterable[str]],
    reading_key: str = "",
) -> None:
    """Record the validators, links (with their texts) and redirects of a page's answer in the
    book, for the next crawl.

    A page that was not read again keeps its known validators. With a *reading_key*, a page without
    validators gets the validator of its body (see `body_validator`).
    """
    row = response.meta.get(ROW_META_KEY)
    if keeper.revisits is None or keeper.is_broken or row is None:
        return
    is_unsent = NOT_MODIFIED in response.flags
    known_page = keeper.revisits.known_page(response.url)
    answer = Answer(
        *_validators(response, known_page if is_unsent else None, reading_key),
        None,
        _moved_from(response),
        ORPHAN_META_KEY in response.meta,
        response.meta.get(CHECK_META_KEY, False),
        is_unsent and SAME_BODY not in response.flags,
    )
    with keeper.guarded:
        number = known_page.links if known_page is not None else None
        if not (is_unsent and links):  # otherwise the known page has the links
            number = keeper.book.answers.put_links(links, number)
        keeper.book.answers.put(row, replace(answer, links=number))


def _validators(
    response: Response, known_page: PageVersion | None, reading_key: str
) -> tuple[str, str]:
    """Return the ETag and the Last-Modified of a page; see `note_answer`. *known_page* is the page
    at its last visit if it was not read again.
    """
    etag, last_modified = _validator(response, "ETag"), _validator(response, "Last-Modified")
    if known_page is not None:
        return etag or known_page.etag, last_modified or known_page.last_modified
    if reading_key and not etag and not last_modified:
        etag = body_validator(response, reading_key)
    return etag, last_modified


def _validator(response: Response, name: str) -> str:
    """Return a validator header for later conditional requests, "" if it is missing or invalid."""
    value = header(response, name)
    return value if len(value) <= MAX_VALIDATOR_CHARS and value.isprintable() else ""


def _moved_from(response: Response) -> tuple[tuple[str, str], ...]:
    """Return the addresses that redirected permanently to a response, each with the reason. Return
    nothing if one of the redirects was temporary.
    """
    reasons = response.meta.get("redirect_reasons", ())
    if not all(reason in PERMANENT for reason in reasons):
        return ()
    moves = zip(response.meta.get("redirect_urls", ()), map(status_reason, reasons), strict=False)
    # A page that redirects to itself only sets a cookie.
    return tuple((url, reason) for url, reason in moves if url != response.url)


def previous_links(keeper: BookKeeper, response: Response) -> dict[str, tuple[str, ...]]:
    """Return the links that a page had at its last visit, with their texts, if it was not sent now,
    otherwise {}.
    """
    if NOT_MODIFIED not in response.flags or keeper.revisits is None:
        return {}
    return keeper.revisits.previous_links(response.url)


def replacement_of(keeper: BookKeeper, holder: ItemHolder, response: Response, page: Page) -> str:
    """Return the kind of page that replaces a known page: see `ReplacedPages.kind`."""
    if keeper.revisits is None or keeper.revisits.is_first or NOT_MODIFIED in response.flags:
        return ""
    has_password = isinstance(response, HtmlResponse) and PASSWORD.search(response.body)

    def content() -> str:
        model = holder.site(response.url).model
        return model.extract(page).text if model is not None else ""

    return keeper.revisits.replaced.kind(page, response.url, bool(has_password), content)
