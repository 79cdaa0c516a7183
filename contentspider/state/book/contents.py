"""What pages consist of (their blocks, items, links and texts): each stored once, compressed once.

Contents of one kind are alike, so they are compressed with a dictionary (RFC 8878, "raw content").
A content may also have a *base*: another content that holds most of its text. The item of a page is
stored after its page so.
"""

from __future__ import annotations

import sys
from collections import OrderedDict
from functools import lru_cache
from typing import TYPE_CHECKING

from contentspider.ground.compression import MAX_BYTES
from contentspider.ground.errors import DAMAGE

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from typing import TypeAlias

    from contentspider.page.input.page import Page
    from contentspider.state.book.database import Database

    Words: TypeAlias = "tuple[zstd.ZstdDict, int] | None"

PAGE, ITEM, LINKS, TEXT = "page", "item", "links", "text"
LEVEL = 3
OPTIONS: dict[int, int] = {
    zstd.CompressionParameter.compression_level: LEVEL,
    zstd.CompressionParameter.checksum_flag: 1,  # or some damage would change a text unseen
}
ENOUGH = 20  # the number of contents that make a dictionary
WORDS_BYTES = 112_000
WORTH = 0.85  # a new dictionary is made if the present one leaves more of a content than this share
CACHE_BYTES = 4_000_000  # of contents that were read or written last
MAX_CACHED_BASES = 1_000
MAX_BASES = 3  # of a content that is a base itself; a longer chain is damage


class Contents:
    """The contents in the table of a book."""

    def __init__(self, database: Database) -> None:
        self._database = database
        # By kind: the number of the present dictionary (None: none) and its words; and the
        # contents that may make the next one, with the sum of their packed sizes.
        self._present: dict[str, tuple[int | None, bytes]] = {}
        self._recent: dict[str, tuple[list[bytes], int]] = {}
        self._words: dict[int, bytes] = {}
        self._digested: dict[int, zstd.ZstdDict] = {}
        self._cache: OrderedDict[int, bytes] = OrderedDict()
        self._cached_bytes = 0
        self.base = lru_cache(MAX_CACHED_BASES)(self._base)

    def page(self, number: int) -> Page:
        """Return a page; raises an error of `DAMAGE` or `ContentSpiderError` if it is damaged."""
        from contentspider.page.input.page import Page  # takes a while, and status reads none

        return Page.parse(self.get(number))

    def forget(self) -> None:
        """Clear the caches after a rollback of the database."""
        self._present.clear()
        self._recent.clear()
        self._words.clear()
        self._digested.clear()
        self._cache.clear()
        self._cached_bytes = 0
        self.base.cache_clear()

    def put(self, kind: str, data: bytes, base: int | None = None) -> int:
        """Store a content and return its number. *base* is the number of a content like it."""
        if kind not in self._present:
            self._present[kind] = self._newest(kind)
        number, words = self._present[kind]
        if base is not None and self._is_long(base):
            base = self.base(base)
        try:
            words += self.get(base) if base is not None else b""
        except DAMAGE:
            base = None
        packed = _pack(data, self._dictionary(None if base is not None else number, words, True))
        added = self._database.do(
            "INSERT INTO contents (kind, dictionary, base, data) VALUES (?, ?, ?, ?)",
            (kind, number, base, packed),
        )
        if base is None:  # others are not compressed by the dictionary
            self._note(kind, data, len(packed))
        self._keep(added.lastrowid or 0, data)
        return added.lastrowid or 0

    def get(self, number: int, _bases: int = 0) -> bytes:
        """Return a content; raises one of `DAMAGE` if it is damaged or missing."""
        data = self._cache.get(number)
        if data is not None:
            self._cache.move_to_end(number)
            return data
        row = self._database.row(
            "SELECT dictionary, base, data FROM contents WHERE number = ?", (number,)
        )
        if row is None:
            raise LookupError(f"content {number} is missing")
        if _bases > MAX_BASES + 1:
            raise ValueError(f"content {number} has too many bases")
        dictionary, base, packed = row
        words = self._words_of(dictionary)
        if base is not None:
            words += self.get(base, _bases + 1)
        data = _unpack(packed, self._dictionary(None if base is not None else dictionary, words))
        self._keep(number, data)
        return data

    def _base(self, number: int) -> int | None:
        """Return the number of a content's base, None for none."""
        query = "SELECT base FROM contents WHERE number = ?"
        base: int | None = self._database.value(query, (number,))
        return base

    def _is_long(self, number: int) -> bool:
        """Tell whether a content has too many bases to be a base itself."""
        base: int | None = number
        for _ in range(MAX_BASES):
            base = self.base(base) if base is not None else None
        return base is not None

    def kind(self, number: int) -> str:
        """Return the kind of a content, "" if it is missing."""
        query = "SELECT kind FROM contents WHERE number = ?"
        return str(self._database.value(query, (number,)) or "")

    def _newest(self, kind: str) -> tuple[int | None, bytes]:
        query = "SELECT number, words FROM dictionaries WHERE kind = ? ORDER BY number DESC LIMIT 1"
        return self._database.row(query, (kind,)) or (None, b"")

    def _words_of(self, dictionary: int | None) -> bytes:
        if dictionary is None:
            return b""
        if dictionary not in self._words:
            query = "SELECT words FROM dictionaries WHERE number = ?"
            self._words[dictionary] = self._database.value(query, (dictionary,)) or b""
        return self._words[dictionary]

    def _dictionary(self, number: int | None, words: bytes, is_packing: bool = False) -> Words:
        """Return words in the form for one use, or in the form for many uses of a dictionary."""
        if not words:
            return None
        if number is None:
            return zstd.ZstdDict(words, is_raw=True).as_prefix
        if number not in self._digested:
            self._digested[number] = zstd.ZstdDict(words, is_raw=True)
        return self._digested[number].as_digested_dict

    def _note(self, kind: str, data: bytes, size: int) -> None:
        """Make a new dictionary of the first contents of a kind that this process has written, if
        the present one saves too little.
        """
        recent, total = self._recent.get(kind, ([], 0))
        if len(recent) >= ENOUGH:
            return
        recent.append(data[:WORDS_BYTES])
        self._recent[kind] = recent, total + size
        if len(recent) == ENOUGH:
            is_first = self._present[kind][0] is None
            if is_first or total + size > WORTH * sum(len(_pack(each, None)) for each in recent):
                words = b"".join(recent)[-WORDS_BYTES:]
                statement = "INSERT INTO dictionaries (kind, words) VALUES (?, ?)"
                self._present[kind] = self._database.do(statement, (kind, words)).lastrowid, words
            recent[:] = [b""] * ENOUGH

    def _keep(self, number: int, data: bytes) -> None:
        self._cache[number] = data
        self._cached_bytes += len(data)
        while self._cached_bytes > CACHE_BYTES and self._cache:
            self._cached_bytes -= len(self._cache.popitem(last=False)[1])


def _pack(data: bytes, words: Words) -> bytes:
    return zstd.compress(data, options=OPTIONS, zstd_dict=words)


def _unpack(packed: bytes, words: Words) -> bytes:
    """Return the content that `_pack` compressed; raises ValueError if it is damaged."""
    try:
        unpacking = zstd.ZstdDecompressor(zstd_dict=words)
        data = bytes(unpacking.decompress(packed, MAX_BYTES))
    except (zstd.ZstdError, EOFError) as error:
        raise ValueError(str(error)) from error
    if not unpacking.eof:
        raise ValueError(f"it is cut short, or larger than {MAX_BYTES:,} bytes")
    return data
