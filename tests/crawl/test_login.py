"""Logins and renewals of sessions, at a host in memory."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

import pytest
from scrapy import Request
from scrapy.exceptions import DownloadTimeoutError
from scrapy.http import HtmlResponse, Response

from contentspider.crawl.middlewares.cookies import SiteCookies
from contentspider.crawl.middlewares.guard import RefusedError
from contentspider.crawl.middlewares.login import LoginMiddleware, LoginPagesMiddleware
from tests.crawls import Crawl

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

PASSWORD = "öolong & 77"  # noqa: S105
FORM = """<form action="/in" method="post"><input type=hidden name=token value=t-{0}>
<input name=name><input type=password name=password><button name=go value=1>Log in</button></form>
"""


class Host:
    """The host https://e.org, and the crawl's middlewares in front of it. A session has *pages*
    pages (0: no limit).
    """

    def __init__(self, folder: Path, pages: int = 0, more: str = "") -> None:
        text = '[login.e]\nform = "https://e.org/in"\n'
        text += 'fields = {name = "me", password = {env = "TEA_PASSWORD"}}\n'
        (folder / "login.toml").write_text(text + more)
        settings = {"CONTENTSPIDER_LOGIN": str(folder / "login.toml")}
        self.crawl = Crawl(folder, settings=settings)
        crawler = self.crawl.crawler
        crawler.engine.download_async = self.download
        self.cookies = SiteCookies.from_crawler(crawler)
        self.logins = LoginMiddleware.from_crawler(crawler)
        known = {SiteCookies: self.cookies, LoginMiddleware: self.logins}
        crawler.get_downloader_middleware = known.get
        self.pages_middleware = LoginPagesMiddleware.from_crawler(crawler)
        self.asked: list[str] = []
        self.sessions: dict[str, int] = {}
        self.pages = pages
        # What the host answers to some paths, whoever asks.
        self.answers: dict[str, Callable[[Request], Response]] = {}

    async def download(self, request: Request) -> Response:
        self.cookies.process_request(request)
        await asyncio.sleep(0)
        path = request.url.removeprefix("https://e.org")
        self.asked.append(f"{request.method} {path}")
        try:
            response = self.answers.get(path, self.answer)(request)
        except DownloadTimeoutError as error:
            self.cookies.process_exception(request, error)
            raise
        return self.cookies.process_response(request, response)

    def answer(self, request: Request) -> Response:
        cookies = dict(parse_qsl((request.headers.get("Cookie") or b"").decode(), separator="; "))
        session = cookies.get("sid", "")
        path = request.url.removeprefix("https://e.org")
        if path == "/in" and request.method == "POST":
            return self.log_in(request)
        if path == "/in" and session in self.sessions:
            return redirect(request, "/home")
        if path == "/in":
            return page(request, FORM.format(len(self.asked)))
        if session not in self.sessions or 0 < self.pages <= self.sessions[session]:
            return redirect(request, "/in?next=/", "sid=; Max-Age=0")
        self.sessions[session] += 1
        return page(request, "<p>Tea")

    def log_in(self, request: Request) -> Response:
        sent = dict(parse_qsl(request.body.decode()))
        if sent.get("password") != PASSWORD or not sent.get("token", "").startswith("t-"):
            return page(request, FORM)
        assert sent["name"] == "me" and sent["go"] == "1"
        session = f"s{len(self.sessions)}"
        self.sessions[session] = 0
        return redirect(request, "/welcome", f"sid={session}; Domain=e.org", "flash=hello")

    async def ask(self, path: str) -> Response:
        """Ask until there is an answer, as Scrapy does; redirects are not followed."""
        request: Request = Request(f"https://e.org{path}")
        while True:
            await self.logins.process_request(request)
            response = await self.download(request)
            found = await self.logins.process_response(request, response)
            if isinstance(found, Response):
                found = await self.pages_middleware.process_response(request, found)
            if isinstance(found, Response):
                return found
            request = found

    def ask_all(self, paths: Sequence[str], at_once: int = 1) -> list[Any]:
        """Return the answers to several paths, or their errors; so many are asked for *at_once*."""

        async def one(path: str) -> Any:
            try:
                return (await self.ask(path)).status
            except RefusedError as error:
                return error.kind

        async def main() -> list[Any]:
            found: list[Any] = []
            while len(found) < len(paths):
                some = paths[len(found) : len(found) + at_once]
                found += await asyncio.gather(*map(one, some))
            return found

        return asyncio.run(main())

    def logins_sent(self) -> int:
        return self.asked.count("POST /in")


def page(request: Request, html: str, status: int = 200, *cookies: str) -> HtmlResponse:
    headers = {"Set-Cookie": list(cookies)}
    return HtmlResponse(
        request.url, status, headers, html.encode(), request=request, encoding="utf-8"
    )


def redirect(request: Request, to: str, *cookies: str) -> Response:
    return Response(request.url, 302, {"Location": to, "Set-Cookie": list(cookies)})


@pytest.fixture(autouse=True)
def password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEA_PASSWORD", PASSWORD)


def test_requests_wait_for_one_login(tmp_path: Path) -> None:
    host = Host(tmp_path)
    assert host.ask_all([f"/{number}" for number in range(8)], at_once=8) == [200] * 8
    assert host.asked[:4] == ["GET /in", "POST /in", "GET /welcome", "GET /in"]
    assert host.logins_sent() == 1
    assert host.crawl.stat("login/hosts") == 1


def test_ended_session_is_renewed_once_for_all_requests(tmp_path: Path) -> None:
    host = Host(tmp_path, pages=11)
    paths = [f"/{number}" for number in range(40)]
    assert host.ask_all(paths) == [200] * 40
    assert host.logins_sent() == 4  # with the page after the form, a session has ten pages
    host = Host(tmp_path, pages=11)
    assert host.ask_all(paths * 2, at_once=16) == [200] * 80
    assert host.crawl.stat("login/renewals") == host.logins_sent() - 1 <= 10


def test_cookies_of_session_are_for_its_origin_and_stay_out_of_requests(tmp_path: Path) -> None:
    host = Host(tmp_path)
    host.ask_all(["/a"])
    for other in ("https://a.e.org/", "http://e.org/", "https://e.org:8443/", "https://o.org/"):
        request = Request(other)
        host.cookies.process_request(request)
        assert "Cookie" not in request.headers
    request = Request("https://e.org/b")
    host.cookies.process_request(request)
    assert b"sid=s0" in request.headers["Cookie"]
    host.cookies.process_response(request, page(request, "<p>Tea"))
    assert "Cookie" not in request.headers and "cookiejar" not in request.meta


@pytest.mark.parametrize(
    ("address", "warnings"),
    [("http://e.org/a", 1), ("https://www.e.org/", 1), ("https://e.org", 0)],
)
def test_crawl_that_needs_no_login_of_the_file_warns(
    address: str, warnings: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    host = Host(tmp_path)
    host.logins.closed()
    asyncio.run(host.logins.process_request(Request(address)))
    caplog.clear()
    host.logins.closed()
    assert [record.levelname for record in caplog.records] == ["WARNING"] * warnings


def test_late_answer_to_old_session_does_not_end_new_one(tmp_path: Path) -> None:
    host = Host(tmp_path)
    host.ask_all(["/a"])
    late = Request("https://e.org/late")
    host.cookies.process_request(late)
    host.sessions.clear()  # the server was restarted
    assert host.ask_all(["/b"]) == [200]
    host.cookies.process_response(late, redirect(late, "/in", "sid=; Max-Age=0"))
    sent = host.logins_sent()
    assert (host.ask_all(["/c"]), host.logins_sent()) == ([200], sent)


def test_pages_that_user_may_not_read_cause_few_renewals(tmp_path: Path) -> None:
    host = Host(tmp_path)
    for number in range(30):
        host.answers[f"/closed{number}"] = lambda request: page(request, "<p>No", 403)
        host.answers[f"/form{number}"] = lambda request: redirect(request, "/in?next=/form")
    paths = [f"/{kind}{number}" for number in range(30) for kind in ("closed", "open")]
    assert host.ask_all(paths) == [403, 200] * 30
    assert host.logins_sent() <= 12
    paths = [f"/{kind}{number}" for number in range(30) for kind in ("form", "open")]
    found = host.ask_all(paths)
    assert found[1::2] == [200] * 30
    assert set(found[::2]) == {"logged_out"}
    assert host.logins_sent() <= 15


def test_address_that_deletes_session_cookie_twice_is_left_out(tmp_path: Path) -> None:
    host = Host(tmp_path)

    def bye(request: Request) -> Response:
        host.sessions.clear()
        return page(request, "<p>Bye", 200, "sid=; Max-Age=0")

    def greet(request: Request) -> Response:
        return page(request, "<p>Hello", 200, "flash=; Max-Age=0")

    host.answers |= {"/bye": bye, "/greet": greet}
    assert host.ask_all(["/a", "/bye", "/greet", "/b"]) == [200, "logout", 200, 200]
    assert host.asked.count("GET /bye") == 2
    assert host.logins_sent() == 3


def test_addresses_with_words_for_logging_out_are_not_requested(tmp_path: Path) -> None:
    host = Host(tmp_path, more='logout = ["/leave"]')
    assert host.ask_all(["/logout", "/x?do=sign-out", "/leave", "/a"]) == ["logout"] * 3 + [200]
    assert host.logins_sent() == 1
    assert not any("out" in line or "leave" in line for line in host.asked)
    assert host.crawl.spider.skip_reason(Request("https://e.org/logout", host.crawl.spider.parse))


def test_form_itself_is_no_page(tmp_path: Path) -> None:
    host = Host(tmp_path)
    host.answers["/in?next=/a"] = lambda request: page(request, FORM)
    assert host.ask_all(["/a", "/in?next=/a", "/b"]) == [200, "login_form", 200]
    assert host.logins_sent() == 1


LITERAL = FORM.replace("<input name=name>", "<input type=password name=name>")
REFUSALS = {
    "elsewhere": lambda request: page(request, FORM.replace("/in", "https://o.org/in")),
    "get": lambda request: page(request, FORM.replace("post", "get")),
    "other form": lambda request: page(request, FORM.replace("name=password", "name=word")),
    "no form": lambda request: page(request, "<p>Tea"),
    "other host": lambda request: redirect(request, "https://o.org/in"),
    "no https": lambda request: redirect(request, "http://e.org/in"),
    "loop": lambda request: redirect(request, "/in"),
    "literal": lambda request: page(request, LITERAL),
    "gone": lambda request: Response(request.url, 404),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_form_that_must_not_be_sent_is_not_sent(name: str, tmp_path: Path) -> None:
    host = Host(tmp_path)
    host.answers["/in"] = REFUSALS[name]
    assert host.ask_all(["/a", "/b"]) == ["login", "login"]
    assert host.logins_sent() == 0
    assert not any(line.startswith("GET /a") for line in host.asked)
    assert host.crawl.stat("login/failed") == 1


ANSWERS = {
    "form again": lambda request: page(request, FORM, 200, "sid=x"),
    "forbidden": lambda request: page(request, "<p>CSRF", 403, "sid=x"),
    "limited": lambda request: page(request, "<p>Wait", 429, "sid=x"),
    "no cookie": lambda request: page(request, "<p>Hello"),
    "other host": lambda request: redirect(request, "https://o.org/", "sid=x"),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_login_that_site_refuses_is_tried_once(
    name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    host = Host(tmp_path)
    form = host.answer

    def answer(request: Request) -> Response:
        return ANSWERS[name](request) if request.method == "POST" else form(request)

    host.answers["/in"] = answer
    assert host.ask_all(["/a", "/b", "/c"], at_once=8) == ["login"] * 3
    assert host.logins_sent() == 1
    assert "oolong" not in caplog.text


def test_wrong_password_that_site_does_not_tell_is_sent_three_times_at_most(tmp_path: Path) -> None:
    host = Host(tmp_path)
    form = host.answer

    def answer(request: Request) -> Response:
        wrong = page(request, "<p>Sorry", 200, "sid=nobody")
        return wrong if request.method == "POST" else form(request)

    host.answers["/in"] = answer
    paths = [f"/{number}" for number in range(30)]
    for path in paths[::2]:  # everybody may read these
        host.answers[path] = lambda request: page(request, "<p>Tea")
    assert host.ask_all(paths, at_once=4) == [200, "logged_out"] * 15
    assert 1 <= host.logins_sent() <= 3


@pytest.mark.parametrize(
    ("more", "kind"),
    [
        ('success = "p.me"', "login"),
        ('success = "p"', 200),
        ('cookie = "user"', "login"),
        ('cookie = "sid"', 200),
    ],
)
def test_success_is_told_by_selector_or_cookie(more: str, kind: object, tmp_path: Path) -> None:
    assert Host(tmp_path, more=more).ask_all(["/a"]) == [kind]


def test_form_beside_page_is_no_sign_when_success_is_told_by_selector(tmp_path: Path) -> None:
    host = Host(tmp_path, more='success = "p.me"')
    for path in ("/welcome", "/a"):
        host.answers[path] = lambda request: page(request, FORM + "<p class=me>Me")
    assert host.ask_all(["/a"]) == [200]


def test_login_without_answer_is_tried_three_times_after_pauses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pause = 0.01
    monkeypatch.setattr("contentspider.crawl.middlewares.sessions.PAUSE_SECS", pause)
    host = Host(tmp_path)
    began = time.monotonic()

    def fail(request: Request) -> Response:
        raise DownloadTimeoutError

    host.answers["/in"] = fail
    assert host.ask_all(["/a", "/b"]) == ["login", "login"]
    assert host.asked == ["GET /in"] * 3
    assert time.monotonic() - began >= 3 * pause
    host = Host(tmp_path)
    host.answers["/in"] = lambda request: Response(request.url, 503)
    assert host.ask_all(["/a", "/b"]) == ["login", "login"]
    assert host.asked == ["GET /in"] * 3


def test_address_whose_login_failed_is_left_for_next_run(tmp_path: Path) -> None:
    host = Host(tmp_path)
    host.answers["/in"] = REFUSALS["no form"]
    request = Request("https://e.org/a")
    row = host.crawl.send(request)
    with pytest.raises(RefusedError):
        asyncio.run(host.logins.process_request(request))
    host.crawl.finish()
    state, reason, _, may_be_asked = host.crawl.state(row)
    assert (state, may_be_asked) == ("retry", 1)
    assert "e.org" in reason and "oolong" not in reason


def test_password_is_sent_in_encoding_of_page(tmp_path: Path) -> None:
    host = Host(tmp_path)

    def latin(request: Request) -> Response:
        if request.method == "POST":
            return host.log_in(request.replace(body=request.body.replace(b"%F6", b"%C3%B6")))
        body = FORM.encode("latin-1")
        return HtmlResponse(request.url, body=body, request=request, encoding="latin-1")

    host.answers["/in"] = latin
    assert host.ask_all(["/a"]) == [200]
