"""How often pages change, and when their next visit is due."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.freshness import POLICIES, freshness, worlds
from contentspider.recrawl import intervals as module
from contentspider.recrawl.intervals import Bounds, ChangeIntervals, intervals, kind_of

BOUNDS = Bounds(1 / 24, 30, 7)


def test_pages_without_visits_get_same_interval() -> None:
    found = intervals([ChangeIntervals("a"), ChangeIntervals("b"), ChangeIntervals("a")], BOUNDS)
    assert found == pytest.approx([7, 7, 7], rel=0.12), "steps between two intervals are 11 %"
    assert len(intervals([], BOUNDS)) == 0
    assert ChangeIntervals("a") == ChangeIntervals("a", 0.0, 0, 0.0)


def test_intervals_equal_measured_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """The policy's constants were chosen by `benchmarks/freshness.py`; another result is another
    policy, to be measured anew.
    """
    spells = [
        *(
            ChangeIntervals("a", 10.0 * number, number % 4, 3.0 * (number % 4))
            for number in range(8)
        ),
        *(ChangeIntervals("b", 2.0, number, 1.0 * number) for number in range(5)),
        ChangeIntervals("c", 1e6, 10**6, 1e6),
    ]
    expected = [*[8.5678] * 4, 10.5579, *[9.5109] * 3, 8.5678, 5.6422, *[5.0827] * 3, 4.5787]
    for batch in (module.BATCH, 5):
        monkeypatch.setattr(module, "BATCH", batch)
        assert intervals(spells, BOUNDS) == pytest.approx(expected, rel=1e-3)


def test_intervals_respect_bounds_and_mean() -> None:
    random = np.random.default_rng(3)
    still, moved, count = random.exponential(20, 500), random.exponential(9, 500), range(500)
    spells = [ChangeIntervals("a", still[i], i % 5, moved[i] * (i % 5 > 0)) for i in count]
    for mean in (0.5, 2, 7, 20):
        found = intervals(spells, Bounds(1 / 24, 30, mean))
        assert found.min() >= 1 / 24
        assert found.max() <= 30
        assert 1 / (1 / found).mean() == pytest.approx(mean, rel=0.05)
    assert (intervals(spells, Bounds(1, 5, 7)) == 5).all(), "at most so long, whatever the mean"


def test_pages_changing_faster_than_visits_get_longest_interval() -> None:
    never = ChangeIntervals("still", 120.0)
    weekly = ChangeIntervals("weekly", 60.0, 9, 63.0)
    ever = ChangeIntervals("ever", 0.0, 60, 60.0)
    spells = [never] * 40 + [weekly] * 20 + [ever] * 40
    found = intervals(spells, BOUNDS)
    assert found[40] < 7 < found[0]
    assert found[-1] == found.max(), "each visit found it changed: no visit keeps it current"
    # With visits to spare it is followed.
    many = intervals(spells, Bounds(1 / 24, 30, 0.5))
    assert many[-1] < many[40] < many[0]


def test_change_rate_of_always_changed_page_depends_on_visit_distance() -> None:
    """A page that was changed at each of ten visits, a day or a month apart: the first did so
    once a day or oftener, the second once a month or oftener.
    """
    spells = [
        ChangeIntervals("a", 0.0, 10, 10.0),
        ChangeIntervals("b", 0.0, 10, 300.0),
        ChangeIntervals("c", 150.0, 5, 150.0),
    ]
    others = [ChangeIntervals("x", 10.0, 1, 5.0)] * 50
    daily, monthly, half = intervals([*spells, *others], Bounds(1 / 24, 30, 1))[:3]
    assert daily < monthly <= half


def test_pages_with_few_visits_get_interval_of_their_kind() -> None:
    old = [ChangeIntervals("news", 20.0, 8, 20.0)] * 30 + [ChangeIntervals("archive", 90.0)] * 30
    found = intervals(
        [*old, ChangeIntervals("news"), ChangeIntervals("archive"), ChangeIntervals("unknown")],
        BOUNDS,
    )
    news, archive, unknown = found[-3:]
    assert news < unknown < archive
    assert news == pytest.approx(found[0], rel=0.5)


def test_page_kind_depends_on_host_and_path_shape() -> None:
    assert kind_of("https://a.org/news/1") == kind_of("https://a.org/news/2")
    kinds = {
        kind_of(f"https://{rest}")
        for rest in ("a.org/", "a.org/x", "a.org/news/1", "a.org/news/1/2", "a.org/news/1?page=2")
    }
    assert len(kinds) == 5
    assert kind_of("https://b.org/news/1") != kind_of("https://a.org/news/1")


@pytest.mark.thorough
@pytest.mark.parametrize("world", ["changing", "still"])
def test_revisit_policy_keeps_more_pages_fresh_than_fixed_interval_or_nutch(world: str) -> None:
    median, spread = worlds()[world]
    random = np.random.default_rng(5)
    kinds = random.integers(8, size=200)
    logs = random.standard_normal(8)[kinds] + random.standard_normal(200)
    rates = median * np.exp(spread * logs / np.sqrt(2))
    found = {
        name: freshness(POLICIES[name](rates, kinds, 5.0), 60, 5)
        for name in ("fixed", "nutch", "nutch-", "ours")
    }
    assert found.pop("ours") > max(found.values()) + 0.005
