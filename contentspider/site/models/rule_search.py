"""A greedy search for the few extraction rules that agree best with a site model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from contentspider.site.models.places import Decisions
from contentspider.site.sample import sample_order

if TYPE_CHECKING:
    from collections.abc import Iterable

    from contentspider.page.input.page import Page
    from contentspider.site.models.places import Choice, Keys, Numbers, Places

# Rules are learned from this many pages; more pages do not improve them.
MAX_PAGES = 80
# A rule that names the parent or the position must raise the F1 of the kept text by this much more
# than other rules.
PARTICULAR_COST = 0.0005
# The search is repeated with this many first rules, since the first rule decides which ones follow.
MAX_FIRST_RULES = 8
# The weights of a page are divided by its kept text, but at least by this share of the median.
MIN_PAGE_SHARE = 0.1


def sampled(pages: Iterable[Page], max_pages: int = MAX_PAGES) -> list[Page]:
    """Return a sample of up to *max_pages* of the pages with text."""
    with_text = [page for page in pages if page.content.blocks]
    return sorted(with_text, key=lambda page: sample_order(page.url))[:max_pages]


def learn(
    keys: Keys,
    places: Places,
    min_gain: float,
    max_rules: int,
    weights: Numbers | None = None,
) -> list[Choice]:
    """Return the rules that agree best with the model's decisions, at most *max_rules*.

    Each rule is the one that adds most to the F1 after the rules before it; it must add at least
    *min_gain*. The search starts with several first rules, and returns the best result. *weights*
    has a weight for each block (None: the square root of its length, with the same total for every
    page).
    """
    weights = _weights(places) if weights is None else weights
    count = len(places.places)
    content: Numbers = np.bincount(places.place, weights * places.kept, minlength=count)
    noise: Numbers = np.bincount(places.place, weights * ~places.kept, minlength=count)
    best: list[Choice] = []
    best_score = -np.inf
    for first in _first_rules(keys, content, noise):
        chosen = _extended(keys, first, content, noise, min_gain, max_rules)
        score = _f1(content, noise, Decisions(keys, count, chosen)) - min_gain * len(chosen)
        if score > best_score + 1e-6:
            best, best_score = chosen, score
    return best


def _weights(places: Places) -> Numbers:
    weights = np.sqrt(places.chars) * places.counts
    kept_weights = np.bincount(places.page, weights * places.kept, minlength=places.pages)
    if not kept_weights.any():
        return weights
    # A page with hardly any kept text counts less than other pages.
    divisor = np.maximum(kept_weights, MIN_PAGE_SHARE * np.median(kept_weights[kept_weights > 0]))
    return np.asarray(weights / divisor[places.page])


def _costs(keys: Keys) -> Numbers:
    # If two keys add the same, a key with a name is preferred: it will fit other pages better than
    # a tag.
    return np.asarray(PARTICULAR_COST * keys.particular - 1e-9 * keys.named)


def _first_rules(keys: Keys, content: Numbers, noise: Numbers) -> list[Choice]:
    """Return the best first rules; of rules with the same F1 only one."""
    gains = _gains(keys, content, noise, Decisions(keys, len(content)))[0] - _costs(keys)
    by_gain: dict[float, Choice] = {}
    for key in np.argsort(-gains, kind="stable").tolist():
        if gains[key] <= 0 or len(by_gain) == MAX_FIRST_RULES:
            break
        by_gain.setdefault(round(float(gains[key]), 6), (key, True))
    return list(by_gain.values())


def _extended(
    keys: Keys, first: Choice, content: Numbers, noise: Numbers, min_gain: float, max_rules: int
) -> list[Choice]:
    """Return *first* and the best rules after it, without rules that are not needed."""
    chosen = [first]
    state = Decisions(keys, len(content), chosen)
    while len(chosen) < max_rules:
        gains = _gains(keys, content, noise, state) - _f1(content, noise, state) - _costs(keys)
        best = int(np.argmax(gains))
        if gains.flat[best] < min_gain:
            break
        choice = (best % len(keys.keys), best < len(keys.keys))
        state.add(*choice)
        chosen.append(choice)
    return _needed(keys, chosen, content, noise)


def _gains(keys: Keys, content: Numbers, noise: Numbers, state: Decisions) -> Numbers:
    """Return the F1 that one more rule would lead to, for each key.

    The first row is for rules that keep the blocks of the key, the second for rules that drop them.
    """
    place, present = keys.place, state.depth[keys.place]
    wins = (keys.depth > present) | (
        (keys.depth == present) & (keys.rank[keys.key] >= state.rank[place])
    )
    right, wrong = content[state.keeps].sum(), noise[state.keeps].sum()
    rows = []
    for sign, changes in ((1, wins & ~state.keeps[place]), (-1, wins & state.keeps[place])):
        content_change, noise_change = (
            np.add.reduceat(np.where(changes, weights[place], 0.0), keys.starts[:-1])
            for weights in (content, noise)
        )
        kept_content, kept_noise = right + sign * content_change, wrong + sign * noise_change
        kept_weights = kept_content + kept_noise
        rows.append(2 * kept_content / np.maximum(kept_weights + content.sum(), 1e-9))
    return np.array(rows)


def _f1(content: Numbers, noise: Numbers, state: Decisions) -> float:
    right, wrong = content[state.keeps].sum(), noise[state.keeps].sum()
    return float(2 * right / max(right + wrong + content.sum(), 1e-9))


def _needed(keys: Keys, chosen: list[Choice], content: Numbers, noise: Numbers) -> list[Choice]:
    """Return the rules without rules whose removal does not lower the F1."""
    best_score = _f1(content, noise, Decisions(keys, len(content), chosen))
    for choice in list(chosen):
        remaining = [other for other in chosen if other is not choice]
        score = _f1(content, noise, Decisions(keys, len(content), remaining))
        if remaining and score >= best_score:
            chosen, best_score = remaining, score
    return chosen
