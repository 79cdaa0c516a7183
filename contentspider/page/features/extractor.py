"""Computes the feature matrix of a page: all groups of features side by side."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from contentspider.page.about.hints import PAGE_KINDS
from contentspider.page.features._containers import (
    ELEMENT,
    LANDMARK,
    LANDMARKS,
    LEVELS,
    TRUNK,
    fill_landmarks,
    fill_levels,
    fill_trunk,
)
from contentspider.page.features._facts import TEXT, PageFacts, fill_texts
from contentspider.page.features._neighbours import (
    HINT,
    OFFSET,
    OFFSETS,
    WINDOW,
    fill_hints,
    fill_offsets,
    fill_windows,
)
from contentspider.page.features._positions import PAGE, POSITION, fill_page, fill_positions
from contentspider.page.tree.tags import is_link
from contentspider.page.words.names import PATH_FEATURES, NameRows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from contentspider.page.about.hints import Hints
    from contentspider.page.tree.blocks import Block, PageBlocks

# The share of text in links of each kind: in the block, in the block with its neighbours, and among
# all links of the page. A link leads to a part of a page ("part"), to another site ("away"), or to
# an address that other links lead to, too ("again").
LINK = [f"to_{to}{of}" for of in ("", "_around", "_page") for to in ("part", "away", "again")]
# The number of neighbours before and after a block.
REACH = 3
# The host that at least this share of a page's links names is the page's own site.
OWN_SHARE = 0.4
SITE = re.compile(r"(?:https?:)?//(?:www\.)?([^/?#:]*)", re.IGNORECASE)
# The kinds that the page declares. All blocks of a page have the same values.
KIND = [f"page_is_{kind}" for kind in PAGE_KINDS]
GROUPS: dict[str, list[str]] = {
    "text": TEXT,
    "position": POSITION,
    "page": PAGE,
    "levels": [f"{name}_{at}" for at in LEVELS for name in ELEMENT],
    "trunk": TRUNK,
    "offsets": [f"{name}_{at:+d}" for at in OFFSETS for name in OFFSET],
    "windows": WINDOW,
    "hints": HINT,
    "path": PATH_FEATURES,
    **{tag: [f"{tag}_{name}" for name in LANDMARK] for tag in LANDMARKS},
    "links": LINK,
    "kind": KIND,
}
# The functions that write the groups which depend on the blocks and elements only.
WRITERS = {
    "text": fill_texts,
    "position": fill_positions,
    "page": fill_page,
    "levels": fill_levels,
    "trunk": fill_trunk,
    "offsets": fill_offsets,
    "windows": fill_windows,
}
FEATURE_NAMES: list[str] = [name for names in GROUPS.values() for name in names]
# The first column of each group.
STARTS = dict(zip(GROUPS, np.cumsum([0, *map(len, GROUPS.values())]).tolist(), strict=False))


def fill_links(blocks: Sequence[Block], rows: NDArray[np.float32], column: int) -> None:
    """Write the features of the blocks' links into *rows*, from *column* on."""
    links = _links(blocks)
    hosts = [_host(address) for _, _, address, _ in links]
    own_hosts = ("", _own_host(hosts))
    times_linked = Counter([target for *_, target in links])
    to_part, to_away, to_again = ([0] * len(blocks) for _ in range(3))
    for (number, size, address, target), host in zip(links, hosts, strict=True):
        if target is not address or (address[:1] == "#" and len(address) > 1):
            to_part[number] += size
        if host not in own_hosts:
            to_away[number] += size
        if times_linked[target] > 1:
            to_again[number] += size
    counts = np.array([to_part, to_away, to_again], dtype=float).T
    chars = np.array([[len(block.text)] for block in blocks], dtype=float)
    numbers = np.arange(len(blocks))
    low, high = np.maximum(numbers - REACH, 0), np.minimum(numbers + REACH + 1, len(blocks))
    sums = np.vstack([np.zeros(4), np.hstack([counts, chars]).cumsum(axis=0)])
    around = sums[high] - sums[low]
    of_page = counts.sum(axis=0) / max(sum(size for _, size, *_ in links), 1)
    shares = [counts / chars, around[:, :3] / around[:, 3:], np.tile(of_page, (len(blocks), 1))]
    rows[:, column : column + len(LINK)] = np.hstack(shares)


def _links(blocks: Sequence[Block]) -> list[tuple[int, int, str, str]]:
    """Return the links of all blocks: the block's number, the length of the link's text, its
    address, and the target, which is the address before its fragment (the address itself without a
    fragment, or if it is only a fragment).
    """
    links: list[tuple[int, int, str, str]] = []
    for number, block in enumerate(blocks):
        if not block.links:
            continue
        for start, end, mark in block.spans:
            if is_link(mark):
                target = mark
                if "#" in mark:
                    target = mark.partition("#")[0] or mark
                links.append((number, end - start, mark, target))
    return links


def _host(address: str) -> str:
    """Return the host of an absolute address in lower case without "www."; "" if it is relative."""
    match = SITE.match(address)
    return match[1].lower() if match else ""


def _own_host(hosts: Sequence[str]) -> str:
    """Return the most frequent host if enough of the links name it, else an empty string."""
    frequencies = Counter(filter(None, hosts))
    host, count = max(frequencies.items(), key=lambda pair: pair[1], default=("", 0))
    return host if count >= OWN_SHARE * len(hosts) else ""


class FeatureExtractor:
    """Computes the feature matrices of a site's pages, and caches the features of their paths."""

    def __init__(self) -> None:
        self._names = NameRows()

    def features(self, page: PageBlocks, hints: Hints) -> NDArray[np.float32]:
        """Return a matrix with a row for each block and a column for each of `FEATURE_NAMES`."""
        blocks = page.blocks
        rows = np.empty((len(blocks), len(FEATURE_NAMES)), dtype=np.float32)
        if not blocks:
            return rows
        facts = PageFacts(page)
        for group, write in WRITERS.items():
            write(facts, rows, STARTS[group])
        fill_links(blocks, rows, STARTS["links"])
        fill_hints(facts, hints.titles, hints.descriptions, rows, STARTS["hints"])
        start = STARTS["path"]
        self._names.fill(rows[:, start : start + len(PATH_FEATURES)], blocks)
        rows[:, STARTS["kind"] :] = [kind in hints.page_kinds for kind in PAGE_KINDS]
        for tag in LANDMARKS:
            fill_landmarks(facts, rows, STARTS[tag], tag)
        return rows
