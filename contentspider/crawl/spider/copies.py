"""Recognises copies: pages whose texts the crawl has read at other addresses. Links of copies are
left out when they lead to copies without end.
"""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import unquote

from scrapy import signals
from scrapy.utils.datatypes import LocalCache

from contentspider.crawl.spider.traps import (
    MAX_BLOCKS,
    MAX_TEXTS,
    NEW_NUMBERS,
    TextFilter,
    masked,
    numbered_texts,
)
from contentspider.ground.addresses import split_address
from contentspider.page.tree.text import runs
from contentspider.state.outcome import ENDLESS_STAT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.crawler import Crawler

    from contentspider.page.input.page import Page

logger = logging.getLogger(__name__)

# A page is called worn if the crawl has read each of its texts at this many other addresses. Print
# views, mirrors and other forms of an address make fewer copies.
WORN_COUNT = 10
# The links of copies with the same text are left out when MAX_COPIES of these copies had unknown
# links, and MAX_COPIES of these links in a row led to worn pages. MAX_WORN is the limit for the
# links of all worn pages together.
MAX_COPIES = 100
MAX_WORN = 500
ANY_TEXT = 0  # stands for the texts of all pages together
MAX_DOUBTED = 100_000  # addresses in memory; if one is forgotten, it is requested
MAX_FOLDERS = 50  # folders whose addresses are counted one by one
COUNTERS = 1 << 23  # bytes
MAX_COUNT = 255
# A longer text cannot consist of words of the address alone.
SHORT_CHARS = 200
END_CHARS = SHORT_CHARS // 2
FIRST_TEXTS = 3  # the longest texts of a page, which are compared first
MAX_CACHED = 5_000  # short texts; they take 5 MB at most
SKIP_REASON = "trap"


class TextCounts:
    """Counts texts in a fixed amount of memory (a count-min sketch). A count may be too high, for
    one text in many; after `MAX_TEXTS` texts it starts from zero.
    """

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self._counters = bytearray(COUNTERS)
        self._texts = 0

    def add(self, text: str) -> int:
        """Count a text; return how often it was counted before, up to `MAX_COUNT`."""
        code, counters = hash(text), self._counters
        first, second = code % COUNTERS, (code >> 32) % COUNTERS
        count = min(counters[first], counters[second])
        if count < MAX_COUNT:
            counters[first] = max(counters[first], count + 1)
            counters[second] = max(counters[second], count + 1)
        self._texts += not count
        if self._texts > MAX_TEXTS:
            self._clear()
        return count


@dataclass(frozen=True, slots=True)
class ShortText:
    """A short text with its numbers *masked*, and its *words* in lower case."""

    masked: str
    words: frozenset[str]

    @classmethod
    def read(cls, text: str) -> ShortText:
        """Return a text with masked numbers, and with its words."""
        masked_text = masked(text)
        return cls(masked_text, frozenset(runs(masked_text.casefold())))

    def without(self, words: frozenset[str]) -> str:
        """Return the text without some words: error pages and trails of links repeat their address.

        >>> ShortText.read("Home / Products / Tea").without(frozenset(["products", "tea"]))
        'Home'
        """
        if self.words.isdisjoint(words):
            return self.masked
        return " ".join(word for word in runs(self.masked) if word.casefold() not in words)


@dataclass(frozen=True, slots=True)
class Copy:
    """A page without new text: a hash of its *text*, and whether the page is worn."""

    text: int
    is_worn: bool


class EndlessCopies:
    """Decides which links of copies to follow. A copy is a page without a new text or a new image.
    A copy is worn if the crawl has read each of its texts at `WORN_COUNT` other addresses.

    An address that only copies link to is in doubt. If `MAX_COPIES` such addresses in a row turn
    out to be worn pages, and `MAX_COPIES` copies have named them, the copies lead to nothing but
    copies. Then addresses in doubt are left out, also queued ones. A few listings whose many
    entries look alike do not have this effect. An address is no longer in doubt when a sitemap, a
    feed or a page with new text names it.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._counts = TextCounts()
        self._numbers = TextFilter()
        # Most short texts are on many pages.
        self._short_text = lru_cache(maxsize=MAX_CACHED)(ShortText.read)
        # The queued addresses in doubt, each with the copy that it depends on (see `doubt`).
        self._doubted: LocalCache[str, Copy] = LocalCache(MAX_DOUBTED)
        # Queued addresses that were left out.
        self._skipped: LocalCache[str, None] = LocalCache(MAX_DOUBTED)
        # Two counts for the text of a copy: how many addresses in doubt, one after another, led to
        # worn pages, and how many copies with the text had unknown links meanwhile.
        self._rows: LocalCache[int, int] = LocalCache(MAX_DOUBTED)
        self._sources: LocalCache[int, int] = LocalCache(MAX_DOUBTED)
        self._folders: Counter[str] = Counter()
        crawler.signals.connect(self.closed, signal=signals.spider_closed)

    def read(self, address: str, page: Page) -> Copy | None:
        """Count the texts of the page that *address* led to. Return the page as a copy; None if it
        has new text.
        """
        copy = self._count(page)
        parent = self._doubted.pop(address, None)
        if parent is not None:
            is_worn = copy is not None and copy.is_worn
            for text in (parent.text, ANY_TEXT):
                self._rows[text] = self._rows.get(text, 0) + 1 if is_worn else 0
                if not is_worn:
                    self._sources[text] = 0
        return copy

    def _count(self, page: Page) -> Copy | None:
        """Count the texts of a page; return the page if it is a copy."""
        blocks = page.content.blocks[:MAX_BLOCKS]
        texts = [*page.hints.texts(), *(block.text for block in blocks)]
        long_texts = [text for text in texts if len(text) > SHORT_CHARS]
        long_texts.sort(key=len, reverse=True)
        keys = [_shortened(text) for text in long_texts[:FIRST_TEXTS]]
        counts = [self._counts.add(key) for key in keys]
        if not min(counts, default=MAX_COUNT):
            return None  # most pages: their other texts need not be counted
        keys += map(_shortened, long_texts[FIRST_TEXTS:])
        counts += map(self._counts.add, keys[FIRST_TEXTS:])
        parts = split_address(page.url)
        address = f"{parts.path}?{parts.query}"
        words = frozenset(runs(unquote(address).casefold()))
        short_texts = [self._short_text(text) for text in texts if len(text) <= SHORT_CHARS]
        counts += self._counts_without(short_texts, words)
        if not counts:
            counts = [self._counts.add("")]  # a page without text
        has_new_image = self._has_new_image(page)
        if not min(counts) or has_new_image or self._has_new_numbers(texts, address):
            return None
        # Texts that name the address differ from copy to copy.
        keys += (text.masked for text in short_texts if text.words.isdisjoint(words))
        return Copy(hash(tuple(keys)), min(counts) >= WORN_COUNT)

    def _counts_without(self, texts: list[ShortText], words: frozenset[str]) -> Iterator[int]:
        """Count the texts without some words, and yield the earlier counts. Texts that consist of
        these words are ignored.
        """
        for text in texts:
            if other_words := text.without(words):
                yield self._counts.add(other_words)

    def _has_new_numbers(self, texts: list[str], address: str) -> bool:
        """Tell whether a page has texts whose numbers are new."""
        new_numbers = map(self._numbers.add, numbered_texts(texts, address))
        return sum(list(new_numbers)) >= NEW_NUMBERS

    def _has_new_image(self, page: Page) -> bool:
        """Tell whether a page has an image that no counted page had, as the pages of a gallery do.
        Queries do not count: an image that counts visitors has the page's address in its own.
        """
        counts = [
            self._counts.add("image " + image[1].partition("?")[0])
            for block in page.content.blocks[:MAX_BLOCKS]
            for image in block.images
        ]
        return not min(counts, default=1)

    def is_endless(self, copy: Copy) -> bool:
        """Tell whether the links of a copy lead to nothing but worn pages."""
        is_any_endless = copy.is_worn and self._reaches(ANY_TEXT, MAX_WORN)
        return is_any_endless or self._reaches(copy.text, MAX_COPIES)

    def _reaches(self, text: int, limit: int) -> bool:
        return min(self._rows.get(text, 0), self._sources.get(text, 0)) >= limit

    def note_source(self, copy: Copy) -> None:
        """Record that a copy has links that were unknown."""
        for text in (copy.text, ANY_TEXT):
            if text != ANY_TEXT or copy.is_worn:
                self._sources[text] = self._sources.get(text, 0) + 1

    def doubt(self, address: str, copy: Copy) -> None:
        """Record that a copy links to a queued address that only copies link to. If several
        copies do, the address depends on the copy whose text the fewest copies share: on a listing,
        not on its many entries.
        """
        earlier = self._doubted.get(address)
        if earlier is None or self._source_count(copy) < self._source_count(earlier):
            self._doubted[address] = copy

    def _source_count(self, copy: Copy) -> int:
        return self._sources.get(copy.text, 0)

    def is_queued_in_doubt(self, address: str) -> bool:
        """Tell whether an address in doubt is queued. It may have been answered meanwhile."""
        return address in self._doubted

    def is_doubted(self, address: str) -> bool:
        """Tell whether only copies have linked to an address."""
        return address in self._doubted or address in self._skipped

    def trust(self, address: str) -> bool:
        """Record that something other than a copy names an address. Return whether the address was
        taken out of the queue, and must be queued again.
        """
        self._doubted.pop(address, None)
        is_skipped = address in self._skipped
        self._skipped.pop(address, None)
        return is_skipped

    def skips(self, address: str) -> bool:
        """Tell whether a queued address is left out, and record that it is."""
        copy = self._doubted.get(address)
        if copy is None or not self.is_endless(copy):
            return False
        del self._doubted[address]
        self._skipped[address] = None
        self.leave(address)
        return True

    def leave(self, address: str) -> None:
        """Count an address that is left out."""
        if not self._folders:
            logger.warning(
                "copies of pages lead to nothing but copies: %s and further addresses that only"
                " copies link to are left out",
                address,
            )
        parts = split_address(address)
        folder = parts.netloc + "/" + "/".join(parts.path.split("/")[1:2])
        is_listed = folder in self._folders or len(self._folders) < MAX_FOLDERS
        self._folders[folder if is_listed else parts.netloc] += 1

    def closed(self) -> None:
        """Store in the stats how many addresses were left out, by host and first folder."""
        assert self._crawler.stats
        for folder, count in self._folders.items():
            self._crawler.stats.set_value(ENDLESS_STAT + folder, count)


def _shortened(text: str) -> str:
    """Return the beginning and the end of a long text, which identify it."""
    return masked(text[:END_CHARS] + text[-END_CHARS:])
