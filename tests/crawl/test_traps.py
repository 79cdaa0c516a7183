"""Which links are taken for traps: session ids, paths that repeat, shapes that say nothing new."""

from __future__ import annotations

import re
from types import SimpleNamespace
from uuid import uuid4

import pytest

from contentspider.crawl.base.known_page import KnownPage
from contentspider.crawl.spider.sessions import without_session
from contentspider.crawl.spider.traps import (
    BARREN_PAGES,
    TextFilter,
    Traps,
    has_repeats,
    shape_of,
)
from contentspider.page.input.page import Page
from contentspider.state.book.reading import Reading
from tests.sites import prose


def traps() -> Traps:
    return Traps(SimpleNamespace(stats=None))  # type: ignore[arg-type]


@pytest.mark.large
def test_long_pagination_and_numeric_archive_are_not_traps() -> None:
    made = traps()
    for number in range(3000):
        page = Page.from_html(
            f"<h1>News, page {number}</h1><p>{prose(number)}</p><a href=/>Home</a>",
            f"https://e.org/page/{number}",
        )
        assert list(made.follow([f"https://e.org/page/{number + 1}"], page))
        cells = "".join(
            f"<p>{label}: {1000 + (number * step) % 997}.{number % 10}</p>"
            for label, step in (("Pressure", 7), ("Radiation", 11), ("Energy", 13))
        )
        page = Page.from_html(
            f"<h1>Weather of the day</h1>{cells}", f"https://e.org/weather?day={number}"
        )
        assert number > 900 or list(made.follow([f"https://e.org/weather?day={number + 1}"], page))


def test_abandoned_url_pattern_is_followed_again_after_new_text() -> None:
    made = traps()
    link = "https://e.org/day/999"
    for number in range(BARREN_PAGES + 1):
        assert list(
            made.follow(
                [link], Page.from_html("<p>Nothing here</p>", f"https://e.org/day/{number}")
            )
        )[:1] == ([link] if number < BARREN_PAGES else [])
    assert list(
        made.follow([link], Page.from_html("<p>Nothing here</p>", "https://e.org/about"))
    ) == [link]
    assert list(
        made.follow(
            ["https://e.org/article"], Page.from_html("<p>Nothing here</p>", "https://e.org/day/5")
        )
    ) == ["https://e.org/article"]
    assert list(made.follow([link], Page.from_html("<p>A concert</p>", "https://e.org/day/6"))) == [
        link
    ]


def test_url_pattern_without_new_text_is_logged_with_example_and_count(
    caplog: pytest.LogCaptureFixture,
) -> None:
    made = traps()
    for number in range(BARREN_PAGES + 3):
        page = Page.from_html("<p>Nothing here</p>", f"https://e.org/day/{number}")
        made.follow([f"https://e.org/day/{number + 1}"], page)
    (message,) = caplog.messages
    found = re.fullmatch(
        r"addresses like https://e\.org/day/(\d+) are not followed from one another any more: (\d+)"
        r" pages of this shape in a row had no new text",
        message,
    )
    assert found
    assert [int(one) for one in found.groups()] == [BARREN_PAGES + 1, BARREN_PAGES]


def test_url_pattern_adding_many_links_without_new_text_is_abandoned_early(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("contentspider.crawl.spider.traps.BARREN_LINKS", 10)
    links = [f"https://e.org/day/{number}" for number in range(5)]
    made = traps()
    followed = []
    for number in range(5):
        page = Page.from_html("<p>Nothing here</p>", f"https://e.org/day/{number}")
        followed.append(len(made.follow(links, page)))
    assert followed == [len(links)] * 2 + [0] * 3


def test_ids_distinguishing_links_of_page_are_kept_unless_session_ids() -> None:
    page = Page.from_html("<p>x</p>", "https://e.org/")
    meant = [f"https://e.org/talk?sid={'0f' * 15}{number}" for number in range(3)]
    assert traps().follow(meant[:2], page) == ["https://e.org/talk"]
    assert traps().follow(meant, page) == meant
    sure = [f"https://e.org/talk?PHPSESSID={'0f' * 12}{number}" for number in range(100, 103)]
    counts: list[tuple[str, int]] = []
    stats = SimpleNamespace(inc_value=lambda name, count: counts.append((name, count)))
    made = Traps(SimpleNamespace(stats=stats))  # type: ignore[arg-type]
    assert made.follow(["https://e.org/talk", *sure], page) == ["https://e.org/talk"]
    assert counts == [("contentspider/links/session", 3)]
    assert made.follow([*sure, "https://e.org/talk"], page) == ["https://e.org/talk"]


def test_skipped_links_are_counted_and_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    counts: list[tuple[str, int]] = []
    stats = SimpleNamespace(inc_value=lambda name, count: counts.append((name, count)))
    made = Traps(SimpleNamespace(stats=stats))
    for _ in range(2):
        page = Page.from_html("<p>x</p>", "https://e.org/")
        links = ["https://e.org/a/a/a", f"https://e.org/b?PHPSESSID={'0f' * 13}"]
        assert made.follow(links, page) == ["https://e.org/b"]
    kinds = [("contentspider/links/repeated", 1), ("contentspider/links/session", 1)]
    assert counts == kinds * 2
    repeated, session = caplog.messages
    assert links[0] in repeated
    assert links[1] in session


def test_trap_detection_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("contentspider.crawl.spider.traps.MAX_SHAPES", 10)
    monkeypatch.setattr("contentspider.crawl.spider.traps.MAX_TEXTS", 50)
    made = traps()
    for number in range(100):
        name = "".join("abcdefghij"[int(digit)] for digit in str(number))
        links = [f"https://e.org/{name}?sid={'0f' * 15}{n}" for n in range(3)]
        for _ in range(2):
            assert list(made.follow(links, Page.from_html("<p>x</p>", f"https://e.org/{name}/1")))
    assert len(made._barren) <= 10
    assert len(made._meaningful_ids) <= 10
    seen = TextFilter()
    assert [seen.add(text) for text in ("a", "b", "a")] == [True, True, False]
    assert sum(seen.add(str(number)) for number in range(51)) == 51
    assert seen.add("a"), "forgotten, which loses nothing"


@pytest.mark.parametrize(
    ("address", "plain"),
    [
        (f"/a;jsessionid={'0A' * 16}", "/a"),
        (f"/a;JSESSIONID={'0A' * 16}.node1/b?c=1", "/a/b?c=1"),
        (f"/a?PHPSESSID={'0f' * 13}", "/a"),
        (f"/a?b=1&sid={'0f' * 16}&c=2", "/a?b=1&c=2"),
        (f"/a?ASPSESSIONIDABCDEFGH={'ABCD' * 6}", "/a"),
        (f"/(S({'a1' * 12}))/page.aspx", "/page.aspx"),
        ("/a?sid=3b5e5c48-cfa3-4f89-864f-9fa0a751a30a", None),  # a UUID is something's name
        ("/a?sid=20240501123456789012345678", None),
        ("/a?session=machine-learning-for-everybody-1", None),
        (f"/a?story={'0f' * 16}", None),
        ("/a?id=1&", None),
        ("/a?", None),
    ],
)
def test_only_token_like_values_are_session_ids(address: str, plain: str | None) -> None:
    assert without_session("https://e.org" + address) == "https://e.org" + (
        address if plain is None else plain
    )


def test_repeating_paths_are_detected() -> None:
    assert not any(
        has_repeats("https://e.org" + path)
        for path in ("", "/", "/a/b/a/b", "/2024/11/11/11/x", "/a/a/b/a/a", "/en/en")
    )
    assert all(
        has_repeats("https://e.org" + path)
        for path in (
            "/a/a/a",
            "/x/a/b/a/b/a/b/y",
            "/a/b/c/d" * 3,
            "/1/a/1/a/1/a",
            "/".join("ab" * 26),
        )
    )


def test_url_shape_replaces_numbers_and_ids() -> None:
    assert (
        shape_of("https://e.org/a/2024-05/b?c=1")
        == shape_of("https://e.org/a/1999-12/b?d=2")
        == "e.org/a/#-#/b?"
    )
    assert shape_of(f"https://e.org/{uuid4().hex}0") == "e.org/#"
    assert shape_of("https://e.org/slug") == "e.org/slug"


def test_known_pages_count_as_in_the_last_crawl() -> None:
    made = traps()
    link = "https://e.org/day/999"
    text = "<p>Nothing here</p>"

    def follow(number: int, *, is_repeated: bool, is_sent: bool) -> list[str]:
        reading = Reading(b"key", 20, 0, (), b"abcd", b"", is_repeated=is_repeated)
        page = Page.from_html(text, f"https://e.org/day/{number}")
        if is_sent:  # a check of the server: the page has the same text
            made.has_new_text(page, reading)
        else:
            page = KnownPage(page.url, reading, {}, pytest.fail).as_page()
        return list(made.follow([link], page))

    assert follow(0, is_repeated=False, is_sent=False) == [link]
    for number in range(1, BARREN_PAGES):
        assert follow(number, is_repeated=True, is_sent=number % 25 == 0) == [link]
    assert follow(BARREN_PAGES, is_repeated=True, is_sent=False) == []
    assert follow(BARREN_PAGES + 1, is_repeated=False, is_sent=False) == [link]
