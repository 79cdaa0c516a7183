"""Unpacks bodies that were compressed for HTTP (``Content-Encoding``), up to a limit."""

from __future__ import annotations

import sys
import zlib
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

from contentspider.ground.errors import ContentSpiderError

if TYPE_CHECKING:
    from collections.abc import Callable

GZIP, DEFLATE, BROTLI, ZSTD = "gzip", "deflate", "br", "zstd"
NAMES = {"x-gzip": GZIP, **{name: name for name in (GZIP, DEFLATE, BROTLI, ZSTD)}}
GZIP_MARK, ZSTD_MARK = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
# A zlib stream begins with 0x78, and a second byte that makes both a multiple of 31 (RFC 1950).
ZLIB_MARKS = (b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda")


class PackedError(ContentSpiderError):
    """A packed body is damaged, or in an unknown encoding; the message says which."""

    code = "packed"


class _Unpacker(Protocol):
    """Unpacks one member (gzip) or frame (zstd). *unused_data* follows it."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


class _Brotli:
    """The decompressor of brotli, with the same methods as the decompressors of zlib and zstd."""

    eof, unused_data = False, b""

    def __init__(self) -> None:
        import brotli

        self._unpacker = brotli.Decompressor()

    def decompress(self, data: bytes, max_length: int, /) -> bytes:
        """Return up to *max_length* bytes of the unpacked *data*."""
        parts, room = [], max_length
        while part := self._unpacker.process(data, output_buffer_limit=room):
            parts.append(part[:room])
            data, room = b"", room - len(part)
            if room <= 0:
                break
        self.eof = self._unpacker.is_finished()
        return b"".join(parts)


def _zstd() -> _Unpacker:
    unpacker: _Unpacker = _zstd_module().ZstdDecompressor()
    return unpacker


def _zstd_module() -> Any:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd


def _zlib(window: int) -> Callable[[], _Unpacker]:
    return lambda: zlib.decompressobj(window)


# Some servers send "deflate" without the header of zlib.
UNPACKERS: dict[str, tuple[Callable[[], _Unpacker], ...]] = {
    GZIP: (_zlib(31),),
    DEFLATE: (_zlib(15), _zlib(-15)),
    BROTLI: (_Brotli,),
    ZSTD: (_zstd,),
}


def encoding_of(body: bytes) -> str:
    """Return the encoding that the first bytes of a body show; "" if they show none. Brotli, and
    deflate without a header, have no such bytes.
    """
    marks = {GZIP_MARK: GZIP, ZSTD_MARK: ZSTD, **dict.fromkeys(ZLIB_MARKS, DEFLATE)}
    return next((name for mark, name in marks.items() if body.startswith(mark)), "")


def unpack(body: bytes, encoding: str, limit: int) -> bytes:
    """Return the first *limit* bytes of a body in an *encoding* (see `NAMES`). A body that was cut
    gives the bytes before the cut. Raises `PackedError`.
    """
    if encoding not in NAMES:
        raise PackedError(f"the Content-Encoding {encoding[:50]!r} is unknown")
    new, *others = UNPACKERS[NAMES[encoding]]
    try:
        return _unpacked(new, body, limit)
    except _errors() as error:
        for other in others:
            with suppress(*_errors()):
                return _unpacked(other, body, limit)
        raise PackedError(f"it cannot be unpacked as {NAMES[encoding]}: {error}") from error


def _errors() -> tuple[type[Exception], ...]:
    import brotli

    return EOFError, zlib.error, brotli.error, _zstd_module().ZstdError


def _unpacked(new: Callable[[], _Unpacker], body: bytes, limit: int) -> bytes:
    """Return up to *limit* bytes of all members of a body. What follows them is ignored, as
    browsers do.
    """
    parts: list[bytes] = []
    room = limit
    while body and room > 0:
        unpacker = new()
        try:
            part = unpacker.decompress(body, room)
        except _errors():
            if parts:
                break
            raise
        parts.append(part)
        room -= len(part)
        if not unpacker.eof:
            if not any(parts):
                raise EOFError("it ends too early")
            break
        body = unpacker.unused_data
    return b"".join(parts)
