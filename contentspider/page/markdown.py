"""Markdown of the blocks that were kept."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import quote

from contentspider.page.blocks import BOLD, CODE, PREFORMATTED_TAGS
from contentspider.page.structure import (
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

# What Markdown would read as markup where plain text stands; the backslash, which escapes, first.
ESCAPED = "\\`*_[]<>"
LINE_START = re.compile(r"\d+(?=[.)](?:\s|$))|(?=[#+~-])")
ENTITY = re.compile(r"&(?=#?\w+;)")
HEADING_END = re.compile(r"(?<!\\)(?=#+$)")
UNSAFE_IN_TARGET = re.compile(r"[\s\\()<>]")
FENCE = re.compile(r"`+")

INDENT = "    "


def to_markdown(blocks: Sequence[Block], base: str = "") -> str:
    """Return the blocks as Markdown, with headings, lists, quotes, tables, code, links, pictures.

    Addresses are resolved by *base*, that of the page. Text is escaped; a link whose scheme could
    run something (``javascript:``) is left as text. The blocks of a cell are parted by ``<br>``.
    """
    lines: list[str] = []
    last = Part(blocks[0]) if blocks else None
    for part in parts(blocks):
        assert last is not None
        prefix = "> " * part.quotes
        found = _lines(part, base)
        if lines and not (part.begins and last.depth and last.quotes == part.quotes):
            lines.append(("> " * min(part.quotes, last.quotes)).rstrip())
        lines += [(prefix + line).rstrip() if not line.strip() else prefix + line for line in found]
        last = part
    return "\n".join(lines).strip("\n")


def _lines(part: Part, base: str) -> list[str]:
    block = part.block
    if part.rows:
        return _table(part.rows, base)
    indent = INDENT * part.depth
    if block.tag in PREFORMATTED_TAGS:
        fence = "`" * max(3, 1 + _longest_run(block.text))
        found = [fence, *block.text.split("\n"), fence]
    else:
        line = _line(block, base)
        if block.tag in HEADING_TAGS:
            found = ["#" * HEADING_TAGS[block.tag] + " " + HEADING_END.sub(r"\\", line, count=1)]
        else:
            found = [line]
    if part.begins:
        found[0] = ("1. " if part.ordered else "- ") + found[0]
        indent = INDENT * (part.depth - 1)
    before, after = _alone(block, base, False), _alone(block, base, True)
    if before and part.begins:  # in the entry, not before its list
        found[0] = found[0].replace(" ", f" {before} ", 1)
        before = ""
    if before:
        found = [before, "", *found]
    if after:
        found += ["", INDENT + after if part.begins else after]
    return [indent + line if line else line for line in found]


def _table(rows: list[list[list[Block]]], base: str) -> list[str]:
    lines: list[str] = []
    width = max(map(len, rows))
    for row in rows:
        cells = ["<br>".join(_cell(block, base) for block in cell) for cell in row]
        cells += [""] * (width - len(cells)) if not lines else []
        lines.append("| " + " | ".join(cells) + " |")
        if len(lines) == 1:
            lines.append("|" + " --- |" * width)
    return lines


def _cell(block: Block, base: str) -> str:
    line = _line(block, base)
    if block.images:
        around = [_alone(block, base, False), line, _alone(block, base, True)]
        line = " ".join(filter(None, around))
    return line.replace("|", "\\|")


def _alone(block: Block, base: str, after: bool) -> str:
    if not block.images:
        return ""
    return " ".join(filter(None, (_image(image, base) for image in images_beside(block, after))))


def _line(block: Block, base: str) -> str:
    plain = not block.spans and not block.images
    line = _escape(block.text) if plain else _inline(line_of(block), base, False)
    line = line.replace("\n", " ").strip()
    start_of_markup = LINE_START.match(line)
    if start_of_markup:
        line = line[: start_of_markup.end()] + "\\" + line[start_of_markup.end() :]
    return line


def _inline(children: Sequence[str | Image | Marked], base: str, in_link: bool) -> str:
    found: list[str] = []
    for child in children:
        if isinstance(child, str):
            found.append(_escape(child))
            continue
        if isinstance(child, Image):
            piece = _image(child, base)
            if piece and found and not found[-1].endswith(" "):
                piece = " " + piece
        elif child.mark == CODE:
            piece = _code(child.text())
        else:
            is_link = child.mark != BOLD and not in_link
            piece = _inline(child.children, base, in_link or is_link)
            if is_link and (target := _target(child.mark, base)):
                piece = f"[{piece}]({target})"
        if piece.startswith("[") and found and found[-1].endswith("!"):
            found[-1] = found[-1][:-1] + "\\!"  # it would make a picture of a link
        elif piece.startswith("`") and found and found[-1].endswith("`"):
            found.append(" ")  # two runs of code would be one
        found.append(piece)
    return "".join(found)


def _escape(text: str) -> str:
    for mark in ESCAPED:
        # Hardly ever, and to see that costs far less than to replace by a regular expression.
        if mark in text:
            text = text.replace(mark, "\\" + mark)
    if "&" in text:
        text = ENTITY.sub(r"\\&", text)
    return text.replace("~~", "\\~\\~") if "~~" in text else text


def _longest_run(text: str) -> int:
    return max((len(run) for run in FENCE.findall(text)), default=0)


def _code(text: str) -> str:
    text = text.replace("\n", " ")
    if not text.strip():
        return text
    fence = "`" * (1 + _longest_run(text))
    space = " " if "`" in text or (text[0] == text[-1] == " ") else ""
    return f"{fence}{space}{text}{space}{fence}"


def _target(address: str, base: str) -> str:
    target = resolve(base, address)
    return ENTITY.sub(r"\\&", UNSAFE_IN_TARGET.sub(lambda match: quote(match[0], safe=""), target))


def _image(image: Image, base: str) -> str:
    target = _target(image.address, base)
    if not target or target.lower().startswith("mailto:"):
        return ""
    return f"![{_escape(image.description)}]({target})"
