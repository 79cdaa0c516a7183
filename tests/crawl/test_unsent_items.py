"""Items of pages of which nothing was sent are those of the last crawl."""

from __future__ import annotations

from dataclasses import asdict
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from contentspider.crawl.base.items import ContentItem
from contentspider.crawl.base.outcomes import NOT_MODIFIED
from contentspider.crawl.learning import pipeline
from contentspider.site.learn.learner import SiteLearner
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


def known(durable: Crawler, **differs: Any) -> dict[str, Any]:
    """Return the item of a page, and let the history know it, but for what differs."""
    item = ContentItem("")
    passed(durable, response(1), item)
    found = asdict(processed(durable, item)) | differs

    def item_of(url: str) -> dict[str, Any]:
        return found if url == address("/1") else {}

    keeper: Any = parts(durable)[0]
    keeper.revisits = SimpleNamespace(
        item=item_of,
        compare=lambda *given: False,
        known_copies=keeper.revisits.known_copies,
    )
    return found


def again(durable: Crawler, *flags: str, number: int = 1) -> ContentItem:
    item, answer = ContentItem(""), response(number)
    answer.flags.extend(flags)
    passed(durable, answer, item)
    found: ContentItem = processed(durable, item)
    return found


def test_not_modified_page_keeps_item_fields_of_last_crawl(
    durable: Crawler, filled: list[str]
) -> None:
    said = {"title": "Said in the last crawl", "crawled_at": "2024-01-01T00:00:00+00:00"}
    before = known(durable, **said, model_version="one that cut the page alike")
    filled.clear()
    now = asdict(again(durable, NOT_MODIFIED))
    assert not filled
    for name in ("change", "change_ratio", "first_seen", "changed_at"):
        assert not now.pop(name), "the comparison says"
        del before[name]
    assert now.pop("crawled_at") > before.pop("crawled_at")
    before["model_version"] = parts(durable)[1].site(address("/")).version
    assert now == before
    again(durable, NOT_MODIFIED, number=2)
    assert filled == [address("/2")], "it had no item"


@pytest.mark.parametrize(
    "differs",
    [{"content_hash": "other"}, {"more": 1}, {"passages": ["a"]}],
)
def test_not_modified_page_is_refilled_if_settings_or_content_differ(
    durable: Crawler, filled: list[str], differs: dict[str, Any]
) -> None:
    known(durable, **differs)
    filled.clear()
    again(durable, NOT_MODIFIED)
    assert filled == [address("/1")]


def test_item_is_refilled_if_page_was_sent_or_has_own_text_or_foreign_pipeline(
    durable: Crawler, filled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    known(durable)
    filled.clear()
    again(durable)
    own_texts = parts(durable)[0].book.own_texts
    with monkeypatch.context() as patch:
        patch.setattr(own_texts, "has", lambda site, url: True)
        again(durable, NOT_MODIFIED)
    assert len(filled) == 2
    again(durable, NOT_MODIFIED)
    assert len(filled) == 2
    durable.settings.frozen = False
    pipelines = {**durable.settings.getdict("ITEM_PIPELINES"), "their.Pipeline": 1}
    durable.settings.set("ITEM_PIPELINES", pipelines, "cmdline")
    again(durable, NOT_MODIFIED)
    assert len(filled) == 3, "the item in the history has passed that, too"
