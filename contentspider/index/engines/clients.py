"""The official clients of OpenSearch and Elasticsearch behind one interface."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

from contentspider.index.engines.common import parse_server_url
from contentspider.index.errors import (
    EngineDownError,
    EngineError,
    is_temporary,
    redacted_url,
    retry_after_secs,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

TIMEOUT_SECS = 60.0
MAX_REASON_CHARS = 300


class NotFoundError(EngineError):
    """The server does not have the requested index or document (HTTP 404)."""

    code = "not-found"


class Client(Protocol):
    """Sends requests to a server. *timeout* is in seconds. `Sync` repeats requests, not clients."""

    def __init__(self, url: str, timeout: float = TIMEOUT_SECS) -> None: ...

    def request(
        self, method: str, path: str, body: object = None, **params: str | int | bool
    ) -> dict[str, Any]:
        """Send a request, and return the JSON object of the response.

        *body* is sent as JSON; a text is sent as lines of JSON. Raises `EngineError` or
        `EngineDownError`, whose messages do not contain credentials.
        """
        ...

    def close(self) -> None:
        """Close the connection."""
        ...


def error_for_status(
    display_url: str, status: int, reason: str, retry_after: str | None = None
) -> EngineError:
    """Return the error for a response with an HTTP *status* and a *reason*."""
    message = f"{display_url}: {status}: {' '.join(reason.split())[:MAX_REASON_CHARS]}"
    if is_temporary(status):
        return EngineDownError(message, retry_after_secs(retry_after))
    return (NotFoundError if status == 404 else EngineError)(message)


def error_reason(error: object) -> str:
    """Return the ``error`` of a response as text: its type and its reason."""
    if isinstance(error, dict):
        return f"{error.get('type', '')}: {error.get('reason', '')}"
    return str(error)


def _server_address(url: str) -> str:
    """Return the server's address with its port, because the clients' default ports differ."""
    base, _ = parse_server_url(url)
    parts = urlsplit(base)
    if parts.port:
        return base
    return base + (":443" if parts.scheme == "https" else ":9200")


class OpenSearchClient:
    """The client of the package opensearch-py; see `Client`.

    The environment variables ``OPENSEARCH_USERNAME`` and ``OPENSEARCH_PASSWORD`` have the
    credentials.
    """

    def __init__(self, url: str, timeout: float = TIMEOUT_SECS) -> None:
        import opensearchpy

        self._display_url, self._errors = redacted_url(url), opensearchpy.exceptions
        display_url = self._display_url

        class Connection(opensearchpy.Urllib3HttpConnection):
            """Reads ``Retry-After``: the client's own errors do not have the response's headers."""

            def perform_request(self, *args: Any, **kwargs: Any) -> Any:
                kwargs["ignore"] = (*(kwargs.get("ignore") or ()), 429, 503)
                status, headers, data = super().perform_request(*args, **kwargs)
                if status in (429, 503):
                    retry_after = headers.get("retry-after")
                    raise error_for_status(display_url, status, str(data), retry_after)
                return status, headers, data

        user = os.environ.get("OPENSEARCH_USERNAME")
        self._client = opensearchpy.OpenSearch(
            hosts=[_server_address(url)],
            http_auth=(user, os.environ.get("OPENSEARCH_PASSWORD", "")) if user else None,
            connection_class=Connection,
            timeout=timeout,
            max_retries=0,
        )

    def request(
        self, method: str, path: str, body: object = None, **params: str | int | bool
    ) -> dict[str, Any]:
        """See `Client.request`."""
        errors = self._errors
        kind = "application/x-ndjson" if isinstance(body, str) else "application/json"
        try:
            response = self._client.transport.perform_request(
                method,
                path,
                params=_text_params(params),
                body=body,
                headers={"content-type": kind},
            )
        except (errors.ConnectionError, errors.SerializationError) as error:
            name = type(error).__name__
            raise EngineDownError(f"{self._display_url} does not answer: {name}") from error
        except errors.TransportError as error:
            info = error.info if isinstance(error.info, dict) else {}
            reason = error_reason(info.get("error", error.error))
            raise error_for_status(self._display_url, int(error.status_code), reason) from error
        return _require_object(response, self._display_url)

    def close(self) -> None:
        """See `Client.close`."""
        self._client.close()


class ElasticsearchClient:
    """The client of the package elasticsearch; see `Client`.

    The environment variables ``ELASTIC_API_KEY``, or ``ELASTIC_USERNAME`` and
    ``ELASTIC_PASSWORD``, have the credentials.
    """

    def __init__(self, url: str, timeout: float = TIMEOUT_SECS) -> None:
        import elasticsearch

        self._display_url, self._errors = redacted_url(url), elasticsearch
        user, api_key = os.environ.get("ELASTIC_USERNAME"), os.environ.get("ELASTIC_API_KEY")
        password = os.environ.get("ELASTIC_PASSWORD", "")
        self._client = elasticsearch.Elasticsearch(
            _server_address(url),
            api_key=api_key or None,
            basic_auth=(user, password) if user and not api_key else None,
            request_timeout=timeout,
            max_retries=0,
        )

    def request(
        self, method: str, path: str, body: object = None, **params: str | int | bool
    ) -> dict[str, Any]:
        """See `Client.request`."""
        errors = self._errors
        headers = {"accept": "application/json"}
        if body is not None:
            kind = "x-ndjson" if isinstance(body, str) else "json"
            headers["content-type"] = f"application/{kind}"
        try:
            response = self._client.perform_request(
                method, path, params=_text_params(params), headers=headers, body=body
            )
        except errors.ApiError as error:
            info = error.body if isinstance(error.body, dict) else {}
            reason = error_reason(info.get("error", error.message))
            meta = error.meta
            retry_after = meta.headers.get("retry-after")
            raise error_for_status(self._display_url, meta.status, reason, retry_after) from error
        except errors.UnsupportedProductError as error:
            raise EngineError(f"{self._display_url} is not an Elasticsearch server") from error
        except errors.TransportError as error:
            name = type(error).__name__
            raise EngineDownError(f"{self._display_url} does not answer: {name}") from error
        return _require_object(response.body, self._display_url)

    def close(self) -> None:
        """See `Client.close`."""
        self._client.close()


@contextmanager
def incomplete_is_down(display_url: str) -> Iterator[None]:
    """Raise `EngineDownError` if code that reads a response finds a part of it missing."""
    try:
        yield
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise EngineDownError(f"{display_url} sent an incomplete response: {error!r}") from error


def _require_object(response: object, display_url: str) -> dict[str, Any]:
    if not isinstance(response, dict):
        raise EngineDownError(f"{display_url} sent an incomplete response")
    return response


def _text_params(params: Mapping[str, str | int | bool]) -> dict[str, str]:
    return {
        name: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in params.items()
    }
