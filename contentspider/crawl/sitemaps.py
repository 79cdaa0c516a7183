"""What names a site's pages beside their links: sitemaps."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urljoin

from scrapy.utils.gz import gunzip, gzip_magic_number
from scrapy.utils.sitemap import Sitemap

from contentspider.crawl.links import clean_address

if TYPE_CHECKING:
    from scrapy.http import Response

logger = logging.getLogger(__name__)

# A sitemap may unpack to this many bytes (the protocol allows 50 MB); a larger one is a bomb.
MAX_SITEMAP_BYTES = 60_000_000
SITEMAP_DEPTH = 3
# An index may name 50,000 sitemaps, each of them another index: more than this is a trap.
MAX_SITEMAPS = 10_000


class SitemapEntries(NamedTuple):
    """The addresses that a sitemap names; of an index these are sitemaps, too."""

    addresses: list[str]
    is_index: bool = False


def read_sitemap(response: Response) -> SitemapEntries:
    """Return what a sitemap names; one that cannot be read names nothing, and the log says so."""
    body = response.body
    try:
        if gzip_magic_number(response):
            body = gunzip(body, max_size=MAX_SITEMAP_BYTES)
        entries = Sitemap(body) if body.strip() else None
    except Exception as error:  # noqa: BLE001 - lxml, zlib and Scrapy raise a dozen kinds for a broken sitemap
        logger.warning(
            "%s: the sitemap cannot be read (%s); its pages are found by links only",
            response.url,
            error,
        )
        return SitemapEntries([])
    if entries is None or entries.type not in ("urlset", "sitemapindex"):
        return SitemapEntries([])
    addresses = [absolute(response.url, entry.get("loc", "")) for entry in entries]
    return SitemapEntries([one for one in addresses if one], entries.type == "sitemapindex")


def absolute(base: str, address: str) -> str:
    """Return the clean absolute form of an address, empty if it is none."""
    try:
        return clean_address(urljoin(base, address.strip()))
    except ValueError:
        return ""
