"""Readers' comments below a text, and the posts of a discussion, which are what a forum is for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from contentspider.page.text import SENTENCE_CHARS
from contentspider.page.words.names import NAME_GROUPS, name_groups
from contentspider.site.vote.blocks import found_once, repeat_shares

if TYPE_CHECKING:
    from contentspider.site.arrays import Bools, Floats
    from contentspider.site.vote.blocks import SiteBlocks

# A page with this much text besides its "comments" is a text with comments below it.
COMMENTED_CHARS = 500
# Or this much, if fewer than half of the site's texts have comments: in a forum most have posts. It
# has comments if these have as much text.
SHORT_COMMENTED_CHARS = 100
# What an element has or lacks, by its name, is not what it is: themes call posts "has-comments".
FLAG = re.compile(r"\.(?:has|no|without|with)[-_][^#.\[]*")


def comment(site: SiteBlocks, prior: Floats) -> Bools:
    """Tell which blocks are readers' comments below a text."""
    return split_comments(site, prior)[0]


@found_once
def comment_like(site: SiteBlocks) -> Bools:
    """Tell which blocks stand in an element named comment, reply or the like."""
    return _named(site, "comment")


@found_once
def forum_like(site: SiteBlocks) -> Bools:
    """Tell which blocks stand in an element named forum, thread, question or the like."""
    return _named(site, "forum")


def _named(site: SiteBlocks, name: str) -> Bools:
    group = NAME_GROUPS.index(name)
    is_named = {
        slot: any(group in name_groups(FLAG.sub("", step)) for step in slot.split("/")[1:])
        for slot in set(site.slots)
    }
    return np.array([is_named[slot] for slot in site.slots], dtype=bool)


def split_comments(site: SiteBlocks, prior: Floats) -> tuple[Bools, Bools]:
    """Tell which blocks are readers' comments below a text, and which are posts of a discussion.

    They are comments if most pages with them have a text besides: a long one, or a short one if
    most of the site's texts have no comments; else a discussion, but for pages with a long text.
    Where most of the text besides is named so, it is the first post.
    """
    likely = comment_like(site)
    nothing = np.zeros_like(likely)
    if not likely.any():
        return nothing, nothing
    share = repeat_shares(site)
    # Text that many pages repeat (a cookie notice) is nobody's article.
    prose = np.where(
        (share < 0.3) & (site.chars >= SENTENCE_CHARS), site.chars * (1 - site.link_share), 0
    )
    besides = np.where(~likely & (prior >= 0.5), prose, 0)
    if 2 * besides[forum_like(site)].sum() > besides.sum():
        return nothing, likely
    beside = np.bincount(site.pages, besides)
    commented = np.bincount(site.pages, np.where(likely, prose, 0)) >= SHORT_COMMENTED_CHARS
    if not commented.any():
        return likely, nothing
    texts = commented | (beside >= SHORT_COMMENTED_CHARS)
    is_rare = commented.sum() <= texts.sum() / 2
    if np.median(beside[commented]) >= (SHORT_COMMENTED_CHARS if is_rare else COMMENTED_CHARS):
        return likely, nothing
    has_text = (beside >= COMMENTED_CHARS)[site.pages]
    return likely & has_text, likely & ~has_text
