"""Spiders of the users' in crawls that are kept: odd callbacks, requests and items."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.conftest import Site, read_jsonl, run
from tests.messages import wording
from tests.sites import small_site

if TYPE_CHECKING:
    from pathlib import Path

SPIDER = """
import sys
import scrapy
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule
from contentspider import ContentItem

SITE = sys.argv[1]
{spider}
process = AsyncCrawlerProcess({{
    "ADDONS": {{"contentspider.Addon": 500}}, "CONTENTSPIDER_DURABLE": True,
    "CONTENTSPIDER_RESUME": True, "CONTENTSPIDER_OUTPUT_FILE": "out.jsonl",
    "LOG_LEVEL": "WARNING", "REMOTE_CONTROL_ENABLED": False, "TELNETCONSOLE_ENABLED": False,
    "DOWNLOAD_DELAY": 0, "CLOSESPIDER_TIMEOUT": 60,
}})
process.crawl(MySpider)
process.start()
"""
CRAWL_SPIDER = """
class MySpider(CrawlSpider):
    name = "my"
    start_urls = [SITE]
    rules = [Rule(LinkExtractor(), callback="_read", follow=True)]
    def _read(self, response):
        yield ContentItem.from_response(response)
"""
ONE_ADDRESS = """
class MySpider(scrapy.Spider):
    name = "my"
    async def start(self):
        for number in range(3):
            odd = {"odd": object()} if number == 2 else None
            jar = {"cookiejar": number}
            yield scrapy.Request(SITE, dont_filter=True, meta=jar, cb_kwargs=odd)
    def parse(self, response, odd=None):
        yield ContentItem.from_response(response)
        yield response.follow("/1", meta={"odd": object()})
"""
NOT_JSON = """
class MySpider(scrapy.Spider):
    name = "my"
    start_urls = [SITE]
    def parse(self, response):
        yield ContentItem.from_response(response)
        yield ContentItem.from_response(response)
class Odd:
    seen = 0
    def process_item(self, item):
        self.seen += 1
        if self.seen == 1:
            item.description = object()
        return item
MySpider.custom_settings = {"ITEM_PIPELINES": {Odd: 300}}
"""


def run_spider(spider: str, site: Site, folder: Path) -> tuple[list[dict[str, object]], str]:
    (folder / "project.py").write_text(SPIDER.format(spider=spider))
    done = run(f"{site.url}/", cwd=folder, module="project.py")
    return read_jsonl(folder / "out.jsonl"), done.stderr


def test_spider_with_private_callbacks_crawls(site: Site, tmp_path: Path) -> None:
    small_site(site, 7)
    items, _ = run_spider(CRAWL_SPIDER, site, tmp_path)
    assert {str(item["url"]) for item in items} == {
        f"{site.url}/{number}" for number in range(1, 7)
    }


def test_repeated_url_and_unserializable_request_are_each_crawled_once(
    site: Site, tmp_path: Path
) -> None:
    small_site(site, 2)
    items, said = run_spider(ONE_ADDRESS, site, tmp_path)
    assert sorted(str(item["url"]) for item in items) == [site.url + "/"] * 3 + [site.url + "/1"], (
        "and the crawl ends"
    )
    assert said.count(wording("crawl.request-not-stored")) == 1


def test_item_that_is_not_json_is_logged_and_released(site: Site, tmp_path: Path) -> None:
    small_site(site, 1)
    items, said = run_spider(NOT_JSON, site, tmp_path)
    assert len(items) == 1
    assert wording("crawl.not-json") in said
    assert "1 out, 0 held" in run("status", "my", cwd=tmp_path).stdout
