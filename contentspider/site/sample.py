"""Samples of a site's pages: the pages whose addresses have the smallest hashes.

Such a sample is uniform, and does not depend on the order of the pages' arrival. Samples from two
crawls or machines can be merged.
"""

from __future__ import annotations

from hashlib import blake2b

ORDER_BYTES = 8


def sample_order(address: str) -> bytes:
    """Return the sort key of a page by its address: the first N pages in this order are the sample.

    Never change this function: stored crawls, files and other machines rely on the order.

    >>> sorted(["/", "/a", "/b"], key=sample_order)
    ['/a', '/', '/b']
    """
    return blake2b(address.encode("utf-8", "surrogatepass"), digest_size=ORDER_BYTES).digest()
