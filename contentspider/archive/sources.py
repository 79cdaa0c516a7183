"""Reads shards of stored pages (WARC files, JSON lines, Parquet) from any fsspec URL."""

from __future__ import annotations

import gzip
import json
import re
import zlib
from contextlib import nullcontext, suppress
from io import BytesIO
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import fsspec
from fastwarc.warc import ArchiveIterator, WarcRecordType
from fsspec.exceptions import FSTimeoutError
from w3lib.url import safe_url_string
from warcio.archiveiterator import ArchiveIterator as ForgivingIterator
from warcio.bufferedreaders import ChunkedDataReader
from warcio.exceptions import ArchiveLoadFailed

from contentspider.ground.addresses import without_password
from contentspider.ground.errors import ContentSpiderError
from contentspider.ground.extras import MissingExtraError, require
from contentspider.state.files.warc import GZIP, whole_bytes
from contentspider.state.stores.remote import check_url, is_url, without_secrets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import BinaryIO

    # A function that returns the value of a header by its name.
    Headers = Callable[[str], str | None]

WARC = (".warc.gz", ".warc")
LINES = (".jsonl.gz", ".jsonl")
PARQUET = (".parquet",)
HTML_TYPES = ("text/html", "application/xhtml+xml")
GROUP_ROWS = 256
MAX_PAGE_BYTES = 50_000_000
MAX_LINE_BYTES = 64_000_000  # the longest JSON line with a page
SKIPPED_BYTES = 1_000_000
# The window sizes that zlib tries for a Content-Encoding. Some servers send "deflate" headerless.
WINDOWS = {"gzip": (31,), "x-gzip": (31,), "deflate": (15, -15)}
MARKUP = re.compile(rb"(?:\xef\xbb\xbf)?\s*<")
DAMAGE = (OSError, ValueError, KeyError, TypeError, EOFError, zlib.error, FSTimeoutError)


class ShardError(ContentSpiderError):
    """A shard cannot be read; the message says which, and why."""

    code = "shard"


class StoredPage(NamedTuple):
    """A stored page.

    *content_type* is the header, *date* the time of the fetch in ISO 8601 ("": unknown). *problem*
    is the reason why a record cannot be read, and empty for a readable page.
    """

    url: str
    html: bytes | str
    content_type: str | None = None
    date: str = ""
    problem: str = ""


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

    In a WARC file these are HTML responses with status 200, in other formats all rows, which need
    the columns ``url`` and ``html``. Raises `ShardError` if the file cannot be read.
    """
    readers = ((WARC, _read_warc), (LINES, _read_lines), (PARQUET, _read_parquet))
    read = next(reader for endings, reader in readers if shard.endswith(endings))
    try:
        with fsspec.open(shard, "rb") as file:
            for page in read(file):
                with suppress(ValueError):  # an invalid or unknown address stays unchanged
                    # Addresses in archives may contain spaces.
                    page = page._replace(url=without_password(safe_url_string(page.url)))
                yield page
    except DAMAGE as error:
        raise ShardError(f"{shard} cannot be read: {without_secrets(repr(error))}") from error


def _read_warc(file: BinaryIO) -> Iterator[StoredPage]:
    """Yield the pages of a WARC file.

    fastwarc reads the file until it fails; warcio reads the remaining pages. warcio is slow, but
    accepts long headers and line ends without CR.
    """
    pages_read = 0
    try:
        for page in _read_with_fastwarc(file):
            pages_read += 1
            yield page
    except OSError as fastwarc_error:
        if not _is_complete(file):  # warcio would end at the damage without an error
            raise
        file.seek(0)
        try:
            yield from islice(_read_with_warcio(file), pages_read, None)
        except ArchiveLoadFailed:
            raise fastwarc_error from None


def _is_complete(file: BinaryIO) -> bool:
    """Tell whether a file can be decompressed to its end, or is not compressed."""
    file.seek(0)
    is_compressed = file.read(len(GZIP)) == GZIP
    file.seek(0)
    try:
        return not is_compressed or whole_bytes(file) == file.tell()
    except zlib.error:
        return False


def _read_with_fastwarc(file: BinaryIO) -> Iterator[StoredPage]:
    # No automatic decoding: fastwarc fails on a body that is chunked and compressed.
    for record in ArchiveIterator(file, record_types=WarcRecordType.response, auto_decode="none"):
        headers = record.http_headers
        if headers is not None and _is_page(headers.status_code, headers.get("Content-Type")):
            body = record.reader.read(MAX_PAGE_BYTES)
            yield _page_of_record(record.headers.get, headers.get, body)


def _read_with_warcio(file: BinaryIO) -> Iterator[StoredPage]:
    for record in ForgivingIterator(file):
        headers = record.http_headers
        if record.rec_type != "response" or headers is None:
            continue
        if _is_page(headers.get_statuscode(), headers.get_header("Content-Type")):
            body = record.raw_stream.read(MAX_PAGE_BYTES)
            yield _page_of_record(record.rec_headers.get_header, headers.get_header, body)


def _is_page(status: int | str | None, content_type: str | None) -> bool:
    """Tell whether a response is a page: HTML with status 200."""
    media_type = (content_type or "").partition(";")[0].strip().lower()
    return str(status) == "200" and media_type in HTML_TYPES


def _page_of_record(record_headers: Headers, http_headers: Headers, body: bytes) -> StoredPage:
    """Return the page of a WARC record with these headers of the record and of the response."""
    address, problem = (record_headers("WARC-Target-URI") or "").strip("<>"), ""
    try:
        transfer = http_headers("Transfer-Encoding") or ""
        encodings = http_headers("Content-Encoding") or ""
        body = _decode_body(body, transfer, encodings)
    except (ValueError, zlib.error) as error:
        body, problem = b"", str(error)
    date = record_headers("WARC-Date") or ""
    return StoredPage(address, body, http_headers("Content-Type"), date, problem)


def _decode_body(body: bytes, transfer: str, encodings: str) -> bytes:
    """Return a body without its transfer and content encodings, up to `MAX_PAGE_BYTES`.

    Some archives store the decoded body with the original headers. A body that begins with markup
    is therefore not decoded again.
    """
    if "chunked" in transfer.lower():
        body = ChunkedDataReader(BytesIO(body)).read(MAX_PAGE_BYTES)
    for name in reversed(encodings.split(",")):
        encoding = name.strip().lower()
        if encoding in ("", "identity", "none") or MARKUP.match(body):
            continue
        if encoding not in WINDOWS:
            raise ValueError(f"the Content-Encoding {encoding[:50]!r} is unknown")
        body = _decompress(body, WINDOWS[encoding])
    return body


def _decompress(body: bytes, windows: tuple[int, ...]) -> bytes:
    """Return *body* decompressed with the first of zlib's window sizes that fits."""
    for window in windows[:-1]:
        with suppress(zlib.error):
            return zlib.decompressobj(window).decompress(body, MAX_PAGE_BYTES)
    return zlib.decompressobj(windows[-1]).decompress(body, MAX_PAGE_BYTES)


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
