"""Converts blocks to and from JSON values, for pages that are stored during a crawl.

A repeated value is stored once: tags and marks are in tables, and a path has only the steps that it
adds to its parent's path. So a record grows with its page, however much the page repeats. Each
field of the blocks is one list for all blocks, which is smaller and faster to read than one list
per block.
"""

from __future__ import annotations

from array import array
from operator import attrgetter, ge
from typing import Any

from contentspider.ground.addresses import without_password
from contentspider.page.tree.blocks import Block, PageBlocks, Surroundings
from contentspider.page.tree.containers import BOX_KINDS, ITEM, KINDS, OF_TAGS, QUOTE, TABLE
from contentspider.page.tree.tags import NO_NUMBER
from contentspider.page.words.names import step_tag

# The names of lists in the record, and the field of `Block` that each list has.
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
# Fields that few blocks have, with their default values. Other values are stored as pairs of a
# block's number and the value.
DETAILS: dict[str, str | int | tuple[Any, ...]] = {
    "language": "",
    "anchor": "",
    "note": "",
    "number": NO_NUMBER,
    "numbering": "",
    "begins_list": False,
    "colspan": 1,
    "rowspan": 1,
    "table": 0,
    "outer": (),
}
MAX_COLUMNS, MAX_DETAIL, MAX_OUTER_TABLES = 1_000, 999_999_999, 4  # the limits of the walk
MAX_CONTAINERS = 100
# The values of "directives" in a record.
IGNORED, LEFT_OUT = "ignored", "left out"
# The fields of the page that are stored unchanged.
PAGE_FIELDS = ("parents", "positions", "base", "truncated", "attributes", "visuals", "around")


def to_record(content: PageBlocks) -> dict[str, Any]:
    """Return the blocks and elements of a page as JSON values, for `from_record`."""
    blocks = content.blocks
    tags: dict[str, int] = {}
    marks: dict[str, int] = {}
    spans: list[int] = []
    images: list[tuple[int | str, ...]] = []
    films: list[tuple[int | str, ...]] = []
    for number, block in enumerate(blocks):
        for start, end, mark in block.spans:
            spans += (number, start, end, marks.setdefault(mark, len(marks)))
        images += [(number, *_without_password(image)) for image in block.images]
        films += [(number, *_without_password(film)) for film in block.films]
    paths, path_of = _shorten(content)
    containers, within = _containers(blocks)
    return {
        **{name: getattr(content, name) for name in PAGE_FIELDS},
        "base": without_password(content.base),
        "extent": content.extent,
        **{name: list(map(attrgetter(attribute), blocks)) for name, attribute in FIELDS.items()},
        "tag_of": [tags.setdefault(tag, len(tags)) for tag in content.tags],
        "tags": list(tags),
        "path_of": path_of,
        "paths": paths,
        "spans": spans,
        "marks": list(map(without_password, marks)),
        "images": images,
        "films": films,
        "directives": _directives(content),
        "within": containers,
        "within_of": within,
        "details": {
            name: pairs for name in DETAILS if (pairs := _detail(blocks, name, DETAILS[name]))
        },
    }


def _directives(content: PageBlocks) -> str:
    """Return how the directives of the site's owner were treated; "" if they excluded no text."""
    if content.ignores_directives:
        return IGNORED
    return LEFT_OUT if content.has_left_out else ""


def _without_password(image: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a picture or film of `Block`, whose address is its second value."""
    place, address, *details = image
    return place, without_password(address), *details


def _detail(blocks: list[Block], name: str, default: Any) -> list[tuple[int, Any]]:
    """Return the numbers and values of the blocks whose field *name* is not the default."""
    values = enumerate(map(attrgetter(name), blocks))
    return [(number, value) for number, value in values if value != default]


def _columns(rows: list[int], cells: list[int]) -> list[int]:
    """Return the columns of blocks for a record of an earlier version, which numbered the cells of
    the whole page instead.
    """
    columns: list[int] = []
    previous_row = previous_cell = 0
    for row, cell in zip(rows, cells, strict=True):
        column = 1
        if columns and row == previous_row:
            column = columns[-1] + (1 if cell != previous_cell else 0)
        columns.append(min(column, MAX_COLUMNS) if row else 0)
        previous_row, previous_cell = row, cell
    return columns


def _shorten(content: PageBlocks) -> tuple[list[tuple[int, str]], list[int]]:
    """Return the table of paths, and for each element the number of its path in the table.

    An entry of the table is the number of the parent's path (-1: none) and the text to append.
    """
    paths: list[tuple[int, str]] = []
    number_of: dict[str, int] = {}
    path_of: list[int] = []
    for parent, path in zip(content.parents, content.paths, strict=True):
        number = number_of.get(path)
        if number is None:
            number = number_of[path] = len(paths)
            parent_path = content.paths[parent] if parent >= 0 else ""
            if parent_path and path.startswith(parent_path):
                paths.append((path_of[parent], path[len(parent_path) :]))
            else:
                paths.append((-1, path))
        path_of.append(number)
    return paths, path_of


def _containers(blocks: list[Block]) -> tuple[list[tuple[int, str, int]], list[int]]:
    """Return the table of containers around blocks, and for each block its innermost one, by number
    (-1: none).

    An entry of the table is the number of the container around (-1: none), a kind and a number.
    """
    containers: list[tuple[int, str, int]] = []
    number_of: dict[tuple[tuple[str, int], ...], int] = {(): -1}
    innermost: list[int] = []
    for block in blocks:
        within = block.within
        for depth in range(1, len(within) + 1):
            if within not in number_of and within[:depth] not in number_of:
                number_of[within[:depth]] = len(containers)
                containers.append((number_of[within[: depth - 1]], *within[depth - 1]))
        innermost.append(number_of[within])
    return containers, innermost


def from_record(record: dict[str, Any]) -> PageBlocks:
    """Return the blocks and elements in a record of `to_record`; raises one of `DAMAGE` if the
    record is damaged.
    """
    if not all(record["texts"]):
        raise ValueError("a block is empty")
    content = _read_elements(record)
    _check_types(record)
    content.blocks = _read_blocks(record, content)
    directives = record.get("directives", "")  # earlier versions stored none
    content.ignores_directives = directives == IGNORED
    content.has_left_out = directives == LEFT_OUT
    return content


def _read_elements(record: dict[str, Any]) -> PageBlocks:
    """Return a page with the elements of a record and without blocks."""
    paths: list[str] = []
    for parent, suffix in record["paths"]:
        paths.append(paths[parent] + suffix if parent >= 0 else suffix)
    content = PageBlocks(
        tags=[record["tags"][number] for number in record["tag_of"]],
        paths=[paths[number] for number in record["path_of"]],
        **{name: record[name] for name in PAGE_FIELDS},
    )
    _check_tree(content, record["containers"])
    "".join([content.base, *paths])  # raises TypeError for other values than texts
    content.attributes = [[(name, value) for name, value in pairs] for pairs in content.attributes]
    width, height = record.get("extent", (0, 0))  # earlier versions stored none
    content.extent = float(width), float(height)
    content.around = [Surroundings(*values) for values in content.around]
    return content


def _check_tree(content: PageBlocks, containers: list[int]) -> None:
    """Raise one of `DAMAGE` unless the elements are a tree and *containers* are numbers of them."""
    parents, positions, count = content.parents, content.positions, len(content.parents)
    array("i", parents + positions)  # raises TypeError or OverflowError for other values
    if not len(content.tags) == len(content.paths) == len(positions) == count:
        raise ValueError("the lists of elements have different lengths")
    if parents[:1] not in ([], [-1]) or min(parents[1:], default=0) < 0:
        raise ValueError("an element has no parent")
    if any(map(ge, parents, range(count))):
        raise ValueError("an element stands before its parent")
    if min(positions, default=0) < 0:
        raise ValueError("an element has a negative position")
    if not 0 <= min(containers, default=0) <= max(containers, default=0) < max(count, 1):
        raise ValueError("a block is in an element that does not exist")


def _check_types(record: dict[str, Any]) -> None:
    """Raise one of `DAMAGE` if a span, image or film of a record has a value of a wrong type."""
    media = [*record["images"], *record.get("films", ())]
    numbers = (number for entry in media for number in (entry[1], *entry[4:]))
    texts = (text for entry in media for text in entry[2:4])
    array("q", [*record["spans"], *numbers])  # raises TypeError or OverflowError
    "".join([*record["tags"], *record["marks"], *texts])  # raises TypeError


def _read_blocks(record: dict[str, Any], content: PageBlocks) -> list[Block]:
    """Return the blocks of a record; *content* has the elements that contain them."""
    spans = _read_spans(record)
    images = _read_images(record)
    films = _read_films(record)
    details = _read_details(record)
    within = _read_within(record, content, details)
    if "columns" not in record:  # written by an earlier version
        record = {**record, "columns": _columns(record["rows"], record["cells"])}
    if max(record["columns"], default=0) > MAX_COLUMNS:
        raise ValueError("a cell is in a column beyond the largest number of columns")
    blocks: list[Block] = []
    fields = zip(*[record[name] for name in FIELDS], strict=True)
    for number, (text, container, link_chars, links, bold, row, item, cell) in enumerate(fields):
        blocks.append(
            Block(
                text,
                content.paths[container],
                content.tags[container],
                container,
                link_chars,
                links,
                bold,
                row,
                item,
                tuple(spans.get(number, ())),
                cell,
                tuple(images.get(number, ())),
                films=tuple(films.get(number, ())),
                within=within[number],
                **details.get(number, {}),
            )
        )
    return blocks


def _read_spans(record: dict[str, Any]) -> dict[int, list[tuple[int, int, str]]]:
    """Return the spans of a record by block number."""
    spans: dict[int, list[tuple[int, int, str]]] = {}
    texts, marks = record["texts"], record["marks"]
    values = iter(record["spans"])
    for number, start, end, mark in zip(values, values, values, values, strict=True):
        if not 0 <= start <= end <= len(texts[number]):
            raise ValueError("a mark is outside of its text")
        spans.setdefault(number, []).append((start, end, marks[mark]))
    return spans


def _read_images(record: dict[str, Any]) -> dict[int, list[tuple[int, str, str, int, int]]]:
    """Return the images of a record by block number."""
    images: dict[int, list[tuple[int, str, str, int, int]]] = {}
    for number, place, address, description, *size in record["images"]:
        width, height = size or (0, 0)  # earlier versions stored no size
        images.setdefault(number, []).append((place, address, description, width, height))
    return images


def _read_films(record: dict[str, Any]) -> dict[int, list[tuple[int, str, str]]]:
    """Return the films of a record by block number."""
    films: dict[int, list[tuple[int, str, str]]] = {}
    for number, place, address, title in record.get("films", ()):  # earlier versions stored none
        films.setdefault(number, []).append((place, address, title))
    return films


def _read_details(record: dict[str, Any]) -> dict[int, dict[str, Any]]:
    """Return the details of the blocks in a record, by block number and field name."""
    details: dict[int, dict[str, Any]] = {}
    for name, pairs in record.get("details", {}).items():  # earlier versions stored none
        for number, value in pairs if name in DETAILS else ():
            if isinstance(value, list):
                value = _outer_cells(value)
            if type(value) is not type(DETAILS[name]):
                raise ValueError("a detail of a block has the wrong type")
            if isinstance(value, int) and value > MAX_DETAIL:
                raise ValueError("a detail of a block is too large")
            details.setdefault(number, {})[name] = value
    return details


def _read_within(
    record: dict[str, Any], content: PageBlocks, details: dict[int, dict[str, Any]]
) -> list[tuple[tuple[str, int], ...]]:
    """Return the value of `Block.within` of each block in a record."""
    if "within" not in record:  # written by an earlier version
        return _earlier_within(record, content, details)
    chains: list[tuple[tuple[str, int], ...]] = []
    for around, kind, number in record["within"]:
        if kind not in KINDS and kind not in BOX_KINDS:
            raise ValueError("a container has an unknown kind")
        chain = (*(chains[around] if around >= 0 else ()), (kind, number))
        if len(chain) > MAX_CONTAINERS:
            raise ValueError("a block is in too many containers")
        chains.append(chain)
    array("q", [number for _, _, number in record["within"]])  # raises TypeError for other values
    return [chains[number] if number >= 0 else () for number in record["within_of"]]


def _earlier_within(
    record: dict[str, Any], content: PageBlocks, details: dict[int, dict[str, Any]]
) -> list[tuple[tuple[str, int], ...]]:
    """Return the containers around the blocks of a record of an earlier version, which stored the
    numbers of the innermost list entry, quote and table alone.
    """
    quotes = dict(record.get("details", {}).get("quote", ()))
    chains: list[tuple[tuple[str, int], ...]] = []
    latest: dict[str, int] = {}  # the numbers of the latest elements by their paths
    for number, container in enumerate(record["containers"]):
        steps = content.paths[container].split("/")[:MAX_CONTAINERS]
        chain: list[tuple[str, int]] = []
        innermost = {
            ITEM: record["items"][number],
            QUOTE: quotes.get(number, 0),
            TABLE: details.get(number, {}).get("table", 0),
        }
        for depth in range(len(steps), 0, -1):
            tag, path = step_tag(steps[depth - 1]), "/".join(steps[:depth])
            if kind := TABLE if tag == "table" else OF_TAGS.get(tag, ""):
                known = latest.setdefault(path, len(latest))
                chain.append((kind, innermost.pop(kind, known)))
                latest[path] = chain[-1][1]
        chains.append(tuple(reversed(chain)))
    return chains


def _outer_cells(cells: list[list[int]]) -> tuple[tuple[int, ...], ...]:
    """Return the value of `Block.outer` for the *cells* in a record."""
    if len(cells) > MAX_OUTER_TABLES:
        raise ValueError("a table is in too many tables")
    for cell in cells:
        array("i", cell)  # raises TypeError or OverflowError for other values
        if len(cell) != 5:
            raise ValueError("a cell around a table must have five numbers")
    return tuple(map(tuple, cells))
