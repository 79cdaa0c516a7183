"""The crawls of a machine: which book a crawl goes on with, how it stands, and what is in it."""

from __future__ import annotations

import json
import logging
from contextlib import closing
from pathlib import Path

import pytest

from contentspider.ground.errors import ContentSpiderError
from contentspider.page.input.page import Page
from contentspider.state.book.book import Book
from contentspider.state.book.items import ItemBinding
from contentspider.state.crawls import export, folder
from contentspider.state.crawls.books import GO_ON, crawl_status, is_hopeless, open_crawl
from contentspider.state.crawls.export import books, crawls, export_items, find_crawl, find_page
from contentspider.state.crawls.folder import has_default, index_url, state_folder
from contentspider.state.files.formats import Output
from tests.messages import raises, wording
from tests.visited import Seen, crawl, crawling


def crawled(path: Path, *reasons: str | None, unread: bool = True) -> None:
    """Make the book of a crawl whose runs ended so (None: it was killed)."""
    for reason in reasons:
        book = Book(path)
        book.begin_run()
        book.frontier.enqueue(b"a", "http://e.org/a", 0, "{}")
        if unread and book.frontier.queue.take():
            book.frontier.finish(1, "retry", "HTTP 503")
        book.commit()
        if reason:
            book.end_run(reason)
        book.close()


@pytest.mark.parametrize(
    ("reasons", "resume", "goes_on", "text"),
    [
        (["shutdown"], True, True, "was stopped (shutdown); this run resumes it with 0 addresses"),
        (
            [None],
            True,
            True,
            "ended without notice: the process was killed, or the power was lost",
        ),
        (["incomplete"], True, True, "1 " + wording("state.unread-and-held", "0")),
        (
            ["incomplete"] * 2,
            True,
            False,
            "1 address could not be read in 2 runs; a new crawl",
        ),
        (
            ["shutdown"],
            False,
            False,
            "--resume (CONTENTSPIDER_RESUME)",
        ),
        (["incomplete", "finished"], True, False, ""),
    ],
)
def test_unfinished_crawl_resumes_only_on_request(
    path: Path,
    caplog: pytest.LogCaptureFixture,
    reasons: list[str | None],
    resume: bool,
    goes_on: bool,
    text: str,
) -> None:
    crawled(path, *reasons)
    book, is_resumed = open_crawl(path, resume, 10**9)
    assert is_resumed == goes_on
    assert len(book.runs.all()) == (len(reasons) if goes_on else 0)
    assert text in caplog.text
    assert bool(caplog.messages) == bool(text)
    assert list(path.parent.glob("*.sqlite")) == [path]
    assert book.frontier.states() == ({"retry": 1} if goes_on else {})
    book.close()


def test_resumed_crawl_logs_its_remaining_work(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    crawled(path, "shutdown", unread=False)
    book = Book(path)
    for name in "bc":
        book.frontier.enqueue(name.encode(), f"http://e.org/{name}", 0, "{}")
    book.frontier.queue.take()
    book.items.hold("e.org", {}, ItemBinding(Page.from_html("<p>Tea</p>")))
    (run,) = book.runs.all()
    book.commit()
    book.close()
    again, _ = open_crawl(path, True, 10**9)
    (said,) = caplog.messages
    assert f"{path}: the run of {run.started} was stopped (shutdown)" in said
    assert said.endswith("3 " + wording("state.left-in-crawl", "0", "1"))
    again.close()
    caplog.clear()
    anew, _ = open_crawl(path, False, 10**9)
    anew.close()
    assert (
        f"{path}: the crawl of {run.started} was not finished; this one starts over. To"
        in caplog.text
    )


@pytest.mark.parametrize("reason", ["finished", "shutdown"])
def test_next_crawl_keeps_only_what_was_published(path: Path, reason: str) -> None:
    crawled(path, reason)
    with closing(Book(path)) as book:
        book.publish(is_complete=True)
    book, _ = open_crawl(path, False, 10**9)
    assert book.runs.all() == []
    assert book.is_complete
    assert book.frontier.states() == {}
    book.close()


def test_book_without_runs_is_no_unfinished_crawl(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    Book(path).close()
    book, is_resumed = open_crawl(path, True, 10**9)
    assert not is_resumed
    assert not caplog.messages
    book.close()


def test_book_that_is_read_can_be_crawled_anew(path: Path) -> None:
    crawled(path, "finished")
    reader = Book(path, read_only=True)
    reader.database.do("BEGIN")
    assert reader.runs.all()
    book, _ = open_crawl(path, False, 10**9)
    assert len(reader.runs.all()) == 1, "it sees what it saw"
    book.close()
    reader.close()


def test_crawl_with_queued_urls_or_held_items_can_be_resumed(path: Path) -> None:
    crawled(path, "incomplete", "incomplete")
    book = Book(path)
    assert is_hopeless(book)
    book.items.hold("e.org", {}, ItemBinding(Page.from_html("<p>Tea</p>")))
    assert not is_hopeless(book)
    book.rollback()
    book.frontier.enqueue(b"b", "http://e.org/b", 0, "{}")
    assert not is_hopeless(book)
    book.close()


def test_status_shows_runs_items_and_failed_addresses(path: Path) -> None:
    crawled(path, "shutdown", None)
    book = Book(path)
    text = crawl_status(path)
    assert "run 1, started" in text
    assert ": shutdown\nrun 2" in text
    assert "is running (process" in text
    assert "--resume" not in text
    book.items.hold("e.org", {}, ItemBinding(Page.from_html("<p>Tea</p>"), key="k"))
    book.items.record(ItemBinding(Page.from_html("<p>Tea</p>"), key="j"), b"{}")
    book.commit()
    book.close()
    text = crawl_status(path)
    assert "ended without notice: the process was killed" in text
    assert "items: 1 out, 1 held\n  1 of e.org held until it has been learned" in text
    assert "addresses:\n  1 retry\n    1 HTTP 503 (such as http://e.org/a)\n" in text
    assert "It is not finished: " in text and "--resume" in text
    crawled(path, "finished")
    assert "--resume" not in crawl_status(path)


def test_status_lists_reasons_for_unread_pages(path: Path) -> None:
    book = Book(path)
    book.begin_run()
    reasons = [None, None, *(f"HTTP {code}" for code in range(500, 511))]
    for number, (state, reason) in enumerate(
        [("fetched", "so"), *(("failed", one) for one in reasons), *[("skipped", "noindex")] * 2]
    ):
        row = book.frontier.enqueue(b"%d" % number, f"http://e.org/{number:02}", 0, "{}")
        book.frontier.queue.take()
        book.frontier.finish(row, state, reason)
    book.end_run("shutdown")
    book.close()
    with closing(Book(path, read_only=True)) as looked:
        (run,) = looked.runs.all()
    lines = crawl_status(path).split("\n")
    others = [lines.pop(7) for _ in range(9)]
    assert len({line for line in others if line.startswith("    1 HTTP 5")}) == 9
    assert lines == [
        str(path),
        f"run 1, started {run.started}, ended {run.ended}: shutdown",
        *("", "items: 0 out, 0 held", "addresses:", "  13 failed"),
        "    2  (such as http://e.org/01)",
        *("  2 skipped", "    2 noindex (such as http://e.org/14)", "  1 fetched"),
        *("", f"It is not finished: {GO_ON} to continue."),
    ]


def test_crawl_lookup_prefers_exact_name_to_partial_match(tmp_path: Path) -> None:
    state = str(tmp_path)
    with pytest.raises(ContentSpiderError, match=r"e.org: no such file .*; its crawls are: none"):
        find_crawl("e.org", state)
    for name in ("e.org-docs-01234567", "e.org.20240101T000000", "e_org"):
        crawled(tmp_path / f"{name}.sqlite", "finished")
    assert find_crawl("e.org", state).name == "e.org-docs-01234567.sqlite"
    crawled(tmp_path / "e.org.sqlite", "finished")
    assert find_crawl("http://www.e.org", state).name == "e.org.sqlite"
    with raises(ContentSpiderError, "no-such-crawl", "[x: "):
        find_crawl("http://[x", state)


def test_page_is_found_by_the_address_that_a_person_gives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # `Seen` has the name of a page as its id
    monkeypatch.setattr(export, "page_id", lambda url: url.removeprefix("http://e.org/"))
    with raises(ContentSpiderError, "no-such-page", "none was crawled"):
        find_page("e.org", state_dir=str(tmp_path))
    path = tmp_path / "e.org.sqlite"
    with closing(Book(path)) as book:
        crawl(book, Seen("index.html"), Seen("a"), Seen("docs/index.php"), Seen("original"))
        with crawling(book):
            book.copies.add("copy", "original", "http://e.org/copy", 2, 2)
    for given, name in {
        "http://e.org/": "index.html",
        "e.org": "index.html",
        "e.org/a": "a",
        "http://e.org/docs/": "docs/index.php",
        "e.org/copy": "original",
    }.items():
        assert find_page(given, state_dir=str(tmp_path)) == (path, name), given
    with raises(ContentSpiderError, "no-such-page"):
        find_page("http://e.org/docs", "e.org", str(tmp_path))


def test_crawl_is_found_by_its_site_name(tmp_path: Path) -> None:
    state = str(tmp_path)
    for name in ("e.org", "f.org-docs-01234567", "g.org-a-01234567", "g.org-b-01234567"):
        crawled(tmp_path / f"{name}.sqlite", "finished")
    path = tmp_path / "e.org.sqlite"
    for name in ("e.org", "https://e.org/", "e.org.sqlite", str(path)):
        assert find_crawl(name, state) == path
    assert find_crawl(str(tmp_path / "history" / path.name), state) == path, "as it was"
    assert find_crawl("f.org", state).name == "f.org-docs-01234567.sqlite"
    with pytest.raises(
        ContentSpiderError, match=r"its crawls are: g.org-a-01234567, g.org-b-01234567$"
    ):
        find_crawl("g.org", state)
    with pytest.raises(ContentSpiderError, match=r"h.org: .* its crawls are: e.org, f.org"):
        find_crawl("h.org", state)
    assert crawls(state) == ["e.org", "f.org-docs-01234567", "g.org-a-01234567", "g.org-b-01234567"]


@pytest.mark.parametrize(("reason", "written"), [(None, 1), ("unchanged", 0), ("dropped", None)])
def test_items_are_exported_only_if_crawl_has_items(
    path: Path, reason: str | None, written: int | None
) -> None:
    book = Book(path)
    hand = ItemBinding(Page.from_html("<p>Tea</p>"), key="k")
    book.items.record(hand, None if reason else b'{"url": "u"}', reason)
    book.commit()
    book.close()
    output = path.with_name("items.json")
    assert export_items(path, [Output(output, "json")]) == (written or 0)
    assert output.exists() == (written is not None)
    if written is not None:
        assert json.loads(output.read_bytes()) == [{"url": "u"}] * written


@pytest.mark.parametrize(
    "content", [b"no database at all, but some text that is long enough", None]
)
def test_damaged_book_is_set_aside_with_one_error(
    path: Path, content: bytes | None, caplog: pytest.LogCaptureFixture
) -> None:
    if content:
        path.write_bytes(content)
    with caplog.at_level(logging.ERROR):
        book, _ = open_crawl(path, False, 1_000)
    assert book.known.live_count() == 0
    book.close()
    assert len(caplog.messages) == bool(content)
    for said in caplog.messages:
        assert said.startswith(f"{path} " + wording("state.book-damaged", "book"))
        assert "crawl.sqlite.broken" in said
        assert said.endswith(wording("state.readers-start-over"))
    assert path.with_name(path.name + ".broken").exists() == bool(content)


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ("[settings]\n", "project/.scrapy/contentspider"),
        ("[datadir]\ndefault = data\n", "data/contentspider"),
    ],
)
def test_state_folder_follows_project_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, config: str, expected: str
) -> None:
    (tmp_path / "project" / "below").mkdir(parents=True)
    (tmp_path / "project" / "scrapy.cfg").write_text(config)
    monkeypatch.chdir(tmp_path / "project" / "below")
    assert str(state_folder()).endswith(expected)
    assert str(state_folder("given")) == "given"


def test_state_belongs_to_nearest_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = tmp_path / "outer" / "inner"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    assert state_folder() == inner / ".scrapy" / "contentspider"
    (tmp_path / "outer" / "scrapy.cfg").write_text("[datadir]\nother = data\n")
    assert state_folder() == tmp_path / "outer" / ".scrapy" / "contentspider"
    (inner / "scrapy.cfg").write_text("[datadir]\ndefault =\n")
    assert state_folder() == inner / ".scrapy" / "contentspider"
    (inner / "scrapy.cfg").write_text("[datadir]\ndefault = /data\n")
    assert state_folder() == Path("/data/contentspider")


def test_existing_index_is_default_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state = str(tmp_path)
    monkeypatch.setattr(folder, "is_installed", lambda _: True)
    assert index_url("default", state) == f"tantivy:{state}/index/tantivy"
    (tmp_path / "index").mkdir()
    assert not has_default(state)
    (tmp_path / "index" / "pages.db").touch()
    assert has_default(state)
    assert index_url("default", state) == f"sqlite:{state}/index/pages.db"
    (tmp_path / "index" / "tantivy").mkdir()
    assert index_url("default", state) == f"tantivy:{state}/index/tantivy"
    (tmp_path / "index" / "pages.db").unlink()
    assert has_default(state)


def test_books_are_listed_by_name(tmp_path: Path) -> None:
    for name in ("b.org", "a.org"):
        Book(tmp_path / f"{name}.sqlite").close()
    # What an earlier version left: a history alone, and the book of an older crawl.
    (tmp_path / "history").mkdir()
    (tmp_path / "history" / "c.org.sqlite").touch()
    (tmp_path / "a.org.20240101T000000.sqlite").touch()
    found = books(str(tmp_path))
    assert found == [tmp_path / f"{name}.org.sqlite" for name in "abc"]
    path = tmp_path / "one.txt"
    path.touch()
    assert find_crawl(str(path), str(tmp_path)) == path, "a file of any name"
    assert find_crawl("c.org", str(tmp_path)) == tmp_path / "c.org.sqlite"
    with pytest.raises(
        ContentSpiderError, match=r"two.txt: .* its crawls are: a.org, b.org, c.org$"
    ):
        find_crawl("two.txt", str(tmp_path))


def test_file_with_the_name_of_a_crawl_does_not_hide_the_crawl(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for file in ("tea", "state/tea.sqlite"):
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).touch()
    assert find_crawl("tea", "state").name == "tea.sqlite"
    assert find_crawl("./tea", "state").resolve() == tmp_path / "tea"
