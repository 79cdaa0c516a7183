"""Extraction from a single page, without a site and without learning."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from contentspider.page.input.page import Page
from contentspider.page.text import tokens
from contentspider.page.words.names import HEADINGS
from contentspider.site.judge.prior import Prior
from contentspider.site.models.counts import sureness
from contentspider.site.models.record import Extraction
from contentspider.site.own.alignment import align
from contentspider.site.own.texts import OwnText
from contentspider.site.pagetype import page_type

if TYPE_CHECKING:
    from contentspider.site.arrays import Bools

# The whole text that a page states in its markup; what stands for less of the page is a teaser.
STATED = "json-ld articleBody"
COVERAGE, SHARE = 0.8, 0.2


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
    """Return what `extract_html` does for a page that was already read; *site* names its site."""
    prior = prior or Prior.shipped()
    probabilities, is_guess = prior.judge_page(page)
    beside = _beside_stated(page, probabilities > 0.5)
    probabilities = np.where(beside, np.float32(0), probabilities)
    if page.corrections:
        probabilities = page.corrections.correct(probabilities)
    kept = probabilities > 0.5
    confidence, kind = sureness(page.content, probabilities.tolist()), page_type(page, kept)
    return Extraction(
        page, kept, probabilities, confidence, kind, site, prior.digest, True, is_guess
    )


def _beside_stated(page: Page, kept: Bools) -> Bools:
    """Return which blocks are beside the whole text that a page states: from its beginning on,
    what is not in it, nor where blocks of it stand, nor a heading.
    """
    none, blocks = np.zeros(len(kept), dtype=bool), page.content.blocks
    stated = next((one.text for one in page.stated_texts if one.source == STATED), "")
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
