"""Two nights of an operator of twelve sites, on loopback: ``python examples/two_nights.py FOLDER``.

One site is down in both nights, one is behind a login (the operator gives the form for the second
night), one is redesigned before the second night, and some have new, changed or gone pages. The
script prints each command, and what it prints, as ``docs/two-nights.txt`` has it. The nights are a
minute apart.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

from example_site import ExampleSite

if TYPE_CHECKING:
    from collections.abc import Mapping

NAMES = (
    "almanac,bakery,choir,dairy,estuary,ferry,garden,harbour,intranet,joinery,kiln,library".split(
        ","
    )
)
DOWN, REDESIGNED, BEHIND_LOGIN = "dairy", "garden", "intranet"
INTERVAL_SECS = 60
NEW_DESIGN = {
    '<div id="content" class="column">': '<main><section class="story"><div class="text">',
    '<aside class="sidebar">': '</section></main><aside class="promotion">',
    'class="entry"': 'class="prose wide"',
    'class="byline"': 'class="who-and-when"',
    'class="site-header"': 'class="top" data-theme="2"',
    'class="share-bar"': 'class="tools"',
    'class="related-box"': 'class="read-next"',
    'class="card"': 'class="tile"',
    '<section id="comments">': '<section class="voices">',
    "<p class='lead'>": "<p class='intro'>",
}
LOGIN = (
    "<html><title>Intranet</title><body><h1>Please log in</h1><form method=post action=/login>"
    "<input name=user><input name=password type=password><button>Log in</button></form></body>"
)
LOGIN_TOML = """\
[login.intranet]
form = "{url}/login"
fields = {{ user = "ida", password = {{ env = "INTRANET_PASSWORD" }} }}
"""
PASSWORD = "quay"  # noqa: S105 - of a server of our own


class Site(ThreadingHTTPServer):
    """A site on a port of its own."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, name: str, pages: Mapping[str, str]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.name, self.pages = name, dict(pages)
        Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Site

    def do_GET(self) -> None:
        path = self.path + "index.html" if self.path.endswith("/") else self.path
        is_known = "session=1" in self.headers.get("Cookie", "")
        if self.server.name == BEHIND_LOGIN and not is_known and path != "/robots.txt":
            if path == "/login":
                self.answer(200, LOGIN)
            else:
                self.answer(302, "", Location="/login")
        elif page := self.server.pages.get(path):
            self.answer(200, page)
        else:
            self.answer(404, "<h1>Not found</h1>")

    def do_POST(self) -> None:
        sent = self.rfile.read(int(self.headers["Content-Length"])).decode()
        if f"password={PASSWORD}" in sent:
            self.answer(303, "", Location="/", **{"Set-Cookie": "session=1; Path=/"})
        else:
            self.answer(200, LOGIN)

    def answer(self, status: int, text: str, **headers: str) -> None:
        body = text.encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def pages_of(number: int) -> dict[str, str]:
    """Return the pages of a site by their paths."""
    counts = {"articles": 10 + number, "recipes": 6, "chapters": 6}
    site = ExampleSite(seed=number, **counts, name=NAMES[number].title())
    return site.pages


def pass_a_day(sites: Mapping[str, Site]) -> None:
    """Change the sites as a day does."""
    for number, name in enumerate(NAMES):
        site = sites[name]
        stories = [path for path in site.pages if re.match("/stories/[0-9]+-", path)]
        if number % 3 == 0:  # a new story, which the front page names
            text = site.pages[stories[0]].replace("<h1>", "<h1>Again: ")
            site.pages["/stories/again.html"] = re.sub("<p>The [^<]*", "<p>Tonight we go on.", text)
            front = site.pages["/index.html"]
            link = '<ul class="latest"><li><a href="/stories/again.html">Again</a></li>'
            site.pages["/index.html"] = front.replace('<ul class="latest">', link)
        if number % 4 == 1:
            page = site.pages[stories[1]]
            site.pages[stories[1]] = page.replace("</h1>", ", a correction</h1>")
        if number % 5 == 2:
            del site.pages[stories[2]]
    garden = sites[REDESIGNED]
    for path, text in garden.pages.items():
        for old, new in NEW_DESIGN.items():
            text = text.replace(old, new)
        garden.pages[path] = text


def sites_toml(sites: Mapping[str, Site]) -> str:
    """Return the operator's file of sites."""
    lines = [
        f'[defaults]\ninterval = "{INTERVAL_SECS}s"\nown_site = true',
        'contact = "https://example.org/bot"\noutput = ["items/{site}.jsonl"]',
        'index = ["sqlite:pages.db"]',
    ]
    for name, site in sites.items():
        lines.append(f'\n[site.{name}]\nurls = ["{site.url}/"]')
    return "\n".join(lines) + "\n"


def tell(command: str, folder: Path) -> None:
    """Print a command of contentspider, what it prints, and its exit code."""
    show(f"$ {command}")
    environment = {**os.environ, "INTRANET_PASSWORD": PASSWORD, "TZ": "UTC"}
    arguments = [sys.executable, "-m", *command.split()]
    done = subprocess.run(
        arguments,
        cwd=folder,
        env=environment,
        check=False,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    show(done.stdout.replace(str(folder.resolve()), "/srv/crawls").rstrip())
    show(f"$ echo $?\n{done.returncode}\n")


def show(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True)
    (folder / "items").mkdir()
    with ExitStack() as stack:
        sites = {
            name: stack.enter_context(Site(name, pages_of(number)))
            for number, name in enumerate(NAMES)
        }
        sites[DOWN].__exit__()
        file = folder / "sites.toml"
        file.write_text(sites_toml(sites))
        began = time.monotonic()
        tell("contentspider run sites.toml --due", folder)
        pass_a_day(sites)
        (folder / "login.toml").write_text(LOGIN_TOML.format(url=sites[BEHIND_LOGIN].url))
        text = file.read_text().replace("[site.intranet]", '[site.intranet]\nlogin = "login.toml"')
        file.write_text(text)
        time.sleep(max(INTERVAL_SECS + began + 30 - time.monotonic(), 0))
        tell("contentspider run sites.toml --due", folder)
        tell("contentspider status", folder)


if __name__ == "__main__":
    main()
