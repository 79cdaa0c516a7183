"""Filters and orders of searches by the user's own fields, and by the dates of pages."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from contentspider.index.errors import EngineError
from contentspider.index.own_fields import (
    DATE,
    EPOCH,
    NUMBER,
    ORDER,
    TEXT,
    TYPES,
    seconds_of,
    storable,
    typed_values,
)
from contentspider.index.schema import DATE_FIELDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

# The type of the dates that all pages have (`DATE_FIELDS`). Own fields have one of `TYPES`.
PAGE_DATE = "page_date"
DESCENDING = ":desc"
OPERATORS = ("<=", ">=", "=", "<", ">")
COMPARISON = re.compile(rf"(\w+)\s*({'|'.join(OPERATORS)})\s*(\S.*)", re.DOTALL)
# A value may have "|" between alternatives. "\|" and "\\" stand for "|" and "\".
VALUE_PARTS = re.compile(r"\\[\\|]|[^|\\]+|[|\\]")
UNCLEAR = re.compile(r"\||\\(?=[\\|]|\Z)")
DECIMAL = re.compile(r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d{1,3})?")
MAX_COMPARISONS = 20  # of a query
MAX_ALTERNATIVES = 50  # of a comparison


class FilterError(EngineError):
    """A query compares a field, or sorts by one, that the index does not have in that way."""

    code = "index-filter"


class Bound(NamedTuple):
    """An operator, one of `OPERATORS`, with the text or number that values are compared with."""

    operator: str
    value: str | float


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on the values of the field *name* that have a *type*: one of `TYPES` for the
    user's own fields, or `PAGE_DATE` for a date of the page.

    A document matches if one of its values is within all *bounds*: one bound, or for a day two
    bounds that include their values. Dates are whole seconds since 1970.
    """

    type: str
    name: str
    bounds: tuple[Bound, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison as a user writes it: ``price<20``. *operator* is one of `OPERATORS`. With "="
    the comparison is true if any of the *values* is equal; other operators have one value.
    """

    name: str
    operator: str
    values: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> Comparison:
        """Return the comparison in a text; raises `FilterError`.

        >>> Comparison.parse("price <= 12.90")
        Comparison(name='price', operator='<=', values=('12.90',))
        >>> Comparison.parse("brand=Acme|Bolt")
        Comparison(name='brand', operator='=', values=('Acme', 'Bolt'))
        """
        match = COMPARISON.fullmatch(storable(text).strip())
        if match is None:
            raise FilterError(
                f"the filter {text!r} cannot be read: write the name of a field, one of"
                f" {' '.join(OPERATORS)}, and a value, such as price<20"
            )
        name, operator, value = match.groups()
        values = _alternatives(value)
        if not all(values):
            raise FilterError(
                f"the filter {text!r} has an empty alternative: write values on both sides of |,"
                " or \\| for a value with |"
            )
        if len(values) > (MAX_ALTERNATIVES if operator == "=" else 1):
            raise FilterError(
                f"the filter {text!r} has {len(values)} alternatives: give at most"
                f" {MAX_ALTERNATIVES}, and only with ="
            )
        return cls(name, operator, values)

    def __str__(self) -> str:
        values = (UNCLEAR.sub(r"\\\g<0>", value) for value in self.values)
        return f"{self.name}{self.operator}{'|'.join(values)}"

    def conditions(self, types: Sequence[str]) -> tuple[Condition, ...]:
        """Return the conditions for a field whose values have *types*. One of them must be true.
        Raises `FilterError`.

        A value that can be read as several types is compared as a number first, then as a date.
        """
        return tuple(self._condition(value, types) for value in self.values)

    def _condition(self, value: str, types: Sequence[str]) -> Condition:
        number = _number(value) if NUMBER in types else None
        date_type = next((kind for kind in types if kind in (DATE, PAGE_DATE)), "")
        seconds = seconds_of(value) if date_type else None
        if number is not None:
            return Condition(NUMBER, self.name, (Bound(self.operator, number),))
        if seconds is not None:
            return Condition(date_type, self.name, _date_bounds(self.operator, *seconds))
        if self.operator == "=" and TEXT in types:
            return Condition(TEXT, self.name, (Bound("=", value),))
        raise FilterError(
            f"the filter {str(self)!r} cannot be used: the values of {self.name} are"
            f" {_type_list(types)}. A number is written as 12.9, a date as 2026-01-31, and texts"
            " are compared with = only"
        )


@dataclass(frozen=True, slots=True)
class Order:
    """An order of documents by the field *name*: a date of the page, or the first number or date of
    an own field. The smallest is first, or with *is_descending* the largest. Documents without a
    value come last.
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

    @property
    def is_page_date(self) -> bool:
        """Whether documents are sorted by a date of the page, and not by an own field."""
        return self.name in DATE_FIELDS

    def key(self, record: Mapping[str, Any]) -> tuple[bool, float]:
        """Return the sorting key of a document's record."""
        value = self._value(record)
        if value is None:
            return True, 0.0
        return False, -value if self.is_descending else value

    def _value(self, record: Mapping[str, Any]) -> float | None:
        if self.is_page_date:
            seconds = seconds_of(str(record.get(self.name, "")))
            return seconds[0] if seconds else None
        value: float | None = typed_values(record.get("fields")).get(ORDER, {}).get(self.name)
        return value


def parse_filters(texts: Sequence[str]) -> list[Comparison]:
    """Return the comparisons in the texts of filters; raises `FilterError`."""
    if len(texts) > MAX_COMPARISONS:
        raise FilterError(f"there are {len(texts)} filters: give at most {MAX_COMPARISONS}")
    return [Comparison.parse(text) for text in texts]


def fields_of(own_types: Mapping[str, Sequence[str]]) -> dict[str, Sequence[str]]:
    """Return the types of all fields that an index with own fields of these types can compare. The
    dates of pages hide own fields with their names.
    """
    return {**own_types, **dict.fromkeys(DATE_FIELDS, (PAGE_DATE,))}


def check_names(names: Iterable[str], types: Mapping[str, Sequence[str]]) -> None:
    """Raise `FilterError` if an index with fields of these *types* lacks one of the *names*."""
    if unknown := sorted(set(names) - types.keys()):
        fields = ", ".join(f"{name} ({_type_list(types[name])})" for name in sorted(types))
        raise FilterError(
            f"the index has no field that is named {', '.join(unknown)}; it has {fields}. Fields of"
            " your own come from a crawl with --fields, and an update of the index"
        )


def check_order(order: Order, types: Sequence[str]) -> None:
    """Raise `FilterError` if the values of the order's field are texts only."""
    if not {NUMBER, DATE, PAGE_DATE} & set(types):
        raise FilterError(
            f"results cannot be sorted by {order.name}: its values are texts; sort by a number or"
            " a date"
        )


def utc_text(seconds: float) -> str:
    """Return a date as documents have it in ISO 8601, from whole *seconds* since 1970."""
    return (EPOCH + timedelta(seconds=seconds)).isoformat(timespec="seconds")


def _alternatives(value: str) -> tuple[str, ...]:
    """Return the values between the signs | of a value, without spaces around them."""
    values: list[list[str]] = [[]]
    for part in VALUE_PARTS.findall(value):
        if part == "|":
            values.append([])
        else:
            values[-1].append(part[1:] if part in (r"\\", r"\|") else part)
    return tuple("".join(parts).strip() for parts in values)


def _number(text: str) -> float | None:
    """Return the number in a text; None if it is none."""
    number = float(text) + 0.0 if DECIMAL.fullmatch(text) else math.inf  # 0.0 for -0.0
    return number if math.isfinite(number) else None


def _date_bounds(operator: str, first: int, last: int) -> tuple[Bound, ...]:
    """Return the bounds for a date that lasts from its *first* to its *last* second."""
    if operator == "=":
        return Bound(">=", first), Bound("<=", last)
    return (Bound(operator, first if operator in ("<", ">=") else last),)


def _type_list(types: Iterable[str]) -> str:
    names = {PAGE_DATE: DATE}
    kinds = {names.get(kind, kind) for kind in types}
    return " and ".join(f"{kind}s" for kind in TYPES if kind in kinds)
