"""Markdown versions of pages, as documentation generators write them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from contentspider.ground.addresses import absolute
from contentspider.page.about.authors import author_names
from contentspider.page.about.dates import parse_date
from contentspider.page.input.body import decode, is_binary
from contentspider.page.input.files import HTML_BEGINNING
from contentspider.site.own.readers.markdown import plain_lines
from contentspider.site.own.readers.reading import join_lines, title_of
from contentspider.site.own.texts import MAX_CHARS, OwnText

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


class Markdown:
    """The own texts of pages that offer their Markdown."""

    name = "markdown"

    def addresses(self, announced: Announced) -> Iterator[str]:
        """Yield the addresses of a page's Markdown: alternates of that type, and ``.md`` files as
        plain text.
        """
        for rel, kind, address in announced.links:
            kind = kind.partition(";")[0].strip()
            if "alternate" in rel.split() and (
                kind == KIND or (kind == "text/plain" and _path(address).endswith(".md"))
            ):
                yield address

    def read(self, body: bytes, url: str, content_type: str = "") -> list[OwnText]:
        """Return the text of a page's Markdown; nothing if its type is another, or it is HTML.

        The page's address is that of the Markdown without one of `SUFFIXES`, if it ends so.
        """
        is_markdown = content_type.lower().startswith(KIND) or _path(url).endswith(".md")
        page = _page_address(url)
        if not is_markdown or not page or is_binary(body) or HTML_BEGINNING.match(body[:1_000]):
            return []
        # A character has four bytes at most.
        markdown = decode(body[: 4 * MAX_MARKDOWN_CHARS], content_type)[:MAX_MARKDOWN_CHARS]
        properties, markdown = _front_matter(markdown)
        text = join_lines(plain_lines(markdown))
        if not text:
            return []
        has_heading = markdown.lstrip().startswith("# ")
        title = properties.get("title") or (text.partition("\n")[0] if has_heading else "")
        return [
            OwnText(
                page,
                text,
                f"markdown {url}",
                title_of(title),
                author_names([properties.get("author", "")]),
                parse_date(properties.get("date", "")),
                parse_date(properties.get("lastmod", "")),
            )
        ]


def _front_matter(markdown: str) -> tuple[dict[str, str], str]:
    """Return the simple values of the front matter (YAML or TOML) of Markdown, and the rest."""
    match = FRONT_MATTER.match(markdown)
    if not match:
        return {}, markdown
    found = {key: value.strip().strip("\"'") for key, value in PROPERTY.findall(match[2])}
    return found, markdown[match.end() :]


def _path(address: str) -> str:
    try:
        return urlsplit(address).path.lower()
    except ValueError:
        return ""


def _page_address(url: str) -> str:
    address, mark, query = absolute(url, "").partition("?")
    for suffix, page in SUFFIXES:
        if address.endswith(suffix):
            return address.removesuffix(suffix) + page + mark + query
    return address + mark + query
