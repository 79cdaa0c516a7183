"""Reads the pages of WARC files (ISO 28500, WARC 1.1).

A page is an answer with status 200 (``response``), or a ``resource``, whose content is HTML. A
record without a type is one or the other, as its content says. A ``revisit`` stands for a page that
another record has. All other records that may stand for a page are reported, not read.
"""

from __future__ import annotations

import re
import zlib
from functools import partial
from io import BytesIO
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from fastwarc.warc import ArchiveIterator
from warcio.archiveiterator import ArchiveIterator as ForgivingIterator
from warcio.bufferedreaders import ChunkedDataReader
from warcio.exceptions import ArchiveLoadFailed
from warcio.statusandheaders import StatusAndHeadersParser, StatusAndHeadersParserException

from contentspider.archive.stored import (
    BROKEN,
    CONTINUATION,
    CONVERSION,
    NO_ADDRESS,
    REVISIT,
    UNKNOWN_TYPE,
    StoredPage,
    is_html,
    media_type,
)
from contentspider.ground.encodings import PackedError, unpack
from contentspider.state.files.warc import GZIP, whole_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import BinaryIO

    # A function that returns the value of a header by its name.
    Headers = Callable[[str], str | None]

MAX_PAGE_BYTES = 50_000_000
ETAG = re.compile(r'(?:W/)?"[^"]*"')
MAX_VERSION_CHARS = 2_000
MARKUP = re.compile(rb"(?:\xef\xbb\xbf)?\s*<")
# Records about others.
DESCRIPTIONS = ("request", "metadata", "warcinfo")
HTTP = "application/http"
# The status of a revisit: the server sent the page again (and its text is not stored twice), or it
# did not, because the page had not changed. A revisit may lack the headers of its answer.
REVISITED = ("", "200", "304")
PROBLEMS = {
    CONVERSION: "a conversion record: its text was made from another record, and is not read",
    CONTINUATION: "a continuation record: its page is read to the end of the first record",
    UNKNOWN_TYPE: "a record of the unknown type {}",
    NO_ADDRESS: "a resource record whose address is not one of the web",
}


class _Record(NamedTuple):
    """A WARC record: its type, its headers, and of an HTTP answer the headers and the status."""

    kind: str
    headers: Headers
    http: Headers | None
    status: str
    read: Callable[[], bytes]


def read_warc(file: BinaryIO) -> Iterator[StoredPage]:
    """Yield the pages of a WARC file.

    fastwarc reads the file until it fails; warcio reads the remaining pages. warcio is slow, but
    accepts long headers and line ends without CR.
    """
    pages_read = 0
    try:
        for page in _pages(_read_with_fastwarc(file)):
            pages_read += 1
            yield page
    except OSError as fastwarc_error:
        if not _is_complete(file):  # warcio would end at the damage without an error
            raise
        file.seek(0)
        try:
            yield from islice(_pages(_read_with_warcio(file)), pages_read, None)
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


def _read_with_fastwarc(file: BinaryIO) -> Iterator[_Record]:
    # Without a filter of types, which would skip records without a type.
    for record in ArchiveIterator(file, parse_http=False):
        kind = record.headers.get("WARC-Type") or ""
        if kind in DESCRIPTIONS:
            continue
        # fastwarc fails to decode a body that is chunked and compressed.
        record.parse_http(auto_decode="none")
        http = record.http_headers
        yield _Record(
            kind,
            record.headers.get,
            http.get if http is not None else None,
            str(http.status_code or "") if http is not None else "",
            partial(record.reader.read, MAX_PAGE_BYTES),
        )


def _read_with_warcio(file: BinaryIO) -> Iterator[_Record]:
    for record in ForgivingIterator(file):
        kind, http = record.rec_type or "", record.http_headers
        if kind in DESCRIPTIONS:
            continue
        if http is None and not kind and media_type(record.content_type) == HTTP:
            http = _parse_http(record.raw_stream)
        yield _Record(
            kind,
            record.rec_headers.get_header,
            http.get_header if http is not None else None,
            str(http.get_statuscode()) if http is not None else "",
            partial(record.raw_stream.read, MAX_PAGE_BYTES),
        )


def _parse_http(stream: Any) -> Any:
    """Return the headers of an HTTP answer; None for a request. warcio parses only known types."""
    try:
        return StatusAndHeadersParser(["HTTP/1.0", "HTTP/1.1"]).parse(stream)
    except (StatusAndHeadersParserException, EOFError):
        return None


def _pages(records: Iterator[_Record]) -> Iterator[StoredPage]:
    for record in records:
        kind = record.kind or ("response" if record.http is not None else "resource")
        page = READERS.get(kind, _unknown)(record)
        if page is not None:
            yield page


def _response(record: _Record) -> StoredPage | None:
    """Return the page of an HTTP answer."""
    if record.http is None or record.status != "200" or not is_html(record.http("Content-Type")):
        return None
    page = _page(record, record.http("Content-Type"))
    try:
        transfer = record.http("Transfer-Encoding") or ""
        encodings = record.http("Content-Encoding") or ""
        return page._replace(html=_decode_body(record.read(), transfer, encodings))
    except (ValueError, PackedError) as error:
        return page._replace(problem=str(error))


def _resource(record: _Record) -> StoredPage | None:
    """Return the page of content that was stored without an HTTP answer."""
    content_type = record.headers("Content-Type")
    if not is_html(content_type):
        return None
    page = _page(record, content_type)
    if not page.url.startswith(("http://", "https://")):
        return _problem(page, NO_ADDRESS)
    return page._replace(html=record.read())


def _revisit(record: _Record) -> StoredPage | None:
    """Return the page that a revisit stands for, without its HTML."""
    content_type = record.http("Content-Type") if record.http is not None else None
    if record.status not in REVISITED or not (content_type is None or is_html(content_type)):
        return None
    names = "WARC-Refers-To", "WARC-Refers-To-Target-URI", "WARC-Refers-To-Date"
    keys = _keys(*names, record) + _versions(record, names[1])
    return _page(record, content_type)._replace(kind=REVISIT, keys=keys)


def _conversion(record: _Record) -> StoredPage | None:
    content_type = record.headers("Content-Type")
    if not (is_html(content_type) or media_type(content_type).startswith("text/")):
        return None
    return _problem(_page(record, content_type), CONVERSION)


def _continuation(record: _Record) -> StoredPage:
    return _problem(_page(record, None), CONTINUATION)


def _unknown(record: _Record) -> StoredPage | None:
    """Report a record of an unknown type that has HTML."""
    headers = record.http or record.headers
    if not is_html(headers("Content-Type")):
        return None
    return _problem(_page(record, None), UNKNOWN_TYPE, repr(record.kind[:50]))


READERS: dict[str, Callable[[_Record], StoredPage | None]] = {
    "response": _response,
    "resource": _resource,
    "revisit": _revisit,
    "conversion": _conversion,
    "continuation": _continuation,
}


def _problem(page: StoredPage, kind: str, *details: str) -> StoredPage:
    return page._replace(problem=PROBLEMS[kind].format(*details), kind=kind)


def _page(record: _Record, content_type: str | None) -> StoredPage:
    """Return the page of a record, without its HTML."""
    return StoredPage(
        _address(record.headers("WARC-Target-URI")),
        b"",
        content_type,
        record.headers("WARC-Date") or "",
        kind=BROKEN,
        keys=_keys("WARC-Record-ID", "WARC-Target-URI", "WARC-Date", record)
        + _versions(record, "WARC-Target-URI"),
    )


def _address(uri: str | None) -> str:
    return (uri or "").strip("<>")  # wget writes them around addresses


def _keys(record_id: str, uri: str, date: str, record: _Record) -> tuple[str, ...]:
    """Return the keys of a page: the headers of these names that its *record* has, and the hash of
    its payload.
    """
    address, time = _address(record.headers(uri)), record.headers(date)
    keys = (
        record.headers(record_id),
        f"{time} {address}" if time and address else None,
        record.headers("WARC-Payload-Digest"),
    )
    return tuple(key.strip() for key in keys if key)


def _versions(record: _Record, uri: str) -> tuple[str, ...]:
    """Return the keys of a page that its server can call unmodified: of its version at its address,
    which a header has. A revisit may have the version that was asked about.
    """
    address, http = _address(record.headers(uri)), record.http or (lambda name: None)
    tags = http("ETag") or record.headers("WARC-Etag") or ""
    time = http("Last-Modified") or record.headers("WARC-Last-Modified") or ""
    versions = [*ETAG.findall(tags[:MAX_VERSION_CHARS]), *filter(None, [time.strip()])]
    return tuple(f"{version} {address}" for version in versions if address)


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
        body = unpack(body, encoding, MAX_PAGE_BYTES)
    return body
