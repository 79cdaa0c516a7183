"""Writes the content of office files as HTML. The library ``anydoc`` reads them."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from contentspider.ground.counts import counted
from contentspider.page.input.lost_signs import with_lost_signs

if TYPE_CHECKING:
    from collections.abc import Iterable

    from anydoc import Block, CellSlot, Document, Inline, List, Style, Table

# Limits of a document, and of one run of text with the same format. The rest is left out.
MAX_CHARS, MAX_TEXT_CHARS = 5_000_000, 1_000_000
MAX_TAGS = 200_000  # fewer than the tags that are read of a page (see `body.MAX_TAGS`)
MAX_DEPTH = 30  # elements that are nested more deeply are written at this depth
MAX_ATTRIBUTE_CHARS = 2_000  # also of the heading that is used as title
MAX_LEVEL = 6  # HTML has six levels of headings, word processors have more
MAX_BLOCKS_BEFORE_HEADING = 20
UNKNOWN = "it is damaged, or its format is unknown"
SPREADSHEETS = ("xlsx", "xls", "ods")
STYLES = (("bold", "b"), ("italic", "i"), ("strike", "s"), ("code", "code"))
CHECKED, UNCHECKED = "\u2611", "\u2610"
# A member of the files that hold an encrypted DOCX, XLSX or PPTX file.
ENCRYPTED_MEMBER = "EncryptedPackage".encode("utf-16-le")


@dataclass
class OfficeText:
    """The content of an office file as HTML, and its first *heading*, "" without one. *left_out*
    counts the parts that are left out ("": the HTML is complete). *problem* says why the file
    cannot be read ("": it can).
    """

    html: str = ""
    heading: str = ""
    left_out: str = ""
    problem: str = ""


def read_office(body: bytes) -> OfficeText:
    """Return the content of an office file."""
    import anydoc

    body, unmarked = with_lost_signs(body)
    try:
        document = anydoc.to_document(body)
    except anydoc.ConvertError as error:
        if isinstance(error, anydoc.EncryptedError) or ENCRYPTED_MEMBER in body:
            return OfficeText(problem="it is encrypted")
        is_unknown = isinstance(error, anydoc.UnsupportedError)
        return OfficeText(problem=UNKNOWN if is_unknown else str(error))
    kind = anydoc.format_from_bytes(body)
    writer = _Writer(document)
    html = writer.write()
    blocks = f"{counted(writer.left_out, 'blocks')} or rows" if writer.left_out else ""
    left_out = " and ".join(filter(None, (blocks, unmarked)))
    # The headings of a spreadsheet are the names of its sheets.
    heading = "" if kind in SPREADSHEETS else _first_heading(document)
    return OfficeText(html, heading, left_out)


def _first_heading(document: Document) -> str:
    for block in document.blocks[:MAX_BLOCKS_BEFORE_HEADING]:
        if block.kind == "heading":
            heading = "".join(inline.text or "" for inline in block.content or [])
            return heading[:MAX_ATTRIBUTE_CHARS]
    return ""


class _Writer:
    """Writes a document as HTML up to `MAX_CHARS` and `MAX_TAGS`."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._parts: list[str] = []
        self._chars = self._tags = self._depth = 0
        self._is_heading = False
        self._notes = {note.id: number for number, note in enumerate(document.notes, 1)}
        self.left_out = 0

    def write(self) -> str:
        """Return the HTML of the whole document, with its notes at the end."""
        self._blocks(self._document.blocks)
        if self._document.notes:
            self._open("section", ' role="doc-endnotes"')
            self._open("ol")
            for note in self._document.notes:
                self._open("li", f' id="note-{self._notes[note.id]}"')
                self._blocks(note.blocks)
                self._close("li")
            self._close("ol")
            self._close("section")
        return "".join(self._parts)

    @property
    def _is_full(self) -> bool:
        return self._chars >= MAX_CHARS or self._tags >= MAX_TAGS

    def _open(self, tag: str, attributes: str = "") -> None:
        self._parts.append(f"<{tag}{attributes}>")
        self._tags += 1

    def _close(self, tag: str) -> None:
        self._parts.append(f"</{tag}>")

    def _text(self, text: str) -> None:
        if len(text) > MAX_TEXT_CHARS:
            self.left_out += 1
        self._parts.append(escape(text[:MAX_TEXT_CHARS]))
        self._chars += len(text)

    def _blocks(self, blocks: Iterable[Block]) -> None:
        self._depth += 1
        for block in blocks:
            if self._is_full:
                self.left_out += 1
            else:
                self._block(block)
        self._depth -= 1

    def _block(self, block: Block) -> None:
        if block.list is not None:
            self._list(block.list)
        elif block.table is not None:
            self._table(block.table)
        elif block.kind == "block_quote":
            self._nest("blockquote", block.blocks or [])
        elif block.kind == "code_block":
            self._leaf("pre", block.text or "")
        elif block.kind == "math":
            self._open("p")
            self._open("math", ' display="block"' + _attribute("alttext", block.text))
            self._close("math")
            self._close("p")
        elif block.kind == "rule":
            self._open("hr")
        else:
            tag = f"h{min(block.level, MAX_LEVEL)}" if block.level else "p"
            self._is_heading = block.level is not None
            self._open(tag)
            self._inlines(block.content or [])
            self._close(tag)

    def _nest(self, tag: str, blocks: Iterable[Block], attributes: str = "") -> None:
        """Write blocks within an element, or without it if they are nested too deeply."""
        is_shallow = self._depth <= MAX_DEPTH
        if is_shallow:
            self._open(tag, attributes)
        self._blocks(blocks)
        if is_shallow:
            self._close(tag)

    def _leaf(self, tag: str, text: str) -> None:
        self._open(tag)
        self._text(text)
        self._close(tag)

    def _list(self, entries: List) -> None:
        is_shallow = self._depth <= MAX_DEPTH
        tag, attributes = ("ul", "") if entries.marker == "bullet" else ("ol", "")
        if tag == "ol" and entries.start != 1:
            attributes = f' start="{entries.start}"'
        if is_shallow:
            self._open(tag, attributes)
        for entry in entries.items:
            self._nest("li", entry.blocks)
        if is_shallow:
            self._close(tag)

    def _table(self, table: Table) -> None:
        if table.kind == "layout" or self._depth > MAX_DEPTH:
            for row in table.grid:
                for slot in row:
                    self._blocks(slot.cell.blocks if slot.cell is not None else [])
            return
        self._open("table")
        for number, row in enumerate(table.grid):
            if self._is_full:
                self.left_out += len(table.grid) - number
                break
            self._row(row, "th" if number < table.header_rows else "td")
        self._close("table")

    def _row(self, row: list[CellSlot], tag: str) -> None:
        self._open("tr")
        for slot in row:
            if (cell := slot.cell) is None:
                continue
            spans = f' colspan="{cell.col_span}"' if cell.col_span > 1 else ""
            spans += f' rowspan="{cell.row_span}"' if cell.row_span > 1 else ""
            self._open(tag, spans)
            if len(cell.blocks) == 1 and cell.blocks[0].kind == "paragraph":
                self._inlines(cell.blocks[0].content or [])
            else:
                self._blocks(cell.blocks)
            self._close(tag)
        self._close("tr")

    def _inlines(self, content: Iterable[Inline]) -> None:
        for inline in content:
            self._inline(inline)

    def _inline(self, inline: Inline) -> None:
        if inline.kind == "text":
            self._styled(inline.text or "", inline.style)
        elif inline.kind == "link":
            self._link(inline)
        elif inline.kind == "line_break":
            self._open("br")
        elif inline.kind == "math":
            self._open("math", _attribute("alttext", inline.text))
            self._close("math")
        elif inline.kind == "checkbox":
            self._text(CHECKED if inline.checked else UNCHECKED)
        elif inline.kind == "note_ref":
            self._note_mark(inline)
        elif inline.kind == "image":
            self._image(inline)

    def _note_mark(self, inline: Inline) -> None:
        if number := self._notes.get(inline.note_id or ""):
            self._parts.append(f'<sup><a href="#note-{number}">{number}</a></sup>')

    def _image(self, image: Inline) -> None:
        """Write an image. Images without an address are stored in the file; they are left out."""
        if image.source is not None and image.source.url:
            self._open("img", _attribute("src", image.source.url) + _attribute("alt", image.alt))

    def _styled(self, text: str, style: Style | None) -> None:
        tags = [tag for name, tag in STYLES if style is not None and getattr(style, name)]
        if self._is_heading or not text.strip():
            tags = []
        for tag in tags:
            self._open(tag)
        self._text(text)
        for tag in reversed(tags):
            self._close(tag)

    def _link(self, link: Inline) -> None:
        target = link.target
        # On the page of the document, links to its own parts would not work.
        is_long = target is not None and len(target.value) > MAX_ATTRIBUTE_CHARS
        if target is None or target.kind == "anchor" or is_long:
            self._inlines(link.content or [])
            return
        self._open("a", _attribute("href", target.value))
        self._inlines(link.content or [])
        self._close("a")


def _attribute(name: str, value: str | None) -> str:
    """Return an attribute of an element, its value cut after `MAX_ATTRIBUTE_CHARS`."""
    return f' {name}="{escape((value or "")[:MAX_ATTRIBUTE_CHARS])}"'
