"""Reads the facts that a page states of its subject: a product, an event, a recipe or a place."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from contentspider.page.about.jsonld import (
    MAX_VALUES,
    follow,
    has_title,
    kinds,
    strings_of,
    title_key,
)
from contentspider.page.about.microdata import read_microdata
from contentspider.page.about.thing_facts import FACTS, PLACE_PROPERTIES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lxml.etree import _Element

    from contentspider.page.about.metadata import Statements

    Entry = dict[str, object]

PRODUCT, EVENT, RECIPE, PLACE = THINGS = ("product", "event", "recipe", "place")
# Types of events that do not end in "Event".
EVENTS = frozenset(("Festival", "Hackathon", "CourseInstance"))
# Types of objects that may have an address or a telephone but are not places.
NO_PLACES = frozenset(("Person", "JobPosting", "Offer", "Product", "Recipe"))


class StatedThings:
    """The things that a page states in JSON-LD or microdata; they are read at first access.

    *root* is the page's tree, and *statements* has its JSON-LD.
    """

    def __init__(self, root: _Element, statements: Statements) -> None:
        self._root, self._statements = root, statements
        self._things: dict[str, list[Entry]] = {}

    def texts(self, kind: str, fact: str) -> list[str]:
        """Return the values of a fact of the page's subject, if it is a thing of this kind (one of
        `THINGS`). `FACTS` has the names of the facts. JSON-LD comes before microdata.
        """
        if kind not in self._things:
            self._things[kind] = [
                *self._subject(self._statements.entries[:MAX_VALUES], kind),
                *self._subject(self._microdata, kind),
            ]
        values = (FACTS[kind][fact](thing, self._follow) for thing in self._things[kind])
        return next(filter(None, values), [])

    def _subject(self, entries: Sequence[Entry], kind: str) -> list[Entry]:
        """Return the objects of a kind that are the page's subject.

        Several objects are the subject if they have the page's title, or if all of them have the
        same name: plug-ins state one subject several times.
        """
        things = [entry for entry in entries if _is_thing(entry, kind)]
        if len(things) < 2:
            return things
        titled = [entry for entry in things if has_title(entry, self._title_keys)]
        names = {title_key("".join(strings_of(entry.get("name"))[:1])) for entry in things}
        return titled or (things if len(names) == 1 and "" not in names else [])

    def _follow(self, value: object) -> object:
        return follow(value, self._linked)

    @cached_property
    def _microdata(self) -> Sequence[Entry]:
        return read_microdata(self._root)

    @cached_property
    def _linked(self) -> dict[str, Entry]:
        entries = self._statements.entries[:MAX_VALUES]
        return {str(entry["@id"]): entry for entry in entries if "@id" in entry}

    @cached_property
    def _title_keys(self) -> list[str]:
        titles = (self._statements.title, *self._statements.meta.get("og:title", ()))
        return [key for key in map(title_key, titles) if key]


def _is_thing(entry: Entry, kind: str) -> bool:
    """Tell whether an object is of a kind of things. A place is any object with an address, a
    telephone, opening hours or coordinates, because schema.org has hundreds of types of places.
    """
    types = kinds(entry)
    is_event = any(name.endswith("Event") or name in EVENTS for name in types)
    if kind == EVENT:
        return is_event
    if kind == PLACE:
        has_facts = not PLACE_PROPERTIES.isdisjoint(entry)
        return has_facts and not is_event and NO_PLACES.isdisjoint(types)
    return kind.capitalize() in types
