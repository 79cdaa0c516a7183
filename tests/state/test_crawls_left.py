"""What a finished crawl leaves in its book: its items, and a sample of its pages."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from contentspider.ground.errors import ContentSpiderError
from contentspider.page.input.page import Page
from contentspider.state.book.book import Book
from contentspider.state.book.items import ItemBinding
from contentspider.state.crawls.books import read_book
from contentspider.state.crawls.export import crawled_pages, export_items
from contentspider.state.files.formats import Output
from tests.messages import raises
from tests.visited import LONG, Seen, clean, crawl, crawling, known, see

if TYPE_CHECKING:
    from pathlib import Path

OTHER = b'{"site": "f.org"}'


def test_pages_of_crawl_are_found_by_site_name_or_without_it_for_single_site(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def offer(*found: tuple[str, str, str]) -> None:
        with closing(Book(path)) as book:
            for site, url, html in found:
                book.sample.offer(site, Page.from_html(html, url))
            book.commit()

    offer()
    with pytest.raises(ContentSpiderError, match=r"crawl.sqlite has pages of no site; choose"):
        crawled_pages(path, "")
    offer(*(("e.org", url, html) for url, html in (("b", "<p>b"), ("a", "<p>a"), ("c", "<p>"))))
    for site in ("", "e.org"):
        name, found = crawled_pages(path, site)
        assert (name, [page.url for page in found]) == ("e.org", ["a", "b"])
    offer(("d.org", "d", "<p>d"))
    for site in ("", "f.org"):
        with raises(ContentSpiderError, "several-sites", "crawl.sqlite", "d.org, e.org"):
            crawled_pages(path, site)
    assert crawled_pages(path, "d.org")[0] == "d.org"
    with closing(Book(path)) as book:
        number = "SELECT page FROM sample WHERE url = 'a'"
        book.database.do(f"UPDATE contents SET data = x'00' WHERE number = ({number})")  # noqa: S608
        book.commit()
    assert [page.url for page in crawled_pages(path, "e.org")[1]] == ["b"]
    (said,) = caplog.messages
    assert ": a is left out: " in said


def test_items_are_stored_once_and_exported_after_the_crawl(path: Path) -> None:
    items = {name: {"site": "e.org", "content": LONG, "name": name} for name in "abc"}
    output = path.with_suffix(".jsonl")
    with closing(Book(path)) as book:
        with crawling(book):
            for name, item in items.items():
                see(book, Seen(name, text=LONG, item=item, page=Page.from_html(f"<p>{LONG}", name)))
            hand = ItemBinding(Page.from_html(""), key="none")
            book.items.record(hand, OTHER)
            book.items.record(ItemBinding(Page.from_html(""), key="dropped"), None, "dropped")
        clean(book)
        assert (book.items.count(), book.items.count("dropped")) == (4, 1)
        assert list(book.items.lines())[-1] == OTHER
        size = "SELECT max(length(data)) FROM contents WHERE base IS NOT NULL"
        assert 0 < book.database.count(size) < len(LONG) / 3
        assert [known(book, name).content for name in "abc"] == [
            known(book, name).item for name in "abc"
        ]
    assert export_items(path, [Output(output, "jsonl")]) == 4
    assert output.read_bytes().splitlines()[-1] == OTHER
    with closing(read_book(path)) as book:
        assert sorted(str(record["site"]) for record in book.items.records()) == [
            *3 * ["e.org"],
            "f.org",
        ]


def test_sample_of_an_earlier_crawl_is_read_from_its_pages(path: Path) -> None:
    pages = {url: Page.from_html(f"<p>{url}", url) for url in "ba"}
    with closing(Book(path)) as book:
        crawl(book, *(Seen(name, text=name, page=page) for name, page in pages.items()))
        clean(book)
        assert not book.sample.sites()
    assert crawled_pages(path, "") == ("e.org", [pages["a"], pages["b"]])
    with closing(Book(path)) as book, crawling(book) as losses:
        losses.mark_gone(known(book, "a"), "404")
    assert crawled_pages(path, "e.org") == ("e.org", [pages["b"]])
