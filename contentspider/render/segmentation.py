"""Visual units: the parts of a page that a person sees as one (VIPS, as Neha and Thomas use it,
2016).

The papers give two of VIPS' thirteen rules for dividing elements and no weights of separators. The
rules and numbers here are our own choice. VIPS merges blocks across the lightest separators first;
this module cuts them at the heaviest separators first (a recursive X-Y cut).
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from contentspider.render.elements import Box, Element, box_around

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PDOC = 6  # units with this degree of coherence or less are divided
# Degrees of coherence of blocks: with text only, with equal children, small ones, and others.
TEXT, ALIKE, SMALL, OTHER = 10, 8, 7, 5
MIN_PAGE_SHARE, MIN_PART_SHARE = 0.01, 0.05
HALF = 0.5
# Elements that form lists. Other elements form a list if they have the same tag and classes.
LISTED = frozenset("li tr dt dd p td th option".split())
TABLES = frozenset("table tbody tr".split())
GAPS = ((10, 1), (30, 2), (60, 3))  # widths of separators in pixels, and their weights
WIDE = 4  # the weight of a separator that is wider than all `GAPS`
# The weights that a separator gets for a line in it, and for differences between its two sides.
LINE, BACKGROUND, STYLE, LARGER, PLAIN = 3, 2, 2, 1, -2
# The weight that a separator gets beside or between columns of a page: blocks of different width
# beside each other that take `COLUMNS_SHARE` of the page. Blocks of like width are a gallery.
COLUMNS, COLUMNS_SHARE, COLUMNS_RATIO = 3, 0.2, 1.5
OVERLAP = 2.0  # pixels of overlap that still count as being apart
MAX_DEPTH = 200


@dataclass(slots=True)
class Unit:
    """A part of a page with its degree of coherence *doc* (1 to 10) and the units in it."""

    box: Box
    doc: int
    elements: list[Element]
    children: list[Unit] = field(default_factory=list)

    def walk(self) -> Iterator[Unit]:
        """Yield the unit and all units in it."""
        yield self
        for child in self.children:
            yield from child.walk()

    def leaves(self) -> Iterator[Unit]:
        """Yield the units below this unit that are not divided, or the unit itself."""
        return (unit for unit in self.walk() if not unit.children)


class _Block(NamedTuple):
    """An element that is not divided further, with its degree of coherence."""

    element: Element
    doc: int


class _Cut(NamedTuple):
    """A separator: *number* counts the blocks before it in the order of its axis."""

    weight: int
    is_horizontal: bool
    number: int


def visual_units(body: Element, pdoc: int = PDOC) -> Unit:
    """Return the tree of units of a page. Units with a degree of coherence of *pdoc* or less are
    divided if they can be.
    """
    return _unit(body, body.box.area, pdoc, 0)


def _unit(part: Element, page: float, pdoc: int, depth: int) -> Unit:
    """Return the unit of an element, divided if its degree of coherence is *pdoc* or less."""
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
    """Add the blocks of an element to *blocks*, and its <hr> elements to *lines*.

    A column is one block that is divided separately, because its elements do not belong to elements
    of other columns at the same height.
    """
    if element.tag == "hr":
        lines.append(element.box)
        return
    element = _innermost(element)
    inner = element.children
    doc = None if is_root else _coherence(element, part, page)
    if doc is None and is_column and inner:
        doc = OTHER
    if doc is not None or not inner:
        blocks.append(_Block(element, doc or TEXT))
        return
    columns = _columns(inner)
    for child in inner:
        _extract(child, part, page, blocks, lines, is_column=id(child) in columns)


def _innermost(element: Element) -> Element:
    """Return the first element inwards that is visible or has several children."""
    while len(element.children) == 1 and element.children[0].children and not element.is_seen:
        element = element.children[0]
    return element


def _columns(elements: Sequence[Element]) -> set[int]:
    """Return the ids (`id`) of the elements that are beside another element."""
    columns: set[int] = set()
    ordered = sorted(elements, key=lambda element: element.box.top)
    lowest = ordered[0]
    for element in ordered[1:]:
        box, other = element.box, lowest.box
        are_apart = max(box.left, other.left) >= min(box.right, other.right) - OVERLAP
        if are_apart and box.top < other.bottom - OVERLAP:
            columns |= {id(element), id(lowest)}
        if box.bottom > other.bottom:
            lowest = element
    return columns


def _coherence(element: Element, part: float, page: float) -> int | None:
    """Return the degree of coherence of an element, None if the element is to be divided. *part*
    and *page* are the areas of the part and the page that it belongs to.
    """
    children = _without_lines(element)
    inner = [child for child in children if child.tag]
    if not any(child.box.area > 1 for child in inner):
        return TEXT
    if element.tag in TABLES and _is_layout(element):
        return None
    if _is_list(element, children):
        return ALIKE
    area = element.box.area
    if area < max(MIN_PAGE_SHARE * page, MIN_PART_SHARE * part) and len(_kinds(children)) <= 2:
        return SMALL
    is_large = area > HALF * part and len(inner) > 1
    return OTHER if not is_large and _is_uniform(element, children) else None


def _without_lines(element: Element) -> list[Element]:
    return [child for child in element.children if child.tag != "hr"]


def _kinds(elements: Sequence[Element]) -> set[tuple[str, str]]:
    return {(element.tag, element.classes) for element in elements}


def _is_list(element: Element, children: Sequence[Element]) -> bool:
    """Tell whether an element's children are entries of a list, without lines between them."""
    has_line = len(children) < len(element.children)
    kinds = _kinds(children)
    if has_line or len(kinds) != 1 or len(children) < 2:
        return False
    ((tag, classes),) = kinds
    is_one_color = len({child.background for child in children}) == 1
    return tag in LISTED or (bool(classes) and is_one_color)


def _is_uniform(element: Element, children: Sequence[Element]) -> bool:
    """Tell whether an element has only elements in it, without lines, that look alike."""
    has_line = len(children) < len(element.children)
    if has_line or not all(child.tag for child in children):
        return False
    if any(child.background != element.background for child in children):
        return False
    styles = [child.style for child in children if child.chars]
    return not any(style.differs(other) for style, other in pairwise(styles))


def _is_layout(table: Element) -> bool:
    """Tell whether a table, or a part of a table, has block elements in its cells."""
    cells = (element for element in table.walk() if element.tag in ("td", "th"))
    return any(child.tag for cell in cells for child in cell.children)


def _cut(
    blocks: Sequence[_Block], lines: Sequence[Box], page: float, pdoc: int, depth: int
) -> Unit:
    """Return the unit of some blocks of a part, cut at the heaviest separators."""
    if len(blocks) == 1:
        return _single_unit(blocks[0], page, pdoc, depth)
    box = box_around(block.element.box for block in blocks)
    elements = [block.element for block in blocks]
    cuts = _weighed_separators(blocks, lines, page)
    if not cuts or depth > MAX_DEPTH:
        return Unit(box, min(block.doc for block in blocks), elements)
    heaviest = max(cuts)
    # Blocks that are to be divided are not in one unit with others, however close they are.
    doc = min([max(10 - heaviest.weight, 1), *(block.doc for block in blocks)])
    if doc > pdoc:
        return Unit(box, doc, elements)
    groups = _groups(blocks, [cut for cut in cuts if cut[:2] == heaviest[:2]])
    children = [_cut(group, lines, page, pdoc, depth + 1) for group in groups]
    # Elements may have heavier separators in them.
    return Unit(box, min([doc, *(child.doc for child in children)]), elements, children)


def _weighed_separators(blocks: Sequence[_Block], lines: Sequence[Box], page: float) -> list[_Cut]:
    """Return all separators of some blocks; those at the sides of columns weigh more."""
    rows, columns = (list(_separators(blocks, lines, axis)) for axis in (True, False))
    if not rows:
        added = COLUMNS if _are_columns(blocks, columns, page) else 0
        return [cut._replace(weight=cut.weight + added) for cut in columns]
    has_columns = []
    for group in _groups(blocks, rows):
        inner = list(_separators(group, lines, False)) if len(group) > 1 else []
        has_columns.append(_are_columns(group, inner, page))
    weighed = [
        cut._replace(weight=cut.weight + COLUMNS) if above != below else cut
        for cut, (above, below) in zip(rows, pairwise(has_columns), strict=True)
    ]
    return [*weighed, *columns]


def _are_columns(blocks: Sequence[_Block], cuts: Sequence[_Cut], page: float) -> bool:
    """Tell whether blocks between vertical separators are columns of a page."""
    if not cuts:
        return False
    groups = [[block.element for block in group] for group in _groups(blocks, cuts)]
    if not all(any(element.chars for element in group) for group in groups):
        return False
    boxes = [box_around(element.box for element in group) for group in groups]
    widths = [box.right - box.left for box in boxes]
    is_large = box_around(boxes).area >= COLUMNS_SHARE * page
    return is_large and max(widths) > COLUMNS_RATIO * min(widths)


def _single_unit(block: _Block, page: float, pdoc: int, depth: int) -> Unit:
    """Return the unit of one block, which is divided if its degree of coherence is low."""
    element = block.element
    if block.doc <= pdoc and element.children:
        inner = _unit(element, page, pdoc, depth + 1)
        if inner.children:
            return Unit(element.box, inner.doc, [element], inner.children)
    return Unit(element.box, block.doc, [element])


def _ordered(blocks: Sequence[_Block], is_horizontal: bool) -> list[_Block]:
    """Return the blocks in the order of an axis."""
    side = 1 if is_horizontal else 0
    return sorted(blocks, key=lambda block: block.element.box[side])


def _groups(blocks: Sequence[_Block], cuts: Sequence[_Cut]) -> list[list[_Block]]:
    """Return the blocks between *cuts* on one axis, in the order of the axis. No group is empty."""
    ordered = _ordered(blocks, cuts[0].is_horizontal)
    ends = [0, *sorted(cut.number for cut in cuts), len(ordered)]
    return [ordered[begin:end] for begin, end in pairwise(ends)]


def _separators(
    blocks: Sequence[_Block], lines: Sequence[Box], is_horizontal: bool
) -> Iterator[_Cut]:
    """Yield the separators on one axis that run through all of the blocks."""
    side = 1 if is_horizontal else 0
    ordered = [block.element for block in _ordered(blocks, is_horizontal)]
    lines = _crossing(lines, box_around(element.box for element in ordered))
    end = ordered[0].box[side + 2]
    above = [ordered[0]]  # the elements that end at *end*
    for number, element in enumerate(ordered[1:], 1):
        begin = element.box[side]
        if begin >= end - OVERLAP:
            below_end = bisect_right(ordered, begin + OVERLAP, key=lambda below: below.box[side])
            below = ordered[number:below_end]
            weight = _gap_weight(begin - end)
            weight += _difference(above[-1], below[0], is_horizontal)
            if is_horizontal and _is_ruled([*above, *below], lines, end, begin):
                weight += LINE
            yield _Cut(max(weight, 1), is_horizontal, number)
        if element.box[side + 2] > end + OVERLAP:
            above = []
        if element.box[side + 2] >= end - OVERLAP:
            above.append(element)
            end = max(end, element.box[side + 2])


def _crossing(lines: Sequence[Box], around: Box) -> list[Box]:
    """Return the horizontal lines that have a part between the sides of a box."""
    return [line for line in lines if line.left < around.right and line.right > around.left]


def _is_ruled(
    neighbours: Sequence[Element], lines: Sequence[Box], top: float, bottom: float
) -> bool:
    """Tell whether there is a line between *top* and *bottom*, or a border of a neighbour."""
    if any(neighbour.is_bordered for neighbour in neighbours):
        return True
    return any(top - OVERLAP <= line.top <= bottom + OVERLAP for line in lines)


def _gap_weight(width: float) -> int:
    return next((weight for most, weight in GAPS if width <= most), WIDE)


def _difference(before: Element, after: Element, is_horizontal: bool) -> int:
    """Return the weight that the backgrounds and fonts beside a separator add to it."""
    is_colored = before.background != after.background
    is_styled = bool(before.chars and after.chars) and before.style.differs(after.style)
    weight = 0
    if is_colored:
        weight += BACKGROUND
    if is_styled:
        weight += STYLE
        if is_horizontal and after.style.size > before.style.size:
            weight += LARGER
    if not (is_colored or is_styled or before.children or after.children):
        weight += PLAIN
    return weight
