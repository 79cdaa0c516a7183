"""Readers' comments: the names and headings that mark them, and the comments of a single page."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import compress
from typing import TYPE_CHECKING

import numpy as np

from contentspider.page.about.written_dates import find_dates
from contentspider.page.tree.text import SENTENCE_CHARS
from contentspider.page.words.names import HEADINGS, NAME_GROUPS, name_groups
from contentspider.page.words.phrases import NOISE_PHRASES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from contentspider.page.input.page import Page
    from contentspider.page.tree.blocks import Block
    from contentspider.site.arrays import Bools, Ints

# Comments stand below at least this share of their page's text.
BELOW_SHARE = 0.9
# A page with this many characters of content is a text with comments below it. A page with less is
# a discussion, whose posts are content.
TEXT_CHARS = 100
# On pages of these kinds, elements with names of comments hold content: the posts of a forum, the
# reviews of a product.
DISCUSSION_KINDS = frozenset(["forum", "product"])
# A longer heading does not announce comments, and a longer line does not date a comment.
HEADING_CHARS = 80
LINE_CHARS = 200
# A section with this many dated lines below its heading is a list of comments.
MIN_DAYS = 2
DAY = re.compile(r"\b\d{1,2}([/.-])\d{1,2}\1(?:19|20)\d\d\b")
# A class such as "has-comments" describes a post that has comments, not a comment.
FLAG = re.compile(r"\.(?:has|no|without|with)[-_][^#.\[]*")
# Matches the role and the microdata property of an element in a path: ``[role]``.
ROLE = re.compile(r"\[[^\]]*\]")


@lru_cache(maxsize=5_000)  # most dated lines of a site are on several pages
def has_day(text: str) -> bool:
    """Tell whether a line contains a date."""
    return DAY.search(text) is not None or any(find_dates(text))


def has_named_step(path: str, group_name: str) -> bool:
    """Tell whether an element of a path has a name of a group of `NAME_GROUPS`. The body does not
    count.
    """
    group = NAME_GROUPS.index(group_name)
    return any(group in _groups(step) for step in path.split("/")[1:])


@lru_cache(maxsize=5_000)
def _groups(step: str) -> frozenset[int]:
    return frozenset(name_groups(FLAG.sub("", step)))


def readers_comments(page: Page, content_chars: Ints, candidates: Bools) -> Bools:
    """Tell which blocks of a page are readers' comments below its text.

    *content_chars* has the characters of content in each block. *candidates* marks the blocks that
    may stand in an element with a name of comments; other blocks are not searched for such names.

    Comments stand in elements with a name of comments, or below a heading that announces comments
    and has dated lines below it. Nearly all other content of the page is above them.

    No block is a comment if the page is a forum's or a product's, or if most of the other content
    stands in elements with names of forums or is marked up like the comments: then that content is
    the first post of a discussion. The same holds if the other content is shorter than
    `TEXT_CHARS`.
    """
    blocks = page.content.blocks
    nothing = np.zeros(len(blocks), dtype=bool)
    if not DISCUSSION_KINDS.isdisjoint(page.hints.page_kinds):
        return nothing
    in_named = _in_named_elements(blocks, candidates, "comment")
    likely = in_named | below_comment_headings(blocks)
    if not likely.any():
        return nothing
    other_chars = np.where(likely, 0, content_chars)
    total = other_chars.sum()
    posts = _in_named_elements(blocks, other_chars > 0, "forum") | _marked_up_like(blocks, in_named)
    if total < TEXT_CHARS or 2 * other_chars[posts].sum() > total:
        return nothing
    return np.asarray(likely & (np.cumsum(other_chars) >= BELOW_SHARE * total))


def _in_named_elements(blocks: Sequence[Block], candidates: Bools, group_name: str) -> Bools:
    """Tell which of the *candidates* stand in an element with a name of a group.

    *group_name* is a group of `NAME_GROUPS`, such as "comment".
    """
    paths = {block.path for block in compress(blocks, candidates.tolist())}
    named_paths = {path for path in paths if has_named_step(path, group_name)}
    if not named_paths:
        return np.zeros(len(blocks), dtype=bool)
    return np.array([block.path in named_paths for block in blocks], dtype=bool) & candidates


def below_comment_headings(blocks: Sequence[Block]) -> Bools:
    """Tell which blocks belong to a section with a heading of comments and enough dated lines."""
    in_section = np.zeros(len(blocks), dtype=bool)
    headings = [number for number, block in enumerate(blocks) if block.tag in HEADINGS]
    for index, start in enumerate(headings):
        text = blocks[start].text
        if len(text) >= HEADING_CHARS or not NOISE_PHRASES["comment"].search(text.lower()):
            continue
        level = HEADINGS[blocks[start].tag]
        next_headings = (
            number for number in headings[index + 1 :] if HEADINGS[blocks[number].tag] <= level
        )
        end = next(next_headings, len(blocks))
        lines = (block.text for block in blocks[start + 1 : end] if len(block.text) < LINE_CHARS)
        if sum(map(has_day, lines)) >= MIN_DAYS:
            in_section[start:end] = True
    return in_section


def _marked_up_like(blocks: Sequence[Block], models: Bools) -> Bools:
    """Tell which blocks are marked up like a block that *models* marks.

    Two blocks are alike if their last two elements have the same tags and names. Only blocks as
    long as a sentence are compared.
    """
    ends = [_path_end(block.path) if len(block.text) >= SENTENCE_CHARS else "" for block in blocks]
    model_ends = set(compress(ends, models.tolist())) - {""}
    return np.array([end in model_ends for end in ends], dtype=bool)


def _path_end(path: str) -> str:
    """Return the last two elements of a path without their roles; "" if neither has a name."""
    end = ROLE.sub("", "/".join(path.rsplit("/", 2)[-2:]))
    return end if "." in end or "#" in end else ""
