"""The web application of ``contentspider annotate``."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from contentspider.ground.errors import ContentSpiderError
from contentspider.web.annotate.labels import KINDS, Label
from contentspider.web.guards import read_body, refuse_other_sites, with_headers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.requests import Request

    from contentspider.web.annotate.frame import Frame
    from contentspider.web.annotate.session import Session

MAX_REQUEST_BYTES = 1_000_000


def make_app(session: Session, frame: Frame, hosts: Sequence[str], is_strict: bool) -> Starlette:
    """Return the application that shows the pages of a *session* in a *frame*, for requests to
    *hosts*. *is_strict*: a rectangle takes in an element by its box, not by its text.
    """
    pages = Pages(session, frame, is_strict)
    return Starlette(
        routes=[
            Route("/", pages.home),
            Route("/annotate.{kind:str}", pages.static),
            Route("/frame/{page:int}", pages.framed),
            Route("/asset/{name:path}", pages.asset),
            Route("/api/page/{page:int}", pages.state),
            Route("/api/page/{page:int}/{action}", pages.change, methods=["POST"]),
        ],
        middleware=[
            Middleware(BaseHTTPMiddleware, dispatch=with_headers),
            Middleware(TrustedHostMiddleware, allowed_hosts=list(hosts), www_redirect=False),
        ],
        exception_handlers={HTTPException: _failed, ContentSpiderError: _failed},
    )


class Pages:
    """What the application answers."""

    def __init__(self, session: Session, frame: Frame, is_strict: bool) -> None:
        self._session, self._frame, self._is_strict = session, frame, is_strict
        self._changing = asyncio.Lock()
        self._template = Environment(
            loader=PackageLoader("contentspider.web", "templates"), autoescape=True
        ).get_template

    async def home(self, request: Request) -> Response:
        """Return the page around the frame."""
        session = self._session
        shown = self._template("annotate.html").render(
            site=session.site, first=session.first, is_strict=self._is_strict, kinds=KINDS
        )
        return HTMLResponse(shown)

    async def static(self, request: Request) -> Response:
        """Return the script, or the style sheet."""
        kinds = {"js": "text/javascript", "css": "text/css"}
        kind = str(request.path_params["kind"])
        if kind not in kinds:
            raise HTTPException(404, "There is no such file.")
        return Response(self._template(f"annotate.{kind}").render(), media_type=kinds[kind])

    async def framed(self, request: Request) -> Response:
        """Return a page for the frame."""
        page = self._page(request)
        found = self._session.extractions[page].page
        body = self._session.body(page)
        html = await run_in_threadpool(self._frame.html, body, found.url, found.content)
        headers = {"Content-Security-Policy": self._frame.policy(str(request.base_url))}
        return HTMLResponse(html.encode("utf-8", "replace"), headers=headers)

    async def asset(self, request: Request) -> Response:
        """Return a style sheet or a picture of the site's folder."""
        found = self._frame.asset(str(request.path_params["name"]))
        if found is None:
            raise HTTPException(404, "There is no such file.")
        return Response(found[0], media_type=found[1])

    async def state(self, request: Request) -> Response:
        """Return what is known of a page."""
        return self._state(self._page(request))

    async def change(self, request: Request) -> Response:
        """Label blocks, or a place on the whole site; take it back; or save the page."""
        refuse_other_sites(request)
        page = self._page(request)
        given = _fields(await read_body(request, MAX_REQUEST_BYTES))
        action = str(request.path_params["action"])
        async with self._changing:
            said = await run_in_threadpool(self._change, page, action, given)
            return self._state(page, said)

    def _change(self, page: int, action: str, given: dict[str, Any]) -> str:
        """Do what is asked, and return what is to be said of it."""
        if action == "label":
            self._session.label(page, given["blocks"], given["label"])
        elif action == "place" and given["blocks"]:
            return self._session.label_place(page, given["blocks"][0], given["label"])
        elif action == "undo":
            self._session.undo()
        elif action == "done":
            self._session.finish(page)
        else:
            raise HTTPException(404, "There is no such action.")
        return ""

    def _state(self, page: int, said: str = "") -> Response:
        body = json.dumps({**self._session.state(page), "said": said}, ensure_ascii=False)
        return Response(body.encode("utf-8", "replace"), media_type="application/json")

    def _page(self, request: Request) -> int:
        page = int(request.path_params["page"])
        if page >= len(self._session.extractions):
            raise HTTPException(404, "There is no such page.")
        return page


def _fields(body: bytes) -> dict[str, Any]:
    """Return the blocks and the label that a request names; raises `HTTPException`."""
    try:
        given = json.loads(body or b"{}")
        blocks = [int(number) for number in given.get("blocks", [])]
        label = Label(str(given.get("label", "")), int(given.get("kind", 0)))
    except (ValueError, TypeError, AttributeError) as error:
        raise HTTPException(400, "The request cannot be read.") from error
    return {"blocks": blocks, "label": label}


def _failed(request: Request, error: Exception) -> Response:
    """Say what was wrong, as JSON."""
    if isinstance(error, HTTPException):
        return JSONResponse({"error": error.detail}, error.status_code)
    return JSONResponse({"error": str(error)}, 400)
