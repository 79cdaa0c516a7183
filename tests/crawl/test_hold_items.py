"""The way of an item from its callback to its fields, without a reactor or a process."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scrapy import Request
from scrapy.exceptions import DropItem, NotConfigured
from scrapy.http import TextResponse
from scrapy.utils.test import get_crawler

from contentspider import ContentItem, bind
from contentspider.crawl.base.meta import BINDINGS_META_KEY, PAGE_META_KEY, PARENT_META_KEY
from contentspider.crawl.learning.pipeline import ContentPipeline
from contentspider.crawl.middlewares.pages import BlocksMiddleware, PagesMiddleware
from contentspider.crawl.queue.addresses import UnchangedItem, in_hand
from contentspider.page.input.page import Page
from contentspider.site.models.summary import main_slot
from contentspider.state.book.items import ItemBinding
from contentspider.state.outcome import EMPTY_SLOTS
from tests.crawlers import close, open_crawler, parts
from tests.held import Article, page, passed, processed, ready, response, stat
from tests.recrawled import SITE, Crawls, address
from tests.sites import article

if TYPE_CHECKING:
    from pathlib import Path

    from scrapy.crawler import Crawler

    from contentspider.site.models.model import SiteModel


# From callback to holder


def test_page_tags_are_removed_from_further_requests(crawler: Crawler) -> None:
    answer = response(1, 5, mine=7)
    request = Request(address("/2"), meta=dict(answer.meta))
    assert passed(crawler, answer, request, None, {"asks": "nothing"}.items()) == [
        request,
        None,
        {"asks": "nothing"}.items(),
    ]
    assert request.meta == {"mine": 7, PARENT_META_KEY: 5}, "the scheduler removes this one"


def test_items_of_unknown_site_are_held_while_other_objects_pass(crawler: Crawler) -> None:
    keeper, holder = parts(crawler)
    assert passed(crawler, response(), ContentItem(address("/1")), "other") == ["other"]
    assert keeper.book.items.held_counts() == {SITE: 1}
    assert (holder.sites[SITE].held, holder.sites[SITE].pages) == (1, 1)
    assert stat(crawler, "items/held") == 1
    passed(crawler, response(), ContentItem(address("/1")))
    passed(crawler, response(2), ContentItem(address("/2")))
    assert (holder.sites[SITE].held, holder.sites[SITE].pages) == (3, 2), "a page may give several"


@pytest.mark.parametrize("item", [ContentItem("u"), Article("u"), {"url": "u"}])
def test_item_is_bound_to_its_page_and_key(item: Any, durable: Crawler) -> None:
    ready(durable)
    _, holder = parts(durable)
    answer = response(1, 5)
    assert passed(durable, answer, item, "other", {"n": 2}) == [item, "other", {"n": 2}]
    hand = holder.bindings.get(item)
    assert hand == ItemBinding(page(1), 5, 5, "5/0", may_pass=True)
    second = {"n": 3}
    passed(durable, answer, second)
    found = holder.bindings.take(second)
    assert found is not None
    assert found.key == "5/2"
    assert not holder.bindings.has(second)


def test_bound_item_keeps_its_page_and_carried_item_has_none(durable: Crawler) -> None:
    ready(durable)
    _, holder = parts(durable)
    bound, loose, none = Article("u"), Article("v"), Article("w")
    bind(bound, response(1, 5, **{BINDINGS_META_KEY: holder.bindings}))
    json = TextResponse(
        address("/x"),
        request=Request(address("/x"), meta={BINDINGS_META_KEY: holder.bindings}),
    )
    bind(none, json)
    answer = response(2, 6, loose=loose)
    assert passed(durable, answer, bound, loose, none) == [bound, loose, none]
    assert holder.bindings.get(bound) == ItemBinding(page(1), 5, 6, "6/0", may_pass=True)
    assert not holder.bindings.has(loose)
    assert holder.bindings.has(none)
    assert holder.bindings.get(none) is None
    by_argument = response(2, 7)
    assert by_argument.request is not None
    by_argument.request.cb_kwargs["item"] = loose
    passed(durable, by_argument, loose)
    assert not holder.bindings.has(loose)


def test_response_without_request_or_page_passes_items_unbound(crawler: Crawler) -> None:
    item = ContentItem("u")
    assert passed(crawler, TextResponse("http://e.org/"), item) == [item]
    assert not parts(crawler)[1].bindings.has(item)


def test_recorded_item_does_not_pass_again(durable: Crawler) -> None:
    ready(durable)
    keeper, _ = parts(durable)
    keeper.book.items.record(ItemBinding(page(1), key="5/0"), b"{}")
    first, second = ContentItem("u"), ContentItem("u")
    assert passed(durable, response(1, 5), first, second) == [second]


def test_pdf_documents_are_not_held(crawler: Crawler) -> None:
    document = Page(address("/a.pdf"), page(1).content, page(1).hints, page(1).statements, True)
    holder = parts(crawler)[1]
    assert not holder.hold(ContentItem("u"), ItemBinding(document))


def test_inspection_mode_holds_no_items(crawler: Crawler) -> None:
    keeper, holder = parts(crawler)
    keeper.is_inspection = True
    assert not holder.hold(ContentItem("u"), ItemBinding(page(1)))
    assert not holder.sites


def test_broken_book_holds_no_items_without_durability(crawler: Crawler, durable: Crawler) -> None:
    for one, is_durable in ((crawler, False), (durable, True)):
        keeper, holder = parts(one)
        keeper.is_broken = True
        assert holder.hold(ContentItem("u"), ItemBinding(page(1))) == is_durable


def test_components_are_disabled_without_holder_extension() -> None:
    crawler = get_crawler()
    crawler._apply_settings()
    for part in (BlocksMiddleware, PagesMiddleware, ContentPipeline):
        with pytest.raises(NotConfigured, match="ItemHolder is not in EXTENSIONS"):
            part.from_crawler(crawler)


# From holder to fields


def test_pipeline_fills_item_and_registers_it_as_current(crawler: Crawler) -> None:
    ready(crawler)
    for item, names in (
        (ContentItem(""), None),
        (Article(""), {"content": "body", "url": "link"}),
    ):
        passed(crawler, response(1), item)

        async def process(item: Any = item) -> Any:
            in_hand.set(({"earlier": 1}, ItemBinding(page(2))))
            return await ContentPipeline(crawler).process_item(item), in_hand.get()

        found, hand = asyncio.run(process())
        assert found is item
        assert hand[0] is item
        assert hand[1].names == names
        assert (hand[1].page_id == ContentItem.__dataclass_fields__ and False) or hand[1].page_id
        text = item.content if isinstance(item, ContentItem) else item.body
        assert "Page 1" in text
    assert stat(crawler, "items/unfiltered") == 2
    assert stat(crawler, "chars/kept") > 0
    assert stat(crawler, "chars/dropped") == 0


def test_item_without_page_clears_current_item(crawler: Crawler) -> None:
    async def process() -> Any:
        in_hand.set(({"earlier": 1}, ItemBinding(page(2))))
        return await ContentPipeline(crawler).process_item("other"), in_hand.get()

    assert asyncio.run(process()) == ("other", None)


def test_item_without_page_passes_and_is_logged_once(
    crawler: Crawler, caplog: pytest.LogCaptureFixture
) -> None:
    pipeline = ContentPipeline(crawler)
    for _ in range(2):
        item = Article("u")
        assert asyncio.run(pipeline.process_item(item)) is item
        assert item == Article("u")
    assert stat(crawler, "items/untagged") == 2
    assert caplog.text.count("An item of Article has no page") == 1


def test_item_from_errback_is_held(durable: Crawler) -> None:
    keeper, holder = parts(durable)
    item = Article("u")
    holder.bindings.bind(item, page(1), 5)
    with pytest.raises(DropItem, match="held until its site"):
        processed(durable, item)
    ((_, hand),) = keeper.book.items.release(SITE)
    assert (hand.page_row, hand.address_row, hand.key) == (5, None, None)
    ready(durable)
    assert processed(durable, item) is item
    assert "Page 1" in item.body


def test_filtered_items_and_characters_are_counted(crawler: Crawler, model: SiteModel) -> None:
    _, holder = parts(crawler)
    holder.site(address("/")).use(model)
    item = ContentItem("")
    passed(crawler, response(1), item)
    processed(crawler, item)
    assert "All rights" not in item.content
    assert item.model_version == model.version
    assert stat(crawler, "items/filtered") == 1
    assert 0 < stat(crawler, "chars/dropped") < stat(crawler, "chars/kept")
    assert stat(crawler, f"page_type/{item.page_type}") == 1
    assert stat(crawler, "pages/low_confidence") == (item.confidence < 0.5)


def fill(crawler: Crawler, model: SiteModel, shown: Page) -> None:
    """Fill an item of a page, whose site has the model."""
    parts(crawler)[1].site(address("/")).use(model)
    item, answer = ContentItem(""), response(1)
    answer.meta[PAGE_META_KEY] = shown
    passed(crawler, answer, item)
    processed(crawler, item)


def test_unfiltered_item_of_page_without_text_is_empty(crawler: Crawler) -> None:
    ready(crawler)
    answer = response(1)
    answer.meta[PAGE_META_KEY] = Page.from_html("<title>a</title><img src=a.png>", address("/1"))
    item = ContentItem("")
    passed(crawler, answer, item)
    processed(crawler, item)
    assert stat(crawler, "pages/empty/no_text") == 1
    assert stat(crawler, "items/unfiltered") == 1


@pytest.mark.parametrize(
    ("html", "kind", "reason"),
    [
        (article(1), "other", "dropped"),
        (article(1), "listing", "listing"),
        ("<title>a</title><p>Tea.</p>", "other", "no_text"),
    ],
)
def test_pages_without_content_are_counted_by_reason(
    html: str,
    kind: str,
    reason: str,
    crawler: Crawler,
    model: SiteModel,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown = Page.from_html(html, address("/1"))
    nothing = np.zeros(len(shown.content.blocks), dtype=bool)
    found = replace(model.extract(shown), kept=nothing, page_type=kind)
    monkeypatch.setattr(type(model), "extract", lambda *_: found)
    fill(crawler, model, shown)
    assert stat(crawler, f"pages/empty/{reason}") == 1
    assert crawler.stats
    slots = [name for name in crawler.stats.get_stats() if name.startswith(EMPTY_SLOTS)]
    expected = [f"{EMPTY_SLOTS}{main_slot(shown, model.slot_of)[0]}"]
    assert slots == (expected if reason == "dropped" else [])


@pytest.mark.parametrize(
    ("confidence", "by_prior", "is_guess"), [(0.4, True, False), (0.5, False, True)]
)
def test_model_confidence_is_counted(
    confidence: float,
    by_prior: bool,
    is_guess: bool,
    crawler: Crawler,
    model: SiteModel,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    changes = {"confidence": confidence, "by_prior": by_prior, "is_guess": is_guess}
    found = replace(model.extract(page(1)), **changes)  # type: ignore[arg-type]
    monkeypatch.setattr(type(model), "extract", lambda *_: found)
    fill(crawler, model, page(1))
    assert stat(crawler, "pages/low_confidence") == (confidence < 0.5)
    assert stat(crawler, "pages/by_prior") == by_prior
    assert stat(crawler, "pages/guessed") == is_guess


@pytest.mark.parametrize("only", ["", "changed"])
def test_items_of_unchanged_pages_are_dropped_with_only_changed(only: str, tmp_path: Path) -> None:
    Crawls(tmp_path / "e.org.sqlite", count=2)
    crawler = open_crawler(tmp_path, durable=True, only=only)
    ready(crawler)
    item, changed = ContentItem(""), ContentItem("")
    passed(crawler, response(1, 5), item)
    passed(crawler, response(3, 6), changed)
    assert processed(crawler, changed).change == "new"
    if only:
        with pytest.raises(UnchangedItem, match=r"^its page is unchanged$") as raised:
            processed(crawler, item)
        assert raised.value.log_level == "DEBUG"
    else:
        assert processed(crawler, item).change == "unchanged"
    assert stat(crawler, "items/unchanged") == 1
    close(crawler)


def test_sample_of_pages_is_stored_when_needed(crawler: Crawler, durable: Crawler) -> None:
    def sampled(one: Crawler, number: int = 1) -> int:
        item = ContentItem("")
        passed(one, response(number), item)
        processed(one, item)
        return len(list(parts(one)[0].book.sample.sample(SITE)))

    ready(durable)
    ready(crawler)
    document = replace(page(1), is_document=True)
    for left_out in (document, Page.from_html("", address("/empty"))):
        item = ContentItem("")
        passed(durable, response(1, **{PAGE_META_KEY: left_out}), item)
        processed(durable, item)
    assert stat(durable, "items/documents") == 1
    assert not list(parts(durable)[0].book.sample.sample(SITE))
    assert sampled(durable) == 1
    assert sampled(crawler) == 0
    parts(crawler)[1].sites[SITE].is_early = True
    assert sampled(crawler) == 1
    parts(crawler)[0].is_inspection = True
    assert sampled(crawler, 2) == 1
    parts(durable)[0].is_broken = True
    assert parts(durable)[0].is_stopping


def test_own_texts_fill_missing_item_fields(
    durable: Crawler, monkeypatch: pytest.MonkeyPatch
) -> None:
    ready(durable)
    keeper, _ = parts(durable)
    added: list[Any] = []
    monkeypatch.setattr(keeper.book.own_texts, "of_page", lambda *key: key)
    monkeypatch.setattr(
        "contentspider.crawl.learning.pipeline.add_own_text", lambda values, own: added.append(own)
    )
    item = ContentItem("", id="mine")
    passed(durable, response(1), item)
    assert processed(durable, item).id == "mine"
    assert added == [(SITE, address("/1"))]


def test_inspection_mode_fills_items_when_bound(
    crawler: Crawler,
) -> None:
    keeper, holder = parts(crawler)
    pipeline = ContentPipeline(crawler)
    pipeline.open_spider()
    assert holder.bindings.on_bind is None
    keeper.is_inspection = True
    pipeline.open_spider()
    answer = response(1, **{BINDINGS_META_KEY: holder.bindings})
    assert "Page 1" in ContentItem.from_response(answer).content
    empty = TextResponse(
        address("/x"), request=Request(address("/x"), meta={BINDINGS_META_KEY: holder.bindings})
    )
    assert ContentItem.from_response(empty).content == ""


def test_item_waits_while_that_of_its_canonical_page_may_be_sent(
    durable: Crawler, model: SiteModel
) -> None:
    holder = parts(durable)[1]
    state = holder.site(address("/"))
    state.use(model)
    named = article(1).replace("<title>", "<link rel=canonical href=/{}><title>")
    copy, original = (Page.from_html(named.format(path), address("/1")) for path in "21")

    async def is_held(page: Page, key: str, is_busy: bool) -> bool:
        state.work = asyncio.create_task(asyncio.Event().wait()) if is_busy else None
        held = holder.hold(ContentItem(""), ItemBinding(page, key=key))
        if state.work:
            state.work.cancel()
        state.work = None
        return held

    assert not asyncio.run(is_held(copy, "a", is_busy=False))
    assert not asyncio.run(is_held(original, "b", is_busy=True))
    assert asyncio.run(is_held(copy, "c", is_busy=True))
