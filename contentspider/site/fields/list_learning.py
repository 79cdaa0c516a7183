"""Learns where a site shows sections and keywords, from pages with them in their metadata."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from contentspider.site.fields.name_lists import (
    BREADCRUMBS,
    ListReader,
    first_runs,
    list_places,
    names_key,
    names_of,
)
from contentspider.site.fields.places import MAX_CHARS, path_ends
from contentspider.site.fields.precision import (
    MAX_EXAMPLES,
    MAX_PLACES,
    frequent_places,
    precise_places,
)
from contentspider.site.fields.site_fields import KEYWORDS, SECTION, FieldKnowledge
from contentspider.site.title import page_title

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from contentspider.page.input.page import Page
    from contentspider.page.tree.blocks import Block
    from contentspider.site.fields.places import Place

    EndsOf = Callable[[str], list[str]]

# Pages must state this many different lists. If all of them state one list, any part of the
# template may show it.
MIN_VALUES = 3
MIN_SHOWN = 2  # different lists that a place must show
MAX_SIGNS = 10  # names of a page that are searched in its blocks
FORMS = {SECTION: ("", BREADCRUMBS), KEYWORDS: ("",)}


class Example(NamedTuple):
    """A page with its title, and the *names* that it states for a field, for comparison."""

    page: Page
    title: str
    names: tuple[str, ...]

    def agrees(self, name: str, shown: tuple[str, ...]) -> bool:
        """Tell whether the names that the page shows in a place are right for the field *name*. A
        section must be the same. A place may show a part of the keywords.
        """
        keys = names_key(shown)
        return keys == self.names if name == SECTION else set(keys) <= set(self.names)


def learn_lists(pages: Sequence[Page], slot_of: Callable[[str], str]) -> dict[str, FieldKnowledge]:
    """Return the learned knowledge of section and keywords, without fields that no page states.

    *pages* should be in a random order, because every other page is held back as a test.
    """
    ends_of = cache(lambda path: path_ends(slot_of(path)))
    learned = {}
    for name in FORMS:
        stating = [page for page in pages if getattr(page.metadata, name)][:MAX_EXAMPLES]
        if stating:
            examples = [
                Example(page, page_title(page), names_key(getattr(page.metadata, name)))
                for page in stating
            ]
            learned[name] = _learn(name, examples, slot_of, ends_of)
    return learned


def _learn(
    name: str, examples: Sequence[Example], slot_of: Callable[[str], str], ends_of: EndsOf
) -> FieldKnowledge:
    """Return the knowledge of a field that follows from *examples*."""
    if len({example.names for example in examples}) < MIN_VALUES:
        return FieldKnowledge(stated=len(examples))
    candidates = frequent_places(_places_with_names(name, each, ends_of) for each in examples[::2])
    reader = ListReader(candidates, slot_of)
    values = [reader.values(each.page, each.title) for each in examples]
    varied = [
        place
        for place in candidates
        if len({shown[place] for shown in values if place in shown}) >= MIN_SHOWN
    ]
    results = [
        {place: example.agrees(name, names) for place, names in shown.items()}
        for shown, example in zip(values, examples, strict=True)
    ]
    precise = precise_places(varied, results)
    precise.sort(key=lambda learned: (-learned.right / learned.given, -learned.given))
    return FieldKnowledge(tuple(precise[:MAX_PLACES]), len(examples))


def _places_with_names(name: str, example: Example, ends_of: EndsOf) -> list[Place]:
    """Return the places where the page of an example shows names that it states."""
    blocks = example.page.content.blocks
    paths = dict.fromkeys(
        end for block in blocks if _has_name(block.text, example) for end in ends_of(block.path)
    )
    places: list[Place] = []
    for run, run_paths in first_runs(
        blocks, lambda path: [end for end in ends_of(path) if end in paths]
    ):
        ways = _ways_with_names(name, example, run)
        places += [replace(way, path=path) for path in run_paths for way in ways]
    return places


def _ways_with_names(name: str, example: Example, run: Sequence[Block]) -> list[Place]:
    """Return the ways to read names in neighbouring blocks that give names of the example."""
    ways = []
    for way, steps in list_places(run):
        # Most lists do not have the names, and the other steps take much longer.
        if not set(example.names).isdisjoint(names_key(text for text, _ in steps)):
            for form in FORMS[name]:
                names = names_of(steps, form, example.page, example.title)
                if names and example.agrees(name, names):
                    ways.append(replace(way, form=form))
    return ways


def _has_name(text: str, example: Example) -> bool:
    if len(text) > MAX_CHARS:
        return False
    text = text.casefold()
    return any(name in text for name in example.names[:MAX_SIGNS])
