"""Items as Parquet: their types, whatever the items hold, and what a kill leaves."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

import pytest

from contentspider import ContentItem
from contentspider.ground.errors import ContentSpiderError
from contentspider.state.files.formats import Output
from contentspider.state.files.parquet import OWN
from tests.conftest import Site, run
from tests.processes import Popen
from tests.sites import small_site

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

if TYPE_CHECKING:
    from pathlib import Path


PASSAGE: dict[str, Any] = {
    "id": "a-0",
    "url": "https://e.org/#a",
    "title": "E",
    "heading_path": ["A"],
    "markdown": "*B*",
    "text": "A\nB",
}


def written(items: list[dict[str, Any]], folder: Path) -> Any:
    assert Output.parse(f"{folder}/out.parquet").write(lambda: items) == len(items)
    return parquet.read_table(folder / "out.parquet")


def test_item_fields_have_same_types_in_every_parquet_file(tmp_path: Path) -> None:
    assert list(OWN) != [], "and they are those of our items:"
    assert set(OWN) == {field.name for field in fields(ContentItem)}
    empty = written([], tmp_path).schema
    item = asdict(ContentItem("https://e.org/"))
    full = item | {"headings": ["# A"], "author": ["B"], "confidence": 1}
    full["passages"] = [PASSAGE]
    for items in ([item], [full], [full, item]):
        schema = written(items, tmp_path).schema
        assert {field.name: field.type for field in schema} == {
            field.name: field.type for field in empty
        }
    assert empty.field("headings").type == pyarrow.list_(pyarrow.string())
    assert empty.field("confidence").type == pyarrow.float64()
    assert written([full], tmp_path).to_pylist() == [
        full | {"images": "[]", "records": "[]", "fields": "{}"}
    ]


def test_custom_fields_get_type_of_their_values(tmp_path: Path) -> None:
    items: list[dict[str, Any]] = [
        {"n": 1, "x": 1, "flag": True, "tags": ["a"], "more": {"a": [1]}, "mixed": 1, "none": None},
        {"n": None, "x": 0.5, "tags": [], "mixed": "b", "half": "\ud83d", "big": 2**64},
        {"author": "one of the user's own", "truth": [1]},
    ]
    table = written(items, tmp_path)
    kinds = {field.name: str(field.type) for field in table.schema}
    assert kinds == {
        "n": "int64",
        "x": "double",
        "flag": "bool",
        "tags": "list<element: string>",
        "more": "string",
        "mixed": "string",
        "none": "string",
        "half": "string",
        "big": "string",
        "author": "string",
        "truth": "string",
    }
    rows = table.to_pylist()
    assert (rows[0]["x"], rows[1]["x"]) == (1.0, 0.5)
    assert json.loads(rows[0]["more"]) == {"a": [1]}
    assert [json.loads(row["mixed"]) for row in rows[:2]] == [1, "b"]
    assert rows[1]["half"] == "?"
    assert rows[2]["tags"] is None


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        ([2**63 - 1, -(2**63)], "int64", [2**63 - 1, -(2**63)]),
        ([1, 2**63], "string", ["1", str(2**63)]),
        ([-(2**63) - 1], "string", [str(-(2**63) - 1)]),
        ([1, True], "string", ["1", "true"]),
        ([True, None], "bool", [True, None]),
        ([0.5, "é"], "string", ["0.5", '"é"']),
        ([[], []], "list<element: string>", [[], []]),
        ([(), ("a\ud83d",)], "list<element: string>", [[], ["a?"]]),
        ([["a"], "b"], "string", ['["a"]', '"b"']),
        ([["a"], [1]], "string", ['["a"]', "[1]"]),
        ([[], 1], "string", ["[]", "1"]),
        ([{"id": "a"}], "string", ['{"id": "a"}']),
        ([[{"id": "a"}]], "string", ['[{"id": "a"}]']),
    ],
)
def test_column_with_mixed_types_is_written_as_json(
    values: list[Any], kind: str, expected: list[Any], tmp_path: Path
) -> None:
    table = written([{"own": value} for value in values], tmp_path)
    assert str(table.schema.field("own").type) == kind
    assert table["own"].to_pylist() == expected


def test_parquet_passages_may_be_empty_and_contain_surrogates(tmp_path: Path) -> None:
    passage = PASSAGE | {"heading_path": ["b\ud83d"], "text": "c\ud83d"}
    items: list[dict[str, Any]] = [{"own": [passage]}, {"own": []}, {"own": None}, {"\ud83d": 1}]
    table = written(items, tmp_path)
    clean = PASSAGE | {"heading_path": ["b?"], "text": "c?"}
    assert table["own"].to_pylist() == [[clean], [], None, None]
    assert table["?"].to_pylist() == [None, None, None, 1]


def test_row_groups_are_limited_in_rows_and_characters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("contentspider.state.files.parquet.MAX_ROWS", 4)
    monkeypatch.setattr("contentspider.state.files.parquet.MAX_CHARS", 100)
    items = [{"url": str(n), "content": "x" * (60 if n > 8 else 1)} for n in range(13)]
    assert written(items, tmp_path).to_pylist() == items
    groups = parquet.ParquetFile(tmp_path / "out.parquet").metadata
    sizes = [groups.row_group(n).num_rows for n in range(groups.num_row_groups)]
    assert sizes == [4, 4, 3, 2]
    items = [{"url": "", "content": "x" * 50} for _ in range(6)]
    written(items, tmp_path)
    groups = parquet.ParquetFile(tmp_path / "out.parquet").metadata
    sizes = [groups.row_group(n).num_rows for n in range(groups.num_row_groups)]
    assert sizes == [2, 2, 2], "as many characters as may be"
    assert groups.row_group(0).column(0).compression == "ZSTD"


def test_missing_parquet_extra_raises_error_before_crawl(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ContentSpiderError, match=r"pip install 'contentspider\[parquet\]'"):
        Output.parse(f"{tmp_path}/out.parquet")
    assert Output.parse(f"{tmp_path}/out.csv").kind == "csv"
    (tmp_path / "pages.parquet").mkdir()
    assert Output.parse(f"{tmp_path}/pages.parquet/").is_folder


def test_killed_crawl_resumes_into_complete_parquet_file(site: Site, tmp_path: Path) -> None:
    small_site(site, 12)
    (tmp_path / "out.parquet").write_bytes(b"yesterday's")
    crawl = ["crawl", "--own-site", "--no-sitemaps", "--resume", site.url, "-o", "out.parquet"]
    command = [sys.executable, "-m", "contentspider", *crawl]
    answer, asked = site.answer, []
    with Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL) as process:

        def killing(path: str) -> tuple[int, str, bytes]:
            asked.append(path)
            if len(asked) == 6:
                process.kill()
            return answer(path)

        site.answer = killing
        assert process.wait(60) == -signal.SIGKILL
    assert (tmp_path / "out.parquet").read_bytes() == b"yesterday's"
    site.answer = answer
    run(*crawl, cwd=tmp_path)
    table = parquet.read_table(tmp_path / "out.parquet")
    urls = table["url"].to_pylist()
    assert sorted(urls) == sorted(set(urls))
    assert len(urls) == 12
    assert not list(tmp_path.glob("*.partial"))


def test_scrapy_feed_is_written_as_parquet(tmp_path: Path, site: Site) -> None:
    small_site(site, 3)
    feed = (tmp_path / "feed.parquet").as_uri()
    run("crawl", "--own-site", "--no-sitemaps", site.url, "-o", feed, cwd=tmp_path)
    table = parquet.read_table(tmp_path / "feed.parquet")
    assert table.num_rows == 3
    assert {field.name: field.type for field in table.schema} == {
        field.name: field.type for field in written([], tmp_path).schema
    }
