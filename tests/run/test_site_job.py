"""A site as a job that any machine may do: its lease, its state and its outputs are in a store."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sys
import tempfile
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing, suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from contentspider.run import crawl_site, read_sites
from contentspider.run.results import SiteResult
from contentspider.state.address_state import AddressState
from contentspider.state.book.book import Book
from contentspider.state.book.database import BookFullError
from contentspider.state.crawls.books import crawl_book
from contentspider.state.stores.lease import read_record
from contentspider.state.stores.remote import open_objects
from contentspider.state.stores.site_state import SiteState
from tests.conftest import TIMEOUT, read_jsonl, run
from tests.messages import wording
from tests.processes import Popen, fork_own_processes
from tests.seaweed import BUCKET, s3_server
from tests.sites import small_site

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.conftest import Site

pytest.importorskip("fsspec")

PAGES = 30
FILE = """
[site.tea]
urls = ["{url}"]
own_site = true
interval = "1d"
"""
# A worker of an engine: `python machine.py STATE RESULT OPTIONS`.
MACHINE = """
import json, os, sys, time
from dataclasses import asdict
from pathlib import Path
from contentspider.run import crawl_site, read_sites
from contentspider.run.publishing import Publisher
from contentspider.state.stores import remote

state, result, options = sys.argv[1], Path(sys.argv[2]), json.loads(sys.argv[3])
if options.pop("dies_before_publishing", False):
    Publisher.publish = lambda *_: os._exit(9)
replace = remote.Objects.replace
def replace_if_up(*given):
    if Path("store-is-down").exists():
        raise remote.RemoteError("the store is down")
    if Path("store-is-slow").exists():
        time.sleep(SLOW_SECS)
    return replace(*given)
remote.Objects.replace = replace_if_up
(site,) = read_sites("sites.toml", state)
result.write_text(json.dumps(asdict(crawl_site(site, state, **options))))
""".replace("SLOW_SECS", "0.23")


class Machines:
    """Machines that share a store, and have no disk that lasts."""

    def __init__(self, folder: Path, site: Site, temporary: Path) -> None:
        self.folder, self.site, self.temporary = folder, site, temporary
        self.state = (folder / "store").as_uri()
        (folder / "sites.toml").write_text(FILE.format(url=site.url))
        (folder / "machine.py").write_text(MACHINE)

    def start(self, name: str, **options: Any) -> Popen:
        options = {"lease_secs": 1.5, "upload_secs": 0.2} | options
        command = [sys.executable, "machine.py", self.state, name, json.dumps(options)]
        with (self.folder / f"{name}.log").open("ab") as log:
            environment = {**os.environ, "TMPDIR": str(self.temporary)}
            return Popen(command, cwd=self.folder, stdout=log, stderr=log, env=environment)

    def result(self, name: str) -> dict[str, Any]:
        return dict(json.loads((self.folder / name).read_text()))

    def run(self, name: str, **options: Any) -> dict[str, Any]:
        machine = self.start(name, **options)
        assert machine.wait(TIMEOUT) == 0, (self.folder / f"{name}.log").read_text()
        return self.result(name)

    def items(self) -> list[dict[str, Any]]:
        return read_jsonl(self.folder / "store" / "outputs" / "tea.jsonl")

    def lease(self) -> Any:
        return read_record(open_objects(self.state), "sites/tea/lease.json")[0]

    def uploaded(self) -> dict[str, int]:
        """Return how many addresses are in each state in the book that the store has."""
        with tempfile.TemporaryDirectory() as folder:
            book = Path(folder, "tea.sqlite")
            SiteState(open_objects(self.state), "tea", book, Path(folder, "models")).pull()
            if not book.exists():
                return {}
            # The first upload may come before the book has tables.
            with (
                suppress(BookFullError),
                closing(Book(book, read_only=True)) as opened,
            ):
                return dict(opened.frontier.states())
            return {}

    def has_all_items(self) -> bool:
        urls = [item["url"] for item in self.items()]
        return len(urls) == len(set(urls)) == PAGES


@pytest.fixture
def machines(tmp_path: Path, site: Site) -> Iterator[Machines]:
    small_site(site, PAGES)
    # Killed machines leave their temporary files. The path is short, as a socket's must be.
    with tempfile.TemporaryDirectory() as temporary:
        yield Machines(tmp_path, site, Path(temporary))


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


def test_next_machine_goes_on_from_state_in_store(machines: Machines) -> None:
    asked = machines.site.requests
    assert machines.run("first")["outcome"] == "complete"
    assert machines.has_all_items()
    model = {item["model_version"] for item in machines.items()}
    count = len(asked)
    assert machines.run("second", only_due=True)["outcome"] == "not_due"
    assert len(asked) == count
    result = machines.run("third")
    assert (result["outcome"], result["items"]) == ("complete", PAGES)
    assert {item["change"] for item in machines.items()} == {"unchanged"}
    assert {item["model_version"] for item in machines.items()} == model
    # What people and other commands read in the store.
    store = machines.folder / "store"
    assert result["log"] == f"{machines.state}/logs/tea.log"
    assert (store / "logs" / "tea.log").stat().st_size > 100
    assert len(list((store / "models").glob("*/model.json"))) == 1
    # Nothing is left on the machines.
    assert not (machines.folder / ".scrapy").exists()
    assert not list(machines.temporary.iterdir())


def test_function_and_its_result_travel_to_another_process(machines: Machines) -> None:
    small_site(machines.site, 2)
    (site,) = read_sites(machines.folder / "sites.toml", machines.state)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, context, initializer=fork_own_processes) as pool:
        result = pool.submit(crawl_site, site, machines.state).result(TIMEOUT)
    assert isinstance(result, SiteResult)
    assert (result.site, result.outcome) == ("tea", "complete")
    assert SiteResult.load(json.loads(json.dumps(asdict(result)))) == result


def test_one_machine_at_a_time_crawls_a_site(machines: Machines) -> None:
    go_on = hold(machines.site, 10)
    first = machines.start("first")
    until(lambda: len(machines.site.requests) >= 10)
    result = machines.run("second")
    assert (result["outcome"], result["reasons"]) == ("running", [wording("run.runs-elsewhere")])
    go_on()
    assert first.wait(TIMEOUT) == 0
    assert machines.has_all_items()


def test_site_of_killed_machine_is_taken_over_from_last_upload(machines: Machines) -> None:
    go_on = hold(machines.site, 20)
    first = machines.start("first")
    until(lambda: len(machines.site.requests) >= 20)
    read = AddressState.HELD
    until(lambda: machines.uploaded().get(read, 0) >= 15)
    first.kill()
    first.wait()
    before = len(machines.site.requests)
    go_on()
    assert machines.run("second")["outcome"] == "complete"
    assert machines.has_all_items()
    assert machines.lease().number == 2
    again = machines.site.requests[before:]
    pages = [path for path in again if path.strip("/").isdigit()]
    assert len(pages) <= PAGES - 15, "what the first one had read is not read again"
    objects = {path.name for path in (machines.folder / "store/sites/tea/objects").iterdir()}
    manifest = machines.lease().facts["state"]
    files = json.loads((machines.folder / "store" / manifest).read_text()).values()
    named = {name for chunks in files for name, _ in chunks} | {manifest}
    assert objects == {Path(name).name for name in named}, "nobody's uploads are left over"


def test_machine_that_slept_past_its_lease_publishes_nothing(machines: Machines) -> None:
    go_on = hold(machines.site, 15)
    sleeper = machines.start("sleeper")
    until(lambda: len(machines.site.requests) >= 15 and machines.lease().facts.get("state"))
    sleeper.send_signal(signal.SIGSTOP)
    second = machines.start("second")
    until(lambda: machines.lease().number == 2)
    # The crawl of the sleeper has ended: it sends nothing that the second one does not.
    go_on()
    assert second.wait(TIMEOUT) == 0
    assert machines.result("second")["outcome"] == "complete"
    files = {path: path.read_bytes() for path in (machines.folder / "store").rglob("*.js*")}
    count = len(machines.site.requests)
    sleeper.send_signal(signal.SIGCONT)
    assert sleeper.wait(TIMEOUT) == 0
    assert machines.result("sleeper")["outcome"] == "running"
    assert {path: path.read_bytes() for path in files} == files
    assert len(machines.site.requests) == count
    assert machines.has_all_items()


def test_crawl_stops_before_lease_ends_and_goes_on_when_store_answers(machines: Machines) -> None:
    go_on = hold(machines.site, 15)
    machine = machines.start("first")
    until(lambda: len(machines.site.requests) >= 15 and machines.lease().facts.get("state"))
    (machines.folder / "store-is-down").touch()
    log = machines.folder / "first.log"
    stopped = "the store is down"
    until(lambda: stopped in log.read_text())
    time.sleep(2)  # longer than the lease
    count = len(machines.site.requests)
    go_on()
    assert len(machines.site.requests) <= count + 4, "only what was under way"
    (machines.folder / "store-is-down").unlink()
    assert machine.wait(TIMEOUT) == 0
    assert machines.result("first")["outcome"] == "complete"
    assert (machines.lease().number, machines.has_all_items()) == (1, True)


def test_crawl_that_hears_too_late_of_its_renewed_lease_goes_on(machines: Machines) -> None:
    """A slow store renews the lease in time, but the crawl hears of it when it has stopped."""
    go_on = hold(machines.site, 15)
    machine = machines.start("first", upload_secs=TIMEOUT)
    until(lambda: len(machines.site.requests) >= 15)
    (machines.folder / "store-is-slow").touch()
    time.sleep(2)  # some renewals
    go_on()
    (machines.folder / "store-is-slow").unlink()
    assert machine.wait(TIMEOUT) == 0
    assert machines.result("first")["outcome"] == "complete"
    assert (machines.lease().number, machines.has_all_items()) == (1, True)


def test_result_of_dead_machine_is_published_once_by_next(machines: Machines) -> None:
    first = machines.start("first", run="today", dies_before_publishing=True)
    assert first.wait(TIMEOUT) == 9
    assert not (machines.folder / "store/outputs/tea.jsonl").exists()
    count = len(machines.site.requests)
    result = machines.run("second", run="today")
    assert (result["outcome"], result["items"]) == ("complete", PAGES)
    assert machines.has_all_items()
    assert machines.run("third", run="today") == result, "a task may be delivered twice"
    assert len(machines.site.requests) == count


def test_command_keeps_state_in_store_and_updates_index(machines: Machines) -> None:
    file = machines.folder / "sites.toml"
    file.write_text(file.read_text() + 'index = ["sqlite:pages.db"]\noutput = ["{site}.csv"]\n')
    command = ["run", "sites.toml", "--state", machines.state, "--summary", "s.json"]
    run(*command, cwd=machines.folder)
    (told,) = json.loads((machines.folder / "s.json").read_text())["sites"]
    assert (told["outcome"], told["items"]) == ("complete", PAGES)
    summary = json.loads((machines.folder / "store" / "summary.json").read_text())
    assert summary["sites"] == [told]
    assert (machines.folder / "tea.csv").read_text().count("http") >= PAGES
    found = run("search", "--index", "sqlite:pages.db", "river", cwd=machines.folder)
    assert machines.site.url in found.stdout
    # On the machine of the command the files stay in its state folder.
    book = crawl_book("tea", str(machines.folder / ".scrapy/contentspider"))
    with closing(Book(book, read_only=True)) as opened:
        assert opened.runs.all()[-1].reason == "finished"


@pytest.mark.thorough
def test_state_may_be_on_s3(machines: Machines, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("s3fs")
    import fsspec

    (machines.folder / "s3").mkdir()
    with s3_server(machines.folder / "s3") as environment:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        machines.state = f"s3://{BUCKET}/state"
        assert machines.run("first")["outcome"] == "complete"
        assert machines.run("second", only_due=True)["outcome"] == "not_due"
        assert machines.run("third")["items"] == PAGES
        # Not a connection that this process has to the server of another test.
        files, root = fsspec.url_to_fs(machines.state, skip_instance_cache=True)
        written = files.cat_file(f"{root}/outputs/tea.jsonl")
    items = [json.loads(line) for line in written.splitlines()]
    assert [item["change"] for item in items] == ["unchanged"] * PAGES
