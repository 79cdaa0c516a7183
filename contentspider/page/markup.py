"""HTML of the blocks that were kept: the page's content, and nothing of its template."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from contentspider.page.blocks import BOLD, CODE, PREFORMATTED_TAGS
from contentspider.page.names import step_tag
from contentspider.page.structure import (
    CELL_TAGS,
    HEADING_TAGS,
    Image,
    Marked,
    Part,
    images_beside,
    line_of,
    parts,
    resolve,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from contentspider.page.blocks import Block


def to_html(blocks: Sequence[Block], base: str = "") -> str:
    """Return the blocks as HTML: ``p``, ``h1`` to ``h6``, lists, ``table``, ``pre``,
    ``blockquote``, and in them ``a``, ``code``, ``strong`` and ``img``.

    All text is escaped, and no attribute is kept but addresses, resolved by *base*, and pictures'
    descriptions. Addresses of other schemes than HTTP and mail are left out.
    """
    lines: list[str] = []
    lists: list[str] = []  # the open ones; an entry is open in each
    quotes = 0
    for part in parts(blocks):
        if part.quotes != quotes:
            _close(lists, 0, lines)
            lines.append("<blockquote>" * (part.quotes - quotes))
            lines.append("</blockquote>" * (quotes - part.quotes))
            quotes = part.quotes
        kind = "ol" if part.ordered else "ul"
        if part.begins:
            if len(lists) >= part.depth and lists[part.depth - 1] == kind:
                _close(lists, part.depth, lines)
                lines.append("</li><li>")
            else:
                _close(lists, part.depth - 1, lines)
                lists.append(kind)
                lines.append(f"<{kind}><li>")
        else:
            _close(lists, part.depth, lines)
        lines += _lines(part, base)
    _close(lists, 0, lines)
    lines.append("</blockquote>" * quotes)
    return "\n".join(filter(None, lines))


def _close(lists: list[str], depth: int, lines: list[str]) -> None:
    while len(lists) > depth:
        lines.append(f"</li></{lists.pop()}>")


def _lines(part: Part, base: str) -> list[str]:
    block = part.block
    if part.rows:
        rows = ["<tr>" + "".join(_cell(cell, base) for cell in row) + "</tr>" for row in part.rows]
        return ["<table>", *rows, "</table>"]
    if block.tag in PREFORMATTED_TAGS:
        # The first line feed in it would be left out.
        text = f"<pre>\n{escape(block.text)}</pre>"
    else:
        tag = block.tag if block.tag in HEADING_TAGS else "p"
        text = f"<{tag}>{_inline(line_of(block), base)}</{tag}>"
    if not block.images:
        return [text]
    around = [_alone(block, base, after) for after in (False, True)]
    before, after = ([f"<p>{image}</p>"] if image else [] for image in around)
    return [*before, text, *after]


def _cell(blocks: list[Block], base: str) -> str:
    tag = "th" if blocks and _is_header(blocks[0]) else "td"
    found = [
        _alone(block, base, False) + _inline(line_of(block), base) + _alone(block, base, True)
        for block in blocks
    ]
    inside = found[0] if len(found) == 1 else "".join(f"<p>{line}</p>" for line in found)
    return f"<{tag}>{inside}</{tag}>"


def _is_header(block: Block) -> bool:
    cells = [tag for tag in map(step_tag, block.path.split("/")) if tag in CELL_TAGS]
    return cells[-1:] == ["th"]


def _alone(block: Block, base: str, after: bool) -> str:
    return "".join(_image(image, base) for image in images_beside(block, after))


def _inline(children: Sequence[str | Image | Marked], base: str, around: str = "") -> str:
    found: list[str] = []
    for child in children:
        if isinstance(child, str):
            found.append(escape(child, quote=False))
        elif isinstance(child, Image):
            image = _image(child, base)
            found.append(f" {image}" if image and found and not found[-1].endswith(" ") else image)
        elif child.mark in (CODE, BOLD):
            tag = "code" if child.mark == CODE else "strong"
            found.append(f"<{tag}>{_inline(child.children, base, around)}</{tag}>")
        else:
            inside = _inline(child.children, base, "a")
            address = resolve(base, child.mark) if around != "a" else ""
            found.append(f'<a href="{escape(address)}">{inside}</a>' if address else inside)
    return "".join(found)


def _image(image: Image, base: str) -> str:
    address = resolve(base, image.address)
    if not address or address.lower().startswith("mailto:"):
        return ""
    return f'<img src="{escape(address)}" alt="{escape(image.description)}">'
