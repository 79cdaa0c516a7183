"""The choice of content on a page that is judged by itself.

The probabilities of the prior are corrected by the blocks' positions on the page.
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
from contentspider.site.judge.comments import readers_comments
from contentspider.site.judge.expected_f1 import maximise_expected_f1, move_threshold

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from contentspider.page.input.page import Page
    from contentspider.page.tree.blocks import PageBlocks
    from contentspider.site.arrays import Bools, Floats, Ints

# On a news page similar texts surround the article, so a block must be more probable than 0.5
# (research/NOTES.md).
NEWS_THRESHOLD = 0.6
# The position of the text is certain if the sentences that are more probable than SURE have at
# least SURE_CHARS characters, and at least SURE_SHARE of the kept ones.
SURE, SURE_CHARS, SURE_SHARE = 0.9, 300, 0.2
# A block outside of the element that holds the text is kept only if it is this probable.
OUTSIDE_THRESHOLD = 0.65
# A heading that begins the page's title is the headline if it is more probable than this.
HEADLINE = 0.2
# The columns of features that tell whether an element near a block has a name of comments.
COMMENT_NAME_COLUMNS = [FEATURE_NAMES.index(f"{near}_comment") for near in NEARNESS]
# A paragraph that is more probable than DOUBTED is content if a neighbour reaches BESIDE.
DOUBTED, BESIDE = 0.3, 0.6


def decide(
    page: Page, probabilities: Floats, features: NDArray[np.float32]
) -> tuple[NDArray[np.float32], bool]:
    """Return the corrected *probabilities* of a page's blocks, and whether they are a guess.

    A block is kept if its corrected probability is above 0.5. *probabilities* are the prior's;
    *features* has a row of `FEATURE_NAMES` for each block. The result is a guess if the prior is so
    unsure that `maximise_expected_f1` chose the blocks.
    """
    content = page.content
    chars = np.array([len(block.text) for block in content.blocks], dtype=np.int64)
    link_chars = np.array([block.link_chars for block in content.blocks], dtype=np.int64)
    prose = np.where(chars >= SENTENCE_CHARS, chars - link_chars, 0)
    shifted = maximise_expected_f1(probabilities, chars.astype(float))
    is_guess = shifted is not probabilities
    is_news = "news" in page.hints.page_kinds
    if is_news and not is_guess and (probabilities > NEWS_THRESHOLD).any():
        shifted = move_threshold(probabilities, NEWS_THRESHOLD)
    candidates = np.asarray(features[:, COMMENT_NAME_COLUMNS].any(axis=1))
    comments = readers_comments(page, np.where(probabilities > 0.5, prose, 0), candidates)
    decided = np.where(comments, np.float32(0), shifted)
    for is_wrong in (beside_paragraphs, outside_text):
        decided = np.where(is_wrong(content, prose, probabilities, decided), 1 - decided, decided)
    number = lost_headline(page, prose, probabilities, decided)
    if number >= 0:
        decided[number] = max(1 - decided[number], BESIDE)
    return decided, is_guess


def lost_headline(page: Page, prose: Ints, probabilities: Floats, decided: Floats) -> int:
    """Return the number of a headline that is not kept and should be; -1 if there is none.

    It is a heading before the first kept paragraph, and the beginning of one of the titles that the
    page states. If any heading before that paragraph is kept, the result is -1. *prose*,
    *probabilities* and *decided* are as in `outside_text`.
    """
    paragraphs = np.flatnonzero((prose > 0) & (decided > 0.5))
    first_paragraph = paragraphs[0] if len(paragraphs) else 0
    preceding = page.content.blocks[:first_paragraph]
    headings = [number for number, block in enumerate(preceding) if block.tag in HEADINGS]
    if (decided[headings] > 0.5).any():
        return -1
    likely = [number for number in headings if probabilities[number] > HEADLINE]
    titles = [title_key(title) for title in page.hints.titles] if likely else []
    for number in reversed(likely):
        key = title_key(preceding[number].text)
        if key and any(title.startswith(key) for title in titles):
            return number
    return -1


def outside_text(content: PageBlocks, prose: Ints, probabilities: Floats, decided: Floats) -> Bools:
    """Tell which kept blocks should be dropped, since they stand outside of the page's text.

    They are hardly more probable than not, and stand after the beginning of the text, but outside
    of the element that holds all sure sentences: other articles, boxes.

    All arrays have one entry per block. *prose* has the characters outside of links of each block
    that is as long as a sentence, and 0 for other blocks. *probabilities* are the prior's. A block
    is kept if its entry in *decided* is above 0.5.
    """
    sure = (probabilities > SURE) & (prose > 0)
    sure_chars, nothing = prose[sure].sum(), np.zeros(len(sure), dtype=bool)
    if sure_chars < SURE_CHARS or sure_chars < SURE_SHARE * prose[decided > 0.5].sum():
        return nothing
    containers = np.array([block.container for block in content.blocks])
    parents, sure_containers = content.parents, containers[sure]
    # Elements are in document order: the element that holds the first and the last of these
    # containers holds all of them.
    holder = common_element(parents, int(sure_containers.min()), int(sure_containers.max()))
    after = np.flatnonzero(np.array(parents[holder + 1 :]) < holder)
    end = holder + 1 + after[0] if len(after) else len(parents)
    outside = (containers < holder) | (containers >= end)
    outside &= np.arange(len(sure)) > sure.argmax()
    return np.asarray(outside & (decided > 0.5) & (decided < OUTSIDE_THRESHOLD))


def beside_paragraphs(
    content: PageBlocks, prose: Ints, probabilities: Floats, decided: Floats
) -> Bools:
    """Tell which dropped paragraphs should be kept, since they stand beside a kept one.

    Both are next to each other among the page's paragraphs and have the same tag path with names.
    The arrays are as in `outside_text`.
    """
    numbers = np.flatnonzero(prose)
    beside = np.zeros(len(prose), dtype=bool)
    paths = [content.blocks[number].path for number in numbers.tolist()]
    same_path = np.array([first == second for first, second in pairwise(paths)], dtype=bool)
    first, second = numbers[:-1], numbers[1:]
    beside[second] |= same_path & (decided[first] >= BESIDE)
    beside[first] |= same_path & (decided[second] >= BESIDE)
    return np.asarray(beside & (decided > DOUBTED) & (decided <= 0.5))
