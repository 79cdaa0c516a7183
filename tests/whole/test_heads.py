"""Servers that send without end before a body: each such address is unread, the memory stays flat,
and the other pages are read.
"""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

from scrapy import Request
from scrapy.http import Response
from scrapy.utils.test import get_crawler

from contentspider.crawl.middlewares import cookies
from contentspider.crawl.middlewares.cookies import SiteCookies
from contentspider.ground.process_memory import MB
from contentspider.state.outcome import Outcome
from tests.conftest import read_jsonl
from tests.hostile import serve_hostile
from tests.sites import article

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.hostile import Exchange

GOOD = 6
MOST = 300 * MB
# Prints the most memory of a command, which counts as its own what the process had that started it.
MEASURE = """
import resource, subprocess, sys
code = subprocess.call(sys.argv[1:])
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(code)
"""
START = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
LONG = b"v" * 8_000


def endless(start: bytes, part: Callable[[int], bytes]) -> Callable[[Exchange], None]:
    """Return a handler that sends *start*, and then parts until the client closes."""

    def handle(exchange: Exchange) -> None:
        exchange.peer.sendall(start)
        number = 0
        while not exchange.server.closed.is_set():  # `sendall` raises an error that ends it
            exchange.peer.sendall(b"".join(part(number + each) for each in range(8)))
            number += 8

    return handle


ENDLESS = {
    "/names": endless(START, lambda number: b"X-%d: %s\r\n" % (number, LONG)),
    "/tiny": endless(START, lambda number: b"".join(b"%d:\r\n" % number for _ in range(1_000))),
    "/fold": endless(START + b"X: 1\r\n", lambda number: b" " + LONG + b"\r\n"),
    "/interim": endless(b"", lambda number: b"HTTP/1.1 103 Early Hints\r\nX: 1\r\n\r\n" * 500),
    "/cookies": endless(START, lambda number: b"Set-Cookie: n%d=%s\r\n" % (number, LONG)),
}


def test_endless_headers_are_unread_and_take_little_memory(tmp_path: Path) -> None:
    with serve_hostile() as site:
        site.handlers.update(ENDLESS)
        paths = [*ENDLESS, *(f"/{number}" for number in range(1, GOOD))]
        site.add("/", article(0, "".join(f"<a href={path}>Page</a> " for path in paths)))
        for number in range(1, GOOD):
            site.add(f"/{number}", article(number))
        crawl = ["-m", "contentspider", "crawl", site.url, "--own-site", "--no-sitemaps"]
        crawl += ["-s", "DOWNLOAD_TIMEOUT=20"]
        command = [sys.executable, "-c", MEASURE, sys.executable, *crawl]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == Outcome.COMPLETE, done.stderr[-3000:]
        assert f"{len(ENDLESS)} failed ({len(ENDLESS)} headers too large)" in done.stderr
        urls = {item["url"] for item in read_jsonl(tmp_path / "pages.jsonl")}
        assert {f"{site.url}/{number}" for number in range(1, GOOD)} < urls
        assert len(urls) == GOOD
        peak = int(re.findall(r"^\d+$", done.stdout, re.MULTILINE)[-1]) * 1024
        assert peak < MOST


def test_cookies_of_site_are_bounded() -> None:
    jars = SiteCookies.from_crawler(get_crawler(settings_dict={"COOKIES_ENABLED": True}))
    for number in range(40):
        request = Request(f"https://host{number}.example.org/")
        values = [f"name{number}-{each}=v; Path=/{each % 3}" for each in range(200)]
        values.append("large=" + "v" * 5_000)
        jars.process_response(request, Response(request.url, headers={"Set-Cookie": values}))
    kept = list(jars.jars[None])
    assert len(kept) <= cookies.MAX_ALL_COOKIES
    last = [cookie for cookie in kept if cookie.domain == "host39.example.org"]
    assert len(last) == cookies.MAX_COOKIES, "the newest host has all that a host may have"
    assert "large" not in {cookie.name for cookie in kept}
    again = Request("https://host39.example.org/2")
    jars.process_request(again)
    assert b"name39-197=v" in again.headers["Cookie"], "the last that it set"
