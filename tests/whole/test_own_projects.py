"""Crawls of a Scrapy project with a spider of its own, which is crawled again and again: a
CrawlSpider whose items are dicts.
"""

from __future__ import annotations

import json
import signal
import sqlite3
import sys
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from contentspider.state.outcome import Outcome
from tests.conftest import Site, read_jsonl, run, serve
from tests.messages import wording
from tests.processes import Popen
from tests.sites import article, prose

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator
    from pathlib import Path

COUNT = 9
SPIDER = """
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule

class TownSpider(CrawlSpider):
    name = "town"
    start_urls = ["{url}/"]
    rules = [
        Rule(LinkExtractor(allow=r"/[0-9]+$"), callback="parse_article", follow=True{more}),
        Rule(LinkExtractor(), follow=True),
    ]

    def parse_article(self, response):
        yield {{"url": response.url, "heading": response.css("h1::text").get()}}

    def add_odd(self, request, response):
        return request.replace(meta={{**request.meta, "odd": object()}})
"""
SETTINGS = """
SPIDER_MODULES = ["town"]
ADDONS = {"contentspider.Addon": 500}
CONTENTSPIDER_DURABLE = True
CONTENTSPIDER_INDEX = ["sqlite:pages.db"]
CONTENTSPIDER_ITEM_FIELDS = {"dict": {"content": "text", "change": "change"}}
DOWNLOAD_DELAY = 0
TELNETCONSOLE_ENABLED = REMOTE_CONTROL_ENABLED = False
"""


class Town:
    """A site of articles, and a project that crawls it."""

    def __init__(self, site: Site, folder: Path) -> None:
        self.site, self.folder = site, folder
        (folder / "scrapy.cfg").write_text("[settings]\ndefault = settings\n")
        (folder / "settings.py").write_text(SETTINGS)
        self.spider(SPIDER.format(url=site.url, more=""))
        self.unlinked: set[str] = set()
        self.articles = {f"/{number}": article(number) for number in range(1, COUNT)}
        site.answer = self._answer

    def spider(self, text: str) -> None:
        """Write the project's spider."""
        (self.folder / "town.py").write_text(text)

    def move(self, new: Site) -> None:
        """Have the spider crawl the same articles at another site, and no other host."""
        new.answer = self.site.answer
        text = SPIDER.format(url=new.url, more="")
        self.spider(text.replace("rules =", 'allowed_domains = ["127.0.0.2"]\n    rules ='))

    def _answer(self, path: str) -> tuple[int, str, bytes]:
        kind = "text/html; charset=utf-8"
        if path == "/":
            links = (
                f"<a href={path}>Page {path}</a> " for path in self.articles.keys() - self.unlinked
            )
            return 200, kind, article(0, "".join(links)).encode()
        if path in self.articles:
            return 200, kind, self.articles[path].encode()
        return 404, kind, b"<p>none</p>"

    def crawl(self, *options: str, code: int = 0) -> dict[str, dict[str, Any]]:
        """Crawl, and return the items by the paths of their pages."""
        self.done = self.run("scrapy", "crawl", "town", "-O", "items.jsonl", *options, code=code)
        items = read_jsonl(self.folder / "items.jsonl")
        return {str(item["url"]).removeprefix(self.site.url): item for item in items}

    def stat(self, name: str) -> int:
        """Return a stat of the last crawl, 0 without it."""
        _, _, found = self.done.stderr.partition(f"'contentspider/{name}': ")
        return int(found.partition(",")[0] or 0)

    def run(self, module: str, *arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        done = run(*arguments, cwd=self.folder, module=module, check=False)
        assert done.returncode == code, done.stderr[-3000:]
        return done

    def records(self) -> list[dict[str, Any]]:
        """Return the change log, without visits that found no change."""
        done = self.run("contentspider", "changes", "town", "--format", "jsonl")
        return [json.loads(line) for line in done.stdout.splitlines()]

    def changes(self) -> dict[str, list[str]]:
        """Return how each page has changed so far, by path."""
        found: dict[str, list[str]] = {}
        for record in self.records():
            path = record["url"].removeprefix(self.site.url)
            found.setdefault(path, []).append(record["change"])
        return found

    def indexed(self) -> set[str]:
        """Return the paths of the pages that are in the index."""
        with closing(sqlite3.connect(self.folder / "pages.db")) as index:
            return {url.removeprefix(self.site.url) for (url,) in index.execute(URLS)}

    def book(self, statement: str) -> list[tuple[Any, ...]]:
        """Return what a statement of SQL gives for the book."""
        path = self.folder / ".scrapy/contentspider/town.sqlite"
        with closing(sqlite3.connect(path)) as book, book:
            return book.execute(statement).fetchall()


URLS = "SELECT url FROM documents"


@pytest.fixture
def town(site: Site, tmp_path: Path) -> Town:
    return Town(site, tmp_path)


def test_texts_of_changed_pages_can_be_read_in_each_crawl(town: Town) -> None:
    town.crawl()
    assert f"{town.site.url}/3" in town.run("contentspider", "search", "page", "3").stdout
    town.articles["/3"] = town.articles["/3"].replace(prose(3, 1), prose("edited"))
    assert town.crawl()["/3"]["change"] == "changed"
    url = f"{town.site.url}/3"

    def difference(code: int = 0) -> str:
        return town.run("contentspider", "diff", url, code=code).stdout

    assert f"-{prose(3, 1)}" in difference() and f"+{prose('edited')}" in difference()
    town.articles["/3"] = town.articles["/3"].replace("2024", "2025")
    assert town.crawl()["/3"]["change"] == "unchanged"
    assert f"-{prose(3, 1)}" in difference() and f"+{prose('edited')}" in difference()
    (status,) = json.loads(town.run("contentspider", "status", "--json").stdout)
    assert (status["index_lag"], status["index_error"]) == (0, ""), "the settings name the index"
    # A damaged text is an error, not a page that has not changed.
    town.book("DELETE FROM contents WHERE number IN (SELECT previous FROM pages)")
    assert not difference(code=1)
    town.run("contentspider", "remove", "town")
    assert not town.indexed()


IN_MEMORY = ', process_request="add_odd"'


@pytest.mark.parametrize(
    ("more", "is_linked"),
    [("", True), (IN_MEMORY, True), (IN_MEMORY, False)],
    ids=["all is stored", "all is in memory", "links of requests in memory are gone"],
)
def test_resumed_crawl_requests_what_the_crawl_before_has_found(
    town: Town, more: str, is_linked: bool
) -> None:
    town.spider(SPIDER.format(url=town.site.url, more=more))
    answer = town.site.answer
    # From page to page: those in the memory of a crawl are not on its start page.
    links = "<a href=/{}>on</a> <a href=/{}>two on</a>"
    for page in range(1, COUNT):
        town.articles[f"/{page}"] = article(page, links.format(page + 1, page + 2))
    front = article(0, "<a href=/1>Page 1</a>").encode()
    command = [sys.executable, "-m", "scrapy", "crawl", "town", "-o", "items.jsonl"]

    def answer_chain(path: str) -> tuple[int, str, bytes]:
        if path == "/5":
            process.send_signal(signal.SIGTERM)
        return (200, "text/html", front) if path == "/" else answer(path)

    town.site.answer = answer_chain
    with (
        (town.folder / "log").open("w") as log,
        Popen(command, cwd=town.folder, stderr=log) as process,
    ):
        code = process.wait()
    assert code == Outcome.INTERRUPTED
    assert not {f"/{each}" for each in range(7, COUNT)} & set(town.site.requests)
    town.site.answer = lambda path: (200, "text/html", front) if path == "/" else answer(path)
    town.site.requests.clear()
    if not is_linked:
        town.articles = {path: article(path) for path in town.articles}
    code = Outcome.COMPLETE if is_linked else Outcome.INCOMPLETE
    town.run(*command[2:], "-s", "CONTENTSPIDER_RESUME=True", code=code)
    reason = town.book("SELECT reason FROM runs ORDER BY number DESC LIMIT 1")[0][0]
    assert reason == ("finished" if is_linked else "incomplete")
    if not is_linked:
        return
    items = read_jsonl(town.folder / "items.jsonl")
    paths = sorted(str(item["url"]).removeprefix(town.site.url) for item in items)
    assert paths == sorted(town.articles), "each page once"
    if not more:
        assert "/1" not in town.site.requests, "no page is read again"


def test_deleted_pages_are_gone_and_pages_without_links_stay(town: Town) -> None:
    town.crawl()
    del town.articles["/3"]
    town.unlinked.add("/4")
    asked = []
    for _ in range(3):
        town.site.requests.clear()
        town.crawl()
        asked.append([town.site.requests.count(path) for path in ("/3", "/4", "/5")])
    assert asked == [[2, 1, 1], [0, 1, 1], [0, 0, 1]]
    assert {path: kinds for path, kinds in town.changes().items() if kinds != ["new"]} == {
        "/3": ["new", "gone"]
    }
    assert town.indexed() == set(town.articles)
    assert town.stat("changes/kept") == 1
    assert wording("crawl.known-kept") in town.done.stderr


@pytest.fixture
def new_site() -> Iterator[Site]:
    with serve("127.0.0.2") as made:
        yield made


@pytest.mark.parametrize("how", ["redirects", "is silent", "answers as before", "was crawled, too"])
def test_pages_of_site_that_has_moved_to_another_host_have_moved(
    town: Town, new_site: Site, how: str
) -> None:
    town.crawl()
    old = town.site.url
    if how == "was crawled, too":
        both = f'{new_site.url}/", "{old}'
        new_site.answer = town.site.answer
        town.spider(SPIDER.format(url=both, more=""))
        town.crawl()
        assert len(town.indexed()) == 2 * len(town.articles)
    town.move(new_site)
    if how != "answers as before":
        town.site.answer = lambda path: (301, f"text/html\r\nLocation: {new_site.url}{path}", b"")
    if how == "is silent":
        town.site.server.shutdown()
        town.site.server.server_close()
    deleted = town.articles.pop("/3")
    town.articles["/4"] = town.articles["/4"].replace(prose(4, 1), prose("edited"))
    town.site.requests.clear()
    town.crawl()
    assert set(town.site.requests) <= {"/3", "/4"}, "the texts of the others are on the new host"
    assert town.indexed() == {new_site.url + path for path in town.articles}
    records = {record["url"]: record for record in town.records() if record["change"] != "new"}
    moved = {record["previous_url"] for record in records.values() if record["change"] == "moved"}
    assert moved == {old + path for path in town.articles}
    assert deleted and records[f"{old}/3"]["change"] == "gone"
    head, row = town.run("contentspider", "status").stdout.splitlines()[:2]
    assert row[: head.index("moved") + 5].split()[-1] == str(len(moved)), row
    told = json.loads(town.run("contentspider", "status", "--json").stdout)
    assert all(site["bytes"] > 0 for site in told), "the sizes of books"
    town.crawl()
    assert (town.stat("changes/unchanged"), town.stat("changes/kept")) == (len(town.articles), 0)


def test_crawl_does_not_wait_for_host_that_the_spider_has_left(town: Town, new_site: Site) -> None:
    """The host's many pages are not requested one by one, and robots.txt is read first."""
    with (town.folder / "settings.py").open("a") as settings:
        settings.write("ROBOTSTXT_OBEY = True\nCONTENTSPIDER_OUTPUT_FILE = 'pages.jsonl'\n")
    town.articles = {f"/{number}": article(number) for number in range(1, 25)}
    town.crawl()
    town.site.server.shutdown()
    town.site.server.server_close()
    town.move(new_site)
    town.crawl("-s", "CONTENTSPIDER_OUTAGE_SECS=3")
    assert "'finish_reason': 'finished'" in town.done.stderr
    assert town.stat("changes/moved") == len(town.articles)
    assert town.stat("changes/new") == town.stat("hosts/down") == 0
    assert town.indexed() == {new_site.url + path for path in town.articles}
    assert {item["url"] for item in read_jsonl(town.folder / "pages.jsonl")} == town.indexed()


def test_host_that_fails_after_its_first_answer_is_no_outage(town: Town, new_site: Site) -> None:
    town.articles = {f"/{number}": article(number) for number in range(1, 25)}
    town.crawl()
    known, first = len(town.articles), next(iter(town.articles))
    town.articles = {f"/{number}": article(number) for number in range(50, 50 + COUNT)}
    town.move(new_site)
    town.site.answer = lambda path: (200 if path == first else 503, "text/html", b"")
    town.site.requests.clear()
    town.crawl("-s", "CONTENTSPIDER_OUTAGE_SECS=3")
    assert "'finish_reason': 'finished'" in town.done.stderr
    assert (town.stat("changes/kept"), town.stat("hosts/down")) == (known, 0)
    assert town.stat("book/queued") == 0
    assert 1 < len(town.site.requests) < known


def test_pages_of_host_that_has_left_without_a_trace_stay_until_they_are_given_up(
    town: Town, new_site: Site
) -> None:
    with (town.folder / "settings.py").open("a") as settings:
        settings.write("ROBOTSTXT_OBEY = True\nCONTENTSPIDER_OUTAGE_SECS = 3\n")
    town.articles = {f"/{number}": article(number) for number in range(1, 25)}
    town.crawl()
    known = {town.site.url + path for path in town.articles}
    town.site.server.shutdown()
    town.site.server.server_close()
    town.articles = {f"/{number}": article(number) for number in range(50, 50 + COUNT)}
    town.move(new_site)
    for is_said in (True, False):
        town.crawl()
        assert (wording("crawl.host-left") in town.done.stderr) == is_said
        assert "'finish_reason': 'finished'" in town.done.stderr
        assert town.stat("changes/kept") == len(known)
        assert known < {f"{town.site.url}{path}" for path in town.indexed()}
    town.run("contentspider", "changes", "town", "--accept-gone")
    gone = {record["url"] for record in town.records() if record["change"] == "gone"}
    assert gone == known
