"""Documents (PDF, office files, texts) among the pages of a crawl."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from contentspider.crawl.base.engine import header
from contentspider.ground.addresses import absolute, split_address
from contentspider.page.input.documents import PDF, SUFFIXES, document_kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.http import Response

    from contentspider.crawl.base.links import Head

TEXT_SUFFIXES = (".md", ".markdown", ".txt", ".text")
# The literal dot before the alternatives makes the search fast.
DOCUMENT_LINK = re.compile(
    rf"\.(?:{'|'.join(suffix[1:] for suffix in SUFFIXES)})\s*(?:[?#]|\Z)", re.IGNORECASE
)
# Generators of documentation publish the source text of a page beside the page, or in a folder of
# sources. The paths of both are the same without this folder and the ending.
SOURCE_FOLDERS = re.compile(r"/_?(?:sources?|raw)(?=/)")
PAGE_ENDING = re.compile(r"(?:/|/index)?(?:\.[a-z]{2,8})*\Z")


def unread_reason(response: Response) -> str:
    """Return why a response without a page is skipped: ``pdf``, ``document`` or ``not_html``."""
    kind = document_kind(response.body, header(response, "Content-Type"), response.url)
    if kind == PDF:
        return "pdf"
    return "document" if kind else "not_html"


def is_source_of(url: str, page_url: str) -> bool:
    """Tell whether the text file at *url* has the same name as the page that links it, so that it
    is the page's source text.

    >>> is_source_of("https://e.org/_sources/tea.rst.txt", "https://e.org/tea.html")
    True
    >>> is_source_of("https://e.org/tea/index.md", "https://e.org/tea/")
    True
    >>> is_source_of("https://e.org/tea.txt", "https://e.org/all.html")
    False
    """
    path = split_address(url).path.lower()
    if not page_url or not path.endswith(TEXT_SUFFIXES):
        return False
    return _stem(path) == _stem(split_address(page_url).path.lower())


def _stem(path: str) -> str:
    return PAGE_ENDING.sub("", SOURCE_FOLDERS.sub("", path, count=1), count=1)


def document_links(head: Head) -> Iterator[str]:
    """Yield the addresses of the documents that a page links to."""
    for href, _, _ in head.anchors:
        if DOCUMENT_LINK.search(href) and (address := absolute(head.base, href)):
            yield address
