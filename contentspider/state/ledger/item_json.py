"""Items as JSON and back: no pickle, and nothing is imported because a file says so."""

from __future__ import annotations

import json
import sys
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from contentspider.ground.errors import DAMAGE, ContentSpiderError, StateError


def encode_value(value: Any) -> object:
    """Return *value* as JSON data; raises TypeError for other types, and subclasses, of data."""
    kind = type(value)
    if value is None or kind in (bool, int, float, str):
        return value
    if kind is dict and all(type(key) is str for key in value):
        return {"dict": {key: encode_value(entry) for key, entry in value.items()}}
    if kind in COLLECTIONS.values():
        return {kind.__name__: [encode_value(entry) for entry in value]}
    if kind in (datetime, date):
        return {kind.__name__: value.isoformat()}
    if kind is Decimal:
        return {"decimal": str(value)}
    if kind is bytes:
        return {"bytes": value.hex()}
    raise TypeError(f"{kind.__name__} cannot be stored as data")


# Modules of classes that ledgers of older versions name, and where the classes are now.
MOVED_MODULES = {"contentspider.crawl.hold.items": "contentspider.crawl.base.items"}
COLLECTIONS: dict[str, Any] = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}
DECODERS: dict[str, Any] = {
    "datetime": datetime.fromisoformat,
    "date": date.fromisoformat,
    "decimal": Decimal,
    "bytes": bytes.fromhex,
}


def decode_value(value: Any) -> Any:
    """Return what `encode_value` was given."""
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == "dict":
        return {key: decode_value(entry) for key, entry in content.items()}
    if kind in COLLECTIONS:
        return COLLECTIONS[kind](decode_value(entry) for entry in content)
    return DECODERS[kind](content)


def dump_item(item: object) -> str:
    """Return an item's class and fields as JSON; raises TypeError if a field is no plain data."""
    from itemadapter import ItemAdapter  # which loads Scrapy: commands that read items need none

    kind = type(item)
    adapter = ItemAdapter(item)
    fields = {name: encode_value(adapter[name]) for name in adapter}
    # ASCII, since a lone surrogate has no UTF-8 form.
    return json.dumps([kind.__module__, kind.__qualname__, fields])


def load_item(text: str) -> Any:
    """Return the item that `dump_item` wrote; its class must be loaded: nothing is imported. Raises
    `ContentSpiderError` if it cannot be made again.
    """
    try:
        return _load_item(*json.loads(text))
    except DAMAGE as error:
        raise StateError(f"an item cannot be read ({error!r})") from error


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
            " in the spider"
        )
    if hasattr(kind, "__dataclass_fields__"):
        fields = kind.__dataclass_fields__
        item = kind(**{key: value for key, value in values.items() if fields[key].init})
        for key, value in values.items():
            if not fields[key].init:
                setattr(item, key, value)
        return item
    return kind(**values)
