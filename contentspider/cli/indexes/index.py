"""``contentspider index``: search indexes brought up to date, compared and made anew."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from contentspider.cli.arguments import CRAWL_HELP, add_state_dir, seconds
from contentspider.ground.terminal import printable
from contentspider.index.engine import ENGINES, shown

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

    from contentspider.cli.arguments import Commands
    from contentspider.index.sync import Limits

ENGINE_HELP = (
    f"an index's URL: {', '.join(f'{name}:...' for name in ENGINES.shipped)}, default"
    " (docs/indexing.md)"
)


def add_to(commands: Commands) -> None:
    """Add the command."""
    index = commands.add_parser(
        "index",
        help="bring search indexes up to date with what was crawled",
        description="Bring search indexes up to date with what was crawled.",
    )
    actions = index.add_subparsers(metavar="ACTION", dest="action", required=True)
    sync = actions.add_parser(
        "sync",
        help="bring in what changed, and take out what is gone",
        description=(
            "Bring in what changed on a site since the last time, and take out what is gone. An"
            " index that is new gets all pages; nothing is crawled."
        ),
    )
    sync.add_argument("crawl", metavar="SITE", help=CRAWL_HELP)
    sync.set_defaults(run=_sync)
    verify = actions.add_parser(
        "verify",
        help="compare an index with the history, document by document",
        description=(
            "Compare an index with the history of a site, document by document, and print what"
            " differs as JSON lines. Exit code 0: nothing does, or all was mended."
        ),
    )
    verify.add_argument("crawl", metavar="SITE", help=CRAWL_HELP)
    verify.add_argument("--mend", action="store_true", help="put right what differs")
    verify.set_defaults(run=_verify)
    rebuild = actions.add_parser(
        "rebuild",
        help="make an index anew, and put it in the place of the old one",
        description=(
            "Make an index anew from the histories of all sites, beside the old one, which is"
            " searched until the new one takes its place."
        ),
    )
    rebuild.set_defaults(run=_rebuild)
    for action in (sync, verify, rebuild):
        action.add_argument("engine", metavar="ENGINE_URL", help=ENGINE_HELP)
        action.add_argument(
            "--force", action="store_true", help="delete documents, however many are gone"
        )
        action.add_argument(
            "--patience",
            type=seconds,
            default=60.0,
            metavar="SECS",
            help="ask an engine that is down again, for so long (default: 60)",
        )
        add_state_dir(action)


def _limits(options: argparse.Namespace) -> Limits:
    from contentspider.index.sync import Limits

    return Limits(patience=options.patience, force=options.force)


def _url(options: argparse.Namespace) -> str:
    from contentspider.state.crawls.default_index import index_url

    return index_url(options.engine, options.state_dir or "")


def _history(options: argparse.Namespace) -> Path:
    from contentspider.state.crawls.export import find_history

    return find_history(options.crawl, options.state_dir or "")


def _tell(done: int, total: int) -> None:
    if sys.stderr.isatty():
        end = "\n" if done == total else ""
        print(f"\r{done:,} of {total:,} changes", end=end, file=sys.stderr, flush=True)


def _sync(options: argparse.Namespace) -> int:
    from contentspider.index.operations import sync

    report = sync(_history(options), _url(options), _limits(options), _tell)
    print(printable(f"{shown(_url(options))}: {report}"), file=sys.stderr)
    return 0


def _verify(options: argparse.Namespace) -> int:
    from contentspider.index.operations import verify

    found = verify(_history(options), _url(options), _limits(options), options.mend)
    for name in ("missing", "stale", "extra", "refused"):
        for document_id in getattr(found, name):
            print(json.dumps({"id": document_id, "is": name}))
    print(
        f"{found.same:,} documents are as they should be, {len(found.missing):,} missing,"
        f" {len(found.stale):,} stale, {len(found.extra):,} too much, {len(found.refused):,}"
        f" refused by the engine{': mended' if options.mend and found else ''}",
        file=sys.stderr,
    )
    return 0 if options.mend or not found else 1


def _rebuild(options: argparse.Namespace) -> int:
    from contentspider.index.operations import rebuild
    from contentspider.state.crawls.export import histories

    paths = histories(options.state_dir or "")
    reports = rebuild(paths, _url(options), _limits(options), _tell)
    for path, report in zip(paths, reports, strict=True):
        print(printable(f"{path.stem}: {report}"), file=sys.stderr)
    return 0
