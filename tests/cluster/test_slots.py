"""The pace of all workers: a request to a host has a time, and who is late for it gives it up."""

from __future__ import annotations

import pytest

from contentspider.cluster.slots import AHEAD_SECS, MARGIN, USABLE_SECS, SharedHosts


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def hosts(clock: Clock, delay: float = 0.5, **waiting: int) -> SharedHosts:
    return SharedHosts(300, delay, lambda: waiting, clock)


def test_host_is_requested_in_its_reserved_slots(clock: Clock) -> None:
    pace = hosts(clock, a=5, b=5)
    pace.ask("a")  # the first request has the time of robots.txt, too
    assert pace.closed() == {"a", "b"}
    pace.add({"a": [0.0, 0.5], "b": [0.2]})
    assert (pace.closed(), pace.next_change()) == ({"b"}, 0.001)
    pace.ask("a")
    assert pace.closed() == {"a", "b"}
    assert pace.next_change() == pytest.approx(0.2)
    clock.now += 0.2
    assert pace.closed() == {"a"}
    clock.now += 0.3
    assert pace.closed() == {"b"}, "that time is lost"


def test_unused_slot_expires(clock: Clock) -> None:
    pace = hosts(clock, a=5)
    pace.add({"a": [0.0, 0.5, 1.0]})
    clock.now += 0.5 + USABLE_SECS + 0.01
    assert pace.closed() == {"a"}, "of a stalled process, that would ask twice at once"
    assert pace.next_change() == pytest.approx(0.5 - USABLE_SECS - 0.01)


def test_first_slot_of_host_is_used_only_for_robots_txt(clock: Clock) -> None:
    pace = hosts(clock, a=5)
    pace.add({"a": [0.0, 0.5, 1.0]})
    pace.ask("a")
    clock.now += 0.5
    assert pace.closed() == {"a"}
    clock.now += 0.5
    assert pace.closed() == set()


def test_worker_reserves_slots_only_for_waiting_addresses_and_next_seconds(clock: Clock) -> None:
    pace = hosts(clock, a=100, b=1)
    assert pace.spacing == 0.5 * MARGIN
    most = int(AHEAD_SECS / pace.spacing)
    assert pace.missing_slots() == {"a": most, "b": 1}
    pace.add({"a": [0.3], "b": [0.3]})
    assert pace.missing_slots() == {"a": most - 1}
    pace.wait("a", 30)  # it asked for a pause
    assert pace.missing_slots() == {}


def test_worker_reserves_one_slot_if_delay_is_long(clock: Clock) -> None:
    assert hosts(clock, 20.0, a=9).missing_slots() == {"a": 1}


def test_worker_reserves_no_slots_without_delay(clock: Clock) -> None:
    pace = hosts(clock, 0.0, a=9)
    assert (pace.missing_slots(), pace.closed(), pace.next_change()) == ({}, set(), None)
    pace.ask("a")
    pace.wait("a", 30)
    assert pace.closed() == {"a"}
    assert pace.next_change() == pytest.approx(30)
