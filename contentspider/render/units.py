"""Visual units: what a person sees as one piece of a page (VIPS, as Neha and Thomas use it, 2016).

The sources name two of the thirteen rules by which VIPS divides elements, and no weight of a
separator: the rules and numbers here are a reading of it. Blocks are cut apart at the heaviest
separators first (a recursive X-Y cut), where VIPS merges them across the lightest ones first.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from contentspider.render.elements import Box, Element, box_around

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PDOC = 6  # units of this coherence or less are divided
TEXT, ALIKE, SMALL, OTHER = 10, 8, 7, 5  # the degree of coherence of a block, by what stopped it
MIN_PAGE_SHARE, MIN_PART_SHARE = 0.01, 0.05
HALF = 0.5
# Elements that are lists by themselves; others are if they have a class in common.
LISTED = frozenset("li tr dt dd p td th option".split())
TABLES = frozenset("table tbody tr".split())
GAPS = ((10, 1), (30, 2), (60, 3))  # a separator's weight by its width in pixels
WIDE = 4
LINE, BACKGROUND, STYLE, LARGER, PLAIN = 3, 2, 2, 1, -2
OVERLAP = 2.0  # so many pixels of two boxes may overlap
MAX_DEPTH = 200


@dataclass(slots=True)
class Unit:
    """A part of a page with its degree of coherence, *doc* (1 to 10), and the units in it."""

    box: Box
    doc: int
    elements: list[Element]
    children: list[Unit] = field(default_factory=list)

    def walk(self) -> Iterator[Unit]:
        """Yield the unit and all that are in it."""
        yield self
        for child in self.children:
            yield from child.walk()

    def leaves(self) -> Iterator[Unit]:
        """Yield the units in it that are not divided."""
        return (unit for unit in self.walk() if not unit.children)


class _Block(NamedTuple):
    element: Element
    doc: int


class _Cut(NamedTuple):
    """A separator: where the blocks before it end, and after it begin; on which axis."""

    weight: int
    is_horizontal: bool
    at: float


def visual_units(body: Element, pdoc: int = PDOC) -> Unit:
    """Return the tree of units of a page; units with a degree of coherence of *pdoc* or less are
    divided where they can be.
    """
    return _unit(body, body.box.area, pdoc, 0)


def _unit(part: Element, page: float, pdoc: int, depth: int) -> Unit:
    blocks: list[_Block] = []
    lines: list[Box] = []
    _extract(part, part.box.area, page, blocks, lines, is_root=True)
    blocks = [block for block in blocks if block.element is not part]
    if len(blocks) < 2 or depth > MAX_DEPTH:
        if len(blocks) == 1 and blocks[0].doc <= pdoc and depth <= MAX_DEPTH:
            return _unit(blocks[0].element, page, pdoc, depth + 1)
        return Unit(part.box, blocks[0].doc if blocks else TEXT, [part])
    return _cut(blocks, lines, page, pdoc, depth)


def _extract(
    element: Element,
    part: float,
    page: float,
    blocks: list[_Block],
    lines: list[Box],
    is_root: bool = False,
    is_column: bool = False,
) -> None:
    """Put the blocks of an element into *blocks*, and the lines that stand for nothing else.

    A column is a block, and is divided by itself: what is in it has nothing to do with what stands
    at the same height beside it.
    """
    if element.tag == "hr":
        lines.append(element.box)
        return
    inner = element.children
    while len(inner) == 1 and inner[0].children and not element.is_seen:
        element, inner = inner[0], inner[0].children
    doc = None if is_root else _coherence(element, part, page)
    if doc is None and is_column and inner:
        doc = OTHER
    if doc is not None or not inner:
        blocks.append(_Block(element, doc or TEXT))
        return
    columns = _columns(inner)
    for child in inner:
        _extract(child, part, page, blocks, lines, is_column=id(child) in columns)


def _columns(elements: Sequence[Element]) -> set[int]:
    """Return (as `id`) those elements that stand beside another one."""
    found: set[int] = set()
    ordered = sorted(elements, key=lambda one: one.box.top)
    lowest = ordered[0]
    for one in ordered[1:]:
        apart = max(one.box.left, lowest.box.left) >= min(one.box.right, lowest.box.right) - OVERLAP
        if apart and one.box.top < lowest.box.bottom - OVERLAP:
            found |= {id(one), id(lowest)}
        if one.box.bottom > lowest.box.bottom:
            lowest = one
    return found


def _coherence(element: Element, part: float, page: float) -> int | None:
    """Return the degree of coherence of an element that is not divided, None of one that is."""
    children = [child for child in element.children if child.tag != "hr"]
    inner = [child for child in children if child.tag]
    has_line = len(children) < len(element.children)
    if not any(child.box.area > 1 for child in inner):
        return TEXT
    area = element.box.area
    is_large = area > HALF * part and len(inner) > 1
    kinds = Counter((child.tag, child.classes) for child in children)
    if element.tag in TABLES and _is_layout(element):
        return None
    if len(kinds) == 1 and len(children) > 1 and not has_line:
        (tag, classes), _ = next(iter(kinds.items()))
        is_one_color = len({child.background for child in children}) == 1
        if tag in LISTED or (classes and is_one_color):
            return ALIKE
    is_small = area < MIN_PAGE_SHARE * page or area < MIN_PART_SHARE * part
    if is_small and len(kinds) <= 2:
        return SMALL
    styles = [child.style for child in children if child.chars]
    if (
        has_line
        or is_large
        or len(inner) < len(children)
        or any(child.background != element.background for child in children)
        or any(one.differs(other) for one, other in pairwise(styles))
    ):
        return None
    return OTHER


def _is_layout(table: Element) -> bool:
    """Tell whether a table, or a part of one, has block elements in its cells."""
    cells = (found for found in table.walk() if found.tag in ("td", "th"))
    return any(child.tag for cell in cells for child in cell.children)


def _cut(
    blocks: Sequence[_Block], lines: Sequence[Box], page: float, pdoc: int, depth: int
) -> Unit:
    """Return the unit of some blocks of a part, cut at the heaviest separators."""
    box = box_around(block.element.box for block in blocks)
    elements = [block.element for block in blocks]
    if len(blocks) == 1:
        found = blocks[0]
        if found.doc <= pdoc and found.element.children:
            inner = _unit(found.element, page, pdoc, depth + 1)
            if inner.children:
                return Unit(found.element.box, inner.doc, elements, inner.children)
        return Unit(box, found.doc, elements)
    cuts = [*_separators(blocks, lines, True), *_separators(blocks, lines, False)]
    if not cuts:
        return Unit(box, min(block.doc for block in blocks), elements)
    heaviest = max(cuts)
    doc = max(10 - heaviest.weight, 1)
    if doc > pdoc:
        return Unit(box, doc, elements)
    places = [
        cut.at
        for cut in cuts
        if (cut.weight, cut.is_horizontal) == (heaviest.weight, heaviest.is_horizontal)
    ]
    side = 1 if heaviest.is_horizontal else 0
    groups: dict[int, list[_Block]] = {}
    for block in blocks:
        middle = (block.element.box[side] + block.element.box[side + 2]) / 2
        groups.setdefault(sum(middle > at for at in places), []).append(block)
    children = [_cut(groups[key], lines, page, pdoc, depth + 1) for key in sorted(groups)]
    return Unit(box, doc, elements, children)


def _separators(
    blocks: Sequence[_Block], lines: Sequence[Box], is_horizontal: bool
) -> Iterator[_Cut]:
    """Yield the separators that run through the whole of some blocks."""
    side = 1 if is_horizontal else 0
    ordered = sorted((block.element for block in blocks), key=lambda found: found.box[side])
    begins = [found.box[side] for found in ordered]
    around = box_around(found.box for found in ordered)
    end = ordered[0].box[side + 2]
    above = [ordered[0]]  # those that end there
    for number, element in enumerate(ordered[1:], 1):
        begin = element.box[side]
        if begin >= end - OVERLAP:
            below = ordered[number : bisect_right(begins, begin + OVERLAP)]
            is_ruled = is_horizontal and (
                any(found.is_bordered for found in (*above, *below))
                or any(
                    end - OVERLAP <= line.top <= begin + OVERLAP
                    and line.left < around.right
                    and line.right > around.left
                    for line in lines
                )
            )
            weight = _gap_weight(begin - end) + LINE * is_ruled
            weight += _difference(above[-1], below[0], is_horizontal)
            yield _Cut(max(weight, 1), is_horizontal, (begin + end) / 2)
        if element.box[side + 2] > end + OVERLAP:
            above = []
        if element.box[side + 2] >= end - OVERLAP:
            above.append(element)
            end = max(end, element.box[side + 2])


def _gap_weight(width: float) -> int:
    return next((weight for most, weight in GAPS if width <= most), WIDE)


def _difference(before: Element, after: Element, is_horizontal: bool) -> int:
    """Return what the looks of both sides of a separator add to its weight."""
    is_colored = before.background != after.background
    is_set_apart = bool(before.chars and after.chars) and before.style.differs(after.style)
    weight = BACKGROUND * is_colored + STYLE * is_set_apart
    if is_set_apart and is_horizontal and after.style.size > before.style.size:
        weight += LARGER
    is_plain = not before.children and not after.children and not is_colored
    return weight + (PLAIN if is_plain and not is_set_apart else 0)
