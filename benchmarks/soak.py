"""Crawls a large site of small pages again and again, of which one in a hundred fails for ever.

    python benchmarks/soak.py [--pages 20000] [--crawls 4]

Of the faults, six in ten are status 500, three are bodies that are cut short, and one is an answer
that never comes. For each crawl it prints the exit code, the numbers of items, of addresses that
failed and of those that are known as broken, the largest resident set of the process, and the
time. It exits with 1 if an item is missing, or if the fourth crawl or a later one is not complete.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from memory import high_water

PER_LISTING = 50  # pages from one listing to the next; listings have no faults
FAULTY = 100  # one page of so many fails
FAULT = 37
KINDS = ("status",) * 6 + ("cut",) * 3 + ("silent",)
FIRST_COMPLETE = 4  # the crawl from which on the faults are known
WORDS = (
    "river stone garden letter winter market window bridge summer paper music forest table harbour"
    " mountain engine school kitchen island morning travel story doctor animal colour planet light"
).split()


def fault(number: int) -> str:
    """Return the kind of fault of a page, "" for a good page."""
    is_faulty = number % FAULTY == FAULT
    return KINDS[number // FAULTY % len(KINDS)] if is_faulty else ""


def html(number: int, pages: int) -> str:
    """Return a page of about 2 kB; a listing links to the pages until the next listing."""
    draw = random.Random(number)
    prose = "".join(
        f"<p>{' '.join(draw.choices(WORDS, k=30)).capitalize()} {number * 7919}.</p>"
        for _ in range(4)
    )
    links = [0, *range(PER_LISTING, min(4 * PER_LISTING, pages), PER_LISTING)]
    if number % PER_LISTING == 0:
        listing = number // PER_LISTING
        links += [each * PER_LISTING for each in (2 * listing + 1, 2 * listing + 2)]
        links += range(number + 1, number + PER_LISTING)
    shown = "".join(f"<a href='/{each}'>Page {each}</a> " for each in links if each < pages)
    return (
        f"<!DOCTYPE html><html><head><title>Page {number}</title></head><body><nav>{shown}</nav>"
        f"<main><h1>Page {number}</h1>{prose}</main><footer>About us, contact, imprint</footer>"
    )


class Site(asyncio.Protocol):
    """Just enough of HTTP to serve the pages, and their faults."""

    def __init__(self, pages: int) -> None:
        self._pages = pages
        self._waiting = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        *requests, self._waiting = (self._waiting + data).split(b"\r\n\r\n")
        for request in requests:
            self._answer(request.split(b" ", 2)[1].decode("latin-1"))

    def _answer(self, path: str) -> None:
        name = path.removeprefix("/") or "0"
        is_page = name.isdigit() and int(name) < self._pages
        body = html(int(name), self._pages).encode() if is_page else b"<p>none</p>"
        kind = fault(int(name)) if is_page else ""
        if kind == "silent":
            return
        status = "200 OK" if is_page else "404 Not Found"
        if kind == "status":
            status = "500 Internal Server Error"
        length = len(body) + (1_000 if kind == "cut" else 0)
        head = f"HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {length}\r\n\r\n"
        self._transport.write(head.encode() + body)
        if kind == "cut":
            self._transport.close()


async def serve(pages: int) -> None:
    """Serve the site, after printing its address, until the process is killed."""
    server = await asyncio.get_running_loop().create_server(lambda: Site(pages), "127.0.0.1", 0)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/", flush=True)
    await server.serve_forever()


def crawl(url: str, folder: Path) -> dict[str, Any]:
    """Crawl the site once, and return the figures of the crawl."""
    command = [sys.executable, "-m", "contentspider", "crawl", url, "--own-site"]
    command += ["--stats", "stats.json", "--log-level", "ERROR", "-s", "DOWNLOAD_TIMEOUT=3"]
    started, peak = time.monotonic(), 0.0
    with (folder / "log").open("ab") as log:
        process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)
        while process.poll() is None:
            peak = max(peak, high_water(process.pid))
            time.sleep(0.5)
    stats = json.loads((folder / "stats.json").read_text())["stats"]
    with (folder / "pages.jsonl").open("rb") as file:
        urls = {json.loads(line)["url"] for line in file}
    history = "contentspider/changes/"
    return {
        "code": process.returncode,
        "items": len(urls),
        "failed": stats.get("contentspider/pages/failed", 0),
        "broken": stats.get(f"{history}broken", 0),
        "unchanged": stats.get(f"{history}unchanged", 0),
        "MB": round(peak),
        "seconds": round(time.monotonic() - started),
    }


def main() -> int:
    """Run the soak, print its figures, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pages", type=int, default=20_000)
    parser.add_argument("--crawls", type=int, default=4)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        asyncio.run(serve(options.pages))
    expected = sum(not fault(number) for number in range(options.pages))
    command = [sys.executable, __file__, "--serve", "--pages", str(options.pages)]
    is_right = True
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, env=dict(os.environ)
        ) as server,
    ):
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        for number in range(1, options.crawls + 1):
            figures = crawl(url, Path(folder))
            print(f"crawl {number}: {figures}, {expected} items expected", flush=True)
            is_right &= figures["items"] == expected
            is_right &= number < FIRST_COMPLETE or figures["code"] == 0
        server.terminate()
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
