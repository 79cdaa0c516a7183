"""What names a site's pages beside their links: sitemaps, and whether something is a feed."""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING, NamedTuple

from scrapy.utils.gz import gunzip, gzip_magic_number
from scrapy.utils.sitemap import Sitemap

from contentspider.ground.addresses import absolute

if TYPE_CHECKING:
    from scrapy.http import Response

logger = logging.getLogger(__name__)

# A sitemap may unpack to this many bytes (the protocol allows 50 MB); a larger one is a bomb.
MAX_SITEMAP_BYTES = 60_000_000
SITEMAP_DEPTH = 3
# An index may name 50,000 sitemaps, each of them another index: more than this is a trap.
MAX_SITEMAPS = 10_000
FEED_START = re.compile(rb"<(?:rdf:RDF|rss|feed)[\s>]")
FEED_START_BYTES = 2_000


class SitemapEntries(NamedTuple):
    """The addresses that a sitemap names, each with its ``lastmod`` (empty if it has none); of an
    index these are sitemaps, too.
    """

    addresses: list[tuple[str, str]]
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
    addresses = [
        (absolute(response.url, entry.get("loc", "")), entry.get("lastmod") or "")
        for entry in entries
    ]
    return SitemapEntries([one for one in addresses if one[0]], entries.type == "sitemapindex")


def is_feed(response: Response) -> bool:
    """Tell whether a response is an RSS or Atom feed, whatever its server calls it."""
    return FEED_START.search(response.body[:FEED_START_BYTES]) is not None
