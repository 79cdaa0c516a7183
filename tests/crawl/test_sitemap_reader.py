"""Sitemaps are read beside the crawl: pages are fetched meanwhile, and every end comes at once."""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest
from scrapy import Request
from scrapy.http import TextResponse

from contentspider.crawl.base.meta import ROW_META_KEY
from contentspider.crawl.spider import sitemaps
from contentspider.crawl.spider.discovery import FIRST_SITEMAPS
from contentspider.state.outcome import Outcome
from tests.conftest import TIMEOUT, Site, read_jsonl, run
from tests.crawls import Crawl
from tests.processes import Popen
from tests.sites import article

if TYPE_CHECKING:
    from pathlib import Path

SITEMAPS, ADDRESSES = 60, 2_000
END_SECS = 5.0


def urlset(addresses: list[str]) -> str:
    urls = "".join(f"<url><loc>{address}</loc></url>" for address in addresses)
    return f"<urlset>{urls}</urlset>"


@pytest.fixture
def large_site(site: Site) -> Site:
    """A site whose sitemaps have more addresses than a test can wait for."""
    index = "".join(
        f"<sitemap><loc>{site.url}/map{number}.xml</loc></sitemap>" for number in range(SITEMAPS)
    )
    site.add("/sitemap.xml", f"<sitemapindex>{index}</sitemapindex>", kind="application/xml")
    for number in range(SITEMAPS):
        addresses = [f"{site.url}/{number}/{place}" for place in range(ADDRESSES)]
        site.add(f"/map{number}.xml", urlset(addresses), kind="application/xml")
    site.add("/", article(0))
    answer = site.answer
    site.answer = lambda path: (
        (200, "text/html", article(int(path.rpartition("/")[2]) + 1).encode())
        if path.count("/") == 2
        else answer(path)
    )
    return site


def test_pages_are_read_before_sitemaps_end_and_limit_ends_crawl(
    large_site: Site, tmp_path: Path
) -> None:
    run("crawl", large_site.url, "--own-site", "--max-pages", "12", cwd=tmp_path)
    assert len(read_jsonl(tmp_path / "pages.jsonl")) == 12
    maps = [path for path in large_site.requests if path.startswith("/map")]
    assert len(maps) < SITEMAPS, "the last sitemaps were not even asked for"


def test_signal_ends_crawl_while_sitemaps_are_read_and_next_run_continues(
    large_site: Site, tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "contentspider", "crawl", large_site.url, "--own-site"]
    with Popen(command, cwd=tmp_path) as process:
        end = time.monotonic() + TIMEOUT
        while large_site.requests.count("/map0.xml") + len(large_site.requests) < 12:
            assert time.monotonic() < end
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        begin = time.monotonic()
        assert process.wait(TIMEOUT) == Outcome.INTERRUPTED
        assert time.monotonic() - begin < END_SECS
    done = run("crawl", large_site.url, "--own-site", "--resume", "--max-pages", "3", cwd=tmp_path)
    assert "limit" in done.stderr
    assert large_site.requests.count("/map0.xml") == 2, "it had not been read to its end"


def test_sitemap_is_open_until_all_its_addresses_are_queued(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sitemaps, "TURN_SECS", 0)
    crawl = Crawl(tmp_path)
    reader = crawl.spider.sitemap_reader
    request = Request("https://e.org/map.xml")
    row = crawl.send(request)
    body = urlset([f"https://e.org/{number}" for number in range(3)])
    response = TextResponse(request.url, body=body.encode(), request=request)
    crawl.keeper.addresses.received(response, request)

    async def read() -> None:
        await crawl.spider.parse_sitemap(response, level=1)
        crawl.finish()
        await asyncio.sleep(0)
        assert [queued.url for queued in crawl.queued] == ["https://e.org/0"]
        assert crawl.state(row)[0] == "taken"
        assert reader.is_reading
        await reader._task

    asyncio.run(read())
    assert [queued.meta["depth"] for queued in crawl.queued] == [1, 1, 1]
    assert crawl.state(row)[0] == "fetched"
    assert crawl.woken


def test_reading_ends_with_crawl(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path)
    request = Request("https://e.org/map.xml", meta={ROW_META_KEY: None})
    response = TextResponse(request.url, body=urlset(["https://e.org/1"]).encode(), request=request)
    slot: Any = crawl.crawler.engine._slot

    async def read() -> None:
        slot.closing = object()
        await crawl.spider.parse_sitemap(response, level=1)
        await asyncio.sleep(0)

    asyncio.run(read())
    assert not crawl.spider.is_reading
    assert not crawl.queued


def test_only_first_sitemaps_come_before_pages(tmp_path: Path) -> None:
    spider = Crawl(tmp_path).spider
    requests = [
        request
        for number in range(FIRST_SITEMAPS + 2)
        for request in spider._sitemap_requests(f"https://e.org/{number}.xml", 1)
    ]
    (page,) = spider.page_requests("https://e.org/page", 1)
    before = [request.priority > page.priority for request in requests]
    assert before == [True] * FIRST_SITEMAPS + [False] * 2
