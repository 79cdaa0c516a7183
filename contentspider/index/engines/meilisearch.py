"""An index in Meilisearch, and a manifest of it in an index beside.

Meilisearch takes what it is given, does it later, and tells only who asks how that went: every
task is waited for.
"""

from __future__ import annotations

import json
from contextlib import contextmanager, suppress
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

from contentspider.index.engine import Engine, Hit, Results, shown
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
    BY_NAME,
    DATES,
    FACETS,
    OWN,
    TEXTS,
    Document,
    Manifest,
    SchemaMismatchError,
    Stored,
    joined,
)
from contentspider.index.words import roots, stemmer_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from contentspider.index.engine import Query, Refused
    from contentspider.index.words import Term

TIMEOUT_SECS = 60
# A task waits for those of all other indexes of the server.
TASK_SECS = 300
POLL_MS = 20
MANIFESTS = "contentspider-manifests"
# What is searched, the first counts most: the texts, and the roots of words that have stems, which
# Meilisearch does not know, those of titles by themselves.
TITLE_WORDS, WORDS = "title_words", "words"
SEARCHED = [field.name for field in sorted(TEXTS, key=lambda one: -one.weight)]
SEARCHED = [SEARCHED[0], TITLE_WORDS, *SEARCHED[1:], WORDS]
# Meilisearch looks at no more of a query.
MAX_TERMS = 10
MAX_RESULTS = 100_000
MAX_FACETS = 1000
PAGE = 1000
MAX_REASON_CHARS = 300
SETTINGS: dict[str, Any] = {
    "searchableAttributes": SEARCHED,
    "filterableAttributes": ["crawl", *FACETS, *DATES],
    "sortableAttributes": list(DATES),
    # By default words that stand near each other count more than words of titles.
    # The last: an article comes before a listing that fits as well.
    "rankingRules": ["words", "typo", "attribute", "proximity", "exactness", "page_type:asc"],
    "pagination": {"maxTotalHits": MAX_RESULTS},
    "faceting": {"maxValuesPerFacet": MAX_FACETS, "sortFacetValuesBy": {"*": "count"}},
}


class _AnswerError(EngineError):
    """Meilisearch refuses a request or fails a task, with this *code*."""

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


class MeilisearchEngine(Engine):
    """The index that ``meilisearch://host:port/index`` names (``meilisearch+https://`` with TLS);
    the key is ``MEILISEARCH_API_KEY`` of the environment.
    """

    def __init__(self, url: str) -> None:
        self._shown = shown(url)
        base, self._name = place(url)
        if base.startswith("http:") and urlsplit(base).port is None:
            base += ":7700"
        self._client = Client(base, key(url, "MEILISEARCH_API_KEY"), timeout=TIMEOUT_SECS)
        self._index = self._client.index(self._name)

    def open(self, is_writer: bool) -> str:
        if self._is_there():
            return self._identity_of(self.manifest())
        if not is_writer:
            raise self._absent()
        manifest = Manifest.new()
        self._make(self._name, manifest)
        return manifest.identity

    def _is_there(self) -> bool:
        try:
            with self._asked():
                self._client.get_raw_index(self._name)
        except _AnswerError as error:
            if error.code != "index_not_found":
                raise
            return False
        return True

    def manifest(self) -> str:
        """See `Engine.manifest`: it is "" if the index has none."""
        try:
            with self._asked():
                return str(self._client.index(MANIFESTS).get_document(self._name).manifest)
        except _AnswerError as error:
            if error.code not in ("index_not_found", "document_not_found"):
                raise
            return ""

    def keep_manifest(self, text: str) -> None:
        self._say(self._name, text)

    def _make(self, name: str, manifest: Manifest) -> None:
        """Make an index. Settings make it: who is killed leaves none without them."""
        self._say(name, manifest.dump())
        with self._asked():
            self._wait(self._client.index(name).update_settings(dict(SETTINGS)))

    def _say(self, name: str, manifest: str) -> None:
        kept = {"id": name, "manifest": manifest}
        with self._asked():
            self._wait(self._client.index(MANIFESTS).add_documents([kept], "id"))

    def _remove(self, name: str) -> None:
        with self._asked():
            with suppress(_AnswerError):
                self._wait(self._client.delete_index(name))
            self._wait(self._client.index(MANIFESTS).delete_document(name))

    def upsert(self, documents: Sequence[Document]) -> Sequence[Refused]:
        """See `Engine.upsert`. Meilisearch does not compare versions, so the versions in the index
        are read first. It rejects a whole batch for one bad document, without naming it.
        """
        lines, refused = self._newest(documents, _line)
        if lines:
            with self._asked():
                text = b"\n".join(lines.values())
                self._wait(self._index.add_documents_ndjson(text, "id"))
        return refused

    def delete(self, ids: Sequence[str]) -> None:
        if ids:
            with self._asked():
                # The client's own method warns that it will be gone.
                path = f"indexes/{self._name}/documents/delete-batch"
                self._wait(TaskInfo(**self._client.http.post(path, list(ids))))

    def find(self, ids: Sequence[str]) -> Mapping[str, Stored]:
        found = {}
        for start in range(0, len(ids), PAGE):
            some = list(ids[start : start + PAGE])
            for state in self._fetch(ids=some, limit=len(some), fields=list(OWN)):
                found[state["id"]] = Stored(**state)
        return found

    def documents(self, crawl: str = "") -> Iterator[Stored]:
        asked = {"filter": _equal("crawl", crawl)} if crawl else {}
        offset = 0
        while states := self._fetch(**asked, offset=offset, limit=PAGE, fields=list(OWN)):
            for state in states:
                # To filters upper and lower case are the same.
                if crawl in ("", state["crawl"]):
                    yield Stored(**state)
            offset += len(states)

    def get(self, document_id: str) -> Mapping[str, Any] | None:
        found = self._fetch(ids=[document_id], limit=1, fields=list(BY_NAME))
        return from_seconds(found[0]) if found else None

    def _fetch(self, **asked: object) -> list[dict[str, Any]]:
        with self._asked():
            return [dict(one) for one in self._index.get_documents(asked).results]

    def _present_languages(self) -> Iterable[str]:
        (found,) = self._searched({"q": "", "hitsPerPage": 0, "facets": ["language"]})
        with self._asked():
            return list(found["facetDistribution"].get("language", {}))

    def _found(self, query: Query, wanted: Sequence[Term], is_all: bool) -> Results:
        narrowed = [_equal(name, value) for name, value in query.filters.items()]
        asked_in, plain = by_language(
            self._languages(query),
            lambda languages: " ".join(roots(query.words, languages)[:MAX_TERMS]),
        )
        searches = [
            (asked, [*narrowed, _equal("language", name)]) for name, asked in asked_in.items()
        ]
        if not searches or "language" not in query.filters:
            # What is in another language, or in none that is known.
            others = [f"NOT {_equal('language', name)}" for name in asked_in]
            searches.append((plain, [*narrowed, *others]))
        if not is_all:
            searches = [(self._there(asked, filters), filters) for asked, filters in searches]
        strategy = "all" if is_all else "last"
        results = [
            self._results(query, {"q": asked, "filter": filters, "matchingStrategy": strategy})
            for asked, filters in searches
            if asked or not query.words.strip()
        ]
        return merged(results, query)

    def _there(self, asked: str, filters: Sequence[str]) -> str:
        """Return those of the words that some documents have: Meilisearch never drops the first."""
        counts = self._searched(
            *({"q": word, "filter": filters, "hitsPerPage": 0} for word in asked.split())
        )
        with self._asked():
            found = zip(asked.split(), counts, strict=True)
            return " ".join(word for word, count in found if int(count["totalHits"]))

    def _results(self, query: Query, asked: Mapping[str, object]) -> Results:
        """Return the first results of a search."""
        # Only who asks for pages is told how many there are, and not by estimate.
        whole, part = self._searched(
            {**asked, "hitsPerPage": 0, "facets": list(FACETS)},
            {
                **asked,
                "limit": query.offset + query.limit,
                "attributesToRetrieve": list(BY_NAME),
                "showRankingScore": True,
            },
        )
        with self._asked():
            hits = [
                Hit(score=float(hit.pop("_rankingScore")), record=from_seconds(hit))
                for hit in part["hits"]
            ]
            counts = whole["facetDistribution"]
            facets = {name: dict(counts.get(name, {})) for name in FACETS}
            return Results(hits, int(whole["totalHits"]), facets)

    def _searched(self, *searches: Mapping[str, object]) -> list[dict[str, Any]]:
        """Return the answers to searches that are asked at once."""
        with self._asked():
            asked = [{"indexUid": self._name, **search} for search in searches]
            results = self._client.multi_search(asked)["results"]
            if len(results) != len(searches):
                raise EngineDownError(f"{self._shown} gave half an answer")
            return results

    @contextmanager
    def rebuild(self) -> Iterator[tuple[MeilisearchEngine, str]]:
        """See `Engine.rebuild`: it is an index with a name of its own until then."""
        manifest = Manifest.new()
        name = f"{self._name}-{manifest.identity}"
        if self._is_there():
            # One of ours, of whatever schema: nobody else's index is replaced.
            with suppress(SchemaMismatchError):
                self._identity_of(self.manifest())
        else:
            self._make(self._name, Manifest.new())
        self._make(name, manifest)
        fresh = MeilisearchEngine(self._shown)
        fresh._name, fresh._index = name, self._client.index(name)
        try:
            yield fresh, manifest.identity
            with self._asked():
                self._wait(self._client.swap_indexes([{"indexes": [self._name, name]}]))
        except BaseException:
            with suppress(EngineError):
                self._remove(name)
            raise
        finally:
            fresh.close()
        # Not before: who is killed here leaves the new index under the old manifest, whose marks
        # only ask for more than is needed.
        self._say(self._name, fresh.manifest())
        self._remove(name)

    def close(self) -> None:
        """See `Engine.close`: each request has a connection of its own."""

    def _wait(self, task: TaskInfo) -> None:
        """Wait until a task is done; raises `EngineError` if it fails."""
        done = self._client.wait_for_task(task.task_uid, TASK_SECS * 1000, POLL_MS)
        if done.status == "succeeded":
            return
        fault = done.error or {}
        said = f"{self._shown}: {fault.get('message') or f'a task is {done.status}'}"
        kind = fault.get("type")
        # Disk or memory that run out, and what somebody has stopped.
        if done.status != "failed" or kind in ("internal", "system"):
            raise EngineDownError(said)
        raise _AnswerError(said, str(fault.get("code")))

    @contextmanager
    def _asked(self) -> Iterator[None]:
        """Say what fails as an `Engine` has to."""
        try:
            yield
        except MeilisearchApiError as error:
            told = error.message or f"HTTP {error.status_code}"
            said = f"{self._shown}: {told[:MAX_REASON_CHARS]}"
            if error.status_code in (408, 429) or error.status_code >= 500:
                answer = getattr(error.__cause__, "response", None)
                wait = answer.headers.get("Retry-After") if answer is not None else None
                raise EngineDownError(said, seconds(wait)) from error
            raise _AnswerError(said, str(error.code)) from error
        except MeilisearchTimeoutError as error:
            raise EngineDownError(f"{self._shown} is not done in time: {error}") from error
        except (MeilisearchCommunicationError, RequestException) as error:
            raise EngineDownError(f"{self._shown} does not answer: {error}") from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise EngineDownError(f"{self._shown} gave half an answer: {error!r}") from error


def _line(document: Document) -> bytes:
    record = in_seconds(document.record())
    title, *others = (joined(record.get(field.name)) for field in TEXTS)
    language = record.get("language", "")
    if stemmer_of(language):
        record[TITLE_WORDS] = " ".join(root_words(title, language))
        record[WORDS] = " ".join(root_words("\n".join(others), language))
    return json.dumps(record, ensure_ascii=False, allow_nan=False).encode()


def _equal(name: str, value: str) -> str:
    """Return a filter; in its value nothing is a command."""
    quoted = value.replace("\\", " ").replace('"', '\\"')
    return f'{name} = "{quoted}"'
