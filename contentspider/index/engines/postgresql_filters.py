"""Conditions and order of SQL for the fields of a query, in an index in PostgreSQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from psycopg import sql
from psycopg.types.json import Jsonb

from contentspider.index.filters import PAGE_DATE
from contentspider.index.own_fields import ORDER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import LiteralString

    from contentspider.index.filters import Bound, Condition, Order


DATE_COMPARISONS: dict[str, LiteralString] = {
    "<": "{} < to_timestamp({})",
    "<=": "{} <= to_timestamp({})",
    ">": "{} > to_timestamp({})",
    ">=": "{} >= to_timestamp({})",
}


def without_nul(value: str) -> str:
    """Return a text without NUL, which PostgreSQL rejects. No document has such a text."""
    return value.replace("\0", "\ufffd")


def field_conditions(
    required: Sequence[Sequence[Condition]],
) -> tuple[list[sql.Composable], dict[str, object]]:
    """Return the conditions of SQL for `Query.required`, and the values of their placeholders."""
    values: dict[str, object] = {}
    return [
        sql.SQL("({})").format(
            sql.SQL(" OR ").join(_condition(condition, values) for condition in alternatives)
        )
        for alternatives in required
    ], values


def _condition(condition: Condition, values: dict[str, object]) -> sql.Composable:
    """Return the SQL of a condition, and add the value of its placeholder to *values*."""
    if condition.type == PAGE_DATE:
        column = sql.Identifier(condition.name)
        return sql.SQL(" AND ").join(_date_bound(column, bound) for bound in condition.bounds)
    placeholder = f"own{len(values)}"
    values[placeholder] = _own_bounds(condition)
    return sql.SQL("jsonb_path_exists(own, {}, {})").format(
        _own_path(condition), sql.Placeholder(placeholder)
    )


def _date_bound(column: sql.Identifier, bound: Bound) -> sql.Composable:
    comparison: LiteralString = DATE_COMPARISONS[bound.operator]
    return sql.SQL(comparison).format(column, sql.Literal(bound.value))


def _own_path(own: Condition) -> sql.Literal:
    """Return the path of JSON that finds the values within the bounds of a condition."""
    bounds = " && ".join(
        f"@ {'==' if bound.operator == '=' else bound.operator} $bound{number}"
        for number, bound in enumerate(own.bounds)
    )
    return sql.Literal(f'$."{own.type}"."{own.name}"[*] ? ({bounds})')


def _own_bounds(own: Condition) -> Jsonb:
    """Return the values of the names in `_own_path`."""
    return Jsonb({f"bound{number}": value for number, (_, value) in enumerate(own.bounds)})


def order_terms(order: Order | None) -> sql.Composable:
    """Return the terms of ORDER BY for an order by a field, with a comma behind each."""
    if order is None:
        return sql.SQL("")
    value: sql.Composable = sql.Identifier(order.name)
    if not order.is_page_date:
        value = sql.SQL("(own #> {})::float8").format(sql.Literal([ORDER, order.name]))
    direction: LiteralString = "DESC" if order.is_descending else "ASC"
    return sql.SQL("{} {} NULLS LAST, ").format(value, sql.SQL(direction))
