"""Samples of a site's pages: those with the smallest hashes of their addresses.

Such a sample is uniform and independent of the order of pages; the samples of two crawls or
machines can be merged.
"""

from __future__ import annotations

from hashlib import blake2b

ORDER_BYTES = 8


def sample_order(address: str) -> bytes:
    """Return the sort key of a page by its address: the first N pages are the sample of N.

    Crawls, files and other machines rely on it: it must never change.

    >>> sorted(["/", "/a", "/b"], key=sample_order)
    ['/a', '/', '/b']
    """
    return blake2b(address.encode("utf-8", "surrogatepass"), digest_size=ORDER_BYTES).digest()
