"""A user's own fields in search indexes: their values by type, conditions on them, and the order.

Every engine stores the values of a document under `OWN`, by type and by the name of the field:
``{"number": {"price": [12.9]}, "text": {"brand": ["Acme"]}, "order": {"price": 12.9}}``. So a new
field, or a field that gets another type, needs no change of an index.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any, NamedTuple

from contentspider.index.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

OWN = "own"
TYPES = TEXT, NUMBER, DATE = "text", "number", "date"
# The first number or date of each field. Documents are sorted by these.
ORDER = "order"
DESCENDING = ":desc"
OPERATORS = ("<=", ">=", "=", "<", ">")
COMPARISON = re.compile(rf"\s*(\w+)\s*({'|'.join(OPERATORS)})\s*(.*\S)\s*", re.DOTALL)
DAY = re.compile(r"\d{4}-\d\d-\d\d")
TIME = re.compile(rf"{DAY.pattern}T[\d:.]+(?:Z|[+-]\d\d:?\d\d)?")
DECIMAL = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d{1,3})?")
MAX_COMPARISONS = 20  # of a query
MAX_SHOWN_CHARS, MAX_SHOWN_ENTRIES = 60, 4  # of a value in a list of results


class FilterError(EngineError):
    """A query compares a field, or sorts by one, that the index does not have in that way."""

    code = "index-filter"


class Bound(NamedTuple):
    """An operator, one of `OPERATORS`, with the text or number that values are compared with."""

    operator: str
    value: str | float


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on the values of the field *name* that have a *type*, one of `TYPES`.

    A document matches if one of its values is within all *bounds*: one bound, or for a day two
    bounds that include their values. Dates are whole seconds since 1970.
    """

    type: str
    name: str
    bounds: tuple[Bound, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison as a user writes it: ``price<20``. *operator* is one of `OPERATORS`."""

    name: str
    operator: str
    value: str

    @classmethod
    def parse(cls, text: str) -> Comparison:
        """Return the comparison in a text; raises `FilterError`.

        >>> Comparison.parse("price <= 12.90")
        Comparison(name='price', operator='<=', value='12.90')
        """
        match = COMPARISON.fullmatch(text)
        if match is None:
            raise FilterError(
                f"the filter {text!r} cannot be read: write the name of a field, one of"
                f" {' '.join(OPERATORS)}, and a value, such as price<20"
            )
        return cls(*match.groups())

    def __str__(self) -> str:
        return f"{self.name}{self.operator}{self.value}"

    def condition(self, types: Sequence[str]) -> Condition:
        """Return the condition for a field whose values have *types*; raises `FilterError`.

        A value that can be read as several types is compared as a number first, then as a date.
        """
        number = _number(self.value) if NUMBER in types else None
        seconds = _seconds(self.value) if DATE in types else None
        if number is not None:
            return Condition(NUMBER, self.name, (Bound(self.operator, number),))
        if seconds is not None:
            return Condition(DATE, self.name, _date_bounds(self.operator, *seconds))
        if self.operator == "=" and TEXT in types:
            return Condition(TEXT, self.name, (Bound("=", self.value),))
        raise FilterError(
            f"the filter {str(self)!r} cannot be used: the values of {self.name} are"
            f" {_type_list(types)}. A number is written as 12.9, a date as 2026-01-31, and texts"
            " are compared with = only"
        )


@dataclass(frozen=True, slots=True)
class Order:
    """An order of documents by the first number or date of the field *name*, the smallest first,
    or with *is_descending* the largest first. Documents without a value come last.
    """

    name: str
    is_descending: bool = False

    @classmethod
    def parse(cls, text: str) -> Order | None:
        """Return the order in a text such as ``price`` or ``price:desc``, or None for ""; raises
        `FilterError` without a name.
        """
        name = text.strip()
        if name == DESCENDING:
            raise FilterError(f"{text!r} names no field to sort by: write price or price:desc")
        return cls(name.removesuffix(DESCENDING), name.endswith(DESCENDING)) if name else None

    def __str__(self) -> str:
        return self.name + DESCENDING * self.is_descending

    def key(self, record: Mapping[str, Any]) -> tuple[bool, float]:
        """Return the sorting key of a document's record."""
        value = typed_values(record.get("fields", {})).get(ORDER, {}).get(self.name)
        if value is None:
            return True, 0.0
        return False, -value if self.is_descending else value


def parse_filters(texts: Sequence[str]) -> list[Comparison]:
    """Return the comparisons in the texts of filters; raises `FilterError`."""
    if len(texts) > MAX_COMPARISONS:
        raise FilterError(f"there are {len(texts)} filters: give at most {MAX_COMPARISONS}")
    return [Comparison.parse(text) for text in texts]


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


def check_names(names: Iterable[str], types: Mapping[str, Sequence[str]]) -> None:
    """Raise `FilterError` if an index with fields of these *types* lacks one of the *names*."""
    if unknown := sorted(set(names) - types.keys()):
        fields = ", ".join(f"{name} ({_type_list(types[name])})" for name in sorted(types))
        raise FilterError(
            f"the index has no field of your own that is named {', '.join(unknown)}; it has"
            f" {fields or 'none: crawl with --fields, or update the index'}"
        )


def check_order(order: Order, types: Sequence[str]) -> None:
    """Raise `FilterError` if the values of the order's field are texts only."""
    if not {NUMBER, DATE} & set(types):
        raise FilterError(
            f"results cannot be sorted by {order.name}: its values are texts; sort by a number or"
            " a date"
        )


def _typed(value: object) -> tuple[str, str | float]:
    """Return the type of a value, and the value in that type; "" for no type."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return (NUMBER, value + 0.0) if math.isfinite(value) else ("", 0.0)  # 0.0 for -0.0
    if not isinstance(value, str):
        return "", 0.0
    seconds = _seconds(value)
    if seconds is not None:
        return DATE, seconds[0]
    return TEXT, value.encode("utf-8", "replace").decode()


def _number(text: str) -> float | None:
    """Return the number in a text; None if it is none."""
    number = float(text) + 0.0 if DECIMAL.fullmatch(text) else math.inf  # 0.0 for -0.0
    return number if math.isfinite(number) else None


def _seconds(text: str) -> tuple[int, int] | None:
    """Return the first and the last second of a day, or the second of a time, since 1970; None if
    the text is neither. A time without an offset, and a day, are in UTC.
    """
    is_day = bool(DAY.fullmatch(text))
    if not is_day and not TIME.fullmatch(text):
        return None
    try:
        date = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return None
    zoned = date if date.tzinfo else date.replace(tzinfo=timezone.utc)
    first = math.floor((zoned - EPOCH).total_seconds())
    return first, first + (int(timedelta(days=1).total_seconds()) - 1 if is_day else 0)


def _date_bounds(operator: str, first: int, last: int) -> tuple[Bound, ...]:
    """Return the bounds for a date that lasts from its *first* to its *last* second."""
    if operator == "=":
        return Bound(">=", first), Bound("<=", last)
    return (Bound(operator, first if operator in ("<", ">=") else last),)


def _type_list(types: Iterable[str]) -> str:
    return " and ".join(f"{kind}s" for kind in TYPES if kind in types)


EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
