"""The pages and the API that show what is understood of an address (`contentspider.web.trying`)."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import (
    HTMLResponse,
    JSONResponse,
    RedirectResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Route

from contentspider.ground.fetch import MAX_BYTES, Fetched, FetchError, check
from contentspider.web.guards import read_body, refuse_other_sites
from contentspider.web.jobs import BusyError, Job, Jobs
from contentspider.web.painted import POLICY
from contentspider.web.trying import MORE_PAGES, Result, Tried, try_page, understand

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from starlette.requests import Request

MAX_FORM_BYTES = 20_000
MAX_ADDRESS_CHARS = 2_000
OPENAPI = {
    "openapi": "3.1.0",
    "info": {"title": "contentspider", "version": "1", "description": "The content of a page."},
    "paths": {
        "/api/extract": {
            "get": {
                "summary": "Fetch a page and return its item",
                "parameters": [
                    {
                        "name": "url",
                        "in": "query",
                        "required": True,
                        "schema": {"type": "string", "format": "uri"},
                    }
                ],
                "responses": {
                    "200": {"description": "The item: docs/items.md tells its fields"},
                    "400": {"description": "The page cannot be had; `error` says why"},
                    "429": {"description": "The client has a job already, or too many wait"},
                },
            },
            "post": {
                "summary": "Return the item of the HTML in the body",
                "parameters": [{"name": "url", "in": "query", "schema": {"type": "string"}}],
                "requestBody": {"content": {"text/html": {"schema": {"type": "string"}}}},
                "responses": {
                    "200": {"description": "The item"},
                    "400": {"description": "There is no text; `error` says so"},
                    "413": {"description": f"More than {MAX_BYTES:,} bytes"},
                },
            },
        }
    },
}


class TryPages:
    """The pages; *render* makes HTML of a template."""

    def __init__(self, render: Callable[..., Response], is_private_allowed: bool) -> None:
        self._render = render
        self._is_private_allowed = is_private_allowed
        self.jobs = Jobs()

    def routes(self) -> list[Route]:
        """Return their addresses."""
        return [
            Route("/try", self.form),
            Route("/try", self.begin, methods=["POST"]),
            Route("/try/{id}", self.job),
            Route("/try/{id}/events", self.events),
            Route("/try/{id}/{view}/page", self.painted),
            Route("/try/{id}/{view}/blocks.csv", self.blocks_csv),
            Route("/try/{id}/{view}/item.json", self.item_json),
            Route("/try/{id}/{view}/rules.{form}", self.rules),
            Route("/api/extract", self.extract),
            Route("/api/extract", self.extract_body, methods=["POST"]),
            Route("/api", self.api),
            Route("/api/openapi.json", self.openapi),
        ]

    async def form(self, request: Request) -> Response:
        """Return the form."""
        address = request.query_params.get("url", "")[:MAX_ADDRESS_CHARS]
        return self._form(request, address)

    def _form(
        self, request: Request, address: str = "", problem: str = "", code: int = 200
    ) -> Response:
        given = {"address": address, "problem": problem, "server": str(request.base_url)}
        return self._render("try.html", code, more_pages=MORE_PAGES, **given)

    async def begin(self, request: Request) -> Response:
        """Begin to look at a page, and lead to where it is shown."""
        refuse_other_sites(request)
        form = parse_qs((await read_body(request, MAX_FORM_BYTES)).decode("utf-8", "replace"))
        address, more = form.get("url", [""])[0].strip(), form.get("pages", ["0"])[0]
        address = address if "://" in address or not address else f"https://{address}"
        address = address[:MAX_ADDRESS_CHARS]
        number = int(more) if more in map(str, MORE_PAGES) else 0
        try:
            check(address, self._is_private_allowed)

            async def work(job: Job) -> Tried:
                return await try_page(address, number, self._is_private_allowed, job.say)

            job = self.jobs.begin(_client(request), work)
        except (FetchError, BusyError) as error:
            code = 429 if isinstance(error, BusyError) else 400
            return self._form(request, address, str(error), code)
        return RedirectResponse(f"/try/{job.id}", 303)

    async def job(self, request: Request) -> Response:
        """Return what was found, or how far it is."""
        job = self._job(request)
        if job.error:
            return self._form(request, problem=job.error, code=400)
        return self._render("tried.html", job=job, tried=job.result)

    async def events(self, request: Request) -> Response:
        """Return what a job says, as server-sent events; ``done`` when it is."""
        job = self._job(request)

        async def stream() -> AsyncIterator[str]:
            async for line in job.lines():
                yield f"data: {json.dumps(line)}\n\n"
            yield "event: done\ndata: {}\n\n"

        return StreamingResponse(
            stream(), media_type="text/event-stream", headers={"Cache-Control": "no-store"}
        )

    async def painted(self, request: Request) -> Response:
        """Return the page with its blocks painted, for a frame in which nothing runs."""
        return HTMLResponse(
            self._result(request).painted, headers={"Content-Security-Policy": POLICY}
        )

    async def blocks_csv(self, request: Request) -> Response:
        """Return the table of the blocks (RFC 4180)."""
        file = io.StringIO(newline="")
        names = ("text", "place", "probability", "kept")
        writer = csv.DictWriter(file, names, lineterminator="\r\n")
        writer.writeheader()
        writer.writerows(self._result(request).blocks)
        headers = {"Content-Disposition": 'attachment; filename="blocks.csv"'}
        body = file.getvalue().encode("utf-8", "replace")
        return Response(body, media_type="text/csv; charset=utf-8", headers=headers)

    async def item_json(self, request: Request) -> Response:
        """Return the item, and the blocks."""
        found = self._result(request)
        return _json({**found.item, "blocks": found.blocks})

    async def extract(self, request: Request) -> Response:
        """Return the item of the page at ``url``."""
        address = request.query_params.get("url", "")[:MAX_ADDRESS_CHARS]

        async def work(job: Job) -> Tried:
            return await try_page(address, 0, self._is_private_allowed, job.say)

        return await self._item(request, work)

    async def extract_body(self, request: Request) -> Response:
        """Return the item of the HTML in the body, which lies at ``url``."""
        body = await read_body(request, MAX_BYTES)
        address = request.query_params.get("url", "")[:MAX_ADDRESS_CHARS]
        page = Fetched(address, body, request.headers.get("content-type", ""))

        async def work(job: Job) -> Tried:
            return Tried(address, await run_in_threadpool(understand, page))

        return await self._item(request, work)

    async def _item(self, request: Request, work: Callable[[Job], Awaitable[Tried]]) -> Response:
        refuse_other_sites(request)
        try:
            tried = await self.jobs.done(_client(request), work)
        except BusyError as error:
            raise HTTPException(429, str(error)) from error
        return _json(tried.alone.item)

    async def rules(self, request: Request) -> Response:
        """Return the site's rules in a format, as plain text."""
        found = self._result(request).rules.get(str(request.path_params["form"]))
        if found is None:
            raise HTTPException(404, "There are no such rules.")
        return Response(found.encode("utf-8", "replace"), media_type="text/plain; charset=utf-8")

    async def api(self, request: Request) -> Response:
        """Return the page that tells of the API."""
        return self._render("api.html", paths=OPENAPI["paths"])

    async def openapi(self, request: Request) -> Response:
        """Return the description of the API."""
        return JSONResponse(OPENAPI)

    def _job(self, request: Request) -> Job:
        job = self.jobs.get(str(request.path_params["id"]))
        if job is None:
            raise HTTPException(404, "This page is not kept any more: try it again.")
        return job

    def _result(self, request: Request) -> Result:
        tried = self._job(request).result
        found = getattr(tried, str(request.path_params["view"]), None) if tried else None
        if not isinstance(found, Result):
            raise HTTPException(404, "There is no such result.")
        return found


def _json(value: dict[str, Any]) -> Response:
    # Halves of characters, which pages have, are no UTF-8.
    body = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
    return Response(body, media_type="application/json")


def _client(request: Request) -> str:
    return request.client.host if request.client else ""
