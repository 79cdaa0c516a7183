"""The elements of a page as they are laid out: a tree of boxes with what tells them apart."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from contentspider.render.probe import Snapshot

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
        """Return the box's area, in square pixels."""
        return max(self.right - self.left, 0.0) * max(self.bottom - self.top, 0.0)


def box_around(boxes: Iterable[Box]) -> Box:
    """Return the smallest box around some."""
    lefts, tops, rights, bottoms = zip(*boxes, strict=True)
    return Box(min(lefts), min(tops), max(rights), max(bottoms))


class Style(NamedTuple):
    """How text is set: its size in pixels, and its weight (400 is normal)."""

    size: float
    weight: float

    def differs(self, other: Style, ratio: float = 1.2) -> bool:
        """Tell whether one is larger by so much, or bold where the other is not."""
        low, high = sorted((self.size, other.size))
        return high > ratio * low or abs(self.weight - other.weight) >= 200


@dataclass(slots=True)
class Element:
    """An element with a box, or (*tag* empty) a run of text and inline elements in one."""

    tag: str
    classes: str
    box: Box
    background: str  # as it is seen: that of the elements around it, if it has none
    is_bordered: bool  # above or below, or it is a line itself
    is_seen: bool  # by a background or a border of its own
    is_inline: bool
    style: Style  # of its first text
    chars: int = 0
    children: list[Element] = field(default_factory=list)

    def walk(self) -> Iterator[Element]:
        """Yield the element and all that is in it, in reading order."""
        yield self
        for child in self.children:
            yield from child.walk()


def read_elements(snapshot: Snapshot) -> Element | None:
    """Return the body of a page with all that is seen in it; None if nothing is.

    Elements without an area, hidden and transparent ones are left out with what is in them, but for
    what is larger than they are (floats in a box of no height). Text and inline elements between
    block elements are a child of their own.
    """
    found: dict[int, Element] = {}
    depths: dict[int, int] = {}
    clear: set[int] = set()  # they hide what is in them, other than hidden ones do
    for node in snapshot.laid_out():
        above = next((at for at in snapshot.above(node.number) if at in found or at in clear), -1)
        if above in clear or node.style("opacity") == "0":
            clear.add(node.number)
            continue
        parent = found.get(above)
        style = Style(node.pixels("font-size"), _weight(node.style("font-weight")))
        if node.is_text:
            if parent is None or not node.text.strip() or node.is_hidden:
                continue
            box = Box(*node.box)
            chars = len(node.text.strip())
            run = Element("", "", box, parent.background, False, False, True, parent.style, chars)
            parent.children.append(run)
            continue
        depth = depths.get(above, 0) + 1
        if node.is_hidden or depth > MAX_DEPTH:  # what is in it belongs to the element around it
            continue
        own = node.style("background-color")
        if node.style("background-image") not in ("none", ""):
            own += node.style("background-image")
        seen = parent.background if own in CLEAR and parent is not None else own
        is_bordered = any(node.pixels(f"border-{side}-width") for side in ("top", "bottom"))
        element = Element(
            node.tag,
            node.classes,
            Box(*node.box),
            seen,
            node.tag == "hr" or is_bordered,
            is_bordered or parent is None or seen != parent.background,
            node.style("display") in INLINE and node.tag != "img",
            style,
        )
        if parent is not None:
            parent.children.append(element)
        found[node.number], depths[node.number] = element, depth
    body = found.get(snapshot.body_node)
    return _tidy(body) if body is not None else None


def _weight(value: str) -> float:
    try:
        return float(value)
    except ValueError:
        return 700.0 if value == "bold" else 400.0


def _tidy(element: Element) -> Element | None:
    """Return the element with runs of inline children as one, and without what is not seen."""
    children: list[Element] = []
    run: list[Element] = []
    for child in [*element.children, None]:
        if child is not None and _is_run(child):
            run.append(child)
            continue
        if run:
            children.extend(_joined(element, run))
            run = []
        if child is not None and (kept := _tidy(child)) is not None:
            children.append(kept)
    element.children = children
    element.chars = sum(child.chars for child in children)
    texts = [child.style for child in children if child.chars]
    element.style = texts[0] if texts else element.style
    inner = [child.box for child in children if child.tag]
    if element.box.area < 1 and not children:
        return element if element.tag == "hr" else None
    # Of a box that is not seen, a person sees what is in it.
    if element.box.area < 1 or (len(inner) == len(children) > 0 and not element.is_seen):
        element.box = box_around(child.box for child in children)
    return element


def _is_run(element: Element) -> bool:
    """Tell whether an element is of a line of text: inline, with nothing but such in it."""
    return element.is_inline and all(map(_is_run, element.children))


def _joined(parent: Element, run: list[Element]) -> list[Element]:
    parts = [part for one in run for part in one.walk() if part.box.area >= 1]
    chars = sum(part.chars for part in parts)
    if not parts or not chars:
        return []
    style = next(part.style for part in parts if part.chars)
    box = box_around(part.box for part in parts)
    return [Element("", "", box, parent.background, False, False, True, style, chars)]
