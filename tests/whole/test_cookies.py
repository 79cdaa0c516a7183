"""Cookies: sites that answer only with one are read, and no other site hears of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.http import HtmlResponse, Response
from scrapy.settings import Settings
from scrapy.utils.test import get_crawler

from contentspider.crawl.middlewares.cookies import SiteCookies
from contentspider.crawl.middlewares.guard import RefreshMiddleware, SafeRedirectMiddleware
from contentspider.ground.sites import is_public_suffix
from tests.conftest import Site, read_jsonl, run
from tests.sites import article

if TYPE_CHECKING:
    from pathlib import Path


def cookies_of(**settings: object) -> SiteCookies:
    return SiteCookies.from_crawler(get_crawler(settings_dict=settings))


def sent(cookies: SiteCookies, url: str, **fields: Any) -> Request:
    request = Request(url, **fields)
    cookies.process_request(request)
    return request


def answer(
    cookies: SiteCookies, request: Request, *set_cookies: str, status: int = 302, to: str = "/"
) -> Response:
    headers = {"Set-Cookie": list(set_cookies), "Location": to}
    response = Response(request.url, status=status, headers=headers)
    cookies.process_response(request, response)
    return response


def test_redirect_cookies_are_stored_per_host() -> None:
    cookies = cookies_of(COOKIES_ENABLED=False)
    answer(cookies, sent(cookies, "https://a.e.org/"), "own=1", "all=2; Domain=e.org")
    answer(
        cookies, sent(cookies, "https://x.co.uk/"), "wide=1; Domain=co.uk", "alien=1; Domain=e.org"
    )
    answer(cookies, sent(cookies, "https://f.org/"), "page=1", status=200)
    assert sent(cookies, "https://a.e.org/b").headers["Cookie"] == b"own=1; all=2"
    assert sent(cookies, "https://e.org/b").headers["Cookie"] == b"all=2"
    for other in ("https://y.co.uk/", "https://f.org/", "https://x.co.uk/"):
        assert "Cookie" not in sent(cookies, other).headers
    assert is_public_suffix("co.uk") and not is_public_suffix("127.0.0.1")


def test_cookies_enabled_setting_stores_cookies_of_all_responses() -> None:
    cookies = cookies_of(COOKIES_ENABLED=True)
    answer(cookies, sent(cookies, "https://f.org/"), "page=1", status=200)
    assert sent(cookies, "https://f.org/").headers["Cookie"] == b"page=1"


def test_cookies_are_removed_from_request_after_response() -> None:
    """It may be sent again, or elsewhere, and goes into the book."""
    cookies = cookies_of(COOKIES_ENABLED=False)
    answer(cookies, sent(cookies, "https://e.org/"), "a=secret")
    request = sent(cookies, "https://e.org/b", headers={"Cookie": "mine=1"})
    assert request.headers["Cookie"] == b"mine=1; a=secret"
    answer(cookies, request, status=200)
    assert request.headers["Cookie"] == b"mine=1"
    request = sent(cookies, "https://e.org/b")
    cookies.process_exception(request, OSError())
    assert "Cookie" not in request.headers
    assert "secret" not in repr(request.to_dict())


class Chain:
    """The middlewares of redirects and cookies, without the rest of a crawl."""

    def __init__(self) -> None:
        self.cookies = cookies_of(COOKIES_ENABLED=False)
        crawler = get_crawler()
        crawler.get_downloader_middleware = {SiteCookies: self.cookies}.get  # type: ignore[method-assign,assignment]
        self.redirects = SafeRedirectMiddleware(Settings({"REDIRECT_MAX_TIMES": 20}))
        self.refreshes = RefreshMiddleware(Settings({"METAREFRESH_MAXDELAY": 1}))
        for middleware in (self.redirects, self.refreshes):
            middleware.crawler, middleware._referer_spider_middleware = crawler, None

    def redirect(self, request: Request, to: str, *set_cookies: str) -> Any:
        """Return the request that is made of an answer."""
        self.cookies.process_request(request)
        response = answer(self.cookies, request, *set_cookies, to=to)
        return self.redirects.process_response(request, response)

    def refresh(self, request: Request, *set_cookies: str) -> Any:
        """Return what is made of a page that loads itself again."""
        self.cookies.process_request(request)
        body = b"<meta http-equiv=refresh content=0;a>Please wait"
        headers = {"Set-Cookie": list(set_cookies)}
        response = HtmlResponse(request.url, body=body, headers=headers, request=request)
        self.cookies.process_response(request, response)
        return self.refreshes.process_response(request, response)


def test_redirect_to_same_url_is_followed_while_it_sets_cookies() -> None:
    chain = Chain()
    again = chain.redirect(Request("https://e.org/a"), "/a", "seen=1")
    assert (again.url, again.dont_filter) == ("https://e.org/a", True)
    again = chain.redirect(again.replace(dont_filter=False), "/a", "seen=1")
    assert not again.dont_filter, "nothing has changed: it is dropped as known"
    check = chain.redirect(Request("https://e.org/b"), "/check", "way=1")
    assert not check.dont_filter
    assert chain.redirect(check, "/b").dont_filter, "over another page"


def test_page_redirected_before_cookie_was_set_is_requested_again() -> None:
    chain = Chain()
    first, second = Request("https://e.org/a"), Request("https://e.org/b")
    to_first, to_second = (chain.redirect(one, "/set") for one in (first, second))
    assert chain.redirect(to_first, "/a", "ok=1").dont_filter
    assert chain.redirect(to_second, "/b", "ok=1").dont_filter


def test_meta_refresh_to_same_url_is_followed_while_it_sets_cookies() -> None:
    chain = Chain()
    again = chain.refresh(Request("https://e.org/a"), "seen=1")
    assert isinstance(again, Request) and again.dont_filter
    assert isinstance(chain.refresh(again, "seen=1"), HtmlResponse)


def test_crawl_reads_site_that_requires_redirect_cookies(tmp_path: Path, site: Site) -> None:
    site.add("/", article(0, "<a href=/1>1</a><a href=/2>2</a>"))
    site.add("/1", article(1))
    site.add("/2", article(2))
    pages = dict(site.pages)

    def reply(path: str) -> tuple[int, str, bytes]:
        has_cookie = "key=7" in (site.asked.headers["Cookie"] or "")
        if has_cookie or path not in pages:
            return pages.get(path, (404, "text/html", b"none"))
        return 302, f"text/html\r\nLocation: {path}\r\nSet-Cookie: key=7", b""

    site.answer = reply
    run("crawl", site.url, "--own-site", "--no-sitemaps", cwd=tmp_path)
    items = read_jsonl(tmp_path / "pages.jsonl")
    assert {str(item["url"]).removeprefix(site.url).strip("/") for item in items} == {"", "1", "2"}
    site.answer = lambda path: (302, f"text/html\r\nLocation: {path}", b"")
    refused = run(
        "crawl", site.url, "--own-site", "--state-dir", "other", cwd=tmp_path, check=False
    )
    assert refused.returncode == 3
    assert "it redirects without end" in refused.stderr
