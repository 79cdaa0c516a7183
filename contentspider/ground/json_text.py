"""Writes values as JSON that any reader can read, and that is safe to print."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from contentspider.ground.terminal import escape_steering

if TYPE_CHECKING:
    from collections.abc import Callable


def json_text(
    value: object, *, indent: int | None = None, default: Callable[[Any], Any] = str
) -> str:
    r"""Return a value as JSON. Numbers that JSON lacks (NaN, infinity) become null. Control
    characters and marks that change the direction of text are escaped, which does not change what
    readers get. *default* makes a JSON value of a value of another type.

    >>> json_text({"title": "a\x9bb", "price": float("nan")})
    '{"title": "a\\u009bb", "price": null}'
    """
    encoder = json.JSONEncoder(ensure_ascii=False, indent=indent, default=default, allow_nan=False)
    try:
        text = encoder.encode(value)
    except ValueError:
        text = encoder.encode(without_nan(value))
    return escape_steering(text)


def without_nan(value: Any) -> Any:
    """Return a JSON value with None for each number that JSON lacks."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: without_nan(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [without_nan(each) for each in value]
    return value
