"""Summaries against the pages' own descriptions: ROUGE-1 (F1 of words), beside the first sentences.

    python benchmarks/summaries.py CORPORA [SITE...]

Each site is learned from its pages. Pages count that have a description of 8 words or more which no
other page has, 150 words of content, and 6 sentences; at most 25 a site, of sites that have 5. Ours
are made with the description among the hints, as they are on pages that have one, and with the
title alone; and of the page by itself, as the field ``summary`` of items is. ``lead-3`` are the
first three sentences of the content, ``LexRank`` three sentences by sumy, if that is installed.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING

from contentspider.evaluation.corpora import find_corpora
from contentspider.page.input.files import read_pages
from contentspider.page.tree.text import tokens
from contentspider.page.words.names import HEADINGS
from contentspider.page.write.passages import SENTENCE_END
from contentspider.page.write.summary import document_counts, summarise, summary_of
from contentspider.site.learn.learner import SiteLearner

try:
    from sumy.models.dom import ObjectDocumentModel, Paragraph, Sentence
    from sumy.summarizers.lex_rank import LexRankSummarizer
except ImportError:
    LexRankSummarizer = None

if TYPE_CHECKING:
    from contentspider.site.models.record import Extraction

MOST, LEAST = 25, 5
COLUMNS = ("lead-3", "LexRank", "ours", "ours, title alone", "ours, page alone")


def rouge(one: str, other: str) -> float:
    first, second = Counter(tokens(one)), Counter(tokens(other))
    return 2 * (first & second).total() / max(first.total() + second.total(), 1)


def sentences(extraction: Extraction) -> list[str]:
    found = []
    for block in extraction.blocks:
        if block.tag not in HEADINGS:
            found += SENTENCE_END.sub(lambda end: f"{end[0]}\0", block.text).split("\0")
    return [one.strip() for one in found if one.strip()]


class Words:
    """Our words, for sumy, whose own need a download."""

    def to_words(self, text: str) -> list[str]:
        return list(tokens(text))


def lex_rank(parts: list[str]) -> str:
    if LexRankSummarizer is None:
        return ""
    document = ObjectDocumentModel([Paragraph([Sentence(part, Words()) for part in parts[:400]])])
    return " ".join(map(str, LexRankSummarizer()(document, 3)))


def scores(folder: Path, name: str) -> list[tuple[float, ...]]:
    """Return for each page what each of `COLUMNS` reaches."""
    pages = [page for page in read_pages(folder) if page.content.blocks]
    learner = SiteLearner(name)
    model = learner.fit(learner.sample(iter(pages)))
    extractions = [model.extract(page) for page in pages]
    counts = document_counts(extraction.text for extraction in extractions)
    times = Counter(text for page in pages for text in page.hints.descriptions)
    found = []
    for page, extraction in zip(pages, extractions, strict=True):
        own = [text for text in page.hints.descriptions if times[text] == 1]
        said = next((text for text in own if len(tokens(text)) >= 8), "")
        parts = sentences(extraction)
        if not said or len(parts) < 6 or len(tokens(extraction.text)) < 150:
            continue
        given, title = (len(pages), counts), page.hints.titles[:1]
        by_both = summarise(extraction.blocks, (*title, said), *given)
        by_title = summarise(extraction.blocks, title, *given)
        leads = (" ".join(parts[:3]), lex_rank(parts))
        shown = (*leads, by_both, by_title, summary_of(extraction))
        found.append(tuple(rouge(one, said) for one in shown))
    return found[:: max(1, len(found) // MOST)][:MOST]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("corpora", type=Path)
    parser.add_argument("sites", nargs="*", metavar="SITE", help="(default: all)")
    options = parser.parse_args()
    rows = []
    print(f"| site | pages | {' | '.join(COLUMNS)} |\n|{'---|' * (len(COLUMNS) + 2)}")
    for corpus in find_corpora(options.corpora):
        if corpus.name not in (options.sites or [corpus.name]):
            continue
        found = scores(corpus.folder / "html", corpus.name)
        if len(found) >= LEAST:
            rows.append([mean(column) for column in zip(*found, strict=True)])
            shown = " | ".join(f"{value:.3f}" for value in rows[-1])
            print(f"| {corpus.name} | {len(found)} | {shown} |", flush=True)
    means = " | ".join(f"{mean(column):.3f}" for column in zip(*rows, strict=True))
    print(f"| mean of {len(rows)} | | {means} |")


if __name__ == "__main__":
    main()
