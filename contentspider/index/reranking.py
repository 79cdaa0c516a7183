"""Reranks the first results of a search by their paragraphs and links. No index stores these."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from html import unescape
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

from contentspider.index.sections import MAX_HTML_CHARS, TAG
from contentspider.index.snippets import places_near
from contentspider.index.titles import TITLE_SCORE
from contentspider.index.words import phrase_of, query_prefixes, split_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from contentspider.index.engine import Hit

# So many results are reranked. Measured with 10, 20 and 30: the results are the same.
MAX_RERANKED = 10
# The factors for pages with all words of a query near each other in one paragraph, in any order and
# in the order of the query. Measured with 1.3 to 1.6, and 1.6 to 2.5.
IN_PARAGRAPH, IN_ORDER = 1.5, 2.0
# The factor for a page that links to another page of its site with the query as the link's text:
# the other page is about the query. Measured with 0.1, 0.3 and 0.5.
LINKS_ELSEWHERE = 0.5
# Limited, so that many links without an end do not take the square of their number.
LINK = re.compile(r"""<a href="([^"<>]*)"[^<>]*>(.{0,1000}?)</a>""", re.DOTALL)


def reranked(hits: Sequence[Hit], words: str) -> list[Hit]:
    """Return the hits of a query in the order of their scores, those of the first ones reranked."""
    split = split_words(words)
    prefixes_in = cache(lambda language: query_prefixes(words, [language]))
    first = []
    for hit in hits[:MAX_RERANKED]:
        factor = 1.0
        if hit.score < TITLE_SCORE:  # else its title is the query
            prefixes = prefixes_in(hit.record.get("language", ""))
            factor = _factor(hit.record, words, prefixes, split)
        first.append(replace(hit, score=hit.score * factor))
    first.sort(key=lambda hit: -hit.score)
    return [*first, *hits[MAX_RERANKED:]]


def _factor(
    record: Mapping[str, Any], words: str, prefixes: Sequence[str], split: Sequence[str]
) -> float:
    """Return the factor for the score of a page."""
    places = places_near(str(record.get("content", "")), prefixes, split) if prefixes else []
    if any(places) and links_elsewhere(record, words):
        return LINKS_ELSEWHERE
    if places and len(prefixes) > 1:
        return IN_ORDER if any(places) else IN_PARAGRAPH
    return 1.0


def links_elsewhere(record: Mapping[str, Any], words: str) -> bool:
    """Tell whether a page has a link with the text *words* to another page of its site.

    >>> html = '<p>See <a href="/tea#green">Green tea</a>.</p>'
    >>> record = {"url": "http://e.org/cups", "more": {"content_html": html}}
    >>> links_elsewhere(record, "green tea"), links_elsewhere(record, "tea")
    (True, False)
    """
    html = str(record.get("more", {}).get("content_html", ""))[:MAX_HTML_CHARS]
    url, phrase = str(record.get("url", "")), phrase_of(words)
    return any(
        phrase_of(unescape(TAG.sub("", text))) == phrase and _leads_elsewhere(url, unescape(href))
        for href, text in LINK.findall(html)
        if len(TAG.sub("", text)) < 2 * len(words)
    )


def _leads_elsewhere(url: str, href: str) -> bool:
    try:
        page, target = urlsplit(url), urlsplit(urljoin(url, href))
    except ValueError:  # a page may have any text as an address
        return False
    return page.netloc == target.netloc and page[2:4] != target[2:4]
