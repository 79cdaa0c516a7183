"""Estimates how often pages change, and decides when to visit them again.

The change rates of a site's pages (Brewington and Cybenko, How dynamic is the web?, 2000) are
estimated together, by EM over a grid. The visits are chosen so that each gains the same number of
days with a current index (Cho and Garcia-Molina, Effective page refresh policies, 2003).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from contentspider.ground.addresses import split_address

Floats = NDArray[np.float64]
RATES = np.geomspace(1 / 1826, 48, 32)  # changes a day: one in five years to one each half hour
# Prior weights in pages: of equal rates for a site, and of the site's rates for a kind of pages.
SITE_WEIGHT, KIND_WEIGHT = 1.0, 5.0
ROUNDS = 20
MAX_DAYS = 36_525  # larger numbers of days or changes in a book are wrong
STEPS = 64  # intervals that are tried between the shortest and the longest
BATCH = 16_384  # pages that are computed at a time: 8 MB


@dataclass(frozen=True, slots=True)
class ChangeIntervals:
    """The intervals between the visits of a page: *changes* of them had a change, in *changed_days*
    days altogether; *still_days* is the sum of the days without one. *kind* is the kind of the
    page's address (`kind_of`).
    """

    kind: str
    still_days: float = 0.0
    changes: int = 0
    changed_days: float = 0.0


@dataclass(frozen=True, slots=True)
class Bounds:
    """Days between two visits of a page: minimum, maximum, and the mean over a site's pages."""

    shortest: float
    longest: float
    mean: float


def kind_of(url: str) -> str:
    """Return the kind of an address: host, first folder, depth, and whether it has parameters."""
    parts = split_address(url)
    path = [part for part in parts.path.split("/") if part]
    return f"{parts.netloc} {path[:-1][:1]} {len(path)} {bool(parts.query)}"


def intervals(spells: Sequence[ChangeIntervals], bounds: Bounds) -> Floats:
    """Return the days until the next visit of each page; their (harmonic) mean is *bounds.mean*."""
    if not spells:
        return np.zeros(0)
    chances = _chances(spells)
    days = np.geomspace(bounds.shortest, bounds.longest, STEPS)
    gains = _gains(RATES[:, None], days[None, :])
    least, most = 0.0, float(gains[:, -1].max())
    visits_a_day = len(spells) / bounds.mean
    # A lower threshold gives more visits.
    for _ in range(30):
        threshold = (least + most) / 2
        if (1 / _due(chances, gains, days, threshold)).sum() > visits_a_day:
            least = threshold
        else:
            most = threshold
    return _due(chances, gains, days, most)


def _gains(rates: Floats, days: Floats) -> Floats:
    """Return the gain of a visit: the slope of f (1 - exp(-rate / f)) / rate at f visits a day."""
    expected = rates * days
    return np.asarray((1 - (1 + expected) * np.exp(-expected)) / rates)


def _due(chances: Floats, gains: Floats, days: Floats, threshold: float) -> Floats:
    """Return the days after which a visit of each page gains less than the threshold."""
    due = np.empty(len(chances))
    for start in range(0, len(chances), BATCH):
        batch = chances[start : start + BATCH] @ gains
        step = (batch < threshold).sum(axis=1)
        due[start : start + BATCH] = days[np.minimum(step, len(days) - 1)]
    return due


def _chances(spells: Sequence[ChangeIntervals]) -> Floats:
    """Return the probability of each of the `RATES` for each page."""
    still = np.clip([spell.still_days for spell in spells], 0, MAX_DAYS)
    changes = np.clip([spell.changes for spell in spells], 0, MAX_DAYS)
    # Only the sum of the intervals with a change is stored, so each counts as their mean.
    each = np.clip([spell.changed_days for spell in spells], 0, MAX_DAYS) / np.maximum(changes, 1)
    moved = np.log(-np.expm1(-np.maximum(each[:, None] * RATES, 1e-9)))
    logs = changes[:, None] * moved - still[:, None] * RATES
    likely = np.exp(logs - logs.max(axis=1, keepdims=True))
    site = np.full(len(RATES), 1 / len(RATES))
    flat = site * SITE_WEIGHT
    for _ in range(ROUNDS):
        site = (_posterior(likely, site).sum(axis=0) + flat) / (len(spells) + SITE_WEIGHT)
    names = [spell.kind for spell in spells]
    _, kinds, sizes = np.unique(names, return_inverse=True, return_counts=True)
    own = np.tile(site, (len(sizes), 1))
    for _ in range(ROUNDS):
        sums = np.zeros_like(own)
        np.add.at(sums, kinds, _posterior(likely, own[kinds]))
        own = (sums + site * KIND_WEIGHT) / (sizes[:, None] + KIND_WEIGHT)
    return _posterior(likely, own[kinds])


def _posterior(likely: Floats, before: Floats) -> Floats:
    product = likely * before
    return np.asarray(product / product.sum(axis=1, keepdims=True))
