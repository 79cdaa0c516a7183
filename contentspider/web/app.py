"""The web application of ``contentspider serve`` (Starlette)."""

from __future__ import annotations

import secrets
import threading
from contextlib import asynccontextmanager, closing, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlencode

import uvicorn
from jinja2 import Environment, PackageLoader
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from contentspider.ground.addresses import split_address
from contentspider.ground.errors import ContentSpiderError
from contentspider.index.engine import Query, create_engine
from contentspider.index.errors import EngineDownError, EngineError
from contentspider.index.schema import FACETS
from contentspider.index.snippets import result_rows
from contentspider.state.history.entries import Entries
from contentspider.web.guards import with_headers
from contentspider.web.try_pages import TryPages

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence
    from pathlib import Path
    from socket import socket

    from starlette.middleware.base import RequestResponseEndpoint
    from starlette.requests import Request

    from contentspider.index.engine import Engine

PAGE_SIZE, MAX_PAGE_SIZE = 10, 100
GRACE_SECS = 2
COOKIE = "contentspider_token"
# Nobody reads on so far, and engines grow slow there.
MAX_OFFSET = 1_000
MAX_WORDS_CHARS = 500
SCRIPTS = ("try.js", "sort.js")
FACET_NAMES = {"site": "Sites", "language": "Languages", "page_type": "Types"}

Answer = TypeVar("Answer")


class Index:
    """The index at *url*, which one request asks at a time; opened again when it has failed."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._engine: Engine | None = None
        self._lock = threading.Lock()

    def ask(self, question: Callable[[Engine], Answer]) -> Answer:
        """Return what the engine answers; raises `EngineError`."""
        with self._lock:
            try:
                if self._engine is None:
                    engine = create_engine(self._url)
                    engine.open(is_writer=False)
                    self._engine = engine
                return question(self._engine)
            except EngineError:
                self.close()
                raise

    def close(self) -> None:
        """End the connection."""
        if self._engine is not None:
            self._engine.close()
            self._engine = None


def make_app(
    url: str,
    histories: Sequence[Path],
    hosts: Sequence[str],
    is_private_allowed: bool = False,
    token: str = "",
) -> Starlette:
    """Return the application that searches the index at *url* ("": there is none), tells of the
    crawls in *histories*, and tries pages, of private networks too if that is allowed; only for
    requests to *hosts*: no other site's page can have a browser read it. With a *token* every
    request must bring it.
    """
    pages = Pages(Index(url), histories, has_index=bool(url))
    tries = TryPages(pages.html, is_private_allowed)
    searches = [
        Route("/", pages.search),
        Route("/page/{id}", pages.page),
        Route("/sites", pages.sites),
        Route("/api/search", pages.search),
        Route("/api/page/{id}", pages.page),
        Route("/api/sites", pages.sites),
    ]
    routes = [
        Route("/style.css", pages.style),
        *(Route(f"/{name}", pages.script) for name in SCRIPTS),
        *tries.routes(),
    ]
    home = [Route("/", lambda request: RedirectResponse("/try"))]

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        await tries.jobs.end()

    return Starlette(
        routes=[*(searches if url else home), *routes],
        middleware=[
            Middleware(BaseHTTPMiddleware, dispatch=with_headers),
            Middleware(TrustedHostMiddleware, allowed_hosts=list(hosts), www_redirect=False),
            *([Middleware(BaseHTTPMiddleware, dispatch=TokenCheck(token))] if token else []),
        ],
        exception_handlers={HTTPException: pages.failed, ContentSpiderError: pages.failed},
        lifespan=lifespan,
    )


class TokenCheck:
    """Answers requests that bring a *token*: in the address, then in a cookie, or as bearer."""

    def __init__(self, token: str) -> None:
        self._token = token

    async def __call__(self, request: Request, call_next: RequestResponseEndpoint) -> Response:
        """Answer a request, or refuse it."""
        asked = request.query_params.get("token", "")
        bearer = request.headers.get("authorization", "").removeprefix("Bearer ").strip()
        if self._is_it(asked) and request.method == "GET" and not is_api(request):
            answer: Response = RedirectResponse(request.url.remove_query_params("token"), 303)
            answer.set_cookie(COOKIE, self._token, httponly=True, samesite="strict")
            return answer
        if not any(map(self._is_it, (asked, bearer, request.cookies.get(COOKIE, "")))):
            said = "Open the address with ?token=... that 'contentspider serve' printed."
            return Response(said, 401, media_type="text/plain")
        return await call_next(request)

    def _is_it(self, given: str) -> bool:
        return secrets.compare_digest(given.encode(), self._token.encode())


def run(app: Starlette, listener: socket) -> None:
    """Answer what comes to a socket until the process is asked to end."""
    config = uvicorn.Config(app, log_level="warning", server_header=False, access_log=False)
    config.timeout_graceful_shutdown = GRACE_SECS  # then what is on its way is ended
    uvicorn.Server(config).run(sockets=[listener])


class Pages:
    """The pages and their JSON; *index* is searched, *histories* tell what crawls found."""

    def __init__(self, index: Index, histories: Sequence[Path], has_index: bool = True) -> None:
        self._index = index
        self._histories = histories
        environment = Environment(
            loader=PackageLoader("contentspider.web", "templates"),
            autoescape=True,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        environment.globals["has_index"] = has_index
        self._template = environment.get_template

    async def style(self, request: Request) -> Response:
        """Return the style sheet."""
        return Response(self._template("style.css").render(), media_type="text/css")

    async def script(self, request: Request) -> Response:
        """Return a script: it shows how far a job is, or sorts a table."""
        script = self._template(request.url.path.strip("/")).render()
        return Response(script, media_type="text/javascript")

    def html(self, template: str, code: int = 200, **values: object) -> Response:
        """Return a page made of a template."""
        return HTMLResponse(self._template(template).render(**values), code)

    async def search(self, request: Request) -> Response:
        """Return the page with the search box, and what was found if words are given; as JSON
        ``total``, ``facets``, and ``results`` as ``contentspider search --json`` has them.
        """
        query = query_of(request)
        if not query.words and not query.filters and not is_api(request):
            return self.html("search.html", query=query, results=None)
        results = await self._asked(lambda engine: engine.search(query))
        shown = await run_in_threadpool(result_rows, query, results)
        if is_api(request):
            found = [one.to_dict() for one in shown]
            return JSONResponse(
                {"total": results.total, "facets": results.facets, "results": found}
            )
        return self.html(
            "search.html",
            query=query,
            results=results,
            shown=shown,
            address=partial(address, query),
            last=min(results.total, MAX_OFFSET + query.limit),
            names=FACET_NAMES,
        )

    async def _asked(self, question: Callable[[Engine], Answer]) -> Answer:
        return await run_in_threadpool(self._index.ask, question)

    async def page(self, request: Request) -> Response:
        """Return a page's clean text, beside a link to the original; its document as JSON."""
        document_id = str(request.path_params["id"])
        record = await self._asked(lambda engine: engine.get(document_id))
        if record is None:
            raise HTTPException(404, "There is no such page in the index.")
        if is_api(request):
            return JSONResponse(dict(record))
        place = str(record.get("url", ""))
        link = place if split_address(place).scheme in ("http", "https") else ""
        return self.html("page.html", record=record, link=link, words=words_of(request))

    async def sites(self, request: Request) -> Response:
        """Return the sites of the index with their counts, and what the last crawls found."""
        results = await self._asked(lambda engine: engine.search(Query("", limit=1)))
        crawls = await run_in_threadpool(lambda: [last_crawl(path) for path in self._histories])
        found: dict[str, Any] = {
            "sites": results.facets["site"],
            "crawls": list(filter(None, crawls)),
        }
        return JSONResponse(found) if is_api(request) else self.html("sites.html", **found)

    async def failed(self, request: Request, error: Exception) -> Response:
        """Say what was wrong, on a page or as JSON."""
        status, message = 500, str(error)
        if isinstance(error, HTTPException):
            status, message = error.status_code, error.detail
        elif isinstance(error, EngineDownError):
            status = 503
        elif not isinstance(error, EngineError):
            status = 400
        if is_api(request):
            return JSONResponse({"error": message}, status)
        return self.html("error.html", status, is_missing=status == 404, message=message)


def is_api(request: Request) -> bool:
    """Tell whether JSON is asked for."""
    return request.url.path.startswith("/api/")


def address(query: Query, offset: int, **filters: str) -> str:
    """Return the address of a query's results from *offset* on, with *filters* ("": without)."""
    values = {"q": query.words, **query.filters, **filters, "from": str(max(offset, 0) or "")}
    kept = {name: value for name, value in values.items() if value or name == "q"}
    return "/?" + urlencode(kept, errors="replace")


def query_of(request: Request) -> Query:
    """Return the query of a request; numbers that are none count as not given."""
    values = request.query_params
    filters = {name: value for name in FACETS if (value := values.get(name, "")[:MAX_WORDS_CHARS])}
    limit = min(number_of(values.get("limit", ""), PAGE_SIZE), MAX_PAGE_SIZE)
    offset = min(number_of(values.get("from", ""), 0), MAX_OFFSET)
    return Query(words_of(request), filters, max(limit, 1), offset)


def words_of(request: Request) -> str:
    """Return the words that are searched."""
    return request.query_params.get("q", "")[:MAX_WORDS_CHARS].strip()


def number_of(text: str, default: int) -> int:
    """Return a number of 0 or more; *default* where *text* is none.

    >>> number_of("7", 1), number_of("-7", 1), number_of("٣", 1), number_of("9" * 99, 1)
    (7, 1, 1, 1)
    """
    return int(text) if text.isascii() and text.isdigit() and len(text) < 9 else default


def last_crawl(history: Path) -> dict[str, Any] | None:
    """Return what the last crawl of a *history* found; None if it cannot be read, or has none."""
    with suppress(ContentSpiderError), closing(Entries(history)) as documents:
        if found := documents.last_crawl():
            return {"name": history.stem, "pages": documents.live_count(), **found}
    return None
