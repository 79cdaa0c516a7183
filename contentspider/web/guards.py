"""Checks of requests, and security headers of responses, for both web applications."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.exceptions import HTTPException

if TYPE_CHECKING:
    from starlette.middleware.base import RequestResponseEndpoint
    from starlette.requests import Request
    from starlette.responses import Response

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
