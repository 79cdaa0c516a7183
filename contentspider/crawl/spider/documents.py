"""Documents (PDF, office files, texts) among the pages of a crawl."""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING

from scrapy.utils.datatypes import LocalCache

from contentspider.crawl.base.engine import header
from contentspider.ground.addresses import absolute, split_address
from contentspider.page.input.documents import PDF, SUFFIXES, document_kind

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.http import Response
    from scrapy.statscollectors import StatsCollector

    from contentspider.crawl.base.links import Head

logger = logging.getLogger(__name__)

MAX_KNOWN = 50_000
LEFT_STAT = "contentspider/links/documents_left_out"
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


class LeftDocuments:
    """Counts the documents that pages link to and that the crawl does not request, because the
    extra ``documents`` is not installed. Logs the first one.
    """

    def __init__(self, stats: StatsCollector) -> None:
        self._stats = stats
        self._known: LocalCache[str, None] = LocalCache(MAX_KNOWN)

    def note(self, head: Head, is_in_scope: Callable[[str], bool]) -> None:
        """Count the documents that a page links to, and that belong to the crawl."""
        for href, _, _ in head.anchors:
            if not DOCUMENT_LINK.search(href):
                continue
            address = absolute(head.base, href)
            if not address or address in self._known or not is_in_scope(address):
                continue
            if not self._known:
                logger.info(
                    "links to documents such as %s are not followed: pip install"
                    " 'contentspider[documents]' reads PDF and office files",
                    address,
                )
            self._known[address] = None
            self._stats.inc_value(LEFT_STAT)
