"""Parquet as a format of Scrapy's feeds: ``FEEDS = {"pages.parquet": {"format": "parquet"}}``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from tempfile import TemporaryFile
from typing import Any, BinaryIO

from scrapy.exporters import JsonLinesItemExporter

from contentspider.state.files.parquet import check_parquet, write_parquet


class ParquetItemExporter(JsonLinesItemExporter):
    """Collects the items of a feed in a temporary file, and writes them as Parquet at the end."""

    def __init__(self, file: BinaryIO, **options: Any) -> None:
        check_parquet()
        # ASCII with escapes, since UTF-8 cannot encode half of a surrogate pair.
        lines: Any = TemporaryFile()  # noqa: SIM115 - closed with the feed
        super().__init__(lines, **options | {"encoding": None})
        self._output = file

    def finish_exporting(self) -> None:
        """Write the Parquet file."""
        with self.file:
            write_parquet(self._records, self._output)

    def _records(self) -> Iterator[dict[str, Any]]:
        self.file.seek(0)
        return map(json.loads, self.file)
