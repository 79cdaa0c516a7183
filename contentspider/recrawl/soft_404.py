"""What stands in the place of a page that is not there: error pages that are answered as a success
(soft 404), and forms to log in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import unquote

if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Set as AbstractSet

    from contentspider.page.input.page import Page

# Of what is kept of a page so much must be said by the site's error page.
SAID = 0.6
# Of what the page said before, no more may be there.
LEFT = 0.2
# A form to log in says no more, in characters.
FEW_CHARS = 500


def texts_of(page: Page) -> frozenset[str]:
    """Return the texts of a page's blocks, without the path of its address: error pages name it."""
    return _lines((block.text for block in page.content.blocks), page.url)


def _lines(texts: Iterable[str], url: str) -> frozenset[str]:
    path = "/" + unquote(url.partition("://")[2].partition("/")[2])
    return frozenset(text.replace(path, "") if len(path) > 1 else text for text in texts)


def is_gone(page: Page, before: str) -> bool:
    """Tell whether nearly nothing of the main content that a page had *before* is on it."""
    lines = frozenset(before.splitlines())
    there = frozenset(block.text for block in page.content.blocks)
    return bool(lines) and _size(lines & there) <= LEFT * _size(lines)


def is_error_page(page: Page, content: str, error: AbstractSet[str]) -> bool:
    """Tell whether a *page* of whose content nothing is left is the site's *error* page (its
    texts): what is kept of it as its *content* stands there, too.
    """
    lines = _lines(content.splitlines(), page.url)
    if not lines:
        return is_like(page, error)
    return _size(lines & error) >= SAID * _size(lines)


def is_like(page: Page, error: AbstractSet[str]) -> bool:
    """Tell whether nothing stands on a *page* that is not on the *error* page."""
    now = texts_of(page)
    return bool(now) and now <= error


def is_login(content: str) -> bool:
    """Tell whether what is kept of a page with a field for a password, of whose content nothing is
    left, is no more than a form.
    """
    return len(content) <= FEW_CHARS


def _size(texts: AbstractSet[str]) -> int:
    return sum(map(len, texts))
