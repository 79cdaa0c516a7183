"""Reads what surrounds each element, for feature sets that also read the elements' attributes."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from lxml import etree

from contentspider.page.tree.blocks import Surroundings
from contentspider.page.tree.tags import KINDS
from contentspider.page.tree.text import clean_text, runs
from contentspider.page.words.names import ANCESTOR_TAGS, LEAF_TAGS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lxml.etree import _Element

# A page can have as many different tags as elements, and sets of all tags would fill the memory.
# Only these tags are recorded.
TAGS = frozenset([*KINDS, *ANCESTOR_TAGS, *LEAF_TAGS])


def own_text(element: _Element) -> str:
    """Return the text of an element without its children's text, with white space folded."""
    return clean_text(" ".join([element.text or "", *(child.tail or "" for child in element)]))


def is_link(element: _Element) -> bool:
    """Tell whether an element contains nothing but one ``a`` element and white space."""
    children = list(element)
    return len(children) == 1 and children[0].tag == "a" and not own_text(element)


def read_surroundings(elements: Sequence[_Element]) -> list[Surroundings]:
    """Return the surroundings of each of a tree's *elements*, in document order.

    Takes time proportional to the size of the tree.
    """
    surroundings: list[Surroundings] = []
    ancestor_tags: dict[_Element, frozenset[str]] = {}
    counts: dict[_Element | None, Counter[str]] = {None: Counter()}
    for element, links in zip(elements, _links_in(elements), strict=True):
        parent = element.getparent()
        if parent is not None and parent not in counts:
            counts[parent] = _count_tags(parent)
        siblings = counts[parent].items()
        surroundings.append(
            Surroundings(
                sorted(_tags_above(element, ancestor_tags)),
                sorted(tag for tag, count in siblings if tag != element.tag or count > 1),
                sorted(_count_tags(element)),
                len(runs(own_text(element))),
                is_link(element),
                links,
            )
        )
    return surroundings


def _count_tags(element: _Element) -> Counter[str]:
    """Return how many children of an element have each of `TAGS`."""
    return Counter(child.tag for child in element if child.tag in TAGS)


def _tags_above(element: _Element, cache: dict[_Element, frozenset[str]]) -> frozenset[str]:
    """Return the tags of an element's ancestors up to the body. *cache* has earlier results."""
    uncached = []
    ancestor: _Element | None = element
    while ancestor is not None and ancestor not in cache:
        uncached.append(ancestor)
        ancestor = ancestor.getparent()
    for each in reversed(uncached):
        parent = each.getparent()
        if parent is None or parent.tag in ("html", None):
            cache[each] = frozenset()
        else:
            cache[each] = cache[parent] | ({parent.tag} & (TAGS | {"body"}))
    return cache[element]


def _links_in(elements: Sequence[_Element]) -> list[list[str]]:
    """Return for each of the *elements* its links (`Surroundings.links`)."""
    links: list[list[str]] = [[] for _ in elements]
    # The innermost of the *elements* around each element, and the tags between the two.
    places: dict[_Element | None, tuple[int, frozenset[str]]] = {
        element: (number, frozenset()) for number, element in enumerate(elements)
    }
    for root in elements[:1]:
        for element in root.iter(etree.Element):
            if element not in places:
                number, tags = places[element.getparent()]
                places[element] = number, tags | ({element.tag} & TAGS)
            if element.tag == "a" and element.get("href") is not None:
                number, tags = places[element]
                links[number].append(" ".join(sorted(tags - {"a"})))
    return links
