"""Features of a block's own text: length, links, punctuation, what it says."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from contentspider.page.features._counts import COUNTS, HEAD_CHARS, count_blocks
from contentspider.page.phrases import NOISE_PHRASES, SILENT, said

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from contentspider.page.blocks import Block
    from contentspider.page.features.columns import Group

    Numbers = NDArray[np.float64]

DATE = re.compile(r"\b(?:19|20)\d\d\b|\b\d{1,2}[:.]\d\d\b|\b\d{1,2}[/.-]\d{1,2}[/.-]\d{2,4}\b")
PRICE = re.compile(
    r"[$€£¥₹₽₩]\s?\d|\d\s?(?:[$€£¥₹₽₩]|(?:usd|eur|gbp|kr|zł|руб|chf|円|元|원)\b)", re.IGNORECASE
)
# What boilerplate says of itself it says soon, and it is short.
SAYS_WITHIN, SAYS_CHARS = 80, 400
# What a site's pages repeat is looked at once.
MAX_KEPT_TEXTS = 50_000
PHRASE = {name: number for number, name in enumerate(NOISE_PHRASES)}


class SaidTexts:
    """Tells what texts say of themselves (`NOISE_PHRASES`), and keeps it."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[bool, ...]] = {}

    def says(self, blocks: list[Block]) -> Numbers:
        """Return a row for each kind of phrase: which of the *blocks* say such."""
        if len(self._kept) > MAX_KEPT_TEXTS:
            self._kept.clear()
        kept = self._kept
        found = []
        for block in blocks:
            text = block.text
            if len(text) >= SAYS_CHARS:
                found.append(SILENT)
                continue
            known = kept.get(text)
            if known is None:
                known = kept[text] = said(text[:SAYS_WITHIN].lower())
            found.append(known)
        return np.array(found, dtype=np.float64).T


class TextFacts:
    """What is counted in the texts of a page's *blocks* (an array each, by the names in `COUNTS`),
    and what they say of themselves.
    """

    def __init__(self, blocks: list[Block], said: SaidTexts) -> None:
        self.blocks = blocks
        counts = count_blocks(blocks)
        self.counts: dict[str, Numbers] = dict(zip(COUNTS, counts, strict=True))
        self.said = said.says(blocks)
        self.link_share = self.counts["link_chars"] / self.counts["chars"]
        self.code_share = self.counts["code_chars"] / self.counts["chars"]
        self.dates = self.with_digits(DATE)
        self.prices = self.with_digits(PRICE)
        self.log_chars = np.log1p(self.counts["weight"])

    def share(self, name: str) -> Numbers:
        """Return the share of the characters of that kind in the beginning of each text."""
        return self.counts[name] / self.counts["sample"]

    def with_digits(self, pattern: re.Pattern[str]) -> Numbers:
        """Return which texts have such digits, the less the longer they are."""
        found = np.zeros(len(self.blocks))
        for number in np.flatnonzero(self.counts["digits"]).tolist():
            text = self.blocks[number].text
            if pattern.search(text, 0, HEAD_CHARS):
                found[number] = 1 / (1 + len(text) / 100)
        return found

    def urls(self) -> list[bool]:
        """Tell which texts have the beginning of an address."""
        heads = [block.text[:HEAD_CHARS] for block in self.blocks]
        return ["http" in head or "www." in head for head in heads]


TEXT: Group[TextFacts] = {
    "log_chars": lambda of: of.log_chars,
    "log_words": lambda of: np.log1p(of.counts["words"]),
    "link_share": lambda of: of.link_share,
    "links": lambda of: np.log1p(of.counts["links"]),
    "word_chars": lambda of: of.counts["chars"] / of.counts["words"],
    "punctuation": lambda of: of.share("punctuation"),
    "commas": lambda of: of.share("commas"),
    "ends_sentence": lambda of: of.counts["ends_sentence"],
    "digit_share": lambda of: of.share("digits"),
    "upper_share": lambda of: of.share("upper"),
    "starts_upper": lambda of: of.counts["starts_upper"],
    "date": lambda of: of.dates,
    "price": lambda of: of.prices,
    "code_share": lambda of: of.code_share,
    "separators": lambda of: of.share("separators"),
    "ends_colon": lambda of: of.counts["ends_colon"],
    "question": lambda of: of.counts["questions"] > 0,
    "bold_share": lambda of: of.counts["bold_chars"] / of.counts["chars"],
    "starts_digit": lambda of: of.counts["starts_digit"],
    "url": TextFacts.urls,
    "spans": lambda of: of.counts["marks"] / of.counts["words"],
    "in_row": lambda of: of.counts["row"],
    "in_item": lambda of: of.counts["item"],
    "repeats_on_page": lambda of: np.minimum(of.counts["repeats"], 5),
    **{
        f"says_{name}": lambda of, number=number: of.said[number]  # type: ignore[misc]
        for name, number in PHRASE.items()
    },
}
