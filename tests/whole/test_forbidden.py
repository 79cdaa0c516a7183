"""Start addresses that may not be read, and answers without a body: the crawl says why."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from contentspider.ground.robots import RobotsTxt
from contentspider.state.outcome import Outcome
from tests.conftest import Site, read_jsonl, run
from tests.sites import article, small_site

if TYPE_CHECKING:
    from pathlib import Path

HTML = "text/html; charset=utf-8"


def crawl(site: Site, folder: Path, code: Outcome) -> tuple[str, dict[str, int]]:
    """Crawl a site; return what is told, and the stats."""
    command = ("crawl", f"{site.url}/", "--own-site", "--stats", "stats.json")
    done = run(*command, cwd=folder, check=False)
    assert done.returncode == code, done.stderr
    told = json.loads((folder / "stats.json").read_text())
    return " ".join(told["reasons"]), told["stats"]


@pytest.mark.parametrize(
    ("rules", "line"),
    [
        ("User-agent: *\nDisallow: /", 2),
        ("# Ours\nUser-agent: *\nDisallow: /a\nAllow: /b\nDisallow: /*\nDisallow: /b", 5),
        ("User-agent: x\nDisallow: /\n\nUser-agent: *\nCrawl-delay: 1\n disallow : /\n", 6),
        ("User-agent: x\nUser-agent: *\nDisallow: /$\nDisallow: /", 3),
    ],
)
def test_line_of_robots_txt_that_forbids_is_found(rules: str, line: int) -> None:
    found = RobotsTxt(rules).forbidding_line("https://e.org/", "contentspider")
    assert found == (line, rules.splitlines()[line - 1].strip())


def test_robots_txt_that_forbids_start_is_told_with_line(site: Site, tmp_path: Path) -> None:
    small_site(site, 3)
    site.add("/robots.txt", "User-agent: *\nDisallow: /1\nDisallow: /\n", kind="text/plain")
    told, _ = crawl(site, tmp_path, Outcome.NOTHING_READ)
    assert f"line 3 of {site.url}/robots.txt" in told and "Disallow: /" in told
    assert "ROBOTSTXT_OBEY" in told


@pytest.mark.parametrize("is_header", [True, False])
def test_start_page_that_asks_not_to_be_indexed_is_told(
    is_header: bool, site: Site, tmp_path: Path
) -> None:
    tag = "" if is_header else "<meta name=robots content='noarchive, NoIndex'>"
    header = "\r\nX-Robots-Tag: noindex, nofollow" if is_header else ""
    site.add("/", article(0).replace("<head>", f"<head>{tag}"), kind=HTML + header)
    told, stats = crawl(site, tmp_path, Outcome.NOTHING_READ)
    part = "X-Robots-Tag: noindex, nofollow" if is_header else 'content="noarchive, NoIndex"'
    assert part in told and "CONTENTSPIDER_OBEY_META_ROBOTS" in told
    assert stats["contentspider/pages/skipped/noindex"] == 1


def test_answer_without_body_is_no_page_and_known_page_stays(site: Site, tmp_path: Path) -> None:
    links = "<a href=/1>One</a> <a href=/2>Two</a> <a href=/3>Three</a> <a href=/4>Four</a>"
    site.add("/", article(0, links))
    site.add("/1", article(1))
    site.add("/2", article(2))
    site.add("/3", b"")
    site.add("/4", b" \n\t", kind="text/plain")
    _, stats = crawl(site, tmp_path, Outcome.COMPLETE)
    assert stats["contentspider/pages/skipped/empty"] == 2
    assert {str(item["url"])[-2:] for item in read_jsonl(tmp_path / "pages.jsonl")} == {
        *("/1", "/2", f"{site.url}/"[-2:])
    }
    site.add("/2", b"")
    _, stats = crawl(site, tmp_path, Outcome.INCOMPLETE)
    assert stats["contentspider/pages/unread/empty"] == 1
    assert stats.get("contentspider/changes/gone", 0) == 0
    site.add("/2", article(2))
    _, stats = crawl(site, tmp_path, Outcome.COMPLETE)
    assert stats["contentspider/changes/unchanged"] == 3
