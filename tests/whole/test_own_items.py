"""A project with items of its own: which of them get content, and what is said of the others."""

from __future__ import annotations

import ast
import json
import re
from typing import TYPE_CHECKING

from tests.conftest import Site, read_jsonl, run
from tests.sites import prose, small_site

if TYPE_CHECKING:
    from pathlib import Path

PROJECT = """
import json, sys
import scrapy
from scrapy.crawler import AsyncCrawlerProcess

class Article(scrapy.Item):
    url = scrapy.Field()
    body = scrapy.Field()

class MySpider(scrapy.Spider):
    name = "mine"
    start_urls = [sys.argv[1]]
    def parse(self, response):
        yield {"url": response.url}
        yield Article(url=response.url)
        yield from response.follow_all(css="a")

process = AsyncCrawlerProcess({
    "ADDONS": {"contentspider.Addon": 500},
    "FEEDS": {"out.jsonl": {"format": "jsonlines", "overwrite": True}},
    "LOG_LEVEL": "WARNING", "TELNETCONSOLE_ENABLED": False, "REMOTE_CONTROL_ENABLED": False,
    "CONTENTSPIDER_DURABLE": True, "CONTENTSPIDER_INDEX": ["sqlite:pages.db"],
} | {"CONTENTSPIDER_ITEM_FIELDS": json.loads(value) for value in sys.argv[2:]})
crawler = process.create_crawler(MySpider)
process.crawl(crawler)
process.start()
names = ("items/unmapped", "index/upserted")
print(json.dumps([crawler.stats.get_value("contentspider/" + name) for name in names]))
"""


def test_items_without_content_are_told_with_the_setting_that_fills_them(
    tmp_path: Path, site: Site
) -> None:
    small_site(site, 3)
    (tmp_path / "project.py").write_text(PROJECT)
    done = run(f"{site.url}/1", cwd=tmp_path, module="project.py")
    items = read_jsonl(tmp_path / "out.jsonl")
    assert json.loads(done.stdout) == [len(items), 0]
    said = re.findall(r"class (\S+) (gets|have) no content.*?_FIELDS = (\{.*?\}\})", done.stderr)
    fields = {"dict": {"content": "content"}, "__main__.Article": {"content": "body"}}
    assert {name: ast.literal_eval(setting)[name] for name, _, setting in said} == fields
    assert len(said) == 4, "at the first item, and at the end of the crawl"
    count = len(items) // 2
    assert done.stderr.count(f"{count} items of the class") == 2
    assert "has no pages with content" in done.stderr

    fields["dict"] = {}
    done = run(f"{site.url}/1", json.dumps(fields), cwd=tmp_path, module="project.py")
    assert "no content" not in done.stderr, "somebody has said that dict needs none"
    filled = [item for item in read_jsonl(tmp_path / "out.jsonl") if "body" in item]
    assert len(filled) == count
    assert json.loads(done.stdout) == [None, count]
    assert all(
        prose(int(str(item["url"]).rpartition("/")[2] or 0), 1) in str(item["body"])
        for item in filled
    )
