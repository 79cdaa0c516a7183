"""Compression of text and records in state files (zlib)."""

from __future__ import annotations

import zlib

COMPRESSION = 3  # level 5 would make records 6 % smaller, and take nearly twice the time
HAS_WORDS = 0x20  # a flag in the second byte (RFC 1950); the dictionary's checksum follows it
MAX_BYTES = 300_000_000  # larger data is a decompression bomb: a page of 30 MB makes some 100 MB


def pack_text(text: str) -> bytes:
    """Return *text* compressed, for `unpack_text`; halves of surrogate pairs are kept."""
    return pack(text.encode("utf-8", "surrogatepass"))


def pack(data: bytes, words: bytes = b"", compression: int = COMPRESSION) -> bytes:
    """Return *data* compressed, for `unpack`; *words* is the compression dictionary, if any."""
    packing = zlib.compressobj(compression, zdict=words) if words else zlib.compressobj(compression)
    return packing.compress(data) + packing.flush()


def needs_dictionary(packed: bytes) -> bool:
    """Tell whether data was compressed with a dictionary; raises one of `DAMAGE`."""
    return bool(packed[1] & HAS_WORDS)


def unpack(packed: bytes, words: bytes = b"") -> bytes:
    """Return data that was compressed with *words*.

    Raises one of `DAMAGE` if the data is damaged, or larger than `MAX_BYTES`.
    """
    unpacking = zlib.decompressobj(zdict=words) if words else zlib.decompressobj()
    data = unpacking.decompress(packed, MAX_BYTES)
    if not unpacking.eof:
        raise ValueError(f"it is cut short, or larger than {MAX_BYTES:,} bytes")
    return data


def unpack_text(packed: bytes) -> str:
    """Return the text that `pack_text` compressed; raises the errors of `unpack`."""
    return unpack(packed).decode("utf-8", "surrogatepass")
