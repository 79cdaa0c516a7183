"""An HTTP endpoint in the form of OpenAI's embeddings: what it is sent, and what it may answer."""

from __future__ import annotations

import json
import threading
from contextlib import closing, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from contentspider.index.embedders import chosen_embedder
from contentspider.index.embedding_endpoint import MAX_REASON_CHARS
from contentspider.index.engine import Query, create_engine
from contentspider.index.errors import EmbedderError, EngineDownError
from contentspider.testing.engines import document
from tests.embedders import WordVectors

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

KEY = "sk-4712"


class Service(ThreadingHTTPServer):
    """Answers as OpenAI's API does, or with the next of *answers*: a status and a body."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}/v1/embeddings"
        self.answers: list[tuple[int, str]] = []
        self.is_slow = False
        self.is_over = threading.Event()
        self.requests: list[tuple[str, dict[str, str], dict[str, Any]]] = []


class Handler(BaseHTTPRequestHandler):
    server: Service

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append((self.path, dict(self.headers), request))
        if self.server.is_slow:
            self.trickle()
            return
        status, body = 200, ""
        if self.server.answers:
            status, body = self.server.answers.pop(0)
        if status == 200 and not body:
            rows = WordVectors().embed(request["input"])
            data = [
                {"object": "embedding", "index": number, "embedding": row.tolist()}
                for number, row in enumerate(rows)
            ]
            body = json.dumps({"object": "list", "data": data[::-1], "model": request["model"]})
        self.send_response(status)
        self.send_header("Location", "/elsewhere")
        self.send_header("Retry-After", "7")
        self.send_header("Content-Length", str(len(body.encode())))
        self.end_headers()
        self.wfile.write(body.encode())

    def trickle(self) -> None:
        """Send a byte at a time until the client has closed the connection."""
        self.send_response(200)
        self.end_headers()
        with suppress(OSError):
            while not self.server.is_over.wait(0.02):
                self.wfile.write(b" ")

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    with Service() as server:
        monkeypatch.setenv("CONTENTSPIDER_EMBEDDER", server.url)
        monkeypatch.setenv("CONTENTSPIDER_EMBEDDER_MODEL", "words-1")
        monkeypatch.setenv("CONTENTSPIDER_EMBEDDER_KEY", KEY)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.is_over.set()
            server.shutdown()
            thread.join()


def embed(*texts: str) -> Any:
    chosen = chosen_embedder()
    assert chosen is not None
    assert chosen.name == "words-1"
    return chosen.embedder.embed(list(texts))


def test_endpoint_gets_model_texts_and_key_and_gives_vectors_in_order(service: Service) -> None:
    assert np.array_equal(embed("a car", "tea", "é"), WordVectors().embed(["a car", "tea", "é"]))
    ((path, headers, request),) = service.requests
    assert path == "/v1/embeddings"
    assert request == {"input": ["a car", "tea", "é"], "model": "words-1"}
    assert headers["Authorization"] == f"Bearer {KEY}"


def test_endpoint_without_key_gets_no_header(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CONTENTSPIDER_EMBEDDER_KEY")
    embed("tea")
    assert "Authorization" not in service.requests[0][1]


def test_answer_that_never_ends_is_cut_off(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("contentspider.index.embedding_endpoint.SECS_PER_TEXT", 0.1)
    service.is_slow = True
    with pytest.raises(EngineDownError):
        embed("tea", "milk")
    assert not service.is_over.is_set()
    service.is_slow = False
    monkeypatch.setattr("contentspider.index.embedding_endpoint.SECS_PER_TEXT", 5.0)
    assert len(embed("tea")) == 1


def test_cut_refusal_has_no_part_of_the_key(service: Service) -> None:
    half = len(KEY) // 2
    service.answers = [(401, "x" * (MAX_REASON_CHARS - half) + KEY)]
    with pytest.raises(EmbedderError) as caught:
        embed("tea")
    assert KEY[:half] not in str(caught.value)


def test_password_of_a_broken_address_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONTENTSPIDER_EMBEDDER", "https://me:hidden@e.org:99999/v1")
    with pytest.raises(EmbedderError) as caught:
        chosen_embedder()
    assert "hidden" not in str(caught.value)


@pytest.mark.parametrize("status", [400, 401, 404, 302, 308])
def test_refusal_names_status_and_no_key(service: Service, status: int) -> None:
    service.answers = [(status, f"Incorrect API key provided: {KEY}")]
    with pytest.raises(EmbedderError, match=str(status)) as caught:
        embed("tea")
    assert KEY not in str(caught.getrepr())
    assert [path for path, *_ in service.requests] == ["/v1/embeddings"], "no redirect is followed"


@pytest.mark.parametrize("status", [408, 429, 500, 503])
def test_busy_endpoint_raises_error_with_retry_time(service: Service, status: int) -> None:
    service.answers = [(status, "")]
    with pytest.raises(EngineDownError, match=str(status)) as caught:
        embed("tea")
    assert caught.value.wait == 7


@pytest.mark.parametrize(
    "body",
    [
        *("{", "[]", '{"data": []}', '{"data": [{"index": 1, "embedding": [1.0]}]}', '{"data": 1}'),
        *('{"data": [{"index": 0, "embedding": ["a"]}]}', '{"data": [{"index": 0}]}'),
    ],
)
def test_other_answers_are_refused(service: Service, body: str) -> None:
    service.answers = [(200, body)]
    with pytest.raises(EmbedderError, match="v1/embeddings"):
        embed("tea")


def test_closed_port_raises_engine_down_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with Service() as server:
        monkeypatch.setenv("CONTENTSPIDER_EMBEDDER", server.url)
    monkeypatch.setenv("CONTENTSPIDER_EMBEDDER_MODEL", "words-1")
    with pytest.raises(EngineDownError):
        embed("tea")


def test_key_with_line_end_is_refused(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONTENTSPIDER_EMBEDDER_KEY", f"{KEY}\n")
    with pytest.raises(EmbedderError) as caught:
        chosen_embedder()
    assert KEY not in str(caught.value)


def test_index_repeats_requests_and_stores_no_key(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("contentspider.index.errors.time.sleep", lambda seconds: None)
    service.answers = [(429, ""), (503, "")]
    with closing(create_engine(f"sqlite:{tmp_path / 'pages.db'}")) as engine:
        engine.open(is_writer=True)
        engine.upsert([document(1, content="An automobile."), document(2, content="Tea.")])
        engine.flush()
        assert len(service.requests) == 3
        assert json.loads(engine.manifest())["embedder"] == "words-1"
        results = engine.search(Query("car"))
        assert results.hits[0].record["title"] == "Page number 1"
        service.answers = [(503, "")]
        assert engine.search(Query("automobile")).note
        assert len(service.requests) == 5, "a search does not wait"
    written = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert KEY.encode() not in written
    assert service.url.encode() not in written
