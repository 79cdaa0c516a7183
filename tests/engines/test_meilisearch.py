"""What is Meilisearch's own, on a server that is none (meilisearch_server.py): what every
engine does is in contentspider/testing/engines.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from contentspider.index.engine import Query, create_engine
from contentspider.index.errors import EngineDownError, EngineError
from contentspider.index.sync import upsert_in_halves
from contentspider.testing.engines import document
from tests.engines.meilisearch_server import FakeMeilisearch, FaultError, fake_meilisearch
from tests.servers import KEY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from contentspider.index.engine import Engine

pytest.importorskip("meilisearch")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeMeilisearch]:
    monkeypatch.setenv("MEILISEARCH_API_KEY", KEY)
    with fake_meilisearch() as made:
        yield made


@pytest.fixture
def engine(server: FakeMeilisearch) -> Iterator[Engine]:
    made = create_engine(f"{server.url}/pages")
    made.open(is_writer=True)
    yield made
    made.close()


def found(engine: Engine, words: str, **asked: Any) -> list[int]:
    return [int(hit.record["id"], 16) for hit in engine.search(Query(words, **asked)).hits]


def test_documents_causing_late_task_failure_are_reported(
    engine: Engine, server: FakeMeilisearch
) -> None:
    bad = {document(3).id, document(17).id}
    server.fails = lambda kind, given: (
        FaultError("invalid_document_fields") if bad & {one["id"] for one in given} else None
    )
    refused = upsert_in_halves(engine.upsert, [document(number) for number in range(20)])
    assert {entry.id for entry in refused} == bad
    assert all("invalid_document_fields" in entry.reason for entry in refused)
    assert len(list(engine.documents())) == 18


def test_immediately_rejected_document_is_reported_alone(
    engine: Engine, server: FakeMeilisearch
) -> None:
    for body in ({"code": "payload_too_large", "type": "invalid_request"}, "<html>too large"):
        states = {"results": [], "offset": 0, "limit": 2, "total": 0}
        server.answers = [(200, states, {}), (413, body, {}), (200, states, {}), (413, body, {})]
        refused = upsert_in_halves(engine.upsert, [document(1), document(2)])
        assert [entry.id for entry in refused] == [document(1).id]
    assert list(engine.find([document(1).id, document(2).id])) == [document(2).id]


def test_document_that_is_not_valid_json_is_rejected_before_sending(engine: Engine) -> None:
    odd = [document(2, more={"half": "\ud800"}), document(3, more={"odd": float("nan")})]
    refused = {entry.id: entry.reason for entry in engine.upsert([document(1), *odd])}
    assert sorted(refused) == [one.id for one in odd]
    assert "surrogate" in refused[odd[0].id]
    assert list(engine.find([one.id for one in (document(1), *odd)])) == [document(1).id]


@pytest.mark.parametrize(("code", "kind"), [("no_space_left", "system"), ("internal", "internal")])
def test_task_failing_for_lack_of_space_raises_engine_down_error(
    engine: Engine, server: FakeMeilisearch, code: str, kind: str
) -> None:
    server.fails = lambda *_: FaultError(code, kind=kind)
    with pytest.raises(EngineDownError, match=code):
        engine.upsert([document(1), document(2)])
    with pytest.raises(EngineDownError, match=code):
        engine.delete([document(1).id])
    server.fails = lambda *_: None
    assert not engine.upsert([document(1), document(2)])


def test_cancelled_task_raises_engine_down_error(engine: Engine, server: FakeMeilisearch) -> None:
    server.fails = lambda *_: FaultError("canceled")
    with pytest.raises(EngineDownError):
        engine.upsert([document(1)])


def test_index_fault_does_not_cause_search_for_faulty_document(
    engine: Engine, server: FakeMeilisearch
) -> None:
    before = len(server.tasks)
    server.fails = lambda *_: FaultError("index_creation_failed")
    with pytest.raises(EngineError, match="index_creation_failed") as caught:
        engine.upsert([document(number) for number in range(8)])
    assert not isinstance(caught.value, EngineDownError)
    assert len(server.tasks) == before + 1


def test_endless_task_raises_engine_down_error(
    engine: Engine, server: FakeMeilisearch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("contentspider.index.engines.meilisearch.TASK_SECS", 0.05)
    monkeypatch.setattr(server, "task", lambda number: server.tasks[number])
    with pytest.raises(EngineDownError, match="timeout"):
        engine.upsert([document(1)])


def test_largest_version_of_document_in_batch_is_kept(engine: Engine) -> None:
    engine.upsert([document(1, 3, title="three"), document(1, 2, title="two")])
    there = engine.get(document(1).id)
    assert there is not None
    assert there["title"] == "three"


def test_search_drops_last_words_if_no_document_has_all(
    engine: Engine, server: FakeMeilisearch
) -> None:
    engine.upsert([document(1, content="red apples"), document(2, content="apples"), document(3)])
    assert found(engine, "red apples") == [1]
    assert found(engine, "apples zebra") == [1, 2]
    assert found(engine, '"red -apples"') == [1], "signs are no syntax"
    assert found(engine, "zebra") == []


def test_index_is_created_with_required_settings(engine: Engine, server: FakeMeilisearch) -> None:
    made = server.indexes["pages"].settings
    assert made["searchableAttributes"][:3] == ["title", "headings", "anchors"]
    assert made["rankingRules"].index("attribute") < made["rankingRules"].index("proximity")
    assert "typo" in made["rankingRules"]
    assert not made.keys() & {"typoTolerance", "prefixSearch"}, "they are on by default"


def test_crawl_names_are_case_sensitive(engine: Engine) -> None:
    engine.upsert([document(1, crawl="e.org"), document(2, crawl="E.org")])
    assert [stored.id for stored in engine.documents("E.org")] == [document(2).id]


def test_search_total_and_pages_are_exact(engine: Engine) -> None:
    engine.upsert([document(number, title="word") for number in range(30)])
    first = engine.search(Query("word", limit=20, offset=5))
    rest = engine.search(Query("word", limit=20, offset=25))
    assert (first.total, len(first.hits), len(rest.hits)) == (30, 20, 5)
    assert len({hit.record["id"] for hit in (*first.hits, *rest.hits)}) == 25
    assert all(hit.record.keys() == document(1).record().keys() for hit in first.hits)


def test_filter_values_are_quoted(engine: Engine) -> None:
    engine.upsert([document(1, site='a"b'), document(2, site="b.org")])
    assert found(engine, "", filters={"site": 'a"b'}) == [1]
    assert found(engine, "", filters={"site": '" OR site = "b.org'}) == []
    assert found(engine, "", filters={"site": "\\"}) == []
    with pytest.raises(EngineError, match=r"^url: "):
        engine.search(Query("", {"url": "x"}))


@pytest.mark.parametrize("status", [429, 503])
def test_busy_server_error_contains_retry_time(
    engine: Engine, server: FakeMeilisearch, status: int
) -> None:
    server.answers = [(status, {"message": "busy"}, {"Retry-After": "7"})]
    with pytest.raises(EngineDownError, match="busy") as caught:
        engine.search(Query("word"))
    assert caught.value.wait == 7


@pytest.mark.parametrize(
    ("status", "body"),
    [(200, "{"), (200, {}), (200, {"results": []}), ("cut", {"results": []}), (502, "<html>")],
)
def test_incomplete_response_raises_engine_down_error(
    engine: Engine, server: FakeMeilisearch, status: int | str, body: Any
) -> None:
    server.answers = [(status, body, {})]
    with pytest.raises(EngineDownError):
        engine.search(Query("word"))


def test_unreachable_server_raises_engine_down_error(
    engine: Engine, server: FakeMeilisearch
) -> None:
    server.shutdown()
    server.server_close()
    with pytest.raises(EngineDownError, match="does not answer"):
        engine.find([document(1).id])


def test_wrong_api_key_raises_engine_error_without_key(
    server: FakeMeilisearch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEILISEARCH_API_KEY", "wrong-4712")
    engine = create_engine(f"{server.url}/pages")
    for status in (401, 403):
        server.answers = [(status, FaultError("invalid_api_key", kind="auth").said, {})]
        with pytest.raises(EngineError, match="invalid_api_key") as caught:
            engine.open(is_writer=True)
        assert not isinstance(caught.value, EngineDownError)
        assert "wrong-4712" not in str(caught.value)
    with pytest.raises(EngineError, match="invalid_api_key"):
        engine.upsert([document(1), document(2)])
    monkeypatch.delenv("MEILISEARCH_API_KEY")
    with pytest.raises(EngineError, match="MEILISEARCH_API_KEY"):
        create_engine(f"{server.url}/pages")


def test_foreign_index_is_left_unchanged(server: FakeMeilisearch) -> None:
    server.add("pages", [{"id": "theirs"}])
    engine = create_engine(f"{server.url}/pages")
    with pytest.raises(EngineError, match=" exists, but"):
        engine.open(is_writer=True)
    with pytest.raises(EngineError, match=" exists, but"), engine.rebuild():
        pass
    assert list(server.indexes) == ["pages"]
    assert list(server.indexes["pages"].documents) == ["theirs"]


def test_rebuild_leaves_nothing_of_old_index(engine: Engine, server: FakeMeilisearch) -> None:
    with engine.rebuild() as (fresh, _):
        fresh.upsert([document(1)])
    with pytest.raises(KeyError), engine.rebuild():
        raise KeyError
    assert sorted(server.indexes) == ["contentspider-manifests", "pages"]
    assert list(server.indexes["contentspider-manifests"].documents) == ["pages"]
    assert list(engine.find([document(1).id])) == [document(1).id]


@pytest.mark.parametrize(
    "wrong", ["meilisearch:pages", "meilisearch://h:x/a", "meilisearch://h/a/b"]
)
def test_incomplete_url_raises_engine_error(wrong: str) -> None:
    with pytest.raises(EngineError, match="meilisearch://host:port/index"):
        create_engine(wrong)


def test_url_without_port_uses_default_port(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def get(url: str, **_: object) -> None:
        asked.append(url)
        raise OSError("asked")

    monkeypatch.setenv("MEILISEARCH_API_KEY", KEY)
    monkeypatch.setattr("requests.get", get)
    for url in ("meilisearch://h/a", "meilisearch://[::1]:99/a", "meilisearch+https://h/a"):
        with pytest.raises(OSError, match="asked"):
            create_engine(url).open(is_writer=False)
    assert asked == [
        f"{base}/indexes/a" for base in ("http://h:7700", "http://[::1]:99", "https://h")
    ]
