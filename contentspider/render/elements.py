"""The visible elements of a rendered page, as a tree of boxes with their styles."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from contentspider.render.snapshot import Node, Snapshot

INLINE = frozenset("inline inline-block inline-flex inline-grid ruby contents none".split())
MAX_DEPTH = 300
CLEAR = ("transparent", "rgba(0, 0, 0, 0)", "")


class Box(NamedTuple):
    """A box, in pixels from the page's upper left corner."""

    left: float
    top: float
    right: float
    bottom: float

    @property
    def area(self) -> float:
        """The area of the box in square pixels."""
        return max(self.right - self.left, 0.0) * max(self.bottom - self.top, 0.0)


def box_around(boxes: Iterable[Box]) -> Box:
    """Return the smallest box around *boxes*."""
    lefts, tops, rights, bottoms = zip(*boxes, strict=True)
    return Box(min(lefts), min(tops), max(rights), max(bottoms))


class Style(NamedTuple):
    """A font: its size in pixels and its weight (400 is normal, 700 is bold)."""

    size: float
    weight: float

    def differs(self, other: Style, ratio: float = 1.2) -> bool:
        """Tell whether one font is larger by *ratio*, or bold where the other is not."""
        low, high = sorted((self.size, other.size))
        return high > ratio * low or abs(self.weight - other.weight) >= 200


@dataclass(slots=True)
class Element:
    """An element with its box, or (with an empty *tag*) a run of text and inline elements."""

    tag: str
    classes: str
    box: Box
    background: str  # its own, or the nearest one around it if its own is transparent
    is_bordered: bool  # it has a border above or below, or is an <hr>
    is_seen: bool  # it has a visible background or border of its own
    is_inline: bool
    style: Style  # the font of its first text
    chars: int = 0
    children: list[Element] = field(default_factory=list)

    def walk(self) -> Iterator[Element]:
        """Yield the element and all elements in it, in reading order."""
        yield self
        for child in self.children:
            yield from child.walk()


def read_elements(snapshot: Snapshot) -> Element | None:
    """Return the body of a page with its visible elements; None if the body is not laid out.

    Hidden and transparent elements and elements without an area are left out, with all elements in
    them. Larger elements in an element without an area (floats in a box of no height) stay. Text
    and inline elements between block elements become one child.
    """
    elements: dict[int, Element] = {}
    depths: dict[int, int] = {}
    transparent: set[int] = set()  # unlike hidden elements, they hide all elements in them
    for node in snapshot.laid_out():
        ancestors = snapshot.ancestors(node.number)
        above = next((at for at in ancestors if at in elements or at in transparent), -1)
        if above in transparent or node.style("opacity") == "0":
            transparent.add(node.number)
            continue
        parent = elements.get(above)
        if node.is_text:
            if parent is not None:
                _add_text(parent, node)
            continue
        depth = depths.get(above, 0) + 1
        # The children of a hidden or too deep element belong to the element around it.
        if node.is_hidden or depth > MAX_DEPTH:
            continue
        element = _element(node, parent)
        elements[node.number], depths[node.number] = element, depth
    body = elements.get(snapshot.body_node)
    return _tidy(body) if body is not None else None


def _add_text(parent: Element, node: Node) -> None:
    """Add a text node to its element as a run of text."""
    text = node.text.strip()
    if not text or node.is_hidden:
        return
    box, background, style = Box(*node.box), parent.background, parent.style
    parent.children.append(Element("", "", box, background, False, False, True, style, len(text)))


def _element(node: Node, parent: Element | None) -> Element:
    """Return the element of a node, which becomes a child of its parent."""
    own_background = node.style("background-color")
    if node.style("background-image") not in ("none", ""):
        own_background += node.style("background-image")
    background = own_background
    if own_background in CLEAR and parent is not None:
        background = parent.background
    is_bordered = any(node.pixels(f"border-{side}-width") for side in ("top", "bottom"))
    element = Element(
        node.tag,
        node.classes,
        Box(*node.box),
        background,
        node.tag == "hr" or is_bordered,
        is_bordered or parent is None or background != parent.background,
        node.style("display") in INLINE and node.tag != "img",
        Style(node.pixels("font-size"), _weight(node.style("font-weight"))),
    )
    if parent is not None:
        parent.children.append(element)
    return element


def _weight(value: str) -> float:
    try:
        return float(value)
    except ValueError:
        return 700.0 if value == "bold" else 400.0


def _tidy(element: Element) -> Element | None:
    """Merge runs of inline children in an element, and remove invisible elements. Return None for
    an element that is invisible itself.
    """
    children = _merged_children(element)
    element.children = children
    element.chars = sum(child.chars for child in children)
    element.style = next((child.style for child in children if child.chars), element.style)
    if not children:
        is_visible = element.box.area >= 1 or element.tag == "hr"
        return element if is_visible else None
    # Only the children of an invisible box can be seen: its box is the box around them.
    has_only_elements = all(child.tag for child in children)
    if element.box.area < 1 or (has_only_elements and not element.is_seen):
        element.box = box_around(child.box for child in children)
    return element


def _merged_children(element: Element) -> list[Element]:
    """Return the visible children of an element, with each run of inline children as one."""
    children: list[Element] = []
    run: list[Element] = []
    for child in element.children:
        if _is_run(child):
            run.append(child)
            continue
        children.extend(_merged(element, run))
        run = []
        visible = _tidy(child)
        if visible is not None:
            children.append(visible)
    children.extend(_merged(element, run))
    return children


def _is_run(element: Element) -> bool:
    """Tell whether an element belongs to a line of text: it is inline, as are all its children."""
    return element.is_inline and all(map(_is_run, element.children))


def _merged(parent: Element, run: list[Element]) -> list[Element]:
    """Return one element for a run of inline elements; none for a run without text."""
    parts = [part for element in run for part in element.walk() if part.box.area >= 1]
    chars = sum(part.chars for part in parts)
    if not parts or not chars:
        return []
    style = next(part.style for part in parts if part.chars)
    box = box_around(part.box for part in parts)
    return [Element("", "", box, parent.background, False, False, True, style, chars)]
