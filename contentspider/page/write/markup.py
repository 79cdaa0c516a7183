# cython: language_level=3, annotation_typing=False, infer_types=True
"""Writes the kept blocks of a page as HTML, without anything of the page's template."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING

from contentspider.page.tree.tags import (
    CODE,
    DISPLAYED_FORMULA,
    FORMULA,
    LINE_BREAK,
    NO_NUMBER,
    NOTE,
    PREFORMATTED_TAGS,
    STYLE_TAGS,
)
from contentspider.page.write.lines import Image, Part
from contentspider.page.write.tables import is_huge

if TYPE_CHECKING:
    from contentspider.page.tree.blocks import Block
    from contentspider.page.write.lines import Cell, Line, Marked, Row

SPECIAL = re.compile(r"[&<>\"']")
TAGS = {CODE: "code", **STYLE_TAGS}


def write_html(page_parts: list[Part]) -> str:
    """Return the parts of a page as HTML: ``p``, ``h1`` to ``h6``, lists, ``table``, ``pre``,
    ``blockquote``, and in them ``a``, ``code``, ``strong``, ``em``, ``del``, ``mark``, ``sub``,
    ``sup``, ``br`` and ``img``. All text is escaped. The only attributes are addresses,
    descriptions of pictures, anchors of headings, types and numbers of lists, spans of cells, and
    the language of code.
    Formulas are LaTeX between dollar signs.
    """
    lines: list[str] = []
    lists: list[str] = []  # tags of the open lists; each has an open entry
    quotes = quote = 0
    definition = ""
    for part in page_parts:
        if definition and not part.definition:
            lines.append("</dl>")
        if part.quotes != quotes or part.block.quote != quote:
            _close(lists, 0, lines)
            lines += _turn_quotes(quotes, part.quotes)
            quotes, quote = part.quotes, part.block.quote
        if part.definition and not definition:
            _close(lists, 0, lines)
            lines.append("<dl>")
        definition = part.definition
        if part.begins:
            _begin_entry(part, lists, lines)
        elif lists:
            _close(lists, part.depth, lines)
        _add(part, lines)
    _close(lists, 0, lines)
    if definition:
        lines.append("</dl>")
    lines.append("</blockquote>" * quotes)
    return "\n".join([line for line in lines if line])


def _turn_quotes(quotes: int, next_quotes: int) -> list[str]:
    """Return the tags that close and open quotes between two parts in different quotes."""
    if quotes == next_quotes and quotes:
        return ["</blockquote><blockquote>"]
    return ["<blockquote>" * (next_quotes - quotes), "</blockquote>" * (quotes - next_quotes)]


def _begin_entry(part: Part, lists: list[str], lines: list[str]) -> None:
    kind = "ol" if part.ordered else "ul"
    number = part.block.number
    is_numbered = part.ordered and number != NO_NUMBER
    is_open = len(lists) >= part.depth and lists[part.depth - 1] == kind
    if is_open and not part.block.begins_list:
        _close(lists, part.depth, lines)
        value = f' value="{number}"' if is_numbered else ""
        lines.append(f"</li><li{value}>")
        return
    _close(lists, part.depth - 1, lines)
    lists.append(kind)
    numbering = part.block.numbering.rstrip("-") if is_numbered else ""
    kind_of = f' type="{numbering}"' if numbering else ""
    order = " reversed" if is_numbered and part.block.numbering[-1:] == "-" else ""
    start = f' start="{number}"' if is_numbered and number != 1 else ""
    lines.append(f"<{kind}{kind_of}{order}{start}><li>")


def _close(lists: list[str], depth: int, lines: list[str]) -> None:
    while len(lists) > depth:
        lines.append(f"</li></{lists.pop()}>")


def _add(part: Part, lines: list[str]) -> None:
    block = part.block
    if part.rows is not None:
        lines.append("<table>")
        lines += _table(part.rows)
        lines.append("</table>")
        return
    if part.definition == "dd":
        lines.append("<dd>")
    if part.before:
        lines.append(f"<p>{_pictures(part.before)}</p>")
    if block.tag in PREFORMATTED_TAGS:
        lines.append(_preformatted(block))
    elif part.level:
        anchor = f' id="{escape(block.anchor)}"' if block.anchor else ""
        lines.append(f"<h{part.level}{anchor}>{_line(part)}</h{part.level}>")
    else:
        tag = "dt" if part.definition == "dt" else "p"
        lines.append(f"<{tag}>{_line(part)}</{tag}>")
    if part.after:
        lines.append(f"<p>{_pictures(part.after)}</p>")
    if part.definition == "dd":
        lines.append("</dd>")


def _table(rows: list[Row]) -> list[str]:
    """Return the rows of a table. Gaps between cells are filled with empty cells, unless the table
    is too large to lay out.
    """
    if is_huge(rows):
        return ["<tr>" + "".join([_cell(cell) for cell in row.cells]) + "</tr>" for row in rows]
    lines: list[str] = []
    covered: dict[int, int] = {}  # by column: the last row that a cell of an earlier row spans
    for row in rows:
        cells: list[str] = []
        column = 0
        for cell in row.cells:
            for empty in range(column, cell.column):
                if covered.get(empty, 0) < row.number:
                    cells.append("<td></td>")
            cells.append(_cell(cell))
            column = cell.column + cell.colspan
            if cell.rowspan > 1:
                last_row = row.number + cell.rowspan - 1
                covered.update(dict.fromkeys(range(cell.column, column), last_row))
        lines.append("<tr>" + "".join(cells) + "</tr>")
    return lines


def _cell(cell: Cell) -> str:
    tag = "th" if cell.is_header else "td"
    if len(cell.parts) == 1 and _is_plain(cell.parts[0]):
        part = cell.parts[0]
        inside = _pictures(part.before) + _line(part) + _pictures(part.after)
    else:
        inside = write_html(cell.parts)
    spans = f' colspan="{cell.colspan}"' if cell.colspan > 1 else ""
    if cell.rowspan > 1:
        spans += f' rowspan="{cell.rowspan}"'
    return f"<{tag}{spans}>{inside}</{tag}>"


def _is_plain(part: Part) -> bool:
    """Tell whether a part is only text: no list entry, quote, definition, code or table."""
    if part.rows is not None or part.begins or part.definition or part.quotes:
        return False
    return part.block.tag not in PREFORMATTED_TAGS


def _preformatted(block: Block) -> str:
    if block.language:
        code = f'<code class="language-{block.language}">{escape(block.text)}</code>'
        return f"<pre>{code}</pre>"
    # Browsers ignore a line feed right after <pre>. The added one protects a line feed at the
    # beginning of the text.
    return f"<pre>\n{escape(block.text)}</pre>"


def _line(part: Part) -> str:
    return _inline(part.line) if part.line else _escape(part.block.text)


def _escape(text: str) -> str:
    # Most texts have no such sign, and this test is cheaper than `html.escape`.
    return escape(text, quote=False) if "&" in text or "<" in text or ">" in text else text


def _quoted(address: str) -> str:
    return escape(address) if SPECIAL.search(address) else address


def _inline(children: Line) -> str:
    if len(children) == 1 and isinstance(children[0], str):  # the common case
        return _escape(children[0])
    pieces: list[str] = []
    for child in children:
        if isinstance(child, str):
            pieces.append(_escape(child))
        elif isinstance(child, Image):
            image = _image(child)
            pieces.append(f" {image}" if pieces and not pieces[-1].endswith(" ") else image)
        else:
            pieces.append(_marked(child))
    return "".join(pieces)


def _marked(marked: Marked) -> str:
    mark = marked.mark
    if mark == LINE_BREAK:
        return "<br>"
    if mark in TAGS:
        return f"<{TAGS[mark]}>{_inline(marked.children)}</{TAGS[mark]}>"
    if mark in (FORMULA, DISPLAYED_FORMULA):
        return f"{mark}{_escape(marked.text().strip())}{mark}"
    if mark.startswith(NOTE):
        return _inline(marked.children)
    return f'<a href="{_quoted(marked.target)}">{_inline(marked.children)}</a>'


def _pictures(images: list[Image] | None) -> str:
    return " ".join([_image(image) for image in images]) if images else ""


def _image(image: Image) -> str:
    if image.is_film:
        return f'<a href="{_quoted(image.address)}">{_escape(image.description)}</a>'
    return f'<img src="{_quoted(image.address)}" alt="{escape(image.description)}">'
