"""Conditions and order of SQL for own fields, in the column ``own`` of an index in PostgreSQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from psycopg import sql
from psycopg.types.json import Jsonb

from contentspider.index.own_fields import ORDER

if TYPE_CHECKING:
    from typing_extensions import LiteralString

    from contentspider.index.own_fields import Condition, Order


def without_nul(value: str) -> str:
    """Return a text without NUL, which PostgreSQL rejects. No document has such a text."""
    return value.replace("\0", "\ufffd")


def own_path(own: Condition) -> sql.Literal:
    """Return the path of JSON that finds the values within the bounds of a condition."""
    bounds = " && ".join(
        f"@ {'==' if bound.operator == '=' else bound.operator} $bound{number}"
        for number, bound in enumerate(own.bounds)
    )
    return sql.Literal(f'$."{own.type}"."{own.name}"[*] ? ({bounds})')


def own_bounds(own: Condition) -> sql.Literal:
    """Return the values of the names in `own_path`."""
    values = {
        f"bound{number}": without_nul(value) if isinstance(value, str) else value
        for number, (_, value) in enumerate(own.bounds)
    }
    return sql.Literal(Jsonb(values))


def own_order(order: Order | None) -> sql.Composable:
    """Return the terms of ORDER BY for an order by an own field, with a comma behind each."""
    if order is None:
        return sql.SQL("")
    value = sql.SQL("(own #> {})::float8").format(sql.Literal([ORDER, order.name]))
    direction: LiteralString = "DESC" if order.is_descending else "ASC"
    return sql.SQL("{} {} NULLS LAST, ").format(value, sql.SQL(direction))
