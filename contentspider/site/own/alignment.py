"""Which blocks of a page an own text repeats: an alignment of their tokens.

An own text differs from its page, which has lines of plugins. So a block is repeated where the
longest common subsequence of all tokens takes nearly all of its tokens; a short one only beside
longer ones, since any two texts share short runs.
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


# Cells of the table that aligns two texts, a bit each: 128 MB.
MAX_CELLS = 2**30
# A block of so many tokens does not stand in another text by chance.
LONG = 5
# Share of a long block's tokens that the own text must have in order: it may lack a link's label.
SAME = 0.9
# A block that shares more than this with the own text, but is not the same, gets no label.
ALIKE = 0.3
# Share of a title's tokens, and of a block's, that must be the other's for the block to be a title.
TITLE = 0.7
# Blocks beside a long one that is repeated, up to which a short one is believed.
BESIDE = 3
# An own text of no more tokens may be matched by one short block.
SHORT_TEXT = 8
# Less of an own text than this on its page: it is another page's, or an earlier version of it.
COVERED = 0.7
# A text of which its page lacks more words here and there was garbled, or changed since.
CLEAN = 0.97


class Alignment(NamedTuple):
    """What an own text says of the blocks of its page; arrays have one entry a block.

    *repeated* blocks are in it; *unclear* ones are like a part of it, or may be the title, and get
    no label. *headline* is the number of the block that is the own text's title (-1: none is),
    *coverage* the share of the own text's tokens that its page has, without lines that it lacks.
    """

    repeated: Bools
    unclear: Bools
    headline: int
    coverage: float


def align(page: PageBlocks, blocks: Sequence[list[str]], own: OwnText) -> Alignment | None:
    """Return what an own text says of *page*, of whose *blocks* the tokens are given; None if it is
    another's, or either is too long.
    """
    wanted = tokens(own.text)
    if not wanted or len(wanted) * sum(map(len, blocks)) > MAX_CELLS:
        return None
    matched = matched_tokens(blocks, wanted)
    sizes = np.array([len(block) for block in blocks])
    share = matched / np.maximum(sizes, 1)
    is_long = sizes >= LONG
    same = (share >= np.where(is_long, SAME, 1)) & (sizes > 0)
    titles = _titles(blocks, tokens(own.title))
    sure = same & is_long & ~titles
    if not sure.any():
        if len(wanted) > SHORT_TEXT:
            return None
        sure = same & ~titles
    repeated = sure | (same & _near(sure))
    if matched[repeated].sum() < COVERED * len(wanted):
        return None
    coverage = float(matched.sum() / len(wanted))
    if coverage < CLEAN:
        coverage = _coverage_of_lines(own.text, [token for block in blocks for token in block])
    spaced = f" {' '.join(wanted)} "
    inside = np.array([bool(block) and f" {' '.join(block)} " in spaced for block in blocks])
    headline = _headline(page, titles, repeated)
    unclear = (share >= ALIKE) | inside
    # Beside a headline other titles are bread crumbs and the like, though the text may begin so.
    unclear = unclear | titles if headline < 0 else unclear & ~titles
    return Alignment(repeated, ~repeated & unclear, headline, coverage)


def _coverage_of_lines(text: str, page: list[str]) -> float:
    """Return the share of a text's tokens on a page, without lines that a feed added."""
    lines = [tokens(line) for line in text.split("\n")]
    matched, sizes = matched_tokens(lines, page), np.array([len(line) for line in lines])
    common = 2 * matched >= sizes
    return float(matched[common].sum() / max(sizes[common].sum(), 1))


def _near(sure: Bools) -> Bools:
    """Return which blocks stand between the first and the last that are sure, or beside one."""
    near = np.zeros(len(sure), dtype=bool)
    places = np.flatnonzero(sure)
    if len(places):
        near[max(places[0] - BESIDE, 0) : places[-1] + BESIDE + 1] = True
    return near


def _titles(blocks: Sequence[list[str]], title: list[str]) -> Bools:
    """Return which blocks say what the title says, and not much more."""
    if not title:
        return np.zeros(len(blocks), dtype=bool)
    wanted = Counter(title)
    return np.array(
        [
            TITLE * len(title) <= len(block) <= len(title) / TITLE
            and sum((Counter(block) & wanted).values()) >= TITLE * max(len(title), len(block))
            for block in blocks
        ],
        dtype=bool,
    )


def _headline(page: PageBlocks, titles: Bools, repeated: Bools) -> int:
    """Return the last title before the text that is a heading, else the first; -1 if none is."""
    first = int(np.argmax(repeated))
    before = np.flatnonzero(titles[: first + 2]).tolist()
    headings = [number for number in before if page.blocks[number].tag in HEADINGS]
    return headings[-1] if headings else before[0] if before else -1


def matched_tokens(blocks: Sequence[list[str]], gold: list[str]) -> NDArray[np.float64]:
    """Return how many of each block's tokens the longest common subsequence with *gold* takes."""
    counts = np.zeros(len(blocks))
    ids: dict[str, int] = {}
    flat = [ids.setdefault(token, len(ids)) for block in blocks for token in block]
    wanted = [ids.setdefault(token, len(ids)) for token in gold]
    block_of = [number for number, block in enumerate(blocks) for _ in block]
    for operation in LCSseq.opcodes(flat, wanted):
        if operation.tag == "equal":
            for index in range(operation.src_start, operation.src_end):
                counts[block_of[index]] += 1
    return counts
