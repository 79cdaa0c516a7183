"""An engine in memory, and histories that crawls write, for tests of indexes."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from contentspider.index.engine import Query, Refusal, Results
from contentspider.index.errors import EngineDownError, EngineError, Retries
from contentspider.index.schema import DocumentState
from contentspider.index.sync import Sync
from contentspider.recrawl.judge import Change, Facts
from contentspider.site.models.record import page_id
from contentspider.state.history import writer as writer_times
from contentspider.state.history.entries import Entries
from contentspider.state.history.history import History
from contentspider.state.ledger.visits import Answer, StoredVisit, Visit

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from contentspider.index.engine import Engine
    from contentspider.index.schema import Document

URL = "memory:index"
AT = "2026-01-02T03:04:05+00:00"


class Memory:
    """An engine in memory, which fails as it is told: *down* for so many calls, *refusing* the
    documents with these titles one by one, or with a whole batch that has one of them (*failing*).
    """

    max_documents = 4
    max_bytes = 1_000_000

    def __init__(self, url: str = URL) -> None:
        self.there: dict[str, Document] = {}
        self.down = 0
        self.refusing: set[str] = set()
        self.failing: set[str] = set()
        self.calls: list[str] = []
        self.marks: dict[str, str] = {}
        self.types: dict[str, set[str]] = {}

    def open(self, is_writer: bool) -> str:
        return "identity"

    def _called(self, name: str) -> None:
        self.calls.append(name)
        if self.down:
            self.down -= 1
            raise EngineDownError("it does not answer")

    def upsert(self, documents: Sequence[Document]) -> Sequence[Refusal]:
        self._called("upsert")
        titles = {document.fields["title"] for document in documents}
        if titles & self.failing:
            raise EngineError("HTTP 400")
        refused = [one for one in documents if one.fields["title"] in self.refusing]
        for one in documents:
            old = self.there.get(one.id, one)
            if one not in refused and old.version <= one.version:
                self.there[one.id] = one
        return [Refusal(one.id, "no such title") for one in refused]

    def delete(self, ids: Sequence[str]) -> None:
        self._called("delete")
        for document_id in ids:
            self.there.pop(document_id, None)

    def flush(self) -> None:
        self._called("flush")

    def identity(self) -> str:
        return "identity"

    def mark(self, crawl: str) -> str:
        return self.marks.get(crawl, "")

    def set_mark(self, crawl: str, mark: str) -> None:
        self.flush()
        self.marks[crawl] = mark

    def own_types(self) -> dict[str, list[str]]:
        return {name: sorted(types) for name, types in self.types.items()}

    def add_own_types(self, types: Mapping[str, set[str]]) -> None:
        for name, more in types.items():
            self.types[name] = self.types.get(name, set()) | more

    def find(self, ids: Sequence[str]) -> Mapping[str, DocumentState]:
        self._called("find")
        return {state.id: state for state in self.documents() if state.id in ids}

    def documents(self, crawl: str = "") -> Iterator[DocumentState]:
        for one in self.there.values():
            if not crawl or one.crawl == crawl:
                yield DocumentState(one.id, one.crawl, one.version, one.hash)

    def count(self, crawl: str) -> int:
        return sum(1 for _ in self.documents(crawl))

    def records(self, ids: Sequence[str]) -> Mapping[str, Mapping[str, object]]:
        return {name: self.there[name].record() for name in ids if name in self.there}

    def differing(self, documents: Sequence[Document]) -> list[str]:
        return [one.id for one in documents if self.there[one.id].fields != one.fields]

    def damage(self) -> Sequence[str]:
        return []

    def search(self, query: Query) -> Results:
        raise NotImplementedError

    def rebuild(self) -> AbstractContextManager[tuple[Engine, str]]:
        raise NotImplementedError

    def close(self) -> None:
        self.calls.append("close")


class Crawls:
    """A history in *folder* that crawls write: pages by number, with a title each."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "e.org.sqlite"
        self.number = 0
        self.titles: dict[int, str] = {}
        self.opened: list[Entries] = []

    def close(self) -> None:
        """Close what was opened to be read."""
        while self.opened:
            self.opened.pop().close()

    def crawl(
        self,
        changed: dict[int, str],
        gone: Sequence[int] = (),
        moved: Mapping[int, int] = MappingProxyType({}),
        is_complete: bool = True,
        copies: Mapping[str, int] = MappingProxyType({}),
        fields: Mapping[int, object] = MappingProxyType({}),
    ) -> None:
        """Take over a crawl that found these titles, and that pages are gone, or have *moved* (to
        others: from which). *copies* maps addresses of copies to the pages that they copy, and
        *fields* the numbers of pages to their own fields.
        """
        self.number += 1
        history = History(self.path)
        takeover = history.begin_writing(f"crawl {self.number}", is_complete)
        for place, (number, title) in enumerate(changed.items()):
            change = "changed" if number in self.titles else "new"
            if number in moved:
                change = "moved"
                self.titles.pop(moved[number])
            content = f"The text of {title}."
            visit = Visit(
                id=f"{number:032x}",
                url=f"http://e.org/{number}",
                site="e.org",
                at=writer_times.now(),
                facts=Facts("page", 0.5),
                content_hash=content,
                text_hash=content,
                model="m",
                first_seen=AT,
                previous_id=f"{moved[number]:032x}" if number in moved else "",
            )
            item = {"id": visit.id, "url": visit.url, "title": title, "content": content}
            item["crawled_at"] = visit.at
            item |= {"fields": fields[number]} if number in fields else {}
            stored = StoredVisit(place + 1, visit, Answer(), content, None, True, item)
            takeover.add_visit(stored, Change(change, "page", 0.5))
        for number in gone:
            known = history.page(f"{number:032x}")
            assert known is not None
            takeover.mark_gone(known, "HTTP 404")
            self.titles.pop(number)
        for url, number in copies.items():
            takeover.add_copy(page_id(url), f"{number:032x}", url)
        takeover.commit()
        history.close()
        self.titles |= changed

    def sync(self, engine: Memory, force: bool = False, take_over: bool = False) -> Sync:
        """Return what brings an index up to date."""
        documents = Entries(self.path)
        self.opened.append(documents)
        sync = Sync(documents, engine, URL, engine.identity(), force, take_over)
        sync._retry = Retries(0)
        return sync

    def assert_in(self, engine: Memory) -> None:
        """Fail unless the index has what the history has."""
        assert {int(one, 16): doc.fields["title"] for one, doc in engine.there.items()} == (
            self.titles
        )
        assert not self.sync(engine).differences()
