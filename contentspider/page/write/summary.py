"""Extractive summaries: the sentences with the terms that a page uses most and its site least."""

from __future__ import annotations

from collections import Counter
from math import log, sqrt
from typing import TYPE_CHECKING

from contentspider.page.about.hints import squeeze
from contentspider.page.tree.text import tokens
from contentspider.page.words.names import HEADINGS
from contentspider.page.write.passages import SENTENCE_END

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from contentspider.page.tree.blocks import Block

MAX_SENTENCES, MAX_WORDS = 5, 120
MAX_READ = 400  # only the first sentences of a page are considered
MIN_TOKENS = 4
# A term that the summary already has loses this share of its weight (maximal marginal relevance).
REPEATED_SHARE = 0.7
FIRST_BONUS = 1.0  # is added to the score of the first sentence, 1/n of it to the n-th
HINT_WEIGHT = 2.0
ENOUGH = 0.5  # the summary ends before a sentence with less than this share of the best score
COMMON = 4  # terms of at most this many characters have half the weight


def document_counts(texts: Iterable[str]) -> Counter[str]:
    """Return for each term how many of a site's pages contain it. *texts* has one text per page."""
    return Counter(term for text in texts for term in set(tokens(text)))


def summarise(
    blocks: Sequence[Block],
    hints: Sequence[str] = (),
    pages: int = 0,
    counts: Mapping[str, int] | None = None,
) -> str:
    """Return up to 5 sentences, and about 120 words, of a page's kept *blocks*, in their order. If
    the page has at most 5 sentences, the whole text is returned.

    The score of a sentence is the sum of the tf-idf weights of its terms, divided by the square
    root of its length, plus its longest common subsequence with *hints* (the page's title and
    description). *pages* is the number of the site's pages, and *counts* has for each term the
    number of pages with it; without them all terms count as equally rare. Terms that the summary
    already has weigh less.
    """
    texts = _sentences(blocks)
    if len(texts) <= MAX_SENTENCES:
        return " ".join(texts)
    sentences = [Counter(tokens(text)) for text in texts]
    frequencies = Counter[str]()
    for terms in sentences:
        frequencies.update(terms)
    weights = {}
    for term, frequency in frequencies.items():
        rarity = log((1 + pages) / (1 + (counts or {}).get(term, 0))) if pages else 1.0
        weights[term] = frequency * rarity * (1.0 if len(term) > COMMON else 0.5)
    squeezed_hints = squeeze(" ".join(hints))
    shares = [_share(text, squeezed_hints) for text in texts]
    return " ".join(texts[index] for index in _chosen(sentences, weights, shares))


def _sentences(blocks: Sequence[Block]) -> list[str]:
    """Return the sentences of all blocks but headings, in their order, equal ones once."""
    texts: dict[str, None] = {}
    for block in blocks:
        if block.tag not in HEADINGS and len(texts) < MAX_READ:
            parts = SENTENCE_END.sub(lambda end: f"{end[0]}\0", block.text).split("\0")
            texts.update(dict.fromkeys(part.strip() for part in parts if part.strip()))
    return list(texts)


def _chosen(
    sentences: Sequence[Counter[str]], weights: Mapping[str, float], shares: Sequence[float]
) -> list[int]:
    """Return the indexes of the sentences in the summary, in order. *sentences* has the terms of
    each sentence, *weights* the weight of each term, and *shares* how much of each sentence is in
    the hints (0 to 1).
    """
    top_weight = max(weights.values(), default=0.0) or 1.0
    summary_terms: set[str] = set()

    def score(index: int) -> float:
        terms = sentences[index]
        value = 0.0
        for term in terms:
            weight = weights[term]
            value += weight * (1 - REPEATED_SHARE) if term in summary_terms else weight
        value /= top_weight * sqrt(terms.total())
        return value + HINT_WEIGHT * shares[index] + FIRST_BONUS / (1 + index)

    candidates = [index for index, terms in enumerate(sentences) if terms.total() >= MIN_TOKENS]
    summary: list[int] = []
    words, least_score = 0, 0.0
    while candidates and len(summary) < MAX_SENTENCES:
        best = max(candidates, key=score)
        least_score = least_score or ENOUGH * score(best)
        words += sentences[best].total()
        if score(best) < least_score or (summary and words > MAX_WORDS):
            break
        candidates.remove(best)
        summary.append(best)
        summary_terms |= set(sentences[best])
    return sorted(summary)


def _share(text: str, hints: str) -> float:
    """Return which share of a text is a common subsequence with *hints*, 0 to 1."""
    import pylcs  # here, because most crawls write no summaries

    if not hints:
        return 0.0
    sentence = squeeze(text)[:1_000]
    return float(pylcs.lcs_sequence_length(sentence, hints[:1_000]) / max(len(sentence), 1))
