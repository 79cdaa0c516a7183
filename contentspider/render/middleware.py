"""Rendering: loads a page in a browser after it was downloaded, and replaces its HTML.

The download comes first because robots.txt, redirects, errors, "not modified" answers and other
files need no browser. If the browser fails, the downloaded page is used. scrapy-playwright runs the
browser, and its requests go through a proxy that checks them (`contentspider.render.proxy`).
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING, Any
from urllib.parse import urldefrag, urlsplit

from scrapy import Request, signals
from scrapy.http import HtmlResponse, Response
from scrapy.utils.datatypes import LocalCache

from contentspider.crawl.base.engine import Component, StoppedError, extension
from contentspider.crawl.base.meta import PAGE_META_KEY, ROW_META_KEY
from contentspider.crawl.base.outcomes import NOT_MODIFIED, OK_STATUS, RENDERED
from contentspider.crawl.learning.holder import ItemHolder
from contentspider.crawl.middlewares.conditional import CONDITIONAL_HEADERS
from contentspider.crawl.middlewares.guard import GuardMiddleware, RefusedError
from contentspider.crawl.middlewares.headers import HeadersMiddleware
from contentspider.crawl.middlewares.pages import BlocksMiddleware, BodiesMiddleware
from contentspider.ground.addresses import clean_address, network_of, route_of
from contentspider.ground.counts import counted
from contentspider.ground.sites import SiteKeys
from contentspider.render.browser import (
    CDP_URL,
    FETCHED,
    MAX_ELEMENTS,
    RenderError,
    address_seen_by,
    context_options,
    find_browser,
    launch_options,
    prepare_page,
)
from contentspider.render.proxy import CheckingProxy
from contentspider.render.snapshot import ARGUMENTS, COMMAND, Snapshot, visuals_of
from contentspider.render.templates import Template, Templates, gain
from contentspider.site.learn.sampling import page_template
from contentspider.site.sample import sample_order
from contentspider.state.book.sample import SITE_PAGES, SamplePlaces
from contentspider.state.outcome import NOT_RENDERED, RENDER_FAILED_STAT

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

    from contentspider.crawl.base.options import CrawlOptions
    from contentspider.page.input.page import Page

logger = logging.getLogger(__name__)

# Scrapy creates the download handler under this name. No address has this scheme.
SCHEME = "contentspider-render"
HANDLER = "scrapy_playwright.handler.ScrapyPlaywrightDownloadHandler"
RENDER_ORDER = 530  # after the middleware that reads pages, and the one for conditional requests
TIMEOUT = "PLAYWRIGHT_DEFAULT_NAVIGATION_TIMEOUT"
AT_ONCE = 4  # pages that are open in the browser
CONTEXT_PAGES = 50  # after this many pages a browser context is closed with its cache
IDLE_MS = 5_000  # how long to wait for the requests of a page's scripts
END_SECS = 5.0
POLL_SECS = 0.05
BROWSER_ENDED = "TargetClosedError"  # the error of Playwright, which does not export it
MAX_BYTES = 20_000_000  # largest response to a request of the browser
MAX_CHARS = 30_000_000
# Documents that are kept for their routes. Most have one shell for all routes, which is small.
MAX_SHELLS = 20
MAX_SHELL_BYTES = 1_000_000
SIZE = (
    "() => [document.getElementsByTagName('*').length, document.documentElement.outerHTML.length]"
)
# Headers for which the browser's own value is used.
BROWSER_HEADERS = ("accept", "accept-encoding", "accept-language", "referer", "user-agent")
# Headers that do not apply to the rendered HTML.
DROPPED_HEADERS = ("ETag", "Last-Modified", "Content-Encoding", "Content-Length", "Content-Type")


def enable_rendering(settings: BaseSettings, options: CrawlOptions) -> None:
    """Enable scrapy-playwright and `RenderMiddleware` in the settings of a crawl."""
    # DOWNLOAD_HANDLERS belongs to the project.
    settings["DOWNLOAD_HANDLERS_BASE"][SCHEME] = HANDLER
    if not settings.get(CDP_URL):
        launch = launch_options(find_browser(options.browser))
        settings.set("PLAYWRIGHT_LAUNCH_OPTIONS", launch, "addon")
    for name, value in {
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
    """Tell whether a request of the browser cannot change the text of a page."""
    return request.resource_type not in FETCHED


async def headers_of(
    *, browser_type_name: str, playwright_request: Any, scrapy_request_data: dict[str, Any]
) -> dict[str, str]:
    """Return the headers for a request of the browser. Requests to the origin of the page get the
    headers of the crawl, other requests only its ``User-Agent``.
    """
    headers: dict[str, str] = await playwright_request.all_headers()
    crawl_headers: dict[str, str] = {
        name.lower(): value
        for name, value in scrapy_request_data["headers"].to_unicode_dict().items()
    }
    if agent := crawl_headers.get("user-agent"):
        headers["user-agent"] = agent
    if _origin(playwright_request.url) == _origin(scrapy_request_data["url"]):
        headers |= {
            name: value for name, value in crawl_headers.items() if name not in BROWSER_HEADERS
        }
    return headers


def download_handler(crawler: Crawler) -> Any:
    """Return scrapy-playwright's download handler, from Scrapy's private attributes."""
    assert crawler.engine is not None
    return crawler.engine.downloader.handlers._get_handler(SCHEME)


def _origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc.rpartition("@")[2]


class RenderMiddleware(Component):
    """Replaces the HTML of pages by the HTML that a browser renders."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self.holder = extension(crawler, ItemHolder)
        self.options = self.holder.options
        self.templates = Templates()
        self._keys = SiteKeys("domain")
        self._sites: set[str] = set()  # sites of rendered pages
        remote = crawler.settings.get(CDP_URL)
        address = address_seen_by(remote) if remote else ""
        self._proxy = CheckingProxy(self._may_ask, self._may_connect, MAX_BYTES, address)
        self._room = asyncio.Semaphore(AT_ONCE)
        self._places: dict[str, SamplePlaces] = {}  # by site, of the pages in its sample
        self._secs = crawler.settings.getfloat(TIMEOUT) / 1_000
        self._loaded = 0
        self._seconds = 0.0
        self._open: dict[str, int] = {}  # browser contexts, with the number of their open pages
        self._running: set[asyncio.Future[Response]] = set()
        # By address without a route, the responses that pages with routes are rendered from.
        self._shells: LocalCache[str, HtmlResponse] = LocalCache(MAX_SHELLS)
        self.holder.keeper.interruption.listeners.append(self._stop)
        crawler.signals.connect(self._closed, signal=signals.spider_closed)
        # scrapy-playwright logs a traceback for each failure, which this middleware logs itself.
        logging.getLogger("scrapy-playwright").setLevel(logging.ERROR)

    def process_request(self, request: Request) -> Response | None:
        """Return the document of an address with a route, if the crawl has downloaded it."""
        if not self.options.reads_routes or not route_of(request.url):
            return None
        shell = self._shells.get(clean_address(request.url))
        # The flag tells other components that this response was not downloaded.
        return shell.replace(request=request, flags=["cached"]) if shell is not None else None

    async def process_response(self, request: Request, response: Response) -> Response | Request:
        """Return the response, or a response with the rendered page; once the crawl was told to
        end, put the request back into the queue.
        """
        page: Page | None = request.meta.get(PAGE_META_KEY)
        if page is None or page.is_document or not isinstance(response, HtmlResponse):
            return response
        if NOT_MODIFIED in response.flags or not response.body:
            return response
        keeper = self.holder.keeper
        reading = asyncio.ensure_future(self._read(page, request, response))
        self._running.add(reading)
        if keeper.interruption.is_set:
            reading.cancel()
        try:
            return await reading
        except asyncio.CancelledError:
            if not keeper.addresses.has(request.meta.get(ROW_META_KEY)):
                raise StoppedError from None
            return request.replace(dont_filter=True)
        finally:
            self._running.discard(reading)

    def _stop(self) -> None:
        """End all rendering."""
        for reading in self._running:
            reading.cancel()

    async def _read(self, page: Page, request: Request, response: HtmlResponse) -> Response:
        """Return the response, or a response with the rendered page."""
        if self.options.render == "learn":
            if self._may_be_in_sample(page):
                await self._add_visuals(page, request, response)
            return response
        self._keep_shell(response)
        if route_of(request.url):
            async with self._room:
                return await self._route(request, response)
        template = self.templates.of(self._keys.key(response.url), page, response.body)
        if self.options.render == "always":
            async with self._room:
                return await self._choose(page, request, response, template)
        if template is None:
            return response
        async with self._room:
            # The template may have been decided while the page waited.
            is_static = template.is_rendered is False
            return response if is_static else await self._choose(page, request, response, template)

    def _keep_shell(self, response: HtmlResponse) -> None:
        """Keep the document of a page for the routes that the page may link to."""
        if response.status == OK_STATUS and len(response.body) <= MAX_SHELL_BYTES:
            self._shells[response.url] = response.replace(request=None)

    async def _route(self, request: Request, response: HtmlResponse) -> HtmlResponse:
        """Return the page of an address with a route as the browser renders it. Its document is the
        page of another address: if rendering fails, raise `RefusedError`.
        """
        rendered = await self._rendered_page(
            request, response.replace(url=response.url + route_of(request.url))
        )
        if rendered is None:
            raise RefusedError(NOT_RENDERED, "the browser failed, without which it has no page")
        response, page = rendered
        # Scripts leave the canonical address of the document, which is another page.
        request.meta[PAGE_META_KEY] = replace(page, hints=replace(page.hints, canonical=""))
        return response

    async def _add_visuals(self, page: Page, request: Request, response: HtmlResponse) -> None:
        """Set the boxes and CSS of a page's blocks, as rendered by the browser."""
        snapshots: list[Any] = []
        async with self._room:
            await self._rendered(request, response, snapshots)
        for snapshot in map(Snapshot, snapshots):
            page.content.visuals = visuals_of(page.content, snapshot)
            page.content.extent = snapshot.width, snapshot.height

    async def _choose(
        self, page: Page, request: Request, response: HtmlResponse, template: Template | None
    ) -> Response:
        """Render a page and return the response to use: with ``render`` set to ``auto``, the
        downloaded response if rendering adds no text, otherwise the rendered response.
        """
        rendered = await self._rendered_page(request, response)
        gained = gain(page, rendered[1]) if rendered is not None else 0.0
        if template is not None:
            template.gains.append(gained)
        if rendered is None or (self.options.render == "auto" and not gained):
            return response
        response, request.meta[PAGE_META_KEY] = rendered
        return response

    async def _rendered_page(
        self, request: Request, response: HtmlResponse
    ) -> tuple[HtmlResponse, Page] | None:
        """Return the response as the browser renders it, and its page; None if that fails."""
        rendered: Response | None = await self._rendered(request, response)
        if rendered is None:
            return None
        # The rendered HTML may have too much markup, too.
        if bodies := self.crawler.get_downloader_middleware(BodiesMiddleware):
            rendered = await bodies.process_response(request, rendered)
        blocks = self.crawler.get_downloader_middleware(BlocksMiddleware)
        assert blocks is not None and isinstance(rendered, HtmlResponse)
        return rendered, await blocks.read_html(rendered)

    def _may_be_in_sample(self, page: Page) -> bool:
        """Tell whether a page may belong to the sample that its site is learned from."""
        state = self.holder.site(page.url)
        keeper = self.holder.keeper
        if state.is_ready or keeper.is_broken or keeper.is_inspection:
            return False
        if state.key not in self._places:
            self._places[state.key] = SamplePlaces((), SITE_PAGES)
        key = sample_order(page.url) + page_template(page)
        return self._places[state.key].add(key, is_preferred=False)

    async def _rendered(
        self, request: Request, response: HtmlResponse, snapshots: list[Any] | None = None
    ) -> HtmlResponse | None:
        """Return the response as the browser renders it; None if rendering fails."""
        began = monotonic()
        try:
            result = await self._render_in_any_browser(request, response, snapshots)
        except Exception as error:  # noqa: BLE001 - the downloaded page is used after any failure
            kind = getattr(error, "kind", type(error).__name__)
            self.stats.inc_value(f"{RENDER_FAILED_STAT}{kind}")
            reason = str(error).splitlines()[0] if str(error) else kind
            logger.info("%s is not rendered: %s", response.url, reason)
            return None
        self._seconds += monotonic() - began
        self.stats.inc_value("contentspider/render/pages")
        self.stats.set_value("contentspider/render/seconds", round(self._seconds, 1))
        return result

    async def _render_in_any_browser(
        self, request: Request, response: HtmlResponse, snapshots: list[Any] | None
    ) -> HtmlResponse:
        """Return the response as `_render` does. If the browser ends meanwhile, render the page
        once more in the next browser.

        The handler tries again itself, but at once: under load its attempts are over before it
        knows that the browser has ended.
        """
        handler = download_handler(self.crawler)
        browser = getattr(handler, "browser", None)
        try:
            return await self._render(request, response, snapshots)
        except Exception as error:
            if type(error).__name__ != BROWSER_ENDED:
                raise
        ended, waited = browser or getattr(handler, "browser", None), 0.0
        while ended and getattr(handler, "browser", None) is ended and waited < END_SECS:
            await asyncio.sleep(POLL_SECS)
            waited += POLL_SECS
        return await self._render(request, response, snapshots)

    async def _render(
        self, request: Request, response: HtmlResponse, snapshots: list[Any] | None
    ) -> HtmlResponse:
        """Return the response with the HTML that the browser renders, and append a snapshot of the
        page to *snapshots*. Raises `RenderError` or an error of Playwright.
        """
        from scrapy_playwright.page import PageMethod

        self._sites.add(self._keys.key(response.url))
        headers = request.headers.copy()
        for name in CONDITIONAL_HEADERS.values():
            headers.pop(name, None)
        # The headers middleware removed the user's headers from the request after the download.
        user_headers = self.crawler.get_downloader_middleware(HeadersMiddleware)
        headers.update(user_headers.headers_for(request) if user_headers else {})
        proxy = await self._proxy.start()
        self._loaded += 1
        context = f"contentspider-{self._loaded // CONTEXT_PAGES}"
        pages: list[Any] = []

        async def init(page: Any, _: Request) -> None:
            pages.append(page)
            page.on("popup", _close)
            await prepare_page(page)

        meta = {
            "playwright": True,
            "playwright_context": context,
            "playwright_context_kwargs": context_options(proxy, self._proxy.login),
            "playwright_page_init_callback": init,
            "playwright_page_methods": [PageMethod(_settle, snapshots)],
            "playwright_page_goto_kwargs": {"wait_until": "load"},
        }
        page_request = Request(response.url, headers=headers, meta=meta)
        self._open[context] = self._open.get(context, 0) + 1
        try:
            answer = await self._within(self._load(page_request), pages)
        finally:
            self._open[context] -= 1
            if not self.holder.keeper.interruption.is_set:
                await self._recycle(context)
        if answer.status >= 300 or not isinstance(answer, HtmlResponse):
            raise RenderError("status", f"in the browser its status is {answer.status}")
        if urldefrag(answer.url).url != urldefrag(response.url).url:
            raise RenderError("elsewhere", f"in the browser it redirects to {answer.url}")
        response_headers = response.headers.copy()
        for name in DROPPED_HEADERS:
            response_headers.pop(name, None)
        flags = [*response.flags, RENDERED]
        return HtmlResponse(
            response.url,
            response.status,
            response_headers,
            answer.text.encode("utf-8", "replace"),
            flags,
            request,
            encoding="utf-8",
        )

    async def _load(self, request: Request) -> Response:
        handler = download_handler(self.crawler)
        response: Response = await handler.download_request(request)
        return response

    async def _within(self, loading: Any, pages: list[Any]) -> Response:
        """Return the response of *loading* if it comes in time. If not, close the page, or end the
        browser if that does not react, and raise `RenderError`.
        """
        task = asyncio.ensure_future(loading)
        try:
            done, _ = await asyncio.wait({task}, timeout=self._secs)
        except asyncio.CancelledError:
            task.cancel()
            raise
        if done:
            response: Response = task.result()
            return response
        closing = [asyncio.ensure_future(page.close()) for page in pages]
        await asyncio.wait({task, *closing}, timeout=END_SECS)
        if not task.done():
            task.cancel()
            await self._end_browser()
        await asyncio.gather(task, *closing, return_exceptions=True)
        raise RenderError("slow", f"the browser takes more than {self._secs:g} s")

    async def _recycle(self, context: str) -> None:
        """Close the contexts that are full and whose pages are all closed."""
        current = f"contentspider-{self._loaded // CONTEXT_PAGES}"
        handler = download_handler(self.crawler)
        unused = [name for name, count in self._open.items() if not count and name != current]
        for name in unused:
            del self._open[name]
            if wrapper := handler.context_wrappers.get(name):
                with suppress(Exception):
                    await asyncio.wait_for(wrapper.context.close(), END_SECS)

    async def _end_browser(self) -> None:
        """End a browser that does not answer. The next page starts another browser."""
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
        return "*" in hosts or any(host == name or host.endswith(f".{name}") for name in hosts)

    def _may_connect(self, host: str, address: str) -> bool:
        """Tell whether the browser may connect to one of a host's addresses."""
        guard = self.crawler.get_downloader_middleware(GuardMiddleware)
        if guard is None:  # without the site spider, the project's own spider chooses its sites
            return not network_of(address) or bool(network_of(host))
        return not guard.closed_network(host, address)

    async def _closed(self) -> None:
        for name, count in self.templates.counts().items():
            self.stats.set_value(f"contentspider/render/templates/{name}", count)
        if self._proxy.refused:
            self.stats.set_value("contentspider/render/hosts_refused", len(self._proxy.refused))
            hosts = ", ".join(sorted(self._proxy.refused)[:10])
            logger.info(f"pages tried to load from hosts that they may not request: {hosts}")
        await self._proxy.close()


async def _close(page: Any) -> None:
    with suppress(Exception):
        await page.close()


async def _settle(page: Any, snapshots: list[Any] | None) -> None:
    """Wait until a page's scripts have sent their requests, for at most `IDLE_MS`, and append a
    snapshot of the page to *snapshots*. Raises `RenderError` if the page is huge.
    """
    from playwright.async_api import TimeoutError as PlaywrightTimeout

    with suppress(PlaywrightTimeout):
        await page.wait_for_load_state("networkidle", timeout=IDLE_MS)
    elements, chars = await page.evaluate(SIZE)
    if elements > MAX_ELEMENTS or chars > MAX_CHARS:
        raise RenderError(
            "huge", f"in the browser it has {elements:,} elements, {counted(chars, 'characters')}"
        )
    if snapshots is not None:
        session = await page.context.new_cdp_session(page)
        snapshots.append(await session.send(COMMAND, ARGUMENTS))
        await session.detach()
