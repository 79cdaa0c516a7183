"""Answers of known pages: whether they have changed, and what is kept of them."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pytest
from scrapy import Request
from scrapy.exceptions import NotConfigured
from scrapy.http import HtmlResponse, Response

from contentspider.crawl.base.meta import (
    BINDINGS_META_KEY,
    CHECK_META_KEY,
    CONDITIONAL_META_KEY,
    ORPHAN_META_KEY,
    PAGE_META_KEY,
    ROW_META_KEY,
)
from contentspider.crawl.base.outcomes import NOT_MODIFIED, redirect_reason
from contentspider.crawl.middlewares.conditional import (
    MAX_VALIDATOR_CHARS,
    ConditionalMiddleware,
    conditional_headers,
    note_answer,
    previous_links,
    replacement_of,
)
from contentspider.crawl.revisits.due_pages import CHECKED_EACH
from contentspider.page.input.page import Page
from contentspider.site.models.identity import page_id
from contentspider.state.book.answers import Answer
from contentspider.state.book.own_texts import OwnAnswer
from tests.crawlers import close, open_crawler, parts
from tests.recrawled import Crawls, address
from tests.sites import article

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from scrapy.crawler import Crawler


@pytest.fixture
def crawler(tmp_path: Path) -> Iterator[Crawler]:
    """Yield a crawler that knows the pages /1 and /2."""
    history = tmp_path / "e.org.sqlite"
    crawls = Crawls(history, count=0)
    crawl = crawls.begin()
    number = crawl.book.answers.put_links({address("/9"): ["Nine"]}, None)
    crawl.see("/1", article(1), Answer('"tag"', "Monday", number))
    crawl.see("/2", article(2), Answer())
    crawl.end()
    known = crawls.known()
    known.database.do("UPDATE pages SET model = 'a model'")
    known.commit()
    known.close()
    made = open_crawler(tmp_path, durable=True)
    assert parts(made)[0].book.path == history
    yield made
    close(made)


def asked(crawler: Crawler, path: str, **meta: Any) -> Request:
    """Return a request as the middleware sends it."""
    request = Request(address(path), meta=meta)
    ConditionalMiddleware(crawler).process_request(request)
    return request


def test_known_pages_are_requested_conditionally(crawler: Crawler) -> None:
    request = asked(crawler, "/1")
    assert request.headers["If-None-Match"] == b'"tag"'
    assert request.headers["If-Modified-Since"] == b"Monday"
    assert request.meta[CONDITIONAL_META_KEY] == page_id(address("/1"))
    for path in ("/2", "/3"):
        assert not asked(crawler, path).headers
    parts(crawler)[0].is_broken = True
    assert not asked(crawler, "/1").headers


def test_requests_for_checks_unknown_or_overridden_pages_are_unconditional(
    crawler: Crawler, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not asked(crawler, "/1", **{CHECK_META_KEY: True}).headers
    assert not asked(crawler, "/1?other").headers
    keeper, holder = parts(crawler)
    monkeypatch.setattr(holder.models, "overrides", lambda _: "some")
    assert not asked(crawler, "/1").headers, "corrections may be others now"
    monkeypatch.setattr(holder.models, "overrides", lambda _: None)
    monkeypatch.setattr(crawler, "spider", object())
    assert not asked(crawler, "/1").headers, "the spider is not ours"
    keeper.revisits = None
    assert not asked(crawler, "/1").headers


def test_redirected_request_drops_conditional_headers(crawler: Crawler) -> None:
    request = Request(address("/3"), headers={"If-None-Match": "x"})
    request.meta[CONDITIONAL_META_KEY] = "1"
    ConditionalMiddleware(crawler).process_request(request)
    assert not request.headers
    assert CONDITIONAL_META_KEY not in request.meta
    mine = Request(address("/3"), headers={"If-None-Match": "x"})
    ConditionalMiddleware(crawler).process_request(mine)
    assert mine.headers, "it is the user's"


def test_unchanged_page_is_restored_from_history_except_sample(crawler: Crawler) -> None:
    middleware = ConditionalMiddleware(crawler)
    request = asked(crawler, "/1")
    unchanged = Response(request.url, status=304, flags=["cached"], headers={"ETag": '"tag"'})
    checks = 0
    for _ in range(CHECKED_EACH + 1):
        found = middleware.process_response(request, unchanged)
        if isinstance(found, Request):
            assert (found.dont_filter, found.meta[CHECK_META_KEY]) == (True, True)
            checks += 1
    assert checks == 2
    assert isinstance(middleware.process_response(request, unchanged), HtmlResponse)
    found = middleware.process_response(request, unchanged)
    assert isinstance(found, HtmlResponse)
    assert (found.status, found.body, found.flags) == (200, b"", ["cached", NOT_MODIFIED])
    assert found.headers["ETag"] == b'"tag"'
    assert found.meta[PAGE_META_KEY].url == address("/1")
    assert found.meta[BINDINGS_META_KEY] is parts(crawler)[1].bindings
    assert crawler.stats
    assert crawler.stats.get_value("contentspider/pages/not_modified") == CHECKED_EACH + 1


def test_unchanged_page_missing_from_history_is_fetched(crawler: Crawler) -> None:
    middleware = ConditionalMiddleware(crawler)
    request = asked(crawler, "/1")
    request.meta[CONDITIONAL_META_KEY] = "unknown"
    for _ in range(2):
        found = middleware.process_response(request, Response(request.url, status=304))
        assert isinstance(found, Request)


def test_unconditional_responses_pass_unchanged(crawler: Crawler) -> None:
    middleware = ConditionalMiddleware(crawler)
    request = asked(crawler, "/1")
    answer = Response(request.url)
    assert middleware.process_response(request, answer) is answer
    answer = Response(request.url, status=304)
    assert middleware.process_response(Request(address("/3")), answer) is answer


def test_conditional_requests_need_history(tmp_path: Path) -> None:
    crawler = open_crawler(tmp_path, durable=False)
    with pytest.raises(NotConfigured):
        ConditionalMiddleware(crawler)
    close(crawler)


def response(path: str, headers: dict[str, str] | None = None, **meta: Any) -> HtmlResponse:
    request = Request(address(path), meta=meta)
    return HtmlResponse(request.url, request=request, headers=headers or {})


def noted(
    crawler: Crawler, answer: Response, links: Mapping[str, Sequence[str]] = MappingProxyType({})
) -> Answer:
    keeper, _ = parts(crawler)
    answer.meta[ROW_META_KEY] = 5
    note_answer(keeper, answer, links)
    return keeper.book.answers.of(5)


def test_validators_and_links_of_response_are_recorded(crawler: Crawler) -> None:
    headers = {"ETag": ' "x" ', "Last-Modified": "Tuesday"}
    links = {"a": (), "b": ("Text", "Other text")}
    answer = noted(crawler, response("/1", headers), links)
    assert answer.links is not None
    assert (answer.etag, answer.last_modified) == ('"x"', "Tuesday")
    kept = parts(crawler)[0].book.contents.get(answer.links)
    assert kept.split(b"\n") == [b"a", b"b\tText\tOther text"]
    assert noted(crawler, response("/1")) == Answer()
    meta = {ORPHAN_META_KEY: True, CHECK_META_KEY: True}
    assert noted(crawler, response("/1", **meta)) == Answer(is_orphan=True, is_check=True)
    keeper, _ = parts(crawler)
    note_answer(keeper, response("/1", {"ETag": "lost"}), {})
    keeper.is_broken = True
    assert noted(crawler, response("/1", {"ETag": "later"})).is_orphan, "nothing was written"


def test_overlong_or_invalid_validators_are_dropped(crawler: Crawler) -> None:
    longest = "x" * MAX_VALIDATOR_CHARS
    assert noted(crawler, response("/1", {"ETag": longest})).etag == longest
    assert noted(crawler, response("/1", {"ETag": longest + "x"})).etag == ""
    assert noted(crawler, response("/1", {"ETag": "a\tb"})).etag == ""


def test_not_modified_response_keeps_stored_validators_and_links(crawler: Crawler) -> None:
    answer = response("/1")
    answer.flags.append(NOT_MODIFIED)
    assert noted(crawler, answer) == Answer('"tag"', "Monday", is_unsent=True)
    assert previous_links(parts(crawler)[0], answer) == {address("/9"): ("Nine",)}
    assert previous_links(parts(crawler)[0], response("/1")) == {}
    unknown = response("/3")
    unknown.flags.append(NOT_MODIFIED)
    assert noted(crawler, unknown) == Answer(is_unsent=True)


def test_only_permanent_redirects_count_as_moves(crawler: Crawler) -> None:
    urls = [address("/a"), address("/b")]
    for reasons, moved in (
        ([301, 308], (("HTTP 301"), ("HTTP 308"))),
        ([301, 302], ()),
        (["meta refresh"], ("meta refresh",)),
        (["meta refresh", 307], ()),
    ):
        answer = response("/1", redirect_urls=urls, redirect_reasons=reasons)
        found = noted(crawler, answer).moved_from
        assert found == tuple(zip(urls, moved, strict=False))


def test_redirect_reason_is_last_one_of_request() -> None:
    for reasons, said in (([302, 301], "HTTP 301"), (["meta refresh"], "meta refresh"), ([], None)):
        assert redirect_reason(Request(address("/"), meta={"redirect_reasons": reasons})) == said
    assert redirect_reason(Request(address("/"))) is None


ERROR = b"<p>Log in, please: this page is for members.</p>"


def test_error_or_login_page_replacing_known_page_is_detected(
    crawler: Crawler, monkeypatch: pytest.MonkeyPatch
) -> None:
    keeper, holder = parts(crawler)

    def replacement_kind(path: str, body: bytes, *flags: str) -> str:
        request = Request(address(path))
        answer = HtmlResponse(request.url, body=body, request=request, flags=list(flags))
        return replacement_of(keeper, holder, answer, Page.from_html(body, request.url))

    assert replacement_kind("/1", article(1).encode()) == ""
    assert replacement_kind("/1", ERROR) == "unsure"
    assert replacement_kind("/1", ERROR, NOT_MODIFIED) == ""
    assert replacement_kind("/1", ERROR + b"<input name=x type = 'PASSWORD'>") == "login"
    assert keeper.revisits
    monkeypatch.setattr(keeper.revisits, "is_first", True)
    assert replacement_kind("/1", ERROR) == ""
    keeper.revisits = None
    assert replacement_kind("/1", ERROR) == ""
    answer = response("/1")
    answer.flags.append(NOT_MODIFIED)
    assert previous_links(keeper, answer) == {}
    note_answer(keeper, answer, ())


@pytest.mark.parametrize(
    ("tag", "sent"),
    [
        ('"x-gzip"', '"x-gzip", "x"'),
        ('W/"x-br"', 'W/"x-br", W/"x"'),
        ('"x--gzip"', '"x--gzip", "x"'),
        ('"x-zstd"', '"x-zstd", "x"'),
        ('"x;gzip"', '"x;gzip", "x"'),
        ('W/"x:br"', 'W/"x:br", W/"x"'),
        ('"gzip-x"', '"gzip-x"'),
        ('"-gzip"', '"-gzip"'),
        ("x-gzip", "x-gzip"),
    ],
)
def test_etag_of_compressed_body_is_sent_with_tag_of_file(tag: str, sent: str) -> None:
    assert conditional_headers(OwnAnswer("e.org", address("/1"), tag)) == {"If-None-Match": sent}
