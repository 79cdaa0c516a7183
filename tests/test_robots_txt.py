"""The robots.txt of a host is asked for before its pages, read up to a size, and kept."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from scrapy import Request
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response, TextResponse

from contentspider.crawl.spider.robots import (
    MAX_ROBOTS_BYTES,
    BoundedRobots,
    RobotsMiddleware,
    RobotsUnreadError,
)
from tests.crawls import Crawl

if TYPE_CHECKING:
    from pathlib import Path


def robots(folder: Path, status: int = 200, body: str = "") -> RobotsMiddleware:
    """Return the middleware of a crawl whose robots.txt is so; status 0: there is no answer."""
    crawl = Crawl(folder, settings={"ROBOTSTXT_OBEY": True, "ROBOTSTXT_PARSER": BoundedRobots})
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
def test_a_robots_txt_that_fails_forbids_everything_for_now(
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


def test_a_robots_txt_is_read_up_to_a_size(tmp_path: Path) -> None:
    start = b"User-agent: *\nDisallow: /first\n#"
    body = start + b"x" * (MAX_ROBOTS_BYTES - len(start)) + b"\nDisallow: /last\n"
    parser = BoundedRobots.from_crawler(Crawl(tmp_path).crawler, body)
    assert not parser.allowed("https://e.org/first", "x")
    assert parser.allowed("https://e.org/last", "x")
