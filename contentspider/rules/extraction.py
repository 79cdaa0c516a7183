"""Extraction rules: a site's model as a few tags with an id or class to keep or to drop."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from contentspider.ground.errors import NotEnoughTextError
from contentspider.rules.standalone import DROP, KEEP, Element, Rule, Rules
from contentspider.site.models.places import Keys, State, places_of, places_of_summary
from contentspider.site.models.rule_search import MAX_PAGES, learn, sampled

if TYPE_CHECKING:
    from collections.abc import Iterable

    from contentspider.page.input.page import Page
    from contentspider.site.models.model import SiteModel
    from contentspider.site.models.places import Choice, Ints, Key, Numbers, Places

MAX_RULES = 15
# Other pages than those that rules are learned from, to measure the agreement.
MAX_OTHERS = 40
# What a rule of tag, id and class must add to the F1 of the kept text at least;
MIN_GAIN = 0.002
# and where rules may name the parent or the place.
MIN_PARTICULAR_GAIN = 0.001
# How much better rules with parents or places must be on other pages.
BETTER = 0.002
# With fewer pages nothing is measured; with few each is left out in turn, else a half.
MIN_PAGES = 4
FEW_PAGES = 10


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
        rules.append(_rule(keys.keys[key], keeps, pages, chars))
    nested = _nested(keys, chosen, state, np.unique(places.place))
    return Rules(rules, model.site, model.version, places.pages, agreement, nested)


def _rule(key: Key, keeps: bool, pages: int, chars: int) -> Rule:
    element, parent, at = key
    above = Element(*parent) if parent else None
    return Rule(KEEP if keeps else DROP, Element(*element), above, at, pages, chars)


def _nested(keys: Keys, chosen: list[Choice], state: State, present: Ints) -> list[tuple[int, int]]:
    """Return pairs of a rule that keeps and one that would drop, at the places *present*."""
    found = set()
    for number, (key, keeps) in enumerate(chosen):
        if not keeps:
            where = np.intersect1d(keys.matches(key)[0], present)
            decide = set(state.rule[where[state.keeps[where]]].tolist())
            found |= {(rule, number) for rule in decide}
    return sorted(found)
