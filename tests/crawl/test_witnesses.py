"""Hosts of which a part is down: the rest is read, and that part asked again as others are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from contentspider.crawl.queue.outage import FAILURES, MAX_FAILURES, HostPauses
from contentspider.state.book.book import Book
from contentspider.state.book.frontier import Frontier
from contentspider.state.outcome import Outcome
from tests.conftest import Site, run
from tests.crawl.test_outage import Clock, fail, many
from tests.crawl.test_robots import paths
from tests.messages import wording
from tests.sites import article

if TYPE_CHECKING:
    from pathlib import Path

NUMBERS = range(1, 31)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def hosts(clock: Clock) -> HostPauses:
    return HostPauses(300, clock)


def ask_witness(hosts: HostPauses, clock: Clock, after: float) -> int:
    """Wait for the end of a pause, ask for a witness, and return how many were asked before."""
    clock.now += after
    due = hosts.due_witness()
    assert due is not None
    hosts.ask(due[0], is_witness=True)
    assert hosts.due_witness() is None, "once"
    return due[1]


def test_failure_limit_doubles_each_time_known_page_of_host_responds(
    hosts: HostPauses, clock: Clock
) -> None:
    for failures in (FAILURES, 16, 32, MAX_FAILURES, MAX_FAILURES):
        fail(hosts, "host", failures - 1)
        assert not hosts.is_paused("host")
        fail(hosts, "host", 1)
        assert hosts.is_paused("host") and hosts.due_witness() is None
        assert ask_witness(hosts, clock, 1) == 0
        assert not hosts.is_partly_down("host"), "a witness stands for the host"
        hosts.answered("host")
        assert not hosts.is_paused("host") and hosts.is_partly_down("host")


def test_partly_down_host_may_be_fully_down_later(hosts: HostPauses, clock: Clock) -> None:
    fail(hosts, "host")
    ask_witness(hosts, clock, 1)
    hosts.answered("host")
    fail(hosts, "host", 16)
    ask_witness(hosts, clock, 1)
    hosts.failed("host", many)
    ask_witness(hosts, clock, 2)
    hosts.answered("host")
    assert not hosts.is_partly_down("host")


def test_unsent_test_request_restores_previous_host_state(hosts: HostPauses, clock: Clock) -> None:
    fail(hosts, "host")
    ask_witness(hosts, clock, 1)
    hosts.answered("host")
    fail(hosts, "host", 16)
    ask_witness(hosts, clock, 1)
    assert not hosts.is_partly_down("host")
    hosts.release("host")
    assert hosts.is_partly_down("host")
    assert hosts.closed() == set()


def test_host_that_was_wholly_down_is_paused_after_usual_failures(
    hosts: HostPauses, clock: Clock
) -> None:
    fail(hosts, "host")
    for number, pause in enumerate((1, 2, 4)):
        assert ask_witness(hosts, clock, pause) == number, "another one each time"
        hosts.failed("host", many)
    ask_witness(hosts, clock, 8)
    hosts.answered("host")
    assert not hosts.is_partly_down("host")
    fail(hosts, "host")
    assert hosts.is_paused("host")


def test_witness_is_requested_after_second_pause_in_a_row(hosts: HostPauses, clock: Clock) -> None:
    hosts.wait("host", 20, has_witness=True)
    clock.now = 20
    assert hosts.closed() == set() and hosts.due_witness() is None
    hosts.ask("host")
    hosts.wait("host", 20, has_witness=True)
    assert ask_witness(hosts, clock, 20) == 0
    hosts.answered("host")
    assert hosts.is_partly_down("host")


def test_host_is_lost_if_witness_repeats_overlong_pause(hosts: HostPauses, clock: Clock) -> None:
    hosts.wait("host", 3_600, has_witness=True)
    assert hosts.lost() == []
    ask_witness(hosts, clock, 1)
    hosts.wait("host", 3_600, has_witness=True)
    assert hosts.lost() == ["host"]
    clock.now = 3_600
    assert hosts.closed() == {"host"}


def test_witness_pages_are_successfully_read_pages_of_host() -> None:
    book = Book(None)
    frontier = book.frontier
    assert isinstance(frontier, Frontier)
    states = {"robots.txt": "fetched", "map.xml": "fetched", "bad": "failed", "a": "released"}
    for host in ("x", "y"):
        for name, state in states.items():
            url = f"http://{host}/{name}"
            row = frontier.enqueue(url.encode(), url, 0, "{}")
            frontier.queue.take()
            if host == "x" or state != "released":
                frontier.finish(row, state)
    assert frontier.queue.answered("x", 8) == ["http://x/a"]
    assert frontier.queue.answered("y", 8) == ["http://y/map.xml"]
    assert frontier.queue.answered("z", 8) == []


class Parts:
    """A site of pages in two parts, which are linked in turn; `down` says which answer 503."""

    def __init__(self, site: Site, folder: Path) -> None:
        self.site, self.folder = site, folder
        self.header, self.status = "", 503
        self.down = "/part/"
        # Counts the requests to what is down; after *up_after* of them it is up again.
        self.failed, self.up_after = 0, 10_000
        self.names = ["/", *(f"/{n}" for n in NUMBERS), *(f"/part/{n}/x" for n in NUMBERS)]
        self.links = "".join(f"<a href={name}>{name}</a> " for name in reversed(self.names))
        site.answer = self._answer

    def _answer(self, path: str) -> tuple[int, str, bytes]:
        if path not in self.names:
            return 404, "text/html", b""
        if path.startswith(self.down) and self.failed < self.up_after:
            self.failed += 1
            return self.status, f"text/html{self.header}", b"not now"
        return 200, "text/html", article(self.names.index(path), self.links).encode()

    def crawl(self, *options: str) -> tuple[list[str], str]:
        """Return the paths of the items, and what was said."""
        fixed = ("--own-site", "--no-sitemaps", "--log-level", "INFO", *options)
        done = run("crawl", self.site.url, *fixed, cwd=self.folder, check=False)
        self.code = done.returncode
        return paths(self.folder, self.site.url), done.stderr


@pytest.fixture
def parts(site: Site, tmp_path: Path) -> Parts:
    return Parts(site, tmp_path)


@pytest.mark.parametrize(
    ("header", "asked"),
    [
        ("", (90, 150)),
        pytest.param("\r\nRetry-After: 3600", (30, 50), marks=pytest.mark.thorough),
    ],
)
def test_partial_outage_does_not_end_crawl(
    parts: Parts, header: str, asked: tuple[int, int]
) -> None:
    parts.header = header
    found, said = parts.crawl("-s", "CONTENTSPIDER_OUTAGE_SECS=20")
    assert found == sorted(name for name in parts.names if not name.startswith("/part/"))
    assert parts.code == Outcome.INCOMPLETE, "and what could not be read is said"
    assert wording("crawl.part-is-down") in said
    assert "addresses stay in the queue" not in said
    assert asked[0] <= parts.failed <= asked[1]
    parts.down = "none"
    found, _ = parts.crawl("--resume")
    assert found == sorted(parts.names)


@pytest.mark.thorough
def test_section_with_short_pause_is_read_afterwards(parts: Parts) -> None:
    parts.header, parts.up_after = "\r\nRetry-After: 2", 20
    found, said = parts.crawl("-s", "RETRY_ENABLED=False")
    assert found == sorted(parts.names)
    assert "requested again" in said
    assert parts.code == Outcome.COMPLETE


@pytest.mark.thorough
def test_fully_down_host_is_requested_rarely(parts: Parts) -> None:
    parts.down = "none"
    parts.crawl("--max-pages", "10", "-s", "CONCURRENT_REQUESTS=1")
    parts.down, before = "/", len(parts.site.requests)
    quick = ("--resume", "--max-pages", "0", "-s", "CONTENTSPIDER_OUTAGE_SECS=4")
    quick += ("-s", "CONCURRENT_REQUESTS=1")
    parts.crawl(*quick)
    assert parts.code == Outcome.INCOMPLETE
    assert 9 <= parts.failed <= FAILURES + 4
    assert "/" in parts.site.requests[before + 1 :], "a page that answered is asked"
    parts.down = "none"
    found, _ = parts.crawl(*quick)
    assert found == sorted(parts.names)


@pytest.mark.parametrize(
    "header",
    [
        "\r\nRetry-After: 4070908800",
        *(
            pytest.param(header, marks=pytest.mark.thorough)
            for header in ("\r\nRetry-After: 1", "")
        ),
    ],
)
def test_rate_limited_section_does_not_end_crawl(parts: Parts, header: str) -> None:
    parts.status, parts.header = 429, header
    found, said = parts.crawl("-s", "CONTENTSPIDER_OUTAGE_SECS=20")
    assert found == sorted(name for name in parts.names if not name.startswith("/part/"))
    assert parts.code == Outcome.INCOMPLETE
    assert wording("crawl.part-asks-for-pause") in said
    assert "addresses stay in the queue" not in said
    assert parts.failed <= 4 * len(NUMBERS)
    parts.down = "none"
    found, _ = parts.crawl("--resume")
    assert found == sorted(parts.names)


@pytest.mark.parametrize(
    "down", ["/part/7/x", pytest.param("/sitemap.xml", marks=pytest.mark.thorough)]
)
def test_single_url_with_overlong_pause_stops_no_other_page(parts: Parts, down: str) -> None:
    """Whether it is asked for after a page has answered or before."""
    parts.status, parts.down = 429, down
    parts.header = "\r\nRetry-After: Thu, 01 Jan 2099 00:00:00 GMT"
    parts.names += ["/sitemap.xml"]
    run("crawl", parts.site.url, "--own-site", cwd=parts.folder, check=False)
    found = paths(parts.folder, parts.site.url)
    assert found == sorted({*parts.names} - {down, "/sitemap.xml"})
