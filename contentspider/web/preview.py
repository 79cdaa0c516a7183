"""The preview of a page: its HTML without active content, with kept and dropped blocks coloured."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lxml import etree

from contentspider.page.input.body import as_utf8, parse
from contentspider.page.tree.blocks import read_tree

if TYPE_CHECKING:
    from lxml.etree import _Element

    from contentspider.site.models.record import Extraction

# The policy of the frame is a second protection: nothing in the preview may run, load or send.
POLICY = "sandbox; default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'self'"
REMOVED_ELEMENTS = (
    *"script noscript iframe frame frameset object embed applet base link meta template".split(),
    *"portal video audio source track canvas dialog".split(),
)
REMOVED_ATTRIBUTES = re.compile(
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
STYLES = "style"  # the name of an element, and of an attribute


def preview_html(body: bytes, content_type: str, extraction: Extraction) -> str:
    """Return a page's HTML for a frame, with kept and dropped elements marked.

    The tooltip of an element shows its tag path and the probability that it is content. Scripts,
    addresses and styles are removed.
    """
    root = parse(as_utf8(body, content_type))
    elements: list[_Element] = []
    content, _ = read_tree(root, containers=elements)
    page = extraction.page.content
    if [block.text for block in content.blocks] == [block.text for block in page.blocks]:
        decisions = zip(content.blocks, extraction.kept, extraction.probabilities, strict=True)
        for block, is_kept, probability in decisions:
            element = elements[block.container]
            # An element with kept and dropped blocks counts as kept.
            if element.get(MARK) != "kept":
                element.set(MARK, "kept" if is_kept else "dropped")
                element.set("title", f"{block.path} ({probability:.2f})"[:500])
    remove_active_content(root)
    html = etree.tostring(root, encoding="unicode", method="html")
    return f"<!DOCTYPE html><meta charset=utf-8><style>{STYLE}</style>{html}"


def remove_active_content(root: _Element, keeps_style: bool = False) -> None:
    """Remove elements and attributes that run, load, send or link; also styles by default."""
    removed = REMOVED_ELEMENTS if keeps_style else (*REMOVED_ELEMENTS, STYLES)
    nodes = (*removed, etree.Comment, etree.ProcessingInstruction)
    etree.strip_elements(root, *nodes, with_tail=False)
    for element in root.iter():
        for name in list(element.attrib):
            is_style = name == STYLES and not keeps_style
            if is_style or REMOVED_ATTRIBUTES.fullmatch(str(name)):
                del element.attrib[name]
