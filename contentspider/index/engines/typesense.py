"""An index in Typesense: an alias of a collection.

The collection's name contains the version of the schema and the identity of the index.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from contextlib import contextmanager, suppress
from dataclasses import replace
from decimal import Decimal
from itertools import chain
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

import httpx
from typesense.configuration import Configuration
from typesense.exceptions import ObjectAlreadyExists, ObjectNotFound, TypesenseClientError
from typesense.sync.api_call import ApiCall

from contentspider.ground.counts import counted
from contentspider.index.engine import Hit, Refusal, Results
from contentspider.index.engines.common import (
    MARK_END,
    MARK_START,
    SNIPPET_WORDS,
    ServerEngine,
    api_key,
    content_snippet,
    dates_to_timestamps,
    parse_server_url,
    timestamps_to_dates,
)
from contentspider.index.errors import EngineDownError, EngineError, redacted_url, retry_after_secs
from contentspider.index.filters import PAGE_DATE
from contentspider.index.marks import Manifest, SchemaMismatchError
from contentspider.index.own_fields import (
    DATE,
    NUMBER,
    ORDER,
    TEXT,
    with_sortable_integers,
)
from contentspider.index.reranking import MAX_RERANKED, reranked
from contentspider.index.schema import (
    DATE_FIELDS,
    DEMOTED_TYPES,
    FACETS,
    STATE_FIELDS,
    TEXT_FIELDS,
    Document,
    DocumentState,
    join_lines,
    valid_utf8,
)
from contentspider.index.term_engine import FEW_PAGES
from contentspider.index.titles import (
    INSIDE_SCORE,
    MANY_WORDS,
    MAX_PAGES,
    MAX_WORDS,
    NAMED_SCORE,
    PART_SCORE,
    SEPARATOR,
    WEAK_SEPARATOR,
    possible_titles,
    title_parts,
    title_scores,
)
from contentspider.index.words import phrase_of
from contentspider.page.tree.text import strip_signs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from contentspider.index.engine import Query
    from contentspider.index.filters import Condition, Order

TIMEOUT_SECS = 60
# Not all versions of Typesense store metadata of a collection. So the constant parts of a manifest
# are in the collection's name, and another collection stores the manifests that have marks.
COLLECTION = re.compile(r".+-(\d+)-([0-9a-f]{32})")
MANIFESTS = "contentspider-manifests"
MANIFESTS_COLLECTION = {
    "name": MANIFESTS,
    "fields": [{"name": "manifest", "type": "string", "index": False, "optional": True}],
}
STATE = ",".join(STATE_FIELDS)
# Typesense finds words in texts without spaces, or with other signs between words (the tsheg of
# Tibetan, the wordspace of Ethiopic), only in fields of such a language. This field has the texts
# of pages in these languages once more. A "th" field finds words of all of them.
UNSPACED = "unspaced"
UNSPACED_LANGUAGES = {"ja", "zh", "th", "lo", "km", "my", "bo", "dz", "am", "ti"}
FIELDS: list[dict[str, Any]] = [
    {"name": "crawl", "type": "string"},
    *({"name": name, "type": "string", "facet": True, "optional": True} for name in FACETS),
    # Typesense filters and sorts by numbers, not by dates.
    *({"name": name, "type": "int64", "optional": True} for name in DATE_FIELDS),
    *(
        {"name": field.name, "type": "string[]" if field.is_list else "string", "optional": True}
        for field in TEXT_FIELDS
    ),
    {"name": UNSPACED, "type": "string[]", "optional": True, "locale": "th"},
    # Typesense adds a field to the collection when a document has one with such a name.
    *(
        {"name": f"{kind}_.*", "type": field_type, "optional": True, "facet": kind == TEXT}
        for kind, field_type in (
            (TEXT, "string[]"),
            (NUMBER, "float[]"),
            (DATE, "int64[]"),
            (ORDER, "int64"),
        )
    ),
]
OWN_FIELD = re.compile(f"({TEXT}|{NUMBER}|{DATE}|{ORDER})_")
# Typesense's options for searches. The first of the fields counts most. With texts of links before
# headings, more pages are found by texts of links (MRR@10 of mentions: 0.714 instead of 0.683).
SEARCHED = ["title", "anchors", "headings", "description", "keywords", "content", UNSPACED]
SEARCH: dict[str, Any] = {
    "query_by": ",".join(SEARCHED),
    "highlight_fields": f"content,{UNSPACED}",
    "highlight_start_tag": MARK_START,
    "highlight_end_tag": MARK_END,
    "highlight_affix_num_tokens": SNIPPET_WORDS // 2,
}
# Typesense removes symbols from values. Without this list it takes a-b.org for ab.org.
SYMBOLS = [".", "-", "_", ":", "/", "@"]
# The score of the first of Typesense's results, in the size of `NAMED_SCORE`, and how fast scores
# fall. Measured with 30 and 60, 0.2 and 0.5.
BEST_SCORE, PLACE_SHARE = 30.0, 0.2
# The most documents that Typesense returns in one response.
PAGE = 250
DELETED_AT_ONCE = 100
MAX_REASON_CHARS = 300
# Typesense's own order of relevance. Of equally relevant documents `DEMOTED_TYPES` come last.
OTHER_TYPES = " && ".join(f"page_type:!={page_type}" for page_type in DEMOTED_TYPES)
RELEVANCE = f"_text_match:desc,_eval({OTHER_TYPES}):desc"


class TypesenseEngine(ServerEngine):
    """The collection alias in ``typesense://host:port/alias`` (``typesense+https://`` with TLS).

    The environment variable ``TYPESENSE_API_KEY`` has the key.
    """

    def __init__(self, url: str) -> None:
        self._display_url = redacted_url(url)
        base, self._alias = parse_server_url(url)
        # Readers use the alias, and writers the collection's name: after a crash Typesense replays
        # its log separately for each name, and loses some writes that used an alias.
        self._collection = self._alias
        parts = urlsplit(base)
        self._http = httpx.Client(
            timeout=TIMEOUT_SECS, event_hooks={"response": [self._check_load]}
        )
        node = {
            "host": parts.hostname,
            "port": parts.port or (443 if parts.scheme == "https" else 8108),
            "protocol": parts.scheme,
        }
        # `Sync` repeats requests, and limits the time for that.
        settings = {"nodes": [node], "api_key": api_key(url, "TYPESENSE_API_KEY"), "num_retries": 0}
        # The complete client emits warnings about its deprecated parts, even if they are unused.
        self._api: Any = ApiCall(Configuration(cast("Any", settings)), self._http)

    def _check_load(self, response: httpx.Response) -> None:
        if response.status_code in (429, 503):
            wait = retry_after_secs(response.headers.get("Retry-After"))
            raise EngineDownError(f"{self._display_url} is overloaded", wait)

    def open(self, is_writer: bool) -> str:
        with self._translate_errors():
            collection = self._present_collection()
            if not collection and not is_writer:
                raise self._missing_index_error()
            if not collection:
                collection = self._create_collection()
                self._set_alias(collection)
            identity = self._identity_in(collection)
            if is_writer:
                self._collection = collection
            return identity

    def _present_collection(self) -> str:
        """Return the name of the index's collection, or "" if the index does not exist."""
        with suppress(ObjectNotFound):
            return str(self._api.get(f"/aliases/{self._alias}", dict)["collection_name"])
        with suppress(ObjectNotFound):
            return str(self._api.get(f"/collections/{self._alias}", dict)["name"])
        return ""

    def _identity_in(self, collection: str) -> str:
        return self._identity_of(self._manifest_of(collection))

    def _manifest_in_name(self, collection: str) -> str:
        """Return the manifest without marks from a collection's name, or "" for another name."""
        match = COLLECTION.fullmatch(collection)
        return Manifest(int(match[1]), match[2]).dump() if match else ""

    def _create_collection(self) -> str:
        """Create a collection without an alias, and return its name."""
        manifest = Manifest.new()
        collection = f"{self._alias}-{manifest.version}-{manifest.identity}"
        schema = {"name": collection, "fields": FIELDS, "symbols_to_index": SYMBOLS}
        self._api.post("/collections", dict, body=schema)
        return collection

    def manifest(self) -> str:
        """See `Engine.manifest`. A reader has the alias only: a rebuild changes its collection."""
        with self._translate_errors():
            is_reader = self._collection == self._alias
            return self._manifest_of(self._present_collection() if is_reader else self._collection)

    def _manifest_of(self, collection: str) -> str:
        """Return a collection's manifest. Without marks its name is the whole manifest."""
        path = f"/collections/{MANIFESTS}/documents/{collection}"
        with suppress(ObjectNotFound):
            return str(self._api.get(path, dict)["manifest"])
        return self._manifest_in_name(collection)

    def write_manifest(self, text: str) -> None:
        document = {"id": self._collection, "manifest": text}
        with self._translate_errors():
            with suppress(ObjectAlreadyExists):
                self._api.post("/collections", dict, body=MANIFESTS_COLLECTION)
            path = f"/collections/{MANIFESTS}/documents"
            self._api.post(path, dict, params={"action": "upsert"}, body=document)

    def _set_alias(self, collection: str) -> None:
        self._api.put(f"/aliases/{self._alias}", dict, {"collection_name": collection})

    def _delete_collection(self, collection: str) -> None:
        for path in (f"{MANIFESTS}/documents/{collection}", collection):
            with suppress(ObjectNotFound):
                self._api.delete(f"/collections/{path}", dict)

    def upsert(self, documents: Sequence[Document]) -> Sequence[Refusal]:
        """See `Engine.upsert`. Typesense does not compare versions, so the stored versions are read
        first.
        """
        lines, refusals = self._serialise_newest(documents, _line)
        if not lines:
            return refusals
        with self._translate_errors():
            response = self._api.post(
                f"{self._path}/import",
                str,
                as_json=False,
                # With patterns of fields Typesense would convert values of a wrong type.
                params={"action": "upsert", "dirty_values": "reject"},
                body="\n".join(lines.values()),
            )
            outcomes = [json.loads(line) for line in response.split("\n") if line]
            if len(outcomes) != len(lines):
                raise EngineDownError(
                    f"{self._display_url} answered for {len(outcomes)} of"
                    f" {counted(len(lines), 'documents')}"
                )
        for document_id, outcome in zip(lines, outcomes, strict=True):
            if not outcome.get("success"):
                reason = str(outcome.get("error"))[:MAX_REASON_CHARS]
                refusals.append(Refusal(document_id, reason))
        return refusals

    def delete(self, ids: Sequence[str]) -> None:
        for start in range(0, len(ids), DELETED_AT_ONCE):
            with self._translate_errors():
                filters = {"filter_by": _id_filter(ids[start : start + DELETED_AT_ONCE])}
                self._api.delete(self._path, dict, filters)

    def find(self, ids: Sequence[str]) -> Mapping[str, DocumentState]:
        stored = self._stored(ids, include_fields=STATE)
        return {document["id"]: DocumentState(**document) for document in stored}

    def _stored(self, ids: Sequence[str], **parameters: object) -> Iterator[dict[str, Any]]:
        """Yield the stored documents with these ids."""
        for start in range(0, len(ids), PAGE):
            part = ids[start : start + PAGE]
            response = self._search(q="*", filter_by=_id_filter(part), per_page=PAGE, **parameters)
            yield from (hit["document"] for hit in response["hits"])

    def documents(self, crawl: str = "") -> Iterator[DocumentState]:
        parameters = {"include_fields": STATE}
        if crawl:
            parameters["filter_by"] = f"crawl:={_literal(crawl)}"
        with self._translate_errors():
            lines = self._api.get(f"{self._path}/export", str, False, parameters).split("\n")
            states = [json.loads(line) for line in lines if line]
        for state in states:
            # Filters ignore case.
            if crawl in ("", state["crawl"]):
                yield DocumentState(**state)

    def records(self, ids: Sequence[str]) -> Mapping[str, Mapping[str, Any]]:
        return {document["id"]: _record(document) for document in self._stored(ids)}

    def _indexed_languages(self) -> Iterable[str]:
        return _facet_counts([self._search(q="*", facet_by="language", per_page=0)])["language"]

    def _search_server(self, query: Query, words: Sequence[str]) -> Results:
        filters = _filters(query)
        options = {
            "facet_by": ",".join([*FACETS, *(f"{TEXT}_{name}" for name in query.counted)]),
            "max_facet_values": PAGE,
        }
        is_ranked = bool(words) and query.order is None
        responses: list[Mapping[str, Any]] = []
        titled: list[Hit] = []
        if is_ranked and (scores := self._title_scores(query, filters)):
            titles = ",".join(map(_literal, scores))
            with_titles = " && ".join([*filters, f"title:=[{titles}]"])
            responses = [self._search(q="*", filter_by=with_titles, per_page=PAGE, **options)]
            titled = _with_title_scores(responses[0], scores)
            filters.append(f"title:!=[{titles}]")
        options["filter_by"] = " && ".join(filters)
        end = query.offset + query.limit
        hits, last = self._best_hits(query, words, options, max(end, MAX_RERANKED))
        responses.append(last)
        if is_ranked:
            hits = reranked(_with_scores(titled, hits, query.words), query.words)
        total = sum(response["found"] for response in responses)
        return Results(hits[query.offset : end], total, _facet_counts(responses))

    def _best_hits(
        self, query: Query, words: Sequence[str], options: Mapping[str, Any], count: int
    ) -> tuple[list[Hit], Mapping[str, Any]]:
        """Return the best *count* hits, and the last response of the server. Typesense counts in
        pages, so the hits before the offset of a query are read, too.
        """
        size = min(count, PAGE)
        hits: list[Hit] = []
        for page in range(1, -(-count // PAGE) + 1):
            response = self._search(
                **SEARCH,
                **options,
                drop_tokens_threshold=FEW_PAGES if len(words) >= MANY_WORDS else 1,
                q=" ".join(words) or "*",
                sort_by=_order(query.order),
                page=page,
                per_page=size,
            )
            hits += map(_hit, response["hits"])
            if len(response["hits"]) < size:
                break
        return hits, response

    def _title_scores(self, query: Query, filters: Sequence[str]) -> dict[str, float]:
        """Return the score of each title that is the query or a part of it, of the pages that match
        *filters*.
        """
        titles = ",".join(map(_literal, _parts(valid_utf8(query.words))))
        found = self._search(
            q="*",
            filter_by=" && ".join([*filters, f"title:=[{titles}]"]),
            include_fields="title",
            per_page=PAGE,
        )
        titles_found = [str(hit["document"]["title"]) for hit in found["hits"]]
        counts = Counter(map(phrase_of, titles_found))  # filters ignore case and signs, too
        candidates = ((each, each) for each in titles_found if counts[phrase_of(each)] <= MAX_PAGES)
        phrase = phrase_of(query.words)
        scores = title_scores(possible_titles(query.words), phrase, candidates)
        least = INSIDE_SCORE if len(phrase) > MANY_WORDS else PART_SCORE
        return {str(title): score for title, score in scores.items() if score >= least}

    @contextmanager
    def rebuild(self) -> Iterator[tuple[TypesenseEngine, str]]:
        """See `Engine.rebuild`. The new collection gets the alias at the end."""
        with self._translate_errors():
            old_collection = self._present_collection()
            if old_collection:
                # Any schema may be replaced, but only a collection that contentspider created.
                with suppress(SchemaMismatchError):
                    self._identity_in(old_collection)
            collection = self._create_collection()
        new_engine = TypesenseEngine(self._display_url)
        new_engine._collection = collection
        try:
            yield new_engine, self._identity_in(collection)
            with self._translate_errors():
                self._set_alias(collection)
        except BaseException:
            with suppress(EngineError), self._translate_errors():
                self._delete_collection(collection)
            raise
        finally:
            new_engine.close()
        self._collection = collection
        if old_collection:
            with self._translate_errors():
                self._delete_collection(old_collection)

    def close(self) -> None:
        self._http.close()

    @property
    def _path(self) -> str:
        return f"/collections/{self._collection}/documents"

    def _search(self, **parameters: object) -> dict[str, Any]:
        """Return the result of one search. The parameters are sent in the body, since URLs have a
        limited length.
        """
        search = {
            "collection": self._collection,
            "exclude_fields": UNSPACED,
            "highlight_fields": "none",
            **parameters,
        }
        with self._translate_errors():
            response = self._api.post("/multi_search", dict, body={"searches": [search]})
            result: dict[str, Any] = response["results"][0]
            if "hits" not in result:
                raise EngineError(f"{self._display_url}: {result.get('error')}")
        return result

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """Raise errors of the client as `EngineError` or `EngineDownError`."""
        try:
            yield
        except TypesenseClientError as error:
            status = error.args[0] if error.args else 0
            message = f"{self._display_url}: {' '.join(map(str, error.args[1:])) or error}"
            # Typesense answers with 422 when its memory or disk is full.
            is_full = status == 422 and "resource" in message
            if is_full or not isinstance(status, int) or status in (0, 408) or status >= 500:
                raise EngineDownError(message) from error
            raise EngineError(message) from error
        except httpx.HTTPError as error:
            raise EngineDownError(f"{self._display_url} does not answer: {error!r}") from error
        except (ValueError, KeyError, TypeError) as error:
            message = f"{self._display_url} sent an incomplete response: {error!r}"
            raise EngineDownError(message) from error


def _line(document: Document) -> str:
    """Return a document as a line of JSON."""
    record = dates_to_timestamps(document.record())
    if record.get("language", "").partition("-")[0].lower() in UNSPACED_LANGUAGES:
        record[UNSPACED] = [join_lines(record.get(field.name)) for field in TEXT_FIELDS]
    for kind, values in with_sortable_integers(document.own_values()).items():
        record |= {f"{kind}_{name}": value for name, value in values.items()}
    return json.dumps(record, allow_nan=False)


def _hit(hit: Mapping[str, Any]) -> Hit:
    """Return a hit of Typesense's with its snippet."""
    record = _record(hit["document"])
    marked = [each.get("snippets") or [each["snippet"]] for each in hit["highlights"]]
    pieces = content_snippet(record.get("content", ""), chain(*marked))
    return Hit(record, float(hit.get("text_match", 0)), snippet=pieces)


def _record(document: dict[str, Any]) -> dict[str, Any]:
    """Return the record of a document that Typesense returned."""
    values = {name: value for name, value in document.items() if not OWN_FIELD.match(name)}
    return timestamps_to_dates(values)


def _condition(condition: Condition) -> str:
    """Return the filter for a condition on a field."""
    name, (first, *further) = condition.name, condition.bounds
    if condition.type != PAGE_DATE:
        name = f"{condition.type}_{name}"
    if condition.type == TEXT:
        return f"{name}:={_literal(str(first.value))}"
    if further:
        return f"{name}:[{first.value}..{further[0].value}]"
    return f"{name}:{first.operator}{Decimal(repr(first.value)):f}"


def _filters(query: Query) -> list[str]:
    """Return the filters of a query as Typesense writes them."""
    filters = [
        f"{name}:=[{','.join(map(_literal, values))}]" for name, values in query.conditions.items()
    ]
    return filters + [f"({' || '.join(map(_condition, each))})" for each in query.required]


def _with_title_scores(response: Mapping[str, Any], scores: Mapping[str, float]) -> list[Hit]:
    """Return the hits of a response, scored by their titles."""
    records = [_record(hit["document"]) for hit in response["hits"]]
    return [Hit(record, scores.get(record["title"], 0.0)) for record in records]


def _with_scores(titled: Sequence[Hit], hits: Sequence[Hit], words: str) -> list[Hit]:
    """Return all hits, the best first, with scores that `reranked` can change. The scores
    of Typesense only tell an order.
    """
    phrase = phrase_of(words)
    scored = [*titled]
    for place, hit in enumerate(hits):
        names = chain.from_iterable(hit.record.get(name, ()) for name in ("headings", "anchors"))
        is_named = place < MAX_RERANKED and any(phrase_of(name) == phrase for name in names)
        score = BEST_SCORE / (1 + place * PLACE_SHARE) + NAMED_SCORE * is_named
        scored.append(replace(hit, score=score))
    return sorted(scored, key=lambda hit: -hit.score)


def _parts(words: str) -> list[str]:
    """Return a query and its parts that may be titles, as they are written (`possible_titles`)."""
    split = words.split()[:MAX_WORDS]
    ends = [" ".join(part) for at in range(1, len(split)) for part in (split[:at], split[at:])]
    separated = [part for each in (SEPARATOR, WEAK_SEPARATOR) for part in title_parts(words, each)]
    stripped = (strip_signs(part, "", "") for part in (*separated, *ends))
    return list(dict.fromkeys(filter(None, (words, *stripped))))


def _order(order: Order | None) -> str:
    """Return the order of results: by a field first, if there is such an order."""
    if order is None:
        return RELEVANCE
    direction = "desc" if order.is_descending else "asc"
    name = order.name if order.is_page_date else f"{ORDER}_{order.name}"
    return f"{name}(missing_values: last):{direction},{RELEVANCE}"


def _facet_counts(responses: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, int]]:
    """Return the counts of the values of each facet in some responses together."""
    counts: dict[str, Counter[str]] = {}
    for facet in chain.from_iterable(response["facet_counts"] for response in responses):
        values = counts.setdefault(OWN_FIELD.sub("fields.", facet["field_name"]), Counter())
        values.update({count["value"]: count["count"] for count in facet["counts"]})
    return {name: dict(values.most_common()) for name, values in counts.items()}


def _literal(value: str) -> str:
    """Return a filter value in backquotes, so that no part of it is syntax. Typesense removes
    backquotes from the values of documents, too.
    """
    return f"`{value.replace('`', '')}`"


def _id_filter(ids: Sequence[str]) -> str:
    return f"id:=[{','.join(map(_literal, ids))}]"
