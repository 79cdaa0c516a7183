"""Annotation in a real browser: by mouse, by keyboard, with hostile pages."""

from __future__ import annotations

import signal
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from tests.conftest import read_jsonl
from tests.processes import Popen
from tests.sites import prose
from tests.web.browsers import axe_core, browse, needs_browser

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = needs_browser
READY = "body[data-state=ready]"
PAGES = 8
# The heading fills its column, its text does not; the box is hidden until a script shows it.
PAGE = """<title>Page {number} </script><script>parent.document.title = 'taken'</script></title>
<style>body {{ margin: 0 }} h1, p, nav {{ width: 600px; margin: 20px 0 }} .later {{ display: none }}
</style>{more}<nav><a href=/>Home</a></nav><div class=text><h1>Page {number}</h1><p>{first}</p>
<p>{second}</p></div><p class=ad>Buy now!</p><div class=later><p>{third}</p></div>"""
HOSTILE = """<script>parent.document.title = 'taken'; fetch('/sent')</script>
<img src=/sent.png onerror="parent.document.title = 'taken'"><iframe src=/sent></iframe>
<meta http-equiv=refresh content="0; url=/sent"><base href=/sent/>
<link rel=stylesheet href=sent.css>
<style>* {{ pointer-events: none }} .over {{ position: fixed; inset: 0; z-index: 9999 }}
@import url(/sent.css); body {{ background: url(/sent.png) }}</style>
<div class=over>Over it all</div><form action=/sent><input autofocus onfocus="fetch('/sent')"
 onkeydown="event.stopPropagation()" accesskey=j><button autofocus>send</button></form>"""


def write_site(folder: Path, more: str = "") -> Path:
    folder.mkdir()
    for number in range(PAGES):
        given = {f"{name}": prose(number, name) for name in ("first", "second", "third")}
        page = PAGE.format(number=number, more=more.format(), **given)
        (folder / f"{number}.html").write_text(page)
    return folder


@contextmanager
def annotating(folder: Path, *arguments: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Run ``contentspider annotate`` beside a folder, and yield its address, and its process."""
    command = [sys.executable, "-m", "contentspider", "annotate", folder.name, "--port", "0"]
    command += arguments
    with Popen(command, cwd=folder.parent, stderr=subprocess.PIPE, text=True) as process:
        try:
            lines = iter(process.stderr)
            yield next(line for line in lines if line.startswith("http")).split()[0], process
        finally:
            process.terminate()


async def open_page(shown: Any, address: str, name: str = "") -> None:
    """Open the site, and go on to the page of a name."""
    await shown.goto(address)
    await shown.wait_for_selector(READY)
    while name and name not in await shown.inner_text("#where"):
        await press(shown, "n")


async def press(shown: Any, *keys: str) -> None:
    for key in keys:
        await shown.keyboard.press(key)
        await shown.wait_for_selector(READY)


async def drag(shown: Any, left: float, top: float, right: float, bottom: float) -> None:
    """Draw a rectangle in the frame's own coordinates."""
    stage = await shown.locator("#overlay").bounding_box()
    await shown.mouse.move(stage["x"] + left, stage["y"] + top)
    await shown.mouse.down()
    await shown.mouse.move(stage["x"] + right, stage["y"] + bottom, steps=3)
    await shown.mouse.up()


async def drag_all_away(shown: Any) -> None:
    """Make everything on the page noise."""
    await shown.keyboard.down("Alt")
    await drag(shown, 0, 0, 1270, 2900)
    await shown.keyboard.up("Alt")
    await press(shown, "c")


async def labelled(shown: Any, label: str) -> set[int]:
    marks = await shown.locator(f"#layer .{label}").evaluate_all(
        "found => found.map(one => Number(one.dataset.block))"
    )
    return set(marks)


async def box_of(shown: Any, selector: str) -> dict[str, float]:
    """Return where an element is in the frame."""
    stage = await shown.locator("#overlay").bounding_box()
    box = await shown.frame_locator("#frame").locator(selector).first.bounding_box()
    return {**box, "x": box["x"] - stage["x"], "y": box["y"] - stage["y"]}


@pytest.mark.thorough
def test_rectangle_drawn_over_content_saves_gold_text(example_site: Path) -> None:
    """Draw over the content of a page, check, done; and what a crash of the server leaves."""
    name = "handbook/chapter-3.html"
    truth = {row["path"].lstrip("/"): row for row in read_jsonl(example_site / "gold.jsonl")}[name]

    async def look(shown: Any) -> tuple[set[int], set[int]]:
        await open_page(shown, address, name)
        await drag_all_away(shown)
        before = await labelled(shown, "main")
        box = await box_of(shown, "main.handbook")
        corners = (box["x"] - 2, box["y"] - 2)
        await drag(shown, *corners, box["x"] + box["width"] + 2, box["y"] + box["height"] + 2)
        await press(shown, "c")
        after = await labelled(shown, "main")
        await press(shown, "d")
        return before, after

    with annotating(example_site) as (address, process):
        before, after = browse(look, 1280, 3000)
        process.send_signal(signal.SIGKILL)
    out = example_site.parent / "annotations" / example_site.name
    [gold] = read_jsonl(out / "gold.jsonl")
    assert not before
    assert gold["path"] == name
    assert gold["text"].split() == truth["text"].split(), "cells of a row stand on a line"
    # Its title, four paragraphs, the code, and a table of three columns and four rows.
    assert len(after) == 18

    async def saved(shown: Any) -> str:
        await open_page(shown, address, name)
        return str(await shown.inner_text("#where"))

    with annotating(example_site) as (address, _):
        assert browse(saved, 1280, 3000).endswith(", saved; 1 done")


def test_heading_is_selected_by_its_text(tmp_path: Path) -> None:
    async def look(shown: Any) -> set[str]:
        await open_page(shown, address, "3.html")
        await drag_all_away(shown)
        box = await box_of(shown, "h1")
        await drag(shown, 0, box["y"] - 5, 300, box["y"] + box["height"] + 5)
        await press(shown, "c")
        return await labelled(shown, "main")

    with annotating(write_site(tmp_path / "tea")) as (address, _):
        assert len(browse(look, 1280, 3000)) == 1


def test_click_labels_block_and_shift_click_labels_site(tmp_path: Path) -> None:
    async def click(shown: Any, selector: str) -> None:
        stage, box = await shown.locator("#overlay").bounding_box(), await box_of(shown, selector)
        await shown.mouse.click(stage["x"] + box["x"] + 10, stage["y"] + box["y"] + 10)
        await shown.wait_for_selector(READY)

    async def look(shown: Any) -> list[Any]:
        await open_page(shown, address)
        await click(shown, "p >> nth=0")
        first = await shown.inner_text("#block")
        await shown.keyboard.down("Shift")
        await click(shown, "p.ad")
        await shown.keyboard.up("Shift")
        said = await shown.inner_text("#message")
        await press(shown, "n")
        return [first, said, len(await labelled(shown, "main"))]

    with annotating(write_site(tmp_path / "tea")) as (address, _):
        first, said, main = browse(look, 1280, 900)
    assert first.startswith("noise"), "it was main"
    assert said == f"{PAGES} blocks on {PAGES} pages: main; keep p.ad"
    assert main == 4
    assert (tmp_path / "models" / "tea" / "overrides.toml").read_text() == 'keep = ["p.ad"]\n'


def test_named_value_is_an_example_and_is_painted_on_other_pages(tmp_path: Path) -> None:
    async def name_heading(shown: Any) -> str:
        await press(shown, "j")
        while not (await shown.inner_text("#block")).split("; ")[-1].startswith("Page "):
            await press(shown, "j")
        await shown.keyboard.press("f")
        await shown.fill("#field-name", "headline")
        await shown.click("#field button[value=save]")
        await shown.wait_for_selector(READY)
        return str(await shown.inner_text("#message"))

    async def look(shown: Any) -> list[Any]:
        await open_page(shown, address)
        first = await name_heading(shown)
        await press(shown, "n")
        second = await name_heading(shown)
        await press(shown, "n")
        painted = await shown.locator("#layer .field").all_text_contents()
        title = await shown.inner_text("#title")
        text = (tmp_path / "fields.toml").read_text()
        await press(shown, "z")
        assert not await shown.locator("#layer .field").count()
        return [first, second, painted, title, text]

    with annotating(write_site(tmp_path / "tea")) as (address, _):
        first, second, painted, title, text = browse(look, 1280, 900)
    assert "headline" in first
    assert f"{PAGES} of {PAGES}" in second
    assert painted == [f"headline: {title}"]
    assert "[headline]" in text
    assert not (tmp_path / "fields.toml").exists(), "the undo takes the new file away"


def test_page_opens_on_its_content_with_a_legend_of_colours(tmp_path: Path) -> None:
    style = "html {{ scroll-behavior: smooth }} body {{ padding-bottom: 900px }}"
    folder = write_site(tmp_path / "pages", f"<style>{style}</style>")
    menu = "".join(f"<li><a href=/{one}>Place {one}</a>" for one in range(200))
    for path in folder.iterdir():
        path.write_text(path.read_text().replace("<nav>", f"<nav><ul>{menu}</ul>"))
    colours = "found => found.map(one => [one.className, getComputedStyle(one).backgroundColor])"

    async def look(shown: Any) -> tuple[float, float, dict[str, str], set[tuple[str, str]]]:
        await open_page(shown, address)
        heading = await shown.frame_locator("#frame").locator("h1").bounding_box()
        mark = await shown.locator("#layer .main").first.bounding_box()
        legend = await shown.locator("#legend li").evaluate_all(colours)
        marks = await shown.locator("#layer .main, #layer .noise").evaluate_all(colours)
        return heading["y"], mark["y"], dict(legend), set(map(tuple, marks))

    with annotating(folder) as (address, _):
        heading, mark, legend, marks = browse(look, 1280, 800)
    assert 0 < heading < 400
    assert abs(heading - mark) < 20, "the marks lie on the texts"
    assert list(legend) == ["main", "noise", "unsure", "field"]
    assert marks == {(name, legend[name]) for name in ("main", "noise")}


@pytest.mark.thorough
def test_annotation_works_by_keyboard_alone(tmp_path: Path) -> None:
    async def look(shown: Any) -> list[str]:
        await open_page(shown, address, "3.html")
        said = []
        for keys in ("j2", "ju", "jx", "m", "jjm", "kkxz"):
            await press(shown, *keys)
            said.append((await shown.inner_text("#block")).partition(", probability")[0])
        await press(shown, "?")
        assert await shown.locator("#help").is_visible()
        await press(shown, "Escape")
        for _ in range(10):  # never into the frame
            await shown.keyboard.press("Tab")
            assert await shown.evaluate("document.activeElement.id") != "frame"
        await shown.keyboard.press("Home")
        said.append(str(await shown.locator("#layer div").count()))
        await press(shown, "h")
        said.append(str(await shown.locator("#layer div").count()))
        await press(shown, "d")
        return said

    with annotating(write_site(tmp_path / "tea")) as (address, _):
        said = browse(look, 360, 700)
    assert said == ["noise (navigation)", "unsure", "noise", "main", "main", "main", "5", "6"]
    [gold] = read_jsonl(tmp_path / "annotations" / "tea" / "gold.jsonl")
    shown = [prose(3, "first"), prose(3, "second")]
    assert gold["text"].split("\n") == [*shown, "Buy now!", prose(3, "third")]
    assert gold["optional_text"] == "Page 3"


def test_hostile_page_runs_no_scripts_and_makes_no_requests(tmp_path: Path) -> None:
    asked: list[str] = []

    async def look(shown: Any) -> list[Any]:
        shown.on("requestfinished", lambda request: asked.append(request.url))
        await open_page(shown, address, "3.html")
        title = await shown.title()
        await shown.mouse.click(200, 200)
        await press(shown, *"jjj")
        block = await shown.inner_text("#block")
        await drag_all_away(shown)
        return [title, block, len(await labelled(shown, "main")), shown.url, len(shown.frames)]

    folder = write_site(tmp_path / "tea", HOSTILE)
    with annotating(folder) as (address, _):
        title, block, main, url, frames = browse(look, 1280, 3000)
    assert title == "Annotate tea"
    assert block and not block.startswith("J and K")
    assert (main, url, frames) == (0, address, 2)
    assert not [one for one in asked if "sent" in one and "/asset/" not in one]


@pytest.mark.thorough
def test_page_of_10_megabytes_can_be_annotated(tmp_path: Path) -> None:
    folder = write_site(tmp_path / "tea")
    rows = "".join(f"<p>{prose(number, words=60)}</p>" for number in range(25_000))
    (folder / "3.html").write_text((folder / "3.html").read_text() + rows)

    async def look(shown: Any) -> str:
        shown.set_default_timeout(120_000)
        await open_page(shown, address, "3.html")
        await press(shown, "j", "m")
        return str(await shown.inner_text("#block"))

    with annotating(folder) as (address, _):
        assert browse(look, 1280, 900).startswith("main")


@pytest.mark.thorough
def test_axe_finds_no_accessibility_violations_in_annotation(tmp_path: Path) -> None:
    axe = axe_core(tmp_path)

    async def look(shown: Any) -> list[Any]:
        await open_page(shown, address)
        await press(shown, "j")
        await shown.evaluate(axe)
        found = (await shown.evaluate("axe.run(document, {iframes: false})"))["violations"]
        await press(shown, "?")
        more = (await shown.evaluate("axe.run(document, {iframes: false})"))["violations"]
        return [*found, *more]

    with annotating(write_site(tmp_path / "tea")) as (address, _):
        assert browse(look) == []


@pytest.fixture
def example_site(tmp_path: Path) -> Path:
    from example_site import ExampleSite

    return ExampleSite().write(tmp_path / "example")
