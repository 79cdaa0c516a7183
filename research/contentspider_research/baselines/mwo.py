"""MWO, minimum weight overlapping: a block whose words are little of its page is noise."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING

from contentspider.page.input.page import Page
from contentspider.page.write.output import to_text
from contentspider_research.baselines.words import Words

if TYPE_CHECKING:
    from collections.abc import Sequence


class MWO:
    """Keeps the blocks whose overlap with all words of their page is *threshold* or more; of the
    site's other pages it needs to know the language.
    """

    def __init__(self, threshold: float = 0.05) -> None:
        self.threshold = threshold
        self._words = Words()

    def fit(self, pages: Sequence[tuple[str, bytes]]) -> None:
        """Find the language of the site."""
        self._words = Words.of_site(Page.from_html(html, url) for url, html in pages)

    def text(self, html: bytes) -> str:
        """Return the text of the blocks that are kept, one a line."""
        page = Page.from_html(html)
        blocks = self._words.of_blocks(page)
        whole = weights(list(chain.from_iterable(blocks)))
        return to_text(
            [
                block
                for block, words in zip(page.content.blocks, blocks, strict=True)
                if overlap(weights(words), whole) >= self.threshold
            ]
        )


def weights(words: Sequence[str]) -> dict[str, float]:
    """Return the share that each word has of *words*."""
    return {word: count / len(words) for word, count in Counter(words).items()}


def overlap(a: dict[str, float], b: dict[str, float]) -> float:
    """Return the sum over the words of both of the lesser weight, from 0 to 1; *a* is the smaller.

    >>> overlap(weights(["tea", "hot"]), weights(["tea", "tea", "tea", "milk"]))
    0.5
    """
    return sum(min(weight, b[word]) for word, weight in a.items() if word in b)
