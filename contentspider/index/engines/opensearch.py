"""An index in OpenSearch or Elasticsearch.

The name in the URL is an alias of the index. The index's mapping holds the manifest.
"""

from __future__ import annotations

import json
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from contentspider.index.engine import Hit, Refusal, Results
from contentspider.index.engines.clients import (
    ElasticsearchClient,
    NotFoundError,
    OpenSearchClient,
    error_reason,
    incomplete_is_down,
)
from contentspider.index.engines.common import (
    MARK_END,
    MARK_START,
    ServerEngine,
    content_snippet,
    parse_server_url,
)
from contentspider.index.errors import EngineDownError, EngineError, is_temporary, redacted_url
from contentspider.index.filters import PAGE_DATE, utc_text
from contentspider.index.marks import Manifest, SchemaMismatchError
from contentspider.index.own_fields import DATE, NUMBER, ORDER, OWN, TEXT
from contentspider.index.schema import (
    DEMOTED_TYPES,
    DEMOTED_WEIGHT,
    FACETS,
    FIELDS,
    STATE_FIELDS,
    TEXT_FIELDS,
    Document,
    DocumentState,
    Kind,
    join_lines,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from contentspider.index.engine import Query
    from contentspider.index.engines.clients import Client
    from contentspider.index.filters import Condition, Order

META = "contentspider"
# The name of the server's analyzer for each language tag.
ANALYZERS = dict(
    entry.split(":")
    for entry in (
        "ar:arabic bg:bulgarian bn:bengali ca:catalan ckb:sorani cs:czech da:danish de:german"
        " el:greek en:english es:spanish et:estonian eu:basque fa:persian fi:finnish fr:french"
        " ga:irish gl:galician hi:hindi hu:hungarian hy:armenian id:indonesian it:italian"
        " lt:lithuanian lv:latvian nb:norwegian nl:dutch no:norwegian pt:portuguese ro:romanian"
        " ru:russian sv:swedish th:thai tr:turkish"
    ).split()
)
FILTERS = ["cjk_width", "lowercase", "cjk_bigram", "asciifolding"]
ANALYSIS = {
    "filter": {"all_cjk": {"type": "cjk_bigram", "output_unigrams": True}},
    "analyzer": {
        # Words of any language without accents. Chinese, Japanese and Korean texts become pairs of
        # characters.
        "query": {"type": "custom", "tokenizer": "standard", "filter": FILTERS},
        # Indexed texts also become single characters, for queries of one character.
        "folded": {
            "type": "custom",
            "tokenizer": "standard",
            "filter": ["all_cjk" if name == "cjk_bigram" else name for name in FILTERS],
        },
    },
}
# Extra fields beside the texts: the title and the other texts under the document's language, for
# that language's analyzer.
TITLE_STEMS, STEMS = "title_stems", "stems"
EXTRA_FIELDS = [TITLE_STEMS, STEMS, OWN]
TEMPLATES: list[dict[str, Any]] = [
    {
        f"{name}_{tag}": {
            "path_match": f"{name}.{tag}",
            "mapping": {"type": "text", "analyzer": analyzer},
        }
    }
    for name in (TITLE_STEMS, STEMS)
    for tag, analyzer in ANALYZERS.items()
]
# Lucene refuses documents with longer keywords. A character has up to four bytes.
KEYWORD = {"type": "keyword", "ignore_above": 8000}
OWN_TYPES: dict[str, dict[str, Any]] = {
    TEXT: KEYWORD,
    NUMBER: {"type": "double"},
    DATE: {"type": "long"},
    ORDER: {"type": "double"},
}
TEMPLATES += [
    {f"{OWN}_{kind}": {"path_match": f"{OWN}.{kind}.*", "mapping": mapping}}
    for kind, mapping in OWN_TYPES.items()
]
TYPES: dict[Kind, dict[str, Any]] = {
    Kind.TEXT: {"type": "text", "analyzer": "folded", "search_analyzer": "query"},
    Kind.KEYWORD: KEYWORD,
    Kind.DATE: {"type": "date"},
    Kind.NUMBER: {"type": "long"},
    Kind.STORED: {"type": "object", "enabled": False},
}
PROPERTIES: dict[str, dict[str, Any]] = {
    **{field.name: TYPES[field.kind] for field in FIELDS},
    **{name: {"type": "object", "dynamic": True} for name in (TITLE_STEMS, STEMS, OWN)},
}
QUERY_FIELDS = [f"{field.name}^{field.weight:g}" for field in TEXT_FIELDS]
QUERY_FIELDS += [f"{TITLE_STEMS}.*^{TEXT_FIELDS[0].weight:g}", f"{STEMS}.*"]
# The ways to search the words of a query, until one finds a document: all words, all or similar
# words, any word. The server splits words further, such as texts without spaces.
SIMILAR = {"operator": "and", "fuzziness": "AUTO:4,8", "prefix_length": 1}
ATTEMPTS: Sequence[tuple[str, Mapping[str, Any]]] = (
    ("must", {"type": "phrase"}),
    ("must", SIMILAR),
    ("should", SIMILAR),
)
MAX_TERMS = 64
# The server refuses to mark words in longer texts; without this option from a million characters.
MARKED_CHARS = 100_000_000
SNIPPETS: dict[str, Any] = {
    "pre_tags": [MARK_START],
    "post_tags": [MARK_END],
    "require_field_match": False,
    "fragment_size": 240,
    "number_of_fragments": 1,
    "fields": {"content": {}, f"{STEMS}.*": {}},
}
RANGES = {"<": "lt", "<=": "lte", ">": "gt", ">=": "gte"}
PAGE = 1000
MAX_FACETS = 1000
MAX_REASON_CHARS = 300
CONFLICT = 409


class OpenSearchEngine(ServerEngine):
    """The alias in ``opensearch://host:port/index`` or ``elasticsearch://host:port/index``.

    ``opensearch+https://`` and ``elasticsearch+https://`` use TLS.
    """

    def __init__(self, url: str) -> None:
        self._url, self._display_url = url, redacted_url(url)
        _, self._alias = parse_server_url(url)
        if self._alias != self._alias.lower() or self._alias[0] in "-_":
            raise EngineError(
                f"{self._display_url!r}: write the index in lower case, beginning with a letter"
                " or a digit"
            )
        # Requests go to the alias. During a rebuild the new index lacks the alias.
        self._target = self._alias
        self._client: Client | None = None

    def open(self, is_writer: bool) -> str:
        self.close()
        if present := self._present_index():
            return self._identity_of(present[1])
        if not is_writer:
            raise self._missing_index_error()
        return self._create_index({self._alias: {}})[0].identity

    def _present_index(self) -> tuple[str, str] | None:
        """Return the index's name behind the alias and its manifest, or None if it is missing."""
        try:
            response = self._request("GET", f"/{self._target}/_mapping")
        except NotFoundError:
            return None
        with incomplete_is_down(self._display_url):
            if len(response) > 1:
                raise EngineError(
                    f"{self._display_url} is an alias of several indexes: name another index"
                )
            ((name, description),) = response.items()
            return name, str(description["mappings"].get("_meta", {}).get(META, ""))

    def manifest(self) -> str:
        present = self._present_index()
        return present[1] if present else ""

    def write_manifest(self, text: str) -> None:
        self._request("PUT", f"/{self._target}/_mapping", {"_meta": {META: text}})

    def _create_index(self, aliases: Mapping[str, object]) -> tuple[Manifest, str]:
        """Create an index with these aliases, and return its manifest and its name."""
        manifest = Manifest.new()
        name = f"{self._alias}_{manifest.identity}"
        mappings = {
            "dynamic": False,
            "_meta": {META: manifest.dump()},
            "properties": PROPERTIES,
            "dynamic_templates": TEMPLATES,
        }
        settings = {"analysis": ANALYSIS, "index.highlight.max_analyzed_offset": MARKED_CHARS}
        body = {"settings": settings, "mappings": mappings, "aliases": aliases}
        self._request("PUT", f"/{name}", body)
        return manifest, name

    def upsert(self, documents: Sequence[Document]) -> Sequence[Refusal]:
        newest, refusals = _serialise(documents)
        actions: list[tuple[Mapping[str, Any], str]] = []
        for document, line in newest:
            version = {"version": document.version, "version_type": "external_gte"}
            actions.append(({"index": {"_id": document.id} | version}, line))
        conflicts = []
        for (document, line), outcome in zip(newest, self._bulk(actions), strict=True):
            if outcome["status"] == CONFLICT:
                conflicts.append((document, line))
            else:
                refusals += _refusals(document.id, outcome)
        return refusals + self._resolve_conflicts(conflicts)

    def _resolve_conflicts(self, conflicts: Sequence[tuple[Document, str]]) -> list[Refusal]:
        """Write documents that the server takes for outdated by mistake.

        For some time the server remembers the versions of deleted documents, too.
        """
        if not conflicts:
            return []
        states = self.find([document.id for document, _ in conflicts])
        current = [
            (document, line)
            for document, line in conflicts
            if document.id not in states or states[document.id].version <= document.version
        ]
        actions = [({"index": {"_id": document.id}}, line) for document, line in current]
        refusals: list[Refusal] = []
        for (document, _), outcome in zip(current, self._bulk(actions), strict=True):
            refusals += _refusals(document.id, outcome)
        return refusals

    def delete(self, ids: Sequence[str]) -> None:
        for start in range(0, len(ids), self.max_documents):
            part = ids[start : start + self.max_documents]
            for outcome in self._bulk([({"delete": {"_id": name}}, "") for name in part]):
                if outcome.get("error"):
                    raise EngineError(f"{self._display_url}: {error_reason(outcome['error'])}")

    def _bulk(self, actions: Sequence[tuple[Mapping[str, Any], str]]) -> list[dict[str, Any]]:
        """Send actions with their lines in one request, and return an outcome for each action.

        Raises `EngineDownError` if a retry of any action may help.
        """
        if not actions:
            return []
        body = "".join(
            f"{json.dumps(action)}\n" + (f"{line}\n" if line else "") for action, line in actions
        )
        # Without `require_alias` the server creates a deleted index again, without our mapping.
        response = self._request(
            "POST", f"/{self._target}/_bulk", body, require_alias=self._target == self._alias
        )
        with incomplete_is_down(self._display_url):
            outcomes = [outcome for item in response["items"] for outcome in item.values()]
            if len(outcomes) != len(actions):
                raise ValueError(f"{len(outcomes)} of {len(actions)}")
            for outcome in outcomes:
                if is_temporary(outcome["status"]):
                    reason = error_reason(outcome.get("error"))
                    raise EngineDownError(f"{self._display_url}: {reason}")
        return outcomes

    def flush(self) -> None:
        """See `Engine.flush`. Writes are durable already; a refresh makes them visible."""
        self._request("POST", f"/{self._target}/_refresh")

    def find(self, ids: Sequence[str]) -> Mapping[str, DocumentState]:
        with incomplete_is_down(self._display_url):
            found = self._sources(ids, _source_includes=",".join(STATE_FIELDS))
            return {name: DocumentState(**source) for name, source in found.items()}

    def _sources(self, ids: Sequence[str], **parameters: str) -> dict[str, dict[str, Any]]:
        """Return the stored JSON of the documents with these ids that exist."""
        if not ids:
            return {}
        body = {"ids": list(ids)}
        response = self._request("POST", f"/{self._target}/_mget", body, **parameters)
        with incomplete_is_down(self._display_url):
            for entry in response["docs"]:
                if error := entry.get("error"):
                    raise EngineError(f"{self._display_url}: {error_reason(error)}")
            return {
                entry["_id"]: dict(entry["_source"]) for entry in response["docs"] if entry["found"]
            }

    def documents(self, crawl: str = "") -> Iterator[DocumentState]:
        body: dict[str, Any] = {
            "size": PAGE,
            "sort": [{"id": "asc"}],
            "_source": list(STATE_FIELDS),
            "query": {"term": {"crawl": crawl}} if crawl else {"match_all": {}},
        }
        while True:
            with incomplete_is_down(self._display_url):
                hits = self._search(body)["hits"]["hits"]
                states = [DocumentState(**hit["_source"]) for hit in hits]
            yield from states
            if len(states) < PAGE:
                return
            body["search_after"] = [states[-1].id]

    def count(self, crawl: str) -> int:
        body = {"query": {"term": {"crawl": crawl}}}
        response = self._request("POST", f"/{self._target}/_count", body)
        with incomplete_is_down(self._display_url):
            return int(response["count"])

    def records(self, ids: Sequence[str]) -> Mapping[str, Mapping[str, Any]]:
        return self._sources(ids, _source_excludes=",".join(EXTRA_FIELDS))

    def _indexed_languages(self) -> Iterable[str]:
        languages = {"terms": {"field": "language", "size": MAX_FACETS}}
        response = self._search({"size": 0, "aggs": {"languages": languages}})
        with incomplete_is_down(self._display_url):
            return [bucket["key"] for bucket in response["aggregations"]["languages"]["buckets"]]

    def _search_server(self, query: Query, words: Sequence[str]) -> Results:
        for occur, options in ATTEMPTS:
            clauses = [
                {"multi_match": {"query": word, "fields": QUERY_FIELDS, **options}}
                for word in words[:MAX_TERMS]
            ]
            results = self._results(query, {"bool": {occur: clauses}})
            if results.total or not words:
                break
        return results

    def _results(self, query: Query, clause: Mapping[str, Any]) -> Results:
        """Return the documents that match a clause and the filters of a query."""
        filters: list[dict[str, Any]] = [
            *({"terms": {name: values}} for name, values in query.conditions.items()),
            *({"bool": {"should": list(map(_condition, each))}} for each in query.required),
        ]
        paths = {name: name for name in FACETS}
        paths |= {f"fields.{name}": f"{OWN}.{TEXT}.{name}" for name in query.counted}
        response = self._search(
            {
                "query": {
                    "boosting": {
                        "positive": {"bool": {"must": clause, "filter": filters}},
                        "negative": {"terms": {"page_type": list(DEMOTED_TYPES)}},
                        "negative_boost": DEMOTED_WEIGHT,
                    }
                },
                "sort": _order(query.order),
                "track_scores": True,
                "from": query.offset,
                "size": query.limit,
                "track_total_hits": True,
                "_source": {"excludes": EXTRA_FIELDS},
                "highlight": SNIPPETS,
                "aggs": {
                    name: {"terms": {"field": path, "size": MAX_FACETS}}
                    for name, path in paths.items()
                },
            }
        )
        with incomplete_is_down(self._display_url):
            counts = response["aggregations"]
            facets = {
                name: {each["key"]: each["doc_count"] for each in counts[name]["buckets"]}
                for name in paths
            }
            found = response["hits"]
            return Results(list(map(_hit, found["hits"])), found["total"]["value"], facets)

    def _search(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return the response to a search; raises an error if parts of the index do not answer."""
        return self._request(
            "POST", f"/{self._target}/_search", body, allow_partial_search_results=False
        )

    @contextmanager
    def rebuild(self) -> Iterator[tuple[OpenSearchEngine, str]]:
        """See `Engine.rebuild`. The new index gets the alias at the end."""
        present = self._present_index()
        if present:
            # Any schema may be replaced, but only an index that contentspider created.
            with suppress(SchemaMismatchError):
                self._identity_of(present[1])
        manifest, name = self._create_index({})
        new_engine = type(self)(self._url)
        new_engine._target = name
        try:
            yield new_engine, manifest.identity
            new_engine.flush()
            actions: list[dict[str, Any]] = [{"add": {"index": name, "alias": self._alias}}]
            if present:
                actions.append({"remove": {"index": present[0], "alias": self._alias}})
            self._request("POST", "/_aliases", {"actions": actions})
        except BaseException:
            with suppress(EngineError):
                self._request("DELETE", f"/{name}")
            raise
        finally:
            new_engine.close()
        if present:
            with suppress(NotFoundError):
                self._request("DELETE", f"/{present[0]}")

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None

    def _request(
        self, method: str, path: str, body: object = None, **params: str | int | bool
    ) -> dict[str, Any]:
        if self._client is None:
            is_elastic = self._url.startswith("elasticsearch")
            self._client = (ElasticsearchClient if is_elastic else OpenSearchClient)(self._url)
        return self._client.request(method, path, body, **params)


def _condition(condition: Condition) -> dict[str, Any]:
    """Return the clause for a condition on a field."""
    path, bounds = f"{OWN}.{condition.type}.{condition.name}", condition.bounds
    if condition.type == PAGE_DATE:
        texts = {RANGES[operator]: utc_text(float(value)) for operator, value in bounds}
        return {"range": {condition.name: texts}}
    if bounds[0].operator == "=":
        return {"term": {path: bounds[0].value}}
    return {"range": {path: {RANGES[operator]: value for operator, value in bounds}}}


def _order(order: Order | None) -> list[Any]:
    """Return the order of results: by a field first, if there is such an order."""
    if order is None:
        return ["_score"]
    direction = "desc" if order.is_descending else "asc"
    rules = {"order": direction, "missing": "_last"}
    if order.is_page_date:
        return [{order.name: rules}, "_score"]
    own_rules = rules | {"unmapped_type": OWN_TYPES[ORDER]["type"]}
    return [{f"{OWN}.{ORDER}.{order.name}": own_rules}, "_score"]


def _hit(hit: Mapping[str, Any]) -> Hit:
    """Return a hit of the server's with its snippet."""
    source = hit["_source"]
    snippets = [snippet for texts in hit.get("highlight", {}).values() for snippet in texts]
    pieces = content_snippet(source.get("content", ""), snippets)
    return Hit(source, float(hit["_score"]), snippet=pieces)


def _record(document: Document) -> dict[str, Any]:
    """Return the fields of a document, with the extra fields for stems."""
    record = document.record()
    title, *other_texts = (join_lines(record.get(field.name)) for field in TEXT_FIELDS)
    language = record.get("language", "").partition("-")[0].lower()
    if language in ANALYZERS:
        record |= {TITLE_STEMS: {language: title}, STEMS: {language: "\n".join(other_texts)}}
    if own_values := document.own_values():
        record[OWN] = own_values
    return record


def _serialise(
    documents: Sequence[Document],
) -> tuple[list[tuple[Document, str]], list[Refusal]]:
    """Return the newest document of each id with its JSON, and refusals for invalid documents."""
    newest: dict[str, tuple[Document, str]] = {}
    refusals: list[Refusal] = []
    for document in documents:
        try:
            line = json.dumps(_record(document), allow_nan=False)
        except (TypeError, ValueError) as error:
            refusals.append(Refusal(document.id, f"it cannot be serialised: {error}"))
            continue
        if document.id not in newest or newest[document.id][0].version < document.version:
            newest[document.id] = (document, line)
    return list(newest.values()), refusals


def _refusals(document_id: str, outcome: Mapping[str, Any]) -> list[Refusal]:
    """Return the refusal in the outcome of an action, if it has an error."""
    if error := outcome.get("error"):
        return [Refusal(document_id, error_reason(error)[:MAX_REASON_CHARS])]
    return []
