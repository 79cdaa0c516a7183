"""What is said of hosts in trouble, once each, and how much of them is remembered."""

from __future__ import annotations

import logging

import pytest

from contentspider.crawl.queue import outage
from contentspider.crawl.queue.outage import FAILURES, Hosts, Pace
from tests.test_outage import Clock, fail, many


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def hosts(clock: Clock) -> Hosts:
    return Hosts(300, clock)


@pytest.fixture(autouse=True)
def _log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)


def said(caplog: pytest.LogCaptureFixture) -> list[tuple[int, str]]:
    found = [(one.levelno, one.getMessage()) for one in caplog.records]
    caplog.clear()
    return found


DOWN = (
    "down: {} requests in a row got no answer. Its addresses wait until there is one, for"
    " CONTENTSPIDER_OUTAGE_SECS=300; those of other hosts go on"
)


def test_that_a_host_is_down_and_is_back_is_said(
    hosts: Hosts, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    fail(hosts, "down")
    assert said(caplog) == [(logging.WARNING, DOWN.format(FAILURES))]
    clock.now = 12
    hosts.ask("down")
    hosts.failed("down", many)
    assert said(caplog) == []
    clock.now = 20
    hosts.answered("down")
    assert said(caplog) == [(logging.INFO, "down: there is an answer again after 20 s")]
    hosts.failed("down", many)
    hosts.answered("down")
    assert said(caplog) == []


def partly_down(hosts: Hosts, host: str) -> None:
    """Have a host fail until its first witness answers."""
    while not hosts.is_paused(host):
        hosts.failed(host, many)
    hosts.ask(host, is_witness=True)
    hosts.answered(host, is_witness=True)


def test_that_a_part_of_a_host_is_down_is_said_once(
    hosts: Hosts, caplog: pytest.LogCaptureFixture
) -> None:
    partly_down(hosts, "down")
    assert said(caplog) == [
        (logging.WARNING, DOWN.format(FAILURES)),
        (logging.INFO, "down: there is an answer again after 0 s"),
        (logging.WARNING, "down answers, but for a part of it: that is asked again later"),
    ]
    partly_down(hosts, "down")
    assert said(caplog) == [
        (logging.INFO, DOWN.format(2 * FAILURES)),
        (logging.INFO, "down: there is an answer again after 0 s"),
    ]


def test_that_a_host_asks_for_a_pause_is_said_once(
    hosts: Hosts, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(2):
        hosts.wait("busy", 300)
        hosts.limit("https://other/", 300, has_witness=False)
        clock.now += 300
    assert said(caplog) == [
        (logging.INFO, "busy asks for a pause"),
        (logging.INFO, "other asks for a pause"),
    ]
    hosts.wait("long", 301)
    message = (
        "long asks for a pause of 301 s, longer than CONTENTSPIDER_OUTAGE_SECS=300: if its"
        " addresses are all that is left, go on with --resume then"
    )
    assert said(caplog) == [(logging.WARNING, message)]


def limited(hosts: Hosts, host: str) -> None:
    """Have an address of a host find requests too many, and the host answer another."""
    hosts.limit(f"https://{host}/a", None, has_witness=True)
    hosts.ask(host, is_witness=True)
    hosts.answered(host, is_witness=True)


def test_that_addresses_wait_alone_is_said_once(
    hosts: Hosts, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(2):
        limited(hosts, "host")
    message = "host answers, but some addresses want a pause: they wait alone"
    assert said(caplog) == [(logging.WARNING, message)]


def test_what_is_remembered_of_hosts_is_bounded(
    hosts: Hosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosts._patience.limit = hosts._limited.limit = 4
    monkeypatch.setattr(outage, "MAX_HOSTS", 4)
    for number in range(5):
        partly_down(hosts, str(number))
    assert [hosts.is_partly_down(str(number)) for number in range(5)] == [False] + [True] * 4
    for number in range(5):
        limited(hosts, str(number))
    assert [hosts.wait_of(f"https://{number}/a") for number in range(5)] == [
        *(None, None, None, 0, 0)
    ], "a host and its address are two"
    pace = Pace()
    for number in range(5):
        pace.slow(str(number))
    assert [pace.ask(str(number), 0) for number in range(5)] == [False] + [True] * 4
    assert pace.waiting(0.1) == {str(number): 0.25 for number in range(1, 5)}
    assert pace.waiting(0.25) == {}


def test_a_pace_is_halved_and_forgotten_in_steps() -> None:
    pace = Pace()
    pace.slow("host")
    pace.slow("host")
    pace.ask("host", 10)
    assert pace.waiting(10) == {"host": 10.5}
    for _ in range(20):
        pace.slow("host")
    pace.ask("host", 10)
    assert pace.waiting(10) == {"host": 70}, "not slower than that"
    pace.hasten("host")
    pace.ask("host", 10)
    assert pace.waiting(10) == {"host": 40}
    pace.hasten("host", 0.02 / 30)
    assert pace.ask("host", 10), "as slow as that is slow"
    pace.hasten("host", 0.99)
    assert not pace.ask("host", 10)
    assert pace.waiting(10) == {}
    pace.hasten("host")
