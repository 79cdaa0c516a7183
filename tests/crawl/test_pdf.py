"""PDF files become items of their own kind, in a process that may fail without harm."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import threading
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest.mock import MagicMock

import pytest
from scrapy.http import Response
from scrapy.utils.test import get_crawler

from contentspider.crawl.middlewares import documents
from contentspider.crawl.middlewares.documents import Documents
from contentspider.crawl.middlewares.guard import RefusedError
from contentspider.ground import children
from contentspider.ground.children import ChildError, End, never
from contentspider.page.input import documents as reading
from contentspider.page.input.documents import (
    MAX_SECS,
    MIN_SECS,
    BusyMachineError,
    SlowDocumentError,
    read_document,
    seconds_for,
)
from contentspider.page.input.page import Page
from contentspider.page.input.pdf import is_pdf, paragraphs_of
from contentspider.state.outcome import TRANSIENT, Outcome
from tests.conftest import Site, read_jsonl, run
from tests.pdffiles import make_pdf
from tests.sites import article, small_site

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

    from scrapy.crawler import Crawler


@pytest.fixture
def crawler() -> Crawler:
    crawler = get_crawler()
    engine: Any = SimpleNamespace(_slot=None)
    crawler.engine = engine
    return crawler


LINES = [
    "The first paragraph of the document goes on over two",
    "lines of it.",
    "The second one is short.",
]


def test_pdf_file_is_read_as_page_of_paragraphs() -> None:
    pytest.importorskip("pypdfium2")
    page = read_document(make_pdf([LINES, ["The last <p>."]], "A & B"), "https://e.org/a.pdf")
    assert page is not None
    assert page.is_document
    assert page.hints.titles == ("A & B",)
    assert [block.text for block in page.content.blocks] == [
        " ".join(LINES[:2]),
        LINES[2],
        "The last <p>.",
    ]


def test_unreadable_or_oversized_pdf_gives_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_document(b"%PDF-1.4 nothing", "x") is None
    monkeypatch.setattr(reading, "MAX_BYTES", 10)
    assert read_document(make_pdf([LINES]), "x") is None


def test_pages_of_pdf_that_take_too_long_are_left_out() -> None:
    pytest.importorskip("pypdfium2")
    from contentspider.page.input.pdf_blocks import read_pdf

    file = make_pdf([LINES, ["The last page."]])
    document = read_pdf(file, seconds=60)
    paragraphs = (" ".join(LINES[:2]), LINES[2], "The last page.")
    assert document.html == "".join(f"<p>{paragraph}</p>" for paragraph in paragraphs)
    assert document.pages_left_out == 0
    assert read_pdf(file, seconds=-1).pages_left_out == 2
    assert seconds_for(b"") == MIN_SECS
    assert seconds_for(bytes(5_000_000)) == seconds_for(bytes(9_000_000)) == MAX_SECS


def test_reading_of_pdf_ends_with_crawl() -> None:
    pytest.importorskip("pypdfium2")
    assert read_document(make_pdf([LINES]), "x", is_over=lambda: True) is None


@pytest.fixture
def stopped(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    """Return the children that are started from now on; each is stopped at once."""
    started: list[subprocess.Popen[bytes]] = []

    class Stopped(children._Process):
        def __init__(self, *given: Any, **more: Any) -> None:
            super().__init__(*given, **more)
            os.kill(self.pid, signal.SIGSTOP)
            started.append(self)

    monkeypatch.setattr(children, "can_fork", lambda: False)
    monkeypatch.setattr(children, "_Process", Stopped)
    return started


def test_time_in_which_busy_machine_does_not_read_is_not_counted(
    stopped: list[subprocess.Popen[bytes]],
) -> None:
    pytest.importorskip("pypdfium2")
    began = time.monotonic()

    def goes_on() -> bool:
        if stopped and time.monotonic() > began + 1.3:
            os.kill(stopped[0].pid, signal.SIGCONT)
        return False

    page = read_document(make_pdf([LINES]), "x", seconds=1.0, is_over=goes_on)
    assert page is not None and page.content.blocks


@pytest.mark.usefixtures("stopped")
def test_process_that_hangs_or_is_killed_says_nothing_of_its_document(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(children, "WALL_FACTOR", 0)
    with pytest.raises(BusyMachineError):
        read_document(make_pdf([LINES]), "x")
    monkeypatch.undo()

    for error in (
        ChildError(End.DIED, "killed", status=-signal.SIGKILL),
        ChildError(End.NOT_STARTED, "fork: resource temporarily unavailable"),
    ):
        monkeypatch.setattr(reading, "run_child", MagicMock(side_effect=error))
        with pytest.raises(BusyMachineError):
            read_document(make_pdf([LINES]), "x")


def test_document_that_takes_too_much_processor_time_is_slow() -> None:
    pytest.importorskip("markdown_it")
    # The parser of Markdown takes long for many brackets that are not closed.
    body = b"# Tea\n\n" + b"[" * 400_000
    with pytest.raises(SlowDocumentError):
        read_document(body, "https://e.org/a.md", seconds=0.5, content_type="text/markdown")


# The command line, whose first processes that read a document, or all, get no time.
BUSY = """
import sys
from contentspider.cli import main
from contentspider.ground.children import Limits
from contentspider.page.input import documents
run, busy = documents.run_child, [Limits(wall_secs=0)] * {times}
def run_with_little_time(*given, limits, **more):
    return run(*given, limits=busy.pop() if busy else limits, **more)
documents.run_child = run_with_little_time
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize("times", [1, 2])
def test_document_that_busy_machine_did_not_read_is_read_at_end_or_unread(
    tmp_path: Path, site: Site, times: int
) -> None:
    pytest.importorskip("pypdfium2")
    (tmp_path / "busy.py").write_text(BUSY.format(times=times))
    small_site(site, 6)
    site.add("/", article(0, "<a href=/a.pdf>A</a><a href=/1>1</a><a href=/2>2</a>"))
    site.add("/a.pdf", make_pdf([LINES]), kind="application/pdf")
    given = ("--own-site", "--no-sitemaps", "--stats", "stats.json")
    done = run("crawl", site.url, *given, cwd=tmp_path, check=False, module="busy.py")
    urls = {str(item["url"]) for item in read_jsonl(tmp_path / "pages.jsonl")}
    stats = json.loads((tmp_path / "stats.json").read_text())["stats"]
    assert site.requests.count("/a.pdf") == 2
    assert "contentspider/pages/skipped/pdf" not in stats
    is_read = times == 1
    assert (f"{site.url}/a.pdf" in urls) == is_read
    assert done.returncode == (Outcome.COMPLETE if is_read else Outcome.INCOMPLETE)
    assert stats.get("contentspider/pages/unread/busy", 0) == (0 if is_read else 1)


def test_pdf_files_are_read_side_by_side_and_slow_ones_cost_limited_time(
    crawler: Crawler, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    reader = Documents(crawler, never)
    both = threading.Barrier(2, timeout=60)
    seconds: list[float] = []

    def read_together(body: bytes, url: str, limit: float, is_over: object, kind: str) -> Page:
        both.wait()
        return Page.from_html("<p>Tea", url)

    def read_slowly(body: bytes, url: str, limit: float, is_over: object, kind: str) -> None:
        seconds.append(limit)
        raise SlowDocumentError("it takes more")

    response = Response("https://e.org/a.pdf", body=b"%PDF-1")

    async def read(times: int) -> list[Page | None]:
        return await asyncio.gather(*(reader.read(response) for _ in range(times)))

    monkeypatch.setattr(documents, "read_document", read_together)
    assert all(asyncio.run(read(2)))
    monkeypatch.setattr(documents, "read_document", read_slowly)
    monkeypatch.setattr(documents, "MAX_LOST_SECS", 2 * MIN_SECS)
    for _ in range(4):
        assert asyncio.run(read(1)) == [None]
    assert seconds[1:] == pytest.approx([MIN_SECS, documents.SHORT_SECS, documents.SHORT_SECS], 0.1)
    assert caplog.text.count("further files get") == 1


def test_pdf_file_that_was_not_read_when_crawl_ended_is_read_by_next_run(
    crawler: Crawler, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine: Any = SimpleNamespace(_slot=SimpleNamespace(closing=object()))
    crawler.engine = engine
    monkeypatch.setattr(documents, "read_document", lambda *_: None)
    with pytest.raises(RefusedError) as raised:
        asyncio.run(Documents(crawler, never).read(Response("https://e.org/a.pdf", body=b"%PDF-1")))
    assert raised.value.kind in TRANSIENT


def test_pdf_files_are_recognized_by_their_first_bytes() -> None:
    assert is_pdf(b"\xef\xbb\xbf\r\n%PDF-1.7")
    assert not is_pdf(b"<title>%PDF-1.7")
    assert paragraphs_of("One.\n\nTwo\n \nThree") == ["One.", "Two", "Three"]
    assert paragraphs_of("") == []


def test_crawl_extracts_linked_pdf_files(tmp_path: Path, site: Site) -> None:
    pytest.importorskip("pypdfium2")
    small_site(site, 6)
    site.add(
        "/", article(0, "<a href=/a.PDF>A</a><a href=/b>B</a><a href=/c.pdf>C</a><a href=/1>1")
    )
    site.add("/a.PDF", make_pdf([LINES]), kind="application/pdf")
    site.add("/b", make_pdf([["Another one. " * 3]]), kind="text/html")
    site.add("/c.pdf", b"%PDF-1.4 broken", kind="application/pdf")
    done = run(
        "crawl", site.url, "--own-site", "--no-sitemaps", "--log-level", "INFO", cwd=tmp_path
    )
    items = {
        str(item["url"]).removeprefix(site.url): item
        for item in read_jsonl(tmp_path / "pages.jsonl")
    }
    documents = {path for path, item in items.items() if item["page_type"] == "document"}
    assert documents == {"/a.PDF", "/b"}
    assert items["/a.PDF"]["content"] == f"{LINES[0]} {LINES[1]}\n{LINES[2]}"
    assert items["/a.PDF"]["title"] == "A document"
    assert items["/a.PDF"]["model_version"] == "unfiltered"
    assert "'contentspider/items/documents': 2" in done.stderr
    assert "'contentspider/pages/skipped/pdf': 1" in done.stderr
    assert items["/1"]["page_type"] != "document"
