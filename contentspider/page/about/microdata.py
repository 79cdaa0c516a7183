"""Reads the microdata of a page as objects in the form of JSON-LD."""

from __future__ import annotations

from typing import TYPE_CHECKING

from contentspider.page.words.tidy import tidy

if TYPE_CHECKING:
    from lxml.etree import _Element

MAX_ITEMS = 100  # of a page
MAX_PROPERTIES = 500  # of an item
MAX_NAMES = 10  # of a property
MAX_DEPTH = 6
MAX_CHARS = 5_000  # of a value
# The attributes with the values of elements; other elements have their text as value.
ADDRESSES = dict.fromkeys(("img", "audio", "video", "source", "embed", "iframe", "track"), "src")
ATTRIBUTES = ADDRESSES | {"object": "data", "data": "value", "meter": "value", "time": "datetime"}


def read_microdata(root: _Element) -> list[dict[str, object]]:
    """Return the top-level items of a page in document order, with the items inside them.

    An item is an object with ``@type`` and its properties. A property with several values is a
    list. ``itemref`` is ignored.
    """
    items: list[dict[str, object]] = []
    for element in root.iterfind(".//*[@itemscope]"):
        if element.get("itemprop") is None and len(items) < MAX_ITEMS:
            items.append(_read_item(element, 0))
    return items


def _read_item(scope: _Element, depth: int) -> dict[str, object]:
    item: dict[str, object] = {"@type": (scope.get("itemtype") or "").split()}
    # The next element is at the end.
    pending = list(reversed(scope))
    count = 0
    while pending and count < MAX_PROPERTIES:
        element = pending.pop()
        names = (element.get("itemprop") or "").split()[:MAX_NAMES]
        is_item = element.get("itemscope") is not None
        if names and depth < MAX_DEPTH:
            count += 1
            value = _read_item(element, depth + 1) if is_item else _value(element)
            for name in names:
                _add(item, name, value)
        if not is_item:
            pending += reversed(element)
    return item


def _add(item: dict[str, object], name: str, value: object) -> None:
    """Add a value to a property of an item."""
    values = item.get(name)
    if isinstance(values, list):
        values.append(value)
    else:
        item[name] = [value] if values is None else [values, value]


def _value(element: _Element) -> str:
    """Return the value of an element. A link with a text has this text as value, because names are
    often links.
    """
    attribute = ATTRIBUTES.get(str(element.tag), "content")
    stated = element.get("content") or element.get(attribute)
    if stated:
        return tidy(stated, MAX_CHARS)
    texts: list[str] = []
    chars = 0
    for text in element.itertext():
        texts.append(str(text))
        chars += len(text)
        if chars > 2 * MAX_CHARS:
            break
    return tidy("".join(texts), MAX_CHARS) or tidy(element.get("href") or "", MAX_CHARS)
