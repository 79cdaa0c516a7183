"""Pages that wait for another form of their address, or for the known page that they copy."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from scrapy import Request

from contentspider.crawl.base.meta import ROW_META_KEY
from contentspider.crawl.base.outcomes import Retry
from contentspider.crawl.spider.duplicates import MIN_TEXT_CHARS, Duplicates, is_form, plain_form
from contentspider.page.input.page import Page
from contentspider.site.models.identity import page_id
from tests.crawl.test_site_spider import parse
from tests.crawls import Crawl, received
from tests.sites import article, prose

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def crawl(tmp_path: Path) -> Crawl:
    return Crawl(tmp_path)


@pytest.fixture
def duplicates(crawl: Crawl) -> Duplicates:
    return crawl.spider.duplicates


def page(path: str, canonical: str = "", html: str = "") -> Page:
    link = f"<link rel=canonical href='{canonical}'>" if canonical else ""
    return Page.from_html(link + (html or article(1)), f"https://e.org{path}")


def sent(crawl: Crawl, path: str) -> int:
    return crawl.send(Request(f"https://e.org{path}"))


def defer(duplicates: Duplicates, copy: Page, row: int) -> bool:
    canonical = duplicates.unread_canonical(copy.url, copy, row)
    assert canonical
    return duplicates.defer_for_canonical(copy.url, canonical, copy, row)


@pytest.mark.parametrize(
    ("path", "canonical", "form"),
    [
        ("/1?utm_source=x", "/1", "https://e.org/1"),
        ("/1/index.html", "https://e.org/1", "https://e.org/1"),
        ("/1?utm_source=x", "", ""),
        ("/1", "/1", ""),
        ("/1?a=2", "/1", ""),
        ("/1?utm_source=x", "/2", ""),
        ("/1?utm_source=x", "https://www.e.org/1", ""),
        ("/1?utm_source=x", "http://e.org/1", ""),
        ("/1?utm_source=x", "https://other.org/1", ""),
    ],
)
def test_canonical_url_on_same_host_is_read_first(
    path: str, canonical: str, form: str, crawl: Crawl, duplicates: Duplicates
) -> None:
    read = page(path, canonical)
    row = sent(crawl, path)
    canonical_address = duplicates.unread_canonical(read.url, read, row)
    is_read_first = bool(canonical_address) and is_form(read.url, canonical_address)
    assert (canonical_address if is_read_first else "") == form
    assert duplicates.unread_canonical(read.url, read, None) == ""


def test_canonical_page_already_read_is_not_awaited(
    crawl: Crawl, duplicates: Duplicates, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy, original = page("/1?utm_source=x", "/1"), page("/1", "/1")
    row, other = sent(crawl, "/1?utm_source=x"), sent(crawl, "/1")
    assert duplicates.unread_canonical(copy.url, copy, row) == "https://e.org/1"
    assert duplicates.claim(original.url, original, other)
    assert duplicates.unread_canonical(copy.url, copy, row) == ""
    late = page("/2?utm_source=x", "/2", article(2))
    monkeypatch.setattr(type(crawl.keeper.addresses), "may_wait", False)
    assert duplicates.unread_canonical(late.url, late, row) == ""


def test_page_waits_for_its_canonical_page_which_is_output(
    crawl: Crawl, duplicates: Duplicates
) -> None:
    copy, original = page("/1?view=print", "/1"), page("/1", "/1")
    row, other = sent(crawl, "/1?view=print"), sent(crawl, "/1")
    canonical = duplicates.unread_canonical(copy.url, copy, row)
    assert canonical == "https://e.org/1"
    assert not is_form(copy.url, canonical), "it is not asked for"
    assert duplicates.defer_for_canonical(copy.url, canonical, copy, row)
    assert duplicates.claim(original.url, original, other)
    late = sent(crawl, "/1?ref=list")
    again = page("/1?ref=list", "/1")
    assert not duplicates.unread_canonical(again.url, again, late)
    assert not duplicates.claim(again.url, again, late)
    crawl.finish()
    assert crawl.keeper.addresses.retry_failed() == 0, "its text has come"
    assert crawl.state(row) == ("skipped", "duplicate", "https://e.org/1", 0)
    assert crawl.stat("pages/skipped/duplicate") == 1


def test_page_with_missing_or_different_canonical_is_requested_again(
    crawl: Crawl, duplicates: Duplicates
) -> None:
    rows = [sent(crawl, f"/{number}?page=2") for number in range(2)]
    for number, row in enumerate(rows):
        one = page(f"/{number}?page=2", f"/{number}", article(number))
        assert defer(duplicates, one, row)
    first = page("/0", "/0", article(9))
    assert duplicates.claim(first.url, first, sent(crawl, "/0"))
    crawl.finish()
    assert crawl.keeper.addresses.retry_failed() == 2
    one = page("/0?page=2", "/0", article(0))
    assert not duplicates.unread_canonical(one.url, one, rows[0]), "it is the end"
    assert duplicates.claim(one.url, one, rows[0])
    assert not crawl.stat("pages/read_again")
    for row in rows:
        request = Request("https://e.org/", meta={ROW_META_KEY: row})
        crawl.keeper.addresses.watch(row, request)
        received(crawl, request, crawl.answer(request))
    crawl.finish()
    assert crawl.stat("pages/read_again") == 2


def waiting_copies(crawl: Crawl, duplicates: Duplicates) -> list[int]:
    """Return the rows of two copies of /1 that wait: a new page, and a known one."""
    crawl.keeper.addresses._is_known = lambda url: url == "https://e.org/1?v=a"
    paths = ["/1?view=print", "/1?v=a"]
    rows = [sent(crawl, path) for path in paths]
    for path, row in zip(paths, rows, strict=True):
        assert defer(duplicates, page(path, "/1"), row)
    return rows


def test_known_page_is_requested_before_a_new_copy_that_waits_with_it(
    crawl: Crawl, duplicates: Duplicates
) -> None:
    rows = waiting_copies(crawl, duplicates)
    failed = sent(crawl, "/2")
    crawl.keeper.addresses.note(failed, "failed", "HTTP 500", retry=Retry.AT_END)
    crawl.finish()
    assert crawl.keeper.addresses.retry_failed() == 2
    assert [crawl.state(row)[0] for row in (*rows, failed)] == ["retry", "queued", "queued"]
    assert duplicates.claim("https://e.org/1?v=a", page("/1?v=a", "/1"), rows[1])
    assert crawl.keeper.addresses.retry_failed() == 0, "it is a copy of the known page"
    assert crawl.state(rows[0])[:2] == ("skipped", "duplicate")


def test_waiting_copy_is_requested_if_the_known_page_is_queued_already(
    crawl: Crawl, duplicates: Duplicates
) -> None:
    rows = waiting_copies(crawl, duplicates)
    crawl.finish()
    crawl.keeper.book.frontier.requeue_failed(rows[1:])
    assert crawl.keeper.addresses.retry_failed() == 1
    assert crawl.state(rows[0])[0] == "queued"


def test_waiting_copy_is_requested_if_the_known_page_has_another_text_now(
    crawl: Crawl, duplicates: Duplicates
) -> None:
    rows = waiting_copies(crawl, duplicates)
    crawl.finish()
    assert crawl.keeper.addresses.retry_failed() == 1
    changed = page("/1?v=a", "/1", article(2))
    assert duplicates.claim(changed.url, changed, rows[1])
    assert crawl.keeper.addresses.retry_failed() == 1
    assert crawl.state(rows[0])[0] == "queued"
    assert crawl.keeper.addresses.retry_failed() == 0


def test_waits_for_unknown_canonicals_are_limited(
    crawl: Crawl, duplicates: Duplicates, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("contentspider.crawl.spider.duplicates.MAX_WAITS_FOR_UNKNOWN", 1)
    queued: list[str] = ["https://e.org/known"]
    monkeypatch.setattr(type(crawl.keeper), "is_queued", lambda _, url: url in queued)
    waits = []
    for number, canonical in enumerate(("/known", "/none", "/no", "/known")):
        one = page(f"/{number}", canonical, article(number))
        waits.append(defer(duplicates, one, sent(crawl, f"/{number}")))
    assert waits == [True, True, False, True]


def test_crawl_with_page_limit_does_not_wait_for_canonicals(tmp_path: Path) -> None:
    for most, waits in ((0, True), (5, False)):
        crawl = Crawl(tmp_path, max_pages=most)
        html = "<link rel=canonical href=/1>" + article(1)
        row, item, _ = parse(crawl, "/1?view=print", html)
        assert (item is None) == waits
        assert (crawl.state(row)[1] == "its canonical form is read first") == waits


class KnownCopies:
    """What earlier crawls knew: which copies are awaited, and of what."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []
        self.is_awaited = True
        self.original = ""

    def unread_original(self, page: Page, address: str, site: str) -> bool:
        self.asked.append((address, site))
        return self.is_awaited

    def read_original(self, page: Page, address: str, site: str) -> str:
        self.asked.append((address, site))
        return self.original


def known(crawl: Crawl) -> Any:
    revisits: Any = SimpleNamespace(
        is_first=False, known_copies=KnownCopies(), is_known=lambda _: False
    )
    crawl.keeper.revisits = revisits
    return revisits


def test_copy_of_known_page_waits_for_it(
    crawl: Crawl, duplicates: Duplicates, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = page("/1")
    row = sent(crawl, "/1")
    assert not duplicates.defer_known_copy(copy.url, copy, row), "nothing is known"
    revisits = known(crawl)
    assert duplicates.defer_known_copy(copy.url, copy, row)
    assert revisits.known_copies.asked == [("https://e.org/1", "e.org")]
    crawl.finish()
    assert crawl.state(row)[:2] == ("retry", "a copy of a known page")
    assert crawl.state(row)[3], "it is asked again"
    revisits.known_copies.is_awaited = False
    assert not duplicates.defer_known_copy(copy.url, copy, row)
    revisits.known_copies.is_awaited = True
    assert not duplicates.defer_known_copy(copy.url, copy, None)
    for size, waits in ((MIN_TEXT_CHARS - 1, False), (MIN_TEXT_CHARS, True)):
        text = prose(1, 9)[:size].replace(" ", "x").replace("\n", "x")
        short = page("/1", html=f"<p>{text}")
        assert sum(len(block.text) for block in short.content.blocks) == size
        assert duplicates.defer_known_copy(short.url, short, row) == waits
    revisits.is_first = True
    assert not duplicates.defer_known_copy(copy.url, copy, row)
    revisits.is_first = False
    monkeypatch.setattr(type(crawl.keeper.addresses), "may_wait", False)
    assert not duplicates.defer_known_copy(copy.url, copy, row)


def test_copy_of_page_already_read_is_skipped(crawl: Crawl, duplicates: Duplicates) -> None:
    original, copy = page("/1"), page("/2", html=article(2))
    assert duplicates.claim(original.url, original, sent(crawl, "/1"))
    revisits = known(crawl)
    revisits.known_copies.original = page_id(original.url)
    revisits.is_first = True
    third = page("/3", html=article(3))
    assert duplicates.claim(third.url, third, sent(crawl, "/3")), "there were no earlier crawls"
    revisits.is_first = False
    assert not duplicates.claim(copy.url, copy, sent(crawl, "/2"))
    assert revisits.known_copies.asked == [("https://e.org/2", "e.org")]


def test_pages_without_queue_row_are_copies_only_if_equal(duplicates: Duplicates) -> None:
    for number, comes in ((1, True), (2, True), (1, False)):
        one = page(f"/{number}", html=article(number))
        assert duplicates.claim(one.url, one, None) == comes


def test_canonical_spelling_of_same_url_is_shown(
    duplicates: Duplicates,
) -> None:
    for path, canonical, shown in (
        ("/%7Ea", "https://e.org/~a", "https://e.org/~a"),
        ("/a", "https://e.org/b", "https://e.org/a"),
        ("/a", "", "https://e.org/a"),
    ):
        one = page(path, canonical)
        assert duplicates.item_address(one.url, one) == shown


def test_plain_form_of_address_keeps_parameter_names() -> None:
    assert plain_form("http://www.e.org/a/?draft=&b=1") == "e.org/a?b=1&draft="
    assert plain_form("https://e.org/a?b=1") != plain_form("https://e.org/a?b=1&draft=")
