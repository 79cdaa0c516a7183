"""The garbage collector rests while a page is worked on, and only then."""

from __future__ import annotations

import asyncio
import gc
from typing import TYPE_CHECKING, Any

import pytest
from scrapy.exceptions import DropItem
from scrapy.http import HtmlResponse, Request
from scrapy.utils.test import get_crawler

from contentspider import ContentItem, Page
from contentspider.crawl.learning.holder import ItemHolder
from contentspider.crawl.learning.pipeline import ContentPipeline
from contentspider.crawl.middlewares.pages import BlocksMiddleware
from contentspider.ground.process_memory import no_collection
from contentspider.state.book.book import Book
from contentspider.state.book.items import ItemBinding

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(autouse=True)
def _collecting() -> Iterator[None]:
    assert gc.isenabled()
    yield
    gc.enable()


def test_garbage_collector_is_disabled_inside_block_and_enabled_after() -> None:
    with no_collection():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_garbage_collector_is_enabled_after_error() -> None:
    with pytest.raises(ValueError, match="a page"), no_collection():
        raise ValueError("a page that breaks us")
    assert gc.isenabled()


def test_disabled_garbage_collector_stays_disabled() -> None:
    gc.disable()
    with no_collection():
        pass
    assert not gc.isenabled()


def test_garbage_collector_is_off_while_pages_are_read_and_items_filled(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It would see thousands of objects that are gone when the page is done as a growing heap."""
    found: list[tuple[str, bool]] = []
    page = Page.from_html("<p>Tea.", "http://e.org/")

    def from_root(*given: Any) -> Page:
        found.append(("read", gc.isenabled()))
        return page

    def fields(*given: Any) -> dict[str, object]:
        found.append(("fill", gc.isenabled()))
        raise ValueError("a page that breaks us")

    settings = {
        "ADDONS": {"contentspider.Addon": 500},
        "CONTENTSPIDER_MODELS_DIR": str(tmp_path),
        "CONTENTSPIDER_STATE_DIR": str(tmp_path),
    }
    crawler = get_crawler(settings_dict=settings)
    monkeypatch.setattr("contentspider.crawl.middlewares.pages.Page.from_root", from_root)
    monkeypatch.setattr("contentspider.crawl.learning.pipeline.page_fields", fields)
    response = HtmlResponse("http://e.org/", body=b"<p>Tea.")
    asyncio.run(BlocksMiddleware(crawler).process_response(Request("http://e.org/"), response))
    holder = crawler.get_extension(ItemHolder)
    assert holder
    item = ContentItem("http://e.org/")
    holder.bindings.put(item, ItemBinding(page, may_pass=True))
    holder.keeper.book = Book(None)
    with pytest.raises(DropItem):
        asyncio.run(ContentPipeline(crawler).process_item(item))
    assert found == [("read", False), ("fill", False)]
    assert gc.isenabled()
