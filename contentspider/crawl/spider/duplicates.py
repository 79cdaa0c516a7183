"""Duplicate pages: of pages with the same text, a crawl yields one, the canonical page if any."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from hashlib import blake2b
from itertools import count
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import parse_qsl, urlencode

from scrapy.utils.datatypes import LocalCache
from w3lib.url import canonicalize_url

from contentspider.crawl.base.known_page import as_known
from contentspider.crawl.base.outcomes import Retry
from contentspider.crawl.revisits.copies import MIN_TEXT_CHARS
from contentspider.ground.addresses import absolute, clean_address, route_of, split_address
from contentspider.recrawl.counters import without_counter
from contentspider.site.models.identity import page_id
from contentspider.site.title import page_title
from contentspider.state.book.reading import dump_claims

if TYPE_CHECKING:
    from contentspider.crawl.queue.keeper import BookKeeper
    from contentspider.page.input.page import Page

NUMBER = re.compile(r"\d+")
# So many pages in a row may repeat the one before them, as empty months of an archive do. On 19
# whole sites the longest row of pages without new text was 17.
MAX_GAP = 20
MAX_GAPS = 10_000  # pages that are remembered
MAX_LAST_PAGES = 1_000  # sequences whose last page is remembered
MAX_DIGITS = 6  # of the number of a page in a sequence
MAX_LABEL_CHARS = 100  # of a text or a link that may only name the number of its page
INDEX_NAME = re.compile(r"/(?:index|default)\.(?:x?html?|php|aspx?|jsp)$", re.IGNORECASE)
# Pages that may wait for canonical addresses that no page links to and that have not been read yet:
# on some sites they do not exist.
MAX_WAITS_FOR_UNKNOWN = 100
# Query parameters that the usual analytics and mail services add to track visitors.
TRACKING = re.compile(
    r"(?:utm|mtm|pk|hsa)_\w+|_?(?:ga|gl)|_hs(?:enc|mi)|[gd]clid|[gw]braid|(?:fb|ms|y|tw|tt|li_fat_|"
    r"igsh|wick|irc)(?:cl)?id|mc_[ce]id|mkt_tok|wt_mc|igsh",
    re.IGNORECASE | re.ASCII,
)


class Duplicates:
    """Detects pages that the crawl has already yielded, by claims on texts in its book."""

    def __init__(self, keeper: BookKeeper, site_of: Callable[[str], str]) -> None:
        self._keeper = keeper
        self._site_of = site_of
        # Owners of claims by responses without a row in the book: -1, -2, ...
        self._rowless_owners = count(1)
        self._unknown: set[str] = set()
        # By page that repeats the one before it, how many pages do so in a row.
        self._gaps: LocalCache[str, int] = LocalCache(MAX_GAPS)
        # By sequence, its last page that repeated none.
        self._last: LocalCache[str, _Last] = LocalCache(MAX_LAST_PAGES)
        # The claims of the last page and address, which are needed several times.
        self._last_claims: tuple[Page | None, str, list[bytes]] = (None, "", [])

    def claim(self, address: str, page: Page, row: int | None, is_repeated: bool = False) -> bool:
        """Claim a page for the address in *row*. Return False if the page is a duplicate:
        another address of the site has claimed the same text and title, or (if the text is short)
        another form of the same address has, or the page's original in earlier crawls has.
        *is_repeated* is noted for the next crawl (`Reading`).
        """
        owner, site = row or -next(self._rowless_owners), self._site_of(address)
        self._unknown.discard(page_id(address))
        canonical = self._canonical(address, page)
        keys = [_key(page_id(address)), *self._claims(address, page)]
        with self._keeper.guarded:
            revisits = self._keeper.revisits
            if revisits is not None and not revisits.is_first:
                original = revisits.known_copies.read_original(page, address, site)
                # The original page has claimed its own id.
                keys += [_key(original)] if original else []
            other_canonical = canonical if canonical != address else ""
            is_first = self._keeper.book.claims.claim(keys, owner, other_canonical)
            if is_first and row is not None and not other_canonical and as_known(page) is None:
                reading = dump_claims(self._claims(address, page), is_repeated)
                self._keeper.book.answers.note_reading(row, reading)
            return is_first
        return False

    def content_claim(self, page: Page, content: str) -> bytes:
        """Return the claim on the main *content* of a page for its canonical address; b"" for a
        short text. Of two pages with one claim (the same canonical address, title and content), the
        second is a duplicate. The titles are without the name of the site, which twins for mobiles
        and AMP write differently.
        """
        if len(content) < MIN_TEXT_CHARS:
            return b""
        canonical = page_id(self._canonical(page.url, page) or page.url)
        return _key("\n".join([canonical, page_title(page), content]))

    def _claims(self, address: str, page: Page) -> list[bytes]:
        """Return the keys of the texts that a page claims for an address."""
        if known := as_known(page):
            return list(known.reading.claims)
        if self._last_claims[0] is not page or self._last_claims[1] != address:
            canonical = self._canonical(address, page)
            title, texts = page.hints.titles[:1], [block.text for block in page.content.blocks]
            full_text = "\n".join([*title, *texts])
            forms = list(dict.fromkeys(plain_form(form) for form in (address, canonical) if form))
            if len("\n".join(texts)) < MIN_TEXT_CHARS:
                claims = [f"{form} {full_text}" for form in forms]
            else:
                numberless = [forms[0], *title, *map(without_counter, texts)]
                claims = [f"{self._site_of(address)} {full_text}", "\n".join(numberless)]
            self._last_claims = page, address, list(map(_key, claims))
        return self._last_claims[2]

    def unread_canonical(self, address: str, page: Page, row: int | None) -> str:
        """Return the page's canonical address if that is another page of the same host that the
        crawl has not read; "" if not.
        """
        canonical = self._canonical(address, page)
        if row is None or not self._keeper.addresses.may_wait:
            return ""
        is_same_page = page_id(canonical or address) == page_id(address)
        # A canonical address on another host may not answer.
        if is_same_page or split_address(canonical)[:2] != split_address(address)[:2]:
            return ""
        keys = [_key(page_id(canonical)), *self._claims(address, page)]
        is_read = self._keeper.book.claims.has(keys, row)
        return "" if is_read else canonical

    def defer_for_canonical(
        self, address: str, canonical: str, page: Page, row: int | None
    ) -> bool:
        """Defer a page until the crawl has read its *canonical* address. If that has the same text,
        the crawl yields it instead. Return whether the page waits: at most `MAX_WAITS_FOR_UNKNOWN`
        canonical addresses that no page links to, and that are not forms of the page's address,
        may be unread at a time.
        """
        if not is_form(address, canonical) and not self._keeper.is_queued(canonical):
            if len(self._unknown) >= MAX_WAITS_FOR_UNKNOWN:
                return False
            self._unknown.add(page_id(canonical))
        self._defer_copy(row, address, page, "its canonical form is read first")
        return True

    def _defer_copy(self, row: int | None, address: str, page: Page, reason: str) -> None:
        """Defer a page to the end of the crawl. The crawl requests it again only if no other page
        with its text has come by then.
        """
        self.defer(row, reason)
        self._keeper.addresses.expect_copy(row, address, self._claims(address, page))

    def defer_known_copy(self, address: str, page: Page, row: int | None) -> bool:
        """Defer a page that has the text of another page of earlier crawls, if that page has not
        been read in this crawl yet. Return whether the page waits.
        """
        revisits = self._keeper.revisits
        if (
            revisits is None
            or revisits.is_first
            or row is None
            or as_known(page) is not None
            or not self._keeper.addresses.may_wait
            or sum(len(block.text) for block in page.content.blocks) < MIN_TEXT_CHARS
            or not revisits.known_copies.unread_original(page, address, self._site_of(address))
        ):
            return False
        self._defer_copy(row, address, page, "a copy of a known page")
        return True

    def repeats(
        self, address: str, previous: str, page: Page, row: int, links: Sequence[str]
    ) -> Repeat:
        """Tell whether a page has nothing but the text of the page before it in a sequence, at the
        address *previous*: beyond the last page, some sites repeat it, or say that there is none.
        *links* are the links of the page that no other page had. One that is not queued and leads
        out of the sequence shows that the page has more. A short text is not enough, unless the
        sequence has led to other pages: photos may have the same text.
        """
        place = _Numbered.read(address)
        if place is None:
            return Repeat.NO
        sequence = place.sequence
        others = [link for link in links if _sequence_of(link) != sequence]
        is_next = _sequence_of(previous) == sequence
        if others and (is_next or len(others) < len(links)):
            self._note_listing(sequence, row)
        if as_known(page) is not None:
            return Repeat.NO
        key = _key(_sequence_text(place, page))
        with self._keeper.guarded:
            claims = self._keeper.book.claims
            is_known = claims.has([key], row) or (is_next and self._is_known(previous, key))
            claims.claim([key], row)
            if is_known and not self._has_new(others):
                is_long = sum(len(block.text) for block in page.content.blocks) >= MIN_TEXT_CHARS
                if not is_next or not (is_long or self._is_listing(sequence)):
                    return Repeat.NO
                claims.claim([_again(key)], row)
                return self._gap_or_end(address, previous, key)
        if is_next:
            self._read_last(previous)
        last = self._note_last(sequence, key, page)
        is_empty = is_next and last.own < MIN_TEXT_CHARS and self._is_listing(sequence)
        goes_on = place._replace(number=place.number + 1).address in links
        # Links that no other page had lead to entries, also if a sitemap has named them.
        return Repeat.MAYBE if is_empty and goes_on and not others else Repeat.NO

    def _note_listing(self, sequence: str, row: int) -> None:
        """Note in the book, where a resumed crawl finds it, that pages of a sequence have led to
        other pages.
        """
        key = _key(f"listing {sequence}")
        with self._keeper.guarded:
            claims = self._keeper.book.claims
            if not claims.has([key], row):
                claims.claim([key], row)

    def _is_listing(self, sequence: str) -> bool:
        """Tell whether pages of a sequence have led to other pages."""
        return self._keeper.book.claims.has([_key(f"listing {sequence}")], 0)

    def _has_new(self, links: Iterable[str]) -> bool:
        return any(not self._keeper.is_queued(link) for link in links)

    def defer_for_next(self, address: str, page: Page, row: int | None) -> bool:
        """Defer a page that may be the first beyond the last one of its sequence. If another page
        repeats it, the crawl yields neither. Return whether the page waits.
        """
        place = _Numbered.read(address)
        if row is None or place is None or not self._keeper.addresses.may_wait:
            return False
        self.defer(row, "the next page may repeat it")
        key = _key(_sequence_text(place, page))
        self._keeper.addresses.expect_copy(row, address, [_again(key)])
        return True

    def _note_last(self, sequence: str, key: bytes, page: Page) -> _Last:
        """Note a page of a sequence that repeats none."""
        texts = {hash(block.text): len(block.text) for block in page.content.blocks}
        before = self._last.get(sequence)
        own = sum(texts[text] for text in texts.keys() - before.texts) if before else 0
        last = self._last[sequence] = _Last(key, set(texts), own)
        return last

    def _read_last(self, address: str) -> None:
        """Note the last pages of a sequence up to an *address* that were not sent again."""
        place = _Numbered.read(address)
        if place is None or place.sequence in self._last:
            return
        for number in (place.number - 1, place.number):
            known = place._replace(number=number)
            if page := self._unsent_page(known.address):
                self._note_last(known.sequence, _key(_sequence_text(known, page)), page)

    def _gap_or_end(self, address: str, previous: str, key: bytes) -> Repeat:
        """Tell whether a sequence ends with a page that repeats the one before it. The repetition
        of a long text is beyond the last page. A page without a text of its own may be a gap, such
        as an empty month, unless `MAX_GAP` are in a row.
        """
        count = self._gaps[address] = self._gaps.get(previous, 0) + 1
        self._read_last(previous)
        last = self._last.get(_sequence_of(address))
        is_of_last = last is not None and last.key == key and last.own >= MIN_TEXT_CHARS
        return Repeat.END if is_of_last or count >= MAX_GAP else Repeat.GAP

    def _is_known(self, address: str, key: bytes) -> bool:
        """Tell whether a page that this crawl did not read again has a text in a sequence."""
        place, page = _Numbered.read(address), self._unsent_page(address)
        return place is not None and page is not None and _key(_sequence_text(place, page)) == key

    def _unsent_page(self, address: str) -> Page | None:
        """Return the page at an address as the last crawl has read it, if any."""
        revisits = self._keeper.revisits
        if revisits is None or revisits.is_first:
            return None
        return revisits.stored_page(page_id(address))

    def defer_for_session(self, address: str, page: Page, row: int | None) -> bool:
        """Defer a page until it is known whether its address has a session id. Return whether the
        page waits.
        """
        if row is None or not self._keeper.addresses.may_wait:
            return False
        self._defer_copy(row, address, page, "its address may have a session id")
        return True

    def defer(self, row: int | None, reason: str) -> None:
        """Have the address requested again at the end of the crawl."""
        self._keeper.addresses.note(row, "failed", reason, retry=Retry.WAITS)

    def item_address(self, address: str, page: Page) -> str:
        """Return the address for the page's item: the canonical address as the page spells it if
        that has the same page id, otherwise *address*.
        """
        canonical = self._canonical(address, page)
        is_same_page = canonical and page_id(canonical) == page_id(address)
        return canonical if is_same_page else address

    def _canonical(self, address: str, page: Page) -> str:
        """Return the canonical address that the page names, "" if none on the same site."""
        if as_known(page) is not None:
            return ""  # it names no other address
        canonical = absolute(address, page.hints.canonical) if page.hints.canonical else ""
        is_same_site = canonical and self._site_of(canonical) == self._site_of(address)
        return canonical if is_same_site else ""


def _key(claim: str) -> bytes:
    return blake2b(claim.encode("utf-8", "replace"), digest_size=12).digest()


def _again(key: bytes) -> bytes:
    """Return the claim of the pages that repeat a page of a sequence."""
    return b"again" + key


class Repeat(Enum):
    """Whether a page repeats the one before it in a sequence, and the sequence ends there. `MAYBE`
    is a page without a text of its own: the next page may repeat it.
    """

    NO, MAYBE, GAP, END = range(4)


class _Last(NamedTuple):
    """A page of a sequence: its *key*, its *texts*, and how many of their characters are its *own*:
    the page before did not have them.
    """

    key: bytes
    texts: set[int]
    own: int


class _Numbered(NamedTuple):
    """The address of a page in a sequence: its last number, and the parts before and after it."""

    start: str
    number: int
    end: str

    @property
    def sequence(self) -> str:
        """The common parts of the addresses of the sequence."""
        return f"{self.start}#{self.end}"

    @property
    def address(self) -> str:
        """The address, if its number does not begin with 0."""
        return f"{self.start}{self.number}{self.end}"

    @classmethod
    def read(cls, address: str) -> _Numbered | None:
        """Split an address at its last number. Return None without a number, or if it has more than
        `MAX_DIGITS` digits.
        """
        last = next(reversed(list(NUMBER.finditer(address))), None)
        if last is None or len(last[0]) > MAX_DIGITS:
            return None
        return cls(address[: last.start()], int(last[0]), address[last.end() :])


def _sequence_of(address: str) -> str:
    """Return the common parts of the addresses of a sequence, "" for no sequence."""
    place = _Numbered.read(address)
    return place.sequence if place is not None else ""


def _sequence_text(place: _Numbered, page: Page) -> str:
    """Return the text of a page in a sequence without its number and the other numbers of its
    address, and without the numbers of the pages before and after it in links.
    """
    number = place.number
    own = {number, *(int(found[:9]) for found in NUMBER.findall(place.start + place.end))}
    near = own | {number - 1, number + 1}
    title = _without_numbers("".join(page.hints.titles[:1]), own)
    texts = (
        _without_numbers(block.text, near if block.links else own)
        if len(block.text) < MAX_LABEL_CHARS
        else block.text
        for block in page.content.blocks
    )
    return "\n".join([place.sequence, title, *texts])


def _without_numbers(text: str, numbers: set[int]) -> str:
    return NUMBER.sub(lambda match: "#" if int(match[0][:9]) in numbers else match[0], text)


def is_form(address: str, canonical: str) -> bool:
    """Tell whether two addresses are forms of one address: see `plain_form`."""
    return plain_form(canonical) == plain_form(address)


def plain_form(address: str) -> str:
    """Return the part that all forms of an address share, without scheme, ``www.``, index file and
    tracking parameters.

    >>> plain_form("http://www.e.org:80/a/index.html?b=1&utm_source=x&a=2")
    'e.org/a?a=2&b=1'
    """
    parts = split_address(canonicalize_url(clean_address(address)))
    path = INDEX_NAME.sub("/", parts.path).rstrip("/")
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    query = urlencode([pair for pair in pairs if not TRACKING.fullmatch(pair[0])])
    query = ("?" + query if query else "") + route_of(address)
    return parts.netloc.removeprefix("www.") + path + query
