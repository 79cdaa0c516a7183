"""The robots.txt of a host is asked for before its pages, read up to a size, and kept."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from scrapy import Request, signals
from scrapy.core.downloader import Slot
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response, TextResponse

from contentspider.crawl.middlewares.robots import (
    MAX_ROBOTS_BYTES,
    BoundedRobots,
    RobotsMiddleware,
    RobotsUnreadError,
)
from contentspider.run.summary import summary
from contentspider.state.outcome import Outcome, Remaining
from tests.crawls import Crawl

if TYPE_CHECKING:
    from pathlib import Path


def robots(
    folder: Path, status: int = 200, body: str = "", more: dict[str, Any] | None = None
) -> RobotsMiddleware:
    """Return the middleware of a crawl whose robots.txt is so; status 0: there is no answer."""
    own = {"ROBOTSTXT_OBEY": True, "ROBOTSTXT_PARSER": BoundedRobots}
    crawl = Crawl(folder, settings={**own, **(more or {})})
    crawl.crawler.engine.fetched = []

    async def download(request: Request) -> Response:
        crawl.crawler.engine.fetched.append(request.url)
        if not status:
            raise IgnoreRequest("it leads elsewhere")
        return TextResponse(request.url, status=status, body=body.encode(), encoding="utf-8")

    crawl.crawler.engine.download_async = download
    return RobotsMiddleware.from_crawler(crawl.crawler)


RULES = "User-agent: *\nDisallow: /no\nSitemap: /map.xml\nSitemap: https://e.org/2.xml"


@pytest.mark.parametrize(
    ("status", "kind"),
    [(200, ""), (404, ""), (0, ""), (499, ""), (500, "status_500"), (429, "status_429")],
)
def test_robots_txt_status_decides_which_pages_are_forbidden(
    tmp_path: Path, status: int, kind: str
) -> None:
    middleware = robots(tmp_path, status, RULES)

    async def ask(path: str, **meta: Any) -> Response | None:
        return await middleware.process_request(Request(f"https://e.org{path}", meta=meta))

    async def all_requests() -> None:
        if kind:
            for path in ("/yes", "/no"):
                with pytest.raises(RobotsUnreadError, match="its robots") as refused:
                    await ask(path)
                assert refused.value.kind == kind
            with pytest.raises(RobotsUnreadError):
                await ask("/robots.txt", contentspider_sitemaps=True)
            middleware._forget_unread()
            assert not middleware._unread
            with pytest.raises(RobotsUnreadError):
                await ask("/yes")
            assert len(middleware.crawler.engine.fetched) == 2, "asked again at the end"
        else:
            assert await ask("/yes") is None
            if status == 200:
                with pytest.raises(IgnoreRequest, match="Forbidden"):
                    await ask("/no")
            else:
                assert await ask("/no") is None
            found = await ask("/robots.txt", contentspider_sitemaps=True)
            assert found is not None and found.flags == ["cached"]
            lines = ["Sitemap: /map.xml", "Sitemap: https://e.org/2.xml"]
            assert found.text.splitlines() == (lines if status == 200 else [])
        assert await ask("/no", dont_obey_robotstxt=True) is None

    asyncio.run(all_requests())


def test_robots_txt_is_read_up_to_size_limit(tmp_path: Path) -> None:
    start = b"User-agent: *\nDisallow: /first\n#"
    body = start + b"x" * (MAX_ROBOTS_BYTES - len(start)) + b"\nDisallow: /last\n"
    parser = BoundedRobots.from_crawler(Crawl(tmp_path).crawler, body)
    assert not parser.allowed("https://e.org/first", "x")
    assert parser.allowed("https://e.org/last", "x")


@pytest.mark.parametrize(
    ("written", "most", "seconds", "capped"),
    [
        ("2", 30, 2, None),
        ("0.5", 30, 1, None),
        ("120", 30, 30, 120),
        ("2", 0, 1, None),
        ("x", 9, 1, None),
    ],
)
def test_crawl_delay_spaces_requests_up_to_limit(
    tmp_path: Path, written: str, most: float, seconds: float, capped: float | None
) -> None:
    rules = f"User-agent: *\nCrawl-delay: {written}\n"
    middleware = robots(tmp_path, 200, rules, {"CONTENTSPIDER_MAX_CRAWL_DELAY": most})
    slots = {name: Slot(4, 1.0, 0.5) for name in ("e.org", "o.org")}
    crawler = middleware.crawler
    crawler.engine.downloader = SimpleNamespace(slots=slots)
    request = Request("https://e.org/a", meta={"download_slot": "e.org"})
    asyncio.run(middleware.process_request(request))
    other = Request("https://o.org/a", meta={"download_slot": "o.org"})
    for each in (request, other, request.replace(meta={})):
        crawler.signals.send_catch_log(signals.request_reached_downloader, request=each)
    if seconds > 1:
        assert slots["e.org"].download_delay() == seconds, "not by chance"
    assert (slots["e.org"].delay, slots["o.org"].delay) == (seconds, 1.0)
    is_obeyed = most > 0 and written != "x"
    assert bool(request.meta.get("autothrottle_dont_adjust_delay")) is is_obeyed
    stat = "contentspider/robots/delay_capped/e.org"
    assert crawler.stats.get_value(stat) == capped
    if capped:
        given: Any = (Outcome.COMPLETE, [], Remaining(), [], ["pages.jsonl"], "models")
        lines = summary({"item_scraped_count": 3, stat: capped}, *given)
        said = "e.org asks for 120 s between requests, which CONTENTSPIDER_MAX_CRAWL_DELAY limits"
        assert f"delays: {said}" in lines
