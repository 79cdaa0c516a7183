"""An index in OpenSearch or Elasticsearch: an alias of an index, whose mapping has the manifest."""

from __future__ import annotations

import json
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from contentspider.index.engine import Engine, Hit, Refused, Results, shown
from contentspider.index.engines.clients import (
    ElasticsearchClient,
    NotFoundError,
    OpenSearchClient,
    is_passing,
    reason_of,
    whole_answers,
)
from contentspider.index.engines.common import place
from contentspider.index.errors import EngineDownError, EngineError
from contentspider.index.schema import (
    FACETS,
    FIELDS,
    LISTING,
    LISTING_WEIGHT,
    OWN,
    TEXTS,
    Document,
    Kind,
    Manifest,
    SchemaMismatchError,
    Stored,
    joined,
)
from contentspider.index.words import MAX_TERMS, is_south_east, rows, split, words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from contentspider.index.engine import Query
    from contentspider.index.engines.clients import Client
    from contentspider.index.words import Term

META = "contentspider"
# What a language's analyzer is called, by the language's tag.
ANALYZERS = dict(
    entry.split(":")
    for entry in (
        "ar:arabic bg:bulgarian bn:bengali ca:catalan ckb:sorani cs:czech da:danish de:german"
        " el:greek en:english es:spanish et:estonian eu:basque fa:persian fi:finnish fr:french"
        " ga:irish gl:galician hi:hindi hu:hungarian hy:armenian id:indonesian it:italian"
        " lt:lithuanian lv:latvian nb:norwegian nl:dutch no:norwegian pt:portuguese ro:romanian"
        " ru:russian sv:swedish tr:turkish"
    ).split()
)
FILTERS = ["cjk_width", "lowercase", "cjk_bigram", "asciifolding"]
ANALYSIS = {
    "filter": {"all_cjk": {"type": "cjk_bigram", "output_unigrams": True}},
    "analyzer": {
        # Words in any language without accents; of Chinese, Japanese and Korean pairs.
        "asked": {"type": "custom", "tokenizer": "standard", "filter": FILTERS},
        "folded": {
            "type": "custom",
            "tokenizer": "standard",
            "filter": ["all_cjk" if name == "cjk_bigram" else name for name in FILTERS],
        },
    },
}
# Beside the texts as they are: title and other texts by the document's language, for its analyzer;
# and pairs of characters of Thai, Lao, Khmer and Burmese.
TITLE_STEMS, STEMS, PAIRS = "title_stems", "stems", "pairs"
HIDDEN = [TITLE_STEMS, STEMS, PAIRS]
TEMPLATES = [
    {
        f"{name}_{tag}": {
            "path_match": f"{name}.{tag}",
            "mapping": {"type": "text", "analyzer": analyzer},
        }
    }
    for name in (TITLE_STEMS, STEMS)
    for tag, analyzer in ANALYZERS.items()
]
TYPES: dict[Kind, dict[str, Any]] = {
    Kind.TEXT: {"type": "text", "analyzer": "folded", "search_analyzer": "asked"},
    Kind.KEYWORD: {"type": "keyword", "ignore_above": 8000},
    Kind.DATE: {"type": "date"},
    Kind.NUMBER: {"type": "long"},
    Kind.STORED: {"type": "object", "enabled": False},
}
PROPERTIES: dict[str, dict[str, Any]] = {
    **{field.name: TYPES[field.kind] for field in FIELDS},
    **{name: {"type": "object", "dynamic": True} for name in (TITLE_STEMS, STEMS)},
    PAIRS: {"type": "text", "analyzer": "whitespace"},
}
SEARCHED = [f"{field.name}^{field.weight:g}" for field in TEXTS]
SEARCHED += [f"{TITLE_STEMS}.*^{TEXTS[0].weight:g}", f"{STEMS}.*"]
PAGE = 1000
MAX_FACETS = 1000
MAX_REASON_CHARS = 300
CONFLICT = 409


class OpenSearchEngine(Engine):
    """The alias that ``opensearch://host:port/index`` or ``elasticsearch://host:port/index`` names
    (``opensearch+https://``, ``elasticsearch+https://`` with TLS).
    """

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
        self.close()
        if present := self._present():
            return self._identity_of(present[1])
        if not is_writer:
            raise self._absent()
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

    def manifest(self) -> str:
        present = self._present()
        return present[1] if present else ""

    def keep_manifest(self, text: str) -> None:
        self._ask("PUT", f"/{self._asked}/_mapping", {"_meta": {META: text}})

    def _make(self, aliases: Mapping[str, object]) -> tuple[Manifest, str]:
        manifest = Manifest.new()
        name = f"{self._name}_{manifest.identity}"
        mappings = {
            "dynamic": False,
            "_meta": {META: manifest.dump()},
            "properties": PROPERTIES,
            "dynamic_templates": TEMPLATES,
        }
        made = {"settings": {"analysis": ANALYSIS}, "mappings": mappings, "aliases": aliases}
        self._ask("PUT", f"/{name}", made)
        return manifest, name

    def upsert(self, documents: Sequence[Document]) -> Sequence[Refused]:
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
        if not ids:
            return {}
        answer = self._ask(
            "POST", f"/{self._asked}/_mget", {"ids": list(ids)}, _source_includes=",".join(OWN)
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
        asked: dict[str, Any] = {"size": PAGE, "sort": [{"id": "asc"}], "_source": list(OWN)}
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
        asked = {"ids": [document_id]}
        answer = self._ask(
            "POST", f"/{self._asked}/_mget", asked, _source_excludes=",".join(HIDDEN)
        )
        with whole_answers(self._shown):
            entry = answer["docs"][0]
            return dict(entry["_source"]) if entry["found"] else None

    def _present_languages(self) -> Iterable[str]:
        return ()  # each language's analyzer makes the stems of a query

    def _found(self, query: Query, wanted: Sequence[Term], is_all: bool) -> Results:
        asked: dict[str, Any] = {
            "filter": [{"term": {name: value}} for name, value in query.filters.items()],
            "must" if is_all else "should": _clauses(query.words) if wanted else [],
        }
        if not is_all:
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
                self._identity_of(old[1])
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


def _clauses(words: str) -> list[dict[str, Any]]:
    """Return what is asked for each word, in any field."""
    clauses: list[dict[str, Any]] = []
    for word in dict.fromkeys(split(words)):
        if is_south_east(word):
            clauses += [{"match_phrase": {PAIRS: " ".join(row)}} for row in rows(word)]
        else:
            fields: dict[str, object] = {"type": "phrase", "fields": SEARCHED}
            clauses.append({"multi_match": fields | {"query": word}})
    return clauses[:MAX_TERMS]


def _record(document: Document) -> dict[str, Any]:
    record = document.record()
    title, *others = (joined(record.get(field.name)) for field in TEXTS)
    language = record.get("language", "").partition("-")[0].lower()
    if language in ANALYZERS:
        record |= {TITLE_STEMS: {language: title}, STEMS: {language: "\n".join(others)}}
    runs = filter(is_south_east, split("\n".join([title, *others])))
    if pairs := [word for run in runs for word in words(run)]:
        record[PAIRS] = " ".join(pairs)
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
