"""Synonyms: the format of their file, and the words that they find."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from contentspider.index.engine import Query
from contentspider.index.result_rows import result_rows
from contentspider.index.synonyms import (
    NO_SYNONYMS,
    SynonymsError,
    parse_synonyms,
    read_synonyms,
)
from contentspider.index.words import query_terms
from contentspider.testing.engines import document
from tests.messages import raises

if TYPE_CHECKING:
    from pathlib import Path

    from contentspider.index.engine import Engine

RULES = """\
# How people call it
sso, single sign-on, login by company
mobile => phone
\ncar, auto
car, 自動車
rock\\, paper, game
"""


@pytest.fixture
def engine(embedded_engine: Engine) -> Engine:
    """Give an index of five pages."""
    texts = {
        1: "Set up single sign-on here",
        2: "What SSO is",
        3: "A sign is on every single door",
        4: "Our phones",
        5: "Our mobile homes",
    }
    embedded_engine.upsert(
        [
            document(number, title=f"Page {number}", content=text, language="en")
            for number, text in texts.items()
        ]
    )
    embedded_engine.flush()
    return embedded_engine


def found(engine: Engine, words: str, rules: str = RULES, *, is_typing: bool = False) -> list[int]:
    """Return the numbers of the documents that are found with synonyms, sorted."""
    query = Query(words, is_typing=is_typing, synonyms=parse_synonyms(rules))
    return sorted(int(hit.record["id"], 16) for hit in engine.search(query).hits)


@pytest.mark.parametrize(
    ("words", "numbers"),
    [
        ("sso", [1, 2]),
        ("Single Sign-On", [1, 2]),  # several words are one text, in this order
        ("set up sso", [1]),
        ("login by company", [1, 2]),
        ("mobile", [4]),  # an arrow replaces the word
        ("mobiles", [4]),  # rules are found by stems
        ("phone", [4]),  # an arrow leads one way
        ("homes", [5]),
    ],
)
def test_synonyms_are_found(engine: Engine, words: str, numbers: list[int]) -> None:
    assert found(engine, words) == numbers


def test_words_with_synonyms_are_not_corrected(engine: Engine) -> None:
    rules = "phony, sso"
    results = engine.search(Query("phony delt", synonyms=parse_synonyms(rules)))
    assert not results.corrected
    assert found(engine, "phony", rules) == [2]
    assert found(engine, "phony mobil", "phony, our") == [5]  # the last word is completed


def test_last_of_several_words_is_complete_while_typing(engine: Engine) -> None:
    assert found(engine, "login by company", is_typing=True) == [1, 2]


def test_open_word_has_synonyms_and_longer_words(engine: Engine) -> None:
    rules = "phon, homes"
    assert found(engine, "phon", rules, is_typing=True) == [4, 5]
    assert found(engine, "our phon", rules, is_typing=True) == [4, 5]
    assert found(engine, "phon ", rules, is_typing=True) == [5]


def test_synonyms_are_marked_in_snippets(engine: Engine) -> None:
    query = Query("login by company", synonyms=parse_synonyms(RULES))
    rows = {row.title: row for row in result_rows(query, engine.search(query))}
    marked = [text for text, is_match in rows["Page 1"].pieces if is_match]
    assert marked == ["single", "sign", "on"]


def test_words_become_terms_of_all_synonyms() -> None:
    synonyms = parse_synonyms(RULES)
    car = (("car",), ("auto",), ("自動", "動車"))
    assert synonyms.terms("car", ["en"]) == [car]
    assert synonyms.terms("cars", ["en"]) == [(("cars",), *car)]
    assert synonyms.terms("自動車", []) == [(("自動", "動車"), ("car",))]
    assert synonyms.terms("game", []) == [(("game",), ("rock", "paper"))]  # an escaped comma


def test_without_synonyms_terms_are_those_of_the_words() -> None:
    query = "Walking to 東京都 and walking"
    assert NO_SYNONYMS.terms(query, ["en"]) == query_terms(query, ["en"])
    assert read_synonyms("") is NO_SYNONYMS


@pytest.mark.parametrize("line", ["a => b => c", "a,,b", "a =>", "=> b", "a, !", "alone"])
def test_error_names_file_and_line(tmp_path: Path, line: str) -> None:
    path = tmp_path / "words.txt"
    path.write_text(f"# first\na, b\n{line}\n", "utf-8")
    with raises(SynonymsError, "synonyms", f"{path}:3"):
        read_synonyms(str(path))


def test_error_names_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with raises(SynonymsError, "synonyms", tmp_path):
        read_synonyms(str(tmp_path))
    path = tmp_path / "latin.txt"
    path.write_bytes("a, b\nÄpfel, pommes".encode("latin-1"))
    with raises(SynonymsError, "synonyms", f"{path}:2"):
        read_synonyms(str(path))


def test_byte_order_mark_and_windows_line_ends_are_read(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_bytes(b"\xef\xbb\xbfa, b\r\n\r\nc => d\r\n")
    synonyms = read_synonyms(str(path))
    assert synonyms.terms("c a", []) == [(("d",),), (("a",), ("b",))]
