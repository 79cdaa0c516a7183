"""A history is written into a draft first, which is kept in portions and published as a whole."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from contentspider.state.history.history import History
from contentspider.state.schema import DRAFT

from contentspider.recrawl.lastmod import LastmodCounts
from contentspider.state.crawls.entries import Entries
from contentspider.state.database import Database, LedgerBusyError
from tests.state.test_history import DAYS, add, seen, take, visit

if TYPE_CHECKING:
    from pathlib import Path

    from contentspider.state.history.writer import HistoryWriter

COUNTS = LastmodCounts(3.0, 0.0, 1.0, 0.0)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the file of a history with the pages 1 and 2."""
    path = tmp_path / "history.sqlite"
    with closing(History(path)) as history:
        take(history, "a", seen(1, visit("1", "new"), "One."), seen(2, visit("2", "new"), "Two."))
    return path


def write_portion(path: Path, basis: object = 1) -> None:
    """Write a second crawl up to a kill: two visits are kept, the third one is lost."""
    with closing(History(path)) as history:
        writer = history.begin_writing("b", is_complete=True, basis=basis)
        add(writer, seen(4, visit("1", "changed", 1, previous_hash="content 0"), "One!"))
        moved = visit("3", "moved", 1, previous_id="2", reason="HTTP 301")
        add(writer, seen(5, moved, "Two."))
        writer.set_stale({"e.org"})
        writer.set_lastmods("e.org", COUNTS)
        writer.keep()
        add(writer, seen(6, visit("4", "new", 1), "Four."))


def finish(writer: HistoryWriter) -> None:
    add(writer, seen(6, visit("4", "new", 1), "Four."))
    writer.commit()


def changes(path: Path) -> list[tuple[int, str, str]]:
    with closing(History(path, read_only=True)) as history:
        return [(row["seq"], row["id"], row["change"]) for row in history.changes()]


def test_readers_see_nothing_of_unpublished_portion(path: Path) -> None:
    before = changes(path)
    write_portion(path)
    assert changes(path) == before
    with closing(Entries(path)) as entries:
        assert entries.last_crawl() == {"ended": entries.position().ended, "changes": {"new": 2}}
        assert not entries.count(after=entries.last)
    with closing(History(path, read_only=True)) as history:
        assert [(page.id, page.last_seen) for page in history.live()] == [
            ("1", DAYS[0]),
            ("2", DAYS[0]),
        ]
        assert history.content("1") == "One."


def test_next_process_continues_with_kept_portion(path: Path) -> None:
    write_portion(path)
    with closing(History(path)) as history:
        writer = history.begin_writing("b", is_complete=True, basis=1)
        assert writer.last_visit == 5
        assert writer.counts() == {"changed": 1, "moved": 1}
        assert writer.moved_ids() == {"2"}
        assert (writer.stale(), writer.lastmods()) == ({"e.org"}, {"e.org": COUNTS})
        finish(writer)
        assert history.content("1") == "One!"
        assert history.content("1", before=True) == "One."
        assert (history.stale, history.lastmods) == (frozenset(), {}), "as they were opened"
    assert changes(path)[2:] == [(3, "1", "changed"), (4, "3", "moved"), (5, "4", "new")]
    with closing(History(path)) as history:
        assert (history.stale, history.lastmods) == ({"e.org"}, {"e.org": COUNTS})
        assert [page.id for page in history.live()] == ["1", "3", "4"]
        moved = history.page("2")
        assert moved is not None
        assert moved.state == "moved"
    assert sorted(file.name for file in path.parent.iterdir()) == [path.name, f"{path.name}.lock"]


@pytest.mark.parametrize("reason", ["basis", "crawl", "history", "damage", "tables"])
def test_draft_that_does_not_fit_is_dropped(reason: str, path: Path) -> None:
    write_portion(path)
    draft = path.with_name(path.name + ".draft")
    crawl, basis = "b", 1
    if reason == "basis":
        basis = 2
    elif reason == "crawl":
        crawl = "c"
    elif reason == "history":
        # Another command has changed the history since.
        with closing(History(path)) as history:
            take(history, "other", seen(1, visit("9", "new", 2), "Nine."))
    elif reason == "damage":
        draft.write_bytes(b"no database, but it has some bytes" * 99)
    else:
        for file in path.parent.glob(f"{draft.name}*"):
            file.unlink()
        History(draft).close()
    earlier = changes(path)
    with closing(History(path)) as history:
        writer = history.begin_writing(crawl, is_complete=True, basis=basis)
        assert writer.last_visit == 0
        assert not writer.counts()
        finish(writer)
    added = changes(path)[len(earlier) :]
    assert [(name, change) for _, name, change in added] == [("4", "new")]
    assert added[0][0] > max(seq for seq, *_ in earlier)


def damage(draft: Path) -> None:
    """Give a page of a draft a value of a type that drafts do not have."""
    with closing(sqlite3.connect(draft)) as connection, connection:
        connection.execute("UPDATE pages SET changes = 'many'")


def test_damaged_draft_is_deleted_unless_its_check_is_interrupted(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_portion(path)
    draft = path.with_name(path.name + ".draft")
    with closing(History(path)) as history:
        history.draft_check().run()
        assert draft.exists()
        damage(draft)
        check = history.draft_check()
        plain = Database.check

        def interrupted(database: Database) -> None:
            check.interrupt()
            plain(database)

        with monkeypatch.context() as patched:
            patched.setattr(Database, "check", interrupted)
            check.run()
        assert draft.exists()
        history.draft_check().run()
        assert not draft.exists()
        history.draft_check().run()


def test_accepting_gone_pages_keeps_stale_sites_and_lastmod_counts(path: Path) -> None:
    with closing(History(path)) as history:
        writer = history.begin_writing("b", is_complete=True)
        writer.set_stale({"e.org"})
        writer.set_lastmods("e.org", COUNTS)
        for page in history.live():
            writer.doubt(page, "HTTP 404")
        writer.commit()
        assert history.accept_gone() == 2
    with closing(History(path)) as history:
        assert history.stale == {"e.org"}
        assert history.lastmods == {"e.org": COUNTS}


def test_draft_of_a_process_that_was_killed_as_it_made_the_file_is_replaced(path: Path) -> None:
    write_portion(path)
    draft = path.with_name(path.name + ".draft")
    draft.unlink()
    half_made = path.with_name("half-made")
    with closing(sqlite3.connect(half_made)) as connection:
        connection.executescript("PRAGMA cache_size = 1; CREATE TABLE t (x); BEGIN;")
        connection.executemany("INSERT INTO t VALUES (?)", [("x" * 500,)] * 500)
        # With this journal beside it, SQLite has to write to the file before it reads it.
        for suffix in ("", "-journal"):
            shutil.copy(f"{half_made}{suffix}", f"{draft}{suffix}")
        connection.rollback()
    with closing(History(path)) as history:
        history.draft_check().run()
        assert not draft.exists()
    write_portion(path)


def test_draft_of_another_process_is_not_deleted(path: Path) -> None:
    write_portion(path)
    draft = path.with_name(path.name + ".draft")
    with closing(Database(draft, schema=DRAFT)), closing(History(path)) as history:
        with pytest.raises(LedgerBusyError):
            history.draft_check().run()
        assert draft.exists()
