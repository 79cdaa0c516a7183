# cython: language_level=3, annotation_typing=False, infer_types=True
"""Writes the kept blocks of a page as Markdown."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING
from urllib.parse import quote

from contentspider.page.tree.tags import (
    BOLD,
    CHECKED,
    CODE,
    DELETED,
    DISPLAYED_FORMULA,
    EMPHASIS,
    FORMULA,
    LINE_BREAK,
    NO_NUMBER,
    NOTE,
    PREFORMATTED_TAGS,
    STYLE_TAGS,
    SUPERSCRIPT,
    UNCHECKED,
)
from contentspider.page.write.lines import Image, Marked, Part
from contentspider.page.write.tables import lay_out

if TYPE_CHECKING:
    from contentspider.page.write.lines import Cell, Line, Row

# Characters of plain text that Markdown would read as markup. The backslash comes first, because
# it also escapes the others.
# To GitHub's Markdown one tilde is a sign of deleted text, too.
ESCAPED = "\\`*_[]<>~"
LINE_START = re.compile(r"\d+(?=[.)](?:\s|$))|(?=[#+:=-])")
HARD_BREAK = "\\\n"
ENTITY = re.compile(r"&(?=#?\w+;)")
HEADING_END = re.compile(r"(?<!\\)(?=#+$)")
UNSAFE_IN_TARGET = re.compile(r"[\s\\()<>]")
SPECIAL_IN_TARGET = re.compile(r"[\s\\()<>&]")
FENCE = re.compile(r"`+")
# Formulas in a page's text, between the delimiters that MathJax and KaTeX look for. Prices have
# dollar signs, too, so text between two dollar signs is a formula only if `TEX_SIGN` is in it.
TEX = re.compile(
    r"\\\((?P<inline>(?:(?!\\[()]).){1,1000})\\\)"
    r"|\\\[(?P<displayed>(?:(?!\\[\[\]]).){1,1000})\\\]"
    r"|\$\$[^$]{1,1000}\$\$"
    r"|(?<![\w$\\])\$(?=[^\s$])(?P<dollars>[^$\n]{1,500})(?<=\S)\$(?![\w$])"
)
TEX_SIGN = re.compile(r"[\\^_{}=<>\[\]]")
# A parser of Markdown that knows no formulas would read this as the beginning of an HTML tag.
READ_AS_TAG = re.compile(r"<(?=[A-Za-z/!?])")

NOTE_MARKER = re.compile(r"(?:\\\[)?(\[\^[\w-]+\])(?:\\\])?\Z")
INDENT_CHARS = 4
NESTED = "\u00a0\u00a0"  # indents nested lists in cells, where other spaces are not shown
# Another sign begins another list.
OTHER_SIGN = {".": ")", ")": ".", "-": "*", "*": "-"}
DELIMITERS = {BOLD: "**", EMPHASIS: "*", DELETED: "~~"}
BOXES = {CHECKED: "[x] ", UNCHECKED: "[ ] ", "☒ ": "[x] "}  # word processors tick with a cross


def write_markdown(page_parts: list[Part]) -> str:
    """Return the parts of a page as CommonMark with tables, strikethrough, footnotes and definition
    lists.

    Text is escaped. The blocks of a table cell are separated by ``<br>``, entries of lists in it
    begin with their markers, and the cells of a table in it are separated by escaped pipes.
    Formulas stand between dollar signs. Styles without a sign in Markdown (``sub``, ``sup``,
    ``mark``) are HTML.
    """
    lines: list[str] = []
    indents: list[int] = []  # how far the text of each open list entry is indented
    entries: list[Part] = []  # the part that began each of them
    signs: list[str] = []  # of their lists
    last: Part | None = None
    for part in page_parts:
        is_next_list = False
        sign = _first_sign(part)
        if part.begins and len(entries) >= part.depth:
            before = entries[part.depth - 1]
            is_next_list = _is_next_list(part, before)
            if is_next_list or _is_numbered(part) == _is_numbered(before):
                sign = signs[part.depth - 1]
            if is_next_list:
                sign = OTHER_SIGN[sign]
        if last is not None and (is_next_list or not _continues(part, last)):
            lines.append(_blank_line(part, last))
        last = part
        del indents[part.depth - 1 if part.begins else part.depth :]
        del entries[len(indents) :], signs[len(indents) :]
        marker = _marker(part, sign)
        first_prefix = "> " * part.quotes + " " * sum(indents)
        if part.begins:
            indents.append(max(INDENT_CHARS, len(marker) if _is_numbered(part) else 0))
            entries.append(part)
            signs.append(sign)
        rest_prefix = "> " * part.quotes + " " * sum(indents)
        if part.label or part.definition == "dd":
            rest_prefix += " " * INDENT_CHARS
            if not marker:
                first_prefix = rest_prefix
        prefix = first_prefix + marker
        for line in _lines(part):
            lines.append(prefix + line if line else prefix.rstrip())
            prefix = rest_prefix
    return "\n".join(lines).strip("\n")


def _blank_line(part: Part, last: Part) -> str:
    """Return the blank line between two parts, with the signs of the quotes that surround both."""
    quotes = min(part.quotes, last.quotes)
    if quotes and part.quotes == last.quotes and part.block.quote != last.block.quote:
        quotes -= 1  # the part begins a new quote
    return ("> " * quotes).rstrip()


def _continues(part: Part, last: Part) -> bool:
    """Tell whether a part follows the last one without a blank line."""
    if part.definition == "dd" and part.begins_text and last.definition:
        return True
    if part.ordered and part.depth > last.depth and part.block.number != 1:
        return False  # CommonMark: only a list that begins with 1 may interrupt a paragraph
    return part.begins and last.depth > 0 and part.quotes == last.quotes


def _is_next_list(part: Part, before: Part) -> bool:
    """Tell whether a list entry belongs to another list of the same kind than the entry *before*.
    Markdown has only the number of a list's first entry, so that another one begins a list.
    """
    is_numbered = _is_numbered(part)
    if is_numbered != _is_numbered(before):
        return False
    number, last = part.block.number, before.block.number
    is_counted = is_numbered and number != NO_NUMBER and last != NO_NUMBER
    return part.block.begins_list or (is_counted and number != last + 1)


def _is_numbered(part: Part) -> bool:
    """Tell whether a list entry has a number in Markdown, which has no negative ones."""
    return part.ordered and (part.block.number >= 0 or part.block.number == NO_NUMBER)


def _first_sign(part: Part) -> str:
    return "." if _is_numbered(part) else "-"


def _marker(part: Part, sign: str) -> str:
    """Return the marker of the list entry, footnote or definition that a part begins, or "". *sign*
    stands for a bullet, or after a number.
    """
    if part.begins:
        number = part.block.number
        if _is_numbered(part):
            return f"{number if number >= 0 else 1}{sign} "
        return f"{sign} {number}. " if part.ordered else f"{sign} "
    if not part.begins_text:
        return ""
    if part.label:
        return f"[^{part.label}]: "
    return ": " if part.definition == "dd" else ""


def _lines(part: Part) -> list[str]:
    block = part.block
    if part.rows is not None:
        return _table(part.rows)
    if block.tag in PREFORMATTED_TAGS:
        fence = "`" * max(3, 1 + _longest_run(block.text))
        lines = [fence + block.language, *block.text.split("\n"), fence]
    else:
        line = _line(part)
        if part.level:
            line = line.replace(HARD_BREAK, " ")
            lines = ["#" * part.level + " " + HEADING_END.sub(r"\\", line, count=1)]
        elif part.definition == "dt":
            lines = [line.replace(HARD_BREAK, " ")]
        else:
            lines = line.split("\n")
            if part.begins and line[:2] in BOXES:
                lines[0] = BOXES[line[:2]] + lines[0][2:]
    before, after = _pictures(part.before), _pictures(part.after)
    if before and part.begins:  # the picture belongs to the list entry
        lines[0] = f"{before} {lines[0]}"
    elif before:
        lines = [before, "", *lines]
    if after:
        lines += ["", after]
    return lines


def _table(rows: list[Row]) -> list[str]:
    lines: list[str] = []
    for cells in lay_out(rows, True):
        lines.append("| " + " | ".join([_cell(cell) for cell in cells]) + " |")
        if len(lines) == 1:
            lines.append("|" + " --- |" * len(cells))
    return lines


def _cell(cell: Cell | None) -> str:
    return "<br>".join([_part_of_cell(part) for part in cell.parts]) if cell else ""


def _part_of_cell(part: Part) -> str:
    if part.rows is not None:
        rows = lay_out(part.rows, True)
        return "<br>".join([" \\| ".join([_cell(cell) for cell in row]) for row in rows])
    if part.block.tag in PREFORMATTED_TAGS:
        code = [_code(line) for line in part.block.text.split("\n")]
        return "<br>".join(code).replace("|", "\\|")
    line = _line(part)
    if part.before or part.after:
        line = " ".join(filter(None, (_pictures(part.before), line, _pictures(part.after))))
    if part.begins:
        line = NESTED * (part.depth - 1) + _marker(part, _first_sign(part)) + line
    return line.replace("|", "\\|").replace(HARD_BREAK, "<br>")


def _pictures(images: list[Image] | None) -> str:
    return " ".join([_image(image) for image in images]) if images else ""


def _line(part: Part) -> str:
    """Return the text of a part; a backslash stands before each line break in it."""
    if not part.line:
        return _escape_start(_escape(part.block.text))
    text = _inline(part.line, part)
    if HARD_BREAK in text:
        return HARD_BREAK.join([_escape_start(line) for line in text.split(HARD_BREAK)])
    return _escape_start(text)


def _escape_start(line: str) -> str:
    if line[:1].isalpha():  # the common case
        return line
    line = line.strip()
    if start_of_markup := LINE_START.match(line):
        return line[: start_of_markup.end()] + "\\" + line[start_of_markup.end() :]
    return line


def _inline(children: Line, part: Part) -> str:
    if len(children) == 1 and isinstance(children[0], str):  # the common case
        return _escape(children[0])
    pieces: list[str] = []
    for number, child in enumerate(children):
        if isinstance(child, str):
            pieces.append(_escape(child))
            continue
        before = pieces[-1] if pieces else ""
        if isinstance(child, Image):
            is_apart = not before or before.endswith((" ", "\n"))
            pieces.append(("" if is_apart else " ") + _image(child))
        else:
            piece = _marked(child, part, before, children[number + 1 : number + 2])
            if pieces:
                pieces[-1] = _before(piece, before)
            pieces.append(piece)
    return "".join(pieces)


def _before(piece: str, before: str) -> str:
    """Return the Markdown *before* a marked piece. Its end is changed if Markdown would otherwise
    read the two together as other markup.
    """
    if piece.startswith("[^"):
        return before.removesuffix(" ")  # a footnote's marker stands directly after its word
    if piece.startswith("[") and before.endswith("!"):
        return before[:-1] + "\\!"  # otherwise the link would be read as a picture
    if piece.startswith("`") and before.endswith("`"):
        return before + " "  # otherwise two code spans would be read as one
    return before


def _marked(marked: Marked, part: Part, before: str, following: Line) -> str:
    """Return the Markdown of a marked text. *before* is the Markdown of the line up to it, and
    *following* has the next piece of the line, if there is one.
    """
    mark = marked.mark
    if mark == CODE:
        return _code(marked.text())
    if mark == LINE_BREAK:
        return HARD_BREAK
    if mark in (FORMULA, DISPLAYED_FORMULA):
        return _formula(marked.text(), mark)
    if mark in STYLE_TAGS:
        text = _inline(marked.children, part)
        if mark == SUPERSCRIPT and (marker := NOTE_MARKER.match(text)):
            return marker[1]
        return _styled(text, mark, before, following)
    if mark.startswith(NOTE):
        return f"[^{part.labels[mark[len(NOTE) :]]}]"
    return f"[{_inline(marked.children, part)}]({_target(marked.target)})"


def _styled(text: str, mark: str, before: str, following: Line) -> str:
    """Return a text between the signs of its style, or as HTML where Markdown would not read the
    signs: within a word, or next to another sign.
    """
    core = text.strip()
    if not core:
        return text
    start = text[: len(text) - len(text.lstrip())]
    end = text[len(text.rstrip()) :]
    delimiter = DELIMITERS.get(mark)
    after = _first_character(following)
    if delimiter and _is_flanked(start or before[-1:] or " ", core, end or after):
        return f"{start}{delimiter}{core}{delimiter}{end}"
    return f"{start}<{STYLE_TAGS[mark]}>{core}</{STYLE_TAGS[mark]}>{end}"


def _first_character(following: Line) -> str:
    """Return the first character that follows a marked text, a space at the end of the line."""
    if not following or isinstance(following[0], Image):
        return " "
    child = following[0]
    text = child if isinstance(child, str) else child.text()
    return text[:1] or " "


def _is_flanked(before: str, text: str, after: str) -> bool:
    """Tell whether CommonMark (6.2) reads signs of emphasis around a text as emphasis."""
    last, following = before[-1], after[0]
    if last in "*~" or text[0] in "*~" or text[-1] in "*~":
        return False
    opens = not _is_punctuation(text[0]) or last.isspace() or _is_punctuation(last)
    closes = not _is_punctuation(text[-1]) or following.isspace() or _is_punctuation(following)
    return opens and closes


def _is_punctuation(character: str) -> bool:
    return unicodedata.category(character)[0] in "PS"


def _escape(text: str) -> str:
    if "$" in text or "\\(" in text or "\\[" in text:
        return _escape_around_formulas(text)
    return _escape_plain(text)


def _escape_around_formulas(text: str) -> str:
    pieces: list[str] = []
    end = 0
    for formula in TEX.finditer(text):
        pieces.append(_escape_plain(text[end : formula.start()]))
        end = formula.end()
        if formula["inline"]:
            pieces.append(_formula(formula["inline"], "$"))
        elif formula["displayed"]:
            pieces.append(_formula(formula["displayed"], "$$"))
        elif not formula["dollars"]:
            pieces.append(_formula(formula[0].strip("$"), "$$"))
        elif TEX_SIGN.search(formula["dollars"]):
            pieces.append(_formula(formula["dollars"], "$"))
        else:
            pieces.append(_escape_plain(formula[0]))
    pieces.append(_escape_plain(text[end:]))
    return "".join(pieces)


def _formula(source: str, delimiter: str) -> str:
    """Return the LaTeX *source* of a formula between its delimiters.

    Spaces, which LaTeX ignores, keep parsers of Markdown that know no formulas from reading HTML or
    a link in it.
    """
    source = READ_AS_TAG.sub("< ", source.strip()).replace("](", "] (")
    return f"{delimiter}{source}{delimiter}"


def _escape_plain(text: str) -> str:
    text = text.replace("\n", " ")
    for sign in ESCAPED:
        # Most texts have no such sign, and this test is much cheaper than a regular expression.
        if sign in text:
            text = text.replace(sign, "\\" + sign)
    if "&" in text:
        text = ENTITY.sub(r"\\&", text)
    return text


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
