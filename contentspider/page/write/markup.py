# cython: language_level=3, annotation_typing=False, infer_types=True
"""Writes the kept blocks of a page as HTML, without anything of the page's template."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING

from contentspider.page.tree.containers import (
    BULLETS,
    CITATION,
    DEFINITION,
    DEFINITIONS,
    DETAILS,
    ITEM,
    LINES,
    NOTE,
    NUMBERS,
    PANEL,
    QUOTE,
    SUMMARY,
    TERM,
)
from contentspider.page.tree.tags import (
    CODE,
    LINE_BREAK,
    NO_NUMBER,
    PREFORMATTED_TAGS,
    STYLE_TAGS,
    is_formula,
)
from contentspider.page.tree.tags import NOTE as NOTE_MARK
from contentspider.page.write.lines import Image, Part
from contentspider.page.write.tables import is_huge

if TYPE_CHECKING:
    from contentspider.page.tree.blocks import Block
    from contentspider.page.write.lines import Cell, Frame, Line, Marked, Row

SPECIAL = re.compile(r"[&<>\"']")
TAGS = {CODE: "code", **STYLE_TAGS}
# The elements of containers; "" for containers that are visible only in the order.
FRAME_TAGS = {
    **{kind: kind for kind in (BULLETS, NUMBERS, ITEM, DEFINITIONS, DEFINITION, DETAILS)},
    QUOTE: "blockquote",
    LINES: "p",
    PANEL: "section",
    **dict.fromkeys([NOTE, CITATION], ""),
}


def write_html(page_parts: list[Part]) -> str:
    """Return the parts of a page as HTML: ``p``, ``h1`` to ``h6``, lists, ``table``, ``pre``,
    ``blockquote``, ``details``, ``aside`` (a box, with its kind as class: ``warning``), ``section``
    (the panel of a tab), and in them
    ``a``, ``code``, ``strong``, ``em``, ``del``, ``mark``, ``sub``, ``sup``, ``br`` and ``img``.
    All text is escaped. The only attributes are addresses, descriptions of pictures, anchors of
    headings, types and numbers of lists, spans of cells, kinds of boxes, and the language of code.
    Formulas are LaTeX between dollar signs.
    """
    lines: list[str] = []
    open_frames: list[Frame] = []
    for part in page_parts:
        closing = _closing(open_frames, part.shared)
        opening = _opening(part)
        if opening.startswith("<li"):
            lines.append(closing + opening)
        else:
            lines += [closing, opening]
        open_frames = part.frames
        _add(part, lines)
    lines.append(_closing(open_frames, 0))
    return "\n".join([line for line in lines if line])


def _closing(frames: list[Frame], shared: int) -> str:
    """Return the tags that close all containers but the first *shared*."""
    if len(frames) <= shared:
        return ""
    tags = [_tag(frame) for frame in reversed(frames[shared:])]
    return "".join([f"</{tag}>" for tag in tags if tag])


def _opening(part: Part) -> str:
    """Return the tags that open the containers that begin with a part."""
    tags: list[str] = []
    for number in range(part.shared, len(part.frames)):
        frame, tag = part.frames[number], _tag(part.frames[number])
        attribute = ""
        if frame.kind.isupper():
            attribute = f' class="{frame.kind.lower()}"'
        elif frame.kind == NUMBERS:
            has_item = number + 1 < len(part.frames)  # a list may have a table in place of items
            first = part.frames[number + 1].entry if has_item else NO_NUMBER
            attribute = _numbering(part.block, first)
        elif frame.kind == ITEM and number == part.shared and frame.entry != NO_NUMBER:
            attribute = f' value="{frame.entry}"'
        if tag:
            tags.append(f"<{tag}{attribute}>")
    return "".join(tags)


def _numbering(block: Block, first: int) -> str:
    """Return the attributes of a numbered list whose *first* entry is the one of a block."""
    if first == NO_NUMBER:
        return ""
    kind, order = block.numbering.rstrip("-"), block.numbering[-1:]
    attributes = f' type="{kind}"' if kind else ""
    attributes += " reversed" if order == "-" else ""
    return attributes + (f' start="{first}"' if first != 1 else "")


def _tag(frame: Frame) -> str:
    return "aside" if frame.kind.isupper() else FRAME_TAGS[frame.kind]


def _add(part: Part, lines: list[str]) -> None:
    block = part.block
    if part.rows is not None:
        lines.append("<table>")
        lines += _table(part.rows)
        lines.append("</table>")
        return
    if part.before:
        lines.append(f"<p>{_pictures(part.before)}</p>")
    if block.tag in PREFORMATTED_TAGS:
        lines.append(_preformatted(block))
    elif part.level:
        anchor = f' id="{escape(block.anchor)}"' if block.anchor else ""
        lines.append(f"<h{part.level}{anchor}>{html_line(part)}</h{part.level}>")
    elif part.frames and part.frames[-1].kind == LINES:
        is_first = part.shared < len(part.frames)
        lines.append(html_line(part) if is_first else f"<br>{html_line(part)}")
    else:
        tag = part.role if part.role in (TERM, SUMMARY) else "p"
        lines.append(f"<{tag}>{html_line(part)}</{tag}>")
    if part.after:
        lines.append(f"<p>{_pictures(part.after)}</p>")


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
        inside = _pictures(part.before) + html_line(part) + _pictures(part.after)
    else:
        inside = write_html(cell.parts)
    spans = f' colspan="{cell.colspan}"' if cell.colspan > 1 else ""
    if cell.rowspan > 1:
        spans += f' rowspan="{cell.rowspan}"'
    return f"<{tag}{spans}>{inside}</{tag}>"


def _is_plain(part: Part) -> bool:
    """Tell whether a part is only text: no list entry, quote, definition, code or table."""
    if part.rows is not None or part.frames or part.role:
        return False
    return part.block.tag not in PREFORMATTED_TAGS


def _preformatted(block: Block) -> str:
    if block.language:
        code = f'<code class="language-{block.language}">{escape(block.text)}</code>'
        return f"<pre>{code}</pre>"
    # Browsers ignore a line feed right after <pre>. The added one protects a line feed at the
    # beginning of the text.
    return f"<pre>\n{escape(block.text)}</pre>"


def html_line(part: Part) -> str:
    """Return the text of a part with its marks and images as HTML."""
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
    if is_formula(mark):
        delimiter, _, latex = mark.partition(" ")
        return f"{delimiter}{_escape((latex or marked.text()).strip())}{delimiter}"
    if mark.startswith(NOTE_MARK):
        return _inline(marked.children)
    return f'<a href="{_quoted(marked.target)}">{_inline(marked.children)}</a>'


def _pictures(images: list[Image] | None) -> str:
    return " ".join([_image(image) for image in images]) if images else ""


def _image(image: Image) -> str:
    if image.is_film:
        return f'<a href="{_quoted(image.address)}">{_escape(image.description)}</a>'
    return f'<img src="{_quoted(image.address)}" alt="{escape(image.description)}">'
