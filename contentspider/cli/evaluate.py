"""``contentspider evaluate``, ``experiment`` and ``train-prior``."""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from contentspider.cli.arguments import add_learning_options, chosen_learning, folds, not_negative
from contentspider.evaluation import BY_LENGTH, EQUAL, EXPERIMENTS

if TYPE_CHECKING:
    import argparse

    from contentspider.cli.arguments import Commands


logger = logging.getLogger(__name__)


def add_to(commands: Commands) -> None:
    """Add the commands."""
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
        nargs="+",
        metavar="CORPORA",
        help="folders of site folders with site.json, gold.jsonl and html/",
    )
    evaluate.add_argument(
        "--suite", help="judge only the sites of this suite (all are trained on by --cross-fit)"
    )
    evaluate.add_argument(
        "-o",
        "--output",
        type=Path,
        required=True,
        metavar="PREDICTIONS",
        help="write JSON lines of site, path and text",
    )
    add_learning_options(evaluate)
    evaluate.add_argument(
        "--method",
        metavar="NAME",
        help="extract with this method in place of ours (docs/experiments.md has them)",
    )
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
        type=not_negative,
        metavar="N",
        help=(
            "learn from N pages of a site (0: half of them) and extract pages that were not among"
            " them"
        ),
    )
    evaluate.add_argument(
        "--no-own-texts",
        action="store_true",
        help="do not hear what a site's feeds (own.jsonl) say of its pages",
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
    evaluate.add_argument(
        "--prior", type=Path, metavar="FILE", help="use this prior in place of the shipped one"
    )

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
    evaluate.set_defaults(run=_evaluate)
    experiment.set_defaults(run=_experiment)
    train.set_defaults(run=_train_prior)


def _evaluate(options: argparse.Namespace) -> int:
    from contentspider.evaluation.baselines import new_baseline
    from contentspider.evaluation.comparison import predict_by_method
    from contentspider.evaluation.corpora import find_corpora
    from contentspider.evaluation.predict import predict_by_crawl, predict_site
    from contentspider.evaluation.training import cross_fit
    from contentspider.ground.errors import ContentSpiderError
    from contentspider.site.judge.prior import Prior

    learning = chosen_learning(options)
    if options.method:
        new_baseline(options.method)  # what is wrong with it is said before a file is written
        if options.crawl or options.alone or options.cross_fit or options.held_out is not None:
            raise ContentSpiderError(
                "--method takes no --crawl, --alone, --held-out or --cross-fit: these are ours"
            )
    corpora = find_corpora(*options.corpora)
    shared = Prior.from_file(options.prior) if options.prior else Prior.shipped()
    priors = cross_fit(corpora, options.folds) if options.cross_fit else {}
    if options.suite:
        corpora = [corpus for corpus in corpora if corpus.suite == options.suite]
    with options.output.open("w", encoding="utf-8") as output:
        for number, corpus in enumerate(corpora, 1):
            prior = priors.get(corpus.name, shared)
            if options.method:
                rows = predict_by_method(corpus, options.method)
            elif options.crawl:
                if not corpus.crawlable:
                    logger.info("%s: its pages are not linked to each other; left out", corpus.name)
                    continue
                rows = predict_by_crawl(corpus, learning, prior)
            else:
                rows = predict_site(
                    corpus,
                    learning,
                    prior,
                    hosts=priors,
                    alone=options.alone,
                    held_out=options.held_out,
                    hears=not options.no_own_texts,
                )
            count = 0
            for row in rows:
                output.write(json.dumps(row, ensure_ascii=False) + "\n")
                count += 1
            print(f"[{number}/{len(corpora)}] {corpus.name}: {count} pages", file=sys.stderr)
    return 0


def _experiment(options: argparse.Namespace) -> int:
    from contentspider.evaluation.tables import run_experiment

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
    from contentspider.evaluation.training import train_prior

    prior = train_prior(find_corpora(*options.corpora), options.seed)
    options.output.write_bytes(prior.dump())
    print(
        f"prior {prior.digest}: {prior.card['blocks']} blocks of {prior.card['pages']} pages ->"
        f" {options.output}",
        file=sys.stderr,
    )
    return 0
