"""Bringing an index to what a history has: what changed since the last time goes in, what is gone
goes out. Nothing is lost while an engine is down, and what is done twice leaves the same index.
"""

from __future__ import annotations

import json
import logging
import time
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import TYPE_CHECKING, NoReturn

from contentspider.ground.atomic import write_json
from contentspider.ground.times import now
from contentspider.index.engine import Refused, shown
from contentspider.index.errors import EngineDownError, EngineError, Retries
from contentspider.index.schema import Document, document_fields

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from contentspider.index.engine import Engine
    from contentspider.state.history.entries import Entries, Entry

    # Hears how many of how many changes are through.
    Tell = Callable[[int, int], object]

logger = logging.getLogger(__name__)

# What was written is made safe after so long, and the cursor moved on.
FLUSH_SECS = 10.0
# More of a crawl's documents are deleted only if somebody says so, but for a few.
MAX_GONE_SHARE, FEW = 0.3, 5
MAX_NAMED = 3


@dataclass
class Report:
    """What was done to an index: documents put in, taken out, and *left* as they were, since they
    are *newer* than the history, or of another crawl (*foreign*), too; those that the engine
    *refused* (by id, and why); and how often it was asked again (*retries*).
    """

    upserted: int = 0
    deleted: int = 0
    left: int = 0
    newer: int = 0
    foreign: int = 0
    retries: int = 0
    refused: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        more = {
            "are of another crawl and left alone": self.foreign,
            "are newer than the history and left alone": self.newer,
            "refused by the engine": len(self.refused),
        }
        parts = [f"{number} {what}" for what, number in more.items() if number]
        return ", ".join([f"{self.upserted} documents in, {self.deleted} out", *parts])


@dataclass
class Cursor:
    """How far an index is: shown as *url*, it has all changes of the history up to the number
    *seq*, but the documents that it *refused* (their ids, and why).
    """

    url: str
    seq: int = 0
    at: str = ""
    refused: dict[str, str] = field(default_factory=dict)


class Cursors:
    """The cursors of the indexes of the history at *path*, by the indexes' identities. They are a
    shortcut: without its cursor an index is compared with the whole history.
    """

    def __init__(self, path: Path) -> None:
        self._path = path.with_suffix(".indexes.json")
        self._all: dict[str, Cursor] = {}
        try:
            record = json.loads(self._path.read_text(encoding="utf-8"))
            self._all = {name: Cursor(**cursor) for name, cursor in record.items()}
        except FileNotFoundError:
            pass
        except (OSError, ValueError, TypeError, AttributeError) as error:
            message = "%s cannot be read (%s): indexes are compared with the whole history"
            logger.warning(message, self._path, error)

    def of(self, identity: str, url: str) -> Cursor:
        """Return the cursor of an index, at the beginning if it has none."""
        cursor = self._all.setdefault(identity, Cursor(url))
        cursor.url = url
        return cursor

    def save(self) -> None:
        """Write them; raises `ContentSpiderError` if that cannot be."""
        write_json(self._path, {name: asdict(cursor) for name, cursor in self._all.items()})


class Sync:
    """Brings the index that an opened *engine* holds (*identity*, at *url*) to what *documents*
    has. Its cursor moves on only when what is before it is safe. With *force* any number of
    documents is deleted; *tell* hears how many of how many changes are through.
    """

    def __init__(
        self,
        documents: Entries,
        engine: Engine,
        url: str,
        identity: str,
        force: bool = False,
        tell: Tell | None = None,
    ) -> None:
        self._documents = documents
        self._engine = engine
        self._url = shown(url)
        self._crawl = documents.path.stem
        self._cursors = Cursors(documents.path)
        self._cursor = self._cursors.of(identity, self._url)
        self._force = force
        self._ask = Retries()
        self._tell = tell
        self.report = Report()

    def run(self) -> Report:
        """Bring in what has changed since the cursor; all of the history if there is none, or it is
        newer. Raises `EngineDownError` when the engine stays down, `EngineError` if it can take
        nothing, or too much would be deleted: the cursor stays where it is then.
        """
        cursor, documents = self._cursor, self._documents
        if not documents.last:
            logger.warning(
                "%s has no items yet, so that there is nothing to index: the next crawl of the site"
                " brings them",
                documents.path.name,
            )
        elif cursor.seq > documents.last:
            logger.warning(
                "%s has more than %s, which may be an older copy: what is newer there stays. If the"
                " history is right, mend the index with 'contentspider index verify --mend'",
                self._url,
                documents.path.name,
            )
            cursor.seq = 0
        is_first = not cursor.seq
        gone = 0 if is_first else documents.gone_count(cursor.seq)
        # What an index without a cursor has too much is found at the end.
        may_delete = not is_first and self._may_delete(gone)
        total, done, flushed = documents.count(cursor.seq), 0, time.monotonic()
        try:
            for batch in batches(documents.after(cursor.seq), self._engine):
                self._apply(batch, may_delete)
                done += len(batch)
                if self._tell:
                    self._tell(done, total)
                if time.monotonic() - flushed > FLUSH_SECS:
                    # It stays before all is compared, and if something is left undone. A page that
                    # moved shares its number with what it was, which may be in the next batch.
                    self._keep(batch[-1].seq - 1 if may_delete else cursor.seq)
                    flushed = time.monotonic()
            if is_first:
                self._delete_extra(self.differences().extra)
            elif not may_delete:
                self._ask(self._engine.flush)
                self._refuse(gone)
            self._keep(documents.last)
        finally:
            self.report.retries = self._ask.count
        return self.report

    def _refuse(self, number: int) -> NoReturn:
        raise EngineError(
            f"{self._url}: {number} documents of {self._crawl} would be deleted, a larger share"
            f" than {MAX_GONE_SHARE:g}: none is. If they are to go, say --force"
        )

    def _may_delete(self, gone: int) -> bool:
        if self._force or gone <= FEW:
            return True
        return gone <= MAX_GONE_SHARE * (gone + self._documents.live_count())

    def _keep(self, seq: int) -> None:
        """Make safe what is in, and move the cursor on."""
        self._ask(self._engine.flush)
        self._cursor.seq, self._cursor.at = seq, now()
        self._cursors.save()

    def _apply(self, batch: Sequence[Entry], may_delete: bool, is_mending: bool = False) -> None:
        """Put what is to be there of a batch into the index, and take out the rest, unless it is of
        another crawl, or newer, which is wrong only where the index *is mended*.
        """
        stored = self._ask(lambda: self._engine.find([entry.id for entry in batch]))
        wanted: list[Document] = []
        unwanted: list[str] = []
        newer: list[str] = []
        for entry in batch:
            there = stored.get(entry.id)
            is_newer = there is not None and there.version > entry.seq
            if there is not None and there.crawl != self._crawl:
                self.report.foreign += 1
            elif is_newer and not is_mending:
                self.report.newer += 1
            elif entry.item is None:
                if there is not None and may_delete:
                    unwanted.append(entry.id)
            elif there is not None and (there.version, there.hash) == (entry.seq, entry.hash):
                self.report.left += 1
            else:
                fields = document_fields(entry.item)
                wanted.append(Document(entry.id, self._crawl, entry.seq, entry.hash, fields))
                if is_newer:
                    newer.append(entry.id)
        if newer or unwanted:
            # An engine that knows versions would keep the newer ones.
            self._ask(lambda: self._engine.delete([*newer, *unwanted]))
            self.report.deleted += len(unwanted)
        for page_id in unwanted:
            self._cursor.refused.pop(page_id, None)
        if wanted:
            self._upsert(wanted)

    def _upsert(self, wanted: Sequence[Document]) -> None:
        refused = put(lambda part: self._ask(partial(self._engine.upsert, part)), wanted)
        if len(refused) == len(wanted) > 1 and len({entry.reason for entry in refused}) == 1:
            # Not the documents: a key without rights, a disk that is full.
            raise EngineError(f"{self._url} takes no document: {refused[0].reason}")
        for entry in refused[:MAX_NAMED]:
            logger.error("%s refused document %s: %s", self._url, entry.id, entry.reason)
        if len(refused) > MAX_NAMED:
            logger.error("%s refused %d documents more", self._url, len(refused) - MAX_NAMED)
        reasons = {entry.id: entry.reason for entry in refused}
        for document in wanted:
            self._cursor.refused.pop(document.id, None)
        self.report.refused |= reasons
        self._cursor.refused |= reasons
        self.report.upserted += len(wanted) - len(reasons)

    def differences(self) -> Differences:
        """Compare the index with the history, document by document."""
        self._ask(self._engine.flush)
        documents = self._engine.documents(self._crawl)
        there = {stored.id: (stored.version, stored.hash) for stored in documents}
        found = Differences()
        for page_id, seq, item_hash in self._documents.live():
            state = there.pop(page_id, None)
            if state == (seq, item_hash):
                found.same += 1
            elif page_id in self._cursor.refused:
                found.refused.append(page_id)
            elif state is None:
                found.missing.append(page_id)
            else:
                found.stale.append(page_id)
        found.extra = list(there)
        return found

    def mend(self, found: Differences) -> Report:
        """Put in what is missing or stale, and take out what is too much."""
        wrong = [*found.missing, *found.stale, *found.refused]
        for batch in batches(self._documents.of(wrong), self._engine):
            self._apply(batch, may_delete=True, is_mending=True)
        self._delete_extra(found.extra)
        self._keep(self._documents.last)
        return self.report

    def _delete_extra(self, extra: Sequence[str]) -> None:
        """Take out what the index has of the crawl and the history has not."""
        if not self._may_delete(len(extra)):
            self._refuse(len(extra))
        size = self._engine.max_documents
        for part in (extra[start : start + size] for start in range(0, len(extra), size)):
            self._ask(partial(self._engine.delete, part))
            self.report.deleted += len(part)


@dataclass
class Differences:
    """Ids of documents by how an index differs (*extra*: too many), and how many are the *same*."""

    same: int = 0
    missing: list[str] = field(default_factory=list)
    stale: list[str] = field(default_factory=list)
    extra: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.missing or self.stale or self.extra)


def put(
    upsert: Callable[[Sequence[Document]], Sequence[Refused]], documents: Sequence[Document]
) -> list[Refused]:
    """Put documents in, halves where a batch fails as a whole; return those that are refused."""
    try:
        return list(upsert(documents))
    except EngineDownError:
        raise
    except EngineError as error:
        if len(documents) == 1:
            return [Refused(documents[0].id, str(error))]
    half = len(documents) // 2
    return put(upsert, documents[:half]) + put(upsert, documents[half:])


def batches(entries: Iterable[Entry], engine: Engine) -> Iterator[list[Entry]]:
    """Yield entries in batches of at most the number and the bytes that an engine takes."""
    batch: list[Entry] = []
    size = 0
    for entry in entries:
        # In characters: close enough, and each is counted once a field.
        length = sum(len(str(value)) for value in (entry.item or {}).values())
        if batch and (len(batch) == engine.max_documents or size + length > engine.max_bytes):
            yield batch
            batch, size = [], 0
        batch.append(entry)
        size += length
    if batch:
        yield batch
