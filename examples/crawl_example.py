"""Serve the example site on loopback and crawl it: what ``make crawl`` does without a URL."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

from example_site import ExampleSite


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128  # more connections at a time than the default


class Handler(SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Say nothing."""


with tempfile.TemporaryDirectory() as folder:
    site = ExampleSite().write(Path(folder) / "example")
    server = Server(("127.0.0.1", 0), partial(Handler, directory=str(site / "html")))
    Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/"
    command = [sys.executable, "-m", "contentspider", "crawl", url, "--own-site", *sys.argv[1:]]
    sys.exit(subprocess.run(command, check=False).returncode)
