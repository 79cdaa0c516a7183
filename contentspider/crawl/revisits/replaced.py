"""Detects answers that replace a known page, with a success status: error pages (soft 404), login
forms and blank pages.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING
from urllib.parse import unquote

from contentspider.ground.addresses import folder_address, join
from contentspider.recrawl.changes import LIVE
from contentspider.recrawl.difference import text_hash
from contentspider.site.models.identity import page_id

if TYPE_CHECKING:
    from collections.abc import Callable

    from contentspider.page.input.page import Page
    from contentspider.state.book.book import Book
    from contentspider.state.book.pages import PageVersion

ERROR_FACT = "error_page"
UNSURE = "unsure"  # maybe an error page: the spider probes its folder first

MIN_ERROR_SHARE = 0.6  # this share of the kept text must be on the site's error page
MAX_REMAINING_SHARE = 0.2  # at most this share of the previous content is still on the page
# If this share of the runs of characters of the previous content is still on the page, the page is
# there: its lines were edited.
MIN_EDITED_SHARE, RUN_CHARS = 0.5, 8
MAX_LOGIN_CHARS = 500  # the longest text of a login form, in characters
# Error pages have the time, or the number of the request, which differ from answer to answer.
# The search begins at the start of a word only: in scripts without spaces, words can be very long.
WITH_DIGIT = re.compile(r"(?<!\S)[^\s\d]*\d\S*")


class ReplacedPages:
    """Tells which answers replace pages that the *book* knows, by the error pages that the crawl
    has got at random addresses of their folders.
    """

    def __init__(self, book: Book) -> None:
        self._facts, self._known = book.runs, book.known
        errors = self._facts.fact(ERROR_FACT) or {}
        # The texts of error pages, by folder.
        self._errors = {folder: frozenset(texts) for folder, texts in errors.items()}

    def learn_error_page(self, page: Page) -> None:
        """Remember the error page of a folder, the answer to a random address there."""
        self._errors[folder_address(page.url)] = texts_of(page)
        errors = {folder: sorted(texts) for folder, texts in self._errors.items()}
        self._facts.set_fact(ERROR_FACT, errors)

    def kind(self, page: Page, url: str, has_password: bool, content_of: Callable[[], str]) -> str:
        """Return the kind of page that replaces the page at an address: ``soft_404``, ``login``,
        ``blank``, `UNSURE` if the folder's error page is not known, or "" if the server sent the
        page.
        """
        folders = (folder_address(url), join(url, "/"))
        errors = [texts for folder in folders if (texts := self._errors.get(folder))]
        known_page = self._known.page(page_id(url))
        if known_page is None:
            return "soft_404" if any(is_like(page, error) for error in errors) else ""
        if not self._has_lost_text(known_page, page):
            return ""
        if is_blank(page):
            return "blank"
        content = content_of()
        if has_password and is_login(content):
            return "login"
        if any(is_error_page(page, content, error) for error in errors):
            return "soft_404"
        return "" if folder_address(url) in self._errors else UNSURE

    def _has_lost_text(self, known_page: PageVersion, page: Page) -> bool:
        """Tell whether a page has lost the content that it had as a known page."""
        if known_page.state != LIVE or known_page.text_hash == text_hash(page):
            return False
        return is_gone(page, self._known.content(known_page.id) or "")


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
    if not lines or _size(lines & texts) > MAX_REMAINING_SHARE * _size(lines):
        return False
    runs = set(_runs(lines))
    return len(runs.intersection(_runs(texts))) < MIN_EDITED_SHARE * len(runs) or not runs


def _runs(texts: Iterable[str]) -> Iterator[str]:
    """Yield all runs of `RUN_CHARS` characters of some texts."""
    for text in texts:
        for start in range(len(text) - RUN_CHARS + 1):
            yield text[start : start + RUN_CHARS]


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
