"""Session ids in addresses: by their names, and by what the pages without them have."""

from __future__ import annotations

import re
from itertools import count
from typing import TYPE_CHECKING

import pytest

from contentspider.crawl.spider.sessions import SessionNames, without_session
from contentspider.page.input.page import Page
from tests.conftest import Site, read_jsonl, run
from tests.sites import article

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


def test_parameter_is_tested_with_two_pairs() -> None:
    names = SessionNames()
    first, second = f"https://e.org/a?v={DIGITS}", f"https://e.org/b?v=1{DIGITS}"
    assert names.tests(first) == ["https://e.org/a", first]
    assert names.tests(second) == ["https://e.org/b", second]
    third = f"https://e.org/c?v=2{DIGITS}"
    assert names.tests(third) == [third] and names.is_open(third) and not names.is_tested(third)
    page = Page.from_html(article(1))
    for address in ("https://e.org/a", first, "https://e.org/b"):
        names.read(address, page)
        assert names.plain(third) == third
    names.read(second, page)
    assert names.plain(third) == "https://e.org/c" and not names.is_open(third)
    assert names.plain(third.replace("e.org", "o.org")) == third.replace("e.org", "o.org")


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
