"""What of a crawl goes into its WARC file, and what is said if that cannot be written."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from pydispatch.dispatcher import getAllReceivers, liveReceivers
from scrapy import Request, signals
from scrapy.exceptions import NotConfigured
from scrapy.http import Response
from scrapy.utils.test import get_crawler

from contentspider.crawl import warc
from contentspider.crawl.base.meta import CONDITIONAL_META_KEY
from contentspider.crawl.warc import WarcArchive
from contentspider.ground.errors import ContentSpiderError

if TYPE_CHECKING:
    from pathlib import Path

    from contentspider.state.files.warc import Exchange


class File:
    """A WARC file that keeps what is written, until it is *full*."""

    path = "pages.warc.gz"

    def __init__(self) -> None:
        self.written: list[Exchange] = []
        self.is_full = self.is_closed = False

    def write(self, exchange: Exchange) -> None:
        if self.is_full:
            raise OSError(28, "No space left on device")
        self.written.append(exchange)

    def close(self) -> None:
        self.is_closed = True


class Archived:
    """The archive of a crawl, and its file."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.file = File()
        self.opened: list[object] = []

        def made(*given: object) -> File:
            self.opened.append(given)
            return self.file

        monkeypatch.setattr(warc, "WarcFile", made)
        self.crawler = get_crawler(settings_dict={"CONTENTSPIDER_WARC_FILE": "a/pages.warc.gz"})
        self.archive = WarcArchive.from_crawler(self.crawler)

    def stat(self, name: str) -> Any:
        assert self.crawler.stats
        return self.crawler.stats.get_value(f"contentspider/warc/{name}")


@pytest.fixture
def archived(monkeypatch: pytest.MonkeyPatch) -> Archived:
    return Archived(monkeypatch)


def test_response_is_archived_with_its_request(archived: Archived) -> None:
    ((path, software),) = archived.opened  # type: ignore[misc]
    assert str(path) == "a/pages.warc.gz"
    assert software.startswith("contentspider/")
    headers = {"Accept": "text/html", "X-Tea": ["green", "caf\xe9".encode("latin-1")]}
    request = Request("https://e.org/a?b=1", method="POST", headers=headers, body=b"asked")
    response: Any = Response(
        "https://me@e.org/a?b=1", status=404, headers={"Content-Type": "text/html"}, body=b"tea"
    )
    response.ip_address = "192.0.2.1"
    archived.archive.downloaded(response, request)
    (one,) = archived.file.written
    assert (one.url, one.method, one.target) == ("https://me@e.org/a?b=1", "POST", "/a?b=1")
    assert list(one.request_headers) == [
        ("Host", "e.org"),
        ("Accept", "text/html"),
        ("X-Tea", "green"),
        ("X-Tea", "caf\xe9"),
    ]
    assert (one.request_body, one.status, one.body) == (b"asked", "404 Not Found", b"tea")
    assert list(one.response_headers) == [("Content-Type", "text/html")]
    assert one.address == "192.0.2.1"
    assert archived.stat("written") == 1


def test_known_pages_that_are_not_sent_are_revisits(archived: Archived) -> None:
    for status, meta in (
        (304, {CONDITIONAL_META_KEY: "id"}),
        (304, {}),
        (200, {CONDITIONAL_META_KEY: "id"}),
    ):
        archived.archive.downloaded(
            Response("http://e.org/", status=status), Request("http://e.org/", meta=meta)
        )
    assert [one.is_revisit for one in archived.file.written] == [True, False, False]
    assert archived.stat("revisits") == 1


def test_missing_response_details_get_default_values(archived: Archived) -> None:
    archived.archive.downloaded(Response("http://e.org", status=799), Request("http://e.org"))
    (one,) = archived.file.written
    assert (one.target, one.status, one.address) == ("/", "799 Unknown", "")
    for url in ("data:text/html,tea", "s3://bucket/x", "file:///x"):
        archived.archive.downloaded(Response(url), Request(url))
    assert len(archived.file.written) == archived.stat("written") == 1


def test_full_warc_file_is_logged_and_crawl_continues(
    archived: Archived, caplog: pytest.LogCaptureFixture
) -> None:
    archived.file.is_full = True
    for _ in range(2):
        archived.archive.downloaded(Response("http://e.org/"), Request("http://e.org/"))
    (message,) = caplog.messages
    assert message.startswith("pages.warc.gz cannot be written (No space left on device)")
    assert archived.file.is_closed
    assert archived.stat("written") is None
    archived.archive.closed()


def test_warc_file_is_closed_with_crawl(archived: Archived) -> None:
    heard = {
        one.__name__
        for signal in (signals.response_downloaded, signals.spider_closed)
        for one in liveReceivers(getAllReceivers(archived.crawler, signal))
        if getattr(one, "__self__", None) is archived.archive
    }
    assert heard == {"downloaded", "closed"}
    archived.archive.closed()
    assert archived.file.is_closed


def test_crawl_with_unopenable_warc_file_does_not_start(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def made(*given: object) -> None:
        raise ContentSpiderError("it is no WARC file")

    monkeypatch.setattr(warc, "WarcFile", made)
    closed: list[str] = []

    async def close(reason: str) -> None:
        closed.append(reason)

    crawler: Any = get_crawler(settings_dict={"CONTENTSPIDER_WARC_FILE": "pages.warc.gz"})
    crawler.engine = SimpleNamespace(spider=object(), close_spider_async=close)
    archive = WarcArchive.from_crawler(crawler)

    async def started() -> None:
        await crawler.signals.send_catch_log_async(signals.engine_started)

    asyncio.run(started())
    assert closed == ["warc"]
    assert caplog.messages == ["it is no WARC file; nothing is crawled"]
    assert crawler.stats.get_value("contentspider/warc/failed") == "it is no WARC file"
    archive.downloaded(Response("http://e.org/"), Request("http://e.org/"))
    archive.closed()


def test_archive_is_disabled_without_warc_file() -> None:
    with pytest.raises(NotConfigured):
        WarcArchive(get_crawler())
