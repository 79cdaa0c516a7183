"""Writes items to Parquet: columns of fixed types, with a bounded number of items in memory."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, BinaryIO

from contentspider.ground.extras import require

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import pyarrow

# The types of our own fields. They are fixed, so that the files of two crawls have one schema.
OWN = (
    dict.fromkeys(
        "url id site title description summary language content content_markdown content_html"
        " canonical published_at modified_at image page_type content_hash model_version crawled_at"
        " change first_seen changed_at".split(),
        "text",
    )
    | dict.fromkeys(("headings", "author", "section", "keywords", "also_at"), "texts")
    | dict.fromkeys(("confidence", "change_ratio"), "number")
    | {"passages": "passages", "images": "json", "records": "json", "fields": "json"}
)
KINDS = {type(None): "", bool: "truth", int: "integer", float: "number", str: "text"}
LISTS = ("texts", "passages")
PASSAGE = dict.fromkeys(("id", "url", "title"), "text") | {
    "heading_path": "texts",
    "markdown": "text",
    "text": "text",
}
MAX_ROWS = 5_000  # the largest row group, which writer and reader hold in memory
MAX_CHARS = 32_000_000
MAX_INTEGER = 2**63


def check_parquet() -> None:
    """Raise `ContentSpiderError` if pyarrow is not installed."""
    require("parquet", "Parquet")


def write_parquet(records: Callable[[], Iterable[Mapping[str, Any]]], file: BinaryIO) -> int:
    """Write items and return their number. *records* is called twice. A column with values of
    several kinds holds JSON.
    """
    check_parquet()
    import pyarrow
    from pyarrow import parquet

    kinds: dict[str, str] = {}
    for record in records():
        for name, value in record.items():
            kinds[name] = _common_kind(kinds.get(name, OWN.get(name, "")), _kind(value))
    kinds = kinds or dict(OWN)
    schema = _schema(kinds)
    written = 0
    with parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        for rows in _groups(records()):
            lines = [
                {_text(name): _value(row.get(name), kinds[name]) for name in kinds} for row in rows
            ]
            writer.write_table(pyarrow.Table.from_pylist(lines, schema))
            written += len(rows)
    return written


def _kind(value: object) -> str:
    """Return the kind of a value: one of `KINDS`, empty (an empty list), texts, passages, json."""
    if isinstance(value, int) and not -MAX_INTEGER <= value < MAX_INTEGER:
        return "json"
    for types, kind in KINDS.items():
        if isinstance(value, types):
            return kind
    if isinstance(value, (list, tuple)):
        return _list_kind(value)
    return "json"


def _list_kind(values: Sequence[object]) -> str:
    if not values:
        return "empty"
    if all(isinstance(entry, str) for entry in values):
        return "texts"
    is_passages = all(
        isinstance(entry, dict) and entry.keys() == PASSAGE.keys() for entry in values
    )
    return "passages" if is_passages else "json"


def _common_kind(first: str, second: str) -> str:
    """Return the kind of a column that holds values of two kinds."""
    if first == second or not second:
        return first
    if not first:
        return second
    both = {first, second}
    if both == {"integer", "number"}:
        return "number"
    return next((kind for kind in LISTS if both == {"empty", kind}), "json")


def _schema(kinds: Mapping[str, str]) -> pyarrow.Schema:
    import pyarrow

    texts = pyarrow.list_(pyarrow.string())
    types = {
        "truth": pyarrow.bool_(),
        "integer": pyarrow.int64(),
        "number": pyarrow.float64(),
        "empty": texts,
        "texts": texts,
        "text": pyarrow.string(),
    }
    passage = pyarrow.struct([(name, types[kind]) for name, kind in PASSAGE.items()])
    types["passages"] = pyarrow.list_(passage)
    columns = ((_text(name), types.get(kind, pyarrow.string())) for name, kind in kinds.items())
    return pyarrow.schema(columns)


def _groups(records: Iterable[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    """Yield the items of each row group."""
    rows: list[Mapping[str, Any]] = []
    chars = 0
    for record in records:
        rows.append(record)
        chars += sum(len(value) for value in record.values() if isinstance(value, str))
        if len(rows) == MAX_ROWS or chars >= MAX_CHARS:
            yield rows
            rows, chars = [], 0
    if rows:
        yield rows


def _value(value: Any, kind: str) -> object:
    if value is None:
        return None
    if kind == "json":
        return _text(json.dumps(value, ensure_ascii=False, default=str))
    if kind == "passages":
        return [{name: _value(entry[name], PASSAGE[name]) for name in PASSAGE} for entry in value]
    if kind in ("texts", "empty"):
        return [_text(entry) for entry in value]
    if kind == "number":
        return float(value)
    return _text(value) if kind == "text" else value


def _text(text: str) -> str:
    return text.encode("utf-8", "replace").decode()  # replaces half of a surrogate pair
