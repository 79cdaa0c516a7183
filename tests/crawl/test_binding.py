"""Which page an item gets its content from, whichever callback yields it."""

from __future__ import annotations

import copy
import json
import pickle
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
import scrapy
from itemadapter import ItemAdapter
from scrapy.http import HtmlResponse, TextResponse

from contentspider import ContentItem, bind, page_of
from contentspider.crawl.base.alone import _warn
from contentspider.crawl.base.items import MAX_KEPT_ALIVE, Bindings
from contentspider.crawl.base.meta import BINDINGS_META_KEY, PAGE_META_KEY
from contentspider.crawl.queue.requests import dump_request, load_request
from contentspider.page.input.page import Page
from contentspider.state.book.items import ItemBinding
from tests.conftest import Site, read_jsonl, run
from tests.sites import article

if TYPE_CHECKING:
    from pathlib import Path

PAGE = Page.from_html("<title>Tea</title><p>Tea is made of leaves.", "https://example.org/tea")


@dataclass
class Article:
    url: str
    body: str = ""


class Product(scrapy.Item):
    url = scrapy.Field()


def response(bindings: Bindings) -> HtmlResponse:
    meta = {PAGE_META_KEY: PAGE, BINDINGS_META_KEY: bindings}
    return HtmlResponse(PAGE.url, request=scrapy.Request(PAGE.url, meta=meta))


@pytest.mark.parametrize("item", [{"url": "u"}, Article("u"), Product(url="u"), ContentItem("u")])
def test_binding_leaves_items_of_any_class_unchanged(item: Any) -> None:
    before = (repr(item), ItemAdapter(item).asdict(), copy.copy(item), copy.copy(vars_of(item)))
    bindings = Bindings()
    assert not bindings.has(item)
    assert bind(item, response(bindings)) is item
    assert bindings.get(item) == ItemBinding(PAGE)
    assert before == (repr(item), ItemAdapter(item).asdict(), item, vars_of(item))


def vars_of(item: Any) -> dict[str, Any]:
    return vars(item) if hasattr(item, "__dict__") else {}


def test_copies_of_content_item_keep_its_page() -> None:
    item = ContentItem.from_response(response(Bindings()))
    for made in (copy.copy(item), copy.deepcopy(item), pickle.loads(pickle.dumps(item))):  # noqa: S301
        assert made == item
        assert Bindings().get(made) == ItemBinding(PAGE)


def test_item_from_response_that_is_not_html_is_bound_without_page() -> None:
    request = scrapy.Request("https://example.org/x.json")
    item = ContentItem.from_response(TextResponse(request.url, request=request))
    for bound in (item, ContentItem.from_response(TextResponse(request.url))):
        assert Bindings().has(bound)
        assert Bindings().get(bound) is None
    assert not Bindings().has(ContentItem(request.url))


def test_content_item_of_response_outside_of_a_crawl_is_filled_and_says_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    _warn.cache_clear()
    html = article(1).encode()
    answer = HtmlResponse("https://e.org/1", body=html, encoding="utf-8")
    for _ in range(2):
        item = ContentItem.from_response(answer)
        assert item.content.startswith("Page 1\n")
        assert "All rights reserved" not in item.content
        assert (item.url, item.title) == ("https://e.org/1", "Page 1")
    assert len(caplog.messages) == 1 and "ADDONS" in caplog.text
    assert bind({"url": "u"}, answer) == {"url": "u"}


def test_bindings_end_with_their_items_and_dicts_are_limited() -> None:
    bindings = Bindings()
    item = Article("u")
    bindings.bind(item, PAGE)
    del item
    assert not bindings._pages
    for number in range(MAX_KEPT_ALIVE + 5):
        bindings.bind({"n": number}, PAGE)
    assert len(bindings._pages) == MAX_KEPT_ALIVE


@pytest.mark.parametrize("item", [{"url": "u"}, Article("u")])
def test_pipeline_forgets_temporary_binding_after_taking_it(item: Any) -> None:
    bindings = Bindings()
    bindings.put(item, ItemBinding(PAGE, key="1/0"))
    assert bindings.take(item) == ItemBinding(PAGE, key="1/0")
    assert not bindings.has(item)
    assert not bindings._kept_alive
    bindings.bind(item, PAGE)
    bindings.put(item, ItemBinding(PAGE, key="2/0"))
    assert bindings.take(item) == ItemBinding(PAGE, key="2/0")
    assert bindings.has(item)


class Spider(scrapy.Spider):
    name = "my"


@pytest.mark.parametrize("item", [{"url": "u"}, Article("u"), Product(url="u"), ContentItem("u")])
@pytest.mark.parametrize("page", [PAGE, None])
def test_queued_request_carries_items_with_their_pages(item: Any, page: Page | None) -> None:
    bindings = Bindings()
    bindings.bind(item, page)
    request = scrapy.Request("https://example.org/more", cb_kwargs={"item": item, "n": 1})
    text = dump_request(request, Spider(), bindings)
    again = load_request(text, request.url, 0, Spider(), fresh := Bindings())
    assert again.cb_kwargs == {"item": item, "n": 1}
    assert fresh.has(again.cb_kwargs["item"])
    assert fresh.get(again.cb_kwargs["item"]) == (page and ItemBinding(page))


def test_item_of_local_class_cannot_be_serialized_into_queue() -> None:
    @dataclass
    class Local:
        url: str

    bindings = Bindings()
    bindings.bind(item := Local("u"), PAGE)
    with pytest.raises(TypeError, match="not loaded"):
        dump_request(scrapy.Request("https://e.org", meta={"item": item}), Spider(), bindings)


CRAWL = """
import sys, json
import scrapy
from dataclasses import dataclass
from scrapy.crawler import AsyncCrawlerProcess
from contentspider import ContentItem, bind, page_of

@dataclass
class Article:
    url: str
    origin: str
    content: str = ""

class MySpider(scrapy.Spider):
    name = "my"
    def parse(self, response):
        for number in range(1, 7):
            yield response.follow(f"/{number}", self.parse_page)
    def parse_page(self, response):
        number = int(response.url.rpartition("/")[2])
        more = response.urljoin(f"/more/{number}")
        gone = response.urljoin(f"/gone/{number}")
        item = ContentItem.from_response(response)
        yield scrapy.Request(more, self.parse_more, cb_kwargs={"item": item})
        bound = bind(Article(response.url, "bound"), response)
        yield scrapy.Request(more + "?b", self.parse_more, meta={"item": bound})
        loose = Article(response.url, "loose")
        yield scrapy.Request(more + "?c", self.parse_more, meta={"item": loose})
        last = ContentItem.from_response(response)
        yield scrapy.Request(gone, self.parse_more, errback=self.failed, cb_kwargs={"item": last})
    def parse_more(self, response, item=None):
        yield item or response.meta["item"]
    def failed(self, failure):
        yield failure.request.cb_kwargs["item"]

settings = {
    "ADDONS": {"contentspider.Addon": 500},
    "CONTENTSPIDER_ITEM_FIELDS": {"__main__.Article": {"content": "content"}},
    "FEEDS": {"out.jsonl": {"format": "jsonlines"}},
    "RETRY_ENABLED": False, "REMOTE_CONTROL_ENABLED": False, "TELNETCONSOLE_ENABLED": False,
    "LOG_LEVEL": "WARNING",
} | json.loads(sys.argv[2])
process = AsyncCrawlerProcess(settings)
crawler = process.create_crawler(MySpider)
process.crawl(crawler, start_urls=[sys.argv[1] + "/"])
process.start()
"""


@pytest.mark.parametrize("durable", [False, True])
@pytest.mark.parametrize("kind", ["text/html", "application/json"])
def test_item_gets_content_of_its_page_from_any_callback(
    durable: bool, kind: str, site: Site, tmp_path: Path
) -> None:
    site.add("/", article(0))
    for number in range(1, 7):
        site.add(f"/{number}", article(number))
        for query in ("", "?b", "?c"):
            site.add(f"/more/{number}{query}", article(100 + number), kind=kind)
    (tmp_path / "spider.py").write_text(CRAWL)
    (tmp_path / "scrapy.cfg").write_text("")
    settings = json.dumps({"CONTENTSPIDER_DURABLE": durable})
    done = run(site.url, settings, cwd=tmp_path, module="spider.py")
    items = read_jsonl(tmp_path / "out.jsonl")
    loose = [item for item in items if item.get("origin") == "loose"]
    others = [item for item in items if item.get("origin") != "loose"]
    assert len(loose) == 6
    assert not any(item["content"] for item in loose), "nobody said which page they are of"
    assert "contentspider.bind(item, response)" in done.stderr
    assert len(others) == 18
    for item in others:
        number = int(str(item["url"]).rpartition("/")[2])
        wanted = Page.from_html(article(number)).content.blocks
        body = max((block.text for block in wanted), key=len)
        assert body in str(item["content"])
        assert "All rights reserved" not in str(item["content"])
    if durable:
        state = tmp_path / ".scrapy/contentspider/my.sqlite"
        with closing(sqlite3.connect(state)) as history:
            rows = history.execute("SELECT url, content_hash FROM pages")
            wanted = {item["url"]: item["content_hash"] for item in others if "id" in item}
            assert dict(rows) == wanted, "at the page whose content it is"


def test_text_of_each_content_block_is_part_of_the_content() -> None:
    paragraph = "<p>Tea is made of leaves, of hot water, and of time, and it needs to rest.</p>"
    table = "<table><tr><th>Tea<th>Minutes<tr><td>Green  tea<td>2<br>or 3</table>"
    html = f"<h1>Tea</h1>{paragraph * 3}<pre>boil()\n  add()\n\nwait()</pre>{table}"
    response = HtmlResponse("https://e.org/tea", body=html, encoding="utf-8")
    item = ContentItem.from_response(response)
    texts = [block.text for block in page_of(response).blocks if block.is_content]
    assert "boil()\n  add()\n\nwait()" in texts and "2 or 3" in texts
    assert all(text in item.content for text in texts)
    assert texts != item.content.split("\n"), "docs/own-spiders.md must not say so"
