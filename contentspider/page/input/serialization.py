"""Blocks as JSON values, for pages that are kept between two steps of a crawl.

What repeats is stored once: tags and marks in tables, and a path as what it adds to its parent's:
a record grows with its page, whatever the page repeats. Each field of the blocks is a list of
its own, which is smaller than a list a block, and faster to read.
"""

from __future__ import annotations

from array import array
from operator import attrgetter, ge
from typing import Any

from contentspider.page.tree.blocks import Block, PageBlocks, Surroundings

# Lists in the record by the blocks' fields that they have; in the order of `Block`'s parameters.
FIELDS = {
    "texts": "text",
    "containers": "container",
    "link_chars": "link_chars",
    "links": "links",
    "bold_chars": "bold_chars",
    "rows": "row",
    "items": "item",
    "columns": "cell",
}
# What few blocks have, by its default: kept as pairs of a block's number and a value.
DETAILS: dict[str, str | int] = {
    "language": "",
    "anchor": "",
    "note": "",
    "number": -1,
    "quote": 0,
    "colspan": 1,
    "rowspan": 1,
}
MAX_COLUMNS, MAX_DETAIL = 1_000, 999_999_999  # as the walk bounds them
# And those of the page.
PAGE_FIELDS = ("parents", "positions", "base", "truncated", "attributes", "visuals", "around")


def to_record(content: PageBlocks) -> dict[str, Any]:
    """Return *content* as JSON values, for `from_record`."""
    blocks = content.blocks
    tags: dict[str, int] = {}
    marks: dict[str, int] = {}
    spans: list[int] = []
    images: list[tuple[int | str, ...]] = []
    films: list[tuple[int | str, ...]] = []
    for number, block in enumerate(blocks):
        for start, end, mark in block.spans:
            spans += (number, start, end, marks.setdefault(mark, len(marks)))
        images += [(number, *image) for image in block.images]
        films += [(number, *film) for film in block.films]
    paths, path_of = _shorten(content)
    return {
        **{name: getattr(content, name) for name in PAGE_FIELDS},
        **{name: list(map(attrgetter(each), blocks)) for name, each in FIELDS.items()},
        "tag_of": [tags.setdefault(tag, len(tags)) for tag in content.tags],
        "tags": list(tags),
        "path_of": path_of,
        "paths": paths,
        "spans": spans,
        "marks": list(marks),
        "images": images,
        "films": films,
        "details": {
            name: pairs for name in DETAILS if (pairs := _detail(blocks, name, DETAILS[name]))
        },
    }


def _detail(blocks: list[Block], name: str, default: str | int) -> list[tuple[int, str | int]]:
    values = enumerate(map(attrgetter(name), blocks))
    return [(number, value) for number, value in values if value != default]


def _columns(rows: list[int], cells: list[int]) -> list[int]:
    """Return the columns of blocks in a record of an earlier version, which numbered its cells."""
    columns: list[int] = []
    last = (0, 0)
    for row, cell in zip(rows, cells, strict=True):
        same_row = bool(columns) and row == last[0]
        column = columns[-1] + (cell != last[1]) if same_row else 1
        columns.append(min(column, MAX_COLUMNS) if row else 0)
        last = (row, cell)
    return columns


def _shorten(content: PageBlocks) -> tuple[list[tuple[int, str]], list[int]]:
    """Return the paths, each as another's number and a rest, and the numbers of the containers'."""
    paths: list[tuple[int, str]] = []
    known: dict[str, int] = {}
    path_of: list[int] = []
    for parent, path in zip(content.parents, content.paths, strict=True):
        number = known.get(path)
        if number is None:
            number = known[path] = len(paths)
            above = content.paths[parent] if parent >= 0 else ""
            if above and path.startswith(above):
                paths.append((path_of[parent], path[len(above) :]))
            else:
                paths.append((-1, path))
        path_of.append(number)
    return paths, path_of


def _check(content: PageBlocks, containers: list[int]) -> None:
    """Raise one of `DAMAGE` unless the elements are a tree, and the blocks in its *containers*."""
    parents, positions, count = content.parents, content.positions, len(content.parents)
    array("i", parents + positions)
    if (
        not len(content.tags) == len(content.paths) == len(positions) == count
        or parents[:1] not in ([], [-1])
        or min(parents[1:], default=0) < 0
        or any(map(ge, parents, range(count)))
        or min(positions, default=0) < 0
        or not 0 <= min(containers, default=0) <= max(containers, default=0) < max(count, 1)
    ):
        raise ValueError("its blocks stand where nothing is")


def _details(record: dict[str, Any]) -> dict[int, dict[str, Any]]:
    """Return the details of the blocks in a record, by the blocks' numbers and their names."""
    details: dict[int, dict[str, Any]] = {}
    for name, pairs in record.get("details", {}).items():  # earlier versions had none
        for number, value in pairs:
            if type(value) is not type(DETAILS[name]):
                raise ValueError("a detail of a block is of another kind")
            if isinstance(value, int) and value > MAX_DETAIL:
                raise ValueError("a detail of a block is too large")
            details.setdefault(number, {})[name] = value
    return details


def from_record(record: dict[str, Any]) -> PageBlocks:
    """Return what `to_record` was given; raises one of `DAMAGE` if the record is damaged."""
    paths: list[str] = []
    for above, rest in record["paths"]:
        paths.append(paths[above] + rest if above >= 0 else rest)
    tags, marks, texts = record["tags"], record["marks"], record["texts"]
    if not all(texts):
        raise ValueError("a block is empty")
    content = PageBlocks(
        tags=[tags[number] for number in record["tag_of"]],
        paths=[paths[number] for number in record["path_of"]],
        **{name: record[name] for name in PAGE_FIELDS},
    )
    _check(content, record["containers"])
    entries = [*record["images"], *record.get("films", ())]  # earlier versions knew no films
    numbers = (number for each in entries for number in (each[1], *each[4:]))
    names = (text for each in entries for text in each[2:4])
    array("q", [*record["spans"], *numbers])
    "".join([content.base, *tags, *marks, *paths, *names])
    content.attributes = [[(name, value) for name, value in each] for each in content.attributes]
    content.around = [Surroundings(*each) for each in content.around]
    spans: dict[int, list[tuple[int, int, str]]] = {}
    flat = iter(record["spans"])
    for number, start, end, mark in zip(flat, flat, flat, flat, strict=True):
        if not 0 <= start <= end <= len(texts[number]):
            raise ValueError("a mark is outside of its text")
        spans.setdefault(number, []).append((start, end, marks[mark]))
    images: dict[int, list[tuple[int, str, str, int, int]]] = {}
    for number, place, address, description, *size in record["images"]:
        width, height = size or (0, 0)  # of earlier versions
        images.setdefault(number, []).append((place, address, description, width, height))
    details = _details(record)
    if "columns" not in record:
        record = {**record, "columns": _columns(record["rows"], record["cells"])}
    if max(record["columns"], default=0) > MAX_COLUMNS:
        raise ValueError("a cell stands beside its table")
    films: dict[int, list[tuple[int, str, str]]] = {}
    for number, place, address, title in record.get("films", ()):
        films.setdefault(number, []).append((place, address, title))
    columns = zip(*[record[name] for name in FIELDS], strict=True)
    path_of, tag_of, add = content.paths, content.tags, content.blocks.append
    for number, (text, at, chars, links, bold, row, item, cell) in enumerate(columns):
        marked, pictures = tuple(spans.get(number, ())), tuple(images.get(number, ()))
        place, shown = (text, path_of[at], tag_of[at], at), tuple(films.get(number, ()))
        rest = details.get(number, {})
        numbers_of = (chars, links, bold, row, item)
        add(Block(*place, *numbers_of, marked, cell, pictures, films=shown, **rest))
    return content
