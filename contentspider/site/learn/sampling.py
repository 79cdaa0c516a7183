"""Chooses the sample of a site's pages that its model is learned from, in one pass.

The first pages of each template belong to it: a template of few pages is in no sample that is drawn
from all pages alike.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from contentspider.ground.address_keys import path_key
from contentspider.site.judge.slots import tag_path
from contentspider.site.models.summary import main_slot
from contentspider.site.sample import sample_order

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
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
# More pages of a rare template do not improve the labels (research/docs/experiments.md, samples by
# template).
PAGES_PER_TEMPLATE = 4
TEMPLATE_BYTES = 4

T = TypeVar("T")


def page_template(page: Page) -> bytes:
    """Return a number for the template of a page: the hash of the tag path of most of its prose."""
    path, _ = main_slot(page, tag_path)
    return blake2b(path.encode("utf-8", "replace"), digest_size=TEMPLATE_BYTES).digest()


class TemplatePages(Generic[T]):
    """The first `PAGES_PER_TEMPLATE` pages of each template of a site, at most *most* in all.

    The *rank* of a page is its number among the pages of its template. Pages are sorted by rank,
    then by their order, and the last ones are dropped if they are too many. Pages may be added in
    any order, with the same result.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._count = 0
        # The pages of each template, in their order.
        self._pages: dict[bytes, list[tuple[Any, T]]] = {}
        # The rank and order of the last page of a full collection: later pages are dropped.
        self._end: tuple[int, Any] | None = None

    def add(self, order: Any, template: bytes, page: T) -> list[T]:
        """Add a page, and return the pages that are dropped for it; *page* itself if it does not
        stay, or if it was added before. Values for *order* must be comparable.
        """
        pages = self._pages.get(template, [])
        rank = bisect_left(pages, order, key=lambda entry: entry[0])
        is_known = rank < len(pages) and pages[rank][0] == order
        is_late = self._most == 0 or (self._end is not None and (rank, order) >= self._end)
        if is_known or is_late or rank == PAGES_PER_TEMPLATE:
            return [page]
        pages.insert(rank, (order, page))
        self._pages[template] = pages
        dropped = [page for _, page in pages[PAGES_PER_TEMPLATE:]]
        del pages[PAGES_PER_TEMPLATE:]
        self._count += 1 - len(dropped)
        return dropped + self.limit(self._most)

    def limit(self, most: int) -> list[T]:
        """Drop pages until there are at most *most*, now and later. Return the dropped pages."""
        self._most = most
        dropped = []
        while self._count > most:
            _, _, template = self._last()
            dropped.append(self._pages[template].pop()[1])
            self._count -= 1
            if not self._pages[template]:
                del self._pages[template]
        self._end = self._last()[:2] if 0 < self._count == most else None
        return dropped

    def _last(self) -> tuple[int, Any, bytes]:
        """Return the rank and order of the last page, and its template."""
        return max((len(pages) - 1, pages[-1][0], name) for name, pages in self._pages.items())

    def ranked(self) -> list[T]:
        """Return the pages by rank: the first pages of all templates, then the second, and so on.

        Pages of one rank are in their order.
        """
        entries = [
            (rank, order, page)
            for pages in self._pages.values()
            for rank, (order, page) in enumerate(pages)
        ]
        return [page for _, _, page in sorted(entries, key=lambda entry: entry[:2])]


class CountingPages:
    """Yields *pages*, and counts the pages *with_text*, from which a sample is chosen."""

    def __init__(self, pages: Iterable[Page]) -> None:
        self._pages = pages
        self.with_text = 0

    def __iter__(self) -> Iterator[Page]:
        for page in self._pages:
            self.with_text += bool(page.content.blocks)
            yield page


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
