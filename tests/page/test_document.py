"""Pages as a whole: read from whatever bytes, bounded, dumped and loaded."""

from __future__ import annotations

import itertools
import json
import zlib

import lxml.html
import pytest

from contentspider.ground.errors import StateError
from contentspider.page.input import body
from contentspider.page.input.page import Page
from contentspider.page.tree.blocks import read_tree
from contentspider.page.write.output import to_text
from tests.sites import blocks


@pytest.mark.parametrize(("depth", "is_cut"), [(900, False), (1_100, True)])
def test_pages_with_too_deep_elements_are_marked_truncated(depth: int, is_cut: bool) -> None:
    """Old pages have a font element in each paragraph that is never closed."""
    page = Page.from_html(f"<body>{'<p><font>' * depth}<p>Tea</body>")
    assert page.content.truncated is is_cut
    assert [block.text for block in page.content.blocks] == ([] if is_cut else ["Tea"])


def test_huge_pages_are_read_to_their_end() -> None:
    rows = "".join(f"<tr><td>R{number}<td>rain<td>{number % 90}</tr>" for number in range(12_000))
    page = Page.from_html(f"<table>{rows}</table><p>The end.</p>")
    assert not page.content.truncated
    assert len(page.content.blocks) == 36_001
    text = to_text(page.content.blocks)
    assert "R11999\train\t29" in text
    assert text.endswith("The end.")


def test_pages_with_too_many_tags_are_marked_truncated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body, "MAX_TAGS", 20)
    cells = "<tr><td>a</td></tr>" * 5
    assert Page.from_html(f"<table>{cells}</table>").content.truncated
    assert not Page.from_html(f"<table>{cells[:19]}</table>").content.truncated


def test_pages_beyond_the_limit_are_marked_truncated() -> None:
    root = lxml.html.fromstring("<p>x</p>" * 11)
    content, _ = read_tree(root, max_blocks=10)
    assert content.truncated
    assert len(content.blocks) == 10


def test_unclosed_marks_do_not_multiply_spans() -> None:
    page = Page.from_html("<code>" * 1_000 + "<b>" * 1_000 + "<p>x" * 20_000)
    assert len(page.content.blocks) == 20_000
    assert max(len(block.spans) for block in page.content.blocks) <= 8
    assert len(page.dump()) < 500_000


def test_long_url_around_many_blocks_is_stored_once() -> None:
    html = f"<a href='/{'x' * 100_000}'>" + "<p>y</p>" * 1_000
    page = Page.from_html(html)
    assert sum(block.links for block in page.content.blocks) == 1_000
    assert stored_chars(page) < 2 * len(html)


def stored_chars(page: Page) -> int:
    return len(zlib.decompress(page.dump()))


@pytest.mark.parametrize("paragraph", ["<p></p>", "<p class={}></p>", "<p class={}>x</p>"])
def test_long_path_around_many_elements_is_stored_once(paragraph: str) -> None:
    steps = "".join(f"<div class={'x' * 180}{chr(97 + depth)}>" for depth in range(20))
    names = itertools.islice(itertools.product("abcdefghijklmnopqrstuvwxyz", repeat=3), 10_000)
    html = steps + "".join(paragraph.format("".join(name)) for name in names)
    page = Page.from_html(html)
    assert Page.load(page.dump()) == page
    assert stored_chars(page) < 5 * len(html)
    if ">x<" not in paragraph:
        assert len(page.content.parents) == 1


def test_stored_page_has_its_extent_and_links() -> None:
    page = Page.from_html("<p>a</p><div><a href=/><img src=/i></a>b</div>", attributes=True)
    page.content.extent = (1600.0, 900.0)
    loaded = Page.load(page.dump())
    assert loaded == page
    assert loaded.content.extent == (1600.0, 900.0)
    assert [list(around.links) for around in loaded.content.around] == [[], [], [""]]
    record = json.loads(zlib.decompress(page.dump()))
    del record["content"]["extent"]  # as earlier versions stored it
    record["content"]["around"] = [around[:5] for around in record["content"]["around"]]
    earlier = Page.load(zlib.compress(json.dumps(record).encode())).content
    assert earlier.extent == (0, 0)
    assert not any(around.links for around in earlier.around)


def test_damaged_page_dump_is_rejected() -> None:
    data = Page.from_html("<p>a <a href=/x>b</a><img src=/i alt=c></p>").dump()
    record = json.loads(zlib.decompress(data))
    damaged = [data[:-9], b"", zlib.compress(b"[]")]
    for name, values in record["content"].items():
        for wrong in (None, [7], [[7]], "x", [2**70], [None]):
            if wrong != values and name not in ("base", "truncated", "parents", "positions"):
                content = {**record["content"], name: wrong}
                damaged.append(zlib.compress(json.dumps({**record, "content": content}).encode()))
    assert sum(map(is_refused, damaged)) > 0.8 * len(damaged)


def is_refused(dump: bytes) -> bool:
    try:
        Page.load(dump)
    except StateError:
        return True
    return False


def test_many_links_in_one_block_take_linear_time() -> None:
    (block,) = blocks("<p>" + "<a href=/x>tag</a> " * 100_000 + "</p>")
    assert block.links == 100_000
    assert block.link_chars == 300_000


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b" \n",
        b"\x00\x00",
        b"\xff\xfe",
        b"<",
        b"<html>",
        b"<?xml version='1.0'?><!-- x",
    ],
)
def test_malformed_html_gives_page_without_crash(body: bytes) -> None:
    page = Page.from_html(body)
    assert Page.load(page.dump()) == page


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        ("<p>naïve œuvre</p>".encode("cp1252"), None),
        ("<meta charset=koi8-r><p>привет</p>".encode("koi8-r"), None),
        ("<p>日本語</p>".encode("shift_jis"), "text/html; charset=shift_jis"),
        ("\ufeff<p>bom</p>".encode("utf-16-le"), None),
        (b"<meta charset=undefined><p>bom</p>", None),
    ],
)
def test_encoding_is_detected(body: bytes, content_type: str | None) -> None:
    page = Page.from_html(body, content_type=content_type)
    assert page.content.blocks[0].text in {"naïve œuvre", "привет", "日本語", "bom"}


def test_page_equals_its_reloaded_dump() -> None:
    html = (
        "<html lang=de><title>T</title><meta name=description content=D><table><tr><td>a <a"
        " href=/x>b</a></table><ul><li>c</ul>"
    )
    page = Page.from_html(html, "https://example.org/")
    assert Page.load(page.dump()) == page


def test_plain_text_is_read_as_page() -> None:
    assert Page.from_html("plain text").content.blocks[0].text == "plain text"
