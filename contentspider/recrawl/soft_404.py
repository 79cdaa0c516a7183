"""Detects answers that replace a page, with a success status: error pages (soft 404), login forms
and blank pages.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING
from urllib.parse import unquote

if TYPE_CHECKING:
    from contentspider.page.input.page import Page

MIN_ERROR_SHARE = 0.6  # this share of the kept text must be on the site's error page
MAX_REMAINING_SHARE = 0.2  # at most this share of the previous content is still on the page
MAX_LOGIN_CHARS = 500  # the longest text of a login form, in characters
# Error pages have the time, or the number of the request, which differ from answer to answer.
# The search begins at the start of a word only: in scripts without spaces, words can be very long.
WITH_DIGIT = re.compile(r"(?<!\S)[^\s\d]*\d\S*")


def texts_of(page: Page) -> frozenset[str]:
    """Return the texts of a page's blocks without its path, which error pages often name."""
    return _lines((block.text for block in page.content.blocks), page.url)


def _lines(texts: Iterable[str], url: str) -> frozenset[str]:
    path = "/" + unquote(url.partition("://")[2].partition("/")[2])
    return frozenset(text.replace(path, "") if len(path) > 1 else text for text in texts)


def is_gone(page: Page, before: str) -> bool:
    """Tell whether the page has lost nearly all of its previous main content (*before*)."""
    lines = frozenset(before.splitlines())
    texts = frozenset(block.text for block in page.content.blocks)
    return bool(lines) and _size(lines & texts) <= MAX_REMAINING_SHARE * _size(lines)


def is_error_page(page: Page, content: str, error: AbstractSet[str]) -> bool:
    """Tell whether most of a page's *content* is on the site's *error* page (a set of texts). Words
    with digits are not compared.
    """
    lines = _without_digits(_lines(content.splitlines(), page.url))
    if not lines:
        return is_like(page, error)
    return _size(lines & _without_digits(error)) >= MIN_ERROR_SHARE * _size(lines)


def is_blank(page: Page) -> bool:
    """Tell whether a page lacks any text. Text that the owner excludes from indexes counts."""
    return not (page.content.blocks or page.content.has_left_out or page.is_document)


def is_like(page: Page, error: AbstractSet[str]) -> bool:
    """Tell whether all text of a *page* is on the *error* page."""
    now = texts_of(page)
    return bool(now) and now <= error


def is_login(content: str) -> bool:
    """Tell whether the *content* of a page with a password field is only a login form."""
    return len(content) <= MAX_LOGIN_CHARS


def _without_digits(texts: Iterable[str]) -> frozenset[str]:
    """Return the texts without words that have a digit; texts of nothing else are left out."""
    return frozenset(WITH_DIGIT.sub("", text).strip() for text in texts) - {""}


def _size(texts: AbstractSet[str]) -> int:
    return sum(map(len, texts))
