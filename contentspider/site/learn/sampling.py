"""Chooses the sample of a site's pages that its model is learned from, in one pass."""

from __future__ import annotations

from bisect import insort
from typing import TYPE_CHECKING

from contentspider.site.learn.templates import TemplatePages, page_template
from contentspider.site.own.matching import path_key
from contentspider.site.sample import sample_order

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from typing import TypeAlias

    from contentspider.page.input.page import Page

    Order: TypeAlias = tuple[bytes, tuple[str, ...]]

# More pages take longer and do not improve the labels (research/docs/experiments.md, learning
# curve).
MAX_SAMPLE = 200
# One page in this many represents its template, if the site has rare templates.
TEMPLATE_PART = 4
# A sample of pages with hundreds of blocks is smaller, but has at least MIN_SAMPLE pages: learning
# takes about 1 s for 12,000 blocks.
MAX_SAMPLE_BLOCKS = 25_000
MIN_SAMPLE = 40
# The memory limit of a sample, in characters of texts and paths; each block counts as BLOCK_CHARS
# more. 200 pages of an ordinary website have up to 69 million; only hostile pages have more.
MAX_SAMPLE_CHARS = 80_000_000
BLOCK_CHARS = 500
# A page that takes more than this part of the memory is not in a sample for its template.
LARGE_PAGE = 100
# The sample prefers up to this many pages with an own text. Ten of them improve the labels nearly
# as much.
MAX_WITH_TEXT = 40


def sample_pages(pages: Iterable[Page], text_keys: Collection[str] = ()) -> list[Page]:
    """Return at most `MAX_SAMPLE` of the *pages* with text, in the order of `sample_order`.

    The sample is smaller if it would have more than `MAX_SAMPLE_BLOCKS` blocks. Most pages are the
    first in `sample_order`. One in `TEMPLATE_PART` is among the first pages of its template
    (`TemplatePages`), so that the sample has rare templates. Up to `MAX_WITH_TEXT` pages with an
    own text are preferred: *text_keys* has the keys of their addresses (`path_key`). The order of
    *pages* does not matter.
    """
    with_text, without_text = _FirstPages(MAX_SAMPLE + MAX_WITH_TEXT), _FirstPages(MAX_SAMPLE)
    of_templates: TemplatePages[Page] = TemplatePages(MAX_SAMPLE)
    for page in pages:
        if not page.content.blocks:
            continue
        # Addresses are compared by path, since own texts may be at an old domain of the site.
        has_text = bool(text_keys) and path_key(page.url) in text_keys
        (with_text if has_text else without_text).add(page)
        _add_template(of_templates, page)
    preferred, other_pages = with_text.pages[:MAX_WITH_TEXT], with_text.pages[MAX_WITH_TEXT:]
    first = preferred + sorted(other_pages + without_text.pages, key=_order)
    ranked = of_templates.ranked()
    sample = _choose(first, ranked, MAX_SAMPLE)
    blocks = sum(len(page.content.blocks) for page in sample)
    if blocks > MAX_SAMPLE_BLOCKS:
        size = max(MIN_SAMPLE, len(sample) * MAX_SAMPLE_BLOCKS // blocks)
        sample = _choose(first, ranked, size)
    return sorted(sample, key=_order)


def mergeable_sample(pages: Iterable[Page]) -> list[Page]:
    """Return the pages that `sample_pages` may choose from these and any other pages of their site.

    They are some 400 at most. The sample of several such samples is the sample of all their pages.
    """
    first = _FirstPages(MAX_SAMPLE)
    of_templates: TemplatePages[Page] = TemplatePages(MAX_SAMPLE)
    for page in pages:
        if page.content.blocks:
            first.add(page)
            _add_template(of_templates, page)
    return [*first.pages, *of_templates.ranked()]


def _add_template(of_templates: TemplatePages[Page], page: Page) -> None:
    """Add a page to the pages of templates, unless it is too large."""
    if _chars(page) <= MAX_SAMPLE_CHARS // LARGE_PAGE:
        of_templates.add(_order(page), page_template(page), page)


def _choose(first: Sequence[Page], ranked: Iterable[Page], size: int) -> list[Page]:
    """Return *size* pages: most from *first*, and then from *ranked*, the pages of templates by
    their rank. Further pages of *first* take the places that stay empty.
    """
    most = size - size // TEMPLATE_PART
    sample = {_order(page) for page in first[:most]}
    of_templates = [page for page in ranked if _order(page) not in sample][: size // TEMPLATE_PART]
    sample = set(map(_order, of_templates))
    next_pages = [page for page in first[most:] if _order(page) not in sample]
    return [*first[:most], *of_templates, *next_pages][:size]


class _FirstPages:
    """Collects the first *max_pages* of all added pages, in the order of samples.

    If the pages have more than `MAX_SAMPLE_CHARS` together, it keeps fewer, but at least one.
    """

    def __init__(self, max_pages: int) -> None:
        self._max_pages = max_pages
        self._chars = self._added = 0
        # Pages from this key on were dropped, and are not accepted any more.
        self._end: Order | None = None
        self._entries: list[tuple[Order, int, Page]] = []

    @property
    def pages(self) -> list[Page]:
        """Return the pages in the order of samples."""
        return [page for _, _, page in self._entries]

    def add(self, page: Page) -> None:
        """Add a page, and drop the last pages if there are too many."""
        key = _order(page)
        if self._end is not None and key >= self._end:
            return
        self._added += 1
        self._chars += _chars(page)
        insort(self._entries, (key, self._added, page))
        is_long = self._chars > MAX_SAMPLE_CHARS
        while len(self._entries) > self._max_pages or (is_long and len(self._entries) > 1):
            self._end, _, last = self._entries.pop()
            self._chars -= _chars(last)
            is_long = self._chars > MAX_SAMPLE_CHARS


def _chars(page: Page) -> int:
    return sum(len(block.text) + len(block.path) + BLOCK_CHARS for block in page.content.blocks)


def _order(page: Page) -> Order:
    """Return the sort key of a page in samples; pages with one address are sorted by their text."""
    return sample_order(page.url), tuple(block.text for block in page.content.blocks)
