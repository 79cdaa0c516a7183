"""Parquet as a format of Scrapy's feeds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from contentspider import ContentItem
from contentspider.crawl.parquet_feed import ParquetItemExporter
from tests.conftest import Site, run, site
from tests.sites import small_site

parquet = pytest.importorskip("pyarrow.parquet")

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["site"]

SPIDER = """
import scrapy
from contentspider import ContentItem, links

class Small(scrapy.Spider):
    name = "small"
    start_urls = ["{}"]

    def parse(self, response):
        yield ContentItem.from_response(response)
        yield from response.follow_all(links(response))
"""


def test_parquet_feed_is_written_when_exporting_finishes(tmp_path: Path) -> None:
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


@pytest.mark.parametrize("command", ["crawl", "runspider"])
def test_scrapy_output_option_writes_parquet(command: str, site: Site, tmp_path: Path) -> None:
    small_site(site, 3)
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = settings\n")
    (tmp_path / "settings.py").write_text(
        "SPIDER_MODULES = ['spider']\nADDONS = {'contentspider.Addon': 500}\n"
    )
    (tmp_path / "spider.py").write_text(SPIDER.format(f"{site.url}/"))
    what = "small" if command == "crawl" else "spider.py"
    run(command, what, "-O", "x.parquet", cwd=tmp_path, module="scrapy")
    table = parquet.read_table(tmp_path / "x.parquet")
    assert len(set(table.column("url").to_pylist())) == 3
    assert all(table.column("content").to_pylist())
