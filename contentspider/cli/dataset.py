"""``contentspider dataset``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from contentspider.cli.arguments import add_state_dir

if TYPE_CHECKING:
    import argparse

    from contentspider.cli.arguments import Commands


def add_to(commands: Commands) -> None:
    """Add the command."""
    dataset = commands.add_parser(
        "dataset",
        help="write a table of all elements of pages, with features and labels",
        description=(
            "Write a row an element of SOURCE's pages, with what stands around it, its words, what"
            " the site's votes say of it, and its label (docs/dataset.md has the columns)."
        ),
    )
    dataset.add_argument(
        "source",
        metavar="SOURCE",
        help=(
            "a folder of corpora, a folder of a site's HTML files, rendered pages (.jsonl,"
            " .jsonl.gz), or a crawl's name or ledger, of which the kept pages are taken"
        ),
    )
    dataset.add_argument(
        "-o",
        "--output",
        type=Path,
        required=True,
        metavar="FILE",
        help="where to write it: FILE.csv, FILE.csv.gz or FILE.parquet",
    )
    dataset.add_argument(
        "--labels",
        choices=("gold", "votes", "paper", "none"),
        default="",
        help="whose labels (default: gold where there is any, else votes)",
    )
    dataset.add_argument(
        "--units",
        choices=("elements", "blocks"),
        default="elements",
        help="what a row is: an element that is not inline, or a block (default: elements)",
    )
    dataset.add_argument(
        "--excel",
        action="store_true",
        help="put an apostrophe before texts that a spreadsheet would take for formulas",
    )
    add_state_dir(dataset)
    dataset.set_defaults(run=_dataset)


def _dataset(options: argparse.Namespace) -> int:
    from contentspider.evaluation.dataset import check_output, read_records, write_dataset
    from contentspider.evaluation.sources import crawl_sources, find_sources

    check_output(options.output)
    path = Path(options.source)
    if path.exists() and path.suffix != ".sqlite":
        sources = find_sources(path)
    else:
        from contentspider.state.crawls.export import find_crawl

        sources = crawl_sources(find_crawl(options.source, options.state_dir or ""))
    records = read_records(sources, options.labels, options.units)
    written = write_dataset(records, options.output, excel=options.excel)
    print(f"{written} rows -> {options.output}", file=sys.stderr)
    return 0
