"""Extraction from a single page, without a site and without learning."""

from __future__ import annotations

from contentspider.page.input.page import Page
from contentspider.site.judge.prior import Prior
from contentspider.site.models.counts import sureness
from contentspider.site.models.record import Extraction
from contentspider.site.pagetype import page_type


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
    if page.corrections:
        probabilities = page.corrections.correct(probabilities)
    kept = probabilities > 0.5
    confidence, kind = sureness(page.content, probabilities.tolist()), page_type(page, kept)
    return Extraction(
        page, kept, probabilities, confidence, kind, site, prior.digest, True, is_guess
    )
