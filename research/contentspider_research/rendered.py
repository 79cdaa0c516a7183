"""Pages as a browser rendered them: blocks with computed CSS and boxes, from JSON lines.

The format is that of the data of Zhou and Mashuq (2013): an object a page with ``url``, ``titles``,
``descriptions`` and ``texts``; a text has its ``selector`` (elements from the body's child down,
each with ``name``, ``id`` and ``classes``), its text nodes (``text``), its ``computed`` CSS and its
box (``bound``). The record of the ``body`` has its box, and in ``scroll`` how far the window was
scrolled (published data) or the size of the whole page (our own). A page may bring the text that is
its content (``gold``).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from contentspider.evaluation.corpora import json_lines
from contentspider.ground.errors import ContentSpiderError
from contentspider.page.about.hints import Hints
from contentspider.page.input.page import Page
from contentspider.page.tree.blocks import Block, PageBlocks, element_key
from contentspider.page.tree.text import clean_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path


def read_rendered(path: Path) -> Iterator[Page]:
    """Yield the pages of a file of rendered pages (``.jsonl`` or ``.jsonl.gz``); a malformed line
    raises `ContentSpiderError`.
    """
    return (page for page, _ in read_with_gold(path))


def read_with_gold(path: Path) -> Iterator[tuple[Page, str | None]]:
    """Yield pages as `read_rendered` does, each with the gold text of its record."""
    return ((page, record.get("gold")) for page, record in read_with_records(path))


def read_with_records(path: Path) -> Iterator[tuple[Page, dict[str, Any]]]:
    """Yield pages as `read_rendered` does, each with its record."""
    number = 1
    try:
        for number, line in json_lines(path):  # noqa: B007 - the error names it
            record = json.loads(line)
            yield rendered_page(record), record
    except (ValueError, KeyError, TypeError, AttributeError, EOFError, OSError) as error:
        raise ContentSpiderError(
            f"{path}:{number}: not a rendered page ({error!r}); see"
            " contentspider_research/rendered.py for the format"
        ) from error


def rendered_page(record: dict[str, Any]) -> Page:
    """Return the page of one record."""
    content = PageBlocks(
        parents=[-1], tags=["body"], paths=["body"], positions=[0], extent=_extent(record)
    )
    scrolled = _scrolled(record)
    open_keys: list[str] = []  # the selector of the block before, and the containers of its steps
    open_containers: list[int] = []
    siblings: dict[tuple[int, str], int] = {}
    for entry in record["texts"]:
        text = clean_text(" ".join(entry["text"]))
        steps = [(step["name"], step_key(step)) for step in entry["selector"]]
        if not text or not steps:
            continue
        shared = 0
        # Only selectors are known: elements that two blocks share in theirs are taken for the same,
        # but for the block's own.
        while (
            shared < min(len(open_keys), len(steps) - 1) and open_keys[shared] == steps[shared][1]
        ):
            shared += 1
        del open_keys[shared:], open_containers[shared:]
        for tag, key in steps[shared:]:
            parent = open_containers[-1] if open_containers else 0
            content.parents.append(parent)
            content.tags.append(tag)
            content.paths.append(f"{content.paths[parent]}/{key}")
            content.positions.append(siblings.get((parent, tag), 0))
            siblings[parent, tag] = content.positions[-1] + 1
            open_keys.append(key)
            open_containers.append(len(content.parents) - 1)
        container = open_containers[-1]
        linked = any(tag == "a" for tag, _ in steps)
        content.blocks.append(
            Block(
                text,
                content.paths[container],
                content.tags[container],
                container,
                link_chars=len(text) if linked else 0,
                links=int(linked),
            )
        )
        box = {
            f"box {side}": str(entry["bound"][side] + scrolled.get(side, 0))
            for side in ("width", "height", "left", "top")
        }
        content.visuals.append(
            {**{str(name): str(value) for name, value in entry["computed"].items()}, **box}
        )
    hints = Hints(
        tuple(dict.fromkeys(record["titles"])),
        tuple(dict.fromkeys(record["descriptions"])),
        stated=(*record["titles"], *record["descriptions"]),
    )
    return Page(str(record["url"]), content, hints)


def _extent(record: dict[str, Any]) -> tuple[float, float]:
    """Return the width and height of a page; 0, 0 for a record without a body.

    Published records lack the size of the page. Its width is computed as the body's width and twice
    its left margin. Its height ends with the body, or with the lowest block if floats overflow the
    body.
    """
    body = record.get("body") or {}
    scroll, bound = body.get("scroll", {}), body.get("bound", {})
    if "width" in scroll:
        return float(scroll["width"]), float(scroll["height"])
    if not bound:
        return 0.0, 0.0
    bounds = [bound, *(entry["bound"] for entry in record["texts"])]
    bottom = max(each["top"] + each["height"] for each in bounds)
    return float(2 * bound["left"] + bound["width"]), float(bottom + scroll.get("top", 0))


def _scrolled(record: dict[str, Any]) -> dict[str, float]:
    """Return how far the window was scrolled (``left``, ``top``) when the boxes were measured."""
    scroll = (record.get("body") or {}).get("scroll", {})
    return {side: scroll[side] for side in ("left", "top") if side in scroll}


def step_key(step: Mapping[str, Any]) -> str:
    """Return the step of a selector path for an element in a record."""
    classes = " ".join(step["classes"])
    key: str = element_key(str(step["name"]), str(step["id"] or ""), classes, "", "")
    return key
