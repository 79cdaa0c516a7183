"""Aligns an own text with its page: finds the blocks of the page that the own text repeats.

The page also has lines that its template or plugins add, so the two never agree exactly. A block is
repeated if the longest common subsequence of both texts contains nearly all of its tokens. A short
block is repeated only beside longer ones, since any two texts have short runs in common.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from rapidfuzz.distance import LCSseq

from contentspider.page.tree.text import tokens
from contentspider.page.words.names import HEADINGS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from contentspider.page.tree.blocks import PageBlocks
    from contentspider.site.arrays import Bools
    from contentspider.site.own.texts import OwnText


# The table that aligns two texts has at most this many cells of one bit: 128 MB.
MAX_CELLS = 2**30
# A block with this many tokens does not occur in another text by chance.
LONG = 5
# The own text must have this share of a long block's tokens, in order. It may lack a link's label.
SAME = 0.9
# A block gets no label if the own text has at least this share of its tokens, but too few to count
# as a repetition of the block.
ALIKE = 0.3
# A block is the own text's title if each of the two has this share of the longer one's tokens.
TITLE = 0.7
# A short block counts as repeated up to this many blocks before the first sure one, or after the
# last.
BESIDE = 3
# An own text with at most this many tokens may be matched by short blocks alone.
SHORT_TEXT = 8
# If the page has less than this share of the own text, the text belongs to another page, or to an
# earlier version of this one.
COVERED = 0.7
# If the page has less than this share of the own text's tokens, the text was garbled, or the page
# has changed since.
CLEAN = 0.97


class Alignment(NamedTuple):
    """The blocks of a page that an own text repeats; arrays have one entry per block.

    *repeated* marks the blocks that are in the own text. *unclear* marks blocks that resemble a
    part of it, or may be its title; they get no label. *headline* is the number of the block with
    the own text's title, -1 if there is none. *coverage* is the share of the own text's tokens that
    the page has; lines that are missing from the page altogether do not count.
    """

    repeated: Bools
    unclear: Bools
    headline: int
    coverage: float


def align(page: PageBlocks, blocks: Sequence[list[str]], own: OwnText) -> Alignment | None:
    """Return how an own text aligns with a *page*; *blocks* has the tokens of each of its blocks.

    The result is None if the text belongs to another page, or if the two are too long to compare.
    """
    text_tokens = tokens(own.text)
    if not text_tokens or len(text_tokens) * sum(map(len, blocks)) > MAX_CELLS:
        return None
    matched = matched_tokens(blocks, text_tokens)
    sizes = np.array([len(block) for block in blocks])
    share = matched / np.maximum(sizes, 1)
    is_long = sizes >= LONG
    same = (share >= np.where(is_long, SAME, 1)) & (sizes > 0)
    titles = _titles(blocks, tokens(own.title))
    sure = same & is_long & ~titles
    if not sure.any():
        if len(text_tokens) > SHORT_TEXT:
            return None
        sure = same & ~titles
    repeated = sure | (same & _near(sure))
    if matched[repeated].sum() < COVERED * len(text_tokens):
        return None
    coverage = float(matched.sum() / len(text_tokens))
    if coverage < CLEAN:
        coverage = _coverage_of_lines(own.text, [token for block in blocks for token in block])
    headline = _headline(page, titles, repeated)
    unclear = (share >= ALIKE) | _are_inside(blocks, text_tokens)
    # If the page has a headline, other blocks with the title are breadcrumbs and the like, even if
    # the own text begins with its title.
    unclear = unclear | titles if headline < 0 else unclear & ~titles
    return Alignment(repeated, ~repeated & unclear, headline, coverage)


def _are_inside(blocks: Sequence[list[str]], text_tokens: list[str]) -> Bools:
    """Tell which blocks occur in a text as one run of tokens."""
    spaced = f" {' '.join(text_tokens)} "
    return np.array([bool(block) and f" {' '.join(block)} " in spaced for block in blocks])


def _coverage_of_lines(text: str, page: list[str]) -> float:
    """Return the share of a text's tokens that a page has, without the lines that a feed added.

    A line counts if the page has at least half of its tokens.
    """
    lines = [tokens(line) for line in text.split("\n")]
    matched, sizes = matched_tokens(lines, page), np.array([len(line) for line in lines])
    common = 2 * matched >= sizes
    return float(matched[common].sum() / max(sizes[common].sum(), 1))


def _near(sure: Bools) -> Bools:
    """Return which blocks stand between the first and the last sure block, or up to 3 beside."""
    near = np.zeros(len(sure), dtype=bool)
    numbers = np.flatnonzero(sure)
    if len(numbers):
        near[max(numbers[0] - BESIDE, 0) : numbers[-1] + BESIDE + 1] = True
    return near


def _titles(blocks: Sequence[list[str]], title: list[str]) -> Bools:
    """Return which blocks have about the same tokens as the title."""
    if not title:
        return np.zeros(len(blocks), dtype=bool)
    title_counts = Counter(title)
    return np.array(
        [
            TITLE * len(title) <= len(block) <= len(title) / TITLE
            and sum((Counter(block) & title_counts).values()) >= TITLE * max(len(title), len(block))
            for block in blocks
        ],
        dtype=bool,
    )


def _headline(page: PageBlocks, titles: Bools, repeated: Bools) -> int:
    """Return the number of the headline among the *titles*, -1 if there is none.

    Titles up to one block after the first repeated block are considered. The headline is the last
    of them that is a heading, or else the first.
    """
    first_repeated = int(np.argmax(repeated))
    candidates = np.flatnonzero(titles[: first_repeated + 2]).tolist()
    headings = [number for number in candidates if page.blocks[number].tag in HEADINGS]
    if headings:
        return headings[-1]
    return candidates[0] if candidates else -1


def matched_tokens(blocks: Sequence[list[str]], text_tokens: list[str]) -> NDArray[np.float64]:
    """Return how many tokens of each block are in the longest common subsequence with a text."""
    counts = np.zeros(len(blocks))
    ids: dict[str, int] = {}
    flat = [ids.setdefault(token, len(ids)) for block in blocks for token in block]
    text_ids = [ids.setdefault(token, len(ids)) for token in text_tokens]
    block_of = [number for number, block in enumerate(blocks) for _ in block]
    for operation in LCSseq.opcodes(flat, text_ids):
        if operation.tag == "equal":
            for index in range(operation.src_start, operation.src_end):
                counts[block_of[index]] += 1
    return counts
