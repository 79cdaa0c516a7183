"""Reads other versions of a page: its Markdown, its print version and its AMP version."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from contentspider.ground.address_keys import address_key
from contentspider.ground.addresses import absolute, split_address
from contentspider.page.about.front_matter import split_front_matter
from contentspider.page.input.body import HTML_BEGINNING, decode, is_binary
from contentspider.page.input.page import page_of_markup
from contentspider.site.own.readers.markdown import plain_lines
from contentspider.site.own.readers.reading import MAX_MARKUP_CHARS, join_lines, own_text
from contentspider.site.own.texts import MAX_CHARS, OwnText
from contentspider.site.title import page_title

if TYPE_CHECKING:
    from collections.abc import Iterator

    from contentspider.site.own.sources import Announced

KIND = "text/markdown"
# Markdown is shorter than HTML with the same text.
MAX_MARKDOWN_CHARS = 2 * MAX_CHARS
# The suffixes of Markdown files with the suffixes of their pages. The first match counts.
SUFFIXES = (("/index.html.md", "/"), ("/index.md", "/"), (".html.md", ".html"), (".md", ""))
LLMS = re.compile(r"llms(?:-[\w.-]*)?\.txt")

ROOT = re.compile(r"<html\b([^>]*)", re.IGNORECASE)
VALUE = re.compile(r"""=\s*(?:"[^"]*"|'[^']*'|\S*)""")
AMP = frozenset(["amp", "\u26a1"])


class Markdown:
    """The own texts of pages that publish their Markdown."""

    name = "markdown"

    def addresses(self, announced: Announced) -> Iterator[str]:
        """Yield the addresses of the page's alternates in Markdown.

        They have the type of Markdown, or plain text and an address that ends in ``.md``.
        """
        for rel, kind, address in announced.links:
            kind = kind.partition(";")[0].strip()
            is_plain_file = kind == "text/plain" and _path(address).endswith(".md")
            if "alternate" in rel.split() and (kind == KIND or is_plain_file):
                yield address

    def read(self, body: bytes, url: str, content_type: str = "") -> list[OwnText]:
        """Return the text of a page's Markdown; an empty list if the body is not Markdown.

        The page's address is the address of the Markdown with its suffix replaced (`SUFFIXES`).
        """
        is_markdown = content_type.lower().startswith(KIND) or _path(url).endswith(".md")
        page = "" if is_llms(url) else page_address(url)
        if not is_markdown or not page or is_binary(body) or HTML_BEGINNING.match(body[:1_000]):
            return []
        # A character has at most four bytes.
        markdown = decode(body[: 4 * MAX_MARKDOWN_CHARS], content_type)[:MAX_MARKDOWN_CHARS]
        properties, markdown = split_front_matter(markdown)
        text = join_lines(plain_lines(markdown))
        if not text:
            return []
        title = properties.get("title", "")
        if not title and markdown.lstrip().startswith("# "):
            title = text.partition("\n")[0]
        dates = (properties.get(name, "") for name in ("date", "lastmod"))
        authors = [properties.get("author", "")]
        return [own_text(page, text, f"markdown {url}", title, authors, *dates)]


def _path(address: str) -> str:
    return split_address(address).path.lower()


def is_llms(url: str) -> bool:
    """Tell whether an address leads to an ``llms.txt``, an ``llms-full.txt`` or a part of one.

    >>> [is_llms(f"https://e.org/{name}") for name in ("llms.txt", "docs/llms-api.txt", "tea.txt")]
    [True, True, False]
    """
    return LLMS.fullmatch(_path(url).rpartition("/")[2]) is not None


def page_address(url: str) -> str:
    """Return the address of the page of a Markdown file, "" if *url* is invalid. The address of a
    page stays as it is.

    >>> page_address("https://e.org/docs/index.md"), page_address("https://e.org/tea")
    ('https://e.org/docs/', 'https://e.org/tea')
    """
    address, mark, query = absolute(url, "").partition("?")
    for suffix, page in SUFFIXES:
        if address.endswith(suffix):
            return address.removesuffix(suffix) + page + mark + query
    return address + mark + query


class Version:
    """The own texts of pages that link to their AMP or print version.

    AMP versions and print versions are two sources. A source that consists mostly of template is
    ignored (`contentspider.site.own.evidence`).
    """

    name = "version"

    def addresses(self, announced: Announced) -> Iterator[str]:
        """Yield the addresses of a page's versions."""
        for rel, _, address in announced.links:
            words = rel.split()
            if "amphtml" in words or ("alternate" in words and "print" in words):
                yield address

    def read(self, body: bytes, url: str, content_type: str = "") -> list[OwnText]:
        """Return the text of an HTML version, as the own text of its canonical page."""
        if is_binary(body) or not HTML_BEGINNING.match(body[:1_000]):
            return []
        markup = decode(body[: 4 * MAX_MARKUP_CHARS], content_type)[:MAX_MARKUP_CHARS]
        page = page_of_markup(markup, url)
        canonical = absolute(url, page.hints.canonical)
        if not canonical or address_key(canonical) == address_key(url):
            return []
        text = join_lines(block.text for block in page.content.blocks)
        root = ROOT.search(markup[:5_000])
        names = VALUE.sub(" ", root[1]).lower().split() if root else []
        source = "print" if AMP.isdisjoint(names) else "amp"
        return [OwnText(canonical, text, source, page_title(page))] if text else []
