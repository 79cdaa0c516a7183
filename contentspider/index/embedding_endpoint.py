"""An HTTP endpoint that computes vectors of texts."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from contentspider.ground.fetch import FAILURES, FetchError, exchange
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

    from contentspider.ground.fetch import Answer

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
        secs = SECS_PER_TEXT * len(texts)
        given = (self._address, secs, True, "POST", body, headers, MAX_ANSWER_BYTES)
        try:
            answer = exchange(*given)
        except FetchError as error:
            raise EmbedderError(f"{self._display_url}: {error}") from None
        except FAILURES as error:
            reason = str(error) or type(error).__name__
            raise EngineDownError(f"{self._display_url} does not answer: {reason}") from None
        if answer.status >= 300:
            raise self._status_error(answer)
        return self._vectors(answer.body, len(texts))

    def _status_error(self, answer: Answer) -> EmbedderError | EngineDownError:
        """Return the error for an answer that is not a success."""
        # Some servers repeat the key. A key that begins before the cut is read to its end.
        reason = answer.body[: MAX_REASON_CHARS + len(self._key)].decode("utf-8", "replace")
        if self._key:
            reason = reason.replace(self._key, "***")
        reason = " ".join(reason[:MAX_REASON_CHARS].split())
        message = f"{self._display_url}: {answer.status}: {reason}"
        if is_temporary(answer.status):
            return EngineDownError(message, retry_after_secs(answer.headers.get("Retry-After")))
        if answer.status < 400:
            message = f"{self._display_url} redirects ({answer.status}): name the address it leads"
            message += " to"
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
