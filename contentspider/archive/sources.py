"""Shards of stored pages, on any fsspec URL: WARC files, JSON lines, Parquet."""

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

from contentspider.ground.errors import ContentSpiderError
from contentspider.ground.extras import MissingExtraError, require
from contentspider.state.files.warc import GZIP, whole_bytes
from contentspider.state.stores.remote import check_url, is_url, without_secrets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import BinaryIO

    # What returns the value of a header by its name.
    Headers = Callable[[str], str | None]

WARC = (".warc.gz", ".warc")
LINES = (".jsonl.gz", ".jsonl")
PARQUET = (".parquet",)
HTML_TYPES = ("text/html", "application/xhtml+xml")
GROUP_ROWS = 256
MAX_PAGE_BYTES = 50_000_000
MAX_LINE_BYTES = 64_000_000  # of JSON, with a page in it
SKIPPED_BYTES = 1_000_000
# zlib's sizes of windows for the encodings of bodies: some servers send "deflate" without a head.
WINDOWS = {"gzip": (31,), "x-gzip": (31,), "deflate": (15, -15)}
MARKUP = re.compile(rb"(?:\xef\xbb\xbf)?\s*<")
DAMAGE = (OSError, ValueError, KeyError, TypeError, EOFError, zlib.error, FSTimeoutError)


class ShardError(ContentSpiderError):
    """A shard cannot be read; the message says which, and why."""


class Stored(NamedTuple):
    """A stored page: its address, its HTML, its header ``Content-Type``, and when it was fetched
    (ISO 8601; "": not known). Of a record that cannot be read *problem* says why.
    """

    url: str
    html: bytes | str
    content_type: str | None = None
    date: str = ""
    problem: str = ""


def find_shards(patterns: Iterable[str]) -> list[str]:
    """Return the shards that patterns such as ``s3://bucket/*.warc.gz`` name, in order; raises
    `ShardError` if one names none, or a file of another kind.
    """
    found: dict[str, None] = {}
    for pattern in patterns:
        try:
            if is_url(pattern):
                check_url(pattern)
            files, root = fsspec.url_to_fs(pattern)
            paths = sorted(files.glob(root))
        except (OSError, ValueError, ImportError) as error:
            raise ShardError(f"{pattern}: {without_secrets(str(error))}") from error
        if not paths:
            raise ShardError(f"{pattern}: there is no such file")
        found |= dict.fromkeys(files.unstrip_protocol(path) for path in paths)
    for shard in found:
        if not shard.endswith((*WARC, *LINES, *PARQUET)):
            known = ", ".join((*WARC, *LINES, *PARQUET))
            raise ShardError(f"{shard}: its ending is none of {known}")
    return list(found)


def read_shard(shard: str) -> Iterator[Stored]:
    """Yield the pages of a shard in their order: HTML that was answered with 200 (WARC), or rows
    with ``url`` and ``html``. Raises `ShardError`.
    """
    read = next(
        each
        for endings, each in ((WARC, _warc), (LINES, _lines), (PARQUET, _parquet))
        if shard.endswith(endings)
    )
    try:
        with fsspec.open(shard, "rb") as file:
            for page in read(file):
                with suppress(ValueError):  # there is no such address, or none is known
                    # Archives have some with spaces in them.
                    page = page._replace(url=safe_url_string(page.url))
                yield page
    except DAMAGE as error:
        raise ShardError(f"{shard} cannot be read: {without_secrets(repr(error))}") from error


def _warc(file: BinaryIO) -> Iterator[Stored]:
    """Yield the pages of a WARC file: by fastwarc, and from where that fails by warcio, which is
    slow and forgives more, such as heads of any length and ends of lines without CR.
    """
    number = 0
    try:
        for number, page in enumerate(_fast(file), 1):  # noqa: B007 - it is used below
            yield page
    except OSError as fault:
        if not _is_whole(file):  # warcio would end there without a word
            raise
        file.seek(0)
        try:
            yield from islice(_forgiving(file), number, None)
        except ArchiveLoadFailed:
            raise fault from None


def _is_whole(file: BinaryIO) -> bool:
    """Tell whether a file can be unpacked to its end, or is not packed."""
    file.seek(0)
    is_packed = file.read(len(GZIP)) == GZIP
    file.seek(0)
    try:
        return not is_packed or whole_bytes(file) == file.tell()
    except zlib.error:
        return False


def _fast(file: BinaryIO) -> Iterator[Stored]:
    # What fastwarc would unpack itself ends its file where a body is chunked and packed.
    for record in ArchiveIterator(file, record_types=WarcRecordType.response, auto_decode="none"):
        headers = record.http_headers
        if headers is not None and _is_page(headers.status_code, headers.get("Content-Type")):
            body = record.reader.read(MAX_PAGE_BYTES)
            yield _stored(record.headers.get, headers.get, body)


def _forgiving(file: BinaryIO) -> Iterator[Stored]:
    for record in ForgivingIterator(file):
        headers = record.http_headers
        if record.rec_type != "response" or headers is None:
            continue
        if _is_page(headers.get_statuscode(), headers.get_header("Content-Type")):
            body = record.raw_stream.read(MAX_PAGE_BYTES)
            yield _stored(record.rec_headers.get_header, headers.get_header, body)


def _is_page(status: int | str | None, kind: str | None) -> bool:
    return str(status) == "200" and (kind or "").partition(";")[0].strip().lower() in HTML_TYPES


def _stored(about: Headers, headers: Headers, body: bytes) -> Stored:
    """Return the page of a record by what gives its headers, and those of the answer in it."""
    address, problem = (about("WARC-Target-URI") or "").strip("<>"), ""
    try:
        transfer, encodings = headers("Transfer-Encoding"), headers("Content-Encoding")
        body = _decoded(body, transfer or "", encodings or "")
    except (ValueError, zlib.error) as error:
        body, problem = b"", str(error)
    return Stored(address, body, headers("Content-Type"), about("WARC-Date") or "", problem)


def _decoded(body: bytes, transfer: str, encodings: str) -> bytes:
    """Return a body without its transfer and content encodings, up to `MAX_PAGE_BYTES`. Those that
    are only named, since who stored it had unpacked it, are passed over.
    """
    if "chunked" in transfer.lower():
        body = ChunkedDataReader(BytesIO(body)).read(MAX_PAGE_BYTES)
    for encoding in reversed([one.strip().lower() for one in encodings.split(",")]):
        if encoding in ("", "identity", "none") or MARKUP.match(body):
            continue
        if encoding not in WINDOWS:
            raise ValueError(f"its Content-Encoding {encoding[:50]!r} is not known")
        body = _unpacked(body, WINDOWS[encoding])
    return body


def _unpacked(body: bytes, windows: tuple[int, ...]) -> bytes:
    for window in windows[:-1]:
        with suppress(zlib.error):
            return zlib.decompressobj(window).decompress(body, MAX_PAGE_BYTES)
    return zlib.decompressobj(windows[-1]).decompress(body, MAX_PAGE_BYTES)


def _lines(file: BinaryIO) -> Iterator[Stored]:
    is_packed = file.read(2) == b"\x1f\x8b"
    file.seek(0)
    number = 0
    with gzip.open(file) if is_packed else nullcontext(file) as lines:
        while line := lines.readline(MAX_LINE_BYTES):
            number += 1
            if len(line) == MAX_LINE_BYTES and not line.endswith(b"\n"):
                while line and not line.endswith(b"\n"):
                    line = lines.readline(SKIPPED_BYTES)
                limit = f"{MAX_LINE_BYTES // 1_000_000} MB"
                yield Stored("", b"", problem=f"line {number} has more than {limit}")
            elif line.strip():
                yield _of_line(line, number)


def _of_line(line: bytes, number: int) -> Stored:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        return Stored("", b"", problem=f"line {number} is no JSON: {error}")
    return _of_row(row)


def _parquet(file: BinaryIO) -> Iterator[Stored]:
    try:
        require("parquet", "Parquet")
    except MissingExtraError as error:
        raise ShardError(str(error)) from error
    from pyarrow import parquet

    for rows in parquet.ParquetFile(file).iter_batches(GROUP_ROWS):
        yield from map(_of_row, rows.to_pylist())


def _of_row(row: dict[str, Any]) -> Stored:
    kind = row.get("content_type")
    date = row.get("date") or row.get("crawled_at") or ""
    return Stored(str(row["url"]), row["html"], str(kind) if kind else None, str(date))
