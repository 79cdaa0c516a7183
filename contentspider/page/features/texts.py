"""Features of a block's own text: length, links, punctuation, what it says."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from contentspider.page.blocks import BOLD
from contentspider.page.phrases import NOISE_PHRASES
from contentspider.page.text import SENTENCE_END, text_weight

if TYPE_CHECKING:
    from collections.abc import Callable

    from contentspider.page.blocks import Block
    from contentspider.page.features.columns import Column, Floats

DATE = re.compile(r"\b(?:19|20)\d\d\b|\b\d{1,2}[:.]\d\d\b|\b\d{1,2}[/.-]\d{1,2}[/.-]\d{2,4}\b")
PUNCTUATION = re.compile(r"[,.;:!?،؛。，、；：！？]")
SEPARATORS = re.compile(r"[|»«›‹•·→←>/]")
DIGIT = re.compile(r"\d")
UPPER = re.compile(r"[A-ZÀ-ÖØ-ÞА-ЯЁ]")
# The share of digits in a longer text is that of its beginning.
HEAD_CHARS = 2_000
# What boilerplate says of itself it says soon, and it is short.
SAYS_WITHIN, SAYS_CHARS = 80, 400
# What only the text decides is worked out once for texts that a site's pages may repeat.
MAX_KEPT_CHARS = 200
MAX_KEPT_TEXTS = 50_000


class TextFacts:
    """A text, and what several of its features need."""

    __slots__ = ("chars", "head", "sample", "start", "text", "words")

    def __init__(self, text: str) -> None:
        self.text = text
        self.chars = len(text)
        self.words = text.count(" ") + 1
        self.head = text[:HEAD_CHARS]
        self.sample = len(self.head)
        self.start = text[:SAYS_WITHIN] if self.chars < SAYS_CHARS else ""


@dataclass(frozen=True, slots=True)
class OfText:
    """A feature that only the text decides."""

    value: Callable[[TextFacts], float]


@dataclass(frozen=True, slots=True)
class OfBlocks:
    """A feature that the links, marks or place of a block decide, for all blocks of a page."""

    value: Callable[[list[Block]], Column]


def _repeats(blocks: list[Block]) -> Column:
    times = Counter(block.text for block in blocks)
    return [min(times[block.text] - 1, 5) for block in blocks]


def _share(pattern: re.Pattern[str]) -> OfText:
    return OfText(lambda of: len(pattern.findall(of.head)) / of.sample)


def _says(pattern: re.Pattern[str]) -> OfText:
    return OfText(lambda of: bool(of.start and pattern.search(of.start)))


TEXT: dict[str, OfText | OfBlocks] = {
    "log_chars": OfText(lambda of: np.log1p(text_weight(of.text))),
    "log_words": OfText(lambda of: np.log1p(of.words)),
    "link_share": OfBlocks(lambda blocks: [b.link_chars / len(b.text) for b in blocks]),
    "links": OfBlocks(lambda blocks: np.log1p([block.links for block in blocks])),
    "word_chars": OfText(lambda of: of.chars / of.words),
    "punctuation": _share(PUNCTUATION),
    "commas": OfText(lambda of: sum(of.head.count(comma) for comma in ",，、") / of.sample),
    "ends_sentence": OfText(lambda of: of.text[-1] in SENTENCE_END),
    "digit_share": _share(DIGIT),
    "upper_share": _share(UPPER),
    "starts_upper": OfText(lambda of: of.text[0].isupper()),
    "date": OfText(lambda of: bool(DATE.search(of.head)) / (1 + of.chars / 100)),
    "separators": _share(SEPARATORS),
    "ends_colon": OfText(lambda of: of.text[-1] in ":："),
    "question": OfText(lambda of: "?" in of.head or "？" in of.head),
    "bold_share": OfBlocks(lambda blocks: [b.bold_chars / len(b.text) for b in blocks]),
    "starts_digit": OfText(lambda of: of.text[0].isdigit()),
    "url": OfText(lambda of: "http" in of.head or "www." in of.head),
    "spans": OfBlocks(
        lambda blocks: [
            sum(mark != BOLD for *_, mark in block.spans) / (block.text.count(" ") + 1)
            for block in blocks
        ]
    ),
    "in_row": OfBlocks(lambda blocks: [block.row > 0 for block in blocks]),
    "in_item": OfBlocks(lambda blocks: [block.item > 0 for block in blocks]),
    "repeats_on_page": OfBlocks(_repeats),
    **{f"says_{name}": _says(pattern) for name, pattern in NOISE_PHRASES.items()},
}


class TextRows:
    """Works out the features of texts; keeps those that only the text decides."""

    def __init__(self) -> None:
        self._kept: dict[str, Floats] = {}

    def fill(self, rows: Floats, blocks: list[Block]) -> None:
        """Write the features `TEXT` of each block into *rows*."""
        if len(self._kept) > MAX_KEPT_TEXTS:
            self._kept.clear()
        for number, block in enumerate(blocks):
            row = self._kept.get(block.text)
            if row is None:
                row = _row(block.text)
                if len(block.text) <= MAX_KEPT_CHARS:
                    self._kept[block.text] = row
            rows[number] = row
        for column, feature in enumerate(TEXT.values()):
            if isinstance(feature, OfBlocks):
                rows[:, column] = feature.value(blocks)


def _row(text: str) -> Floats:
    """Return the features of a text by itself; those of blocks are left at 0."""
    of = TextFacts(text)
    return np.array(
        [feature.value(of) if isinstance(feature, OfText) else 0 for feature in TEXT.values()],
        dtype=np.float32,
    )
