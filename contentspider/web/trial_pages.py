"""The pages and the API that extract a page for a visitor (`contentspider.web.trials`), as jobs in
memory: one per client, a few at a time.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections import OrderedDict
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlencode

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

from contentspider.ground.errors import ContentSpiderError
from contentspider.ground.fetch import MAX_BYTES, Fetched, FetchError, check
from contentspider.state.files.formats import csv_of
from contentspider.web.guards import RETRY, Bodies, reject_cross_site
from contentspider.web.preview import POLICY
from contentspider.web.trials import MORE_PAGES, Result, Trial, extract_fetched, try_page

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping

    from starlette.requests import Request


MAX_FORM_BYTES = 20_000
MAX_ADDRESS_CHARS = 2_000
MAX_RUNNING = 2
MAX_UNFINISHED = 20
# Finished jobs whose results stay in memory, at most some 50 MB each.
MAX_FINISHED = 10


class BusyError(ContentSpiderError):
    """A job is rejected, because its client has a running job, or too many jobs wait."""

    code = "too-many-jobs"


@dataclass(eq=False)
class Job:
    """A job of a *client* for the page at *url*, with its progress *messages*, and finally a
    *result* or an *error*.
    """

    id: str
    client: str
    url: str
    messages: list[str] = field(default_factory=list)
    result: Trial | None = None
    error: str = ""
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None

    @property
    def is_done(self) -> bool:
        """Return whether the job has a result or an error."""
        return self.result is not None or bool(self.error)

    def report(self, message: str) -> None:
        """Add a message about the job's progress."""
        self.messages.append(message)
        self._notify()

    def _notify(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()

    async def follow(self) -> AsyncIterator[str]:
        """Yield the job's messages until the job is done."""
        count = 0
        while True:
            changed = self.changed
            while count < len(self.messages):
                yield self.messages[count]
                count += 1
            if self.is_done:
                return
            await changed.wait()

    async def cancel(self) -> None:
        """End the job, and wait for the end."""
        if self.task is not None and not self.task.done():
            self.task.cancel()
            await asyncio.wait([self.task])

    async def run(
        self, work: Callable[[Job], Awaitable[Trial]], semaphore: asyncio.Semaphore
    ) -> None:
        """Do the work when *semaphore* has room, and store its result or its error."""
        try:
            async with semaphore:
                self.result = await work(self)
        except ContentSpiderError as error:
            self.error = str(error)
        except Exception as error:  # noqa: BLE001 - one page must not stop the server
            self.error = f"the page gave an error ({type(error).__name__}): please report the page"
        finally:
            if self.result is None and not self.error:
                self.error = "the job was stopped"
            self._notify()


class Jobs:
    """All jobs of a server."""

    def __init__(self) -> None:
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        # The clients whose requests are being read, before they have a job.
        self._places: list[str] = []
        self._semaphore = asyncio.Semaphore(MAX_RUNNING)

    def get(self, job_id: str) -> Job | None:
        """Return a job, or None if it does not exist, or is deleted already."""
        return self._jobs.get(job_id)

    @contextmanager
    def place(self, client: str) -> Iterator[None]:
        """Keep the place of a job for a *client* while its request is read; raises `BusyError`."""
        self._check(client)
        self._places.append(client)
        try:
            yield
        finally:
            self._places.remove(client)

    def _check(self, client: str) -> None:
        """Raise `BusyError` if a client may not start a job now."""
        busy = [*self._places, *(job.client for job in self._jobs.values() if not job.is_done)]
        if client in busy:
            raise BusyError("one page at a time: wait until your last page is done")
        if len(busy) >= MAX_UNFINISHED:
            raise BusyError("too many pages are waiting: try again in a minute")

    def start(self, client: str, url: str, work: Callable[[Job], Awaitable[Trial]]) -> Job:
        """Start a job for the page at *url*, and return it; raises `BusyError`."""
        self._check(client)
        job = Job(secrets.token_urlsafe(12), client, url)
        self._jobs[job.id] = job
        finished_ids = [job.id for job in self._jobs.values() if job.is_done]
        for job_id in finished_ids[:-MAX_FINISHED]:
            del self._jobs[job_id]
        job.task = asyncio.create_task(job.run(work, self._semaphore))
        return job

    async def run(self, client: str, url: str, work: Callable[[Job], Awaitable[Trial]]) -> Trial:
        """Run a job to its end, and return its result without storing it.

        Raises `BusyError`, or `ContentSpiderError` with the error of the job.
        """
        job = self.start(client, url, work)
        async for _ in job.follow():
            pass
        self._jobs.pop(job.id, None)
        if job.result is None:
            raise ContentSpiderError(job.error)
        return job.result

    async def cancel_all(self) -> None:
        """Cancel all jobs, when the server ends."""
        await asyncio.gather(*(job.cancel() for job in self._jobs.values()))


class TrialPages:
    """The handlers of the pages and the API. *render* renders a template as a response.
    *description* describes the API (`describe_api`).
    """

    def __init__(
        self,
        render: Callable[..., Response],
        is_private_allowed: bool,
        description: Mapping[str, Any],
    ) -> None:
        self._render = render
        self._description = description
        self._is_private_allowed = is_private_allowed
        self._bodies = Bodies()
        self.jobs = Jobs()

    def routes(self) -> list[Route]:
        """Return the routes of the handlers."""
        return [
            Route("/try", self.form),
            Route("/try", self.start, methods=["POST"]),
            Route("/try/{id}", self.job),
            Route("/try/{id}/events", self.events),
            Route("/try/{id}/cancel", self.cancel, methods=["POST"]),
            Route("/try/{id}/{view}/page", self.preview),
            Route("/try/{id}/{view}/blocks.csv", self.blocks_csv),
            Route("/try/{id}/{view}/item.json", self.item_json),
            Route("/try/{id}/{view}/rules.{form}", self.rules),
            Route("/api/extract", self.extract),
            Route("/api/extract", self.extract_body, methods=["POST"]),
            Route("/api", self.api),
            Route("/api/openapi.json", self.openapi),
        ]

    async def form(self, request: Request) -> Response:
        """Return the form for the address of a page."""
        address = request.query_params.get("url", "")[:MAX_ADDRESS_CHARS]
        return self._form(request, address)

    def _form(
        self, request: Request, address: str = "", problem: str = "", code: int = 200
    ) -> Response:
        return self._render(
            "try.html",
            code,
            more_pages=MORE_PAGES,
            address=address,
            problem=problem,
            server=str(request.base_url),
        )

    async def start(self, request: Request) -> Response:
        """Start a job for the address in the form, and redirect to the job's page."""
        reject_cross_site(request)
        async with self._bodies.read(request, MAX_FORM_BYTES) as body:
            form = parse_qs(body.decode("utf-8", "replace"))
        address = form.get("url", [""])[0].strip()
        if address and "://" not in address:
            address = f"https://{address}"
        address = address[:MAX_ADDRESS_CHARS]
        pages_text = form.get("pages", ["0"])[0]
        more_pages = int(pages_text) if pages_text in map(str, MORE_PAGES) else 0
        try:
            check(address, self._is_private_allowed)

            async def work(job: Job) -> Trial:
                return await try_page(address, more_pages, self._is_private_allowed, job.report)

            job = self.jobs.start(_client(request), address, work)
        except (FetchError, BusyError) as error:
            is_busy = isinstance(error, BusyError)
            answer = self._form(request, address, str(error), 429 if is_busy else 400)
            answer.headers.update(RETRY if is_busy else {})
            return answer
        return RedirectResponse(f"/try/{job.id}", 303)

    async def job(self, request: Request) -> Response:
        """Return the results of a job, or its progress while it runs."""
        job = self._job(request)
        if job.error:
            return self._form(request, job.url, job.error, 400)
        return self._render("trial.html", job=job, trial=job.result)

    async def cancel(self, request: Request) -> Response:
        """End a job, and redirect to the form with its address."""
        reject_cross_site(request)
        job = self._job(request)
        await job.cancel()
        return RedirectResponse(f"/try?{urlencode({'url': job.url}, errors='replace')}", 303)

    async def events(self, request: Request) -> Response:
        """Return a job's messages as server-sent events, with the event ``done`` at the end."""
        job = self._job(request)

        async def stream() -> AsyncIterator[str]:
            async for message in job.follow():
                yield f"data: {json.dumps(message)}\n\n"
            yield "event: done\ndata: {}\n\n"

        return StreamingResponse(
            stream(), media_type="text/event-stream", headers={"Cache-Control": "no-store"}
        )

    async def preview(self, request: Request) -> Response:
        """Return the page with coloured blocks, for a frame that runs no scripts."""
        return HTMLResponse(
            self._result(request).preview, headers={"Content-Security-Policy": POLICY}
        )

    async def blocks_csv(self, request: Request) -> Response:
        """Return the table of the blocks as CSV (RFC 4180)."""
        body = csv_of(("text", "place", "probability", "kept"), self._result(request).blocks)
        headers = {"Content-Disposition": 'attachment; filename="blocks.csv"'}
        return Response(body, media_type="text/csv; charset=utf-8", headers=headers)

    async def item_json(self, request: Request) -> Response:
        """Return the item and the blocks as JSON."""
        result = self._result(request)
        return _json({**result.item, "blocks": result.blocks})

    async def extract(self, request: Request) -> Response:
        """Return the item of the page at ``url``."""
        address = request.query_params.get("url", "")[:MAX_ADDRESS_CHARS]

        async def work(job: Job) -> Trial:
            return await try_page(address, 0, self._is_private_allowed, job.report)

        return await self._item(request, address, work)

    async def extract_body(self, request: Request) -> Response:
        """Return the item of the HTML in the body; ``url`` is the address of the page."""
        reject_cross_site(request)
        address = request.query_params.get("url", "")[:MAX_ADDRESS_CHARS]
        with ExitStack() as place:
            # Only a client that may start a job may send a body.
            with _busy_is_429():
                place.enter_context(self.jobs.place(_client(request)))
            async with self._bodies.read(request, MAX_BYTES) as body:
                place.close()
                page = Fetched(address, body, request.headers.get("content-type", ""))

                async def work(job: Job) -> Trial:
                    return Trial(address, await run_in_threadpool(extract_fetched, page))

                return await self._item(request, address, work)

    async def _item(
        self, request: Request, address: str, work: Callable[[Job], Awaitable[Trial]]
    ) -> Response:
        reject_cross_site(request)
        with _busy_is_429():
            trial = await self.jobs.run(_client(request), address, work)
        return _json(trial.alone.item)

    async def rules(self, request: Request) -> Response:
        """Return the site's rules in a format, as plain text."""
        rules = self._result(request).rules.get(str(request.path_params["form"]))
        if rules is None:
            raise HTTPException(404, "These rules do not exist.")
        return Response(rules.encode("utf-8", "replace"), media_type="text/plain; charset=utf-8")

    async def api(self, request: Request) -> Response:
        """Return the page that documents the API."""
        return self._render("api.html", paths=self._description["paths"])

    async def openapi(self, request: Request) -> Response:
        """Return the OpenAPI description of the API."""
        return JSONResponse(self._description)

    def _job(self, request: Request) -> Job:
        job = self.jobs.get(str(request.path_params["id"]))
        if job is None:
            raise HTTPException(404, "The results of this page were deleted. Try the page again.")
        return job

    def _result(self, request: Request) -> Result:
        trial = self._job(request).result
        result = getattr(trial, str(request.path_params["view"]), None) if trial else None
        if not isinstance(result, Result):
            raise HTTPException(404, "This result does not exist.")
        return result


@contextmanager
def _busy_is_429() -> Iterator[None]:
    """Answer `BusyError` with 429 (too many requests)."""
    try:
        yield
    except BusyError as error:
        raise HTTPException(429, str(error), RETRY) from error


def _json(value: dict[str, Any]) -> Response:
    # Pages may contain lone surrogates, which UTF-8 cannot encode.
    body = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
    return Response(body, media_type="application/json")


def _client(request: Request) -> str:
    return request.client.host if request.client else ""
