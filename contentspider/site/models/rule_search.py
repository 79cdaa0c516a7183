"""The few decisions that say most nearly what a model keeps: a greedy search over places."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from contentspider.site.models.places import State
from contentspider.site.sample import sample_order

if TYPE_CHECKING:
    from collections.abc import Iterable

    from contentspider.page.input.page import Page
    from contentspider.site.models.places import Choice, Keys, Numbers, Places

# Pages to learn from: more show nothing new of a template.
MAX_PAGES = 80
# How much more a rule that names the parent or the place must add to the F1 of the kept text.
PARTICULAR_COST = 0.0005
# First rules that are tried: they decide which others follow.
BEGINNINGS = 8
# What is kept of a page counts as this share of the median at least.
LEAST_PAGE = 0.1


def sampled(pages: Iterable[Page], most: int = MAX_PAGES) -> list[Page]:
    """Return a sample of *most* of the pages that have text."""
    return sorted(
        (page for page in pages if page.content.blocks), key=lambda page: sample_order(page.url)
    )[:most]


def learn(
    keys: Keys,
    places: Places,
    min_gain: float,
    max_rules: int,
    weights: Numbers | None = None,
) -> list[Choice]:
    """Return the rules that keep most nearly what the model keeps.

    *weights* are those of the blocks (None: the root of their length, and every page the same).
    Each rule is the best after those before it; of several first rules the one that ends best.
    """
    weights = _weights(places) if weights is None else weights
    count = len(places.places)
    content: Numbers = np.bincount(places.place, weights * places.kept, minlength=count)
    noise: Numbers = np.bincount(places.place, weights * ~places.kept, minlength=count)
    best: list[Choice] = []
    best_score = -np.inf
    for first in _beginnings(keys, content, noise):
        chosen = _continued(keys, first, content, noise, min_gain, max_rules)
        score = _f1(content, noise, State(keys, count, chosen)) - min_gain * len(chosen)
        if score > best_score + 1e-6:
            best, best_score = chosen, score
    return best


def _weights(places: Places) -> Numbers:
    weights = np.sqrt(places.chars) * places.counts
    kept = np.bincount(places.page, weights * places.kept, minlength=places.pages)
    if not kept.any():
        return weights
    # A page with hardly any text counts for less.
    least = LEAST_PAGE * np.median(kept[kept > 0])
    return np.asarray(weights / np.maximum(kept, least)[places.page])


def _costs(keys: Keys) -> Numbers:
    # Of keys that bring the same, a name says more of pages to come than a tag.
    return np.asarray(PARTICULAR_COST * keys.particular - 1e-9 * keys.named)


def _beginnings(keys: Keys, content: Numbers, noise: Numbers) -> list[Choice]:
    """Return the best first rules, of those that are alike one only."""
    gains = _gains(keys, content, noise, State(keys, len(content)))[0] - _costs(keys)
    found: dict[float, Choice] = {}
    for key in np.argsort(-gains, kind="stable").tolist():
        if gains[key] <= 0 or len(found) == BEGINNINGS:
            break
        found.setdefault(round(float(gains[key]), 6), (key, True))
    return list(found.values())


def _continued(
    keys: Keys, first: Choice, content: Numbers, noise: Numbers, min_gain: float, max_rules: int
) -> list[Choice]:
    """Return *first* and the best rules after it, without those that are not needed."""
    chosen = [first]
    state = State(keys, len(content), chosen)
    while len(chosen) < max_rules:
        gains = _gains(keys, content, noise, state) - _f1(content, noise, state) - _costs(keys)
        best = int(np.argmax(gains))
        if gains.flat[best] < min_gain:
            break
        choice = (best % len(keys.keys), best < len(keys.keys))
        state.add(*choice)
        chosen.append(choice)
    return _needed(keys, chosen, content, noise)


def _gains(keys: Keys, content: Numbers, noise: Numbers, state: State) -> Numbers:
    """Return the F1 with each key as one more rule: that keeps, in the first row, or drops."""
    place, present = keys.place, state.depth[keys.place]
    wins = (keys.depth > present) | (
        (keys.depth == present) & (keys.rank[keys.key] >= state.rank[place])
    )
    right, wrong = content[state.keeps].sum(), noise[state.keeps].sum()
    rows = []
    for sign, changes in ((1, wins & ~state.keeps[place]), (-1, wins & state.keeps[place])):
        hits, misses = (
            sum_ + sign * np.add.reduceat(np.where(changes, of[place], 0.0), keys.starts[:-1])
            for sum_, of in ((right, content), (wrong, noise))
        )
        rows.append(2 * hits / np.maximum(hits + misses + content.sum(), 1e-9))
    return np.array(rows)


def _f1(content: Numbers, noise: Numbers, state: State) -> float:
    right, wrong = content[state.keeps].sum(), noise[state.keeps].sum()
    return float(2 * right / max(right + wrong + content.sum(), 1e-9))


def _needed(keys: Keys, chosen: list[Choice], content: Numbers, noise: Numbers) -> list[Choice]:
    """Return the rules without those that can be left out at no cost."""
    present = _f1(content, noise, State(keys, len(content), chosen))
    for choice in list(chosen):
        rest = [other for other in chosen if other is not choice]
        score = _f1(content, noise, State(keys, len(content), rest))
        if rest and score >= present:
            chosen, present = rest, score
    return chosen
