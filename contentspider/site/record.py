"""What an item says of a page: the values of the fields that docs/items.md describes."""

from __future__ import annotations

from datetime import datetime, timezone
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING

from w3lib.url import canonicalize_url

from contentspider.page.hints import squeeze
from contentspider.page.output import to_markdown, to_text

if TYPE_CHECKING:
    from contentspider.page.document import Page
    from contentspider.site.model import Extraction

UNFILTERED = "unfiltered"


@lru_cache(maxsize=1_000)  # a page's is asked for several times
def page_id(url: str) -> str:
    """Return the stable id of a page: a hash of its canonical URL, 32 hexadecimal digits."""
    return sha256(canonicalize_url(url.encode("utf-8", "replace").decode()).encode()).hexdigest()[
        :32
    ]


def page_title(page: Page) -> str:
    """Return the page's title without the site's name: its ``h1`` if a title in the head contains
    it.
    """
    titles = [squeeze(title) for title in page.hints.titles]
    for block in page.content.blocks:
        if block.tag == "h1" and any(squeeze(block.text) in title for title in titles):
            return block.text
    # Open Graph and JSON-LD titles name the article; <title>, which comes first, often the site
    # too.
    return page.hints.titles[-1] if page.hints.titles else ""


def page_fields(
    page: Page, site: str, extraction: Extraction | None, model_version: str
) -> dict[str, object]:
    """Return the values of all fields of `ContentItem` for a page.

    Without an *extraction* (nothing could be learned) the content is the page's whole text, and
    ``model_version`` is `UNFILTERED`.
    """
    blocks = extraction.blocks if extraction else page.content.blocks
    content = to_text(blocks)
    return {
        "id": page_id(page.url),
        "url": page.url,
        "site": site,
        "title": page_title(page),
        "description": page.hints.descriptions[0] if page.hints.descriptions else "",
        "language": page.hints.language,
        "content": content,
        "content_markdown": to_markdown(blocks),
        "page_type": extraction.page_type if extraction else "other",
        "content_hash": (
            sha256(" ".join(content.split()).encode("utf-8", "surrogatepass")).hexdigest()[:32]
        ),
        "confidence": extraction.confidence if extraction else 0.0,
        "model_version": model_version if extraction else UNFILTERED,
        "crawled_at": datetime.now(timezone.utc).isoformat(timespec="seconds"),
    }
