"""An index in Meilisearch, with its manifest in another index of the server.

Meilisearch accepts each write as a task, and executes the task later. The engine waits for every
task, because a failed task gives no error otherwise.
"""

from __future__ import annotations

import json
from contextlib import contextmanager, suppress
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from meilisearch import Client
from meilisearch.errors import (
    MeilisearchApiError,
    MeilisearchCommunicationError,
    MeilisearchTimeoutError,
)
from meilisearch.models.task import TaskInfo
from requests import RequestException

from contentspider.index.engine import Hit, Results
from contentspider.index.engines.common import (
    MARK_END,
    MARK_START,
    SNIPPET_WORDS,
    ServerEngine,
    api_key,
    dates_to_timestamps,
    marked_pieces,
    parse_server_url,
    timestamps_to_dates,
)
from contentspider.index.errors import EngineDownError, EngineError, redacted_url, retry_after_secs
from contentspider.index.filters import PAGE_DATE
from contentspider.index.marks import Manifest, SchemaMismatchError
from contentspider.index.own_fields import ORDER, OWN, TEXT
from contentspider.index.schema import (
    DATE_FIELDS,
    FACETS,
    FIELDS_BY_NAME,
    STATE_FIELDS,
    TEXT_FIELDS,
    Document,
    DocumentState,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from contentspider.index.engine import Query, Refusal
    from contentspider.index.filters import Condition, Order

TIMEOUT_SECS = 60
# A task waits for the tasks of all other indexes of the server.
TASK_SECS = 300
POLL_MS = 20
MANIFESTS = "contentspider-manifests"
# Searched attributes, the most important first.
SEARCHED = [field.name for field in sorted(TEXT_FIELDS, key=lambda text: -text.weight)]
# The snippet of a hit is in its attribute "_formatted".
SNIPPETS: dict[str, Any] = {
    "attributesToRetrieve": list(FIELDS_BY_NAME),
    "attributesToHighlight": ["content"],
    "highlightPreTag": MARK_START,
    "highlightPostTag": MARK_END,
    "attributesToCrop": ["content"],
    "cropLength": SNIPPET_WORDS,
}
MAX_RESULTS = 100_000
MAX_FACETS = 1000
PAGE = 1000
MAX_REASON_CHARS = 300
SETTINGS: dict[str, Any] = {
    "searchableAttributes": SEARCHED,
    # An attribute with objects stands for all attributes within them.
    "filterableAttributes": ["crawl", OWN, *FACETS, *DATE_FIELDS],
    "sortableAttributes": [OWN, *DATE_FIELDS],
    # By default "proximity" is before "attribute". "page_type:asc" puts an article before a listing
    # with the same relevance.
    "rankingRules": [
        "sort",
        "words",
        "typo",
        "attribute",
        "proximity",
        "exactness",
        "page_type:asc",
    ],
    "pagination": {"maxTotalHits": MAX_RESULTS},
    "faceting": {"maxValuesPerFacet": MAX_FACETS, "sortFacetValuesBy": {"*": "count"}},
}


class _ResponseError(EngineError):
    """Meilisearch refuses a request, or a task fails, with this *reason*, a code."""

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


class MeilisearchEngine(ServerEngine):
    """The index in ``meilisearch://host:port/index`` (``meilisearch+https://`` with TLS).

    The environment variable ``MEILISEARCH_API_KEY`` has the key.
    """

    def __init__(self, url: str) -> None:
        self._display_url = redacted_url(url)
        base, self._name = parse_server_url(url)
        if base.startswith("http:") and urlsplit(base).port is None:
            base += ":7700"
        self._client = Client(base, api_key(url, "MEILISEARCH_API_KEY"), timeout=TIMEOUT_SECS)
        self._index = self._client.index(self._name)

    def open(self, is_writer: bool) -> str:
        if self._exists():
            return self._identity_of(self.manifest())
        if not is_writer:
            raise self._missing_index_error()
        manifest = Manifest.new()
        self._create_index(self._name, manifest)
        return manifest.identity

    def _exists(self) -> bool:
        try:
            with self._translate_errors():
                self._client.get_raw_index(self._name)
        except _ResponseError as error:
            if error.reason != "index_not_found":
                raise
            return False
        return True

    def manifest(self) -> str:
        """See `Engine.manifest`. An index without a manifest returns ""."""
        try:
            with self._translate_errors():
                return str(self._client.index(MANIFESTS).get_document(self._name).manifest)
        except _ResponseError as error:
            if error.reason not in ("index_not_found", "document_not_found"):
                raise
            return ""

    def write_manifest(self, text: str) -> None:
        self._write_manifest_of(self._name, text)

    def _create_index(self, name: str, manifest: Manifest) -> None:
        """Create an index with its manifest.

        The request that sets the settings also creates the index, so that no crash can leave an
        index without settings.
        """
        self._write_manifest_of(name, manifest.dump())
        with self._translate_errors():
            self._wait(self._client.index(name).update_settings(dict(SETTINGS)))

    def _write_manifest_of(self, name: str, manifest: str) -> None:
        document = {"id": name, "manifest": manifest}
        with self._translate_errors():
            self._wait(self._client.index(MANIFESTS).add_documents([document], "id"))

    def _delete_index(self, name: str) -> None:
        with self._translate_errors():
            with suppress(_ResponseError):
                self._wait(self._client.delete_index(name))
            self._wait(self._client.index(MANIFESTS).delete_document(name))

    def upsert(self, documents: Sequence[Document]) -> Sequence[Refusal]:
        """See `Engine.upsert`. Meilisearch does not compare versions, so the stored versions are
        read first. A bad document fails its whole batch, and the error does not name it.
        """
        lines, refusals = self._serialise_newest(documents, _line)
        if lines:
            with self._translate_errors():
                text = b"\n".join(lines.values())
                self._wait(self._index.add_documents_ndjson(text, "id"))
        return refusals

    def delete(self, ids: Sequence[str]) -> None:
        if ids:
            with self._translate_errors():
                # The client's own method for this is deprecated.
                path = f"indexes/{self._name}/documents/delete-batch"
                self._wait(TaskInfo(**self._client.http.post(path, list(ids))))

    def find(self, ids: Sequence[str]) -> Mapping[str, DocumentState]:
        states = {}
        for start in range(0, len(ids), PAGE):
            part = list(ids[start : start + PAGE])
            for state in self._get_documents(ids=part, limit=len(part), fields=list(STATE_FIELDS)):
                states[state["id"]] = DocumentState(**state)
        return states

    def documents(self, crawl: str = "") -> Iterator[DocumentState]:
        filters = {"filter": _equal("crawl", crawl)} if crawl else {}
        fields = list(STATE_FIELDS)
        offset = 0
        while states := self._get_documents(**filters, offset=offset, limit=PAGE, fields=fields):
            for state in states:
                # Filters ignore case.
                if crawl in ("", state["crawl"]):
                    yield DocumentState(**state)
            offset += len(states)

    def records(self, ids: Sequence[str]) -> Mapping[str, Mapping[str, Any]]:
        fields = list(FIELDS_BY_NAME)
        documents = self._get_documents(ids=list(ids), limit=len(ids), fields=fields)
        return {document["id"]: timestamps_to_dates(document) for document in documents}

    def _get_documents(self, **parameters: object) -> list[dict[str, Any]]:
        with self._translate_errors():
            return [dict(document) for document in self._index.get_documents(parameters).results]

    def _indexed_languages(self) -> Iterable[str]:
        with self._translate_errors():
            response = self._index.search("", {"hitsPerPage": 0, "facets": ["language"]})
            return list(response["facetDistribution"].get("language", {}))

    def _search_server(self, query: Query, words: Sequence[str]) -> Results:
        for strategy in ("all", "last"):
            results = self._results(query, words, strategy)
            if results.total:
                break
        return results

    def _results(self, query: Query, words: Sequence[str], strategy: str) -> Results:
        """Return the results of a query by a strategy of matching."""
        paths = {name: name for name in FACETS}
        paths |= {f"fields.{name}": f"{OWN}.{TEXT}.{name}" for name in query.counted}
        options = {
            **SNIPPETS,
            # One condition of each inner list has to be true.
            "filter": [
                *(_any_of(name, values) for name, values in query.conditions.items()),
                *(list(map(_condition, alternatives)) for alternatives in query.required),
            ],
            "matchingStrategy": strategy,
            "facets": list(paths.values()),
            "sort": _order(query.order),
            # Only a search by pages counts all hits. A page has the hits before the offset, too.
            "hitsPerPage": query.offset + query.limit,
            "showRankingScore": True,
        }
        with self._translate_errors():
            response = self._index.search(" ".join(words), options)
            counts = response["facetDistribution"]
            facets = {name: dict(counts.get(path, {})) for name, path in paths.items()}
            hits = [_hit(hit) for hit in response["hits"][query.offset :]]
            return Results(hits, int(response["totalHits"]), facets)

    @contextmanager
    def rebuild(self) -> Iterator[tuple[MeilisearchEngine, str]]:
        """See `Engine.rebuild`. The new index has another name until the server swaps the two."""
        manifest = Manifest.new()
        name = f"{self._name}-{manifest.identity}"
        if self._exists():
            # Any schema may be replaced, but only an index that contentspider created.
            with suppress(SchemaMismatchError):
                self._identity_of(self.manifest())
        else:
            self._create_index(self._name, Manifest.new())
        self._create_index(name, manifest)
        new_engine = MeilisearchEngine(self._display_url)
        new_engine._name, new_engine._index = name, self._client.index(name)
        try:
            yield new_engine, manifest.identity
            with self._translate_errors():
                self._wait(self._client.swap_indexes([{"indexes": [self._name, name]}]))
        except BaseException:
            with suppress(EngineError):
                self._delete_index(name)
            raise
        finally:
            new_engine.close()
        # The manifest follows after the swap. A crash between them leaves the new index with the
        # old manifest, and the old marks only cause more work than necessary.
        self._write_manifest_of(self._name, new_engine.manifest())
        self._delete_index(name)

    def close(self) -> None:
        """See `Engine.close`. Each request has a connection of its own, so nothing is open."""

    def _wait(self, task: TaskInfo) -> None:
        """Wait until a task is done; raises `EngineError` if the task fails."""
        done = self._client.wait_for_task(task.task_uid, TASK_SECS * 1000, POLL_MS)
        if done.status == "succeeded":
            return
        failure = done.error or {}
        message = f"{self._display_url}: {failure.get('message') or f'a task is {done.status}'}"
        # The server's disk or memory is full, or somebody canceled the task.
        if done.status != "failed" or failure.get("type") in ("internal", "system"):
            raise EngineDownError(message)
        raise _ResponseError(message, str(failure.get("code")))

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """Raise errors of the client as `EngineError` or `EngineDownError`."""
        try:
            yield
        except MeilisearchApiError as error:
            reason = error.message or f"HTTP {error.status_code}"
            message = f"{self._display_url}: {reason[:MAX_REASON_CHARS]}"
            if error.status_code in (408, 429) or error.status_code >= 500:
                response = getattr(error.__cause__, "response", None)
                wait = response.headers.get("Retry-After") if response is not None else None
                raise EngineDownError(message, retry_after_secs(wait)) from error
            raise _ResponseError(message, str(error.code)) from error
        except MeilisearchTimeoutError as error:
            raise EngineDownError(f"{self._display_url} takes too long: {error}") from error
        except (MeilisearchCommunicationError, RequestException) as error:
            raise EngineDownError(f"{self._display_url} does not answer: {error}") from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            message = f"{self._display_url} sent an incomplete response: {error!r}"
            raise EngineDownError(message) from error


def _line(document: Document) -> bytes:
    """Return a document as a line of JSON."""
    record = dates_to_timestamps(document.record())
    if own_values := document.own_values():
        record[OWN] = own_values
    return json.dumps(record, ensure_ascii=False, allow_nan=False).encode()


def _hit(hit: dict[str, Any]) -> Hit:
    """Return a hit of Meilisearch's with its snippet."""
    score, formatted = float(hit.pop("_rankingScore")), hit.pop("_formatted")
    pieces = marked_pieces(formatted.get("content", ""))
    return Hit(timestamps_to_dates(hit), score, snippet=pieces)


def _condition(condition: Condition) -> str:
    """Return the filter expression for a condition on a field."""
    path, (first, *further) = condition.name, condition.bounds
    if condition.type != PAGE_DATE:
        path = f"{OWN}.{condition.type}.{path}"
    if condition.type == TEXT:
        return _equal(path, str(first.value))
    if further:
        return f"{path} {first.value} TO {further[0].value}"
    return f"{path} {first.operator} {Decimal(repr(first.value)):f}"


def _order(order: Order | None) -> list[str]:
    """Return the order of results by a field, if there is such an order."""
    if order is None:
        return []
    path = order.name if order.is_page_date else f"{OWN}.{ORDER}.{order.name}"
    return [f"{path}:{'desc' if order.is_descending else 'asc'}"]


def _equal(name: str, value: str) -> str:
    """Return a filter expression for one value."""
    return f"{name} = {_literal(value)}"


def _any_of(name: str, values: Sequence[str]) -> str:
    """Return a filter expression for any of several values."""
    return f"{name} IN [{', '.join(map(_literal, values))}]"


def _literal(value: str) -> str:
    """Return a filter value in quotes, so that no part of it is syntax."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
