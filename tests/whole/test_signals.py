"""A signal ends a crawl within seconds, whatever it waits for, and `--resume` loses nothing."""

from __future__ import annotations

import signal
import sys
import time
from typing import TYPE_CHECKING

import pytest

from contentspider.state.outcome import Outcome
from tests.conftest import read_jsonl, run
from tests.hostile import Exchange, HostileSite, serve_hostile
from tests.processes import Popen
from tests.sites import article

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Waits = Callable[[HostileSite], None]

PAGES = 12
MOST_SECS = 5
COMMAND = ("crawl", "--log-level", "INFO")


@pytest.fixture
def hostile() -> Iterator[HostileSite]:
    with serve_hostile() as made:
        yield made


def good_site(site: HostileSite, has_links: bool = True) -> None:
    """Serve pages that a sitemap names, and the start page, unless it has no links."""
    links = "".join(f"<a href=/{number}>Page {number}</a> " for number in range(1, PAGES))
    places = "".join(f"<url><loc>{site.url}/{n}</loc></url>" for n in range(1, PAGES))
    for number in range(PAGES):
        site.add(f"/{number or ''}", article(number, links if has_links else ""))
    sitemap = f"<urlset>{places}</urlset>"
    site.handlers["/sitemap.xml"] = lambda made: made.send(sitemap, kind="application/xml")
    site.handlers.pop("/robots.txt", None)


def delay(site: HostileSite) -> None:
    rules = "User-agent: *\nCrawl-delay: 10\n"
    site.handlers["/robots.txt"] = lambda exchange: exchange.send(rules, kind="text/plain")


def stall(site: HostileSite) -> None:
    for number in range(1, PAGES):
        site.handlers[f"/{number}"] = Exchange.stall


def stall_robots(site: HostileSite) -> None:
    site.handlers["/robots.txt"] = Exchange.stall


def stall_sitemap(site: HostileSite) -> None:
    good_site(site, has_links=False)
    site.handlers["/sitemap.xml"] = Exchange.stall


def delay_by_setting(site: HostileSite) -> None:
    """Serve the pages at once: the crawl's own delay keeps it from them."""


def pause(site: HostileSite) -> None:
    for number in range(3, PAGES):
        site.handlers[f"/{number}"] = lambda exchange: exchange.send(
            "busy", "Retry-After: 100", status="503 Busy"
        )


@pytest.mark.parametrize(
    ("waits", "number", "said", "requests"),
    [
        (delay, signal.SIGINT, "asks for 10 s", 1),
        (stall, signal.SIGTERM, "", 5),
        (stall_sitemap, signal.SIGTERM, "", 3),
        (delay_by_setting, signal.SIGTERM, "", 1),
        pytest.param(stall_robots, signal.SIGTERM, "", 1, marks=pytest.mark.thorough),
        pytest.param(pause, signal.SIGINT, "asks for a pause", 5, marks=pytest.mark.thorough),
    ],
)
def test_signal_ends_crawl_that_waits_and_resumed_crawl_reads_all(
    waits: Waits, number: int, said: str, requests: int, hostile: HostileSite, tmp_path: Path
) -> None:
    good_site(hostile)
    waits(hostile)
    options = () if waits is delay else ("--own-site",)
    options += () if waits is stall_sitemap else ("--no-sitemaps",)
    slow = ("-s", "DOWNLOAD_DELAY=20") if waits is delay_by_setting else ()
    command = [sys.executable, "-m", "contentspider", *COMMAND, *options, *slow, hostile.url]
    log = tmp_path / "log"
    with log.open("w") as file, Popen(command, cwd=tmp_path, stderr=file) as process:
        while said not in log.read_text() or len(hostile.requests) < requests:
            assert process.poll() is None, log.read_text()
            time.sleep(0.02)  # it has no other sign of what it does
        sent_at = time.monotonic()
        process.send_signal(number)
        assert process.wait(60) == Outcome.INTERRUPTED
    assert time.monotonic() - sent_at < MOST_SECS
    assert "contentspider/pages/failed" not in log.read_text()
    good_site(hostile, has_links=waits is not stall_sitemap)
    run(*COMMAND, "--own-site", *options, "--resume", hostile.url, cwd=tmp_path)
    urls = [item["url"] for item in read_jsonl(tmp_path / "pages.jsonl")]
    assert len(urls) == len(set(urls)) == PAGES
