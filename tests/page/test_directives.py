"""What a site's owner marks as not to be indexed is left out, unless a setting keeps it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from contentspider import Page
from contentspider.page.tree.blocks import new_walker
from tests.conftest import Site, read_jsonl, run
from tests.sites import article, small_site

if TYPE_CHECKING:
    from pathlib import Path

OFF, ON = "<!--googleoff: index-->", "<!-- googleon: index -->"


def read(html: str, obeys_directives: bool = True) -> Page:
    return Page.from_html(html, walker=new_walker(obeys_directives))


def texts(page: Page) -> str:
    return "|".join(block.text for block in page.content.blocks)


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<div data-nosnippet><h2>b</h2><p>c</div>", "a|z"),
        ("<p>b <span data-nosnippet=false>c</span> d", "a|b d|z"),
        ("<section data-elastic-exclude>b</section>", "a|z"),
        ("<div data-swiftype-index=false>b</div>", "a|z"),
        ("<ul><li class='x robots-noindex'>b<li class=robots-nocontent>c<li>d</ul>", "a|d|z"),
        ("<noindex>b<p>c</p></noindex>", "a|z"),
        ("<p>b <noindex><a href=/>c</a></noindex> d</p>", "a|b d|z"),
        (f"{OFF}<p>b</p>{ON}", "a|z"),
        ("<!-- GoogleOff: ALL --><p>b</p><!--googleon: all--><p>c</p>", "a|c|z"),
        (f"<p>b {OFF}c <b>d</b>{ON} e</p>", "a|b e|z"),
        ("<!--noindex--><p>b</p><!--/noindex--><p>c</p>", "a|c|z"),
        # They reach beyond the elements that they begin in.
        (f"<div>b{OFF}<p>c</p></div><div><p>d</p>{ON}e</div>", "a|b|e|z"),
        (f"{OFF}<p>b</p><div hidden>{ON}</div><p>c</p>", "a|c|z"),
        (f"{OFF}<p>b</p><select>{ON}</select>c", "a|c|z"),
        # Only its own end ends one, and what never ends is none.
        (f"<!--noindex-->b{ON}c<!--/noindex-->d", "a|d|z"),
        (f"<p>b</p>{OFF}<p>c</p><!--/noindex-->", "a|b|c|z"),
        (f"{ON}<p>b</p><!--/noindex-->", "a|b|z"),
        # A comment of more than 100 bytes is not read.
        (f"<!--googleoff: index{' ' * 84}--><p>b</p>{ON}", "a|z"),
        (f"<!--googleoff: index{' ' * 85}--><p>b</p>{ON}", "a|b|z"),
    ],
)
def test_text_marked_nosnippet_or_noindex_is_left_out(html: str, expected: str) -> None:
    html = f"<p>a</p>{html}<p>z</p>"
    page = read(html)
    assert texts(page) == expected
    assert page.content.has_left_out is (expected != texts(read(html, obeys_directives=False)))


@pytest.mark.parametrize(
    "html",
    [
        "<p data-swiftype-index=true>b</p>",
        "<p data-nosnippets data-excerpt=x data-elastic>b</p>",
        "<p class='robots-nofollow xrobots-noindex robots-noindex2'>b</p>",
        "<!--googleoff: anchor--><p>b</p><!--googleon: anchor-->",
        "<!-- noindex this --><p>b</p><!--/noindex-->",
        f"<!--{'n' * 500}--><!-- googleoff --><p>b</p>{ON}",
    ],
)
def test_similar_but_invalid_noindex_marks_are_ignored(html: str) -> None:
    page = read(f"<p>a</p>{html}<p>z</p>")
    assert (texts(page), page.content.has_left_out) == ("a|b|z", False)


def test_images_and_frames_in_noindex_parts_are_left_out() -> None:
    shown = (
        "<img src=/i><iframe src=/f></iframe><img src='data:,'><noscript><img src=/n></noscript>"
    )
    page = read(f"<p>a</p>{OFF}{shown}{ON}<div data-nosnippet>{shown}</div><p>z</p>")
    assert all(block.images == block.films == () for block in page.content.blocks)
    assert not page.content.has_left_out  # no text was


def test_hidden_text_fallback_skips_nosnippet_parts() -> None:
    long = "Tea is made of leaves, and of hot water; it is drunk from cups. " * 9
    page = read(f"<p>a</p><div hidden>{long}</div><div hidden data-nosnippet>2 {long}</div>")
    assert texts(page) == f"a|{long.strip()}"


@pytest.mark.parametrize("piece", [OFF, f"{OFF}<p>b</p>{ON}", "<div data-nosnippet>", "<noindex>"])
def test_many_noindex_marks_take_linear_time(piece: str) -> None:
    assert texts(read(f"<p>a</p>{piece * 50_000}")) == "a"


def test_crawl_counts_pages_with_noindex_parts_and_flag_keeps_them(
    site: Site, tmp_path: Path
) -> None:
    small_site(site, 6)
    marked = "<p>This is of the editors only, and marked.</p>"
    site.add("/3", article(3, f"<div data-nosnippet>{marked}</div>"))
    for flags, count in ((), 1), (("--no-directives",), 0):
        folder = tmp_path / str(count)
        folder.mkdir()
        options = (*flags, "--own-site", "--stats", "stats.json")
        answer = run("crawl", f"{site.url}/", *options, cwd=folder)
        assert ("not to be indexed" in answer.stderr) is bool(count)
        stats = json.loads((folder / "stats.json").read_text())["stats"]
        assert stats.get("contentspider/pages/directives", 0) == count
        assert len(read_jsonl(folder / "pages.jsonl")) > 5


def test_extract_leaves_out_noindex_parts_unless_disabled(tmp_path: Path) -> None:
    html = f"<h1>Tea</h1><p>{'Tea is made of leaves and water. ' * 9}</p>"
    marked = f"<p>{'Cups are made of clay, by hand. ' * 9}</p>"
    (tmp_path / "a.html").write_text(f"<title>Tea</title>{html}{OFF}{marked}{ON}")
    for flags, is_kept in ((), False), (("--no-directives",), True):
        answer = run("extract", "a.html", *flags, cwd=tmp_path)
        assert ("Cups are made" in answer.stdout) is is_kept
        assert ("not to be indexed" in answer.stderr) is not is_kept
