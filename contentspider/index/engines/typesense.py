"""An index in Typesense: an alias of a collection, whose name has its schema and its identity."""

from __future__ import annotations

import json
import re
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

import httpx
from typesense.configuration import Configuration
from typesense.exceptions import ObjectAlreadyExists, ObjectNotFound, TypesenseClientError
from typesense.sync.api_call import ApiCall

from contentspider.index.engine import Engine, Hit, Refused, Results, shown
from contentspider.index.engines.common import (
    by_language,
    from_seconds,
    in_seconds,
    key,
    merged,
    place,
    root_words,
    seconds,
)
from contentspider.index.errors import EngineDownError, EngineError
from contentspider.index.schema import (
    DATES,
    FACETS,
    LISTING,
    OWN,
    TEXTS,
    Document,
    Manifest,
    SchemaMismatchError,
    Stored,
    joined,
)
from contentspider.index.words import LETTER, root, terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from contentspider.index.engine import Query
    from contentspider.index.words import Term

TIMEOUT_SECS = 60
# Collections have no place for a manifest in all versions of Typesense: what never changes is in
# their names, and a collection beside has the manifests of those that crawls were brought into.
COLLECTION = re.compile(r".+-(\d+)-([0-9a-f]{32})")
MANIFESTS = "contentspider-manifests"
MANIFESTS_COLLECTION = {
    "name": MANIFESTS,
    "fields": [{"name": "manifest", "type": "string", "index": False, "optional": True}],
}
STATE = ",".join(OWN)
# What Typesense does not find in texts of any language by itself: the roots of their words, and
# pairs of characters that are not told apart by spaces; those of titles by themselves.
EXTRA = ("title_words", "words")
FIELDS: list[dict[str, Any]] = [
    {"name": "crawl", "type": "string"},
    *({"name": name, "type": "string", "facet": True, "optional": True} for name in FACETS),
    # Seconds: what Typesense filters and sorts by.
    *({"name": name, "type": "int64", "optional": True} for name in DATES),
    *(
        {"name": field.name, "type": "string" + "[]" * field.is_list, "optional": True}
        for field in TEXTS
    ),
    *({"name": name, "type": "string", "optional": True} for name in EXTRA),
]
# Similar words are found too, and those that begin with the query's last one.
SEARCHED: dict[str, str] = {
    "query_by": ",".join((*(field.name for field in TEXTS), *EXTRA)),
    "query_by_weights": ",".join([str(round(field.weight)) for field in (*TEXTS, *TEXTS[:2])]),
    "prefix": ",".join(["true"] * len(TEXTS) + ["false"] * len(EXTRA)),
    "num_typos": ",".join(["2"] * len(TEXTS) + ["0"] * len(EXTRA)),
    "text_match_type": "max_weight",
}
# Typesense drops signs from values: without these, a-b.org would be ab.org.
SIGNS = [".", "-", "_", ":", "/", "@"]
# Typesense gives no more at a time.
PAGE = 250
DELETED_AT_ONCE = 100
MAX_REASON_CHARS = 300
# Results that fit nearly as well are in one of so many buckets: within it listings come last.
BUCKETS = 10


class TypesenseEngine(Engine):
    """The collection alias that ``typesense://host:port/alias`` names (``typesense+https://`` with
    TLS); the key is ``TYPESENSE_API_KEY`` of the environment.
    """

    def __init__(self, url: str) -> None:
        self._shown = shown(url)
        base, self._name = place(url)
        # What is asked: the alias, but of who writes the collection. After a crash Typesense does
        # again what was written, in order for each name only, and loses some that came by an alias.
        self._collection = self._name
        parts = urlsplit(base)
        self._http = httpx.Client(
            timeout=TIMEOUT_SECS, event_hooks={"response": [self._check_load]}
        )
        node = {
            "host": parts.hostname,
            "port": parts.port or (443 if parts.scheme == "https" else 8108),
            "protocol": parts.scheme,
        }
        # `Sync` asks again, and knows when to give up.
        settings = {"nodes": [node], "api_key": key(url, "TYPESENSE_API_KEY"), "num_retries": 0}
        # The whole client warns of its own parts that are old, whichever of them are used.
        self._api: Any = ApiCall(Configuration(cast("Any", settings)), self._http)

    def _check_load(self, response: httpx.Response) -> None:
        if response.status_code in (429, 503):
            wait = seconds(response.headers.get("Retry-After"))
            raise EngineDownError(f"{self._shown} has too much to do", wait)

    def open(self, is_writer: bool) -> str:
        with self._asked():
            collection = self._present()
            if not collection and not is_writer:
                raise self._absent()
            if not collection:
                collection = self._make()
                self._name_collection(collection)
            identity = self._identity_in(collection)
            if is_writer:
                self._collection = collection
            return identity

    def _present(self) -> str:
        """Return the collection that is this index; "" if there is none."""
        with suppress(ObjectNotFound):
            return str(self._api.get(f"/aliases/{self._name}", dict)["collection_name"])
        with suppress(ObjectNotFound):
            return str(self._api.get(f"/collections/{self._name}", dict)["name"])
        return ""

    def _identity_in(self, collection: str) -> str:
        return self._identity_of(self._named_manifest(collection))

    def _named_manifest(self, collection: str) -> str:
        found = COLLECTION.fullmatch(collection)
        return Manifest(int(found[1]), found[2]).dump() if found else ""

    def _make(self) -> str:
        """Make a collection that no alias leads to yet, and return its name."""
        manifest = Manifest.new()
        collection = f"{self._name}-{manifest.version}-{manifest.identity}"
        made = {"name": collection, "fields": FIELDS, "symbols_to_index": SIGNS}
        self._api.post("/collections", dict, body=made)
        return collection

    def manifest(self) -> str:
        """See `Engine.manifest`: schema and identity are in the collection's name, the rest in a
        collection beside.
        """
        with self._asked():
            kept = f"/collections/{MANIFESTS}/documents/{self._collection}"
            with suppress(ObjectNotFound):
                return str(self._api.get(kept, dict)["manifest"])
        return self._named_manifest(self._collection)

    def keep_manifest(self, text: str) -> None:
        kept = {"id": self._collection, "manifest": text}
        with self._asked():
            with suppress(ObjectAlreadyExists):
                self._api.post("/collections", dict, body=MANIFESTS_COLLECTION)
            path = f"/collections/{MANIFESTS}/documents"
            self._api.post(path, dict, params={"action": "upsert"}, body=kept)

    def _name_collection(self, collection: str) -> None:
        self._api.put(f"/aliases/{self._name}", dict, {"collection_name": collection})

    def _remove(self, collection: str) -> None:
        for path in (f"{MANIFESTS}/documents/{collection}", collection):
            with suppress(ObjectNotFound):
                self._api.delete(f"/collections/{path}", dict)

    def upsert(self, documents: Sequence[Document]) -> Sequence[Refused]:
        """See `Engine.upsert`. Typesense does not compare versions: those in the index are read
        first.
        """
        lines, refused = self._newest(documents, _line)
        if not lines:
            return refused
        with self._asked():
            answer = self._api.post(
                f"{self._path}/import",
                str,
                as_json=False,
                params={"action": "upsert"},
                body="\n".join(lines.values()),
            )
            outcomes = [json.loads(line) for line in answer.split("\n") if line]
            if len(outcomes) != len(lines):
                raise EngineDownError(
                    f"{self._shown} answered for {len(outcomes)} of {len(lines)} documents"
                )
        return refused + [
            Refused(name, str(outcome.get("error"))[:MAX_REASON_CHARS])
            for name, outcome in zip(lines, outcomes, strict=True)
            if not outcome.get("success")
        ]

    def delete(self, ids: Sequence[str]) -> None:
        for start in range(0, len(ids), DELETED_AT_ONCE):
            with self._asked():
                some = {"filter_by": _one_of(ids[start : start + DELETED_AT_ONCE])}
                self._api.delete(self._path, dict, some)

    def find(self, ids: Sequence[str]) -> Mapping[str, Stored]:
        hits = [
            hit["document"]
            for start in range(0, len(ids), PAGE)
            for hit in self._search(
                q="*",
                filter_by=_one_of(ids[start : start + PAGE]),
                include_fields=STATE,
                per_page=PAGE,
            )["hits"]
        ]
        return {hit["id"]: Stored(**hit) for hit in hits}

    def documents(self, crawl: str = "") -> Iterator[Stored]:
        asked = {"include_fields": STATE}
        if crawl:
            asked["filter_by"] = f"crawl:={_literal(crawl)}"
        with self._asked():
            lines = self._api.get(f"{self._path}/export", str, False, asked).split("\n")
            states = [json.loads(line) for line in lines if line]
        for state in states:
            # To Typesense upper and lower case are the same.
            if crawl in ("", state["crawl"]):
                yield Stored(**state)

    def get(self, document_id: str) -> Mapping[str, Any] | None:
        hits = self._search(q="*", filter_by=_one_of([document_id]))["hits"]
        return from_seconds(hits[0]["document"]) if hits else None

    def _present_languages(self) -> Iterable[str]:
        return _counts(self._search(q="*", facet_by="language", per_page=0))["language"]

    def _found(self, query: Query, wanted: Sequence[Term], is_all: bool) -> Results:
        narrowed = [f"{name}:={_literal(value)}" for name, value in query.filters.items()]
        ask = partial(_query, query.words, is_all)
        asked_in, plain = by_language(self._languages(query), ask)
        searches = {f":={_literal(name)}": asked for name, asked in asked_in.items()}
        if not searches or "language" not in query.filters:
            # What is in another language, or in none that is known.
            others = ",".join(map(_literal, asked_in))
            searches[f":!=[{others}]" if others else ""] = plain
        results = [
            self._first(
                query.offset + query.limit,
                q=asked or "*",
                filter_by=" && ".join([*narrowed, *([f"language{where}"] if where else [])]),
                drop_tokens_threshold=int(not is_all),
            )
            for where, asked in searches.items()
        ]
        return merged(results, query)

    def _first(self, count: int, **asked: object) -> Results:
        """Return the first hits of a search, and how many there are."""
        hits: list[Hit] = []
        size = min(count, PAGE)
        for page in range(1, -(-count // PAGE) + 1):
            found = self._search(
                **SEARCHED,
                **asked,
                facet_by=",".join(FACETS),
                max_facet_values=PAGE,
                sort_by=f"_text_match(buckets: {BUCKETS}):desc,_eval(page_type:!={LISTING}):desc",
                page=page,
                per_page=size,
            )
            hits += [
                Hit(from_seconds(hit["document"]), float(hit.get("text_match", 0)))
                for hit in found["hits"]
            ]
            if len(found["hits"]) < size:
                break
        return Results(hits, found["found"], _counts(found))

    @contextmanager
    def rebuild(self) -> Iterator[tuple[TypesenseEngine, str]]:
        """See `Engine.rebuild`: it is a collection without an alias until then."""
        with self._asked():
            old = self._present()
            # One of ours, of whatever schema: nobody else's collection is deleted.
            with suppress(SchemaMismatchError):
                if old:
                    self._identity_in(old)
            collection = self._make()
        fresh = TypesenseEngine(self._shown)
        fresh._collection = collection
        try:
            yield fresh, self._identity_in(collection)
            with self._asked():
                self._name_collection(collection)
        except BaseException:
            with suppress(EngineError), self._asked():
                self._remove(collection)
            raise
        finally:
            fresh.close()
        self._collection = collection
        with self._asked():
            if old:
                self._remove(old)

    def close(self) -> None:
        self._http.close()

    @property
    def _path(self) -> str:
        return f"/collections/{self._collection}/documents"

    def _search(self, **asked: object) -> dict[str, Any]:
        """Return the answer to one search; asked in the body, since addresses are bounded."""
        search = {
            "collection": self._collection,
            "exclude_fields": ",".join(EXTRA),
            "highlight_fields": "none",
            **asked,
        }
        with self._asked():
            answer = self._api.post("/multi_search", dict, body={"searches": [search]})
            found: dict[str, Any] = answer["results"][0]
            if "hits" not in found:
                raise EngineError(f"{self._shown}: {found.get('error')}")
        return found

    @contextmanager
    def _asked(self) -> Iterator[None]:
        """Say what fails as an `Engine` has to."""
        try:
            yield
        except TypesenseClientError as error:
            status = error.args[0] if error.args else 0
            said = f"{self._shown}: {' '.join(map(str, error.args[1:])) or error}"
            # Typesense says 422 when memory or disk run out.
            is_full = status == 422 and "resource" in said
            if is_full or not isinstance(status, int) or status in (0, 408) or status >= 500:
                raise EngineDownError(said) from error
            raise EngineError(said) from error
        except httpx.HTTPError as error:
            raise EngineDownError(f"{self._shown} does not answer: {error!r}") from error
        except (ValueError, KeyError, TypeError) as error:
            raise EngineDownError(f"{self._shown} gave half an answer: {error!r}") from error


def _line(document: Document) -> str:
    record = in_seconds(document.record())
    texts = [joined(record.get(field.name)) for field in TEXTS]
    for name, text in zip(EXTRA, (texts[0], "\n".join(texts[1:])), strict=True):
        record[name] = " ".join(root_words(text, record.get("language", "")))
    return json.dumps(record, allow_nan=False)


def _counts(found: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    return {
        facet["field_name"]: {count["value"]: count["count"] for count in facet["counts"]}
        for facet in found["facet_counts"]
    }


def _query(words: str, is_all: bool, languages: Sequence[str]) -> str:
    """Return what is asked for words: their roots, and pairs in their row. Quoted, other pairs are
    no slips of these, and none is dropped.
    """
    return " ".join(
        f'"{" ".join(term[0])}"'
        if len(term[0]) > 1 or (is_all and LETTER.match(term[0][0]))
        else root([form for (form,) in term])
        for term in terms(words, languages)
    )


def _literal(value: str) -> str:
    """Return a value as filters take it: in it nothing is a command."""
    return f"`{value.replace('`', ' ')}`"


def _one_of(ids: Sequence[str]) -> str:
    return f"id:=[{','.join(map(_literal, ids))}]"
