"""Extraction from a single page, without a site and without learning."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from contentspider.page.about.jsonld import title_key
from contentspider.page.input.page import Page
from contentspider.page.tree.blocks import SHOWN_CHARS, Block
from contentspider.page.tree.text import tokens
from contentspider.page.words.names import HEADINGS
from contentspider.site.judge.prior import Prior
from contentspider.site.models.counts import kept_chars, sureness
from contentspider.site.models.record import STATED_VERSION, Extraction
from contentspider.site.notes import with_notes
from contentspider.site.own.alignment import align
from contentspider.site.own.texts import OwnText
from contentspider.site.pagetype import page_type
from contentspider.site.title import page_title

if TYPE_CHECKING:
    from contentspider.site.arrays import Bools

# The whole text that a page states in its markup; what stands for less of the page is a teaser.
STATED = "json-ld articleBody"
COVERAGE, SHARE = 0.8, 0.2
# A page that shows no more of its text, by samples of it, leaves it to scripts to show it.
SHOWN_SHARE, SAMPLES, SAMPLE_CHARS = 0.2, 20, 20


def extract_html(
    html: bytes | str, url: str = "", *, content_type: str | None = None, prior: Prior | None = None
) -> Extraction:
    """Return the content of a single page, by *prior* (None: the shipped one). For several pages of
    a site `SiteLearner` is better: it sees what they share.

    Bytes are decoded as browsers do it (BOM, *content_type*, meta, else guessed). Links are
    relative to the page's address *url*.

    >>> from contentspider import extract_html
    >>> html = "<title>Tea</title><nav><a href=/>Home</a></nav><p>Tea is made of leaves and water."
    >>> extract_html(html).text
    'Tea is made of leaves and water.'
    """
    return extract_page(Page.from_html(html, url, content_type), prior=prior)


def extract_page(page: Page, site: str = "", prior: Prior | None = None) -> Extraction:
    """Return what `extract_html` does for a page that was already read; *site* names its site.

    Of a page that does not show the text that its JSON-LD states, nor as much of another, the
    content is the stated text, and the model's version `STATED_VERSION`.
    """
    prior = prior or Prior.shipped()
    probabilities, is_guess = prior.judge_page(page)
    lines = [] if page.corrections else hidden_text(page)
    if kept_chars(page.content, probabilities.tolist()) < sum(map(len, lines)):
        return _extract_stated(page, lines, site)
    beside = _beside_stated(page, probabilities > 0.5)
    probabilities = np.where(beside, np.float32(0), probabilities)
    kept = with_notes(page.content.blocks, probabilities > 0.5)
    if page.corrections:
        probabilities = page.corrections.correct(probabilities)
        kept[page.corrections.kept] = True
        kept[page.corrections.dropped] = False
    confidence, kind = sureness(page.content, probabilities.tolist()), page_type(page, kept)
    return Extraction(
        page, kept, probabilities, confidence, kind, site, prior.digest, True, is_guess
    )


def hidden_text(page: Page) -> list[str]:
    """Return the paragraphs of the text that a page states and does not show; none if it shows it,
    or lists several.
    """
    stated = _stated(page).replace("\n", " ")
    if len(stated) < SHOWN_CHARS or "listing" in page.hints.page_kinds:
        return []
    shown = " ".join(block.text for block in page.content.blocks)
    starts = range(0, len(stated) - SAMPLE_CHARS, len(stated) // SAMPLES)
    found = sum(stated[start : start + SAMPLE_CHARS] in shown for start in starts)
    return _stated(page).splitlines() if found <= SHOWN_SHARE * len(starts) else []


def _extract_stated(page: Page, lines: list[str], site: str) -> Extraction:
    """Return the extraction of a page whose content are its headline and the stated *lines*."""
    shown, title = page.content.blocks, title_key(page_title(page))
    headlines = [
        number
        for number, block in enumerate(shown)
        if block.tag in HEADINGS and title_key(block.text) == title
    ]
    added = [Block(line, "body/p", "p", 0) for line in lines]
    page = replace(page, content=replace(page.content, blocks=[*shown, *added]))
    kept = np.arange(len(page.content.blocks)) >= len(shown)
    kept[headlines[:1]] = True
    probabilities = kept.astype(np.float32)
    confidence, kind = sureness(page.content, probabilities.tolist()), page_type(page, kept)
    return Extraction(page, kept, probabilities, confidence, kind, site, STATED_VERSION)


def _stated(page: Page) -> str:
    return next((each.text for each in page.stated_texts if each.source == STATED), "")


def _beside_stated(page: Page, kept: Bools) -> Bools:
    """Return which blocks are beside the whole text that a page states: from its beginning on,
    what is not in it, nor where blocks of it stand, nor a heading.
    """
    none, blocks = np.zeros(len(kept), dtype=bool), page.content.blocks
    stated = _stated(page)
    if not stated:
        return none
    words = [tokens(block.text) for block in blocks]
    found = align(page.content, words, OwnText(page.url, stated, STATED))
    if found is None or found.coverage < COVERAGE:
        return none
    sizes = np.array([len(block.text) for block in blocks])
    if sizes[found.repeated].sum() < SHARE * sizes[kept].sum():
        return none
    paths = {block.path for block, is_in in zip(blocks, found.repeated, strict=True) if is_in}
    elsewhere = [block.path not in paths and block.tag not in HEADINGS for block in blocks]
    return np.array(elsewhere) & (np.arange(len(blocks)) > found.repeated.argmax())
