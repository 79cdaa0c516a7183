"""Real crawls of sites on loopback, from the command line and in a project of the user's."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

import pytest
from parsel import Selector

from contentspider.crawl.items import FieldMap
from contentspider.crawl.links import page_links, remembering
from contentspider.crawl.outcome import Outcome
from contentspider.crawl.sites import SiteKeys
from contentspider.evaluation.corpora import find_corpora
from contentspider.evaluation.serve import SiteServer
from contentspider.page.document import Page
from contentspider.site.record import page_id
from tests.conftest import ROOT, TIMEOUT, Site, read_jsonl, run, serve, token_f1
from tests.sites import article, prose, small_site

if TYPE_CHECKING:
    from pathlib import Path


def test_every_page_is_in_the_output_once_and_the_second_crawl_loads_the_model(
    example_corpus: Path, tmp_path: Path
) -> None:
    (corpus,) = find_corpora(example_corpus)
    with SiteServer(example_corpus / "html") as server:
        first = run(
            "crawl",
            server.url,
            "--own-site",
            "-o",
            "first.jsonl",
            "-s",
            "CONTENTSPIDER_LEARN_PAGES=30",
            cwd=tmp_path,
        )
        second = run("crawl", server.url, "--own-site", "-o", "second.jsonl", cwd=tmp_path)
        pages = {
            path.relative_to(example_corpus / "html").as_posix()
            for path in (example_corpus / "html").rglob("*.html")
        }
        by_path = {}
        for name in ("first.jsonl", "second.jsonl"):
            items = read_jsonl(tmp_path / name)
            files = [
                server.file_of(str(item["url"])).relative_to(server.folder).as_posix()
                for item in items
            ]
            assert sorted(files) == sorted(pages), "every page once"
            assert len({item["id"] for item in items}) == len(items)
            by_path[name] = dict(zip(files, items, strict=True))
    assert "(1 learned, 0 loaded)" in first.stderr
    assert "(0 learned, 1 loaded)" in second.stderr
    assert "0 held" in first.stderr
    gold = {page.path: page.text for page in corpus.gold()}
    scores = [
        token_f1(str(by_path["first.jsonl"][path]["content"]), text) for path, text in gold.items()
    ]
    assert sum(scores) / len(scores) >= 0.95
    item = by_path["second.jsonl"]["stories/index.html"]
    assert item["page_type"] == "listing"
    item = by_path["second.jsonl"][next(iter(gold))]
    assert item["language"] == "en"
    assert item["content_markdown"].startswith("# " + item["title"])
    assert item["id"] == page_id(str(item["url"]))
    assert len(item["content_hash"]) == 32
    assert 0.5 < item["confidence"] <= 1
    status = run("status", str(item["site"]), cwd=tmp_path).stdout
    assert "finished" in status
    assert f"items: {len(pages)} out, 0 held" in status
    shown = run("models", "show", str(item["site"]), cwd=tmp_path).stdout
    assert "content (" in shown
    assert "div.entry/p" in shown.split("noise (")[0]
    assert "cookie-notice" in shown.split("noise (")[1]


def test_a_site_that_fails_from_the_middle_on_keeps_what_was_read(
    site: Site, tmp_path: Path
) -> None:
    small_site(site, 20)
    pages = site.answer
    site.answer = lambda path: (
        pages(path)
        if path in ("/", "/robots.txt", "/sitemap.xml", *(f"/{n}" for n in range(1, 10)))
        else (500, "text/html", b"broken")
    )
    done = run(
        "crawl", site.url, "--own-site", "-s", "RETRY_ENABLED=False", cwd=tmp_path, check=False
    )
    assert done.returncode == Outcome.INCOMPLETE
    assert "10 pages could not be read for reasons that may pass" in done.stderr
    assert len(read_jsonl(tmp_path / "pages.jsonl")) == 10
    assert "10 failed" in done.stderr


def test_an_unreachable_address_is_said_and_fails(tmp_path: Path, site: Site) -> None:
    done = run(
        "crawl", "http://127.0.0.1:9/", "-s", "RETRY_ENABLED=False", cwd=tmp_path, check=False
    )
    assert done.returncode == Outcome.NOTHING_READ
    assert "http://127.0.0.1:9/ could not be read" in done.stderr
    done = run("crawl", site.url + "/none", "--own-site", cwd=tmp_path, check=False)
    assert done.returncode == Outcome.NOTHING_READ
    assert "the server answered 404" in done.stderr


def test_robots_txt_is_obeyed_and_its_sitemap_read(tmp_path: Path, site: Site) -> None:
    small_site(site, 4)
    site.add("/hidden", article(9))
    site.add("/private/x", article(10))
    site.add(
        "/robots.txt",
        f"User-agent: *\nDisallow: /private/\nSitemap: {site.url}/map.xml\n",
        kind="text/plain",
    )
    site.add(
        "/map.xml",
        f"<urlset><url><loc>{site.url}/hidden</loc></url><url><loc>{site.url}/private/x</loc></url></urlset>",
        kind="application/xml",
    )
    run("crawl", site.url, "--own-site", cwd=tmp_path)
    assert {
        str(item["url"]).removeprefix(site.url).strip("/")
        for item in read_jsonl(tmp_path / "pages.jsonl")
    } == {"", "1", "2", "3", "hidden"}
    assert "/private/x" not in site.requests


def test_what_is_no_page_and_pages_without_text(tmp_path: Path, site: Site) -> None:
    site.add(
        "/",
        article(
            0,
            "".join(
                f"<a href=/{name}>{name}</a>"
                for name in ("data", "empty", "blank", "binary", "one")
            ),
        ),
    )
    site.add("/data", '{"a": 1}', kind="application/json")
    site.add("/empty", b"")
    site.add("/blank", "<html><body> </body></html>")
    site.add("/binary", bytes(range(256)) * 50, kind="application/octet-stream")
    site.add("/one", article(1))
    run("crawl", site.url, "--own-site", cwd=tmp_path)
    items = {
        str(item["url"]).removeprefix(site.url).strip("/"): item
        for item in read_jsonl(tmp_path / "pages.jsonl")
    }
    assert {"", "one"} <= set(items) <= {"", "one", "empty", "blank"}
    assert all(not items[name]["content"] for name in ("empty", "blank") if name in items)


def test_a_broken_model_is_relearned(tmp_path: Path, site: Site) -> None:
    small_site(site, 6)
    run("crawl", site.url, "--own-site", cwd=tmp_path)
    (weights,) = (tmp_path / "models").glob("*/weights-*.json")
    weights.write_bytes(weights.read_bytes()[: weights.stat().st_size // 2])
    done = run("crawl", site.url, "--own-site", cwd=tmp_path)
    assert done.stderr.count("is set aside") == 1
    assert "(1 learned, 0 loaded)" in done.stderr
    assert len(read_jsonl(tmp_path / "pages.jsonl")) == 6


def test_a_failed_learning_is_said_once_and_its_items_pass_unfiltered(
    tmp_path: Path, site: Site
) -> None:
    small_site(site, 8)
    (tmp_path / "prior.npz").write_bytes(b"no prior")
    done = run(
        "crawl",
        site.url,
        "--own-site",
        "-s",
        "CONTENTSPIDER_PRIOR_FILE=prior.npz",
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == Outcome.INCOMPLETE
    items = read_jsonl(tmp_path / "pages.jsonl")
    assert len(items) == 8
    assert {item["model_version"] for item in items} == {"unfiltered"}
    assert done.stderr.count("could not be learned") == 1
    assert "'prior.npz' cannot be used" in done.stderr


def test_sites_of_one_crawl_are_learned_apart(tmp_path: Path, site: Site) -> None:
    with serve() as other:
        small_site(site, 5)
        small_site(other, 6)
        for number in range(6):  # the same text on another template
            path = f"/{number}" if number else "/"
            status, kind, body = other.pages[path]
            other.pages[path] = (
                status,
                kind,
                body.replace(b"<article>", b"<div class=main>").replace(b"</article>", b"</div>"),
            )
        done = run(
            "crawl",
            site.url,
            other.url,
            "--own-site",
            "-s",
            "CONTENTSPIDER_LEARN_PAGES=4",
            cwd=tmp_path,
        )
    assert "(2 learned, 0 loaded)" in done.stderr
    items = read_jsonl(tmp_path / "pages.jsonl")
    assert sorted(item["site"] for item in items) == sorted(
        ["127.0.0.1-" + site.url.rpartition(":")[2]] * 5
        + ["127.0.0.1-" + other.url.rpartition(":")[2]] * 6
    )
    assert all("All rights reserved" not in str(item["content"]) for item in items)


def test_the_project_of_scrapy_cfg_crawls_a_site(tmp_path: Path, site: Site) -> None:
    small_site(site, 3)
    settings = [
        "-s",
        f"CONTENTSPIDER_MODELS_DIR={tmp_path / 'models'}",
        "-s",
        "DOWNLOAD_DELAY=0",
        "-s",
        "LOG_LEVEL=WARNING",
    ]
    command = [
        sys.executable,
        "-m",
        "scrapy",
        "crawl",
        "site",
        "-a",
        f"url={site.url}",
        "-O",
        str(tmp_path / "out.csv"),
        *settings,
    ]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT, check=False
    )
    assert done.returncode == 0, done.stderr
    assert len((tmp_path / "out.csv").read_text().split(site.url)) == 4
    assert len(list((tmp_path / "models").glob("*/manifest.json"))) == 1


def test_a_site_of_one_page(tmp_path: Path, site: Site) -> None:
    site.add("/", article(3))
    run("crawl", site.url, "--own-site", cwd=tmp_path)
    (item,) = read_jsonl(tmp_path / "pages.jsonl")
    assert prose(3, 1) in item["content"]
    assert "All rights reserved" not in item["content"]


def test_the_same_address_comes_out_once_though_its_text_varies(tmp_path: Path, site: Site) -> None:
    small_site(site, 3)
    pages, count = site.answer, iter(range(100))
    site.answer = lambda path: (
        (
            200,
            "text/html",
            article(0, f"<a href=/>home</a><a href=/1>1</a><p>Visitor {next(count)}</p>").encode(),
        )
        if path == "/"
        else pages(path)
    )
    run("crawl", site.url, "--own-site", cwd=tmp_path)
    ids = [item["id"] for item in read_jsonl(tmp_path / "pages.jsonl")]
    assert len(ids) == len(set(ids)) == 2


def test_odd_markup_and_addresses_lose_no_page(tmp_path: Path, site: Site) -> None:
    half = (
        '<script type="application/ld+json">{"@type": [{"@id": 1}], "headline": "Cut'
        ' \\ud83d"}</script><title>'
    )
    links = (
        "".join(f"<a href=/{number}>x</a>" for number in range(1, 4))
        + "<a href='http://[broken'>x</a>"
    )
    site.add("/", article(0, links).replace("<title>", half))
    site.add("/1", article(1))
    site.add("/2", article(2).replace("<title>", half))
    site.add("/3", article(3).replace("<article>", f"<article class='{'a' * 50_000}'>"))
    site.add(
        "/sitemap.xml",
        f"<urlset><url><loc>http://[broken</loc></url><url><loc>http://\u2100.org/</loc></url><url><loc>{site.url}/4</loc></url></urlset>",
        kind="application/xml",
    )
    site.add("/4", article(4))
    done = run("crawl", site.url, "--own-site", cwd=tmp_path)
    assert len(read_jsonl(tmp_path / "pages.jsonl")) == 5
    assert "(1 learned" in done.stderr


def test_a_start_that_moved_is_followed(tmp_path: Path, site: Site) -> None:
    small_site(site, 3)
    with serve() as old:
        old.add("/", f"<meta http-equiv=refresh content='0; url={site.url}/'>")
        run("crawl", old.url, "--own-site", cwd=tmp_path)
    assert len(read_jsonl(tmp_path / "pages.jsonl")) >= 3


def test_limits(tmp_path: Path, site: Site) -> None:
    small_site(site, 30)
    done = run("crawl", site.url, "--own-site", "--max-pages", "7", cwd=tmp_path)
    assert len(read_jsonl(tmp_path / "pages.jsonl")) == 7
    assert "(1 learned for this crawl, 0 saved: the crawl was cut short" in done.stderr
    assert not (tmp_path / "models").exists()
    site.add("/1", article(1, "<a href=/deep>deep</a>"))
    site.add("/deep", article(99))
    run("crawl", site.url, "--own-site", "--max-depth", "1", "--no-sitemaps", cwd=tmp_path)
    assert len(read_jsonl(tmp_path / "pages.jsonl")) == 30
    assert "/deep" not in site.requests


def test_copies_are_left_out_and_wrong_canonicals_lose_no_page(tmp_path: Path, site: Site) -> None:
    head = "<link rel=canonical href='/'>"
    site.add(
        "/",
        article(
            0, "<a href=/index.html>x</a><a href=/?ref=1>x</a><a href=/1>1</a><a href=/2>2</a>"
        ).replace("<title>", head + "<title>"),
    )
    site.pages["/index.html"] = site.pages["/?ref=1"] = site.pages["/"]
    for number in (1, 2):
        site.add(f"/{number}", article(number).replace("<title>", head + "<title>"))
    run("crawl", site.url, "--own-site", cwd=tmp_path)
    assert sorted(str(item["url"]) for item in read_jsonl(tmp_path / "pages.jsonl")) == [
        f"{site.url}/",
        f"{site.url}/1",
        f"{site.url}/2",
    ]


PROJECT = """
import json, sys
from dataclasses import dataclass
import scrapy
from scrapy.crawler import AsyncCrawlerProcess
from contentspider import ContentItem
from contentspider.crawl.middleware import PAGE_META_KEY

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
def test_the_addon_in_a_project_of_the_users(tmp_path: Path, site: Site, stop_after: int) -> None:
    small_site(site, 8)
    (tmp_path / "project.py").write_text(PROJECT)
    done = subprocess.run(
        [sys.executable, "project.py", site.url + "/", str(stop_after)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr, done.stderr
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


def test_links_come_from_the_tree() -> None:
    html = """<base href="/b/"><a href="x?a=1#top">1</a><a href=" https://e.org/y ">2</a>
    <a href="//f.org/z">3</a><a href="#top">4</a><a href="mailto:a@b">5</a><a href="pic.JPG">6</a>
    <a href="http://[broken">7</a><a href="x?a=1">8</a><area href="/map"><a>9</a>"""
    root = Selector(text=html).root
    assert page_links(root, "https://e.org/a/") == [
        "https://e.org/b/x?a=1",
        "https://e.org/y",
        "https://f.org/z",
        "https://e.org/map",
    ]


HREFS = [
    "x",
    "?x",
    ";x",
    "",
    ".",
    "../x",
    "/x",
    "//f.org/x",
    "//",
    "//?p=2",
    "http:",
    "https://",
    "http:?p=2",
    "http:x",
    "https:x",
    "&#1;?p=2",
    "/\t/?x",
    "\n?y",
]


@pytest.mark.parametrize(
    "base",
    [
        "http://e.org",
        "http://e.org?a=/b/c",
        "http://e.org/",
        "https://e.org/a/b.html?c=d/e",
        "http://e.org/a/;b?c",
    ],
)
def test_links_mean_what_they_mean_on_their_page(base: str) -> None:
    known = remembering()
    for href in HREFS:
        root = Selector(text=f'<a href="{href}">1</a>').root
        clean = (root.find(".//a").get("href") or "").strip().replace("\t", "").replace("\n", "")
        parts = urlsplit(address := urljoin(base, clean).partition("#")[0])
        expected = [address] if clean and parts.scheme in ("http", "https") and parts.netloc else []
        found = [page_links(root, base, resolve=resolve) for resolve in (None, known, known)]
        assert found == [expected] * 3, href


def test_links_too_long_to_be_addresses_are_none() -> None:
    root = Selector(
        text=f'<a href="data:,{"x" * 10_000}">1</a><a href="/{"y" * 10_000}">2</a>'
    ).root
    assert page_links(root, "https://e.org/a/") == []
    base = "https://e.org/" + "q" * 10_000
    assert page_links(Selector(text="<a href=?z>1</a>").root, base) == [base + "?z"]


def test_a_broken_base_is_none() -> None:
    root = Selector(text="<base href='http://[x'><a href=y>1</a>").root
    assert page_links(root, "https://e.org/a/") == ["https://e.org/a/y"]


def test_sites_are_told_apart_by_domain_or_host() -> None:
    assert (
        SiteKeys().key("https://blog.example.co.uk/x")
        == SiteKeys().key("http://example.co.uk")
        == "example.co.uk"
    )
    assert SiteKeys("host").key("https://blog.example.co.uk/x") == "blog.example.co.uk"
    assert SiteKeys().key("http://127.0.0.1:8000/") == "127.0.0.1-8000"
    assert SiteKeys().key("http://[::1]:8000/") == "__1-8000"
    assert "/" not in SiteKeys().key("http://../..%2f/")
    with pytest.raises(ValueError, match="'domain', 'host'"):
        SiteKeys("page")


def test_fields_that_we_do_not_have_are_refused() -> None:
    with pytest.raises(ValueError, match="maps \\['text'\\]"):
        FieldMap({"my.Item": {"text": "body"}})


def test_extract_learns_folders_and_files(example_corpus: Path, tmp_path: Path) -> None:
    run("extract", str(example_corpus / "html"), "-o", "out.jsonl", cwd=tmp_path)
    (corpus,) = find_corpora(example_corpus)
    items = {item["url"]: item for item in read_jsonl(tmp_path / "out.jsonl")}
    scores = [token_f1(str(items[page.path]["content"]), page.text) for page in corpus.gold()]
    assert sum(scores) / len(scores) >= 0.97
    (tmp_path / "a.html").write_text(article(1))
    (tmp_path / "empty.html").write_text("")
    mirror = tmp_path / "mirror"
    mirror.mkdir()
    (mirror / "page").write_text("<!-- saved --><!DOCTYPE html>" + article(1))
    (mirror / "page.php").write_text(article(2))
    (mirror / "style.css").write_text("p { color: red }")
    (mirror / "notes.txt").write_text("a < b")
    run("extract", "mirror", "-o", "mirror.jsonl", cwd=tmp_path)
    assert [item["url"] for item in read_jsonl(tmp_path / "mirror.jsonl")] == ["page", "page.php"]
    done = run("extract", "a.html", "empty.html", cwd=tmp_path)
    assert json.loads(done.stdout)["content"].startswith("Page 1\n")
    assert "empty.html holds no text" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["extract", "nowhere"], "nowhere: no such file or folder"),
        (["extract", "."], "no HTML files"),
        (["models", "show", "example.org"], "no model of 'example.org'; it has: none yet"),
        (["evaluate", ".", "-o", "x"], "has no corpora"),
        (["crawl", "http://127.0.0.1:9/", "-o", "pages.parquet"], "names no format"),
        (["crawl", "http://127.0.0.1:9/", "-o", "none/pages.jsonl"], "its folder does not exist"),
        (["evaluate", ".", "-o", "x", "--prior", "none.npz"], "none.npz"),
        (["crawl", "http://[::1"], "is no address of a website"),
        (["crawl", ""], "is no address of a website"),
        (
            ["crawl", "example.org", "-s", "CONTENTSPIDER_LABELS=vote"],
            "use one of 'votes', 'paper'",
        ),
        (
            ["crawl", "example.org", "-s", "CONTENTSPIDER_SITE_BY=page"],
            "use one of 'domain', 'host'",
        ),
        (["crawl", "example.org", "-s", "CONTENTSPIDER_PRIOR_FILE=none"], "does not exist"),
    ],
)
def test_mistakes_are_said_in_a_line(arguments: list[str], message: str, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x")
    done = run(*arguments, cwd=tmp_path, check=False)
    assert done.returncode == 1
    assert message in done.stderr or arguments[-1] == "none.npz"


def test_evaluate_learns_without_the_gold(example_corpus: Path, tmp_path: Path) -> None:
    gold = {
        json.loads(line)["path"]: json.loads(line)["text"]
        for line in (example_corpus / "gold.jsonl").read_text().splitlines()
    }
    for arguments in ([], ["--crawl"], ["--alone"]):
        run("evaluate", str(example_corpus), "-o", "out.jsonl", *arguments, cwd=tmp_path)
        rows = read_jsonl(tmp_path / "out.jsonl")
        assert {row["path"] for row in rows} == set(gold)
        assert sum(token_f1(str(row["text"]), gold[str(row["path"])]) for row in rows) / len(
            rows
        ) >= (0.8 if arguments == ["--alone"] else 0.95)


def test_a_page_of_another_class_than_html_has_no_tree() -> None:
    assert Page.from_html("plain text").content.blocks[0].text == "plain text"


@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_crawl_tells_its_progress(is_terminal: bool, site: Site, tmp_path: Path) -> None:
    if is_terminal:
        pytest.importorskip("rich")
    for number in range(3):
        site.add(
            "/" if number == 0 else f"/{number}",
            article(number, "<a href=/1>1</a><a href=/2>2</a>"),
        )
    command = [
        sys.executable,
        "-m",
        "contentspider",
        "crawl",
        site.url,
        "--own-site",
        "--no-sitemaps",
        "-o",
        "pages.jsonl",
    ]
    ours, theirs = pty.openpty() if is_terminal else os.pipe()
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "200"}
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=theirs, stderr=theirs, env=environment
    ) as process:
        os.close(theirs)
        told = b""
        with suppress(OSError):  # how a terminal ends
            while part := os.read(ours, 10_000):
                told += part
        os.close(ours)
    assert process.returncode == 0
    line = rb"3 pages, 3 items, 0 held, 0 queued, 1 sites known, [\d.]+ pages/s"
    # A terminal's line is renewed in its place; elsewhere it is a line like any other.
    assert re.search(line if is_terminal else rb"^" + line + rb"$", told, re.MULTILINE)
    assert (b"\x1b[" in told) == is_terminal
