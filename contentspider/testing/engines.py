"""The contract of search engines, as tests that a package with an engine of its own can inherit.

from contentspider.testing.engines import EngineContract

class TestMyEngine(EngineContract):
    @pytest.fixture
    def url(self, tmp_path):
        return f"myengine:{tmp_path / 'index'}"
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from contentspider.index.engine import Engine, Query, create_engine
from contentspider.index.errors import EngineError
from contentspider.index.filters import Comparison, FilterError, Order
from contentspider.index.marks import VERSION, SchemaMismatchError
from contentspider.index.own_fields import types_of
from contentspider.index.reader import IndexReader
from contentspider.index.result_rows import result_rows
from contentspider.index.schema import FACETS, Document, document_fields
from contentspider.index.sync import upsert_in_halves
from contentspider.index.synonyms import parse_synonyms

if TYPE_CHECKING:
    from collections.abc import Iterator

HOSTILE_VALUES = (
    'a "b" ]',
    "it's",
    "back`tick",
    "(a || b) && c",
    "a, b",
    "C:\\new",
    "ends with \\",
    '\\" OR brand = "Acme',
    "50%s %(x)s %%",
    "ab*",
    "*",
    "{x} $1 ${y} ?",
    "a:=b <c> TO d",
    "a|b",
)


def document(number: int, version: int = 1, crawl: str = "e.org", **fields: object) -> Document:
    """Return a document whose id is *number*, with *fields* over the default fields."""
    item = {
        "url": f"http://e.org/{number}",
        "site": "e.org",
        "title": f"Page number {number}",
        "content": "It holds some words.",
        "language": "en",
        "page_type": "article",
        "first_seen": "2026-01-02T03:04:05+00:00",
        "content_markdown": "It holds **some** words.",
    }
    converted = document_fields(item | fields)
    fields_hash = f"{hash(str(converted)) % 2**64:032x}"
    return Document(f"{number:032x}", crawl, version, fields_hash, converted)


def ids(engine: Engine, words: str, **filters: str) -> list[int]:
    """Return the numbers of the documents that a search finds, the most relevant first."""
    results = engine.search(Query(words, filters))
    assert results.total == len(results.hits)
    return [int(hit.record["id"], 16) for hit in results.hits]


def write_own_fields(engine: Engine, *fields: dict[str, object]) -> None:
    """Write a document with each of the own *fields*, numbered from 1."""
    documents = [document(number, fields=values) for number, values in enumerate(fields, 1)]
    assert not engine.upsert(documents)
    engine.add_own_types(types_of(each.fields for each in documents))
    engine.flush()


def ids_where(engine: Engine, *filters: str, words: str = "", order: str = "") -> list[int]:
    """Return the numbers of the documents that match filters of own fields, in an order."""
    comparisons = [Comparison.parse(each) for each in filters]
    query = Query(words, limit=20, comparisons=comparisons, order=Order.parse(order))
    results = engine.search(query)
    assert results.total == len(results.hits)
    numbers = [int(hit.record["id"], 16) for hit in results.hits]
    return numbers if order else sorted(numbers)


class EngineContract:
    """The tests that every engine has to pass.

    A subclass defines the fixture ``url``: the URL of an index that does not exist yet. Each test
    needs another index.
    """

    @pytest.fixture
    def engine(self, url: str) -> Iterator[Engine]:
        """Give an engine that is open for writing."""
        engine = create_engine(url)
        engine.open(is_writer=True)
        yield engine
        engine.close()

    def test_upserted_documents_can_be_read_back(self, engine: Engine) -> None:
        first = document(1, keywords=["a", "b"], more={"price": 3, "half": ["x", {"y": None}]})
        assert not engine.upsert([first, document(2)])
        assert engine.find([first.id, "f" * 32])[first.id].hash == first.hash
        engine.flush()
        assert engine.get(first.id) == first.record()
        assert engine.get("f" * 32) is None
        assert {state.id for state in engine.documents()} == {first.id, document(2).id}
        assert next(iter(engine.find([first.id]).values())).version == 1

    def test_addresses_of_all_documents_are_listed_in_parts(self, engine: Engine) -> None:
        engine.upsert([document(number, url=f"http://e.org/{number}/ü") for number in range(7)])
        engine.flush()
        parts = [list(engine.addresses(offset, 3)) for offset in (0, 3, 6, 9)]
        assert [len(part) for part in parts] == [3, 3, 1, 0]
        assert sorted(row for part in parts for row in part) == [
            (f"http://e.org/{number}/ü", f"Page number {number}") for number in range(7)
        ]

    def test_a_document_replaces_only_older_versions(self, engine: Engine) -> None:
        engine.upsert([document(1, 5, title="Fifth")])
        engine.upsert([document(1, 4, title="Fourth")])
        engine.flush()
        record = engine.get(document(1).id)
        assert record is not None
        assert (record["title"], record["version"]) == ("Fifth", 5)
        engine.upsert([document(1, 5, title="Again")])  # a repeated write does no harm
        engine.upsert([document(1, 6, title="Sixth")])
        engine.flush()
        assert ids(engine, "sixth") == [1]
        assert not ids(engine, "fifth")
        assert [state.version for state in engine.documents()] == [6]

    def test_deleted_documents_are_not_found(self, engine: Engine) -> None:
        engine.upsert([document(1), document(2)])
        engine.flush()
        engine.delete([document(1).id, "f" * 32])
        engine.delete([])
        assert not engine.find([document(1).id])
        engine.flush()
        assert ids(engine, "words") == [2]
        assert [state.id for state in engine.documents()] == [document(2).id]

    def test_documents_can_be_filtered_by_crawl(self, engine: Engine) -> None:
        engine.upsert([document(1), document(2, crawl="other.org-x"), document(3, crawl="org")])
        engine.flush()
        assert [state.id for state in engine.documents("other.org-x")] == [document(2).id]
        assert not list(engine.documents("other.org"))
        counts = {name: engine.count(name) for name in ("e.org", "other.org-x", "other.org")}
        assert counts == {"e.org": 1, "other.org-x": 1, "other.org": 0}

    def test_documents_are_compared_field_by_field(self, engine: Engine) -> None:
        odd = {"numbers": [1, 2.5, -0.0, 10**15], "text": "é \u2028 東", "none": None, "yes": True}
        same = document(
            1,
            published_at="2026-01-02T03:04:05+02:00",
            fields={"price": 12.9, "brand": ["Acme"]},
            author="Ann",
            odd=odd,
        )
        engine.upsert([same, document(2), document(3)])
        engine.flush()
        assert set(engine.records([same.id, "f" * 32, document(3).id])) == {
            same.id,
            document(3).id,
        }
        other_texts = [document(2, title="Another"), document(3, version=7), document(4)]
        assert engine.differing([same, *other_texts]) == [document(2).id, document(4).id]
        assert not engine.differing([])
        assert not engine.damage()

    def test_many_documents_are_all_listed_and_counted(self, engine: Engine) -> None:
        count = 1_203
        documents = [document(number) for number in range(count)]
        for start in range(0, count, engine.max_documents):
            engine.upsert(documents[start : start + engine.max_documents])
        engine.flush()
        assert len({state.id for state in engine.documents()}) == count
        results = engine.search(Query("words", limit=7, offset=5))
        assert (results.total, len(results.hits)) == (count, 7)
        assert engine.find([documents[-1].id])

    def test_words_in_titles_weigh_more(self, engine: Engine) -> None:
        engine.upsert(
            [
                document(
                    1, content="A ferry left the harbour. " + "Much else was said there. " * 9
                ),
                document(2, title="The ferry", content="It left the harbour. " + "And so on. " * 9),
            ]
        )
        engine.flush()
        assert ids(engine, "ferry") == [2, 1]
        assert sorted(ids(engine, "FERRY Harbour")) == [1, 2]

    def test_a_page_ranks_before_a_listing_with_the_same_text(self, engine: Engine) -> None:
        engine.upsert(
            [
                document(1, title="Ferries", content="A ferry left.", page_type="listing"),
                document(2, title="Ferries", content="A ferry left.", page_type="article"),
                document(3, title="Ferries", content="A ferry left.", page_type="site"),
            ]
        )
        engine.flush()
        numbers = ids(engine, "ferry left")
        assert (numbers[0], sorted(numbers)) == (2, [1, 2, 3])

    def test_any_word_matches_if_no_document_has_all_words(self, engine: Engine) -> None:
        engine.upsert(
            [
                # This document has the word "apples" more often than the others.
                document(1, title="Apples, apples", content="red apples " * 9),
                document(2, content="green apples"),
                document(3, content="green pears", site="f.org"),
            ]
        )
        engine.flush()
        results = engine.search(Query("green apples"))
        assert [hit.record["id"] for hit in results.hits] == [document(2).id]
        assert (results.total, results.facets["site"]) == (1, {"e.org": 1})
        assert sorted(ids(engine, "apples zebra")) == [1, 2]
        assert ids(engine, "green apples", site="f.org") == [3]
        assert not ids(engine, "zebra")

    def test_documents_with_some_of_many_words_follow_if_few_have_all(self, engine: Engine) -> None:
        engine.upsert(
            [
                document(1, content="There are many apples: red, yellow, and some are green."),
                document(2, title="Green apples", content="green apples " * 9),
                document(3, content="yellow pears"),
                document(4, content="blue plums"),
                document(5, content="東京で検索エンジンを作る。"),
                document(6, content="検索の本", title="本"),
            ]
        )
        engine.flush()
        words = "red yellow green apples"
        assert ids(engine, words)[0] == 1
        if engine.searches_terms:
            assert sorted(ids(engine, words)) == [1, 2, 3]
            pages = [engine.search(Query(words, limit=1, offset=start)) for start in range(4)]
            found = [[hit.record["id"] for hit in page.hits] for page in pages]
            assert found == [[document(number).id] for number in ids(engine, words)] + [[]]
            assert all(page.total == 3 and page.note for page in pages)
            assert ids(engine, "red yellow apples") == [1], "of few words, all are needed"
            assert ids(engine, "検索エンジン") == [5], "a run of characters is one word"

    def test_a_query_without_letters_finds_nothing(self, engine: Engine) -> None:
        engine.upsert([document(1, content="red * apples")])
        engine.flush()
        results = engine.search(Query("*"))
        assert (list(results.hits), results.total) == ([], 0)
        assert results.facets == {name: {} for name in FACETS}

    def test_searched_words_find_their_synonyms(self, engine: Engine) -> None:
        engine.upsert(
            [
                document(1, content="The ferry leaves at noon."),
                document(2, content="The ship to the island is late."),
                document(3, content="The island has a ship yard, to repair boats."),
            ]
        )
        engine.flush()
        query = Query("ferries", synonyms=parse_synonyms("ferry, ship to the island"))
        if not engine.searches_terms:
            with pytest.raises(EngineError):
                engine.search(query)
        else:
            ids = {hit.record["id"] for hit in engine.search(query).hits}
            assert ids == {f"{number:032x}" for number in (1, 2)}

    def test_snippets_show_the_words_that_match(self, engine: Engine) -> None:
        content = "Much is said here. " * 60 + "A ferry left the harbour. " + "And so on. " * 60
        engine.upsert([document(1, content=content), document(2, title="Ferry", anchors=["Quay"])])
        engine.flush()
        query = Query("ferry harbour")
        (row,) = result_rows(query, engine.search(query))
        text = "".join(part for part, _ in row.pieces)
        assert {part.lower() for part, is_match in row.pieces if is_match} == {"ferry", "harbour"}
        assert text.strip("…") in content
        assert len(text) < 600
        assert row.to_dict()["snippet"] == text
        (other,) = result_rows(query, engine.search(Query("quay")))
        assert "It holds some words." in "".join(part for part, _ in other.pieces)

    def test_sections_with_the_words_are_shown(self, engine: Engine) -> None:
        html = '<h2 id="fares">Fares</h2><p>Low.</p><h2 id="ways">Ways</h2><p>A ferry leaves.</p>'
        page = document(1, content="Fares\nLow.\nWays\nA ferry leaves.", content_html=html)
        engine.upsert([page])
        engine.flush()
        query = Query("ferry leaves")
        (row,) = result_rows(query, engine.search(query))
        assert [section.url for section in row.sections] == ["http://e.org/1#ways"]

    def test_texts_of_links_find_a_page(self, engine: Engine) -> None:
        pages = [document(number, anchors=[f"Quay {number}", "Home"]) for number in range(1, 4)]
        engine.upsert([*pages, document(4, content="The quay has two sides.")])
        engine.flush()
        assert ids(engine, "quay 2")[:1] == [2]
        assert set(ids(engine, "quay")) == {1, 2, 3, 4}

    def test_a_question_is_searched_by_its_subject(self, engine: Engine) -> None:
        engine.upsert(
            [document(1, content="To delete a report, press D."), document(2, content="How I do.")]
        )
        engine.flush()
        assert ids(engine, "How do I delete a report?") == [1]

    def test_accents_make_no_difference(self, engine: Engine) -> None:
        engine.upsert([document(1, content="Une idée de l’été à Zürich")])
        engine.flush()
        assert ids(engine, "idee zurich") == [1]
        assert ids(engine, "IDÉE") == [1]

    @pytest.mark.parametrize(
        ("language", "content", "words"),
        [
            ("en-GB", "We walk along ponies", "walking pony"),
            ("en", "He walked past the ferries", "walk ferry"),
            ("de", "Die alten Häuser", "haus"),
            ("cs", "Naše zahrada", "zahrady"),
        ],
    )
    def test_inflected_forms_of_a_word_are_found(
        self, engine: Engine, language: str, content: str, words: str
    ) -> None:
        """Engines with an analysis of their own may not know the forms of a language."""
        other = document(2, content="東京都 niente", language="ja")
        engine.upsert([document(1, title="A", content=content, language=language), other])
        engine.flush()
        assert ids(engine, words) == ids(engine, words, language=language) == [1]
        assert ids(engine, content) == [1]
        assert ids(engine, "niente") == [2]
        assert not ids(engine, words, language="ja")

    def test_a_word_is_found_in_pages_of_all_languages(self, engine: Engine) -> None:
        for number, language in enumerate(["en", "de", "fr", "ja", ""], 1):
            engine.upsert([document(number, content="Wikipedia Kinder news", language=language)])
        engine.flush()
        for words in ("kinder", "news", "wikipedia news", "kinder nowhere"):
            assert sorted(ids(engine, words)) == [1, 2, 3, 4, 5]
        results = engine.search(Query("news", limit=2, offset=2))
        assert (results.total, len(results.hits), results.facets["site"]) == (5, 2, {"e.org": 5})
        assert results.facets["language"] == {"en": 1, "de": 1, "fr": 1, "ja": 1}

    @pytest.mark.parametrize(
        ("language", "content", "word", "reversed_word"),
        [
            ("ja", "東京都で検索エンジンを作る。", "検索", "索検"),
            ("zh", "全文搜索引擎的中文分词", "中文", "文中"),
            ("ko", "검색엔진을 만든다", "엔진", "진엔"),
            ("th", "ภาษาไทยไม่มีช่องว่าง", "ไทย", "ยไท"),
        ],
    )
    def test_words_are_found_in_languages_without_spaces(
        self, engine: Engine, language: str, content: str, word: str, reversed_word: str
    ) -> None:
        page = document(1, title="A", content=content, language=language)
        engine.upsert([page, document(2, title="B")])
        engine.flush()
        assert ids(engine, word) == [1]
        assert not ids(engine, reversed_word)

    @pytest.mark.parametrize(
        "words",
        [
            *('"', '"a', "(a", "a:b", "title:", "*", "a*", "-", "NOT", "a AND", "OR b", "^a", "{"),
            *("[a TO", "a\\", "~", "'; DROP TABLE documents; --", "\x00", "a/b", "&&", "||", "+"),
            *("\ud83d", "é" * 999),
        ],
    )
    def test_query_syntax_has_no_effect(self, engine: Engine, words: str) -> None:
        engine.upsert([document(1, content="alpha"), document(2, content="beta a b")])
        engine.flush()
        assert engine.search(Query(words)).total <= 2
        assert ids(engine, f"beta {words}")[:1] in ([2], [])
        assert len(list(engine.documents())) == 2

    def test_facets_count_and_filter_results(self, engine: Engine) -> None:
        engine.upsert(
            [
                document(1, site="a.org", language="en"),
                document(2, site="a.org", language="de"),
                document(3, site="b.org", language="de", title="Other words"),
            ]
        )
        engine.flush()
        results = engine.search(Query("words"))
        assert results.facets["site"] == {"a.org": 2, "b.org": 1}
        assert results.facets["language"] == {"de": 2, "en": 1}
        assert set(results.facets) == set(FACETS)
        assert sorted(ids(engine, "words", site="a.org")) == [1, 2]
        assert ids(engine, "words", site="a.org", language="de") == [2]
        assert sorted(ids(engine, "", language="de")) == [2, 3]
        assert not ids(engine, "words", site='a.org" OR "1')

    def test_a_language_is_found_in_all_its_regions(self, engine: Engine) -> None:
        tags = ("de", "de-DE", "de_AT", "den", "en", "")
        engine.upsert([document(number, language=tag) for number, tag in enumerate(tags, 1)])
        engine.flush()
        assert sorted(ids(engine, "words", language="de")) == [1, 2, 3]
        assert ids(engine, "words", language="de-DE") == [2]
        assert not ids(engine, "words", language="fr")

    def test_a_filter_may_have_several_values(self, engine: Engine) -> None:
        engine.upsert(
            [document(number, site=site) for number, site in enumerate(("a.org", "b.org", "c.org"))]
        )
        engine.flush()
        results = engine.search(Query("words", {"site": ["a.org", "c.org"]}))
        assert results.total == 2
        assert results.facets["site"] == {"a.org": 1, "c.org": 1}

    def test_own_fields_filter_results_by_their_types(self, engine: Engine) -> None:
        write_own_fields(
            engine,
            {
                "price": 12.9,
                "day": "2026-02-05",
                "brand": "Acme & Söhne `x`",
                "größe": [38.0, 40.0],
            },
            {"price": 20.0, "day": "2026-02-07T10:00:00+02:00", "brand": ["Bolt", "Acme"]},
            {"price": -3.0, "brand": 'a "b" ]'},
            {},
        )
        assert ids_where(engine, "price<20") == [1, 3]
        assert ids_where(engine, "price<=20", "price > 0") == [1, 2]
        assert ids_where(engine, "price=12.90") == [1]
        assert ids_where(engine, "price>=-3", words="words") == [1, 2, 3]
        assert ids_where(engine, "day=2026-02-05") == ids_where(engine, "day<2026-02-07") == [1]
        assert ids_where(engine, "day>2026-02-05") == ids_where(engine, "day>=2026-02-06") == [2]
        assert ids_where(engine, "day=2026-02-07T08:00:00Z") == [2]
        assert ids_where(engine, "brand=Acme & Söhne `x`") == [1]
        assert ids_where(engine, "brand=Acme") == ids_where(engine, "brand=Bolt") == [2]
        assert ids_where(engine, 'brand=a "b" ]') == [3]
        assert ids_where(engine, "größe=40") == ids_where(engine, "größe<39") == [1]
        assert not ids_where(engine, "brand=Acme", "price<20")
        stored = engine.get(document(1).id)
        assert stored is not None
        assert stored["fields"]["größe"] == [38.0, 40.0]
        assert set(stored) == set(document(1, fields={"price": 1.0}).record())

    def test_a_filter_may_have_alternatives(self, engine: Engine) -> None:
        write_own_fields(
            engine,
            {"brand": "Acme", "price": 1.0},
            {"brand": ["Bolt", "Other"], "price": 2.0},
            {"brand": "A|B", "day": "2026-02-05"},
            {"price": "free", "brand": "B"},
        )
        assert ids_where(engine, "brand=Acme|Bolt") == [1, 2]
        assert ids_where(engine, "brand = Acme | B", words="words") == [1, 4]
        assert ids_where(engine, r"brand=A\|B") == [3]
        assert ids_where(engine, r"brand=A\|B|Acme|Nobody") == [1, 3]
        assert ids_where(engine, "price=1|free") == [1, 4], "each value has its own type"
        assert ids_where(engine, "day=2026-02-05|2026-02-06", "brand=A\\|B|B") == [3]
        assert ids_where(engine, "brand=Acme|Bolt", "price=2|3") == [2]
        for text in ("brand=A|", "brand=|A", "price<1|2", "brand=" + "|".join("a" * 60)):
            with pytest.raises(FilterError):
                ids_where(engine, text)

    def test_values_have_no_syntax(self, engine: Engine) -> None:
        """A value matches itself, and only values with the same letters: some engines ignore
        signs, and find no value without a letter.
        """
        values = HOSTILE_VALUES
        fields: list[dict[str, object]] = [{"brand": value} for value in (*values, "Acme")]
        write_own_fields(engine, *fields)
        letters = [re.sub(r"\W", "", value.lower()) for value in values]
        for number, value in enumerate(values, 1):
            comparison = Comparison("brand", "=", (value,))
            assert Comparison.parse(str(comparison)) == comparison
            matches = ids_where(engine, str(comparison))
            assert number in matches or not letters[number - 1], value
            assert {letters[match - 1] for match in matches} <= {letters[number - 1]}
        every = ids_where(engine, str(Comparison("brand", "=", tuple(values))))
        with_letters = {number for number, text in enumerate(letters, 1) if text}
        assert with_letters <= set(every) <= set(range(1, len(values) + 1))

    def test_dates_of_pages_filter_and_sort_results(self, engine: Engine) -> None:
        days = ("2025-02-05T10:00:00+02:00", "2026-02-07", "2024-12-31T23:59:59Z", "2026-02-07")
        documents = [
            document(number, published_at=day, language=("en", "de")[number % 2])
            for number, day in enumerate(days, 1)
        ]
        documents.append(document(5, modified_at="1969-12-31T10:00:00Z"))
        assert not engine.upsert(documents)
        engine.flush()
        assert ids_where(engine, "published_at>=2025-01-01") == [1, 2, 4]
        assert ids_where(engine, "published_at<2025-01-01", words="words") == [3]
        assert ids_where(engine, "published_at=2025-02-05T08:00:00Z|2026-02-07") == [1, 2, 4]
        assert ids_where(engine, "published_at>2025-02-05") == [2, 4]
        assert ids_where(engine, "published_at<=2025-02-05") == [1, 3]
        assert ids_where(engine, "modified_at<1970-01-01") == [5]
        assert ids_where(engine, "published_at>0001-01-01", "published_at<9999-12-31") == [
            *range(1, 5)
        ]
        assert ids_where(engine, order="published_at")[:2] == [3, 1]
        assert sorted(ids_where(engine, order="published_at")[2:4]) == [2, 4]
        for words in ("", "words"):
            newest = ids_where(engine, words=words, order="published_at:desc")
            assert (set(newest[:2]), newest[2:]) == ({2, 4}, [1, 3, 5])
        parts = [
            engine.search(Query("words", limit=2, offset=offset, order=Order("published_at", True)))
            for offset in (0, 2, 4)
        ]
        hits = [hit for part in parts for hit in part.hits]
        assert [int(hit.record["id"], 16) for hit in hits][2:] == [1, 3, 5]
        for text in ("published_at>soon", "published_at=3"):
            with pytest.raises(FilterError):
                ids_where(engine, text)

    def test_a_long_text_of_an_own_field_is_stored(self, engine: Engine) -> None:
        steps = "stir " * 20_000
        write_own_fields(engine, {"steps": steps, "price": 1.0}, {"price": 2.0})
        assert ids_where(engine, "price<2", words="words") == [1]
        stored = engine.get(document(1).id)
        assert stored is not None
        assert stored["fields"]["steps"] == steps

    def test_a_reader_filters_by_own_fields(self, engine: Engine, url: str) -> None:
        write_own_fields(engine, {"price": 1.0}, {"price": 2.0})
        reader = create_engine(url)
        reader.open(is_writer=False)
        assert ids_where(reader, "price<2") == ids_where(reader, "price=1", order="price") == [1]
        reader.close()

    def test_filters_may_have_any_characters(self, engine: Engine) -> None:
        write_own_fields(engine, {"brand": "nul \0 end"}, {"brand": "other"})
        assert ids_where(engine, "brand=nul \0 end") == [1]
        assert not ids_where(engine, "brand=\ud83d\0x")
        assert not ids(engine, "words", site="\ud83d")

    def test_a_server_reads_a_rebuilt_index(self, engine: Engine, url: str) -> None:
        engine.upsert([document(1)])
        engine.flush()
        server = IndexReader(url)
        assert server.call(lambda index: ids(index, "words")) == [1]
        with engine.rebuild() as (new_index, identity):
            new_index.upsert([document(2)])
            new_index.flush()
        engine.close()
        assert server.call(lambda index: ids(index, "words")) == [2]
        assert server.call(lambda index: index.identity()) == identity
        server.close()

    def test_a_server_counts_the_own_fields_of_a_rebuilt_index(
        self, engine: Engine, url: str
    ) -> None:
        write_own_fields(engine, {"brand": "Acme"})
        server = IndexReader(url)
        assert set(server.call(lambda index: index.own_types())) == {"brand"}
        with engine.rebuild() as (new_index, _):
            write_own_fields(new_index, {"colour": "red"})
        engine.close()
        assert set(server.call(lambda index: index.own_types())) == {"colour"}
        server.close()

    def test_zero_has_no_sign(self, engine: Engine) -> None:
        write_own_fields(engine, {"price": -0.0}, {"price": 0.0}, {"price": -1.0})
        assert ids_where(engine, "price=0") == ids_where(engine, "price>=-0") == [1, 2]

    def test_results_are_sorted_by_an_own_field(self, engine: Engine) -> None:
        prices = (20.0, 5.0, [12.9, 1.0], 5.5)
        days = ("2026-02-05", "2026-02-07", "2025-12-31T10:00:00Z", "2026-02-06")
        values = zip(prices, days, strict=True)
        write_own_fields(engine, *({"price": price, "day": day} for price, day in values), {})
        assert ids_where(engine, order="price") == [2, 4, 3, 1, 5]
        assert ids_where(engine, order="price:desc", words="words") == [1, 3, 4, 2, 5]
        assert ids_where(engine, "price>5", order="day") == [3, 1, 4]
        parts = [
            engine.search(Query("words", limit=2, offset=offset, order=Order("price")))
            for offset in (0, 2, 4)
        ]
        hits = [hit for part in parts for hit in part.hits]
        assert [int(hit.record["id"], 16) for hit in hits] == [2, 4, 3, 1, 5]
        assert {part.total for part in parts} == {5}

    def test_texts_of_own_fields_are_counted(self, engine: Engine) -> None:
        write_own_fields(engine, {"brand": "Acme"}, {"brand": ["Bolt", "Acme"]}, {"price": 1.0})
        results = engine.search(Query("words", counted=["brand", "price"]))
        assert results.facets["fields.brand"] == {"Acme": 2, "Bolt": 1}
        assert "fields.price" not in results.facets

    def test_a_filter_that_an_index_cannot_answer_is_an_error(self, engine: Engine) -> None:
        write_own_fields(engine, {"price": 1.0, "brand": "Acme"}, {"price": "free"})
        assert ids_where(engine, "price<2") == [1]
        assert ids_where(engine, "price=free") == [2]
        for filter_text in ("prize<2", "brand<2", "brand<b", "price<free"):
            with pytest.raises(FilterError):
                ids_where(engine, filter_text)
        for name in ("brand", "prize"):
            with pytest.raises(FilterError):
                ids_where(engine, order=name)
        with pytest.raises(FilterError):
            engine.search(Query("words", counted=["prize"]))
        with pytest.raises(FilterError):
            Order.parse(":desc")

    def test_a_bad_document_does_not_fail_its_batch(self, engine: Engine) -> None:
        hostile = document(
            2, title="\x00\x01 nul \ud800 half", content="x" * 3_000_000 + " \x00 end"
        )
        refusals = upsert_in_halves(engine.upsert, [document(1), hostile, document(3)])
        engine.flush()
        assert {refusal.id for refusal in refusals} <= {hostile.id}
        assert all(refusal.reason for refusal in refusals)
        assert sorted(ids(engine, "some words")) == [1, 3]

    def test_an_index_keeps_its_identity(self, engine: Engine, url: str) -> None:
        identity = engine.open(is_writer=True)
        engine.upsert([document(1)])
        engine.flush()
        engine.close()
        reader = create_engine(url)
        assert reader.open(is_writer=False) == identity
        assert ids(reader, "words") == [1]
        reader.close()

    def test_an_index_stores_a_mark_for_each_crawl(self, engine: Engine, url: str) -> None:
        identity = engine.open(is_writer=True)
        assert (engine.identity(), engine.mark("e.org")) == (identity, "")
        engine.upsert([document(1)])
        engine.set_mark("e.org", '{"seq": 1}')
        engine.set_mark("f.org", "'é\"")
        engine.set_mark("e.org", '{"seq": 2}')
        engine.close()
        reopened = create_engine(url)
        assert reopened.open(is_writer=True) == identity
        assert (reopened.mark("e.org"), reopened.mark("f.org")) == ('{"seq": 2}', "'é\"")
        assert (ids(reopened, "words"), len(list(reopened.documents()))) == ([1], 1)
        reopened.close()

    def test_a_rebuilt_index_has_its_own_marks(self, engine: Engine, url: str) -> None:
        engine.set_mark("e.org", "old")
        engine.set_mark("f.org", "old")
        with engine.rebuild() as (new_index, identity):
            assert (new_index.identity(), new_index.mark("e.org")) == (identity, "")
            new_index.set_mark("e.org", "new")
            assert engine.mark("e.org") == "old"
        engine.close()
        reopened = create_engine(url)
        assert reopened.open(is_writer=True) == identity
        assert (reopened.mark("e.org"), reopened.mark("f.org")) == ("new", "")
        reopened.close()

    def test_a_reader_sees_flushed_documents(self, engine: Engine, url: str) -> None:
        engine.upsert([document(1)])
        engine.flush()
        reader = create_engine(url)
        reader.open(is_writer=False)
        assert ids(reader, "words") == [1]
        engine.upsert([document(2)])
        engine.flush()
        assert sorted(ids(reader, "words")) == [1, 2]
        reader.close()

    def test_a_reader_does_not_create_an_index(self, url: str) -> None:
        reader = create_engine(url)
        with pytest.raises(EngineError, match="index"):
            reader.open(is_writer=False)
        reader.close()

    def test_a_rebuild_replaces_the_index_in_one_step(self, engine: Engine, url: str) -> None:
        identity = engine.open(is_writer=True)
        engine.upsert([document(1)])
        engine.flush()
        with engine.rebuild() as (new_index, new_identity):
            assert not list(new_index.documents())
            new_index.upsert([document(2)])
            new_index.flush()
            reader = create_engine(url)
            reader.open(is_writer=False)
            assert ids(reader, "words") == [1]  # readers use the old index until the end
            reader.close()
        reader = create_engine(url)
        assert reader.open(is_writer=False) == new_identity != identity
        assert ids(reader, "words") == [2]
        reader.close()

    def test_a_failed_rebuild_keeps_the_old_index(self, engine: Engine, url: str) -> None:
        identity = engine.open(is_writer=True)
        engine.upsert([document(1)])
        engine.flush()
        with pytest.raises(ZeroDivisionError), engine.rebuild() as (new_index, _):
            new_index.upsert([document(2)])
            raise ZeroDivisionError
        reader = create_engine(url)
        assert reader.open(is_writer=False) == identity
        assert ids(reader, "words") == [1]
        reader.close()

    def test_an_index_of_another_schema_is_refused(
        self, engine: Engine, url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        engine.set_mark("e.org", "mark")
        engine.close()
        monkeypatch.setattr("contentspider.index.marks.VERSION", 99)
        for is_writer in (False, True):
            reopened = create_engine(url)
            with pytest.raises(
                SchemaMismatchError, match=rf"schema {VERSION}[^0-9].*schema 99"
            ) as raised:
                reopened.open(is_writer=is_writer)
            assert raised.value.crawls == {"e.org"}
            reopened.close()
