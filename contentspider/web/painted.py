"""A page as it was sent, with its kept and dropped blocks painted, and nothing in it that acts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lxml import etree

from contentspider.page.input.body import as_utf8, parse
from contentspider.page.tree.blocks import read_tree

if TYPE_CHECKING:
    from lxml.etree import _Element

    from contentspider.site.models.record import Extraction

# The frame's own policy: not even what is left could run, load or send anything.
POLICY = "sandbox; default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'self'"
GONE = (
    *"script noscript iframe frame frameset object embed applet base link meta template".split(),
    *"portal video audio source track canvas dialog".split(),
)
ADDRESSES = re.compile(
    r"(?:xlink:)?href|src|srcset|action|formaction|data|poster|background|ping|target|"
    r"autofocus|accesskey|tabindex|http-equiv|popover.*|on.*",
    re.IGNORECASE,
)
STYLE = """
body { font: 15px/1.5 sans-serif; margin: 8px; color: #111; background: #fff; }
* { overflow-wrap: anywhere; }
[data-contentspider=kept] { background: #d8f5d8; outline: 1px solid #070; }
[data-contentspider=dropped] { background: #eee; color: #555; outline: 1px dotted #888; }
img { display: none; } * { max-width: 100%; position: static !important; }
"""
MARK = "data-contentspider"
STYLES = "style"  # the element and the attribute


def paint(body: bytes, content_type: str, extraction: Extraction) -> str:
    """Return a page's HTML with its elements marked: kept, or dropped; hovering tells where an
    element stands, and how probably it is content. Scripts, forms, addresses and styles are gone.
    """
    root = parse(as_utf8(body, content_type))
    elements: list[_Element] = []
    content, _ = read_tree(root, containers=elements)
    page = extraction.page.content
    if [block.text for block in content.blocks] == [block.text for block in page.blocks]:
        found = zip(content.blocks, extraction.kept, extraction.probabilities, strict=True)
        for block, kept, probability in found:
            element = elements[block.container]
            # An element with both is kept: what it holds besides has elements of its own.
            if element.get(MARK) != "kept":
                element.set(MARK, "kept" if kept else "dropped")
                element.set("title", f"{block.path} ({probability:.2f})"[:500])
    disarm(root)
    shown = etree.tostring(root, encoding="unicode", method="html")
    head = f"<!DOCTYPE html><meta charset=utf-8><style>{STYLE}</style>"
    return head + shown


def disarm(root: _Element, keeps_style: bool = False) -> None:
    """Take out of a tree what runs, loads, sends or leads away; its styles, too, unless they are
    kept.
    """
    gone = GONE if keeps_style else (*GONE, STYLES)
    etree.strip_elements(root, *gone, etree.Comment, etree.ProcessingInstruction, with_tail=False)
    for element in root.iter():
        for name in list(element.attrib):
            if ADDRESSES.fullmatch(str(name)) or (name == STYLES and not keeps_style):
                del element.attrib[name]
