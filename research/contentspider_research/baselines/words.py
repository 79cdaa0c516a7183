"""Words of blocks as methods of a site compare them: stems, without stop words and numbers."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS
from snowballstemmer import algorithms, stemmer

from contentspider.page.tree.text import tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from contentspider.page.input.page import Page

# What Snowball's stemmers are called, by the language's tag.
STEMMERS = {
    "ar": "arabic",
    "ca": "catalan",
    "cs": "czech",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "es": "spanish",
    "et": "estonian",
    "eu": "basque",
    "fi": "finnish",
    "fr": "french",
    "ga": "irish",
    "hi": "hindi",
    "hu": "hungarian",
    "hy": "armenian",
    "id": "indonesian",
    "it": "italian",
    "lt": "lithuanian",
    "ne": "nepali",
    "nl": "dutch",
    "no": "norwegian",
    "pl": "polish",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sr": "serbian",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
}
# A stemmer takes time by the word's length, or more; nobody's word is as long.
MAX_WORD_CHARS = 50


class Words:
    """Splits texts of a site in *language* (a tag of BCP 47) into words; each is stemmed once."""

    def __init__(self, language: str = "") -> None:
        self._stem = _stemmer(language)
        self._known: dict[str, str] = {}

    @classmethod
    def of_site(cls, pages: Iterable[Page]) -> Words:
        """Return the words of a site by the language that most of its pages name."""
        named = Counter(page.hints.language for page in pages if page.hints.language)
        return cls(max(named, key=named.__getitem__, default=""))

    def of(self, text: str) -> list[str]:
        """Return the words of *text* with their repeats."""
        return [word for token in tokens(text) if (word := self._word(token))]

    def of_blocks(self, page: Page) -> list[list[str]]:
        """Return the words of each block of a page."""
        return [self.of(block.text) for block in page.content.blocks]

    def _word(self, token: str) -> str:
        word = self._known.get(token)
        if word is None:
            if token.isnumeric() or token in ENGLISH_STOP_WORDS:
                word = ""
            else:
                word = self._stem(token) if len(token) <= MAX_WORD_CHARS else token
            self._known[token] = word
        return word


def parent_texts(page: Page, words: Sequence[Sequence[str]]) -> list[set[str]]:
    """Return for each block the distinct *words* of its element's parent: those of all blocks that
    stand in the parent itself or in a child of it.
    """
    content = page.content
    texts: list[set[str]] = [set() for _ in content.tags]
    for block, found in zip(content.blocks, words, strict=True):
        element = block.container
        texts[element].update(found)
        if (parent := content.parents[element]) >= 0:
            texts[parent].update(found)
    return [texts[max(content.parents[block.container], 0)] for block in content.blocks]


def _stemmer(language: str) -> Callable[[str], str]:
    name = STEMMERS.get(language.partition("-")[0])
    return stemmer(name).stemWord if name in algorithms() else str
