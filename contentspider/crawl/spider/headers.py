"""Who the crawler says it is; and headers of the user's own, such as cookies, for the sites that
are crawled and for no others.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from scrapy.exceptions import NotConfigured

from contentspider.ground import __version__
from contentspider.ground.errors import ContentSpiderError
from contentspider.ground.sites import SiteKeys

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings
    from typing_extensions import Self


# An address of a page or a mail, or both, that ends no comment of a header.
CONTACT = re.compile(r"[!-\'*-:<-~]*(?:@|://)[!-\'*-:<-~]+")
# What the site spider does not know of whoever runs it.
ANONYMOUS = f"contentspider/{__version__} (Scrapy)"


def user_agent(contact: str) -> str:
    """Return what the site spider calls itself, with the address where its owner can be reached.

    Raises `ContentSpiderError` if a *contact* is given that is neither a web nor a mail address.

    >>> user_agent("https://example.org/bot; me@example.org").partition(" ")[2]
    '(+https://example.org/bot; me@example.org)'
    """
    if not contact:
        return ANONYMOUS
    parts = [part.strip() for part in contact.split(";")]
    if not all(CONTACT.fullmatch(part) for part in parts):
        raise ContentSpiderError(
            f"the contact {contact!r} cannot be used: give an address of a page or a mail, such as"
            " https://example.org/bot or me@example.org (both: with a semicolon between them)"
        )
    return f"contentspider/{__version__} (+{'; '.join(parts)})"


def set_user_agent(settings: BaseSettings) -> None:
    """Let the site spider say who it is, unless the project or its user says so."""
    name = "CONTENTSPIDER_CONTACT"
    contact = settings.get(name) or os.environ.get(name, "")
    settings.set("USER_AGENT", user_agent(contact), "addon")


class HeadersMiddleware:
    """Puts the headers of ``CONTENTSPIDER_HEADERS`` on requests to the sites of the start
    addresses.

    On a redirect to another site Scrapy takes off cookies and authorisation only: here all of them
    go.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.headers = crawler.settings.getdict("CONTENTSPIDER_HEADERS")
        if not self.headers:
            raise NotConfigured  # without a reason: with one it would be warned of
        self.keys = SiteKeys(crawler.settings.get("CONTENTSPIDER_SITE_BY", "domain"))
        assert crawler.spider is not None
        self.sites = {self.keys.key(address) for address in crawler.spider.start_urls}

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return the middleware of a crawler."""
        return cls(crawler)

    def process_request(self, request: Request) -> None:
        """Put the headers on, or take them off."""
        is_own = self.keys.key(request.url) in self.sites
        for name, value in self.headers.items():
            if is_own:
                request.headers[name] = value
            elif request.headers.get(name) == value.encode():
                del request.headers[name]
