"""Passages for retrieval: texts of bounded length, each with the headings that it stands under."""

from __future__ import annotations

import re
import unicodedata
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from contentspider.page.words.names import HEADINGS
from contentspider.page.write.output import to_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from contentspider.page.blocks import Block

# A longer heading is a paragraph that looks like one; it would be repeated in each passage below.
MAX_HEADING_CHARS = 200
# A sentence ends where no lower-case letter goes on ("e.g. tea"); where no spaces are written,
# behind its full stop.
SENTENCE_END = re.compile(
    r"[.!?…؟।]{1,4}[\"”»'’)\]]{0,4}\s(?!\s*[a-zß-öø-ÿа-я])|[。！？｡]{1,4}[”」』）》]{0,4}"
)
SPACE = re.compile(r"\s+")
# A letter with more of them is made to be one.
MAX_MARKS = 10


class Passage(NamedTuple):
    """A text without its headings, and these, outermost first. *key* tells it from the page's
    others, and is the same as long as both are: 12 hexadecimal digits.
    """

    heading_path: tuple[str, ...]
    text: str
    key: str


def to_passages(blocks: Sequence[Block], max_chars: int) -> list[Passage]:
    """Return the passages of *blocks*, the content of a page, in its order: all of its words are in
    them, and none twice but headings'.

    A new one begins at each heading. What is longer than *max_chars* is split: between paragraphs,
    else between sentences, else between words, else (without spaces) anywhere. A heading that
    nothing stands below is a passage of its own.
    """
    found: list[Passage] = []
    seen: dict[tuple[tuple[str, ...], str], int] = {}
    for path, section in _sections(blocks):
        for text in split_text(to_text(section), max_chars):
            count = seen[path, text] = seen.get((path, text), 0) + 1
            said = "\n".join([*path, text, *([str(count)] if count > 1 else [])])
            key = sha256(said.encode("utf-8", "replace")).hexdigest()[:12]
            found.append(Passage(path, text, key))
    return found


def _sections(blocks: Sequence[Block]) -> Iterator[tuple[tuple[str, ...], list[Block]]]:
    """Yield the texts between headings, with the headings above each."""
    above: list[tuple[int, Block]] = []
    texts: list[Block] = []
    is_bare = False  # nothing stands below the last heading yet
    for block in blocks:
        level = HEADINGS.get(block.tag, 0)
        if not level or len(block.text) > MAX_HEADING_CHARS:
            texts.append(block)
            continue
        if texts:
            yield _path(above), texts
        elif is_bare and level <= above[-1][0]:
            yield _path(above[:-1]), [above[-1][1]]
        texts, is_bare = [], True
        while above and above[-1][0] >= level:
            above.pop()
        above.append((level, block))
    if texts:
        yield _path(above), texts
    elif is_bare:
        yield _path(above[:-1]), [above[-1][1]]


def _path(above: Sequence[tuple[int, Block]]) -> tuple[str, ...]:
    return tuple(block.text for _, block in above)


def split_text(text: str, max_chars: int) -> list[str]:
    r"""Return *text* in pieces of at most *max_chars* characters, as `to_passages` splits it.

    >>> split_text("The ferry is back. It was away.\nTickets are sold on board.", 40)
    ['The ferry is back. It was away.', 'Tickets are sold on board.']
    """
    pieces: list[str] = []
    text = text.strip()
    start = 0
    while len(text) - start > max_chars:
        end = _end(text, start, start + max_chars)
        pieces.append(text[start:end].strip())
        # The beginning of the next must be no space, or it could be one alone.
        space = SPACE.match(text, end)
        start = space.end() if space else end
    pieces.append(text[start:])
    return [piece for piece in pieces if piece]


def _end(text: str, start: int, stop: int) -> int:
    """Return where a piece that begins at *start* ends, at *stop* at the latest."""
    paragraph = text.rfind("\n", start + 1, stop + 1)
    half = (start + stop) // 2
    if paragraph > half:
        return paragraph
    sentence = max((found.end() for found in SENTENCE_END.finditer(text, start, stop)), default=0)
    if sentence > half:
        return sentence
    if found := max(paragraph, sentence, 0):
        return found
    if text[stop].isspace():
        return stop
    for end in range(stop, start, -1):
        if text[end - 1].isspace():
            return end
    # Accents and vowel signs stay with their letter.
    for end in range(stop, max(start, stop - MAX_MARKS), -1):
        if not unicodedata.category(text[end]).startswith("M"):
            return end
    return stop
