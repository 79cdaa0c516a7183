"""A user's own fields in search indexes: their values by type.

Every engine stores the values of a document under `OWN`, by type and by the name of the field:
``{"number": {"price": [12.9]}, "text": {"brand": ["Acme"]}, "order": {"price": 12.9}}``. So a new
field, or a field that gets another type, needs no change of an index.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

OWN = "own"
TYPES = TEXT, NUMBER, DATE = "text", "number", "date"
# The first number or date of each field. Documents are sorted by these.
ORDER = "order"
DAY = re.compile(r"\d{4}-\d\d-\d\d")
TIME = re.compile(rf"{DAY.pattern}T[\d:.]+(?:Z|[+-]\d\d:?\d\d)?")
MAX_SHOWN_CHARS, MAX_SHOWN_ENTRIES = 60, 4  # of a value in a list of results


def fields_line(fields: Mapping[str, Any]) -> str:
    """Return own fields as a line for people: "price 12.9 · brand Acme".

    >>> fields_line({"price": 12.0, "sizes": [1.0, 2.5, 3.0, 4.0, 5.0, 6.0]})
    'price 12 · sizes 1, 2.5, 3, 4, and 2 more'
    """
    return " · ".join(f"{name} {_entries(value)}" for name, value in fields.items())


def _entries(value: object) -> str:
    entries = value if isinstance(value, list) else [value]
    texts = list(map(_short, entries[:MAX_SHOWN_ENTRIES]))
    if len(entries) > len(texts):
        texts.append(f"and {len(entries) - len(texts)} more")
    return ", ".join(texts)


def _short(value: object) -> str:
    text = f"{value:.15g}" if isinstance(value, float) else " ".join(str(value).split())
    return text if len(text) <= MAX_SHOWN_CHARS else text[:MAX_SHOWN_CHARS] + "…"


def typed_values(fields: Any) -> dict[str, dict[str, Any]]:
    """Return the values of own fields by type and name, and under `ORDER` the first number or date
    of each field. *fields* is the field ``fields`` of an item.

    Values of other types, and fields whose names are not identifiers, are left out.

    >>> typed_values({"price": [12.9, 8.0], "day": "2026-02-08", "brand": "Acme"})["order"]
    {'price': 12.9, 'day': 1770508800}
    """
    typed: dict[str, dict[str, Any]] = {}
    if not isinstance(fields, Mapping):
        return typed
    for name, entries in fields.items():
        for entry in entries if isinstance(entries, list) else [entries]:
            kind, value = _typed(entry)
            if kind and str(name).isidentifier():
                typed.setdefault(kind, {}).setdefault(name, []).append(value)
                if kind != TEXT:
                    typed.setdefault(ORDER, {}).setdefault(name, value)
    return typed


def with_sortable_integers(typed: Mapping[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the values of `typed_values` for engines that sort by integers only: the numbers under
    `ORDER` are replaced by integers of 64 bits with the same order.
    """
    order = typed.get(ORDER, {})
    integers = {name: _sortable_integer(value) for name, value in order.items()}
    return {**typed, ORDER: integers} if order else dict(typed)


def _sortable_integer(value: float) -> int:
    """Return the integer with the bits of a number. Of negative numbers all bits but the sign are
    turned, so that the integers have the order of the numbers.
    """
    (bits,) = struct.unpack(">q", struct.pack(">d", value))
    return int(bits) if bits >= 0 else int(bits) ^ 0x7FFF_FFFF_FFFF_FFFF


def types_of(items: Iterable[Mapping[str, Any]]) -> dict[str, set[str]]:
    """Return the types of the own fields of items, by name."""
    types: dict[str, set[str]] = {}
    for item in items:
        for kind, values in typed_values(item.get("fields")).items():
            for name in values if kind != ORDER else ():
                types.setdefault(name, set()).add(kind)
    return types


def has_new_type(before: Iterable[str], now: Iterable[str]) -> bool:
    """Tell whether a field that had values of the types *before* has numbers *now* and had none, or
    texts and had none. Texts and dates count as the same type.
    """
    return bool({kind == NUMBER for kind in now} - {kind == NUMBER for kind in before})


def _typed(value: object) -> tuple[str, str | float]:
    """Return the type of a value, and the value in that type; "" for no type."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        try:
            number = value + 0.0  # 0.0 for -0.0
        except OverflowError:  # an integer with more than 308 digits
            number = math.inf
        return (NUMBER, number) if math.isfinite(number) else ("", 0.0)
    if not isinstance(value, str):
        return "", 0.0
    seconds = seconds_of(value)
    if seconds is not None:
        return DATE, seconds[0]
    return TEXT, storable(value)


def storable(text: str) -> str:
    """Return a text that all engines store: without lone surrogates and NUL."""
    return text.encode("utf-8", "replace").decode().replace("\0", "\ufffd")


def seconds_of(text: str) -> tuple[int, int] | None:
    """Return the first and the last second of a day, or the second of a time twice, since 1970;
    None if the text is neither. A time without an offset, and a day, are in UTC.
    """
    is_day = bool(DAY.fullmatch(text))
    if not is_day and not TIME.fullmatch(text):
        return None
    try:
        date = datetime.fromisoformat(text.replace("Z", "+00:00"))
        zoned = date if date.tzinfo else date.replace(tzinfo=timezone.utc)
        first = math.floor((zoned.astimezone(timezone.utc) - EPOCH).total_seconds())
    except (ValueError, OverflowError):
        return None
    return first, first + (int(timedelta(days=1).total_seconds()) - 1 if is_day else 0)


EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
