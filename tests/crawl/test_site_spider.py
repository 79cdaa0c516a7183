"""The site spider, its answers made by hand: what is followed, comes out, and is counted."""

from __future__ import annotations

import asyncio
import gzip
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from scrapy import Request
from scrapy.exceptions import CloseSpider, DownloadTimeoutError
from scrapy.http import HtmlResponse, Response, TextResponse, XmlResponse

from contentspider.crawl.base.items import ContentItem
from contentspider.crawl.base.meta import START_META_KEY
from contentspider.crawl.middlewares.guard import RefusedError
from contentspider.crawl.revisits.revisits import Revisits
from contentspider.crawl.spider import discovery
from contentspider.crawl.spider.sitemaps import read_sitemap
from contentspider.state.book.answers import read_links
from tests.crawls import Crawl
from tests.sites import prose

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


@pytest.fixture
def crawl(tmp_path: Path) -> Crawl:
    return Crawl(tmp_path)


def parse(
    crawl: Crawl, path: str, html: str, meta: dict[str, Any] | None = None, **fields: Any
) -> Any:
    """Return the row of a page, its item, and the addresses of the requests that it leads to."""
    request = Request(f"https://e.org{path}", callback=crawl.spider.parse, meta=meta or {})
    row = crawl.send(request)
    crawl.keeper.addresses.received(Response(request.url), request)
    found = list(crawl.spider.parse(crawl.answer(request, html, **fields)))
    crawl.finish()
    items = [one for one in found if isinstance(one, ContentItem)]
    assert len(items) <= 1
    return row, items[0] if items else None, urls(one for one in found if one not in items)


def urls(requests: Iterable[Request]) -> list[str]:
    return [request.url.removeprefix("https://e.org") for request in requests]


def page(number: int, links: str = "", head: str = "") -> str:
    return f"<head><title>{number}</title>{head}</head><p>{prose(number)}</p>{links}"


def test_page_is_output_and_its_links_are_followed_once(crawl: Crawl) -> None:
    links = "<a href=/2#x>2</a><a href=/2>2</a><a href=https://other.org/>o</a><a href=/x.png>i</a>"
    row, item, found = parse(crawl, "/1", page(1, links))
    assert item is not None and item.url == "https://e.org/1"
    assert found == ["/2"]
    assert crawl.state(row)[:2] == ("fetched", None)
    assert parse(crawl, "/3", page(3, links))[2] == [], "queued already"
    row, item, _ = parse(crawl, "/4", page(1, links))
    assert item is None
    assert crawl.state(row) == ("skipped", "duplicate", "https://e.org/1", 0)
    assert crawl.stat("pages/skipped/duplicate") == 1


def test_recently_queued_urls_are_remembered_up_to_limit(crawl: Crawl) -> None:
    crawl.spider._recent.limit = 2
    links = "".join(f"<a href=/to/{name}>x</a>" for name in "abc")
    assert len(parse(crawl, "/1", page(1, links))[2]) == 3
    assert list(crawl.spider._recent) == ["https://e.org/to/b", "https://e.org/to/c"]


@pytest.mark.parametrize(
    ("head", "header", "comes_out", "follows"),
    [
        ("<meta name=robots content='NOINDEX'>", "", False, True),
        ("<meta name=contentspider content='nofollow'>", "", True, False),
        ("<meta name=robots content=none>", "", False, False),
        ("", "noindex, nofollow", False, False),
        ("", "otherbot: noindex", True, True),
    ],
)
def test_robots_metas_and_headers_control_items_and_links(
    crawl: Crawl, tmp_path: Path, head: str, header: str, comes_out: bool, follows: bool
) -> None:
    html = page(1, "<a href=/2>2</a>", head)
    _, item, found = parse(crawl, "/1", html, headers={"X-Robots-Tag": header})
    assert (item is not None, found == ["/2"]) == (comes_out, follows)
    disobeys = Crawl(tmp_path, settings={"CONTENTSPIDER_OBEY_META_ROBOTS": False})
    _, item, found = parse(disobeys, "/1", html, headers={"X-Robots-Tag": header})
    assert item is not None and found == ["/2"]


def test_crawl_stops_at_max_depth(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path, max_depth=2)
    html = page(1, "<a href=/2>2</a>")
    assert parse(crawl, "/1", html, {"depth": 2})[2] == []
    assert parse(crawl, "/3", html, {"depth": 1})[2] == ["/2"]


@pytest.mark.parametrize("options", [{"max_depth": 1}, {"exclude": "*/2"}, {"scope": "path"}])
def test_links_that_options_leave_out_are_in_history_for_crawls_without_the_options(
    options: dict[str, Any], tmp_path: Path
) -> None:
    crawl = Crawl(tmp_path, url="https://e.org/docs/", **options)
    keeper = crawl.keeper
    keeper.revisits = Revisits(keeper.book, keeper.options, keeper.failures)
    html = page(1, "<a href=/2>2</a><a href=https://other.org/>o</a>")
    row, _, found = parse(crawl, "/docs/1", html, {"depth": 1})
    assert found == []
    number = keeper.book.answers.of(row).links
    assert number is not None
    links = read_links(keeper.book.contents.get(number).decode().split("\n"))
    assert links == {"https://e.org/2": ("2",) if "max_depth" in options else ()}


def test_crawl_ends_at_max_pages(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path, max_pages="2")
    scheduler = crawl.scheduler()
    for number in (1, 2, 3):
        scheduler.enqueue_request(Request(f"https://e.org/{number}", crawl.spider.parse))
    asked = [scheduler.next_request(), scheduler.next_request()]
    assert scheduler.next_request() is None
    assert crawl.spider.is_limited and not scheduler.has_pending_requests()
    assert crawl.frontier.states()["queued"] == 1, "for a run that goes on"
    assert all(asked)
    parse(crawl, "/1", page(1))
    with pytest.raises(CloseSpider) as raised:
        parse(crawl, "/2", page(1))  # a copy counts, too
    assert raised.value.reason == "max_pages"


def test_non_html_and_offsite_responses_are_skipped(crawl: Crawl) -> None:
    for body, reason in ((b"%PDF-1.4", "pdf"), (b"\0\1", "not_html")):
        request = Request(f"https://e.org/{reason}")
        row = crawl.send(request)
        assert not list(crawl.spider.parse(Response(request.url, body=body, request=request)))
        crawl.finish()
        assert crawl.state(row)[:2] == ("skipped", reason)
    request = Request("https://other.org/")
    crawl.send(request)
    assert not list(crawl.spider.parse(crawl.answer(request)))
    assert crawl.stat("pages/skipped/offsite_redirect") == 1
    assert parse(crawl, "/short", "<p>Tea")[1] is not None
    assert parse(crawl, "/empty", "")[1] is None


def test_redirected_start_extends_scope_and_survives_resume(crawl: Crawl) -> None:
    for _ in range(2):
        request = Request(
            "https://moved.org/", meta={START_META_KEY: True, "redirect_urls": ["https://e.org/"]}
        )
        crawl.send(request)
        found = list(crawl.spider.parse(crawl.answer(request, page(1, "<a href=/2>2</a>"))))
    assert found == [], "it has come out, and its link is queued"
    assert crawl.spider.scope.has("https://moved.org/x")
    moved = crawl.keeper.book.runs.fact("moved")
    assert moved == [["https://moved.org/", "https://e.org/"]]
    crawl.spider.scope._sites.clear()
    crawl.spider.opened()
    assert crawl.spider.scope.has("https://moved.org/x"), "a resumed crawl knows"


def test_session_id_is_removed_from_redirected_url(crawl: Crawl) -> None:
    path = f"/1?PHPSESSID={'0f' * 13}"
    meta = {"redirect_urls": ["https://e.org/1"]}
    assert parse(crawl, path, page(1), meta)[1].url == "https://e.org/1"
    assert parse(crawl, path + "&a=1", page(2))[1].url.endswith("&a=1")


def test_start_url_may_be_feed(crawl: Crawl) -> None:
    feed = "<rss><channel><item><link>https://e.org/1</link></item></channel></rss>"
    request = Request("https://e.org/feed", meta={START_META_KEY: True})
    row = crawl.send(request)
    answer = XmlResponse(request.url, body=feed.encode(), request=request)
    assert urls(crawl.spider.parse(answer)) == ["/1"]
    crawl.finish()
    assert crawl.state(row)[:2] == ("skipped", "feed")


def test_start_requests_include_robots_txt_and_sitemap_once_per_site(tmp_path: Path) -> None:
    async def started(**arguments: Any) -> list[Request]:
        crawl = Crawl(tmp_path, "https://e.org/a, https://e.org/b", **arguments)
        return [request async for request in crawl.spider.start()]

    found = asyncio.run(started())
    assert urls(found) == ["/a", "/robots.txt", "/sitemap.xml", "/b"]
    assert [request.priority for request in found] == [10, 0, 5, 10]
    assert [request.dont_filter for request in found] == [True, False, False, True]
    assert found[0].meta == {START_META_KEY: True}
    for no in (False, "0", "no", "False"):
        assert urls(asyncio.run(started(sitemaps=no))) == ["/a", "/b"]


def failure(url: str, error: Exception, **fields: Any) -> Any:
    return SimpleNamespace(request=Request(url, **fields), value=error)


def test_unread_pages_are_counted_by_reason(crawl: Crawl) -> None:
    spider = crawl.spider
    start = {START_META_KEY: True, "contentspider_row": 1}
    spider.page_failed(failure("https://e.org/", RefusedError("scheme", "no"), meta=start))
    assert spider.failures == {"https://e.org/": "no"}
    assert crawl.stat("pages/unread/scheme") == 1
    spider.page_failed(failure("https://e.org/1", RefusedError("scheme", "no")))
    assert crawl.stat("pages/skipped/scheme") == 1 == crawl.stat("pages/failed")
    spider.page_failed(failure("https://e.org/2", DownloadTimeoutError("slow")))
    assert crawl.stat("pages/unread/timeout") == 1
    meta = {"redirect_urls": ["https://e.org/3"]}
    spider.request_dropped(Request("https://e.org/3", spider.parse, meta=meta))
    spider.request_dropped(Request("https://e.org/4", spider.parse, meta=meta))
    spider.request_dropped(Request("https://e.org/3", spider.source_failed, meta=meta))
    assert crawl.stat("pages/unread/redirects") == 1
    crawl.answer(request := Request("https://e.org/", meta=start))
    list(spider.parse(HtmlResponse(request.url, body=b"<p>x", request=request)))
    assert crawl.stat("pages/unread/scheme") == 0, "read after all"


def test_requests_redirected_out_of_scope_are_detected(crawl: Crawl) -> None:
    spider = crawl.spider
    strays = [
        (Request("https://other.org/", spider.parse), True),
        (Request("https://e.org/", spider.parse), False),
        (Request("https://other.org/", spider.parse, meta={START_META_KEY: True}), False),
        (Request("https://other.org/", spider.parse_own_texts), True),
        (Request("https://e.org/", spider.parse_own_texts), False),
        (Request("https://other.org/", spider.parse_feed), False),
    ]
    assert [spider.is_out_of_scope(request) for request, _ in strays] == [
        is_so for _, is_so in strays
    ]
    known = spider.orphan_request("https://e.org/1")
    assert known is not None and known.priority == -1
    assert spider.orphan_request("https://other.org/") is None


def sitemap(body: str | bytes) -> TextResponse:
    data = body.encode() if isinstance(body, str) else body
    return TextResponse("https://e.org/map.xml", body=data)


def entries(body: str | bytes) -> tuple[list[tuple[str, str]], bool]:
    addresses, is_index = read_sitemap(sitemap(body))
    return list(addresses), is_index


def requests_of(spider: Any, body: str, level: int) -> list[Request]:
    return [one for part in spider.sitemap_requests(sitemap(body), level) for one in part]


def test_lists_may_end_lines_with_cr_and_feeds_may_have_prefixes() -> None:
    lines = "https://e.org/1\rhttps://e.org/2\r"
    assert [place for place, _ in entries(lines)[0]] == ["https://e.org/1", "https://e.org/2"]
    feed = (
        "<a:feed xmlns:a='http://www.w3.org/2005/Atom'><a:entry><a:link href='https://e.org/1'/>"
        "</a:entry></a:feed>"
    )
    assert [place for place, _ in entries(feed)[0]] == ["https://e.org/1"]


def test_sitemaps_and_sitemap_indexes_are_parsed() -> None:
    urlset = (
        "<urlset><url><loc>/1</loc><lastmod>2024</lastmod></url>"
        "<url><loc>mailto:x</loc></url></urlset>"
    )
    found = ([("https://e.org/1", "2024")], False)
    assert entries(urlset) == found
    assert entries(gzip.compress(urlset.encode())) == found
    index = "<sitemapindex><sitemap><loc>https://e.org/2.xml</loc></sitemap></sitemapindex>"
    assert entries(index) == ([("https://e.org/2.xml", "")], True)
    for other in ("", "<html/>", b"\x1f\x8b\x08broken", "nothing"):
        assert entries(other) == ([], False)


def test_sitemaps_lead_to_pages_and_further_sitemaps(
    crawl: Crawl, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    spider = crawl.spider
    index = "<sitemapindex><sitemap><loc>/a.xml</loc></sitemap><sitemap><loc>https://o.org/</loc></sitemap></sitemapindex>"
    (found,) = requests_of(spider, index, level=2)
    assert (found.url, found.cb_kwargs, found.priority) == ("https://e.org/a.xml", {"level": 3}, 5)
    assert not requests_of(spider, index, level=3)
    monkeypatch.setattr(discovery, "MAX_SITEMAPS", 3)
    robots = TextResponse("https://e.org/robots.txt", body=b"Sitemap: /b\nSitemap: /c\nSitemap: /d")
    assert urls(spider.parse_robots(robots)) == ["/b", "/c"]
    list(spider.parse_robots(robots))
    assert caplog.text.count("more than 3 sitemaps: https://e.org/d") == 1
    assert caplog.text.count("more than 3 sitemaps") == 1
    urlset = "<urlset><url><loc>/1</loc><lastmod>2024</lastmod></url><url><loc>/2</loc></url><url><loc>https://o.org/</loc></url></urlset>"
    notes: list[tuple[str, str]] = []
    crawl.keeper.revisits = SimpleNamespace(
        lastmods=SimpleNamespace(note=lambda *note: notes.append(note)),
        is_deferred=lambda url: url.endswith("/2"),
    )
    (request,) = requests_of(spider, urlset, level=1)
    assert (request.url, request.priority) == ("https://e.org/1", 1), "the other has its time"
    crawl.keeper.is_broken = True
    requests_of(spider, urlset, level=1)
    assert notes == [("https://e.org/1", "2024")]


def test_error_page_is_learned_from_nonexistent_url(crawl: Crawl) -> None:
    spider, learned = crawl.spider, []
    assert not list(spider.probe_requests(["https://e.org/a"])), "there is no history"
    crawl.keeper.revisits = SimpleNamespace(
        is_first=True, replaced=SimpleNamespace(learn_error_page=learned.append)
    )
    assert not list(spider.probe_requests(["https://e.org/a"]))
    crawl.keeper.revisits.is_first = False
    (probe,) = spider.probe_requests(["https://e.org/a", "https://e.org/b/c"])
    assert len(probe.url) == len("https://e.org/") + 32
    assert (probe.priority, probe.meta["handle_httpstatus_list"]) == (20, [404, 410])
    assert not list(spider.probe_folder("https://e.org/x"))
    (probe,) = spider.probe_folder("https://e.org/x/y")
    assert probe.url.startswith("https://e.org/x/")
    spider.parse_probe(HtmlResponse(probe.url, body=b"<p>None", status=404, request=probe))
    spider.parse_probe(crawl.answer(probe, "<p>Nothing"))
    untagged = probe.replace(meta={})
    spider.parse_probe(HtmlResponse(probe.url, request=untagged))
    spider.parse_probe(Response(probe.url, request=untagged))
    assert [one.content.blocks[0].text for one in learned] == ["None", "Nothing"]


HEAD = (
    "<link rel=alternate type=application/rss+xml href=/feed>"
    "<link rel='https://api.w.org/' href=/api/>"
)


def test_feeds_and_own_texts_of_start_page_are_requested(crawl: Crawl, tmp_path: Path) -> None:
    _, _, found = parse(crawl, "/", page(1, "<a href=/2>2</a>", HEAD), {START_META_KEY: True})
    assert found[0] == "/feed" and found[-1] == "/2"
    assert any(url.startswith("/api/") for url in found)
    assert parse(crawl, "/3", page(3, "", HEAD))[2] == [], "each once"
    assert crawl.spider.feed_request("https://e.org/feed").priority == 5
    other = Crawl(tmp_path, sitemaps=False)
    _, _, found = parse(other, "/", page(1, "", HEAD), {START_META_KEY: True})
    assert any(url.startswith("/api/") for url in found)
