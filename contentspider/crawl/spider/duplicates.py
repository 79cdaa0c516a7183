"""Duplicate pages: of pages with the same text, a crawl yields one, the canonical page if any."""

from __future__ import annotations

import re
from collections.abc import Callable
from hashlib import blake2b
from itertools import count
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlencode

from w3lib.url import canonicalize_url

from contentspider.crawl.base.outcomes import Retry
from contentspider.crawl.revisits.copies import MIN_TEXT_CHARS
from contentspider.ground.addresses import absolute, clean_address, split_address
from contentspider.recrawl.counters import without_counter
from contentspider.site.models.record import page_id

if TYPE_CHECKING:
    from contentspider.crawl.queue.keeper import BookKeeper
    from contentspider.page.input.page import Page

INDEX_NAME = re.compile(r"/(?:index|default)\.(?:x?html?|php|aspx?|jsp)$", re.IGNORECASE)
# Pages that may wait for a canonical address that has not been linked yet, and may never be.
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
        self._waits_for_unknown = 0
        # The claims of the last page and address, which are needed several times.
        self._last_claims: tuple[Page | None, str, list[bytes]] = (None, "", [])

    def claim(self, address: str, page: Page, row: int | None) -> bool:
        """Claim a page for the address in *row*. Return False if the page is a duplicate:
        another address of the site has claimed the same text and title, or (if the text is short)
        another form of the same address has, or the page's original in earlier crawls has.
        """
        owner, site = row or -next(self._rowless_owners), self._site_of(address)
        canonical = self._canonical(address, page)
        keys = [_key(page_id(address)), *self._claims(address, page)]
        with self._keeper.guarded:
            revisits = self._keeper.revisits
            if revisits is not None and not revisits.is_first:
                original = revisits.known_copies.read_original(page, address, site)
                # The original page has claimed its own id.
                keys += [_key(original)] if original else []
            other_canonical = canonical if canonical != address else ""
            return self._keeper.book.claims.claim(keys, owner, other_canonical)
        return False

    def claim_content(self, page: Page, content: str, row: int) -> bool:
        """Claim the main content of a page for its canonical address. Return False if the page is a
        duplicate: another page with the same canonical address has the same title and content.
        """
        if len(content) < MIN_TEXT_CHARS:
            return True
        canonical = page_id(self._canonical(page.url, page) or page.url)
        key = _key("\n".join([canonical, *page.hints.titles[:1], content]))
        with self._keeper.guarded:
            return self._keeper.book.claims.claim([key], row)
        return True

    def _claims(self, address: str, page: Page) -> list[bytes]:
        """Return the keys of the texts that a page claims for an address."""
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
        """Defer a page until the crawl has read its *canonical* address, if a page links to that.
        If it has the same text, the crawl yields it instead. Return whether the page waits; only
        `MAX_WAITS_FOR_UNKNOWN` pages wait for addresses that no page has linked to yet.
        """
        if not self._keeper.is_queued(canonical):
            if self._waits_for_unknown >= MAX_WAITS_FOR_UNKNOWN:
                return False
            self._waits_for_unknown += 1
        self.defer_for_form(row, address, page)
        return True

    def defer_for_form(self, row: int | None, address: str, page: Page) -> None:
        """Defer a page until its canonical address has been read."""
        self._defer_copy(row, address, page, "its canonical form is read first")

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
            or not self._keeper.addresses.may_wait
            or sum(len(block.text) for block in page.content.blocks) < MIN_TEXT_CHARS
            or not revisits.known_copies.unread_original(page, address, self._site_of(address))
        ):
            return False
        self._defer_copy(row, address, page, "a copy of a known page")
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
        canonical = absolute(address, page.hints.canonical) if page.hints.canonical else ""
        is_same_site = canonical and self._site_of(canonical) == self._site_of(address)
        return canonical if is_same_site else ""


def _key(claim: str) -> bytes:
    return blake2b(claim.encode("utf-8", "replace"), digest_size=12).digest()


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
    return parts.netloc.removeprefix("www.") + path + ("?" + query if query else "")
