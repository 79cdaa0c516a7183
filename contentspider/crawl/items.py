"""Items: our own, and how its fields are filled into items of any class."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone
from hashlib import sha256
from typing import TYPE_CHECKING

from itemadapter import ItemAdapter
from w3lib.url import canonicalize_url

from contentspider.page.output import to_markdown, to_text
from contentspider.site.relevance import squeeze

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy.http import Response

    from contentspider.page.document import Page
    from contentspider.site.model import Extraction

UNFILTERED = "unfiltered"


@dataclass
class ContentItem:
    """A page's clean content. docs/items.md tells each field; empty until the pipeline fills it."""

    url: str
    id: str = ""
    site: str = ""
    title: str = ""
    description: str = ""
    language: str = ""
    content: str = ""
    content_markdown: str = ""
    page_type: str = ""
    content_hash: str = ""
    confidence: float = 0.0
    model_version: str = ""
    crawled_at: str = ""

    @classmethod
    def from_response(cls, response: Response) -> ContentItem:
        """Return the item to yield for a response; contentspider fills it on its way."""
        return cls(url=response.url)


def page_id(url: str) -> str:
    """Return the stable id of a page: a hash of its canonical URL, 32 hexadecimal digits."""
    return sha256(canonicalize_url(url.encode("utf-8", "replace").decode()).encode()).hexdigest()[:32]


def page_title(page: Page) -> str:
    """Return the page's title without the site's name: its ``h1`` if a title in the head contains it."""
    titles = [squeeze(title) for title in page.hints.titles]
    for block in page.content.blocks:
        if block.tag == "h1" and any(squeeze(block.text) in title for title in titles):
            return block.text
    # Open Graph and JSON-LD titles name the article; <title>, which comes first, often the site too.
    return page.hints.titles[-1] if page.hints.titles else ""


def page_fields(page: Page, site: str, extraction: Extraction | None, model_version: str) -> dict[str, object]:
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
        "content_hash": sha256(" ".join(content.split()).encode("utf-8", "surrogatepass")).hexdigest()[:32],
        "confidence": extraction.confidence if extraction else 0.0,
        "model_version": model_version if extraction else UNFILTERED,
        "crawled_at": datetime.now(timezone.utc).isoformat(timespec="seconds"),
    }


class FieldMap:
    """Which items ask for content, and which of their fields take which of ours.

    *mapping* is ``CONTENTSPIDER_ITEM_FIELDS``: class paths (or ``"dict"``) to ``{our field: their field}``.
    """

    def __init__(self, mapping: Mapping[str, Mapping[str, str]]) -> None:
        ours = list(ContentItem.__dataclass_fields__)
        for item_class, fields in mapping.items():
            if unknown := sorted(set(fields) - set(ours)):
                raise ValueError(
                    f"CONTENTSPIDER_ITEM_FIELDS[{item_class!r}] maps {unknown}, which contentspider does not have; its fields are {', '.join(ours)}"
                )
        self._mapping = {name: dict(fields) for name, fields in mapping.items()}
        self._own = {name: name for name in ours}

    def fields(self, item: object) -> dict[str, str] | None:
        """Return ``{our field: their field}`` for an item, None if it asks for nothing."""
        if isinstance(item, ContentItem):
            return self._own
        if not self._mapping:
            return None
        kind = type(item)
        return self._mapping.get("dict" if kind is dict else f"{kind.__module__}.{kind.__qualname__}")

    def fill(self, item: object, values: Mapping[str, object]) -> None:
        """Set the item's fields; a ``url`` and an ``id`` that it has already stay."""
        adapter = ItemAdapter(item)
        for ours, theirs in (self.fields(item) or {}).items():
            if ours in ("id", "url") and adapter.get(theirs):
                continue
            adapter[theirs] = values[ours]
