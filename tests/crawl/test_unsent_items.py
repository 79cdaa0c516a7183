"""Items of pages of which nothing was sent are those of the last crawl."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from contentspider.crawl.base.items import ContentItem
from contentspider.crawl.base.known_page import KnownPage
from contentspider.crawl.base.meta import PAGE_META_KEY
from contentspider.crawl.base.outcomes import NOT_MODIFIED
from contentspider.crawl.learning import pipeline
from contentspider.site.learn.learner import SiteLearner
from contentspider.state.book.reading import Reading
from tests.crawlers import parts
from tests.held import page, passed, processed, response
from tests.recrawled import SITE, address

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

NUMBERS = range(1, 7)


@pytest.fixture
def filled(durable: Crawler, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Have a site that is known; return the addresses of the pages whose fields were made."""
    parts(durable)[1].site(address("/")).use(SiteLearner(SITE).fit(map(page, NUMBERS)))
    made = []

    def page_fields(found: Any, *arguments: Any) -> dict[str, object]:
        made.append(found.url)
        return plain(found, *arguments)

    plain = pipeline.page_fields
    monkeypatch.setattr(pipeline, "page_fields", page_fields)
    return made


def known(durable: Crawler, **differs: Any) -> KnownPage:
    """Return a known page whose item is that of this crawl, but for what differs."""
    item = ContentItem("")
    passed(durable, response(1), item)
    found = asdict(processed(durable, item)) | differs
    holder = parts(durable)[1]
    key = holder.site(address("/")).reading_key
    return KnownPage(address("/1"), Reading(key, 80, 20, (), b"abcd", b""), found, partial(page, 1))


def again(durable: Crawler, *flags: str, found: KnownPage | None = None) -> ContentItem:
    item, answer = ContentItem(""), response(1)
    answer.flags.extend(flags)
    if found is not None:
        answer.meta[PAGE_META_KEY] = found
    passed(durable, answer, item)
    filled: ContentItem = processed(durable, item)
    return filled


def test_not_modified_page_keeps_item_fields_of_last_crawl(
    durable: Crawler, filled: list[str]
) -> None:
    said = {"title": "Said in the last crawl", "crawled_at": "2024-01-01T00:00:00+00:00"}
    found = known(durable, **said)
    filled.clear()
    stats: Any = durable.stats
    kept = stats.get_value("contentspider/chars/kept")
    now, before = asdict(again(durable, NOT_MODIFIED, found=found)), dict(found.item)
    assert not filled
    assert stats.get_value("contentspider/chars/kept") == kept + 80
    assert now.pop("change") == "new"  # the book of this test does not know the page
    for name in ("change_ratio", "first_seen", "changed_at"):
        now.pop(name)
    assert now.pop("crawled_at") > before["crawled_at"]
    assert now == {name: before[name] for name in now}


@pytest.mark.parametrize("differs", [{"more": 1}, {"passages": ["a"]}])
def test_not_modified_page_is_refilled_if_settings_differ(
    durable: Crawler, filled: list[str], differs: dict[str, Any]
) -> None:
    found = known(durable, **differs)
    filled.clear()
    again(durable, NOT_MODIFIED, found=found)
    assert filled == [address("/1")]


def test_item_is_refilled_if_page_was_sent_or_has_own_text_or_another_model_or_foreign_pipeline(
    durable: Crawler, filled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = known(durable)
    filled.clear()
    again(durable)
    own_texts = parts(durable)[0].book.own_texts
    with monkeypatch.context() as patch:
        patch.setattr(own_texts, "has", lambda site, url: True)
        again(durable, NOT_MODIFIED, found=found)
    assert len(filled) == 2
    again(durable, NOT_MODIFIED, found=found)
    assert len(filled) == 2
    parts(durable)[1].site(address("/")).use(SiteLearner(SITE).fit(map(page, range(3, 9))))
    again(durable, NOT_MODIFIED, found=found)
    assert len(filled) == 3, "another model"
    found = known(durable)
    filled.clear()
    durable.settings.frozen = False
    pipelines = {**durable.settings.getdict("ITEM_PIPELINES"), "their.Pipeline": 1}
    durable.settings.set("ITEM_PIPELINES", pipelines, "cmdline")
    again(durable, NOT_MODIFIED, found=found)
    assert len(filled) == 1, "the item in the book has passed that, too"
