"""``contentspider report``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from contentspider.cli.arguments import (
    add_learning_options,
    add_state_dir,
    chosen_learning,
    folder,
)

if TYPE_CHECKING:
    import argparse

    from contentspider.cli.arguments import Commands


def add_to(commands: Commands) -> None:
    """Add the command."""
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
        help=(
            "a folder of a site's HTML files, a file of rendered pages, or a crawl's name or ledger"
        ),
    )
    report.add_argument("--site", default="", help="which site of a crawl of several")
    report.add_argument(
        "--models",
        default="models",
        type=folder,
        metavar="DIR",
        help="the models' folder, with people's corrections (default: models)",
    )
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


def _report(options: argparse.Namespace) -> int:
    from contentspider.report.render import write_crawl_report, write_report

    source = Path(options.source)
    if source.is_dir() or (source.is_file() and source.suffix != ".sqlite"):
        pages = write_report(source, options.output, chosen_learning(options), options.models)
    else:
        from contentspider.state.crawls.export import find_crawl

        pages = write_crawl_report(
            find_crawl(options.source, options.state_dir or ""),
            options.models,
            options.site,
            options.output,
        )
    print(f"{pages} pages -> {options.output}", file=sys.stderr)
    return 0
