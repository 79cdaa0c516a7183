"""WARC files: what was asked and answered, as it was received, one gzip member a record."""

from __future__ import annotations

import io
import os
import zlib
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO

from contentspider.ground.atomic import made_folder, writing
from contentspider.ground.errors import ContentSpiderError
from contentspider.ground.extras import require
from contentspider.state.files.output import LockedFile

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from warcio.warcwriter import WARCWriter

    Headers = Sequence[tuple[str, str]]

NO_WARC = "{} is no compressed WARC file, and is left as it is: give another name"
GZIP = b"\x1f\x8b"
CHUNK_BYTES = 65_536
SECRETS = frozenset(["authorization", "cookie", "proxy-authorization"])  # they let others in, too
# They tell how the body was sent, not how it is kept.
TRANSFER = frozenset(["transfer-encoding", "content-length", "connection", "keep-alive"])


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request and its answer: the *body* without Transfer-Encoding, in its Content-Encoding."""

    url: str
    method: str
    target: str
    request_headers: Headers
    request_body: bytes
    status: str
    response_headers: Headers
    body: bytes
    address: str = ""


class WarcFile(LockedFile):
    """Appends records to a WARC file, from which what a killed process left of one is cut off."""

    def __init__(self, path: Path, software: str) -> None:
        check_warc(path)
        # Without a buffer, which would write the rest of what a full disk refused at the end.
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
        """Append a request and its answer; raises OSError, and leaves the file as it was."""
        self._append(_records(exchange))

    def _append(self, records: bytes) -> None:
        try:
            self._file.seek(self._end)
            self._file.truncate()
            left = memoryview(records)
            while left:
                left = left[self._file.write(left) :]
        except OSError:
            with suppress(OSError):
                os.ftruncate(self._file.fileno(), self._end)
            raise
        self._end += len(records)


def check_warc(path: Path) -> None:
    """Raise `ContentSpiderError` if what writes WARC is not installed, or *path* cannot be one."""
    require("warc", "writing a WARC file")
    made_folder(path, "--warc")
    if not path.exists():
        return
    with writing(path), path.open("rb") as file:
        beginning = file.read(len(GZIP))
    if not GZIP.startswith(beginning):
        raise ContentSpiderError(NO_WARC.format(path))


def whole_bytes(file: BinaryIO) -> int:
    """Return how many bytes of a gzip file are whole members; raises zlib.error if it is none."""
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

    def record(kind: str, body: bytes, head: StatusAndHeaders, **named: str) -> Any:
        whole = {"payload": io.BytesIO(body), "length": len(body), "http_headers": head}
        return writer.create_warc_record(exchange.url, kind, **whole, warc_headers_dict=named)

    headers = [pair for pair in exchange.response_headers if pair[0].lower() not in TRANSFER]
    headers.append(("Content-Length", str(len(exchange.body))))
    answer = StatusAndHeaders(exchange.status, headers, protocol="HTTP/1.1")
    named = {"WARC-IP-Address": exchange.address} if exchange.address else {}
    asked = [pair for pair in exchange.request_headers if pair[0].lower() not in SECRETS]
    line = f"{exchange.method} {exchange.target} HTTP/1.1"
    question = StatusAndHeaders(line, asked, is_http_request=True)
    writer.write_request_response_pair(
        record("request", exchange.request_body, question),
        record("response", exchange.body, answer, **named),
    )
    return out.getvalue()
