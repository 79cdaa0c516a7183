"""Own texts, whose answers are made by hand: where they are asked for, and what is kept of them."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from scrapy import Request
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response

from contentspider.crawl.spider.owntexts import MAX_ADDRESSES, PAGES_READ, OwnTexts
from contentspider.site.own.texts import OwnText
from tests.crawl.test_site_spider import urls
from tests.crawls import Crawl

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def crawl(tmp_path: Path) -> Crawl:
    return Crawl(tmp_path)


class Source:
    """A kind of own texts that pages announce by numbers."""

    name = "numbers"

    def __init__(self, broken: bool = False) -> None:
        self.broken = broken

    def addresses(self, announced: Any) -> list[str]:
        if self.broken:
            raise ValueError("broken")
        return [f"/own/{number}" for number in range(20)]

    def read(self, body: bytes, url: str, content_type: str = "") -> list[OwnText]:
        return [OwnText(one, "Tea is made of leaves.", self.name) for one in body.decode().split()]


@pytest.fixture
def own(crawl: Crawl) -> OwnTexts:
    crawl.spider.own_texts._sources = [Source(broken=True), Source()]
    return crawl.spider.own_texts


def asked(own: OwnTexts, url: str = "https://e.org/", **fields: Any) -> list[str]:
    head = SimpleNamespace(base=url, links=[], generator="")
    found = list(own.addresses(url, head, True, **fields))
    return [one.removeprefix("https://e.org") for one in found]


def test_own_text_requests_stay_within_budget(
    crawl: Crawl, own: OwnTexts, caplog: pytest.LogCaptureFixture
) -> None:
    assert asked(own, feeds=["https://e.org/own/1"]) == ["/own/0", "/own/2", "/own/3"]
    assert "numbers cannot be read: ValueError" in caplog.text
    assert asked(own) == []
    assert crawl.stat("own_texts/requests") == 3
    own.refund("https://e.org/own/2")
    assert asked(own) == ["/own/1"], "what robots.txt forbids is not asked for again"
    assert asked(own, "https://other.org/") == [], "it is not in the crawl"
    again = OwnTexts(crawl.keeper, crawl.spider.scope, crawl.spider.keys)
    again._sources = own._sources
    assert asked(again) == [], "the budget is that of the crawl"
    crawl.keeper.is_broken = True
    again.refund("https://e.org/own/1")
    assert crawl.keeper.book.runs.fact("own_texts e.org") == [
        f"https://e.org/own/{n}" for n in (0, 3, 1)
    ]


def test_search_for_own_texts_ends_at_limits(crawl: Crawl, own: OwnTexts) -> None:
    own._budget = 1000
    assert len(asked(own)) == MAX_ADDRESSES
    own._sources = []
    assert asked(own) == []
    own._sources = [Source(broken=True)]
    for _ in range(PAGES_READ - 1):
        asked(own)
    own._sources = [Source()]
    own._forbidden, own._budget = set(), 2000
    assert asked(own) == []


def test_own_text_request_is_small_and_not_retried(crawl: Crawl, own: OwnTexts) -> None:
    head = SimpleNamespace(base="https://e.org/", links=[], generator="", feeds=["/own/0"])
    first, *_ = crawl.spider.source_requests("https://e.org/", head, True)
    assert first.priority == 5
    assert first.meta == {
        "download_maxsize": 5_000_000,
        "handle_httpstatus_list": [304],
        "dont_retry": True,
    }


def test_own_texts_are_stored_and_lead_to_pages(crawl: Crawl, own: OwnTexts) -> None:
    spider = crawl.spider
    request = Request("https://e.org/own/0", spider.parse_own_texts)
    headers = {"ETag": '"x"', "Last-Modified": "now"}
    body = b"https://e.org/1 https://other.org/2"

    async def followed(response: Response) -> list[str]:
        return urls([request async for request in spider.parse_own_texts(response)])

    answer = Response(request.url, headers=headers, body=body, request=request)
    assert asyncio.run(followed(answer)) == ["/1"]
    assert asyncio.run(followed(answer.replace(body=body + b" " * 2_000_000))) == ["/1"]
    assert crawl.keeper.book.own_texts.has("e.org", "https://e.org/1")
    (kept,) = crawl.keeper.book.own_texts.answers()
    assert (kept.site, kept.address) == ("e.org", request.url)
    assert (kept.etag, kept.last_modified) == ('"x"', "now")
    assert [own_text.url for own_text in kept.texts] == ["https://e.org/1"]
    assert crawl.stat("own_texts/texts") == 2
    known = SimpleNamespace(
        texts=[OwnText("https://e.org/3", "Known.", "numbers")], etag='"y"', last_modified=""
    )
    crawl.keeper.revisits = SimpleNamespace(
        own_answers=SimpleNamespace(at=lambda url: known if url == request.url else None),
        is_deferred=lambda url: False,
    )
    assert asyncio.run(followed(answer.replace(status=304, body=b""))) == ["/3"]
    assert own.headers(request.url) == {"If-None-Match": '"y"'}
    assert own.headers("https://e.org/other") == {}
    spider.sitemaps = False
    assert asyncio.run(followed(answer)) == []
    known.texts = []
    assert own.headers(request.url) == {}
    crawl.keeper.is_broken = True
    assert own.store_now(answer) == own.store_previous(request.url) == []


def test_unreadable_own_text_does_not_count_as_unread_page(crawl: Crawl, own: OwnTexts) -> None:
    asked(own)
    forbidden = IgnoreRequest("Forbidden by robots.txt")
    for error, callback, state in (
        (forbidden, crawl.spider.parse_own_texts, "skipped"),
        (ValueError("x"), crawl.spider.parse_feed, "fetched"),
    ):
        request = Request("https://e.org/own/0", callback)
        row = crawl.send(request)
        crawl.keeper.addresses.received(Response(request.url), request)
        crawl.spider.source_failed(SimpleNamespace(request=request, value=error))
        crawl.finish()
        assert crawl.state(row)[0] == state
    assert crawl.keeper.book.runs.fact("own_texts e.org") == [
        "https://e.org/own/1",
        "https://e.org/own/2",
    ]
