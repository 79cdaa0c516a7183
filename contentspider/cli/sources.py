"""Pages that crawls have kept, for commands."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from contentspider.ground.errors import ContentSpiderError

if TYPE_CHECKING:
    from contentspider.page.input.page import Page


def kept_pages(site: str, state_dir: str) -> list[Page]:
    """Return the pages of a site that its crawl has kept; none if there is no crawl of it."""
    try:
        return crawled_pages(site, site, state_dir)[1]
    except ContentSpiderError:
        return []


def crawled_pages(crawl: str, site: str, state_dir: str) -> tuple[str, list[Page]]:
    """Return a *site* of a crawl ("": its only one), and the pages of it that were kept."""
    from contentspider.state.crawls.export import find_crawl
    from contentspider.state.ledger.ledger import Ledger

    with closing(Ledger(find_crawl(crawl, state_dir), read_only=True)) as ledger:
        return ledger.pages.of_site(site)
