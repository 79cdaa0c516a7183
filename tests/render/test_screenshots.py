"""Pictures of stored pages: what is kept lies over them, and nothing leaves the folder."""

from __future__ import annotations

import asyncio
import re
import shutil
from html import unescape
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

from contentspider.render import files as files_module
from contentspider.render.browser import NAMES, VIEWPORT
from contentspider_research.rendered import read_rendered
from tests.conftest import Site, run, serve
from tests.messages import wording

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(
    find_spec("playwright") is None or not any(map(shutil.which, NAMES)),
    reason="Playwright or Chromium is not installed",
)
TEXT = "Tea number {} is made of leaves that grow on the hill {}, and of hot water from a kettle. "


def _write_site(folder: Path, script: str = "") -> None:
    (folder / "look").mkdir(parents=True)
    (folder / "look" / "page.css").write_text("nav { height: 100px } main { margin-left: 300px }")
    for number in range(8):
        text = "".join(TEXT.format(number, word) for word in "abcdefgh")
        (folder / f"{number}.html").write_text(
            f"<title>Tea {number}</title><link rel=stylesheet href=look/page.css>"
            f"<meta name=description content='{TEXT.format(number, 'a')}'>"
            f"<nav><a href=/>Home</a> <a href=/all>All teas</a></nav>{script}"
            f"<main><h1>Tea {number}</h1><p>{text}</p><p>{text[::-1]}</p></main>"
        )


def _rectangles(page: str, word: str) -> list[tuple[list[float], str]]:
    found = re.findall(rf'<rect class="{word}" ([^>]*)>(?:<title>(.*?)</title>)?', page)
    return [
        ([float(n) for n in re.findall(r'"([\d.-]+)"', at)], unescape(said)) for at, said in found
    ]


def test_report_screenshots_show_kept_and_dropped_blocks_and_units(tmp_path: Path) -> None:
    _write_site(tmp_path / "teas")

    done = run("report", "teas", "--screenshots", "2", cwd=tmp_path)

    folder = tmp_path / "report-screenshots"
    page = (folder / "index.html").read_text()
    assert "2 of 2 pages" in done.stderr
    assert {path.name for path in folder.iterdir()} == {"1.jpg", "2.jpg", "index.html"}
    assert (folder / "1.jpg").read_bytes().startswith(b"\xff\xd8")
    kept = [found for found in _rectangles(page, "kept") if "is made of leaves" in found[1]]
    assert kept and all(left >= 300 and top >= 100 for (left, top, *_), _ in kept)
    [home, *_] = [found for found in _rectangles(page, "dropped") if "All teas" in found[1]]
    assert home[0][1] < 100
    assert _rectangles(page, "unit")
    assert "<script" not in page


def test_screenshot_page_makes_no_requests(tmp_path: Path) -> None:
    with serve() as site:
        _asks_nobody(tmp_path, site)


def _asks_nobody(tmp_path: Path, site: Site) -> None:
    site.add("/taken.js", "document.title = 'taken'", kind="text/javascript")
    asks = f"""<script src={site.url}/taken.js></script><img src={site.url}/taken.png>
    <script>fetch('{site.url}/data'); new WebSocket('{site.url.replace("http", "ws")}/socket');
    for (let n = 0; n < 9; n++) alert(n); window.open('{site.url}/window');
    fetch('/../../etc/passwd').then(a => a.text()).then(text => document.body.append(text));
    </script>"""
    _write_site(tmp_path / "teas", asks)

    done = run("report", "teas", "--screenshots", "3", cwd=tmp_path)

    assert "pages -> report.html" in done.stderr
    assert site.requests == []
    assert "root:" not in (tmp_path / "report-screenshots" / "index.html").read_text()


@pytest.mark.thorough
def test_page_hanging_browser_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files_module, "SECS", 3.0)
    files = [tmp_path / "hangs.html", tmp_path / "shows.html"]
    files[0].write_text("<script>while (1);</script><p>Never</p>")
    files[1].write_text("<p>Shown</p>")

    async def seen() -> list[object]:
        return [found async for found in files_module.render_files(tmp_path, files, pictures=False)]

    hung, shown = asyncio.run(seen())

    assert (hung[0], "more than 3 s" in hung[1]) == (files[0], True)
    assert isinstance(shown, files_module.RenderedFile)
    assert shown.snapshot.texts()[0][0]["text"] == ["Shown"]


@pytest.mark.thorough
def test_render_command_writes_looks_of_stored_pages(tmp_path: Path) -> None:
    _write_site(tmp_path / "teas")

    done = run("render", "teas", "-o", "looks.jsonl.gz", "--pages", "3", cwd=tmp_path)

    assert "3 pages -> looks.jsonl.gz" in done.stderr
    pages = list(read_rendered(tmp_path / "looks.jsonl.gz"))
    assert [page.url for page in pages] == ["0.html", "1.html", "2.html"]
    assert pages[2].hints.titles == ("Tea 2",)
    heading = next(index for index, one in enumerate(pages[0].content.blocks) if one.tag == "h1")
    assert pages[0].content.visuals[heading]["box left"] >= "300"
    assert pages[0].content.visuals[heading]["font-weight"] == "700"
    width, height = pages[0].content.extent
    # Without a doctype, the body fills the window, but for its margins.
    assert width == VIEWPORT["width"] and height >= VIEWPORT["height"] - 2 * 8
    assert run("render", "teas", cwd=tmp_path, check=False).returncode == 1
    (tmp_path / "none").mkdir()
    empty = run("render", "none", "-o", "none.jsonl", cwd=tmp_path, check=False)
    assert empty.returncode == 1 and "has no HTML files" in empty.stderr


def test_screenshots_need_folder_of_html_files(tmp_path: Path) -> None:
    done = run("report", "none", "--screenshots", "1", cwd=tmp_path, check=False)
    assert done.returncode == 1 and wording("cli.needs-folder") in done.stderr
