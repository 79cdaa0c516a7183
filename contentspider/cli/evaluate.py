"""``contentspider evaluate``."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import TYPE_CHECKING

from contentspider.cli.arguments import chosen_learning, not_negative
from contentspider.cli.command import argument, command, learning_options, say

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from contentspider.site.judge.prior import Prior

logger = logging.getLogger(__name__)


@command(
    "evaluate",
    "extract the pages of corpora that have gold text",
    argument("CORPORA...", "folders of site folders with site.json, gold.jsonl and html/", Path),
    argument(
        "-o --output PREDICTIONS", "write JSON lines of site, path and text", Path, required=True
    ),
    argument("--suite SUITE", "only the sites of this suite"),
    *learning_options(),
    argument("--crawl", "serve each crawlable site on loopback and crawl it"),
    argument("--alone", "judge every page without the rest of its site"),
    argument("--held-out N", "learn from N pages (0: half), extract only others", not_negative),
    argument("--no-own-texts", "do not use the texts in the site's feeds (own.jsonl)"),
    argument("--prior FILE", "use this prior, not the shipped one", Path),
)
def evaluate(options: argparse.Namespace) -> None:
    """Learn each site of CORPORA without its gold, and write what is extracted of its gold
    pages.
    """
    write_predictions(options, {})


def write_predictions(options: argparse.Namespace, priors: Mapping[str, Prior]) -> None:
    """Write what is extracted of the gold pages, each site judged by its own of *priors*, or by the
    shipped one.
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
            if options.crawl and not corpus.crawlable:
                logger.info("%s: its pages are not linked to each other; left out", corpus.name)
                continue
            if options.crawl:
                rows = predict_by_crawl(corpus, learning, prior)
            else:
                rows = predict_site(
                    corpus,
                    learning,
                    prior,
                    hosts=priors,
                    alone=options.alone,
                    held_out=options.held_out,
                    with_own_texts=not options.no_own_texts,
                )
            count = 0
            for row in rows:
                output.write(json.dumps(row, ensure_ascii=False) + "\n")
                count += 1
            say(f"[{number}/{len(corpora)}] {corpus.name}: {count} pages")
