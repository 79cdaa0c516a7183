"""Compressed text, as state files keep it."""

from __future__ import annotations

import zlib

COMPRESSION = 3  # 5 would make records 6 % smaller in nearly twice the time
MAX_BYTES = 300_000_000  # what unpacks to more is a bomb: a page of 30 MB makes some 100 MB


def pack_text(text: str) -> bytes:
    """Return *text* compressed, for `unpack_text`; lone surrogates are kept."""
    return zlib.compress(text.encode("utf-8", "surrogatepass"), COMPRESSION)


def unpack(packed: bytes) -> bytes:
    """Return what was compressed; raises one of `DAMAGE`, also for more than `MAX_BYTES`."""
    unpacking = zlib.decompressobj()
    data = unpacking.decompress(packed, MAX_BYTES)
    if not unpacking.eof:
        raise ValueError(f"it is cut short, or larger than {MAX_BYTES:,} bytes")
    return data


def unpack_text(packed: bytes) -> str:
    """Return what `pack_text` was given; raises as `unpack` does."""
    return unpack(packed).decode("utf-8", "surrogatepass")
