"""The fields of an item with their types, and the JSON Schema that follows from them."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, field, fields
from types import NoneType
from typing import Any, TypedDict, get_args, get_origin, get_type_hints, is_typeddict

JSON_TYPES = {
    str: "string",
    float: "number",
    int: "integer",
    bool: "boolean",
    NoneType: "null",
}


class PassageFields(TypedDict):
    """A passage of an item; docs/items.md describes the fields."""

    id: str
    url: str
    title: str
    heading_path: list[str]
    markdown: str
    text: str


class ImageFields(TypedDict):
    """A picture of an item; docs/items.md describes the fields."""

    url: str
    alt: str
    caption: str
    width: int | None
    height: int | None
    large: bool | None
    confidence: float


class RecordFields(TypedDict):
    """An entry of a listing; docs/items.md describes the fields."""

    title: str
    url: str
    published_at: str
    image: str
    text: str


@dataclass
class ItemFields:
    """The content of a page. docs/items.md describes the fields."""

    url: str
    id: str = ""
    site: str = ""
    title: str = ""
    description: str = ""
    summary: str = ""
    language: str = ""
    content: str = ""
    content_markdown: str = ""
    content_html: str = ""
    passages: list[PassageFields] = field(default_factory=list)
    headings: list[str] = field(default_factory=list)
    canonical: str = ""
    also_at: list[str] = field(default_factory=list)
    published_at: str = ""
    modified_at: str = ""
    author: list[str] = field(default_factory=list)
    image: str = ""
    images: list[ImageFields] = field(default_factory=list)
    records: list[RecordFields] = field(default_factory=list)
    section: list[str] = field(default_factory=list)
    keywords: list[str] = field(default_factory=list)
    fields: dict[str, str | float | list[str] | list[float]] = field(default_factory=dict)
    page_type: str = ""
    content_hash: str = ""
    confidence: float = 0.0
    model_version: str = ""
    crawled_at: str = ""
    change: str = ""
    change_ratio: float = 0.0
    first_seen: str = ""
    changed_at: str = ""


def item_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of an item. A pipeline may add fields of its own.

    >>> schema = item_schema()
    >>> schema["required"], schema["properties"]["keywords"]
    (['url'], {'type': 'array', 'items': {'type': 'string'}})
    """
    required = [
        field.name
        for field in fields(ItemFields)
        if field.default is MISSING and field.default_factory is MISSING
    ]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "ContentItem",
        **_object_schema(ItemFields, required),
    }


def _object_schema(kind: type, required: list[str]) -> dict[str, Any]:
    """Return the schema of a class with annotated fields."""
    return {
        "description": kind.__doc__,
        "type": "object",
        "properties": {name: _schema(hint) for name, hint in get_type_hints(kind).items()},
        "required": required,
    }


def _schema(hint: Any) -> dict[str, Any]:
    """Return the schema of a type."""
    if hint in JSON_TYPES:
        return {"type": JSON_TYPES[hint]}
    if is_typeddict(hint):
        return _object_schema(hint, list(get_type_hints(hint)))
    if get_origin(hint) is list:
        return {"type": "array", "items": _schema(*get_args(hint))}
    if get_origin(hint) is dict:
        return {"type": "object", "additionalProperties": _schema(get_args(hint)[1])}
    alternatives = get_args(hint)
    if all(alternative in JSON_TYPES for alternative in alternatives):
        return {"type": [JSON_TYPES[alternative] for alternative in alternatives]}
    return {"anyOf": [_schema(alternative) for alternative in alternatives]}
