"""Records that are damaged, as `test_fuzz.py` found them: what reads them says so, and no more."""

from __future__ import annotations

import io
import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scrapy import Spider
from scrapy.http import XmlResponse

from contentspider.crawl.base.items import Bindings
from contentspider.crawl.queue.requests import load_request
from contentspider.crawl.spider.sitemaps import read_sitemap
from contentspider.ground.compression import pack_text, unpack_text
from contentspider.ground.errors import ContentSpiderError, OverridesError, StateError
from contentspider.page.input.overrides import Overrides
from contentspider.page.input.page import Page
from contentspider.recrawl.intervals import Bounds, ChangeIntervals, intervals
from contentspider.run.mistakes import SitesFileError
from contentspider.run.results import LastCrawl, last_crawl
from contentspider.run.sitesfile import read_sites
from contentspider.site.judge.prior import Prior
from contentspider.site.models.model import SiteModel
from contentspider.state.book.book import Book
from contentspider.state.book.item_json import load_item
from contentspider.state.book.items import ItemBinding
from contentspider.state.crawls.books import open_crawl
from contentspider.state.crawls.export import export_items
from contentspider.state.files.formats import Output
from tests.conftest import read_jsonl
from tests.fuzzed import RICH, model
from tests.fuzzed_state import made_site
from tests.messages import raises
from tests.recrawled import OneCrawl
from tests.sites import article

if TYPE_CHECKING:
    from pathlib import Path

PLACE = "https://e.org/{}"


def test_invalid_character_in_sitemap_keeps_earlier_locations() -> None:
    places = [f"<url><loc>{PLACE.format(number)}</loc></url>".encode() for number in range(3)]
    places[2] = places[2].replace(b"/2", b"/&#xd800;")  # a lone surrogate
    response = XmlResponse(PLACE, body=b"<urlset>" + b"".join(places) + b"</urlset>")
    found, is_index = read_sitemap(response)
    assert ([place for place, _ in found], is_index) == ([PLACE.format(0), PLACE.format(1)], False)


@pytest.mark.parametrize(
    "text",
    [
        *("", "1", "null", "[]", "{}", '["builtins", "dict"]', '["builtins", "dict", []]'),
        *('["builtins", 1, {}]', '["builtins", "dict", {"a": {}}]', "[" * 5_000),
        *('["builtins", "dict", {"a": {"decimal": "x"}}]', '["a", "b", {"a": {"dict": 1}}]'),
        *('["builtins", "dict", {"a": {"datetime": []}}]', '["builtins", "dict", {"a": {"x": 1}}]'),
    ],
)
def test_damaged_item_raises_state_error(text: str) -> None:
    with raises(StateError, "item-damaged"):
        load_item(text)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "1",
            "[]",
            '{"meta": 1}',
            '{"meta": {"dict": 1}}',
            '{"headers": {"dict": {"A": 1.5}}}',
        ),
        *(
            '{"meta": {"dict": {"a": {"item": [1, null]}}}}',
            '{"callback": 1}',
            '{"body": {"x": 1}}',
        ),
    ],
)
def test_damaged_request_raises_state_error(text: str) -> None:
    with pytest.raises(StateError):
        load_request(text, PLACE, 0, Spider("x"), Bindings())


def changed(record: dict[str, Any], name: str, value: object) -> dict[str, Any]:
    *path, last = name.split(" ")
    inner: Any = record
    for part in path:
        inner = inner[part]
    inner[last] = value
    return record


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("url", 1), ("hints titles", [1]), ("hints language", None), ("metadata author", "a")),
        *(("content parents", [0, 1]), ("content positions", ["x"] * 99), ("content base", 1)),
        *(("content containers", [-1]), ("content tags", [None] * 99), ("content texts", [""])),
        *(("content spans", [0, 0, 10**6, 0]), ("content spans", [0, 0, 1.5, 0])),
        *(("content images", [[0, 0, 1, 2]]), ("content images", [[0, [], "a", "b"]])),
    ],
)
def test_page_with_values_of_wrong_type_raises_state_error(name: str, value: object) -> None:
    record = json.loads(unpack_text(Page.from_html(RICH, PLACE).dump()))
    with pytest.raises(StateError):
        Page.load(pack_text(json.dumps(changed(record, name, value))))


def test_page_stored_by_other_version_is_read_without_unknown_fields() -> None:
    page = Page.from_html(RICH, PLACE)
    record = json.loads(unpack_text(page.dump()))
    del record["hints"]["page_kinds"]
    record["hints"]["news"] = "NewsArticle"
    read = Page.load(pack_text(json.dumps(record)))
    assert read.hints == replace(page.hints, page_kinds=())
    assert [block.text for block in read.content.blocks] == [
        block.text for block in page.content.blocks
    ]


@pytest.mark.parametrize(
    ("name", "parent", "value"),
    [("parents", 5, 10**8), ("parents", 5, -1), ("parents", 5, 5), ("positions", 5, 2**40)],
)
def test_page_with_invalid_element_tree_raises_state_error(
    name: str, parent: int, value: int
) -> None:
    record = json.loads(unpack_text(Page.from_html(RICH, PLACE).dump()))
    record["content"][name][parent] = value
    with pytest.raises(StateError):
        Page.load(pack_text(json.dumps(record)))


def test_model_with_unbounded_weights_raises_state_error() -> None:
    record = json.loads(model().dump_weights())
    for weight in (1e300, -1e300, float("nan")):
        record["classifier"]["weights"][0][-1] = weight
        with pytest.raises(StateError):
            SiteModel.parse(model().manifest(), json.dumps(record).encode())


def test_prior_with_damaged_arrays_raises_state_error() -> None:
    good = io.BytesIO()
    np.savez(good, head=np.zeros(3, np.uint8))
    for old, new in (
        (b"'descr'", b"'descr("),
        (b"(3,)", b"(3(,"),
        (b"\x93NUMPY\x01", b"\x93NUMPY\x02"),
    ):
        with pytest.raises(StateError):
            Prior.load(good.getvalue().replace(old, new))
    data = bytearray(Prior.shipped().dump())
    data[2_000:2_100] = bytes(100)
    with pytest.raises(StateError):
        Prior.load(bytes(data))


def test_nested_or_unfinished_overrides_and_sites_files_raise_errors(tmp_path: Path) -> None:
    nested = "a = " + "[" * 5_000
    for text in (nested, 'drop = [":contains("]', 'drop = [":is(:nth-child(2n+1)"]'):
        with pytest.raises(OverridesError):
            Overrides.parse(text)
    (tmp_path / "sites.toml").write_text(nested)
    with pytest.raises(SitesFileError, match="is not TOML"):
        read_sites(tmp_path / "sites.toml")


def test_damaged_facts_of_crawl_raise_state_error(path: Path) -> None:
    with closing(Book(path)) as kept:
        kept.begin_run()
        kept.database.do("UPDATE runs SET started = 'x'")
        kept.database.do("INSERT INTO facts VALUES ('output', '{')")
        kept.commit()
        with pytest.raises(StateError, match="is damaged \\(output: "):
            kept.runs.fact("output")
    assert last_crawl(path) == LastCrawl()


def test_page_with_damaged_content_is_read_anew(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first = OneCrawl(path)
    first.see("/1", article(1))
    first.end()
    with closing(Book(path)) as book:
        book.database.do("UPDATE contents SET data = x'00'")
        book.commit()
    second = OneCrawl(path)
    assert second.see("/1", article(2))["change"] == "changed"
    page_id = second.see("/1", article(2))["id"]
    assert second.revisits.previous_links(second.hand.page.url) == {}
    assert second.end()["changed"] == 1
    assert f"the content of page {page_id} is damaged" in caplog.text


def test_damaged_text_in_book_does_not_stop_crawl(path: Path) -> None:
    first = OneCrawl(path)
    for number in range(3):
        first.see(f"/{number}", article(number))
    first.end()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE pages SET last_modified = CAST(x'61ff' AS TEXT)")
        connection.execute(
            "UPDATE pages SET url = CAST(x'61ff' AS TEXT) WHERE url LIKE '%/1'",
        )
    second = OneCrawl(path)
    found = [second.see(f"/{number}", article(number))["change"] for number in range(3)]
    assert found == ["unchanged"] * 3
    assert second.end() == {"unchanged": 3}


def test_item_that_is_not_json_object_is_not_exported(path: Path, tmp_path: Path) -> None:
    with closing(Book(path)) as kept:
        for number, line in enumerate((b'{"url": "a"}', b"[1]", b"{", b'{"url": "b"}')):
            page = Page.from_html(article(number), PLACE.format(number))
            kept.items.record(ItemBinding(page, key=str(number)), line)
        kept.commit()
    export_items(path, [Output.parse(str(tmp_path / "x.jsonl"))])
    assert [item["url"] for item in read_jsonl(tmp_path / "x.jsonl")] == ["a", "b"]


@pytest.mark.parametrize("name", ["x" * 300 + ".jsonl", "x" * 300 + "/", "a\0.jsonl"])
def test_unwritable_output_path_raises_error(name: str, tmp_path: Path) -> None:
    with pytest.raises(ContentSpiderError, match="cannot be written"):
        Output.parse(f"{tmp_path}/{name}")


def test_book_with_damaged_first_table_is_set_aside(path: Path) -> None:
    made_site(path)
    with closing(sqlite3.connect(path)) as connection:
        root, size = connection.execute(
            "SELECT rootpage, page_size FROM sqlite_master, pragma_page_size WHERE name='lastmods'"
        ).fetchone()
    data = bytearray(path.read_bytes())
    data[(root - 1) * size : root * size] = b"\xff" * size
    path.write_bytes(data)
    with pytest.raises(StateError, match="malformed: it is damaged"):
        Book(path)
    open_crawl(path, False, 10**9)[0].close()
    assert path.with_name("crawl.sqlite.broken").exists()


def test_damaged_facts_of_a_visit_do_not_stop_the_end_of_its_crawl(path: Path) -> None:
    first = OneCrawl(path)
    for number in range(3):
        first.see(f"/{number}", article(number))
    first.end()
    second = OneCrawl(path)
    for number in range(3):
        second.see(f"/{number}", article(number))
    second.book.database.do("UPDATE pages SET facts = '{' WHERE url LIKE '%/1'")
    assert second.end()["unchanged"] == 3


def test_infinite_history_values_leave_other_revisit_intervals_finite() -> None:
    odd = ChangeIntervals("a", float("inf"), 2**62, float("inf"))
    bounds = Bounds(0.04, 30.0, 7.0)
    assert np.isfinite(intervals([odd, ChangeIntervals("a", 5.0, 1, 2.0)], bounds)).all()
