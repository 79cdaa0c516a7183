"""The command ``contentspider evaluate``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from contentspider.cli.command import LEARNING, argument, command, learning_options
from contentspider.ground.counts import counted
from contentspider.ground.json_text import json_text
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
    """Extract the pages of corpora that have gold text. Each site is learned without its gold text.
    The output is the mean token F1 of its gold pages, with an interval of two standard errors.
    """
    write_predictions(options, predictor(options, {}))


def predictor(options: argparse.Namespace, priors: Mapping[str, Prior]) -> Callable[[Corpus], Rows]:
    """Return a function that predicts a corpus with its prior of *priors*, or the shipped one."""
    from contentspider.evaluation.predict import predict_site
    from contentspider.site.judge.prior import Prior

    learning = learning_options(options)
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
    """Write the rows that *predict* yields for each corpus, and print its F1."""
    from contentspider.evaluation.corpora import find_corpora
    from contentspider.site.scores import text_score

    corpora = find_corpora(*options.corpora)
    if options.suite:
        corpora = [corpus for corpus in corpora if corpus.suite == options.suite]
    with options.output.open("w", encoding="utf-8") as output:
        for number, corpus in enumerate(corpora, 1):
            gold, scores = {page.path: page for page in corpus.gold()}, []
            for row in predict(corpus):
                output.write(json_text(row) + "\n")
                page = gold[row["path"].lstrip("/")]
                scores.append(text_score(row["text"], page.text, page.optional).f1)
            mean = f", F1 {_mean_text(scores)}" if scores else ""
            say(f"[{number}/{len(corpora)}] {corpus.name}: {counted(len(scores), 'pages')}{mean}")


def _mean_text(scores: list[float]) -> str:
    """Return the mean of some scores, with an interval of two standard errors."""
    from statistics import fmean, stdev  # other commands start without it

    middle = fmean(scores)
    if len(scores) == 1:
        return f"{middle:.4f}"
    off = 2 * stdev(scores) / len(scores) ** 0.5
    return f"{middle:.4f} ({max(middle - off, 0):.3f} to {min(middle + off, 1):.3f})"
