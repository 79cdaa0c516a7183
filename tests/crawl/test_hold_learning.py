"""Held items: when their site is learned, and when they go."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from scrapy.exceptions import DontCloseSpider

from contentspider import ContentItem
from contentspider.crawl.learning import holder as holder_module
from contentspider.crawl.learning.holder import ItemHolder
from contentspider.crawl.learning.learn_process import Learned
from contentspider.ground.errors import ContentSpiderError, NotEnoughTextError
from contentspider.site.own.quality import Quality
from contentspider.state.book.items import ItemBinding
from tests.crawlers import close, open_crawler, parts
from tests.held import page, passed, response, stat
from tests.recrawled import SITE, address

if TYPE_CHECKING:
    from pathlib import Path

    from scrapy.crawler import Crawler

    from contentspider.page.input.page import Page
    from contentspider.site.models.model import SiteModel


class Waiting:
    """A holder with held items of so many pages, whose learner is *learn*."""

    def __init__(
        self, crawler: Crawler, monkeypatch: pytest.MonkeyPatch, learned: Any, pages: int = 3
    ) -> None:
        self.crawler = crawler
        self.keeper, self.holder = parts(crawler)
        self.learned: list[bool] = []
        self.out: list[Any] = []

        async def learn(*crawl: Any, compare: bool = False) -> Learned:
            assert crawl == (self.keeper, self.holder.site(address("/")))
            self.learned.append(compare)
            if isinstance(learned, Exception):
                raise learned
            return Learned(learned)

        async def pass_item(_: Crawler, item: Any) -> None:
            hand = self.holder.bindings.take(item)
            assert hand is not None
            assert hand.may_pass
            self.out.append(item)
            self.keeper.book.items.record(hand, b"{}")

        monkeypatch.setattr(self.holder.models, "learn", learn)
        monkeypatch.setattr(holder_module, "pass_item", pass_item)
        for number in range(pages):
            passed(crawler, response(number), ContentItem(address(f"/{number}")))
        self.state = self.holder.site(address("/"))

    def idle(self) -> bool:
        """Tell whether the idle spider has to wait, and let what is done be done."""

        async def idle() -> bool:
            try:
                self.holder._on_idle()
            except DontCloseSpider:
                for state in self.holder.sites.values():
                    if state.work:
                        await state.work
                return True
            return False

        return asyncio.run(idle())

    def finish(self) -> None:
        asyncio.run(self.holder.finish())


def test_idle_spider_learns_site_and_releases_held_items(
    crawler: Crawler, monkeypatch: pytest.MonkeyPatch, model: SiteModel
) -> None:
    waiting = Waiting(crawler, monkeypatch, model)
    assert waiting.idle()
    assert [item.url for item in waiting.out] == [address(f"/{n}") for n in range(3)]
    assert (waiting.state.model, waiting.state.held, waiting.state.pages) == (model, 0, 0)
    assert stat(crawler, "sites/learned") == stat(crawler, "models/saved") == 1
    assert stat(crawler, "items/released") == 3
    assert waiting.state.is_stored
    assert not waiting.state.is_early
    assert waiting.learned == [False]
    assert waiting.keeper.book.items.held_counts() == {}
    assert waiting.keeper.book.runs.fact("learned") == [SITE]
    assert not waiting.idle()


@pytest.mark.parametrize(
    ("error", "failed", "level", "said"),
    [
        (NotEnoughTextError("no text"), 0, logging.WARNING, "no text"),
        (ContentSpiderError("no thread"), 1, logging.ERROR, "no thread"),
    ],
)
def test_items_of_unlearnable_site_pass_unfiltered(
    error: Exception,
    failed: int,
    level: int,
    said: str,
    crawler: Crawler,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    waiting = Waiting(crawler, monkeypatch, error)
    assert waiting.idle()
    assert len(waiting.out) == 3
    assert waiting.state.failed
    assert stat(crawler, "sites/failed") == failed
    assert stat(crawler, "sites/learned") == 0
    assert [record.levelno for record in caplog.records if said in record.message] == [level]


@pytest.mark.parametrize("is_durable", [False, True])
def test_learning_without_memory_keeps_items_held_in_durable_crawl(
    is_durable: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crawler = open_crawler(tmp_path, durable=is_durable)
    waiting = Waiting(crawler, monkeypatch, MemoryError())
    assert waiting.idle()
    assert waiting.keeper.is_broken
    assert (waiting.state.failed, len(waiting.out)) == ((False, 0) if is_durable else (True, 3))
    close(crawler)


@pytest.mark.parametrize("most", [1, 2])
def test_released_items_respect_concurrent_items_setting(
    most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: SiteModel
) -> None:
    crawler = open_crawler(tmp_path, CONCURRENT_ITEMS=most)
    waiting = Waiting(crawler, monkeypatch, model, pages=5)
    sent: list[int] = []
    working = [0]

    async def pass_item(*_: Any) -> None:
        working[0] += 1
        sent.append(working[0])
        await asyncio.sleep(0)
        working[0] -= 1

    monkeypatch.setattr(holder_module, "pass_item", pass_item)
    assert waiting.idle()
    assert (len(sent), max(sent), working) == (5, most, [0])
    close(crawler)


def test_items_held_during_release_wait_for_next_turn(
    crawler: Crawler, monkeypatch: pytest.MonkeyPatch, model: SiteModel
) -> None:
    waiting = Waiting(crawler, monkeypatch, model)

    async def pass_item(*_: Any) -> None:
        waiting.state.held += 1

    monkeypatch.setattr(holder_module, "pass_item", pass_item)
    assert waiting.idle()
    assert (waiting.state.held, waiting.state.pages) == (3, 3)


@pytest.mark.parametrize(("f1", "out"), [(0.99, 3), (0.5, 0)])
def test_items_of_large_site_are_released_early_by_good_model(
    f1: float, out: int, crawler: Crawler, monkeypatch: pytest.MonkeyPatch, model: SiteModel
) -> None:

    monkeypatch.setattr("contentspider.crawl.learning.models.FIRST_TRY", 3)
    known = replace(model, quality=Quality(f1))
    waiting = Waiting(crawler, monkeypatch, known, pages=2)

    async def third() -> None:
        assert waiting.holder.hold(ContentItem(address("/3")), ItemBinding(page(3)))
        assert waiting.state.is_busy
        work = waiting.state.work
        waiting.holder.begin_work(waiting.state)
        assert waiting.state.work is work, "one at a time"
        assert work
        await work

    asyncio.run(third())
    assert len(waiting.out) == out
    assert waiting.state.is_early
    assert waiting.state.held == 3 - out
    assert waiting.idle(), "it is learned again from all pages"
    assert len(waiting.learned) == 2
    assert len(waiting.out) == 3
    assert not waiting.state.is_early
    assert stat(crawler, "sites/learned") == 1
    assert stat(crawler, "models/saved") == 1 + (out > 0)
    assert not waiting.idle()


def test_early_model_stays_if_relearning_fails(
    crawler: Crawler,
    monkeypatch: pytest.MonkeyPatch,
    model: SiteModel,
    caplog: pytest.LogCaptureFixture,
) -> None:
    waiting = Waiting(crawler, monkeypatch, ContentSpiderError("no memory"), pages=0)
    waiting.state.use(model)
    waiting.state.is_early = True
    assert waiting.idle()
    assert "no memory" in caplog.text
    assert waiting.state.model is model
    assert not waiting.idle()


def test_site_with_new_template_is_relearned_until_relearning_brings_no_improvement(
    crawler: Crawler, monkeypatch: pytest.MonkeyPatch, model: SiteModel
) -> None:
    waiting = Waiting(crawler, monkeypatch, model, pages=0)
    mended: list[Any] = [model, None]

    async def mend(*crawl: Any) -> Any:
        assert crawl == (waiting.keeper, waiting.state)
        return mended.pop(0)

    monkeypatch.setattr(waiting.holder.models, "mend", mend)
    monkeypatch.setattr(type(waiting.state), "is_drifted", property(lambda _: bool(mended)))
    waiting.state.use(model)
    waiting.state.is_early = True
    watch = waiting.state.watch
    assert waiting.idle()
    assert not waiting.state.is_early
    assert waiting.state.watch is not watch
    assert stat(crawler, "sites/learned") == 1
    monkeypatch.setattr(type(waiting.state), "is_drifted", property(lambda _: True))
    assert waiting.idle()
    assert waiting.state.watch is None
    assert stat(crawler, "sites/learned") == 1
    assert stat(crawler, "sites/relearned") == 1


def test_page_with_unknown_template_is_held(
    crawler: Crawler, monkeypatch: pytest.MonkeyPatch, model: SiteModel
) -> None:
    waiting = Waiting(crawler, monkeypatch, model, pages=0)
    waiting.state.use(model)
    assert waiting.state.watch
    for is_strange in (False, True):
        monkeypatch.setattr(waiting.state.watch, "add", lambda _, found=is_strange: found)
        assert waiting.holder.hold(ContentItem("u"), ItemBinding(page(1))) == is_strange


def test_held_items_are_released_when_crawl_ends_early(
    crawler: Crawler, monkeypatch: pytest.MonkeyPatch, model: SiteModel
) -> None:
    waiting = Waiting(crawler, monkeypatch, model)
    waiting.finish()
    assert len(waiting.out) == 3
    assert stat(crawler, "models/saved") == 0, "the crawl was cut short"
    assert not waiting.state.is_stored


@pytest.mark.parametrize("how", ["interrupted", "memory", "limit", "broken"])
def test_held_items_of_interrupted_durable_crawl_stay_held(
    how: str,
    durable: Crawler,
    monkeypatch: pytest.MonkeyPatch,
    model: SiteModel,
    caplog: pytest.LogCaptureFixture,
) -> None:
    waiting = Waiting(durable, monkeypatch, model)
    assert durable.stats
    durable.crawling = how != "interrupted"
    if how == "memory":
        durable.stats.set_value("memusage/limit_reached", 1)
    waiting.keeper.is_broken = how == "broken"
    waiting.finish()
    assert len(waiting.out) == (3 if how == "limit" else 0)
    assert ("e.org: 3 items stay held" in caplog.text) == (how in ("interrupted", "memory"))


def test_stopping_crawl_learns_nothing(
    durable: Crawler, monkeypatch: pytest.MonkeyPatch, model: SiteModel
) -> None:
    waiting = Waiting(durable, monkeypatch, model)
    waiting.keeper.is_broken = True
    assert not waiting.idle()
    assert not waiting.learned


def test_resumed_crawl_continues_with_held_items(
    durable: Crawler, monkeypatch: pytest.MonkeyPatch, model: SiteModel
) -> None:
    waiting = Waiting(durable, monkeypatch, model)
    waiting.holder.sites.clear()
    begun: list[str] = []
    monkeypatch.setattr(waiting.holder, "begin_work", lambda state: begun.append(state.key))
    waiting.holder.opened()
    assert (waiting.holder.sites[SITE].held, waiting.holder.sites[SITE].pages) == (3, 3)
    assert begun == [], "too few"
    assert stat(durable, "items/held") == 6
    for change in ("failed", "many"):
        waiting.holder.sites.clear()
        if change == "failed":
            waiting.holder.site(address("/")).failed = True
        else:
            monkeypatch.setattr(ItemHolder, "options", waiting.holder.options, raising=False)
            object.__setattr__(waiting.holder.options, "learn_pages", 3)
        waiting.holder.opened()
    assert begun == [SITE, SITE]
    waiting.holder.sites.clear()
    waiting.holder.site(address("/")).use(model)
    added: list[Page] = []
    watch = waiting.holder.sites[SITE].watch
    assert watch
    monkeypatch.setattr(watch, "add", added.append)
    waiting.holder.opened()
    assert len(added) == 3
    assert begun == [SITE, SITE]


def test_stored_models_are_used_unless_relearn_is_set(tmp_path: Path, model: SiteModel) -> None:
    for relearn, is_resumed, learned, is_used, is_early in (
        (False, False, [SITE], True, False),
        (True, False, [SITE], False, False),
        (True, True, [SITE], True, True),
        (True, True, [], False, False),
    ):
        crawler = open_crawler(tmp_path, durable=True, relearn=relearn)
        keeper, holder = parts(crawler)
        holder.models.store.save(model)
        keeper.is_resumed = is_resumed
        keeper.book.runs.set_fact("learned", learned)
        state = holder.site(address("/1"))
        assert holder.site(address("/2")) is state
        assert (state.model is not None, state.is_stored) == (is_used, is_used)
        assert state.is_early == is_early
        assert stat(crawler, "models/loaded") == is_used
        close(crawler)


@pytest.mark.parametrize(("whole", "due"), [(True, False), (False, False), (True, True)])
def test_stale_model_is_used_only_for_partial_or_due_crawls(
    tmp_path: Path, model: SiteModel, whole: bool, due: bool
) -> None:
    crawler = open_crawler(tmp_path, durable=True, due=due)
    keeper, holder = parts(crawler)
    holder.models.store.save(model)
    assert keeper.revisits is not None
    keeper.revisits.stale = frozenset({SITE})
    if whole:
        crawler.spider.is_limited = False  # type: ignore[union-attr]
    assert (holder.site(address("/1")).model is None) == (whole and not due)
    close(crawler)


@pytest.mark.parametrize("is_resumed", [True, False])
def test_resumed_crawl_filters_history_by_model_of_earlier_run(
    durable: Crawler, model: SiteModel, is_resumed: bool
) -> None:
    """An earlier run has learned the site and read all pages; this one only writes the history."""
    keeper, holder = parts(durable)
    holder.models.store.save(model)
    keeper.book.runs.set_fact("learned", [SITE])
    keeper.is_resumed = is_resumed
    asyncio.run(holder.finish())
    assert keeper.revisits is not None
    states = keeper.revisits._states
    assert {site: state.version for site, state in states.items()} == (
        {SITE: model.version} if is_resumed else {}
    )
