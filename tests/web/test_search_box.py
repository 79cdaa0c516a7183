"""The search box in a real browser: on the server's own page, and on a page of another site."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from contentspider.index.engine import create_engine
from contentspider.testing.engines import document
from tests.conftest import serve
from tests.web.browsers import axe_core, browse, needs_browser

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = needs_browser


@contextmanager
def serving(folder: Path, origin: str) -> Iterator[str]:
    """Run ``contentspider serve`` for a search box of an *origin*, and yield its address."""
    engine = create_engine(f"sqlite:{folder / 'pages.db'}")
    engine.open(is_writer=True)
    engine.upsert(
        [
            document(
                1,
                title="Ferry timetable",
                content="Ferries cross the sea.",
                content_html=f"<h2>Times</h2><table><tr><th>from</th></tr><tr><td>{'8' * 300}</td>"
                f"</tr></table><pre>{'x' * 300}</pre><ul><li>daily</li></ul>",
            ),
            document(2, title="Ferry tickets", content="Tickets are cheap."),
            document(3, title="Ferry of another site", content="A ferry.", site="other.org"),
            document(4, title="Ferry to nowhere", content="A ferry.", url="javascript:alert(1)"),
        ]
    )
    engine.flush()
    engine.close()
    command = [sys.executable, "-m", "contentspider", "serve", "--index", "sqlite:pages.db"]
    command += ["--port", "0", "--token", "secret", "--allow-origin", origin]
    with subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            yield process.stderr.readline().partition("/?token=")[0]
        finally:
            process.terminate()


def test_search_box_of_another_site_shows_pages_while_typing(tmp_path: Path) -> None:
    async def look(shown: Any) -> dict[str, Any]:
        await shown.goto(f"{site.url}/shop")
        await shown.get_by_role("searchbox").focus()
        await shown.keyboard.type("ferr")
        suggestions = shown.get_by_role("link")
        await suggestions.first.wait_for()
        titles = sorted(await suggestions.all_inner_texts())
        await shown.keyboard.press("ArrowDown")
        focused = await shown.evaluate(
            "document.activeElement.shadowRoot.activeElement.getAttribute('href')"
        )
        await shown.keyboard.press("Escape")
        count = await suggestions.count()
        await shown.keyboard.press("Enter")
        await shown.wait_for_selector("ol > li")
        results = await shown.locator("ol > li h2").all_inner_texts()
        await shown.locator("#q").fill("ticke")
        await shown.wait_for_selector(".suggestions a")
        own_titles = await shown.locator(".suggestions a").all_inner_texts()
        return {
            "titles": titles,
            "focused": focused,
            "count after Escape": count,
            "results": sorted(results),
            "own titles": own_titles,
            "width": await shown.evaluate("document.documentElement.scrollWidth"),
        }

    with serve() as site, serving(tmp_path, site.url) as address:
        script = f'<script src="{address}/search-box.js" data-site="e.org" defer></script>'
        site.add("/shop", f"<!DOCTYPE html><title>Shop</title><h1>Shop</h1>{script}")
        seen = browse(look)
    assert seen["titles"] == ["Ferry tickets\ne.org/2", "Ferry timetable\ne.org/1"], (
        "of one site, with web addresses"
    )
    assert seen["focused"] in ("http://e.org/1", "http://e.org/2")
    assert seen["count after Escape"] == 0
    assert seen["results"] == ["Ferry tickets", "Ferry timetable", "Ferry to nowhere"]
    assert seen["own titles"] == ["Ferry tickets\ne.org/2"]
    assert seen["width"] == 360


def test_search_box_suggests_pages_for_words_typed_before_its_script_came(tmp_path: Path) -> None:
    async def look(shown: Any) -> tuple[int, list[str]]:
        released = asyncio.Event()

        async def hold(route: Any) -> None:
            await released.wait()
            await route.continue_()

        await shown.route("**/search-box.js", hold)
        await shown.goto(f"{address}/?q=ferry", wait_until="commit")
        await shown.locator("#q").fill("ticke")
        before = await shown.locator(".suggestions").count()
        released.set()
        await shown.wait_for_selector(".suggestions a")
        titles = await shown.locator(".suggestions a").all_inner_texts()
        await shown.route("**/api/search?*", lambda _: None)  # the answer does not come
        async with shown.expect_request("**/api/search?*"):
            await shown.locator("#q").fill("ferr")
        async with shown.expect_event("requestfailed", timeout=9_000):  # it is given up
            await shown.keyboard.press("ArrowDown")
        return before, titles

    with serving(tmp_path, "http://127.0.0.1") as address:
        assert browse(look) == (0, ["Ferry tickets\ne.org/2"])


@pytest.mark.thorough
def test_axe_finds_no_accessibility_violations_in_search_pages(tmp_path: Path) -> None:
    axe = axe_core(tmp_path)

    async def look(shown: Any) -> dict[str, Any]:
        problems = {}
        await shown.goto(f"{address}/?token=secret")
        for path in ("/", "/?q=ferry", f"/page/{1:032x}", "/sites", "/try"):
            await shown.goto(f"{address}{path}")
            if path == "/":
                await shown.locator("#q").fill("ferr")
                await shown.wait_for_selector(".suggestions a")
            await shown.evaluate(axe)
            problems[path] = (await shown.evaluate("axe.run()"))["violations"]
            width = await shown.evaluate("document.documentElement.scrollWidth")
            assert width == 360, (path, width)
        return problems

    with serving(tmp_path, "http://127.0.0.1") as address:
        assert not any(browse(look).values())
