"""Bring a search index up to date with the history of a crawl.

Changed pages are written, and gone pages are deleted. An engine that is down is asked again later,
and to apply a change twice does no harm.
"""

from __future__ import annotations

import json
import logging
import time
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import TYPE_CHECKING, NoReturn

from contentspider.index.engine import Refused, shown
from contentspider.index.errors import EngineDownError, EngineError, Retries
from contentspider.index.schema import Document, Stored, document_fields
from contentspider.state.history.position import HistoryPosition

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from contentspider.index.engine import Engine
    from contentspider.state.history.entries import Entries, Entry

    # Hears how many of how many changes are through.
    Tell = Callable[[int, int], object]

logger = logging.getLogger(__name__)

# What was written is made safe, and found, after so long.
FLUSH_SECS = 10.0
# More of a crawl's documents are deleted only if somebody says so, but for a few.
MAX_GONE_SHARE, FEW = 0.3, 5
MAX_NAMED = 3


@dataclass
class Report:
    """How many documents of an index a run has written (*upserted*), *deleted*, and *left* because
    they were up to date.

    *taken* counts the documents that belonged to another crawl before. *kept* counts those that
    differ from the history, but stay until a crawl has seen the whole site. *refused* gives the
    engine's reason for each document that it refused, by the document's id. *retries* counts the
    requests that were repeated.
    """

    upserted: int = 0
    deleted: int = 0
    left: int = 0
    taken: int = 0
    kept: int = 0
    retries: int = 0
    refused: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        more = {
            "taken from another crawl": self.taken,
            "kept as they are until a crawl is complete": self.kept,
            "refused by the engine": len(self.refused),
        }
        parts = [f"{number} {what}" for what, number in more.items() if number]
        return ", ".join([f"{self.upserted} documents in, {self.deleted} out", *parts])


@dataclass
class Mark:
    """The state of a crawl's history that an index holds, stored in the index itself.

    *stand* is the state of the history when it was brought in. *refused* gives the engine's reason
    for each document that it refused then, by the document's id.
    """

    stand: HistoryPosition
    refused: dict[str, str] = field(default_factory=dict)

    def dump(self) -> str:
        """Return it as JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def load(cls, text: str) -> Mark | None:
        """Return the mark in a text; None if there is none, or it cannot be read."""
        try:
            record = json.loads(text)
            return cls(HistoryPosition.of(record["stand"]), dict(record["refused"]))
        except (ValueError, TypeError, KeyError):
            return None


class Sync:
    """Brings the index of an opened *engine* (its *identity*, at *url*) up to date with the entries
    of a history, *documents*.

    The index's mark says which history it holds, and up to which change. It is moved only after the
    changes before it are safely stored. With *force* any number of documents may be deleted. *tell*
    is called with the number of changes that are done, and of all.
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
        self._identity = identity
        self._crawl = documents.path.stem
        self._force = force
        self._ask = Retries()
        self._tell = tell
        self.report = Report()
        mark = Mark.load(self._ask(lambda: engine.mark(self._crawl)))
        self._before = mark.stand if mark else None
        self._refused = mark.refused if mark else {}

    def run(self) -> Report:
        """Bring in what has changed since the index had this history; if it has another one, or
        none, compare all. Raises `EngineDownError` when the engine stays down, `EngineError` if it
        can take nothing, too much would be deleted, or the history is older than what the index
        has: the mark stays where it is then.
        """
        try:
            if not self._documents.last:
                logger.warning(
                    "%s has no items yet, so that there is nothing to index: the next crawl of the"
                    " site brings them",
                    self._documents.path.name,
                )
            elif self._before is not None and self._documents.follows(self._before):
                self._bring_changes(self._before.seq)
            else:
                self._check_age()
                self._bring_differences()
        finally:
            self.report.retries = self._ask.count
        return self.report

    def _check_age(self) -> None:
        """Raise `EngineError` if the history is an older copy of what the index has; say that it is
        another one.
        """
        before, stand = self._before, self._documents.position()
        if before is None:
            return
        name = self._documents.path.name
        if before.ended > stand.ended:
            raise EngineError(
                f"{self._url} has what a crawl found until {before.ended}, and {name} ends at"
                f" {stand.ended}: it may be an older copy. Crawl the site again; or, if the history"
                " is right, say 'contentspider index verify --mend'"
            )
        logger.warning(
            "%s was filled from another history than %s (was a folder of state lost, restored, or"
            " is it another machine's?): all documents are compared, and what differs is mended",
            self._url,
            name,
        )

    def _bring_changes(self, seq: int) -> None:
        """Bring in the changes after a number of the history."""
        documents = self._documents
        gone = documents.gone_count(seq)
        may_delete = self._may_delete(gone)
        self._apply_all(documents.after(seq), documents.count(seq), may_delete)
        if not may_delete:
            self._refuse(gone)
        self._keep()

    def _bring_differences(self) -> None:
        """Compare the index with the whole history, and bring in what differs. Until a crawl has
        seen the whole site, after what the index has, that is only what crawls have seen since: all
        else may be older than the index. It stays, and so does the mark.
        """
        found = self.differences()
        since = self._before.ended if self._before else ""
        if self._force or self._documents.has_all(since):
            self.mend(found)
        else:
            unseen = set(self._documents.unseen(since))
            seen = [page_id for page_id in found.wrong if page_id not in unseen]
            self.report.kept = len(found.extra) + len(found.wrong) - len(seen)
            self._put_in(seen)
            self._keep_if_whole()
        if self.report.taken:
            logger.warning(
                "%s: %d documents were of another crawl, and are of %s now. If that is another name"
                " of the same crawl, what only the former one had stays: docs/indexing.md says how"
                " to take it out",
                self._url,
                self.report.taken,
                self._crawl,
            )

    def _keep_if_whole(self) -> None:
        """Move the mark on, unless documents were kept as they are."""
        if not self.report.kept:
            self._keep()
            return
        self._ask(self._engine.flush)
        logger.warning(
            "%s: %d documents differ from what %s has, and stay as they are: no crawl has seen the"
            " whole site since. All is compared again when one has; or, if the history is right,"
            " say 'contentspider index verify --mend'",
            self._url,
            self.report.kept,
            self._documents.path.name,
        )

    def _put_in(self, page_ids: Sequence[str]) -> None:
        self._apply_all(self._documents.of(page_ids), len(page_ids), may_delete=True)

    def _apply_all(self, entries: Iterable[Entry], total: int, may_delete: bool) -> None:
        done, flushed = 0, time.monotonic()
        for batch in batches(entries, self._engine):
            self._apply(batch, may_delete)
            done += len(batch)
            if self._tell:
                self._tell(done, total)
            if time.monotonic() - flushed > FLUSH_SECS:
                self._ask(self._engine.flush)
                flushed = time.monotonic()

    def _refuse(self, number: int) -> NoReturn:
        self._ask(self._engine.flush)
        raise EngineError(
            f"{self._url}: {number} documents of {self._crawl} would be deleted, a larger share"
            f" than {MAX_GONE_SHARE:g}: none is. If they are to go, say --force"
        )

    def _may_delete(self, gone: int) -> bool:
        if self._force or gone <= FEW:
            return True
        return gone <= MAX_GONE_SHARE * (gone + self._documents.live_count())

    def _keep(self) -> None:
        """Make safe what is in, and move the mark on, if it is still the index that was opened."""
        if self._ask(self._engine.identity) != self._identity:
            raise EngineError(f"{self._url} was made anew by another process meanwhile")
        mark = Mark(self._documents.position(), self._refused).dump()
        self._ask(lambda: self._engine.set_mark(self._crawl, mark))

    def _apply(self, batch: Sequence[Entry], may_delete: bool) -> None:
        """Put what is to be there of a batch into the index, and take out the rest, unless it is of
        another crawl.
        """
        stored = self._ask(lambda: self._engine.find([entry.id for entry in batch]))
        wanted: list[Document] = []
        unwanted: list[str] = []
        for entry in batch:
            there = stored.get(entry.id)
            if entry.item is not None:
                state = Stored(entry.id, self._crawl, entry.seq, entry.hash)
                if there == state:
                    self.report.left += 1
                else:
                    fields = document_fields(entry.item)
                    wanted.append(Document(entry.id, self._crawl, entry.seq, entry.hash, fields))
            elif may_delete:
                self._refused.pop(entry.id, None)
                if there is not None and there.crawl == self._crawl:
                    unwanted.append(entry.id)
        self._delete(unwanted)
        self._replace(wanted, stored)

    def _replace(self, wanted: Sequence[Document], stored: Mapping[str, Stored]) -> None:
        """Put documents in the place of those that are *stored* under their ids."""
        replaced = [(stored[new.id], new) for new in wanted if new.id in stored]
        self.report.taken += sum(old.crawl != self._crawl for old, _ in replaced)
        # Numbers are of one history: an engine would keep what has a larger one in another.
        if newer := [new.id for old, new in replaced if old.version > new.version]:
            self._ask(lambda: self._engine.delete(newer))
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
            self._refused.pop(document.id, None)
        self.report.refused |= reasons
        self._refused |= reasons
        self.report.upserted += len(wanted) - len(reasons)

    def differences(self) -> Differences:
        """Compare the index with the history, document by document, by their hashes."""
        self._ask(self._engine.flush)
        there = {stored.id: stored.hash for stored in self._engine.documents(self._crawl)}
        found = Differences()
        for page_id, item_hash in self._documents.live():
            there_hash = there.pop(page_id, None)
            if there_hash == item_hash:
                found.same += 1
            elif page_id in self._refused:
                found.refused.append(page_id)
            elif there_hash is None:
                found.missing.append(page_id)
            else:
                found.stale.append(page_id)
        found.extra = list(there)
        return found

    def mend(self, found: Differences) -> Report:
        """Put in what is missing or stale, and take out what is too much."""
        self._put_in(found.wrong)
        self._delete_extra(found.extra)
        self._keep()
        return self.report

    def _delete_extra(self, extra: Sequence[str]) -> None:
        """Take out what the index has of the crawl and the history has not."""
        if not self._may_delete(len(extra)):
            self._refuse(len(extra))
        self._delete(extra)

    def _delete(self, unwanted: Sequence[str]) -> None:
        size = self._engine.max_documents
        for part in (unwanted[start : start + size] for start in range(0, len(unwanted), size)):
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

    @property
    def wrong(self) -> list[str]:
        """Return the ids of the documents that are to be put in."""
        return [*self.missing, *self.stale, *self.refused]

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
