"""``contentspider extract``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING

from contentspider.cli.arguments import (
    OUTPUT_HELP,
    add_format,
    add_learning_options,
    chosen_learning,
    folder,
    positive,
)
from contentspider.ground.errors import ContentSpiderError
from contentspider.state.files.formats import STDOUT, WRITERS, Output

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from contentspider.cli.arguments import Commands


def add_to(commands: Commands) -> None:
    """Add the command."""
    extract = commands.add_parser(
        "extract",
        help="extract pages that you have",
        description=(
            "Learn from HTML files that you have and extract their content; each folder is a site."
        ),
    )
    extract.add_argument(
        "paths",
        nargs="+",
        type=Path,
        metavar="PATH",
        help="folders of HTML files, or single files (files of one folder are one site)",
    )
    extract.add_argument(
        "-o",
        "--output",
        default=STDOUT,
        metavar="FILE",
        help=f"{OUTPUT_HELP}; default: JSON lines to standard output",
    )
    add_format(extract)
    add_learning_options(extract)
    extract.add_argument(
        "--models",
        type=folder,
        metavar="DIR",
        help=(
            "filter with the sites' models in DIR (a folder is named as its site), or with the one"
            " that DIR is, in place of learning"
        ),
    )
    extract.add_argument(
        "--keep-teasers",
        action="store_true",
        help="keep the entries of listing pages in their content",
    )
    extract.add_argument(
        "--passages",
        type=positive,
        default=0,
        metavar="CHARS",
        help="add the content in passages of at most CHARS characters, for retrieval",
    )
    extract.set_defaults(run=_extract)


def _extract(options: argparse.Namespace) -> int:
    from contentspider.extract import extract_paths

    missing = [str(path) for path in options.paths if not path.exists()]
    if missing:
        raise ContentSpiderError(f"{', '.join(missing)}: no such file or folder")
    items = extract_paths(options.paths, chosen_learning(options), options.models, options.passages)
    if options.output == STDOUT:
        written = WRITERS["jsonl"](lambda: items, sys.stdout.buffer)
    else:
        output = Output.parse(options.output, options.format)
        # Kept until it is known that there are any, and for CSV, which is written in two rounds.
        with TemporaryFile("w+b") as kept:
            written = WRITERS["jsonl"](lambda: items, kept)

            def records() -> Iterator[dict[str, object]]:
                kept.seek(0)
                return map(json.loads, kept)

            if written:
                output.write(records)
    if not written:
        raise ContentSpiderError(
            f"no HTML files ({', '.join('*' + suffix for suffix in ('.html', '.htm', '.xhtml'))})"
            f" with text under {', '.join(map(str, options.paths))}"
        )
    where = "" if options.output == STDOUT else f" -> {options.output}"
    print(f"{written} pages{where}", file=sys.stderr)
    return 0
