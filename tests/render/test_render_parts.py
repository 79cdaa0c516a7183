"""What decides whether a browser loads a page, and how one is started; without a browser."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from types import SimpleNamespace

import pytest
from scrapy import Request
from scrapy.http import HtmlResponse, Response
from scrapy.http.headers import Headers

from contentspider.crawl.base.meta import PAGE_META_KEY
from contentspider.crawl.middlewares.guard import RefusedError
from contentspider.ground.sites import SiteKeys
from contentspider.page.input.page import Page
from contentspider.render import browser
from contentspider.render.browser import RenderError, find_browser, launch_options
from contentspider.render.middleware import RenderMiddleware, headers_of, is_unneeded
from contentspider.render.templates import GAIN, MAX_TEMPLATES, SAMPLE, Templates, gain
from tests.crawlers import close, open_crawler
from tests.sites import article, prose

SCRIPT = b"<SCRIPT src=a>"


def page(html: str) -> Page:
    return Page.from_html(html, "http://e.org/")


def test_template_is_rendered_if_sample_gains_text() -> None:
    templates = Templates()
    found = templates.of("e.org", page(article(1)), SCRIPT)
    assert found is not None
    assert templates.of("e.org", page(article(2)), SCRIPT) is found
    assert templates.of("d.org", page(article(2)), SCRIPT) is not found
    assert templates.of("e.org", page(f"<div><b>{prose(1)}{prose(2)}"), SCRIPT) is not found
    assert templates.of("e.org", page(article(1)), b"<p>no scripts") is None
    for number in range(SAMPLE):
        assert found.is_rendered is None
        found.gains.append(GAIN + 0.01 if number else 0.0)
    assert found.is_rendered is True
    assert templates.counts() == {"rendered": 1, "static": 0, "tried": 2}
    found.gains += [GAIN] * SAMPLE
    assert found.is_rendered is False


def test_template_is_identified_by_place_of_most_text() -> None:
    templates = Templates()
    html = "<body class={0}><div id=post-{0}><div><p>{1}<ul><li>{2}</ul></div></div><p>{3}"
    found = [
        templates.of("e.org", page(html.format(number, prose(1), prose(number), "more")), SCRIPT)
        for number in range(3)
    ]
    assert found[0] is found[1] is found[2]
    other = html.format(4, "a", "b", prose(2) + prose(3))
    assert templates.of("e.org", page(other), SCRIPT) is not found[0]


def test_pages_with_hardly_any_text_share_one_template() -> None:
    templates = Templates()
    found = [templates.of("e.org", page(html), SCRIPT) for html in ("<p>a", "<div><b>Loading", "")]
    assert found[0] is found[1] is found[2] is not None


def test_known_templates_are_limited() -> None:
    templates = Templates()
    first = templates.of("0.org", page("<p>a"), SCRIPT)
    for number in range(1, MAX_TEMPLATES + 1):
        templates.of(f"{number}.org", page("<p>a"), SCRIPT)
    assert sum(templates.counts().values()) == MAX_TEMPLATES
    assert templates.of("0.org", page("<p>a"), SCRIPT) is not first


def test_gain_is_share_of_text_added_by_rendering() -> None:
    half = page("<p>abcd<p>efgh")
    assert gain(half, half) == 0.0
    assert gain(page("<p>abcd"), half) == 0.5
    assert gain(page(""), half) == 1.0
    assert gain(half, page("")) == 0.0


def test_browser_is_named_program_or_system_chromium(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "chromium"
    program.touch(0o755)
    monkeypatch.setenv("PATH", "/nowhere")
    assert find_browser(str(program)) == str(program)
    with pytest.raises(RenderError, match=r"^rendering needs Chromium: 'apt install chromium'"):
        find_browser()
    with pytest.raises(RenderError, match=r"^other .*CONTENTSPIDER_BROWSER"):
        find_browser("other")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_browser() == str(program)


def test_browser_sandbox_is_disabled_only_for_root(monkeypatch: pytest.MonkeyPatch) -> None:
    for user, has_sandbox in ((0, False), (1000, True)):
        monkeypatch.setattr(browser.os, "geteuid", lambda user=user: user, raising=False)
        options = launch_options("/c")
        assert Path(options["env"]["TMPDIR"]).is_dir()
        assert options["chromium_sandbox"] is has_sandbox
        assert ("--no-sandbox" in options["args"]) is not has_sandbox


def test_folders_of_killed_processes_are_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(browser.tempfile, "gettempdir", lambda: str(tmp_path))
    (tmp_path / f"{browser.FOLDER}4194305").mkdir()  # no process has such a number
    (tmp_path / f"{browser.FOLDER}{os.getppid()}").mkdir()
    (tmp_path / f"{browser.FOLDER}x").mkdir()
    folder = browser.make_folder()
    assert folder == browser.make_folder()
    assert sorted(tmp_path.iterdir()) == sorted(
        tmp_path / f"{browser.FOLDER}{name}" for name in (os.getppid(), os.getpid(), "x")
    )


def test_unwritable_browser_folder_raises_render_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    (tmp_path / f"{browser.FOLDER}{os.getpid()}").touch()
    with pytest.raises(RenderError, match=r"/.*: File exists; set TMPDIR$"):
        browser.make_folder()


def test_images_media_and_fonts_are_not_fetched() -> None:
    for kind in ("document", "script", "stylesheet", "xhr", "fetch"):
        assert not is_unneeded(SimpleNamespace(resource_type=kind))
    for kind in ("image", "media", "font", "ping", "websocket", "eventsource", "other"):
        assert is_unneeded(SimpleNamespace(resource_type=kind))


@pytest.mark.parametrize(
    ("url", "is_own"),
    [
        ("http://e.org/api", True),
        ("http://x@e.org/api", True),
        ("https://e.org/api", False),
        ("http://e.org:81/api", False),
        ("http://d.org/", False),
    ],
)
def test_credentials_are_sent_only_to_origin_of_page(url: str, is_own: bool) -> None:
    async def theirs() -> dict[str, str]:
        return {"accept": "*/*", "user-agent": "Mozilla"}

    ours = {"User-Agent": "us", "Accept": "text/html", "Authorization": "secret"}
    found = asyncio.run(
        headers_of(
            browser_type_name="chromium",
            playwright_request=SimpleNamespace(url=url, all_headers=theirs),
            scrapy_request_data={"url": "http://e.org/a", "headers": Headers(ours)},
        )
    )
    expected = {"accept": "*/*", "user-agent": "us"}
    assert found == expected | ({"authorization": "secret"} if is_own else {})


@pytest.mark.parametrize(
    ("host", "allowed", "is_asked"),
    [
        ("example.org", "", True),
        ("cdn.example.org", "", True),
        ("example.org.evil.test", "", False),
        ("example.net", "", False),
        ("example.net", "example.net", True),
        ("cdn.example.net", "example.net", True),
        ("badexample.net", "example.net", False),
        ("anything.test", "*", True),
        ("localhost", "*", False),
        ("127.0.0.1", "*", False),
        ("169.254.169.254", "169.254.169.254", False),
        ("::1", "*", False),
        ("fec0::1", "*", False),
        ("64:ff9b::7f00:1", "*", False),
        ("ff02::1", "*", False),
        ("fd00::2", "", True),
    ],
)
def test_rendered_pages_may_request_only_allowed_hosts(
    tmp_path: Path, host: str, allowed: str, is_asked: bool
) -> None:
    crawler = open_crawler(tmp_path, render_hosts=allowed)
    middleware = RenderMiddleware(crawler)
    keys = SiteKeys("domain")
    middleware._sites |= {keys.key("https://www.example.org/a"), keys.key("http://[fd00::2]/")}
    assert middleware._may_ask(host, 443 if "." in host else 80) is is_asked
    close(crawler)


def test_route_has_its_own_page_or_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    crawler = open_crawler(tmp_path)
    middleware = RenderMiddleware(crawler)
    monkeypatch.setattr(
        middleware, "options", SimpleNamespace(render="always", reads_routes=True), raising=True
    )
    html = f"<title>App</title><script></script><p>{prose(1)}".encode()
    meta = {PAGE_META_KEY: page(html.decode())}
    request = Request("http://e.org/#/tea", meta=meta)
    assert middleware.process_request(request) is None, "no page of the document was read"

    async def fails(*_: object) -> None:
        return None

    monkeypatch.setattr(middleware, "_rendered", fails)
    front = HtmlResponse("http://e.org/", body=html, request=Request("http://e.org/", meta=meta))
    assert asyncio.run(read(middleware, front.request, front)).url == front.url
    shell = middleware.process_request(request)
    assert shell is not None and shell.body == html and shell.request is request
    with pytest.raises(RefusedError) as raised:
        asyncio.run(read(middleware, request, shell))
    assert raised.value.kind == "not_rendered"
    assert middleware.process_request(Request("http://e.org/#tea")) is None
    close(crawler)


async def read(middleware: RenderMiddleware, request: Request | None, shell: Response) -> Response:
    assert request is not None
    read = await middleware.process_response(request, shell)
    assert isinstance(read, Response)
    return read
