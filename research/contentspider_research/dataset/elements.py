"""The elements of a page as the data set describes them: what stands above, beside and below each,
read from the parsed tree.

A crawl never pays for it: the walk over a page (`contentspider.page.tree.blocks`) knows none of it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from lxml import etree

from contentspider.page.input.page import is_link, own_text
from contentspider.site.judge.slots import step_names
from contentspider_research.features.thesis_names import TAGS, called

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lxml.etree import _Element

    from contentspider.page.tree.blocks import PageBlocks

# More elements above one, or beside it, are not listed: rows would grow with the square of a page.
MAX_LISTED = 100
OUTSIDE = frozenset(["html", "body"])
NOTHING: frozenset[str] = frozenset()
# The tags, ids and classes of elements. Most elements have no children, and share this.
Lists: TypeAlias = "tuple[list[str], list[str], list[str]]"
NO_CHILDREN: Lists = ([], [], [])
TAG_SAYS = {tag: frozenset([tag]) for tag in TAGS}


@dataclass(slots=True, repr=False, eq=False)
class Node:
    """An element of a page.

    *index* is its position among the children of its *parent*, *depth* its distance to the root,
    and *height* the largest distance to an element in it. *links* counts the ``a`` elements with an
    address in it. *own_called* has the kinds of elements that its names mean
    (`contentspider_research.features.thesis_names`).

    For an element with children, *listed* counts the elements from the body's child down to it.
    *names*, *ids* and *classes* list the first `MAX_LISTED` of these elements, *tags* has their
    tags, and *called* the kinds that their names mean. *children* has the tags, ids and classes of
    its children. It has no nodes, because cycles would stay in memory until a garbage collection.
    """

    element: _Element
    tag: str
    id: str
    own_classes: str
    parent: Node | None
    index: int
    depth: int
    own_called: frozenset[str]
    names: str = ""
    ids: str = ""
    classes: str = ""
    listed: int = 0
    tags: frozenset[str] = NOTHING
    called: frozenset[str] = NOTHING
    height: int = 0
    links: int = 0
    children: Lists = NO_CHILDREN

    def above_listed(self) -> dict[str, str | None]:
        """Return the tags, ids and classes of the elements above, outermost first."""
        parent = self.parent
        return {
            "ancestors_names": (parent.names or None) if parent else None,
            "ancestors_ids": (parent.ids or None) if parent else None,
            "ancestors_classes": (parent.classes or None) if parent else None,
        }

    def beside_listed(self) -> dict[str, str | None]:
        """Return those of the elements beside this one, the nearest `MAX_LISTED` of them."""
        low, high = max(0, self.index - MAX_LISTED // 2), self.index + MAX_LISTED // 2 + 1
        beside = self.parent.children if self.parent else NO_CHILDREN
        names, ids, classes = (
            ",".join(each[low : self.index] + each[self.index + 1 : high]) or None
            for each in beside
        )
        return {"siblings_names": names, "siblings_ids": ids, "siblings_classes": classes}

    def below_listed(self) -> dict[str, str | None]:
        """Return those of the first `MAX_LISTED` children."""
        names, ids, classes = (",".join(each[:MAX_LISTED]) or None for each in self.children)
        return {"children_names": names, "children_ids": ids, "children_classes": classes}

    @property
    def child_tags(self) -> list[str]:
        """Return the tags of the children."""
        return self.children[0]

    @property
    def text(self) -> str:
        """Return the text of the element's own text nodes."""
        return own_text(self.element)

    @property
    def is_link(self) -> bool:
        """Tell whether the element has no child node but one ``a``."""
        return len(self.child_tags) == 1 and is_link(self.element)


def sibling_tags(node: Node, known: dict[Node, Counter[str]]) -> Counter[str]:
    """Return how many elements beside a *node*, and it, have each tag; kept in *known* by their
    parent.
    """
    if node.parent is None:
        return Counter([node.tag])
    if node.parent not in known:
        known[node.parent] = Counter(node.parent.child_tags)
    return known[node.parent]


def read_nodes(root: _Element) -> dict[_Element, Node]:
    """Return the node of each element of a tree, in document order."""
    nodes: dict[_Element, Node] = {}
    known: dict[str, frozenset[str]] = {}
    for element in root.iter(etree.Element):
        tag = str(element.tag)
        id_ = element.get("id") or ""
        if id_:
            id_ = " ".join(id_.replace(",", " ").split())
        classes = element.get("class") or ""
        if classes:
            classes = " ".join(classes.replace(",", " ").split())
        above = element.getparent()
        parent = nodes.get(above) if above is not None else None
        own = TAG_SAYS.get(tag, NOTHING)
        if id_ or classes:
            for name in (id_, *classes.split()):
                if name not in known:
                    known[name] = called(name)
                own |= known[name]
        if parent is None:
            nodes[element] = Node(element, tag, id_, classes, None, 0, 0, own)
            continue
        if parent.children is NO_CHILDREN:
            parent.children = ([], [], [])
            _list_above(parent)
        tags, ids, class_names = parent.children
        nodes[element] = Node(element, tag, id_, classes, parent, len(tags), parent.depth + 1, own)
        tags.append(tag)
        ids.append(id_)
        class_names.append(classes)
    for node in reversed(nodes.values()):
        if node.parent is not None:
            node.parent.height = max(node.parent.height, node.height + 1)
            node.parent.links += node.links + _is_link(node)
    return nodes


def _is_link(node: Node) -> bool:
    return node.tag == "a" and node.element.get("href") is not None


def _list_above(node: Node) -> None:
    """Note in a node what those below it have above them, which its parent knows of itself."""
    parent = node.parent
    if parent is None or node.tag in OUTSIDE:
        return
    node.tags = parent.tags if node.tag in parent.tags else parent.tags | {node.tag}
    node.called = parent.called | node.own_called if node.own_called else parent.called
    node.names, node.ids, node.classes = parent.names, parent.ids, parent.classes
    node.listed = parent.listed + 1
    if parent.listed == 0:
        node.names, node.ids, node.classes = node.tag, node.id, node.own_classes
    elif parent.listed < MAX_LISTED:
        node.names += f",{node.tag}"
        node.ids += f",{node.id}"
        node.classes += f",{node.own_classes}"


def tree_of(content: PageBlocks) -> list[_Element]:
    """Return elements as the page's paths have them, for pages without markup (rendered ones)."""
    elements: list[_Element] = []
    for tag, path, parent in zip(content.tags, content.paths, content.parents, strict=True):
        names = step_names(path.rpartition("/")[2])
        ids = [name[1:] for name in names if name[0] == "#"]
        classes = [name[1:] for name in names if name[0] == "."]
        attributes = {"id": " ".join(ids), "class": " ".join(classes)}
        given = {name: value for name, value in attributes.items() if value}
        try:
            elements.append(
                etree.SubElement(elements[parent], tag, given)
                if parent >= 0
                else etree.Element(tag, given)
            )
        except ValueError:  # no name of XML: a page can call an element anything
            elements.append(etree.SubElement(elements[max(parent, 0)], "div", given))
    for block in content.blocks:
        element = elements[block.container]
        _append_text(element, block.text)
    return elements


def _append_text(element: _Element, text: str) -> None:
    if len(element):
        element[-1].tail = f"{element[-1].tail or ''} {text}"
    else:
        element.text = f"{element.text or ''} {text}"


def container_depths(content: PageBlocks) -> list[int]:
    """Return how many of the page's elements with text stand above each."""
    depths = [0] * len(content.parents)
    for element in range(1, len(depths)):
        depths[element] = depths[content.parents[element]] + 1
    return depths


def nearest_headers(content: PageBlocks, headers: Sequence[int]) -> list[int]:
    """Return for each element of a page the nearest of its *headers* (elements, in order) that is
    less deep: the one to which the fewest steps lead in the tree, the last before the element among
    equals; -1 if there is none.
    """
    depths = container_depths(content)
    shallow: dict[int, list[int]] = {}
    for header in headers:
        at = content.parents[header]
        while at >= 0 and depths[header] - depths[at] <= MAX_LISTED:
            found = shallow.setdefault(at, [])
            if found and depths[found[0]] < depths[header]:
                break  # those above have one as shallow, too
            if found and depths[found[0]] > depths[header]:
                found.clear()
            found.append(header)
            at = content.parents[at]
    nearest = [-1] * len(content.parents)
    if not shallow:
        return nearest
    for element in range(len(nearest)):
        best, at = (len(nearest), -1), content.parents[element]
        while at >= 0 and depths[element] - depths[at] < min(best[0], MAX_LISTED):
            if (known := shallow.get(at)) and depths[known[0]] < depths[element]:
                steps = depths[element] + depths[known[0]] - 2 * depths[at]
                if steps < best[0]:
                    best = (steps, _last_before(known, element))
            at = content.parents[at]
        nearest[element] = best[1]
    return nearest


def _last_before(headers: Sequence[int], element: int) -> int:
    place = bisect_left(headers, element)
    return headers[place - 1] if place else headers[0]
