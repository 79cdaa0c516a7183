"""A crawl that is killed, again and again, at any moment: every page is in the output once, none is
lost.
"""

from __future__ import annotations

import random
import re
import resource
import signal
import subprocess
import sys
import threading
from itertools import count
from typing import TYPE_CHECKING

import pytest
from filelock import FileLock

from contentspider.site.models.identity import page_id
from tests.conftest import TIMEOUT, Site, read_jsonl, run
from tests.messages import wording
from tests.processes import Popen
from tests.sites import prose, small_site

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Answer = tuple[int, str, bytes]

PAGES = 1_000
LEARN_PAGES = 150
COMMAND = [
    "crawl",
    "--own-site",
    "--no-sitemaps",
    "--log-level",
    "INFO",
    "-s",
    f"CONTENTSPIDER_LEARN_PAGES={LEARN_PAGES}",
    "-s",
    "CONTENTSPIDER_PROGRESS_SECS=0",
]
# What the log says when a phase begins.
PHASES = {"learn": "learning from", "release": "learned model", "close": "Closing spider"}


def page(number: int) -> str:
    links = "".join(
        f"<li><a href=/p/{child}>Page {child}</a></li>"
        for child in range(8 * number + 1, 8 * number + 9)
        if child < PAGES
    )
    return (
        f"<html><head><title>Page {number}</title></head><body><nav><a href=/>Home</a> <a"
        f" href=/p/1>First</a></nav><main><h1>Page {number}</h1><p>{prose(number, 1)}</p>"
        f"<p>{prose(number, 2)}</p></main><ul>{links}</ul>"
        "<footer>© 2024 All rights reserved</footer></body></html>"
    )


@pytest.fixture
def large_site(site: Site) -> Site:
    bodies = {f"/p/{number}": page(number).encode() for number in range(1, PAGES)} | {
        "/": page(0).encode()
    }
    site.answer = lambda path: (
        (200, "text/html; charset=utf-8", bodies[path])
        if path in bodies
        else (404, "text/plain", b"")
    )
    return site


def run_until_killed(site: Site, folder: Path, phase: str, after: int) -> bool:
    """Crawl, and kill the process *after* so many answers (fetch) or milliseconds into a phase;
    tell whether it was in time.
    """
    command = [sys.executable, "-m", "contentspider", *COMMAND, "--resume", site.url]
    answer, timers = site.answer, []
    with Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True) as process:
        if phase == "fetch":
            site.answer = killing(process, answer, after)
        assert process.stderr is not None
        for line in process.stderr:
            assert "Traceback" not in line
            assert "cannot be kept" not in line
            assert "starts over" not in line
            if phase != "fetch" and PHASES[phase] in line and not timers:
                timers.append(threading.Timer(after / 1000, process.kill))
                timers[0].start()
        code = process.wait(TIMEOUT)
    for timer in timers:
        timer.cancel()
        timer.join()
    site.answer = answer
    assert code in (0, -signal.SIGKILL)
    return code != 0


def killing(
    process: subprocess.Popen[str], answer: Callable[[str], Answer], after: int
) -> Callable[[str], Answer]:
    """Return an answer of the server that kills the crawl when it has been asked so often."""
    numbers = count(1)

    def killing_answer(path: str) -> Answer:
        if next(numbers) == after:
            process.kill()
        return answer(path)

    return killing_answer


THOROUGH = [pytest.param(seed, marks=pytest.mark.thorough) for seed in (1, 2, 3)]


@pytest.mark.parametrize("seed", [0, *THOROUGH])
def test_crawl_killed_five_times_outputs_each_page_once(
    seed: int, large_site: Site, tmp_path: Path
) -> None:
    draw = random.Random(seed)
    name = re.sub(r"^http://([\d.]+):", r"\1-", large_site.url)
    kills = 0
    moments = [
        ("fetch", draw.randint(1, 125)),  # too few to learn from
        ("learn", draw.randint(0, 200)),
        ("release", draw.randint(0, 150)),
        ("fetch", draw.randint(20, 200)),
    ]
    moments += [
        draw.choice(
            [
                ("fetch", draw.randint(50, 450)),
                ("close", draw.randint(0, 40)),
                ("release", draw.randint(0, 450)),
            ]
        )
    ]
    for phase, after in moments:
        kills += run_until_killed(large_site, tmp_path, phase, after)
        if ": finished" in run("status", name, cwd=tmp_path).stdout:
            break  # the last moment may have come too late
    else:
        run(*COMMAND, "--resume", large_site.url, cwd=tmp_path)
    assert kills >= 4
    status = run("status", name, cwd=tmp_path).stdout
    assert status.count("the process was killed") >= 4, "all in one crawl"
    assert f"items: {PAGES} out, 0 held" in status
    items = read_jsonl(tmp_path / "pages.jsonl")
    expect_every_page_once(large_site, tmp_path)
    assert all(
        item["model_version"] != "unfiltered" and "All rights reserved" not in str(item["content"])
        for item in items
    )
    run("replay", name, "-o", "again.csv", cwd=tmp_path)
    assert (tmp_path / "again.csv").read_text().count("model_version") == 1


def expect_every_page_once(site: Site, folder: Path, output: str = "pages.jsonl") -> None:
    ids = [item["id"] for item in read_jsonl(folder / output)]
    wanted = {
        page_id(site.url + "/"),
        *(page_id(f"{site.url}/p/{number}") for number in range(1, PAGES)),
    }
    assert len(ids) == PAGES
    assert set(ids) == wanted


@pytest.mark.thorough
@pytest.mark.parametrize("times", [2, 1])
def test_crawl_stopped_by_ctrl_c_resumes(times: int, large_site: Site, tmp_path: Path) -> None:
    answer, numbers = large_site.answer, count(1)
    command = [sys.executable, "-m", "contentspider", *COMMAND, large_site.url]
    with Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:

        def interrupting(path: str) -> Answer:
            if next(numbers) == 400:
                process.send_signal(signal.SIGINT)
            return answer(path)

        large_site.answer = interrupting
        assert process.stderr is not None
        said = ""
        for line in process.stderr:
            said += line
            if times == 2 and "Received SIGINT" in line and said.count("Received SIGINT") == 1:
                process.send_signal(signal.SIGINT)
        process.wait(TIMEOUT)
    large_site.answer = answer
    if times == 1:
        assert "run the same command with --resume" in said
    done = run(*COMMAND, "--resume", large_site.url, cwd=tmp_path)
    assert ("was stopped" if times == 1 else "ended without notice") in done.stderr
    expect_every_page_once(large_site, tmp_path)


@pytest.mark.thorough
def test_crawl_stops_on_full_disk_and_resumes_with_free_space(
    large_site: Site, tmp_path: Path
) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (700_000, 700_000))

    command = [
        sys.executable,
        "-m",
        "contentspider",
        *COMMAND,
        "--log-level",
        "ERROR",
        large_site.url,
    ]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=limit,
        timeout=TIMEOUT,
        check=False,
    )
    assert done.returncode == 1
    assert "once that is fixed, run the same command with --resume" in done.stderr
    assert "Traceback" not in done.stderr
    run(*COMMAND, "--resume", large_site.url, cwd=tmp_path)
    expect_every_page_once(large_site, tmp_path)


PROJECT = """
import sys
import scrapy
from scrapy.crawler import AsyncCrawlerProcess
from contentspider import ContentItem

class MySpider(scrapy.Spider):
    name = "my"
    start_urls = [sys.argv[1]]
    def parse(self, response, seen=()):
        yield ContentItem.from_response(response)
        for href in response.css("a::attr(href)").getall():
            # What is passed on is kept too: meta (with our tags in it), arguments, and sets and
            # tuples in them.
            seen = {"seen": ("x", {1})}
            yield response.follow(href, meta=response.meta, cb_kwargs=seen, errback=self.failed)
    def failed(self, failure):
        pass

class Replace:
    def process_item(self, item):
        return {"id": item.id, "content": item.content, "seen": True}

process = AsyncCrawlerProcess({
    "ADDONS": {"contentspider.Addon": 500}, "CONTENTSPIDER_DURABLE": True,
    "CONTENTSPIDER_RESUME": True, "CONTENTSPIDER_OUTPUT_FILE": "out.jsonl",
    "CONTENTSPIDER_LEARN_PAGES": 100, "ITEM_PIPELINES": {Replace: 300}, "LOG_LEVEL": "INFO",
    "CONCURRENT_REQUESTS_PER_DOMAIN": 16, "CONCURRENT_ITEMS": 4,
    "REMOTE_CONTROL_ENABLED": False, "TELNETCONSOLE_ENABLED": False, "DOWNLOAD_DELAY": 0,
})
process.crawl(MySpider)
process.start()
"""


@pytest.mark.thorough
def test_killed_user_spider_resumes_and_outputs_each_page_once(
    large_site: Site, tmp_path: Path
) -> None:
    (tmp_path / "project.py").write_text(PROJECT)
    command = [sys.executable, "project.py", large_site.url + "/"]
    answer = large_site.answer
    for after in (60, 150, 300):
        with Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL) as process:
            large_site.answer = killing(process, answer, after)
        assert process.returncode == -signal.SIGKILL
    large_site.answer = answer
    done = subprocess.run(
        command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, timeout=TIMEOUT, check=True
    )
    assert "cannot be kept" not in done.stderr
    assert "ended without notice" in done.stderr
    expect_every_page_once(large_site, tmp_path, "out.jsonl")
    assert all(
        item["seen"] and "All rights" not in str(item["content"])
        for item in read_jsonl(tmp_path / "out.jsonl")
    )


def test_resumed_crawl_retries_failed_pages(site: Site, tmp_path: Path) -> None:
    small_site(site, 10)
    name = site.url.removeprefix("http://").replace(":", "-")
    run("crawl", "--own-site", "--no-sitemaps", "--max-pages", "3", site.url, cwd=tmp_path)
    assert "the same command with --resume" in run("status", name, cwd=tmp_path).stdout
    answer, asked = site.answer, set()

    def once_busy(path: str) -> Answer:
        if path in asked or path == "/robots.txt":
            return answer(path)
        asked.add(path)
        return 503, "text/html", b"busy"

    site.answer = once_busy
    done = run("crawl", "--own-site", "--no-sitemaps", "--resume", site.url, cwd=tmp_path)
    assert "the same command with --resume" not in done.stderr
    urls = sorted(
        str(item["url"]).removeprefix(site.url).rstrip("/")
        for item in read_jsonl(tmp_path / "pages.jsonl")
    )
    assert urls == sorted(["", *(f"/{number}" for number in range(1, 10))]), (
        "those beyond --max-pages, too"
    )


def test_unwritable_or_foreign_output_is_reported(site: Site, tmp_path: Path) -> None:
    small_site(site, 5)
    (tmp_path / "folder.jsonl").mkdir()
    done = run("crawl", "--own-site", site.url, "-o", "folder.jsonl", cwd=tmp_path, check=False)
    assert done.returncode == 1
    assert "folder.jsonl cannot be written" in done.stderr
    run("crawl", "--own-site", "--no-sitemaps", "--max-pages", "2", site.url, cwd=tmp_path)
    (tmp_path / "pages.jsonl").write_text('{"of": "another crawl"}\n' * 5_000)
    command = ("crawl", "--own-site", "--no-sitemaps", "-o", "pages.jsonl")
    run(*command, "--resume", site.url, cwd=tmp_path)
    assert len({str(item["url"]) for item in read_jsonl(tmp_path / "pages.jsonl")}) == 5
    with FileLock(tmp_path / ".pages.jsonl.lock"):
        done = run("crawl", "--own-site", site.url, cwd=tmp_path, check=False)
    assert done.returncode == 1
    assert wording("state.output-busy") in done.stderr
