"""What the applications refuse, and the headers of what they answer."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.exceptions import HTTPException

if TYPE_CHECKING:
    from starlette.middleware.base import RequestResponseEndpoint
    from starlette.requests import Request
    from starlette.responses import Response

# Nothing of the pages runs, and nothing is fetched for them but from here.
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


async def with_headers(request: Request, call_next: RequestResponseEndpoint) -> Response:
    """Answer a request with `HEADERS`."""
    response = await call_next(request)
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    return response


async def read_body(request: Request, most: int) -> bytes:
    """Return what a request brings; raises `HTTPException` if it is more than that."""
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > most:
            raise HTTPException(413, f"That is more than {most:,} bytes.")
        parts.append(part)
    return b"".join(parts)


def refuse_other_sites(request: Request) -> None:
    """Raise `HTTPException` if a browser sends a request for another site's page."""
    origin = request.headers.get("origin")
    is_other = request.headers.get("sec-fetch-site", "") in ("cross-site", "same-site")
    if is_other or (origin and urlsplit(origin).netloc != request.headers.get("host")):
        raise HTTPException(403, "This was sent by another site.")
