"""The command line, ``contentspider-research COMMAND``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from contentspider.cli import evaluate as evaluation
from contentspider.cli import execute
from contentspider.cli.arguments import (
    add_learning_options,
    add_state_dir,
    chosen_learning,
    folds,
    not_negative,
)
from contentspider.ground.errors import ContentSpiderError
from contentspider_research import BY_LENGTH, EQUAL, EXPERIMENTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from contentspider.cli.arguments import Commands


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    return execute(build_parser().parse_args(arguments))


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(
        prog="contentspider-research",
        description="Published experiments on web content extraction, and training of the prior.",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_evaluate(commands)
    _add_experiment(commands)
    _add_dataset(commands)
    return parser


def _add_evaluate(commands: Commands) -> None:
    evaluate = evaluation.add_to(commands)
    evaluate.add_argument(
        "--method",
        metavar="NAME",
        help="extract with this method in place of ours (research/docs/experiments.md has them)",
    )
    evaluate.add_argument(
        "--cross-fit",
        action="store_true",
        help="judge each site, or host of single pages, with a prior that was trained without it",
    )
    evaluate.add_argument(
        "--folds",
        type=not_negative,
        default=7,
        metavar="N",
        help="folds of --cross-fit (default: 7)",
    )
    evaluate.set_defaults(run=_evaluate)


def _add_experiment(commands: Commands) -> None:
    experiment = commands.add_parser(
        "experiment",
        help="run an experiment of the papers: a table and a chart",
        description=(
            "Run an experiment on corpora or rendered pages, and write NAME.md and NAME.svg"
            " (research/docs/experiments.md tells what each is)."
        ),
    )
    experiment.add_argument(
        "name", choices=EXPERIMENTS, metavar="NAME", help=", ".join(EXPERIMENTS)
    )
    experiment.add_argument(
        "source",
        type=Path,
        metavar="SOURCE",
        help="a folder of corpora, or a file or folder of rendered pages (.jsonl, .jsonl.gz)",
    )
    experiment.add_argument(
        "-o",
        "--output",
        type=Path,
        default=Path(),
        metavar="DIR",
        help="where to write table and chart (default: here)",
    )
    add_learning_options(experiment, features="all")
    experiment.add_argument(
        "--pages",
        type=not_negative,
        default=40,
        metavar="N",
        help="gold pages of a corpus that take part (default: 40)",
    )
    experiment.add_argument(
        "--folds",
        type=folds,
        default=4,
        metavar="N",
        help="folds of the cross-validation (default: 4)",
    )
    experiment.add_argument(
        "--weights",
        choices=(BY_LENGTH, EQUAL),
        default=BY_LENGTH,
        help=(
            "how much a block counts in a site's classifier: by its length as ours does, or each"
            f" once in the classifier that was published (default: {BY_LENGTH})"
        ),
    )

    train = commands.add_parser(
        "train-prior", help="train the general prior on corpora with gold text"
    )
    train.add_argument("corpora", type=Path, nargs="+", metavar="CORPORA")
    train.add_argument(
        "-o",
        "--output",
        type=Path,
        required=True,
        metavar="FILE",
        help="write the prior to FILE (npz)",
    )
    train.add_argument("--seed", type=int, default=0)
    experiment.set_defaults(run=_experiment)
    train.set_defaults(run=_train_prior)


def _add_dataset(commands: Commands) -> None:
    dataset = commands.add_parser(
        "dataset",
        help="write a table of all elements of pages, with features and labels",
        description=(
            "Write a row an element of SOURCE's pages, with what stands around it, its words, what"
            " the site's votes say of it, and its label (research/docs/dataset.md has the columns)."
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


def _evaluate(options: argparse.Namespace) -> int:
    from contentspider.evaluation.corpora import find_corpora
    from contentspider_research.baselines import new_baseline
    from contentspider_research.baselines.comparison import write_by_method
    from contentspider_research.training import cross_fit

    if options.method:
        new_baseline(options.method)  # what is wrong with it is said before a file is written
        if options.crawl or options.alone or options.cross_fit or options.held_out is not None:
            raise ContentSpiderError(
                "--method takes no --crawl, --alone, --held-out or --cross-fit: these are ours"
            )
    corpora = find_corpora(*options.corpora)
    if options.method:
        return write_by_method(corpora, options.method, options.suite, options.output)
    # All sites are trained on, whatever suite is judged.
    priors = cross_fit(corpora, options.folds) if options.cross_fit else {}
    return evaluation.write_predictions(options, priors)


def _experiment(options: argparse.Namespace) -> int:
    from contentspider_research.experiments.tables import run_experiment
    from contentspider_research.features.sets import spelled_out

    options.features = ",".join(spelled_out(options.features.split(",")))
    table = run_experiment(
        options.name,
        options.source,
        options.output,
        options.labels,
        chosen_learning(options).features,
        options.pages,
        options.folds,
        options.weights,
    )
    print(table.read_text(encoding="utf-8"), end="")
    print(f"{table} and {table.with_suffix('.svg')}", file=sys.stderr)
    return 0


def _train_prior(options: argparse.Namespace) -> int:
    from contentspider.evaluation.corpora import find_corpora
    from contentspider_research.training import train_prior

    prior = train_prior(find_corpora(*options.corpora), options.seed)
    options.output.write_bytes(prior.dump())
    print(
        f"prior {prior.digest}: {prior.card['blocks']} blocks of {prior.card['pages']} pages ->"
        f" {options.output}",
        file=sys.stderr,
    )
    return 0


def _dataset(options: argparse.Namespace) -> int:
    from contentspider_research.dataset.dataset import check_output, read_records, write_dataset
    from contentspider_research.dataset.sources import crawl_sources, find_sources

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
