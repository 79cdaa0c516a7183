"""LBS, the largest block of string: the element that has most text of its own and in children that
have text of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from contentspider_research.baselines.protocol import OnePage
from contentspider_research.baselines.trees import read_body, text_of

if TYPE_CHECKING:
    from lxml.etree import _Element


class LBS(OnePage):
    """Keeps of the largest element its text, and of its children those that have text of their own;
    the others are wrappers, advertisements, lists.
    """

    def text(self, html: bytes) -> str:
        """Return the text of the largest element."""
        elements = list(read_body(html).iter())
        own = {element: own_chars(element) for element in elements}
        whole, size = dict(own), dict(own)
        for element in reversed(elements):  # children come before their parents
            parent = element.getparent()
            if parent in whole:
                whole[parent] += whole[element]
                if own[element]:
                    size[parent] += whole[element]
        largest = max(elements, key=lambda element: size[element])
        for child in list(largest):
            if not own[child]:
                tail = child.tail
                child.clear()
                child.tail = tail
        return text_of(largest)


def own_chars(element: _Element) -> int:
    """Return how many characters but white space stand in an element itself."""
    texts = [element.text, *(child.tail for child in element)]
    return sum(len(part) for text in texts if text for part in text.split())
