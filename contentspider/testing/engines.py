"""The contract of search engines, as tests: a package that adds an engine proves it with them.

from contentspider.testing.engines import EngineContract

class TestMyEngine(EngineContract):
    @pytest.fixture
    def url(self, tmp_path):
        return f"myengine:{tmp_path / 'index'}"
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from contentspider.index.engine import Engine, Query, connect
from contentspider.index.errors import EngineError
from contentspider.index.schema import FACETS, Document, document_fields
from contentspider.index.sync import put

if TYPE_CHECKING:
    from collections.abc import Iterator


def document(number: int, version: int = 1, crawl: str = "e.org", **fields: object) -> Document:
    """Return a document with an id of its own."""
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
    whole = document_fields(item | fields)
    return Document(f"{number:032x}", crawl, version, f"{hash(str(whole)) % 2**64:032x}", whole)


def ids(engine: Engine, words: str, **filters: str) -> list[int]:
    """Return the numbers of the documents that are found, the best first."""
    found = engine.search(Query(words, filters))
    assert found.total == len(found.hits)
    return [int(hit.record["id"], 16) for hit in found.hits]


class EngineContract:
    """The tests that every engine passes. A subclass gives the fixture ``url``, the URL of an index
    that does not exist yet; each test gets a new one.
    """

    @pytest.fixture
    def engine(self, url: str) -> Iterator[Engine]:
        """Give an opened engine that writes."""
        engine = connect(url)
        engine.open(is_writer=True)
        yield engine
        engine.close()

    def test_what_was_put_in_is_there(self, engine: Engine) -> None:
        one = document(1, keywords=["a", "b"], more={"price": 3, "half": ["x", {"y": None}]})
        assert not engine.upsert([one, document(2)])
        assert engine.find([one.id, "f" * 32])[one.id].hash == one.hash
        engine.flush()
        assert engine.get(one.id) == one.record()
        assert engine.get("f" * 32) is None
        assert {stored.id for stored in engine.documents()} == {one.id, document(2).id}
        assert next(iter(engine.find([one.id]).values())).version == 1

    def test_a_document_takes_the_place_of_an_older_one_only(self, engine: Engine) -> None:
        engine.upsert([document(1, 5, title="Fifth")])
        engine.upsert([document(1, 4, title="Fourth")])
        engine.flush()
        found = engine.get(document(1).id)
        assert found is not None
        assert (found["title"], found["version"]) == ("Fifth", 5)
        engine.upsert([document(1, 5, title="Again")])  # at least once: twice is as once
        engine.upsert([document(1, 6, title="Sixth")])
        engine.flush()
        assert ids(engine, "sixth") == [1]
        assert not ids(engine, "fifth")
        assert [stored.version for stored in engine.documents()] == [6]

    def test_what_is_deleted_is_not_found(self, engine: Engine) -> None:
        engine.upsert([document(1), document(2)])
        engine.flush()
        engine.delete([document(1).id, "f" * 32])
        engine.delete([])
        assert not engine.find([document(1).id])
        engine.flush()
        assert ids(engine, "words") == [2]
        assert [stored.id for stored in engine.documents()] == [document(2).id]

    def test_documents_of_a_crawl(self, engine: Engine) -> None:
        engine.upsert([document(1), document(2, crawl="other.org-x"), document(3, crawl="org")])
        engine.flush()
        assert [stored.id for stored in engine.documents("other.org-x")] == [document(2).id]
        assert not list(engine.documents("other.org"))

    def test_many_documents_are_all_told(self, engine: Engine) -> None:
        count = 1_203
        documents = [document(number) for number in range(count)]
        for start in range(0, count, engine.max_documents):
            engine.upsert(documents[start : start + engine.max_documents])
        engine.flush()
        assert len({stored.id for stored in engine.documents()}) == count
        found = engine.search(Query("words", limit=7, offset=5))
        assert (found.total, len(found.hits)) == (count, 7)
        assert engine.find([documents[-1].id])

    def test_words_in_titles_count_more(self, engine: Engine) -> None:
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
        assert ids(engine, "FERRY Harbour") == [2, 1]

    def test_a_page_is_found_before_a_listing_that_says_the_same(self, engine: Engine) -> None:
        engine.upsert(
            [
                document(1, title="Ferries", content="A ferry left.", page_type="listing"),
                document(2, title="Ferries", content="A ferry left.", page_type="article"),
                document(3, title="Ferries", content="A ferry left.", page_type="listing"),
            ]
        )
        engine.flush()
        found = ids(engine, "ferry left")
        assert (found[0], sorted(found)) == (2, [1, 2, 3])

    def test_all_words_are_wanted_and_some_do_if_none_has_all(self, engine: Engine) -> None:
        engine.upsert(
            [
                # Of some of the words it has more than any other document.
                document(1, title="Apples, apples", content="red apples " * 9),
                document(2, content="green apples"),
                document(3, content="green pears", site="f.org"),
            ]
        )
        engine.flush()
        found = engine.search(Query("green apples"))
        assert [hit.record["id"] for hit in found.hits] == [document(2).id]
        assert (found.total, found.facets["site"]) == (1, {"e.org": 1})
        assert sorted(ids(engine, "apples zebra")) == [1, 2]
        assert ids(engine, "green apples", site="f.org") == [3]
        assert not ids(engine, "zebra")

    def test_without_a_word_nothing_is_found(self, engine: Engine) -> None:
        engine.upsert([document(1, content="red * apples")])
        engine.flush()
        found = engine.search(Query("*"))
        assert (list(found.hits), found.total) == ([], 0)
        assert found.facets == {name: {} for name in FACETS}

    def test_letters_are_found_without_their_accents(self, engine: Engine) -> None:
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
    def test_other_forms_of_a_word_are_found(
        self, engine: Engine, language: str, content: str, words: str
    ) -> None:
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
        found = engine.search(Query("news", limit=2, offset=2))
        assert (found.total, len(found.hits), found.facets["site"]) == (5, 2, {"e.org": 5})
        assert found.facets["language"] == {"en": 1, "de": 1, "fr": 1, "ja": 1}

    @pytest.mark.parametrize(
        ("content", "found", "other"),
        [
            ("東京都で検索エンジンを作る。", "検索", "索検"),
            ("全文搜索引擎的中文分词", "中文", "文中"),
            ("검색엔진을 만든다", "엔진", "진엔"),
            ("ภาษาไทยไม่มีช่องว่าง", "ไทย", "ยไท"),
        ],
    )
    def test_languages_without_spaces(
        self, engine: Engine, content: str, found: str, other: str
    ) -> None:
        engine.upsert([document(1, title="A", content=content), document(2, title="B")])
        engine.flush()
        assert ids(engine, found) == [1]
        assert not ids(engine, other)

    @pytest.mark.parametrize(
        "words",
        [
            *('"', '"a', "(a", "a:b", "title:", "*", "a*", "-", "NOT", "a AND", "OR b", "^a", "{"),
            *("[a TO", "a\\", "~", "'; DROP TABLE documents; --", "\x00", "a/b", "&&", "||", "+"),
            *("\ud83d", "é" * 999),
        ],
    )
    def test_nothing_in_a_query_is_a_command(self, engine: Engine, words: str) -> None:
        engine.upsert([document(1, content="alpha"), document(2, content="beta a b")])
        engine.flush()
        assert engine.search(Query(words)).total <= 2
        assert ids(engine, f"beta {words}")[:1] in ([2], [])
        assert len(list(engine.documents())) == 2

    def test_results_are_counted_and_narrowed(self, engine: Engine) -> None:
        engine.upsert(
            [
                document(1, site="a.org", language="en"),
                document(2, site="a.org", language="de"),
                document(3, site="b.org", language="de", title="Other words"),
            ]
        )
        engine.flush()
        found = engine.search(Query("words"))
        assert found.facets["site"] == {"a.org": 2, "b.org": 1}
        assert found.facets["language"] == {"de": 2, "en": 1}
        assert set(found.facets) == set(FACETS)
        assert sorted(ids(engine, "words", site="a.org")) == [1, 2]
        assert ids(engine, "words", site="a.org", language="de") == [2]
        assert sorted(ids(engine, "", language="de")) == [2, 3]
        assert not ids(engine, "words", site='a.org" OR "1')

    def test_a_bad_document_never_fails_its_batch(self, engine: Engine) -> None:
        hostile = document(
            2, title="\x00\x01 nul \ud800 half", content="x" * 3_000_000 + " \x00 end"
        )
        refused = put(engine.upsert, [document(1), hostile, document(3)])
        engine.flush()
        assert {entry.id for entry in refused} <= {hostile.id}
        assert all(entry.reason for entry in refused)
        assert sorted(ids(engine, "some words")) == [1, 3]

    def test_an_index_keeps_its_identity(self, engine: Engine, url: str) -> None:
        identity = engine.open(is_writer=True)
        engine.upsert([document(1)])
        engine.flush()
        engine.close()
        reader = connect(url)
        assert reader.open(is_writer=False) == identity
        assert ids(reader, "words") == [1]
        reader.close()

    def test_an_index_keeps_marks_of_crawls(self, engine: Engine, url: str) -> None:
        identity = engine.open(is_writer=True)
        assert (engine.identity(), engine.mark("e.org")) == (identity, "")
        engine.upsert([document(1)])
        engine.set_mark("e.org", '{"seq": 1}')
        engine.set_mark("f.org", "'é\"")
        engine.set_mark("e.org", '{"seq": 2}')
        engine.close()
        again = connect(url)
        assert again.open(is_writer=True) == identity
        assert (again.mark("e.org"), again.mark("f.org")) == ('{"seq": 2}', "'é\"")
        assert (ids(again, "words"), len(list(again.documents()))) == ([1], 1)
        again.close()

    def test_a_new_index_has_marks_of_its_own(self, engine: Engine, url: str) -> None:
        engine.set_mark("e.org", "old")
        engine.set_mark("f.org", "old")
        with engine.rebuild() as (fresh, identity):
            assert (fresh.identity(), fresh.mark("e.org")) == (identity, "")
            fresh.set_mark("e.org", "new")
            assert engine.mark("e.org") == "old"
        engine.close()
        again = connect(url)
        assert again.open(is_writer=True) == identity
        assert (again.mark("e.org"), again.mark("f.org")) == ("new", "")
        again.close()

    def test_a_reader_sees_what_was_made_safe(self, engine: Engine, url: str) -> None:
        engine.upsert([document(1)])
        engine.flush()
        reader = connect(url)
        reader.open(is_writer=False)
        assert ids(reader, "words") == [1]
        engine.upsert([document(2)])
        engine.flush()
        assert sorted(ids(reader, "words")) == [1, 2]
        reader.close()

    def test_a_reader_makes_no_index(self, url: str) -> None:
        reader = connect(url)
        with pytest.raises(EngineError, match="index"):
            reader.open(is_writer=False)
        reader.close()

    def test_a_new_index_takes_the_place_of_the_old_one_at_once(
        self, engine: Engine, url: str
    ) -> None:
        identity = engine.open(is_writer=True)
        engine.upsert([document(1)])
        engine.flush()
        with engine.rebuild() as (fresh, new):
            assert not list(fresh.documents())
            fresh.upsert([document(2)])
            fresh.flush()
            reader = connect(url)
            reader.open(is_writer=False)
            assert ids(reader, "words") == [1]  # the old one, until the new one is whole
            reader.close()
        reader = connect(url)
        assert reader.open(is_writer=False) == new != identity
        assert ids(reader, "words") == [2]
        reader.close()

    def test_a_rebuild_that_fails_leaves_the_old_index(self, engine: Engine, url: str) -> None:
        identity = engine.open(is_writer=True)
        engine.upsert([document(1)])
        engine.flush()
        with pytest.raises(ZeroDivisionError), engine.rebuild() as (fresh, _):
            fresh.upsert([document(2)])
            raise ZeroDivisionError
        reader = connect(url)
        assert reader.open(is_writer=False) == identity
        assert ids(reader, "words") == [1]
        reader.close()

    def test_an_index_of_another_schema_is_refused(
        self, engine: Engine, url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        engine.close()
        monkeypatch.setattr("contentspider.index.schema.VERSION", 99)
        for is_writer in (False, True):
            again = connect(url)
            with pytest.raises(EngineError, match=r"schema 2[^0-9].*schema 99"):
                again.open(is_writer=is_writer)
            again.close()
