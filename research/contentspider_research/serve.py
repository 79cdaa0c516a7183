"""A folder of pages as the website it was, on loopback."""

from __future__ import annotations

import mimetypes
import re
import threading
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from typing_extensions import Self

REWRITTEN_TYPES = frozenset(["text/html", "text/xml", "application/xml", "application/xhtml+xml"])
INDEXES = ("index.html", "index.htm", "index.xml", "index.rss")
NOT_FOUND = b"<html><body><p>not found</p></body></html>"


class LoopbackServer(ThreadingHTTPServer):
    """A server for crawls of many connections at a time: of the default queue of 5 the kernel drops
    connections, which come again a second later.
    """

    daemon_threads = True
    request_queue_size = 128


class SiteServer:
    """Serves *folder* on 127.0.0.1 as a context manager; *url* is the root's address.

    Links to the site's own addresses (*bases*: hosts with or without a path) are rewritten to it. A
    folder answers with its index page or feed, a name without an ending with ``NAME.html``, as
    static hosts do. Answers have an ETag, unless *has_validators* is false. *requests* are the
    paths of all requests, each with the ETag that it asked for ("": none).
    """

    def __init__(
        self, folder: Path, bases: Iterable[str] = (), has_validators: bool = True
    ) -> None:
        self.folder = folder.resolve()
        self.has_validators = has_validators
        self.requests: list[tuple[str, str]] = []
        self._server = LoopbackServer(("127.0.0.1", 0), _handler(self))
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/"
        names = set()
        for base in bases:
            name = re.sub(r"^https?://(?:www\.)?", "", base.lower()).rstrip("/")
            names |= {name, "www." + name}
        ordered = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
        self._own = (
            re.compile(rf"(?:https?:)?//(?:{ordered})(?=[/\"'<>\s?#]|$)".encode(), re.IGNORECASE)
            if names
            else None
        )

    def __enter__(self) -> Self:
        threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
        ).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def file_of(self, address: str) -> Path | None:
        """Return the file that an address of this site answers with, None if there is none."""
        file = (self.folder / unquote(urlsplit(address).path).lstrip("/")).resolve()
        if not file.is_relative_to(self.folder):
            return None
        candidates = [*(file / name for name in INDEXES), file, file.with_name(file.name + ".html")]
        return next((candidate for candidate in candidates if candidate.is_file()), None)

    def answer(self, address: str) -> tuple[bytes, str, str] | None:
        """Return body, type and ETag ("": none) for an address, None if there is no such page."""
        file = self.file_of(address)
        if file is None:
            return None
        body, kind = file.read_bytes(), mimetypes.guess_type(file.name)[0] or "text/html"
        if self._own and (kind in REWRITTEN_TYPES or kind.endswith("+xml")):
            body = self._own.sub(self.url.rstrip("/").encode(), body)
        etag = f'"{sha256(body).hexdigest()[:32]}"' if self.has_validators else ""
        return body, kind, etag


def _handler(site: SiteServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            found = site.answer(self.path)
            body, kind, etag = found or (NOT_FOUND, "text/html", "")
            asked_etag = self.headers.get("If-None-Match", "")
            site.requests.append((self.path, asked_etag))
            is_same = etag and asked_etag == etag
            status = 404 if not found else 304 if is_same else 200
            self.send_response(status)
            if etag:
                self.send_header("ETag", etag)
            if status != 304:
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if status != 304:
                self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the signature of http.server
            """Say nothing."""

    return Handler
