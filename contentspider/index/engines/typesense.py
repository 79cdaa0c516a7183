"""An index in Typesense: an alias of a collection, and a manifest of it in a collection beside."""

from __future__ import annotations

import json
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from contentspider.index.engine import Hit, Refused, Results, Stored, missing, shown
from contentspider.index.engines.http import key, place, seconds
from contentspider.index.engines.pairs import terms, words
from contentspider.index.errors import EngineDownError, EngineError
from contentspider.index.schema import FACETS, LISTING, TEXTS, Manifest, SchemaMismatchError

try:
    import httpx
    from typesense.configuration import Configuration
    from typesense.exceptions import ObjectAlreadyExists, ObjectNotFound, TypesenseClientError
    from typesense.sync.api_call import ApiCall
except ImportError as error:
    raise missing("typesense", "typesense") from error

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from contentspider.index.document import Document
    from contentspider.index.engine import Query

TIMEOUT_SECS = 60
# Where manifests are: collections of Typesense have no place for them in all its versions.
MANIFESTS = "contentspider-manifests"
MANIFESTS_PATH = f"/collections/{MANIFESTS}/documents"
STATE = "id,crawl,version,hash"
# What is searched of a text; the text itself is only kept.
WORDS = {field.name: f"{field.name}_words" for field in TEXTS}
FIELDS: list[dict[str, Any]] = [
    {"name": "crawl", "type": "string"},
    *({"name": name, "type": "string", "facet": True, "optional": True} for name in FACETS),
    *({"name": name, "type": "string", "optional": True} for name in WORDS.values()),
]
# Typesense drops signs from values: without these, a-b.org would be ab.org.
SIGNS = [".", "-", "_", ":", "/", "@"]
# Typesense gives no more at a time.
PAGE = 250
DELETED_AT_ONCE = 100
MAX_REASON_CHARS = 300
# Results that fit nearly as well are in one of so many buckets: within it listings come last.
BUCKETS = 10


class TypesenseEngine:
    """The collection alias that ``typesense://host:port/alias`` names (``typesense+https://`` with
    TLS); the key is ``TYPESENSE_API_KEY`` of the environment.
    """

    max_documents = 500
    max_bytes = 8 << 20

    def __init__(self, url: str) -> None:
        self._shown = shown(url)
        base, self._name = place(url)
        # What is asked: the alias, but of who writes the collection. After a crash Typesense does
        # again what was written, in order for each name only, and loses some that came by an alias.
        self._collection = self._name
        self._is_named = True
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
        """See `Engine.open`."""
        with self._asked():
            if collection := self._present():
                identity = Manifest.load(self._manifest(collection), self._shown).identity
                if is_writer:
                    self._collection = collection
                return identity
            if not is_writer:
                raise EngineError(
                    f"{self._shown}: there is no index; 'contentspider index sync' fills one"
                )
            manifest, collection = self._make()
            self._name_collection(collection)
            self._collection = collection
            return manifest.identity

    def _present(self) -> str:
        """Return the collection that is this index; "" if there is none."""
        if not self._is_named:
            return self._collection
        with suppress(ObjectNotFound):
            return str(self._api.get(f"/aliases/{self._name}", dict)["collection_name"])
        with suppress(ObjectNotFound):
            return str(self._api.get(f"/collections/{self._name}", dict)["name"])
        return ""

    def _manifest(self, collection: str) -> str:
        with suppress(ObjectNotFound):
            return str(self._api.get(f"{MANIFESTS_PATH}/{collection}", dict)["manifest"])
        return ""

    def _make(self) -> tuple[Manifest, str]:
        """Make a collection that no alias leads to yet."""
        manifest = Manifest.new()
        collection = f"{self._name}-{manifest.identity}"
        manifests = {"name": MANIFESTS, "fields": [{"name": "manifest", "type": "string"}]}
        with suppress(ObjectAlreadyExists):
            self._api.post("/collections", dict, body=manifests)
        made = {"name": collection, "fields": FIELDS, "symbols_to_index": SIGNS}
        self._api.post("/collections", dict, body=made)
        kept = {"id": collection, "manifest": manifest.dump()}
        self._api.post(MANIFESTS_PATH, dict, params={"action": "upsert"}, body=kept)
        return manifest, collection

    def _name_collection(self, collection: str) -> None:
        self._api.put(f"/aliases/{self._name}", dict, {"collection_name": collection})

    def _remove(self, collection: str) -> None:
        with suppress(ObjectNotFound):
            self._api.delete(f"/collections/{collection}", dict)
        with suppress(ObjectNotFound):
            self._api.delete(f"{MANIFESTS_PATH}/{collection}", dict)

    def upsert(self, documents: Sequence[Document]) -> Sequence[Refused]:
        """See `Engine.upsert`; Typesense has no versions: what is there is looked up before."""
        versions = {
            name: stored.version
            for name, stored in self.find([document.id for document in documents]).items()
        }
        refused: list[Refused] = []
        sent: list[str] = []
        lines: list[str] = []
        for document in documents:
            if versions.get(document.id, document.version) > document.version:
                continue
            try:
                lines.append(json.dumps(_record(document), allow_nan=False))
            except (TypeError, ValueError) as error:
                refused.append(Refused(document.id, f"it cannot be written: {error}"))
                continue
            versions[document.id] = document.version
            sent.append(document.id)
        if not lines:
            return refused
        with self._asked():
            answer = self._api.post(
                f"{self._path}/import",
                str,
                as_json=False,
                params={"action": "upsert"},
                body="\n".join(lines),
            )
            outcomes = [json.loads(line) for line in answer.split("\n") if line]
            if len(outcomes) != len(sent):
                raise EngineDownError(
                    f"{self._shown} answered for {len(outcomes)} of {len(sent)} documents"
                )
        return refused + [
            Refused(name, str(outcome.get("error"))[:MAX_REASON_CHARS])
            for name, outcome in zip(sent, outcomes, strict=True)
            if not outcome.get("success")
        ]

    def delete(self, ids: Sequence[str]) -> None:
        """See `Engine.delete`."""
        for start in range(0, len(ids), DELETED_AT_ONCE):
            with self._asked():
                some = {"filter_by": _one_of(ids[start : start + DELETED_AT_ONCE])}
                self._api.delete(self._path, dict, some)

    def flush(self) -> None:
        """See `Engine.flush`: Typesense answers when a document is in."""

    def find(self, ids: Sequence[str]) -> Mapping[str, Stored]:
        """See `Engine.find`."""
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
        """See `Engine.documents`."""
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
        """See `Engine.get`."""
        hits = self._search(q="*", filter_by=_one_of([document_id]))["hits"]
        return hits[0]["document"] if hits else None

    def search(self, query: Query) -> Results:
        """See `Engine.search`; where no document has all words, Typesense drops some, the last
        first.
        """
        if unknown := query.filters.keys() - set(FACETS):
            raise EngineError(f"results are not narrowed by {', '.join(sorted(unknown))}")
        asked = " ".join(
            f'"{" ".join(term)}"' if len(term) > 1 else term[0] for term in terms(query.words)
        )
        if query.words.strip() and not asked:
            return Results([], 0, {name: {} for name in FACETS})
        # Typesense counts in pages: one that begins at the offset, or else large ones.
        size = min(max(query.limit, 1), PAGE)
        if query.offset % size or query.limit > PAGE:
            size = PAGE
        first = query.offset // size
        hits: list[Hit] = []
        for page in range(first, max(query.offset + query.limit - 1, 0) // size + 1):
            found = self._search(
                q=asked or "*",
                query_by=",".join(WORDS.values()),
                query_by_weights=",".join(str(round(field.weight)) for field in TEXTS),
                filter_by=" && ".join(
                    f"{name}:={_literal(value)}" for name, value in query.filters.items()
                ),
                facet_by=",".join(FACETS),
                max_facet_values=PAGE,
                # As in every other engine: neither beginnings of words nor similar ones.
                text_match_type="max_weight",
                sort_by=f"_text_match(buckets: {BUCKETS}):desc,_eval(page_type:!={LISTING}):desc",
                num_typos=0,
                prefix=False,
                page=page + 1,
                per_page=size,
            )
            hits += [Hit(hit["document"], float(hit.get("text_match", 0))) for hit in found["hits"]]
            if len(found["hits"]) < size:
                break
        skipped = query.offset - first * size
        facets = {
            facet["field_name"]: {count["value"]: count["count"] for count in facet["counts"]}
            for facet in found["facet_counts"]
        }
        return Results(hits[skipped : skipped + query.limit], found["found"], facets)

    @contextmanager
    def rebuild(self) -> Iterator[tuple[TypesenseEngine, str]]:
        """See `Engine.rebuild`: it is a collection without an alias until then."""
        with self._asked():
            old = self._present()
            # One of ours, of whatever schema: nobody else's collection is deleted.
            with suppress(SchemaMismatchError):
                if old:
                    Manifest.load(self._manifest(old), self._shown)
            manifest, collection = self._make()
        fresh = TypesenseEngine(self._shown)
        fresh._collection, fresh._is_named = collection, False
        try:
            yield fresh, manifest.identity
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
        """See `Engine.close`."""
        self._http.close()

    @property
    def _path(self) -> str:
        return f"/collections/{self._collection}/documents"

    def _search(self, **asked: object) -> dict[str, Any]:
        """Return the answer to one search; asked in the body, since addresses are bounded."""
        search = {
            "collection": self._collection,
            "exclude_fields": ",".join(WORDS.values()),
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


def _record(document: Document) -> dict[str, Any]:
    record = document.record()
    for name, searched in WORDS.items():
        if value := record.get(name):
            record[searched] = " ".join(
                words("\n".join(value) if isinstance(value, list) else value)
            )
    return record


def _literal(value: str) -> str:
    """Return a value as filters take it: in it nothing is a command."""
    return f"`{value.replace('`', ' ')}`"


def _one_of(ids: Sequence[str]) -> str:
    return f"id:=[{','.join(map(_literal, ids))}]"
