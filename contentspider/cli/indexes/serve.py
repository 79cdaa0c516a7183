"""``contentspider serve``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from contentspider.cli.arguments import add_state_dir, not_negative
from contentspider.cli.indexes.search import add_index, chosen_index
from contentspider.ground.errors import ContentSpiderError
from contentspider.ground.terminal import printable

if TYPE_CHECKING:
    import argparse

    from contentspider.cli.arguments import Commands

LOOPBACK = ("127.0.0.1", "localhost", "::1")


def add_to(commands: Commands) -> None:
    """Add the command."""
    serve = commands.add_parser(
        "serve",
        help="search an index in the browser",
        description=(
            "Serve a page that searches an index, with JSON beside it (/api/search?q=WORDS,"
            " /api/page/ID, /api/sites). Nobody is asked who they are: beyond this machine, put a"
            " server before it that does."
        ),
    )
    add_index(serve)
    serve.add_argument(
        "--host", default="127.0.0.1", help="the address to listen at (default: 127.0.0.1)"
    )
    serve.add_argument(
        "--port", type=not_negative, default=8080, help="the port (default: 8080; 0: any)"
    )
    serve.add_argument(
        "--name",
        action="append",
        default=[],
        metavar="HOST",
        help="a name that it is reached by, beyond --host and localhost",
    )
    add_state_dir(serve)
    serve.set_defaults(run=_serve)


def _serve(options: argparse.Namespace) -> int:
    from contentspider.index.operations import opened
    from contentspider.state.crawls.export import histories
    from contentspider.web.app import make_app
    from contentspider.web.server import listening, run

    url = chosen_index(options)
    with opened(url, is_writer=False):
        pass  # what is wrong with it is said now
    app = make_app(
        url, histories(options.state_dir or ""), [options.host, *LOOPBACK[:2], *options.name]
    )
    try:
        sockets = listening(options.host, options.port)
    except OSError as error:
        raise ContentSpiderError(
            f"{options.host}:{options.port} cannot be listened at ({error.strerror or error}): give"
            " another --port or --host"
        ) from error
    host, port = sockets.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    print(printable(f"http://{shown}:{port}/ (Ctrl-C ends it)"), file=sys.stderr, flush=True)
    if options.host not in LOOPBACK:
        print(
            f"{printable(options.host)} is reached from other machines, and nobody is asked who"
            " they are",
            file=sys.stderr,
        )
    run(app, sockets)
    return 0
