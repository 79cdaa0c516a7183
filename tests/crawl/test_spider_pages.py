"""What the site spider takes as its arguments and puts into settings, and what it does of pages."""

from __future__ import annotations

import asyncio
import logging
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from scrapy import Request, signals
from scrapy.http import Response
from scrapy.settings import SETTINGS_PRIORITIES, Settings
from scrapy.utils.test import get_crawler

from contentspider.crawl.base.items import ContentItem
from contentspider.crawl.base.meta import ORPHAN_META_KEY, PAGE_META_KEY, START_META_KEY
from contentspider.crawl.base.outcomes import RENDERED
from contentspider.crawl.middlewares.conditional import CONDITIONAL_ORDER, ConditionalMiddleware
from contentspider.crawl.middlewares.guard import GUARD_ORDER, GuardMiddleware, RefusedError
from contentspider.crawl.revisits.replaced import UNSURE
from contentspider.crawl.spider import spider as spiders
from contentspider.crawl.spider.spider import SiteSpider
from contentspider.ground.errors import ContentSpiderError
from contentspider.page.input.documents import can_read
from contentspider.page.input.page import Page
from tests.crawl.test_site_spider import failure, page, parse, urls
from tests.crawls import Crawl

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def crawl(tmp_path: Path) -> Crawl:
    return Crawl(tmp_path)


def test_site_spider_without_arguments_crawls_whole_site() -> None:
    spider = SiteSpider("https://e.org/")
    assert spider.start_urls == ["https://e.org/"]
    assert (spider.max_pages, spider.max_depth, spider.sitemaps) == (0, 0, True)
    assert spider.scope_arguments == ("domain", [], [])
    assert spider.reads_documents is can_read()
    assert (spider.is_limited, spider.failures) == (False, {})


def test_spider_arguments_are_parsed_from_strings() -> None:
    spider = SiteSpider("a.org  b.org/x,y, https://c.org", "3", "2", "FALSE", "host", "/a /b", "/c")
    assert [url.partition("//")[2].rstrip("/") for url in spider.start_urls] == [
        *("a.org", "b.org/x,y", "c.org")
    ]
    assert (spider.max_pages, spider.max_depth, spider.sitemaps) == (3, 2, False)
    scope, include, exclude = spider.scope_arguments
    assert (scope, list(include), list(exclude)) == ("host", ["/a", "/b"], ["/c"])
    for value, reads in (("0", False), ("no", False), ("True", True), ("1", True)):
        assert SiteSpider("e.org", sitemaps=value).sitemaps is reads


def test_invalid_start_urls_raise_errors() -> None:
    with pytest.raises(ValueError, match=r"scrapy crawl site -a url="):
        SiteSpider(" ")
    with pytest.raises(ContentSpiderError) as raised:
        SiteSpider("e.org ftp://e.org/")
    assert str(raised.value).startswith("'ftp://e.org/' ")


def test_site_spider_installs_guard_before_every_request() -> None:
    settings = Settings({"DOWNLOAD_HANDLERS": {"https": "my.Handler"}})
    SiteSpider.update_settings(settings)
    middlewares = settings["DOWNLOADER_MIDDLEWARES"]
    assert middlewares[GuardMiddleware] == GUARD_ORDER
    assert middlewares[ConditionalMiddleware] == CONDITIONAL_ORDER
    handlers = settings.getdict("DOWNLOAD_HANDLERS")
    assert handlers == {"https": "my.Handler", "file": None, "ftp": None, "s3": None}
    for name in ("DOWNLOADER_MIDDLEWARES", "DOWNLOAD_HANDLERS"):
        assert settings.getpriority(name) == SETTINGS_PRIORITIES["spider"]


@pytest.mark.parametrize("by", ["domain", "host"])
def test_sites_and_scope_follow_settings_and_arguments(by: str) -> None:
    crawler = get_crawler(
        SiteSpider,
        {"CONTENTSPIDER_SITE_BY": by, "CONTENTSPIDER_OBEY_META_ROBOTS": by == "domain"},
    )
    spider = SiteSpider.from_crawler(crawler, url="https://a.e.org/", exclude="/no*")
    assert spider.keys.key("https://a.e.org/") == ("e.org" if by == "domain" else "a.e.org")
    assert spider.scope.has("https://b.e.org/") == (by == "domain")
    assert not spider.scope.has("https://a.e.org/no/1")
    assert spider.obeys_pages == (by == "domain")
    plain = SiteSpider.from_crawler(get_crawler(SiteSpider), url="https://a.e.org/")
    assert plain.obeys_pages
    assert plain.keys.key("https://a.e.org/") == "e.org"


def test_site_spider_ends_without_guard(crawl: Crawl, caplog: pytest.LogCaptureFixture) -> None:
    crawl.crawler.get_downloader_middleware = {}.get
    crawl.spider.opened()
    (message,) = caplog.messages
    assert "GuardMiddleware" in message

    async def started() -> None:
        await crawl.crawler.signals.send_catch_log_async(signals.engine_started)

    asyncio.run(started())
    assert crawl.closed == ["guard"]


def test_documents_are_output_unless_noindex_header_forbids(crawl: Crawl) -> None:
    for path, header, comes_out in (("/a", "", True), ("/b", "noindex", False)):
        url = f"https://e.org{path}"
        document = Page.from_html(page(len(path) + comes_out), url)
        request = Request(url, meta={PAGE_META_KEY: document})
        row = crawl.send(request)
        answer = Response(url, headers={"X-Robots-Tag": header}, request=request)
        found = list(crawl.spider.parse(answer))
        assert [type(one) for one in found] == [ContentItem] * comes_out
        crawl.finish()
        if not comes_out:
            assert crawl.state(row)[:2] == ("skipped", "noindex")
            assert crawl.stat("pages/skipped/noindex") == 1


def test_max_depth_counts_from_start_page(tmp_path: Path) -> None:
    for depth, found in ((1, ["/2"]), (2, ["/2"])):
        crawl = Crawl(tmp_path / str(depth), max_depth=depth)
        assert parse(crawl, "/1", page(1, "<a href=/2>2</a>"))[2] == found
    assert parse(crawl, "/3", page(3, "<a href=/4>4</a>"), {"depth": 2})[2] == []


def test_soft_404_page_is_skipped_and_uncertain_page_is_probed(
    crawl: Crawl, monkeypatch: pytest.MonkeyPatch
) -> None:
    reason = "soft_404"
    asked: list[Any] = []

    def replacement_of(*given: Any) -> str:
        asked.append(given)
        return reason

    monkeypatch.setattr(spiders, "replacement_of", replacement_of)
    row, item, _ = parse(crawl, "/1", page(1))
    assert item is None
    assert crawl.state(row)[:2] == ("skipped", "soft_404")
    keeper, holder, response, tagged = asked[0]
    assert (keeper, holder) == (crawl.keeper, crawl.spider.holder)
    assert (response.url, tagged.url) == ("https://e.org/1", "https://e.org/1")
    reason = UNSURE
    row, item, (probe,) = parse(crawl, "/a/2", page(2))
    assert item is None
    assert probe.startswith("/a/")
    assert crawl.state(row)[:2] == ("retry", UNSURE)
    assert crawl.state(row)[3], "it is asked again"
    monkeypatch.setattr(crawl.keeper.addresses, "is_at_end", True)
    assert parse(crawl, "/a/3", page(3))[1] is not None


def test_canonical_url_is_requested_first(crawl: Crawl, monkeypatch: pytest.MonkeyPatch) -> None:
    html = "<link rel=canonical href=/1>" + page(1)
    row, item, found = parse(crawl, "/1?utm_source=a", html)
    assert item is None
    assert found == ["/1"]
    assert crawl.state(row)[:2] == ("retry", "its canonical form is read first")
    monkeypatch.setattr(crawl.spider, "max_pages", 9)
    monkeypatch.setattr(crawl.spider.scope, "has", lambda url: not url.endswith("/1"))
    assert parse(crawl, "/1?utm_source=b", html)[1] is not None, "the form is out of scope"


def test_link_limit_is_reported(crawl: Crawl, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[object] = []
    monkeypatch.setattr(crawl.spider.traps, "report", lambda *given: said.append(given))
    links = "<a href=/2>2</a><a href=/3>3</a>"
    monkeypatch.setattr(spiders, "MAX_LINKS", 3)
    parse(crawl, "/1", page(1, links))
    assert said == []
    monkeypatch.setattr(spiders, "MAX_LINKS", 2)
    parse(crawl, "/4", page(4, links))
    assert said == [("cut", "https://e.org/4", 2)]


@pytest.mark.parametrize("reads", [False, True])
def test_pdf_links_are_followed_only_if_readable(reads: bool, crawl: Crawl) -> None:
    crawl.spider.reads_documents = reads
    assert parse(crawl, "/1", page(1, "<a href=/x.pdf>x</a>"))[2] == ["/x.pdf"] * reads


def test_feed_named_by_several_pages_is_requested(crawl: Crawl) -> None:
    head = (
        "<link rel=alternate type=application/rss+xml href=/feed>"
        "<link rel=alternate type=application/rss+xml href=https://other.org/feed>"
    )
    found = [parse(crawl, f"/{number}", page(number, "", head))[2] for number in range(4)]
    assert found == [[], [], ["/feed"], []]


def test_known_page_without_links_is_marked_as_orphan(crawl: Crawl) -> None:
    known = crawl.spider.orphan_request("https://e.org/1")
    assert known is not None
    assert known.meta == {ORPHAN_META_KEY: True}
    assert (known.callback, known.errback) == (crawl.spider.parse, crawl.spider.page_failed)
    (other,) = crawl.spider.page_requests("https://e.org/1", 7)
    assert (other.meta, other.priority, other.dont_filter) == ({}, 7, False)
    crawl.keeper.revisits = SimpleNamespace(is_deferred=lambda url: True)  # type: ignore[assignment]
    assert urls(crawl.spider.page_requests("https://e.org/1", 7)) == []


def test_unread_pages_are_logged(crawl: Crawl, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "contentspider")
    no = RefusedError("other", "no")
    crawl.spider.page_failed(failure("https://e.org/", no, meta={START_META_KEY: True}))
    crawl.spider.page_failed(failure("https://e.org/1", no))
    meta = {"redirect_urls": ["https://e.org/3"]}
    crawl.spider.request_dropped(Request("https://e.org/3", crawl.spider.parse, meta=meta))
    assert [(record.levelno, record.args[0]) for record in caplog.records] == [
        (logging.ERROR, "https://e.org/"),
        (logging.INFO, "https://e.org/1"),
        (logging.INFO, "https://e.org/3"),
    ]
    assert crawl.stat("pages/unread/redirects") == 1
    crawl.spider.request_dropped(Request("https://e.org/4", crawl.spider.parse, meta=meta))
    assert crawl.stat("pages/unread/redirects") == 1


def test_frameset_is_skipped_and_its_frames_are_followed(crawl: Crawl) -> None:
    frames = "<title>Tea</title><frameset><frame src=/menu><frame src=/text></frameset>"
    _, item, found = parse(crawl, "/", frames)
    assert (item, found) == (None, ["/menu", "/text"])
    assert crawl.stat("pages/skipped/frames") == 1


LINKS = "<a href='#/tea'>1</a><a href='/#/ferry'>2</a><a href='#/tea'>3</a><a href='#top'>4</a>"


@pytest.mark.parametrize("render", ["never", "learn", "auto"])
def test_routes_in_links_of_pages_that_are_not_rendered_are_counted(
    tmp_path: Path, render: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    crawl = Crawl(tmp_path, settings={"CONTENTSPIDER_RENDER": render})
    links = LINKS + "<a href='https://other.example/#/tea'>5</a><a href=/2>6</a>"
    assert parse(crawl, "/1", page(1, links))[2] == ["/", "/2"]
    assert crawl.stat("links/routes_left_out") == 2
    (told,) = (one.getMessage() for one in caplog.records if "https://e.org/1#/tea" in one.message)
    assert "--render" in told


def test_routes_in_links_of_rendered_pages_are_followed_once(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path, settings={"CONTENTSPIDER_RENDER": "auto"})
    assert parse(crawl, "/", page(1, LINKS), flags=[RENDERED])[2] == ["/#/tea", "/#/ferry"]
    assert crawl.stat("links/routes_left_out") is None
    _, item, found = parse(crawl, "/#/tea", page(2, LINKS), flags=[RENDERED])
    assert item is not None and item.url == "https://e.org/#/tea"
    assert found == [], "queued already"
    home = parse(crawl, "/app#/tea", page(3, "<a href='#/'>Home</a>"), flags=[RENDERED])[2]
    assert home == ["/app"], "the front page of the application"
    assert parse(crawl, "/#/ferry", page(2, LINKS), flags=[RENDERED])[1] is None, "same text"


def test_routes_wait_for_a_crawl_with_a_browser(tmp_path: Path) -> None:
    for render, reason in (("never", "not_rendered"), ("learn", "not_rendered"), ("auto", "")):
        crawl = Crawl(tmp_path, "https://e.org/#/tea", settings={"CONTENTSPIDER_RENDER": render})
        assert crawl.spider.start_urls == ["https://e.org/" if reason else "https://e.org/#/tea"]
        assert (crawl.stat("links/routes_left_out") or 0) == bool(reason)
        request = crawl.spider._page_request("https://e.org/#/ferry", 0)
        assert crawl.spider.skip_reason(request) == reason
