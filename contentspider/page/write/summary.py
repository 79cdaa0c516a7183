"""Extractive summaries: the sentences that say most of what a page says, and other pages do not."""

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
MAX_READ = 400  # sentences of a page; what comes later is not chosen
MIN_TOKENS = 4
KNOWN_SHARE = 0.7  # of a term that the summary has already (maximal marginal relevance)
FIRST_BONUS = 1.0  # of the first sentence; the n-th has an n-th of it
HINT_WEIGHT = 2.0
ENOUGH = 0.5  # a sentence with less of the best one's score is left out
COMMON = 4  # characters: without other pages, shorter words say half as much


def document_counts(texts: Iterable[str]) -> Counter[str]:
    """Return on how many of a site's pages, given as texts, each term is."""
    return Counter(term for text in texts for term in set(tokens(text)))


def summarise(
    blocks: Sequence[Block],
    hints: Sequence[str] = (),
    pages: int = 0,
    counts: Mapping[str, int] | None = None,
) -> str:
    """Return up to 5 sentences, or 120 words, of a page's kept *blocks*, in their order; the text
    itself of a page of fewer than 6.

    A sentence counts by the tf-idf of its terms against the site's *pages*, of which *counts* have
    each (none: by the length of words), over the root of its length, and by the longest common
    subsequence with *hints*, the page's title and description. Terms that were said count less.
    """
    texts: dict[str, None] = {}  # each once
    for block in blocks:
        if block.tag not in HEADINGS and len(texts) < MAX_READ:
            parts = SENTENCE_END.sub(lambda end: f"{end[0]}\0", block.text).split("\0")
            texts.update(dict.fromkeys(part.strip() for part in parts if part.strip()))
    if len(texts) <= MAX_SENTENCES:
        return " ".join(texts)
    found = [(text, Counter(tokens(text))) for text in texts]
    frequent = Counter[str]()
    for _, terms in found:
        frequent.update(terms)

    def weight(term: str) -> float:
        rare = log((1 + pages) / (1 + (counts or {}).get(term, 0))) if pages else 1.0
        return frequent[term] * rare * (1.0 if len(term) > COMMON else 0.5)

    said = squeeze(" ".join(hints))
    weights = {term: weight(term) for term in frequent}
    shares = [_share(text, said) for text, _ in found]
    return " ".join(
        found[index][0] for index in _chosen([one for _, one in found], weights, shares)
    )


def _chosen(
    sentences: Sequence[Counter[str]], weights: Mapping[str, float], shares: Sequence[float]
) -> list[int]:
    """Return the numbers of the sentences, given as their terms, that are chosen, in order."""
    top = max(weights.values(), default=0.0) or 1.0
    known: set[str] = set()

    def score(index: int) -> float:
        terms = sentences[index]
        value = sum(weights[term] * (1 - KNOWN_SHARE * (term in known)) for term in terms) / top
        return value / sqrt(terms.total()) + HINT_WEIGHT * shares[index] + FIRST_BONUS / (1 + index)

    rest = [index for index, terms in enumerate(sentences) if terms.total() >= MIN_TOKENS]
    chosen: list[int] = []
    words, least = 0, 0.0
    while rest and len(chosen) < MAX_SENTENCES:
        best = max(rest, key=score)
        least = least or ENOUGH * score(best)
        words += sentences[best].total()
        if score(best) < least or (chosen and words > MAX_WORDS):
            break
        rest.remove(best)
        chosen.append(best)
        known |= set(sentences[best])
    return sorted(chosen)


def _share(text: str, said: str) -> float:
    import pylcs  # loaded on first use: most crawls write no summaries

    mine = squeeze(text)[:1_000]
    return pylcs.lcs_sequence_length(mine, said[:1_000]) / max(len(mine), 1) if said else 0.0
