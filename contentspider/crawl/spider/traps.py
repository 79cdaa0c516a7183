"""Crawler traps: endless address spaces whose pages repeat the same texts."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from scrapy.utils.datatypes import LocalCache

from contentspider.crawl.base.known_page import as_known
from contentspider.crawl.base.links import MAX_LINKS
from contentspider.crawl.spider.sessions import SURE, SessionNames
from contentspider.ground.addresses import route_of, split_address

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from contentspider.page.input.page import Page
    from contentspider.state.book.reading import Reading

logger = logging.getLogger(__name__)

# A sequence of up to four path segments, three times in a row: a link that resolves against itself.
# Heritrix has the same rule.
REPEATED = re.compile(r"(?=((?:/[^/]+){1,4})\1{2}(?:/|$))")
MAX_SEGMENTS = 50  # deeper than any real folder; stops nested paths whose segments do not repeat
# A trap is a shape with this many pages in a row without new text. On 19 whole sites the longest
# such row was 17 (and 467 for a tag page that ignores its query, all copies of one page). A limit
# of 10 would have lost no page.
BARREN_PAGES = 100
BARREN_LINKS = MAX_LINKS  # links that barren pages may add to the queue: as many as one page
# Limits of memory. A text that is forgotten counts as new again, which loses no page.
MAX_SHAPES = 10_000
# 4 MB of bits; at most 1 % of new texts are taken for known ones.
FILTER_BITS, MAX_TEXTS = 1 << 25, 2_000_000
MAX_BLOCKS, MAX_CHARS = 5_000, 10_000
NEW_NUMBERS = 3  # texts with changed numbers that make a page new; fewer may be counters or clocks

WARNINGS = {
    "session": "links are followed without their session ids, for example %s",
    "repeated": "addresses whose path repeats itself are not followed, for example %s",
    "barren": (
        "addresses like %s are not followed from one another any more: %d pages of this shape in a"
        " row had no new text"
    ),
    "cut": "%s has more than %d links: the further ones are not followed",
}


class Traps:
    """Chooses which links of a page to follow, and removes session ids from them.

    It drops links whose path repeats itself, and links between pages of *barren* shapes: shapes
    with `BARREN_PAGES` pages in a row that had no new text, and led to none.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._warned: set[str] = set()
        self._texts = TextFilter()
        # The last page, and whether it had new text.
        self._last: tuple[Page | None, bool] = (None, True)
        self._has_repeats = lru_cache(maxsize=10_000)(has_repeats)
        # By shape, the number of pages in a row without new text, and the number of their links.
        self._barren: LocalCache[str, tuple[int, int]] = LocalCache(MAX_SHAPES)
        # Addresses with a parameter that looks like a session id but selects the page.
        self._meaningful_ids: set[str] = set()
        self.sessions = SessionNames()

    def follow(self, links: Collection[str], page: Page) -> list[str]:
        """Return the links of a page that the crawl should follow."""
        shape = shape_of(page.url)
        pages, link_count = self._barren.pop(shape, (0, 0))
        if not self.has_new_text(page):
            pages += 1
            self._barren[shape] = pages, link_count + len(links)
        is_barren = self._is_barren(shape)
        followed = []
        self.sessions.compare(links)
        for link in self._without_sessions(links):
            if self._has_repeats(link):
                self.report("repeated", link)
            elif is_barren and self._is_barren(shape_of(link)):
                self.report("barren", link, pages)
            else:
                followed += self.sessions.tests(link)
        return list(dict.fromkeys(followed))

    def has_new_text(self, page: Page, reading: Reading | None = None) -> bool:
        """Tell whether a page has new text among the pages of its shape, in the order of the calls.
        A page that is as it was in the last crawl, with the result *reading*, has it if it had it
        then.
        """
        if self._last[0] is not page:
            if known := as_known(page):
                reading = known.reading
            self._last = page, not reading.is_repeated if reading else self._texts.add_page(page)
        return self._last[1]

    def is_barren_source(self, address: str) -> bool:
        """Tell whether the last page with an address of the same shape had no new text."""
        return bool(self._barren) and shape_of(address) in self._barren

    def note_source(self, address: str) -> None:
        """Record that links of the page at an *address* have led to pages with new text. Pages
        with an address of this shape then count as listings, which may repeat known text.
        """
        self._barren.pop(shape_of(address), None)

    def _is_barren(self, shape: str) -> bool:
        pages, links = self._barren.get(shape, (0, 0))
        return pages >= BARREN_PAGES or (pages > 1 and links >= BARREN_LINKS)

    def _without_sessions(self, links: Collection[str]) -> Iterator[str]:
        variants: dict[str, list[str]] = {}
        for link in links:
            variants.setdefault(self.sessions.plain(link), []).append(link)
        for plain, spellings in variants.items():
            if spellings == [plain]:
                yield plain
                continue
            if self._is_meaningful(spellings):
                self._meaningful_ids.add(plain)
            if plain in self._meaningful_ids:
                yield from spellings
            else:
                count = len(spellings) - (plain in spellings)
                self.report("session", spellings[-1], count=count)
                yield plain

    def _is_meaningful(self, spellings: list[str]) -> bool:
        """Tell whether addresses that differ only in an id are different pages. A session has one
        id, so several ids on one page identify talks or stories.
        """
        if len(spellings) <= 2 or len(self._meaningful_ids) >= MAX_SHAPES:
            return False
        return not any(map(SURE.search, spellings))

    def report(self, kind: str, address: str, *values: object, count: int = 1) -> None:
        """Count links that were dropped or changed, and log the first link of each kind."""
        if self._crawler.stats:
            self._crawler.stats.inc_value(f"contentspider/links/{kind}", count)
        if kind not in self._warned:
            self._warned.add(kind)
            logger.warning(WARNINGS[kind], address, *values)


def has_repeats(address: str) -> bool:
    """Tell whether an address's path repeats itself, such as ``/a/b/a/b/a/b``. Repeated numbers do
    not count, as in dates.

    >>> [has_repeats("https://e.org" + path) for path in ("/a/b/a/b/a/b/", "/x/en/en/en/y")]
    [True, True]
    >>> [has_repeats("https://e.org" + path) for path in ("/a/a/b/b", "/11/11/11/a")]
    [False, False]
    """
    segments = [segment for segment in split_address(address).path.split("/") if segment]
    parts = REPEATED.findall("".join("/" + segment for segment in segments))
    is_repeated = any(not part.replace("/", "").isdigit() for part in parts)
    return is_repeated or len(segments) > MAX_SEGMENTS


NUMBERED = re.compile(r"(?<![\w-])[a-zA-Z_-]*\d[\w-]*", re.ASCII)  # a word with digits
DIGITS = re.compile(r"\d+")
ID_CHARS = 12
YEAR = re.compile(r"(?:1[89]|2\d)\d\d")


def shape_of(address: str) -> str:
    """Return an address with its numbers and tokens masked, and ``?`` in place of its query.

    >>> shape_of("https://e.org/calendar/2024/05/01") == shape_of("https://e.org/calendar/1999/12/31")
    True
    >>> shape_of("https://e.org/shop?size=1&sort=up")
    'e.org/shop?'
    """
    parts = split_address(address)
    path = parts.path + route_of(address).lstrip("#")
    return parts.netloc + masked(path) + ("?" if parts.query else "")


def masked(text: str, may_mask: Callable[[str], bool] | None = None) -> str:
    """Return a text with ``#`` for the numbers in its words and for long tokens. With *may_mask*,
    a word keeps its numbers unless *may_mask* accepts all of them.
    """

    def mask(match: re.Match[str]) -> str:
        word = match[0]
        if len(word) >= ID_CHARS:
            return "#"
        if may_mask and not all(map(may_mask, DIGITS.findall(word))):
            return word
        return DIGITS.sub("#", word)

    return NUMBERED.sub(mask, text) if DIGITS.search(text) else text


def numbered_texts(texts: Iterable[str], address: str) -> list[str]:
    """Return the texts that have numbers, with the numbers of a calendar, a clock or a counter
    masked: numbers below 100, years, and numbers in the *address*.

    >>> numbered_texts(["Page 7 of 2024", "Part 4711", "Tea"], "/part?id=7")
    ['Page # of #', 'Part 4711']
    """

    def is_calendar(number: str) -> bool:
        return len(number) < 3 or bool(YEAR.fullmatch(number)) or number in address

    return [masked(text, is_calendar) for text in texts if DIGITS.search(text)]


class TextFilter:
    """The set of texts that a crawl has read, as a Bloom filter. A full filter is emptied."""

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self._bits = bytearray(FILTER_BITS // 8)
        self._count = 0

    def add(self, text: str) -> bool:
        """Add a text; return whether it is new."""
        code = hash(text)
        is_new = False
        for place in (code % FILTER_BITS, (code >> 32) % FILTER_BITS):
            byte, bit = place >> 3, 1 << (place & 7)
            if not self._bits[byte] & bit:
                self._bits[byte] |= bit
                is_new = True
        self._count += is_new
        if self._count > MAX_TEXTS:
            self._clear()
        return is_new

    def add_page(self, page: Page) -> bool:
        """Add a page's texts; return whether the page has new text among the pages of its shape.

        Texts are compared with their numbers masked. A text with only new numbers counts
        too, if the page has `NEW_NUMBERS` of them (see `numbered_texts`).
        """
        shape = shape_of(page.url)
        if "#" not in shape and "?" not in shape:
            return True
        parts = split_address(page.url)
        blocks = page.content.blocks[:MAX_BLOCKS]
        texts = [*page.hints.texts(), *(block.text for block in blocks)]
        texts = [text[:MAX_CHARS] for text in texts]
        if sum([self.add(shape + masked(text)) for text in texts]):
            return True
        numbered = numbered_texts(texts, f"{parts.path}?{parts.query}")
        return sum([self.add(f"#{shape}{text}") for text in numbered]) >= NEW_NUMBERS
