"""Crawls in a project of the user's: the repository's own, and one with items of its own."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from contentspider.ground.sites import SiteKeys
from contentspider.page.input.overrides import OVERRIDES
from tests.conftest import ROOT, Site, read_jsonl, run
from tests.sites import prose, small_site

if TYPE_CHECKING:
    from pathlib import Path


def test_scrapy_cfg_project_crawls_site(tmp_path: Path, site: Site) -> None:
    small_site(site, 3)
    settings = [
        "-s",
        f"CONTENTSPIDER_MODELS_DIR={tmp_path / 'models'}",
        "-s",
        f"CONTENTSPIDER_STATE_DIR={tmp_path / 'state'}",
        "-s",
        "DOWNLOAD_DELAY=0",
        "-s",
        "LOG_LEVEL=WARNING",
    ]
    output = str(tmp_path / "out.csv")
    run(
        *("crawl", "site", "-a", f"url={site.url}", "-O", output),
        *settings,
        cwd=ROOT,
        module="scrapy",
    )
    assert len((tmp_path / "out.csv").read_text().split(site.url)) == 4
    assert len(list((tmp_path / "models").glob("*/manifest.json"))) == 1
    assert len(list((tmp_path / "state").glob("*.sqlite"))) == 1


def test_crawl_that_cannot_begin_fails_in_project(tmp_path: Path, site: Site) -> None:
    small_site(site, 3)
    overrides = tmp_path / "models" / SiteKeys().key(site.url) / OVERRIDES
    overrides.parent.mkdir(parents=True)
    overrides.write_text('drop = ["p["]')
    feed = tmp_path / "out.csv"
    feed.write_text("last items")
    settings = {"MODELS_DIR": tmp_path / "models", "STATE_DIR": tmp_path / "state"}
    options = [f"-sCONTENTSPIDER_{name}={value}" for name, value in settings.items()]
    done = run(
        *("crawl", "site", "-a", f"url={site.url}", "-O", str(feed), *options),
        cwd=ROOT,
        module="scrapy",
        check=False,
    )
    assert done.returncode == 1
    assert f"{overrides}:1" in done.stderr
    assert "'finish_reason': 'book'" in done.stderr
    assert not site.requests
    assert feed.read_text() == "last items"


def test_wrong_setting_is_one_line_of_log_and_leaves_feed(tmp_path: Path) -> None:
    feed = tmp_path / "out.csv"
    feed.write_text("last items")
    done = run(
        *("crawl", "site", "-a", "url=https://e.org", "-O", str(feed), "-s", "LOG_LEVEL=WARNING"),
        *("-s", "CONTENTSPIDER_MODEL_DIR=x"),
        cwd=ROOT,
        module="scrapy",
        check=False,
    )
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert "ERROR" in line and "CONTENTSPIDER_MODEL_DIR" in line
    assert feed.read_text() == "last items"


PROJECT = """
import json, sys
from dataclasses import dataclass
import scrapy
from scrapy.crawler import AsyncCrawlerProcess
from contentspider import ContentItem
from contentspider.crawl.middlewares.pages import PAGE_META_KEY

@dataclass
class Mine:
    link: str
    body: str = ""
    heading: str = ""

class Unnamed(int):
    pass

@dataclass
class Odd:
    odd: str
    value: object
    text: str = ""

class Later:
    def open_spider(self):
        self.file = open("later.txt", "w")
    def close_spider(self):
        self.file.close()
    def process_item(self, item):
        self.file.write("x")
        if isinstance(item, dict) and "seen" in item: item["seen"] = True
        return item

class MySpider(scrapy.Spider):
    name = "mine"
    start_urls = [sys.argv[1]]
    def parse(self, response):
        assert PAGE_META_KEY not in response.request.meta or response.meta[PAGE_META_KEY].content
        yield ContentItem.from_response(response)
        yield Mine(response.url)
        yield {"other": response.url, "seen": False}
        yield Odd(response.url, Unnamed(3))
        for href in response.css("a::attr(href)").getall():
            request = response.follow(href, meta=response.meta)
            yield request

process = AsyncCrawlerProcess({
    "ADDONS": {"contentspider.Addon": 500}, "ITEM_PIPELINES": {Later: 400},
    "FEEDS": {"out.jsonl": {"format": "jsonlines"}}, "LOG_LEVEL": "WARNING",
    "CONTENTSPIDER_ITEM_FIELDS": {
        "__main__.Mine": {"content": "body", "title": "heading"},
        "__main__.Odd": {"content": "text"},
    },
    "TELNETCONSOLE_ENABLED": False, "REMOTE_CONTROL_ENABLED": False,
    "CLOSESPIDER_ITEMCOUNT": int(sys.argv[2]),
})
crawler = process.create_crawler(MySpider)
process.crawl(crawler)
process.start()
stats = crawler.stats.get_stats()
print(json.dumps({key: value for key, value in stats.items() if isinstance(value, (int, str))}))
"""


@pytest.mark.parametrize("stop_after", [0, 3])
def test_addon_fills_items_of_user_project(tmp_path: Path, site: Site, stop_after: int) -> None:
    small_site(site, 8)
    (tmp_path / "project.py").write_text(PROJECT)
    done = run(f"{site.url}/", str(stop_after), cwd=tmp_path, module="project.py")
    stats = json.loads(done.stdout)
    items = read_jsonl(tmp_path / "out.jsonl")
    others, mine, ours = (
        [item for item in items if key in item] for key in ("other", "link", "content_hash")
    )
    assert all(item == {"other": item["other"], "seen": True} for item in others)
    for item in mine:
        number = int(str(item["link"]).rpartition("/")[2] or 0)
        assert item["heading"] == f"Page {number}"
        assert item["body"] == f"Page {number}\n{prose(number, 1)}\n{prose(number, 2)}"
    assert stats["contentspider/items/held"] == stats["contentspider/items/released"], (
        "nothing held is lost, even if the crawl is ended early"
    )
    assert len(mine) == len(ours) == len([item for item in items if item.get("odd")]) >= 1
    if not stop_after:
        # The start page comes twice: Scrapy does not filter start requests.
        assert len(mine) == len(ours) == len(others) == 9
        assert len({item["link"] for item in mine}) == 8


MARKING = """
import sys
from scrapy.crawler import AsyncCrawlerProcess
from contentspider.crawl.spider.spider import SiteSpider

class Mark:
    def process_item(self, item):
        item.content += " [marked]"
        return item

process = AsyncCrawlerProcess({
    "ADDONS": {"contentspider.Addon": 500}, "ITEM_PIPELINES": {Mark: 400} if sys.argv[2:] else {},
    "FEEDS": {"out.jsonl": {"format": "jsonlines", "overwrite": True}}, "LOG_LEVEL": "WARNING",
    "CONTENTSPIDER_DURABLE": True,
    "TELNETCONSOLE_ENABLED": False, "REMOTE_CONTROL_ENABLED": False,
})
process.crawl(SiteSpider, url=sys.argv[1])
process.start()
"""


def test_items_that_another_pipeline_has_changed_are_not_used_without_it(
    tmp_path: Path, site: Site
) -> None:
    (tmp_path / "project.py").write_text(MARKING)

    def crawl(day: int, *mark: str) -> dict[str, str]:
        for number in range(8):
            links = "".join(f"<a href=/{each}>{each}</a> " for each in range(8))
            age = f"{prose(number, 1)} It was repaired {day + 3} days ago. {prose(number, 2)}"
            site.add(f"/{number or ''}", f"<h1>Ship {number}</h1><p>{age}</p><nav>{links}</nav>")
        run(f"{site.url}/", *mark, cwd=tmp_path, module="project.py")
        items = read_jsonl(tmp_path / "out.jsonl")
        assert {item["change"] for item in items} == {"unchanged" if day else "new"}
        return {str(item["url"]): str(item["content"]) for item in items}

    assert all("4 days ago" not in text for text in crawl(0, "mark").values())
    second = crawl(1, "mark")
    assert all("4 days ago" in text and "[marked]" in text for text in second.values())
    assert all("5 days ago" in text and "[marked]" not in text for text in crawl(2).values())
    assert all("5 days ago" in text for text in crawl(3).values()), "the last item stays"
