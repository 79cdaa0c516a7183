"""Pages as a browser rendered them: blocks with computed CSS and boxes, from JSON lines.

The format is that of the data of Zhou and Mashuq (2013): an object a page with ``url``, ``titles``,
``descriptions`` and ``texts``; a text has its ``selector`` (elements from the body's child down,
each with ``name``, ``id`` and ``classes``), its text nodes (``text``), its ``computed`` CSS and its
box (``bound``). The record of the ``body`` has its box, and in ``scroll`` how far the window was
scrolled (published data) or the size of the whole page (our own). A page may bring the text that is
its content (``gold``).

`rendered_page` makes a page of its record alone. `add_visuals` adds what a record says to a page
that was read from its HTML file.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from contentspider.evaluation.corpora import json_lines
from contentspider.ground.errors import ContentSpiderError
from contentspider.page.about.hints import Hints
from contentspider.page.input.page import Page
from contentspider.page.tree.blocks import Block, PageBlocks, element_key
from contentspider.page.tree.text import clean_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

# Characters at the beginning of a block that identify it if the whole block does not match.
BEGINNING_CHARS = 16


def read_rendered(path: Path) -> Iterator[Page]:
    """Yield the pages of a file of rendered pages (``.jsonl`` or ``.jsonl.gz``); a malformed line
    raises `ContentSpiderError`.
    """
    return (page for page, _ in read_with_records(path))


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
        content.visuals.append(_visual(entry, entry["bound"], scrolled))
    hints = Hints(
        tuple(dict.fromkeys(record["titles"])),
        tuple(dict.fromkeys(record["descriptions"])),
        stated=(*record["titles"], *record["descriptions"]),
    )
    return Page(str(record["url"]), content, hints)


def add_visuals(page: PageBlocks, record: Mapping[str, Any]) -> None:
    """Add the size of a rendered page, and the computed CSS and box of each of its blocks, to a
    page that was read from its HTML file.

    A block is matched to the texts of the *record* by its characters, in reading order. Its CSS is
    that of the first text in it, its box the smallest one around all texts in it. A block that the
    browser did not show has neither.
    """
    entries: list[dict[str, Any]] = record["texts"]
    scrolled = _scrolled(record)
    texts = ["".join("".join(entry["text"]).split()) for entry in entries]
    starts = list(accumulate(map(len, texts), initial=0))
    whole = "".join(texts)
    page.extent = _extent(record)
    page.visuals = []
    end = 0
    for block in page.blocks:
        text = "".join(block.text.split())
        start = _find(whole, text, end)
        if start >= 0:
            end = start + len(text)
            first, last = (bisect_right(starts, place) - 1 for place in (start, end - 1))
        else:
            # A part of the text that has its own box, such as an inline block, comes after the text
            # around it in a record. Then only the beginning matches.
            start = _find(whole, text[:BEGINNING_CHARS], end)
            if start < 0:
                page.visuals.append({})
                continue
            first = last = bisect_right(starts, start) - 1
            while last + 1 < len(texts) and texts[last + 1] in text:
                last += 1
            end = starts[last + 1]
        bound = _bound_around([entry["bound"] for entry in entries[first : last + 1]])
        page.visuals.append(_visual(entries[first], bound, scrolled))


def _find(whole: str, text: str, begin: int) -> int:
    """Return where a text occurs first after *begin*, or else first of all; -1 if it does not."""
    start = whole.find(text, begin) if text else -1
    return start if start >= 0 or not text else whole.find(text)


def _bound_around(bounds: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the smallest box around boxes, in the form of a record."""
    left, top = (min(bound[side] for bound in bounds) for side in ("left", "top"))
    right = max(bound["left"] + bound["width"] for bound in bounds)
    bottom = max(bound["top"] + bound["height"] for bound in bounds)
    return {"left": left, "top": top, "width": right - left, "height": bottom - top}


def _visual(
    entry: Mapping[str, Any], bound: Mapping[str, float], scrolled: Mapping[str, float]
) -> dict[str, str]:
    """Return the computed CSS in an entry, and a box, which counts from the page's corner."""
    box = {
        f"box {side}": str(bound[side] + scrolled.get(side, 0))
        for side in ("width", "height", "left", "top")
    }
    return {**{str(name): str(value) for name, value in entry["computed"].items()}, **box}


def pictures_of(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the records of a page's pictures, with boxes that count from the page's corner."""
    scrolled = _scrolled(record)
    return [
        {
            **picture,
            "bound": {
                side: size + scrolled.get(side, 0) for side, size in picture["bound"].items()
            },
        }
        for picture in record.get("images") or ()
    ]


def _extent(record: Mapping[str, Any]) -> tuple[float, float]:
    """Return the width and height of a page; 0, 0 for a record without a body.

    The height ends with the body, or with the lowest text if floats overflow the body. The size in
    our own records is at least that of the browser's window, which is higher than most pages.
    Published records lack the size. Their width is computed as the body's width and twice its left
    margin.
    """
    body = record.get("body") or {}
    scroll, bound = body.get("scroll", {}), body.get("bound", {})
    if not bound:
        return 0.0, 0.0
    bounds = [bound, *(entry["bound"] for entry in record["texts"])]
    bottom = max(each["top"] + each.get("height", 0) for each in bounds)
    if "width" in scroll:
        return float(scroll["width"]), float(min(scroll["height"], bottom))
    return float(2 * bound["left"] + bound["width"]), float(bottom + scroll.get("top", 0))


def _scrolled(record: Mapping[str, Any]) -> dict[str, float]:
    """Return how far the window was scrolled (``left``, ``top``) when the boxes were measured."""
    scroll = (record.get("body") or {}).get("scroll", {})
    return {side: scroll[side] for side in ("left", "top") if side in scroll}


def step_key(step: Mapping[str, Any]) -> str:
    """Return the step of a selector path for an element in a record."""
    classes = " ".join(step["classes"])
    key: str = element_key(str(step["name"]), str(step["id"] or ""), classes, "", "")
    return key
