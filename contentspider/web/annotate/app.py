"""The web application of ``contentspider annotate``."""

from __future__ import annotations

import asyncio
import json
from functools import partial
from typing import TYPE_CHECKING

from jinja2 import Environment, PackageLoader
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from contentspider.ground.errors import ContentSpiderError
from contentspider.page.input.own_values import KINDS as FIELD_TYPES
from contentspider.web.annotate.labels import KINDS, Label
from contentspider.web.guards import Bodies, guards, reject_cross_site

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.requests import Request

    from contentspider.web.annotate.frame import Frame
    from contentspider.web.annotate.session import Session

MAX_REQUEST_BYTES = 1_000_000
# Errors in the conversion of a request's JSON. (1e999 cannot be an integer, and lists may be nested
# too deeply.)
BAD_REQUEST = (ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError)


def make_app(session: Session, frame: Frame, hosts: Sequence[str]) -> Starlette:
    """Return the web application that shows the pages of a *session* in a *frame*.

    Only requests for *hosts* are answered.
    """
    pages = Pages(session, frame)
    return Starlette(
        routes=[
            Route("/", pages.home),
            Route("/annotate.{kind:str}", pages.static),
            Route("/frame/{page:int}", pages.frame),
            Route("/asset/{name:path}", pages.asset),
            Route("/api/page/{page:int}", pages.state),
            Route("/api/page/{page:int}/{action}", pages.change, methods=["POST"]),
        ],
        middleware=guards(hosts),
        exception_handlers={HTTPException: _error, ContentSpiderError: _error},
    )


class Pages:
    """The handlers of requests."""

    def __init__(self, session: Session, frame: Frame) -> None:
        self._session, self._frame = session, frame
        self._bodies = Bodies()
        # Only one request at a time changes labels and files, or reads them.
        self._change_lock = asyncio.Lock()
        self._template = Environment(
            loader=PackageLoader("contentspider.web", "templates"), autoescape=True
        ).get_template

    async def home(self, request: Request) -> Response:
        """Return the page with the frame and the buttons."""
        session = self._session
        html = self._template("annotate.html").render(
            site=session.site,
            first=session.first,
            kinds=KINDS,
            types=FIELD_TYPES,
        )
        return HTMLResponse(html)

    async def static(self, request: Request) -> Response:
        """Return the script or the style sheet of the page around the frame."""
        media_types = {"js": "text/javascript", "css": "text/css"}
        suffix = str(request.path_params["kind"])
        if suffix not in media_types:
            raise HTTPException(404, "This file does not exist.")
        text = self._template(f"annotate.{suffix}").render()
        return Response(text, media_type=media_types[suffix])

    async def frame(self, request: Request) -> Response:
        """Return the HTML of a page for the frame."""
        number = self._page_number(request)
        page = self._session.extractions[number].page
        body = self._session.body(number)
        html = await run_in_threadpool(self._frame.html, body, page.url, page.content)
        headers = {"Content-Security-Policy": self._frame.policy(str(request.base_url))}
        return HTMLResponse(html.encode("utf-8", "replace"), headers=headers)

    async def asset(self, request: Request) -> Response:
        """Return a style sheet or a picture from the site's folder."""
        asset = self._frame.asset(str(request.path_params["name"]))
        if asset is None:
            raise HTTPException(404, "This file does not exist.")
        content, media_type = asset
        return Response(content, media_type=media_type)

    async def state(self, request: Request) -> Response:
        """Return the state of a page as JSON; see `Session.state`."""
        page = self._page_number(request)
        async with self._change_lock:
            return await run_in_threadpool(self._state, page)

    async def change(self, request: Request) -> Response:
        """Do an action on a page, and return the page's new state.

        Actions are ``label`` (label blocks), ``place`` (label a slot on the whole site), ``field``
        (mark the value of an own field), ``undo`` and ``done`` (save the page).
        """
        reject_cross_site(request)
        page = self._page_number(request)
        action = str(request.path_params["action"])
        async with self._bodies.read(request, MAX_REQUEST_BYTES) as body:
            if action == "field":
                change = partial(self._session.mark_value, page, *_parse_value(body))
            else:
                change = partial(self._change, page, action, *_parse_labels(body))
        async with self._change_lock:
            message = await run_in_threadpool(change)
            return await run_in_threadpool(self._state, page, message)

    def _change(self, page: int, action: str, blocks: list[int], label: Label) -> str:
        """Do an action, and return a message for the user, or ""."""
        if action == "label":
            self._session.label(page, blocks, label)
        elif action == "place" and blocks:
            return self._session.label_place(page, blocks[0], label)
        elif action == "undo":
            return self._session.undo()
        elif action == "done":
            self._session.finish(page)
        else:
            raise HTTPException(404, "This action does not exist.")
        return ""

    def _state(self, page: int, message: str = "") -> Response:
        body = json.dumps({**self._session.state(page), "said": message}, ensure_ascii=False)
        return Response(body.encode("utf-8", "replace"), media_type="application/json")

    def _page_number(self, request: Request) -> int:
        page = int(request.path_params["page"])
        if page >= len(self._session.extractions):
            raise HTTPException(404, "This page does not exist.")
        return page


def _parse_labels(body: bytes) -> tuple[list[int], Label]:
    """Return the numbers of blocks and the label in a request's body; raises `HTTPException`."""
    try:
        record = json.loads(body or b"{}")
        blocks = [int(number) for number in record.get("blocks", [])]
        return blocks, Label(_text(record.get("label", "")), int(record.get("kind", 0)))
    except BAD_REQUEST as error:
        raise HTTPException(400, "The request needs JSON with blocks and a label.") from error


def _parse_value(body: bytes) -> tuple[str, str, str]:
    """Return name, type and value of a field in a request's body; raises `HTTPException`."""
    try:
        record = json.loads(body)
        return _text(record["name"]).strip(), _text(record["type"]), _text(record["value"])
    except BAD_REQUEST as error:
        raise HTTPException(400, "The request needs JSON with name, type and value.") from error


def _text(value: object) -> str:
    """Return a value as text; raises ValueError for lone surrogates, which no file can have."""
    return str(value).encode().decode()


def _error(request: Request, error: Exception) -> Response:
    """Return the message of an error as JSON."""
    if isinstance(error, HTTPException):
        return JSONResponse({"error": error.detail}, error.status_code)
    return JSONResponse({"error": str(error)}, 400)
