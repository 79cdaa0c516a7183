"""Other versions of a page: its Markdown, and those for print and for mobile devices (AMP)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from contentspider.ground.addresses import absolute, split_address
from contentspider.page.input.body import decode, is_binary
from contentspider.page.input.files import HTML_BEGINNING
from contentspider.page.input.page import Page
from contentspider.site.own.matching import address_key
from contentspider.site.own.readers.markdown import plain_lines
from contentspider.site.own.readers.reading import MAX_MARKUP_CHARS, join_lines, own_text
from contentspider.site.own.texts import MAX_CHARS, OwnText
from contentspider.site.title import page_title

if TYPE_CHECKING:
    from collections.abc import Iterator

    from contentspider.site.own.sources import Announced

KIND = "text/markdown"
# Markdown has less markup than HTML.
MAX_MARKDOWN_CHARS = 2 * MAX_CHARS
# What the address of Markdown adds to that of its page: the first match counts.
SUFFIXES = (("/index.html.md", "/"), ("/index.md", "/"), (".html.md", ".html"), (".md", ""))
FRONT_MATTER = re.compile(r"\s*(---|\+\+\+)[ \t]*\n(.*?)\n\1[ \t]*(?:\n|$)", re.DOTALL)
PROPERTY = re.compile(r"^(title|author|date|lastmod)[ \t]*[:=][ \t]*(.+)", re.MULTILINE)

ROOT = re.compile(r"<html\b([^>]*)", re.IGNORECASE)
VALUE = re.compile(r"""=\s*(?:"[^"]*"|'[^']*'|\S*)""")
AMP = frozenset(["amp", "\u26a1"])


class Markdown:
    """The own texts of pages that offer their Markdown."""

    name = "markdown"

    def addresses(self, announced: Announced) -> Iterator[str]:
        """Yield alternates of that type, and ``.md`` files as plain text."""
        for rel, kind, address in announced.links:
            kind = kind.partition(";")[0].strip()
            if "alternate" in rel.split() and (
                kind == KIND or (kind == "text/plain" and _path(address).endswith(".md"))
            ):
                yield address

    def read(self, body: bytes, url: str, content_type: str = "") -> list[OwnText]:
        """Return the text of a page's Markdown, nothing if it is something else. The page's address
        is that of the Markdown without one of `SUFFIXES`, if it ends so.
        """
        is_markdown = content_type.lower().startswith(KIND) or _path(url).endswith(".md")
        page = _page_address(url)
        if not is_markdown or not page or is_binary(body) or HTML_BEGINNING.match(body[:1_000]):
            return []
        # A character has four bytes at most.
        markdown = decode(body[: 4 * MAX_MARKDOWN_CHARS], content_type)[:MAX_MARKDOWN_CHARS]
        properties: dict[str, str] = {}
        if match := FRONT_MATTER.match(markdown):  # YAML or TOML
            found = PROPERTY.findall(match[2])
            properties = {key: value.strip().strip("\"'") for key, value in found}
            markdown = markdown[match.end() :]
        text = join_lines(plain_lines(markdown))
        first = text.partition("\n")[0] if markdown.lstrip().startswith("# ") else ""
        title = properties.get("title") or first
        about = (properties.get(name, "") for name in ("date", "lastmod"))
        authors = [properties.get("author", "")]
        return [own_text(page, text, f"markdown {url}", title, authors, *about)] if text else []


def _path(address: str) -> str:
    return split_address(address).path.lower()


def _page_address(url: str) -> str:
    address, mark, query = absolute(url, "").partition("?")
    for suffix, page in SUFFIXES:
        if address.endswith(suffix):
            return address.removesuffix(suffix) + page + mark + query
    return address + mark + query


class Version:
    """The own texts of pages that link their AMP or print version, each kind a source by itself;
    one that is mostly template is not believed (`contentspider.site.own.evidence`).
    """

    name = "version"

    def addresses(self, announced: Announced) -> Iterator[str]:
        """Yield the addresses of a page's versions."""
        for rel, _, address in announced.links:
            words = rel.split()
            if "amphtml" in words or ("alternate" in words and "print" in words):
                yield address

    def read(self, body: bytes, url: str, content_type: str = "") -> list[OwnText]:
        """Return the text of the page that an HTML version names as the canonical one."""
        if is_binary(body) or not HTML_BEGINNING.match(body[:1_000]):
            return []
        markup = decode(body[: 4 * MAX_MARKUP_CHARS], content_type)[:MAX_MARKUP_CHARS]
        page = Page.from_html(markup, url=url)
        canonical = absolute(url, page.hints.canonical)
        if not canonical or address_key(canonical) == address_key(url):
            return []
        text = join_lines(block.text for block in page.content.blocks)
        root = ROOT.search(markup[:5_000])
        names = VALUE.sub(" ", root[1]).lower().split() if root else []
        source = "print" if AMP.isdisjoint(names) else "amp"
        return [OwnText(canonical, text, source, page_title(page))] if text else []
