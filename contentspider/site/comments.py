"""Readers' comments: how elements and headings call them, and those below the text of one page."""

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

# Comments have this share of their page's text above them.
BELOW_SHARE = 0.9
# So much text, which is content for sure, makes what is below it comments, not a discussion.
TEXT_CHARS = 100
# Pages of these kinds are about what is named a comment: posts of a forum, reviews of a product.
DISCUSSED = frozenset(["forum", "product"])
# A longer heading is no heading of comments, and a longer line does not say when one was written.
HEADING_CHARS = 80
LINE_CHARS = 200
# So many lines below a heading with a day each are comments' heads.
MIN_DAYS = 2
DAY = re.compile(r"\b\d{1,2}([/.-])\d{1,2}\1(?:19|20)\d\d\b")
# What an element has or lacks, by its name, is not what it is: themes call posts "has-comments".
FLAG = re.compile(r"\.(?:has|no|without|with)[-_][^#.\[]*")
# A step's role and property.
ROLE = re.compile(r"\[[^\]]*\]")


def says_day(text: str) -> bool:
    """Tell whether a line says a day."""
    return DAY.search(text) is not None or any(find_dates(text))


def is_named(path: str, name: str) -> bool:
    """Tell whether an element of a path, body aside, has a name of a group of `NAME_GROUPS`."""
    group = NAME_GROUPS.index(name)
    return any(group in _groups(step) for step in path.split("/")[1:])


@lru_cache(maxsize=5_000)
def _groups(step: str) -> frozenset[int]:
    return frozenset(name_groups(FLAG.sub("", step)))


def readers_comments(page: Page, text: Ints, called: Bools) -> Bools:
    """Tell which blocks of a page are readers' comments below its text; *text* are the characters
    of it in each block. *called* are blocks in elements that may be named as comments are.

    They stand in elements that are named so, or below a heading that says so, with days. There is
    text above them, and next to none below. What is named so on the page of a forum, below a text
    that is named as a forum's, or in markup like that of the text above, are posts: the text is the
    first of them.
    """
    blocks = page.content.blocks
    nothing = np.zeros(len(blocks), dtype=bool)
    if not DISCUSSED.isdisjoint(page.hints.page_kinds):
        return nothing
    named = _named(blocks, called, "comment")
    likely = named | _headed(blocks)
    if not likely.any():
        return nothing
    besides = np.where(likely, 0, text)
    whole = besides.sum()
    posts = _named(blocks, besides > 0, "forum") | _marked_up_like(blocks, named)
    if whole < TEXT_CHARS or 2 * besides[posts].sum() > whole:
        return nothing
    return np.asarray(likely & (np.cumsum(besides) >= BELOW_SHARE * whole))


def _named(blocks: Sequence[Block], among: Bools, name: str) -> Bools:
    """Tell which blocks *among* some stand in an element whose name is of a group of names."""
    paths = {block.path for block in compress(blocks, among.tolist())}
    named = {path for path in paths if is_named(path, name)}
    if not named:
        return np.zeros(len(blocks), dtype=bool)
    return np.array([block.path in named for block in blocks], dtype=bool) & among


def _headed(blocks: Sequence[Block]) -> Bools:
    """Tell which blocks stand in a section whose heading says that these are comments, with days
    below it.
    """
    headed = np.zeros(len(blocks), dtype=bool)
    headings = [number for number, block in enumerate(blocks) if block.tag in HEADINGS]
    for place, start in enumerate(headings):
        text = blocks[start].text
        if len(text) >= HEADING_CHARS or not NOISE_PHRASES["comment"].search(text.lower()):
            continue
        level = HEADINGS[blocks[start].tag]
        later = (at for at in headings[place + 1 :] if HEADINGS[blocks[at].tag] <= level)
        end = next(later, len(blocks))
        lines = (block.text for block in blocks[start + 1 : end] if len(block.text) < LINE_CHARS)
        if sum(map(says_day, lines)) >= MIN_DAYS:
            headed[start:end] = True
    return headed


def _marked_up_like(blocks: Sequence[Block], like: Bools) -> Bools:
    """Tell which blocks have the last two elements, by tag and names, of a sentence of *like*."""
    ends = [_end(block.path) if len(block.text) >= SENTENCE_CHARS else "" for block in blocks]
    wanted = {end for end, is_like in zip(ends, like.tolist(), strict=True) if is_like} - {""}
    return np.array([end in wanted for end in ends], dtype=bool)


def _end(path: str) -> str:
    """Return the last two steps of a path without roles; empty if they have no names."""
    end = ROLE.sub("", "/".join(path.rsplit("/", 2)[-2:]))
    return end if "." in end or "#" in end else ""
