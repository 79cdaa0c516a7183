"""Searched words that an index does not have are completed, or corrected."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from contentspider.index.corrections import correct, corrections
from contentspider.index.engine import Query
from contentspider.testing.engines import document, ids

if TYPE_CHECKING:
    from collections.abc import Mapping

    from contentspider.index.engine import Engine


@pytest.fixture
def engine(embedded_engine: Engine) -> Engine:
    """Give an index of four pages."""
    embedded_engine.upsert(
        [
            document(
                1, title="Integrations", content="How to delete an integration", language="en"
            ),
            document(2, title="Reports", content="Delete all reports", language="en"),
            document(3, title="Zürich", content="Wanderungen am See", language="de"),
            document(4, title="東京", content="東京の天気", language="ja"),
        ]
    )
    embedded_engine.flush()
    return embedded_engine


@pytest.mark.parametrize(
    ("words", "corrected", "numbers"),
    [
        ("delete integraton", "delete integration", [1]),  # a letter is missing
        ("delete integrattion", "delete integration", [1]),  # a letter too many
        ("delte reports", "delete reports", [2]),  # two letters have changed places
        ("dalete reports", "delete reports", [2]),  # a wrong letter
        ("feports delete", "reports delete", [2]),  # the first letter is wrong
        ("zürihc", "zurich", [3]),  # accents make no difference
        ("integratoin delte", "integration delete", [1]),  # two words
    ],
)
def test_mistyped_word_finds_the_right_one(
    engine: Engine, words: str, corrected: str, numbers: list[int]
) -> None:
    results = engine.search(Query(words))
    assert [int(hit.record["id"], 16) for hit in results.hits] == numbers
    assert results.corrected == corrected


def test_last_word_is_completed(engine: Engine) -> None:
    results = engine.search(Query("delete integ"))
    assert [int(hit.record["id"], 16) for hit in results.hits] == [1]
    assert not results.corrected


def test_other_words_are_not_completed(engine: Engine) -> None:
    assert sorted(ids(engine, "repo delete")) == [1, 2]  # documents with any of the words


@pytest.mark.parametrize("words", ["delete", "reports integration", "deletes"])
def test_known_words_are_never_corrected(engine: Engine, words: str) -> None:
    results = engine.search(Query(words))
    assert results.total
    assert not results.corrected


@pytest.mark.parametrize("words", ["zzzzzz", "se", "x1y2z3", "京都"])
def test_words_unlike_all_others_find_nothing(engine: Engine, words: str) -> None:
    results = engine.search(Query(words))
    assert not results.total
    assert not results.corrected


def test_corrected_words_are_searched_with_filters(engine: Engine) -> None:
    assert not engine.search(Query("delte", {"language": "de"})).total
    assert engine.search(Query("delte", {"language": "en"})).total == 2


def typed(engine: Engine, words: str) -> list[int]:
    """Return the numbers of the documents that are found while *words* are typed, sorted."""
    results = engine.search(Query(words, is_typing=True))
    return sorted(int(hit.record["id"], 16) for hit in results.hits)


@pytest.mark.parametrize(
    ("words", "numbers"),
    [
        ("del", [1, 2]),
        ("repo", [2]),
        ("delete rep", [2]),
        ("delete integ", [1]),
        ("repo delete", [1, 2]),  # only the last word is open: pages with any of the words
        ("repo ", [2]),  # nothing has the whole word, so it is completed as any search does it
        ("delete re", [1, 2]),  # too short to be open: pages with any of the words
        ("wan", [3]),
        ("天", [4]),
    ],
)
def test_last_word_is_open_while_typing(engine: Engine, words: str, numbers: list[int]) -> None:
    assert typed(engine, words) == numbers


def test_open_word_also_finds_longer_words(engine: Engine) -> None:
    engine.upsert([document(5, title="Report", content="A report", language="en")])
    engine.flush()
    engine.upsert([document(6, title="Reportage", content="A story", language="en")])
    engine.flush()
    assert (sorted(ids(engine, "report")), typed(engine, "report")) == ([2, 5], [2, 5, 6])


def test_pages_named_like_the_typed_word_come_before_those_with_many_rare_words(
    engine: Engine,
) -> None:
    rare = " ".join(
        f"Harbour{name}" for name in ("wrapper", "feature", "error", "creation", "test")
    )
    pages = [
        document(10 + at, title=f"Notes {at}", content=f"{rare} harbour", language="en")
        for at in range(3)
    ]
    pages += [
        document(20 + at, title=f"Trip {at}", content="The harbour and harbours.", language="en")
        for at in range(40)
    ]
    pages.append(document(5, title="Harbours", content="Quays of the coast.", language="en"))
    pages.append(document(6, title="Harbour access", content="By road.", language="en"))
    engine.upsert(pages)
    engine.flush()
    for words in ("harb", "Harbo"):
        results = engine.search(Query(words, is_typing=True))
        numbers = [int(hit.record["id"], 16) for hit in results.hits]
        assert sorted(numbers[:2]) == [5, 6] and not {10, 11, 12} & set(numbers[:3])


def words_with_prefix(counts: Mapping[str, int], prefix: str) -> dict[str, int]:
    return {word: count for word, count in counts.items() if word.startswith(prefix)}


@pytest.mark.parametrize(
    ("word", "counts", "expected"),
    [
        ("tabel", {"table": 3, "label": 9}, ["table"]),  # the same first letter is preferred
        ("tabl", {"table": 3, "tabla": 9}, ["tabla", "table"]),  # the more frequent word first
        ("delett", {"delet": 9, "delete": 3}, ["delete", "delet"]),  # words before their stems
        ("cat", {"car": 5, "cart": 4}, []),  # too short
        ("abcdefgh", {"abcdefxy": 1}, ["abcdefxy"]),  # two errors in a long word
        ("abcdef", {"abcdxy": 1}, []),  # and one in a shorter one
        ("helf", {"␟help": 9, "␟help␟me": 1}, []),  # the words of whole titles
        ("help", {"␟help": 9, "held": 1}, ["held"]),
        ("2024", {"2023": 5}, []),  # numbers have no typing errors
    ],
)
def test_corrections_have_the_fewest_errors(
    word: str, counts: dict[str, int], expected: list[str]
) -> None:
    assert corrections(word, lambda prefix: words_with_prefix(counts, prefix)) == expected


def test_without_a_vocabulary_a_query_stays_as_it_is() -> None:
    terms, text = correct("integraton", [], lambda prefix: {})
    assert (terms, text) == ([(("integraton",),)], "")


def test_few_words_of_a_long_query_are_compared_with_the_index() -> None:
    scans = []

    def vocabulary(prefix: str) -> dict[str, int]:
        scans.append(prefix)
        return {}

    correct(" ".join(f"word{'x' * number}" for number in range(500)), [], vocabulary)
    assert scans.count("") <= 5
    assert len(scans) < 100
