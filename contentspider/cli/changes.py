"""``contentspider changes`` and ``diff``."""

from __future__ import annotations

import argparse
import json
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from contentspider.cli.arguments import CRAWL_HELP, add_state_dir
from contentspider.ground.errors import ContentSpiderError
from contentspider.ground.terminal import printable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from contentspider.cli.arguments import Commands


def add_to(commands: Commands) -> None:
    """Add the commands."""
    changes = commands.add_parser(
        "changes",
        help="print what changed on a site, from crawl to crawl",
        description=(
            "Print the change log of a site as JSON lines: a record for each page that a crawl"
            " found new, changed, moved or gone, and for each unchanged one of the last crawl."
        ),
    )
    changes.add_argument("crawl", metavar="SITE", help=CRAWL_HELP)
    changes.add_argument(
        "--since",
        type=_since,
        default=(0, ""),
        metavar="SEQ|DATE",
        help="only records with a larger number (seq), or of this day (2026-11-22) or time on",
    )
    changes.add_argument(
        "--only",
        type=_kinds,
        metavar="KINDS",
        help="only these changes, with commas between: new, changed, unchanged, gone, moved",
    )
    changes.add_argument(
        "-o", "--output", default="-", metavar="FILE", help="write to FILE (default: -, the screen)"
    )
    add_state_dir(changes)
    changes.set_defaults(run=_changes)

    diff = commands.add_parser(
        "diff",
        help="show how a page's main content changed",
        description="Show what changed in a page's main content when it changed last.",
    )
    diff.add_argument("url", metavar="URL", help="the page's address")
    diff.add_argument("--crawl", metavar="SITE", help=f"{CRAWL_HELP} (default: any that has it)")
    add_state_dir(diff)
    diff.set_defaults(run=_diff)


def _since(text: str) -> tuple[int, str]:
    """Return the number, and the time in UTC, after which records are wanted."""
    if text.isascii() and text.isdigit():
        return int(text), ""
    try:
        time = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is neither a record's number nor a date like 2026-11-22"
        ) from None
    if time.tzinfo is None:
        time = time.replace(tzinfo=timezone.utc)
    return 0, time.astimezone(timezone.utc).isoformat(timespec="seconds")


def _kinds(text: str) -> tuple[str, ...]:
    from contentspider.recrawl.changes import CHANGES

    kinds = tuple(part.strip() for part in text.split(","))
    if unknown := set(kinds) - set(CHANGES):
        raise argparse.ArgumentTypeError(
            f"{', '.join(sorted(unknown))}: there is {', '.join(CHANGES)}"
        )
    return kinds


def _changes(options: argparse.Namespace) -> int:
    from contentspider.ground.atomic import replacing
    from contentspider.state.crawls.export import find_history
    from contentspider.state.history.history import History

    path = find_history(options.crawl, options.state_dir)
    history = History(path, read_only=True)

    def records() -> Iterator[dict[str, Any]]:
        for record in history.changes(*options.since):
            if not options.only or record["change"] in options.only:
                yield record

    try:
        if options.output == "-":
            for record in records():
                print(json.dumps(record, ensure_ascii=False))
            return 0
        written = 0
        with replacing(Path(options.output)) as file:
            for record in records():
                line = json.dumps(record, ensure_ascii=False) + "\n"
                file.write(line.encode("utf-8", "replace"))
                written += 1
        print(f"{written} records -> {options.output}", file=sys.stderr)
        return 0
    finally:
        history.close()


def _diff(options: argparse.Namespace) -> int:
    from contentspider.recrawl.difference import diff_lines
    from contentspider.site.models.record import page_id
    from contentspider.state.crawls.export import find_history, histories
    from contentspider.state.history.history import History

    state_dir = options.state_dir
    paths = [find_history(options.crawl, state_dir)] if options.crawl else histories(state_dir)
    wanted = page_id(options.url)
    for path in paths:
        history = History(path, read_only=True)
        try:
            known = history.page(wanted)
            if known is None:
                continue
            new, old = history.content(wanted) or "", history.content(wanted, before=True)
            print(
                printable(
                    f"{known.url}: {known.state}, first seen {known.first_seen}, last seen"
                    f" {known.last_seen}, last fetched {known.last_fetched}, changed"
                    f" {known.changed_at}"
                )
            )
            if old is None:
                print("its main content has not changed since it was first seen")
                return 0
            for line in diff_lines(old, new, "before", "now"):
                print(printable(line))
            return 0
        finally:
            history.close()
    raise ContentSpiderError(
        f"{printable(options.url)} is in no history"
        + (f" ({', '.join(path.stem for path in paths)})" if paths else ": no site was crawled yet")
    )
