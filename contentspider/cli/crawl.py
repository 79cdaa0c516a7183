"""``contentspider crawl``, ``status`` and ``replay``."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from contentspider.cli.arguments import CRAWL_HELP, add_option, add_state_dir, exit_codes
from contentspider.crawl.options import FILES, MOST_USED, PAGES, REQUESTS, RUNS
from contentspider.ground.terminal import printable
from contentspider.run.flags import CRAWL_FLAGS
from contentspider.state.crawls.outcome import MEANINGS
from contentspider.state.files.formats import Output

if TYPE_CHECKING:
    from contentspider.cli.arguments import Commands


def add_to(commands: Commands) -> None:
    """Add the commands."""
    crawl = commands.add_parser(
        "crawl",
        help="crawl websites to clean items",
        description="Crawl the sites of the given addresses to clean items.",
        epilog=exit_codes(MEANINGS),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    crawl.add_argument("urls", nargs="*", metavar="URL", help="where to start; https:// is assumed")
    for title in (MOST_USED, PAGES, FILES, REQUESTS, RUNS):
        group = crawl.add_argument_group(title)
        for option in CRAWL_FLAGS:
            if option.group == title:
                # A setting is that of the project (`contentspider.run.project`) unless it is given.
                unset = {"default": None} if option.setting else {}
                add_option(group, option.key, **unset)
    crawl.set_defaults(run=_crawl)

    status = commands.add_parser(
        "status",
        help="tell how a crawl stands",
        description="Tell how a running, finished or dead crawl stands.",
    )
    status.add_argument("crawl", metavar="CRAWL", help=CRAWL_HELP)
    add_state_dir(status)
    status.set_defaults(run=_status)

    replay = commands.add_parser(
        "replay",
        help="write a crawl's items again",
        description="Write all items of a crawl to a file, from its ledger.",
    )
    replay.add_argument("crawl", metavar="CRAWL", help=CRAWL_HELP)
    add_option(replay, "output", action="store", required=True)
    add_option(replay, "format")
    add_state_dir(replay)
    replay.set_defaults(run=_replay)


def _crawl(options: argparse.Namespace) -> int:
    from contentspider.run.run import crawl

    return crawl(options)


def _status(options: argparse.Namespace) -> int:
    from contentspider.state.crawls.export import find_crawl
    from contentspider.state.crawls.ledgers import crawl_status

    print(printable(crawl_status(find_crawl(options.crawl, options.state_dir))))
    return 0


def _replay(options: argparse.Namespace) -> int:
    from contentspider.state.crawls.export import export_items, find_crawl

    output = Output.parse(options.output, options.format)
    written = export_items(find_crawl(options.crawl, options.state_dir), [output])
    if written:
        print(f"{written} items -> {options.output}", file=sys.stderr)
    else:
        print(f"no item is out; {options.output} is not written", file=sys.stderr)
    return 0
