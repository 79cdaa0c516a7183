"""What a page looks like: each text's box and computed CSS, from the browser's own snapshot.

The record of a page has the form of the data that Zhou and Mashuq published (2013), so that both
are read by one reader: ``url``, ``titles``, ``descriptions``, ``body``, ``texts`` and ``images``.
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
# Those of which the published pages have values that differ from the body's.
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
STYLE_AT = {name: at for at, name in enumerate(STYLES)}
TEXT = 3
SPACE = re.compile(r"\s+")


class Node:
    """A laid-out node of a snapshot: an element or a text, its box and computed CSS."""

    def __init__(self, snapshot: Snapshot, number: int) -> None:
        self.number = number
        self._snapshot = snapshot
        nodes = snapshot.nodes
        self.is_text = nodes["nodeType"][number] == TEXT
        self.tag = snapshot.string(nodes["nodeName"][number]).lower()
        self.text = snapshot.string(nodes["nodeValue"][number])
        (left, top, width, height), self._styles = snapshot.boxes[number]
        self.box = (left, top, left + width, top + height)

    def style(self, name: str) -> str:
        """Return the computed value of a property."""
        at = STYLE_AT[name]
        return self._snapshot.string(self._styles[at]) if at < len(self._styles) else ""

    def pixels(self, name: str) -> float:
        """Return the computed value of a property in pixels, 0 if it is none."""
        value = self.style(name)
        return float(value[:-2]) if value.endswith("px") else 0.0

    @property
    def classes(self) -> str:
        """Return the element's classes."""
        return self._snapshot.attributes(self.number).get("class", "")

    @property
    def is_hidden(self) -> bool:
        """Tell whether it takes room but is not seen."""
        return self.style("visibility") == "hidden"


class Snapshot:
    """The laid-out nodes of a page, from what the DevTools protocol's `COMMAND` answers."""

    def __init__(self, answer: Mapping[str, Any]) -> None:
        document = answer["documents"][0]
        self.strings: list[str] = answer["strings"]
        self.nodes: dict[str, Any] = document["nodes"]
        layout = document["layout"]
        # By node: a ::marker shares the number of its element, whose box comes first.
        self.boxes: dict[int, tuple[Sequence[float], Sequence[int]]] = {}
        for node, bounds, styles in zip(
            layout["nodeIndex"], layout["bounds"], layout["styles"], strict=True
        ):
            self.boxes.setdefault(node, (bounds, styles))
        self.width, self.height = document["contentWidth"], document["contentHeight"]
        names = enumerate(self.nodes["nodeName"])
        self.body_node = next((at for at, name in names if self.string(name) == "BODY"), -1)
        self._body_styles = self.boxes[self.body_node][1] if self.body_node in self.boxes else ()

    def string(self, number: int) -> str:
        """Return the string with a number, empty for -1."""
        return self.strings[number] if number >= 0 else ""

    @property
    def bottom(self) -> float:
        """Return where the lowest box ends: a page is at least as high as its window."""
        inner = (
            float(box[1] + box[3]) for node, (box, _) in self.boxes.items() if node > self.body_node
        )
        return min(max(inner, default=0.0) + 8, float(self.height))

    def above(self, node: int) -> Iterator[int]:
        """Yield the nodes around a node, the nearest first."""
        while (node := self.nodes["parentIndex"][node]) >= 0:
            yield node

    def laid_out(self) -> Iterator[Node]:
        """Yield the nodes of the body that are laid out, an element before what is in it."""
        for number in sorted(self.boxes):
            if number >= self.body_node >= 0:
                yield Node(self, number)

    def texts(self) -> tuple[list[dict[str, Any]], list[tuple[str, int]]]:
        """Return the records of the blocks, and each text node with the number of its block, in
        document order.

        A text node's block is its nearest ancestor that has a computed size (papers: "auto" is
        none); text nodes that are not laid out, or in no such box, are left out.
        """
        found: dict[int, dict[str, Any]] = {}
        numbers: dict[int, int] = {}
        nodes: list[tuple[str, int]] = []
        for node in self.boxes:
            if self.nodes["nodeType"][node] != TEXT:
                continue
            text = self.string(self.nodes["nodeValue"][node])
            block = self._block_of(node)
            if block is None or not text.strip():
                continue
            if block not in found:
                numbers[block] = len(found)
                found[block] = self._entry(block)
            found[block]["text"].append(text)
            nodes.append((text, numbers[block]))
        return list(found.values()), nodes

    def images(self) -> list[dict[str, Any]]:
        """Return the records of the pictures that are laid out."""
        found = []
        for node in self.boxes:
            if self.string(self.nodes["nodeName"][node]) == "IMG":
                entry, attributes = self._entry(node), self.attributes(node)
                del entry["text"]
                linked = any(step["name"] == "a" for step in entry["selector"])
                said = {name: attributes.get(name, "") for name in ("src", "alt")}
                found.append({**entry, **said, "linked": linked})
        return found

    def body(self) -> dict[str, Any]:
        """Return the record of the body: its box, the page's size, and its computed CSS."""
        computed = dict(zip(STYLES, map(self.string, self._body_styles), strict=False))
        size = {"width": self.width, "height": self.height}
        return {"bound": self._bound(self.body_node), "scroll": size, "computed": computed}

    def _block_of(self, node: int) -> int | None:
        """Return the nearest ancestor with a computed size, None if there is none in the body."""
        parents = self.nodes["parentIndex"]
        at = parents[node]
        while at >= 0 and at != self.body_node:
            if at in self.boxes and all(map(self._size, self.boxes[at][1][:2])):
                return int(at)
            at = parents[at]
        return int(at) if at == self.body_node and at >= 0 else None

    def _size(self, number: int) -> float:
        value = self.string(number)
        return float(value[:-2]) if value.endswith("px") else 0.0

    def _entry(self, node: int) -> dict[str, Any]:
        steps = []
        at = node
        while at >= 0 and at != self.body_node:
            attributes = self.attributes(at)
            classes = attributes.get("class", "").split()
            name = self.string(self.nodes["nodeName"][at]).lower()
            steps.append({"name": name, "id": attributes.get("id", ""), "classes": classes})
            at = self.nodes["parentIndex"][at]
        steps.reverse()
        styles = self.boxes[node][1]
        computed = {
            name: self.string(value)
            for name, value, usual in zip(STYLES, styles, self._body_styles, strict=False)
            if value != usual and name not in ("width", "height")
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
        found = list(map(self.string, self.nodes["attributes"][node]))
        return dict(zip(found[::2], found[1::2], strict=True))


def page_record(
    snapshot: Snapshot, url: str, titles: Sequence[str], descriptions: Sequence[str]
) -> dict[str, Any]:
    """Return the record of a page, in the form of the published data."""
    return {
        "url": url,
        "titles": list(titles),
        "descriptions": list(descriptions),
        "body": snapshot.body(),
        "texts": snapshot.texts()[0],
        "images": snapshot.images(),
    }


def visuals_of(page: PageBlocks, snapshot: Snapshot) -> list[dict[str, str]]:
    """Return for each block of a page what the browser shows of it, empty for what it does not: the
    block whose text nodes the same text is in, found in reading order.
    """
    entries, nodes = snapshot.texts()
    seen = [_visual(entry) for entry in entries]
    squeezed = [SPACE.sub("", text) for text, _ in nodes]
    starts, length = [], 0
    for text in squeezed:
        starts.append(length)
        length += len(text)
    whole = "".join(squeezed)
    found: list[dict[str, str]] = []
    last = 0
    for block in page.blocks:
        text = SPACE.sub("", block.text)
        at = whole.find(text, last) if text else -1
        at = at if at >= 0 or not text else whole.find(text)
        if at < 0:
            found.append({})
            continue
        last = at + len(text)
        found.append(seen[nodes[bisect_right(starts, at) - 1][1]])
    return found


def _visual(entry: Mapping[str, Any]) -> dict[str, str]:
    box = {f"box {side}": str(entry["bound"][side]) for side in ("width", "height", "left", "top")}
    return {**entry["computed"], **box}
