"""Which hosts may be asked: those that are down, or ask for a pause, wait longer and longer."""

from __future__ import annotations

import time
from collections import deque
from email.utils import formatdate
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from scrapy.http import Response

from contentspider.crawl.queue import outage
from contentspider.crawl.queue.outage import FAILURES, MAX_PAUSE_SECS, HostPauses, retry_after
from tests.conftest import run
from tests.crawl.test_robots import paths
from tests.hostile import Exchange, HostileSite, serve_hostile
from tests.sites import article

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def hosts(clock: Clock) -> HostPauses:
    return HostPauses(300, clock)


def many(most: int) -> int:
    return most


def fail(hosts: HostPauses, host: str, times: int = FAILURES) -> None:
    for _ in range(times):
        hosts.failed(host, many)


def asked_at(hosts: HostPauses, clock: Clock, until: float) -> list[float]:
    """Return when a host is asked that never answers."""
    found = []
    while clock.now < until:
        clock.now += 0.5
        if "down" not in hosts.closed():
            found.append(clock.now)
            hosts.ask("down")
            assert hosts.closed() == {"down"}, "one request at a time"
            hosts.failed("down", many)
    return found


def test_host_that_is_down_is_tried_less_and_less_often(hosts: HostPauses, clock: Clock) -> None:
    fail(hosts, "down", FAILURES - 1)
    assert hosts.closed() == set()
    fail(hosts, "down", 1)
    assert hosts.closed() == {"down"}
    assert not hosts.is_paused("up")
    assert asked_at(hosts, clock, 200) == [1, 3, 7, 15, 31, 63, 123, 183]
    assert hosts.lost() == []
    clock.now = 300
    assert hosts.lost() == ["down"]
    assert 60 <= len(asked_at(hosts, clock, 300 + 61 * MAX_PAUSE_SECS)) <= 62
    hosts.answered("down")
    assert (hosts.closed(), hosts.lost(), hosts.next_change()) == (set(), [], None)


def test_successful_response_resets_failure_count(hosts: HostPauses) -> None:
    for _ in range(10):
        fail(hosts, "host", FAILURES - 1)
        hosts.answered("host")
    assert hosts.closed() == set()


def test_requests_sent_before_pause_do_not_lengthen_it(hosts: HostPauses, clock: Clock) -> None:
    fail(hosts, "down", FAILURES + 16)
    assert hosts.next_change() == 1
    clock.now = 1
    hosts.ask("down")
    fail(hosts, "down", 16)
    assert hosts.next_change() == 2


def test_host_with_recent_failure_gets_one_request_at_a_time(hosts: HostPauses) -> None:
    hosts.failed("host", many)
    assert hosts.closed() == set()
    for end in (lambda: hosts.failed("host", many), lambda: hosts.release("host")):
        hosts.ask("host")
        assert hosts.closed() == {"host"}
        end()
        assert hosts.closed() == set()
    hosts.ask("host")
    hosts.answered("host")
    hosts.ask("host")
    assert hosts.closed() == set()


def test_request_without_known_end_blocks_host_only_for_limited_time(
    hosts: HostPauses, clock: Clock
) -> None:
    hosts.failed("host", many)
    hosts.ask("host")
    clock.now = outage.ASKED_SECS
    assert hosts.closed() == set()


def test_nonexistent_site_is_not_waited_for(hosts: HostPauses) -> None:
    for _ in range(100):
        hosts.failed("none", lambda most: min(3, most))
    assert hosts.closed() == set()
    assert hosts.lost() == []


def test_retry_after_pause_is_kept_despite_successful_responses(
    hosts: HostPauses, clock: Clock
) -> None:
    hosts.wait("host", 20)
    hosts.answered("host")
    clock.now = 19
    assert hosts.closed() == {"host"}
    hosts.wait("host", 20)
    clock.now = 38
    assert hosts.closed() == {"host"}, "the last that asked"
    clock.now = 39
    assert hosts.closed() == set()
    hosts.ask("host")
    hosts.answered("host")
    assert not hosts.is_paused("host")


def test_host_that_keeps_asking_for_pauses_is_tried_less_often(
    hosts: HostPauses, clock: Clock
) -> None:
    found = []
    while clock.now < 60:
        if "busy" not in hosts.closed():
            found.append(clock.now)
            hosts.ask("busy")
            hosts.wait("busy", 1)
        clock.now += 1
    assert found == [0, 1, 3, 7, 15, 31]


@pytest.mark.parametrize("seconds", [301, 10**9])
def test_overlong_retry_after_marks_host_as_lost(
    hosts: HostPauses, clock: Clock, seconds: float
) -> None:
    hosts.wait("host", seconds)
    assert hosts.lost() == ["host"]
    clock.now += 5
    assert hosts.paused_secs(hosts.lost()) == 5, "the time so far, not the end of the pause"
    assert hosts.closed() == {"host"}, "and it is not asked before"
    assert (hosts.next_change() or 0) <= 86_400
    clock.now = 86_400
    assert hosts.closed() == set()


def test_number_of_remembered_failing_hosts_is_limited(hosts: HostPauses) -> None:
    hosts._states.limit = 10
    for number in range(100):
        fail(hosts, str(number))
    assert hosts.closed() == {str(number) for number in range(90, 100)}


def test_retry_after_header_is_parsed_as_seconds_or_date() -> None:
    def said(value: str) -> float | None:
        return retry_after(Response("http://x", headers={"Retry-After": value}))

    assert [said(value) for value in ("120", " 0 ", "9" * 5_000)] == [120, 0, 999_999_999]
    assert 98 < (said(formatdate(time.time() + 100, usegmt=True)) or 0) <= 100
    assert said("Fri, 31 Dec 1999 23:59:59 GMT") == 0
    for value in ("soon", "-1", "1.5", "", "\xb2", "Fri, 99 Foo 9999", "1" * 9 + ", 1 Jan"):
        assert said(value) is None
    assert retry_after(Response("http://x")) is None


@pytest.fixture
def hostile() -> Iterator[HostileSite]:
    with serve_hostile() as delays:
        yield delays


@pytest.mark.thorough
@pytest.mark.parametrize(
    "status",
    ["429 Too Many Requests", "503 Service Unavailable"],
)
def test_requested_pauses_are_kept_and_all_pages_are_read(
    hostile: HostileSite, tmp_path: Path, status: str
) -> None:
    numbers = range(1, 30)
    links = "".join(f"<a href=/{number}>x</a>" for number in numbers)
    times: list[float] = []

    def answer(exchange: Exchange) -> None:
        times.append(time.monotonic())
        if 5 <= len(times) <= 9:
            exchange.send("busy", "Retry-After: 1", status=status)
        else:
            exchange.send(article(int(exchange.path[1:] or 0), links))

    for path in ("/", *(f"/{number}" for number in numbers)):
        hostile.handlers[path] = answer
    options = ["--own-site", "--no-sitemaps", "-s", "RETRY_ENABLED=False"]
    options += ["-s", "CONCURRENT_REQUESTS=1"]
    run("crawl", hostile.url, *options, cwd=tmp_path)
    assert paths(tmp_path, hostile.url) == sorted(["/", *(f"/{number}" for number in numbers)])
    pauses = [second - first for first, second in pairwise(times[4:10])]
    assert all(pause >= 1 for pause in pauses)


@pytest.mark.thorough
@pytest.mark.parametrize("header", [("Retry-After: 1",), ()])
def test_rate_limited_server_receives_fewer_requests(
    hostile: HostileSite, tmp_path: Path, header: tuple[str, ...]
) -> None:
    numbers = range(1, 90)
    links = "".join(f"<a href=/{number}>x</a>" for number in numbers)
    answered: deque[float] = deque(maxlen=6)
    refused: list[str] = []

    def answer(exchange: Exchange) -> None:
        now = time.monotonic()
        if len(answered) == 6 and now - answered[0] < 0.7:
            refused.append(exchange.path)
            exchange.send("too many", *header, status="429 Too Many Requests")
        else:
            answered.append(now)
            exchange.send(article(int(exchange.path[1:] or 0), links))

    for path in ("/", *(f"/{number}" for number in numbers)):
        hostile.handlers[path] = answer
    run("crawl", hostile.url, "--own-site", "--no-sitemaps", cwd=tmp_path)
    assert paths(tmp_path, hostile.url) == sorted(["/", *(f"/{number}" for number in numbers)])
    assert len(refused) <= 24, "16 were on their way"


def limit(hosts: HostPauses, path: str, seconds: float | None, *, has_witness: bool = True) -> None:
    hosts.limit(f"https://host/{path}", seconds, has_witness)


def test_request_for_known_page_distinguishes_limited_url_from_limited_host(
    hosts: HostPauses, clock: Clock
) -> None:
    limit(hosts, "a", None)
    limit(hosts, "b", None)
    assert hosts.due_witness() == ("host", 0), "at once"
    hosts.ask("host", is_witness=True)
    hosts.answered("host")
    assert hosts.is_paused("host"), "it was sent before"
    hosts.answered("host", is_witness=True)
    assert not hosts.is_paused("host")
    assert all(hosts.delays.wait_of(f"https://host/{path}") is not None for path in "ab")
    limit(hosts, "c", None)
    assert hosts.due_witness() == ("host", 0)
    hosts.ask("host", is_witness=True)
    hosts.limit("https://host/a", None, has_witness=True, is_witness=True)
    assert hosts.next_change() == 1, "the host does"
    assert hosts.delays.wait_of("https://host/c") is None
    for now, gap in ((1, 0.25), (2, 0.25 * 0.99)):
        clock.now = now
        assert hosts.closed() == set()
        hosts.ask("host")
        hosts.answered("host")
        assert hosts.next_change() == pytest.approx(gap)


def test_hosts_with_limited_urls_are_slowed_at_end(
    hosts: HostPauses,
) -> None:
    limit(hosts, "a", None)
    hosts.due_witness()
    hosts.ask("host", is_witness=True)
    hosts.answered("host", is_witness=True)
    hosts.ask("host")
    assert hosts.next_change() is None
    hosts.delays.slow_limited()
    hosts.ask("host")
    assert hosts.next_change() == pytest.approx(0.25)


def test_second_pause_of_one_address_leads_to_request_of_another(
    hosts: HostPauses, clock: Clock
) -> None:
    limit(hosts, "a", 20)
    assert hosts.due_witness() is None and hosts.next_change() == 20
    clock.now = 20
    hosts.ask("host")
    limit(hosts, "a", 20)
    assert hosts.due_witness() is None and hosts.next_change() == 20
    clock.now = 40
    assert hosts.due_witness() == ("host", 0)
    hosts.ask("host", is_witness=True)
    hosts.answered("host", is_witness=True)
    assert hosts.delays.wait_of("https://host/a") is not None
    limit(hosts, "b", 20)
    assert hosts.due_witness() == ("host", 0), "one did before"


def test_host_is_lost_if_second_address_repeats_overlong_pause(hosts: HostPauses) -> None:
    limit(hosts, "a", 1e9)
    assert hosts.lost() == [] and hosts.due_witness()
    hosts.ask("host", is_witness=True)
    hosts.limit("https://host/b", 1e9, has_witness=True, is_witness=True)
    assert hosts.lost() == ["host"]


def test_host_is_not_lost_if_second_address_answers_during_overlong_pause(
    hosts: HostPauses,
) -> None:
    limit(hosts, "a", 1e9, has_witness=False)
    assert hosts.lost() == ["host"]
    hosts.answered("host")
    assert hosts.lost() == [] and hosts.due_witness() == ("host", 0)
    hosts.ask("host", is_witness=True)
    hosts.release("host")
    limit(hosts, "b", 30)
    assert hosts.next_change() == 30, "it was not sent"


def test_longest_acceptable_pause_is_kept(hosts: HostPauses) -> None:
    for path, seconds in (("a", 20), ("b", 40), ("c", 1e9), ("d", 10)):
        limit(hosts, path, seconds)
    assert hosts.next_change() == 40


def test_delays_shorten_with_answers_and_have_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outage, "MAX_HOSTS", 2)
    delays = outage.RequestDelays()
    assert not delays.note_request("a", 0)
    for _ in range(20):
        delays.lengthen("a")
    assert delays.note_request("a", 0) and delays.waiting(0) == {"a": outage.MAX_DELAY_SECS}
    for _ in range(1000):
        delays.shorten("a", outage.DELAY_PER_ANSWER)
    assert not delays.note_request("a", 0) and delays.waiting(0) == {}
    for host in "bcd":
        delays.lengthen(host)
    assert [delays.note_request(host, 0) for host in "bcd"] == [False, True, True]
