"""InfoDiscoverer (Lin and Ho, 2002): words that are everywhere on a site say nothing, and blocks of
such words are redundant.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import chain
from math import ceil, log
from statistics import fmean
from typing import TYPE_CHECKING

from contentspider.page.input.page import Page
from contentspider.page.write.output import to_text
from contentspider_research.baselines.words import Words, parent_texts

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

# By so much the threshold is raised as long as more words become informative.
STEP = 0.1
# What a sum of fractions may miss a threshold by.
EPSILON = 1e-9


class InfoDiscoverer:
    """Keeps the blocks whose words have a mean entropy over the site's pages of *threshold* at
    most; None: the site's own threshold (the source found 0.1 to 0.7).

    Entropy is 0 for a word of one page and 1 for one that all pages have equally often. With
    *parents* a block has the words of its element's parent: the blocks of the source are cells of
    tables, in which more than a paragraph stands.
    """

    def __init__(self, threshold: float | None = None, parents: bool = False) -> None:
        self.threshold = threshold
        self.parents = parents
        self._words = Words()
        self._entropies: dict[str, float] = {}
        self._limit = 1.0

    def fit(self, pages: Sequence[tuple[str, bytes]]) -> None:
        """Count the words of the site's pages."""
        read = [Page.from_html(html, url) for url, html in pages]
        self._words = Words.of_site(read)
        words = [self._words.of_blocks(page) for page in read]
        self._entropies = entropies([list(chain.from_iterable(blocks)) for blocks in words])
        self._limit = (
            self._own_threshold(
                chain.from_iterable(map(self._sets, read, words)),
            )
            if self.threshold is None
            else self.threshold
        )

    def text(self, html: bytes) -> str:
        """Return the text of the blocks that are not redundant, one a line."""
        page = Page.from_html(html)
        sets = self._sets(page, self._words.of_blocks(page))
        return to_text(
            [
                block
                for block, words in zip(page.content.blocks, sets, strict=True)
                if self._entropy(words) <= self._limit + EPSILON
            ]
        )

    def _sets(self, page: Page, words: list[list[str]]) -> list[set[str]]:
        return parent_texts(page, words) if self.parents else list(map(set, words))

    def _entropy(self, words: Collection[str]) -> float:
        """Return the mean entropy of words: none are redundant, those of no page of the site are
        not.
        """
        return fmean(self._entropies.get(word, 0) for word in words) if words else 1

    def _own_threshold(self, blocks: Iterable[set[str]]) -> float:
        """Return the first threshold that makes no more words informative than the one before."""
        least: dict[str, float] = {}
        for words in blocks:
            entropy = self._entropy(words)
            for word in words:
                least[word] = min(entropy, least.get(word, 1))
        steps = {ceil((entropy - EPSILON) / STEP) for entropy in least.values()}
        step = min(steps, default=0)
        while step in steps:
            step += 1
        return min(step * STEP, 1)


def entropies(pages: Sequence[Sequence[str]]) -> dict[str, float]:
    """Return the entropy of each word over *pages*, each its words: 0 for a word of one page, 1 for
    one that all have equally often.

    >>> entropies([["tea", "menu"], ["milk", "menu"]])
    {'tea': 0.0, 'menu': 1.0, 'milk': 0.0}
    """
    counts: dict[str, list[int]] = defaultdict(list)
    for words in pages:
        for word, count in Counter(words).items():
            counts[word].append(count)
    base = log(max(len(pages), 2))
    found = {}
    for word, numbers in counts.items():
        total = sum(numbers)
        found[word] = (log(total) - sum(n * log(n) for n in numbers) / total) / base
    return found
