"""An index in OpenSearch or Elasticsearch: an alias of an index, whose mapping has the manifest."""

from __future__ import annotations

import json
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from contentspider.index.engine import Hit, Refused, Results, Stored, shown
from contentspider.index.engines.elastic_clients import (
    ElasticsearchClient,
    NotFoundError,
    OpenSearchClient,
    is_passing,
    reason_of,
    whole_answers,
)
from contentspider.index.engines.http import place
from contentspider.index.engines.pairs import terms, words
from contentspider.index.errors import EngineDownError, EngineError
from contentspider.index.schema import (
    FACETS,
    LISTING,
    LISTING_WEIGHT,
    TEXTS,
    Manifest,
    SchemaMismatchError,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from contentspider.index.document import Document
    from contentspider.index.engine import Query
    from contentspider.index.engines.elastic_clients import Client

META = "contentspider"
STATE = ["id", "crawl", "version", "hash"]
# What is searched of a text: its words as we cut them, since servers differ in how they cut.
WORDS = {field.name: f"{field.name}_words" for field in TEXTS}
HIDDEN = list(WORDS.values())
FIELDS: dict[str, dict[str, Any]] = {
    **{name: {"type": "keyword"} for name in ("id", "crawl", *FACETS)},
    **{name: {"type": "text", "analyzer": "whitespace"} for name in HIDDEN},
}
PAGE = 1000
MAX_FACETS = 1000
MAX_REASON_CHARS = 300
CONFLICT = 409


class OpenSearchEngine:
    """The alias that ``opensearch://host:port/index`` or ``elasticsearch://host:port/index`` names
    (``opensearch+https://``, ``elasticsearch+https://`` with TLS).
    """

    max_documents = 500
    max_bytes = 8 << 20

    def __init__(self, url: str) -> None:
        self._url, self._shown = url, shown(url)
        _, self._name = place(url)
        if self._name != self._name.lower() or self._name[0] in "-_":
            raise EngineError(
                f"{self._shown!r}: write the index in small letters, beginning with a letter or a"
                " digit"
            )
        # What is asked: the alias; an index that is made anew has none yet.
        self._asked = self._name
        self._client: Client | None = None

    def open(self, is_writer: bool) -> str:
        """See `Engine.open`."""
        self.close()
        if present := self._present():
            return Manifest.load(present[1], self._shown).identity
        if not is_writer:
            raise EngineError(
                f"{self._shown}: there is no index; 'contentspider index sync' fills one"
            )
        return self._make({self._name: {}})[0].identity

    def _present(self) -> tuple[str, str] | None:
        """Return the index's own name, and its manifest; None if it is not there."""
        try:
            answer = self._ask("GET", f"/{self._asked}/_mapping")
        except NotFoundError:
            return None
        with whole_answers(self._shown):
            if len(answer) > 1:
                raise EngineError(f"{self._shown} is an alias of several indexes: name another")
            ((name, about),) = answer.items()
            return name, str(about["mappings"].get("_meta", {}).get(META, ""))

    def _make(self, aliases: Mapping[str, object]) -> tuple[Manifest, str]:
        manifest = Manifest.new()
        name = f"{self._name}_{manifest.identity}"
        mappings = {"dynamic": False, "_meta": {META: manifest.dump()}, "properties": FIELDS}
        self._ask("PUT", f"/{name}", {"mappings": mappings, "aliases": aliases})
        return manifest, name

    def upsert(self, documents: Sequence[Document]) -> Sequence[Refused]:
        """See `Engine.upsert`."""
        refused: list[Refused] = []
        lines: dict[str, list[tuple[Document, str]]] = {}
        for document in documents:
            line = _line(document)
            if isinstance(line, Refused):
                refused.append(line)
            else:
                lines.setdefault(document.id, []).append((document, line))
        sent = [max(copies, key=lambda copy: copy[0].version) for copies in lines.values()]
        older = []
        outcomes = self._bulk(
            [
                (
                    {
                        "index": {
                            "_id": document.id,
                            "version": document.version,
                            "version_type": "external_gte",
                        }
                    },
                    line,
                )
                for document, line in sent
            ]
        )
        for (document, line), outcome in zip(sent, outcomes, strict=True):
            if outcome["status"] == CONFLICT:
                older.append((document, line))
            else:
                refused += _refused(document.id, outcome)
        return refused + self._settle(older)

    def _settle(self, older: Sequence[tuple[Document, str]]) -> list[Refused]:
        """Write those that the server takes for older ones, and that are not: for a time it knows
        the version of what was deleted, too.
        """
        if not older:
            return []
        there = self.find([document.id for document, _ in older])
        wrong = [
            (document, line)
            for document, line in older
            if document.id not in there or there[document.id].version <= document.version
        ]
        outcomes = self._bulk([({"index": {"_id": one.id}}, line) for one, line in wrong])
        return [
            entry
            for (document, _), outcome in zip(wrong, outcomes, strict=True)
            for entry in _refused(document.id, outcome)
        ]

    def delete(self, ids: Sequence[str]) -> None:
        """See `Engine.delete`."""
        for start in range(0, len(ids), self.max_documents):
            some = ids[start : start + self.max_documents]
            for outcome in self._bulk([({"delete": {"_id": name}}, "") for name in some]):
                if outcome.get("error"):
                    raise EngineError(f"{self._shown}: {reason_of(outcome['error'])}")

    def _bulk(self, actions: Sequence[tuple[Mapping[str, Any], str]]) -> list[dict[str, Any]]:
        """Return what became of each action; raises `EngineDownError` if one may be asked again."""
        if not actions:
            return []
        body = "".join(
            f"{json.dumps(action)}\n" + (f"{line}\n" if line else "") for action, line in actions
        )
        # Without it an index that somebody deletes would be made again, with no mapping of ours.
        answer = self._ask(
            "POST", f"/{self._asked}/_bulk", body, require_alias=self._asked == self._name
        )
        with whole_answers(self._shown):
            outcomes = [made for item in answer["items"] for made in item.values()]
            if len(outcomes) != len(actions):
                raise ValueError(f"{len(outcomes)} of {len(actions)}")
            for outcome in outcomes:
                if is_passing(outcome["status"]):
                    raise EngineDownError(f"{self._shown}: {reason_of(outcome.get('error'))}")
        return outcomes

    def flush(self) -> None:
        """See `Engine.flush`: what was written is safe, and is made to be found."""
        self._ask("POST", f"/{self._asked}/_refresh")

    def find(self, ids: Sequence[str]) -> Mapping[str, Stored]:
        """See `Engine.find`."""
        if not ids:
            return {}
        answer = self._ask(
            "POST", f"/{self._asked}/_mget", {"ids": list(ids)}, _source_includes=",".join(STATE)
        )
        with whole_answers(self._shown):
            for entry in answer["docs"]:
                if error := entry.get("error"):
                    raise EngineError(f"{self._shown}: {reason_of(error)}")
            return {
                entry["_id"]: Stored(**entry["_source"])
                for entry in answer["docs"]
                if entry["found"]
            }

    def documents(self, crawl: str = "") -> Iterator[Stored]:
        """See `Engine.documents`."""
        asked: dict[str, Any] = {"size": PAGE, "sort": [{"id": "asc"}], "_source": STATE}
        asked["query"] = {"term": {"crawl": crawl}} if crawl else {"match_all": {}}
        while True:
            with whole_answers(self._shown):
                hits = self._search(asked)["hits"]["hits"]
                states = [Stored(**hit["_source"]) for hit in hits]
            yield from states
            if len(states) < PAGE:
                return
            asked["search_after"] = [states[-1].id]

    def get(self, document_id: str) -> Mapping[str, Any] | None:
        """See `Engine.get`."""
        asked = {"ids": [document_id]}
        answer = self._ask(
            "POST", f"/{self._asked}/_mget", asked, _source_excludes=",".join(HIDDEN)
        )
        with whole_answers(self._shown):
            entry = answer["docs"][0]
            return dict(entry["_source"]) if entry["found"] else None

    def search(self, query: Query) -> Results:
        """See `Engine.search`; if none holds all words, those that hold some are found."""
        if unknown := query.filters.keys() - set(FACETS):
            raise EngineError(f"results are not narrowed by {', '.join(sorted(unknown))}")
        found = terms(query.words)
        if query.words.strip() and not found:
            return Results([], 0, {name: {} for name in FACETS})
        results = self._found(query, found, "must")
        if not results.total and len(found) > 1:
            results = self._found(query, found, "should")
        return results

    def _found(self, query: Query, found: Sequence[tuple[str, ...]], wanted: str) -> Results:
        fields = [f"{WORDS[field.name]}^{field.weight:g}" for field in TEXTS]
        asked: dict[str, Any] = {
            "filter": [{"term": {name: value}} for name, value in query.filters.items()]
        }
        if found:
            asked[wanted] = [
                {"multi_match": {"query": " ".join(term), "type": "phrase", "fields": fields}}
                for term in found
            ]
        if wanted == "should":
            asked["minimum_should_match"] = 1
        answer = self._search(
            {
                "query": {
                    "boosting": {
                        "positive": {"bool": asked},
                        "negative": {"term": {"page_type": LISTING}},
                        "negative_boost": LISTING_WEIGHT,
                    }
                },
                "from": query.offset,
                "size": query.limit,
                "track_total_hits": True,
                "_source": {"excludes": HIDDEN},
                "aggs": {name: {"terms": {"field": name, "size": MAX_FACETS}} for name in FACETS},
            }
        )
        with whole_answers(self._shown):
            hits = [Hit(hit["_source"], float(hit["_score"])) for hit in answer["hits"]["hits"]]
            facets = {
                name: {
                    bucket["key"]: bucket["doc_count"]
                    for bucket in answer["aggregations"][name]["buckets"]
                }
                for name in FACETS
            }
            return Results(hits, answer["hits"]["total"]["value"], facets)

    def _search(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer; one in which parts of the index are missing is none."""
        return self._ask(
            "POST", f"/{self._asked}/_search", asked, allow_partial_search_results=False
        )

    @contextmanager
    def rebuild(self) -> Iterator[tuple[OpenSearchEngine, str]]:
        """See `Engine.rebuild`: it is an index without the alias until then."""
        old = self._present()
        # One of ours, of whatever schema: nobody else's index is deleted.
        with suppress(SchemaMismatchError):
            if old:
                Manifest.load(old[1], self._shown)
        manifest, name = self._make({})
        fresh = type(self)(self._url)
        fresh._asked = name
        try:
            yield fresh, manifest.identity
            fresh.flush()
            actions: list[dict[str, Any]] = [{"add": {"index": name, "alias": self._name}}]
            if old:
                actions.append({"remove": {"index": old[0], "alias": self._name}})
            self._ask("POST", "/_aliases", {"actions": actions})
        except BaseException:
            with suppress(EngineError):
                self._ask("DELETE", f"/{name}")
            raise
        finally:
            fresh.close()
        if old:
            with suppress(NotFoundError):
                self._ask("DELETE", f"/{old[0]}")

    def close(self) -> None:
        """See `Engine.close`."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def _ask(
        self, method: str, path: str, body: object = None, **params: str | int | bool
    ) -> dict[str, Any]:
        if self._client is None:
            is_elastic = self._url.startswith("elasticsearch")
            self._client = (ElasticsearchClient if is_elastic else OpenSearchClient)(self._url)
        return self._client.ask(method, path, body, **params)


def _record(document: Document) -> dict[str, Any]:
    record = document.record()
    for name, searched in WORDS.items():
        if value := record.get(name):
            text = "\n".join(value) if isinstance(value, list) else value
            record[searched] = " ".join(words(text))
    return record


def _line(document: Document) -> str | Refused:
    try:
        return json.dumps(_record(document), allow_nan=False)
    except (TypeError, ValueError) as error:
        return Refused(document.id, f"it cannot be written: {error}")


def _refused(document_id: str, outcome: Mapping[str, Any]) -> list[Refused]:
    if error := outcome.get("error"):
        return [Refused(document_id, reason_of(error)[:MAX_REASON_CHARS])]
    return []
