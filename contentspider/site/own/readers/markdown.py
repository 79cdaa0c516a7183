"""Markdown as plain text."""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

# With another backtick in its line it is code in a paragraph.
FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
HEADING = re.compile(r" {0,3}#{1,6}(?:[ \t]+|$)")
CLOSING = re.compile(r"(?<!\s)[ \t]+#+[ \t]*$")
# Below a line it makes it a heading, by itself it parts what is above from what is below.
RULE = re.compile(r" {0,3}(?:=+|(?:-[ \t]*)+|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})$")
ITEM = re.compile(r"\s*(?:[-+*]|\d{1,9}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?")
QUOTE = re.compile(r"(?: {0,3}> ?)+")
DEFINITION = re.compile(r" {0,3}\[[^\]\n]{1,200}\]:\s*\S")
TABLE_RULE = re.compile(r"[\s|:-]+$")

# Most paragraphs have none of it.
SPECIAL = re.compile(r"[*_~`\[<&\\]")
# Where one of these is not closed soon it is text: the bounds keep hostile text cheap.
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
# Emphasis in emphasis.
LEVELS = 3
ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")


def plain_lines(markdown: str) -> Iterator[str]:
    r"""Yield the paragraphs, headings, items, cells and blocks of code of Markdown, each on one
    line and without markup, in time proportional to its length. Indented code is a paragraph.

    >>> list(plain_lines("# Tea\n\nMade of *leaves*,\nsee [a map](/map).\n- black\n- green"))
    ['Tea', 'Made of leaves, see a map.', 'black', 'green']
    """
    paragraph: list[str] = []
    fence = ""
    for line in COMMENT.sub("", markdown).splitlines():
        found = FENCE.match(line)
        if fence:
            if found and found[1].startswith(fence) and not line.strip(" `~"):
                yield " ".join(paragraph)
                paragraph, fence = [], ""
            else:
                paragraph.append(line)
            continue
        line = QUOTE.sub("", line, count=1) if QUOTE.match(line) else line
        item, heading = ITEM.match(line), HEADING.match(line)
        is_cells = line.lstrip().startswith("|")
        is_rule = RULE.match(line) is not None
        is_end = not line.strip() or is_rule or DEFINITION.match(line) is not None
        if found or item or heading or is_cells or is_end:
            if paragraph:
                yield plain(" ".join(paragraph))
            paragraph = []
        if found:
            fence = found[1]
        elif heading:
            yield plain(CLOSING.sub("", line[heading.end() :]))
        elif is_cells:
            if not TABLE_RULE.match(line):
                yield from map(plain, line.strip().strip("|").split("|"))
        elif not is_end:
            paragraph.append(line[item.end() :] if item else line)
    if paragraph:  # perhaps code that nothing closes
        yield " ".join(paragraph) if fence else plain(" ".join(paragraph))


def plain(text: str) -> str:
    r"""Return the text of a paragraph of Markdown, without pictures and emphasis.

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
