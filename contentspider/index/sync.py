"""Bring a search index up to date with the book of a crawl.

Changed pages are written, and gone pages are deleted. A document belongs to the crawl that wrote it
first: other crawls leave it alone. Requests to an engine that is down are repeated. Applying a
change twice does no harm.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, NoReturn

from contentspider.ground.counts import counted
from contentspider.index.engine import Refusal
from contentspider.index.errors import (
    EmbedderError,
    EngineDownError,
    EngineError,
    IndexDamagedError,
    Retries,
    redacted_url,
)
from contentspider.index.marks import Mark
from contentspider.index.own_fields import has_new_type, types_of
from contentspider.index.schema import DATE_FIELDS, Document, DocumentState, document_fields

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from contentspider.index.engine import Engine
    from contentspider.state.crawls.entries import Entries, Entry

    # Called with the number of changes that are done, and the number of all changes.
    ProgressCallback = Callable[[int, int], object]

logger = logging.getLogger(__name__)

# Writes become durable and visible to searches at least this often.
FLUSH_SECS = 10.0
# More than this share of a crawl's documents is deleted only with --force. A few documents may
# always be deleted.
MAX_GONE_SHARE, MAX_UNGUARDED_DELETIONS = 0.3, 5
MAX_LOGGED_REFUSALS = 3


@dataclass
class Report:
    """The counts of one update of an index.

    *upserted* and *deleted* count documents. *unchanged* counts documents that were up to date.
    *taken_over* counts documents that belonged to another crawl before. *foreign* counts the pages
    whose documents belong to other crawls, and were left alone, by crawl. *kept* counts documents
    that differ from the book, but stay until a crawl has seen the whole site. *retries* counts
    repeated requests. *refused* maps ids of documents to the engine's reasons for refusing them.
    """

    upserted: int = 0
    deleted: int = 0
    unchanged: int = 0
    taken_over: int = 0
    foreign: Counter[str] = field(default_factory=Counter)
    kept: int = 0
    retries: int = 0
    refused: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        details = {
            "taken over from another crawl": self.taken_over,
            "left to another crawl": self.foreign.total(),
            "kept until a crawl is complete": self.kept,
            "refused by the engine": len(self.refused),
        }
        parts = [f"{number} {detail}" for detail, number in details.items() if number]
        return ", ".join(
            [f"{counted(self.upserted, 'documents')} written, {self.deleted} deleted", *parts]
        )


class Sync:
    """Brings the index of an opened *engine* up to date with *entries*, the pages of a book.

    The index's mark names the book that the index holds, and the last change from it. A new
    mark is saved only after the changes before it are durable. *identity* is the index's identity,
    and *url* its URL. With *force* any number of documents may be deleted. With *take_over* pages
    whose documents belong to another crawl are written, too. *on_progress* is called after each
    batch.
    """

    def __init__(
        self,
        entries: Entries,
        engine: Engine,
        url: str,
        identity: str,
        force: bool = False,
        take_over: bool = False,
        on_progress: ProgressCallback | None = None,
    ) -> None:
        self._entries = entries
        self._engine = engine
        self._display_url = redacted_url(url)
        self._identity = identity
        self._crawl = entries.path.stem
        self._force = force
        self._take_over = take_over
        self._damaged: set[str] = set()
        self._retry = Retries()
        self._on_progress = on_progress
        self.report = Report()
        self._mark = Mark.load(self._retry(lambda: engine.mark(self._crawl)))
        self._refused = self._mark.refused if self._mark else {}
        # The types of the user's own fields that this update has recorded, by name, and the types
        # that the index had before.
        self._own_types: dict[str, set[str]] = {}
        self._types_before: Mapping[str, Sequence[str]] | None = None

    def run(self) -> Report:
        """Write the changes since the last update, or compare all documents.

        All documents are compared if the index holds another book, or none; if it has another
        number of the crawl's documents than the last update left, because somebody else deleted
        them or took them over; and if other crawls have documents of the same pages, because they
        may have deleted them since. Raises `EngineDownError` if the engine stays down. Raises
        `EngineError` if the engine accepts no document, its embedder fails, too many documents
        would be deleted, or the book is older than the index. The old mark stays then.
        """
        try:
            if not self._entries.last:
                logger.warning(
                    "%s has no pages with content yet, so nothing is indexed. A crawl records the"
                    " pages whose items contentspider fills: those of ContentItem, and of the"
                    " classes in CONTENTSPIDER_ITEM_FIELDS",
                    self._entries.path.name,
                )
            elif self._mark is not None and self._entries.follows(self._mark.stand):
                if self._holds_what_it_held(self._mark):
                    self._apply_changes(self._mark.stand.seq)
                else:
                    self.mend(self.differences())
            else:
                self._check_age()
                self._apply_differences()
            self._tell_of_other_crawls()
        finally:
            self.report.retries = self._retry.count
        return self.report

    def _holds_what_it_held(self, mark: Mark) -> bool:
        """Tell whether only the changes since a mark can be missing in the index."""
        if mark.foreign:
            return False
        count = self._retry(lambda: self._engine.count(self._crawl))
        if count != mark.documents and mark.documents is not None:
            logger.warning(
                "%s has %d documents of %s, but had %d after its last update: another crawl or"
                " program has changed them, or an update was not finished. All documents"
                " are compared, and differences are corrected",
                self._display_url,
                count,
                self._crawl,
                mark.documents,
            )
        return count == mark.documents

    def _tell_of_other_crawls(self) -> None:
        """Log how many documents were taken over, and once how many belong to other crawls."""
        if self.report.taken_over:
            logger.warning(
                "%s: %s of another crawl, taken over by %s. If that crawl is"
                " the same under another name, its other documents stay in the index:"
                " docs/indexing.md explains how to delete them",
                self._display_url,
                counted(self.report.taken_over, "documents"),
                self._crawl,
            )
        foreign = self.report.foreign
        if foreign and foreign != (self._mark.foreign if self._mark else {}):
            logger.warning(
                "%s: the documents of %s of %s belong to other crawls (%s), and stay as they are."
                " If one of these is the same crawl under another name, add --take-over once",
                self._display_url,
                counted(foreign.total(), "pages"),
                self._crawl,
                ", ".join(f"{crawl}: {count}" for crawl, count in foreign.most_common()),
            )

    def _check_age(self) -> None:
        """Raise `EngineError` if the index holds a newer copy of the book.

        Logs a warning if the index holds another book.
        """
        if self._mark is None:
            return
        marked_stand, stand = self._mark.stand, self._entries.position()
        name = self._entries.path.name
        if marked_stand.ended > stand.ended:
            raise EngineError(
                f"{self._display_url} contains a crawl that ended at {marked_stand.ended}, but the"
                f" last crawl in {name} ended at {stand.ended}: the book may be an old copy."
                " Crawl the site again; or, if the book is right, run 'contentspider index verify"
                f" {self._crawl} {self._display_url} --mend --force'"
            )
        logger.warning(
            "%s was filled from another book than %s (the state folder was lost or restored, or"
            " belongs to another machine): all documents are compared, and differences are"
            " corrected",
            self._display_url,
            name,
        )

    def _apply_changes(self, seq: int) -> None:
        """Write the changes of the book after the change with number *seq*."""
        entries = self._entries
        gone_count = entries.unaccepted_count(seq)
        may_delete = self._may_delete(gone_count)
        self._apply_in_batches(entries.after(seq), entries.count(seq), may_delete)
        if not may_delete:
            self._raise_too_many_deletions(gone_count)
        self._save_mark()

    def _apply_differences(self) -> None:
        """Compare the index with the whole book, and correct the differences.

        If no crawl has seen the whole site since the index was updated, only pages that crawls have
        seen since are corrected, because the book may have older texts of other pages than the
        index. The old mark stays then.
        """
        differences = self.differences()
        since = self._mark.stand.ended if self._mark else ""
        if self._force or self._entries.has_all(since):
            self.mend(differences)
        else:
            unseen_ids = set(self._entries.unseen(since))
            outdated_ids = differences.outdated
            seen_ids = [page_id for page_id in outdated_ids if page_id not in unseen_ids]
            self.report.kept = len(differences.extra) + len(outdated_ids) - len(seen_ids)
            self._write_pages(seen_ids)
            self._save_mark_if_complete()

    def _save_mark_if_complete(self) -> None:
        """Save the new mark, unless the index keeps documents that differ from the book."""
        if not self.report.kept:
            self._save_mark()
            return
        self._retry(self._engine.flush)
        logger.warning(
            "%s: %s left as before, though the book (%s) differs, because no crawl has seen the"
            " whole site since. After a complete crawl all documents are compared again. If the"
            " book is right, run 'contentspider index verify --mend'",
            self._display_url,
            counted(self.report.kept, "documents"),
            self._entries.path.name,
        )

    def _write_pages(self, page_ids: Sequence[str]) -> None:
        self._apply_in_batches(self._entries.of(page_ids), len(page_ids), may_delete=True)

    def _apply_in_batches(self, entries: Iterable[Entry], total: int, may_delete: bool) -> None:
        done, last_flush = 0, time.monotonic()
        for batch in batches(entries, self._engine):
            self._apply(batch, may_delete)
            done += len(batch)
            if self._on_progress:
                self._on_progress(done, total)
            if time.monotonic() - last_flush > FLUSH_SECS:
                self._retry(self._engine.flush)
                last_flush = time.monotonic()

    def _raise_too_many_deletions(self, count: int) -> NoReturn:
        self._retry(self._engine.flush)
        raise EngineError(
            f"{self._display_url}: {counted(count, 'documents')} of {self._crawl} would be"
            f" deleted, which is more than a share of {MAX_GONE_SHARE:g}; nothing was deleted. If"
            " the pages are really gone: contentspider index sync"
            f" {self._crawl} {self._display_url} --force",
            code="index-deletions",
        )

    def _may_delete(self, count: int) -> bool:
        if self._force or count <= MAX_UNGUARDED_DELETIONS:
            return True
        return count <= MAX_GONE_SHARE * (count + self._entries.live_count())

    def _save_mark(self) -> None:
        """Flush all writes and save the new mark.

        Raises `EngineError` if another process has rebuilt the index.
        """
        if self._retry(self._engine.identity) != self._identity:
            raise EngineError(
                f"another process has rebuilt {self._display_url} meanwhile: run the command again"
            )
        if self._own_types:
            # Some engines take no lock, so that another process may have overwritten the types.
            self._retry(lambda: self._engine.add_own_types(self._own_types))
        self._retry(self._engine.flush)
        count = self._retry(lambda: self._engine.count(self._crawl))
        foreign = dict(self.report.foreign)
        mark = Mark(self._entries.position(), self._refused, count, foreign).dump()
        self._retry(lambda: self._engine.set_mark(self._crawl, mark))

    def _record_own_types(self, types: Mapping[str, set[str]]) -> None:
        """Record the types of own fields in the index before documents have them, so that a killed
        update leaves no field that searches do not know. Logs a warning if a field has got another
        type than before the update, or a name that filters cannot use.
        """
        new = {
            name: kinds
            for name, kinds in types.items()
            if not kinds <= self._own_types.get(name, set())
        }
        if not new:
            return
        if self._types_before is None:
            self._types_before = self._retry(self._engine.own_types)
        for name, kinds in new.items():
            self._warn_of_field(name, kinds, self._types_before.get(name, ()))
            self._own_types.setdefault(name, set()).update(kinds)
        self._retry(lambda: self._engine.add_own_types(new))

    def _warn_of_field(self, name: str, types: set[str], before: Sequence[str]) -> None:
        if name in DATE_FIELDS and name not in self._own_types:
            logger.warning(
                "%s: filters and orders by %s use the date of the page, and not your own field:"
                " give the field another name",
                self._display_url,
                name,
            )
        if before and has_new_type(before, types):
            logger.warning(
                "%s: pages have %s as %s now, but as %s before: a filter compares each value by"
                " its own type. When all pages have the new type, run 'contentspider index"
                " rebuild' to forget the old one",
                self._display_url,
                name,
                " and ".join(sorted(types)),
                " and ".join(before),
            )

    def _apply(self, batch: Sequence[Entry], may_delete: bool) -> None:
        """Write the pages of a batch, and delete its gone pages; documents of other crawls stay."""
        self._record_own_types(types_of(entry.item for entry in batch if entry.item))
        states = self._retry(lambda: self._engine.find([entry.id for entry in batch]))
        documents: list[Document] = []
        gone_ids: list[str] = []
        for entry in batch:
            state = states.get(entry.id)
            is_own = state is not None and state.crawl == self._crawl
            if entry.item is None:
                if may_delete:
                    self._refused.pop(entry.id, None)
                    gone_ids += [entry.id] if is_own else []
            elif (owner := self._foreign_owner(state)) is not None:
                self.report.foreign[owner] += 1
            elif self._is_current(entry, state):
                self.report.unchanged += 1
            else:
                documents.append(_document(entry, self._crawl))
        self._delete(gone_ids)
        self._replace(documents, states)

    def _foreign_owner(self, state: DocumentState | None) -> str | None:
        """Return the other crawl that a document stays with; None if this crawl may write it."""
        if state is None or state.crawl == self._crawl or self._take_over:
            return None
        return state.crawl

    def _is_current(self, entry: Entry, state: DocumentState | None) -> bool:
        """Tell whether the index has a page as it is, unless its fields are known to be damaged."""
        is_damaged = entry.id in self._damaged
        return not is_damaged and state == DocumentState(
            entry.id, self._crawl, entry.seq, entry.hash
        )

    def _replace(self, documents: Sequence[Document], states: Mapping[str, DocumentState]) -> None:
        """Write documents over the stored documents with these *states*."""
        replaced = [(states[new.id], new) for new in documents if new.id in states]
        self.report.taken_over += sum(old.crawl != self._crawl for old, _ in replaced)
        # Versions of two books cannot be compared. An engine would keep the larger version.
        if larger_ids := [new.id for old, new in replaced if old.version > new.version]:
            self._retry(lambda: self._engine.delete(larger_ids))
        if documents:
            self._upsert(documents)

    def _upsert(self, documents: Sequence[Document]) -> None:
        refusals = upsert_in_halves(
            lambda part: self._retry(partial(self._engine.upsert, part)), documents
        )
        reasons = {refusal.id: refusal.reason for refusal in refusals}
        if len(refusals) == len(documents) > 1 and len(set(reasons.values())) == 1:
            # All documents have the same error. The cause may be a key without rights, or a full
            # disk, but not a document.
            raise EngineError(f"{self._display_url} accepts no document: {refusals[0].reason}")
        for refusal in refusals[:MAX_LOGGED_REFUSALS]:
            logger.error(
                "%s refused document %s: %s", self._display_url, refusal.id, refusal.reason
            )
        if len(refusals) > MAX_LOGGED_REFUSALS:
            more = len(refusals) - MAX_LOGGED_REFUSALS
            logger.error("%s refused %s", self._display_url, counted(more, "more documents"))
        for document in documents:
            self._refused.pop(document.id, None)
        self.report.refused |= reasons
        self._refused |= reasons
        self.report.upserted += len(documents) - len(reasons)

    def differences(self) -> Differences:
        """Compare the hash of each document in the index with the book."""
        self._retry(self._engine.flush)
        index_hashes = self._retry(
            lambda: {state.id: state.hash for state in self._engine.documents(self._crawl)}
        )
        differences = Differences()
        for page_id, item_hash in self._entries.live():
            index_hash = index_hashes.pop(page_id, None)
            if index_hash == item_hash:
                differences.same += 1
            elif page_id in self._refused:
                differences.refused.append(page_id)
            elif index_hash is None:
                differences.missing.append(page_id)
            else:
                differences.stale.append(page_id)
        differences.extra = list(index_hashes)
        if not self._take_over:
            self._find_owners(differences)
        return differences

    def _find_owners(self, differences: Differences) -> None:
        """Move the missing documents that belong to other crawls to the foreign ones."""
        size = self._engine.max_documents
        for start in range(0, len(differences.missing), size):
            part = differences.missing[start : start + size]
            states = self._retry(partial(self._engine.find, part))
            differences.foreign |= {
                name: state.crawl for name, state in states.items() if state.crawl != self._crawl
            }
        foreign = differences.foreign
        differences.missing = [name for name in differences.missing if name not in foreign]
        self.report.foreign = Counter(foreign.values())

    def check_files(self) -> None:
        """Raise `IndexDamagedError` if the index is damaged beyond its documents."""
        if problems := self._retry(self._engine.damage):
            raise IndexDamagedError(
                f"{self._display_url} is damaged ({'; '.join(problems)}): run 'contentspider index"
                f" rebuild {self._display_url}'"
            )

    def find_damage(self, differences: Differences) -> None:
        """Add the damaged documents to *differences*: read each document that its hash calls
        current, and compare its fields with the book.
        """
        own_types = self._retry(self._engine.own_types)
        passed = {*differences.outdated, *differences.foreign}
        for batch in batches(self._entries.after(0), self._engine):
            documents = [
                _document(entry, self._crawl)
                for entry in batch
                if entry.item is not None and entry.id not in passed
            ]
            damaged = {
                document.id
                for document in documents
                if any(
                    not kinds <= set(own_types.get(name, ()))
                    for name, kinds in types_of([document.fields]).items()
                )
            }
            damaged |= set(self._retry(partial(self._engine.differing, documents)))
            differences.damaged += sorted(damaged)
        differences.same -= len(differences.damaged)

    def mend(self, differences: Differences) -> Report:
        """Write the documents that are missing, stale, damaged or refused, and delete the extra
        ones.
        """
        self._damaged = set(differences.damaged)
        self._write_pages(differences.outdated)
        self._delete_extra(differences.extra)
        self._save_mark()
        return self.report

    def _delete_extra(self, ids: Sequence[str]) -> None:
        """Delete documents of the crawl that its book does not have."""
        count = len(ids)
        if self._mark is not None and self._entries.follows(self._mark.stand):
            count -= self._entries.moved_count(self._mark.stand.seq)
        if not self._may_delete(count):
            self._raise_too_many_deletions(count)
        self._delete(ids)

    def _delete(self, ids: Sequence[str]) -> None:
        size = self._engine.max_documents
        for start in range(0, len(ids), size):
            part = ids[start : start + size]
            self._retry(partial(self._engine.delete, part))
            self.report.deleted += len(part)


@dataclass
class Differences:
    """The differences between an index and a book, as ids of documents.

    *missing* documents are not in the index, *stale* ones have another hash there, *damaged* ones
    other fields than their hash says, *extra* ones are not in the book, and the engine has
    *refused* the others. *foreign* documents belong to another crawl, whose name they map to; they
    do not count as differences. *same* counts equal documents.
    """

    same: int = 0
    missing: list[str] = field(default_factory=list)
    stale: list[str] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)
    extra: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    foreign: dict[str, str] = field(default_factory=dict)

    @property
    def outdated(self) -> list[str]:
        """Return the ids of the documents that have to be written."""
        return [*self.missing, *self.stale, *self.damaged, *self.refused]

    def __bool__(self) -> bool:
        return bool(self.missing or self.stale or self.damaged or self.extra)


def _document(entry: Entry, crawl: str) -> Document:
    """Return the document of a live page."""
    return Document(entry.id, crawl, entry.seq, entry.hash, document_fields(entry.item or {}))


def upsert_in_halves(
    upsert: Callable[[Sequence[Document]], Sequence[Refusal]], documents: Sequence[Document]
) -> list[Refusal]:
    """Write documents with *upsert*, and return the refusals.

    A batch that fails as a whole is split in halves, until each bad document is alone. An embedder
    that fails refuses no document: its error is raised.
    """
    try:
        return list(upsert(documents))
    except (EngineDownError, EmbedderError):
        raise
    except EngineError as error:
        if len(documents) == 1:
            return [Refusal(documents[0].id, str(error))]
    half = len(documents) // 2
    return upsert_in_halves(upsert, documents[:half]) + upsert_in_halves(upsert, documents[half:])


def batches(entries: Iterable[Entry], engine: Engine) -> Iterator[list[Entry]]:
    """Yield entries in batches within the engine's limits of documents and bytes."""
    batch: list[Entry] = []
    size = 0
    for entry in entries:
        # Characters approximate bytes here.
        length = sum(len(str(value)) for value in (entry.item or {}).values())
        if batch and (len(batch) == engine.max_documents or size + length > engine.max_bytes):
            yield batch
            batch, size = [], 0
        batch.append(entry)
        size += length
    if batch:
        yield batch
