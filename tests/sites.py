"""Pages and sites of a few lines of HTML: some are read as they are, some are served."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import numpy as np

from contentspider.page.input.page import Page
from contentspider.site.judge.slots import SlotTable
from contentspider.site.vote.blocks import SiteBlocks, gather, number_keys

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from contentspider.page.tree.blocks import Block
    from tests.conftest import Site

WORDS = (
    "river stone winter letter engine garden bridge market number mirror candle harbour sister"
    " window silver copper morning paper".split()
)


def prose(*seed: object, words: int = 40) -> str:
    """Return a sentence that is another for each seed, of some 270 characters."""
    draw = random.Random(repr(seed))
    return " ".join(draw.choice(WORDS) for _ in range(words)).capitalize() + "."


ARTICLE = (
    "<html><head><title>{title}</title></head><body><nav><a href=/>Home</a></nav>"
    "<article><h1>{title}</h1><p>{first}</p><p>{second}</p></article>{links}"
    "<footer>© 2024 All rights reserved</footer></body></html>"
)


def article(number: object, links: str = "") -> str:
    return ARTICLE.format(
        title=f"Page {number}", first=prose(number, 1), second=prose(number, 2), links=links
    )


WRITERS = ("Ada Byron", "Bob Frank", "Cy Doe", "Dee Ember")


def bylined(number: int, name: str = "who") -> str:
    """Return an article whose writer stands in an element with the class *name*. Pages with even
    numbers state the writer.
    """
    writer = WRITERS[number // 2 % len(WRITERS)]
    stated = f"<meta name=author content='{writer}'>" if number % 2 == 0 else ""
    byline = f"</h1><div class={name}>{writer}</div>"
    return article(number).replace("<head>", f"<head>{stated}").replace("</h1>", byline)


# Where `noticed` has most of its text.
NOTICE_SLOT = "body/article/ul.notice/li"


def noticed(number: int) -> str:
    """Return an article below a list of six texts that two of these have: it is kept, but may be no
    content.
    """
    texts = [(prose("title", number // 2, part)[:60], part) for part in range(6)]
    notice = "".join(
        f"<li><a href=/{number}{part}>{title}</a> {prose('notice', number // 2, part)}</li>"
        for title, part in texts
    )
    return article(number).replace("</h1>", f"</h1><ul class=notice>{notice}</ul>")


def doubtful_site(site: Site) -> None:
    """Serve six articles and six with a notice, whose template is doubtful."""
    links = "".join(f"<a href=/{number}>Page {number}</a> " for number in range(1, 12))
    for number in range(12):
        page = noticed(number) if number >= 6 else article(number, "" if number else links)
        site.add(f"/{number}" if number else "/", page)


def small_site(site: Site, count: int) -> None:
    """Serve *count* articles: a start page that leads to the others."""
    site.add(
        "/",
        article(0, "".join(f"<a href=/{number}>Page {number}</a> " for number in range(1, count))),
    )
    for number in range(1, count):
        site.add(f"/{number}", article(number))


def blocks(html: str) -> list[Block]:
    return Page.from_html(html).content.blocks


def texts(html: str) -> list[str]:
    return [block.text for block in blocks(html)]


def site_of(bodies: Sequence[str]) -> SiteBlocks:
    pages = [Page.from_html(body) for body in bodies]
    return gather(pages)


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


def laid_out(
    pages: Sequence[Sequence[tuple[str, str]]],
    *,
    chars: Mapping[str, int] | None = None,
    clusters: Mapping[str, str] | None = None,
    originals: Sequence[int] | None = None,
) -> SiteBlocks:
    """Return the blocks of *pages* that are given by (spot, text): what only numbers decide.

    A text has 100 characters if *chars* does not say otherwise, and a spot is its own cluster.
    """
    numbers = np.repeat(np.arange(len(pages)), [len(page) for page in pages])
    spots = [spot for page in pages for spot, _ in page]
    texts = [text for page in pages for _, text in page]
    of_pages = numbers if originals is None else np.array(originals)[numbers]
    return SiteBlocks(
        contents=[],
        hints=[],
        urls=[],
        bases=[],
        pages=numbers,
        originals=of_pages,
        sources=of_pages,
        slots=spots,
        clusters=number_keys((clusters or {}).get(spot, spot) for spot in spots),
        spots=number_keys(spots),
        texts=number_keys(texts),
        chars=np.array([(chars or {}).get(text, 100) for text in texts], dtype=np.float32),
        link_share=np.zeros(len(texts), dtype=np.float32),
        contrast=np.zeros(len(texts), dtype=np.float32),
        headings=np.zeros(len(texts), dtype=bool),
        bodies=np.zeros(len(texts), dtype=np.int64),
        table=SlotTable({}, 1),
    )
