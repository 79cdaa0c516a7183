"""Snippets: the part of a text that has most of the searched words."""

from __future__ import annotations

import re
import unicodedata
from itertools import groupby
from typing import TYPE_CHECKING

from contentspider.index.words import (
    INNER_SIGN,
    JOINERS,
    LETTER,
    OPTIONAL_MARKS,
    strip_accents,
)
from contentspider.page.tree.text import is_ignored, is_word_char

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

SNIPPET_CHARS = 240
# The snippet comes from this many first characters of a text, and this many words of a query are
# searched in them.
MAX_CHARS = 1_000_000
MAX_PREFIXES = 32
# This many occurrences of one word are checked.
MAX_OCCURRENCES = 20_000
# Words are near each other if so many characters before and behind one of them have all. So many
# places with that word are looked at.
NEAR_CHARS, MAX_PLACES = 300, 100
# A snippet may begin or end within a longer word (an address, a hash).
MAX_WORD_CHARS = 40
# How much longer than the prefix a match may be, by the length of the prefix (4: four and more):
# "walk" matches "walking", and "cat" matches "cats", because searches match them too.
ENDING_CHARS = (0, 0, 0, 1, 3)
# Soft hyphens, zero-width spaces and variation selectors. The joiners stay, which shape letters.
INVISIBLE = re.compile("[\u00ad\u200b\u2060\ufe00-\ufe0f\ufeff\U000e0100-\U000e01ef]")
# Characters that words in a text may contain, but searched words do not.
LEFT_OUT = re.compile(f"[{OPTIONAL_MARKS}\u200c\u200d]")
# Characters that `_fold` leaves out, or writes as two.
UNEVEN = re.compile(f"[{OPTIONAL_MARKS}\u200c\u200dæÆœŒþÞßẞ]|{INNER_SIGN.pattern}")
HALF_WIDTH = re.compile("[\uff66-\uffdc]+")


def snippet(
    text: str, prefixes: Sequence[str], chars: int = SNIPPET_CHARS
) -> list[tuple[str, bool]]:
    """Return about *chars* characters of *text* with as many searched words as possible.

    *prefixes* are the beginnings of the searched words (`query_prefixes`). A piece that matches a
    prefix has True beside it. Case and accents make no difference. Without a match the snippet is
    the beginning of the text. "…" stands for text that is left out. White space becomes one space.

    >>> snippet("Das Café in Köln, wo wir waren.", ["cafe", "koln"], 19)
    [('…', False), ('Café', True), (' in ', False), ('Köln', True), (', wo…', False)]
    """
    text = _normalise(text)
    matches = _matches(text, prefixes)
    start, end = _best_window(text, matches, chars)
    pieces = [("…", False)] if start else []
    position = start
    for match_start, match_end, _ in matches:
        if start <= match_start and position < match_end <= end:
            pieces.append((text[position:match_start], False))
            pieces.append((text[max(match_start, position) : match_end], True))
            position = match_end
    pieces.append((text[position:end], False))
    if end < len(text):
        pieces.append(("…", False))
    groups = groupby((piece for piece in pieces if piece[0]), key=lambda piece: piece[1])
    return [("".join(text for text, _ in group), is_match) for is_match, group in groups]


def matching_words(text: str, prefixes: Sequence[str]) -> frozenset[int]:
    """Return the numbers of the *prefixes* that a text has, as `snippet` finds them.

    >>> sorted(matching_words("Das Café in Köln", ["tee", "cafe", "koln"]))
    [1, 2]
    """
    folded = _fold(_normalise(text))[0]
    spans = (_match_spans(folded, prefix) for prefix in prefixes[:MAX_PREFIXES])
    return frozenset(number for number, found in enumerate(spans) if next(found, None))


def places_near(text: str, prefixes: Sequence[str], words: Sequence[str]) -> list[bool]:
    r"""Find the places of a text with words that begin with all of the *prefixes* (`query_prefixes`
    of the *words*), near each other in one line. Return for each place whether the words stand in
    this order.

    >>> places_near("Tea in a blue cup\nA cup of blue tea", ["blue", "cup"], ["blue", "cups"])
    [True, False]
    """
    prefixes, words = prefixes[:MAX_PREFIXES], words[:MAX_PREFIXES]
    lower = text[:MAX_CHARS].lower()
    # Folding takes ten times as long. Most texts have the words with the accents of the query.
    spelled = [
        prefix if prefix in lower else word[: len(prefix)]
        for prefix, word in zip(prefixes, words, strict=True)
    ]
    if not all(word in lower for word in spelled):
        lower, spelled = _fold(lower)[0], list(prefixes)
    found: list[bool] = []
    rarest, place = min(spelled, key=lower.count), -1
    for _ in range(MAX_PLACES):
        if (place := lower.find(rarest, place + 1)) < 0:
            break
        before, after = lower[max(place - NEAR_CHARS, 0) : place], lower[place : place + NEAR_CHARS]
        line = _fold(before.rpartition("\n")[2] + after.partition("\n")[0])[0]
        if all(prefix in line for prefix in prefixes):
            places = [[at for at, _ in _match_spans(line, prefix)] for prefix in prefixes]
            if all(places):
                found.append(_are_in_order(places))
    return found


def _are_in_order(places: Sequence[Sequence[int]]) -> bool:
    """Tell whether there is a rising sequence of one of each *places*."""
    last = -1
    for ahead in places:
        last = next((place for place in ahead if place > last), -1)
        if last < 0:
            return False
    return True


def _normalise(text: str) -> str:
    """Return a text with composed letters and single spaces, without invisible characters."""
    text = text[:MAX_CHARS]
    if not text.isascii():
        text = unicodedata.normalize("NFC", INVISIBLE.sub("", text))
        text = HALF_WIDTH.sub(lambda run: unicodedata.normalize("NFKC", run[0]), text)
    return " ".join(text.split())


def _matches(text: str, prefixes: Sequence[str]) -> list[tuple[int, int, int]]:
    """Return start, end and number of the prefix of each match, sorted."""
    folded, places = _fold(text)
    return sorted(
        (places[start], places[end], number)
        for number, prefix in enumerate(prefixes[:MAX_PREFIXES])
        for start, end in _match_spans(folded, prefix)
    )


def _fold(text: str) -> tuple[str, Sequence[int]]:
    """Return a text as `FOLDING` has it, without what words may leave out, and the place in *text*
    of each of its characters, and of its end.
    """
    if text.isascii():
        return text.lower(), range(len(text) + 1)
    if not UNEVEN.search(text):
        return text.translate(FOLDING), range(len(text) + 1)
    left_out = {match.start() for match in INNER_SIGN.finditer(text)}
    folded = ["" if at in left_out else FOLDING[ord(char)] for at, char in enumerate(text)]
    places = [at for at, chars in enumerate(folded) for _ in chars]
    return "".join(folded), [*places, len(text)]


class _Folding(dict[int, str]):
    """A table for `str.translate`: lower case, without accents, and nothing for marks that words
    may leave out.
    """

    def __missing__(self, code: int) -> str:
        # `strip_accents` composes again, so that Hangul and voiced kana stay as they are.
        char = unicodedata.normalize("NFKC", chr(code)).casefold()
        folded = "" if LEFT_OUT.match(char) else strip_accents(char)
        self[code] = folded if len(folded) == 1 or UNEVEN.match(chr(code)) else chr(code)
        return self[code]


FOLDING = _Folding()


def _match_spans(text: str, prefix: str) -> Iterator[tuple[int, int]]:
    """Yield the start and the end of each word that is *prefix*, maybe with a short ending.

    In scripts without spaces a match may begin and end anywhere.
    """
    is_unspaced = LETTER.match(prefix)
    ending_chars = ENDING_CHARS[min(len(prefix), 4)]
    start = text.find(prefix) if prefix else -1
    for _ in range(MAX_OCCURRENCES):
        if start < 0:
            return
        end = start + len(prefix)
        if is_unspaced:
            yield start, end
        elif not (start and is_word_char(text[start - 1])):
            limit = end + ending_chars
            while end <= limit and _continues_word(text[end : end + 1]):
                end += 1
            if end <= limit:
                yield start, end
        start = text.find(prefix, start + 1)


def _continues_word(char: str) -> bool:
    return char != "" and is_word_char(char) and not LETTER.match(char)


def _best_window(text: str, matches: list[tuple[int, int, int]], chars: int) -> tuple[int, int]:
    """Return the start and the end of the part of *text* that a snippet shows.

    The part with the most different words wins, then the part with the most matches. *matches* are
    sorted tuples of start, end and number of the word.
    """
    if len(text) <= chars:
        return 0, len(text)
    best_start, best_end = _best_matches(matches, chars)
    # The window has more text after the matches than before them.
    spare_chars = max(chars - (best_end - best_start), 0)
    start = max(0, min(best_start - spare_chars // 3, len(text) - chars))
    end = max(min(start + chars, len(text)), best_end)
    start = _word_boundary(text, start, range(start, min(start + MAX_WORD_CHARS, best_start + 1)))
    end = _word_boundary(text, end, range(end, max(end - MAX_WORD_CHARS, best_end - 1), -1))
    part = text[start:end]
    return end - len(part.lstrip()), start + len(part.rstrip())


def _best_matches(matches: list[tuple[int, int, int]], chars: int) -> tuple[int, int]:
    """Return the start and the end of the best matches that fit into *chars* characters."""
    best_score, span = (0, 0), (0, 0)
    counts: dict[int, int] = {}
    last = 0
    for first, (start, _, word) in enumerate(matches):
        while last < len(matches) and (matches[last][1] <= start + chars or last <= first):
            counts[matches[last][2]] = counts.get(matches[last][2], 0) + 1
            last += 1
        if (len(counts), last - first) > best_score:
            best_score, span = (len(counts), last - first), (start, matches[last - 1][1])
        counts[word] -= 1
        if not counts[word]:
            del counts[word]
    return span


def _word_boundary(text: str, default: int, positions: Iterable[int]) -> int:
    """Return the first of *positions* that is not within a word of *text*, or *default*."""
    for position in positions:
        if position in (0, len(text)):
            return position
        before, after = text[position - 1], text[position]
        is_mark = unicodedata.category(after)[0] == "M"
        if is_mark or before in JOINERS or is_ignored(before) or is_ignored(after):
            continue
        if not (is_word_char(before) and is_word_char(after)) or LETTER.match(before):
            return position
    return default
