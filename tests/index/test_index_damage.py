"""Damaged indexes: `index verify` sees what is wrong, and no search ends with a traceback."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from contentspider.cli import main
from contentspider.ground.errors import ContentSpiderError
from contentspider.index.engine import Query
from contentspider.index.errors import EngineError
from contentspider.index.filters import Comparison, Order
from contentspider.index.operations import open_index, rebuild, sync, verify
from contentspider.index.result_rows import result_rows
from tests.indexes import Crawls

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PAGES = 24
QUERIES = (
    Query("cherry", limit=50),
    Query("walnut7"),
    Query("", limit=50),
    Query("", limit=50, comparisons=[Comparison.parse("price<7")], order=Order.parse("price")),
)


@pytest.fixture
def crawls(tmp_path: Path) -> Iterator[Crawls]:
    """Give a history of pages with some text and own fields."""
    found = Crawls(tmp_path / "state")
    found.path.parent.mkdir()
    titles = {
        number: f"title {number} " + " ".join(f"walnut{number} cherry plum{n}" for n in range(9))
        for number in range(PAGES)
    }
    prices = {number: {"price": float(number), "brand": "Acme"} for number in titles}
    found.crawl(titles, fields=prices)
    yield found
    found.close()


@pytest.fixture
def path(crawls: Crawls, tmp_path: Path) -> Path:
    """Return the path of an SQLite index of all pages."""
    sync(crawls.path, f"sqlite:{tmp_path / 'pages.db'}")
    return tmp_path / "pages.db"


def answers(url: str) -> list[object]:
    """Return the answers to some queries, and all documents, without the numbers of their versions
    and the times of their visits, which no search reads.
    """
    with open_index(url, is_writer=False) as (engine, _):
        found = [engine.search(query) for query in QUERIES]
        rows = [
            [row.to_dict() for row in result_rows(query, results)]
            for query, results in zip(QUERIES, found, strict=True)
        ]
        documents = [dict(engine.get(f"{number:032x}") or {}) for number in range(PAGES)]
        for document in documents:
            document.pop("version", None)
            document.get("more", {}).pop("crawled_at", None)
        return [rows, [(results.total, results.facets) for results in found], documents]


def change(path: Path, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(path)) as index, index:
        assert index.execute(statement, values).rowcount == 1


def run_verify(
    crawls: Crawls, path: Path, capsys: pytest.CaptureFixture[str], *options: str, code: int
) -> list[dict[str, str]]:
    """Run `index verify`, and return the differences that it prints."""
    capsys.readouterr()
    folder = crawls.path.parent
    command = ["index", "verify", "e.org", f"sqlite:{path}", "--state-dir", str(folder), *options]
    assert main(command) == code
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_changed_text_is_seen_and_mended(
    crawls: Crawls, path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = answers(f"sqlite:{path}")
    change(path, "UPDATE documents SET content = 'something else' WHERE id = ?", f"{3:032x}")
    change(path, "UPDATE documents SET own = NULL WHERE id = ?", f"{4:032x}")
    change(path, "UPDATE documents SET more = '{\"' WHERE id = ?", f"{5:032x}")
    printed = run_verify(crawls, path, capsys, code=1)
    expected = [{"id": f"{number:032x}", "is": "damaged"} for number in (3, 4, 5)]
    assert sorted(printed, key=lambda one: one["id"]) == expected
    run_verify(crawls, path, capsys, "--mend", code=0)
    assert run_verify(crawls, path, capsys, code=0) == []
    assert answers(f"sqlite:{path}") == good


def test_search_of_a_byte_that_is_no_utf8_answers_and_names_the_document(
    crawls: Crawls,
    path: Path,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    statement = "UPDATE documents SET content = CAST(? AS TEXT) WHERE id = ?"
    change(path, statement, b"The text \xff of title 7.", f"{7:032x}")
    assert main(["search", "walnut7", "--index", f"sqlite:{path}", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["id"] == f"{7:032x}"
    for fact in (f"{7:032x}", "index verify e.org", "--mend"):
        assert fact in caplog.text
    (printed,) = run_verify(crawls, path, capsys, code=1)
    assert printed == {"id": f"{7:032x}", "is": "damaged"}
    run_verify(crawls, path, capsys, "--mend", code=0)
    caplog.clear()
    assert main(["search", "walnut7", "--index", f"sqlite:{path}"]) == 0
    assert not caplog.records


def test_values_of_wrong_types_are_left_out(path: Path) -> None:
    for number, (column, value) in enumerate(
        [("title", b"\xff"), ("fields", "[1]"), ("keywords", "3"), ("published_at", 7)]
    ):
        statement = f"UPDATE documents SET {column} = ? WHERE id = ?"  # noqa: S608 - our names
        change(path, statement, value, f"{number:032x}")
    with open_index(f"sqlite:{path}", is_writer=False) as (engine, _):
        records = [dict(engine.get(f"{number:032x}") or {}) for number in range(4)]
    missing = [set(records[0]) ^ set(record) for record in records[1:]]
    assert missing == [{"title", "fields"}, {"title"}, {"title"}]


def test_filter_on_damaged_values_is_an_error_that_says_what_to_do(path: Path) -> None:
    change(path, "UPDATE documents SET own = '{\"' WHERE id = ?", f"{5:032x}")
    with (
        open_index(f"sqlite:{path}", is_writer=False) as (engine, _),
        pytest.raises(EngineError, match=r"index verify CRAWL .* --mend") as raised,
    ):
        engine.search(QUERIES[-1])
    assert raised.value.code == "index-damaged"


def test_types_of_own_fields_that_the_index_has_lost_are_recorded_again(
    crawls: Crawls, path: Path
) -> None:
    good = answers(f"sqlite:{path}")
    with closing(sqlite3.connect(path)) as index, index:
        index.execute("UPDATE manifest SET manifest = replace(manifest, 'price', 'prjce')")
    assert len(verify(crawls.path, f"sqlite:{path}", False, True).damaged) == PAGES
    assert answers(f"sqlite:{path}") == good


@pytest.mark.parametrize("scheme", ["sqlite", "tantivy"])
def test_each_damaged_byte_is_harmless_or_seen(crawls: Crawls, tmp_path: Path, scheme: str) -> None:
    if scheme == "tantivy":
        pytest.importorskip("tantivy")
    index, copy = tmp_path / "an index", tmp_path / "a copy"
    sync(crawls.path, f"{scheme}:{index}")
    good = answers(f"{scheme}:{index}")
    files = [
        path
        for path in ([index] if index.is_file() else sorted(index.rglob("*")))
        if path.is_file() and path.stat().st_size
    ]
    # Places in all parts of each file; the same in each run.
    draw = random.Random(3)
    seen = 0
    for path in files:
        size = path.stat().st_size
        parts = max(5, 40 // len(files))
        for part in range(parts):
            shutil.rmtree(copy, ignore_errors=True)
            copy.unlink(missing_ok=True) if copy.is_file() else None
            (shutil.copytree if index.is_dir() else shutil.copy)(index, copy)
            target = copy / path.relative_to(index) if index.is_dir() else copy
            body = bytearray(target.read_bytes())
            place = min(part * size // parts + draw.randrange(max(size // parts, 1)), size - 1)
            body[place] ^= 1 << draw.randrange(8)
            target.write_bytes(body)
            url = f"{scheme}:{copy}"
            try:
                found = answers(url)
            except ContentSpiderError:
                found = []
            try:
                is_seen = bool(verify(crawls.path, url, False, False))
            except EngineError as error:
                is_seen = True
                assert url in str(error)
            assert is_seen or found == good, (path.name, place)
            seen += is_seen
    assert seen > 5


@pytest.mark.parametrize("scheme", ["sqlite", "tantivy"])
def test_damaged_files_are_named_and_rebuilt(
    crawls: Crawls, tmp_path: Path, scheme: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if scheme == "tantivy":
        pytest.importorskip("tantivy")
    url = f"{scheme}:{tmp_path / 'an index'}"
    sync(crawls.path, url)
    good = answers(url)
    if scheme == "sqlite":
        # The root of the table of documents: nothing of it can be read.
        path = tmp_path / "an index"
        with closing(sqlite3.connect(path)) as index:
            query = "SELECT rootpage FROM sqlite_master WHERE name = 'documents'"
            (root,) = index.execute(query).fetchone()
            (size,) = index.execute("PRAGMA page_size").fetchone()
        body = bytearray(path.read_bytes())
        body[(root - 1) * size : root * size] = bytes(size)
    else:
        (path,) = (tmp_path / "an index").glob("*/*.store")
        body = bytearray(path.read_bytes())
        body[: len(body) // 2] = bytes(len(body) // 2)
    path.write_bytes(body)
    with pytest.raises(EngineError, match="index rebuild") as raised:
        verify(crawls.path, url, False, True)
    assert raised.value.code == "index-damaged"
    assert main(["search", "cherry", "--index", url]) == 1
    assert "index rebuild" in capsys.readouterr().err
    with pytest.raises(EngineError, match="--force"):
        rebuild([crawls.path], url)
    rebuild([crawls.path], url, force=True)
    assert not verify(crawls.path, url, False, False)
    assert answers(url) == good


def test_rebuild_never_replaces_a_file_that_is_no_index(crawls: Crawls, tmp_path: Path) -> None:
    file = tmp_path / "letter.txt"
    file.write_text("Dear reader, " * 100)
    with pytest.raises(EngineError, match="is not an index"):
        rebuild([crawls.path], f"sqlite:{file}", force=True)
    assert file.read_text() == "Dear reader, " * 100
