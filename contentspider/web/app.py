"""The web application of ``contentspider serve`` (Starlette)."""

from __future__ import annotations

import re
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, TypeVar

import nh3
from jinja2 import Environment, PackageLoader
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from contentspider.ground.addresses import split_address
from contentspider.ground.counts import counted
from contentspider.ground.errors import ContentSpiderError
from contentspider.index.engine import Query
from contentspider.index.errors import EngineDownError, EngineError
from contentspider.index.filters import FilterError, Order, parse_filters
from contentspider.index.own_fields import TEXT, fields_line
from contentspider.index.reader import IndexReader
from contentspider.index.result_rows import result_rows
from contentspider.index.schema import FACETS
from contentspider.index.synonyms import NO_SYNONYMS
from contentspider.web.copies import original_ids
from contentspider.web.guards import guards, is_for_programs
from contentspider.web.metrics import CONTENT_TYPE, Metrics
from contentspider.web.openapi import describe_api
from contentspider.web.search_links import (
    MAX_OWN_FIELDS,
    MAX_VALUES,
    SITE,
    chosen_links,
    facet_links,
    order_links,
    query_parameters,
    results_address,
)
from contentspider.web.site_names import site_names
from contentspider.web.site_pages import SitePages
from contentspider.web.trial_pages import TrialPages

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence
    from pathlib import Path

    from starlette.requests import Request

    from contentspider.index.engine import Engine, Results
    from contentspider.index.synonyms import Synonyms
    from contentspider.state.stores.models import ModelStore

PAGE_SIZE, MAX_PAGE_SIZE = 10, 100
# Visitors hardly read further, and engines become slow there.
MAX_OFFSET = 1_000
MAX_WORDS_CHARS = 500
SEARCH_BOX = "search-box.js"
SCRIPTS = ("try.js", "sort.js", SEARCH_BOX)
# A search box on a page of another site requests these addresses. Its visitors send no token.
HEALTH = re.compile("/health")
SEARCH_OR_HEALTH = re.compile(
    rf"/(?:|style\.css|{re.escape(SEARCH_BOX)}|api/search|page/[^/]*|health)"
)
# The page of a saved text shows no pictures and frames: they would come from other servers.
TEXT_TAGS = nh3.ALLOWED_TAGS - {"img", "map", "area"}

Reply = TypeVar("Reply")


@dataclass(frozen=True)
class Access:
    """Who may use the server.

    Only requests for *hosts* are answered, so that pages of other sites cannot read the application
    through a visitor's browser. With a *token* each request needs that token. Pages of *origins*
    may have a search box: they may read search results, and searches need no token then. With
    *is_private_allowed* visitors may try pages of private networks.
    """

    hosts: Sequence[str]
    token: str = ""
    origins: Sequence[str] = ()
    is_private_allowed: bool = False


def make_app(
    url: str,
    books: Sequence[Path],
    models: ModelStore,
    access: Access,
    synonyms: Synonyms = NO_SYNONYMS,
) -> Starlette:
    """Return the web application: search, sites, metrics, and trying pages.

    Searches read the index at *url*; with "" the application lacks search pages. Searched words
    with *synonyms* also find these. *books* and *models* describe the last crawls, for the page
    of sites and for the metrics.
    """
    index = IndexReader(url)
    pages = Pages(index, books, synonyms, has_index=bool(url))
    sites = SitePages(index if url else None, books, models.folder, pages.html)
    trials = TrialPages(pages.html, access.is_private_allowed, describe_api(bool(url)))
    monitoring = Monitoring(Metrics(books, models, index.call if url else None))
    searches = [
        Route("/", pages.search),
        Route("/page/{id}", pages.page),
        Route("/api/search", pages.search, middleware=_cross_origin(access.origins)),
        Route("/api/page/{id}", pages.page),
    ]
    routes = [
        Route("/style.css", pages.style),
        *(Route(f"/{name}", pages.script) for name in SCRIPTS),
        Route("/health", monitoring.health),
        Route("/metrics", monitoring.metrics),
        *sites.routes(),
        *trials.routes(),
    ]
    home = [Route("/", lambda request: RedirectResponse("/try"))]
    public_paths = SEARCH_OR_HEALTH if access.origins else HEALTH

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        await trials.jobs.cancel_all()

    return Starlette(
        routes=[*(searches if url else home), *routes],
        middleware=guards(access.hosts, access.token, public_paths),
        exception_handlers={HTTPException: pages.error, ContentSpiderError: pages.error},
        lifespan=lifespan,
    )


def _cross_origin(origins: Sequence[str]) -> list[Middleware]:
    """Return the middleware that lets pages of *origins* read an answer."""
    if not origins:
        return []
    return [Middleware(CORSMiddleware, allow_origins=list(origins), allow_methods=["GET"])]


class Monitoring:
    """The handlers for monitoring systems: the health of the server, and its metrics."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    async def health(self, request: Request) -> Response:
        """Return 200 if the server can answer requests, or 503 if its index cannot be searched."""
        is_healthy = await run_in_threadpool(self._metrics.is_index_up)
        status, code = ("ok", 200) if is_healthy else ("the index cannot be searched", 503)
        return JSONResponse({"status": status}, code)

    async def metrics(self, request: Request) -> Response:
        """Return the metrics for Prometheus."""
        return Response(await run_in_threadpool(self._metrics.text), media_type=CONTENT_TYPE)


class Pages:
    """The handlers of the search pages, as HTML and as JSON.

    Searches read *index*, with *synonyms*. *books* describe the last crawls.
    """

    def __init__(
        self,
        index: IndexReader,
        books: Sequence[Path],
        synonyms: Synonyms,
        has_index: bool,
    ) -> None:
        self._index = index
        self._books = books
        self._synonyms = synonyms
        environment = Environment(
            loader=PackageLoader("contentspider.web", "templates"),
            autoescape=True,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        environment.globals["has_index"] = has_index
        environment.filters["counted"] = counted
        self._template = environment.get_template

    async def style(self, request: Request) -> Response:
        """Return the style sheet."""
        return Response(self._template("style.css").render(), media_type="text/css")

    async def script(self, request: Request) -> Response:
        """Return one of the `SCRIPTS`. Pages of other sites may load the search box."""
        name = request.url.path.strip("/")
        policy = "cross-origin" if name == SEARCH_BOX else "same-origin"
        headers = {"Cross-Origin-Resource-Policy": policy}
        script = self._template(name).render()
        return Response(script, media_type="text/javascript", headers=headers)

    def html(self, template: str, code: int = 200, **values: object) -> Response:
        """Render a template, and return the page with a status *code*."""
        return HTMLResponse(self._template(template).render(**values), code)

    async def search(self, request: Request) -> Response:
        """Return the search page, with results if the request has words or filters.

        As JSON it has ``total``, ``facets``, ``corrected``, ``note`` (`Results`), and ``results``
        with the fields of ``contentspider search --json``.
        """
        query = replace(parse_query(request), synonyms=self._synonyms)
        is_page = not is_for_programs(request)
        is_empty = not (query.words or query.filters or query.comparisons or query.order)
        if is_empty and is_page:
            return self.html("search.html", query=query, results=None, parameters=[])
        results, own_types, names = await self._call_index(partial(_search, query, is_page))
        rows = await run_in_threadpool(result_rows, query, results)
        if not is_page:
            told = ("total", "facets", "corrected", "note")
            values = {name: getattr(results, name) for name in told}
            return JSONResponse(values | {"results": [row.to_dict() for row in rows]})
        return self.html(
            "search.html",
            query=query,
            results=results,
            rows=rows,
            parameters=query_parameters(query),
            address=partial(results_address, query),
            last=min(results.total, MAX_OFFSET + query.limit),
            facets=facet_links(query, results, names),
            orders=order_links(query, results, own_types),
            chosen=chosen_links(query, names),
            fields_line=fields_line,
            web_link=web_link,
        )

    async def _call_index(self, request: Callable[[Engine], Reply]) -> Reply:
        return await run_in_threadpool(self._index.call, request)

    async def page(self, request: Request) -> Response:
        """Return the text of a page with a link to the original; as JSON its document. The id of a
        copy leads to the page that it copies.
        """
        record = await self._call_index(partial(self._document, str(request.path_params["id"])))
        if record is None:
            raise HTTPException(404, "The index has no such page.")
        if is_for_programs(request):
            return JSONResponse(dict(record))
        link = web_link(str(record.get("url", "")))
        content_html = nh3.clean(
            str(record.get("more", {}).get("content_html", "")), tags=TEXT_TAGS
        )
        words = parse_words(request)
        return self.html(
            "page.html", record=record, link=link, words=words, content_html=content_html
        )

    def _document(self, document_id: str, engine: Engine) -> Mapping[str, Any] | None:
        """Return the document with an id, or the document of the page that it copies."""
        originals = original_ids(self._books, document_id)
        documents = map(engine.get, chain([document_id], originals))
        return next((record for record in documents if record is not None), None)

    async def error(self, request: Request, error: Exception) -> Response:
        """Return the message of an error, as a page or as JSON."""
        status, message = 500, str(error)
        headers: Mapping[str, str] = {}
        if isinstance(error, HTTPException):
            status, message, headers = error.status_code, error.detail, error.headers or {}
        elif isinstance(error, EngineDownError):
            status = 503
        elif isinstance(error, FilterError) or not isinstance(error, EngineError):
            status = 400
        if is_for_programs(request):
            code = {"code": error.code} if isinstance(error, ContentSpiderError) else {}
            return JSONResponse({"error": message, **code}, status, headers)
        page = self.html("error.html", status, is_missing=status == 404, message=message)
        page.headers.update(headers)
        return page


def web_link(url: str) -> str:
    """Return an address that a page may link to: *url* if it is on the web, else ""."""
    return url if split_address(url).scheme in ("http", "https") else ""


def _search(
    query: Query, is_page: bool, engine: Engine
) -> tuple[Results, Mapping[str, Sequence[str]], Mapping[str, str]]:
    """Return the results of a query, and for the search page the types of the own fields of the
    index, and the names of sites. There the texts of own fields are counted, too.
    """
    if not is_page:
        return engine.search(query), {}, {}
    own_types = engine.own_types()
    counted = [name for name, types in own_types.items() if TEXT in types]
    results = engine.search(replace(query, counted=counted[:MAX_OWN_FIELDS]))
    sites = {*islice(results.facets[SITE], MAX_VALUES), *query.conditions.get(SITE, ())}
    return results, own_types, site_names(engine, sites)


def parse_query(request: Request) -> Query:
    """Return the query in a request; invalid numbers count as missing. Raises `FilterError`."""
    values = request.query_params
    filters = {name: value for name in FACETS if (value := values.get(name, "")[:MAX_WORDS_CHARS])}
    limit = min(parse_number(values.get("limit", ""), PAGE_SIZE), MAX_PAGE_SIZE)
    offset = min(parse_number(values.get("from", ""), 0), MAX_OFFSET)
    is_typing = values.get("typing") == "1"
    return Query(
        parse_words(request),
        filters,
        max(limit, 1),
        offset,
        is_typing,
        comparisons=parse_filters(_texts(request, "filter")),
        order=Order.parse(values.get("sort", "")[:MAX_WORDS_CHARS]),
        counted=_texts(request, "facet")[:MAX_OWN_FIELDS],
    )


def _texts(request: Request, name: str) -> list[str]:
    """Return the values of a parameter that a request may have several times."""
    return [text for text in request.query_params.getlist(name) if text.strip()]


def parse_words(request: Request) -> str:
    """Return the searched words in a request."""
    return request.query_params.get("q", "")[:MAX_WORDS_CHARS].strip()


def parse_number(text: str, default: int) -> int:
    """Return a text as a number of 0 or more, or *default* if it is not such a number.

    >>> parse_number("7", 1), parse_number("-7", 1), parse_number("٣", 1)
    (7, 1, 1)
    >>> parse_number("9" * 99, 1)
    1
    """
    return int(text) if text.isascii() and text.isdigit() and len(text) < 9 else default
