"""A site of a dozen pages that is strange where the prior knows nothing, and its own texts."""

from __future__ import annotations

import random
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from contentspider.page.input.page import Page
from contentspider.site.judge.prior import Prior
from contentspider.site.own.matching import texts_by_page
from contentspider.site.own.texts import OwnText
from contentspider.site.own.vote import OwnVote
from contentspider.site.scores import text_score
from contentspider.site.vote.blocks import gather
from contentspider.site.vote.objections import OBJECTIONS
from contentspider.site.vote.votes import VOTERS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from contentspider.site.own.evidence import Evidence

PAGES = 12
FEED = "feed https://e.org/feed"
# Of few words any text is a subsequence of any other.
WORDS = [
    "".join(syllables)
    for syllables in product(
        "river stone winter letter engine garden bridge market number mirror".split(),
        "side man work like less way house land bound light craft".split(),
        ("", "s", "ed", "ing", "er", "y"),
    )
]
PARTS = ("lead", "one", "two", "three")


def prose(*seed: object, words: int = 40) -> str:
    """Return a sentence that is another for each seed."""
    draw = random.Random(repr(seed))
    return " ".join(draw.choice(WORDS) for _ in range(words)).capitalize() + "."


def address(number: int) -> str:
    return f"https://e.org/{number}"


def title(number: int) -> str:
    return f"{prose('title', number, words=4)[:-1]} {number}"


def part(number: int, name: str) -> str:
    return prose("part", number, name)


def html(number: int) -> str:
    """Return a page: its text is in a place that is called a sidebar, and beside it stands a box
    of other prose in other words on each page.
    """
    links = "".join(
        f"<li><a href=/{other}>{title(other)}</a>" for other in range(number + 1, number + 4)
    )
    comments = "".join(
        f"<li><p>{prose('comment', number, n, words=25)}</p>" for n in range(number % 3)
    )
    lead, *others = (part(number, name) for name in PARTS)
    text = "".join(f"<p>{other}</p>" for other in others)
    return (
        f"<html><head><title>{title(number)} - E</title></head><body>"
        "<ul class=menu><li><a href=/>Start</a><li><a href=/tea>Tea</a></ul>"
        f"<h1>{title(number)}</h1>"
        f"<div class=sidebar><p class=lead>{lead}</p>{text}</div>"
        f"<div class=story><p>{prose('box', number, 1)}</p><p>{prose('box', number, 2)}</p></div>"
        f"<ul class=related>{links}</ul><ul class=comments>{comments}</ul>"
        "<div class=footer><p>All rights reserved by the makers of this site</p></div>"
        "</body></html>"
    )


def make_pages(count: int = PAGES) -> list[Page]:
    return [Page.from_html(html(number), address(number)) for number in range(count)]


def wanted(number: int) -> str:
    return "\n".join(part(number, name) for name in PARTS)


def own(number: int, text: str, source: str = FEED, named: str | None = None) -> OwnText:
    return OwnText(address(number), text, source, title(number) if named is None else named)


def feed(*numbers: int) -> list[OwnText]:
    """Return a feed that has the whole text of pages."""
    return [own(number, wanted(number)) for number in numbers]


def voice(own_texts: Sequence[OwnText], pages: list[Page] | None = None, alone=False) -> OwnVote:
    pages = make_pages() if pages is None else pages
    site = gather(pages)
    prior = None if alone else Prior.shipped()
    return OwnVote(pages, site, prior, texts_by_page(pages, own_texts), VOTERS, OBJECTIONS)


def slots(vote: OwnVote, value: float, evidence: Evidence | None = None) -> list[str]:
    """Return the last names of the places of which it is told that they are content (1) or none
    (0), sorted, without repeats.
    """
    told = (evidence or vote.evidence).labels
    return sorted({vote.site.slots[index] for index in np.flatnonzero(told == value)})


def f1(vote: OwnVote, probabilities: np.ndarray) -> float:
    """Return the mean F1 of what is kept of pages, their titles aside."""
    scores = []
    for number, page in enumerate(vote.sample):
        kept = probabilities[vote.site.pages == number] > 0.5
        text = "\n".join(
            block.text for block, is_kept in zip(page.content.blocks, kept, strict=True) if is_kept
        )
        scores.append(text_score(text, wanted(number), title(number)).f1)
    return sum(scores) / len(scores)
