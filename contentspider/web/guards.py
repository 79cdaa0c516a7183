"""Checks of requests, and security headers of responses, for all web applications."""

from __future__ import annotations

import re
import secrets
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.responses import RedirectResponse, Response

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.middleware.base import RequestResponseEndpoint
    from starlette.requests import Request

COOKIE = "contentspider_token"
# Below these paths programs send requests, not people.
PROGRAM_PATHS = ("/api/", "/mcp")
NO_PATH = re.compile("(?!)")

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


async def read_body(request: Request, max_bytes: int) -> bytes:
    """Return the body of a request; raises `HTTPException` if it is longer than *max_bytes*."""
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > max_bytes:
            raise HTTPException(413, f"The request has more than {max_bytes:,} bytes.")
        parts.append(part)
    return b"".join(parts)


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

    A request has the token in its address, in a cookie, or as a bearer token. A token in the
    address is moved to a cookie. Requests for *public_paths* need no token.
    """

    def __init__(self, token: str, public_paths: re.Pattern[str] = NO_PATH) -> None:
        self._token = token
        self._public_paths = public_paths

    async def __call__(self, request: Request, call_next: RequestResponseEndpoint) -> Response:
        """Handle a request with the token, and reject other requests with 401."""
        query_token = request.query_params.get("token", "")
        bearer_token = request.headers.get("authorization", "").removeprefix("Bearer ").strip()
        cookie_token = request.cookies.get(COOKIE, "")
        if self._is_valid(query_token) and request.method == "GET" and not is_for_programs(request):
            redirect = RedirectResponse(request.url.remove_query_params("token"), 303)
            redirect.set_cookie(COOKIE, self._token, httponly=True, samesite="strict")
            return redirect
        if self._public_paths.fullmatch(request.url.path):
            return await call_next(request)
        if not any(map(self._is_valid, (query_token, bearer_token, cookie_token))):
            message = (
                "Open the address with ?token=... that the command printed. Programs send"
                " 'Authorization: Bearer TOKEN'."
            )
            return Response(message, 401, media_type="text/plain")
        return await call_next(request)

    def _is_valid(self, token: str) -> bool:
        return secrets.compare_digest(token.encode(), self._token.encode())
