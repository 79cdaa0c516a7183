"""Writes text and Markdown files as HTML."""

from __future__ import annotations

from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING

from contentspider.ground.counts import counted
from contentspider.page.about.front_matter import split_front_matter
from contentspider.page.input.body import decode
from contentspider.page.input.pdf import MAX_CHARS, paragraphs_of
from contentspider.page.input.properties import Properties

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markdown_it.token import Token


def text_html(body: bytes, content_type: str) -> tuple[str, str]:
    """Return the paragraphs of a text file as HTML, and the number of characters that are left out
    as a text such as "30 characters" ("": the HTML is complete).
    """
    text, left_out = _text(body, content_type)
    return "".join(f"<p>{escape(paragraph)}</p>" for paragraph in paragraphs_of(text)), left_out


def markdown_html(body: bytes, content_type: str) -> tuple[str, Properties, str]:
    """Return a Markdown file (CommonMark with tables) as HTML, its properties, and the characters
    that are left out, as `text_html` does.

    The properties come from the front matter. Without a title there, the first heading is it.
    """
    from markdown_it import MarkdownIt

    text, left_out = _text(body, content_type)
    front_matter, text = split_front_matter(text)
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    tokens = parser.parse(text)
    properties = Properties(
        title=front_matter.get("title") or _first_heading(tokens),
        author=front_matter.get("author", ""),
        created=front_matter.get("date", ""),
        modified=front_matter.get("lastmod", ""),
    )
    return parser.renderer.render(tokens, parser.options, {}), properties, left_out


def _first_heading(tokens: Sequence[Token]) -> str:
    for token, following in pairwise(tokens):
        if token.type == "heading_open":
            return "".join(child.content for child in following.children or [])
    return ""


def _text(body: bytes, content_type: str) -> tuple[str, str]:
    text = decode(body, content_type).replace("\0", "").replace("\r\n", "\n")
    more = len(text) - MAX_CHARS
    return text[:MAX_CHARS], counted(more, "characters") if more > 0 else ""
