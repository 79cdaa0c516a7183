"""Between the spider and the web: which hosts answer, what is refused, what headers go where."""

from __future__ import annotations

import gzip
import zlib
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from scrapy import Request
from scrapy.exceptions import DownloadTimeoutError, IgnoreRequest
from scrapy.http import HtmlResponse, Response
from scrapy.settings import Settings
from scrapy.utils.test import get_crawler

from contentspider.crawl.base.meta import (
    CHECK_META_KEY,
    CONDITIONAL_META_KEY,
    PAGE_META_KEY,
    WAITS_META_KEY,
    WITNESS_META_KEY,
)
from contentspider.crawl.middlewares.conditional import ConditionalMiddleware
from contentspider.crawl.middlewares.failures import UnreadPages, why
from contentspider.crawl.middlewares.guard import (
    RefreshMiddleware,
    RefusedError,
    SafeRedirectMiddleware,
)
from contentspider.crawl.middlewares.headers import HeadersMiddleware
from contentspider.crawl.middlewares.outages import MAX_WAITS, LimitedError, OutageMiddleware
from contentspider.crawl.middlewares.robots import (
    RobotsUnreadError,
)
from contentspider.crawl.queue.outage import FAILURES
from contentspider.ground.errors import ContentSpiderError
from contentspider.ground.useragent import ANONYMOUS, user_agent
from contentspider.page.input.page import Page
from tests.crawls import Crawl

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def crawl(tmp_path: Path) -> Crawl:
    return Crawl(tmp_path)


@pytest.fixture
def answers(crawl: Crawl) -> OutageMiddleware:
    return OutageMiddleware.from_crawler(crawl.crawler)


def sent(crawl: Crawl, path: str = "tea", **fields: Any) -> Request:
    request = Request(f"https://e.org/{path}", **fields)
    crawl.send(request)
    return request


def fill(crawl: Crawl) -> None:
    for number in range(FAILURES):
        url = f"https://e.org/waits/{number}"
        crawl.frontier.enqueue(url.encode(), url, -9, "{}")


def busy(status: int, seconds: int | None = None) -> Response:
    headers = {} if seconds is None else {"Retry-After": str(seconds)}
    return Response("https://e.org/tea", status=status, headers=headers)


@pytest.mark.parametrize(
    ("answer", "waits"),
    [
        (busy(200), False),
        (busy(404), False),
        (busy(500), False),
        (busy(429), True),
        (busy(429, 20), True),
        (busy(503, 20), True),
        (busy(503), False),  # one failure is no outage
        (busy(502, 20), False),
    ],
)
def test_retry_after_pauses_host_and_reschedules_request(
    crawl: Crawl, answers: OutageMiddleware, answer: Response, waits: bool
) -> None:
    request = sent(crawl, priority=3)
    found = answers.process_response(request, answer)
    assert crawl.keeper.hosts.is_paused("e.org") is waits
    if not waits:
        assert found is answer
        return
    assert isinstance(found, Request)
    is_first = answer.status == 429 and bool(answer.headers)  # it said when
    assert found.priority == (4 if is_first else 2)
    assert (found.dont_filter, found.meta[WAITS_META_KEY]) == (True, 1)
    pause = crawl.keeper.hosts.next_change()
    assert pause is not None
    assert 0 < pause <= (20 if answer.headers else 1)


def test_host_is_paused_after_consecutive_failures(crawl: Crawl, answers: OutageMiddleware) -> None:
    fill(crawl)
    for number in range(FAILURES):
        assert not crawl.keeper.hosts.is_paused("e.org")
        request = sent(crawl, str(number))
        errors = (busy(503), DownloadTimeoutError("slow"))
        if number % 2:
            found = answers.process_exception(request, errors[1])
        else:
            found = answers.process_response(request, errors[0])
    assert crawl.keeper.hosts.is_paused("e.org")
    assert isinstance(found, Request)
    crawl.keeper.hosts.ask("e.org")
    cached = Response(request.url, flags=["cached"])
    assert answers.process_response(request, cached) is cached
    assert crawl.keeper.hosts.is_paused("e.org"), "the answer is not the host's"
    assert answers.process_response(request, Response(request.url)).status == 200
    assert not crawl.keeper.hosts.is_paused("e.org")


@pytest.mark.parametrize("meta", [{WAITS_META_KEY: MAX_WAITS}, {"dont_retry": True}, {"other": 1}])
def test_request_is_not_queued_again_after_five_waits_or_outside_queue(
    crawl: Crawl, answers: OutageMiddleware, meta: dict[str, Any]
) -> None:
    request = Request("https://e.org/tea", meta=meta)
    if "other" not in meta:  # else it is of no address of the queue
        crawl.send(request)
    answer = busy(429)
    assert answers.process_response(request, answer) is answer
    assert crawl.keeper.hosts.is_paused("e.org")


def test_request_waits_at_most_five_times(crawl: Crawl, answers: OutageMiddleware) -> None:
    request = sent(crawl, meta={WAITS_META_KEY: MAX_WAITS - 1})
    found = answers.process_response(request, busy(429))
    assert isinstance(found, Request) and found.meta[WAITS_META_KEY] == MAX_WAITS


def test_full_book_disables_waiting(crawl: Crawl, answers: OutageMiddleware) -> None:
    request = sent(crawl)
    crawl.keeper.is_broken = True
    for answer in (busy(429), busy(503), busy(503, 5)):
        assert answers.process_response(request, answer) is answer


def test_long_pause_for_part_of_host_pauses_only_that_address(
    crawl: Crawl, answers: OutageMiddleware
) -> None:
    crawl.keeper.hosts._allowed_failures["e.org"] = 16
    request = sent(crawl)
    answer = busy(503, 20)
    assert answers.process_response(request, answer) is answer
    assert not crawl.keeper.hosts.is_paused("e.org")
    assert crawl.keeper.addresses.is_paused
    crawl.finish()
    row = request.meta["contentspider_row"]
    assert crawl.state(row)[:2] == ("retry", "HTTP 503, Retry-After: 20")


def test_address_with_long_retry_after_is_retried_at_end(
    crawl: Crawl, answers: OutageMiddleware
) -> None:
    read, request = sent(crawl, "read"), sent(crawl)
    crawl.keeper.addresses.received(Response(read.url), read)
    answers.process_request(request)
    answers.process_response(request, busy(429, 9000))
    crawl.keeper.hosts.ask("e.org", is_witness=True)
    witness = read.replace(meta={**read.meta, WITNESS_META_KEY: True})
    answers.process_response(witness, Response(read.url))
    answers.process_request(read)
    with pytest.raises(LimitedError, match="9000 s") as caught:
        answers.process_request(request)
    assert answers.process_exception(request, caught.value) is None
    answers.process_request(request.replace(meta={WITNESS_META_KEY: True}))
    crawl.finish()
    row = request.meta["contentspider_row"]
    assert crawl.state(row)[:2] == ("retry", "HTTP 429, Retry-After: 9000")
    crawl.keeper.addresses.is_at_end = True
    answers.process_request(request)


def test_overlong_pause_marks_host_lost_unless_other_page_was_read(
    crawl: Crawl, answers: OutageMiddleware, tmp_path: Path
) -> None:
    read = sent(crawl, "read")
    crawl.keeper.addresses.received(Response(read.url), read)
    answers.process_response(sent(crawl), busy(503, 9000))
    assert crawl.keeper.hosts.lost() == []
    other = Crawl(tmp_path)
    OutageMiddleware(other.crawler).process_response(sent(other), busy(503, 9000))
    assert other.keeper.hosts.lost() == ["e.org"]


@pytest.mark.parametrize(
    ("error", "state"),
    [
        (DownloadTimeoutError("slow"), ("retry", "DownloadTimeoutError: slow", None, 1)),
        (ValueError("odd"), ("failed", "ValueError: odd", None, 0)),
        (IgnoreRequest("robots"), ("skipped", "robots", None, 0)),
        (IgnoreRequest(), ("skipped", "ignored", None, 0)),
        (RobotsUnreadError("timeout", "slow"), ("retry", "slow", None, 1)),
    ],
)
def test_download_error_decides_state_of_address(
    crawl: Crawl, answers: OutageMiddleware, error: Exception, state: tuple[Any, ...]
) -> None:
    request = sent(crawl)
    assert answers.process_exception(request, error) is None
    crawl.finish()
    assert crawl.state(request.meta["contentspider_row"]) == state
    assert ("e.org" in crawl.keeper.hosts._states) is isinstance(error, DownloadTimeoutError)


def test_crawl_without_durability_never_delays_requests(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path, settings={"CONTENTSPIDER_DURABLE": False})
    answers = OutageMiddleware(crawl.crawler)
    answer = busy(429)
    assert answers.process_response(Request("https://e.org/"), answer) is answer
    assert answers.process_exception(Request("https://e.org/"), DownloadTimeoutError()) is None
    assert not crawl.keeper.hosts._states


def test_custom_headers_are_sent_only_to_crawled_sites(tmp_path: Path) -> None:
    given = {"X-Key": "secret", "Cookie": "a=b"}
    crawl = Crawl(tmp_path, "https://me:pass@e.org/", settings={"CONTENTSPIDER_HEADERS": given})
    middleware = HeadersMiddleware.from_crawler(crawl.crawler)
    ends = (
        lambda request: middleware.process_response(request, Response(request.url)),
        lambda request: middleware.process_exception(request, OSError()),
    )
    for end in ends:
        request = Request("https://e.org/tea", headers={"Accept": "x"})
        middleware.process_request(request)
        assert request.headers["X-Key"] == b"secret"
        assert request.headers["Authorization"] == b"Basic bWU6cGFzcw=="
        end(request)
        assert list(request.headers) == [b"Accept"]
    sub = Request("https://www.e.org/tea")
    middleware.process_request(sub)
    assert set(sub.headers) == {b"X-Key", b"Cookie"}, "the site, but not the origin"
    other = Request("https://other.org/")
    middleware.process_request(other)
    assert not other.headers


@pytest.mark.parametrize(
    ("start", "verify", "address", "is_sent"),
    [
        ("https://e.org/", "secrets", "http://e.org/a", False),
        ("https://e.org/", "always", "http://www.e.org/a", False),
        ("https://e.org/", "never", "http://e.org/a", True),
        ("http://e.org/", "secrets", "http://e.org/a", True),
        ("http://e.org/", "secrets", "https://e.org/a", True),
        ("https://e.org/ http://f.org/", "secrets", "http://e.org/a", False),
        ("https://e.org/ http://www.e.org/", "secrets", "http://e.org/a", True),
    ],
)
def test_custom_headers_are_sent_over_http_only_if_user_starts_there(
    tmp_path: Path, start: str, verify: str, address: str, is_sent: bool
) -> None:
    settings = {"CONTENTSPIDER_HEADERS": {"X-Key": "s"}, "CONTENTSPIDER_VERIFY_TLS": verify}
    middleware = HeadersMiddleware.from_crawler(Crawl(tmp_path, start, settings=settings).crawler)
    request = Request(address)
    middleware.process_request(request)
    assert ("X-Key" in request.headers) is is_sent
    middleware.process_response(request, Response(address))
    assert not request.headers


def test_user_agent_contains_contact_and_rejects_invalid_contacts() -> None:
    assert user_agent("") == ANONYMOUS
    assert user_agent("me@e.org;https://e.org").endswith(" (+me@e.org; https://e.org)")
    for wrong in ("nobody", "me@e.org (x)", "me@e.org; x"):
        with pytest.raises(ContentSpiderError, match="cannot be used"):
            user_agent(wrong)


def test_redirect_to_invalid_address_raises_refused_error() -> None:
    middleware = SafeRedirectMiddleware.from_crawler(get_crawler())
    request = Request("https://e.org/")
    with pytest.raises(RefusedError, match="invalid address") as refused:
        middleware.process_response(
            request, Response(request.url, status=301, headers={"Location": "http://[x"})
        )
    assert refused.value.kind == "redirects"


def test_page_with_meta_refresh_to_itself_is_read() -> None:
    middleware = RefreshMiddleware(Settings())
    middleware._maxdelay, middleware._referer_spider_middleware = 100, None
    middleware.crawler = get_crawler()
    middleware.crawler.get_downloader_middleware = lambda kind: None  # type: ignore[method-assign]
    meta = {"redirect_urls": ["https://e.org/before"]}

    def answer(url: str) -> Request | Response:
        request = Request("https://e.org/now", meta=dict(meta))
        html = f"<meta http-equiv=refresh content='0; url={url}'>".encode()
        return middleware.process_response(
            request, HtmlResponse(request.url, body=html, request=request)
        )

    for same in ("/now", "/before", "http://[x"):
        assert isinstance(answer(same), Response)
    assert answer("/next").url == "https://e.org/next"
    assert isinstance(answer("mailto:ada@e.org"), Response)


@pytest.mark.parametrize(
    ("content", "header", "target"),
    [
        ("0; URL = '/b'", "", "/b"),
        ("0,/b", "", "/b"),
        ("", "0;/b", "/b"),
        ("2;/b", "", ""),
        ("", "", ""),
    ],
)
def test_immediate_meta_refresh_is_followed_as_redirect(
    content: str, header: str, target: str
) -> None:
    middleware = RefreshMiddleware(Settings({"METAREFRESH_MAXDELAY": 1}))
    middleware._referer_spider_middleware, middleware.crawler = None, get_crawler()
    request = Request("https://e.org/now")
    body = f'<base href="https://e.org/x/"><meta http-equiv="Refresh" content="{content}">Moved'
    response = HtmlResponse(request.url, body=body.encode(), headers={"Refresh": header})
    answer = middleware.process_response(request, response)
    if not target:
        assert answer is response
    else:
        assert answer.url == f"https://e.org{target}"
        assert answer.meta["redirect_reasons"] == ["meta refresh"]
        asked = request.replace(meta={"dont_redirect": True})
        assert middleware.process_response(asked, response) is response


def test_failures_are_described_by_kind_and_short_reason() -> None:
    answered = OSError()
    answered.response = SimpleNamespace(status=404)
    assert why(answered) == ("status_404", "the server answered 404")
    assert why(RefusedError("scheme", "x\n y")) == ("scheme", "x y")
    assert why(IgnoreRequest("Forbidden by robots.txt"))[0] == "robots"
    assert why(IgnoreRequest("max redirections reached"))[0] == "redirects"
    assert why(IgnoreRequest("over DOWNLOAD_MAXSIZE"))[0] == "too_large"
    assert why(IgnoreRequest("x")) == ("other", "x")
    assert why(DownloadTimeoutError("x"))[0] == "timeout"
    assert why(KeyError()) == ("other", "KeyError")
    brotli_error = type("error", (Exception,), {"__module__": "brotli"})  # may not be installed
    for error in (brotli_error(), zlib.error(), gzip.BadGzipFile()):
        assert why(error)[0] == "broken"
    assert why(ValueError("y" * 999)) == ("other", "y" * 200)


def test_each_unread_page_is_counted_once(crawl: Crawl, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("contentspider.crawl.middlewares.failures.MAX_ASKED_AGAIN", 2)
    unread = UnreadPages(crawl.crawler.stats)
    for row, kind in ((1, "timeout"), (1, "broken"), (2, "broken"), (None, "other"), (3, "other")):
        unread.add(row, kind)
    unread.forget(2)
    unread.forget(2)
    unread.forget(3)
    unread.forget(None)
    kinds = ("timeout", "broken", "other")
    assert [crawl.stat(f"pages/unread/{kind}") for kind in kinds] == [0, 1, 2]
    assert crawl.stat("pages/failed") == 3


class Revisits:
    """What the conditional middleware asks of the earlier crawls."""

    is_first = False
    stale = ()
    broken = SimpleNamespace(is_known=lambda url: False)
    page: Page | None = Page.from_html("<p>Tea", "https://e.org/tea")

    def restless(self, site: str) -> tuple[()]:
        return ()

    def page_with_validators(self, url: str, site: str) -> Any:
        assert site == "e.org"
        if url == "https://e.org/new":
            return None
        return SimpleNamespace(id="id", etag='"x"', last_modified="")

    def stored_page(self, page_id: str) -> Page | None:
        assert page_id == "id"
        return self.page


def test_known_page_is_requested_conditionally(crawl: Crawl) -> None:
    crawl.keeper.revisits = revisits = Revisits()
    middleware = ConditionalMiddleware.from_crawler(crawl.crawler)

    def ask(path: str, **meta: Any) -> Request:
        request = Request(f"https://e.org/{path}", callback=crawl.spider.parse, meta=meta)
        middleware.process_request(request)
        return request

    assert not ask("new").headers
    assert not ask("start", contentspider_start=True).headers
    assert not ask("tea", **{CHECK_META_KEY: True}).headers
    request = ask("tea")
    assert request.headers["If-None-Match"] == b'"x"'
    assert "If-Modified-Since" not in request.headers
    moved = request.replace(url="https://e.org/new")
    middleware.process_request(moved)
    assert not moved.headers and CONDITIONAL_META_KEY not in moved.meta
    changed = Response(request.url)
    assert middleware.process_response(request, changed) is changed
    same = Response(request.url, status=304)
    checked = middleware.process_response(request, same)
    assert isinstance(checked, Request) and checked.meta[CHECK_META_KEY], "the first is checked"
    found = middleware.process_response(request, same)
    assert isinstance(found, HtmlResponse) and found.flags == ["not modified"]
    assert found.meta[PAGE_META_KEY] is revisits.page
    assert crawl.stat("pages/not_modified") == 1
    revisits.page = None
    assert isinstance(middleware.process_response(request, same), Request)
    plain = Request(request.url)
    assert middleware.process_response(plain, same) is same
