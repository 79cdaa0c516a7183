"""Writes WARC files: requests and responses as they were sent, one gzip member per record."""

from __future__ import annotations

import io
import os
import zlib
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO

from contentspider.ground.atomic import ensure_folder, writing
from contentspider.ground.errors import ContentSpiderError
from contentspider.ground.extras import require
from contentspider.state.files.output import LockedFile

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from warcio.warcwriter import WARCWriter

    Headers = Sequence[tuple[str, str]]

NO_WARC = "{} is not a compressed WARC file, and was not changed: give another name"
GZIP = b"\x1f\x8b"
CHUNK_BYTES = 65_536
SECRETS = frozenset(["authorization", "cookie", "proxy-authorization"])  # would give access
# Headers that describe how the body was sent; the stored body has another form.
TRANSFER = frozenset(["transfer-encoding", "content-length", "connection", "keep-alive"])
# The profile of a revisit that the server answered by "not modified", and the headers of such
# records that name the version of the page, as Heritrix writes them.
NOT_MODIFIED = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
VALIDATORS = {"if-none-match": "WARC-Etag", "if-modified-since": "WARC-Last-Modified"}


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request and its response. *body* is without Transfer-Encoding, in its Content-Encoding.
    *is_revisit*: the response says that a page has not changed since it was sent before.
    """

    url: str
    method: str
    target: str
    request_headers: Headers
    request_body: bytes
    status: str
    response_headers: Headers
    body: bytes
    address: str = ""
    is_revisit: bool = False


class WarcFile(LockedFile):
    """Appends records to a WARC file; first cuts off a record that a killed process left."""

    def __init__(self, path: Path, software: str) -> None:
        check_warc(path)
        # Without a buffer: after a full disk, a buffer would write half a record when it is closed.
        super().__init__(path, path, buffering=0)
        try:
            with writing(path):
                self._end = whole_bytes(self._file)
                self._append(_information(path.name, software))
        except zlib.error as error:
            self.close()
            raise ContentSpiderError(NO_WARC.format(path)) from error
        except ContentSpiderError:
            self.close()
            raise

    def write(self, exchange: Exchange) -> None:
        """Append a request and its response; on an OSError the file stays as it was."""
        self._append(_records(exchange))

    def _append(self, records: bytes) -> None:
        try:
            self._file.seek(self._end)
            self._file.truncate()
            unwritten = memoryview(records)
            while unwritten:
                unwritten = unwritten[self._file.write(unwritten) :]
        except OSError:
            with suppress(OSError):
                os.ftruncate(self._file.fileno(), self._end)
            raise
        self._end += len(records)


def check_warc(path: Path) -> None:
    """Raise `ContentSpiderError` if warcio is missing, or *path* cannot be a WARC file."""
    require("warc", "writing a WARC file")
    ensure_folder(path, "--warc")
    if not path.exists():
        return
    with writing(path), path.open("rb") as file:
        beginning = file.read(len(GZIP))
    if not GZIP.startswith(beginning):
        raise ContentSpiderError(NO_WARC.format(path))


def whole_bytes(file: BinaryIO) -> int:
    """Return how many bytes of a gzip file are complete members; raises zlib.error for others."""
    end = read = 0
    member = zlib.decompressobj(zlib.MAX_WBITS + 16)
    while data := file.read(CHUNK_BYTES):
        read += len(data)
        while data:
            member.decompress(data)
            data = member.unused_data
            if member.eof:
                end = read - len(data)
                member = zlib.decompressobj(zlib.MAX_WBITS + 16)
    return end


def _writer() -> tuple[io.BytesIO, WARCWriter]:
    from warcio.warcwriter import WARCWriter

    out = io.BytesIO()
    return out, WARCWriter(out, gzip=True, warc_version="1.1")


def _information(name: str, software: str) -> bytes:
    out, writer = _writer()
    fields = {"software": software, "format": "WARC File Format 1.1"}
    writer.write_record(writer.create_warcinfo_record(name, fields))
    return out.getvalue()


def _records(exchange: Exchange) -> bytes:
    from warcio.statusandheaders import StatusAndHeaders

    out, writer = _writer()

    def record(kind: str, body: bytes, head: StatusAndHeaders, **warc_headers: str) -> Any:
        whole = {"payload": io.BytesIO(body), "length": len(body), "http_headers": head}
        return writer.create_warc_record(
            exchange.url, kind, **whole, warc_headers_dict=warc_headers
        )

    headers = [pair for pair in exchange.response_headers if pair[0].lower() not in TRANSFER]
    if not exchange.is_revisit:  # which has no body
        headers.append(("Content-Length", str(len(exchange.body))))
    response = StatusAndHeaders(exchange.status, headers, protocol="HTTP/1.1")
    warc_headers = {"WARC-IP-Address": exchange.address} if exchange.address else {}
    if exchange.is_revisit:
        warc_headers |= _revisit_headers(exchange)
    sent_headers = [pair for pair in exchange.request_headers if pair[0].lower() not in SECRETS]
    line = f"{exchange.method} {exchange.target} HTTP/1.1"
    request = StatusAndHeaders(line, sent_headers, is_http_request=True)
    writer.write_request_response_pair(
        record("request", exchange.request_body, request),
        record(
            "revisit" if exchange.is_revisit else "response",
            exchange.body,
            response,
            **warc_headers,
        ),
    )
    return out.getvalue()


def _revisit_headers(exchange: Exchange) -> dict[str, str]:
    """Return the headers of a revisit. The record that has the page may be in another file, so it
    is named by its address and the version that the request asked about.
    """
    asked = {name.lower(): value for name, value in exchange.request_headers}
    versions = {header: asked[name] for name, header in VALIDATORS.items() if name in asked}
    return {
        "WARC-Profile": NOT_MODIFIED,
        "WARC-Refers-To-Target-URI": exchange.url,
        **versions,
    }
