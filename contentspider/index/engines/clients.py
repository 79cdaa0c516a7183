"""The official clients of OpenSearch and Elasticsearch, each behind one way to ask."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

from contentspider.index.engine import shown
from contentspider.index.engines.common import place, seconds
from contentspider.index.errors import EngineDownError, EngineError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

TIMEOUT_SECS = 60.0
MAX_REASON_CHARS = 300


class NotFoundError(EngineError):
    """What was asked for is not there (404)."""


class Client(Protocol):
    """Asks a server. *timeout* is in seconds; nothing is asked again: `Sync` knows when to."""

    def __init__(self, url: str, timeout: float = TIMEOUT_SECS) -> None: ...

    def ask(
        self, method: str, path: str, body: object = None, **params: str | int | bool
    ) -> dict[str, Any]:
        """Return the answer; *body* is JSON, or lines of it if it is a text. Raises `EngineError`,
        or `EngineDownError`, without credentials in it.
        """
        ...

    def close(self) -> None:
        """End the connection."""
        ...


def refusal(where: str, status: int, said: str, retry_after: str | None = None) -> EngineError:
    """Return the error for an answer with this *status*."""
    reason = f"{where}: {status}: {' '.join(said.split())[:MAX_REASON_CHARS]}"
    if is_passing(status):
        return EngineDownError(reason, seconds(retry_after))
    return (NotFoundError if status == 404 else EngineError)(reason)


def is_passing(status: int) -> bool:
    """Return whether to ask again may help."""
    return status in (408, 429) or status >= 500


def reason_of(error: object) -> str:
    """Return what an answer's ``error`` says."""
    if isinstance(error, dict):
        return f"{error.get('type', '')}: {error.get('reason', '')}"
    return str(error)


def _server(url: str) -> str:
    """Return the address with its port: what is the default is not the same in both clients."""
    base, _ = place(url)
    parts = urlsplit(base)
    port = "" if parts.port else (":443" if parts.scheme == "https" else ":9200")
    return base + port


class OpenSearchClient:
    """The client of the package opensearch-py; see `Client`. Who asks is read from the environment:
    ``OPENSEARCH_USERNAME`` and ``OPENSEARCH_PASSWORD``.
    """

    def __init__(self, url: str, timeout: float = TIMEOUT_SECS) -> None:
        import opensearchpy

        self._shown, self._errors = shown(url), opensearchpy.exceptions
        where = self._shown

        class Connection(opensearchpy.Urllib3HttpConnection):
            """The client keeps no header of an answer that fails: it is told here."""

            def perform_request(self, *args: Any, **kwargs: Any) -> Any:
                kwargs["ignore"] = (*(kwargs.get("ignore") or ()), 429, 503)
                status, headers, data = super().perform_request(*args, **kwargs)
                if status in (429, 503):
                    raise refusal(where, status, str(data), headers.get("retry-after"))
                return status, headers, data

        user = os.environ.get("OPENSEARCH_USERNAME")
        self._client = opensearchpy.OpenSearch(
            hosts=[_server(url)],
            http_auth=(user, os.environ.get("OPENSEARCH_PASSWORD", "")) if user else None,
            connection_class=Connection,
            timeout=timeout,
            max_retries=0,
        )

    def ask(
        self, method: str, path: str, body: object = None, **params: str | int | bool
    ) -> dict[str, Any]:
        """See `Client.ask`."""
        errors = self._errors
        kind = "application/x-ndjson" if isinstance(body, str) else "application/json"
        try:
            answer = self._client.transport.perform_request(
                method, path, params=_texts(params), body=body, headers={"content-type": kind}
            )
        except (errors.ConnectionError, errors.SerializationError) as error:
            raise EngineDownError(f"{self._shown} does not answer: {_name(error)}") from error
        except errors.TransportError as error:
            info = error.info if isinstance(error.info, dict) else {}
            said = reason_of(info.get("error", error.error))
            raise refusal(self._shown, int(error.status_code), said) from error
        return _whole(answer, self._shown)

    def close(self) -> None:
        """See `Client.close`."""
        self._client.close()


class ElasticsearchClient:
    """The client of the package elasticsearch; see `Client`. Who asks is read from the environment:
    ``ELASTIC_API_KEY``, or ``ELASTIC_USERNAME`` and ``ELASTIC_PASSWORD``.
    """

    def __init__(self, url: str, timeout: float = TIMEOUT_SECS) -> None:
        import elasticsearch

        self._shown, self._errors = shown(url), elasticsearch
        user, api_key = os.environ.get("ELASTIC_USERNAME"), os.environ.get("ELASTIC_API_KEY")
        password = os.environ.get("ELASTIC_PASSWORD", "")
        self._client = elasticsearch.Elasticsearch(
            _server(url),
            api_key=api_key or None,
            basic_auth=(user, password) if user and not api_key else None,
            request_timeout=timeout,
            max_retries=0,
        )

    def ask(
        self, method: str, path: str, body: object = None, **params: str | int | bool
    ) -> dict[str, Any]:
        """See `Client.ask`."""
        errors = self._errors
        headers = {"accept": "application/json"}
        if body is not None:
            kind = "x-ndjson" if isinstance(body, str) else "json"
            headers["content-type"] = f"application/{kind}"
        try:
            answer = self._client.perform_request(
                method, path, params=_texts(params), headers=headers, body=body
            )
        except errors.ApiError as error:
            info = error.body if isinstance(error.body, dict) else {}
            said = reason_of(info.get("error", error.message))
            raise refusal(
                self._shown, error.meta.status, said, error.meta.headers.get("retry-after")
            ) from error
        except errors.UnsupportedProductError as error:
            raise EngineError(f"{self._shown} is no Elasticsearch server") from error
        except errors.TransportError as error:
            raise EngineDownError(f"{self._shown} does not answer: {_name(error)}") from error
        return _whole(answer.body, self._shown)

    def close(self) -> None:
        """See `Client.close`."""
        self._client.close()


@contextmanager
def whole_answers(where: str) -> Iterator[None]:
    """Say of an answer in which something is missing that it may be asked for again."""
    try:
        yield
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise EngineDownError(f"{where} gave half an answer: {error!r}") from error


def _whole(answer: object, where: str) -> dict[str, Any]:
    if not isinstance(answer, dict):
        raise EngineDownError(f"{where} gave half an answer")
    return answer


def _name(error: Exception) -> str:
    return type(error).__name__


def _texts(params: Mapping[str, str | int | bool]) -> dict[str, str]:
    return {
        name: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in params.items()
    }
