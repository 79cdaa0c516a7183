"""Reads the facts that a page states of its subject: a product, an event, a recipe or a place.

Microdata and RDFa Lite are read as objects in the form of JSON-LD.
"""

from __future__ import annotations

from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, cast

from lxml import etree

from contentspider.page.about.jsonld import (
    MAX_VALUES,
    SCHEMA,
    follow,
    has_title,
    kinds,
    strings_of,
    title_key,
)
from contentspider.page.about.stated_texts import LINES
from contentspider.page.about.thing_facts import FACTS, PLACE_PROPERTIES
from contentspider.page.tree.text import clean_text

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
MAX_PROPERTIES = 2_000  # of a page
MAX_NAMES = 10  # of a property
MAX_DEPTH = 6
HIDDEN = ("script", "style")
# The starts and ends of elements that are read for a value, and for all values of a page.
MAX_EVENTS_OF_VALUE, MAX_EVENTS = 2_000, 200_000
MAX_CHARS = 10_000  # of a value
# The attributes with the values of elements; other elements have their text as value.
ADDRESSES = dict.fromkeys(("img", "audio", "video", "source", "embed", "iframe", "track"), "src")
ATTRIBUTES = ADDRESSES | {"object": "data", "data": "value", "meter": "value", "time": "datetime"}


def read_microdata(root: _Element) -> list[dict[str, object]]:
    """Return the top-level items of a page in document order, with the items inside them.

    The main entity of an item is also returned as a top-level item, as in JSON-LD. An item is an
    object with ``@type`` and its properties. A property with several values is a list. At most
    `MAX_PROPERTIES` properties are read, and ``itemref`` is ignored.
    """
    reader = _Reader()
    return [reader.item(scope, 0) for scope in _scopes(root) if _is_top_level(scope)]


def _scopes(root: _Element) -> list[_Element]:
    """Return the elements that are items. Some sites mark the root."""
    found = root.xpath("descendant-or-self::*[@itemscope or @typeof]")
    return cast("list[_Element]", found)


def _is_item(element: _Element) -> bool:
    return element.get("itemscope") is not None or element.get("typeof") is not None


def _is_top_level(element: _Element) -> bool:
    return _is_item(element) and _names(element) in ([], ["mainEntity"])


def _names(element: _Element) -> list[str]:
    """Return the names of the properties whose value an element is, without their vocabulary."""
    names = (element.get("itemprop") or element.get("property") or "").split()
    return [SCHEMA.sub("", name) for name in names[:MAX_NAMES]]


class _Reader:
    """Reads items, and counts the properties and elements that it has read of the page."""

    def __init__(self) -> None:
        self._properties = self._events = 0

    def item(self, scope: _Element, depth: int) -> dict[str, object]:
        """Return the item of an element that is inside *depth* other items."""
        types = scope.get("itemtype") or scope.get("typeof") or ""
        item: dict[str, object] = {"@type": types.split()}
        # The next element is at the end.
        pending = list(reversed(scope))
        while pending and self._properties < MAX_PROPERTIES:
            element = pending.pop()
            names, is_item = _names(element), _is_item(element)
            if names and depth < MAX_DEPTH:
                self._properties += 1
                value = self.item(element, depth + 1) if is_item else self._value(element)
                for name in names:
                    _add(item, name, value)
            if not is_item:
                pending += reversed(element)
        return item

    def _value(self, element: _Element) -> str:
        """Return the value of an element. A link with a text has this text as value, because names
        are often links.
        """
        attribute = ATTRIBUTES.get(str(element.tag), "content")
        stated = element.get("content") or element.get(attribute)
        return stated or self._text(element) or element.get("href") or ""

    def _text(self, element: _Element) -> str:
        """Return the text of an element, with one paragraph per line."""
        texts: list[str] = []
        events = ("start", "end", "comment", "pi")
        limit = min(MAX_EVENTS_OF_VALUE, MAX_EVENTS - self._events)
        for event, child in islice(etree.iterwalk(element, events), limit):
            self._events += 1
            if event in ("start", "end") and child.tag in LINES:
                texts.append("\n")
            if event == "start" and child.tag not in HIDDEN:
                texts.append(child.text or "")
            elif event != "start" and child is not element:
                texts.append(child.tail or "")
        lines = map(clean_text, "".join(texts)[:MAX_CHARS].splitlines())
        return "\n".join(filter(None, lines))


def _add(item: dict[str, object], name: str, value: object) -> None:
    """Add a value to a property of an item."""
    values = item.get(name)
    if isinstance(values, list):
        values.append(value)
    else:
        item[name] = [value] if values is None else [values, value]


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
