"""Reads shards of stored pages (WARC files, JSON lines, Parquet) from any fsspec URL."""

from __future__ import annotations

import gzip
import json
import zlib
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING, Any

import fsspec
from fsspec.exceptions import FSTimeoutError
from w3lib.url import safe_url_string

from contentspider.archive.revisits import ENDING, read_revisits
from contentspider.archive.stored import StoredPage
from contentspider.archive.warc import read_warc
from contentspider.ground.addresses import without_password
from contentspider.ground.errors import ContentSpiderError
from contentspider.ground.extras import MissingExtraError, require
from contentspider.state.stores.remote import check_url, is_url, without_secrets

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import BinaryIO

WARC = (".warc.gz", ".warc")
LINES = (".jsonl.gz", ".jsonl")
PARQUET = (".parquet",)
GROUP_ROWS = 256
MAX_LINE_BYTES = 64_000_000  # the longest JSON line with a page
SKIPPED_BYTES = 1_000_000
DAMAGE = (OSError, ValueError, KeyError, TypeError, EOFError, zlib.error, FSTimeoutError)


class ShardError(ContentSpiderError):
    """A shard cannot be read; the message says which, and why."""

    code = "shard"


def find_shards(patterns: Iterable[str]) -> list[str]:
    """Return the URLs of the shards that match patterns such as ``s3://bucket/*.warc.gz``, in
    order. Raises `ShardError` if a pattern matches no file, or a file with an unknown ending.
    """
    shards: dict[str, None] = {}
    for pattern in patterns:
        try:
            if is_url(pattern):
                check_url(pattern)
            files, root = fsspec.url_to_fs(pattern)
            paths = sorted(files.glob(root))
        except (OSError, ValueError, ImportError) as error:
            raise ShardError(f"{pattern}: {without_secrets(str(error))}") from error
        if not paths:
            raise ShardError(f"{pattern}: no file matches")
        shards |= dict.fromkeys(files.unstrip_protocol(path) for path in paths)
    for shard in shards:
        if not shard.endswith((*WARC, *LINES, *PARQUET)):
            endings = ", ".join((*WARC, *LINES, *PARQUET))
            raise ShardError(f"{shard}: the file name must end in one of {endings}")
    return list(shards)


def read_shard(shard: str) -> Iterator[StoredPage]:
    """Yield the pages of a shard in their order.

    In a WARC file these are the pages that `read_warc` yields, in other formats all rows, which
    need the columns ``url`` and ``html``. A folder of revisits is a shard, too (`read_revisits`).
    Raises `ShardError` if the shard cannot be read.
    """
    try:
        for page in read_revisits(shard) if shard.endswith(ENDING) else _read_file(shard):
            with suppress(ValueError):  # an invalid or unknown address stays unchanged
                # Addresses in archives may contain spaces.
                page = page._replace(url=without_password(safe_url_string(page.url)))
            yield page
    except DAMAGE as error:
        raise ShardError(f"{shard} cannot be read: {without_secrets(repr(error))}") from error


def _read_file(shard: str) -> Iterator[StoredPage]:
    readers = ((WARC, read_warc), (LINES, _read_lines), (PARQUET, _read_parquet))
    read = next(reader for endings, reader in readers if shard.endswith(endings))
    with fsspec.open(shard, "rb") as file:
        yield from read(file)


def _read_lines(file: BinaryIO) -> Iterator[StoredPage]:
    """Yield the pages of a file of JSON lines, which may be compressed by gzip."""
    is_compressed = file.read(2) == b"\x1f\x8b"
    file.seek(0)
    number = 0
    with gzip.open(file) if is_compressed else nullcontext(file) as lines:
        while line := lines.readline(MAX_LINE_BYTES):
            number += 1
            if len(line) == MAX_LINE_BYTES and not line.endswith(b"\n"):
                while line and not line.endswith(b"\n"):
                    line = lines.readline(SKIPPED_BYTES)
                limit = f"{MAX_LINE_BYTES // 1_000_000} MB"
                yield StoredPage("", b"", problem=f"line {number} has more than {limit}")
            elif line.strip():
                yield _page_of_line(line, number)


def _page_of_line(line: bytes, number: int) -> StoredPage:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        return StoredPage("", b"", problem=f"line {number} is not valid JSON: {error}")
    return _page_of_row(row)


def _read_parquet(file: BinaryIO) -> Iterator[StoredPage]:
    try:
        require("parquet", "Parquet")
    except MissingExtraError as error:
        raise ShardError(str(error)) from error
    from pyarrow import parquet

    for rows in parquet.ParquetFile(file).iter_batches(GROUP_ROWS):
        yield from map(_page_of_row, rows.to_pylist())


def _page_of_row(row: dict[str, Any]) -> StoredPage:
    content_type = row.get("content_type")
    date = row.get("date") or row.get("crawled_at") or ""
    return StoredPage(
        str(row["url"]), row["html"], str(content_type) if content_type else None, str(date)
    )
