"""Which pages of a site stand for all of it: those with the smallest hash of their address.

Such a sample is uniform, and the same whatever the order in which pages come; the samples of two
crawls, or of two machines, merge into that of both.
"""

from __future__ import annotations

from hashlib import blake2b

ORDER_BYTES = 8


def sample_order(address: str) -> bytes:
    """Return the place of a page in the order of sampling, by its address as given: the first N
    pages in that order are the sample of N.

    One definition for crawls, files and several machines: it must never change.

    >>> sorted(["/", "/a", "/b"], key=sample_order)
    ['/a', '/', '/b']
    """
    return blake2b(address.encode("utf-8", "surrogatepass"), digest_size=ORDER_BYTES).digest()
