"""The labels of a site's own pages, kept with the model: its classifier smooths them."""

from __future__ import annotations

import sys
from array import array
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np

from contentspider.site.models.counts import outline

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from contentspider.page.blocks import PageBlocks

# A block's probability is kept as one digit, its tenth.
LEVELS = 10
MIDDLES = np.array([(level + 0.5) / LEVELS for level in range(LEVELS)], dtype=np.float32)
KEY_BYTES = 8
OUTLINE_BYTES = 4


def page_key(page: PageBlocks) -> str:
    """Return a digest of the paths and texts of a page's blocks; it begins with `outline_key`."""
    parts = [part for block in page.blocks for part in (block.path, block.text)]
    text = "\n".join(parts).encode("utf-8", "surrogatepass")
    return outline_key(page) + blake2b(text, digest_size=KEY_BYTES).hexdigest()


def outline_key(page: PageBlocks) -> str:
    """Return a digest of the lengths of a page's texts, in a twentieth of `page_key`'s time."""
    lengths = array("Q", outline(page))
    if sys.byteorder == "big":
        lengths.byteswap()
    return blake2b(lengths, digest_size=OUTLINE_BYTES).hexdigest()


def pack(probabilities: NDArray[np.floating[Any]]) -> str:
    """Return probabilities as digits, for `unpack`: of 0.02, 0.499, 0.5 and 1 ``0459``."""
    levels = np.minimum(probabilities * LEVELS, LEVELS - 1).astype(int)
    return "".join(map(str, levels.tolist()))


def unpack(digits: str) -> NDArray[np.float32]:
    """Return the probabilities of `pack`, in the middle of their tenth; raises ValueError."""
    if digits and not (digits.isascii() and digits.isdecimal()):
        raise ValueError(f"{digits[:20]!r} is not written in digits")
    return MIDDLES[np.frombuffer(digits.encode(), dtype=np.uint8) - ord("0")]
