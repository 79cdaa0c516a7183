"""``contentspider crawl``, ``status`` and ``replay``."""

from __future__ import annotations

import argparse
import sys
from textwrap import fill
from typing import TYPE_CHECKING

from contentspider.cli.arguments import (
    CRAWL_HELP,
    OUTPUT_HELP,
    add_format,
    add_state_dir,
    assignment,
    header,
    not_negative,
    positive,
    seconds,
)
from contentspider.ground.terminal import printable
from contentspider.index.engine import ENGINES
from contentspider.state.crawls.default_index import DEFAULT
from contentspider.state.crawls.outcome import MEANINGS
from contentspider.state.files.formats import Output

if TYPE_CHECKING:
    from contentspider.cli.arguments import Commands, Group


def _exit_codes() -> str:
    """Return what the exit codes mean, as lines of the help."""
    return "\n".join(
        ["exit codes:"]
        + [
            fill(f"{outcome.value} {meaning}", 79, initial_indent="  ", subsequent_indent="    ")
            for outcome, meaning in MEANINGS.items()
        ]
    )


def add_to(commands: Commands) -> None:
    """Add the commands."""
    crawl = commands.add_parser(
        "crawl",
        help="crawl websites to clean items",
        description="Crawl the sites of the given addresses to clean items.",
        epilog=_exit_codes(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    crawl.add_argument("urls", nargs="*", metavar="URL", help="where to start; https:// is assumed")
    _add_scope(crawl.add_argument_group("what is crawled"))
    _add_outputs(crawl.add_argument_group("where items, models and state go"))
    _add_requests(crawl.add_argument_group("how the server is asked"))
    _add_runs(crawl.add_argument_group("runs, settings and logs"))
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
    replay.add_argument("-o", "--output", required=True, metavar="FILE", help=OUTPUT_HELP)
    add_format(replay)
    add_state_dir(replay)
    replay.set_defaults(run=_replay)


def _add_scope(group: Group) -> None:
    group.add_argument(
        "-i",
        "--input",
        action="append",
        default=[],
        metavar="FILE",
        help="read start addresses from FILE, one a line (-: standard input); # begins a comment",
    )
    group.add_argument(
        "--scope",
        default="domain",
        metavar="SCOPE",
        help="how far to go from the start: domain (default; its registered domain), subdomains"
        " (its host and what is below that), host, or path (below its path)",
    )
    group.add_argument(
        "--include",
        action="append",
        default=[],
        metavar="PATTERN",
        help="fetch only addresses like /news/* (* is anything; re:... a regular expression)",
    )
    group.add_argument(
        "--exclude",
        action="append",
        default=[],
        metavar="PATTERN",
        help="do not fetch addresses like *print=1*",
    )
    group.add_argument(
        "--max-pages",
        type=not_negative,
        default=0,
        metavar="N",
        help="stop after N pages (0: no limit)",
    )
    group.add_argument(
        "--due",
        action="store_true",
        help="fetch the start pages, new pages, and of known pages those whose next visit is due"
        " by how often they change, the most overdue first",
    )
    group.add_argument(
        "--max-depth",
        type=not_negative,
        default=0,
        metavar="N",
        help="follow links N steps from the start (0: no limit)",
    )
    group.add_argument(
        "--no-sitemaps",
        action="store_true",
        help="do not read robots.txt's sitemaps and /sitemap.xml",
    )


def _add_outputs(group: Group) -> None:
    group.add_argument(
        "-o",
        "--output",
        action="append",
        default=[],
        metavar="FILE",
        help=f"{OUTPUT_HELP}; -: JSON lines to standard output; default pages.jsonl",
    )
    add_format(group)
    group.add_argument(
        "--warc",
        metavar="FILE",
        help="append what is asked and answered to FILE (.warc.gz), as it was received",
    )
    group.add_argument(
        "--only",
        choices=["changed"],
        default="",
        help="give on the items of new and changed pages only",
    )
    group.add_argument(
        "--models",
        default="models",
        metavar="DIR",
        help="the models' folder (default: models), or a store that machines share (s3://...)",
    )
    group.add_argument(
        "--history", metavar="URL", help="a store of histories that machines share (s3://...)"
    )
    group.add_argument(
        "--index",
        action="append",
        nargs="?",
        const=DEFAULT,
        metavar="ENGINE_URL",
        help="bring a search index up to date at the end: "
        + ", ".join(f"{name}:..." for name in ENGINES.shipped)
        + " (docs/indexing.md; without a URL one in the folder of crawls' ledgers); 'contentspider"
        " search' finds what is in it",
    )
    add_state_dir(group)
    group.add_argument(
        "--stats", metavar="FILE", help="write the outcome and Scrapy's stats to FILE, as JSON"
    )


def _add_requests(group: Group) -> None:
    group.add_argument(
        "--own-site",
        action="store_true",
        help="the site is yours: no delay, 16 requests at a time (robots.txt is still obeyed)",
    )
    group.add_argument(
        "--delay",
        type=seconds,
        metavar="SECS",
        help="wait so long between two requests to a host, at least (default: 0.25)",
    )
    group.add_argument(
        "--concurrency",
        type=positive,
        metavar="N",
        help="requests to a host at a time, at most (default: 4)",
    )
    group.add_argument(
        "--timeout",
        type=seconds,
        metavar="SECS",
        help="give a request up after so long (default: 60)",
    )
    group.add_argument(
        "-H",
        "--header",
        action="append",
        type=header,
        default=[],
        metavar="NAME:VALUE",
        help="send this header to the sites that are crawled, and to no others",
    )
    group.add_argument(
        "--cookie",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="send this cookie to the sites that are crawled, and to no others",
    )
    group.add_argument(
        "--contact",
        metavar="ADDRESS",
        help="where the sites' owners can reach you: an address of a page or a mail, which the"
        " crawler's name holds",
    )
    group.add_argument("--user-agent", metavar="TEXT", help="what the crawler calls itself")
    group.add_argument(
        "--proxy", metavar="URL", help="send all requests by this proxy (http://host:port)"
    )


def _add_runs(group: Group) -> None:
    group.add_argument(
        "--relearn", action="store_true", help="learn the sites anew, even if there are models"
    )
    group.add_argument(
        "--resume",
        action="store_true",
        help="go on with this crawl if it was not finished; else start anew",
    )
    group.add_argument(
        "--force",
        action="store_true",
        help="take known pages to be gone, however many (CONTENTSPIDER_MAX_GONE_SHARE)",
    )
    group.add_argument(
        "--name",
        default="",
        metavar="NAME",
        help="name of the crawl (default: its sites); two may run at a time under two names",
    )
    group.add_argument(
        "-s",
        "--set",
        action="append",
        type=assignment,
        default=[],
        metavar="NAME=VALUE",
        help="set a Scrapy or contentspider setting",
    )
    group.add_argument(
        "--log-level",
        default="WARNING",
        choices=["DEBUG", "INFO", "WARNING", "ERROR"],
        help="what to log (default: WARNING)",
    )
    group.add_argument("--log-file", metavar="FILE", help="log to FILE in place of standard error")


def _crawl(options: argparse.Namespace) -> int:
    from contentspider.run.run import crawl

    return crawl(options)


def _status(options: argparse.Namespace) -> int:
    from contentspider.state.crawls.export import find_crawl
    from contentspider.state.crawls.status import crawl_status

    print(printable(crawl_status(find_crawl(options.crawl, options.state_dir or ""))))
    return 0


def _replay(options: argparse.Namespace) -> int:
    from contentspider.state.crawls.export import export_items, find_crawl

    output = Output.parse(options.output, options.format)
    written = export_items(find_crawl(options.crawl, options.state_dir or ""), [output])
    if written:
        print(f"{written} items -> {options.output}", file=sys.stderr)
    else:
        print(f"no item is out; {options.output} is not written", file=sys.stderr)
    return 0
