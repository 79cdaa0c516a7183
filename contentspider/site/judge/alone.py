"""What to keep of a page that is judged alone, by its blocks' probabilities: what their places on
the page say beside them.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from contentspider.page.about.jsonld import title_key
from contentspider.page.features.extractor import FEATURE_NAMES
from contentspider.page.tree.blocks import common_element
from contentspider.page.tree.text import SENTENCE_CHARS
from contentspider.page.words.names import HEADINGS, NEARNESS
from contentspider.site.comments import readers_comments
from contentspider.site.guess import best_guess, shift

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from contentspider.page.input.page import Page
    from contentspider.page.tree.blocks import PageBlocks
    from contentspider.site.arrays import Bools, Floats, Ints

# News stands among what reads like it: as probable as not is not enough (research/NOTES.md).
NEWS_THRESHOLD = 0.6
# A page's text is sure with so many characters of sure prose, and this share of what is kept.
SURE, SURE_CHARS, SURE_SHARE = 0.9, 300, 0.2
# Outside of the element that holds the text a block must be as probable as this.
OUTSIDE_THRESHOLD = 0.65
# A heading that begins the page's title is its headline if it is more probable than this.
HEADLINE = 0.2
# Columns of blocks in elements that are called comments.
CALLED = [FEATURE_NAMES.index(f"{near}_comment") for near in NEARNESS]
# A paragraph of more than the first probability is content beside one of the second.
DOUBTED, BESIDE = 0.3, 0.6


def decide(
    page: Page, found: Floats, features: NDArray[np.float32]
) -> tuple[NDArray[np.float32], bool]:
    """Return the probabilities of a page's blocks, above 0.5 of what is kept, by those *found* of
    each from its row of *features*; and whether they are a guess.
    """
    content = page.content
    chars = np.array([len(block.text) for block in content.blocks], dtype=np.int64)
    linked = np.array([block.link_chars for block in content.blocks], dtype=np.int64)
    prose = np.where(chars >= SENTENCE_CHARS, chars - linked, 0)
    guessed = best_guess(found, chars.astype(float))
    is_guess = guessed is not found
    if not is_guess and "news" in page.hints.page_kinds and (found > NEWS_THRESHOLD).any():
        guessed = shift(found, NEWS_THRESHOLD)
    called = np.asarray(features[:, CALLED].any(axis=1))
    comments = readers_comments(page, np.where(found > 0.5, prose, 0), called)
    decided = np.where(comments, np.float32(0), guessed)
    for doubt in (beside_paragraphs, outside_text):
        decided = np.where(doubt(content, prose, found, decided), 1 - decided, decided)
    number = lost_headline(page, prose, found, decided)
    if number >= 0:
        decided[number] = max(1 - decided[number], BESIDE)
    return decided, is_guess


def lost_headline(page: Page, prose: Ints, found: Floats, decided: Floats) -> int:
    """Return which heading before the first paragraph that is kept, as *decided*, begins a title
    that the page gives of itself; -1 if none does, or one of those headings is kept.
    """
    paragraphs = np.flatnonzero((prose > 0) & (decided > 0.5))
    before = page.content.blocks[: paragraphs[0] if len(paragraphs) else 0]
    headings = [number for number, block in enumerate(before) if block.tag in HEADINGS]
    if (decided[headings] > 0.5).any():
        return -1
    likely = [number for number in headings if found[number] > HEADLINE]
    titles = [title_key(title) for title in page.hints.titles] if likely else []
    for number in reversed(likely):
        key = title_key(before[number].text)
        if key and any(title.startswith(key) for title in titles):
            return number
    return -1


def outside_text(content: PageBlocks, prose: Ints, found: Floats, decided: Floats) -> Bools:
    """Tell which blocks that are kept, as *decided*, are hardly more probable than not, and stand
    outside of the element that holds the sure text, after its beginning: other articles, boxes.

    *prose* are the characters outside of links of each block that is long enough for a sentence.
    """
    sure = (found > SURE) & (prose > 0)
    text, nothing = prose[sure].sum(), np.zeros(len(sure), dtype=bool)
    if text < SURE_CHARS or text < SURE_SHARE * prose[decided > 0.5].sum():
        return nothing
    containers = np.array([block.container for block in content.blocks])
    parents, holding = content.parents, containers[sure]
    # Elements are in document order: what holds the first and the last holds all between them.
    holder = common_element(parents, int(holding.min()), int(holding.max()))
    after = np.flatnonzero(np.array(parents[holder + 1 :]) < holder)
    end = holder + 1 + after[0] if len(after) else len(parents)
    outside = (containers < holder) | (containers >= end)
    outside &= np.arange(len(sure)) > sure.argmax()
    return np.asarray(outside & (decided > 0.5) & (decided < OUTSIDE_THRESHOLD))


def beside_paragraphs(content: PageBlocks, prose: Ints, found: Floats, decided: Floats) -> Bools:
    """Tell which paragraphs that are not kept, as *decided*, might well be content, and have one
    that is before or after them in the same place of the markup. *prose* is as above.
    """
    numbers = np.flatnonzero(prose)
    beside = np.zeros(len(prose), dtype=bool)
    paths = [content.blocks[number].path for number in numbers.tolist()]
    same = np.array([first == second for first, second in pairwise(paths)], dtype=bool)
    first, second = numbers[:-1], numbers[1:]
    beside[second] |= same & (decided[first] >= BESIDE)
    beside[first] |= same & (decided[second] >= BESIDE)
    return np.asarray(beside & (decided > DOUBTED) & (decided <= 0.5))
