"""What goes wrong between us and OpenSearch or Elasticsearch, on a server that does it on demand;
what every engine does is in contentspider/testing/engines.py.
"""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from contentspider.index.engine import create_engine
from contentspider.index.errors import EngineDownError, EngineError
from contentspider.testing.engines import document
from tests.servers import KEY, OURS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from contentspider.index.engine import Engine

pytest.importorskip("opensearchpy")
pytest.importorskip("elasticsearch")


class Faults(ThreadingHTTPServer):
    """Gives what is in *answers* one after the other: status, body, headers; "cut" breaks off,
    "slow" answers only when the tests are through. *asked* is what came.
    """

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers: list[tuple[int | str, Any, dict[str, str]]] = []
        self.asked: list[tuple[str, str, str]] = []
        self.ended = threading.Event()

    def say(self, status: int | str, body: Any = None, **headers: str) -> None:
        self.answers.append((status, body or {}, headers))


class Handler(BaseHTTPRequestHandler):
    server: Faults

    def answer(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length).decode()
        self.server.asked.append((self.path, body, self.headers.get("Authorization", "")))
        status, said, headers = self.server.answers.pop(0)
        if status == "slow":
            self.server.ended.wait(30)
        text = json.dumps(said).encode()
        self.send_response(status if isinstance(status, int) else 200)
        self.send_header("X-Elastic-Product", "Elasticsearch")
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text) + (99 if status == "cut" else 0)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_PUT = do_DELETE = answer  # noqa: N815

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Faults]:
    with Faults() as made:
        threading.Thread(target=made.serve_forever, args=(0.01,), daemon=True).start()
        yield made
        made.ended.set()
        made.shutdown()


@pytest.fixture(params=["opensearch", "elasticsearch"])
def engine(
    request: pytest.FixtureRequest, server: Faults, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Engine]:
    for name in OURS[-2:]:
        monkeypatch.setenv(f"{name}_USERNAME", "tester")
        monkeypatch.setenv(f"{name}_PASSWORD", KEY)
    made = create_engine(f"{request.param}://127.0.0.1:{server.server_port}/pages")
    yield made
    made.close()


def bulk(*outcomes: tuple[int, str]) -> dict[str, Any]:
    items = [
        {"index": {"status": status} | ({"error": {"type": "t", "reason": why}} if why else {})}
        for status, why in outcomes
    ]
    return {"errors": True, "items": items}


@pytest.mark.parametrize("status", [429, 503])
def test_busy_server_error_contains_retry_time(engine: Engine, server: Faults, status: int) -> None:
    server.say(status, {"error": {"type": "t", "reason": "busy"}}, Retry_After="7")
    with pytest.raises(EngineDownError) as caught:
        engine.open(is_writer=True)
    assert caught.value.wait == 7
    assert len(server.asked) == 1


@pytest.mark.parametrize("body", [{}, {"items": []}, {"items": [{}]}, {"items": 3}])
def test_incomplete_response_raises_engine_down_error(
    engine: Engine, server: Faults, body: Any
) -> None:
    server.say(200, body)
    with pytest.raises(EngineDownError):
        engine.upsert([document(1)])


def test_truncated_response_raises_engine_down_error(engine: Engine, server: Faults) -> None:
    server.say("cut", bulk((200, "")))
    with pytest.raises(EngineDownError):
        engine.upsert([document(1)])
    server.say(200, bulk((200, "")))
    assert not engine.upsert([document(1)])


def test_missing_response_raises_engine_down_error(
    engine: Engine, server: Faults, monkeypatch: pytest.MonkeyPatch
) -> None:
    for client in ("OpenSearchClient", "ElasticsearchClient"):
        name = f"contentspider.index.engines.clients.{client}.__init__"
        monkeypatch.setattr(f"{name}.__defaults__", (0.2,))
    server.say("slow")
    with pytest.raises(EngineDownError, match="does not answer"):
        engine.upsert([document(1)])


def test_unreachable_server_raises_engine_down_error(engine: Engine, server: Faults) -> None:
    server.shutdown()
    server.server_close()
    with pytest.raises(EngineDownError, match="does not answer"):
        engine.find(["a"])


def test_rejected_document_is_reported_alone(engine: Engine, server: Faults) -> None:
    server.say(200, bulk((201, ""), (400, "no date"), (200, "")))
    refused = engine.upsert([document(1), document(2), document(3)])
    assert [(entry.id, entry.reason) for entry in refused] == [(document(2).id, "t: no date")]


@pytest.mark.parametrize("status", [429, 503])
def test_document_rejected_for_full_queue_raises_engine_down_error(
    engine: Engine, server: Faults, status: int
) -> None:
    server.say(200, bulk((201, ""), (status, "queue is full")))
    with pytest.raises(EngineDownError, match="queue is full"):
        engine.upsert([document(1), document(2)])


def test_newer_document_is_kept(engine: Engine, server: Faults) -> None:
    server.say(200, bulk((409, "newer")))
    stored = {"id": document(1).id, "crawl": "e.org", "version": 5, "hash": "h"}
    server.say(200, {"docs": [{"_id": document(1).id, "found": True, "_source": stored}]})
    assert not engine.upsert([document(1, 4)])
    assert len(server.asked) == 2
    assert '"version": 4, "version_type": "external_gte"' in server.asked[0][1]


def test_document_deleted_in_newer_version_is_written_again(engine: Engine, server: Faults) -> None:
    server.say(200, bulk((409, "newer")))
    server.say(200, {"docs": [{"_id": document(1).id, "found": False}]})
    server.say(200, bulk((201, "")))
    assert not engine.upsert([document(1, 4)])
    assert "version_type" not in server.asked[2][1]


@pytest.mark.parametrize("status", [401, 403])
def test_denied_access_raises_engine_error_without_secrets(
    engine: Engine, server: Faults, status: int
) -> None:
    server.say(status, {"error": {"type": "security", "reason": "not you"}})
    with pytest.raises(EngineError, match="not you") as caught:
        engine.open(is_writer=True)
    assert not isinstance(caught.value, EngineDownError)
    assert server.asked[0][2].startswith("Basic ")
    assert KEY not in str(caught.value)
    assert server.asked[0][2].split()[1] not in str(caught.value)


def test_foreign_index_is_left_unchanged(engine: Engine, server: Faults) -> None:
    for _ in range(2):
        server.say(200, {"pages": {"mappings": {"properties": {}}}})
    with pytest.raises(EngineError, match=" exists, but"):
        engine.open(is_writer=True)
    with pytest.raises(EngineError, match=" exists, but"), engine.rebuild():
        pass
    assert len(server.asked) == 2


@pytest.mark.parametrize("wrong", ["opensearch://h/Pages", "elasticsearch://h/_all"])
def test_invalid_index_names_raise_engine_error(wrong: str) -> None:
    with pytest.raises(EngineError, match="lower case"):
        create_engine(wrong)
