"""``contentspider evaluate``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from contentspider.cli.command import LEARNING, argument, command, learning_of
from contentspider.ground.terminal import say

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Mapping
    from typing import TypeAlias

    from contentspider.evaluation.corpora import Corpus
    from contentspider.site.judge.prior import Prior

    Rows: TypeAlias = Iterator[dict[str, str]]


@command(
    "evaluate",
    argument("CORPORA...", "folders of site folders with site.json, gold.jsonl and html/", Path),
    argument(
        "-o --output PREDICTIONS", "write JSON lines of site, path and text", Path, required=True
    ),
    argument("--suite SUITE", "only the sites of this suite"),
    *LEARNING,
    argument("--alone", "judge every page without the rest of its site"),
    argument("--held-out N", "learn from N pages (0: half), extract only others", least=0),
    argument("--no-own-texts", "do not use the texts in the site's feeds (own.jsonl)"),
    argument("--prior FILE", "use this prior, not the shipped one", Path),
)
def evaluate(options: argparse.Namespace) -> None:
    """Extract the pages of corpora that have gold text. Each site is learned without its gold."""
    write_predictions(options, predictor(options, {}))


def predictor(options: argparse.Namespace, priors: Mapping[str, Prior]) -> Callable[[Corpus], Rows]:
    """Return what predicts a corpus by its own of *priors*, or by the shipped one."""
    from contentspider.evaluation.predict import predict_site
    from contentspider.site.judge.prior import Prior

    learning = learning_of(options)
    shared = Prior.from_file(options.prior) if options.prior else Prior.shipped()
    return lambda corpus: predict_site(
        corpus,
        learning,
        priors.get(corpus.name, shared),
        hosts=priors,
        alone=options.alone,
        held_out=options.held_out,
        with_own_texts=not options.no_own_texts,
    )


def write_predictions(options: argparse.Namespace, predict: Callable[[Corpus], Rows]) -> None:
    """Write what *predict* gives of each corpus."""
    from contentspider.evaluation.corpora import find_corpora

    corpora = find_corpora(*options.corpora)
    if options.suite:
        corpora = [corpus for corpus in corpora if corpus.suite == options.suite]
    with options.output.open("w", encoding="utf-8") as output:
        for number, corpus in enumerate(corpora, 1):
            count = 0
            for row in predict(corpus):
                output.write(json.dumps(row, ensure_ascii=False) + "\n")
                count += 1
            say(f"[{number}/{len(corpora)}] {corpus.name}: {count} pages")
