"""Features of what links lead to: a part of a page, another site, where other links lead, too."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from contentspider.page.tree.tags import is_link

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from contentspider.page.tree.blocks import Block

# How much of the text is in such links, of a block, and of it with the blocks around it; and of the
# page's links.
LINK = [f"to_{to}{of}" for of in ("", "_around", "_page") for to in ("part", "away", "again")]
# Blocks before and after.
REACH = 3
# The site of a page is that of so many of its links that name one.
OWN_SHARE = 0.4
SITE = re.compile(r"(?:https?:)?//(?:www\.)?([^/?#:]*)", re.IGNORECASE)


def fill_links(blocks: Sequence[Block], rows: NDArray[np.float32], column: int) -> None:
    """Write what the blocks' links lead to into *rows*, from a *column* on."""
    links = [
        (number, end - start, mark, mark.partition("#")[0] or mark if "#" in mark else mark)
        for number, block in enumerate(blocks)
        if block.links
        for start, end, mark in block.spans
        if is_link(mark)
    ]
    sites = [named[1].lower() if (named := SITE.match(mark)) else "" for _, _, mark, _ in links]
    times, most = Counter([target for *_, target in links]), Counter(filter(None, sites))
    own, count = max(most.items(), key=lambda one: one[1], default=("", 0))
    known = ("", own if count >= OWN_SHARE * len(links) else "")
    part, away, again = ([0] * len(blocks) for _ in range(3))
    for (number, size, mark, target), site in zip(links, sites, strict=True):
        if target is not mark or (mark[:1] == "#" and len(mark) > 1):
            part[number] += size
        if site not in known:
            away[number] += size
        if times[target] > 1:
            again[number] += size
    found = np.array([part, away, again], dtype=float).T
    chars = np.array([[len(block.text)] for block in blocks], dtype=float)
    at = np.arange(len(blocks))
    low, high = np.maximum(at - REACH, 0), np.minimum(at + REACH + 1, len(blocks))
    before = np.vstack([np.zeros(4), np.hstack([found, chars]).cumsum(axis=0)])
    around = before[high] - before[low]
    of_page = found.sum(axis=0) / max(sum(size for _, size, *_ in links), 1)
    shares = [found / chars, around[:, :3] / around[:, 3:], np.tile(of_page, (len(blocks), 1))]
    rows[:, column : column + len(LINK)] = np.hstack(shares)
