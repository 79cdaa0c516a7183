"""What stands in the place of a page that is not there: error pages that are answered as a success
(soft 404), and forms to log in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import unquote

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from contentspider.page.document import Page

# Of what an error page says, so much must be there.
SAID = 0.6
# Of what the page said before, no more may be there.
LEFT = 0.2
# What an error page, or a form to log in, may say that is new, in characters.
FEW_ERROR_CHARS = 100
FEW_LOGIN_CHARS = 500


def texts_of(page: Page) -> frozenset[str]:
    """Return the texts of a page's blocks, without the path of its address: error pages name it."""
    path = "/" + unquote(page.url.partition("://")[2].partition("/")[2])
    texts = (block.text for block in page.content.blocks)
    return frozenset(text.replace(path, "") if len(path) > 1 else text for text in texts)


def is_error_page(page: Page, error: AbstractSet[str], before: Page | None) -> bool:
    """Tell whether a *page* is the site's *error* page (its texts).

    Of a page that was known *before* nearly nothing is left, what the error page says beside it is
    there, and hardly anything else. On one that was not, nothing stands that is not on the error
    page.
    """
    now = texts_of(page)
    own = now - error
    if before is None:
        return bool(now) and not own
    old = texts_of(before)
    message, content = error - old, old - error
    return (
        bool(message and content)
        and _size(own) <= max(LEFT * _size(now), FEW_ERROR_CHARS)
        and _size(message & now) >= SAID * _size(message)
        and _size(content & now) <= LEFT * _size(content)
    )


def is_login(page: Page, before: Page, content: str) -> bool:
    """Tell whether a *page* with a field for a password is only that, in place of the *content* of
    the page that was there *before*.
    """
    now, lines = texts_of(page), frozenset(content.splitlines())
    return (
        _size(now - texts_of(before)) <= FEW_LOGIN_CHARS
        and _size(lines & now) <= LEFT * _size(lines)
        and bool(lines)
    )


def _size(texts: AbstractSet[str]) -> int:
    return sum(map(len, texts))
