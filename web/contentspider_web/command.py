"""``contentspider serve``, ``annotate``, ``report`` and ``summarise``."""

from __future__ import annotations

import json
import secrets
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from contentspider.cli.command import STATE_DIR, argument, command, option
from contentspider.cli.extract import folder
from contentspider.cli.index import INDEX, named_index
from contentspider.ground.errors import ContentSpiderError
from contentspider.ground.terminal import say

if TYPE_CHECKING:
    import argparse

LOOPBACK = ("127.0.0.1", "localhost", "::1")


@command(
    "serve",
    INDEX,
    argument("--host HOST", "the address to listen at (default: 127.0.0.1)", default="127.0.0.1"),
    argument("--port PORT", "the port (default: 8080; 0: any)", default=8080, least=0),
    argument(
        "--name HOST",
        "a name that it is reached by, beyond --host and localhost",
        action="append",
        default=[],
    ),
    argument("--token TEXT", "what requests must bring (default with --host: made anew)"),
    argument("--allow-private", "try pages of private networks, too"),
    STATE_DIR,
)
def serve(options: argparse.Namespace) -> None:
    """Try pages, and search an index, in the browser. A page is shown as it is understood by
    itself, and with more pages of its site. Beside the pages there is JSON (/api/openapi.json,
    /api/search?q=WORDS). Beyond this machine requests must bring a token.
    """
    from contentspider.index.operations import opened
    from contentspider.state.crawls.export import histories
    from contentspider_web.app import make_app, run

    if url := named_index(options):
        with opened(url, is_writer=False):
            pass  # what is wrong with it is said now
    is_open = options.host not in LOOPBACK
    token = options.token or (secrets.token_urlsafe(16) if is_open else "")
    hosts = [options.host, *LOOPBACK[:2], *options.name]
    app = make_app(url, histories(options.state_dir), hosts, options.allow_private, token)
    listener = _listen(options.host, options.port)
    host, port = listener.getsockname()[:2]
    shown = f"http://{f'[{host}]' if ':' in host else host}:{port}/"
    say(f"{shown}{f'?token={token}' if token else ''} (Ctrl-C ends it)")
    run(app, listener)


def _listen(host: str, port: int) -> socket.socket:
    """Return the socket that a server answers at; raises `ContentSpiderError`."""
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
    argument("--pages N", "up to so many pages of the site (default: 200)", default=200, least=1),
    argument("--port PORT", "the port (default: 8017; 0: any)", default=8017, least=0),
    argument("--strict", "a rectangle takes an element in by its box, not by its text"),
    argument("--assets", "load style sheets and pictures from the web, too"),
    argument("--allow-private", "fetch from private networks, too"),
    option("models", type=folder),
    STATE_DIR,
)
def annotate(options: argparse.Namespace) -> None:
    """Say in the browser what is content on a site's pages, the least sure first. Each page is
    saved when it is done: as gold for 'contentspider evaluate', as CSV, and as annotated HTML; what
    is said of a place on all pages corrects the site's model.
    """
    from contentspider.ground.sites import folder_name
    from contentspider_web.annotate.app import make_app
    from contentspider_web.annotate.frame import Frame
    from contentspider_web.annotate.session import Session
    from contentspider_web.annotate.sources import collect
    from contentspider_web.app import run

    given = (options.source, options.output, options.pages, options.state_dir)
    collected = collect(*given, options.allow_private, say)
    say(f"learning {collected.site}")
    session = Session(collected, options.models / folder_name(collected.site))
    frame = Frame(collected.assets, options.assets)
    app = make_app(session, frame, LOOPBACK[:2], options.strict)
    listener = _listen(LOOPBACK[0], options.port)
    say(f"{len(session.extractions)} pages, {len(session.done)} of them done -> {collected.folder}")
    say(f"http://{LOOPBACK[0]}:{listener.getsockname()[1]}/ (Ctrl-C ends it)")
    run(app, listener)


@command(
    "report",
    argument("SOURCE", "a folder of a site's HTML files, or a crawl's name or ledger"),
    argument("--site SITE", "which site of a crawl of several", default=""),
    option("models", type=folder),
    argument("-o --output FILE", "default: report.html", Path, Path("report.html")),
    argument(
        "--screenshots N",
        "of a folder: show N pages in a browser, too, beside FILE (needs contentspider-render)",
        default=0,
        least=0,
    ),
    STATE_DIR,
)
def report(options: argparse.Namespace) -> None:
    """Show in one HTML page what is kept and dropped. It has a site's clusters with scores and
    examples, and what each page kept and lost, and needs no other file.
    """
    from contentspider_web.report import write_crawl_report, write_report

    source, models, output = Path(options.source), options.models, options.output
    if options.screenshots and not source.is_dir():
        raise ContentSpiderError("--screenshots needs a folder of HTML files: crawls keep none")
    if source.is_dir():
        pages = write_report(source, models, output)
        if options.screenshots:
            from contentspider.crawl.options import chromium

            chromium("--screenshots").screenshots(source, pages, output, options.screenshots)
    else:
        from contentspider.state.crawls.export import find_crawl

        crawl = find_crawl(options.source, options.state_dir)
        pages = write_crawl_report(crawl, models, options.site, output)
    say(f"{len(pages)} pages -> {output}")


@command(
    "summarise",
    argument("FOLDER", "a folder of a site's HTML files", Path),
    argument("-o --output FILE", "where to write them (default: standard output)", Path),
    option("models", type=folder),
)
def summarise(options: argparse.Namespace) -> None:
    """Sum up each page of a site in up to five of its sentences. They are those that say what other
    pages of the site do not; a JSON object a page: url, title, summary.
    """
    from contentspider.ground.atomic import replacing
    from contentspider_web.summary import summarise_folder

    lines = (
        json.dumps(found, ensure_ascii=False) + "\n"
        for found in summarise_folder(options.folder, options.models)
    )
    if options.output is None:
        sys.stdout.writelines(lines)
        return
    with replacing(options.output) as file:
        for line in lines:
            file.write(line.encode("utf-8", "replace"))
