"""Where a rendered block stands on its page: the features of a thesis, from boxes in pixels."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from contentspider.page.tree.blocks import PageBlocks

# An edge is touched within so many pixels.
TOUCHES = 2.0
# Shares of the page's height, or of its characters, above and below which a block is at its edge.
TOP, BOTTOM = 0.03, 0.97


class Box(NamedTuple):
    """A box, in pixels from the page's upper left corner."""

    left: float
    top: float
    right: float
    bottom: float


class Geometry(NamedTuple):
    """Where a box stands: its edges in shares of the page's height; whether it crosses the page's
    vertical middle line, or else touches a side; its area in square pixels.
    """

    normalized_top: float
    normalized_bottom: float
    is_middle: bool
    is_leftmost: bool
    is_rightmost: bool
    rect_size: float

    @property
    def is_on_side(self) -> bool:
        """Tell whether the box touches a side."""
        return self.is_leftmost or self.is_rightmost

    @property
    def is_uppermost_or_bottommost(self) -> bool:
        """Tell whether the box is at the upper or lower edge."""
        return self.normalized_top < TOP or self.normalized_bottom > BOTTOM


def read_boxes(page: PageBlocks) -> list[Box]:
    """Return the box of each block of a rendered page; an empty one if the block is not shown."""
    found = []
    for visual in page.visuals:
        if not visual:
            found.append(Box(0, 0, 0, 0))
            continue
        left, top = float(visual["box left"]), float(visual["box top"])
        width, height = float(visual["box width"]), float(visual["box height"])
        found.append(Box(left, top, left + width, top + height))
    return found


def box_around(boxes: Sequence[Box]) -> Box:
    """Return the smallest box around *boxes*."""
    lefts, tops, rights, bottoms = zip(*boxes, strict=True)
    return Box(min(lefts), min(tops), max(rights), max(bottoms))


def page_box(page: PageBlocks, boxes: Sequence[Box]) -> Box:
    """Return the box of a rendered page, with margins and pictures, from its upper left corner. If
    the size of the page is unknown, the box ends with the *boxes* of its blocks.
    """
    width, height = page.extent
    if width > 0 and height > 0:
        return Box(0, 0, width, height)
    around = box_around(boxes)
    return Box(0, 0, around.right, around.bottom)


def geometry(box: Box, page: Box) -> Geometry:
    """Return where a box stands on a page, which begins at 0, 0."""
    height, middle = max(page.bottom, 1.0), page.right / 2
    is_middle = box.left < middle < box.right
    return Geometry(
        box.top / height,
        box.bottom / height,
        is_middle,
        box.left <= TOUCHES and not is_middle,
        box.right >= page.right - TOUCHES and not is_middle,
        (box.right - box.left) * (box.bottom - box.top),
    )
