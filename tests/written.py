"""Writes the content of a body as Markdown, HTML and text."""

from __future__ import annotations

from contentspider.page.input.page import Page
from contentspider.page.tree.resolver import Resolver
from contentspider.page.write.markdown import write_markdown
from contentspider.page.write.markup import write_html
from contentspider.page.write.output import to_text
from contentspider.page.write.structure import parts

ADDRESS = "https://e.example/a"


def markdown(body: str) -> str:
    return write_markdown(parts(Page.from_html(body, ADDRESS).content.blocks, Resolver(ADDRESS)))


def markup(body: str) -> str:
    return write_html(parts(Page.from_html(body, ADDRESS).content.blocks, Resolver(ADDRESS)))


def text(body: str) -> str:
    return to_text(Page.from_html(body, ADDRESS).content.blocks)
