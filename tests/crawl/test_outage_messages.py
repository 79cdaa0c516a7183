"""What is said of hosts in trouble, once each, and how much of them is remembered."""

from __future__ import annotations

import logging

import pytest

from contentspider.crawl.queue import outage
from contentspider.crawl.queue.outage import FAILURES, HostPauses, RequestDelays
from tests.crawl.test_outage import Clock, fail, many


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def hosts(clock: Clock) -> HostPauses:
    return HostPauses(300, clock)


@pytest.fixture(autouse=True)
def _log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)


def logged(caplog: pytest.LogCaptureFixture, *facts: str) -> list[int]:
    """Return the levels of the messages, each of which must begin with a host and have a fact."""
    records = list(caplog.records)
    caplog.clear()
    assert len(records) == len(facts)
    for record, fact in zip(records, facts, strict=True):
        host, _, detail = fact.partition(": ")
        assert record.getMessage().startswith(host)
        assert detail in record.getMessage()
    return [record.levelno for record in records]


def test_host_outage_and_recovery_are_logged(
    hosts: HostPauses, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    fail(hosts, "down")
    assert logged(caplog, f"down: {FAILURES} requests") == [logging.WARNING]
    clock.now = 12
    hosts.ask("down")
    hosts.failed("down", many)
    assert not logged(caplog)
    clock.now = 20
    hosts.answered("down")
    assert logged(caplog, "down: 20 s") == [logging.INFO]
    hosts.failed("down", many)
    hosts.answered("down")
    assert not logged(caplog)


def partly_down(hosts: HostPauses, host: str) -> None:
    """Have a host fail until its first witness answers."""
    while not hosts.is_paused(host):
        hosts.failed(host, many)
    hosts.ask(host, is_witness=True)
    hosts.answered(host, is_witness=True)


def test_partial_outage_of_host_is_logged_once(
    hosts: HostPauses, caplog: pytest.LogCaptureFixture
) -> None:
    partly_down(hosts, "down")
    levels = logged(caplog, f"down: {FAILURES} requests", "down: 0 s", "down: a part of it")
    assert levels == [logging.WARNING, logging.INFO, logging.WARNING]
    partly_down(hosts, "down")
    levels = logged(caplog, f"down: {2 * FAILURES} requests", "down: 0 s")
    assert levels == [logging.INFO, logging.INFO]


def test_pause_requested_by_host_is_logged_once(
    hosts: HostPauses, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(2):
        hosts.wait("busy", 300)
        hosts.limit("https://other/", 300, has_witness=False)
        clock.now += 300
    assert logged(caplog, "busy: pause", "other: pause") == [logging.INFO, logging.INFO]
    hosts.wait("long", 301)
    assert logged(caplog, "long: 301 s") == [logging.WARNING]


def limited(hosts: HostPauses, host: str) -> None:
    """Have an address of a host find requests too many, and the host answer another."""
    hosts.limit(f"https://{host}/a", None, has_witness=True)
    hosts.ask(host, is_witness=True)
    hosts.answered(host, is_witness=True)


def test_separately_waiting_urls_are_logged_once(
    hosts: HostPauses, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(2):
        limited(hosts, "host")
    assert logged(caplog, "host: some of its addresses") == [logging.WARNING]


def test_remembered_host_data_is_limited(
    hosts: HostPauses, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosts._allowed_failures.limit = hosts.delays.limited.limit = 4
    monkeypatch.setattr(outage, "MAX_HOSTS", 4)
    for number in range(5):
        partly_down(hosts, str(number))
    assert [hosts.is_partly_down(str(number)) for number in range(5)] == [False] + [True] * 4
    for number in range(5):
        limited(hosts, str(number))
    assert [hosts.delays.wait_of(f"https://{number}/a") for number in range(5)] == [
        *(None, None, None, 0, 0)
    ], "a host and its address are two"
    delays = RequestDelays()
    for number in range(5):
        delays.lengthen(str(number))
    assert [delays.note_request(str(number), 0) for number in range(5)] == [False] + [True] * 4
    assert delays.waiting(0.1) == {str(number): 0.25 for number in range(1, 5)}
    assert delays.waiting(0.25) == {}


def test_request_pace_is_halved_and_restored_in_steps() -> None:
    delays = RequestDelays()
    delays.lengthen("host")
    delays.lengthen("host")
    delays.note_request("host", 10)
    assert delays.waiting(10) == {"host": 10.5}
    for _ in range(20):
        delays.lengthen("host")
    delays.note_request("host", 10)
    assert delays.waiting(10) == {"host": 70}, "not slower than that"
    delays.shorten("host")
    delays.note_request("host", 10)
    assert delays.waiting(10) == {"host": 40}
    delays.shorten("host", 0.02 / 30)
    assert delays.note_request("host", 10), "as slow as that is slow"
    delays.shorten("host", 0.99)
    assert not delays.note_request("host", 10)
    assert delays.waiting(10) == {}
    delays.shorten("host")
