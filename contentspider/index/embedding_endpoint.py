"""An HTTP endpoint that computes vectors of texts."""

from __future__ import annotations

import json
import os
import socket
from contextlib import suppress
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from threading import Timer
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPHandler, HTTPSHandler, Request, build_opener

from contentspider.ground.fetch import NoRedirects
from contentspider.ground.useragent import user_agent
from contentspider.index.errors import (
    EmbedderError,
    EngineDownError,
    is_temporary,
    retry_after_secs,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from typing_extensions import Self

MODEL = "CONTENTSPIDER_EMBEDDER_MODEL"
KEY = "CONTENTSPIDER_EMBEDDER_KEY"
# A server has this long for each text of a request, until its answer is complete.
SECS_PER_TEXT = 5.0
MAX_ANSWER_BYTES = 50_000_000
MAX_REASON_CHARS = 300


class Endpoint:
    """An HTTP endpoint that speaks the form of OpenAI's ``/v1/embeddings``.

    Requests go to *address* only; redirects are not followed. *key* is sent as a bearer token
    unless it is "". It never appears in a message. Raises `EmbedderError` for values that cannot be
    sent.
    """

    def __init__(self, address: str, model: str, key: str) -> None:
        parts = urlsplit(address)
        self._display_url = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
        if parts.username or parts.fragment or address.split() != [address]:
            raise EmbedderError(
                f"write the address of {self._display_url} without user, password,"
                f" spaces and '#'. A key belongs in {KEY}"
            )
        if not model:
            raise EmbedderError(f"{self._display_url} needs the name of a model in {MODEL}")
        if not (key.isascii() and key.isprintable()):
            raise EmbedderError(f"{KEY} has characters that no key has, such as an end of line")
        self._address, self.model, self._key = address, model, key

    @classmethod
    def from_environment(cls, address: str) -> Self:
        """Return the endpoint at an address, with the model and the key of the environment."""
        return cls(address, os.environ.get(MODEL, ""), os.environ.get(KEY, ""))

    def embed(self, texts: list[str]) -> ArrayLike:
        """See `Embedder.embed`. Raises `EngineDownError` or, if no retry helps, `EmbedderError`."""
        body = json.dumps({"input": texts, "model": self.model}).encode()
        headers = {"Content-Type": "application/json", "User-Agent": user_agent("")}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        request = Request(self._address, body, headers)  # noqa: S310 - the scheme was checked
        with _Deadline(SECS_PER_TEXT * len(texts)) as deadline:
            try:
                answer = self._answer(request, deadline)
            except (OSError, HTTPException) as error:
                reason = getattr(error, "reason", error) or type(error).__name__
                if deadline.is_over:
                    reason = f"its answer was not complete after {deadline.secs:g} s"
                raise EngineDownError(f"{self._display_url} does not answer: {reason}") from None
        return self._vectors(answer, len(texts))

    def _answer(self, request: Request, deadline: _Deadline) -> bytes:
        """Return the body of the answer to a request."""
        opener = build_opener(NoRedirects, *deadline.handlers())
        try:
            with opener.open(request, timeout=deadline.secs) as response:
                answer: bytes = response.read(MAX_ANSWER_BYTES)
        except HTTPError as error:
            with error:
                raise self._status_error(error) from None
        # An answer without a length just ends when the connection does.
        if deadline.is_over:
            raise TimeoutError
        return answer

    def _status_error(self, error: HTTPError) -> EmbedderError | EngineDownError:
        """Return the error for a response that is not a success."""
        # Some servers repeat the key. A key that begins before the cut is read to its end.
        reason = error.read(MAX_REASON_CHARS + len(self._key)).decode("utf-8", "replace")
        if self._key:
            reason = reason.replace(self._key, "***")
        reason = " ".join(reason[:MAX_REASON_CHARS].split())
        message = f"{self._display_url}: {error.code}: {reason}"
        if is_temporary(error.code):
            return EngineDownError(message, retry_after_secs(error.headers.get("Retry-After")))
        if error.code < 400:
            message = f"{self._display_url} redirects ({error.code}): name the address it leads to"
        return EmbedderError(message)

    def _vectors(self, answer: bytes, count: int) -> ArrayLike:
        """Return the vectors in an answer, in the order of the texts."""
        try:
            rows: list[dict[str, Any]] = json.loads(answer)["data"]
            vectors = {int(row["index"]): [float(n) for n in row["embedding"]] for row in rows}
            return [vectors[number] for number in range(count)]
        except (ValueError, TypeError, LookupError) as error:
            raise EmbedderError(
                f"{self._display_url} does not answer in the form of OpenAI's /v1/embeddings"
                f" ({type(error).__name__}: {error})"
            ) from error


class _Deadline:
    """Ends a request after *secs* seconds, even if the server still sends.

    The timeout of a connection does not: it begins again with each part that arrives.
    """

    def __init__(self, secs: float) -> None:
        self.secs = secs
        self.is_over = False
        self._socket: socket.socket | None = None
        self._clock = Timer(secs, self._end)
        self._clock.daemon = True

    def __enter__(self) -> Self:
        self._clock.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._clock.cancel()
        if self._socket is not None:
            self._socket.close()

    def handlers(self) -> tuple[HTTPHandler, HTTPSHandler]:
        """Return the handlers of an opener whose requests end at this time."""
        return _Handler(self), _SecureHandler(self)

    def watch(self, connection: HTTPConnection) -> None:
        """Note the connection to end."""
        # urllib closes and TLS detaches the connection's own socket object.
        self._socket = connection.sock.dup()
        if self.is_over:
            self._end()

    def _end(self) -> None:
        self.is_over = True
        if self._socket is not None:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)


class _Connection(HTTPConnection):
    """A connection that a *deadline* ends."""

    deadline: _Deadline

    def connect(self) -> None:
        """Connect, and let the deadline end the connection."""
        super().connect()
        self.deadline.watch(self)


class _SecureConnection(HTTPSConnection, _Connection):
    """An encrypted connection. Its handshake begins after `_Connection.connect`."""


class _Handler(HTTPHandler):
    """Opens ``http`` addresses with a *deadline*."""

    def __init__(self, deadline: _Deadline) -> None:
        super().__init__()
        self._connection = partial(_with_deadline, _Connection, deadline)

    def http_open(self, request: Request) -> HTTPResponse:
        """Return the response to a request."""
        return self.do_open(self._connection, request)


class _SecureHandler(HTTPSHandler):
    """Opens ``https`` addresses with a *deadline*."""

    def __init__(self, deadline: _Deadline) -> None:
        super().__init__()
        self._connection = partial(_with_deadline, _SecureConnection, deadline)

    def https_open(self, request: Request) -> HTTPResponse:
        """Return the response to a request."""
        return self.do_open(self._connection, request)


def _with_deadline(
    kind: type[_Connection], deadline: _Deadline, host: str, **options: Any
) -> _Connection:
    """Return a connection to a *host*."""
    connection = kind(host, **options)
    connection.deadline = deadline
    return connection
