"""``contentspider serve``."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

from contentspider.cli.command import STATE_DIR, argument, command
from contentspider.cli.index import INDEX, chosen_index
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
    STATE_DIR,
)
def serve(options: argparse.Namespace) -> None:
    """Search an index in the browser. Beside the page there is JSON (/api/search?q=WORDS,
    /api/page/ID, /api/sites). Nobody is asked who they are: beyond this machine, put a server
    before it that does.
    """
    from contentspider.index.operations import opened
    from contentspider.state.crawls.export import histories
    from contentspider_web.app import make_app, run

    url = chosen_index(options)
    with opened(url, is_writer=False):
        pass  # what is wrong with it is said now
    app = make_app(url, histories(options.state_dir), [options.host, *LOOPBACK[:2], *options.name])
    try:
        family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
        listener = socket.create_server((options.host, options.port), family=family)
    except OSError as error:
        raise ContentSpiderError(
            f"{options.host}:{options.port} cannot be listened at ({error.strerror or error}): give"
            " another --port or --host"
        ) from error
    host, port = listener.getsockname()[:2]
    say(f"http://{f'[{host}]' if ':' in host else host}:{port}/ (Ctrl-C ends it)")
    if options.host not in LOOPBACK:
        say(f"{options.host} is reached from other machines, and nobody is asked who they are")
    run(app, listener)
