"""Crawls in a real browser: pages that scripts make, and pages that mean harm."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest

from contentspider.render.browser import ARGUMENTS, FOLDER, NAMES
from contentspider.render.middleware import AT_ONCE
from contentspider.render.templates import SAMPLE
from contentspider.state.outcome import Outcome
from tests.conftest import Site, read_jsonl, run, serve, site
from tests.processes import Popen
from tests.seaweed import free_ports
from tests.sites import article, prose

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["site"]

pytestmark = pytest.mark.skipif(
    find_spec("scrapy_playwright") is None or not any(map(shutil.which, NAMES)),
    reason="scrapy-playwright or Chromium is not installed",
)

SHELL = "<title>App</title><div id=app></div><script src=/app.js></script>"
APP = """
fetch('/api' + location.pathname).then(answer => answer.text()).then(html => {
  document.documentElement.innerHTML = html;
});
"""
LOGGED = ("-s", "LOG_FILE=log", "--log-level", "INFO")
MOST_SECS = 5
SOON = ("-s", "PLAYWRIGHT_DEFAULT_NAVIGATION_TIMEOUT=4000")
LINKS = "".join(f"<a href=/{number}>Page {number}</a> " for number in range(1, 8))


@pytest.fixture
def other() -> Iterator[Site]:
    with serve() as made:
        yield made


@pytest.fixture(autouse=True)
def files(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Have browsers keep their files here, by which they are known. Its path is short: they make a
    socket in it.
    """
    with TemporaryDirectory(prefix="r") as folder:
        monkeypatch.setenv("TMPDIR", folder)
        yield Path(folder)


def browsers_of(folder: Path) -> list[int]:
    """Return the processes of browsers that keep their files in a folder, the first one first."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if str(folder).encode() in (process / "environ").read_bytes():
                found[int(process.name)] = (process / "cmdline").read_bytes()
    browsers = [number for number, command in found.items() if b"chrom" in command]
    return sorted(browsers, key=lambda number: b"--type=" in found[number])


def js_site(site: Site) -> None:
    """Serve eight articles that scripts put into an empty page, as their HTML would be."""
    site.add("/app.js", APP, kind="text/javascript")
    for number in range(8):
        path = f"/{number or ''}"
        site.add(path, SHELL)
        site.add(f"/api{path}", article(number, LINKS))


def crawl(site: Site, folder: Path, *options: str) -> dict[str, dict[str, object]]:
    """Return the items of a crawl by their path, and leave its log in the folder."""
    command = ("crawl", f"{site.url}/", "-o", "items.jsonl", *LOGGED, *options)
    (folder / "log").unlink(missing_ok=True)
    run(*command, cwd=folder)
    items = read_jsonl(folder / "items.jsonl")
    assert len({item["url"] for item in items}) == len(items)
    return {str(item["url"]).removeprefix(site.url): item for item in items}


def stats(folder: Path) -> dict[str, int]:
    """Return the numbers of the last crawl's stats by their names."""
    log = (folder / "log").read_text()
    shown = [line.split("': ") for line in log[log.rindex("Dumping Scrapy stats") :].splitlines()]
    found = [(name.strip(" {'"), value.strip(",}")) for name, *rest in shown for value in rest]
    return {name: int(float(value)) for name, value in found if value.replace(".", "").isdigit()}


@pytest.mark.thorough
def test_script_generated_pages_give_same_items_as_static_html(
    site: Site, other: Site, tmp_path: Path
) -> None:
    js_site(site)
    for number in range(8):
        other.add(f"/{number or ''}", article(number, LINKS))
    (tmp_path / "static").mkdir()
    wanted = crawl(other, tmp_path / "static")
    assert len(crawl(site, tmp_path)) == 1, "without a browser there are no links"
    for when in ("auto", "always"):
        found = crawl(site, tmp_path, "--render", when, "--relearn", "--force")
        told = {path: item["content"] for path, item in found.items()}
        assert told == {path: item["content"] for path, item in wanted.items()}, when
        assert found["/3"]["title"] == "Page 3"
        assert stats(tmp_path)["contentspider/render/pages"] == 8
        assert stats(tmp_path)["contentspider/pages/tagged"] == 8
    again = crawl(site, tmp_path, "--render", "auto")
    assert {item["change"] for item in again.values()} == {"unchanged"}


@contextmanager
def remote_browser(folder: Path) -> Iterator[str]:
    """Run a browser that no crawl has started, and yield the URL at which it is commanded."""
    command = [next(filter(None, map(shutil.which, NAMES))), "--headless", *ARGUMENTS]
    options = ["--no-sandbox", "--remote-debugging-port=0", f"--user-data-dir={folder}/profile"]
    with Popen([*command, *options], stderr=subprocess.DEVNULL) as process:
        try:
            told = folder / "profile" / "DevToolsActivePort"
            while not (told.exists() and told.read_text().count("\n") == 1):
                assert process.poll() is None
                time.sleep(0.05)
            yield f"http://127.0.0.1:{told.read_text().split()[0]}"
        finally:
            process.kill()


@pytest.mark.thorough
def test_pages_are_rendered_by_remote_browser(
    site: Site, other: Site, tmp_path: Path, files: Path
) -> None:
    js_site(site)
    site.add("/1", f"{SHELL}<script>fetch('{other.url}/data')</script>")
    with remote_browser(tmp_path) as url:
        items = crawl(site, tmp_path, "--render", "always", "-s", f"PLAYWRIGHT_CDP_URL={url}")
        # Ours is the only browser, and it goes on for other crawls.
        assert not [path for path in files.iterdir() if FOLDER in path.name]
        with socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2]))):
            pass
    assert all(prose(n, 1) in str(items[f"/{n or ''}"]["content"]) for n in range(8))
    found = stats(tmp_path)
    assert found["playwright/context_count/remote/True"] == 1
    assert found["contentspider/render/pages"] == 8
    assert found["contentspider/render/hosts_refused"] == 1
    assert not other.requests


@pytest.mark.parametrize("options", [(), ("--browser", sys.executable)], ids=["silent", "two"])
def test_crawl_does_not_begin_without_its_remote_browser(
    site: Site, tmp_path: Path, options: tuple[str, ...]
) -> None:
    (port,) = free_ports(1)
    url = site.url if options else f"http://127.0.0.1:{port}"
    remote = ("--render", "always", "-s", f"PLAYWRIGHT_CDP_URL={url}", *options)
    done = run("crawl", f"{site.url}/", *remote, cwd=tmp_path, check=False)
    assert done.returncode == Outcome.ERROR
    assert "PLAYWRIGHT_CDP_URL" in done.stderr
    assert not site.requests


@pytest.mark.thorough
def test_templates_without_gain_are_not_rendered(site: Site, tmp_path: Path) -> None:
    script = "<script>document.title += '!'</script>"
    links = "".join(f"<a href=/{number}>Page {number}</a> " for number in range(1, 20))
    site.add("/", article(0, links) + script)
    for number in range(1, 20):
        site.add(f"/{number}", article(number) + script)
    items = crawl(site, tmp_path, "--render", "auto")
    assert len(items) == 20
    # The start page, three articles, and those that were on their way when it was decided.
    assert 1 + SAMPLE <= stats(tmp_path)["contentspider/render/pages"] < 1 + SAMPLE + AT_ONCE
    assert stats(tmp_path)["contentspider/render/templates/static"] == 1


HARM = {
    "alerts": "while (true) alert('again');",
    "loop": "while (true) {}",
    "grows": "setInterval(() => { for (let i = 0; i < 50000; i++) {"
    " document.body.appendChild(document.createElement('p')).textContent = 'more'; } }, 0);",
    "windows": "for (let i = 0; i < 50; i++) window.open('/loop');"
    "document.body.insertAdjacentHTML('beforeend', '<a id=out target=_blank href=/loop>x</a>');"
    "out.click();",
    "leaves": "location.href = 'OTHER/';",
    "moves": "location.href = '/1';",
    "downloads": "location.href = '/file.bin';",
    "asks": "fetch('OTHER/data'); new Image().src = 'OTHER/pixel';"
    "navigator.sendBeacon('OTHER/beacon'); new WebSocket('OTHER/socket'.replace('http', 'ws'));",
    "polls": "setInterval(() => fetch('/1'), 50);",
    "throws": "throw new Error('no');",
    "replaces": "document.open(); document.write('<p>' + document.title); document.close();",
}


def test_malicious_pages_are_ended_and_reach_no_other_hosts(
    site: Site, other: Site, tmp_path: Path, files: Path
) -> None:
    links = "".join(f"<a href=/{name}>{name}</a> " for name in HARM)
    site.add("/", article(0, f"<a href=/1>One</a> {links}"))
    site.add("/1", article(1))
    site.add("/file.bin", b"\0" * 1_000, kind="application/octet-stream")
    for number, (name, script) in enumerate(HARM.items(), 2):
        body = script.replace("OTHER", other.url)
        site.add(f"/{name}", f"{article(number)}<script>{body}</script>")
    css = "<style>" + "".join(f"p:has(~ p:nth-child({n}n)) * {{color: red}}" for n in range(3_000))
    site.add("/css", article(30) + css + "</style>" + "<p>a</p>" * 3_000)
    site.pages["/1"] = (200, "text/html", (article(1) + "<a href=/css>css</a>").encode())
    items = crawl(site, tmp_path, "--render", "always", *SOON)
    assert set(items) == {"/", "/1", "/css", *(f"/{name}" for name in HARM)}
    for number, name in enumerate(HARM, 2):
        if name != "replaces":
            assert prose(number, 1) in str(items[f"/{name}"]["content"]), name
    assert not other.requests
    found = stats(tmp_path)
    assert found["contentspider/render/hosts_refused"] == 1
    assert found["contentspider/render/failed/elsewhere"] >= 1
    assert found["contentspider/render/failed/slow"] >= 1
    assert not browsers_of(files)


@pytest.mark.thorough
def test_rendered_page_opens_no_web_sockets(site: Site, tmp_path: Path) -> None:
    place = site.url.replace("http://", "ws://")
    worker = f"new WebSocket('{place}/worker-socket')"
    script = f"""
    new Worker(URL.createObjectURL(new Blob(["{worker}"])));
    const add = text => document.querySelector('article').insertAdjacentHTML('beforeend', text);
    const socket = new WebSocket('{place}/socket');
    socket.onclose = () => add('<p>{prose("closed")}</p>');
    const frame = document.body.appendChild(document.createElement('iframe'));
    new frame.contentWindow.WebSocket('{place}/frame-socket');
    """
    site.add("/", article(0) + f"<script>{script}</script>")
    items = crawl(site, tmp_path, "--render", "always")
    assert prose("closed") in str(items["/"]["content"]), "the page goes on without its socket"
    assert not [path for path in site.requests if "socket" in path]


def test_credentials_and_headers_are_sent_only_to_origin_of_rendered_page(
    site: Site, other: Site, tmp_path: Path
) -> None:
    asked: list[tuple[str, str | None, str | None]] = []
    for one, answer in ((site, site.answer), (other, other.answer)):

        def note(path: str, one: Site = one, answer: object = answer) -> tuple[int, str, bytes]:
            headers = one.asked.headers
            asked.append((f"{one.url}{path}", headers["Authorization"], headers["X-Key"]))
            return answer(path)  # type: ignore[operator]

        one.answer = note
    frame = f"<iframe src={other.url}/frame></iframe><script src={other.url}/x.js></script>"
    site.add("/", article(0, frame) + "<script>fetch('/api')</script>")
    place = site.url.replace("http://", "http://me:secret@")
    command = ("crawl", f"{place}/", "--render", "always", "--render-hosts", "*")
    run(*command, "-H", "X-Key: key", "-o", "items.jsonl", cwd=tmp_path)
    assert {url for url, *_ in asked if url.startswith(site.url)} >= {f"{site.url}/api"}
    assert all(name and key for url, name, key in asked if url.startswith(site.url))
    assert not other.requests, "'*' means no private hosts"


# Playwright's handler gives up at once, as it does under load, when its browser has ended.
IMPATIENT = """
import sys

from scrapy_playwright.handler import Config
from contentspider.cli import main

read = Config.from_settings

def impatient(settings):
    config = read(settings)
    config.target_closed_max_retries = 0
    return config

Config.from_settings = impatient
sys.exit(main())
"""


@pytest.mark.thorough
@pytest.mark.parametrize("victim", ["browser", "crawl"])
def test_killed_browser_or_crawl_loses_no_pages_and_leaves_no_processes(
    site: Site, tmp_path: Path, files: Path, victim: str
) -> None:
    js_site(site)
    (tmp_path / "impatient.py").write_text(IMPATIENT)
    command = [
        sys.executable,
        str(tmp_path / "impatient.py"),
        "crawl",
        f"{site.url}/",
        "--render",
        "auto",
    ]
    command += ["-o", "items.jsonl", *LOGGED]
    answer, killed = site.answer, []
    process: subprocess.Popen[bytes]

    def kill(path: str) -> tuple[int, str, bytes]:
        if path == "/api/4" and not killed:
            killed.append(path)
            if victim == "crawl":
                process.kill()
            else:
                os.kill(browsers_of(files)[0], signal.SIGKILL)
        return answer(path)

    site.answer = kill
    process = Popen(command, cwd=tmp_path, stderr=subprocess.PIPE)
    said = process.communicate(timeout=120)[1].decode()
    assert "Traceback" not in said
    if victim == "crawl":
        assert process.returncode == -signal.SIGKILL
        subprocess.run([*command, "--resume"], cwd=tmp_path, check=True, timeout=60)
    else:
        assert process.returncode == 0, said
    assert killed
    items = [json.loads(line) for line in (tmp_path / "items.jsonl").read_bytes().splitlines()]
    assert sorted(item["url"] for item in items) == sorted(
        f"{site.url}/{number or ''}" for number in range(8)
    )
    assert all(item["content"] for item in items)
    assert not browsers_of(files)
    assert not list(files.iterdir())


def test_signal_ends_rendering_at_once_and_resumed_crawl_reads_all(
    site: Site, tmp_path: Path, files: Path
) -> None:
    """Scripts that run for ever keep the browser from closing the page."""
    js_site(site)
    app = site.pages["/app.js"]
    site.add(
        "/app.js", f"{APP} if (location.pathname > '/3') while (true) {{}}", kind="text/javascript"
    )
    command = [sys.executable, "-m", "contentspider", "crawl", f"{site.url}/", "--render", "auto"]
    command += ["--own-site", "--no-sitemaps", "--log-level", "INFO"]
    with Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        # A page is requested by the crawl, then by the browser. None may have hung for so long that
        # the crawl gives it up, in whatever order a busy machine opens them.
        while sum(site.requests.count(f"/{number}") > 1 for number in range(4, 8)) < 2:
            assert process.poll() is None
            time.sleep(0.02)  # it has no other sign of what it does
        sent_at = time.monotonic()
        process.send_signal(signal.SIGTERM)
        said = process.communicate(timeout=60)[1]
    assert process.returncode == Outcome.INTERRUPTED, said
    assert time.monotonic() - sent_at < MOST_SECS
    assert "Traceback" not in said and "never retrieved" not in said
    assert not browsers_of(files)
    site.pages["/app.js"] = app
    run(*command[3:], "--resume", cwd=tmp_path)
    urls = [item["url"] for item in read_jsonl(tmp_path / "pages.jsonl")]
    assert len(urls) == len(set(urls)) == 8


@pytest.mark.parametrize("browser", ["dead script", "dead browser"])
def test_shells_that_rendering_does_not_fill_are_told(
    site: Site, tmp_path: Path, browser: str
) -> None:
    links = "".join(f"<url><loc>{site.url}/{number}</loc></url>" for number in range(1, 6))
    sitemap = 200, "application/xml", f"<urlset>{links}</urlset>".encode()
    found = {"/robots.txt": (404, "", b""), "/sitemap.xml": sitemap, "/app.js": (200, "", b"")}
    site.answer = lambda path: found.get(path, (200, "text/html", SHELL.encode()))
    command = ["crawl", f"{site.url}/", "--own-site", "--render", "auto", "--stats", "stats.json"]
    if browser == "dead browser":
        Path(tmp_path, "browser").write_text("#!/bin/sh\nexit 3\n")
        Path(tmp_path, "browser").chmod(0o755)
        command += ["--browser", f"{tmp_path}/browser"]
    done = run(*command, cwd=tmp_path, check=False)
    assert done.returncode == Outcome.CONTENT_HIDDEN, done.stderr
    (reason,) = json.loads((tmp_path / "stats.json").read_text())["reasons"]
    assert "--render auto" not in reason, "it was given"
    assert ("--render-hosts" in reason) == (browser == "dead script")


def test_missing_browser_is_reported_before_crawling(site: Site, tmp_path: Path) -> None:
    command = ("crawl", f"{site.url}/", "--render", "auto", "--browser", "/no/such/browser")
    done = run(*command, cwd=tmp_path, check=False)
    assert done.returncode == 1
    assert "/no/such/browser " in done.stderr
    assert "CONTENTSPIDER_BROWSER" in done.stderr
    assert "apt install chromium" in done.stderr
    assert not site.requests


def test_site_is_learned_from_rendered_looks_and_filtered_without_rendering(
    site: Site, tmp_path: Path
) -> None:
    """Algorithm 1 takes a wide box and a narrow one with the same tag path for two clusters."""
    style = "<style>.a {width: 900px} .b {width: 200px} .c {width: 300px; color: red}</style>"
    for number in range(12):
        title = prose(number, "title", words=6)
        aside = f"<div class=b><p>{title} {prose('aside')}</p></div>" if number % 2 else ""
        links = "".join(f"<a href=/{one}>{one}</a> " for one in range(1, 12))
        site.add(
            f"/{number or ''}",
            f"<title>{title}</title>{style}<div class=a><p>{title} {prose(number)}</p></div>{aside}"
            f"<div class=c><p>{links}</p></div>",
        )
    found = crawl(site, tmp_path, "--render", "learn", "-s", "CONTENTSPIDER_LABELS=paper")
    assert len(found) == 12
    assert stats(tmp_path)["contentspider/render/pages"] == 12
    asked = len(site.requests)
    again = crawl(site, tmp_path, "--render", "learn", "-s", "CONTENTSPIDER_LABELS=paper")
    assert {path: item["content"] for path, item in again.items()} == {
        path: item["content"] for path, item in found.items()
    }
    assert "contentspider/render/pages" not in stats(tmp_path), "its model is known"
    assert len(site.requests) - asked < asked


ROUTER = """
const pages = %s;
function show() {
  const route = location.hash.replace(/^#!?\\//, '');
  document.getElementById('app').innerHTML = pages[route] || '<h1>No such page</h1>';
}
addEventListener('hashchange', show);
show();
"""


ROUTES = {
    "": "<a href='#/tea'>Tea</a> <a href='#!/ferry'>Ferry</a> <a href='#top'>Top</a>",
    "tea": "<a href='#/tea/black'>Black</a> <a href='#/'>Home</a>",
    "ferry": "<a href='#/old'>Old</a>",
    "old": "",
    "tea/black": "",
}
FOUND = {"/": "", "/#/tea": "tea", "/#!/ferry": "ferry", "/#/old": "old"}
FOUND["/#/tea/black"] = "tea/black"
RENDERED = ("--own-site", "--no-sitemaps", "--render", "auto")


def routed_site(site: Site, pages: dict[str, str], shell: str = "") -> None:
    """Serve one document, whose script shows another page for each route below its *shell*."""
    texts = {name: f"<h1>{name}</h1><p>{prose(name)}</p>{html}" for name, html in pages.items()}
    head = f"<title>App</title><link rel=canonical href=/>{shell}"
    site.add("/", f"{head}<div id=app></div><script>{ROUTER % json.dumps(texts)}</script>")


def test_routes_in_fragments_are_pages_in_every_crawl(site: Site, tmp_path: Path) -> None:
    routed_site(site, ROUTES)
    items = crawl(site, tmp_path, *RENDERED)
    assert set(items) == set(FOUND)
    assert all(prose(name) in str(items[path]["content"]) for path, name in FOUND.items())
    later = ROUTES | {"tea": "", "ferry": f"<p>{prose('late')}</p>"}
    del later["old"]
    routed_site(site, later)
    asked = site.requests.count("/")
    again = crawl(site, tmp_path, *RENDERED)
    changes = dict.fromkeys(FOUND, "unchanged") | {"/#!/ferry": "changed"}
    del changes["/#/old"]
    assert {path: item["change"] for path, item in again.items()} == changes
    counts = stats(tmp_path)
    assert counts["contentspider/pages/skipped/soft_404"] == 1, "an unknown route was tried"
    rendered = counts["contentspider/render/pages"]
    assert site.requests.count("/") - asked == 1 + rendered, "the browser loads each of them"


@pytest.mark.thorough
def test_routes_stay_in_queue_and_in_crawls_without_browser(site: Site, tmp_path: Path) -> None:
    routed_site(site, ROUTES)
    assert len(crawl(site, tmp_path, *RENDERED, "--max-pages", "2")) == 2
    assert set(crawl(site, tmp_path, *RENDERED, "--resume")) == set(FOUND)
    routed_site(site, ROUTES, f"<p>{prose('static')}</p>")
    assert set(crawl(site, tmp_path, *RENDERED[:2])) == {"/"}
    assert stats(tmp_path)["contentspider/pages/skipped/not_rendered"] == len(FOUND) - 1
    routed_site(site, ROUTES)
    again = crawl(site, tmp_path, *RENDERED)
    assert {again[path]["change"] for path in FOUND if path != "/"} == {"unchanged"}
