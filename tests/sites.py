"""Sites of a few lines of HTML, for tests of what only a site's pages together tell."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import numpy as np

from contentspider.page.document import Page
from contentspider.site.blocks import SiteBlocks, gather

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

WORDS = (
    "river stone winter letter engine garden bridge market number mirror candle harbour sister"
    " window silver copper morning paper".split()
)


def prose(*seed: object, words: int = 40) -> str:
    """Return a sentence that is another for each seed, of some 270 characters."""
    draw = random.Random(repr(seed))
    return " ".join(draw.choice(WORDS) for _ in range(words)).capitalize() + "."


def site_of(bodies: Sequence[str]) -> SiteBlocks:
    pages = [Page.from_html(body) for body in bodies]
    return gather([page.content for page in pages], [page.hints for page in pages])


def texts_of(site: SiteBlocks) -> list[str]:
    return [block.text for page in site.contents for block in page.blocks]


def marked(site: SiteBlocks, evidence: np.ndarray) -> list[str]:
    """Return the texts of the blocks against which there is evidence, without repeats, in order."""
    return list(
        dict.fromkeys(text for text, says in zip(texts_of(site), evidence, strict=True) if says)
    )


def where(site: SiteBlocks, wanted: Callable[[str], bool]) -> np.ndarray:
    """Return which blocks stand in a slot that is *wanted*."""
    return np.array([wanted(slot) for slot in site.slots])
