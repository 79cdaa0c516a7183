"""``contentspider extract`` and ``report``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING

from contentspider.cli.arguments import (
    add_learning_options,
    add_option,
    add_state_dir,
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
    """Add the commands."""
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
    add_option(extract, "output", action="store", default=STDOUT)
    add_option(extract, "format")
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
    add_option(extract, "keep_teasers")
    add_option(extract, "passages", type=positive)
    extract.set_defaults(run=_extract)

    report = commands.add_parser(
        "report",
        help="show in one HTML page what is kept and dropped",
        description=(
            "Write one self-contained HTML page: a site's clusters with scores and examples, and"
            " what each page kept and lost."
        ),
    )
    report.add_argument(
        "source",
        metavar="SITE_OR_CRAWL",
        help="a folder of a site's HTML files, or a crawl's name or ledger",
    )
    report.add_argument("--site", default="", help="which site of a crawl of several")
    add_option(report, "models", type=folder)
    report.add_argument(
        "-o",
        "--output",
        type=Path,
        default=Path("report.html"),
        metavar="FILE",
        help="where to write it (default: report.html)",
    )
    add_state_dir(report)
    add_learning_options(report)
    report.set_defaults(run=_report)


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


def _report(options: argparse.Namespace) -> int:
    from contentspider.report.render import write_crawl_report, write_report

    source = Path(options.source)
    if source.is_dir() or (source.is_file() and source.suffix != ".sqlite"):
        pages = write_report(source, options.output, chosen_learning(options), options.models)
    else:
        from contentspider.state.crawls.export import find_crawl

        pages = write_crawl_report(
            find_crawl(options.source, options.state_dir),
            options.models,
            options.site,
            options.output,
        )
    print(f"{pages} pages -> {options.output}", file=sys.stderr)
    return 0
