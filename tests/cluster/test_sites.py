"""Many sites on many machines: one crawls a site at a time, and the next knows what it knew."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from contentspider.cluster import connection
from contentspider.cluster.sites import Leases, share_sites
from contentspider.ground.errors import ContentSpiderError
from contentspider.state.crawls.ledgers import crawl_ledger
from contentspider.state.ledger.ledger import Ledger
from tests import conftest
from tests.conftest import ROOT, TIMEOUT, read_jsonl, run
from tests.messages import wording
from tests.processes import Popen
from tests.seaweed import BUCKET, s3_server
from tests.servers import postgresql_server, shared, skip_without
from tests.sites import small_site

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Site

site = conftest.site

FILE = """
[site.tea]
urls = ["{url}"]
own_site = true
interval = "1d"
"""


def hold(site: Site, count: int) -> Callable[[], None]:
    """Have the site wait before it answers the request of a number; return what lets it go on."""
    answer, go_on, asked = site.answer, threading.Event(), []

    def slowly(path: str) -> tuple[int, str, bytes]:
        asked.append(path)
        if len(asked) >= count:
            go_on.wait(TIMEOUT)
        return answer(path)

    site.answer = slowly
    return go_on.set


def until(is_so: Callable[[], Any]) -> None:
    end = time.monotonic() + TIMEOUT
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.02)


def database(monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the URL of a PostgreSQL that lets in while a test runs."""
    skip_without("postgresql")
    server = shared(postgresql_server)
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    return server.url


class Machines:
    """Machines with a folder each, a store and a PostgreSQL together."""

    def __init__(self, folder: Path, url: str, database: str) -> None:
        self.folder, self.url = folder, url
        self.store = (folder / "store").as_uri()
        self.options = ("--state", self.store, "--lease", database)

    def place(self, name: str) -> Path:
        place = self.folder / name
        place.mkdir(exist_ok=True)
        (place / "sites.toml").write_text(FILE.format(url=self.url))
        return place

    def command(self, *options: str) -> list[str]:
        return ["run", "sites.toml", *self.options, "--summary", "summary.json", *options]

    def start(self, name: str, *options: str) -> Popen:
        command = [sys.executable, "-m", "contentspider", *self.command(*options)]
        with (self.folder / f"{name}.log").open("ab") as log:
            return Popen(command, cwd=self.place(name), stdout=log, stderr=log)

    def run(self, name: str, *options: str) -> dict[str, Any]:
        """Return what a machine's summary says of the site."""
        run(*self.command(*options), cwd=self.place(name), check=False)
        return self.told(name)

    def told(self, name: str) -> dict[str, Any]:
        (found,) = json.loads((self.folder / name / "summary.json").read_text())["sites"]
        return dict(found)


@pytest.fixture
def database_url(monkeypatch: pytest.MonkeyPatch) -> str:
    return database(monkeypatch)


@pytest.fixture
def machines(tmp_path: Path, site: Site, database_url: str) -> Machines:
    with closing(Leases(database_url)._store) as store, store.transaction() as cursor:
        cursor.execute("DELETE FROM sites")
    return Machines(tmp_path, site.url, database_url)


def test_second_machine_continues_from_shared_state(machines: Machines, site: Site) -> None:
    small_site(site, 30)
    assert machines.run("first")["outcome"] == "complete"
    assert len(list(read_jsonl(machines.folder / "first" / "tea.jsonl"))) == 30
    asked = len(site.requests)
    assert machines.run("second", "--due")["outcome"] == "not_due"
    assert len(site.requests) == asked
    assert machines.run("second")["outcome"] == "complete"
    items = list(read_jsonl(machines.folder / "second" / "tea.jsonl"))
    assert {item["change"] for item in items} == {"unchanged"}
    models = {item["model_version"] for item in items}
    assert models == {
        item["model_version"] for item in read_jsonl(machines.folder / "first" / "tea.jsonl")
    }


@pytest.mark.thorough
def test_shared_state_may_be_on_s3(
    machines: Machines, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("s3fs")
    small_site(site, 10)
    (machines.folder / "s3").mkdir()
    with s3_server(machines.folder / "s3") as environment:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        machines.options = ("--state", f"s3://{BUCKET}/state", *machines.options[2:])
        assert machines.run("first")["outcome"] == "complete"
        assert machines.run("second", "--due")["outcome"] == "not_due"
        assert machines.run("second")["outcome"] == "complete"
    items = list(read_jsonl(machines.folder / "second" / "tea.jsonl"))
    assert [item["change"] for item in items] == ["unchanged"] * 10


def test_site_is_crawled_by_one_machine_at_a_time(machines: Machines, site: Site) -> None:
    small_site(site, 30)
    go_on = hold(site, 10)
    first = machines.start("first")
    until(lambda: len(site.requests) >= 10)
    found = machines.run("second")
    assert (found["outcome"], found["reasons"]) == (
        "running",
        [wording("run.runs-elsewhere")],
    )
    go_on()
    assert first.wait(TIMEOUT) == 0
    assert machines.run("second")["outcome"] == "complete", "its turn has come"


def test_ledger_of_running_crawl_is_not_replaced(tmp_path: Path) -> None:
    store = (tmp_path / "store").as_uri()

    def hold(machine: str) -> Any:
        return share_sites([], store, None, str(tmp_path / machine))[1]("tea", pytest.fail)

    def ledger(machine: str) -> Any:
        return closing(Ledger(crawl_ledger("tea", str(tmp_path / machine))))

    with ledger("first") as running:
        with hold("second"), ledger("second") as other:
            other.runs.set_fact("of", "second")
            other.commit()
        with hold("first") as is_ours:
            assert not is_ours
            running.runs.set_fact("of", "first")
            running.commit()
    with ledger("first") as known:
        assert known.runs.fact("of") == "first"
    with hold("third"), ledger("third") as known:
        assert known.runs.fact("of") == "second"


@pytest.mark.thorough
def test_interrupted_crawl_is_resumed_by_other_machine(machines: Machines, site: Site) -> None:
    small_site(site, 30)
    go_on = hold(site, 10)
    first = machines.start("first")
    until(lambda: len(site.requests) >= 10)
    first.terminate()
    go_on()
    assert first.wait(TIMEOUT) == 5
    assert machines.told("first")["outcome"] == "interrupted"
    assert machines.run("second", "--due")["outcome"] == "complete"
    items = list(read_jsonl(machines.folder / "second" / "tea.jsonl"))
    assert len({item["url"] for item in items}) == len(items) == 30
    pages = [path for path in site.requests if path.strip("/").isdigit()]
    assert len(pages) == len(set(pages)) == 29


def test_lease_has_one_holder_and_expires(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "LEASE_SECS", 0.6)
    first, second = Leases(database_url), Leases(database_url)
    with closing(first._store), closing(second._store):
        with first.held("tea", pytest.fail) as is_first, second.held("tea", pytest.fail) as other:
            assert (is_first, other) == (True, False)
            with second.held("coffee", pytest.fail) as is_second:
                assert is_second
        with second.held("tea", pytest.fail) as is_second:
            assert is_second, "it was given back"
        assert first.acquire("tea")
        until(lambda: second.acquire("tea"))  # nobody renews it
        assert not first.acquire("tea")
        second.release("tea")


def test_lost_lease_is_reported_to_holder(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "LEASE_SECS", 0.6)
    told = threading.Event()
    leases = Leases(database_url)
    with closing(leases._store), leases.held("milk", told.set) as is_ours:
        assert is_ours
        with leases._store.transaction() as cursor:
            cursor.execute("UPDATE sites SET holder = 'another' WHERE name = 'milk'")
        assert told.wait(TIMEOUT)
    with closing(leases._store), leases._store.transaction() as cursor:
        cursor.execute("DELETE FROM sites WHERE name = 'milk' RETURNING holder")
        assert cursor.fetchall() == [("another",)], "it is not ours to give back"


def test_holder_is_warned_if_lease_cannot_be_renewed(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "LEASE_SECS", 0.6)
    told = threading.Event()
    leases = Leases(database_url)
    with closing(leases._store), leases.held("milk", told.set):
        monkeypatch.setattr(leases._store, "_url", "postgresql://127.0.0.1:1/none")
        leases._store.close()
        assert told.wait(TIMEOUT)


@pytest.mark.parametrize(
    ("state", "lease", "said"),
    [
        ("s3://key:secret@bucket", None, "--state s3://"),
        (None, "mysql://h", "--lease: it is not"),
        (None, "postgresql://127.0.0.1:1/none", "--lease: PostgreSQL does not"),
    ],
)
def test_invalid_state_or_lease_urls_raise_error(
    state: str | None, lease: str | None, said: str
) -> None:
    with pytest.raises(ContentSpiderError, match=re.escape(said)):
        share_sites([], state, lease, "")


@pytest.mark.thorough
def test_celery_recipe_in_docs_runs(machines: Machines, site: Site) -> None:
    pytest.importorskip("celery")
    small_site(site, 20)
    text = (ROOT / "docs" / "machines.md").read_text()
    found = re.search(r"### Celery\n.*?```python\n(.*?)```", text, re.DOTALL)
    assert found
    place = machines.place("machine")
    files = {"data_folder_in": "queue", "data_folder_out": "queue", "control_folder": "control"}
    (place / "queue").mkdir()
    code = found[1].replace("redis://queue.example", "filesystem://")
    code = code.replace("s3://bucket/state", machines.options[1])
    code = code.replace("postgresql://db.example/crawls", machines.options[3])
    code += f"\napp.conf.broker_transport_options = {files}\n"
    (place / "crawls.py").write_text(code)
    programs = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = os.environ | {"PATH": programs, "C_FORCE_ROOT": "1"}
    options: dict[str, Any] = {"cwd": place, "env": environment}
    # Twice, as a broker may deliver one task.
    send = "from crawls import crawl; crawl.delay('tea'); crawl.delay('tea')"
    subprocess.run([sys.executable, "-c", send], check=True, **options)
    go_on = hold(site, 10)
    command = [sys.executable, "-m", "celery", "-A", "crawls", "worker", "--concurrency", "2"]
    with (place / "log").open("wb") as log:
        worker = subprocess.Popen([*command, "-l", "info"], stdout=log, stderr=log, **options)
    try:
        until(lambda: "running elsewhere" in (place / "log").read_text())
        go_on()
        until(lambda: (place / "log").read_text().count(" succeeded in ") == 2)
    finally:
        worker.send_signal(signal.SIGTERM)
        worker.wait(TIMEOUT)
    assert len(list(read_jsonl(place / "tea.jsonl"))) == 20
    pages = [path for path in site.requests if path.strip("/").isdigit()]
    assert len(pages) == len(set(pages)) == 19
