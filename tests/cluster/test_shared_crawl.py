"""Workers that are processes, over real HTTP: each page comes out once, whatever is killed."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
import uuid
from collections import Counter
from contextlib import closing
from itertools import pairwise
from statistics import median
from threading import Event
from typing import TYPE_CHECKING, Any

import pytest

from contentspider.cluster.slots import MARGIN, USABLE_SECS
from contentspider.site.models.record import page_id
from contentspider.state.history.entries import Entries
from contentspider.state.stores.remote import open_objects
from contentspider.state.stores.shared_models import SharedModels
from tests import conftest
from tests.cluster.ledgers import database
from tests.conftest import TIMEOUT, read_jsonl, run
from tests.processes import Popen
from tests.servers import postgresql_server
from tests.sites import small_site

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Site

LEASE_SECS = 2.0
# The command, with a lease that tests can wait for.
SCRIPT = f"""
import sys
from contentspider.cli import main
from contentspider.cluster import connection

connection.LEASE_SECS = {LEASE_SECS}
sys.exit(main())
"""


class Cluster:
    """Workers of one crawl of a site, each in a folder of its own."""

    def __init__(self, folder: Path, url: str, database: str) -> None:
        self.folder, self.url, self.database = folder, url, database
        self.name = uuid.uuid4().hex[:8]
        self.script = folder / "worker.py"
        self.script.write_text(SCRIPT)

    def command(self, number: int, *options: str) -> list[str]:
        place = self.folder / f"{number}"
        place.mkdir(exist_ok=True)
        return [
            *(str(self.script), "crawl", self.url, "--own-site", "--frontier", self.database),
            *("--name", self.name, "--state-dir", str(place / "state"), "--models"),
            *(str(place / "models"), "-o", str(place / "pages.jsonl"), *options),
        ]

    def start(self, number: int, *options: str) -> Popen:
        with (self.folder / f"{number}.log").open("ab") as log:
            return Popen(
                [sys.executable, *self.command(number, *options)],
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def log(self, number: int) -> str:
        return (self.folder / f"{number}.log").read_text()

    def outputs(self) -> list[Path]:
        return sorted(self.folder.glob("[0-9]/pages.jsonl"))

    def items(self) -> list[dict[str, Any]]:
        """Return the items of the one output."""
        (output,) = self.outputs()
        return list(read_jsonl(output))


site = conftest.site


@pytest.fixture
def cluster(tmp_path: Path, site: Site, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    return Cluster(tmp_path, site.url, database(monkeypatch))


def texts(items: list[dict[str, Any]]) -> dict[str, str]:
    assert len({item["id"] for item in items}) == len(items), "each once"
    return {item["url"]: item["content"] for item in items}


def alone(cluster: Cluster, site: Site) -> dict[str, str]:
    """Return the texts of the pages by a crawl of one process."""
    folder = cluster.folder / "alone"
    folder.mkdir()
    run("crawl", site.url, "--own-site", "-o", "pages.jsonl", cwd=folder)
    site.requests.clear()
    return texts(list(read_jsonl(folder / "pages.jsonl")))


def wait(*workers: Popen) -> list[int]:
    return [worker.wait(TIMEOUT) for worker in workers]


def hold(site: Site, count: int) -> Callable[[], None]:
    """Have the site wait before it answers the request of a number; return what lets it go on."""
    answer, go_on, asked = site.answer, Event(), []

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


class Halfway:
    """Workers of a crawl of 60 pages, whose site answers no more until it may `go_on`."""

    def __init__(self, cluster: Cluster, site: Site, workers: int = 2) -> None:
        small_site(site, 60)
        self.expected = alone(cluster, site)
        self.go_on = hold(site, 30)
        self.workers = [cluster.start(number + 1) for number in range(workers)]
        until(lambda: len(site.requests) >= 30)


def test_two_workers_give_same_items_as_one(cluster: Cluster, site: Site) -> None:
    small_site(site, 60)
    expected = alone(cluster, site)
    assert wait(cluster.start(1), cluster.start(2)) == [0, 0]
    assert texts(cluster.items()) == expected
    pages = Counter(path for path in site.requests if path.strip("/").isdigit())
    assert set(pages.values()) == {1}
    assert len(pages) == 59
    assert sum("collects all results" in cluster.log(number) for number in (1, 2)) <= 1
    ledgers = [path.name for path in cluster.folder.glob("[12]/state/*.sqlite")]
    assert ledgers == [f"{cluster.name}.sqlite"], "that of the worker that ended it"


def test_work_of_killed_worker_is_done_by_other(cluster: Cluster, site: Site) -> None:
    halfway = Halfway(cluster, site)
    first, second = halfway.workers
    first.kill()
    first.wait()
    halfway.go_on()
    assert second.wait(TIMEOUT) == 0
    assert texts(cluster.items()) == halfway.expected


@pytest.mark.thorough
def test_worker_stopped_longer_than_its_lease_ends(cluster: Cluster, site: Site) -> None:
    halfway = Halfway(cluster, site)
    first, second = halfway.workers
    first.send_signal(signal.SIGSTOP)
    halfway.go_on()
    assert second.wait(TIMEOUT) == 0
    first.send_signal(signal.SIGCONT)
    assert first.wait(TIMEOUT) in (0, 1)
    if first.returncode:
        assert "have taken over" in cluster.log(1)
    assert texts(cluster.items()) == halfway.expected
    assert len(cluster.outputs()) == 1


@pytest.mark.thorough
def test_stopped_crawl_continues_with_new_worker(cluster: Cluster, site: Site) -> None:
    halfway = Halfway(cluster, site, 1)
    (first,) = halfway.workers
    first.terminate()
    halfway.go_on()
    assert first.wait(TIMEOUT) == 5, "interrupted"
    assert not cluster.outputs()
    assert cluster.start(2).wait(TIMEOUT) == 0
    assert texts(cluster.items()) == halfway.expected
    pages = Counter(path for path in site.requests if path.strip("/").isdigit())
    assert set(pages.values()) == {1}


def link_texts(cluster: Cluster, url: str) -> list[str]:
    """Return the texts of links to a page, from the worker that wrote the history last."""
    paths = cluster.folder.rglob(f"history/{cluster.name}.sqlite")
    with closing(Entries(max(paths, key=lambda path: path.stat().st_mtime))) as entries:
        (entry,) = entries.of([page_id(url)])
    assert entry.item is not None
    texts: list[str] = entry.item["anchors"]
    return texts


def test_workers_share_one_history(cluster: Cluster, site: Site) -> None:
    small_site(site, 40)
    store = (cluster.folder / "store").as_uri()
    shared_by = ("--history", store)
    assert wait(cluster.start(1, *shared_by), cluster.start(2, *shared_by)) == [0, 0]
    assert {item["change"] for item in cluster.items()} == {"new"}
    cluster.outputs()[0].unlink()
    site.pages["/7"] = (
        200,
        "text/html",
        site.pages["/7"][2].replace(b"<p>", b"<p>News of it. ", 1),
    )
    assert wait(cluster.start(1, *shared_by), cluster.start(2, *shared_by)) == [0, 0]
    changes = Counter(item["change"] for item in cluster.items())
    assert changes == {"unchanged": 39, "changed": 1}
    assert link_texts(cluster, f"{site.url}/7") == ["Page 7"]
    # On a third machine, by itself.
    folder = cluster.folder / "third"
    folder.mkdir()
    run(
        *("crawl", site.url, "--own-site", "--name", cluster.name, "--history", store),
        *("--models", str(cluster.outputs()[0].parent / "models")),
        cwd=folder,
    )
    changes = Counter(str(item["change"]) for item in read_jsonl(folder / "pages.jsonl"))
    assert changes == {"unchanged": 40}


def test_last_worker_stores_models(cluster: Cluster, site: Site) -> None:
    small_site(site, 60)
    go_on = hold(site, 40)
    store = cluster.folder / "store"
    options = ("--models", store.as_uri(), "--log-level", "INFO")
    options += ("-s", "CONTENTSPIDER_LEARN_PAGES=20")
    first = cluster.start(1, *options)
    until(lambda: "learned model" in cluster.log(1) and len(site.requests) >= 40)
    first.terminate()
    go_on()
    assert first.wait(TIMEOUT) == 5
    models = SharedModels(open_objects(store.as_uri()), cluster.folder / "copy")
    assert not models.sites(), "another worker may learn another one yet"
    assert cluster.start(2, *options).wait(TIMEOUT) == 0
    assert "learned model" not in cluster.log(2)
    (name,) = models.sites()
    model = models.load(name)
    assert model
    assert {item["model_version"] for item in cluster.items()} == {model.version}


def test_requests_of_all_workers_keep_delay(cluster: Cluster, site: Site) -> None:
    delay, pages = 0.3, 15
    small_site(site, pages)
    times: list[float] = []
    answer = site.answer

    def timed(path: str) -> tuple[int, str, bytes]:
        # Each worker asks for robots.txt at first, at once before a page whose turn it was.
        if path != "/robots.txt":
            times.append(time.monotonic())
        return answer(path)

    site.answer = timed
    cluster.command(0)
    workers = []
    for number in (1, 2):
        command = cluster.command(number, "--delay", str(delay))
        command.remove("--own-site")
        workers.append(Popen([sys.executable, *command], cwd=cluster.folder))
    assert wait(*workers) == [0, 0]
    assert len(times) >= pages
    # Each worker's first page comes directly after robots.txt.
    times = sorted(times)[2:]
    # As many as one worker asks for. Five slots take 1.38 s, so that a request may come late.
    most = max(sum(first <= each < first + 1 for each in times) for first in times)
    assert most <= 4
    gaps = [later - earlier for earlier, later in pairwise(times)]
    assert median(gaps) > 0.9 * delay, "two workers that do not know of each other have half of it"
    # If two requests shared a time, all of them would take less.
    assert sum(gaps) >= delay * MARGIN * len(gaps) - 2 * USABLE_SECS


@pytest.mark.thorough
def test_workers_wait_for_unavailable_database(cluster: Cluster, site: Site) -> None:
    with postgresql_server() as own:
        cluster.database = own.url
        halfway = Halfway(cluster, site)
        own.kill()
        halfway.go_on()
        until(lambda: all("does not answer" in cluster.log(number) for number in (1, 2)))
        own.start()
        assert wait(*halfway.workers) == [0, 0]
    assert texts(cluster.items()) == halfway.expected


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--frontier", "mysql://h/db"), "postgresql://HOST:PORT/DATABASE"),
        (("--frontier", "postgresql://127.0.0.1:1/db"), "does not answer"),
        (("--frontier", "postgresql://h/db", "--due"), "--history s3://"),
        (("--frontier", "postgresql://h/db", "--index"), "--history s3://"),
    ],
)
def test_invalid_worker_options_raise_error(
    tmp_path: Path, options: tuple[str, ...], said: str
) -> None:
    pytest.importorskip("psycopg")
    done = run("crawl", "http://127.0.0.1:9", *options, cwd=tmp_path, check=False)
    assert done.returncode == 1
    assert said in done.stderr


def test_scrapy_fetch_works_without_frontier_database(tmp_path: Path, site: Site) -> None:
    pytest.importorskip("psycopg")
    small_site(site, 2)
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = contentspider.run.project\n")
    frontier = ("-s", "CONTENTSPIDER_FRONTIER=postgresql://127.0.0.1:1/db")
    done = run("fetch", site.url, *frontier, cwd=tmp_path, module="scrapy")
    assert "Page 0" in done.stdout


def test_second_worker_in_same_folder_is_rejected(cluster: Cluster, site: Site) -> None:
    small_site(site, 20)
    go_on = hold(site, 5)
    first = cluster.start(1)
    until(lambda: len(site.requests) >= 5)
    second = cluster.start(1)
    assert second.wait(TIMEOUT) == 1
    assert "--state-dir" in cluster.log(1)
    go_on()
    assert first.wait(TIMEOUT) == 0
    assert len(cluster.items()) == 20
