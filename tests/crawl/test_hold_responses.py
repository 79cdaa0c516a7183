"""Responses that are tagged with their page."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from scrapy import Request, Spider
from scrapy.http import HtmlResponse, Response

from contentspider.crawl.base.meta import BINDINGS_META_KEY, PAGE_META_KEY
from contentspider.crawl.middlewares import documents as documents_module
from contentspider.crawl.middlewares import pages as pages_module
from contentspider.crawl.middlewares.pages import BlocksMiddleware
from tests.held import page, stat
from tests.recrawled import address
from tests.sites import article

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from contentspider.page.input.page import Page


def tagged(crawler: Crawler, answer: Response) -> Page | None:
    request = Request(answer.url, meta={PAGE_META_KEY: "that of an earlier answer"})
    middleware = BlocksMiddleware(crawler)
    middleware.process_request(request)
    assert PAGE_META_KEY not in request.meta
    assert asyncio.run(middleware.process_response(request, answer)) is answer
    found: Page | None = request.meta.get(PAGE_META_KEY)
    assert BINDINGS_META_KEY in request.meta, "a crawl has read the answer"
    return found


def test_html_response_is_tagged_with_its_page(crawler: Crawler) -> None:
    body = article(1).encode()
    found = tagged(crawler, HtmlResponse(address("/1"), body=body))
    assert found is not None
    assert [block.text for block in found.content.blocks] == [
        block.text for block in page(1).content.blocks
    ]
    assert stat(crawler, "pages/tagged") == 1
    assert stat(crawler, "blocks/seen") == len(found.content.blocks)
    assert tagged(crawler, HtmlResponse(address("/1"), body=body, status=299))
    for status in (199, 300, 404):
        assert tagged(crawler, HtmlResponse(address("/1"), body=body, status=status)) is None
    assert tagged(crawler, HtmlResponse(address("/1"), body=b"\0\1\2\3" * 99)) is None
    assert tagged(crawler, Response(address("/1"), body=body)) is None
    empty = tagged(crawler, HtmlResponse(address("/1"), body=b" \n"))
    assert empty is not None
    assert not empty.content.blocks
    assert empty.url == address("/1")


def test_large_pages_are_parsed_in_thread_and_truncated(
    crawler: Crawler, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    apart: list[int] = []

    async def run_in_thread(function: Any, *values: Any) -> Any:
        apart.append(1)
        return function(*values)

    monkeypatch.setattr(pages_module, "run_in_thread", run_in_thread)
    monkeypatch.setattr(pages_module, "THREAD_BYTES", len(article(1)))
    monkeypatch.setattr(pages_module, "MAX_BLOCKS", 2)
    cut = tagged(crawler, HtmlResponse(address("/1"), body=article(1).encode()[:-1]))
    assert not apart
    assert cut is not None
    assert len(cut.content.blocks) == 2
    (message,) = caplog.messages
    assert message.startswith(f"{address('/1')} has more than 2 blocks of text")
    assert stat(crawler, "pages/truncated") == 1
    tagged(crawler, HtmlResponse(address("/1"), body=article(1).encode() + b"<p>more"))
    assert apart


def test_pdf_documents_are_read_only_for_spiders_that_accept_them(
    crawler: Crawler, monkeypatch: pytest.MonkeyPatch
) -> None:
    urls: list[str] = []

    def read(body: bytes, url: str, seconds: float, is_over: object, kind: str) -> Page | None:
        urls.append(url)
        return page(1) if body.endswith(b"1") else None

    monkeypatch.setattr(documents_module, "read_document", read)
    assert tagged(crawler, Response(address("/a"), body=b"%PDF-1")) == page(1)
    assert tagged(crawler, Response(address("/a"), body=b"%PDF-2")) is None
    assert len(urls) == 2
    assert tagged(crawler, Response(address("/a"), body=b"%PDF-1", status=404)) is None
    assert tagged(crawler, Response(address("/a"), body=b"PDF-1")) is None
    crawler.spider.reads_documents = False  # type: ignore[union-attr]
    assert tagged(crawler, Response(address("/a"), body=b"%PDF-1")) is None
    crawler.spider = Spider("that does not say so")
    assert tagged(crawler, Response(address("/a"), body=b"%PDF-1")) is None
    assert len(urls) == 2
    assert stat(crawler, "pages/tagged") == 0


@pytest.mark.parametrize(
    "kind", ["image/png", "Image/SVG+xml; charset=utf-8", "video/mp4", "font/woff"]
)
def test_response_with_media_content_type_is_not_page(kind: str, crawler: Crawler) -> None:
    answer = HtmlResponse(address("/1"), body=b"<svg><text>Tea", headers={"Content-Type": kind})
    assert tagged(crawler, answer) is None


def test_image_sent_as_html_is_not_page(crawler: Crawler) -> None:
    for start in (b"\x89PNG\r\n\x1a\n", b"GIF89a", b"\xff\xd8\xff\xe0"):
        answer = HtmlResponse(address("/1"), body=start + b"\0" * 500)
        assert tagged(crawler, answer) is None
