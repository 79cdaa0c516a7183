"""Compressed text, as state files keep it."""

from __future__ import annotations

import zlib

COMPRESSION = 3  # 5 would make records 6 % smaller in nearly twice the time
HAS_WORDS = 0x20  # a flag in the second byte (RFC 1950); four bytes with the words' checksum follow
MAX_BYTES = 300_000_000  # what unpacks to more is a bomb: a page of 30 MB makes some 100 MB


def pack_text(text: str) -> bytes:
    """Return *text* compressed, for `unpack_text`; lone surrogates are kept."""
    return pack(text.encode("utf-8", "surrogatepass"))


def pack(data: bytes, words: bytes = b"", compression: int = COMPRESSION) -> bytes:
    """Return *data* compressed, for `unpack`, with a dictionary of *words*."""
    packing = zlib.compressobj(compression, zdict=words) if words else zlib.compressobj(compression)
    return packing.compress(data) + packing.flush()


def needs_words(packed: bytes) -> bool:
    """Tell whether something was compressed with a dictionary; raises one of `DAMAGE`."""
    return bool(packed[1] & HAS_WORDS)


def unpack(packed: bytes, words: bytes = b"") -> bytes:
    """Return what was compressed with *words*; raises one of `DAMAGE`, also beyond `MAX_BYTES`."""
    unpacking = zlib.decompressobj(zdict=words) if words else zlib.decompressobj()
    data = unpacking.decompress(packed, MAX_BYTES)
    if not unpacking.eof:
        raise ValueError(f"it is cut short, or larger than {MAX_BYTES:,} bytes")
    return data


def unpack_text(packed: bytes) -> str:
    """Return what `pack_text` was given; raises as `unpack` does."""
    return unpack(packed).decode("utf-8", "surrogatepass")
