# cython: language_level=3, annotation_typing=False, infer_types=True
"""HTML of the blocks that were kept: the page's content, and nothing of its template."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING

from contentspider.page.tree.tags import BOLD, CODE, PREFORMATTED_TAGS
from contentspider.page.words.names import HEADINGS, step_tag
from contentspider.page.write.structure import CELL_TAGS, Image, Part

if TYPE_CHECKING:
    from contentspider.page.write.structure import Line

SPECIAL = re.compile(r"[&<>\"']")


def write_html(found: list[Part]) -> str:
    """Return the parts of a page as HTML: ``p``, ``h1`` to ``h6``, lists, ``table``, ``pre``,
    ``blockquote``, and in them ``a``, ``code``, ``strong`` and ``img``. All text is escaped, and no
    attribute is kept but addresses and pictures' descriptions.
    """
    lines: list[str] = []
    lists: list[str] = []  # the open ones; an entry is open in each
    quotes = 0
    for part in found:
        if part.quotes != quotes:
            _close(lists, 0, lines)
            lines.append("<blockquote>" * (part.quotes - quotes))
            lines.append("</blockquote>" * (quotes - part.quotes))
            quotes = part.quotes
        if part.begins:
            kind = "ol" if part.ordered else "ul"
            if len(lists) >= part.depth and lists[part.depth - 1] == kind:
                _close(lists, part.depth, lines)
                lines.append("</li><li>")
            else:
                _close(lists, part.depth - 1, lines)
                lists.append(kind)
                lines.append(f"<{kind}><li>")
        elif lists:
            _close(lists, part.depth, lines)
        _add(part, lines)
    _close(lists, 0, lines)
    lines.append("</blockquote>" * quotes)
    return "\n".join([line for line in lines if line])


def _close(lists: list[str], depth: int, lines: list[str]) -> None:
    while len(lists) > depth:
        lines.append(f"</li></{lists.pop()}>")


def _add(part: Part, lines: list[str]) -> None:
    block = part.block
    if part.rows:
        rows = ["<tr>" + "".join([_cell(cell) for cell in row]) + "</tr>" for row in part.rows]
        lines += ["<table>", *rows, "</table>"]
        return
    if part.before:
        lines.append(f"<p>{_pictures(part.before)}</p>")
    if block.tag in PREFORMATTED_TAGS:
        # The first line feed in it would be left out.
        lines.append(f"<pre>\n{escape(block.text)}</pre>")
    else:
        tag = block.tag if block.tag in HEADINGS else "p"
        lines.append(f"<{tag}>{_line(part)}</{tag}>")
    if part.after:
        lines.append(f"<p>{_pictures(part.after)}</p>")


def _cell(members: list[Part]) -> str:
    tag = "th" if members and _is_header(members[0].block.path) else "td"
    found = [_pictures(part.before) + _line(part) + _pictures(part.after) for part in members]
    inside = found[0] if len(found) == 1 else "".join([f"<p>{line}</p>" for line in found])
    return f"<{tag}>{inside}</{tag}>"


def _is_header(path: str) -> bool:
    for step in reversed(path.split("/")):
        tag = step_tag(step)
        if tag in CELL_TAGS:
            return tag == "th"
    return False


def _line(part: Part) -> str:
    return _inline(part.line) if part.line else _escape(part.block.text)


def _escape(text: str) -> str:
    # `html.escape` replaces where there is nothing to replace, which costs more than to look.
    return escape(text, quote=False) if "&" in text or "<" in text or ">" in text else text


def _quoted(address: str) -> str:
    return escape(address) if SPECIAL.search(address) else address


def _inline(children: Line, in_link: bool = False) -> str:
    found: list[str] = []
    for child in children:
        if isinstance(child, str):
            found.append(_escape(child))
        elif isinstance(child, Image):
            image = _image(child, in_link)
            found.append(f" {image}" if found and not found[-1].endswith(" ") else image)
        else:
            marked = child
            if marked.mark == CODE or marked.mark == BOLD:
                tag = "code" if marked.mark == CODE else "strong"
                found.append(f"<{tag}>{_inline(marked.children, in_link)}</{tag}>")
                continue
            inside = _inside(marked.children)
            if marked.target and not in_link:
                inside = f'<a href="{_quoted(marked.target)}">{inside}</a>'
            found.append(inside)
    return "".join(found)


def _inside(children: Line) -> str:
    """Return what is in a link."""
    if len(children) == 1 and isinstance(children[0], str):  # mostly
        return _escape(children[0])
    return _inline(children, True)


def _pictures(images: list[Image] | None) -> str:
    return " ".join([_image(image) for image in images]) if images else ""


def _image(image: Image, in_link: bool = False) -> str:
    if image.is_film and in_link:
        return _escape(image.description)
    if image.is_film:
        return f'<a href="{_quoted(image.address)}">{_escape(image.description)}</a>'
    return f'<img src="{_quoted(image.address)}" alt="{escape(image.description)}">'
