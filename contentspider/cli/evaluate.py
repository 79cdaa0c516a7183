"""``contentspider evaluate``."""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from contentspider.cli.arguments import add_learning_options, chosen_learning, not_negative

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from contentspider.cli.arguments import Commands
    from contentspider.site.judge.prior import Prior


logger = logging.getLogger(__name__)


def add_to(commands: Commands) -> argparse.ArgumentParser:
    """Add the command, and return its parser."""
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
    evaluate.add_argument("--suite", help="judge only the sites of this suite")
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
        "--prior", type=Path, metavar="FILE", help="use this prior in place of the shipped one"
    )
    evaluate.set_defaults(run=lambda options: write_predictions(options, {}))
    return evaluate


def write_predictions(options: argparse.Namespace, priors: Mapping[str, Prior]) -> int:
    """Write what is extracted of the gold pages, each site judged by its own of *priors*, or by the
    shipped one, and return the exit code.
    """
    from contentspider.evaluation.corpora import find_corpora
    from contentspider.evaluation.predict import predict_by_crawl, predict_site
    from contentspider.site.judge.prior import Prior

    learning = chosen_learning(options)
    shared = Prior.from_file(options.prior) if options.prior else Prior.shipped()
    corpora = find_corpora(*options.corpora)
    if options.suite:
        corpora = [corpus for corpus in corpora if corpus.suite == options.suite]
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
