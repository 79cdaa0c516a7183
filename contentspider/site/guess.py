"""What is kept of a page of which the prior is sure of hardly anything: a guess, which says so.

No answer is the worst answer. Where less than a few lines are kept, and the prior expects more of
the text among what is dropped, the page's content is taken to be the run of blocks that stands out
most, though none of them by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from contentspider.page.document import Page
    from contentspider.site.prior import Prior

# Fewer kept words than this may be a page's content, or the few blocks that resemble it.
FEW_WORDS = 50
# What is guessed is kept, just so.
GUESSED = 0.51


def judge_page(prior: Prior, page: Page) -> tuple[NDArray[np.float32], bool]:
    """Return for each block of *page* how probably it is content, from 0 to 1, by the page alone;
    and whether that is a guess.
    """
    probabilities = prior.judge_page(page)
    run = guess_run(page, probabilities)
    if run is None:
        return probabilities, False
    probabilities[run] = np.maximum(probabilities[run], GUESSED)
    return probabilities, True


def guess_run(page: Page, probabilities: NDArray[np.float32]) -> slice | None:
    """Return the run of blocks to keep where the *probabilities* keep hardly anything; None where
    they keep enough, or drop little that could be content.

    It is the run whose characters are the most above the page's mean probability.
    """
    blocks = page.content.blocks
    words = np.array([block.text.count(" ") + 1 for block in blocks])
    kept = probabilities > 0.5
    count = words[kept].sum()
    if count >= FEW_WORDS or (words * probabilities)[~kept].sum() <= count:
        return None
    chars = np.array([len(block.text) for block in blocks])
    above = chars * (probabilities - np.average(probabilities, weights=chars))
    sums = np.concatenate([[0.0], np.cumsum(above)])
    end = int(np.argmax(sums - np.minimum.accumulate(sums)))
    start = int(np.argmin(sums[: end + 1]))
    return slice(start, end) if end > start else None
