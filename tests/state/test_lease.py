"""Leases and states of sites in a store: one process at a time publishes a site."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
import time
import uuid
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from contentspider.state.crawls.books import read_book
from contentspider.state.stores import lease as leases
from contentspider.state.stores import site_state
from contentspider.state.stores.lease import Lease, LeaseLostError, acquire, read_record, renewed
from contentspider.state.stores.remote import Objects, RemoteError, open_objects
from contentspider.state.stores.site_state import SiteState, lease_name
from tests.messages import raises

if TYPE_CHECKING:
    from collections.abc import Callable

pytest.importorskip("fsspec")

FREE = threading.Event()  # it is never set: nobody asks to stop


@pytest.fixture
def objects() -> Objects:
    return open_objects(f"memory://{uuid.uuid4().hex}")


class Clock:
    """A clock that goes on while somebody waits for it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seconds = 1_000.0
        monkeypatch.setattr(leases.time, "monotonic", lambda: self.seconds)

    def waiting(self, act: Callable[[], None] = lambda: None) -> Any:
        """Return an event that is never set, and at which time passes. Then *act* is called."""
        clock = self

        class Waiting(threading.Event):
            def wait(self, timeout: float | None = None) -> bool:
                clock.seconds += timeout or 0
                act()
                return False

        return Waiting()


def held(objects: Objects, name: str = "sites/tea/lease.json", run: str = "") -> Lease:
    lease = Lease(objects, name, run=run)
    assert acquire([lease], FREE)
    return lease


def test_released_lease_is_acquired_with_next_number_and_old_facts(objects: Objects) -> None:
    first = held(objects)
    first.write(state="s1")
    first.release()
    second = held(objects)
    assert (second.record.number, second.record.facts) == (2, {"state": "s1"})
    assert not second.is_taken_over


def test_living_holder_keeps_lease(objects: Objects, monkeypatch: pytest.MonkeyPatch) -> None:
    clock, first = Clock(monkeypatch), held(objects)
    began = clock.seconds
    assert not acquire([Lease(objects, first.name)], clock.waiting(first.write))
    assert clock.seconds - began < first.secs / 2, "it need not wait until the lease ends"


def test_lease_of_dead_holder_is_taken_when_it_was_seen_unchanged_for_its_time(
    objects: Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, dead = Clock(monkeypatch), held(objects)
    ends, second = dead.ends, Lease(objects, dead.name)
    assert acquire([second], clock.waiting())
    assert clock.seconds > ends
    assert (second.record.number, second.is_taken_over) == (2, True)


def test_process_that_slept_past_its_lease_can_publish_nothing(
    objects: Objects, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sleeper, clock = site(objects, tmp_path / "sleeper"), Clock(monkeypatch)
    assert acquire([sleeper.lease], FREE)
    insert(sleeper.book, "old")
    sleeper.push()
    other = site(objects, tmp_path / "other")
    assert acquire([other.lease], clock.waiting())
    other.pull()
    insert(sleeper.book, "late")
    with raises(LeaseLostError, "lease-lost", "sites/tea/lease.json"):
        sleeper.push()
    with pytest.raises(LeaseLostError):
        sleeper.lease.release()
    insert(other.book, "new")
    other.push()
    other.delete_strays()
    third = site(objects, tmp_path / "third")
    third.pull()
    assert rows(third.book) == ["old", "new"]


def test_answer_that_was_lost_does_not_lose_lease(
    objects: Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    lease, replace = held(objects), objects.replace

    def lose(*given: Any) -> str:
        replace(*given)
        raise RemoteError("no answer")

    monkeypatch.setattr(objects, "replace", lose)
    with pytest.raises(RemoteError):
        lease.write(state="s1")
    monkeypatch.setattr(objects, "replace", replace)
    lease.write(pages=3)
    record, _ = read_record(objects, lease.name)
    assert (record.holder != "", record.facts) == (True, {"pages": 3})


def test_all_leases_or_none_are_acquired(objects: Objects, monkeypatch: pytest.MonkeyPatch) -> None:
    clock, host = Clock(monkeypatch), held(objects, "hosts/h.json")
    both = [Lease(objects, "sites/tea/lease.json"), Lease(objects, "hosts/h.json")]
    assert not acquire(both, clock.waiting(host.write))
    assert read_record(objects, "sites/tea/lease.json")[0].holder == ""
    host.release()
    assert acquire(both, FREE)


def test_job_of_same_run_waits_for_holder(
    objects: Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, looks = Clock(monkeypatch), iter(range(20))
    first = held(objects, run="run")

    def go_on() -> None:
        first.write() if next(looks) < 10 else first.release()

    second = Lease(objects, first.name, run="run")
    assert acquire([second], clock.waiting(go_on))
    assert second.record.number == 2


def test_stopped_job_does_not_acquire(objects: Objects) -> None:
    stopped = threading.Event()
    stopped.set()
    assert not acquire([Lease(objects, "sites/tea/lease.json")], stopped)


def test_holder_learns_of_renewals_failures_and_loss(objects: Objects) -> None:
    lease, ends, failures, told = Lease(objects, "x.json", 0.3), [], [], threading.Event()
    assert acquire([lease], FREE)

    def failed(error: Exception) -> None:
        failures.append(error)
        told.set()

    with renewed([lease], lambda: {"pages": 1}, ends.append, failed):
        while not ends:
            time.sleep(0.01)
        record, mark = read_record(objects, "x.json")
        assert record.facts == {"pages": 1}
        # Whoever wins the race against the next renewal has the lease.
        while True:
            try:
                objects.replace("x.json", b'{"number": 9, "holder": "another"}', mark)
                break
            except RemoteError:
                record, mark = read_record(objects, "x.json")
        assert told.wait(10)
    assert ends[0] > lease.secs
    assert isinstance(failures[-1], LeaseLostError)


def test_damaged_lease_is_reported(objects: Objects) -> None:
    objects.write("x.json", b"{}x")
    with raises(RemoteError, "lease-damaged", "x.json"):
        read_record(objects, "x.json")


def site(objects: Objects, folder: Path) -> SiteState:
    return SiteState(objects, "tea", folder / "tea.sqlite", folder / "models")


RUNS = "CREATE TABLE IF NOT EXISTS runs (number INTEGER PRIMARY KEY, reason TEXT)"


def insert(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(RUNS)
        connection.execute("CREATE TABLE IF NOT EXISTS words (word TEXT)")
        connection.execute("INSERT INTO words VALUES (?)", [text])
        connection.commit()


def rows(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        return [word for (word,) in connection.execute("SELECT word FROM words")]


def test_state_travels_while_crawl_writes_it(objects: Objects, tmp_path: Path) -> None:
    first, second = site(objects, tmp_path / "first"), site(objects, tmp_path / "second")
    assert acquire([first.lease], FREE)
    first.pull()
    (first.models / "example.org").mkdir(parents=True)
    (first.models / "example.org" / "manifest.json").write_text("{}")
    with closing(sqlite3.connect(first.book)) as crawl:
        crawl.execute("PRAGMA journal_mode = WAL")
        crawl.execute(RUNS)
        crawl.execute("CREATE TABLE words (word TEXT)")
        crawl.execute("INSERT INTO words VALUES ('committed')")
        crawl.commit()
        crawl.execute("INSERT INTO words VALUES ('not yet')")
        first.push(last="fact")
    second.pull()
    assert rows(second.book) == ["committed"]
    assert (second.models / "example.org" / "manifest.json").read_text() == "{}"
    assert read_record(objects, lease_name("tea"))[0].facts["last"] == "fact"


def test_only_changed_chunks_are_uploaded_and_old_ones_deleted(
    objects: Objects, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(site_state, "CHUNK_BYTES", 4096)
    state = site(objects, tmp_path)
    assert acquire([state.lease], FREE)
    with closing(sqlite3.connect(tmp_path / "tea.sqlite")) as connection:
        connection.execute(RUNS)
        connection.execute("CREATE TABLE words (word TEXT)")
        connection.executemany(
            "INSERT INTO words VALUES (?)", [(f"word {number}" * 9,) for number in range(2_000)]
        )
        connection.commit()
    state.push()
    before = objects.names("sites/tea/objects")
    assert len(before) > 30
    insert(state.book, "one more")
    state.push()
    after = objects.names("sites/tea/objects")
    assert 0 < len(after - before) < 8
    assert len(after) <= len(before) + 2
    state.push()
    assert objects.names("sites/tea/objects") == after, "nothing has changed"


def test_files_of_last_upload_are_not_downloaded_again(
    objects: Objects, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = site(objects, tmp_path)
    assert acquire([state.lease], FREE)
    insert(state.book, "sent")
    state.push()
    insert(state.book, "newer, because the machine was lost before the next upload")
    monkeypatch.setattr(SiteState, "_download", pytest.fail)
    state.pull()
    assert len(rows(state.book)) == 2


def test_damaged_or_missing_chunk_is_reported(objects: Objects, tmp_path: Path) -> None:
    state = site(objects, tmp_path / "first")
    assert acquire([state.lease], FREE)
    insert(state.book, "text")
    state.push()
    chunk = next(iter(state._manifest.files.values()))[0][0]
    objects.write(chunk, b"other")
    with raises(RemoteError, "store", chunk):
        site(objects, tmp_path / "second").pull()
    objects.delete([chunk])
    with raises(RemoteError, "store-incomplete", "sites/tea/lease.json"):
        site(objects, tmp_path / "second").pull()


def test_state_of_an_earlier_version_is_downloaded_and_imported(
    objects: Objects, tmp_path: Path
) -> None:
    state, old = site(objects, tmp_path / "first"), Path(__file__).with_name("old")
    assert acquire([state.lease], FREE)
    files = {}
    for name, path in (("ledger.sqlite", "second"), ("history.sqlite", "history/second")):
        chunk = f"sites/tea/objects/{uuid.uuid4().hex}"
        data = (old / f"{path}.sqlite").read_bytes()
        objects.write(chunk, data)
        files[name] = [(chunk, hashlib.sha256(data).hexdigest())]
    objects.write("sites/tea/objects/manifest", json.dumps(files).encode())
    state.lease.write(state="sites/tea/objects/manifest")
    second = site(objects, tmp_path / "second")
    assert second.pull()
    with closing(read_book(second.book)) as book:
        assert book.known.live_count() == 5
        assert book.frontier.queue.length == 2
