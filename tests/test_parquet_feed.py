"""Parquet as a format of Scrapy's feeds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from contentspider import ContentItem
from contentspider.crawl.parquet_feed import ParquetItemExporter

parquet = pytest.importorskip("pyarrow.parquet")

if TYPE_CHECKING:
    from pathlib import Path


def test_a_feed_has_its_items_at_its_end_whatever_is_in_them(tmp_path: Path) -> None:
    path = tmp_path / "pages.parquet"
    titles = ["caf\xe9", "half of an emoji: \ud83d"]
    with path.open("wb") as file:
        exporter = ParquetItemExporter(file, encoding="utf-8", fields_to_export=["url", "title"])
        exporter.start_exporting()
        for number, title in enumerate(titles):
            exporter.export_item(ContentItem(f"https://e.org/{number}", title=title))
        assert file.tell() == 0
        exporter.finish_exporting()
        assert exporter.file.closed
    table = parquet.read_table(path)
    assert table.column("url").to_pylist() == ["https://e.org/0", "https://e.org/1"]
    assert table.column("title").to_pylist() == [titles[0], "half of an emoji: ?"]
