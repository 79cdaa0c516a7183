"""Which pages are one: a page comes out once, under its own address."""

from __future__ import annotations

import re
from collections.abc import Callable
from hashlib import blake2b
from itertools import count
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlencode

from w3lib.url import canonicalize_url

from contentspider.crawl.base.outcomes import Retry
from contentspider.crawl.revisits.originals import MIN_TEXT_CHARS
from contentspider.ground.addresses import absolute, clean_address, split_address
from contentspider.recrawl.counters import without_counter
from contentspider.site.models.record import page_id

if TYPE_CHECKING:
    from contentspider.crawl.queue.keeper import Keeper
    from contentspider.page.input.page import Page

INDEX_NAME = re.compile(r"/(?:index|default)\.(?:x?html?|php|aspx?|jsp)$", re.IGNORECASE)
# Pages that wait for a canonical address which no link has named yet: it may never come.
MAX_WAITS_FOR_UNKNOWN = 100
# Parameters that say where a visitor came from, of the usual analytics and mail services.
TRACKING = re.compile(
    r"(?:utm|mtm|pk|hsa)_\w+|_?(?:ga|gl)|_hs(?:enc|mi)|[gd]clid|[gw]braid|(?:fb|ms|y|tw|tt|li_fat_|"
    r"igsh|wick|irc)(?:cl)?id|mc_[ce]id|mkt_tok|wt_mc|igsh",
    re.IGNORECASE | re.ASCII,
)


class Duplicates:
    """Tells a crawl's pages that have come out already, by claims in its ledger, on each site."""

    def __init__(self, keeper: Keeper, site_of: Callable[[str], str]) -> None:
        self._keeper = keeper
        self._site_of = site_of
        self._anonymous = count(1)
        self._waits_for_unknown = 0

    def claim(self, address: str, page: Page, row: int | None) -> bool:
        """Claim a page, at the *row* of its address; False if one with its text and title has come
        out: any of its site, a form of a short one's address, or its original in earlier crawls.
        """
        owner, site = row or -next(self._anonymous), self._site_of(address)
        named = self._canonical(address, page)
        claims = self._claims(address, named, page)
        with self._keeper.guarded:
            revisits = self._keeper.revisits
            if revisits is not None and not revisits.is_first:
                # The original has claimed its own id.
                claims.append(revisits.originals.copied(page, address, site))
            keys = [_key(claim) for claim in dict.fromkeys([page_id(address), *claims]) if claim]
            canonical = named if named != address else ""
            return self._keeper.ledger.claims.claim(keys, owner, canonical)
        return False

    def _claims(self, address: str, named: str, page: Page) -> list[str]:
        title, texts = page.hints.titles[:1], [block.text for block in page.content.blocks]
        said = "\n".join([*title, *texts])
        forms = list(dict.fromkeys(plain_form(one) for one in (address, named) if one))
        if len("\n".join(texts)) < MIN_TEXT_CHARS:
            return [f"{form} {said}" for form in forms]
        numberless = [forms[0], *title, *map(without_counter, texts)]
        return [f"{self._site_of(address)} {said}", "\n".join(numberless)]

    def form_to_read(self, address: str, page: Page, row: int | None) -> str:
        """Return the canonical form of its own address that is to be read first, if any."""
        named = self._canonical_to_come(address, page, row)
        return named if named and plain_form(named) == plain_form(address) else ""

    def _canonical_to_come(self, address: str, page: Page, row: int | None) -> str:
        """Return the canonical address of a page if it is another one that has not been read."""
        named = self._canonical(address, page)
        if (
            row is None
            or not self._keeper.addresses.may_wait
            or page_id(named or address) == page_id(address)
            # Another host may not answer.
            or split_address(named)[:2] != split_address(address)[:2]
        ):
            return ""
        claims = [page_id(named), *self._claims(address, named, page)]
        is_read = self._keeper.ledger.claims.has(map(_key, claims), row)
        return "" if is_read else named

    def must_wait_for_canonical(self, address: str, page: Page, row: int | None) -> bool:
        """Tell whether a page names another canonical address that may still come: if that has the
        same text, it is the page, though this one came first. If so, it waits.
        """
        named = self._canonical_to_come(address, page, row)
        if not named:
            return False
        if not self._keeper.is_queued(named):
            if self._waits_for_unknown >= MAX_WAITS_FOR_UNKNOWN:
                return False
            self._waits_for_unknown += 1
        self.wait_for_form(row, address, page)
        return True

    def wait_for_form(self, row: int | None, address: str, page: Page) -> None:
        """Let a page wait for its canonical form."""
        self._wait_as_copy(row, address, page, "its canonical form is read first")

    def _wait_as_copy(self, row: int | None, address: str, page: Page, reason: str) -> None:
        """Let a page wait until the end; if its text has come by then, it is not asked again."""
        self.wait(row, reason)
        claims = self._claims(address, self._canonical(address, page), page)
        self._keeper.addresses.expect_copy(row, [_key(claim) for claim in claims])

    def must_wait(self, address: str, page: Page, row: int | None) -> bool:
        """Tell whether a page is the copy of a known one that has not come yet; if so, it waits."""
        revisits = self._keeper.revisits
        if (
            revisits is None
            or revisits.is_first
            or row is None
            or not self._keeper.addresses.may_wait
            or sum(len(block.text) for block in page.content.blocks) < MIN_TEXT_CHARS
            or not revisits.originals.awaited(page, address, self._site_of(address))
        ):
            return False
        self._wait_as_copy(row, address, page, "a copy of a known page")
        return True

    def wait(self, row: int | None, reason: str) -> None:
        """Let a page wait for another one until the end."""
        self._keeper.addresses.note(row, "failed", reason, retry=Retry.AT_END)

    def shown(self, address: str, page: Page) -> str:
        """Return an address as a page names it canonical, if that is the same to servers and us."""
        named = self._canonical(address, page)
        return named if named and page_id(named) == page_id(address) else address

    def _canonical(self, address: str, page: Page) -> str:
        """Return the address on its own site that a page names canonical, empty if none."""
        named = absolute(address, page.hints.canonical) if page.hints.canonical else ""
        return named if named and self._site_of(named) == self._site_of(address) else ""


def _key(claim: str) -> bytes:
    return blake2b(claim.encode("utf-8", "replace"), digest_size=12).digest()


def plain_form(address: str) -> str:
    """Return what the forms of an address share: no scheme, www, index, tracking, and such.

    >>> plain_form("http://www.e.org:80/a/index.html?b=1&utm_source=x&a=2")
    'e.org/a?a=2&b=1'
    """
    parts = split_address(canonicalize_url(clean_address(address)))
    path = INDEX_NAME.sub("/", parts.path).rstrip("/")
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    query = urlencode([pair for pair in pairs if not TRACKING.fullmatch(pair[0])])
    return parts.netloc.removeprefix("www.") + path + ("?" + query if query else "")
