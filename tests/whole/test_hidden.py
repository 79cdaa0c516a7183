"""Crawls of sites whose addresses give a page that stands for others: shells, and walls."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from contentspider.state.crawls.entries import last_crawl
from contentspider.state.outcome import Outcome
from tests.conftest import Site, read_jsonl, run
from tests.sites import article, prose, small_site

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Answer = tuple[int, str, bytes]

HTML = "text/html; charset=utf-8"
SHELL = (
    b"<body><noscript>Bitte JavaScript.</noscript><div id=a>Moment</div><script src=/a></script>"
)
CONSENT = f"<h1>Tea?</h1><p>{prose('consent')}</p><form method=post><button>Yes</button></form>"
FILES = ("/robots.txt", "/llms.txt", "/sitemap.xml")


def crawl(site: Site, folder: Path, *options: str) -> Outcome:
    """Crawl a site into an index; return how that ended."""
    command = ("crawl", site.url, "--own-site", "--index", "--stats", "stats.json", *options)
    done = run(*command, cwd=folder, check=False)
    told = json.loads((folder / "stats.json").read_text())
    assert done.returncode == told["exit_code"], done.stderr
    if done.returncode == Outcome.CONTENT_HIDDEN:
        assert "quality:" not in done.stderr
    return Outcome(done.returncode)


def outputs(folder: Path) -> tuple[int, int]:
    """Return how many items the output has, and how many documents the index."""
    output = folder / "pages.jsonl"
    search = ("search", "river", "--limit", "50", "--json")  # a word of `prose`
    found = run(*search, cwd=folder, check=False).stdout
    return len(read_jsonl(output)) if output.exists() else 0, found.count("\n")


def everywhere(site: Site, answer: Callable[[str], Answer]) -> None:
    """Serve the same answer at all addresses, but for the files that tell where pages are."""
    pages = site.pages
    none = 404, HTML, b""
    site.answer = lambda path: pages.get(path, none) if path in FILES else answer(path)


def to_consent(path: str) -> Answer:
    """Redirect every path to a form, which leads to the terms."""
    if path.startswith("/consent"):
        return 200, HTML, f"{CONSENT}<a href=/terms>Terms</a>".encode()
    if path == "/terms":
        return 200, HTML, article(9).encode()
    return 302, f"{HTML}\r\nLocation: /consent?back={quote(path, safe='')}", b""


def test_shells_are_told_and_are_no_items(site: Site, tmp_path: Path) -> None:
    places = "".join(f"<url><loc>{site.url}/{number}</loc></url>" for number in range(6))
    site.add("/sitemap.xml", f"<urlset>{places}</urlset>", kind="application/xml")
    everywhere(site, lambda _: (200, HTML, SHELL))
    assert crawl(site, tmp_path) is Outcome.CONTENT_HIDDEN
    assert outputs(tmp_path) == (0, 0)
    told = json.loads((tmp_path / "stats.json").read_text())
    assert told["outcome"] == "content_hidden" and "--render" in told["reasons"][0]
    assert told["stats"]["contentspider/pages/skipped/shell"] == 7
    assert "--render" in run("status", site.url, cwd=tmp_path).stdout
    (history,) = tmp_path.rglob("*.sqlite")
    found = last_crawl(history)
    assert found and set(found["hidden"].values()) == {"shell"}


def test_wall_that_start_redirects_to_is_told_and_terms_beside_it_are_read(
    site: Site, tmp_path: Path
) -> None:
    everywhere(site, to_consent)
    assert crawl(site, tmp_path) is Outcome.CONTENT_HIDDEN
    assert outputs(tmp_path) == (1, 1)
    assert str(read_jsonl(tmp_path / "pages.jsonl")[0]["url"]).endswith("/terms")
    other = tmp_path / "forced"
    other.mkdir()
    assert crawl(site, other, "--force") is Outcome.COMPLETE
    assert outputs(other) == (2, 2)


def test_form_to_log_in_that_all_addresses_redirect_to_is_told(site: Site, tmp_path: Path) -> None:
    form = "<h1>Please log in</h1><form method=post><input name=p type=password></form>"

    def answer(path: str) -> tuple[int, str, bytes]:
        if path == "/login":
            return 200, HTML, form.encode()
        return 302, f"{HTML}\r\nLocation: /login", b""

    everywhere(site, answer)
    assert crawl(site, tmp_path) is Outcome.CONTENT_HIDDEN
    assert "--login" in json.loads((tmp_path / "stats.json").read_text())["reasons"][0]
    assert outputs(tmp_path) == (0, 0)


@pytest.mark.parametrize("kind", ["shell", "wall"])
def test_known_pages_stay_while_site_hides_them(kind: str, site: Site, tmp_path: Path) -> None:
    small_site(site, 4)
    pages = site.answer
    assert crawl(site, tmp_path) is Outcome.COMPLETE
    before = (tmp_path / "pages.jsonl").read_bytes()
    everywhere(site, to_consent if kind == "wall" else lambda _: (200, HTML, SHELL))
    assert crawl(site, tmp_path) is Outcome.CONTENT_HIDDEN
    assert (tmp_path / "pages.jsonl").read_bytes() == before
    assert outputs(tmp_path) == (4, 4 + (kind == "wall"))
    site.answer = pages
    assert crawl(site, tmp_path) is Outcome.COMPLETE
    assert outputs(tmp_path) == (4, 4)
