"""The file of a book: opened by one process, full, damaged, brought to the disk."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from contentspider.ground.errors import StateError
from contentspider.page.input.page import Page
from contentspider.state.address_state import AddressState
from contentspider.state.book.book import Book, Run
from contentspider.state.book.database import BookFullError
from contentspider.state.book.items import ItemBinding
from contentspider.state.crawls.books import open_crawl
from tests.books import killed
from tests.messages import raises
from tests.state.test_storage import HTML

if TYPE_CHECKING:
    from pathlib import Path


def test_full_disk_raises_error_and_keeps_last_commit(path: Path) -> None:
    book = Book(path)
    book.items.hold("site", {"url": "kept"}, ItemBinding(Page.from_html(HTML)))
    book.commit()
    book.database._connection.execute("COMMIT")
    book.database._connection.execute("PRAGMA max_page_count = 30")
    book.database._connection.execute("BEGIN")
    page = Page.from_html("".join(f"<p>{number * 7919}</p>" for number in range(20_000)))
    with pytest.raises(BookFullError, match="full"):
        for _ in range(20):
            book.items.hold("site", {"url": "u"}, ItemBinding(page))
    book.rollback()
    assert book.items.held_counts() == {"site": 1}
    book.close()


def test_second_process_cannot_open_book_for_writing(path: Path) -> None:
    book = Book(path)
    code = (
        "from pathlib import Path\n"
        "from contentspider.state.book.book import Book\n"
        "from contentspider.state.book.database import BookBusyError\n"
        f"try: Book(Path({str(path)!r}))\nexcept BookBusyError as e: print(e)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert "in use by another process" in done.stdout
    looked = Book(path, read_only=True)
    assert looked.runs.all() == []
    looked.close()
    book.close(delete=True)
    assert not list(path.parent.iterdir())


@pytest.mark.parametrize(
    "content",
    [
        b"no database at all, but some text that is long enough",
        b"SQLite format 3\x00" + b"\xff" * 200,
    ],
)
def test_damaged_book_is_set_aside(
    content: bytes, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path.write_bytes(content)
    with pytest.raises(StateError, match="damaged"):
        Book(path)
    made, is_resumed = open_crawl(path, True, 10**9)
    made.close()
    assert not is_resumed
    assert "is renamed to" in caplog.text
    assert path.with_name("crawl.sqlite.broken").read_bytes() == content


def test_book_creation_error_names_state_dir_setting(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BookFullError, match="CONTENTSPIDER_STATE_DIR"):
        Book(tmp_path / "file" / "crawl.sqlite")


OUT_OF_MEMORY = """
import sys
from pathlib import Path
from contentspider.page.input.page import Page
from contentspider.state.book.database import BookFullError
from contentspider.state.book.book import Book

book = Book(Path(sys.argv[1]))
book.begin_run()
book.frontier.enqueue(b"kept", "http://x/kept", 0, "{}")
book.commit()
try:
    book.database.do("PRAGMA hard_heap_limit = 1000000")
    for number in range(100):
        book.frontier.enqueue(b"%d" % number, f"http://x/{number}", 0, "{}" * 500_000)
except BookFullError as error:
    print("stopped:", error)
book.rollback()
book.commit()
"""


def test_sqlite_out_of_memory_raises_error_and_commits_nothing(path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", OUT_OF_MEMORY, str(path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert "stopped:" in done.stdout
    assert "out of memory" in done.stdout
    book = Book(path, read_only=True)
    assert book.frontier.states() == {"queued": 1}
    book.close()


def test_lost_transaction_raises_error_on_commit(path: Path) -> None:
    book = Book(path)
    book.begin_run()
    book.frontier.enqueue(b"a", "http://x/a", 0, "{}")
    book.database._connection.execute("ROLLBACK")  # as it does if its memory is at an end
    with pytest.raises(BookFullError, match="SQLite dropped the changes"):
        book.commit()
    book.close()


def test_book_is_synced_to_disk_from_thread(path: Path) -> None:
    book = Book(path)
    book.begin_run()
    with ThreadPoolExecutor(1) as thread:
        for number in range(100):
            book.runs.set_fact(str(number), "x" * 100_000)
            book.commit()
            book.frontier.enqueue(b"%d" % number, f"http://x/{number}", 0, "{}")
            thread.submit(book.sync).result()
    log = path.with_name("crawl.sqlite-wal")
    assert path.stat().st_size > 4_000_000, "the log was brought into the file"
    assert log.exists()
    again = killed(book)
    assert again.runs.fact("99") == "x" * 100_000
    assert again.frontier.queue.length == 99
    again.close()


def test_book_stores_runs_and_facts(path: Path) -> None:
    book = Book(path)
    assert (book.runs.all(), book.runs.last(), book.runs.fact("a")) == ([], None, None)
    book.begin_run()
    book.end_run("shutdown")
    book.runs.set_fact("a", {"é": [1, None]})
    book.runs.set_fact("b", 0)
    book.runs.set_fact("b", False)
    book.begin_run()
    (first, second), last = book.runs.all(), book.runs.last()
    assert first == Run(1, first.started, os.getpid(), first.ended, "shutdown")
    assert second == Run(2, second.started, os.getpid(), None, None) == last
    assert first.started[:2] == (first.ended or "")[:2] == "20"
    again = killed(book)
    assert [run.reason for run in again.runs.all()] == ["shutdown", None]
    assert (again.runs.fact("a"), again.runs.fact("b")) == ({"é": [1, None]}, False)
    again.database.do("UPDATE facts SET value = '{' WHERE name = 'a'")
    with raises(StateError, "damaged", path, "(a: Expecting "):
        again.runs.fact("a")
    again.close()


def test_book_without_durability_keeps_each_change(path: Path) -> None:
    book = Book(path, durable=False)
    book.runs.set_fact("a", 1)
    again = killed(book)
    assert (again.path, again.runs.fact("a")) == (path, 1)
    again.close()


def test_request_again_for_another_route_of_a_document_has_its_own_address() -> None:
    book = Book(None)
    book.begin_run()
    row = book.frontier.enqueue(b"a", "http://x/", 0, "{}")
    book.frontier.queue.take()
    book.frontier.finish(row, AddressState.RELEASED)
    other = book.frontier.enqueue(b"a", "http://x/#/tea", 0, "{}", True)
    taken = book.frontier.queue.take()
    assert taken is not None and (taken[0], taken[1]) == (other, "http://x/#/tea")
    assert book.frontier.enqueue(b"a", "http://x/", 0, "{}", True) == row != other
    book.close(delete=True)


def test_memory_book_writes_no_files(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent)
    book = Book(None)
    book.begin_run()
    assert book.frontier.enqueue(b"a", "http://x/a", 0, "{}")
    book.commit()
    book.sync()
    book.close(delete=True)
    assert list(path.parent.iterdir()) == []
