"""Conditions of SQL for the filters of a query, for the table ``documents`` of an SQLite index."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from contentspider.index.filters import PAGE_DATE, utc_text
from contentspider.index.own_fields import ORDER, OWN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from contentspider.index.engine import Query
    from contentspider.index.filters import Condition, Order

MAX_COUNTED = 1_000  # texts of an own field


def filter_conditions(query: Query) -> tuple[list[str], list[object]]:
    """Return the conditions of a query's filters, and the values of their placeholders."""
    conditions, placeholders = [], list[object]()
    for name, values in query.conditions.items():
        conditions.append(f"{name} IN ({', '.join('?' * len(values))})")
        placeholders += values
    for alternatives in query.required:
        texts, values_of_texts = zip(*map(_condition, alternatives), strict=True)
        conditions.append(f"({' OR '.join(texts)})")
        placeholders += chain.from_iterable(values_of_texts)
    return conditions, placeholders


def _condition(condition: Condition) -> tuple[str, Sequence[object]]:
    """Return the SQL of a condition, and the values of its placeholders."""
    bounds = condition.bounds
    if condition.type == PAGE_DATE:
        texts = [f"documents.{condition.name} {operator} ?" for operator, _ in bounds]
        return " AND ".join(texts), [utc_text(float(seconds)) for _, seconds in bounds]
    within = " AND ".join(f"value {operator} ?" for operator, _ in bounds)
    path = own_path(condition.type, condition.name)
    return (
        f"EXISTS (SELECT 1 FROM json_each(documents.{OWN}, ?) WHERE {within})",  # noqa: S608
        [path, *(value for _, value in bounds)],
    )


def own_path(kind: str, name: str) -> str:
    """Return the JSON path of the values of an own field that have a type, in the column `OWN`."""
    return f'$.{kind}."{name}"'


def order_terms(order: Order | None) -> str:
    """Return the terms of ORDER BY for an order by a field, with a comma behind each."""
    if order is None:
        return ""
    value = f"json_extract(documents.{OWN}, '{own_path(ORDER, order.name)}')"
    if order.is_page_date:
        value = f"documents.{order.name}"
    return f"{value} IS NULL, {value}{' DESC' * order.is_descending}, "
