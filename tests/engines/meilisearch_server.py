"""A server that answers as the documentation of Meilisearch's API says that it does: only what we
ask of it, and nothing of how it ranks but the order of fields. It is no Meilisearch.
"""

from __future__ import annotations

import json
import re
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import takewhile
from typing import TYPE_CHECKING, Any
from unicodedata import combining, normalize

from tests.servers import KEY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

AT = "2026-01-02T03:04:05.123456Z"
SEARCHED = {"q", "filter", "facets", "offset", "limit", "page", "hitsPerPage"}
SEARCHED |= {"attributesToRetrieve", "matchingStrategy", "showRankingScore", "sort"}
SEARCHED |= {"attributesToHighlight", "highlightPreTag", "highlightPostTag"}
SEARCHED |= {"attributesToCrop", "cropLength"}
FETCHED = {"ids", "filter", "offset", "limit", "fields"}
DEFAULTS: dict[str, Any] = {
    "searchableAttributes": [],
    "filterableAttributes": [],
    "sortableAttributes": [],
    "pagination": {"maxTotalHits": 1000},
    "faceting": {"maxValuesPerFacet": 100},
}


class FaultError(Exception):
    """What is answered instead: a status (or a failed task) with a code and a type."""

    def __init__(self, code: str, status: int = 400, kind: str = "invalid_request") -> None:
        super().__init__(code)
        self.status = status
        self.said = {"message": f"It is {code}.", "code": code, "type": kind, "link": "http://x"}


@dataclass
class Index:
    """Documents by id, and settings."""

    documents: dict[str, dict[str, Any]] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=lambda: dict(DEFAULTS))

    def matches(self, document: dict[str, Any], filters: Any) -> bool:
        for one in [filters] if isinstance(filters, str) else filters or []:
            if isinstance(one, list):
                if not any(self.matches(document, other) for other in one):
                    return False
                continue
            if values := re.fullmatch(r"(\w+) IN \[(.*)\]", one):
                alternatives = re.findall(r'"(?:[^"\\]|\\.)*"', values[2])
                if not any(
                    self.matches(document, f"{values[1]} = {other}") for other in alternatives
                ):
                    return False
                continue
            if between := re.fullmatch(r"([\w.]+) (\S+) TO (\S+)", one):
                bounds = [f"{between[1]} >= {between[2]}", f"{between[1]} <= {between[3]}"]
                if not self.matches(document, bounds):
                    return False
                continue
            parsed = re.fullmatch(r'(NOT )?([\w.]+) (=|[<>]=?) ("?)((?:[^"\\]|\\.)*)\4', one)
            if parsed is None or not self.can("filterableAttributes", parsed[2]):
                raise FaultError("invalid_search_filter")
            wanted = re.sub(r'\\(["\\])', r"\1", parsed[5])
            values = values_at(document, parsed[2]) or [""]
            is_so = any(compares(value, parsed[3], wanted) for value in values)
            if is_so == bool(parsed[1]):
                return False
        return True

    def can(self, setting: str, path: str) -> bool:
        """Tell whether a setting has an attribute, or one that holds it."""
        steps = path.split(".")
        return any(".".join(steps[:end]) in self.settings[setting] for end in range(1, 9))

    def place(self, document: dict[str, Any], term: str, is_last: bool) -> int | None:
        """Return the number of the first field that has a word; the last begins one."""
        for number, name in enumerate(self.settings["searchableAttributes"]):
            value = document.get(name, "")
            text = bare(" ".join(value) if isinstance(value, list) else value)
            words = re.findall(r"\w+", text)
            is_there = term in words or (is_last and any(one.startswith(term) for one in words))
            # It has cutters of its own for scripts without spaces.
            if is_there or (not term.isascii() and term in text):
                return number
        return None

    def found(self, asked: dict[str, Any]) -> list[tuple[float, dict[str, Any]]]:
        """Return scores and documents, the best first."""
        terms = bare(asked.get("q", "")).split()[:10]
        is_strict = asked.get("matchingStrategy", "last") == "all"
        scored = []
        for document in self.documents.values():
            if not self.matches(document, asked.get("filter")):
                continue
            places = [
                self.place(document, term, number == len(terms))
                for number, term in enumerate(terms, 1)
            ]
            # The last are dropped first, and never the first.
            kept = list(takewhile(lambda place: place is not None, places))
            if kept == places or (kept and not is_strict):
                scored.append((len(kept) - sum(place or 0 for place in kept) / 99, document))
        if "page_type:asc" in self.settings["rankingRules"]:
            scored.sort(key=lambda one: one[1].get("page_type", "~"))
        scored.sort(key=lambda one: -one[0])
        for rule in reversed(asked.get("sort", [])):
            path, _, direction = rule.rpartition(":")
            if (
                not self.can("sortableAttributes", path)
                or self.settings["rankingRules"][0] != "sort"
            ):
                raise FaultError("invalid_search_sort")
            has = [one for one in scored if values_at(one[1], path)]
            has.sort(key=lambda one: values_at(one[1], path)[0], reverse=direction == "desc")
            scored = has + [one for one in scored if not values_at(one[1], path)]
        return scored

    def search(self, asked: dict[str, Any]) -> dict[str, Any]:
        if asked.keys() - SEARCHED:
            raise FaultError("bad_request")
        found = self.found(asked)
        most = self.settings["pagination"]["maxTotalHits"]
        answer: dict[str, Any] = {"hits": []}
        if "hitsPerPage" in asked:
            size = asked["hitsPerPage"]
            start = (asked.get("page", 1) - 1) * size
            answer["totalHits"] = min(len(found), most)
        else:
            start, size = asked.get("offset", 0), asked.get("limit", 20)
            answer["estimatedTotalHits"] = min(len(found), most) // 2  # an estimate
        for score, document in found[:most][start : start + size]:
            hit = chosen(document, asked.get("attributesToRetrieve"))
            if asked.get("showRankingScore"):
                hit["_rankingScore"] = score
            if "attributesToHighlight" in asked:
                hit["_formatted"] = formatted(document, asked)
            answer["hits"].append(hit)
        if "facets" in asked:
            answer["facetDistribution"] = counts = {}
            for name in asked["facets"]:
                if not self.can("filterableAttributes", name):
                    raise FaultError("invalid_search_facets")
                counts[name] = {}
                for _, document in found:
                    for value in filter(None, values_at(document, name)):
                        counts[name][value] = counts[name].get(value, 0) + 1
        return answer

    def fetch(self, asked: dict[str, Any]) -> dict[str, Any]:
        if asked.keys() - FETCHED:
            raise FaultError("bad_request")
        found = [
            document
            for document in self.documents.values()
            if document["id"] in asked.get("ids", [document["id"]])
            and self.matches(document, asked.get("filter"))
        ]
        start, size = asked.get("offset", 0), asked.get("limit", 20)
        some = [chosen(document, asked.get("fields")) for document in found[start : start + size]]
        return {"results": some, "offset": start, "limit": size, "total": len(found)}


def values_at(document: dict[str, Any], path: str) -> list[Any]:
    """Return the values of an attribute, whose name may have dots between the names of objects."""
    value: Any = document
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, list) else [] if value is None else [value]


def compares(value: Any, operator: str, wanted: str) -> bool:
    """Tell whether a comparison in a filter is true."""
    if isinstance(value, str):
        return operator == "=" and value.lower() == wanted.lower()
    number = float(wanted)
    return {
        "=": value == number,
        ">": value > number,
        "<": value < number,
        ">=": value >= number,
        "<=": value <= number,
    }[operator]


def bare(text: str) -> str:
    """Return a text in small letters and without accents."""
    return "".join(one for one in normalize("NFKD", text.lower()) if not combining(one))


def chosen(document: dict[str, Any], names: list[str] | None) -> dict[str, Any]:
    return {name: value for name, value in document.items() if names is None or name in names}


def formatted(document: dict[str, Any], asked: dict[str, Any]) -> dict[str, str]:
    """Return the attributes to highlight, with tags around searched words, cut at the first one."""
    terms = bare(asked.get("q", "")).split()
    tags = asked["highlightPreTag"], asked["highlightPostTag"]
    texts = {}
    for name in asked["attributesToHighlight"]:
        words = document.get(name, "").split(" ")
        found = [number for number, word in enumerate(words) if bare(word).startswith(tuple(terms))]
        for number in found if terms else []:
            words[number] = re.sub(r"\w+", lambda word: word[0].join(tags), words[number], count=1)
        start = max(found[0] - 5, 0) if found else 0
        texts[name] = " ".join(words[start : start + asked["cropLength"]])
    return texts


class FakeMeilisearch(ThreadingHTTPServer):
    """Does a task when somebody asks for its outcome the first time, and tells it the second time.

    *answers* are given before all others (status, body, headers; "cut" breaks off); *fails* is
    asked for the fault of each task, by its type and documents. *tasks* are all that came.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"meilisearch://127.0.0.1:{self.server_port}"
        self.indexes: dict[str, Index] = {}
        self.tasks: list[dict[str, Any]] = []
        self.work: dict[int, Callable[[], None]] = {}
        self.answers: list[tuple[int | str, Any, dict[str, str]]] = []
        self.fails: Callable[[str, list[dict[str, Any]]], FaultError | None] = lambda *_: None

    def index(self, name: str) -> Index:
        if name not in self.indexes:
            raise FaultError("index_not_found", 404)
        return self.indexes[name]

    def enqueue(
        self, kind: str, work: Callable[[], None], documents: list[dict[str, Any]]
    ) -> dict[str, Any]:
        task: dict[str, Any] = {"uid": len(self.tasks), "type": kind, "status": "enqueued"}
        task |= {"enqueuedAt": AT, "documents": len(documents)}
        self.tasks.append(task)

        def done() -> None:
            if fault := self.fails(kind, documents):
                raise fault
            work()

        self.work[task["uid"]] = done
        return {"taskUid": task["uid"], "indexUid": None, **chosen(task, ["status", "type"])} | {
            "enqueuedAt": AT
        }

    def task(self, number: int) -> dict[str, Any]:
        task = self.tasks[number]
        told = chosen(task, ["uid", "type", "status", "error", "enqueuedAt"])
        if work := self.work.pop(number, None):
            try:
                work()
                task["status"] = "succeeded"
            except FaultError as fault:
                task["status"] = "canceled" if fault.said["code"] == "canceled" else "failed"
                task["error"] = fault.said
        return told

    def add(self, name: str, documents: list[dict[str, Any]]) -> None:
        for document in documents:
            if not re.fullmatch(r"[A-Za-z0-9_-]{1,511}", str(document.get("id", ""))):
                raise FaultError("invalid_document_id")
        made = self.indexes.setdefault(name, Index())
        made.documents |= {document["id"]: document for document in documents}

    def drop(self, name: str, ids: list[str]) -> None:
        for one in ids:
            self.index(name).documents.pop(one, None)

    def configure(self, name: str, settings: dict[str, Any]) -> None:
        self.indexes.setdefault(name, Index()).settings |= settings

    def swap(self, pairs: list[dict[str, list[str]]]) -> None:
        for one, other in (pair["indexes"] for pair in pairs):
            there = self.index(one), self.index(other)
            self.indexes[other], self.indexes[one] = there

    def remove(self, name: str) -> None:
        self.index(name)
        del self.indexes[name]

    def answer(self, method: str, path: str, body: bytes) -> Any:
        """Return what is answered; raises `FaultError`."""
        parts = path.strip("/").split("/")
        lines = path.endswith("/documents") and method == "POST"
        try:
            text = body.decode()
            if "\ud800" in text or "NaN" in text:
                raise ValueError(text)
            read = [json.loads(one) for one in text.split("\n")] if lines else None
            asked = json.loads(text) if text and not lines else None
        except ValueError:
            raise FaultError("malformed_payload") from None
        match method, parts:
            case "GET", ["tasks", number]:
                return self.task(int(number))
            case "GET", ["indexes", name]:
                self.index(name)
                return {"uid": name, "primaryKey": "id", "createdAt": AT, "updatedAt": AT}
            case "DELETE", ["indexes", name]:
                return self.enqueue("indexDeletion", partial(self.remove, name), [])
            case "PATCH", ["indexes", name, "settings"]:
                return self.enqueue("settingsUpdate", partial(self.configure, name, asked), [])
            case "POST", ["indexes", name, "documents"]:
                given = read[0] if read and isinstance(read[0], list) else read or []
                work = partial(self.add, name, given)
                return self.enqueue("documentAdditionOrUpdate", work, given)
            case "GET", ["indexes", name, "documents", one]:
                if one not in self.index(name).documents:
                    raise FaultError("document_not_found", 404)
                return self.index(name).documents[one]
            case "DELETE", ["indexes", name, "documents", one]:
                return self.enqueue("documentDeletion", partial(self.drop, name, [one]), [])
            case "POST", ["indexes", name, "documents", "delete-batch"]:
                return self.enqueue("documentDeletion", partial(self.drop, name, asked), [])
            case "POST", ["indexes", name, "documents", "fetch"]:
                return self.index(name).fetch(asked)
            case "POST", ["indexes", name, "search"]:
                return self.index(name).search(asked)
            case "POST", ["swap-indexes"]:
                return self.enqueue("indexSwap", partial(self.swap, asked), [])
        raise AssertionError(f"{method} {path} is not known here")


class Handler(BaseHTTPRequestHandler):
    server: FakeMeilisearch

    def answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        status: int | str = 200
        headers: dict[str, str] = {}
        try:
            if self.server.answers:
                status, said, headers = self.server.answers.pop(0)
            elif self.headers.get("Authorization") != f"Bearer {KEY}":
                raise FaultError("invalid_api_key", 403, "auth")
            else:
                said = self.server.answer(self.command, self.path.partition("?")[0], body)
        except FaultError as fault:
            status, said = fault.status, fault.said
        text = said.encode() if isinstance(said, str) else json.dumps(said).encode()
        self.send_response(status if isinstance(status, int) else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text) + (99 if status == "cut" else 0)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_PATCH = do_DELETE = answer  # noqa: N815

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def fake_meilisearch() -> Iterator[FakeMeilisearch]:
    """Give a server that runs."""
    with FakeMeilisearch() as made:
        threading.Thread(target=made.serve_forever, args=(0.01,), daemon=True).start()
        yield made
        made.shutdown()
