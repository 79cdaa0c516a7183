"""A page's tree as the methods of comparison take it, and the text that is left of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lxml import etree

from contentspider.page.input.body import as_utf8, parse
from contentspider.page.tree.tags import FILM_TAGS, SKIPPED_TAGS

if TYPE_CHECKING:
    from lxml.etree import _Element


def read_body(html: bytes) -> _Element:
    """Return a page's body without comments, scripts, and what else holds no text to read."""
    root = parse(as_utf8(html))
    etree.strip_elements(
        root, etree.Comment, etree.ProcessingInstruction, *SKIPPED_TAGS, *FILM_TAGS, with_tail=False
    )
    body = root.find("body")
    return root if body is None else body


def text_of(element: _Element) -> str:
    """Return the text in and below an element in one line; what styles hide is in it, too, since
    these methods know of none.
    """
    return " ".join(" ".join(map(str, element.itertext())).split())
