"""Crawls of sites that misbehave: each ends by itself, says what was wrong, and loses no good
page.
"""

from __future__ import annotations

import gzip
import itertools
import re
from datetime import date, timedelta
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from contentspider.crawl.base.links import MAX_LINKS
from contentspider.crawl.spider.traps import BARREN_PAGES
from contentspider.state.outcome import Outcome
from tests.conftest import read_jsonl, run
from tests.hostile import Exchange, HostileSite, bomb, serve_hostile
from tests.messages import wording
from tests.sites import article

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

GOOD = 12
OPTIONS = ["--own-site", "-s", "DOWNLOAD_TIMEOUT=2", "-s", "RETRY_TIMES=1"]


@pytest.fixture
def hostile() -> Iterator[HostileSite]:
    with serve_hostile() as made:
        yield made


def good_site(site: HostileSite, links: list[str]) -> None:
    """Add good pages; each of them links to all that is bad."""
    bad = "".join(f'<a href="{link}">more</a> ' for link in links)
    site.add(
        "/",
        article(
            0, "".join(f"<a href=/{number}>Page {number}</a> " for number in range(1, GOOD)) + bad
        ),
    )
    for number in range(1, GOOD):
        site.add(f"/{number}", article(number, bad))


def crawl(site: HostileSite, folder: Path, *options: str) -> tuple[str, list[str]]:
    """Crawl the site; return what was said, and the other pages' paths after checking that each
    good page came once.
    """
    done = run("crawl", site.url, *OPTIONS, *options, cwd=folder, check=False)
    assert done.returncode in (Outcome.COMPLETE, Outcome.INCOMPLETE), done.stderr[-3000:]
    paths = [
        str(item["url"]).removeprefix(site.url) or "/"
        for item in read_jsonl(folder / "pages.jsonl")
    ]
    good = {"/", *(f"/{number}" for number in range(1, GOOD))}
    assert sorted(path for path in paths if path in good) == sorted(good)
    assert len(set(paths)) == len(paths)
    return done.stderr, [path for path in paths if path not in good]


def test_broken_responses_are_counted_by_reason(hostile: HostileSite, tmp_path: Path) -> None:
    handlers = hostile.handlers
    handlers["/stall"] = Exchange.stall
    handlers["/stall-in-body"] = lambda exchange: (
        exchange.send("<p>half", length=1000),
        exchange.stall(),
    )
    handlers["/drip"] = lambda exchange: (
        exchange.send("<p>half", length=1_000_000),
        exchange.drip(),
    )
    handlers["/reset"] = Exchange.reset
    handlers["/silent"] = lambda exchange: None
    handlers["/no-http"] = lambda exchange: exchange.raw(b"\0\1\2 hello\r\n\r\n")
    handlers["/long-header"] = lambda exchange: exchange.raw(
        b"HTTP/1.1 200 OK\r\nX: " + b"a" * 1_000_000
    )
    handlers["/no-gzip"] = lambda exchange: exchange.send("plain", "Content-Encoding: gzip")
    handlers["/reset-in-body"] = lambda exchange: (
        exchange.send("<p>half", length=1000),
        exchange.reset(),
    )
    handlers["/half"] = lambda exchange: exchange.send("<p>half", length=1000)
    chunks = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n"
    handlers["/cut-chunks"] = lambda exchange: exchange.raw(chunks + b"5\r\n<p>ab\r\n5000\r\nabc")
    handlers["/stall-in-chunks"] = lambda exchange: (
        exchange.raw(chunks + b"5\r\n<p>ab\r\n"),
        exchange.stall(),
    )
    handlers["/stall-in-gzip"] = lambda exchange: (
        exchange.send(b"\x1f\x8b\x08\0", "Content-Encoding: gzip", length=1000),
        exchange.stall(),
    )
    handlers["/drip-in-header"] = lambda exchange: (
        exchange.raw(b"HTTP/1.1 200 OK\r\nContent-Type: te"),
        exchange.drip(),
    )
    handlers["/no-chunks"] = lambda exchange: exchange.raw(chunks + b"ZZ\r\n<p>ab\r\n")
    handlers["/bomb"] = lambda exchange: exchange.send(bomb(40), "Content-Encoding: gzip")
    handlers["/self"] = lambda exchange: exchange.redirect("/self")
    handlers["/circle"] = lambda exchange: exchange.redirect("/circle2")
    handlers["/circle2"] = lambda exchange: exchange.redirect("/circle")
    handlers["/nowhere"] = lambda exchange: exchange.redirect("http://[x")
    handlers["/denied"] = lambda exchange: exchange.send("no", status="999 Denied")
    failed = {*handlers, "/chain0"} - {"/circle2"}  # /circle2 is in /circle's circle
    # These are no failures.
    handlers["/binary"] = lambda exchange: exchange.send(bytes(range(256)) * 50)
    handlers["/pdf"] = lambda exchange: exchange.send(
        b"%PDF-1.4\n1 0 obj << /Type /Catalog >> endobj\n" * 50
    )
    handlers["/large"] = lambda exchange: exchange.send(
        gzip.compress(b"<title>Large</title>" + b"<p>a line of text</p>" * 200_000),
        "Content-Encoding: gzip",
    )
    handlers["/reload"] = lambda exchange: exchange.send(
        article(60).replace("<head>", "<head><meta http-equiv=refresh content='60; url=/reload'>")
    )
    busy = itertools.count()
    handlers["/busy"] = lambda exchange: (
        exchange.send("busy", "Retry-After: 1", status="503 Busy")
        if next(busy) == 0
        else exchange.send(article(61))
    )
    maps = itertools.count()

    def otherwise(exchange: Exchange) -> None:
        if exchange.path.startswith("/chain"):
            exchange.redirect(f"/chain{int(exchange.path[6:]) + 1}")
        elif "sitemap" in exchange.path:  # an index of ever new indexes
            exchange.send(
                f"<sitemapindex><sitemap><loc>{hostile.url}/sitemap{next(maps)}.xml</loc></sitemap></sitemapindex>",
                kind="application/xml",
            )
        else:
            exchange.send("User-agent: *\n" + "Disallow: /x/*/y\n" * 100_000, kind="text/plain")

    hostile.otherwise = otherwise
    good_site(hostile, sorted(failed | {"/binary", "/pdf", "/large", "/reload", "/busy"}))
    # On a busy machine 2 seconds are not enough for some that answer.
    said, others = crawl(hostile, tmp_path, "-s", "DOWNLOAD_TIMEOUT=6")
    assert set(others) == {"/large", "/reload", "/busy"}
    count, reasons = re.search(r"(\d+) failed \((.*)\)", said).groups()
    assert int(count) == len(failed) == 21
    assert sorted(reasons.split(", ")) == [
        "1 status 999",
        "1 too large",
        "4 cut short",
        "4 redirects",
        "5 broken",
        "6 timeout",
    ]
    assert next(maps) == 3
    # Before it knew RETRY_GIVE_UP_LOG_LEVEL, Scrapy said this as an error.
    assert "ERROR" not in re.sub(r"ERROR: Gave up retrying", "", said)


def test_pages_that_can_never_be_read_leave_crawl_complete(
    hostile: HostileSite, tmp_path: Path
) -> None:
    hostile.add("/", article(0, "<a href=/large>1</a><a href=/chain0>2</a><a href=/nowhere>3</a>"))
    large = gzip.compress(b"<p>tea</p>" * 100_000)
    hostile.handlers["/large"] = lambda exchange: exchange.send(large, "Content-Encoding: gzip")
    hostile.handlers["/nowhere"] = lambda exchange: exchange.redirect("http://[x")

    def otherwise(exchange: Exchange) -> None:
        if exchange.path.startswith("/chain"):
            exchange.redirect(f"/chain{int(exchange.path[6:]) + 1}")
        else:
            exchange.send("none", status="404 Not Found")

    hostile.otherwise = otherwise
    limits = ("-s", "DOWNLOAD_MAXSIZE=200000", "-s", "REDIRECT_MAX_TIMES=3")
    # `run` expects exit code 0.
    done = run("crawl", hostile.url, "--own-site", *limits, cwd=tmp_path)
    assert "3 failed (2 redirects, 1 too large)" in done.stderr
    status = run("status", hostile.url, cwd=tmp_path).stdout
    assert "a component failed" not in status
    assert "it unpacks to more than DOWNLOAD_MAXSIZE" in status
    assert "it redirects without end" in status


def test_unresponsive_or_looping_start_url_is_reported(
    hostile: HostileSite, tmp_path: Path
) -> None:
    hostile.otherwise = Exchange.stall
    done = run(
        "crawl", hostile.url, *OPTIONS, "-s", "DOWNLOAD_TIMEOUT=0.5", cwd=tmp_path, check=False
    )
    assert done.returncode == Outcome.NOTHING_READ
    assert (
        f"contentspider: {hostile.url} "
        + wording("crawl.page-unread")
        + " took longer than DOWNLOAD_TIMEOUT"
    ) in done.stderr
    hostile.otherwise = lambda exchange: exchange.redirect("/")
    done = run("crawl", hostile.url, *OPTIONS, cwd=tmp_path, check=False)
    assert done.returncode == Outcome.NOTHING_READ
    assert wording("crawl.page-redirects") + " without end" in done.stderr


@pytest.mark.thorough
def test_followed_links_per_page_are_limited(hostile: HostileSite, tmp_path: Path) -> None:
    hostile.add(
        "/robots.txt", "User-agent: *\nDisallow: /none/\n"
    )  # so that nothing is fetched for them
    hostile.add(
        "/many",
        article(50, "".join(f"<a href=/none/{number}>{number}</a>" for number in range(100_000))),
    )
    good_site(hostile, ["/many"])
    said, others = crawl(hostile, tmp_path)
    assert others == ["/many"]
    assert f"/many has more than {MAX_LINKS} links" in said
    assert re.search(r"^links that looked like traps: .*\b1 cut", said, re.MULTILINE)


def test_session_ids_are_removed_from_urls(hostile: HostileSite, tmp_path: Path) -> None:
    def answer(exchange: Exchange) -> None:
        if exchange.path.startswith("/home?"):
            exchange.send(article(70))
        elif exchange.path.startswith("/talk?sid="):
            exchange.send(article(1000 + int(exchange.path[-3:])))
        elif exchange.path.startswith("/old"):
            number = int(exchange.path[4])
            links = [f"old{n};jsessionid={uuid4().hex.upper()}.node1?a=1&b=2" for n in (1, 2)] + [
                f"/old{n}?a=1&sid={uuid4().hex}&b=2" for n in (1, 2)
            ]
            number += 60 if "?" in exchange.path else 50
            body = "".join(f"<a href='{link}'>old</a>" for link in links)
            exchange.send(article(number, body))
        else:
            exchange.send("", status="404 No")

    hostile.otherwise = answer
    hostile.handlers["/moved"] = lambda exchange: exchange.redirect(
        f"/home?PHPSESSID={uuid4().hex}"
    )
    talks = [
        f"/talk?sid={'0f' * 15}{number}" for number in range(100, 105)
    ]  # ids that say which talk is meant
    good_site(hostile, ["/old1", "/moved", *talks])
    said, others = crawl(hostile, tmp_path)
    assert sorted(others) == sorted(["/home", "/old1", "/old1?a=1&b=2", "/old2?a=1&b=2", *talks])
    assert len(hostile.requests) < 40
    assert said.count("without their session ids") == 1


def test_crawl_stops_following_endlessly_nested_paths(hostile: HostileSite, tmp_path: Path) -> None:
    draw = itertools.count()

    def answer(exchange: Exchange) -> None:
        if exchange.path.startswith("/nest/"):
            exchange.send(
                f"<h1>Nest</h1><a href={'a' if exchange.path.endswith('b/') else 'b'}/>in</a>"
            )
        elif exchange.path.startswith("/deep/"):
            exchange.send(
                "<h1>Deep</h1><a"
                f" href={''.join('abcdefghij'[int(digit)] for digit in str(next(draw)))}x/>in</a>"
            )
        else:
            exchange.send("", status="404 No")

    hostile.otherwise = answer
    good_site(hostile, ["/nest/a/", "/deep/"])
    said, others = crawl(hostile, tmp_path)
    assert len(others) < 60
    assert "2 repeated" in said
    assert said.count("path repeats itself") == 1


def calendar(day: date, form: str) -> str:
    days = "".join(
        f"<td><a href='{day.replace(day=number):{form}}'>{number}</a></td>"
        for number in range(1, 29)
    )
    steps = "".join(
        f"<a href='{day + timedelta(step):{form}}'>{day + timedelta(step):%b %d}</a> "
        for step in (-1, 1)
    )
    return (
        f"<title>{day:%d %B %Y}</title><h1>{day:%A, %B %d, %Y}</h1><p>No events on this"
        f" day.</p><table><tr>{days}</tr></table>{steps}"
    )


@pytest.mark.thorough
def test_crawl_stops_following_url_patterns_without_new_text(
    hostile: HostileSite, tmp_path: Path
) -> None:
    """Endless calendars, filters, and session ids that nobody knows."""
    filters = [f"{name}={value}" for name in ("filter", "sort", "page") for value in (1, 2)]

    def answer(exchange: Exchange) -> None:
        path, _, query = exchange.path.partition("?")
        if path.startswith("/calendar/"):
            exchange.send(calendar(date(*map(int, path.split("/")[2:])), "/calendar/%Y/%m/%d"))
        elif path == "/events":
            exchange.send(calendar(date.fromisoformat(query[5:]), "/events?date=%Y-%m-%d"))
        elif path == "/shop":
            teasers = sorted(
                (f"<p>Product {name} is for sale.</p>" for name in "abcdef"),
                key=lambda text: hash(text + query),
            )
            exchange.send(
                "".join(teasers)
                + "".join(f"<a href='/shop?{query}&{choice}'>{choice}</a> " for choice in filters)
            )
        elif path == "/ticket":
            exchange.send(
                f"<p>Welcome, guest {uuid4()}.</p><a href='/ticket?t={uuid4()}'>Again</a> <a"
                f" href='/ticket?t={uuid4()}'>And again</a>"
            )
        else:
            exchange.send("", status="404 No")

    hostile.otherwise = answer
    good_site(
        hostile, ["/calendar/2024/05/01", "/events?date=2024-05-01", "/shop?all=1", "/ticket?t=1"]
    )
    said, others = crawl(hostile, tmp_path)
    shapes = [path[:5] for path in others]
    for shape in ("/cale", "/even", "/shop", "/tick"):
        assert BARREN_PAGES < shapes.count(shape) < 10 * BARREN_PAGES, shape
    assert said.count("are not followed from one another any more") == 1
    assert re.search(r"^links that looked like traps: .*[\d,]+ barren", said, re.MULTILINE)
