"""The sections of an indexed page: the parts below its headings, with their addresses."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html import unescape
from typing import TYPE_CHECKING, Any

from contentspider.ground.addresses import section_address

if TYPE_CHECKING:
    from collections.abc import Mapping

# Sections are looked for in this much of a page.
MAX_HTML_CHARS = 500_000
# contentspider writes the HTML of items itself, so it is well-formed. Patterns read it in a quarter
# of the time of `html.parser`.
HEADING_TAG = re.compile(r"<(/?)h([1-6])\b([^<>]*)>")
ANCHOR = re.compile(r"""\sid="([^"]*)\"""")
# Tags within a line are removed. All other tags end a line.
INLINE_TAG = re.compile(
    r"</?(?:a|abbr|b|bdi|bdo|cite|code|data|del|dfn|em|i|ins|kbd|mark|q|s|samp|small|span|strong"
    r"|sub|sup|time|u|var|wbr)\b[^<>]*>"
)
TAG = re.compile(r"<[^<>]*>")


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a page, from one heading to the next.

    *headings* are the headings around the section, the outermost first, and its own heading. *url*
    leads to the section's heading, or to the page if the heading lacks an anchor. *text* is the
    text between this heading and the next heading.
    """

    url: str
    headings: tuple[str, ...]
    text: str = field(repr=False)


def page_sections(record: Mapping[str, Any]) -> list[Section]:
    """Return the sections of a document (`Hit.record`), in the order of the page.

    They are read from the formatted content. The text above the first heading is a section without
    headings. The list is empty for a document without formatted content.

    >>> html = '<p>Tea is hot.</p><h2 id="green">Green tea</h2><p>It grows in Uji.</p>'
    >>> record = {"url": "http://e.org/tea", "more": {"content_html": html}}
    >>> [(section.url, section.headings) for section in page_sections(record)]
    [('http://e.org/tea', ()), ('http://e.org/tea#green', ('Green tea',))]
    """
    html = str(record.get("more", {}).get("content_html", ""))[:MAX_HTML_CHARS]
    url = str(record.get("url", ""))
    first, *parts = HEADING_TAG.split(html)
    sections = [Section(url, (), _text(first))]
    path: list[tuple[str, str]] = []
    address = url
    # Each tag of a heading gives four parts; the last one is the text up to the next tag.
    for start in range(0, len(parts), 4):
        slash, level, attributes, text = parts[start : start + 4]
        if slash:
            headings = tuple(heading for _, heading in path)
            sections.append(Section(address, headings, _text(text)))
        else:
            path = [*(outer for outer in path if outer[0] < level), (level, _text(text))]
            anchor = ANCHOR.search(attributes)
            address = section_address(url, unescape(anchor[1]) if anchor else "")
    return [section for section in sections if section.headings or section.text]


def section_html(record: Mapping[str, Any], anchor: str) -> str:
    """Return the HTML of the section whose heading has an *anchor*, with the sections below it.

    Returns "" if the document has no such heading.

    >>> html = '<h2 id="tea">Tea</h2><p>Hot.</p><h3>Green</h3><h2 id="ice">Ice</h2><p>Cold.</p>'
    >>> section_html({"more": {"content_html": html}}, "tea")
    '<h2 id="tea">Tea</h2><p>Hot.</p><h3>Green</h3>'
    """
    html = str(record.get("more", {}).get("content_html", ""))[:MAX_HTML_CHARS]
    start, top = -1, ""
    for heading in HEADING_TAG.finditer(html):
        slash, level, attributes = heading.groups()
        attribute = ANCHOR.search(attributes)
        if start < 0 and attribute and unescape(attribute[1]) == anchor:
            start, top = heading.start(), level
        elif start >= 0 and not slash and level <= top:
            return html[start : heading.start()]
    return html[start:] if start >= 0 else ""


def _text(html: str) -> str:
    """Return the text of HTML on one line."""
    return " ".join(unescape(TAG.sub(" ", INLINE_TAG.sub("", html))).split())
