"""Items as JSON and back. No pickle is used, and no class is imported because a file names it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from dataclasses import fields as dataclass_fields
from dataclasses import is_dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import Any

from contentspider.ground.errors import DAMAGE, ContentSpiderError, StateError


def encode_value(value: Any, is_exact: bool = True) -> object:
    """Return *value* as JSON data; raises TypeError for other types, and for their subclasses.
    Unless the value *is_exact*, subclasses of text, bytes and numbers become these.
    """
    kind = type(value)
    if value is None or kind in (bool, int, float, str):
        return value
    if kind is dict and all(type(key) is str for key in value):
        return {"dict": {key: encode_value(entry, is_exact) for key, entry in value.items()}}
    if kind in COLLECTIONS.values():
        return {kind.__name__: [encode_value(entry, is_exact) for entry in value]}
    if kind in SCALARS:
        name, encode = SCALARS[kind]
        return {name: encode(value)}
    if not is_exact and (plain := _plain_type(value)) is not None:
        return encode_value(plain(value))
    raise TypeError(f"{kind.__name__} cannot be stored as data")


def _plain_type(value: Any) -> Any:
    """Return the type among `PLAIN` that a value is a subclass of, None for other values. lxml's
    texts are such values, and keep their page alive. Members of an enumeration are not: code
    compares them.
    """
    if isinstance(value, Enum):
        return None
    return next((plain for plain in PLAIN if isinstance(value, plain)), None)


PLAIN: tuple[Any, ...] = (str, int, float, bytes)
# Modules of classes that books of older versions name, and where the classes are now.
MOVED_MODULES = {"contentspider.crawl.hold.items": "contentspider.crawl.base.items"}
COLLECTIONS: dict[str, Any] = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}
SCALARS: dict[Any, tuple[str, Callable[[Any], str]]] = {
    datetime: ("datetime", datetime.isoformat),
    date: ("date", date.isoformat),
    Decimal: ("decimal", str),
    bytes: ("bytes", bytes.hex),
}
DECODERS: dict[str, Any] = {
    "datetime": datetime.fromisoformat,
    "date": date.fromisoformat,
    "decimal": Decimal,
    "bytes": bytes.fromhex,
}


def decode_value(value: Any) -> Any:
    """Return the value that `encode_value` encoded."""
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == "dict":
        return {key: decode_value(entry) for key, entry in content.items()}
    if kind in COLLECTIONS:
        return COLLECTIONS[kind](decode_value(entry) for entry in content)
    return DECODERS[kind](content)


def dump_item(item: object) -> str:
    """Return an item's class and fields as JSON; raises TypeError if a field is not plain data."""
    kind = type(item)
    fields = {name: encode_value(value) for name, value in _values(item)}
    # ASCII, since UTF-8 cannot encode half of a surrogate pair.
    return json.dumps([kind.__module__, kind.__qualname__, fields])


def _values(item: Any) -> Iterable[tuple[str, Any]]:
    """Return the names and values of an item's fields."""
    if is_dataclass(item):  # an `ItemAdapter` takes 50 times as long
        names = (each.name for each in dataclass_fields(item))
        return [(name, getattr(item, name)) for name in names if hasattr(item, name)]
    from itemadapter import ItemAdapter  # loads Scrapy, which commands that read items do not need

    return ItemAdapter(item).items()


def load_item(text: str) -> Any:
    """Return the item that `dump_item` wrote. Its class must be loaded: nothing is imported. Raises
    `ContentSpiderError` if the item cannot be restored.
    """
    try:
        return _load_item(*json.loads(text))
    except DAMAGE as error:
        raise StateError(f"an item cannot be read ({error!r})", code="item-damaged") from error


def _load_item(module: str, name: str, fields: dict[str, Any]) -> Any:
    values = {key: decode_value(value) for key, value in fields.items()}
    if (module, name) == ("builtins", "dict"):
        return values
    from itemadapter import ItemAdapter

    kind: Any = sys.modules.get(MOVED_MODULES.get(module, module))
    for part in name.split("."):
        kind = getattr(kind, part, None)
    if not isinstance(kind, type) or not ItemAdapter.is_item_class(kind):
        raise ContentSpiderError(
            f"a held item is of class {module}.{name}, which this process has not loaded; import it"
            " in the spider",
            code="item-class",
        )
    if hasattr(kind, "__dataclass_fields__"):
        fields = kind.__dataclass_fields__
        item = kind(**{key: value for key, value in values.items() if fields[key].init})
        for key, value in values.items():
            if not fields[key].init:
                setattr(item, key, value)
        return item
    return kind(**values)
