"""Office files, e-books and texts that pages link become items of a crawl, and of later crawls."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from scrapy.http import Request, Response, TextResponse

from contentspider.crawl.base.meta import START_META_KEY
from contentspider.crawl.middlewares.pages import BlocksMiddleware
from contentspider.run.summary import _documents
from tests.conftest import Site, read_jsonl, run
from tests.crawl.test_site_spider import page, parse
from tests.crawls import Crawl
from tests.officefiles import FILES, TEXT, docx_parts, zipped
from tests.sites import article, small_site

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def crawl(tmp_path: Path) -> Crawl:
    return Crawl(tmp_path)


pytest.importorskip("anydoc")
pytest.importorskip("pypdfium2")

OCTETS, PLAIN = "application/octet-stream", "text/plain; charset=utf-8"
MARKDOWN = "# Steaming\n\nThe leaves are steamed for a minute, and are dried then.\n"
NOTES = "Notes of the harvest, which was late.\n\nIt rained in May, so that the leaves are small.\n"


def serve_documents(site: Site) -> None:
    """Serve a small site that links documents of several kinds, some with a wrong type."""
    small_site(site, 6)
    links = ["/a.docx", "/b.ods", "/book", "/c.rtf", "/d.md", "/notes.txt", "/main.c", "/bad.xlsx"]
    links += ["/data.zip", "/feed/", "/json", "/1"]
    site.add("/", article(0, "".join(f"<a href={link}>{link}</a> " for link in links)))
    site.add("/1", article(1, "<a href=/1.md>As Markdown</a>"))
    site.add("/a.docx", FILES["docx"], kind=OCTETS)
    site.add("/b.ods", FILES["ods"], kind="text/html")
    site.add("/book", FILES["epub"], kind="application/epub+zip")
    site.add("/c.rtf", FILES["rtf"], kind="text/html")
    site.add("/d.md", MARKDOWN, kind="text/markdown")
    site.add("/notes.txt", NOTES, kind=PLAIN)
    site.add("/main.c", "int main;", kind=PLAIN)
    site.add("/bad.xlsx", FILES["xlsx"][:-500], kind=OCTETS)
    site.add("/feed/", "<rss><channel><item><title>Tea</title></item></channel></rss>")
    site.add("/json", '{"title": "Tea", "text": "<p>Tea is made of leaves."}')


def test_linked_documents_are_items_that_recrawls_compare(tmp_path: Path, site: Site) -> None:
    serve_documents(site)
    unsent: list[str] = []
    sent = site.answer

    def answer(path: str) -> tuple[int, str, bytes]:
        status, kind, body = sent(path)
        if path not in ("/a.docx", "/c.rtf"):
            return status, kind, body
        tag = f'"{hash(body)}"'
        if site.asked.headers.get("If-None-Match") == tag:
            unsent.append(path)
            return 304, kind, b""
        return status, f"{kind}\r\nETag: {tag}", body

    site.answer = answer

    def crawl() -> tuple[dict[str, dict[str, object]], dict[str, int]]:
        arguments = ("--own-site", "--no-sitemaps", "-o", "pages.jsonl", "--stats", "stats.json")
        run("crawl", site.url, *arguments, cwd=tmp_path)
        stats = json.loads((tmp_path / "stats.json").read_text())["stats"]
        items = read_jsonl(tmp_path / "pages.jsonl")
        return {str(item["url"]).removeprefix(site.url): item for item in items}, stats

    items, stats = crawl()
    documents = {path for path, item in items.items() if item["page_type"] == "document"}
    assert documents >= {"/a.docx", "/b.ods", "/book", "/c.rtf", "/d.md", "/notes.txt"}
    assert not {"/1.md", "/main.c", "/bad.xlsx", "/data.zip", "/feed/", "/json"} & items.keys()
    assert stats["contentspider/items/documents"] == len(documents)
    assert stats["contentspider/pages/skipped/document"] == 1
    assert stats["contentspider/pages/skipped/not_html"] == 3, "/data.zip, /feed/ and /json"
    assert {item["model_version"] for path, item in items.items() if path in documents} == {
        "unfiltered"
    }
    docx = items["/a.docx"]
    assert str(docx["published_at"]).startswith("2024-03-01")
    assert TEXT in str(docx["content"])
    assert items["/d.md"]["title"] == "Steaming"
    assert items["/notes.txt"]["title"] == "notes.txt"

    items, stats = crawl()
    assert {items[path]["change"] for path in documents} == {"unchanged"}
    assert len(set(unsent)) == 2, "the first answer 304 of a site is checked, the other is used"
    assert stats["contentspider/pages/not_modified"] >= 1
    assert stats["contentspider/pages/same_body"] >= 4, "what has no validators"
    assert {items[path]["page_type"] for path in documents} == {"document"}

    site.add("/a.docx", zipped(docx_parts("The harvest was early, and is over.")), kind=OCTETS)
    items, _ = crawl()
    assert items["/a.docx"]["change"] == "changed"
    assert "The harvest was early" in str(items["/a.docx"]["content"])
    assert items["/c.rtf"]["change"] == "unchanged"


def test_summary_counts_documents() -> None:
    assert not _documents({"contentspider/items/filtered": 3})
    stats = {"items/documents": 1_200, "pages/skipped/pdf": 1, "pages/skipped/document": 2}
    (line,) = _documents({f"contentspider/{name}": count for name, count in stats.items()})
    assert "1,200 read" in line and "3 cannot be read" in line and "pip" not in line
    (line,) = _documents({"contentspider/links/documents_left_out": 4})
    assert "4 not requested" in line and "contentspider[documents]" in line


def test_text_is_document_only_if_it_was_requested_as_page(crawl: Crawl) -> None:
    middleware = BlocksMiddleware(crawl.crawler)
    answer = TextResponse("https://e.org/robots.txt", body=b"Tea.", headers={"Content-Type": PLAIN})
    page_request = crawl.spider._page_request(answer.url, 0)
    assert middleware._document_kind(page_request, answer) == "text"
    assert middleware._document_kind(Request(answer.url), answer) == ""
    start = Request(answer.url, meta={START_META_KEY: True})
    assert middleware._document_kind(start, answer) == "text"
    docx = Response("https://e.org/x", body=FILES["docx"])
    assert middleware._document_kind(Request(docx.url), docx) == "office"


def test_links_to_documents_are_counted_without_extra(crawl: Crawl) -> None:
    crawl.spider.reads_documents = False
    links = "<a href=/a.docx>a</a><a href=/b.PDF?x=1>b</a><a href=/a.docx>a</a><a href=/c.zip>c</a>"
    links += "<a href=https://other.example/d.docx>of another site</a>"
    assert parse(crawl, "/1", page(1, links))[2] == []
    assert parse(crawl, "/2", page(2, links))[2] == []
    assert crawl.stat("links/documents_left_out") == 2
    crawl.spider.reads_documents = True
    found = parse(crawl, "/3", page(3, "<a href=/a.docx>a</a><a href=/x.zip>x</a>"))[2]
    assert found == ["/a.docx"]
