"""Crawler traps: addresses without end that bring nothing."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from scrapy.utils.datatypes import LocalCache

from contentspider.crawl.base.links import MAX_LINKS
from contentspider.ground.addresses import split_address

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from contentspider.page.input.page import Page

logger = logging.getLogger(__name__)

# Up to four names three times in a row: a link that resolves against itself (as in Heritrix).
REPEATED = re.compile(r"(?=((?:/[^/]+){1,4})\1{2}(?:/|$))")
MAX_SEGMENTS = 50  # deeper than any folder: bounds nests whose names do not repeat
# So many pages of one shape in a row that said nothing new are no accident: on 19 whole sites the
# longest such row, but for one of pure copies (467, a tag page that ignores its query), was 17, and
# a limit of 10 would have lost no page.
BARREN_PAGES = 100
BARREN_LINKS = MAX_LINKS  # what their pages may add to the queue: as much as a single page
# Bounds of memory. What is forgotten counts as new again: forgetting loses no page.
MAX_SHAPES = 10_000
SEEN_BITS, MAX_SEEN = 1 << 25, 2_000_000  # 4 MB; at most 1 % of new texts are taken for known
MAX_BLOCKS, MAX_CHARS = 5_000, 10_000
NEW_NUMBERS = 3  # that changed in known texts: fewer are counters and clocks

WARNINGS = {
    "session": "session ids are taken out of addresses, such as %s",
    "repeated": "addresses that repeat their own path are not followed, such as %s",
    "barren": (
        "addresses like %s are not followed from one another any more: %d pages of this shape in a"
        " row said nothing new"
    ),
    "cut": "%s has more than %d links: the others are not followed",
}


class Traps:
    """Tells which of a page's links to follow: no path that repeats itself, none among *barren*
    shapes, of which `BARREN_PAGES` in a row said nothing new; without session ids.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._warned: set[str] = set()
        self._seen = SeenTexts()
        self._repeats = lru_cache(maxsize=10_000)(repeats)
        # By shape, the pages in a row that said nothing new, and how many links they had.
        self._barren: LocalCache[str, tuple[int, int]] = LocalCache(MAX_SHAPES)
        # Addresses whose "session id" says which page is meant.
        self._meaningful_ids: set[str] = set()

    def follow(self, links: list[str], page: Page) -> list[str]:
        """Return those of a page's links that are to be followed."""
        shape = shape_of(page.url)
        pages, before = self._barren.pop(shape, (0, 0))
        if not self._seen.add_page(page, shape):
            pages += 1
            self._barren[shape] = pages, before + len(links)
        is_barren = self._is_barren(shape)
        followed = []
        for link in self._without_sessions(links):
            if self._repeats(link):
                self.report("repeated", link)
            elif is_barren and self._is_barren(shape_of(link)):
                self.report("barren", link, pages)
            else:
                followed.append(link)
        return followed

    def _is_barren(self, shape: str) -> bool:
        pages, links = self._barren.get(shape, (0, 0))
        return pages >= BARREN_PAGES or (pages > 1 and links >= BARREN_LINKS)

    def _without_sessions(self, links: list[str]) -> Iterator[str]:
        variants: dict[str, list[str]] = {}
        for link in links:
            variants.setdefault(without_session(link), []).append(link)
        for plain, found in variants.items():
            if found == [plain]:
                yield plain
                continue
            # A session has one id. Where one page's links differ by the id alone, it is that of a
            # talk or a story.
            if (
                len(found) > 2
                and len(self._meaningful_ids) < MAX_SHAPES
                and not any(map(SURE.search, found))
            ):
                self._meaningful_ids.add(plain)
            if plain in self._meaningful_ids:
                yield from found
            else:
                self.report("session", found[-1], count=len(found) - (plain in found))
                yield plain

    def report(self, kind: str, address: str, *values: object, count: int = 1) -> None:
        """Count what was not followed, and say the first of its kind."""
        if self._crawler.stats:
            self._crawler.stats.inc_value(f"contentspider/links/{kind}", count)
        if kind not in self._warned:
            self._warned.add(kind)
            logger.warning(WARNINGS[kind], address, *values)


# Names that mean nothing else, and names that may also be those of a story, a talk or a term.
SURE_SESSION = r"(?:jsessionid|php_?sess(?:ion)?_?id|aspsessionid[a-z]*|oscsid|zenid)=[\w.!~-]{16,}"
# 26 letters and digits without a hyphen: PHP's and everybody's ids; a UUID or a word is content's.
LIKELY_SESSION = r"(?:sid|sess|session|sess(?:ion)?_?id)=(?=[a-z]*\d)(?=\d*[a-z])[0-9a-z]{26,}"
SURE = re.compile(f"[;?&]{SURE_SESSION}", re.IGNORECASE)
SESSION = f"(?:{SURE_SESSION}|{LIKELY_SESSION})"
SESSION_IN_PATH = re.compile(
    rf";{SESSION}(?=[;/?]|$)|/\((?:[asf]\([\w-]{{16,}}\))+\)(?=/)", re.IGNORECASE
)  # /(S(...))/: ASP.NET without cookies
SESSION_IN_QUERY = re.compile(rf"(?<=[?&]){SESSION}(?:&|$)", re.IGNORECASE)
MAY_HOLD_SESSION = re.compile(r"id=|sess|/\(", re.IGNORECASE)


def without_session(address: str) -> str:
    """Return an address without the session ids in it.

    >>> without_session("https://e.org/a;jsessionid=0123456789ABCDEF0123456789ABCDEF?b=1&PHPSESSID=0123456789abcdef0123456789")
    'https://e.org/a?b=1'
    >>> without_session("https://e.org/talk?session_id=how-we-learned-to-love-2024&sid=12345")
    'https://e.org/talk?session_id=how-we-learned-to-love-2024&sid=12345'
    """
    if not MAY_HOLD_SESSION.search(address):
        return address
    path, mark, query = address.partition("?")
    kept = SESSION_IN_QUERY.sub("", mark + query)
    if len(kept) < len(mark + query):
        kept = kept.rstrip("&?")
    return SESSION_IN_PATH.sub("", path) + kept


def repeats(address: str) -> bool:
    """Tell whether an address's path repeats itself: ``/a/b/a/b/a/b``; numbers alone may repeat, as
    dates do.

    >>> [repeats("https://e.org" + path) for path in ("/a/b/a/b/a/b/", "/x/en/en/en/y")]
    [True, True]
    >>> [repeats("https://e.org" + path) for path in ("/a/a/b/b", "/11/11/11/a")]
    [False, False]
    """
    segments = [segment for segment in split_address(address).path.split("/") if segment]
    parts = REPEATED.findall("".join("/" + segment for segment in segments))
    is_repeated = any(not part.replace("/", "").isdigit() for part in parts)
    return is_repeated or len(segments) > MAX_SEGMENTS


NUMBERED = re.compile(r"(?<![\w-])[a-zA-Z_-]*\d[\w-]*", re.ASCII)  # a word that has digits
DIGITS = re.compile(r"\d+")
ID_CHARS = 12
YEAR = re.compile(r"(?:1[89]|2\d)\d\d")


def shape_of(address: str) -> str:
    """Return an address with numbers and tokens blanked, and of its query only that it has one.

    >>> shape_of("https://e.org/calendar/2024/05/01") == shape_of("https://e.org/calendar/1999/12/31")
    True
    >>> shape_of("https://e.org/shop?size=1&sort=up")
    'e.org/shop?'
    """
    parts = split_address(address)
    return parts.netloc + blanked(parts.path) + ("?" if parts.query else "")


def blanked(text: str, is_blank: Callable[[str], bool] | None = None) -> str:
    """Return a text without the numbers in its words, or without those that are *is_blank*."""

    def blank(match: re.Match[str]) -> str:
        word = match[0]
        if len(word) >= ID_CHARS:
            return "#"
        is_kept = is_blank and not all(map(is_blank, DIGITS.findall(word)))
        return word if is_kept else DIGITS.sub("#", word)

    return NUMBERED.sub(blank, text)


class SeenTexts:
    """Which texts a crawl has seen: a Bloom filter, emptied when it is full."""

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self._bits = bytearray(SEEN_BITS // 8)
        self._count = 0

    def add(self, text: str) -> bool:
        """Note a text and tell whether it is new."""
        code = hash(text)
        is_new = False
        for place in (code % SEEN_BITS, (code >> 32) % SEEN_BITS):
            byte, bit = place >> 3, 1 << (place & 7)
            if not self._bits[byte] & bit:
                self._bits[byte] |= bit
                is_new = True
        self._count += is_new
        if self._count > MAX_SEEN:
            self._clear()
        return is_new

    def add_page(self, page: Page, shape: str) -> bool:
        """Note a page's texts; tell whether it said what no page of its shape had (a pagination
        says what others of its site do). Numbers below 100, years, and those of the address are
        blanked: a calendar, a clock or a counter says nothing new. Others count where several
        changed.
        """
        if "#" not in shape and "?" not in shape:
            return True
        parts = split_address(page.url)
        address = f"{parts.path}?{parts.query}"

        def is_calendar(number: str) -> bool:
            return len(number) < 3 or bool(YEAR.fullmatch(number)) or number in address

        blocks = page.content.blocks[:MAX_BLOCKS]
        texts = [*page.hints.texts(), *(block.text for block in blocks)]
        texts = [text[:MAX_CHARS] for text in texts]
        if sum([self.add(shape + blanked(text)) for text in texts]):
            return True
        numbered = [text for text in texts if DIGITS.search(text)]
        changed = [self.add(f"#{shape}{blanked(text, is_calendar)}") for text in numbered]
        return sum(changed) >= NEW_NUMBERS
