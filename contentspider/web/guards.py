"""Checks of requests, and security headers of responses, for all web applications."""

from __future__ import annotations

import re
import secrets
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from starlette.middleware.base import RequestResponseEndpoint
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

COOKIE = "contentspider_token"
# Below these paths programs send requests, not people.
PROGRAM_PATHS = ("/api/", "/mcp")
NO_PATH = re.compile("(?!)")
# The most bytes of bodies in memory, of all requests together. A body may have 10 MB.
MAX_HELD_BYTES = 64_000_000
# The header that tells the clients of a busy server when to ask again, in seconds.
RETRY = {"Retry-After": "10"}

# Pages load styles, scripts, data and frames only from this server.
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self';"
        " frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def guards(
    hosts: Sequence[str], token: str = "", public_paths: re.Pattern[str] = NO_PATH
) -> list[Middleware]:
    """Return the middleware that each web application has.

    It adds `HEADERS` to responses, and answers only requests for *hosts*, so that pages of other
    sites cannot read the application through a visitor's browser. With a *token* each request
    needs that token, except for the *public_paths*.
    """
    # An address of IPv6 is in brackets in a request.
    names = [f"[{host}]" if ":" in host else host for host in hosts]
    token_check = TokenCheck(token, public_paths)
    return [
        Middleware(BaseHTTPMiddleware, dispatch=add_security_headers),
        Middleware(TrustedHostMiddleware, allowed_hosts=names, www_redirect=False),
        *([Middleware(BaseHTTPMiddleware, dispatch=token_check)] if token else []),
    ]


async def add_security_headers(request: Request, call_next: RequestResponseEndpoint) -> Response:
    """Handle a request, and add `HEADERS` to the response."""
    response = await call_next(request)
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    return response


class Bodies:
    """Reads the bodies of requests; a server holds at most `MAX_HELD_BYTES` of them at a time."""

    def __init__(self) -> None:
        self._held = 0

    @asynccontextmanager
    async def read(self, request: Request, max_bytes: int) -> AsyncIterator[bytes]:
        """Give the body of a request; it counts as held until the context ends.

        Raises `HTTPException` if the body is longer than *max_bytes* (413), if the server holds too
        many bodies (503), or if the connection ends before the body (400).
        """
        parts: list[bytes] = []
        size = 0
        try:
            async for part in request.stream():
                size += len(part)
                self._held += len(part)
                if size > max_bytes:
                    raise HTTPException(413, f"The request has more than {max_bytes:,} bytes.")
                if self._held > MAX_HELD_BYTES:
                    raise HTTPException(503, "The server is busy: try again.", RETRY)
                parts.append(part)
            yield b"".join(parts)
        except ClientDisconnect as error:
            raise HTTPException(400, "The connection ended before the request.") from error
        finally:
            self._held -= size


class BodyLimit:
    """Reads the body of each request before the application *app*, which sets no limit itself.

    *max_bytes* and the errors are the same as in `Bodies.read`.
    """

    def __init__(self, app: ASGIApp, max_bytes: int) -> None:
        self._app = app
        self._max_bytes = max_bytes
        self._bodies = Bodies()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            async with self._bodies.read(Request(scope, receive), self._max_bytes) as body:
                messages = iter([{"type": "http.request", "body": body, "more_body": False}])

                async def replay() -> Message:
                    return next(messages, None) or await receive()

                await self._app(scope, replay, send)
        except HTTPException as error:
            await Response(error.detail, error.status_code, error.headers)(scope, receive, send)


def reject_cross_site(request: Request) -> None:
    """Raise `HTTPException` if a page of another site made the browser send the request."""
    origin = request.headers.get("origin")
    is_cross_site = request.headers.get("sec-fetch-site", "") in ("cross-site", "same-site")
    if is_cross_site or (origin and urlsplit(origin).netloc != request.headers.get("host")):
        raise HTTPException(403, "A page of another site sent this request.")


async def refuse_cross_site(request: Request, call_next: RequestResponseEndpoint) -> Response:
    """Handle a request, unless a page of another site made the browser send it."""
    try:
        reject_cross_site(request)
    except HTTPException as error:
        return Response(error.detail, error.status_code, media_type="text/plain")
    return await call_next(request)


def is_for_programs(request: Request) -> bool:
    """Return whether a request comes from a program, which sends its token in a header."""
    return request.url.path.startswith(PROGRAM_PATHS)


class TokenCheck:
    """Rejects requests without a *token*.

    A request has the token as a bearer token, or in a cookie. A browser gets the cookie when it
    opens a page with the token in the address; it is sent to the address without the token then,
    because addresses are kept in logs and books. Programs send the header only. Requests for
    *public_paths* need no token.
    """

    def __init__(self, token: str, public_paths: re.Pattern[str] = NO_PATH) -> None:
        self._token = token
        self._public_paths = public_paths

    async def __call__(self, request: Request, call_next: RequestResponseEndpoint) -> Response:
        """Handle a request with the token, and reject other requests with 401."""
        query_token = request.query_params.get("token", "")
        if self._is_valid(query_token) and request.method == "GET" and not is_for_programs(request):
            return self._redirect(request)
        if self._public_paths.fullmatch(request.url.path):
            return await call_next(request)
        bearer_token = request.headers.get("authorization", "").removeprefix("Bearer ").strip()
        if not any(map(self._is_valid, (bearer_token, request.cookies.get(COOKIE, "")))):
            message = (
                "Open the address with ?token=... that the command printed. Programs send"
                " 'Authorization: Bearer TOKEN'."
            )
            return Response(message, 401, media_type="text/plain")
        return await call_next(request)

    def _redirect(self, request: Request) -> Response:
        """Return the redirect to an address without the token, which sets the cookie."""
        redirect = RedirectResponse(request.url.remove_query_params("token"), 303)
        is_https = request.url.scheme == "https"
        redirect.set_cookie(COOKIE, self._token, httponly=True, samesite="strict", secure=is_https)
        return redirect

    def _is_valid(self, token: str) -> bool:
        return secrets.compare_digest(token.encode(), self._token.encode())
