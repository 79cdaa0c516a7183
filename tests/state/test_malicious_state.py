"""State files that somebody has made to do harm: nothing of them is executed, nothing is written
elsewhere, and what they are is said.
"""

from __future__ import annotations

import re
import sqlite3
import time
import zlib
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from contentspider.ground import compression
from contentspider.ground.errors import StateError
from contentspider.page.input.page import Page
from contentspider.site.learn.learner import SiteLearner
from contentspider.state.book import contents
from contentspider.state.book.book import Book
from contentspider.state.book.database import BookFullError
from contentspider.state.crawls.books import crawl_status, open_crawl
from contentspider.state.crawls.entries import Entries
from contentspider.state.stores.models import ModelStore
from tests.conftest import read_jsonl, run
from tests.fuzzed_state import TRICKS, made_crawl, made_site
from tests.sites import article, small_site

if TYPE_CHECKING:
    from tests.conftest import Site


def changed(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(";".join(statements))


@pytest.mark.parametrize("trick", TRICKS)
def test_book_with_foreign_tables_is_set_aside(path: Path, trick: str) -> None:
    changed(made_crawl(path), trick.format("items"))
    started = time.process_time()
    with pytest.raises(StateError):
        crawl_status(path)
    kept, is_resumed = open_crawl(path, True, 10**9)
    kept.close()
    assert not is_resumed
    assert path.with_name("crawl.sqlite.broken").exists()
    assert time.process_time() - started < 2


def test_book_with_view_is_rejected_and_set_aside(path: Path) -> None:
    changed(made_site(path), TRICKS[0].format("pages"))
    for read in (Entries, Book):
        with pytest.raises(StateError, match="has unexpected tables"):
            read(path)
    open_crawl(path, False, 10**9)[0].close()
    assert path.with_name("crawl.sqlite.broken").exists()


def test_database_of_other_program_is_left_unchanged(path: Path) -> None:
    changed(path, "CREATE TABLE bookmarks (url)")
    before = path.read_bytes()
    with pytest.raises(StateError):
        Book(path)
    assert path.read_bytes() == before


def test_check_of_book_finds_values_of_wrong_type(path: Path) -> None:
    changed(made_crawl(path), "UPDATE pages SET address = 'x' WHERE number = 1")
    with closing(Book(path)) as book, pytest.raises(StateError, match="pages has values"):
        book.check()


def test_decompression_bombs_are_not_unpacked(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compression, "MAX_BYTES", 1_000_000)
    monkeypatch.setattr(contents, "MAX_BYTES", 1_000_000)
    bomb = contents._pack(bytes(50_000_000), None).hex()
    texts = zlib.compress(bytes(50_000_000)).hex()
    changed(
        made_crawl(path),
        f"UPDATE contents SET data = x'{bomb}', dictionary = NULL, base = NULL",  # noqa: S608
        f"UPDATE own_texts SET record = x'{texts}'",  # noqa: S608
    )
    with closing(Book(path)) as book:
        assert list(book.items.lines()) == []
        assert list(book.sample.sample("e.org")) == []
        assert list(book.sample.visited("e.org")) == []
        assert list(book.items.held_pages("e.org")) == []
        assert book.own_texts.of_site("e.org") == []
        book.begin_run()
        book.publish(is_complete=True)
        assert book.known.content("1") is book.known.stored("1") is None
        assert book.known.links("1") == {}


def test_site_name_cannot_escape_models_folder(tmp_path: Path) -> None:
    store = ModelStore(tmp_path / "a" / "models")
    for name in ("../../evil", "..", "/evil", "a/../../../evil", "a\0b", ""):
        model = SiteLearner(name).fit([Page.from_html(article(1))])
        folder = store.save(model)
        assert folder.parent == store.folder
        assert store.read(name).version == model.version
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_resumed_crawl_ignores_malicious_paths_in_its_book(site: Site, tmp_path: Path) -> None:
    small_site(site, 12)
    home = tmp_path / "a" / "b" / "c"
    home.mkdir(parents=True)
    run("crawl", site.url, "--own-site", "--max-pages", "11", cwd=home)
    (kept,) = home.glob(".scrapy/contentspider/*.sqlite")
    changed(
        kept,
        "UPDATE runs SET reason = 'shutdown'",
        "INSERT INTO held_items (key, site, item, page) SELECT url, '../../../../evil',"
        ' \'["builtins", "dict", {}]\', page FROM pages',
    )
    run("crawl", site.url, "--own-site", "--resume", cwd=home, check=False)
    assert len(read_jsonl(home / "pages.jsonl")) == 11, "the resumed crawl is incomplete"
    assert [path.parent for path in tmp_path.rglob("*evil*")] == [home / "models"]


def test_symlinks_in_models_folder_are_replaced_and_not_followed(tmp_path: Path) -> None:
    store, outside = ModelStore(tmp_path / "models"), tmp_path / "outside"
    model = SiteLearner("e.org").fit([Page.from_html(article(1))])
    folder = store.save(model)
    outside.write_text("precious")
    for name in ("manifest.json", "generations/1/weights.json.gz"):
        (folder / name).unlink()
        (folder / name).symlink_to(outside)
    with pytest.raises(StateError, match="cannot be read"):
        store.read("e.org")
    assert store.load("e.org") is None
    store.save(model)
    assert store.read("e.org").version == model.version
    assert outside.read_text() == "precious"


def test_no_module_reads_pickles() -> None:
    root = Path(compression.__file__).parent.parent
    code = "".join(path.read_text() for path in root.rglob("*.py*") if path.suffix != ".pyc")
    names = (r"import (?:pickle|marshal|shelve)\b", "joblib", "allow_pickle=True")
    assert not [name for name in names if re.search(name, code)]


def test_symlinked_lock_files_are_not_followed(path: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("precious")
    path.with_name("crawl.sqlite.lock").symlink_to(outside)
    with pytest.raises(BookFullError, match="cannot be opened"):
        Book(path)
    store = ModelStore(tmp_path / "models")
    lock = store.place("e.org") / "generations" / ".lock"
    lock.parent.mkdir(parents=True)
    lock.symlink_to(outside)
    with pytest.raises(OSError, match="symbolic links"):
        store.save(SiteLearner("e.org").fit([Page.from_html(article(1))]))
    assert outside.read_text() == "precious"
