"""The command line: ``contentspider crawl``, ``extract``, ``models``, ``evaluate``,
``train-prior``.
"""

from __future__ import annotations

import argparse
import io
import json
import logging
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import contentspider
from contentspider.errors import ContentSpiderError
from contentspider.evaluation import EXPERIMENTS
from contentspider.site.labels import LABELS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from contentspider.site.options import LearningOptions

logger = logging.getLogger(__name__)

EXIT_OK, EXIT_FAILED = 0, 1


def _assignment(text: str) -> tuple[str, str]:
    name, separator, value = text.partition("=")
    if not separator or not name:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name, value


def _not_negative(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = -1
    if number < 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of 0 or more")
    return number


def _folds(text: str) -> int:
    number = _not_negative(text)
    if number < 2:
        raise argparse.ArgumentTypeError("a cross-validation needs 2 folds or more")
    return number


def _add_learning_options(parser: argparse.ArgumentParser, features: str = "slots") -> None:
    parser.add_argument(
        "--labels",
        default="votes",
        metavar="METHOD",
        help=f"how blocks are labelled: {', '.join(LABELS.shipped)} (default: votes)",
    )
    parser.add_argument(
        "--features",
        default=features,
        metavar="SET[,SET]",
        help=(
            f"feature sets that the site's classifier decides by (default: {features};"
            " docs/experiments.md has them)"
        ),
    )
    parser.add_argument(
        "--classifier",
        default="svm",
        metavar="NAME",
        help="the site's classifier: svm, or one that another package adds (default: svm)",
    )


def _learning(options: argparse.Namespace) -> LearningOptions:
    from contentspider.site.options import LearningOptions, OptionError

    try:
        return LearningOptions(
            labels=options.labels,
            features=options.features,
            classifier=options.classifier,
            keep_teasers=getattr(options, "keep_teasers", False),
        )
    except OptionError as error:
        raise error.renamed("--" + error.option.replace("_", "-")) from error


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(
        prog="contentspider",
        description=(
            "Learn websites' main content from their own pages, and crawl them into clean items."
        ),
    )
    parser.add_argument(
        "--version", action="version", version=f"contentspider {contentspider.__version__}"
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    crawl = commands.add_parser(
        "crawl",
        help="crawl websites to clean items",
        description="Crawl the sites of the given addresses to clean items.",
    )
    crawl.add_argument("urls", nargs="+", metavar="URL", help="where to start; https:// is assumed")
    crawl.add_argument(
        "-o", "--output", action="append", metavar="FILE",
        help="write items to FILE, in the format of its ending (jsonl, json, csv, xml); replaced if it exists; default pages.jsonl",
    )  # fmt: skip
    crawl.add_argument(
        "--models", default="models", metavar="DIR", help="the models' folder (default: models)"
    )
    crawl.add_argument(
        "--max-pages",
        type=_not_negative,
        default=0,
        metavar="N",
        help="stop after N pages (0: no limit)",
    )
    crawl.add_argument(
        "--max-depth",
        type=_not_negative,
        default=0,
        metavar="N",
        help="follow links N steps from the start (0: no limit)",
    )
    crawl.add_argument(
        "--no-sitemaps",
        action="store_true",
        help="do not read robots.txt's sitemaps and /sitemap.xml",
    )
    crawl.add_argument(
        "--own-site",
        action="store_true",
        help="the site is yours: no delay, 16 requests at a time (robots.txt is still obeyed)",
    )
    crawl.add_argument(
        "--relearn", action="store_true", help="learn the sites anew, even if there are models"
    )
    crawl.add_argument(
        "--resume",
        action="store_true",
        help="go on with this crawl if it was not finished; else start anew",
    )
    crawl.add_argument(
        "--name",
        default="",
        metavar="NAME",
        help="name of the crawl (default: its sites); two may run at a time under two names",
    )
    crawl.add_argument(
        "-s",
        "--set",
        action="append",
        type=_assignment,
        default=[],
        metavar="NAME=VALUE",
        help="set a Scrapy or contentspider setting",
    )
    crawl.add_argument(
        "--log-level",
        default="WARNING",
        choices=["DEBUG", "INFO", "WARNING", "ERROR"],
        help="what to log (default: WARNING)",
    )

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
        type=Path,
        metavar="FILE",
        help="write JSON lines to FILE (default: standard output)",
    )
    _add_learning_options(extract)
    extract.add_argument(
        "--models",
        type=Path,
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

    status = commands.add_parser(
        "status",
        help="tell how a crawl stands",
        description="Tell how a running, finished or dead crawl stands.",
    )
    status.add_argument(
        "crawl", metavar="CRAWL", help="its name (what it crawls, or --name), or its ledger's file"
    )

    replay = commands.add_parser(
        "replay",
        help="write a crawl's items again",
        description="Write all items of a crawl to a file, from its ledger.",
    )
    replay.add_argument(
        "crawl", metavar="CRAWL", help="its name (what it crawls, or --name), or its ledger's file"
    )
    replay.add_argument(
        "-o",
        "--output",
        type=Path,
        required=True,
        metavar="FILE",
        help="in the format of its ending (jsonl, json, csv, xml)",
    )

    models = commands.add_parser(
        "models", help="show what was learned", description="Show what was learned of sites."
    )
    models.add_argument(
        "--models",
        default="models",
        type=Path,
        metavar="DIR",
        help="the models' folder (default: models)",
    )
    actions = models.add_subparsers(dest="action", required=True, metavar="ACTION")
    actions.add_parser("list", help="list the sites that have a model")
    show = actions.add_parser(
        "show",
        help="print a site's content and noise signatures with how probably they are content",
    )
    show.add_argument("site")
    show.add_argument(
        "--most",
        type=_not_negative,
        default=20,
        metavar="N",
        help="signatures of each kind (default: 20)",
    )

    evaluate = commands.add_parser(
        "evaluate",
        help="predict the gold pages of corpora",
        description=(
            "Learn each site of CORPORA without its gold, and write what is extracted of its gold"
            " pages."
        ),
    )
    evaluate.add_argument(
        "corpora",
        type=Path,
        metavar="CORPORA",
        help="a folder of site folders with site.json, gold.jsonl and html/",
    )
    evaluate.add_argument(
        "-o",
        "--output",
        type=Path,
        required=True,
        metavar="PREDICTIONS",
        help="write JSON lines of site, path and text",
    )
    _add_learning_options(evaluate)
    evaluate.add_argument(
        "--crawl",
        action="store_true",
        help="serve each crawlable site on loopback and crawl it for real",
    )
    evaluate.add_argument(
        "--alone",
        action="store_true",
        help="judge every page by itself, without the rest of its site",
    )
    evaluate.add_argument(
        "--held-out",
        type=_not_negative,
        metavar="N",
        help=(
            "learn from N pages of a site (0: half of them) and extract pages that were not among"
            " them"
        ),
    )
    evaluate.add_argument(
        "--cross-fit",
        action="store_true",
        help="judge each site with a prior that was trained without it",
    )
    evaluate.add_argument(
        "--folds",
        type=_not_negative,
        default=7,
        metavar="N",
        help="folds of --cross-fit (default: 7)",
    )
    evaluate.add_argument(
        "--prior", type=Path, metavar="FILE", help="use this prior in place of the shipped one"
    )

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
        type=Path,
        metavar="DIR",
        help="the models' folder, for a crawl (default: models)",
    )
    report.add_argument(
        "-o",
        "--output",
        type=Path,
        default=Path("report.html"),
        metavar="FILE",
        help="where to write it (default: report.html)",
    )
    _add_learning_options(report)

    experiment = commands.add_parser(
        "experiment",
        help="run an experiment of the papers: a table and a chart",
        description=(
            "Run an experiment on corpora or rendered pages, and write NAME.md and NAME.svg"
            " (docs/experiments.md tells what each is)."
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
    _add_learning_options(experiment, features="all")
    experiment.add_argument(
        "--pages",
        type=_not_negative,
        default=40,
        metavar="N",
        help="gold pages of a corpus that take part (default: 40)",
    )
    experiment.add_argument(
        "--folds",
        type=_folds,
        default=4,
        metavar="N",
        help="folds of the cross-validation (default: 4)",
    )

    train = commands.add_parser(
        "train-prior", help="train the general prior on corpora with gold text"
    )
    train.add_argument("corpora", type=Path, metavar="CORPORA")
    train.add_argument(
        "-o",
        "--output",
        type=Path,
        required=True,
        metavar="FILE",
        help="write the prior to FILE (npz)",
    )
    train.add_argument("--seed", type=int, default=0)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    options = build_parser().parse_args(arguments)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(
            stream, io.TextIOWrapper
        ):  # texts of all the world, whatever the terminal knows
            stream.reconfigure(encoding="utf-8", errors="replace")
    if options.command != "crawl":
        logging.basicConfig(
            level=logging.INFO, format="%(levelname)s: %(message)s", stream=sys.stderr
        )
    run = {
        "crawl": _crawl,
        "extract": _extract,
        "models": _models,
        "evaluate": _evaluate,
        "status": _status,
        "replay": _replay,
        "report": _report,
        "experiment": _experiment,
        "train-prior": _train_prior,
    }[options.command]
    try:
        return run(options)
    except ContentSpiderError as error:
        print(f"contentspider: {error}", file=sys.stderr)
    except BrokenPipeError:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115, PTH123 - its reader is gone: nothing to flush at exit
    except OSError as error:
        print(f"contentspider: {error.filename or ''}: {error.strerror or error}", file=sys.stderr)
    except KeyboardInterrupt:
        print("contentspider: stopped", file=sys.stderr)
    return EXIT_FAILED


def _crawl(options: argparse.Namespace) -> int:
    from contentspider.crawl.run import crawl

    return crawl(options)


def _extract(options: argparse.Namespace) -> int:
    from contentspider.extract import extract_paths

    missing = [str(path) for path in options.paths if not path.exists()]
    if missing:
        raise ContentSpiderError(f"{', '.join(missing)}: no such file or folder")
    learning = _learning(options)
    written = 0
    output = (
        options.output.open("w", encoding="utf-8", errors="replace")
        if options.output
        else sys.stdout
    )
    try:
        for item in extract_paths(options.paths, learning, options.models):
            output.write(json.dumps(item, ensure_ascii=False) + "\n")
            written += 1
    finally:
        if options.output:
            output.close()
    if not written:
        raise ContentSpiderError(
            f"no HTML files ({', '.join('*' + suffix for suffix in ('.html', '.htm', '.xhtml'))})"
            f" with text under {', '.join(map(str, options.paths))}"
        )
    print(f"{written} pages" + (f" -> {options.output}" if options.output else ""), file=sys.stderr)
    return EXIT_OK


def _status(options: argparse.Namespace) -> int:
    from contentspider.crawl.export import crawl_status, find_crawl

    print(crawl_status(find_crawl(options.crawl)))
    return EXIT_OK


def _replay(options: argparse.Namespace) -> int:
    from contentspider.crawl.export import export_items, find_crawl

    written = export_items(find_crawl(options.crawl), options.output)
    print(f"{written} items -> {options.output}", file=sys.stderr)
    return EXIT_OK


def _models(options: argparse.Namespace) -> int:
    from contentspider.storage.models import ModelStore

    store = ModelStore(options.models)
    if options.action == "list":
        for site in store.sites():
            print(site)
        return EXIT_OK
    try:
        model = store.read(options.site)
    except FileNotFoundError as error:
        known = ", ".join(store.sites()) or "none yet"
        raise ContentSpiderError(
            f"{options.models} has no model of {options.site!r}; it has: {known}"
        ) from error
    print(
        f"{model.site}: model {model.version}, learned from {model.pages} pages (labels:"
        f" {model.labels})"
    )
    for title, chosen in (
        ("content", [slot for slot in model.summary if slot.probability > 0.5]),
        ("noise", [slot for slot in model.summary if slot.probability <= 0.5]),
    ):
        print(
            f"\n{title} ({len(chosen)} signatures)\n{'sure':>5} {'score':>7} {'blocks':>7}"
            f" {'pages':>6}  signature | example"
        )
        for slot in chosen[: options.most]:
            example = " ".join(slot.example.split())
            print(
                f"{slot.probability:5.2f} {slot.score:7.1%} {slot.blocks:7} {slot.pages:6}  {slot.slot}"
                f" | {example}"
            )
    return EXIT_OK


def _evaluate(options: argparse.Namespace) -> int:
    from contentspider.evaluation.corpora import find_corpora
    from contentspider.evaluation.predict import predict_by_crawl, predict_site
    from contentspider.evaluation.training import cross_fit
    from contentspider.site.prior import Prior

    learning = _learning(options)
    corpora = find_corpora(options.corpora)
    shared = Prior.from_file(options.prior) if options.prior else Prior.shipped()
    priors = cross_fit(corpora, options.folds) if options.cross_fit else {}
    with options.output.open("w", encoding="utf-8") as output:
        for number, corpus in enumerate(corpora, 1):
            prior = priors.get(corpus.name, shared)
            if options.crawl:
                if not corpus.crawlable:
                    logger.info("%s: its pages are not linked to each other; left out", corpus.name)
                    continue
                rows = predict_by_crawl(corpus, learning, prior)
            else:
                rows = predict_site(
                    corpus,
                    learning,
                    prior,
                    alone=options.alone,
                    held_out=options.held_out,
                )
            count = 0
            for row in rows:
                output.write(json.dumps(row, ensure_ascii=False) + "\n")
                count += 1
            print(f"[{number}/{len(corpora)}] {corpus.name}: {count} pages", file=sys.stderr)
    return EXIT_OK


def _report(options: argparse.Namespace) -> int:
    from contentspider.report.render import write_crawl_report, write_report

    source = Path(options.source)
    if source.is_dir() or (source.is_file() and source.suffix != ".sqlite"):
        pages = write_report(source, options.output, _learning(options))
    else:
        from contentspider.crawl.export import find_crawl

        pages = write_crawl_report(
            find_crawl(options.source), options.models, options.site, options.output
        )
    print(f"{pages} pages -> {options.output}", file=sys.stderr)
    return EXIT_OK


def _experiment(options: argparse.Namespace) -> int:
    from contentspider.evaluation.tables import run_experiment

    table = run_experiment(
        options.name,
        options.source,
        options.output,
        options.labels,
        _learning(options).features,
        options.pages,
        options.folds,
    )
    print(table.read_text(encoding="utf-8"), end="")
    print(f"{table} and {table.with_suffix('.svg')}", file=sys.stderr)
    return EXIT_OK


def _train_prior(options: argparse.Namespace) -> int:
    from contentspider.evaluation.corpora import find_corpora
    from contentspider.evaluation.training import train_prior

    prior = train_prior(find_corpora(options.corpora), options.seed)
    options.output.write_bytes(prior.dump())
    print(
        f"prior {prior.digest}: {prior.card['blocks']} blocks of {len(prior.card['trained_on'])}"
        f" sites -> {options.output}",
        file=sys.stderr,
    )
    return EXIT_OK
