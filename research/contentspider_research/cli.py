"""The command line, ``contentspider-research COMMAND``."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from contentspider.cli import evaluate as evaluation
from contentspider.cli import execute
from contentspider.cli.command import STATE_DIR, argument, command, learning_options, option
from contentspider.ground.errors import ContentSpiderError
from contentspider_research import BY_LENGTH, EQUAL, EXPERIMENTS, REFERENCES_AT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from contentspider.evaluation.corpora import Corpus


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
    for one in (
        *(evaluate, experiment, fetch_references, train_prior, prior_card, train_folds),
        *(dataset, export_rules, judge_images, import_),
    ):
        one.add_to(commands)
    return parser


CRAWL = argument("--crawl", "serve each crawlable site on loopback and crawl it")
METHOD = argument("--method NAME", "use this method, not ours (research/docs/experiments.md)")
CROSS_FIT = argument(
    "--cross-fit", "judge each site, or host of single pages, with a prior trained without it"
)
FOLDS = argument("--folds N", "folds of --cross-fit (default: 7)", default=7, least=0)
EVALUATE = evaluation.evaluate


@command("evaluate", *EVALUATE.arguments, CRAWL, METHOD, CROSS_FIT, FOLDS)
def evaluate(options: argparse.Namespace) -> None:
    """Extract the pages of corpora that have gold text. Each site is learned without its gold."""
    from contentspider.evaluation.corpora import find_corpora
    from contentspider.site.judge.prior import Prior
    from contentspider_research.baselines import new_baseline
    from contentspider_research.baselines.comparison import predict_by_method
    from contentspider_research.crawling import predict_by_crawl
    from contentspider_research.training import cross_fit

    if options.method:
        new_baseline(options.method)  # what is wrong with it is said before a file is written
        if options.crawl or options.alone or options.cross_fit or options.held_out is not None:
            raise ContentSpiderError(
                "--method takes no --crawl, --alone, --held-out or --cross-fit: these are ours"
            )
        evaluation.write_predictions(options, partial(predict_by_method, name=options.method))
        return
    # All sites are trained on, whatever suite is judged.
    priors = cross_fit(find_corpora(*options.corpora), options.folds) if options.cross_fit else {}
    predict = evaluation.predictor(options, priors)
    if options.crawl:
        learning = learning_options(options)
        shared = Prior.from_file(options.prior) if options.prior else Prior.shipped()

        def predict(corpus: Corpus) -> Iterator[dict[str, str]]:
            return predict_by_crawl(corpus, learning, priors.get(corpus.name, shared))

    evaluation.write_predictions(options, predict)


@command(
    "experiment",
    argument("NAME", ", ".join(EXPERIMENTS), EXPERIMENTS, metavar="NAME"),
    argument("SOURCE", "corpora, or a file or folder of rendered pages (.jsonl, .jsonl.gz)", Path),
    argument("-o --output DIR", "where to write table and chart (default: here)", Path, Path()),
    *(option("labels"), option("features", action="store", default="all"), option("classifier")),
    argument("--pages N", "gold pages of a corpus to use (default: 40)", default=40, least=0),
    argument("--folds N", "folds of the cross-validation (default: 4)", default=4, least=2),
    argument(
        "--weights WEIGHTS",
        "how much a block counts in a site's classifier: by its length as ours does, or each once"
        f" in the classifier that was published (default: {BY_LENGTH})",
        (BY_LENGTH, EQUAL),
        BY_LENGTH,
    ),
)
def experiment(options: argparse.Namespace) -> None:
    """Run an experiment of the papers: a table and a chart. They are NAME.md and NAME.svg
    (research/docs/experiments.md says what each is), of corpora or rendered pages.
    """
    from contentspider_research.experiments.tables import run_experiment
    from contentspider_research.features.sets import spelled_out

    options.features = ",".join(spelled_out(options.features.split(",")))
    table = run_experiment(
        options.name,
        options.source,
        options.output,
        options.labels,
        learning_options(options).features,
        options.pages,
        options.folds,
        options.weights,
    )
    print(table.read_text(encoding="utf-8"), end="")
    print(f"{table} and {table.with_suffix('.svg')}", file=sys.stderr)


@command(
    "fetch-references",
    argument("DEST", "the folder of the corpora that are made of them", Path),
    argument(
        "--source ADDRESS",
        "where git finds repositories, with {owner} and {name} (default: on GitHub)",
        default=REFERENCES_AT,
    ),
)
def fetch_references(options: argparse.Namespace) -> None:
    """Make corpora of public references of code, on which the shipped prior was trained, too."""
    from contentspider_research.references import fetch_reference, references

    for site in references():
        count = fetch_reference(site, options.dest / site.id, options.source)
        print(f"{site.id}: {count} pages with gold", file=sys.stderr)


@command(
    "train-prior",
    argument("CORPORA...", "folders of corpora", Path),
    argument("-o --output FILE", "write the prior to FILE (npz)", Path, required=True),
    argument("--seed N", "default: 0", int, 0),
)
def train_prior(options: argparse.Namespace) -> None:
    """Train the general prior on corpora with gold text."""
    from contentspider.evaluation.corpora import find_corpora
    from contentspider_research import training

    prior = training.train_prior(find_corpora(*options.corpora), options.seed)
    options.output.write_bytes(prior.dump())
    print(
        f"prior {prior.digest}: {prior.card['blocks']} blocks of {prior.card['pages']} pages ->"
        f" {options.output}",
        file=sys.stderr,
    )


@command(
    "prior-card",
    argument("PRIOR", "the file of a prior (npz)", Path),
    argument("-o --output FILE", "the Markdown file that has the card", Path, required=True),
)
def prior_card(options: argparse.Namespace) -> None:
    """Write the card of a prior (its size, training data, languages) into a Markdown file."""
    from contentspider_research.prior_card import write_card

    write_card(options.prior, options.output)
    print(f"card of {options.prior} -> {options.output}", file=sys.stderr)


@command(
    "train-folds",
    argument("CORPORA...", "folders of corpora", Path),
    argument(
        "-o --output FOLDER", "write the priors to FOLDER (fold0.npz, ...)", Path, required=True
    ),
    FOLDS,
    argument("--seed N", "default: 0", int, 0),
)
def train_folds(options: argparse.Namespace) -> None:
    """Train priors that each have not seen a part of the sites: quality gates judge by them."""
    from contentspider.evaluation.corpora import find_corpora
    from contentspider_research import training

    priors = training.cross_fit(find_corpora(*options.corpora), options.folds, options.seed)
    options.output.mkdir(parents=True, exist_ok=True)
    for prior in {prior.digest: prior for prior in priors.values()}.values():
        path = options.output / f"fold{prior.card['fold']}.npz"
        path.write_bytes(prior.dump())
        print(f"prior {prior.digest} -> {path}", file=sys.stderr)


@command(
    "dataset",
    argument(
        "SOURCE",
        "a folder of corpora, a folder of a site's HTML files, rendered pages (.jsonl, .jsonl.gz),"
        " or a crawl's name or book, of which the kept pages are taken",
    ),
    argument("-o --output FILE", "FILE.csv, FILE.csv.gz or FILE.parquet", Path, required=True),
    argument(
        "--labels LABELS",
        "whose labels (default: gold where there is any, else votes)",
        ("gold", "votes", "paper", "none"),
        "",
    ),
    argument(
        "--units UNITS",
        "what a row is: an element that is not inline, or a block (default: elements)",
        ("elements", "blocks"),
        "elements",
    ),
    argument(
        "--cross-fit",
        "judge each corpus by a prior that was trained on corpora of other owners (default: by the"
        " shipped prior)",
    ),
    FOLDS,
    argument("--images", "write a row for each picture, too"),
    argument("--excel", "put an apostrophe before texts that a spreadsheet takes for formulas"),
    STATE_DIR,
)
def dataset(options: argparse.Namespace) -> None:
    """Write a table of all elements of pages, with features and labels. A row is an element, with
    what stands around it, its words, what the site's votes say of it, and its label
    (research/docs/dataset.md has the columns).
    """
    from contentspider.evaluation.corpora import find_corpora
    from contentspider_research.dataset.dataset import check_output, read_records, write_dataset
    from contentspider_research.dataset.sources import crawl_sources, find_sources
    from contentspider_research.training import cross_fit

    check_output(options.output)
    path = Path(options.source)
    priors = cross_fit(find_corpora(path), options.folds) if options.cross_fit else None
    if path.exists() and path.suffix != ".sqlite":
        sources = find_sources(path)
    else:
        from contentspider.state.crawls.export import find_crawl

        sources = crawl_sources(find_crawl(options.source, options.state_dir or ""))
    records = read_records(sources, options.labels, options.units, options.images, priors)
    written = write_dataset(records, options.output, excel=options.excel)
    print(f"{written} rows -> {options.output}", file=sys.stderr)


@command(
    "export-rules",
    argument("CORPORA...", "folders of corpora", Path),
    argument("-o --output FOLDER", "write SITE.xml of each site to FOLDER", Path, required=True),
    argument(
        "--from CLASSIFIER", "the classifier of blocks (default: c45)", ("c45", "bayes"), "c45"
    ),
    argument("--pages N", "gold pages of a corpus to use (default: 40)", default=40, least=2),
    FOLDS,
)
def export_rules(options: argparse.Namespace) -> None:
    """Write the rules of the hybrid paper for sites, and a table of their scores. A rule is the
    start tag of blocks that the classifier takes for content. The classifier learns from the gold
    of other sites. Rules are learned from one half of a site's pages and tested on the other.
    """
    from contentspider.evaluation.corpora import find_corpora
    from contentspider_research.experiments.tagrules import export_tag_rules

    classifier = vars(options)["from"]
    corpora = find_corpora(*options.corpora)
    for line in export_tag_rules(corpora, options.output, classifier, options.pages, options.folds):
        print(line)


@command(
    "judge-images",
    argument("CORPORA...", "folders of corpora", Path),
    argument("--gold FILE", "judged pictures (benchmarks/images_gold.jsonl)", Path, required=True),
    FOLDS,
)
def judge_images(options: argparse.Namespace) -> None:
    """Judge pictures by a tree of other owners' pictures, as a thesis does (table by size)."""
    from contentspider.evaluation.corpora import find_corpora
    from contentspider_research.experiments.imagetrees import image_table

    print(*image_table(find_corpora(*options.corpora), options.gold, options.folds), sep="\n")


@command(
    "import",
    argument("SOURCE", "a folder of annotated HTML files, of L3S-GN1, or of CleanEval", Path),
    argument("DEST", "the folder of the corpus that is made of it", Path),
)
def import_(options: argparse.Namespace) -> None:
    """Make a corpus of pages that others annotated. Annotated are elements of the class
    CEML__MAIN__CONTENT ('contentspider annotate'), spans of L3S-GN1, or texts of CleanEval.
    """
    from contentspider_research.dataset.imported import import_gold

    count = import_gold(options.source, options.dest)
    print(f"{count} pages -> {options.dest}", file=sys.stderr)
