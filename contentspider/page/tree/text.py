"""Cleans, splits and measures text: white space, tokens, weight, ends of sentences."""

from __future__ import annotations

import re
from unicodedata import category, east_asian_width

# Thai, Lao, Burmese, Khmer, Chinese, Japanese and Korean are written without spaces, or with few:
# each character is a token.
UNSPACED = (
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\ua9e0-\ua9ff\uaa60-\uaa7f"
    r"\uac00-\ud7af\uf900-\ufaff"
)
SENTENCE_END = frozenset(".!?…。！？؟।\"”»'’)")
# Chinese, Japanese and Korean characters: one says about as much as three Latin letters.
WIDE = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff]+")
WIDE_CLASSES = frozenset("WFH")
HANGUL = re.compile(
    r"[\u1100-\u11ff\u3130-\u318f\u3200-\u321e\u3260-\u327f\ua960-\ua97f\uac00-\ud7ff\uffa0-\uffdc]"
)
# Soft hyphen, zero-width space, word joiner, byte order mark. The zero-width joiners are left out,
# since Persian needs them.
INVISIBLE = "\xad\u200b\u2060\ufeff"
NO_BREAK_SPACES = re.compile("\xa0+")
INDENTATION = re.compile(r"^[ \t\xa0]+", re.MULTILINE)

# The signs that may begin and end the names of sections and keywords: "(new)", "C++", "Why?".
SIGNS_OF_NAMES = "_(", "_)!?.+#"

# Two pages with the same text of at least this length do not have it by coincidence.
SENTENCE_CHARS = 60


def _without_invisible(text: str) -> str:
    """Return *text* without the characters in `INVISIBLE`."""
    if not text.isascii():
        for character in INVISIBLE:  # `str.translate` would take 20 times as long
            text = text.replace(character, "")
    return text


def clean_text(text: str) -> str:
    """Return *text* with white space folded to single spaces and invisible characters removed."""
    return " ".join(_without_invisible(text).split())


def joins_lines(before: str, after: str) -> bool:
    """Tell whether a line break between two characters is not a space: both are wide, and neither
    is Korean (CSS Text 3, section 4.1.3). Titles and attributes keep the space, as in browsers.

    >>> joins_lines("行", "。"), joins_lines("行", "a"), joins_lines("서", "울")
    (True, False, False)
    """
    return all(
        east_asian_width(char) in WIDE_CLASSES and not HANGUL.match(char)
        for char in (before, after)
    )


def clean_preformatted(text: str) -> str:
    """Return preformatted *text* without invisible characters, trailing spaces, and blank lines at
    its beginning and end. Line breaks and indentation stay. On some pages no-break spaces indent
    code, or stand for all of its spaces: there they are spaces.
    """
    text = _without_invisible(text)
    if "\xa0" in text:
        in_place = INDENTATION if " " in text else NO_BREAK_SPACES
        text = in_place.sub(lambda spaces: spaces[0].replace("\xa0", " "), text)
    lines = [line.rstrip() for line in text.splitlines()]
    while lines and not lines[-1]:
        lines.pop()
    # One slice, because deleting half a million blank lines one by one takes minutes.
    first = next((number for number, line in enumerate(lines) if line), 0)
    return "\n".join(lines[first:])


def text_weight(text: str) -> int:
    """Return the length of *text*; characters in `WIDE`, such as Chinese, count three times."""
    if text.isascii():
        return len(text)
    return len(text) + 2 * sum(run.end() - run.start() for run in WIDE.finditer(text))


MAX_CACHED = 50_000
SELECTOR = re.compile("[\\ufe00-\\ufe0f\\U000e0100-\\U000e01ef]")


class WordTable(dict[int, str]):
    """A table for `str.translate` that leaves the words of a text, with spaces between them.

    A word has letters, digits and the marks that belong to them, such as the vowels of Hindi: marks
    and format characters do not end a word (Unicode Standard Annex #29, rule WB4). Format
    characters and variation selectors are removed. Characters of *alone* (the ranges of a regular
    expression) are words by themselves. The signs *also* belong to words, too.
    """

    def __init__(self, alone: str = "", also: str = "") -> None:
        super().__init__()
        self._alone = re.compile(f"[{alone}]") if alone else None
        self._also = also

    def __missing__(self, code: int) -> str:
        if len(self) >= MAX_CACHED:  # only hostile pages have as many characters
            self.clear()
        char = chr(code)
        if self._alone and self._alone.match(char):
            self[code] = f" {char} "
        elif is_ignored(char):
            self[code] = ""
        else:
            self[code] = char if is_word_char(char) or char in self._also else " "
        return self[code]


WORDS, TOKENS, RUNS = WordTable(), WordTable(alone=UNSPACED), WordTable(also="_")


def is_word_char(char: str) -> bool:
    """Tell whether a character is a letter, a digit, or a mark that belongs to one."""
    return char.isalnum() or category(char) in ("Mn", "Mc")


def is_ignored(char: str) -> bool:
    """Tell whether a character is invisible, and belongs to no word: format characters, such as a
    soft hyphen or a zero-width joiner, and variation selectors.
    """
    return (
        category(char) == "Cf"
        or "\ufe00" <= char <= "\ufe0f"
        or "\U000e0100" <= char <= "\U000e01ef"
    )


def without_marks(text: str) -> str:
    """Return the letters, digits and signs of *text* without the marks that belong to them."""
    if text.isascii():
        return text
    return "".join(char for char in text if category(char) not in ("Mn", "Mc", "Cf"))


def strip_signs(text: str, before: str, after: str) -> str:
    """Return *text* without the signs around it. The signs *before* may begin it, and the signs
    *after* may end it.

    >>> strip_signs("» Mountains (high) |", "(", ")"), strip_signs("• हिन्दी /", "(", ")")
    ('Mountains (high)', 'हिन्दी')
    """
    start, end = 0, len(text)
    while start < end and not (is_word_char(text[start]) or text[start] in before):
        start += 1
    while start < end and not (is_word_char(text[end - 1]) or text[end - 1] in after):
        end -= 1
    return text[start:end]


def runs(text: str) -> list[str]:
    """Return the words of *text*. Underscores belong to words, and a text without spaces is one
    word, as in the published features.
    """
    return text.translate(RUNS).split()


def tokens(text: str) -> list[str]:
    """Return the words of *text* in lower case. Each character of a script without spaces, such as
    Chinese or Thai, is a separate token.
    """
    return text.lower().translate(TOKENS).split()
