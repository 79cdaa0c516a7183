"""llms.txt and llms-full.txt: a site's pages in sections, and their texts, of items."""

from __future__ import annotations

import re
import sqlite3
import tracemalloc
from typing import TYPE_CHECKING, Any

import pytest
from markdown_it import MarkdownIt

from contentspider.ground.errors import ContentSpiderError
from contentspider.state.files.formats import Output

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

E = "https://e.org"
# The expression by which the parser of llmstxt.org reads a link.
LINK = re.compile(r"-\s*\[(?P<title>[^\]]+)\]\((?P<url>[^\)]+)\)(?::\s*(?P<text>.*))?$")


def item(path: str, title: str, **fields: object) -> dict[str, object]:
    return {"url": E + path, "title": title, "content": title, **fields}


ITEMS = [
    item("/tea/green", "Green tea", description="From Japan."),
    item("/", "The tea house", description="All about tea.\nSince 1901.", page_type="listing"),
    item("/about", "About us"),
    item("/tea/black", "Black tea", section=["Teas", "Strong"]),
    item("/tea/white", "White tea", section=["Teas"]),
    item("/tea", "Our teas", page_type="listing"),
    item("/tea/black?print=1", "Black tea, printed", canonical=f"{E}/tea/black"),
    item("/how-to-brew/pot", "A pot"),
    item("/how-to-brew/cup", "A cup", canonical=f"{E}/"),
    item("/visit/us", "Visit us"),
]


def write(name: str, folder: Path, items: list[dict[str, Any]]) -> str:
    output = Output.parse(f"{folder}/{name}")
    assert output.write(lambda: items) == len(items)
    return (folder / name).read_text("utf-8")


def test_llms_txt_lists_pages_in_sections_of_their_folders(tmp_path: Path) -> None:
    assert write("llms.txt", tmp_path, ITEMS) == (
        "# The tea house\n\n> All about tea. Since 1901.\n\n"
        "## Pages\n\n"
        f"- [The tea house]({E}/): All about tea. Since 1901.\n"
        f"- [About us]({E}/about)\n"
        f"- [Visit us]({E}/visit/us)\n\n"
        "## Tea\n\n"
        f"- [Green tea]({E}/tea/green): From Japan.\n"
        f"- [Black tea]({E}/tea/black)\n"
        f"- [White tea]({E}/tea/white)\n\n"
        "## How to brew\n\n"
        f"- [A pot]({E}/how-to-brew/pot)\n"
        f"- [A cup]({E}/how-to-brew/cup)\n\n"
        "## Optional\n\n"
        f"- [Our teas]({E}/tea)\n"
        f"- [Black tea, printed]({E}/tea/black?print=1)\n"
    )


def test_section_has_the_name_of_breadcrumbs_if_most_pages_have_it(tmp_path: Path) -> None:
    items = [item(f"/t/{number}", f"Tea {number}", section=["Teas"]) for number in range(3)]
    items += [item("/t/3", "Tea 3"), item("/", "House"), item("/x", "X", section=["Other"])]
    text = write("llms.txt", tmp_path, items)
    assert re.findall("^## (.*)$", text, re.MULTILINE) == ["Pages", "Teas", "Other"]


def test_folders_are_those_below_the_folder_of_all_pages(tmp_path: Path) -> None:
    paths = ("/docs/", "/docs/use/a", "/docs/use/b", "/docs/api", "/docs/api/a")
    items = [item(path, path) for path in paths]
    items += [{"url": f"https://blog.e.org/{number}", "title": "Post"} for number in (1, 2)]
    text = write("llms.txt", tmp_path, items)
    assert text.startswith("# /docs/\n")
    sections = re.findall("^## (.*)$", text, re.MULTILINE)
    assert sections == ["Pages", "Use", "Api", "blog.e.org"]


def test_index_file_is_the_front_page(tmp_path: Path) -> None:
    paths = ("about.html", "teas/a.html", "index.html", "teas/index.html")
    items = [{"url": path, "title": path} for path in paths]
    assert write("llms.txt", tmp_path, items) == (
        "# index.html\n\n## Pages\n\n- [about.html](about.html)\n- [index.html](index.html)\n\n"
        "## Teas\n\n- [teas/a.html](teas/a.html)\n- [teas/index.html](teas/index.html)\n"
    )


HOSTILE = [
    "a [b](http://evil.test) c",
    "]( x\n# Heading\n> quote",
    "ends \\",
    "`a` <script> <http://evil.test>",
    "\x00\x1b[2J \ud83d \u2028 x",
    "# - * 1. ",
    "x" * 5_000,
    " \n",
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_titles_and_descriptions_stay_one_link_on_one_line(
    text: str, tmp_path: Path
) -> None:
    front = item("/", text, description=text)
    page = item("/(a) b?x=[1]", text, description=text, section=[text])
    lines = write("llms.txt", tmp_path, [front, page]).splitlines()
    assert all(re.match("# |> |## |- |$", line) for line in lines)
    links = [line for line in lines if line.startswith("- ")]
    matches = [LINK.match(line) for line in links]
    assert sorted(match["url"] for match in matches if match) == [
        f"{E}/",
        f"{E}/%28a%29%20b?x=[1]",
    ]
    assert all(len(line) < 700 for line in lines)
    for link in links:
        tokens = MarkdownIt("commonmark").parse(link)
        inline = next(token for token in tokens if token.type == "inline")
        targets = [
            child.attrs["href"]
            for child in inline.children or ()
            if child.type == "link_open" and child.attrs
        ]
        assert targets in ([f"{E}/"], [f"{E}/%28a%29%20b?x=%5B1%5D"])


def test_items_without_address_or_title_are_written(tmp_path: Path) -> None:
    items: list[dict[str, Any]] = [{"content": "Tea."}, {"url": f"{E}/a", "section": "Teas"}, {}]
    text = write("llms.txt", tmp_path, items)
    assert text.startswith("# e.org\n")
    assert f"- [{E}/a]({E}/a)\n" in text
    assert write("llms.txt", tmp_path, []) == "# Pages\n"
    assert write("llms-full.txt", tmp_path, []) == ""


def test_llms_full_txt_has_markdown_below_title_and_address(tmp_path: Path) -> None:
    items = [
        item("/list", "All", page_type="listing") | {"content": "Tea"},
        item("/a b", "Tea *leaves*", content_markdown="# Tea *leaves*\n\nHot.\n\n## How\n\nSo."),
        item("/c", "", content="Plain.\x00"),
    ]
    assert write("llms-full.txt", tmp_path, items) == (
        f"# Tea \\*leaves\\*\nSource: {E}/a%20b\n\nHot.\n\n## How\n\nSo.\n"
        f"\n# {E}/c\nSource: {E}/c\n\nPlain.\ufffd\n"
        f"\n# All\nSource: {E}/list\n\nTea\n"
    )


def test_other_text_files_stay_plain_text(tmp_path: Path) -> None:
    assert write("my-llms.txt", tmp_path, ITEMS[:1]).startswith(f"{E}/tea/green\n")
    assert write("LLMS.TXT", tmp_path, ITEMS[:1]).startswith("# Green tea\n")


def test_full_temporary_folder_is_an_error_and_keeps_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = write("llms.txt", tmp_path, ITEMS)
    connect = sqlite3.connect

    def full(path: str) -> sqlite3.Connection:
        database = connect(path)
        database.execute("PRAGMA max_page_count = 2")
        return database

    monkeypatch.setattr(sqlite3, "connect", full)
    with pytest.raises(ContentSpiderError):
        Output.parse(f"{tmp_path}/llms.txt").write(lambda: ITEMS * 100)
    assert (tmp_path / "llms.txt").read_text() == before


@pytest.mark.large
@pytest.mark.thorough
def test_many_pages_are_written_in_bounded_memory(tmp_path: Path) -> None:
    def items() -> Iterator[dict[str, object]]:
        for number in range(20_000):
            yield item(f"/{number % 50}/{number}", f"Tea {number}", description="All of it. " * 9)

    for name, lines in (("llms.txt", 20_153), ("llms-full.txt", 59_999)):
        tracemalloc.start()
        assert Output.parse(f"{tmp_path}/{name}").write(items) == 20_000
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 2_000_000
        assert len((tmp_path / name).read_text().splitlines()) == lines
