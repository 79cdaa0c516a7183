"""A real Scrapyd: an egg is deployed, jobs are scheduled, cancelled and gone on with."""

from __future__ import annotations

import io
import json
import re
import socket
import subprocess
import sys
import time
import uuid
import zipfile
from typing import TYPE_CHECKING, Any
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import ProxyHandler, Request, build_opener

import pytest

from contentspider.state.book.book import Book
from tests.conftest import ROOT, TIMEOUT, Site, read_jsonl
from tests.sites import small_site

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytest.importorskip("scrapyd", reason="pip install 'contentspider[dev]'")

POLL_SECS = 0.1
PROJECT = {
    "shop/__init__.py": "",
    "shop/settings.py": """
from pathlib import Path
BOT_NAME = "shop"
SPIDER_MODULES = ["shop.spiders", "contentspider.crawl.spider.spider"]
ADDONS = {"contentspider.Addon": 500}
CONTENTSPIDER_DURABLE = True
CONTENTSPIDER_ITEM_FIELDS = {"shop.items.Offer": {"content": "text"}}
TELNETCONSOLE_ENABLED = REMOTE_CONTROL_ENABLED = ROBOTSTXT_OBEY = False
DOWNLOAD_DELAY = 0
""",
    "shop/items.py": """
from dataclasses import dataclass

@dataclass
class Offer:
    url: str
    text: str = ""
""",
    "shop/spiders.py": """
import scrapy
from shop.items import Offer

class Offers(scrapy.Spider):
    name = "offers"

    async def start(self):
        yield scrapy.Request(self.url)

    def parse(self, response):
        yield Offer(response.url)
        yield from response.follow_all(response.css("a"))
""",
    "EGG-INFO/PKG-INFO": "Metadata-Version: 1.0\nName: shop\nVersion: 1.0\n",
    "EGG-INFO/entry_points.txt": "[scrapy]\nsettings = shop.settings\n",
    "EGG-INFO/top_level.txt": "shop\n",
    "EGG-INFO/zip-safe": "\n",
}


def egg() -> bytes:
    """Return the project as `setup.py bdist_egg` packs it, which is what scrapyd-client sends."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, text in PROJECT.items():
            archive.writestr(name, text)
    return file.getvalue()


class Scrapyd:
    """A Scrapyd that runs in *folder*, asked by its HTTP API."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        (folder / "scrapyd.conf").write_text(
            f"[scrapyd]\nhttp_port = {port}\npoll_interval = {POLL_SECS}\nitems_dir = items\n"
            "max_proc = 2\n"
        )
        self._open = build_opener(ProxyHandler({})).open
        self._log = (folder / "scrapyd.log").open("wb")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "scrapyd"], cwd=folder, stdout=self._log, stderr=self._log
        )

    def end(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(60)
        finally:
            self.process.kill()
            self.process.wait()
            self._log.close()

    def log(self) -> str:
        return (self.folder / "scrapyd.log").read_text(errors="replace")

    def get(self, name: str, **query: str) -> dict[str, Any]:
        with self._open(f"{self.url}/{name}.json?{urlencode(query)}", timeout=60) as answer:
            return json.load(answer)

    def post(self, name: str, **fields: str | list[str]) -> dict[str, Any]:
        body = urlencode(fields, doseq=True).encode()
        with self._open(f"{self.url}/{name}.json", body, timeout=60) as answer:
            told = json.load(answer)
        assert told["status"] == "ok", told
        return told

    def schedule(self, spider: str, url: str, *settings: str, **fields: str) -> str:
        """Schedule a job, and return its id."""
        told = self.post(
            "schedule", project="shop", spider=spider, url=url, setting=list(settings), **fields
        )
        return str(told["jobid"])

    def wait_for(self, what: str, is_so: Any) -> None:
        """Wait until something is so, a poll at a time, for as long as a test may take."""
        end = time.monotonic() + TIMEOUT
        while not is_so():
            assert time.monotonic() < end, f"{what}: {self.log()[-3000:]}"
            assert self.process.poll() is None, self.log()[-3000:]
            time.sleep(POLL_SECS)

    def wait_for_jobs(self, *jobs: str) -> None:
        self.wait_for("jobs end", lambda: self.finished() >= set(jobs))

    def finished(self) -> set[str]:
        return {job["id"] for job in self.get("listjobs", project="shop")["finished"]}

    def is_up(self) -> bool:
        try:
            return self.get("daemonstatus")["status"] == "ok"
        except (URLError, ConnectionError):
            return False

    def deploy(self, version: str) -> int:
        """Deploy the egg, and return how many spiders Scrapyd found in it."""
        boundary = uuid.uuid4().hex
        parts = [
            (b'name="project"', b"shop"),
            (b'name="version"', version.encode()),
            (b'name="egg"; filename="shop.egg"', egg()),
        ]
        body = b"".join(
            b"--%b\r\nContent-Disposition: form-data; %b\r\n\r\n%b\r\n"
            % (boundary.encode(), head, value)
            for head, value in parts
        )
        request = Request(  # noqa: S310 - to ourselves
            f"{self.url}/addversion.json",
            body + b"--%b--\r\n" % boundary.encode(),
            {"Content-Type": f"multipart/form-data; boundary={boundary}"},
        )
        with self._open(request, timeout=TIMEOUT) as answer:
            told = json.load(answer)
        assert told["status"] == "ok", told
        return int(told["spiders"])

    def items(self, spider: str, job: str) -> list[dict[str, object]]:
        return read_jsonl(self.folder / "items" / "shop" / spider / f"{job}.jl")

    def job_log(self, spider: str, job: str) -> str:
        return (self.folder / "logs" / "shop" / spider / f"{job}.log").read_text()

    def books(self) -> dict[str, list[str | None]]:
        """Return how the runs of each book ended."""
        found = {}
        for path in sorted((self.folder / ".scrapy" / "contentspider").glob("*.sqlite")):
            book = Book(path, read_only=True)
            found[path.stem] = [entry.reason for entry in book.runs.all()]
            book.close()
        return found


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scrapyd]:
    scrapyd = Scrapyd(tmp_path_factory.mktemp("scrapyd"))
    try:
        scrapyd.wait_for("Scrapyd starts", scrapyd.is_up)
        assert scrapyd.deploy("1.0") == 2
        yield scrapyd
    finally:
        scrapyd.end()


@pytest.mark.thorough
def test_scrapyd_runs_site_spider_and_user_spider(daemon: Scrapyd, site: Site) -> None:
    small_site(site, 5)
    jobs = {name: daemon.schedule(name, site.url) for name in ("site", "offers")}
    daemon.wait_for_jobs(*jobs.values())
    for name, job in jobs.items():
        log = daemon.job_log(name, job)
        assert "Traceback" not in log
        assert "ERROR" not in log, log
        items = daemon.items(name, job)
        assert len({item["url"] for item in items}) == 5, log
        texts = [str(item["content" if name == "site" else "text"]) for item in items]
        assert all(text.startswith("Page ") and len(text) > 200 for text in texts)
    assert daemon.books()["offers"] == ["finished"]


@pytest.mark.thorough
def test_parallel_scrapyd_jobs_of_one_spider_use_separate_books(
    daemon: Scrapyd, site: Site
) -> None:
    small_site(site, 5)
    answer = site.answer

    def waiting(path: str) -> tuple[int, str, bytes]:
        """Answer no job before both are at work."""
        if path == "/":
            daemon.wait_for("both ask", lambda: site.requests.count("/") == 2)
        return answer(path)

    site.answer = waiting
    jobs = [daemon.schedule("offers", site.url) for _ in range(2)]
    daemon.wait_for_jobs(*jobs)
    for job in jobs:
        assert len({item["url"] for item in daemon.items("offers", job)}) == 5
    books = daemon.books()
    (other,) = [name for name in books if name.removeprefix("offers-") in jobs]
    assert books[other] == books["offers"] == ["finished"]
    assert other in daemon.job_log("offers", other.removeprefix("offers-"))


@pytest.mark.thorough
def test_second_scrapyd_job_of_same_crawl_is_rejected(daemon: Scrapyd, site: Site) -> None:
    small_site(site, 3)
    answer, refused = site.answer, []

    def meanwhile(path: str) -> tuple[int, str, bytes]:
        if path == "/":
            refused.append(daemon.schedule("site", site.url))
            daemon.wait_for_jobs(*refused)
        return answer(path)

    site.answer = meanwhile
    first = daemon.schedule("site", site.url)
    daemon.wait_for_jobs(first)
    (second,) = refused
    assert "in use by another process" in daemon.job_log("site", second)
    assert len(daemon.items("site", first)) == 3


@pytest.mark.thorough
def test_cancelled_scrapyd_job_is_resumed(daemon: Scrapyd, site: Site) -> None:
    small_site(site, 40)
    answer = site.answer
    named = "CONTENTSPIDER_CRAWL=long"

    def cancelling(path: str) -> tuple[int, str, bytes]:
        if len(site.requests) == 10:
            daemon.post("cancel", project="shop", job=first)
        return answer(path)

    site.answer = cancelling
    first = daemon.schedule("offers", site.url, named, jobid="first")
    daemon.wait_for_jobs(first)
    assert daemon.books()["long"] == ["shutdown"]
    second = daemon.schedule("offers", site.url, named, "CONTENTSPIDER_RESUME=True")
    daemon.wait_for_jobs(second)
    assert daemon.books()["long"] == ["shutdown", "finished"]
    book = Book(daemon.folder / ".scrapy" / "contentspider" / "long.sqlite", read_only=True)
    assert book.items.count() == 40
    book.close()


def test_scrapyd_settings_in_docs_match_tested_project() -> None:
    text = (ROOT / "docs" / "scheduling.md").read_text().partition("## Scrapyd")[2]
    (block,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    lines = [line for line in block.splitlines() if "/srv/" not in line]
    assert lines
    assert set(lines) <= set(PROJECT["shop/settings.py"].splitlines())
