"""How many of a site's pages are current, day by day, by how the next visits are chosen: every
policy makes the same number of visits.

    python benchmarks/freshness.py [--days 90] [--pages N] [--seeds N]

No page's real history is at hand; the rates of change are drawn so that shares of pages are what
was measured of the web:

- *changing*: 40 % of the pages change within a week, 23 % within a day (720,000 pages, each day for
  four months; the second is of those in .com. Cho and Garcia-Molina, The evolution of the web and
  implications for an incremental crawler, 2000, as summed up by Fetterly, Manasse, Najork and
  Wiener, A large-scale study of the evolution of web pages, WWW 2003). A log-normal distribution
  has two parameters: these two shares give both.
- *still*: half of the pages that stay do not change in a year (154 sites, each week for a year;
  Ntoulas, Cho and Olston, What's new on the web?, WWW 2004); with the same spread.

Between two changes of a page the time is exponential (Brewington and Cybenko, How dynamic is the
web?, WWW 2000). Not measured but chosen: that half of the variance (of the logarithms) is between
templates of a site and half within them, and that a site has 12 of them (*--shared* changes the
first).

Policies, every 6 hours the same number of pages, the most overdue first, to the last page of the
budget, whether due or not:

- *fixed*: the longest ago first;
- *nutch*: Apache Nutch's AdaptiveFetchSchedule as in its nutch-default.xml (inc_rate 0.4, dec_rate
  0.2, from 60 s to 365 days, sync_delta with 0.3), beginning at the mean interval; and *nutch-*,
  without sync_delta;
- *ours*: `contentspider.recrawl.intervals`, from 1 h to 30 days, new intervals once a day; and
  *ours-* without templates (all pages are of one kind);
- *known*: ours, if the rates were known: what is left to gain.
"""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING

import numpy as np

from contentspider.recrawl import intervals
from contentspider.recrawl.intervals import Bounds, ChangeIntervals

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

STEP = 0.25
TEMPLATES = 12
MEANS = (3.5, 7.0, 14.0)
NORMAL = np.random.default_rng(0).standard_normal(100_000)


def share_changed(median: float, spread: float, days: float) -> float:
    """Return the share of pages that change within some days, of log-normal rates."""
    return float(-np.expm1(-median * np.exp(spread * NORMAL) * days).mean())


def bisect(function: Callable[[float], float], low: float, high: float) -> float:
    """Return where a rising function is 0."""
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if function(middle) < 0 else (low, middle)
    return low


def median_for(share: float, days: float, spread: float) -> float:
    """Return the median rate with which a share of the pages changes within some days."""
    log = bisect(lambda log: share_changed(math.exp(log), spread, days) - share, -30, 10)
    return math.exp(log)


def worlds() -> dict[str, tuple[float, float]]:
    """Return the median and the spread of the rates of each world."""
    # A wider spread has more pages that change within a day, if as many do within a week.
    spread = bisect(
        lambda spread: share_changed(median_for(0.4, 7, spread), spread, 1) - 0.23, 0.1, 10
    )
    return {
        "changing": (median_for(0.4, 7, spread), spread),
        "still": (median_for(0.5, 365, spread), spread),
    }


class Policy:
    """Chooses the pages that are visited next: those that `overdue` says most of."""

    def __init__(self, rates: Array, kinds: NDArray[np.int64], mean: float) -> None:
        self.rates, self.kinds, self.mean = rates, kinds, mean
        self.last = np.zeros(len(rates))

    def overdue(self, now: float) -> Array:
        """Return a number for each page, the highest for that which is visited first."""
        return now - self.last

    def visited(self, chosen: NDArray[np.int64], changed: NDArray[np.bool_], now: float) -> None:
        """Learn what the visits of pages have shown."""
        self.last[chosen] = now


class Nutch(Policy):
    """Apache Nutch's AdaptiveFetchSchedule."""

    sync = 0.3

    def __init__(self, rates: Array, kinds: NDArray[np.int64], mean: float) -> None:
        super().__init__(rates, kinds, mean)
        self.interval = np.full(len(rates), mean)
        self.modified = np.zeros(len(rates))
        # Their first visits are spread, as those of any crawl that has run for a while.
        self.next = np.linspace(0, mean, len(rates))

    def overdue(self, now: float) -> Array:
        return now - self.next

    def visited(self, chosen: NDArray[np.int64], changed: NDArray[np.bool_], now: float) -> None:
        interval = self.interval[chosen] * np.where(changed, 0.8, 1.4)
        self.modified[chosen[changed]] = now
        reference = np.full(len(chosen), now)
        if self.sync:
            delta = now - self.modified[chosen]
            interval = np.maximum(interval, delta)
            reference -= delta * self.sync
        self.interval[chosen] = interval = np.clip(interval, 60 / 86_400, 365)
        self.next[chosen] = reference + interval


class NutchWithoutSync(Nutch):
    """The same, with sync_delta switched off."""

    sync = 0.0


class Ours(Policy):
    """Intervals by estimated rates."""

    by_kind = True

    def __init__(self, rates: Array, kinds: NDArray[np.int64], mean: float) -> None:
        super().__init__(rates, kinds, mean)
        self.still, self.changed_days = np.zeros(len(rates)), np.zeros(len(rates))
        self.changes = np.zeros(len(rates), int)
        self.interval = np.full(len(rates), mean)

    def overdue(self, now: float) -> Array:
        if now % 1 == 0:
            self.interval = self.estimated()
        return (now - self.last) / self.interval

    def estimated(self) -> Array:
        """Return the intervals after which pages are due."""
        names = [str(kind) if self.by_kind else "" for kind in self.kinds]
        rows = zip(names, self.still, self.changes, self.changed_days, strict=True)
        spells = [ChangeIntervals(name, float(a), int(b), float(c)) for name, a, b, c in rows]
        return intervals.intervals(spells, Bounds(1 / 24, 30, self.mean))

    def visited(self, chosen: NDArray[np.int64], changed: NDArray[np.bool_], now: float) -> None:
        spell = now - self.last[chosen]
        self.still[chosen] += spell * ~changed
        self.changed_days[chosen] += spell * changed
        self.changes[chosen] += changed
        super().visited(chosen, changed, now)


class OursWithoutKinds(Ours):
    """The same, without what pages of one template have in common."""

    by_kind = False


class Known(Ours):
    """The same, by the true rates."""

    def estimated(self) -> Array:
        days = np.geomspace(1 / 24, 30, 200)
        gains = intervals._gains(self.rates[:, None], days[None, :])

        def visits(log: float) -> float:
            steps = np.minimum((gains < math.exp(log)).sum(axis=1), len(days) - 1)
            return len(self.rates) / self.mean - float((1 / days[steps]).sum())

        log = bisect(visits, -20, 10)
        return np.asarray(
            days[np.minimum((gains < math.exp(log)).sum(axis=1), len(days) - 1)], float
        )


POLICIES: dict[str, type[Policy]] = {
    "fixed": Policy,
    "nutch": Nutch,
    "nutch-": NutchWithoutSync,
    "ours": Ours,
    "ours-": OursWithoutKinds,
    "known": Known,
}


def freshness(policy: Policy, days: float, seed: int) -> float:
    """Return the share of pages that are current, on the mean over the days."""
    random = np.random.default_rng(seed)
    count, fresh, visits = len(policy.rates), 0.0, 0.0
    changes_at = random.exponential(1 / policy.rates)
    for now in np.arange(0, days, STEP):
        visits += count / policy.mean * STEP
        budget, visits = int(visits), visits % 1
        chosen = np.argsort(-policy.overdue(now), kind="stable")[:budget]
        policy.visited(chosen, changes_at[chosen] <= now, now)
        # The time to the next change does not depend on that since the last one.
        changes_at[chosen] = now + random.exponential(1 / policy.rates[chosen])
        fresh += float(np.clip(changes_at - now, 0, STEP).sum())
    return fresh / (count * days)


def main() -> None:
    """Print a table of the mean freshness, a row a world and budget."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--days", type=float, default=90)
    parser.add_argument("--pages", type=int, default=500)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--shared", type=float, default=0.5, help="variance between templates")
    options = parser.parse_args()
    print(
        "| world | a page is visited every | "
        + " | ".join(POLICIES)
        + " | ours above fixed, nutch |"
    )
    print("|---" * (3 + len(POLICIES)) + "|")
    for world, (median, spread) in worlds().items():
        for mean in MEANS:
            found = np.zeros((options.seeds, len(POLICIES)))
            for seed in range(options.seeds):
                random = np.random.default_rng(seed)
                kinds = random.integers(TEMPLATES, size=options.pages)
                between = random.standard_normal(TEMPLATES)[kinds] * math.sqrt(options.shared)
                within = random.standard_normal(options.pages) * math.sqrt(1 - options.shared)
                rates = median * np.exp(spread * (between + within))
                for column, policy in enumerate(POLICIES.values()):
                    found[seed, column] = freshness(policy(rates, kinds, mean), options.days, seed)
            cells = " | ".join(f"{value:.3f}" for value in found.mean(axis=0))
            margins = found[:, [3]] - found[:, :3]
            worst = margins.min(axis=0)
            print(
                f"| {world} | {mean:g} days | {cells} | {worst[0]:+.3f},"
                f" {worst[1:].min():+.3f} at least |"
            )


if __name__ == "__main__":
    main()
