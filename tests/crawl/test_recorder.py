"""What becomes of items: each is recorded by what our pipeline had in hand for it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from itemadapter import ItemAdapter
from scrapy.exceptions import DontCloseSpider, DropItem
from scrapy.spiders import Spider
from scrapy.utils.test import get_crawler

from contentspider.crawl.base.items import ContentItem, item_values
from contentspider.crawl.queue.addresses import in_hand
from contentspider.crawl.queue.keeper import BookKeeper
from contentspider.page.input.page import Page
from contentspider.state.book.items import ItemBinding

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PAGE = Page.from_html("<p>Tea is made of leaves.", "https://example.org/tea")


@pytest.fixture
def keeper(tmp_path: Path) -> Iterator[BookKeeper]:
    settings = {
        "ADDONS": {"contentspider.Addon": 500},
        "CONTENTSPIDER_DURABLE": True,
        "CONTENTSPIDER_CRAWL": "e.org",
        "CONTENTSPIDER_STATE_DIR": str(tmp_path),
        "CONTENTSPIDER_MODELS_DIR": str(tmp_path / "models"),
    }
    crawler = get_crawler(Spider, settings)
    crawler.crawling = True
    crawler.spider = Spider("my")
    keeper = crawler.get_extension(BookKeeper)
    assert keeper is not None

    async def opened() -> None:
        keeper.open()

    asyncio.run(opened())
    yield keeper
    keeper.book.close()


def test_item_dropped_before_pipeline_is_not_confused_with_previous_item(
    keeper: BookKeeper,
) -> None:
    filled, other = {"n": 1}, {"n": 2}
    token = in_hand.set((filled, ItemBinding(PAGE, key="1/0")))
    keeper.recorder.dropped(other, DropItem("no"))
    assert not keeper.book.items.has_item("1/0")
    keeper.recorder.dropped(filled, DropItem("no"))
    assert keeper.book.items.has_item("1/0")
    in_hand.reset(token)


def test_replaced_item_is_recorded(keeper: BookKeeper) -> None:
    token = in_hand.set(({"n": 1}, ItemBinding(PAGE, key="1/0")))
    keeper.recorder.scraped({"n": 2})
    assert list(keeper.book.items.lines()) == [b'{"n": 2}']
    in_hand.reset(token)


def test_failed_urls_are_retried_immediately_when_idle(
    keeper: BookKeeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    woken: list[object] = []
    monkeypatch.setattr("contentspider.crawl.queue.keeper.wake", woken.append)
    monkeypatch.setattr(keeper.addresses, "retry_failed", lambda: 1)
    with pytest.raises(DontCloseSpider):
        keeper.idle()
    assert woken == [keeper.crawler]


def test_item_is_recorded_with_its_declared_fields_alone() -> None:
    item = ContentItem("http://e.org/1", headings=["Tea"], confidence=0.5)
    expected = ItemAdapter(item).asdict()
    item.rank = 7  # type: ignore[attr-defined] - a pipeline of the user may do so
    assert item_values(item) == expected == ItemAdapter(item).asdict()
    assert list(item_values(item)) == list(expected)
    assert item_values({"url": "http://e.org/1", "part": {"n": 1}})["part"] == {"n": 1}
