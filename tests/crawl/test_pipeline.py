"""What the pipeline fills into items, and what it says of those that it cannot fill."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from scrapy.exceptions import DropItem

from contentspider import ContentItem
from contentspider.crawl.base.meta import PAGE_META_KEY
from contentspider.crawl.learning import pipeline as pipeline_module
from contentspider.crawl.learning.pipeline import ContentPipeline
from contentspider.page.input.page import Page
from contentspider.site.learn.learner import SiteLearner
from tests.crawlers import close, open_crawler, parts
from tests.held import FIELDS, Article, page, passed, processed, ready, response, stat
from tests.recrawled import SITE, address
from tests.sites import article

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


@pytest.fixture(scope="module")
def model() -> SiteModel:
    pages = [Page.from_html(article(number), address(f"/{number}")) for number in range(9)]
    return SiteLearner(SITE).fit(pages)


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


def test_filling_error_is_logged_once_with_page_url(
    crawler: Crawler, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: Any) -> None:
        raise KeyError("tea")

    ready(crawler)
    monkeypatch.setattr(pipeline_module, "page_fields", fail)
    pipeline = ContentPipeline(crawler)
    for number in (1, 2):
        item = ContentItem("")
        passed(crawler, response(number), item)
        assert asyncio.run(pipeline.process_item(item)) == ContentItem("")
    (message,) = caplog.messages
    assert message.startswith(f"{address('/1')}: ")
    assert "KeyError('tea')" in message
    assert stat(crawler, "pages/failed/KeyError") == 2


def test_filtering_error_is_logged_with_page_url(
    crawler: Crawler,
    model: SiteModel,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(*_: Any) -> None:
        raise KeyError("tea")

    parts(crawler)[1].site(address("/")).use(model)
    monkeypatch.setattr(type(model), "extract", fail)
    filled(crawler, ContentItem(""))
    (message,) = caplog.messages
    assert message.startswith(f"{address('/1')}: ")
    assert "KeyError('tea')" in message
    assert "unfiltered" in message


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
