"""Own texts in llms.txt and llms-full.txt, in the forms in which generators write them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from contentspider.site.own.readers.llms import MAX_LINKS, LlmsText, read_links
from contentspider.site.own.readers.versions import Markdown
from contentspider.site.own.sources import Announced
from contentspider.site.own.texts import MAX_TEXTS
from contentspider.state.files.formats import Output

if TYPE_CHECKING:
    from pathlib import Path

LIST, FULL = "https://e.org/docs/llms.txt", "https://e.org/docs/llms-full.txt"


def texts(body: str, url: str = FULL) -> list[tuple[str, str, str]]:
    return [(own.url, own.title, own.text) for own in LlmsText().read(body.encode(), url)]


def test_list_belongs_to_host_of_start_page() -> None:
    addresses = LlmsText().addresses
    assert list(addresses(Announced("https://e.org/docs/a?b", is_start=True))) == [
        "https://e.org/llms.txt"
    ]
    assert list(addresses(Announced("https://e.org/docs/"))) == []
    assert list(addresses(Announced("http://[x/", is_start=True))) == []


def test_links_are_pages_and_own_texts() -> None:
    links = read_links(
        b"# Teas\n\n> About [us](about)\n\n## Teas\n- [Green](/green.md): *hot*, [more](<more>)\n"
        b"- [API](/api_(v2)/index.md 'title')\n- [Green](/green)\n- [All](/llms-full.txt)\n"
        b"- [Part](/llms-api.txt)\n- [Mail](mailto:a@e.org) [none]() [x](http://[x/)\n",
        LIST,
    )
    assert links.pages == [
        "https://e.org/docs/about",
        "https://e.org/green",
        "https://e.org/docs/more",
        "https://e.org/api_(v2)/",
    ]
    assert links.own_texts == [
        "https://e.org/llms-full.txt",
        "https://e.org/llms-api.txt",
        "https://e.org/green.md",
        "https://e.org/api_(v2)/index.md",
    ]
    assert read_links(b"no link", LIST).own_texts == [FULL], "it is beside the list"


def test_pages_are_read_below_headings_with_address() -> None:
    assert texts(
        "# The site\n\n> All of it.\n\n"
        "# Green *tea*\nSource: https://e.org/green\n\nHot **water**.\n\n# Not a page\n\n- Leaves\n"
        "# Black\n\n<https://e.org/black.md>\n\nBlack\n=====\nStrong.\n"
        "# Empty\nURL: https://e.org/empty\n\n"
        "# Green\nSource: https://e.org/green\n\nTwice.\n"
    ) == [
        ("https://e.org/green", "Green tea", "Green tea\nHot water.\nNot a page\nLeaves"),
        ("https://e.org/black", "Black", "Black\nStrong."),
    ]


def test_pages_are_read_below_front_matter_with_address() -> None:
    assert texts(
        "---\nurl: /green.md\ntitle: 'Green'\n---\n\n# Green\n\nHot.\n\n---\n\nnote: no page\n\n"
        "---\n\n---\nsource_url: https://e.org/black\n---\nStrong.\n---\nurl: mailto:x\n---\nx\n"
    ) == [
        ("https://e.org/green", "Green", "Green\nHot.\nnote: no page"),
        ("https://e.org/black", "", "Strong.\nurl: mailto:x\nx"),
    ]


def test_only_lists_and_collections_are_read() -> None:
    page = b"# Tea\nSource: https://e.org/tea\n\nHot."
    assert len(LlmsText().read(page, FULL, "text/markdown")) == 1
    assert Markdown().read(page, FULL, "text/markdown") == [], "it is not the text of one page"
    for body, url in (
        (page, "https://e.org/tea.txt"),
        (b"\x1f\x8b\x08\0\0\0" + page, FULL),
        (b"<!DOCTYPE html><title>Tea</title>" + page, FULL),
        (page, "http://[x/llms-full.txt"),
        (b"", FULL),
    ):
        assert LlmsText().read(body, url) == []
        assert read_links(body + b" [a](/b)", url).pages in ([], ["https://e.org/b"][: body == b""])


def test_files_that_a_crawl_writes_can_be_read(tmp_path: Path) -> None:
    items = [
        {"url": f"https://e.org/{path}", "title": title, "content_markdown": "*Hot* [tea](/x)."}
        for path, title in (("", "Tea"), ("a(b)", "# [x](y)"), ("ü?a=1", "`"))
    ]
    addresses = ["https://e.org/", "https://e.org/a(b)", "https://e.org/%C3%BC?a=1"]
    for name in ("llms.txt", "llms-full.txt"):
        Output.parse(f"{tmp_path}/{name}").write(lambda: items)
    pages = read_links((tmp_path / "llms.txt").read_bytes(), LIST).pages
    assert [page.replace("%28", "(").replace("%29", ")") for page in pages] == addresses
    own_texts = LlmsText().read((tmp_path / "llms-full.txt").read_bytes(), FULL)
    assert [own.url for own in own_texts] == addresses
    assert {own.text.rpartition("\n")[2] for own in own_texts} == {"Hot tea."}


HOSTILE = [
    "](" * 1_000_000,
    "](/" + "(" * 1_000_000,
    "](a(a)" * 300_000,
    "# a\n" * 500_000,
    "# a\n\n" * 400_000,
    "---\n" * 500_000,
    "---\nurl: /a\n" * 200_000,
    "---\n" + "a: b\n" * 400_000,
    "# " + "a" * 2_000_000 + "\nSource: https://e.org/" + "a" * 2_000_000,
    "# a\nSource: https://e.org/a\n\n" + "[" * 1_000_000,
]


@pytest.mark.large
@pytest.mark.parametrize("body", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_bodies_are_read_in_time(body: str) -> None:
    begun = time.process_time()
    assert len(LlmsText().read(body.encode(), FULL)) <= 1
    assert len(read_links(body.encode(), FULL).pages) <= 1
    assert time.process_time() - begun < 5


@pytest.mark.large
def test_links_and_texts_are_limited() -> None:
    links = "".join(f"- [a](/{number}.md)\n" for number in range(100_000))
    found = read_links(links.encode(), LIST)
    assert len(found.pages) == MAX_LINKS
    pages = "".join(f"# a\nSource: https://e.org/{number}\n\nb\n" for number in range(5_000))
    assert len(LlmsText().read(pages.encode(), FULL)) == MAX_TEXTS
