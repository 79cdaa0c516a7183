"""Crawls that could not read all that they found: nothing is lost, and nobody is told otherwise."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from itertools import count
from typing import TYPE_CHECKING

import pytest

from contentspider.state.book.book import Book
from contentspider.state.outcome import Outcome
from tests.conftest import TIMEOUT, Site, read_jsonl, run, serve
from tests.messages import wording
from tests.processes import Popen, run_forked
from tests.run.test_run import at_request
from tests.sites import small_site

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Answer = tuple[int, str, bytes]

COMMAND = ["crawl", "--own-site", "--no-sitemaps", "-o", "pages.jsonl", "--log-level", "INFO"]
FAST = ["-s", "RETRY_TIMES=1", "-s", "CONTENTSPIDER_PROGRESS_SECS=0"]


@pytest.fixture
def flat_site(site: Site) -> Site:
    """Return a site of 60 pages that the first one links to."""
    return fill(site)


def fill(site: Site) -> Site:
    links = "".join(f"<a href=/{number}>Page {number}</a> " for number in range(1, 60))
    for number in range(60):
        text = f"This is the text of page {number}, and it is about {number * 7919} things. " * 4
        more = links if number == 0 else ""
        site.add(f"/{number or ''}", f"<h1>Page {number}</h1><p>{text}</p>{more}")
    site.server.handle_error = lambda *_: None  # type: ignore[method-assign]
    return site


def book_of(site: Site, folder: Path) -> Book:
    name = re.sub(r"^http://([\d.]+):", r"\1-", site.url)
    return Book(folder / f".scrapy/contentspider/{name}.sqlite", read_only=True)


def reasons(site: Site, folder: Path) -> list[str | None]:
    book = book_of(site, folder)
    try:
        return [entry.reason for entry in book.runs.all()]
    finally:
        book.close()


def numbers(folder: Path, name: str = "pages.jsonl") -> list[int]:
    items = read_jsonl(folder / name)
    return sorted(int((str(item["url"]).split("/", 3)[3:] or [""])[0] or 0) for item in items)


def failing_after(
    answer: Callable[[str], Answer], first: int, last: int, failure: Callable[[], Answer]
) -> Callable[[str], Answer]:
    """Return an answer of a server that fails from its *first* to its *last* request."""
    asked = count(1)

    def answer_or_fail(path: str) -> Answer:
        return failure() if first <= next(asked) <= last else answer(path)

    return answer_or_fail


def drop() -> Answer:
    raise ConnectionAbortedError("the server drops the connection")


def busy() -> Answer:
    return 503, "text/html", b"busy"


def broken() -> Answer:
    return 500, "text/html", b"broken"


def test_failing_server_keeps_previous_output_and_crawl_resumes(
    flat_site: Site, tmp_path: Path
) -> None:
    (tmp_path / "pages.jsonl").write_text("yesterday\n")
    answer = flat_site.answer
    flat_site.answer = failing_after(answer, 20, 10_000, broken)
    done = run(*COMMAND, *FAST, flat_site.url, cwd=tmp_path, check=False)
    assert "pages.jsonl is left unchanged" in done.stderr
    assert (tmp_path / "pages.jsonl").read_text() == "yesterday\n"
    assert reasons(flat_site, tmp_path) == ["incomplete"]
    flat_site.answer = answer
    run(*COMMAND, *FAST, "--resume", flat_site.url, cwd=tmp_path)
    assert numbers(tmp_path) == list(range(60))
    assert reasons(flat_site, tmp_path) == ["incomplete", "finished"]


def test_stopped_crawl_keeps_previous_outputs_and_resumed_crawl_replaces_them(
    flat_site: Site, tmp_path: Path
) -> None:
    command = [*COMMAND, "-o", "pages.csv", *FAST, flat_site.url]
    run(*command, cwd=tmp_path)
    files = [tmp_path / "pages.jsonl", tmp_path / "pages.csv"]
    before = [file.read_bytes() for file in files]
    flat_site.add("/1", flat_site.pages["/1"][2].decode().replace("7919", "17"))
    answer, asked = flat_site.answer, len(flat_site.requests)
    arguments = [sys.executable, "-m", "contentspider", *command, "-o", "new.md"]
    with Popen(arguments, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        at_request(flat_site, asked + 30, lambda: process.send_signal(signal.SIGTERM))
        _, stderr = process.communicate(timeout=TIMEOUT)
    assert process.returncode == Outcome.INTERRUPTED, stderr
    assert [file.read_bytes() for file in files] == before
    for part in ("pages.jsonl is left unchanged", "left unchanged: pages.csv", ".jsonl.partial"):
        assert part in stderr
    assert (tmp_path / ".pages.jsonl.partial").stat().st_size > 1_000
    assert "This is the text" in (tmp_path / "new.md").read_text(), "it replaces nothing"
    flat_site.answer = answer
    run(*command, "--resume", cwd=tmp_path)
    assert numbers(tmp_path) == list(range(60))
    assert all("about 17 things" in file.read_text() for file in files)


def test_pages_that_always_fail_do_not_keep_the_previous_output(
    flat_site: Site, tmp_path: Path
) -> None:
    answer = flat_site.answer
    failing = {f"/{number}" for number in range(40, 60)}
    flat_site.answer = lambda path: broken() if path in failing else answer(path)
    run(*COMMAND, *FAST, flat_site.url, cwd=tmp_path, check=False)
    (tmp_path / "pages.jsonl").write_text("yesterday\n")
    done = run(*COMMAND, *FAST, flat_site.url, cwd=tmp_path, check=False)
    assert numbers(tmp_path) == list(range(40)), done.stderr
    failing |= {f"/{number}" for number in range(30, 40)}
    run(*COMMAND, *FAST, flat_site.url, cwd=tmp_path, check=False)
    assert numbers(tmp_path) == list(range(40)), "a quarter of the known pages failed"


def test_failed_urls_are_retried_at_end_of_crawl(flat_site: Site, tmp_path: Path) -> None:
    answer, asked = flat_site.answer, dict.fromkeys(["/7", "/8"], 0)

    def busy_for_a_while(path: str) -> Answer:
        if path in asked:
            asked[path] += 1
        return busy() if asked.get(path, 3) <= 2 else answer(path)

    flat_site.answer = busy_for_a_while
    done = run(*COMMAND, *FAST, flat_site.url, cwd=tmp_path, check=False)
    assert "2 addresses " + wording("crawl.unread-are-retried") in done.stderr
    assert asked == {"/7": 3, "/8": 3}
    assert numbers(tmp_path) == list(range(60))
    assert reasons(flat_site, tmp_path) == ["finished"]


@pytest.mark.thorough
def test_crawl_starts_anew_after_page_is_unreadable_in_two_runs(
    flat_site: Site, tmp_path: Path
) -> None:
    answer = flat_site.answer
    flat_site.answer = lambda path: busy() if path == "/7" else answer(path)
    for expected in (["incomplete"], ["incomplete"] * 2, ["incomplete"]):
        done = run(*COMMAND, *FAST, "--resume", flat_site.url, cwd=tmp_path, check=False)
        assert reasons(flat_site, tmp_path) == expected
        assert numbers(tmp_path) == [number for number in range(60) if number != 7]
    assert "1 address could not be read in 2 runs; a new crawl starts" in done.stderr


@pytest.mark.parametrize("failure", [drop, pytest.param(busy, marks=pytest.mark.thorough)])
def test_crawl_waits_for_end_of_outage(
    flat_site: Site, tmp_path: Path, failure: Callable[[], Answer]
) -> None:
    flat_site.answer = failing_after(flat_site.answer, 10, 18, failure)
    # One after the other: an answer that overtakes failures would end their row.
    settings = [*FAST, "-s", "CONCURRENT_REQUESTS=1"]
    done = run(*COMMAND, *settings, flat_site.url, cwd=tmp_path)
    assert "8 " + wording("crawl.no-answers") in done.stderr
    assert "answers again after" in done.stderr
    assert numbers(tmp_path) == list(range(60))
    assert reasons(flat_site, tmp_path) == ["finished"]


def test_crawl_continues_with_other_hosts_while_one_is_down(
    flat_site: Site, tmp_path: Path
) -> None:
    with serve("127.0.0.2") as dying:
        answer = fill(dying).answer
        dying.answer = failing_after(answer, 10, 10_000, drop)
        command = [*COMMAND, *FAST, "-s", "CONTENTSPIDER_OUTAGE_SECS=1", "--resume"]
        command += ["--name", "both", flat_site.url, dying.url]
        done = run(*command, cwd=tmp_path, check=False)
        assert done.returncode == Outcome.INCOMPLETE
        assert re.search(r"incomplete: 1 host did not answer.*\d+ addresses in", done.stderr)
        urls = [str(item["url"]) for item in read_jsonl(tmp_path / "pages.jsonl")]
        assert sum(url.startswith(flat_site.url) for url in urls) == 60
        assert len(dying.requests) < 60, "the queue is kept, not burnt"
        status = run("status", "both", cwd=tmp_path).stdout
        assert "outage" in status
        assert "It is not finished" in status
        dying.answer = answer
        asked = len(flat_site.requests)
        run(*command, cwd=tmp_path)
        assert numbers(tmp_path) == sorted([*range(60), *range(60)])
        again = set(flat_site.requests[asked:]) & {"/", *(f"/{number}" for number in range(60))}
        assert not again, "all of its pages are known"


PROJECT = """
import os, sys
import scrapy
from scrapy.crawler import AsyncCrawlerProcess, CrawlerProcess
from contentspider import ContentItem

class MySpider(scrapy.Spider):
    name = "my"
    start_urls = [sys.argv[1]]
    def parse(self, response):
        if response.url.endswith("/3") and "BREAK" in os.environ:
            raise RuntimeError("in the callback")
        if response.url.endswith("/3") and "KILL" in os.environ:
            os._exit(9)
        yield ContentItem.from_response(response)
        for href in response.css("a::attr(href)").getall():
            yield response.follow(href, errback=self.failed)
    def failed(self, failure):
        pass

class Break:
    def process_item(self, item):
        if item.url.endswith("/4") and "BREAK" in os.environ:
            raise RuntimeError("in a pipeline")
        return item

class Lose:
    def process_response(self, request, response):
        if request.url.endswith("/5") and "BREAK" in os.environ:
            raise RuntimeError("in a middleware")
        return response

settings = eval(os.environ.get("SETTINGS", "{}"))
process = (CrawlerProcess if "TWISTED_REACTOR" in settings else AsyncCrawlerProcess)({
    "ADDONS": {"contentspider.Addon": 500}, "CONTENTSPIDER_DURABLE": True,
    "CONTENTSPIDER_RESUME": True, "CONTENTSPIDER_OUTPUT_FILE": "pages.jsonl",
    "ITEM_PIPELINES": {Break: 300}, "DOWNLOADER_MIDDLEWARES": {Lose: 100}, "LOG_LEVEL": "INFO",
    "CONTENTSPIDER_RELEARN": False, "REMOTE_CONTROL_ENABLED": False,
    "TELNETCONSOLE_ENABLED": False, "DOWNLOAD_DELAY": 0, **settings,
})
process.crawl(MySpider)
process.start()
"""


def run_project(site: Site, folder: Path, **environment: str) -> str:
    (folder / "project.py").write_text(PROJECT)
    command = ("project.py", f"{site.url}/")
    done = run_forked(*command, cwd=folder, seconds=TIMEOUT, **environment)
    done.check_returncode()
    return done.stderr


def test_component_failures_are_recorded_and_retried_by_resumed_crawl(
    flat_site: Site, tmp_path: Path
) -> None:
    run_project(flat_site, tmp_path, BREAK="1")
    book = Book(tmp_path / ".scrapy/contentspider/my.sqlite", read_only=True)
    assert book.runs.all()[-1].reason == "incomplete"
    found = {url.rpartition("/")[2]: reason for reason, _, url in book.frontier.reasons("retry")}
    assert found.keys() == {"3", "5"}
    assert "in the callback" in found["3"]
    assert "a component failed" in found["5"]
    assert sum(book.items.held_counts().values()) == 1, "the item that failed in a pipeline"
    book.close()
    assert numbers(tmp_path) == [number for number in range(60) if number not in (3, 4, 5)]
    run_project(flat_site, tmp_path)
    assert numbers(tmp_path) == list(range(60))


def test_page_that_kills_process_is_given_up_after_repeated_deaths(
    flat_site: Site, tmp_path: Path
) -> None:
    (tmp_path / "project.py").write_text(PROJECT)
    for runs in range(1, 8):  # noqa: B007 - it is looked at afterwards
        command = ("project.py", f"{flat_site.url}/")
        code = run_forked(*command, cwd=tmp_path, seconds=TIMEOUT, KILL="1").returncode
        if code == 0:
            break
    assert runs == 5, "three deaths that are known, after one that nobody saw"
    assert numbers(tmp_path) == [number for number in range(60) if number != 3]
    book = Book(tmp_path / ".scrapy/contentspider/my.sqlite", read_only=True)
    assert [url for _, _, url in book.frontier.reasons("failed")] == [f"{flat_site.url}/3"]
    book.close()


def test_state_is_stored_without_scrapy_cfg_and_in_state_dir(
    flat_site: Site, tmp_path: Path
) -> None:
    (tmp_path / "my_settings.py").touch()
    project = {"SCRAPY_SETTINGS_MODULE": "my_settings", "PYTHONPATH": f"{tmp_path}:{os.getcwd()}"}  # noqa: PTH109
    said = run_project(flat_site, tmp_path, **project)
    assert "ERROR" not in said
    assert (tmp_path / ".scrapy/contentspider/my.sqlite").exists()
    run_project(flat_site, tmp_path, SETTINGS=repr({"CONTENTSPIDER_STATE_DIR": "state"}))
    assert (tmp_path / "state/my.sqlite").exists()
    (tmp_path / "file").touch()
    said = run_project(flat_site, tmp_path, SETTINGS=repr({"CONTENTSPIDER_STATE_DIR": "file"}))
    assert re.search(r"ERROR: .*CONTENTSPIDER_STATE_DIR.*nothing is crawled", said)
    assert "Traceback" not in said


def test_crawl_without_asyncio_logs_one_error(flat_site: Site, tmp_path: Path) -> None:
    reactor = {"TWISTED_REACTOR": "twisted.internet.selectreactor.SelectReactor"}
    said = run_project(flat_site, tmp_path, SETTINGS=repr(reactor))
    assert said.count("ERROR: contentspider needs asyncio") == 1
    assert "Traceback" not in said
    assert flat_site.requests == []


def test_password_appears_in_neither_book_nor_log(flat_site: Site, tmp_path: Path) -> None:
    flat_site.add("/", f"<a href={flat_site.url.replace('//', '//me:secret@')}/9>Nine</a>")
    said = run_project(flat_site, tmp_path, SETTINGS=repr({"LOG_LEVEL": "DEBUG"}))
    assert "secret" not in said
    assert numbers(tmp_path) == [0, 9]
    for path in (tmp_path / ".scrapy/contentspider").rglob("*"):
        assert not path.is_file() or b"secret" not in path.read_bytes()


def test_small_site_is_crawled_completely(site: Site, tmp_path: Path) -> None:
    small_site(site, 3)
    run(*COMMAND, site.url, cwd=tmp_path)
    assert len(read_jsonl(tmp_path / "pages.jsonl")) == 3
    assert [path.name for path in tmp_path.glob(".pages*")] == []
