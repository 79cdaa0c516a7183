"""What stands in the place of a page that is not there: error pages answered as a success (soft
404), and forms to log in.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from contentspider.page.document import Page

# Of what an error page says, so much must be there; its address is often in it, and differs.
SAID = 0.6
# Of what the page said before, no more may be there.
LEFT = 0.2
# What a form to log in, or an error page, may say that is new, in characters.
FEW_CHARS = 500


def texts_of(page: Page) -> Counter[str]:
    """Return the texts of a page's blocks, each with its length as often as it is there."""
    found: Counter[str] = Counter()
    for block in page.content.blocks:
        found[block.text] += len(block.text)
    return found


def is_error_page(page: Page, error: Counter[str], before: Page | None) -> bool:
    """Tell whether a *page* is the site's *error* page (its texts, as `texts_of` counts them).

    Of a page that was known *before* nearly nothing must be left, what the error page says beside
    it must be there, and hardly anything else. Of one that was not, nothing may stand there that
    is not on the error page, but its own address.
    """
    now = texts_of(page)
    own = now - error
    if before is None:
        name = page.url.partition("://")[2].partition("/")[2]
        return bool(error) and all(name and name in text for text in own)
    old = texts_of(before)
    message = error - old
    content = old - error
    return (
        _is_small(own, now)
        and _share(message, now) >= SAID
        and _share(content, now) <= LEFT
        and bool(message and content)
    )


def is_login(page: Page, before: Page) -> bool:
    """Tell whether a *page* with a field for a password is only that, in place of what was there
    *before*.
    """
    now, old = texts_of(page), texts_of(before)
    added = now - old
    return sum(added.values()) <= FEW_CHARS and _share(old - (old & now), old) >= 1 - LEFT


def _is_small(part: Counter[str], whole: Counter[str]) -> bool:
    return sum(part.values()) <= max(LEFT * sum(whole.values()), FEW_CHARS // 5)


def _share(part: Iterable[str], whole: Counter[str]) -> float:
    """Return how much of *part*, by length, is in *whole*."""
    lengths = [(len(text), text in whole) for text in part]
    return sum(length for length, there in lengths if there) / max(sum(n for n, _ in lengths), 1)
