"""The commands ``contentspider serve``, ``mcp``, ``annotate`` and ``report``."""

from __future__ import annotations

import re
import secrets
import socket
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from contentspider.cli.command import (
    MODELS,
    STATE_DIR,
    argument,
    command,
    only_crawl,
    option,
    print_crawls,
)
from contentspider.cli.extract import folder
from contentspider.cli.index import ENGINE_HELP, INDEX, SYNONYMS, one_index, required_indexes
from contentspider.ground.counts import counted
from contentspider.ground.errors import ContentSpiderError, UsageError
from contentspider.ground.extras import require
from contentspider.ground.terminal import printable, say

if TYPE_CHECKING:
    import argparse

    from starlette.applications import Starlette

    from contentspider.index.synonyms import Synonyms

ORIGIN = re.compile(r"https?://[^/\s?#@]+")
LOOPBACK = ("127.0.0.1", "localhost", "::1")


PORT = argument("--port PORT", "the port (default: 8080; 0: any)", default=8080, least=0)
NAME = argument(
    "--name HOST",
    "another name of this server, beyond its address and localhost",
    action="append",
    default=[],
)
TOKEN = argument(
    "--token TEXT",
    "the token that requests need (default for other addresses than 127.0.0.1: a new one)",
)


@command(
    "serve",
    INDEX,
    argument("--host HOST", "the address to listen at (default: 127.0.0.1)", default="127.0.0.1"),
    PORT,
    NAME,
    TOKEN,
    argument("--allow-private", "try pages of private networks, too"),
    argument(
        "--allow-origin ORIGIN",
        "pages of this origin, such as https://example.org, may have a search box and read search"
        " results without the token",
        action="append",
        default=[],
    ),
    SYNONYMS,
    MODELS,
    STATE_DIR,
    extra="web",
)
def serve(options: argparse.Namespace) -> None:
    """Try pages, and search an index, in the browser. A page is shown as it is judged alone, and
    together with more pages of its site. The same data are available as JSON (/api/openapi.json,
    /api/search?q=WORDS). /health and /metrics are for monitoring systems. Requests from other
    machines need a token.
    """
    from contentspider.index.synonyms import read_synonyms
    from contentspider.state.crawls.export import books
    from contentspider.state.stores.models import open_models
    from contentspider.web.app import Access, make_app

    for origin in options.allow_origin:
        if not ORIGIN.fullmatch(origin):
            raise UsageError(
                f"--allow-origin {printable(origin)} is not an origin: write a scheme and a host,"
                " such as https://example.org"
            )
    url = one_index(options.index, options.state_dir)
    synonyms = read_synonyms(options.synonyms)
    if url:
        _check_index(url, synonyms)
    hosts, token = _access(options.host, options)
    access = Access(hosts, token, options.allow_origin, options.allow_private)
    models = open_models(options.models, options.state_dir)
    app = make_app(url, books(options.state_dir), models, access, synonyms)
    _serve(app, options.host, options.port, f"/?token={token}" if token else "/")


@command(
    "mcp",
    argument(
        "--index ENGINE_URL",
        f"{ENGINE_HELP}; may be repeated; default: as for 'contentspider search'",
        action="append",
        default=[],
    ),
    argument(
        "--http [HOST:PORT]",
        "answer requests by HTTP at this address (default: 127.0.0.1:8080), not at standard input",
        default="",
        const="127.0.0.1:8080",
    ),
    NAME,
    TOKEN,
    SYNONYMS,
    STATE_DIR,
    extra="mcp",
)
def mcp(options: argparse.Namespace) -> None:
    """Give agents tools that search indexes and read their pages, by the Model Context Protocol.
    The program of the agent starts this command, and speaks to it by standard input and output;
    with --http it connects to http://HOST:PORT/mcp.
    """
    from contentspider.index.synonyms import read_synonyms

    urls = required_indexes(options.index, options.state_dir)
    synonyms = read_synonyms(options.synonyms)
    for url in urls:
        _check_index(url, synonyms)
    from contentspider.web.mcp_server import PATH, Tools, make_mcp_app, make_server

    with closing(Tools(urls, options.state_dir, synonyms)) as tools:
        server = make_server(tools)
        if not options.http:
            server.run("stdio")
            return
        host, port = _parse_address(options.http)
        hosts, token = _access(host, options)
        if token:
            say(f"requests need the header 'Authorization: Bearer {token}'")
        _serve(make_mcp_app(server, hosts, token), host, port, PATH)


def _check_index(url: str, synonyms: Synonyms) -> None:
    """Raise `EngineError` for an index that cannot be searched, before a server starts."""
    from contentspider.index.engine import Query
    from contentspider.index.operations import open_index

    with open_index(url, is_writer=False) as (engine, _):
        engine.search(Query("", limit=1, synonyms=synonyms))


def _access(host: str, options: argparse.Namespace) -> tuple[list[str], str]:
    """Return the names of a server at *host*, and the token that requests need ("": none)."""
    token = options.token or ("" if host in LOOPBACK else secrets.token_urlsafe(16))
    return [host, *LOOPBACK[:2], *options.name], token


def _serve(app: Starlette, host: str, port: int, path: str) -> None:
    """Run a web application at an address until Ctrl-C, and print the address with a *path* as soon
    as it answers.
    """
    from contentspider.web.server import run

    listener = _listen(host, port)
    host, port = listener.getsockname()[:2]
    address = f"http://{f'[{host}]' if ':' in host else host}:{port}{path}"
    run(app, listener, lambda: say(f"{address} (Ctrl-C ends it)"))


def _parse_address(text: str) -> tuple[str, int]:
    """Return host and port of an address such as "[::1]:8080", "localhost" or ":8080"."""
    try:
        parts = urlsplit(f"//{text}")
        port = 8080 if parts.port is None else parts.port
        if parts.path or parts.username or parts.query or parts.fragment:
            raise ValueError
    except ValueError:
        raise UsageError(f"--http {text}: give a host and a port, such as 127.0.0.1:8080") from None
    return parts.hostname or LOOPBACK[0], port


def _listen(host: str, port: int) -> socket.socket:
    """Return a listening socket for a server; raises `ContentSpiderError`."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise ContentSpiderError(
            f"{host}:{port} cannot be listened at ({error.strerror or error}): give another --port"
            " or --host"
        ) from error


@command(
    "annotate",
    argument(
        "SOURCE",
        "a folder of a site's HTML files, a WARC file, a file with an address a line, or a crawl"
        " (its pages are fetched again)",
    ),
    argument(
        "-o --output DIR",
        "where the annotated sites are (default: annotations)",
        Path,
        Path("annotations"),
    ),
    argument("--pages N", "the most pages of the site (default: 200)", default=200, least=1),
    argument("--port PORT", "the port (default: 8017; 0: any)", default=8017, least=0),
    argument(
        "--fields FILE",
        "the file that gets the fields whose values you mark (default: fields.toml)",
        Path,
        Path("fields.toml"),
    ),
    argument("--assets", "load style sheets and pictures from the web, too"),
    argument("--allow-private", "fetch from private networks, too"),
    option("models", type=folder),
    STATE_DIR,
    extra="web",
)
def annotate(options: argparse.Namespace) -> None:
    """Mark the content on a site's pages in the browser, the least sure page first. Each page is
    saved when it is done: as gold text for 'contentspider evaluate', as CSV, and as annotated HTML.
    Marks that apply to a place on all pages are saved as overrides of the site's model. Values that
    you name are saved as examples of your fields.
    """
    from contentspider.ground.sites import folder_name
    from contentspider.web.annotate.app import make_app
    from contentspider.web.annotate.frame import Frame
    from contentspider.web.annotate.session import Session
    from contentspider.web.annotate.sources import collect
    from contentspider.web.server import run

    arguments = (options.source, options.output, options.pages, options.state_dir)
    collected = collect(*arguments, options.allow_private, say)
    say(f"learning {collected.site}")
    model_folder = options.models / folder_name(collected.site)
    session = Session(collected, model_folder, options.fields)
    frame = Frame(collected.assets, options.assets)
    app = make_app(session, frame, LOOPBACK[:2])
    listener = _listen(LOOPBACK[0], options.port)
    say(
        f"{counted(len(session.extractions), 'pages')}, {len(session.done)} of them done ->"
        f" {collected.folder}"
    )
    address = f"http://{LOOPBACK[0]}:{listener.getsockname()[1]}/"
    run(app, listener, lambda: say(f"{address} (Ctrl-C ends it)"))


@command(
    "report",
    argument("[SOURCE]", "a folder of a site's HTML files, or a crawl's name or book", default=""),
    argument("--site SITE", "which site of a crawl of several", default=""),
    option("models", type=folder),
    argument("-o --output FILE", "default: report.html", Path, Path("report.html")),
    argument(
        "--screenshots N",
        "of a folder: show N pages in a browser, too, beside FILE (needs the extra render)",
        default=0,
        least=0,
    ),
    STATE_DIR,
    extra="web",
)
def report(options: argparse.Namespace) -> None:
    """Show the kept and the dropped text in one HTML page: a site's clusters with scores and
    examples, and the text of each page. The page needs no other file.
    """
    options.source = options.source or only_crawl(options.state_dir)
    if not options.source:
        print_crawls("report", options.state_dir, ", or a folder of a site's HTML files")
        raise UsageError("no report is written, because no crawl is named")
    from contentspider.web.report import write_crawl_report, write_report

    source, models, output = Path(options.source), options.models, options.output
    if options.screenshots:
        if not source.is_dir():
            raise ContentSpiderError("--screenshots needs a folder of HTML files: crawls keep none")
        require("render", "--screenshots")
    if source.is_dir():
        written = write_report(source, models, output)
        if options.screenshots:
            from contentspider.render.screenshots import write_screenshots

            write_screenshots(source, written.extractions, output, options.screenshots)
    else:
        from contentspider.state.crawls.export import find_crawl

        crawl = find_crawl(options.source, options.state_dir)
        written = write_crawl_report(crawl, models, options.site, output)
    say(f"{written} -> {output}")
