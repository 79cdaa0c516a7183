# cython: language_level=3, annotation_typing=False, infer_types=True
"""Markdown of the blocks that were kept."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import quote

from contentspider.page.tree.tags import BOLD, CODE, PREFORMATTED_TAGS
from contentspider.page.words.names import HEADINGS
from contentspider.page.write.structure import Image, Part

if TYPE_CHECKING:
    from contentspider.page.write.structure import Line

# What Markdown would read as markup where plain text stands; the backslash, which escapes, first.
ESCAPED = "\\`*_[]<>"
LINE_START = re.compile(r"\d+(?=[.)](?:\s|$))|(?=[#+~-])")
ENTITY = re.compile(r"&(?=#?\w+;)")
HEADING_END = re.compile(r"(?<!\\)(?=#+$)")
UNSAFE_IN_TARGET = re.compile(r"[\s\\()<>]")
SPECIAL_IN_TARGET = re.compile(r"[\s\\()<>&]")
FENCE = re.compile(r"`+")

INDENT = "    "
SPECIAL_TAGS = PREFORMATTED_TAGS | HEADINGS.keys()


def write_markdown(found: list[Part]) -> str:
    """Return the parts of a page as Markdown, with headings, lists, quotes, tables, code, links and
    pictures. Text is escaped; the blocks of a cell are parted by ``<br>``.
    """
    lines: list[str] = []
    depth = quotes = 0  # the part's before
    for part in found:
        if lines and not (part.begins and depth and quotes == part.quotes):
            lines.append(("> " * min(part.quotes, quotes)).rstrip())
        depth, quotes = part.depth, part.quotes
        if quotes:
            prefix = "> " * quotes
            lines += [
                (prefix + line).rstrip() if not line.strip() else prefix + line
                for line in _lines(part)
            ]
        elif depth or part.rows or part.before or part.after or part.block.tag in SPECIAL_TAGS:
            lines += _lines(part)
        else:
            lines.append(_line(part))
    return "\n".join(lines).strip("\n")


def _lines(part: Part) -> list[str]:
    block = part.block
    if part.rows:
        return _table(part.rows)
    indent = INDENT * part.depth
    if block.tag in PREFORMATTED_TAGS:
        fence = "`" * max(3, 1 + _longest_run(block.text))
        found = [fence, *block.text.split("\n"), fence]
    else:
        line = _line(part)
        if block.tag in HEADINGS:
            found = ["#" * HEADINGS[block.tag] + " " + HEADING_END.sub(r"\\", line, count=1)]
        else:
            found = [line]
    if part.begins:
        found[0] = ("1. " if part.ordered else "- ") + found[0]
        indent = INDENT * (part.depth - 1)
    before, after = _pictures(part.before), _pictures(part.after)
    if before and part.begins:  # in the entry, not before its list
        found[0] = found[0].replace(" ", f" {before} ", 1)
        before = ""
    if before:
        found = [before, "", *found]
    if after:
        found += ["", INDENT + after if part.begins else after]
    return [indent + line if line else line for line in found] if indent else found


def _table(rows: list[list[list[Part]]]) -> list[str]:
    lines: list[str] = []
    width = max(map(len, rows))
    for row in rows:
        cells = ["<br>".join([_cell(part) for part in cell]) for cell in row]
        cells += [""] * (width - len(cells)) if not lines else []
        lines.append("| " + " | ".join(cells) + " |")
        if len(lines) == 1:
            lines.append("|" + " --- |" * width)
    return lines


def _cell(part: Part) -> str:
    line = _line(part)
    if part.before or part.after:
        line = " ".join(filter(None, (_pictures(part.before), line, _pictures(part.after))))
    return line.replace("|", "\\|")


def _pictures(images: list[Image] | None) -> str:
    return " ".join([_image(image) for image in images]) if images else ""


def _line(part: Part) -> str:
    line = _inline(part.line, False) if part.line else _escape(part.block.text)
    line = line.replace("\n", " ").strip()
    if not line[:1].isalpha() and (start_of_markup := LINE_START.match(line)):
        line = line[: start_of_markup.end()] + "\\" + line[start_of_markup.end() :]
    return line


def _inside(children: Line, in_link: bool) -> str:
    if len(children) == 1 and isinstance(children[0], str):  # mostly
        return _escape(children[0])
    return _inline(children, in_link)


def _inline(children: Line, in_link: bool) -> str:
    found: list[str] = []
    for child in children:
        if isinstance(child, str):
            found.append(_escape(child))
            continue
        if isinstance(child, Image):
            piece = _escape(child.description) if child.is_film and in_link else _image(child)
            if found and not found[-1].endswith(" "):
                piece = " " + piece
        else:
            marked = child
            if marked.mark == CODE:
                piece = _code(marked.text())
            else:
                is_link = marked.mark != BOLD and not in_link
                piece = _inside(marked.children, in_link or is_link)
                if is_link and marked.target:
                    piece = f"[{piece}]({_target(marked.target)})"
        if found and piece:
            if piece[0] == "[" and found[-1].endswith("!"):
                found[-1] = found[-1][:-1] + "\\!"  # it would make a picture of a link
            elif piece[0] == "`" and found[-1].endswith("`"):
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


def _target(address: str) -> str:
    if not SPECIAL_IN_TARGET.search(address):
        return address
    return ENTITY.sub(r"\\&", UNSAFE_IN_TARGET.sub(_quoted, address))


def _quoted(match: re.Match[str]) -> str:
    return quote(match[0], safe="")


def _image(image: Image) -> str:
    text = f"[{_escape(image.description)}]({_target(image.address)})"
    return text if image.is_film else "!" + text
