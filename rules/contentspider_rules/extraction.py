"""Extraction rules: a site's model as a few tags with an id or class to keep or to drop."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from contentspider.ground.errors import NotEnoughTextError
from contentspider.site.sample import sample_order
from contentspider_rules.places import Keys, State, places_of, places_of_summary
from contentspider_rules.standalone import DROP, KEEP, Rule, Rules

if TYPE_CHECKING:
    from collections.abc import Iterable

    from contentspider.page.input.page import Page
    from contentspider.site.models.model import SiteModel
    from contentspider_rules.places import Choice, Ints, Numbers, Places

MAX_RULES = 15
# Pages to learn from: more show nothing new of a template; and others to measure the agreement.
MAX_PAGES = 80
MAX_OTHERS = 40
# What a rule of tag, id and class must add to the F1 of the kept text at least;
MIN_GAIN = 0.002
# and where rules may name the parent or the place. One that does must add this much more.
MIN_PARTICULAR_GAIN = 0.001
PARTICULAR_COST = 0.0005
# How much better rules with parents or places must be on other pages.
BETTER = 0.002
# With fewer pages nothing is measured; with few each is left out in turn, else a half.
MIN_PAGES = 4
FEW_PAGES = 10
# First rules that are tried: they decide which others follow.
BEGINNINGS = 8
# What is kept of a page counts as this share of the median at least.
LEAST_PAGE = 0.1


def sampled(pages: Iterable[Page], most: int = MAX_PAGES) -> list[Page]:
    """Return a sample of *most* of the pages that have text."""
    return sorted(
        (page for page in pages if page.content.blocks), key=lambda page: sample_order(page.url)
    )[:most]


def learn_rules(model: SiteModel, pages: Iterable[Page], max_rules: int = MAX_RULES) -> Rules:
    """Return at most *max_rules* rules that keep of *pages* what the model does.

    They are learned from `MAX_PAGES` pages at most. `Rules.agreement` is measured on other pages
    if there are some, else by cross-validation (None: there are fewer than `MIN_PAGES`). Raises
    `NotEnoughTextError` if the model keeps nothing of the pages.

    >>> from contentspider import Page, SiteLearner
    >>> html = "<title>Tea</title><nav><a href=/>Home</a></nav><p>Tea is made of leaves and water. "
    >>> page = Page.from_html(html * 3, "/tea")
    >>> print(*learn_rules(SiteLearner("example.org").fit([page]), [page]).rules)
    keep p
    """
    given = sampled(pages, MAX_PAGES + MAX_OTHERS)
    if not given:
        raise NotEnoughTextError(f"{model.site or 'the site'}: no page has any text")
    places = places_of(model, given)
    numbers = np.arange(len(given))
    own = places.of_pages(numbers < MAX_PAGES)
    languages = [(Keys(places.places, False), MIN_GAIN)]
    agreement = None
    if own.pages >= MIN_PAGES:
        languages.append((Keys(places.places, True), MIN_PARTICULAR_GAIN))
        plain, particular = (_left_out(keys, own, least, max_rules) for keys, least in languages)
        if particular < plain + BETTER:
            del languages[1]
        agreement = max(plain, particular) if len(languages) > 1 else plain
    keys, least = languages[-1]
    chosen = learn(keys, own, least, max_rules)
    if len(given) > MAX_PAGES:
        agreement = float(agreements(keys, chosen, places.of_pages(numbers >= MAX_PAGES)).mean())
    return _written(model, keys, chosen, own, agreement)


def _left_out(keys: Keys, places: Places, min_gain: float, max_rules: int) -> float:
    """Return the cross-validated agreement of rules with the model."""
    folds = places.pages if places.pages <= FEW_PAGES else 2
    fold = np.arange(places.pages) % folds
    found = [
        agreements(
            keys,
            learn(keys, places.of_pages(fold != number), min_gain, max_rules),
            places.of_pages(fold == number),
        )
        for number in range(folds)
    ]
    return float(np.concatenate(found).mean())


def rules_of_manifest(model: SiteModel, max_rules: int = MAX_RULES) -> Rules:
    """Return rules as `learn_rules` does, from the model's manifest in place of pages."""
    places = places_of_summary(model)
    keys = Keys(places.places, False)
    chosen = learn(keys, places, MIN_GAIN, max_rules)
    rules = _written(model, keys, chosen, places, None)
    plain = [replace(rule, pages=0, chars=0) for rule in rules.rules]
    return Rules(plain, rules.site, rules.model, model.pages, None)


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


def agreements(keys: Keys, chosen: list[Choice], places: Places) -> Numbers:
    """Return for each page the F1 of the words that the rules keep against the model's."""
    keeps = State(keys, len(places.places), chosen).keeps[places.place]
    both, ours, its = (
        np.bincount(places.page, places.words * kept, minlength=places.pages)
        for kept in (keeps & places.kept, keeps, places.kept)
    )
    sums = ours + its
    return np.where(sums > 0, 2 * both / np.maximum(sums, 1), 1.0)


def _written(
    model: SiteModel, keys: Keys, chosen: list[Choice], places: Places, agreement: float | None
) -> Rules:
    if not chosen:
        raise NotEnoughTextError(
            f"{model.site or 'the site'}: no tag, id or class tells what the model keeps of"
            f" {places.pages} pages from the rest"
        )
    state = State(keys, len(places.places), chosen)
    rule = state.rule[places.place]
    rules = []
    for number, (key, keeps) in enumerate(chosen):
        of_rule = rule == number
        pages = len(np.unique(places.page[of_rule]))
        chars = int(places.chars[of_rule].sum())
        rules.append(Rule(KEEP if keeps else DROP, *keys.keys[key], pages, chars))
    nested = _nested(keys, chosen, state, np.unique(places.place))
    return Rules(rules, model.site, model.version, places.pages, agreement, nested)


def _nested(keys: Keys, chosen: list[Choice], state: State, present: Ints) -> list[tuple[int, int]]:
    """Return pairs of a rule that keeps and one that would drop, at the places *present*."""
    found = set()
    for number, (key, keeps) in enumerate(chosen):
        if not keeps:
            where = np.intersect1d(keys.matches(key)[0], present)
            decide = set(state.rule[where[state.keeps[where]]].tolist())
            found |= {(rule, number) for rule in decide}
    return sorted(found)
