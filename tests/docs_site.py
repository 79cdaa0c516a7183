"""The website that the docs' examples crawl: https://example.org, on loopback.

Programs reach it as they reach the web from behind a firm's proxy, by the variables ``https_proxy``
and ``http_proxy``: so the examples run with the addresses that are printed. No other address
answers.
"""

from __future__ import annotations

import datetime
import ssl
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from threading import Thread
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from tests.conftest import LoopbackServer
from tests.sites import prose

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HOSTS = ("example.org", "docs.example.com", "hooks.example.org")
PAGE = """<!DOCTYPE html><html lang="en"><head><title>{title} | Harbour Post</title></head><body>
<nav><a href="/">Home</a> <a href="/opening-hours">Opening hours</a></nav>
<main><div class="entry-content"><h1>{title}</h1>
<p><time class="published" datetime="2026-02-0{day}">{day} February 2026</time></p>{content}
<div class="related"><h3>Read next</h3><ul>{links}</ul></div></div></main>
<aside class="newsletter"><p>Every Friday the best of the week in your mailbox.</p></aside>
<footer><p>© 2026 Harbour Post. All rights reserved.</p></footer></body></html>"""
PICTURE = (
    '<figure><img src="/tea.jpg" alt="A cup" width="640" height="480"><figcaption>Tea in Bath'
    "</figcaption></figure>"
)
TEXTS = {
    "/": "<p>Harbour Post tells what happens between the lighthouse and the quay.</p>",
    "/tea": f"<p>Tea is made of leaves, of hot water, and of time.</p>{PICTURE}",
    "/coffee": "<p>Coffee is roasted in the old customs house, behind the market.</p>",
    "/ferry": "<h2>Times</h2><p>The ferry leaves at nine, and comes back at six.</p>",
    "/opening-hours": "<p>These are our opening hours: we are open from nine to five.</p>",
    "/walks": "<p>Three walks lead around the harbour, and one goes up to the lighthouse.</p>",
}
GUIDE = {f"/guide/{name}": f"<p>How to {name} a boat.</p>" for name in ("", "moor", "sail")}
FILES = {"/tea.jpg": "a picture"}
# What is on the site later: changed, moved and new. /coffee is gone.
LATER = {
    **{path: text for path, text in TEXTS.items() if path not in ("/coffee", "/walks")},
    "/tea": f"<p>{prose('later', words=60)}</p>{PICTURE}",
    "/hikes": TEXTS["/walks"],
    "/bread": "<p>Bread is baked at four in the morning, when the boats go out.</p>",
}


def pages_of(texts: dict[str, str], start: str) -> dict[str, str]:
    """Return the HTML of a site's pages by their paths. Each links to all others."""
    titles = {path: path.rpartition("/")[2].replace("-", " ").title() for path in texts}
    titles[start] = "Welcome"
    return {
        path: PAGE.format(
            title=titles[path],
            day=len(path) % 9 + 1,
            content=f"{text}<p>{prose(path, 1)}</p><p>{prose(path, 2)}</p>",
            links="".join(
                f'<li><a href="{other}">{titles[other]}</a></li>'
                for other in texts
                if other != path
            ),
        )
        for path, text in texts.items()
    }


class DocsSite:
    """The site as it is now; `change` makes of it what it is at the next crawl."""

    def __init__(self) -> None:
        self.pages = pages_of(TEXTS, "/") | pages_of(GUIDE, "/guide/") | FILES
        self.moved: dict[str, str] = {}

    def change(self) -> None:
        """Change a page, let one go, move one, and add one."""
        self.pages = pages_of(LATER, "/") | pages_of(GUIDE, "/guide/") | FILES
        self.moved = {"/walks": "/hikes"}


def write_certificate(file: Path) -> None:
    """Write a key and a certificate of the hosts, which is its own authority, and what makes wget
    trust it. (Scrapy trusts all.)
    """
    key = generate_private_key(SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "tests of the docs")])
    today = datetime.datetime.now(datetime.timezone.utc)
    names = x509.SubjectAlternativeName([x509.DNSName(host) for host in HOSTS])
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(today - datetime.timedelta(days=1))
        .not_valid_after(today + datetime.timedelta(days=1))
        .add_extension(names, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    file.write_bytes(private + certificate.public_bytes(Encoding.PEM))
    file.with_suffix(".wgetrc").write_text(f"ca_certificate = {file}\n")


class ProxyServer(LoopbackServer):
    def handle_error(self, *_: Any) -> None:
        """Say nothing: clients that are killed close their connections."""


@contextmanager
def serve_docs(certificate: Path) -> Iterator[tuple[DocsSite, dict[str, str]]]:
    """Serve the site; yield it, and the variables of the environment that lead to it."""
    write_certificate(certificate)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    site = DocsSite()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"  # else each page takes a connection of its own
        host = ""

        def do_CONNECT(self) -> None:
            self.host = self.path.partition(":")[0]
            if self.host not in HOSTS:
                self.send_error(502)
                return
            self.send_response(200)
            self.end_headers()
            self.connection = context.wrap_socket(self.connection, server_side=True)
            self.close_connection = False  # Python's own client opens tunnels by HTTP/1.0
            self.rfile = self.connection.makefile("rb")
            self.wfile = self.connection.makefile("wb", 0)  # type: ignore[assignment]

        def do_GET(self) -> None:
            asked = urlsplit(self.path)
            known = (self.host or asked.hostname) in HOSTS
            body = site.pages.get(asked.path or "/", "") if known else ""
            target = site.moved.get(asked.path)
            self.send_response(301 if target else 200 if body else 404)
            kind = "image/jpeg" if asked.path.endswith(".jpg") else "text/html; charset=utf-8"
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body.encode())))
            if target:
                self.send_header("Location", target)
            self.end_headers()
            self.wfile.write(body.encode())

        def do_POST(self) -> None:
            """Accept what is sent to a webhook."""
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(204)
            self.end_headers()

        def finish(self) -> None:
            super().finish()
            self.connection.close()

        def log_message(self, *_: object) -> None:
            pass

    server = ProxyServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    proxy = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield (
            site,
            {
                "https_proxy": proxy,
                "http_proxy": proxy,
                "no_proxy": "127.0.0.1,localhost",
                "SSL_CERT_FILE": str(certificate),
                "CURL_CA_BUNDLE": str(certificate),
                "WGETRC": str(certificate.with_suffix(".wgetrc")),
            },
        )
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
