"""Blocks as JSON values, for pages that are kept between two steps of a crawl.

What repeats is stored once: tags and marks in tables, and a path as what it adds to its parent's:
a record grows with its page, whatever the page repeats. Each field of the blocks is a list of
its own, which is smaller than a list a block, and faster to read.
"""

from __future__ import annotations

from typing import Any

from contentspider.page.blocks import Block, PageBlocks, Surroundings


def to_record(content: PageBlocks) -> dict[str, Any]:
    """Return *content* as JSON values, for `from_record`."""
    blocks = content.blocks
    tags: dict[str, int] = {}
    marks: dict[str, int] = {}
    spans: list[int] = []
    for number, block in enumerate(blocks):
        for start, end, mark in block.spans:
            spans += (number, start, end, marks.setdefault(mark, len(marks)))
    paths, path_of = _shorten(content)
    return {
        "parents": content.parents,
        "positions": content.positions,
        "tag_of": [tags.setdefault(tag, len(tags)) for tag in content.tags],
        "tags": list(tags),
        "path_of": path_of,
        "paths": paths,
        "texts": [block.text for block in blocks],
        "containers": [block.container for block in blocks],
        "link_chars": [block.link_chars for block in blocks],
        "links": [block.links for block in blocks],
        "bold_chars": [block.bold_chars for block in blocks],
        "rows": [block.row for block in blocks],
        "items": [block.item for block in blocks],
        "cells": [block.cell for block in blocks],
        "spans": spans,
        "marks": list(marks),
        "images": [
            (number, *image) for number, block in enumerate(blocks) for image in block.images
        ],
        "base": content.base,
        "truncated": content.truncated,
        "attributes": content.attributes,
        "visuals": content.visuals,
        "around": [
            (sorted(above), sorted(beside), sorted(below), own_words, is_link)
            for above, beside, below, own_words, is_link in content.around
        ],
    }


def _shorten(content: PageBlocks) -> tuple[list[tuple[int, str]], list[int]]:
    """Return the distinct paths, each as the number of another and what it adds to that, and the
    number of each container's.
    """
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


def from_record(record: dict[str, Any]) -> PageBlocks:
    """Return what `to_record` was given.

    Raises KeyError, ValueError, TypeError or IndexError if the record is damaged.
    """
    paths: list[str] = []
    for above, rest in record["paths"]:
        paths.append(paths[above] + rest if above >= 0 else rest)
    tags, marks = record["tags"], record["marks"]
    content = PageBlocks(
        parents=record["parents"],
        tags=[tags[number] for number in record["tag_of"]],
        paths=[paths[number] for number in record["path_of"]],
        positions=record["positions"],
        truncated=record["truncated"],
        attributes=[[(name, value) for name, value in element] for element in record["attributes"]],
        visuals=record["visuals"],
        base=record["base"],
        around=[
            Surroundings(frozenset(above), frozenset(beside), frozenset(below), own_words, is_link)
            for above, beside, below, own_words, is_link in record["around"]
        ],
    )
    spans: dict[int, list[tuple[int, int, str]]] = {}
    flat = iter(record["spans"])
    for number, start, end, mark in zip(flat, flat, flat, flat, strict=True):
        spans.setdefault(number, []).append((start, end, marks[mark]))
    images: dict[int, list[tuple[int, str, str]]] = {}
    for number, place, address, description in record["images"]:
        images.setdefault(number, []).append((place, address, description))
    names = ("texts", "containers", "link_chars", "links", "bold_chars", "rows", "items", "cells")
    for number, values in enumerate(zip(*[record[name] for name in names], strict=True)):
        text, container, link_chars, links, bold_chars, row, item, cell = values
        content.blocks.append(
            Block(
                text,
                content.paths[container],
                content.tags[container],
                container,
                link_chars,
                links,
                bold_chars,
                row,
                item,
                tuple(spans.get(number, ())),
                cell,
                tuple(images.get(number, ())),
            )
        )
    return content
