"""An index of tantivy in a folder, ``tantivy:pages.index``. One process writes, any number read.

The folder has the manifest, and beside it the folder of the index that the manifest names by its
identity: who makes an index anew writes another one, and then replaces the manifest.
"""

from __future__ import annotations

import shutil
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tantivy
from filelock import FileLock, Timeout

from contentspider.ground.atomic import write_atomically
from contentspider.index.engine import Engine, Hit, Refused, Results, shown
from contentspider.index.engines.tantivy_terms import (
    SCHEMA,
    equal,
    to_query,
    to_record,
    to_stored,
    to_tantivy,
)
from contentspider.index.errors import EngineDownError, EngineError
from contentspider.index.schema import FACETS, Document, Manifest, Stored

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from contentspider.index.engine import Query
    from contentspider.index.words import Term

MANIFEST = "contentspider.json"
LOCK = ".lock"
INDEX = "index-"
# What a writer keeps in memory before it writes a segment. A second thread would halve it, and
# leave twice the segments.
HEAP_BYTES = 64_000_000
PAGE = 5_000
MAX_FACETS = 1_000


class TantivyEngine(Engine):
    """The index in the folder of the URL ``tantivy:FOLDER``."""

    max_documents = 1_000
    max_bytes = 16_000_000

    def __init__(self, url: str) -> None:
        self._shown = shown(url)
        self._path = Path(url.partition(":")[2])
        self._manifest_path = self._path / MANIFEST
        self._lock = FileLock(self._path / LOCK, thread_local=False, blocking=False)
        self._identity = ""
        # Of an index that is made anew, while the folder's manifest names the old one.
        self._fresh: Manifest | None = None
        self._index: tantivy.Index | None = None
        self._writer: tantivy.IndexWriter | None = None
        # What was written since the last flush; None: deleted.
        self._pending: dict[str, Stored | None] = {}
        # Why what was written since the last flush is lost: nothing more is written then.
        self._failure = ""
        self._is_writer = False
        self._seen = (0, 0)

    def open(self, is_writer: bool) -> str:
        """See `Engine.open`; a second writer gets an `EngineDownError`."""
        self.close()
        if not is_writer:
            self._attach_present()
            return self._identity
        self._claim()
        try:
            if self._manifest_path.exists():
                self._attach(self._present())
            else:
                manifest = Manifest.new()
                self._attach(manifest.identity, is_new=True)
                self._publish(manifest)
            self._tidy()
        except BaseException:
            self.close()
            raise
        return self._identity

    def upsert(self, documents: Sequence[Document]) -> Sequence[Refused]:
        written, refused = self._newest(documents, lambda one: (one, to_tantivy(one)))
        there = self.find(list(written))
        for name, (document, made) in written.items():
            with self._writing() as writer:
                if name in there:
                    writer.delete_documents_by_term("id", name)
                writer.add_document(made)
            self._pending[name] = Stored(name, document.crawl, document.version, document.hash)
        return refused

    def delete(self, ids: Sequence[str]) -> None:
        with self._writing() as writer:
            for document_id in ids:
                writer.delete_documents_by_term("id", document_id)
                self._pending[document_id] = None

    def flush(self) -> None:
        if self._pending:
            with self._writing() as writer:
                writer.commit()
            self._pending = {}
            with self._reading() as index:
                index.reload()

    def find(self, ids: Sequence[str]) -> Mapping[str, Stored]:
        found = {name: state for name in ids if (state := self._pending.get(name))}
        if wanted := [name for name in ids if name not in self._pending]:
            with self._reading() as index:
                searcher = index.searcher()
                query = tantivy.Query.term_set_query(SCHEMA, "id", wanted)
                for _, address in searcher.search(query, len(wanted), count=False).hits:
                    state = to_stored(searcher.doc(address))
                    found[state.id] = state
        return found

    def documents(self, crawl: str = "") -> Iterator[Stored]:
        with self._reading() as index:
            searcher = index.searcher()
            query = equal("crawl", crawl) if crawl else tantivy.Query.all_query()
        for start in range(0, searcher.num_docs, PAGE):
            with self._reading():
                found = searcher.search(query, PAGE, count=False, offset=start).hits
                states = [to_stored(searcher.doc(address)) for _, address in found]
            if not states:
                return
            yield from states

    def get(self, document_id: str) -> Mapping[str, Any] | None:
        with self._reading() as index:
            searcher = index.searcher()
            hits = searcher.search(equal("id", document_id), 1, count=False).hits
            return to_record(searcher.doc(hits[0][1])) if hits else None

    def manifest(self) -> str:
        """See `Engine.manifest`; an index that is made anew is named by the present one's file
        only at the end: until then it has its manifest by itself.
        """
        return self._fresh.dump() if self._fresh else self._read_manifest()

    def keep_manifest(self, text: str) -> None:
        manifest = Manifest.load(text, self._shown)
        if self._fresh:
            self._fresh = manifest
        else:
            self._publish(manifest)

    def _present_languages(self) -> Iterable[str]:
        with self._reading() as index:
            return _counts(index.searcher(), tantivy.Query.all_query(), ["language"])["language"]

    def _found(self, query: Query, wanted: Sequence[Term], is_all: bool) -> Results:
        asked = to_query(query, wanted, is_all)
        with self._reading() as index:
            searcher = index.searcher()
            found = searcher.search(asked, max(query.limit, 1), offset=query.offset)
            hits = [Hit(to_record(searcher.doc(at)), float(score)) for score, at in found.hits]
            total: int = found.count  # type: ignore[attr-defined] # it is not in the stubs
            return Results(hits[: query.limit], total, _counts(searcher, asked, FACETS))

    @contextmanager
    def rebuild(self) -> Iterator[tuple[TantivyEngine, str]]:
        """Return an empty index in a folder beside this one's; at the end the manifest names it."""
        if not self._lock.is_locked:
            self._claim()
        manifest, fresh = Manifest.new(), TantivyEngine(self._shown)
        fresh._is_writer, fresh._fresh = True, manifest
        fresh._attach(manifest.identity, is_new=True)
        try:
            yield fresh, manifest.identity
            fresh.flush()
            fresh.close()
            self._publish(fresh._fresh)
        except BaseException:
            fresh.close()
            shutil.rmtree(self._folder(manifest.identity), ignore_errors=True)
            raise
        self._detach()
        self._attach(manifest.identity)
        self._tidy()

    def close(self) -> None:
        self._detach()
        self._is_writer = False
        self._lock.release()

    def _folder(self, identity: str) -> Path:
        return self._path / f"{INDEX}{identity}"

    def _claim(self) -> None:
        """Become the one who writes into the folder, which is made if it is not there."""
        try:
            self._path.mkdir(parents=True, exist_ok=True)
            others = {path.name for path in self._path.iterdir()}
            ours = {name for name in others if name == LOCK or name.startswith(INDEX)}
            if MANIFEST not in others and others != ours:
                raise EngineError(f"{self._path} holds other files: name another folder")
            self._lock.acquire()
            self._is_writer = True
        except Timeout as error:
            raise EngineDownError(
                f"{self._shown} is written by another process: wait until it has ended"
            ) from error
        except OSError as error:
            raise EngineError(
                f"{self._shown} cannot be written: {self._path}: {error.strerror}"
            ) from error

    def _present(self) -> str:
        """Return the identity that the manifest says."""
        return self._identity_of(self._read_manifest())

    def _read_manifest(self) -> str:
        try:
            return self._manifest_path.read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError as error:
            raise self._absent() from error
        except OSError as error:
            raise EngineError(f"{self._shown} cannot be read: {error.strerror}") from error

    def _publish(self, manifest: Manifest) -> None:
        try:
            write_atomically(self._manifest_path, manifest.dump().encode())
        except OSError as error:
            raise EngineDownError(f"{self._shown} cannot be written: {error.strerror}") from error

    def _tidy(self) -> None:
        """Delete indexes that are in use no more: who still reads one has its files open."""
        for folder in self._path.glob(f"{INDEX}*"):
            if folder != self._folder(self._identity):
                shutil.rmtree(folder, ignore_errors=True)

    def _attach(self, identity: str, is_new: bool = False) -> None:
        folder = self._folder(identity)
        try:
            if is_new:
                folder.mkdir()
                index = tantivy.Index(SCHEMA, str(folder), reuse=False)
            else:
                index = tantivy.Index.open(str(folder))
            index.config_reader("manual")
            seen = self._meta(identity)
            index.reload()
        except OSError as error:
            raise EngineError(f"{self._shown} cannot be opened: {error.strerror}") from error
        except ValueError as error:
            raise self._damaged(error) from error
        self._index, self._identity, self._seen = index, identity, seen

    def _detach(self) -> None:
        writer, self._writer, self._index = self._writer, None, None
        self._pending, self._failure, self._identity = {}, "", ""
        if writer:
            # Ends merges that go on; else the next one finds hundreds of small segments. A writer
            # that has failed has said so before.
            with suppress(ValueError, RuntimeError):
                writer.wait_merging_threads()

    def _damaged(self, error: Exception) -> EngineError:
        return EngineError(
            f"{self._shown} is damaged: make it anew with 'contentspider index rebuild' ({error})"
        )

    def _attach_present(self) -> None:
        """Open the index that the manifest names, or its newest commit, however it is replaced."""
        while True:
            identity = self._present()
            try:
                # Opens every segment: not for each search.
                if identity != self._identity or self._meta(identity) != self._seen:
                    self._attach(identity)
            except (EngineError, OSError):
                if self._present() == identity:
                    raise
            else:
                return

    @contextmanager
    def _reading(self) -> Iterator[tantivy.Index]:
        """Return the index as it is now: others may have written to it, or made it anew."""
        if self._index is None:
            raise EngineError(f"{self._shown} is not open")
        try:
            if not self._is_writer:
                self._attach_present()
            yield self._index
        except (ValueError, RuntimeError, OSError) as error:
            raise self._damaged(error) from error

    def _meta(self, identity: str) -> tuple[int, int]:
        # Each commit replaces this file.
        status = (self._folder(identity) / "meta.json").stat()
        return status.st_ino, status.st_mtime_ns

    @contextmanager
    def _writing(self) -> Iterator[tantivy.IndexWriter]:
        if self._index is None or not self._is_writer:
            raise EngineError(f"{self._shown} is not open for writing")
        if self._failure:
            raise EngineDownError(self._failure)
        try:
            if self._writer is None:
                self._writer = self._index.writer(HEAP_BYTES, num_threads=1)
                # Of a writer's operations tantivy numbers the first as the commit before it. If it
                # is a deletion, and segments are merged while it is committed, those that had
                # deletions in that commit miss it: so it is one of nothing.
                self._writer.delete_documents_by_term("id", "")
            yield self._writer
        except (ValueError, RuntimeError, OSError) as error:
            # The writer is of no more use. What it had not committed is lost: who goes on as if it
            # were there would never write it again.
            message = f"{self._shown} cannot be written: {error}"
            self._writer, self._failure = None, message if self._pending else ""
            raise EngineDownError(message) from error


def _counts(
    searcher: tantivy.Searcher, query: tantivy.Query, names: Sequence[str]
) -> dict[str, dict[str, int]]:
    """Return how many of the documents that a query finds have each value of these fields."""
    asked = {name: {"terms": {"field": name, "size": MAX_FACETS}} for name in names}
    counts = searcher.aggregate(query, asked)
    return {
        name: {bucket["key"]: bucket["doc_count"] for bucket in counts[name]["buckets"]}
        for name in names
    }
