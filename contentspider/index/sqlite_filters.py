"""Conditions of SQL for the filters of a query, for the table ``documents`` of an SQLite index."""

from __future__ import annotations

from typing import TYPE_CHECKING

from contentspider.index.own_fields import ORDER, OWN

if TYPE_CHECKING:
    from contentspider.index.engine import Query
    from contentspider.index.own_fields import Order

MAX_COUNTED = 1_000  # texts of an own field


def filter_conditions(query: Query) -> tuple[list[str], list[object]]:
    """Return the conditions of a query's filters, and the values of their placeholders."""
    conditions, placeholders = [], list[object]()
    for name, values in query.conditions.items():
        conditions.append(f"{name} IN ({', '.join('?' * len(values))})")
        placeholders += values
    for own in query.own:
        bounds = " AND ".join(f"value {bound.operator} ?" for bound in own.bounds)
        conditions.append(f"EXISTS (SELECT 1 FROM json_each(documents.{OWN}, ?) WHERE {bounds})")  # noqa: S608
        placeholders += [own_path(own.type, own.name), *(bound.value for bound in own.bounds)]
    return conditions, placeholders


def own_path(kind: str, name: str) -> str:
    """Return the JSON path of the values of an own field that have a type, in the column `OWN`."""
    return f'$.{kind}."{name}"'


def own_order(order: Order | None) -> str:
    """Return the terms of ORDER BY for an order by an own field, with a comma behind each."""
    if order is None:
        return ""
    value = f"json_extract(documents.{OWN}, '{own_path(ORDER, order.name)}')"
    return f"{value} IS NULL, {value}{' DESC' * order.is_descending}, "
