"""Session ids in addresses: by their names, and by what the pages without them have."""

from __future__ import annotations

import re
from itertools import count
from typing import TYPE_CHECKING

import pytest

from contentspider.crawl.spider.sessions import PAGES, VALUES, SessionNames, without_session
from contentspider.page.input.page import Page
from tests.conftest import Site, read_jsonl, run
from tests.sites import article, prose

if TYPE_CHECKING:
    from pathlib import Path

DIGITS = "0123456789abcdef0123456789abcdef"
KIND = "text/html; charset=utf-8"


@pytest.mark.parametrize(
    ("address", "is_session"),
    [
        (f"/t?s={DIGITS}", True),
        (f"/t?s={DIGITS}&a=1", True),
        ("/t?CFID=4711&CFTOKEN=98765432", True),
        ("/t?cfid=4711", False),
        ("/t?AspxAutoDetectCookieSupport=1", True),
        (f"/t?XTCsid={DIGITS[:26]}", True),
        ("/t?s=tea", False),
        (f"/t?s={DIGITS}-tea", False),
        ("/t?cfid=tea", False),
        ("/t?colours=1", False),
    ],
)
def test_names_of_sessions_are_known(address: str, is_session: bool) -> None:
    plain = re.sub(r"\?a=1$|\?.*(?=&a)|\?(?!.*&a).*", "", address).replace("&a", "?a")
    assert without_session("https://e.org" + address) == "https://e.org" + (
        plain if is_session else address
    )


def article_page(number: int) -> Page:
    return Page.from_html(article(number))


def crawled(site: Site, tmp_path: Path) -> set[str]:
    run("crawl", site.url, "--own-site", "--max-pages", "100", cwd=tmp_path)
    return {
        str(item["url"]).removeprefix(site.url) for item in read_jsonl(tmp_path / "pages.jsonl")
    }


def test_parameter_that_changes_no_text_is_removed(site: Site, tmp_path: Path) -> None:
    numbers = count()

    def answer(path: str) -> tuple[int, str, bytes]:
        page, _, _ = path.partition("?")
        if not re.fullmatch(r"/\d?", page):
            return 404, KIND, b"<p>none"
        token = f"{next(numbers):04}{DIGITS}"
        links = "".join(f"<a href='/{number}?visit={token}'>x</a>" for number in range(1, 9))
        return 200, KIND, article(int(page[1:] or 0), links).encode()

    site.answer = answer
    assert crawled(site, tmp_path) == {"", *(f"/{number}" for number in range(1, 9))}
    # Pages that were asked for before it was known.
    assert len([path for path in site.requests if "visit=" in path]) < 40


def test_parameter_that_selects_page_is_kept(site: Site, tmp_path: Path) -> None:
    names = [f"{number}{DIGITS}" for number in range(1, 7)]

    def answer(path: str) -> tuple[int, str, bytes]:
        number = next((number for number, name in enumerate(names, 1) if name in path), 0)
        if not re.fullmatch(r"/|/[ab]\d?(?:\?key=\w+)?", path):
            return 404, KIND, b"<p>none"
        folders = "abababab"
        links = "".join(
            f"<a href='/{folders[n]}{n}?key={name}'>x</a>" for n, name in enumerate(names)
        )
        return 200, KIND, article(number, links if path == "/" else "").encode()

    site.answer = answer
    found = crawled(site, tmp_path)
    assert len([path for path in found if "key=" in path]) == 6


def test_parameter_is_tested_with_several_pages() -> None:
    names = SessionNames()
    pairs = [(f"https://e.org/{n}", f"https://e.org/{n}?v={n}{DIGITS}") for n in range(PAGES)]
    for plain, address in pairs:
        assert names.tests(address) == [plain, address]
    other = f"https://e.org/c?v=2{DIGITS}"
    assert names.tests(other) == [other] and names.is_open(other) and not names.is_tested(other)
    for n, (plain, address) in enumerate(pairs):
        assert names.plain(other) == other
        results = [names.read(plain, article_page(n)), names.read(address, article_page(n))]
    assert results == [False, True]
    assert names.plain(other) == "https://e.org/c" and not names.is_open(other)
    assert names.plain(other.replace("e.org", "o.org")) == other.replace("e.org", "o.org")
    resumed = SessionNames()
    resumed.restore(names.found_names)
    assert resumed.plain(other) == "https://e.org/c"


def test_same_page_everywhere_tells_nothing_of_parameter() -> None:
    names = SessionNames()
    for n in range(PAGES):
        for address in names.tests(f"https://e.org/{n}?v={n}{DIGITS}"):
            names.read(address, article_page(1))  # such as a notice
    other = f"https://e.org/c?v=2{DIGITS}"
    assert names.plain(other) == other


def test_page_that_is_same_with_several_values_has_no_parameter() -> None:
    names = SessionNames()
    addresses = [f"https://e.org/a?v={n}{DIGITS}" for n in range(VALUES + 1)]
    for address in addresses[:VALUES]:
        assert names.plain(addresses[-1]) == addresses[-1]
        for tested in names.tests(address):
            names.read(tested, article_page(1))
    assert names.plain(addresses[-1]) == "https://e.org/a"
    other = addresses[-1].replace("/a", "/b")
    assert names.plain(other) == other


def test_parameter_without_which_page_must_not_be_indexed_is_kept() -> None:
    names, page = SessionNames(), Page.from_html(article(1))
    address = f"https://e.org/a?v={DIGITS}"
    plain = names.tests(address)[0]
    names.read(address, page)
    names.read(plain, page, {"noindex"})
    assert not names.is_open(address)


@pytest.mark.parametrize("form", ["first_of_chain", "gone_pages", "ignored_by_menu", "short_name"])
def test_no_page_is_lost_with_its_parameter(site: Site, tmp_path: Path, form: str) -> None:
    def link(folder: str, number: int, name: str = "key") -> str:
        return f"/{folder}?{name}={number}{DIGITS[1:]}"

    # By address without its parameter: by its value ("" for all others), the page and its links.
    pages: dict[str, dict[str, tuple[object, list[str]]]]
    if form == "first_of_chain":  # and shown without it
        pages = {"/": {"": (0, [link("a", 1), link("b", 1)])}}
        for folder in "ab":
            chain = {str(n): (f"{folder}{n}", [link(folder, n + 1)]) for n in range(1, 7)}
            pages[f"/{folder}"] = chain | {"": chain["1"], "7": (f"{folder}7", [])}
    elif form == "gone_pages":  # the first links lead to pages that are gone
        pages = {"/": {"": (0, [link("a", 1), link("b", 1), *(f"/c{n}" for n in range(4))])}}
        pages |= {f"/c{n}": {"": (n + 10, [link("a", n + 2)])} for n in range(4)}
        pages["/a"] = {"": ("gone", []), **{str(n + 2): (n + 20, []) for n in range(4)}}
        pages["/b"] = {"": ("gone", [])}
    elif form == "ignored_by_menu":  # which has it in its links
        menu = [link(folder, 1) for folder in ("a", "b", "c", "shop")]
        pages = {"/": {"": (0, menu)}, **{f"/{x}": {"": (x, menu)} for x in "abc"}}
        pages["/shop"] = {"": ("gone", []), "1": ("shop", [link(f"p{n}", 1) for n in range(4)])}
        pages |= {f"/p{n}": {"": ("gone", []), "1": (n + 10, menu)} for n in range(4)}
    else:
        pages = {"/": {"": (0, [link("view", n, "s") for n in range(6)])}}
        pages["/view"] = {str(n): (n + 10, []) for n in range(6)}

    def answer(path: str) -> tuple[int, str, bytes]:
        page, _, query = path.partition("?")
        found = pages.get(page, {})
        value = query.partition("=")[2][:1]
        number, links = found.get(value) or found.get("") or (None, [])
        if number is None:
            return 404, KIND, b"<p>none"
        if number == "gone":
            return 200, KIND, f"<title>None</title><p>{prose('gone')}".encode()
        return 200, KIND, article(number, "".join(f"<a href='{to}'>x</a>" for to in links)).encode()

    site.answer = answer
    run("crawl", site.url, "--own-site", cwd=tmp_path)
    texts = [str(item["content"]) for item in read_jsonl(tmp_path / "pages.jsonl")]
    wanted = {
        prose(number, 1)
        for found in pages.values()
        for number, _ in found.values()
        if number != "gone"
    }
    assert {text for text in wanted if not any(text in content for content in texts)} == set()


@pytest.mark.parametrize("other", [None, Page.from_html(article(2))])
def test_parameter_without_which_page_is_another_is_kept(other: Page | None) -> None:
    names = SessionNames()
    address = f"https://e.org/a?v={DIGITS}"
    names.tests(address)
    names.read(address, Page.from_html(article(1)))
    names.read("https://e.org/a", other)
    assert names.plain(address) == address and not names.is_open(address)
    assert names.tests(f"https://e.org/b?v={DIGITS}") == [f"https://e.org/b?v={DIGITS}"]


def test_links_of_one_page_that_differ_in_parameter_alone_are_pages() -> None:
    names = SessionNames()
    addresses = [f"https://e.org/a?v={number}{DIGITS}" for number in range(2)]
    names.compare(addresses)
    assert names.tests(addresses[0]) == [addresses[0]] and not names.is_open(addresses[0])
