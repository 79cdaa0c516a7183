# cython: language_level=3, annotation_typing=False, infer_types=True
"""Writes the kept blocks of a page as Markdown."""

from __future__ import annotations

import re
import unicodedata
from io import StringIO
from typing import TYPE_CHECKING
from urllib.parse import quote

from contentspider.page.tree.containers import (
    BULLETS,
    DEFINITION,
    DETAILS,
    ITEM,
    LINES,
    NOTE,
    NUMBERS,
    QUOTE,
    SUMMARY,
    TERM,
)
from contentspider.page.tree.tags import (
    BOLD,
    CHECKED,
    CODE,
    DELETED,
    EMPHASIS,
    LINE_BREAK,
    NO_NUMBER,
    PREFORMATTED_TAGS,
    STYLE_TAGS,
    SUPERSCRIPT,
    UNCHECKED,
    is_formula,
)
from contentspider.page.tree.tags import NOTE as NOTE_MARK
from contentspider.page.write.lines import TEX, TEX_SIGN, Image, Marked, Part
from contentspider.page.write.markup import html_line
from contentspider.page.write.tables import lay_out

if TYPE_CHECKING:
    from contentspider.page.write.lines import Cell, Frame, Line, Row

# What CommonMark would read as markup in plain text: a backslash before punctuation; a backtick; an
# asterisk or tilde (to GitHub one tilde deletes text), unless spaces are around it; underscores at
# the beginning of a word, for emphasis does not begin within one; the beginning of a tag; brackets,
# without the ones of `_plain_brackets`.
ESCAPED = re.compile(
    r"\\(?=[!-/:-@\[-`{-~]|\Z)|`|(?<!\s)[*~]|[*~](?!\s)|(?<!\w)_+(?![\s_])"
    r"|<(?=[A-Za-z/!?]|\Z)|[\[\]]"
)
# An address in a text. GitHub makes it a link, with the backslashes that are in it, so one with
# such signs gets angle brackets instead. Its last sign may belong to the sentence.
ADDRESS = re.compile(r"(?<!\w)https?://[^\s<>]*[^\s<>.,;:!?\"'*~()\[\]`\\]", re.IGNORECASE)
AUTOLINK = re.compile(r"(?<!\\)<(https?://[^\s<>]+)>", re.IGNORECASE)
SIGNS = re.compile(r"[\\`*_\[\]<~]")
EMPHASIS_END = re.compile(r"[^\s_]_+(?![^\W_])")
BRACKETS = re.compile(r"[\[\]]")
# These brackets begin a footnote, a check box, an alert, or a picture; two make a link in a wiki.
BEGINS_MARKUP = re.compile(r"\[(?:[\^!\[]|[ xX]\])|(?<=!)\[")
# After brackets: the target of a link, the text of a definition, or a footnote.
TARGET = re.compile(r"\(|:|\[\^")
LINE_START = re.compile(r"\d+(?=[.)](?:\s|$))|(?=[#+:=>-]|\*(?:\s|$)|_[_\s]*$)")
HARD_BREAK = "\\\n"
ENTITY = re.compile(r"&(?=#?\w+;)")
HEADING_END = re.compile(r"(?<!\\)(?=#+$)")
UNSAFE_IN_TARGET = re.compile(r"[\s\\()<>]")
SPECIAL_IN_TARGET = re.compile(r"[\s\\()<>&]")
FENCE = re.compile(r"`+")
# A parser of Markdown that knows no formulas would read this as the beginning of an HTML tag.
READ_AS_TAG = re.compile(r"<(?=[A-Za-z/!?])")

NOTE_MARKER = re.compile(r"(?:\\\[)?(\[\^[\w-]+\])(?:\\\])?\Z")
INDENT_CHARS = 4
# The path of the title of a box.
TITLE = re.compile(
    r"title|heading|admonition-header|/p\.label|/(?:h[1-6]|dt)(?![a-z])", re.IGNORECASE
)
NESTED = "\u00a0\u00a0"  # indents nested lists in cells, where other spaces are not shown
DELIMITERS = {BOLD: "**", EMPHASIS: "*", DELETED: "~~"}
BOXES = {CHECKED: "[x] ", UNCHECKED: "[ ] ", "☒ ": "[x] "}  # word processors tick with a cross
# Another sign begins another list.
OTHER_SIGN = {".": ")", ")": ".", "-": "*", "*": "-"}


def write_markdown(page_parts: list[Part]) -> str:
    """Return the parts of a page as CommonMark with tables, strikethrough, footnotes, definition
    lists and alerts (``> [!WARNING]``).

    Text is escaped where CommonMark would read it as markup. The blocks of a table cell are
    separated by ``<br>``, entries of lists in it begin with their markers, and the cells of a table
    in it are separated by escaped pipes. Formulas stand between dollar signs. Styles without a sign
    in Markdown (``sub``, ``sup``, ``mark``) and folded text (``details``) are HTML.
    """
    writer = _Writer()
    for part in page_parts:
        writer.add(part)
    writer.close(0)
    return "\n".join(writer.lines).strip("\n")


class _Writer:
    """Writes the parts of a page, one after the other, to *lines*.

    *indents* has what each container around the last part puts before each of its lines, and
    *signs* the signs of its lists, "" for other containers.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.indents: list[str] = []
        self.signs: list[str] = []
        self.last: Part | None = None

    def add(self, part: Part) -> None:
        sign, is_next_list = self.sign(part)
        if self.last is not None:
            self.close(part.shared)
            if _has_lines(part.frames[: part.shared]):
                self.lines[-1] += "\\"
            elif is_next_list or not _continues(part, self.last):
                self.lines.append("".join(self.indents).rstrip())
        self.last = part
        is_open = len(part.frames) == part.shared
        prefix = "".join(self.indents) if is_open else self.open(part, sign)
        rest_prefix = "".join(self.indents)
        for line in _lines(part):
            self.lines.append(prefix + line if line else prefix.rstrip())
            prefix = rest_prefix

    def sign(self, part: Part) -> tuple[str, bool]:
        """Return the sign of the list entry that begins with a part ("" if none does), and whether
        it belongs to another list of the same kind than the entry before, which ends here.

        Markdown has only the number of a list's first entry, so that another one begins a list.
        """
        number = _entry_at(part.frames, part.shared)
        if not number:
            return "", False
        entry, is_numbered = part.frames[number], _is_numbered(part.frames, number)
        sign = _first_sign(is_numbered)
        last = self.last.frames if self.last is not None else []
        before = _entry_at(last, part.shared)
        if not before or _is_numbered(last, before) != is_numbered:
            return sign, False
        sign = self.signs[before] or sign
        numbers = entry.entry, last[before].entry
        is_counted = is_numbered and NO_NUMBER not in numbers
        if part.block.begins_list or (is_counted and numbers[0] != numbers[1] + 1):
            return OTHER_SIGN[sign], True
        return sign, False

    def open(self, part: Part, sign: str) -> str:
        """Open the containers that begin with a part, and return the start of its first line. The
        first list entry among them gets the *sign*.
        """
        prefix = "".join(self.indents)
        for number in range(part.shared, len(part.frames)):
            own_sign = ""
            if part.frames[number].kind == ITEM:
                own_sign, sign = sign or _first_sign(_is_numbered(part.frames, number)), ""
            self.signs.append(own_sign)
            prefix = self.open_frame(part, number, prefix)
        return prefix

    def open_frame(self, part: Part, number: int, prefix: str) -> str:
        """Open the container with an index after the *prefix* of those around it, and return the
        start of the line in it.
        """
        frame = part.frames[number]
        is_text = number == len(part.frames) - 1 and _is_text(part)
        if marker := _marker(part.frames, number, self.signs[number]):
            # GitHub, which knows no definitions, would take a larger indent in one for code.
            least = len(marker) if frame.kind == DEFINITION else INDENT_CHARS
            is_long = frame.kind != ITEM or _is_numbered(part.frames, number)
            self.indents.append(" " * max(least, len(marker) if is_long else 0))
            # Code and what else has an indent of its own begin where their next lines do.
            return prefix + (marker if is_text else marker.ljust(least))
        if frame.kind == QUOTE:
            self.indents.append("> ")
            return prefix + "> "
        if frame.kind.isupper():
            self.indents.append("> ")
            return self.open_box(part, frame, prefix + "> ", is_text)
        self.indents.append("")
        return self.open_details(part, prefix) if frame.kind == DETAILS else prefix

    def open_details(self, part: Part, prefix: str) -> str:
        """Write the first line of folded text, and return the beginning of the next line."""
        self.lines.append(prefix + "<details>")
        prefix = "".join(self.indents)
        if part.role != SUMMARY:
            self.lines.append(prefix.rstrip())
        return prefix

    def open_box(self, part: Part, frame: Frame, prefix: str, is_text: bool) -> str:
        """Write the first line of a box, and return the beginning of the next line."""
        self.lines.append(f"{prefix}[!{frame.kind}]")
        prefix = "".join(self.indents)
        if not is_text or part.role or not TITLE.search(part.block.path):
            self.lines.append(prefix.rstrip())  # so that its text is a paragraph
        return prefix

    def close(self, shared: int) -> None:
        """Close the containers around the last part but the first *shared*."""
        while len(self.indents) > shared:
            self.indents.pop()
            self.signs.pop()
            if self.last is not None and self.last.frames[len(self.indents)].kind == DETAILS:
                prefix = "".join(self.indents)
                self.lines += [prefix.rstrip(), prefix + "</details>"]


def _entry_at(frames: list[Frame], shared: int) -> int:
    """Return the index of the list entry that begins after the first *shared* containers, with or
    without its list; 0 if another container begins first.
    """
    for number in range(shared, min(shared + 2, len(frames))):
        if frames[number].kind == ITEM:
            return number
        if frames[number].kind not in (BULLETS, NUMBERS):
            break
    return 0


def _is_numbered(frames: list[Frame], number: int) -> bool:
    """Tell whether a list entry is written with a number. Markdown has no negative numbers, so an
    entry with one is written with a dash.
    """
    entry = frames[number].entry
    return frames[number - 1].kind == NUMBERS and (entry >= 0 or entry == NO_NUMBER)


def _first_sign(is_numbered: bool) -> str:
    return "." if is_numbered else "-"


def _has_lines(frames: list[Frame]) -> bool:
    """Tell whether one of these containers has lines that are not joined."""
    return bool([frame for frame in frames if frame.kind == LINES])


def _is_text(part: Part) -> bool:
    """Tell whether a part is a paragraph, which may follow anything in its line."""
    return part.rows is None and part.block.tag not in PREFORMATTED_TAGS


def _continues(part: Part, last: Part) -> bool:
    """Tell whether a part follows the last one without a blank line."""
    shared = part.shared
    if shared == len(part.frames):
        return part.role == last.role == TERM and len(last.frames) == shared
    frame = part.frames[shared]
    if [ended for ended in last.frames[shared:] if ended.kind == DETAILS]:
        # HTML ends at a blank line, or with the entry.
        return frame.kind == last.frames[shared].kind == ITEM
    if frame.kind == DEFINITION:
        return _is_text(last) and len(last.frames) <= shared + 1
    return frame.kind == ITEM or (frame.kind in (BULLETS, NUMBERS) and _list_continues(part, last))


def _list_continues(part: Part, last: Part) -> bool:
    """Tell whether a list, which begins with a part, follows the last part without a blank line."""
    shared = part.shared
    frame = part.frames[shared]
    if shared and part.frames[shared - 1].kind == ITEM:
        # CommonMark: only a list that begins with 1 may interrupt a paragraph.
        return frame.kind == BULLETS or part.frames[shared + 1].entry == 1
    return shared < len(last.frames) and last.frames[shared].kind in (BULLETS, NUMBERS)


def _marker(frames: list[Frame], number: int, sign: str) -> str:
    """Return the marker of the container with an index, a list entry, definition or footnote, ""
    for other containers. *sign* stands for a bullet, or after a number.
    """
    frame = frames[number]
    if frame.kind == ITEM:
        if _is_numbered(frames, number):
            return f"{frame.entry if frame.entry >= 0 else 1}{sign} "
        is_negative = frames[number - 1].kind == NUMBERS
        return f"{sign} {frame.entry}. " if is_negative else f"{sign} "
    if frame.kind == NOTE:
        return f"[^{frame.label}]: "
    return ": " if frame.kind == DEFINITION else ""


def _lines(part: Part) -> list[str]:
    if part.rows is not None:
        return _table(part.rows)
    lines = _lines_of_text(part)
    before, after = _pictures(part.before), _pictures(part.after)
    if before and _begins_entry(part):  # the picture belongs to the list entry
        lines[0] = f"{before} {lines[0]}"
    elif before:
        lines = [before, "", *lines]
    if after:
        lines += ["", after]
    return lines


def _lines_of_text(part: Part) -> list[str]:
    """Return the Markdown lines of a part other than a table. Its pictures are not written."""
    block = part.block
    if block.tag in PREFORMATTED_TAGS:
        fence = "`" * max(3, 1 + _longest_run(block.text))
        return [fence + block.language, *block.text.split("\n"), fence]
    if part.role == SUMMARY:
        return [f"<summary>{html_line(part)}</summary>"]
    if part.level:  # no list or quotation begins in a heading
        line = _escape(part.block.text, True) if not part.line else _inline(part.line, part)
        line = HEADING_END.sub(r"\\", line.replace(HARD_BREAK, " "), count=1)
        return ["#" * part.level + " " + line.strip()]
    line = _line(part)
    if part.role:
        return [line.replace(HARD_BREAK, " ")]
    lines = line.split("\n")
    if line[:2] in BOXES and _begins_entry(part):
        lines[0] = BOXES[line[:2]] + lines[0][2:]
    return lines


def _begins_entry(part: Part) -> bool:
    """Tell whether a part is the first in a list entry."""
    return len(part.frames) > part.shared and part.frames[-1].kind == ITEM


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
    if _begins_entry(part):
        depth = len([frame for frame in part.frames if frame.kind == ITEM])
        number = len(part.frames) - 1
        sign = _first_sign(_is_numbered(part.frames, number))
        line = NESTED * (depth - 1) + _marker(part.frames, number, sign) + line
    return line.replace("|", "\\|").replace(HARD_BREAK, "<br>")


def _pictures(images: list[Image] | None) -> str:
    return " ".join([_image(image) for image in images]) if images else ""


def _line(part: Part) -> str:
    """Return the text of a part; a backslash stands before each line break in it."""
    if not part.line:
        return _escape_start(_escape(part.block.text, True))
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
    if piece[:1] in ("`", "$") and before.endswith(piece[:1]):
        return before + " "  # otherwise two code spans, or formulas, would be read as one
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
    if is_formula(mark):
        delimiter, _, latex = mark.partition(" ")
        return _formula(latex or marked.text(), delimiter)
    if mark in STYLE_TAGS:
        text = _inline(marked.children, part)
        if mark == SUPERSCRIPT and (marker := NOTE_MARKER.match(text)):
            return marker[1]
        return _styled(text, mark, before, following)
    if mark.startswith(NOTE_MARK):
        return f"[^{part.labels[mark[len(NOTE_MARK) :]]}]"
    return f"[{_in_link(_inline(marked.children, part))}]({_target(marked.target)})"


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


def _escape(text: str, is_whole: bool = False) -> str:
    if "$" in text or "\\(" in text or "\\[" in text:
        return _escape_around_formulas(text)
    return _escape_plain(text, is_whole)


def _escape_around_formulas(text: str) -> str:
    pieces: list[str] = []
    end = 0
    for formula in TEX.finditer(text):
        between = _escape_plain(text[end : formula.start()])
        pieces.append(" " if end and not between else between)  # two formulas are not one
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


def _escape_plain(text: str, is_whole: bool = False) -> str:
    """Return a text with a backslash before each sign that CommonMark would read as markup.

    *is_whole* is true if the text is its whole paragraph. Then a sign that needs a partner, such as
    a single ``*``, has none, and gets no backslash.
    """
    text = text.replace("\n", " ")
    # Most texts have no sign, and these tests are much cheaper than the rest.
    if SIGNS.search(text):
        text = _escape_signs(text, is_whole)
    if "&" in text:
        text = ENTITY.sub(r"\\&", text)
    return text


def _escape_signs(text: str, is_whole: bool) -> str:
    lone = _Lone(text) if is_whole else None
    plain = _plain_brackets(text, is_whole) if "[" in text else frozenset()
    addresses = list(ADDRESS.finditer(text))[::-1] if "://" in text else []
    escaped = StringIO()  # a list of pieces would take ten times the memory
    end = 0
    for sign in ESCAPED.finditer(text):
        place = sign.start()
        if place < end or place in plain or (lone is not None and lone.has(sign)):
            continue
        while addresses and addresses[-1].end() < place:
            addresses.pop()
        if addresses and addresses[-1].start() <= place + (sign[0] == "<"):
            found = addresses.pop()
            before = text[end : found.start()]
            if before.endswith("\\"):
                before += "\\"
            escaped.write(before[:-1] + "\\<" if sign[0] == "<" else before)
            escaped.write(f"<{found[0]}>")
            end = found.end()
        if place >= end:
            escaped.write(text[end:place])
            for character in sign[0]:
                escaped.write(f"\\{character}")
            end = sign.end()
    escaped.write(text[end:])
    return escaped.getvalue()


def _in_link(text: str) -> str:
    """Return the Markdown of a link's text without links in it."""
    if "://" not in text:
        return text
    return AUTOLINK.sub(lambda found: ESCAPED.sub(r"\\\g<0>", found[1]), text)


def _plain_brackets(text: str, is_whole: bool) -> frozenset[int]:
    """Return the places of brackets that Markdown takes as text: ``dict[str, list[int]]``."""
    plain: list[int] = []
    opened: list[int] = []
    for bracket in BRACKETS.finditer(text):
        place = bracket.start()
        if bracket[0] == "[":
            opened.append(place)
        elif opened:
            start = opened.pop()
            # A link or colon may follow the text.
            is_known = is_whole or place + 1 < len(text)
            if is_known and not (TARGET.match(text, place + 1) or BEGINS_MARKUP.match(text, start)):
                plain += [start, place]
    return frozenset(plain)


class _Lone:
    """Finds the signs of emphasis that CommonMark shows as they are, because no second sign follows
    in the paragraph. *text* is the whole paragraph.
    """

    def __init__(self, text: str) -> None:
        self._signs = [sign for sign in "*~" if text.count(sign) == 1]
        self._last_end = -1  # where the last underscores stand that may end emphasis
        for end in EMPHASIS_END.finditer(text) if "_" in text else ():
            self._last_end = end.start()

    def has(self, sign: re.Match[str]) -> bool:
        if sign[0][0] == "_":
            return self._last_end < sign.end()
        return sign[0] in self._signs


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
