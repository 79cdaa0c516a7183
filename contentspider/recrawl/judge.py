"""Decides how a page changed since the last crawl.

A crawl calls `judge` twice for each visit: when it reads the page, with the counters that earlier
crawls have recorded, and at its end, with everything that its own pages show.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from contentspider.recrawl.changes import (
    AGES,
    ALTERNATING,
    BY_FIELDS,
    BY_MODEL,
    BY_PAGE,
    CHANGED,
    COUNTERS,
    MOVED,
    NEW,
    REFILTERED,
    UNCHANGED,
)
from contentspider.recrawl.counters import are_counters

if TYPE_CHECKING:
    from contentspider.recrawl.template import TemplateLines


@dataclass(frozen=True, slots=True)
class Facts:
    """The difference between a page and its previous version, without knowledge of other pages.

    *difference*: `BY_PAGE` if the page has another text, `BY_MODEL` if only the choice of blocks
    differs, "" if nothing differs. *ratio*: share of the content that differs, 0 to 1.
    *is_new*: the page was not read before. *is_moved*: the previous version had another address.
    *recut* has the keys of the slots whose texts both pages have, but only one of the contents.
    The other fields are only set with `BY_PAGE`. *has_ages*, *numbered*, *slots* and *has_prices*
    are as in `Differences`. *is_caption*: the content is pictures with captions. *lines*: keys of
    the differing lines (`contentspider.recrawl.template`).
    *is_remodelled* is set with any difference and without one: another model has filtered the
    previous version, or the model does not know the template of the page.

    *fields* is set with any difference: the user's own fields whose values differ, each with its
    name, its value before and its value now (None: the page has none).
    """

    difference: str
    ratio: float = 0.0
    is_new: bool = False
    is_moved: bool = False
    has_ages: bool = False
    numbered: tuple[str, ...] = ()
    slots: tuple[str, ...] = ()
    has_prices: bool = False
    recut: tuple[str, ...] = ()
    is_caption: bool = False
    lines: tuple[str, ...] = ()
    fields: tuple[tuple[str, Any, Any], ...] = ()
    is_remodelled: bool = False


@dataclass(frozen=True, slots=True)
class Knowledge:
    """Results from other pages of a site that explain the difference of a page.

    *counters*: places of counters. *template*: lines of the template that changed on many pages.
    *alternating*: keys of slots whose texts alternate.
    """

    counters: Collection[str] = ()
    template: TemplateLines | None = None
    alternating: Collection[str] = ()


NO_KNOWLEDGE = Knowledge()
NEW_PAGE = Facts(BY_PAGE, 1.0, is_new=True)


@dataclass(frozen=True, slots=True)
class Change:
    """How a page changed, and the cause (see `contentspider.recrawl.changes`). *ratio* is the share
    of the content that differs. *ignored* names the differences that do not count as a change.
    """

    change: str
    cause: str
    ratio: float
    ignored: str = ""


def judge(facts: Facts, knowledge: Knowledge = NO_KNOWLEDGE) -> Change:
    """Return how a page changed.

    A page whose content is the same is changed if an own field has another value.

    >>> judge(Facts("page", 0.2, numbered=("p",)), Knowledge(counters={"p"}))
    Change(change='unchanged', cause='', ratio=0.0, ignored='counters')
    """
    cause = _cause(facts, knowledge)
    ratio = facts.ratio if cause else 0.0
    if facts.is_moved:
        return Change(MOVED, cause, ratio)
    if facts.is_new:
        return Change(NEW, cause, ratio)
    if cause == BY_MODEL:
        return Change(REFILTERED, cause, ratio)
    if cause:
        return Change(CHANGED, cause, ratio)
    return Change(UNCHANGED, cause, ratio, ", ".join(_ignored(facts, knowledge)))


def _cause(facts: Facts, knowledge: Knowledge) -> str:
    cause = _content_cause(facts, knowledge)
    return BY_FIELDS if facts.fields and cause != BY_PAGE else cause


def _content_cause(facts: Facts, knowledge: Knowledge) -> str:
    if facts.difference == BY_MODEL and facts.recut:
        return BY_MODEL if _is_cut(facts, knowledge) else ""
    if facts.difference != BY_PAGE:
        return facts.difference
    if _ignored(facts, knowledge):
        return BY_MODEL if _is_cut(facts, knowledge) else ""
    if facts.is_moved or knowledge.template is None:
        return BY_PAGE
    is_template = knowledge.template.are_all(facts.lines, facts.is_remodelled)
    return BY_MODEL if is_template else BY_PAGE


def _is_cut(facts: Facts, knowledge: Knowledge) -> bool:
    """Tell whether another choice of blocks counts. A model chooses others of some texts that
    alternate.
    """
    is_alternating = set(facts.recut).issubset(knowledge.alternating)
    return bool(facts.recut) and (facts.is_remodelled or not is_alternating)


def _ignored(facts: Facts, knowledge: Knowledge) -> list[str]:
    """Return the names of all differences of a page, if none of them matters to its readers."""
    is_counted = facts.is_caption or are_counters(facts.numbered, knowledge.counters)
    is_alternating = set(facts.slots).issubset(knowledge.alternating) and not facts.has_prices
    if not is_counted or not is_alternating:
        return []
    found = {
        AGES: facts.has_ages,
        COUNTERS: facts.numbered,
        ALTERNATING: facts.slots or facts.recut,
    }
    return [name for name, has in found.items() if has]
