"""Trying a page in a real browser: by keyboard, on a phone, with a hostile page in the frame."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from contextlib import contextmanager
from threading import Event
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode
from urllib.request import urlopen

import psutil
import pytest

from tests.conftest import Site, serve
from tests.sites import prose
from tests.web.browsers import axe_core, browse, needs_browser

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = needs_browser
HOSTILE = """<script>top.document.title = 'taken'; fetch('/sent')</script>
<img src=/sent.png onerror="fetch('/sent')"><style>* { position: fixed; inset: 0 }</style>
<link rel=stylesheet href=/sent.css><iframe src=/sent.html></iframe>
<a href=/ autofocus accesskey=j>go</a>"""


def page(number: int, more: str = "") -> str:
    links = "".join(f"<a href=/{one}>{one}</a> " for one in range(1, 14))
    return (
        f"<title>{prose(number, 'title', words=5)}</title><body><div class=top>{links}</div>"
        f"<div class=text><h1>{prose(number, 'title', words=5)}</h1><p>{prose(number)}</p>{more}"
        f"<p>{prose(number, 2)}</p></div>"
    )


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """Run ``contentspider serve``, and yield its address."""
    command = [sys.executable, "-m", "contentspider", "serve", "--port", "0", "--allow-private"]
    with subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            yield process.stderr.readline().split()[0]
        finally:
            process.terminate()


def _try(address: str, url: str, look: Any) -> Any:
    """Try a page with ten more of its site, by the keyboard, and return what *look* finds."""

    async def look_at_it(shown: Any) -> Any:
        await shown.goto(address)
        await shown.wait_for_selector("#url:focus")
        await shown.keyboard.type(url)
        await shown.keyboard.press("Tab")
        await shown.keyboard.type("10")
        await shown.keyboard.press("Tab")
        await shown.keyboard.press("Enter")
        await shown.wait_for_selector(".result", timeout=90_000)
        return await look(shown)

    return browse(look_at_it)


@pytest.fixture
def site() -> Iterator[Site]:
    with serve() as made:
        for number in range(14):
            made.add(f"/{number or ''}", page(number))
        made.add("/3", page(3, HOSTILE))
        yield made


async def sort(shown: Any) -> list[list[float]]:
    """Sort the blocks by probability, by the keyboard, and return these, up and down."""
    found = []
    table = shown.locator("table[data-sortable] >> nth=1")
    for _ in range(2):
        await table.get_by_role("button", name="Probability").press("Enter")
        cells = await table.locator("tbody tr td:nth-child(2)").all_inner_texts()
        found.append(list(map(float, cells)))
    return found


@pytest.mark.thorough
def test_page_is_tried_by_keyboard_on_phone(site: Site, tmp_path: Path) -> None:
    async def look(shown: Any) -> dict[str, Any]:
        for summary in await shown.query_selector_all("details:not([open]) > summary"):
            await summary.focus()
            await shown.keyboard.press("Enter")
        frame = shown.frame_locator("iframe >> nth=1")
        await frame.locator("h1").wait_for()
        return {
            "width": await shown.evaluate("document.documentElement.scrollWidth"),
            "title": await shown.title(),
            "names": await shown.locator(".result > h2").all_inner_texts(),
            "text": await shown.locator(".result .text").nth(1).inner_text(),
            "sorted": await sort(shown),
            "kept": await frame.locator("[data-contentspider=kept]").all_inner_texts(),
        }

    with serving(tmp_path) as address:
        found = _try(address, f"{site.url}/3", look)

    title = prose(3, "title", words=5)
    assert found["width"] == 360
    up, down = found["sorted"]
    assert up == sorted(up) == down[::-1] and up[0] < up[-1]
    assert found["title"] == title, "not taken by the page"
    assert found["names"] == ["The page alone", "With 10 more pages of its site"]
    expected = [title, prose(3), prose(3, 2)]
    lines = re.split(r"\s*\n\s*", found["text"])
    assert [line for line in lines if line != "go"] == expected, "the link may be content"
    assert set(expected) <= set(found["kept"])
    assert not [path for path in site.requests if "sent" in path]


def test_sentences_with_links_are_not_broken_at_the_links(tmp_path: Path) -> None:
    async def look(shown: Any) -> list[list[str]]:
        await shown.goto(f"{address}try")
        found = await shown.locator("p:has(a)").evaluate_all(
            "found => found.map(one => [getComputedStyle(one).display,"
            " ...[...one.querySelectorAll('a')].map(link => getComputedStyle(link).display)])"
        )
        return list(found)

    with serving(tmp_path) as address:
        shown = browse(look)
    assert shown
    assert all(display in ("block", "inline") for one in shown for display in one)


@pytest.mark.thorough
def test_stopped_server_ends_its_jobs(tmp_path: Path) -> None:
    """A browser follows a job whose site answers slowly when the server is asked to end."""
    with serve() as slow, serving(tmp_path) as address:
        slow.add("/", page(0))
        answer, asked = slow.answer, Event()

        def late(path: str) -> tuple[int, str, bytes]:
            if path == "/robots.txt":
                asked.set()
                ended.wait(60)
            return answer(path)

        ended = Event()
        slow.answer = late
        form = urlencode({"url": f"{slow.url}/", "pages": "10"}).encode()
        try:
            # The form leads to the job's page; then its events are followed.
            with urlopen(f"{address}try", form, timeout=30) as job:  # noqa: S310
                followed = urlopen(f"{job.url}/events", timeout=60)  # noqa: S310
            assert asked.wait(60)
            running = psutil.process_iter(["ppid", "cmdline"])  # has no command of an ended one
            children = [one for one in running if one.info["ppid"] == os.getpid()]
            [server] = [one for one in children if "serve" in (one.info["cmdline"] or ())]
            crawls = server.children()
            assert crawls
            server.terminate()
            server.wait(20)
            assert not psutil.wait_procs(crawls, 10)[1]
        finally:
            ended.set()
        followed.close()


@pytest.mark.thorough
def test_axe_finds_no_accessibility_violations_in_try_page(site: Site, tmp_path: Path) -> None:
    axe = axe_core(tmp_path)

    async def look(shown: Any) -> list[Any]:
        await shown.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        await shown.evaluate(axe)
        return (await shown.evaluate("axe.run(document, {iframes: false})"))["violations"]

    with serving(tmp_path) as address:
        assert _try(address, f"{site.url}/3", look) == []
