"""What a search shows of the documents that it found."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any

from contentspider.index.words import JOINERS, LETTER, UNSEEN, bare, roots

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from contentspider.index.engine import Query, Results

# What is looked at for a snippet, of texts and of queries.
SNIPPET_CHARS = 240
MAX_CHARS = 1_000_000
MAX_ROOTS = 32
MAX_TRIES = 20_000
# A cut that would go through a longer word (an address, a hash) goes through it.
MAX_WORD_CHARS = 40
# "walk" is marked in "walking" as well, "cat" in "cats": they are found by that.
ENDING_CHARS = (0, 0, 0, 1, 3)
HALF_WIDTH = re.compile("[\uff66-\uffdc]+")
SPACES = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Shown:
    """A result in a list, *rank* from 1; *pieces* of its text, those that were searched marked."""

    rank: int
    score: float
    id: str
    url: str
    title: str
    pieces: Sequence[tuple[str, bool]] = field(repr=False)
    record: Mapping[str, Any] = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return what ``contentspider search --json`` says of it."""
        return {
            "rank": self.rank,
            "score": round(self.score, 4),
            "id": self.id,
            "url": self.url,
            "title": self.title,
            "snippet": "".join(text for text, _ in self.pieces),
        }


def shown_results(query: Query, results: Results) -> list[Shown]:
    """Return the documents that a query found as a list shows them."""
    return [
        Shown(
            rank,
            hit.score,
            str(hit.record["id"]),
            str(hit.record.get("url", "")),
            str(hit.record.get("title") or hit.record.get("url", "")),
            snippet(
                str(hit.record.get("content") or hit.record.get("description") or ""),
                roots(query.words, [hit.record.get("language", "")]),
            ),
            hit.record,
        )
        for rank, hit in enumerate(results.hits, query.offset + 1)
    ]


def snippet(text: str, wanted: Sequence[str], chars: int = SNIPPET_CHARS) -> list[tuple[str, bool]]:
    """Return the part of *text* that shows most of the words *wanted* (their roots), at most about
    *chars* characters of it, as pieces of which those that are such words are marked (True).

    Upper case and accents make no difference. Where nothing is found, it is the text's beginning.
    What was left out before or behind is shown as "…"; white space is one space.

    >>> snippet("Das Café in Köln, wo wir waren.", ["cafe", "koln"], 19)
    [('…', False), ('Café', True), (' in ', False), ('Köln', True), (', wo…', False)]
    """
    text = unicodedata.normalize("NFC", UNSEEN.sub("", text[:MAX_CHARS]))
    text = HALF_WIDTH.sub(lambda run: unicodedata.normalize("NFKC", run[0]), text)
    text = SPACES.sub(" ", text.strip())
    folded = text.translate(FOLDING)
    marks = sorted(
        (start, end, number)
        for number, root in enumerate(wanted[:MAX_ROOTS])
        for start, end in _matches(folded, root)
    )
    start, end = _window(text, marks, chars)
    pieces = [("…", False)] if start else []
    at = start
    for first, last, _ in marks:
        if start <= first and at < last <= end:
            pieces += [(text[at:first], False), (text[max(first, at) : last], True)]
            at = last
    pieces += [(text[at:end], False), ("…" if end < len(text) else "", False)]
    joined = groupby((piece for piece in pieces if piece[0]), key=lambda piece: piece[1])
    return [("".join(text for text, _ in group), is_marked) for is_marked, group in joined]


class _Folding(dict[int, int]):
    """Characters in lower case and without accents, each as one, so that places stay the same."""

    def __missing__(self, code: int) -> int:
        # Kana and Hangul are no letters with accents.
        folded = bare(unicodedata.normalize("NFKC", chr(code)).casefold())
        self[code] = ord(folded) if len(folded) == 1 else code
        return self[code]


FOLDING = _Folding()


def _matches(text: str, root: str) -> Iterator[tuple[int, int]]:
    """Yield where *root* stands as a word, maybe with an ending; anywhere in unspaced scripts."""
    anywhere = LETTER.match(root)
    spare = ENDING_CHARS[min(len(root), 4)]
    start = text.find(root) if root else -1
    for _ in range(MAX_TRIES):
        if start < 0:
            return
        end = start + len(root)
        if anywhere:
            yield start, end
        elif not (start and text[start - 1].isalnum()):
            most = end + spare
            while end <= most and text[end : end + 1].isalnum() and not LETTER.match(text[end]):
                end += 1
            if end <= most:
                yield start, end
        start = text.find(root, start + 1)


def _window(text: str, marks: list[tuple[int, int, int]], chars: int) -> tuple[int, int]:
    """Return where the part with the most different words, then most marks, begins and ends."""
    if len(text) <= chars:
        return 0, len(text)
    best, span = (0, 0), (0, 0)
    counts: dict[int, int] = {}
    last = 0
    for first, (start, _, number) in enumerate(marks):
        while last < len(marks) and (marks[last][1] <= start + chars or last <= first):
            counts[marks[last][2]] = counts.get(marks[last][2], 0) + 1
            last += 1
        if (len(counts), last - first) > best:
            best, span = (len(counts), last - first), (start, marks[last - 1][1])
        counts[number] -= 1
        if not counts[number]:
            del counts[number]
    # What is left of the room is put around the words, less before them than behind.
    start = max(0, min(span[0] - max(chars - (span[1] - span[0]), 0) // 3, len(text) - chars))
    end = max(min(start + chars, len(text)), span[1])
    start = _break(text, start, range(start, min(start + MAX_WORD_CHARS, span[0] + 1)))
    end = _break(text, end, range(end, max(end - MAX_WORD_CHARS, span[1] - 1), -1))
    part = text[start:end]
    return end - len(part.lstrip()), start + len(part.rstrip())


def _break(text: str, default: int, places: Iterable[int]) -> int:
    """Return the first of *places* where *text* can be cut without cutting a word."""
    for at in places:
        if at in (0, len(text)):
            return at
        before, behind = text[at - 1], text[at]
        if unicodedata.category(behind)[0] == "M" or before in JOINERS or behind in JOINERS:
            continue
        if not (before.isalnum() and behind.isalnum()) or LETTER.match(before):
            return at
    return default
