"""The boxes and computed CSS of a rendered page's texts, from a snapshot of the browser.

The record of a page has the format of the data that Zhou and Mashuq published (2013), so that one
reader reads both: ``url``, ``titles``, ``descriptions``, ``body``, ``texts`` and ``images``.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from contentspider.page.tree.blocks import PageBlocks

SIDES = ("top", "right", "bottom", "left")
CORNERS = ("top-left", "top-right", "bottom-left", "bottom-right")
# The properties that differ from the body's value on some page of the published data.
PROPERTIES = (
    *"background-color background-image background-repeat background-position".split(),
    *"background-attachment background-clip background-origin background-size".split(),
    *"line-height font-size font-family font-weight font-style letter-spacing white-space".split(),
    *"list-style-type list-style-position list-style-image".split(),
    *(f"border-{side}-{what}" for side in SIDES for what in ("color", "style", "width")),
    *(f"border-{corner}-radius" for corner in CORNERS),
    *"border-collapse color outline-color text-align text-transform text-indent".split(),
    *"text-decoration text-shadow text-overflow text-rendering display visibility".split(),
    *"opacity position float clear clip z-index overflow-x overflow-y".split(),
    *(f"{what}-{side}" for what in ("margin", "padding") for side in SIDES),
    *"min-width max-width min-height max-height word-wrap word-break vertical-align".split(),
    *"box-shadow box-sizing cursor unicode-bidi pointer-events".split(),
)
STYLES = ("width", "height", *PROPERTIES)
COMMAND = "DOMSnapshot.captureSnapshot"
ARGUMENTS = {"computedStyles": list(STYLES)}
STYLE_INDEX = {name: index for index, name in enumerate(STYLES)}
TEXT = 3
SPACE = re.compile(r"\s+")


class Node:
    """An element or text node of a snapshot that is laid out, with its box and computed CSS."""

    def __init__(self, snapshot: Snapshot, number: int) -> None:
        self.number = number
        self._snapshot = snapshot
        nodes = snapshot.nodes
        self.is_text = nodes["nodeType"][number] == TEXT
        self.tag = snapshot.string(nodes["nodeName"][number]).lower()
        self.text = snapshot.string(nodes["nodeValue"][number])
        (x, y, width, height), self._styles = snapshot.boxes[number]
        self.box = (x, y, x + width, y + height)

    def style(self, name: str) -> str:
        """Return the computed value of a CSS property."""
        index = STYLE_INDEX[name]
        return self._snapshot.string(self._styles[index]) if index < len(self._styles) else ""

    def pixels(self, name: str) -> float:
        """Return the computed value of a CSS property in pixels, 0.0 for other units."""
        value = self.style(name)
        return float(value[:-2]) if value.endswith("px") else 0.0

    @property
    def classes(self) -> str:
        """The value of the element's ``class`` attribute."""
        return self._snapshot.attributes(self.number).get("class", "")

    @property
    def is_hidden(self) -> bool:
        """Whether the node takes up space but is invisible."""
        return self.style("visibility") == "hidden"


class Snapshot:
    """The laid-out nodes of a page, from the *answer* to the DevTools command `COMMAND`."""

    def __init__(self, answer: Mapping[str, Any]) -> None:
        document = answer["documents"][0]
        self.strings: list[str] = answer["strings"]
        self.nodes: dict[str, Any] = document["nodes"]
        layout = document["layout"]
        # The box of each element, by the number of its node. A ::marker has the same number as its
        # element, and comes after it.
        self.boxes: dict[int, tuple[Sequence[float], Sequence[int]]] = {}
        for node, bounds, styles in zip(
            layout["nodeIndex"], layout["bounds"], layout["styles"], strict=True
        ):
            self.boxes.setdefault(node, (bounds, styles))
        self.width, self.height = document["contentWidth"], document["contentHeight"]
        names = enumerate(self.nodes["nodeName"])
        self.body_node = next((node for node, name in names if self.string(name) == "BODY"), -1)
        self._body_styles = self.boxes[self.body_node][1] if self.body_node in self.boxes else ()

    def string(self, number: int) -> str:
        """Return the string with a number, "" for -1."""
        return self.strings[number] if number >= 0 else ""

    @property
    def bottom(self) -> float:
        """The lower end of the lowest box. The page itself is at least as high as the window."""
        inner = (
            float(box[1] + box[3]) for node, (box, _) in self.boxes.items() if node > self.body_node
        )
        return min(max(inner, default=0.0) + 8, float(self.height))

    def ancestors(self, node: int) -> Iterator[int]:
        """Yield the ancestors of a node, the nearest first."""
        while (node := self.nodes["parentIndex"][node]) >= 0:
            yield node

    def laid_out(self) -> Iterator[Node]:
        """Yield the nodes of the body that are laid out, parents before their children."""
        for number in sorted(self.boxes):
            if number >= self.body_node >= 0:
                yield Node(self, number)

    def texts(self) -> tuple[list[dict[str, Any]], list[tuple[str, int]]]:
        """Return the records of the text blocks, and a pair of text and block number for each text
        node, in document order.

        The block of a text node is its nearest ancestor with a computed size in pixels; the paper
        does not count "auto" as a size. Text nodes outside of such blocks are left out.
        """
        entries: dict[int, dict[str, Any]] = {}
        numbers: dict[int, int] = {}
        nodes: list[tuple[str, int]] = []
        for node in self.boxes:
            if self.nodes["nodeType"][node] != TEXT:
                continue
            text = self.string(self.nodes["nodeValue"][node])
            block = self._block_of(node)
            if block is None or not text.strip():
                continue
            if block not in entries:
                numbers[block] = len(entries)
                entries[block] = self._entry(block)
            entries[block]["text"].append(text)
            nodes.append((text, numbers[block]))
        return list(entries.values()), nodes

    def images(self) -> list[dict[str, Any]]:
        """Return the records of the images that are laid out."""
        records = []
        for node in self.boxes:
            if self.string(self.nodes["nodeName"][node]) == "IMG":
                entry, attributes = self._entry(node), self.attributes(node)
                del entry["text"]
                is_linked = any(step["name"] == "a" for step in entry["selector"])
                source = {name: attributes.get(name, "") for name in ("src", "alt")}
                records.append({**entry, **source, "linked": is_linked})
        return records

    def body(self) -> dict[str, Any]:
        """Return the record of the body: its box, the page's size, and its computed CSS."""
        computed = dict(zip(STYLES, map(self.string, self._body_styles), strict=False))
        size = {"width": self.width, "height": self.height}
        return {"bound": self._bound(self.body_node), "scroll": size, "computed": computed}

    def _block_of(self, node: int) -> int | None:
        """Return the nearest ancestor with a computed size; None outside of the body."""
        parents = self.nodes["parentIndex"]
        ancestor = parents[node]
        while ancestor >= 0 and ancestor != self.body_node:
            if ancestor in self.boxes and all(map(self._size, self.boxes[ancestor][1][:2])):
                return int(ancestor)
            ancestor = parents[ancestor]
        return int(ancestor) if ancestor == self.body_node and ancestor >= 0 else None

    def _size(self, number: int) -> float:
        value = self.string(number)
        return float(value[:-2]) if value.endswith("px") else 0.0

    def _entry(self, node: int) -> dict[str, Any]:
        """Return the record of a block: its path from the body, box, and CSS unlike the body's."""
        steps = []
        step_node = node
        while step_node >= 0 and step_node != self.body_node:
            attributes = self.attributes(step_node)
            classes = attributes.get("class", "").split()
            name = self.string(self.nodes["nodeName"][step_node]).lower()
            steps.append({"name": name, "id": attributes.get("id", ""), "classes": classes})
            step_node = self.nodes["parentIndex"][step_node]
        steps.reverse()
        styles = self.boxes[node][1]
        computed = {
            name: self.string(value)
            for name, value, body_value in zip(STYLES, styles, self._body_styles, strict=False)
            if value != body_value and name not in ("width", "height")
        }
        return {
            "element": steps[-1] if steps else {"name": "body", "id": "", "classes": []},
            "path": [step["name"] for step in steps],
            "selector": steps,
            "text": [],
            "bound": self._bound(node),
            "computed": computed,
        }

    def _bound(self, node: int) -> dict[str, int]:
        box = self.boxes[node][0] if node in self.boxes else (0, 0, 0, 0)
        return dict(zip(("left", "top", "width", "height"), map(round, box), strict=True))

    def attributes(self, node: int) -> dict[str, str]:
        """Return the attributes of an element."""
        strings = list(map(self.string, self.nodes["attributes"][node]))
        return dict(zip(strings[::2], strings[1::2], strict=True))


def page_record(
    snapshot: Snapshot, url: str, titles: Sequence[str], descriptions: Sequence[str]
) -> dict[str, Any]:
    """Return the record of a page, in the format of the published data."""
    return {
        "url": url,
        "titles": list(titles),
        "descriptions": list(descriptions),
        "body": snapshot.body(),
        "texts": snapshot.texts()[0],
        "images": snapshot.images(),
    }


def visuals_of(page: PageBlocks, snapshot: Snapshot) -> list[dict[str, str]]:
    """Return the CSS and box of each block of a page, {} for a block that the browser does not
    show. A block is matched to the text nodes with the same text, in reading order.
    """
    entries, nodes = snapshot.texts()
    visuals = [_visual(entry) for entry in entries]
    node_texts = [SPACE.sub("", text) for text, _ in nodes]
    starts, length = [], 0
    for text in node_texts:
        starts.append(length)
        length += len(text)
    whole = "".join(node_texts)
    block_visuals: list[dict[str, str]] = []
    end = 0
    for block in page.blocks:
        text = SPACE.sub("", block.text)
        start = _find(whole, text, end)
        if start < 0:
            block_visuals.append({})
            continue
        end = start + len(text)
        _, number = nodes[bisect_right(starts, start) - 1]
        block_visuals.append(visuals[number])
    return block_visuals


def _find(whole: str, text: str, begin: int) -> int:
    """Return where a text occurs first after *begin*, or else first of all; -1 if it does not."""
    if not text:
        return -1
    start = whole.find(text, begin)
    return start if start >= 0 else whole.find(text)


def _visual(entry: Mapping[str, Any]) -> dict[str, str]:
    box = {f"box {side}": str(entry["bound"][side]) for side in ("width", "height", "left", "top")}
    return {**entry["computed"], **box}
