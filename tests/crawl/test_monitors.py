"""Each alarm in a real crawl with Spidermon, switched on as docs/monitoring.md says."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.conftest import ROOT, TIMEOUT, Site
from tests.processes import run_forked
from tests.sites import NOTICE_SLOT, article, doubtful_site, prose, small_site

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("spidermon", reason="the monitors are an extra that is not installed here")
ITEMS, TEXT = "Extraction/items came out", "Extraction/text was kept"
EMPTY = "Empty pages/few pages lost all of their text"
RATIO = "Content ratio/enough of the text is content"
DRIFT = "Template drift/the model knows the pages"
ERRORS = "Errors/the pages could be read"
QUALITY = "Quality/the sites' own texts agree with their items"
DOUBTFUL = "Doubtful templates/few pages are of doubtful templates"


def crawl(site: Site, folder: Path, *options: str) -> tuple[dict[str, str], str]:
    """Crawl a site with the monitors of docs/monitoring.md; return what each said, and the log."""
    switches = re.search(
        r"^contentspider crawl https://example\.org (.*?)^```",
        (ROOT / "docs" / "monitoring.md").read_text(),
        re.MULTILINE | re.DOTALL,
    )
    assert switches
    settings = re.findall(r"-s '([^']+)'", switches[1])
    # Spidermon 1.27 logs by Spider.log(), which Scrapy 2.19 deprecates; nothing else may warn.
    done = run_forked(
        *("-W", "error", "-W", "ignore:Spider.log() is deprecated"),
        *("-m", "contentspider", "crawl", site.url, "--own-site", "--log-level", "INFO"),
        *(part for setting in settings for part in ("-s", setting)),
        *("-s", "RETRY_ENABLED=False", *options),
        cwd=folder,
        seconds=TIMEOUT,
    )
    assert "Error caught on signal handler" not in done.stderr, done.stderr
    return dict(re.findall(r"\[Spidermon\] (.+?)\.\.\. (\w+)", done.stderr)), done.stderr


def failed(results: dict[str, str]) -> set[str]:
    assert set(results) == {ITEMS, TEXT, RATIO, EMPTY, DRIFT, ERRORS, QUALITY, DOUBTFUL}
    return {name for name, status in results.items() if status not in ("OK", "SKIPPED")}


@pytest.mark.thorough
def test_good_crawl_passes_monitors_even_with_new_template(site: Site, tmp_path: Path) -> None:
    small_site(site, 12)
    results, _ = crawl(site, tmp_path)
    assert set(results.values()) == {"OK"}
    results, _ = crawl(site, tmp_path)
    assert set(results.values()) == {"OK"}, "with the stored model"
    for path, (status, kind, body) in site.pages.items():
        site.pages[path] = (
            status,
            kind,
            body.replace(b"<article>", b"<main><div class=story>").replace(
                b"</article>", b"</div></main>"
            ),
        )
    results, log = crawl(site, tmp_path)
    assert not failed(results)
    assert "its template has changed" in log


OPTIONS = [
    (),
    *(
        pytest.param(options, marks=pytest.mark.thorough)
        for options in [("--only", "changed"), ("--due",)]
    ),
]


@pytest.mark.parametrize("options", OPTIONS, ids=" ".join)
def test_monitors_pass_when_site_is_unchanged(
    site: Site, tmp_path: Path, options: tuple[str, ...]
) -> None:
    dead_links = "".join(f"<a href=/gone/{number}>Old {number}</a> " for number in range(9))
    links = "".join(f"<a href=/{number}>Page {number}</a> " for number in range(1, 9))
    pages = {"/": article(0, links + dead_links)}
    pages |= {f"/{number}": article(number) for number in range(1, 9)}

    def answer(path: str) -> tuple[int, str, bytes]:
        kind = "text/html; charset=utf-8"
        if path not in pages:
            return 404, kind, b"<p>none</p>"
        tag = f'"{path}"'
        if site.asked.headers.get("If-None-Match") == tag:
            return 304, f"{kind}\r\nETag: {tag}", b""
        return 200, f"{kind}\r\nETag: {tag}", pages[path].encode()

    site.answer = answer
    for number in range(3):
        results, log = crawl(site, tmp_path, *options)
        assert not failed(results), log
        assert "pages could not be read" not in log, f"crawl {number}"


def test_monitor_reports_pages_without_text(site: Site, tmp_path: Path) -> None:
    site.add("/", "<html><body><a href=/1><img src=x.png></a></body></html>")
    site.add("/1", "<html><body><script>render()</script></body></html>")
    results, log = crawl(site, tmp_path)
    assert failed(results) == {TEXT, DRIFT}
    assert results[RATIO] == "SKIPPED"
    assert "no text of any page was kept" in log


def test_monitor_reports_crawl_without_items(site: Site, tmp_path: Path) -> None:
    results, log = crawl(site, tmp_path)
    assert failed(results) == {ITEMS, TEXT, ERRORS}
    assert "the crawl has no items" in log


def test_monitor_reports_low_share_of_kept_text(site: Site, tmp_path: Path) -> None:
    menu = "".join(f"<li><a href=/#{number}>{prose(number)}</a></li>" for number in range(40))
    links = "".join(f"<a href=/{number}>Page {number}</a> " for number in range(1, 8))
    for number in range(8):
        site.add(
            f"/{number}" if number else "/",
            article(number, links).replace("<nav>", f"<nav><ul>{menu}</ul>"),
        )
    results, log = crawl(site, tmp_path)
    assert failed(results) == {RATIO}
    assert "less than the limit 0.1 (monitors.min_kept in" in log
    results, _ = crawl(site, tmp_path, "-s", "CONTENTSPIDER_MONITOR_MIN_KEPT=0.01")
    assert not failed(results)


def test_monitor_reports_unreadable_pages(site: Site, tmp_path: Path) -> None:
    small_site(site, 20)
    for number in range(15, 20):
        site.add(f"/{number}", "broken", status=500)
    results, log = crawl(site, tmp_path)
    assert failed(results) == {ERRORS}
    assert "5 pages could not be read" in log
    results, _ = crawl(site, tmp_path, "-s", "CONTENTSPIDER_MONITOR_MAX_FAILED=0.5")
    assert not failed(results)


def test_monitor_reports_doubtful_templates(site: Site, tmp_path: Path) -> None:
    doubtful_site(site)
    key = site.url.removeprefix("http://").replace(":", "-")
    results, log = crawl(site, tmp_path, "--no-sitemaps")
    assert failed(results) == {DOUBTFUL}
    assert f"6 pages of {key} with most text at {NOTICE_SLOT}; " in log
    assert "50.0%, more than the limit 0.1 (monitors.max_doubtful in" in log
    results, _ = crawl(site, tmp_path, "-s", "CONTENTSPIDER_MONITOR_MAX_DOUBTFUL=0.5")
    assert not failed(results)
