"""Links of a page, read straight from its tree: `LinkExtractor` costs more than all our work on the page."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from scrapy.linkextractors import IGNORED_EXTENSIONS

if TYPE_CHECKING:
    from lxml.etree import _Element

# Session ids, endless filters: an address this long is no page that anyone links to.
MAX_URL_CHARS = 2_000
MAX_LINKS = 20_000
SKIPPED_SUFFIXES = tuple("." + extension for extension in IGNORED_EXTENSIONS)
BLANKS = str.maketrans("", "", "\t\r\n")


def page_links(root: _Element, url: str) -> list[str]:
    """Return the absolute http(s) addresses that a page links to, without fragments or repeats.

    Links to files that are no pages (images, archives, documents) are left out; at most `MAX_LINKS`.
    """
    base = url
    for element in root.iter("base"):
        if href := element.get("href"):
            with suppress(ValueError):
                base = urljoin(url, href.strip())
        break
    found: dict[str, None] = {}
    for element in root.iter("a", "area"):
        href = element.get("href")
        if not href:
            continue
        href = href.strip().translate(BLANKS)
        if not href or href[0] == "#" or len(href) > MAX_URL_CHARS:
            continue
        try:
            address = urljoin(base, href).partition("#")[0]
            parts = urlsplit(address)
        except ValueError:
            continue  # an unclosed bracket in the host, for example
        if parts.scheme in ("http", "https") and parts.netloc and not parts.path.lower().endswith(SKIPPED_SUFFIXES):
            found[address] = None
            if len(found) >= MAX_LINKS:
                break
    return list(found)
