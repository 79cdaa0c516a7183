"""Ledgers of both stores for one contract: SQLite for one process, PostgreSQL for several."""

from __future__ import annotations

import uuid
from contextlib import closing
from typing import TYPE_CHECKING, Protocol

import pytest

from contentspider.state.ledger.ledger import Ledger
from contentspider_cluster.ledger import SharedLedger
from contentspider_cluster.store import Store
from contentspider_cluster.tables import TABLES
from tests.servers import postgresql_server, shared, skip_without

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from contentspider_cluster.messages import Answer

ROOM = 100


def database(monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the URL of a PostgreSQL that lets in while a test runs."""
    skip_without("postgresql")
    server = shared(postgresql_server)
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    return server.url


def exchange(ledger: SharedLedger, store: Store, room: int = 0) -> Answer:
    """Share what changed, and take addresses, as a crawl does with the steps in between."""
    ask = ledger.ask(room)
    try:
        answer = store.exchange(ask)
    except BaseException:
        ledger.take_back(ask)
        raise
    ledger.take(answer)
    return answer


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
            for rows in self.store(ledger).everything(table):
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
