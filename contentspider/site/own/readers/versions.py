"""Other versions of a page, for print and for mobile devices (AMP): its text with little around it.

A version has a template of its own. One that is mostly that is not believed, as any source
(`contentspider.site.own.evidence`).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from contentspider.ground.addresses import absolute
from contentspider.page.input.body import decode, is_binary
from contentspider.page.input.files import HTML_BEGINNING
from contentspider.page.input.page import Page
from contentspider.site.own.matching import address_key
from contentspider.site.own.readers.reading import MAX_MARKUP_CHARS, join_lines
from contentspider.site.own.texts import OwnText
from contentspider.site.title import page_title

if TYPE_CHECKING:
    from collections.abc import Iterator

    from contentspider.site.own.sources import Announced

ROOT = re.compile(r"<html\b([^>]*)", re.IGNORECASE)
VALUE = re.compile(r"""=\s*(?:"[^"]*"|'[^']*'|\S*)""")
AMP = frozenset(["amp", "\u26a1"])


class Version:
    """The own texts of pages that link their AMP or print version, each kind a source by itself."""

    name = "version"

    def addresses(self, announced: Announced) -> Iterator[str]:
        """Yield the addresses of a page's versions."""
        for rel, _, address in announced.links:
            words = rel.split()
            if "amphtml" in words or ("alternate" in words and "print" in words):
                yield address

    def read(self, body: bytes, url: str, content_type: str = "") -> list[OwnText]:
        """Return the text of the page that a version names as the canonical one; none if it names
        itself, or is no HTML.
        """
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
