"""The surroundings of elements, inline and empty ones, too; read only with the attributes."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from contentspider.page.tree.blocks import Surroundings
from contentspider.page.tree.tags import KINDS
from contentspider.page.tree.text import WORD, clean_text
from contentspider.page.words.names import ANCESTOR_TAGS, LEAF_TAGS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lxml.etree import _Element

# Pages can have as many tags as elements; sets of all of them would fill the memory.
TAGS = frozenset([*KINDS, *ANCESTOR_TAGS, *LEAF_TAGS])


def own_text(element: _Element) -> str:
    """Return the text of an element's own text nodes, white space folded."""
    return clean_text(" ".join([element.text or "", *(child.tail or "" for child in element)]))


def is_link(element: _Element) -> bool:
    """Tell whether an element's only child node is an ``a``, white space aside."""
    children = list(element)
    return len(children) == 1 and children[0].tag == "a" and not own_text(element)


def read_surroundings(elements: Sequence[_Element]) -> list[Surroundings]:
    """Return what stands around each of a tree's *elements*, in time proportional to its size."""
    found: list[Surroundings] = []
    above: dict[_Element, frozenset[str]] = {}
    counts: dict[_Element | None, Counter[str]] = {None: Counter()}
    for element in elements:
        parent = element.getparent()
        if parent is not None and parent not in counts:
            counts[parent] = _count_tags(parent)
        siblings = counts[parent].items()
        found.append(
            Surroundings(
                sorted(_above(element, above)),
                sorted(tag for tag, count in siblings if tag != element.tag or count > 1),
                sorted(_count_tags(element)),
                len(WORD.findall(own_text(element))),
                is_link(element),
            )
        )
    return found


def _count_tags(element: _Element) -> Counter[str]:
    return Counter(child.tag for child in element if child.tag in TAGS)


def _above(element: _Element, known: dict[_Element, frozenset[str]]) -> frozenset[str]:
    """Return the tags above an element, from the body down."""
    missing = []
    at: _Element | None = element
    while at is not None and at not in known:
        missing.append(at)
        at = at.getparent()
    for each in reversed(missing):
        parent = each.getparent()
        if parent is None or parent.tag in ("html", None):
            known[each] = frozenset()
        else:
            known[each] = known[parent] | ({parent.tag} & (TAGS | {"body"}))
    return known[element]
