"""What a page looks like, by a real browser: boxes, computed CSS, and the blocks they belong to."""

from __future__ import annotations

import asyncio
import json
import shutil
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest

from contentspider.page.input.page import Page
from contentspider.render.browser import NAMES, VIEWPORT, find_browser, launch_options
from contentspider.render.snapshot import (
    ARGUMENTS,
    COMMAND,
    PROPERTIES,
    Snapshot,
    page_record,
    visuals_of,
)

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(
    find_spec("playwright") is None or not any(map(shutil.which, NAMES)),
    reason="Playwright or Chromium is not installed",
)
IMAGE = "data:image/gif;base64,R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw=="
HTML = """<!doctype html><title>Tea</title><style>
body { margin: 0; font: 16px/20px monospace; }
nav { position: absolute; left: 1400px; top: 10px; width: 200px; height: 40px; color: #f00; }
main { position: absolute; left: 100px; top: 100px; width: 600px; }
p { margin: 0; height: 60px; } .sub { text-transform: uppercase; float: left; }
ul { margin: 0; padding: 0; } .no { display: none; } .clear { visibility: hidden; }
</style><body><nav class="top menu" id=n>Home <a href=/>Start</a></nav>
<main><h1 style="margin:0; height: 50px">Tea</h1><p>Tea is <b>made</b> of leaves.</p>
<p class=no>Never shown.</p><p class=clear>Not seen.</p>
<ul><li>One<ul><li>Two</li></ul>Three</li></ul><span class=sub style="width:50px">small</span>
<p>Tea is <b>made</b> of leaves.</p><a href=/big>
<img src=IMAGE alt=Cup width=30 height=20></a></main>
""".replace("IMAGE", IMAGE)


@pytest.fixture(scope="module")
def snapshot() -> Snapshot:
    return Snapshot(asyncio.run(_taken(HTML)))


async def _taken(html: str) -> Any:
    from playwright.async_api import async_playwright

    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(**launch_options(find_browser()))
        page = await browser.new_page(viewport=VIEWPORT)  # type: ignore[arg-type]
        await page.set_content(html)
        session = await page.context.new_cdp_session(page)
        taken = await session.send(COMMAND, ARGUMENTS)
        await browser.close()
        return taken


def entries(snapshot: Snapshot) -> list[tuple[str, str]]:
    found, _ = snapshot.texts()
    return [("/".join(entry["path"]), " ".join(entry["text"])) for entry in found]


def test_texts_belong_to_nearest_box_with_size(snapshot: Snapshot) -> None:
    assert entries(snapshot) == [
        ("nav", "Home  Start"),
        ("main/h1", "Tea"),
        ("main/p", "Tea is  made  of leaves."),
        ("main/p", "Not seen."),
        ("main/ul/li", "One Three"),
        ("main/ul/li/ul/li", "Two"),
        ("main/span", "small"),
        ("main/p", "Tea is  made  of leaves."),
    ]


def test_record_contains_boxes_and_styles_differing_from_body(snapshot: Snapshot) -> None:
    record = page_record(snapshot, "http://e.org/", ["Tea"], ["About tea"])
    assert json.loads(json.dumps(record)) == record
    nav, heading, *_, small, _ = record["texts"]
    assert nav["bound"] == {"left": 1400, "top": 10, "width": 200, "height": 40}
    assert nav["element"] == {"name": "nav", "id": "n", "classes": ["top", "menu"]}
    assert nav["computed"]["color"] == "rgb(255, 0, 0)"
    assert nav["computed"]["position"] == "absolute"
    assert "font-family" not in nav["computed"], "it is the body's"
    assert heading["bound"] == {"left": 100, "top": 100, "width": 600, "height": 50}
    assert small["text"] == ["small"] and small["computed"]["text-transform"] == "uppercase"
    assert {name for entry in record["texts"] for name in entry["computed"]} <= set(PROPERTIES)
    assert record["body"]["scroll"] == VIEWPORT
    assert record["body"]["computed"]["font-size"] == "16px"
    (image,) = record["images"]
    assert (image["src"], image["alt"], image["linked"]) == (IMAGE, "Cup", True)
    assert (image["bound"]["width"], image["bound"]["height"]) == (30, 20)


def test_html_blocks_get_visuals_of_same_rendered_text(snapshot: Snapshot) -> None:
    page = Page.from_html(HTML, "http://e.org/")
    visuals = visuals_of(page.content, snapshot)
    found = {
        (block.path.rpartition("/")[2], block.text): visual
        for block, visual in zip(page.content.blocks, visuals, strict=True)
    }
    assert found["nav#n.top.menu", "Home Start"]["box left"] == "1400"
    assert found["h1", "Tea"]["box height"] == "50"
    assert found["p.clear", "Not seen."]["visibility"] == "hidden"
    tops = [
        visual["box top"]
        for block, visual in zip(page.content.blocks, visuals, strict=True)
        if block.text == "Tea is made of leaves."
    ]
    assert tops == ["150", "290"] or len(set(tops)) == 2, "each has its own place"
    hidden = [visual for (_, text), visual in found.items() if text == "Never shown."]
    assert all(not visual for visual in hidden)


@pytest.mark.parametrize("html", ["", "<body>", "<frameset><frame src=a></frameset>", "a" * 10_000])
def test_empty_pages_framesets_and_bare_text_have_records(html: str, tmp_path: Path) -> None:
    snapshot = Snapshot(asyncio.run(_taken(html)))
    record = page_record(snapshot, "http://e.org/", [], [])
    assert len(record["texts"]) == html.startswith("a")
    page = Page.from_html(html, "http://e.org/")
    assert len(visuals_of(page.content, snapshot)) == len(page.content.blocks)
