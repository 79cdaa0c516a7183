"""Real crawls of sites on loopback, from the command line."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from contentspider.evaluation.corpora import find_corpora
from contentspider.ground.sites import SiteKeys
from contentspider.site.models.identity import page_id
from contentspider.site.models.item import item_schema
from contentspider_research.serve import SiteServer
from tests.conftest import TIMEOUT, Site, read_jsonl, run, serve, token_f1
from tests.processes import Popen
from tests.sites import article, prose, small_site

jsonschema = pytest.importorskip("jsonschema")

if TYPE_CHECKING:
    from pathlib import Path


def test_each_page_is_output_once_and_second_crawl_loads_model(
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
            for item in items:
                jsonschema.validate(item, item_schema())
            by_path[name] = dict(zip(files, items, strict=True))
    assert "(1 learned, 0 loaded)" in first.stderr
    assert "(0 learned, 1 loaded)" in second.stderr
    # At the end, no item waits any more.
    assert re.search(r"^writing: \d+ pages, [\d.]+ pages/s$", first.stderr, re.MULTILINE)
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
    assert "div.entry/p" in shown.split("boilerplate (")[0]
    assert "cookie-notice" in shown.split("boilerplate (")[1]


def test_crawl_process_imports_neither_scikit_learn_nor_scipy(tmp_path: Path, site: Site) -> None:
    small_site(site, 12)
    command = [sys.executable, "-X", "importtime", "-m", "contentspider"]
    command += ["crawl", site.url, "--own-site"]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=TIMEOUT, check=True
    )
    loaded = set(re.findall(r"\| +(\w+)$", done.stderr, re.MULTILINE))
    assert "(1 learned, 0 loaded)" in done.stderr, "in a process of its own"
    assert "scrapy" in loaded
    assert not loaded & {"sklearn", "scipy"}


def test_crawl_obeys_robots_txt_and_reads_its_sitemap(tmp_path: Path, site: Site) -> None:
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


def test_sites_in_one_crawl_are_learned_separately(tmp_path: Path, site: Site) -> None:
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


def test_site_of_one_page_is_extracted(tmp_path: Path, site: Site) -> None:
    site.add("/", article(3))
    run("crawl", site.url, "--own-site", cwd=tmp_path)
    (item,) = read_jsonl(tmp_path / "pages.jsonl")
    assert prose(3, 1) in item["content"]
    assert "All rights reserved" not in item["content"]


def test_each_url_is_output_once_though_its_text_varies(tmp_path: Path, site: Site) -> None:
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


def test_moved_start_page_is_followed(tmp_path: Path, site: Site) -> None:
    small_site(site, 3)
    with serve() as old:
        old.add("/", f"<meta http-equiv=refresh content='0; url={site.url}/'>")
        run("crawl", old.url, "--own-site", cwd=tmp_path)
    assert len(read_jsonl(tmp_path / "pages.jsonl")) >= 3


def test_max_pages_and_max_depth_limit_crawl(tmp_path: Path, site: Site) -> None:
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


def test_max_pages_ends_crawl_of_endless_copies(tmp_path: Path, site: Site) -> None:
    small_site(site, 3)
    answer = site.answer
    # Whatever else is asked for is one page, with links to more of the kind.
    copy = article(9, "<a href=more/>more</a><a href=other/>other</a>").encode()
    site.answer = lambda path: (
        answer(path) if path in site.pages or path == "/robots.txt" else (200, "text/html", copy)
    )
    site.add("/1", article(1, "<a href=/x/>x</a>"))
    limits = ("--own-site", "--no-sitemaps", "--max-pages", "20")
    done = run("crawl", site.url, *limits, cwd=tmp_path)
    pages = [path for path in site.requests if path not in ("/robots.txt", "/llms.txt")]
    assert len(set(pages)) <= 20
    assert "max_pages" in done.stderr


def test_copies_are_skipped_and_wrong_canonicals_lose_no_page(tmp_path: Path, site: Site) -> None:
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


def test_site_keys_use_registered_domain_or_host() -> None:
    assert (
        SiteKeys().key("https://blog.example.co.uk/x")
        == SiteKeys().key("http://example.co.uk")
        == "example.co.uk"
    )
    assert SiteKeys("host").key("https://blog.example.co.uk/x") == "blog.example.co.uk"
    assert SiteKeys().key("http://127.0.0.1:8000/") == "127.0.0.1-8000"
    assert SiteKeys().key("http://[::1]:8000/") == "__1-8000"
    assert "/" not in SiteKeys().key("http://../..%2f/")


@pytest.mark.parametrize("is_terminal", [True, False])
def test_crawl_prints_progress_to_terminal_and_log(
    is_terminal: bool, site: Site, tmp_path: Path
) -> None:
    if is_terminal:
        pytest.importorskip("rich")
    for number in range(3):
        site.add(
            "/" if number == 0 else f"/{number}",
            article(number, "<a href=/1>1</a><a href=/2>2</a>"),
        )
    command = [sys.executable, "-m", "contentspider", "crawl", site.url]
    command += ["--own-site", "--no-sitemaps", "-o", "pages.jsonl"]
    ours, theirs = pty.openpty() if is_terminal else os.pipe()
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "200"}
    with Popen(command, cwd=tmp_path, stdout=theirs, stderr=theirs, env=environment) as process:
        os.close(theirs)
        told = b""
        with suppress(OSError):  # how a terminal ends
            while part := os.read(ours, 10_000):
                told += part
        os.close(ours)
    assert process.returncode == 0
    line = rb"3 pages, [\d.]+ pages/s"
    # A terminal's line is renewed in its place; elsewhere it is a line like any other.
    whole = rb"^(?:writing: )?" + line + rb"$"  # the last phase may be over by then
    assert re.search(line if is_terminal else whole, told, re.MULTILINE)
    assert (b"\x1b[" in told) == is_terminal
