"""Converts Markdown to plain text."""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

# A fence of backticks with another backtick in its line is code in a paragraph.
FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
HEADING = re.compile(r" {0,3}#{1,6}(?:[ \t]+|$)")
CLOSING = re.compile(r"(?<!\s)[ \t]+#+[ \t]*$")
# A rule separates paragraphs, or marks the line above as a heading.
RULE = re.compile(r" {0,3}(?:=+|(?:-[ \t]*)+|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})$")
ITEM = re.compile(r"\s*(?:[-+*]|\d{1,9}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?")
QUOTE = re.compile(r"(?: {0,3}> ?)+")
DEFINITION = re.compile(r" {0,3}\[[^\]\n]{1,200}\]:\s*\S")
TABLE_RULE = re.compile(r"[\s|:-]+$")

# Most paragraphs have no such character, and need no conversion.
SPECIAL = re.compile(r"[*_~`\[<&\\]")
# The lengths are limited so that hostile text takes little time. Longer markup stays as it is.
CODE = re.compile(r"(?<!`)(`{1,3})(?!`)([^`]{1,1000})\1(?!`)")
IMAGE = re.compile(r"!\[[^\[\]]{0,1000}\](?:\([^()]{0,2000}\)|\[[^\[\]]{0,200}\])")
LINK = re.compile(
    r"\[([^\[\]]{0,1000})\](?:\((?:[^()]|\([^()]{0,200}\)){0,2000}\)|\[[^\[\]]{0,200}\])"
)
AUTOLINK = re.compile(r"<([a-z]{3,8}:[^<>\s]{1,2000})>", re.IGNORECASE)
COMMENT = re.compile(r"<!--(?:(?!<!--|-->).){0,5000}-->", re.DOTALL)
TAG = re.compile(r"</?[a-z][^<>]{0,2000}>", re.IGNORECASE)
STRESS = (
    re.compile(r"(\*{1,3}|~~)(?=[^\s*~])([^*~]{1,2000})(?<=\S)\1"),
    re.compile(r"(?<!\w)(_{1,3})(?=[^\s_])([^_]{1,2000})(?<=\S)\1(?!\w)"),
)
# Emphasis may be nested this deep.
LEVELS = 3
ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")


def plain_lines(markdown: str) -> Iterator[str]:
    r"""Yield the paragraphs, headings, list items, table cells and code blocks of a text.

    Each is one line without markup. Indented code counts as a paragraph. The time is proportional
    to the length of the text.

    >>> list(plain_lines("# Tea\n\nMade of *leaves*,\nsee [a map](/map).\n- black\n- green"))
    ['Tea', 'Made of leaves, see a map.', 'black', 'green']
    """
    paragraph: list[str] = []
    fence = ""
    for line in COMMENT.sub("", markdown).splitlines():
        if fence:
            if _closes(fence, line):
                yield " ".join(paragraph)
                paragraph, fence = [], ""
            else:
                paragraph.append(line)
            continue
        fence_match = FENCE.match(line)
        if QUOTE.match(line):
            line = QUOTE.sub("", line, count=1)
        item = ITEM.match(line)
        if paragraph and (fence_match or item or _ends_paragraph(line)):
            yield plain(" ".join(paragraph))
            paragraph = []
        if fence_match:
            fence = fence_match[1]
        elif _ends_paragraph(line):
            yield from _single_line(line)
        else:
            paragraph.append(line[item.end() :] if item else line)
    if paragraph:
        # A fence that is not closed extends to the end of the text.
        yield " ".join(paragraph) if fence else plain(" ".join(paragraph))


def _closes(fence: str, line: str) -> bool:
    """Tell whether a line is a fence that closes a code block with this *fence*."""
    match = FENCE.match(line)
    return match is not None and match[1].startswith(fence) and not line.strip(" `~")


def _ends_paragraph(line: str) -> bool:
    """Tell whether a line does not belong to a paragraph: it is empty, a heading, cells, a rule."""
    stripped = line.strip()
    if not stripped or stripped.startswith("|"):
        return True
    return any(pattern.match(line) for pattern in (HEADING, RULE, DEFINITION))


def _single_line(line: str) -> Iterator[str]:
    """Yield the texts of a line that ends a paragraph: of a heading, or of the cells of a table."""
    if heading := HEADING.match(line):
        yield plain(CLOSING.sub("", line[heading.end() :]))
    elif line.lstrip().startswith("|") and not TABLE_RULE.match(line):
        yield from map(plain, line.strip().strip("|").split("|"))


def plain(text: str) -> str:
    r"""Return the text of a paragraph of Markdown, without pictures, links' targets and emphasis.

    >>> plain("**Bold** `a*b*c` ![x](y) 2 \\* 3 &amp; snake_case_name")
    'Bold a*b*c  2 * 3 & snake_case_name'
    """
    if not SPECIAL.search(text):
        return text
    parts = []
    start = 0
    for code in CODE.finditer(text):
        parts += [_without_markup(text[start : code.start()]), code[2].strip()]
        start = code.end()
    return "".join([*parts, _without_markup(text[start:])])


def _without_markup(text: str) -> str:
    text = LINK.sub(r"\1", IMAGE.sub("", text))
    text = TAG.sub("", AUTOLINK.sub(r"\1", text))
    for pattern in STRESS:
        for _ in range(LEVELS):
            text = pattern.sub(r"\2", text)
    return unescape(ESCAPE.sub(r"\1", text))
