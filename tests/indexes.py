"""An engine in memory, and books that crawls write, for tests of indexes."""

from __future__ import annotations

import json
from contextlib import closing
from types import MappingProxyType
from typing import TYPE_CHECKING

from contentspider.index.engine import Query, Refusal, Results
from contentspider.index.errors import EngineDownError, EngineError, Retries
from contentspider.index.schema import DocumentState
from contentspider.index.sync import Sync
from contentspider.page.input.page import Page
from contentspider.recrawl.judge import Change, Facts
from contentspider.site.models.identity import page_id
from contentspider.state.book import changes as changes_times
from contentspider.state.book.answers import Answer
from contentspider.state.book.book import Book
from contentspider.state.book.items import ItemBinding
from contentspider.state.book.losses import Losses
from contentspider.state.book.visits import Visit
from contentspider.state.crawls.entries import Entries

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
    """A book in *folder* that crawls write: pages by number, with a title each."""

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
        with closing(Book(self.path)) as book:
            book.begin_crawl()
            book.begin_run()
            book.begin_ending()
            for place, (number, title) in enumerate(changed.items()):
                origin = moved.get(number)
                if origin is not None:
                    self.titles.pop(origin)
                self._visit(book, place + 1, number, title, fields.get(number), origin)
            losses = Losses(book)
            for page_id_, seq in book.changes.moves():
                losses.mark_moved(page_id_, seq)
            for number in gone:
                known = book.known.page(f"{number:032x}")
                assert known is not None
                losses.mark_gone(known, "HTTP 404")
                self.titles.pop(number)
            for url, number in copies.items():
                numbers = book.runs.current, book.runs.crawl
                book.copies.add(page_id(url), f"{number:032x}", url, *numbers)
            book.publish(is_complete)
            book.end_run("finished")
            for _ in book.clean(is_over=True):
                pass
        self.titles |= changed

    def _visit(
        self, book: Book, row: int, number: int, title: str, fields: object, origin: int | None
    ) -> None:
        """Write the visit of a page with a title, and its item."""
        name = f"{number:032x}"
        change = "changed" if number in self.titles else "new" if origin is None else "moved"
        content = f"The text of {title}."
        visit = Visit(
            id=name,
            url=f"http://e.org/{number}",
            site="e.org",
            at=changes_times.now(),
            facts=Facts("page", 0.5, is_moved=origin is not None),
            content_hash=content,
            text_hash=content,
            layout_hash="",
            model="m",
            base=book.known.page(name if origin is None else f"{origin:032x}"),
        )
        item: dict[str, object] = {"id": name, "url": visit.url, "title": title}
        item |= {"content": content, "crawled_at": visit.at}
        item |= {"fields": fields} if fields is not None else {}
        book.visits.write(visit, Change(change, "page", 0.5), Answer(), row)
        hand = ItemBinding(Page.from_html("", visit.url), row, row, f"{row}/0", page_id=name)
        _, line = book.items.record(hand, json.dumps(item).encode())
        book.visits.take_item(name, item, line, content)

    def sync(self, engine: Memory, force: bool = False, take_over: bool = False) -> Sync:
        """Return what brings an index up to date."""
        documents = Entries(self.path)
        self.opened.append(documents)
        sync = Sync(documents, engine, URL, engine.identity(), force, take_over)
        sync._retry = Retries(0)
        return sync

    def assert_in(self, engine: Memory) -> None:
        """Fail unless the index has what the book has."""
        assert {int(one, 16): doc.fields["title"] for one, doc in engine.there.items()} == (
            self.titles
        )
        assert not self.sync(engine).differences()
