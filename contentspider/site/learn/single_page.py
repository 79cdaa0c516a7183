"""Extraction from a single page, without other pages of its site and without learning."""

from __future__ import annotations

from dataclasses import replace
from itertools import compress
from typing import TYPE_CHECKING

import numpy as np

from contentspider.page.about.hydration import HYDRATION
from contentspider.page.about.jsonld import title_key
from contentspider.page.about.stated_texts import StatedText
from contentspider.page.input.page import Page
from contentspider.page.tree.blocks import SHOWN_CHARS, Block
from contentspider.page.tree.text import tokens
from contentspider.page.words.names import HEADINGS
from contentspider.site.companions import with_footnotes, with_titles
from contentspider.site.judge.notices import notices
from contentspider.site.judge.prior import Prior
from contentspider.site.models.counts import kept_chars, sureness
from contentspider.site.models.identity import UNFILTERED
from contentspider.site.models.record import DOCUMENT, STATED_VERSION, Extraction
from contentspider.site.own.alignment import align
from contentspider.site.own.texts import OwnText
from contentspider.site.pagetype import page_type
from contentspider.site.title import page_title

if TYPE_CHECKING:
    from contentspider.site.arrays import Bools

# The sources of a stated text that is the whole text of its page.
STATED = ("json-ld articleBody", HYDRATION)
NOTHING = StatedText("", "")
# A stated text counts if the page shows this share of it, and if the blocks that repeat it have at
# least this share of the kept text. Otherwise it is a teaser, or another page's.
MIN_COVERAGE, MIN_KEPT_SHARE = 0.8, 0.2
# A page shows its stated text if it contains more than this share of SAMPLES samples of it.
# Otherwise scripts show the text in the browser.
SHOWN_SHARE, SAMPLES, SAMPLE_CHARS = 0.2, 20, 20


def extract_html(
    html: bytes | bytearray | memoryview | str,
    url: str = "",
    *,
    content_type: str | None = None,
    prior: Prior | None = None,
) -> Extraction:
    """Return the content of a single page, as judged by *prior* (None: the prior that ships).

    For several pages of one site use `SiteLearner`, which compares the pages with each other.

    *html* is the page as bytes or str. Bytes are decoded as browsers do it: by the byte order mark,
    *content_type* (the value of the header), ``meta`` elements, or else by a guess. Links are
    resolved against the page's address *url*. Raises the errors of `Page.from_html`.

    The `Extraction` has the content as str in ``text``, ``markdown`` and ``html``, further fields
    such as ``title`` (str) and ``authors`` (list of str), and for each of the n blocks of the page
    whether it is content: ``kept``, an array of bool of the shape (n,), and ``probabilities``, one
    of float32. ``to_dict`` returns all fields of an item.

    >>> from contentspider import extract_html
    >>> html = "<title>Tea</title><nav><a href=/>Home</a></nav><p>Tea is made of leaves and water."
    >>> extract_html(html).text
    'Tea is made of leaves and water.'
    """
    return extract_page(Page.from_html(html, url, content_type), prior=prior)


def extract_page(page: Page, site: str = "", prior: Prior | None = None) -> Extraction:
    """Return the content of a page as `extract_html` does; *site* is the name of its site.

    All text of a document is content. If a page does not show the text that its JSON-LD states, and
    its blocks have less content than that text, the content is the stated text and the model
    version is `STATED_VERSION`.
    """
    if page.is_document:
        return _extract_document(page, site)
    prior = prior or Prior.shipped()
    probabilities, is_guess = prior.judge_page(page)
    lines = [] if page.corrections else hidden_text(page)
    if kept_chars(page.content, probabilities.tolist()) < sum(map(len, lines)):
        return _extract_stated(page, lines, site)
    outside = _outside_stated(page, probabilities > 0.5)
    probabilities = np.where(outside, np.float32(0), probabilities)
    probabilities = np.where(notices(page.content.blocks), np.float32(0), probabilities)
    is_kept = with_footnotes(page.content.blocks, probabilities > 0.5)
    is_kept = with_titles(page.content.blocks, is_kept)
    if page.corrections:
        probabilities = page.corrections.correct(probabilities)
        is_kept[page.corrections.kept] = True
        is_kept[page.corrections.dropped] = False
    confidence, kind = sureness(page.content, probabilities.tolist()), page_type(page, is_kept)
    return Extraction(
        page, is_kept, probabilities, confidence, kind, site, prior.digest, True, is_guess
    )


def _extract_document(page: Page, site: str) -> Extraction:
    """Return an extraction with all blocks of a document, as a crawl has it."""
    is_kept = np.ones(len(page.content.blocks), dtype=bool)
    return Extraction(page, is_kept, is_kept.astype(np.float32), 0.0, DOCUMENT, site, UNFILTERED)


def hidden_text(page: Page) -> list[str]:
    """Return the paragraphs of the text that a page states but does not show.

    The result is empty if the page shows the text, states none, or is a listing.
    """
    stated = _stated_text(page).replace("\n", " ")
    if len(stated) < SHOWN_CHARS or "listing" in page.hints.page_kinds:
        return []
    shown = " ".join(block.text for block in page.content.blocks)
    starts = range(0, len(stated) - SAMPLE_CHARS, len(stated) // SAMPLES)
    shown_samples = sum(stated[start : start + SAMPLE_CHARS] in shown for start in starts)
    if shown_samples > SHOWN_SHARE * len(starts):
        return []
    return _stated_text(page).splitlines()


def _extract_stated(page: Page, lines: list[str], site: str) -> Extraction:
    """Return an extraction that consists of a page's headline and the *lines* of its stated text.

    The lines are added to the page as blocks.
    """
    shown, title = page.content.blocks, title_key(page_title(page))
    headlines = [
        number
        for number, block in enumerate(shown)
        if block.tag in HEADINGS and title_key(block.text) == title
    ]
    added = [Block(line, "body/p", "p", 0) for line in lines]
    page = replace(page, content=replace(page.content, blocks=[*shown, *added]))
    is_kept = np.arange(len(page.content.blocks)) >= len(shown)
    is_kept[headlines[:1]] = True
    probabilities = is_kept.astype(np.float32)
    confidence, kind = sureness(page.content, probabilities.tolist()), page_type(page, is_kept)
    return Extraction(page, is_kept, probabilities, confidence, kind, site, STATED_VERSION)


def _stated_text(page: Page) -> str:
    """Return the whole text that a page states in its JSON-LD or in the data of its scripts, "" if
    it states none.
    """
    return _stated(page).text


def _stated(page: Page) -> StatedText:
    return next((stated for stated in page.stated_texts if stated.source in STATED), NOTHING)


def _outside_stated(page: Page, kept: Bools) -> Bools:
    """Return which blocks follow the beginning of the stated text but do not belong to it.

    A block belongs to the text if a block that repeats the text has the same path. Headings are
    never marked. No block is marked if the page states no whole text, or shows too little of it.
    """
    nothing, blocks = np.zeros(len(kept), dtype=bool), page.content.blocks
    stated = _stated_text(page)
    if not stated:
        return nothing
    source = _stated(page).source
    words = [tokens(block.text) for block in blocks]
    alignment = align(page.content, words, OwnText(page.url, stated, source))
    if alignment is None or alignment.coverage < MIN_COVERAGE:
        return nothing
    chars = np.array([len(block.text) for block in blocks])
    if chars[alignment.repeated].sum() < MIN_KEPT_SHARE * chars[kept].sum():
        return nothing
    paths = {block.path for block in compress(blocks, alignment.repeated)}
    has_other_path = [block.path not in paths and block.tag not in HEADINGS for block in blocks]
    return np.array(has_other_path) & (np.arange(len(blocks)) > alignment.repeated.argmax())
