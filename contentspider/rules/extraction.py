"""Learns a few keep and drop rules from a site's model, for tools that cannot run the model."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from contentspider.ground.counts import counted
from contentspider.ground.errors import NotEnoughTextError
from contentspider.rules.standalone import DROP, KEEP, Element, Rule, Rules
from contentspider.site.models.places import Decisions, Keys, places_of, places_of_summary
from contentspider.site.models.rule_search import MAX_PAGES, learn, sampled

if TYPE_CHECKING:
    from collections.abc import Iterable

    from contentspider.page.input.page import Page
    from contentspider.site.models.model import SiteModel
    from contentspider.site.models.places import Choice, Ints, Key, Numbers, Places

MAX_RULES = 15
# The number of further pages that the agreement is measured on.
MAX_TEST_PAGES = 40
# A rule is added if it raises the F1 of the kept text by this much.
MIN_GAIN = 0.002
# The same, if the rules may also name a parent or a position.
MIN_PARTICULAR_GAIN = 0.001
# Such rules are used if their agreement with the model is better by this much on other pages.
BETTER = 0.002
# With fewer pages the agreement is not measured.
MIN_PAGES = 4
# With at most this number of pages, each page is left out in turn to measure the agreement. With
# more pages, half of them are left out.
FEW_PAGES = 10


def learn_rules(model: SiteModel, pages: Iterable[Page], max_rules: int = MAX_RULES) -> Rules:
    """Return at most *max_rules* rules that keep the same text of *pages* as the model.

    The rules are learned from at most `MAX_PAGES` pages. `Rules.agreement` is measured on further
    pages if *pages* has more, or else by cross-validation; None with fewer than `MIN_PAGES` pages.
    Raises `NotEnoughTextError` if the model keeps no text of the pages.

    >>> from contentspider import Page, SiteLearner
    >>> html = "<title>Tea</title><nav><a href=/>Home</a></nav><p>Tea is made of leaves and water. "
    >>> page = Page.from_html(html * 3, "/tea")
    >>> print(*learn_rules(SiteLearner("example.org").fit([page]), [page]).rules)
    keep p
    """
    sample = sampled(pages, MAX_PAGES + MAX_TEST_PAGES)
    if not sample:
        raise NotEnoughTextError(
            f"{model.site or 'the site'}: no page has any text", code="no-text"
        )
    places = places_of(model, sample)
    numbers = np.arange(len(sample))
    training = places.of_pages(numbers < MAX_PAGES)
    # The simple rules name tags, ids and classes; the particular rules also parents and places.
    keys, min_gain = Keys(places.places, False), MIN_GAIN
    agreement = None
    if training.pages >= MIN_PAGES:
        agreement = _cross_validate(keys, training, min_gain, max_rules)
        particular_keys = Keys(places.places, True)
        particular_agreement = _cross_validate(
            particular_keys, training, MIN_PARTICULAR_GAIN, max_rules
        )
        if particular_agreement >= agreement + BETTER:
            keys, min_gain, agreement = particular_keys, MIN_PARTICULAR_GAIN, particular_agreement
    choices = learn(keys, training, min_gain, max_rules)
    if len(sample) > MAX_PAGES:
        test = places.of_pages(numbers >= MAX_PAGES)
        agreement = float(agreements(keys, choices, test).mean())
    return _rules_of_choices(model, keys, choices, training, agreement)


def _cross_validate(keys: Keys, places: Places, min_gain: float, max_rules: int) -> float:
    """Return the mean agreement of rules with the model on pages that they are not learned from."""
    folds = places.pages if places.pages <= FEW_PAGES else 2
    fold = np.arange(places.pages) % folds
    results = [
        agreements(
            keys,
            learn(keys, places.of_pages(fold != number), min_gain, max_rules),
            places.of_pages(fold == number),
        )
        for number in range(folds)
    ]
    return float(np.concatenate(results).mean())


def rules_of_manifest(model: SiteModel, max_rules: int = MAX_RULES) -> Rules:
    """Return rules as `learn_rules` does, but from the summary in the model's manifest.

    The rules lack page counts, and their agreement is not measured.
    """
    places = places_of_summary(model)
    keys = Keys(places.places, False)
    choices = learn(keys, places, MIN_GAIN, max_rules)
    rules = _rules_of_choices(model, keys, choices, places, None)
    uncounted = [replace(rule, pages=0, chars=0) for rule in rules.rules]
    return Rules(uncounted, rules.site, rules.model, model.pages, None)


def agreements(keys: Keys, choices: list[Choice], places: Places) -> Numbers:
    """Return for each page the F1 of the words that the rules keep against the model's words."""
    kept_by_rules = Decisions(keys, len(places.places), choices).keeps[places.place]
    both, by_rules, by_model = (
        np.bincount(places.page, places.words * mask, minlength=places.pages)
        for mask in (kept_by_rules & places.kept, kept_by_rules, places.kept)
    )
    sums = by_rules + by_model
    return np.where(sums > 0, 2 * both / np.maximum(sums, 1), 1.0)


def _rules_of_choices(
    model: SiteModel, keys: Keys, choices: list[Choice], places: Places, agreement: float | None
) -> Rules:
    """Return the rules of *choices*, with the pages and characters that each matches in *places*.

    Raises `NotEnoughTextError` without a choice.
    """
    if not choices:
        raise NotEnoughTextError(
            f"{model.site or 'the site'}: on {counted(places.pages, 'pages')} the text that the"
            " model keeps differs from the other text in no tag, id or class"
        )
    state = Decisions(keys, len(places.places), choices)
    deciding_rule = state.rule[places.place]
    rules = []
    for number, (key, keeps) in enumerate(choices):
        decided = deciding_rule == number
        pages = len(np.unique(places.page[decided]))
        chars = int(places.chars[decided].sum())
        rules.append(_rule(keys.keys[key], keeps, pages, chars))
    nested = _nested(keys, choices, state, np.unique(places.place))
    return Rules(rules, model.site, model.version, places.pages, agreement, nested)


def _rule(key: Key, keeps: bool, pages: int, chars: int) -> Rule:
    """Return the rule that keeps or drops the elements of *key*."""
    element, parent, place = key
    parent_element = Element(*parent) if parent else None
    return Rule(KEEP if keeps else DROP, Element(*element), parent_element, place, pages, chars)


def _nested(
    keys: Keys, choices: list[Choice], state: Decisions, present: Ints
) -> list[tuple[int, int]]:
    """Return pairs of a rule that keeps text and a rule that would drop this text, if the first
    rule were missing. *present* are the numbers of the places that the pages have.
    """
    pairs = set()
    for number, (key, keeps) in enumerate(choices):
        if not keeps:
            matching = np.intersect1d(keys.matches(key)[0], present)
            deciding_rules = set(state.rule[matching[state.keeps[matching]]].tolist())
            pairs |= {(rule, number) for rule in deciding_rules}
    return sorted(pairs)
