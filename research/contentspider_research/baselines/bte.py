"""BTE, body text extraction (Finn, Kushmerick and Smyth, 2001): the part of the source that has
most words and fewest tags.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import unescape
from typing import TYPE_CHECKING

from contentspider.page.input.body import as_utf8
from contentspider.page.tree.text import UNSPACED
from contentspider_research.baselines.protocol import OnePage

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# Each alternative matches wherever it begins, to the end of the page if need be: so a page takes
# time proportional to its length, however it is broken.
MARKUP = re.compile(
    r"<!--.*?(?:-->|\Z)"
    r"|<(?P<skipped>script|style)\b.*?(?:</(?P=skipped)[^<>]*>?|\Z)"
    r"|(?P<tag></?[a-z][^<>]*>?)"
    r"|<[!?][^<>]*>?",
    re.IGNORECASE | re.DOTALL,
)
BODY = re.compile(r"<body\b", re.IGNORECASE)
WORD = re.compile(rf"[{UNSPACED}]|[^\s{UNSPACED}]+")
# Between two runs of the same article may stand an advertisement; a menu's entry is shorter.
MIN_RUN_WORDS = 20


@dataclass(frozen=True, slots=True)
class Run:
    """A run of texts, *first* to *last*, and the *score* of the words less the tags in it."""

    first: int
    last: int
    score: float


class BTE(OnePage):
    """Keeps the run of the body's source in which a word gives 1, a tag takes *tag_cost*, and the
    sum is largest.

    With *share* it keeps more than one run: from both sides of the best one the next best ones, as
    long as they have `MIN_RUN_WORDS` words and that share of the first one's sum.
    """

    def __init__(self, tag_cost: float = 1, share: float = 1) -> None:
        self.tag_cost = tag_cost
        self.share = share

    def text(self, html: bytes) -> str:
        """Return the words of the runs, one run a line."""
        texts, scores = [], []
        for text, tags in source_texts(as_utf8(html).decode("utf-8", "replace")):
            if tags:
                texts.append("")
                scores.append(-self.tag_cost * tags)
            else:
                texts.append(text)
                scores.append(len(WORD.findall(text)))
        runs = largest_runs(scores)
        best = max((run.score for run in runs), default=0)
        lines = []
        for run in runs:
            words = " ".join(texts[run.first : run.last + 1]).split()
            is_best = run.score == best
            if is_best or (run.score >= self.share * best and len(words) >= MIN_RUN_WORDS):
                lines.append(" ".join(words))
            if is_best and self.share == 1:
                return lines[-1]
        return "\n".join(lines)


def source_texts(source: str) -> Iterator[tuple[str, int]]:
    """Yield the texts of a page's body and, between them, the numbers of tags that stand there."""
    start = body.start() if (body := BODY.search(source)) else 0
    tags = 0
    for match in MARKUP.finditer(source, start):
        if text := unescape(source[start : match.start()]).strip():
            if tags:
                yield "", tags
            yield text, 0
            tags = 0
        tags += match["tag"] is not None
        start = match.end()
    if text := unescape(source[start:]).strip():
        if tags:
            yield "", tags
        yield text, 0


def largest_runs(scores: Sequence[float]) -> list[Run]:
    """Return the run with the largest sum, the largest ones on both sides of it, and so on, in
    order: those of Ruzzo and Tompa (1999), in one pass.

    >>> [(run.first, run.last) for run in largest_runs([3, -5, 4, -1, 2])]
    [(0, 0), (2, 4)]
    """
    runs: list[Run] = []
    # Of each run: the sum of all before it, that at its end, and the last run before it that
    # begins with a smaller sum (-1: none). All between begin with larger ones.
    before: list[float] = []
    until: list[float] = []
    lower: list[int] = []
    total = 0.0
    for index, score in enumerate(scores):
        total += score
        if score <= 0:
            continue
        first, low, high = index, total - score, total
        while True:
            left = len(runs) - 1
            while left >= 0 and before[left] >= low:
                left = lower[left]
            if left < 0 or until[left] >= high:
                break
            first, low = runs[left].first, before[left]
            del runs[left:], before[left:], until[left:], lower[left:]
        runs.append(Run(first, index, high - low))
        before.append(low)
        until.append(high)
        lower.append(left)
    return runs
