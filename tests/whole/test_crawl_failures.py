"""Crawls in which something fails, or is not as it should be: what can be read comes out."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

from contentspider.state.outcome import Outcome
from tests.conftest import Site, read_jsonl, run
from tests.sites import article, small_site

if TYPE_CHECKING:
    from pathlib import Path


def test_crawl_of_failing_site_keeps_pages_already_read(site: Site, tmp_path: Path) -> None:
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


def test_status_says_that_page_is_too_large(site: Site, tmp_path: Path) -> None:
    small_site(site, 4)
    links = (
        "<a href=/1>One</a> <a href=/2>Two</a> <a href=/large>Large</a> <a href=/round>Round</a>"
    )
    site.add("/", article(0, links))
    pages, html = site.answer, "text/html; charset=utf-8"
    large = gzip.compress(b"<p>A row of a long table.</p>" * 10_000)
    site.answer = lambda path: (
        (200, f"{html}\r\nContent-Encoding: gzip", large)
        if path == "/large"
        else (302, f"{html}\r\nLocation: {path}/a", b"")
        if path.startswith("/round")
        else pages(path)
    )
    limit = ("-s", "DOWNLOAD_MAXSIZE=100000", "-s", "REDIRECT_MAX_TIMES=3")
    done = run("crawl", site.url, "--own-site", "--no-sitemaps", *limit, cwd=tmp_path)
    assert "too large" in done.stderr
    status = run("status", site.url, cwd=tmp_path).stdout
    assert f"1 it unpacks to more than DOWNLOAD_MAXSIZE (such as {site.url}/large)" in status
    assert "1 it redirects without end" in status
    assert "component" not in status
    assert "--resume" not in status


def test_unreachable_start_url_is_reported_with_exit_code(tmp_path: Path, site: Site) -> None:
    done = run(
        "crawl", "http://127.0.0.1:9/", "-s", "RETRY_ENABLED=False", cwd=tmp_path, check=False
    )
    assert done.returncode == Outcome.NOTHING_READ
    assert "http://127.0.0.1:9/ could not be read" in done.stderr
    done = run("crawl", site.url + "/none", "--own-site", cwd=tmp_path, check=False)
    assert done.returncode == Outcome.NOTHING_READ
    assert "the server answered 404" in done.stderr


def test_crawl_skips_non_html_responses_and_survives_empty_pages(
    tmp_path: Path, site: Site
) -> None:
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


def test_broken_model_is_relearned(tmp_path: Path, site: Site) -> None:
    small_site(site, 6)
    run("crawl", site.url, "--own-site", cwd=tmp_path)
    (weights,) = (tmp_path / "models").glob("*/generations/1/weights.json.gz")
    weights.write_bytes(weights.read_bytes()[: weights.stat().st_size // 2])
    done = run("crawl", site.url, "--own-site", cwd=tmp_path)
    assert done.stderr.count("is renamed") == 1
    assert "(1 learned, 0 loaded)" in done.stderr
    assert len(read_jsonl(tmp_path / "pages.jsonl")) == 6


def test_failed_learning_is_logged_once_and_items_stay_unfiltered(
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


def test_malformed_markup_and_urls_lose_no_page(tmp_path: Path, site: Site) -> None:
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
