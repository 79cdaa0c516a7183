"""Rendering: a page that was sent is loaded once more, in a browser, and replaced by what it shows.

The answer to an address comes first as it always does: robots.txt, redirects, errors, "not
modified" and what is no page need no browser. What fails in the browser leaves the page as it was
sent. scrapy-playwright runs the browser; its requests go through a proxy that checks them
(`contentspider.render.proxy`).
"""

from __future__ import annotations

import asyncio
import logging
from bisect import insort
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Any
from urllib.parse import urldefrag, urlsplit

from scrapy import Request, signals
from scrapy.http import HtmlResponse, Response

from contentspider.crawl.base.engine import Component, extension
from contentspider.crawl.base.meta import PAGE_META_KEY
from contentspider.crawl.base.outcomes import NOT_MODIFIED
from contentspider.crawl.learning.holder import Holder
from contentspider.crawl.middlewares.conditional import CONDITIONAL_HEADERS
from contentspider.crawl.middlewares.guard import GuardMiddleware
from contentspider.crawl.middlewares.headers import HeadersMiddleware
from contentspider.crawl.middlewares.pages import BlocksMiddleware, BodiesMiddleware
from contentspider.ground.addresses import network_of
from contentspider.ground.sites import SiteKeys
from contentspider.render.browser import (
    FETCHED,
    INIT_SCRIPT,
    MAX_ELEMENTS,
    RenderError,
    context_options,
    find_browser,
    launch_options,
)
from contentspider.render.probe import ARGUMENTS, COMMAND, Snapshot, visuals_of
from contentspider.render.proxy import CheckingProxy
from contentspider.render.templates import Template, Templates, gain
from contentspider.site.sample import sample_order
from contentspider.state.ledger.pages import SITE_PAGES

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

    from contentspider.crawl.base.options import CrawlOptions
    from contentspider.page.input.page import Page

logger = logging.getLogger(__name__)

# The name under which Scrapy makes the handler once; no address has it.
SCHEME = "contentspider-render"
HANDLER = "scrapy_playwright.handler.ScrapyPlaywrightDownloadHandler"
RENDER_ORDER = 530  # after a page is tagged, or was not sent
TIMEOUT = "PLAYWRIGHT_DEFAULT_NAVIGATION_TIMEOUT"
RENDERED = "rendered"  # a response's flag
AT_ONCE = 4  # pages that are open in the browser
CONTEXT_PAGES = 50  # after so many the browser forgets what it kept
IDLE_MS = 5_000  # for so long a page's requests are waited for
END_SECS = 5.0
MAX_BYTES = 20_000_000  # of one answer to the browser
MAX_CHARS = 30_000_000
SIZE = (
    "() => [document.getElementsByTagName('*').length, document.documentElement.outerHTML.length]"
)
# Of the headers of a request those that the browser knows better.
BROWSERS_OWN = ("accept", "accept-encoding", "accept-language", "referer", "user-agent")
LOST = ("ETag", "Last-Modified", "Content-Encoding", "Content-Length", "Content-Type")


def enable_rendering(settings: BaseSettings, options: CrawlOptions) -> None:
    """Enable scrapy-playwright and `RenderMiddleware` in the settings of a crawl."""
    # Not in DOWNLOAD_HANDLERS, which is the project's own.
    settings["DOWNLOAD_HANDLERS_BASE"][SCHEME] = HANDLER
    for name, value in {
        "PLAYWRIGHT_LAUNCH_OPTIONS": launch_options(find_browser(options.browser)),
        "PLAYWRIGHT_ABORT_REQUEST": f"{__name__}.is_unneeded",
        "PLAYWRIGHT_PROCESS_REQUEST_HEADERS": f"{__name__}.headers_of",
        "PLAYWRIGHT_MAX_PAGES_PER_CONTEXT": AT_ONCE,
    }.items():
        settings.set(name, value, "addon")
    settings.setdefault(TIMEOUT, 20_000)
    settings.setdefault_in_component_priority_dict(
        "DOWNLOADER_MIDDLEWARES", RenderMiddleware, RENDER_ORDER
    )


def is_unneeded(request: Any) -> bool:
    """Tell whether a request of the browser is for nothing that makes a page what it is."""
    return request.resource_type not in FETCHED


async def headers_of(
    *, browser_type_name: str, playwright_request: Any, scrapy_request_data: dict[str, Any]
) -> dict[str, str]:
    """Return the headers of a request of the browser: those of the crawl for a page's own origin,
    and its name (``User-Agent``) for others.
    """
    found: dict[str, str] = await playwright_request.all_headers()
    ours: dict[str, str] = {
        name.lower(): value
        for name, value in scrapy_request_data["headers"].to_unicode_dict().items()
    }
    if agent := ours.get("user-agent"):
        found["user-agent"] = agent
    if _origin(playwright_request.url) == _origin(scrapy_request_data["url"]):
        found |= {name: value for name, value in ours.items() if name not in BROWSERS_OWN}
    return found


def download_handler(crawler: Crawler) -> Any:
    """Return scrapy-playwright's handler in a crawl, by what Scrapy's insides are."""
    assert crawler.engine is not None
    return crawler.engine.downloader.handlers._get_handler(SCHEME)


def _origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc.rpartition("@")[2]


class RenderMiddleware(Component):
    """Replaces pages by what a browser shows of them."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self.holder = extension(crawler, Holder)
        self.options = self.holder.options
        self.templates = Templates()
        self._keys = SiteKeys("domain")
        self._sites: set[str] = set()  # of the pages that were rendered
        self._proxy = CheckingProxy(self._may_ask, self._may_connect, MAX_BYTES)
        self._room = asyncio.Semaphore(AT_ONCE)
        self._orders: dict[str, list[bytes]] = {}  # of the sample of each site
        self._secs = crawler.settings.getfloat(TIMEOUT) / 1_000
        self._loaded = 0
        self._seconds = 0.0
        self._open: dict[str, int] = {}  # contexts with the pages in them
        crawler.signals.connect(self._closed, signal=signals.spider_closed)
        # It logs each failure with a traceback; what we make of it is said here.
        logging.getLogger("scrapy-playwright").setLevel(logging.ERROR)

    async def process_response(self, request: Request, response: Response) -> Response:
        """Return the response, or one with the page as the browser shows it."""
        page: Page | None = request.meta.get(PAGE_META_KEY)
        if page is None or page.is_document or not isinstance(response, HtmlResponse):
            return response
        if NOT_MODIFIED in response.flags or not response.body:
            return response
        if self.options.render == "learn":
            if self._is_learned_from(page):
                await self._look_at(page, request, response)
            return response
        template = self.templates.of(self._keys.key(response.url), page, response.body)
        if self.options.render == "always":
            async with self._room:
                return await self._shown(page, request, response, template)
        if template is None:
            return response
        async with self._room:
            # It may have been decided while the page waited.
            is_static = template.is_rendered is False
            return response if is_static else await self._shown(page, request, response, template)

    async def _look_at(self, page: Page, request: Request, response: HtmlResponse) -> None:
        """Give the blocks of a page the looks that they have in the browser."""
        snapshots: list[Any] = []
        async with self._room:
            await self._rendered(request, response, snapshots)
        for found in snapshots:
            page.content.visuals = visuals_of(page.content, Snapshot(found))

    async def _shown(
        self, page: Page, request: Request, response: HtmlResponse, template: Template | None
    ) -> Response:
        """Return the response with what the browser shows; as it was sent if that brings nothing,
        unless all pages are rendered.
        """
        rendered: Response | None = await self._rendered(request, response)
        shown, gained = page, 0.0
        if rendered is not None:
            # What the browser shows may have more markup than pages need, too.
            if bodies := self.crawler.get_downloader_middleware(BodiesMiddleware):
                rendered = await bodies.process_response(request, rendered)
            blocks = self.crawler.get_downloader_middleware(BlocksMiddleware)
            assert blocks is not None and isinstance(rendered, HtmlResponse)
            shown = await blocks.read_html(rendered)
            gained = gain(page, shown)
        if template is not None:
            template.gains.append(gained)
        if rendered is None or (self.options.render == "auto" and not gained):
            return response
        request.meta[PAGE_META_KEY] = shown
        return rendered

    def _is_learned_from(self, page: Page) -> bool:
        """Tell whether a page may be of the sample that its site is learned from."""
        state = self.holder.site(page.url)
        keeper = self.holder.keeper
        if state.is_ready or keeper.is_broken or keeper.is_inspection:
            return False
        orders, order = self._orders.setdefault(state.key, []), sample_order(page.url)
        if len(orders) >= SITE_PAGES and order >= orders[-1]:
            return False
        insort(orders, order)
        del orders[SITE_PAGES:]
        return True

    async def _rendered(
        self, request: Request, response: HtmlResponse, snapshots: list[Any] | None = None
    ) -> HtmlResponse | None:
        """Return the response as the browser shows it; None if that fails."""
        began = monotonic()
        try:
            found = await self._render(request, response, snapshots)
        except Exception as error:  # noqa: BLE001 - whatever it is, the page is there as it was sent
            kind = getattr(error, "kind", type(error).__name__)
            self.stats.inc_value(f"contentspider/render/failed/{kind}")
            said = str(error).splitlines()[0] if str(error) else kind
            logger.info("%s is taken as it was sent: %s", response.url, said)
            return None
        self._seconds += monotonic() - began
        self.stats.inc_value("contentspider/render/pages")
        self.stats.set_value("contentspider/render/seconds", round(self._seconds, 1))
        return found

    async def _render(
        self, request: Request, response: HtmlResponse, snapshots: list[Any] | None
    ) -> HtmlResponse:
        """Return the response with the page as the browser shows it, and put a snapshot of its
        looks into *snapshots*; raises `RenderError`, or what the browser's libraries raise.
        """
        from scrapy_playwright.page import PageMethod

        self._sites.add(self._keys.key(response.url))
        headers = request.headers.copy()
        for name in CONDITIONAL_HEADERS.values():
            headers.pop(name, None)
        # They were taken off the request when it was answered.
        given = self.crawler.get_downloader_middleware(HeadersMiddleware)
        headers.update(given.headers_for(request) if given else {})
        proxy = await self._proxy.start()
        self._loaded += 1
        context = f"contentspider-{self._loaded // CONTEXT_PAGES}"
        pages: list[Any] = []

        async def init(page: Any, _: Request) -> None:
            pages.append(page)
            page.on("popup", _close)
            await page.add_init_script(INIT_SCRIPT)

        meta = {
            "playwright": True,
            "playwright_context": context,
            "playwright_context_kwargs": context_options(proxy),
            "playwright_page_init_callback": init,
            "playwright_page_methods": [PageMethod(_settle, snapshots)],
            "playwright_page_goto_kwargs": {"wait_until": "load"},
        }
        asked = Request(response.url, headers=headers, meta=meta)
        self._open[context] = self._open.get(context, 0) + 1
        try:
            shown = await self._within(self._load(asked), pages)
        finally:
            self._open[context] -= 1
            await self._recycle(context)
        if shown.status >= 300 or not isinstance(shown, HtmlResponse):
            raise RenderError("status", f"in the browser it is answered with {shown.status}")
        if urldefrag(shown.url).url != urldefrag(response.url).url:
            raise RenderError("elsewhere", f"in the browser it leads to {shown.url}")
        kept = response.headers.copy()
        for name in LOST:
            kept.pop(name, None)
        flags = [*response.flags, RENDERED]
        return HtmlResponse(
            response.url,
            response.status,
            kept,
            shown.text.encode("utf-8", "replace"),
            flags,
            request,
            encoding="utf-8",
        )

    async def _load(self, request: Request) -> Response:
        handler = download_handler(self.crawler)
        response: Response = await handler.download_request(request)
        return response

    async def _within(self, loading: Any, pages: list[Any]) -> Response:
        """Return what is loaded in time; else the page is closed, or the browser that hangs."""
        task = asyncio.ensure_future(loading)
        done, _ = await asyncio.wait({task}, timeout=self._secs)
        if done:
            found: Response = task.result()
            return found
        closing = [asyncio.ensure_future(page.close()) for page in pages]
        await asyncio.wait({task, *closing}, timeout=END_SECS)
        if not task.done():
            task.cancel()
            await self._end_browser()
        await asyncio.gather(task, *closing, return_exceptions=True)
        raise RenderError("slow", f"the browser takes more than {self._secs:g} s")

    async def _recycle(self, context: str) -> None:
        """Close the contexts that no page will be opened in any more."""
        now = f"contentspider-{self._loaded // CONTEXT_PAGES}"
        handler = download_handler(self.crawler)
        for name in [one for one, count in self._open.items() if not count and one != now]:
            del self._open[name]
            if wrapper := handler.context_wrappers.get(name):
                with suppress(Exception):
                    await asyncio.wait_for(wrapper.context.close(), END_SECS)

    async def _end_browser(self) -> None:
        """End a browser that does not answer; the next page starts another one."""
        browser = getattr(download_handler(self.crawler), "browser", None)
        self.stats.inc_value("contentspider/render/restarts")
        if browser is not None:
            with suppress(Exception):
                await asyncio.wait_for(browser.close(), END_SECS)

    def _may_ask(self, host: str, port: int) -> bool:
        """Tell whether the browser may send a request to a host."""
        key = self._keys.key(f"http://{f'[{host}]' if ':' in host else host}:{port}/")
        if key in self._sites:
            return True
        hosts = self.options.render_hosts
        if network_of(host):
            return False
        return "*" in hosts or any(host == one or host.endswith(f".{one}") for one in hosts)

    def _may_connect(self, host: str, address: str) -> bool:
        """Tell whether the browser may connect to an address that a host's name led to."""
        guard = self.crawler.get_downloader_middleware(GuardMiddleware)
        if guard is None:  # a project's own spider chooses its sites itself
            return not network_of(address) or bool(network_of(host))
        return not guard.closed_network(host, address)

    async def _closed(self) -> None:
        for name, count in self.templates.counts().items():
            self.stats.set_value(f"contentspider/render/templates/{name}", count)
        if self._proxy.refused:
            self.stats.set_value("contentspider/render/hosts_refused", len(self._proxy.refused))
            shown = ", ".join(sorted(self._proxy.refused)[:10])
            logger.info(f"pages wanted to load from hosts that they may not ask: {shown}")
        await self._proxy.close()


async def _close(page: Any) -> None:
    with suppress(Exception):
        await page.close()


async def _settle(page: Any, snapshots: list[Any] | None) -> None:
    """Wait until a page has sent its requests, for a while, and put a snapshot of it into
    *snapshots*; raises `RenderError` if it is huge.
    """
    from playwright.async_api import TimeoutError as TooLate

    with suppress(TooLate):
        await page.wait_for_load_state("networkidle", timeout=IDLE_MS)
    elements, chars = await page.evaluate(SIZE)
    if elements > MAX_ELEMENTS or chars > MAX_CHARS:
        raise RenderError(
            "huge", f"in the browser it has {elements:,} elements, {chars:,} characters"
        )
    if snapshots is not None:
        session = await page.context.new_cdp_session(page)
        snapshots.append(await session.send(COMMAND, ARGUMENTS))
        await session.detach()
