"""Text and Markdown of the blocks that were kept."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import quote

from contentspider.page.blocks import CODE, PREFORMATTED_TAGS
from contentspider.page.names import step_tag

if TYPE_CHECKING:
    from collections.abc import Sequence

    from contentspider.page.blocks import Block

HEADING_TAGS = {"h1": 1, "h2": 2, "h3": 3, "h4": 4, "h5": 5, "h6": 6}
CELL_TAGS = frozenset(["td", "th"])
LIST_TAGS = frozenset(["ul", "ol", "menu", "dir"])
# What Markdown would read as markup where plain text stands; the backslash, which escapes, first.
ESCAPED = "\\`*_[]<>"
LINE_START = re.compile(r"\d+(?=[.)]\s)|(?=[#+~-])")
UNSAFE_IN_TARGET = re.compile(r"[\s\\()<>]")
SAFE_LINK = re.compile(r"^(?:https?://|/|\.|#|\?|mailto:|[\w%-]+(?:[/.?#]|$))", re.IGNORECASE)


def to_text(blocks: Sequence[Block]) -> str:
    """Return the text of the blocks, one block a line; the cells of a table row share a line."""
    lines: list[str] = []
    row = 0
    for block in blocks:
        if block.row and block.row == row and block.tag in CELL_TAGS:
            lines[-1] += "\t" + block.text
        else:
            lines.append(block.text)
        row = block.row if block.tag in CELL_TAGS else 0
    return "\n".join(lines)


def _escape(text: str) -> str:
    for mark in ESCAPED:
        if (
            mark in text
        ):  # hardly ever, and it costs far less to see that than to replace with a regular expression
            text = text.replace(mark, "\\" + mark)
    return text


def _inline(block: Block) -> str:
    """Return the block's text with its links and code as Markdown."""
    line = _with_marks(block) if block.spans else _escape(block.text)
    start_of_markup = LINE_START.match(line)
    return (
        line[: start_of_markup.end()] + "\\" + line[start_of_markup.end() :]
        if start_of_markup
        else line
    )


def _with_marks(block: Block) -> str:
    parts: list[str] = []
    end = 0
    text = block.text
    for start, stop, mark in block.spans:
        if start < end:
            continue  # code inside a link, or the other way round: the outer one stands
        parts.append(_escape(text[end:start]))
        inside = text[start:stop]
        if mark == CODE:
            fence = "`" * (1 + max((len(run) for run in re.findall(r"`+", inside)), default=0))
            space = " " if "`" in inside else ""
            parts.append(f"{fence}{space}{inside}{space}{fence}")
        elif SAFE_LINK.match(mark):
            target = UNSAFE_IN_TARGET.sub(lambda match: quote(match[0], safe=""), mark)
            parts.append(f"[{_escape(inside)}]({target})")
        else:
            parts.append(_escape(inside))
        end = stop
    parts.append(_escape(text[end:]))
    return "".join(parts)


@lru_cache(maxsize=10_000)
def _list_depth(path: str) -> tuple[int, bool]:
    """Return how deep in lists the path is, and whether the innermost list is ordered."""
    lists = [tag for tag in map(step_tag, path.split("/")) if tag in LIST_TAGS]
    return len(lists), lists[-1:] == ["ol"]


def to_markdown(blocks: Sequence[Block]) -> str:
    """Return the blocks as Markdown: headings, lists, quotes, tables, code and links survive.

    Text is escaped; a link whose scheme could run something (``javascript:``) is left as text.
    """
    lines: list[str] = []
    item = row = 0
    columns = 0
    in_list = False
    for block in blocks:
        tag = block.tag
        if tag in CELL_TAGS and block.row:
            cell = _inline(block).replace("|", "\\|").replace("\n", " ")
            if block.row == row:
                lines[-1] += f" {cell} |"
                continue
            if not columns:
                lines.append("")
            elif columns == 1:
                lines.append("|" + " --- |" * max(1, lines[-1].count(" |")))
            columns += 1
            lines.append(f"| {cell} |")
            row, in_list = block.row, False
            continue
        if columns == 1:
            lines.append("|" + " --- |" * max(1, lines[-1].count(" |")))
        row = columns = 0
        if tag in PREFORMATTED_TAGS:
            longest = max((len(run) for run in re.findall(r"`+", block.text)), default=0)
            fence = "`" * max(3, longest + 1)
            lines += ["", fence, block.text, fence]
            item, in_list = 0, False
            continue
        text = _inline(block).replace("\n", " ")
        if tag in HEADING_TAGS:
            lines += ["", "#" * HEADING_TAGS[tag] + " " + text]
            in_list = False
        elif block.item:
            depth, ordered = _list_depth(block.path)
            indent = "    " * max(0, depth - 1)
            if not in_list:
                lines.append("")
            if block.item != item:
                lines.append(f"{indent}{'1.' if ordered else '-'} {text}")
            else:
                lines += ["", f"{indent}    {text}"]
            in_list = True
        else:
            prefix = "> " if "blockquote" in block.path else ""
            lines += ["", prefix + text]
            in_list = False
        item = block.item
    if columns == 1:
        lines.append("|" + " --- |" * max(1, lines[-1].count(" |")))
    return "\n".join(lines).strip("\n")
