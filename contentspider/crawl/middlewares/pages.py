"""The middlewares that tag responses with their page, and find the page of each item."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from scrapy import Request
from scrapy.http import HtmlResponse, Response, TextResponse
from scrapy.utils.asyncio import run_in_thread

from contentspider.crawl.base.engine import Component, extension, header, tree_of
from contentspider.crawl.base.links import header_links
from contentspider.crawl.base.meta import (
    ASKED_META_KEY,
    BINDINGS_META_KEY,
    CHECK_META_KEY,
    CONDITIONAL_META_KEY,
    ITEMS_META_KEY,
    LOGIN_META_KEY,
    ORPHAN_META_KEY,
    PAGE_META_KEY,
    PARENT_META_KEY,
    ROW_META_KEY,
    START_META_KEY,
)
from contentspider.crawl.base.outcomes import NOT_MODIFIED
from contentspider.crawl.learning.holder import ItemHolder
from contentspider.crawl.middlewares.documents import Documents
from contentspider.crawl.queue.memory import room_for
from contentspider.ground.process_memory import no_collection
from contentspider.page.input.body import (
    MAX_BYTES,
    MAX_DEPTH,
    MAX_TAGS,
    NOT_ASCII,
    declared_encoding,
    guessed_encoding,
    is_binary,
    is_media,
    limit_markup,
    may_be_html,
    named_encoding,
    page_encoding,
    without_early_ends,
)
from contentspider.page.input.documents import OFFICE, PDF, document_kind
from contentspider.page.input.page import Page
from contentspider.page.tree.blocks import MAX_BLOCKS, new_walker
from contentspider.state.book.items import ItemBinding

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)

Result = TypeVar("Result")
OWN_META_KEYS = {PAGE_META_KEY, BINDINGS_META_KEY, ROW_META_KEY, ITEMS_META_KEY} | {
    *(ORPHAN_META_KEY, CONDITIONAL_META_KEY, CHECK_META_KEY, "is_start_request")
}
# The answers to requests with these keys are not read as pages.
NOT_PAGES = {LOGIN_META_KEY, ASKED_META_KEY}
# After bodies are decompressed (590), before MetaRefreshMiddleware (580) reads their text.
BODIES_ORDER = 585
# Larger bodies take more than 5 ms to parse. They are parsed in a thread.
THREAD_BYTES = 300_000
# How many large pages are parsed at a time: a tree takes about 20 times the memory of its page.
MAX_LARGE = 2


class BodiesMiddleware(Component):
    """Mends the encoding of responses, removes ends of the page that are not at the end, and cuts
    bodies with far more markup than pages need.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self.large = asyncio.Semaphore(1)

    async def process_response(self, request: Request, response: Response) -> Response:
        """Return the response, or a copy that is safe to parse."""
        if not isinstance(response, TextResponse) or is_binary(response.body):
            return response
        with room_for(response, self.crawler):
            safe, is_cut, is_guess = await _run_off_loop(_make_safe, response, self.large)
        if is_cut:
            self.stats.inc_value("contentspider/pages/cut")
        if is_guess:
            self.stats.inc_value("contentspider/pages/encoding_guessed")
        return safe


class BlocksMiddleware(Component):
    """Tags each HTML response with its `Page`, and each document if the spider reads documents."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self.holder = extension(crawler, ItemHolder)
        self.attributes = self.holder.options.learning.needs_attributes
        self.walker = new_walker(self.holder.options.obey_directives)
        self.large = asyncio.Semaphore(MAX_LARGE)
        self.documents = Documents(crawler, lambda: self.holder.keeper.addresses.is_at_end)

    def process_request(self, request: Request) -> None:
        """Remove the page of an earlier response, which copies of a request still carry."""
        request.meta.pop(PAGE_META_KEY, None)

    async def process_response(self, request: Request, response: Response) -> Response:
        """Tag the response if it has a page and a status of success."""
        request.meta[BINDINGS_META_KEY] = self.holder.bindings
        if not 200 <= response.status < 300 or not NOT_PAGES.isdisjoint(request.meta):
            return response
        page, kind = None, self._document_kind(request, response)
        may_be_page = not is_media(header(response, "Content-Type")) and may_be_html(response.body)
        if isinstance(response, HtmlResponse) and may_be_page and not kind:
            page = await self.read_html(response)
            self._count(request, page)
            self.holder.models.note_overrides(page)
        elif kind and getattr(self.crawler.spider, "reads_documents", False):
            page = await self.documents.read(response)
        if page is not None:
            page = _with_canonical(page, response)
            self._count_truncated(page)
            request.meta[PAGE_META_KEY] = page
        return response

    async def read_html(self, response: HtmlResponse) -> Page:
        """Return the page of a response."""
        with room_for(response, self.crawler):
            return await _run_off_loop(self._read, response, self.large)

    def _document_kind(self, request: Request, response: Response) -> str:
        """Return the kind of document that a response has, "" for other responses. A text counts
        only if it was requested as a page, because sitemaps and own texts are texts, too.
        """
        kind = document_kind(response.body, header(response, "Content-Type"), response.url)
        is_page = getattr(self.crawler.spider, "is_page_request", lambda _: False)
        is_asked_for = START_META_KEY in request.meta or is_page(request)
        return kind if kind in (PDF, OFFICE) or is_asked_for else ""

    def _count(self, request: Request, page: Page) -> None:
        is_page = getattr(self.crawler.spider, "is_page_request", lambda _: True)
        if START_META_KEY in request.meta or is_page(request):  # no probe, and no sitemap
            self.stats.inc_value("contentspider/pages/tagged")
        self.stats.inc_value("contentspider/blocks/seen", len(page.content.blocks))
        if page.content.has_left_out:
            self.stats.inc_value("contentspider/pages/directives")

    def _count_truncated(self, page: Page) -> None:
        if page.content.truncated:
            self.stats.inc_value("contentspider/pages/truncated")
            logger.warning(
                "%s has more than %d blocks of text, or elements nested more than %d deep; the rest"
                " is left out",
                page.url,
                MAX_BLOCKS,
                MAX_DEPTH,
            )

    def _read(self, response: HtmlResponse) -> Page:
        root = tree_of(response)
        if root is None:
            return Page.from_html("", response.url)
        overrides = self.holder.models.overrides(response.url)
        fields_file = self.holder.models.fields_file
        options = (self.attributes, MAX_BLOCKS, self.walker, overrides, fields_file)
        with no_collection():
            return Page.from_root(root, response.url, *options)


class PagesMiddleware(Component):
    """Finds the page of each item, holds items of sites without a model, and removes our meta keys
    from the requests of callbacks.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self.holder = extension(crawler, ItemHolder)

    async def process_spider_output(
        self, response: Response, result: AsyncIterator[Any]
    ) -> AsyncIterator[Any]:
        """Pass on requests without our meta keys but the row of this page, and the items that are
        not held. Scrapy's base class would cost more time for each link.
        """
        row = response.meta.get(ROW_META_KEY) if response.request else None
        async for output in result:
            if isinstance(output, Request):
                meta = output.meta
                if not OWN_META_KEYS.isdisjoint(meta):
                    for key in OWN_META_KEYS:
                        meta.pop(key, None)
                if row is not None:
                    meta[PARENT_META_KEY] = row
            elif output is not None and self._must_wait(output, response):
                continue
            yield output

    def _must_wait(self, item: object, response: Response) -> bool:
        """Tell whether an item is held, or was recorded before; else store its page for the
        pipeline.
        """
        bound = page_of_item(item, response, self.holder)
        if bound is None:
            return False
        meta = response.meta if response.request else {}
        row, bindings = meta.get(ROW_META_KEY), self.holder.bindings
        place = meta[ITEMS_META_KEY] = meta.get(ITEMS_META_KEY, -1) + 1
        key = self.holder.keeper.recorder.key(row, place)
        hand = ItemBinding(bound.page, bound.page_row, row, key, may_pass=True)
        hand.is_unsent = NOT_MODIFIED in response.flags and bound.page is meta.get(PAGE_META_KEY)
        if self.holder.hold(item, hand):
            return True
        bindings.put(item, hand)
        return False


def page_of_item(item: object, response: Response, holder: ItemHolder) -> ItemBinding | None:
    """Return the page that an item of a callback is filled from; None if it has none, or if its
    class is not mapped, which is noted.
    """
    meta, bindings = response.meta if response.request else {}, holder.bindings
    page = meta.get(PAGE_META_KEY)
    if holder.options.item_fields.fields(item) is None:
        if page is not None:
            holder.unmapped.note(item)
        return None
    if bindings.has(item) or _came_with_request(item, response):
        return bindings.get(item)
    return ItemBinding(page, meta.get(ROW_META_KEY)) if page is not None else None


def _with_canonical(page: Page, response: Response) -> Page:
    """Return a page with the canonical address that a ``Link`` header names, if it names none."""
    if page.hints.canonical or b"Link" not in response.headers:
        return page
    targets = (target for relation, target, _ in header_links(response) if relation == "canonical")
    return replace(page, hints=replace(page.hints, canonical=next(targets, "")))


async def _run_off_loop(
    function: Callable[[Any], Result], response: Response, threads: asyncio.Semaphore
) -> Result:
    """Return the result of a *function* of a response. A large response is read in a thread, when
    *threads* allows.
    """
    if len(response.body) <= THREAD_BYTES:
        return function(response)
    async with threads:
        return await run_in_thread(function, response)


def _came_with_request(item: object, response: Response) -> bool:
    """Tell whether an item came with the request, and so was made before the page was read."""
    request = response.request
    if request is None:
        return False
    values = (*request.cb_kwargs.values(), *request.meta.values())
    return any(value is item for value in values)


def _make_safe(response: TextResponse) -> tuple[TextResponse, bool, bool]:
    """Return a response in its true encoding, if that is another, and with limited markup that
    libxml2 reads to its end. Also tell whether the markup was cut, and whether the encoding of a
    page was guessed.
    """
    body = response.body
    content_type = header(response, "Content-Type")
    encoding = declared_encoding(body, content_type)
    if encoding != named_encoding(body, content_type):
        encoding = page_encoding(body, content_type)
        logger.debug("%s is read as %s, not in the encoding that it declares", response, encoding)
        response = response.replace(encoding=encoding)
    is_html, is_guess = isinstance(response, HtmlResponse), False
    if is_html and encoding is None:
        encoding = guessed_encoding(body)
        # Another component may have set the encoding, which `response.encoding` does not tell from
        # Scrapy's own guess.
        is_guess = encoding != "utf-8" and not getattr(response, "_encoding", None)
        if is_guess:
            logger.info("%s states no encoding, and is read as %s", response, encoding)
            response = response.replace(encoding=encoding)
    if not is_html:
        return response, False, False
    if encoding in NOT_ASCII:
        body = response.text.encode("utf-8", "replace")
    limited = limit_markup(body)
    if limited is not body:
        logger.warning(
            "%s is cut: it has more than %d bytes, %d tags, 500,000 attributes, or 1,000"
            " attributes in one tag",
            response,
            MAX_BYTES,
            MAX_TAGS,
        )
    readable = without_early_ends(limited)
    if readable is not body:
        encoding = "utf-8" if encoding in NOT_ASCII else response.encoding
        response = response.replace(body=readable, encoding=encoding)
    return response, limited is not body, is_guess
