"""What Elasticsearch's client takes for Elasticsearch: a server that speaks as that does, with the
header that says who answers.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

# ``application/vnd.elasticsearch+json; compatible-with=9``: JSON as that major version has it.
COMPATIBLE = re.compile(r"vnd\.elasticsearch\+([\w-]+);\s*compatible-with=\d+")


class Handler(BaseHTTPRequestHandler):
    """Passes requests on to the server at the *port* of the class."""

    port = 0
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # an answer in one write

    def setup(self) -> None:
        super().setup()
        self.upstream = HTTPConnection("127.0.0.1", self.port)

    def finish(self) -> None:
        self.upstream.close()
        super().finish()

    def answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {
            name: COMPATIBLE.sub(r"\1", self.headers[name])
            for name in ("Accept", "Content-Type")
            if name in self.headers
        }
        self.upstream.request(self.command, self.path, body, headers)
        found = self.upstream.getresponse()
        data = found.read()
        self.send_response(found.status)
        self.send_header("X-Elastic-Product", "Elasticsearch")
        self.send_header("Content-Type", found.headers.get("Content-Type", "application/json"))
        # To a HEAD the length is that of what a GET would get.
        self.send_header("Content-Length", found.headers.get("Content-Length", str(len(data))))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = answer  # noqa: N815

    def log_message(self, *_: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True


@contextmanager
def as_elasticsearch(port: int) -> Iterator[str]:
    """Give the URL, without an index, at which a server on loopback passes for Elasticsearch."""
    with Server(("127.0.0.1", 0), type("Handler", (Handler,), {"port": port})) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield f"elasticsearch://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()
