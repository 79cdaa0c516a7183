"""The pictures of a page as rows of the data set: each ``img`` with the elements around it."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lxml import etree

from contentspider.site.images import picture_size
from contentspider_research.features.geometry import Box, geometry
from contentspider_research.rendered import step_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from lxml.etree import _Element

    from contentspider.page.tree.blocks import PageBlocks
    from contentspider_research.dataset.elements import Node
    from contentspider_research.dataset.sources import Read

# Attributes with the address of a picture that a script loads, and with several of one picture.
LATE = ("data-src", "data-original", "data-lazy-src")
SETS = ("data-srcset", "data-lazy-srcset", "srcset")
PIXELS = re.compile(r"\s*(\d{1,5})(?:\.\d+)?\s*(?:px)?\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Picture:
    """An ``img`` of a page.

    *container* is the number (as in `PageBlocks`) of the innermost element with text around it.
    *box* is None if the page was not rendered. *area* is in square pixels, by the markup or the
    file's name; None if unknown.
    """

    node: Node
    container: int
    address: str
    description: str
    box: Box | None
    area: float | None

    @property
    def is_thumbnail(self) -> bool:
        """Tell whether the picture is the only child node of a link."""
        parent, element = self.node.parent, self.node.element
        if parent is None or parent.tag != "a" or len(parent.child_tags) != 1:
            return False
        return not f"{parent.element.text or ''}{element.tail or ''}".strip()

    def columns(self, page: Box | None) -> dict[str, Any]:
        """Return the columns of the picture; columns of its place need the box of the *page*."""
        place = geometry(self.box, page) if self.box and page else None
        columns: dict[str, Any] = {
            "image_url": self.address or None,
            "image_alt": self.description or None,
            "is_thumbnail": int(self.is_thumbnail),
            "rect_size": place.rect_size if place else self.area,
        }
        if place:
            columns |= {
                "normalized_top": round(place.normalized_top, 6),
                "normalized_bottom": round(place.normalized_bottom, 6),
                "is_middle": int(place.is_middle),
                "is_leftmost": int(place.is_leftmost),
                "is_rightmost": int(place.is_rightmost),
                "is_on_side": int(place.is_on_side),
                "is_uppermost_or_bottommost": int(place.is_uppermost_or_bottommost),
            }
        return columns


def rendered_pictures(elements: Sequence[_Element], read: Read) -> dict[_Element, Box]:
    """Return the boxes of the pictures of a page, by the records of the rendered page. If its
    markup is missing, the pictures are added to the tree of its *elements*.
    """
    if read.file is None:
        return _add_rendered(elements, read.page.content, read.pictures)
    return _rendered_boxes(elements[0].getroottree().getroot(), read.pictures)


def _add_rendered(
    elements: Sequence[_Element], content: PageBlocks, records: Sequence[Mapping[str, Any]]
) -> dict[_Element, Box]:
    """Add the pictures in the *records* of a rendered page to the tree that its blocks gave
    (`contentspider_research.dataset.elements.tree_of`), with the elements around them; return their
    boxes.

    Records have only selectors. If several elements have the same selector, the picture is added to
    the first of them.
    """
    element_at: dict[str, _Element] = {}
    for path, element in zip(content.paths, elements, strict=True):
        element_at.setdefault(path, element)
    boxes: dict[_Element, Box] = {}
    for record in records:
        path, at = content.paths[0], elements[0]
        *steps, _ = record["selector"]
        for step in steps:
            path = f"{path}/{step_key(step)}"
            if path not in element_at:
                element_at[path] = _added(at, step)
            at = element_at[path]
        image = _added(at, record["selector"][-1])
        image.set("src", _xml_text(record.get("src")))
        image.set("alt", _xml_text(record.get("alt")))
        boxes[image] = _box(record)
    return boxes


def _rendered_boxes(root: _Element, records: Sequence[Mapping[str, Any]]) -> dict[_Element, Box]:
    """Return the boxes of the pictures in the tree of a page that was also rendered.

    A picture has the box of the record with its ``src``. Of several with one ``src`` the first has
    the box of the first record, and so on. Pictures whose ``src`` a script has changed have none.
    """
    with_address: dict[str, list[Box]] = defaultdict(list)
    for record in reversed(records):
        with_address[str(record.get("src"))].append(_box(record))
    boxes = {}
    for image in root.iter("img"):
        if same_address := with_address.get(image.get("src") or ""):
            boxes[image] = same_address.pop()
    return boxes


def _box(record: Mapping[str, Any]) -> Box:
    bound = record["bound"]
    left, top = float(bound["left"]), float(bound["top"])
    return Box(left, top, left + bound["width"], top + bound["height"])


def _added(parent: _Element, step: Mapping[str, Any]) -> _Element:
    names = {"id": _xml_text(step["id"]), "class": _xml_text(" ".join(step["classes"]))}
    attributes = {name: value for name, value in names.items() if value}
    try:
        return etree.SubElement(parent, str(step["name"]), attributes)
    except ValueError:  # XML does not allow the name
        return etree.SubElement(parent, "div", attributes)


def _xml_text(value: object) -> str:
    """Return a value as a text without the control characters that XML forbids."""
    return re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]", "", str(value or ""))


def find_pictures(
    nodes: Mapping[_Element, Node],
    elements: Sequence[_Element],
    content: PageBlocks,
    boxes: Mapping[_Element, Box],
) -> Iterator[Picture]:
    """Yield the pictures with an address of a page, in document order. If a picture has several
    addresses, the address in the page's blocks is taken, or else the first.
    """
    number_of = {element: number for number, element in enumerate(elements)}
    chosen = {image[1] for block in content.blocks for image in block.images}
    for element, node in nodes.items():
        if node.tag != "img":
            continue
        addresses = _addresses(element)
        if not addresses:
            continue
        address = next((each for each in addresses if each in chosen), addresses[0])
        sides = picture_size(address, _pixels(element, "width"), _pixels(element, "height"))
        yield Picture(
            node,
            _container_of(element, number_of),
            address,
            " ".join((element.get("alt") or "").split()),
            boxes.get(element),
            float(sides[0] * sides[1]) or None,
        )


def _container_of(element: _Element, number_of: Mapping[_Element, int]) -> int:
    """Return the number of the innermost element around one that has a number, 0 without any."""
    for around in element.iterancestors():
        if around in number_of:
            return number_of[around]
    return 0


def _addresses(element: _Element) -> list[str]:
    """Return the addresses in an ``img``; addresses for scripts come first."""
    addresses = [element.get(name) or "" for name in (*LATE, "src")]
    for name in SETS:
        entries = (element.get(name) or "").split(",")
        addresses += [parts[0] for entry in entries if (parts := entry.split())]
    addresses = [address.strip() for address in addresses]
    return [address for address in addresses if address and not address.startswith("data:")]


def _pixels(element: _Element, name: str) -> int:
    match = PIXELS.fullmatch(element.get(name) or "")
    return int(match[1]) if match else 0
