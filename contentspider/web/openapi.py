"""The description of the JSON API of ``contentspider serve``, as OpenAPI 3.1."""

from __future__ import annotations

from typing import Any

from contentspider.ground.fetch import MAX_BYTES
from contentspider.index.result_rows import SHOWN_DATES
from contentspider.index.schema import FACETS
from contentspider.site.models.item import item_schema

TEXT, NUMBER = {"type": "string"}, {"type": "integer", "minimum": 0}
TEXTS = {"type": "array", "items": TEXT}


def describe_api(has_index: bool) -> dict[str, Any]:
    """Return the description of the API. It includes the search if the server has an index."""
    paths = EXTRACT_PATHS | (SEARCH_PATHS if has_index else {})
    about = {"title": "contentspider", "version": "1", "description": "The content of pages."}
    schemas = {"Item": item_schema(), **(SEARCH_SCHEMAS if has_index else {}), "Error": ERROR}
    return {"openapi": "3.1.0", "info": about, "paths": paths, "components": {"schemas": schemas}}


def _parameter(name: str, schema: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"name": name, "in": "query", "schema": schema, **more}


def _json(description: str, schema: dict[str, Any] | str) -> dict[str, Any]:
    """Return a response with JSON of a schema, or of the schema with a name."""
    if isinstance(schema, str):
        schema = {"$ref": f"#/components/schemas/{schema}"}
    return {"description": description, "content": {"application/json": {"schema": schema}}}


def _object(properties: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), **more}


ERROR = {"type": "object", "properties": {"error": TEXT, "code": TEXT}, "required": ["error"]}
COUNTS = {"type": "object", "additionalProperties": NUMBER}
SEARCH_SCHEMAS = {
    "Section": _object({"url": TEXT, "headings": TEXTS, "snippet": TEXT}),
    "Result": _object(
        {
            "rank": NUMBER,
            "score": {"type": "number"},
            "id": TEXT,
            "url": TEXT,
            "title": TEXT,
            "snippet": TEXT,
            "sections": {"type": "array", "items": {"$ref": "#/components/schemas/Section"}},
            "also_at": TEXTS,
            "fields": {"type": "object"},
            **dict.fromkeys(SHOWN_DATES, TEXT),
        }
    ),
    "Results": _object(
        {
            "total": NUMBER,
            "facets": {"type": "object", "additionalProperties": COUNTS},
            "corrected": TEXT,
            "note": TEXT,
            "results": {"type": "array", "items": {"$ref": "#/components/schemas/Result"}},
        }
    ),
}
EXTRACT_PATHS = {
    "/api/extract": {
        "get": {
            "summary": "Fetch a page and return its item",
            "parameters": [
                _parameter("url", {"type": "string", "format": "uri"}, required=True),
            ],
            "responses": {
                "200": _json("The item; docs/items.md describes its fields", "Item"),
                "400": _json("The page could not be read; `error` gives the reason", "Error"),
                "429": _json("Your last page is not done, or too many wait", "Error"),
            },
        },
        "post": {
            "summary": "Return the item of the HTML in the body",
            "parameters": [_parameter("url", TEXT)],
            "requestBody": {"content": {"text/html": {"schema": TEXT}}},
            "responses": {
                "200": _json("The item", "Item"),
                "400": _json("The HTML has no text; `error` gives the reason", "Error"),
                "413": _json(f"The body has more than {MAX_BYTES:,} bytes", "Error"),
            },
        },
    }
}
SEARCH_ERRORS = {
    "500": _json("The index cannot be used; `error` gives the reason", "Error"),
    "503": _json("The search engine is down", "Error"),
}
SEARCH_PATHS = {
    "/api/search": {
        "get": {
            "summary": "Search the index",
            "parameters": [
                _parameter("q", TEXT),
                *(_parameter(name, TEXT) for name in FACETS),
                _parameter("filter", TEXTS, explode=True),
                _parameter("sort", TEXT),
                _parameter("facet", TEXTS, explode=True),
                _parameter("limit", NUMBER),
                _parameter("from", NUMBER),
                _parameter("typing", {"type": "string", "enum": ["1"]}),
            ],
            "responses": {
                "200": _json("The results", "Results"),
                "400": _json("A filter or the order cannot be used", "Error"),
                **SEARCH_ERRORS,
            },
        }
    },
    "/api/page/{id}": {
        "get": {
            "summary": "Return a document of the index",
            "parameters": [{"name": "id", "in": "path", "required": True, "schema": TEXT}],
            "responses": {
                "200": _json("The fields of the document", {"type": "object"}),
                "404": _json("The index has no such page", "Error"),
                **SEARCH_ERRORS,
            },
        }
    },
    "/api/sites": {
        "get": {
            "summary": "Return the sites in the index, and the last crawls",
            "responses": {
                "200": _json(
                    "The sites with their numbers of pages, and the crawls",
                    _object(
                        {"sites": COUNTS, "crawls": {"type": "array"}, "status": {"type": "array"}}
                    ),
                ),
                **SEARCH_ERRORS,
            },
        }
    },
}
