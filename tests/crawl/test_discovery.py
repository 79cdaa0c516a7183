"""How a crawl discovers pages: sitemaps, feeds and own texts, and what it says of broken ones."""

from __future__ import annotations

import asyncio
import gzip
import logging
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from scrapy import Request
from scrapy.http import HtmlResponse, TextResponse

from contentspider.crawl.base.meta import SITEMAPS_META_KEY
from contentspider.crawl.middlewares.guard import RefusedError
from contentspider.crawl.spider import discovery, sitemaps
from contentspider.crawl.spider.discovery import Feeds
from contentspider.crawl.spider.sitemaps import is_feed, read_sitemap
from tests.conftest import Site, read_jsonl, run
from tests.crawls import Crawl
from tests.sites import article

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def crawl(tmp_path: Path) -> Crawl:
    return Crawl(tmp_path)


def names(number: int) -> list[str]:
    return [f"https://e.org/{place}/feed" for place in range(number)]


def test_feed_named_by_start_page_or_several_pages_is_read_once() -> None:
    feeds = Feeds()
    assert list(feeds.choose(["https://e.org/a", "https://e.org/a"], True)) == ["https://e.org/a"]
    assert list(feeds.choose(["https://e.org/a"], True)) == []
    found = [list(feeds.choose(["https://e.org/b"], False)) for _ in range(4)]
    assert found == [[], [], ["https://e.org/b"], []]


def test_feeds_per_host_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discovery, "MAX_FEEDS", 2)
    feeds = Feeds()
    assert list(feeds.choose(names(3), True)) == names(2)
    assert list(feeds.choose(["https://o.org/feed"], True)) == ["https://o.org/feed"]


def test_feeds_named_long_ago_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discovery, "MAX_NAMED", 2)
    feeds = Feeds()
    for _ in range(2):
        assert list(feeds.choose(names(2), False)) == []
    assert list(feeds.choose(["https://e.org/new"], False)) == []
    oldest, second = names(2)
    assert list(feeds.choose([second], False)) == [second]
    assert list(feeds.choose([oldest], False)) == []


def test_crawl_requests_robots_txt_and_default_sitemap(crawl: Crawl) -> None:
    robots, sitemap = crawl.spider.robots_requests("https://e.org/")
    assert robots.url == "https://e.org/robots.txt"
    assert robots.callback == crawl.spider.parse_robots
    assert robots.meta == {SITEMAPS_META_KEY: True, "dont_obey_robotstxt": True}
    assert sitemap.url == "https://e.org/sitemap.xml"
    assert sitemap.callback == crawl.spider.parse_sitemap
    assert sitemap.meta == {"download_maxsize": sitemaps.MAX_SITEMAP_BYTES}
    assert (sitemap.cb_kwargs, sitemap.priority) == ({"level": 1}, 5)
    assert robots.errback == sitemap.errback == crawl.spider.source_failed


FEED = (
    "<rss><channel><item><link>https://e.org/1</link></item>"
    "<item><link>https://other.org/</link></item></channel></rss>"
)


def answer(url: str, body: str) -> TextResponse:
    return TextResponse(url, body=body.encode(), request=Request(url))


async def collected(found: Any) -> list[Request]:
    return [one async for one in found]


def test_feed_pages_are_requested_and_feed_is_stored(
    crawl: Crawl, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    request = crawl.spider.feed_request("https://e.org/feed")
    assert (request.callback, request.meta, request.priority) == (crawl.spider.parse_feed, {}, 5)
    taken: list[object] = []

    async def take(response: object) -> list[str]:
        taken.append(response)
        return ["https://e.org/own"]

    monkeypatch.setattr(crawl.spider.own_texts, "store_answer", take)
    response = answer("https://e.org/feed", FEED)
    (page,) = asyncio.run(collected(crawl.spider.parse_feed(response)))
    assert (page.url, page.priority, page.callback) == ("https://e.org/1", 1, crawl.spider.parse)
    assert taken == [response]
    with caplog.at_level(logging.DEBUG, "contentspider"):
        assert not list(crawl.spider.feed_pages(answer("https://e.org/feed", "<rss/>")))
    (message,) = caplog.messages
    assert message.startswith("https://e.org/feed: ")
    (own,) = asyncio.run(collected(crawl.spider.parse_own_texts(response)))
    assert (own.url, own.priority) == ("https://e.org/own", 1)
    crawl.spider.sitemaps = False
    assert not asyncio.run(collected(crawl.spider.parse_own_texts(response)))


def test_own_text_sources_are_requested_with_known_feeds(
    crawl: Crawl, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []

    def addresses(*given: object) -> list[str]:
        asked.append(given)
        return ["https://e.org/api"]

    monkeypatch.setattr(crawl.spider.own_texts, "addresses", addresses)
    monkeypatch.setattr(
        crawl.spider.own_texts, "headers", lambda address: {"If-None-Match": address}
    )
    head: Any = SimpleNamespace(feeds=("https://e.org/feed",))
    feed_request, request = crawl.spider.source_requests("https://e.org/", head, True)
    assert feed_request.url == "https://e.org/feed"
    assert request.headers["If-None-Match"] == b"https://e.org/api"
    assert request.callback == crawl.spider.parse_own_texts
    assert request.priority == 5
    assert request.meta == {
        "download_maxsize": discovery.MAX_OWN_BYTES,
        "dont_retry": True,
        "handle_httpstatus_list": [304],
    }
    crawl.spider.sitemaps = False
    list(crawl.spider.source_requests("https://e.org/", head, False))
    assert asked == [
        ("https://e.org/", head, True, ("https://e.org/feed",)),
        ("https://e.org/", head, False, ()),
    ]


def test_missing_optional_sources_are_ignored_and_logged(
    crawl: Crawl, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "contentspider")
    own = crawl.spider.own_texts
    known: list[str] = []
    back: list[str] = []
    monkeypatch.setattr(own, "store_previous", known.append)
    monkeypatch.setattr(own, "refund", back.append)
    meta = {"redirect_urls": ["https://e.org/api"]}
    for error in (RefusedError("scheme", "no"), RefusedError("robots", "it is forbidden")):
        request = Request("https://e.org/b", crawl.spider.parse_own_texts, meta=dict(meta))
        row = crawl.send(request)
        failure: Any = SimpleNamespace(request=request, value=error)
        crawl.spider.source_failed(failure)
        crawl.finish()
        assert crawl.state(row)[:2] == ("skipped", "no own texts")
    failure = SimpleNamespace(request=Request("https://e.org/c"), value=error)
    crawl.spider.source_failed(failure)
    assert known == ["https://e.org/api", "https://e.org/api", "https://e.org/c"]
    assert len(back) == (discovery.why(error)[0] == "robots")
    assert caplog.messages[0].startswith("https://e.org/b ")
    assert caplog.messages[0].endswith(": no")
    assert caplog.messages[2].startswith("https://e.org/c ")
    assert caplog.messages[2].endswith(discovery.why(error)[1])


def test_untagged_probe_response_is_learned_as_error_page(
    crawl: Crawl,
) -> None:
    learned: list[Any] = []
    crawl.keeper.revisits = SimpleNamespace(
        replaced=SimpleNamespace(learn_error_page=learned.append)
    )  # type: ignore[assignment]
    crawl.spider.parse_probe(
        HtmlResponse("https://e.org/x", body=b"<p>None", request=Request("https://e.org/x"))
    )
    assert learned[0].url == "https://e.org/x"


def test_oversized_sitemap_is_logged_and_ignored(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sitemaps, "MAX_SITEMAP_TAGS", 6)
    body = "<urlset><url><loc>/1</loc></url></urlset>"
    addresses, _ = read_sitemap(answer("https://e.org/map.xml", body))
    assert list(addresses) == [("https://e.org/1", "")]
    addresses, _ = read_sitemap(answer("https://e.org/map.xml", f"{body}<!-- -->"))
    assert not list(addresses)
    (message,) = caplog.messages
    assert message.startswith("https://e.org/map.xml: ")
    assert "more than 6 tags" in message


def test_sitemap_limit_is_logged_once(
    crawl: Crawl, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(discovery, "MAX_SITEMAPS", 1)
    for name in "abc":
        list(crawl.spider._sitemap_requests(f"https://e.org/{name}", 1))
    (message,) = caplog.messages
    assert "more than 1 sitemaps" in message
    assert "https://e.org/b" in message


def test_feed_is_recognized_by_its_first_characters() -> None:
    for start in ("<rss>", "<rss version=2>", "<feed\n", "<rdf:RDF "):
        assert is_feed(answer("https://e.org/", " " * 1_900 + start))
        assert not is_feed(answer("https://e.org/", " " * 2_000 + start))
    assert not is_feed(answer("https://e.org/", "<rssx>"))


def read(body: str | bytes, content_type: str = "") -> list[str]:
    """Return the addresses of a sitemap."""
    data = body.encode() if isinstance(body, str) else body
    headers = {"Content-Type": content_type} if content_type else {}
    addresses, is_index = read_sitemap(
        TextResponse("https://e.org/map", body=data, headers=headers, encoding="utf-8")
    )
    assert not is_index
    return [address for address, _ in addresses]


ATOM = (
    "<feed xmlns='http://www.w3.org/2005/Atom'><title>Boats</title><entry>"
    "<link href='/boat?id=1&lang=en'/></entry></feed>"
)
RSS = (
    "<?xml version='1.0'?><rss version='2.0'><channel><title>Caf&eacute; & more</title><item>"
    "<title>R & B</title><link>https://e.org/boat?id=1&lang=en</link></item></channel></rss>"
)
JSON_FEED = (
    '{"version": "https://jsonfeed.org/version/1.1", "items": [{"url": "/boat?id=1&lang=en"}]}'
)
LINES = "\ufeffhttps://e.org/boat?id=1&lang=en\r\n\r\n  \nno address\nmailto:ada@e.org\n"
XML = "<urlset><url><loc>https://e.org/boat?id=1&lang=en</loc></url></urlset>"


@pytest.mark.parametrize("body", [ATOM, RSS, JSON_FEED, LINES, XML])
def test_sitemap_may_be_feed_or_plain_list_with_bare_ampersands(body: str) -> None:
    assert read(body) == ["https://e.org/boat?id=1&lang=en"]
    assert read(gzip.compress(body.encode())) == ["https://e.org/boat?id=1&lang=en"]


def test_sitemap_without_urls_is_logged(crawl: Crawl, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "contentspider")
    assert not list(crawl.spider.sitemap_requests(answer("https://e.org/map", "<p>Tea"), level=1))
    assert "https://e.org/map: " in caplog.text


def test_html_page_in_place_of_sitemap_yields_no_urls(caplog: pytest.LogCaptureFixture) -> None:
    for page in ("<!doctype html><p>https://e.org/1", '{"url": "https://e.org/1"}', b"\0\1\2" * 99):
        assert read(page) == []
    assert caplog.messages, "a page that is no XML at all is logged"
    assert not any("()" in message for message in caplog.messages), "with a reason"


def test_sitemap_list_is_read_up_to_line_limit(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sitemaps, "MAX_SITEMAP_LINES", 2)
    assert read("https://e.org/1\nhttps://e.org/2\nhttps://e.org/3") == [
        *("https://e.org/1", "https://e.org/2")
    ]
    assert "https://e.org/map: " in caplog.text
    assert "more than 2 lines" in caplog.text


def test_json_feed_is_recognized() -> None:
    assert is_feed(answer("https://e.org/feed", JSON_FEED))
    assert not is_feed(answer("https://e.org/data", '{"version": 1}'))


@pytest.mark.parametrize("alternates", [False, True])
def test_pages_that_no_anchor_names_are_found(site: Site, tmp_path: Path, alternates: bool) -> None:
    def head(links: str, number: int, body: str = "") -> str:
        return article(number, body).replace("<title>", f"{links}<title>")

    site.add("/", head("<link rel=next href=/2><link rel=alternate hreflang=de href=/de>", 0))
    site.add("/2", head("<link rel='nofollow next' href=/3>", 2), kind=f"{KIND}\r\nLink: {LINKS}")
    site.add("/3", article(3, "<svg><a xlink:href=/svg><text>S</text></a></svg>"))
    entry = "<url><loc>/1</loc><xhtml:link rel='alternate' hreflang='fr' href='/fr'/></url>"
    site.add("/sitemap.xml", f"<urlset {SPACES}>{entry}</urlset>", kind="text/xml")
    for number, path in enumerate(("/1", "/4", "/svg", "/de", "/fr", "/es"), 4):
        site.add(path, article(number))
    setting = ["-s", f"CONTENTSPIDER_ALTERNATES={alternates}"]
    run("crawl", site.url, "--own-site", *setting, cwd=tmp_path)
    items = {str(item["url"]): item for item in read_jsonl(tmp_path / "pages.jsonl")}
    found = {url.removeprefix(site.url) for url in items}
    others = {"/de", "/fr", "/es"} if alternates else set()
    assert found == {"", "/1", "/2", "/3", "/4", "/svg", *others}
    assert items[f"{site.url}/2"]["canonical"] == f"{site.url}/two"


KIND = "text/html; charset=utf-8"
LINKS = (
    '</4>; rel="next", </es>; rel=alternate; hreflang="es", </two>; title="a, b"; rel="canonical"'
)
SPACES = 'xmlns:xhtml="http://www.w3.org/1999/xhtml"'


def entries(body: str, alternates: bool = False) -> list[tuple[str, str]]:
    response = TextResponse("https://e.org/map.xml", body=body.encode(), encoding="utf-8")
    return list(read_sitemap(response, alternates)[0])


@pytest.mark.parametrize("space", ["", ' xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'])
def test_elements_of_other_namespaces_are_not_the_pages(space: str) -> None:
    """Sitemaps 0.9, "Extending the Sitemaps protocol": other elements have their own namespace."""
    body = (
        f"<urlset{space} xmlns:x='urn:x'><url><x:loc>/x</x:loc><loc>/a</loc><lastmod>2024</lastmod>"
        "<x:lastmod>1999</x:lastmod><x:news><loc>/b</loc></x:news><y:lastmod>1998</y:lastmod></url>"
        "<url><x:lastmod>1999</x:lastmod><loc> /c\n</loc></url></urlset>"
    )
    assert entries(body) == [("https://e.org/a", "2024"), ("https://e.org/c", "")]


def test_address_with_entity_is_left_out() -> None:
    body = (
        '<!DOCTYPE urlset [<!ENTITY host "https://e.org">]><urlset><url><loc>&host;/a</loc></url>'
        "<url><loc>/b&host;</loc></url><url><loc></loc></url><url/><url><loc>/c?a=1&amp;b=2</loc>"
        "</url></urlset>"
    )
    assert entries(body) == [("https://e.org/c?a=1&b=2", "")]
    for broken in ("", "<", "<urlset>", "x", "<html><url><loc>/a</loc></url></html>"):
        assert entries(broken) == []
