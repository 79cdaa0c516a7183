"""What the pipeline fills into items, and what it says of those that it cannot fill."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from scrapy.exceptions import DropItem

from contentspider import ContentItem
from contentspider.crawl.base.items import FieldMap
from contentspider.crawl.base.meta import PAGE_META_KEY
from contentspider.crawl.learning import pipeline as pipeline_module
from contentspider.crawl.learning.pipeline import ContentPipeline
from contentspider.crawl.queue.addresses import UnfilledItem
from tests.crawlers import close, open_crawler, parts
from tests.held import FIELDS, Article, page, passed, processed, ready, response, stat
from tests.recrawled import SITE, address

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from scrapy.crawler import Crawler

    from contentspider.site.models.model import SiteModel


@pytest.fixture
def crawler(tmp_path: Path) -> Iterator[Crawler]:
    every = {name: name.upper() for name in ContentItem.__dataclass_fields__}
    made = open_crawler(tmp_path, item_fields=FIELDS | {"dict": every}, passages=500)
    yield made
    close(made)


def filled(crawler: Crawler, item: Any, answer: Any = None) -> Any:
    passed(crawler, answer or response(1), item)
    return processed(crawler, item)


def test_mapped_item_may_receive_every_field(crawler: Crawler, model: SiteModel) -> None:
    parts(crawler)[1].site(address("/")).use(model)
    item = filled(crawler, {})
    ours = filled(crawler, ContentItem(""))
    different = {"crawled_at"}
    for name in set(ContentItem.__dataclass_fields__) - different:
        assert item[name.upper()] == getattr(ours, name)
    assert (ours.site, ours.url, ours.model_version) == (SITE, address("/1"), model.version)
    assert (ours.change, ours.change_ratio, ours.first_seen, ours.changed_at) == ("", 0.0, "", "")
    assert ours.passages


def test_pdf_document_is_not_filtered(crawler: Crawler, model: SiteModel) -> None:
    state = parts(crawler)[1].site(address("/"))
    document = replace(page(1), is_document=True)
    answer = response(1, **{PAGE_META_KEY: document})
    ready(crawler)
    assert filled(crawler, ContentItem(""), answer).model_version == "unfiltered"
    state.use(model)
    item = filled(crawler, ContentItem(""), answer)
    assert "All rights reserved" in item.content
    assert (stat(crawler, "items/documents"), stat(crawler, "items/filtered")) == (2, 0)
    assert crawler.stats
    assert not [name for name in crawler.stats.get_stats() if "pages/failed" in name]


def test_item_without_page_is_logged_with_hint_to_bind(
    crawler: Crawler, caplog: pytest.LogCaptureFixture
) -> None:
    processed(crawler, Article("u"))
    (message,) = caplog.messages
    assert "Article" in message
    assert "contentspider.bind(item, response)" in message


@pytest.mark.parametrize("function", ["page_fields", "SiteModel.extract", "FieldMap.fill"])
def test_item_that_cannot_be_made_is_dropped_and_its_page_named(
    function: str,
    crawler: Crawler,
    model: SiteModel,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(*_: Any) -> None:
        raise KeyError("tea")

    parts(crawler)[1].site(address("/")).use(model)
    holders = {"SiteModel": type(model), "FieldMap": FieldMap}
    owner, _, name = function.rpartition(".")
    monkeypatch.setattr(holders.get(owner, pipeline_module), name, fail)
    for number in (1, 2):
        item = ContentItem("")
        passed(crawler, response(number), item)
        with pytest.raises(UnfilledItem):
            asyncio.run(ContentPipeline(crawler).process_item(item))
    errors = [message for message in caplog.messages if "KeyError('tea')" in message]
    assert [message.split(": ")[0] for message in errors] == [address("/1"), address("/2")]
    assert stat(crawler, "pages/failed/KeyError") == stat(crawler, "items/unfilled") == 2
    assert stat(crawler, f"items/unfilled/{address('/1')}") == 1
    assert not stat(crawler, "items/filtered")


def test_held_item_is_dropped_with_debug_log_level(crawler: Crawler) -> None:
    item = Article("u")
    parts(crawler)[1].bindings.bind(item, page(1), 5)
    with pytest.raises(DropItem, match="held") as raised:
        processed(crawler, item)
    assert raised.value.log_level == "DEBUG"


def test_attribute_of_a_users_spider_does_not_disturb_the_pipeline(
    crawler: Crawler, model: SiteModel
) -> None:
    parts(crawler)[1].site(address("/")).use(model)
    setattr(crawler.spider, "duplicates", 0)  # noqa: B010 - for the type checker
    assert filled(crawler, ContentItem(""), response(1, row=1)).content
