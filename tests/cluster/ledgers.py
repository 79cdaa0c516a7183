"""Ledgers of both stores for one contract: SQLite for one process, PostgreSQL for several."""

from __future__ import annotations

import uuid
from contextlib import closing
from typing import TYPE_CHECKING, Protocol

import pytest

from contentspider.cluster.ledger import SharedLedger
from contentspider.cluster.store import Store
from contentspider.cluster.tables import TABLES
from contentspider.page.input.page import Page
from contentspider.recrawl.judge import NEW_PAGE
from contentspider.state.ledger.items import ItemBinding
from contentspider.state.ledger.ledger import Ledger
from contentspider.state.ledger.visits import Visit
from tests.servers import postgresql_server, shared, skip_without

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from contentspider.cluster.messages import Reply

ROOM = 100
PAGE = Page.from_html("<p>Tea is made of leaves", "http://e.org/tea")
VISIT = Visit(
    *("page", "http://e.org/tea", "e.org", "2026-01-01T00:00:00+00:00"),
    NEW_PAGE,
    *("hash", "text", "model", "2026-01-01T00:00:00+00:00"),
)


def database(monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the URL of a PostgreSQL that lets in while a test runs."""
    skip_without("postgresql")
    server = shared(postgresql_server)
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    return server.url


def exchange(ledger: SharedLedger, store: Store, room: int = 0) -> Reply:
    """Share what changed, and take addresses, as a crawl does with the steps in between."""
    ask = ledger.report(room)
    try:
        answer = store.exchange(ask)
    except BaseException:
        ledger.undo_report(ask)
        raise
    ledger.apply(answer)
    return answer


def add(ledger: Ledger, name: str, priority: int = 0, request: str | None = "{}") -> int:
    return ledger.frontier.enqueue(name.encode(), f"http://e.org/{name}", priority, request)


def take(ledger: Ledger) -> tuple[int, str]:
    taken = ledger.frontier.queue.take()
    return (taken[0], taken[1].rpartition("/")[2]) if taken else (0, "")


def names(ledger: Ledger) -> list[str]:
    """Return the addresses that a ledger hands out, by their names."""
    found = []
    while name := take(ledger)[1]:
        found.append(name)
    return found


class Crawl(Protocol):
    """A crawl of which processes have the ledger one after the other, or at a time."""

    def open(self) -> Ledger:
        """Return the ledger as a new process has it."""

    def commit(self, ledger: Ledger) -> None:
        """Keep what was done; a worker takes what waits."""

    def kill(self, ledger: Ledger) -> None:
        """End the process of a ledger."""

    def whole(self, ledger: Ledger) -> Ledger:
        """Return the ledger with all that was kept."""


class OneProcess:
    def __init__(self, folder: Path) -> None:
        self.path = folder / "crawl.sqlite"

    def open(self) -> Ledger:
        ledger = Ledger(self.path)
        ledger.begin_run()
        return ledger

    def commit(self, ledger: Ledger) -> None:
        ledger.commit()

    def kill(self, ledger: Ledger) -> None:
        ledger.close()

    def whole(self, ledger: Ledger) -> Ledger:
        return ledger


class Workers:
    def __init__(self, folder: Path, url: str) -> None:
        self.folder, self.url = folder, url
        self.name = uuid.uuid4().hex[:8]
        self.stores: dict[int, Store] = {}
        self.ledgers: list[Ledger] = []

    def open(self) -> SharedLedger:
        store = Store(self.url, self.name)
        joined = store.join()
        ledger = SharedLedger(self.folder / f"{joined.worker}.sqlite", joined.worker)
        ledger.begin_run()
        self.stores[id(ledger)] = store
        self.ledgers.append(ledger)
        self.commit(ledger)
        return ledger

    def store(self, ledger: Ledger) -> Store:
        return self.stores[id(ledger)]

    def commit(self, ledger: Ledger) -> None:
        assert isinstance(ledger, SharedLedger)
        exchange(ledger, self.store(ledger), ROOM)
        ledger.commit()

    def asked(self, ledger: SharedLedger, room: int) -> list[str]:
        """Return the names of so many addresses, at most, that a worker takes."""
        exchange(ledger, self.store(ledger), room)
        return names(ledger)

    def hold(self, ledger: SharedLedger) -> int:
        """Have a worker hold the item of a page, and return the page's row."""
        add(ledger, "a")
        self.commit(ledger)
        row, _ = take(ledger)
        ledger.items.hold("e.org", {}, ItemBinding(PAGE, row, row, f"{row}/0"))
        ledger.frontier.finish(row, "held")
        self.commit(ledger)
        return row

    def end_lease(self, ledger: Ledger) -> None:
        store = self.store(ledger)
        with store._store.transaction() as cursor:
            cursor.execute(
                "UPDATE runs SET lease = clock_timestamp() - interval '1 second' WHERE number = %s",
                [store._worker],
            )

    def kill(self, ledger: Ledger) -> None:
        self.end_lease(ledger)
        self.store(ledger).close()
        ledger.close()
        self.ledgers.remove(ledger)

    def whole(self, ledger: Ledger) -> Ledger:
        assert isinstance(ledger, SharedLedger)
        ledger.begin_filling()
        for table in TABLES:
            for rows in self.store(ledger).read_table(table):
                ledger.fill(table, rows)
        ledger.end_filling()
        return ledger

    def close(self) -> None:
        for ledger in self.ledgers:
            ledger.close()
        for store in self.stores.values():
            store.close()


@pytest.fixture
def workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workers]:
    with closing(Workers(tmp_path, database(monkeypatch))) as made:
        yield made
