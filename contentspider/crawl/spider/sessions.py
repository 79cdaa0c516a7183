"""Session ids in addresses: known names, and names whose values turn out to change nothing."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING

from scrapy.utils.datatypes import LocalCache

from contentspider.ground.addresses import split_address
from contentspider.recrawl.counters import without_counter

if TYPE_CHECKING:
    from collections.abc import Iterable

    from contentspider.page.input.page import Page

# Parameters that are always session ids, and parameters that may also be the id of a talk or term.
SURE_SESSION = (
    r"(?:(?:jsessionid|php_?sess(?:ion)?_?id|aspsessionid[a-z]*|\w{1,10}csid|zenid)=[\w.!~-]{16,}"
    r"|s=[0-9a-f]{32}(?![\w-])|cfid=\d+|cftoken=[\w-]{8,}|aspxautodetectcookiesupport=\d)"
)
# At least 26 letters and digits without a hyphen, as in PHP's session ids. UUIDs and words are ids
# of content.
LIKELY_SESSION = r"(?:sid|sess|session|sess(?:ion)?_?id)=(?=[a-z]*\d)(?=\d*[a-z])[0-9a-z]{26,}"
SURE = re.compile(f"[;?&]{SURE_SESSION}", re.IGNORECASE)
SESSION = f"(?:{SURE_SESSION}|{LIKELY_SESSION})"
SESSION_IN_PATH = re.compile(
    rf";{SESSION}(?=[;/?]|$)|/\((?:[asf]\([\w-]{{16,}}\))+\)(?=/)", re.IGNORECASE
)  # /(S(...))/: ASP.NET without cookies
SESSION_IN_QUERY = re.compile(rf"(?<=[?&]){SESSION}(?:&|$)", re.IGNORECASE)
MAY_HOLD_SESSION = re.compile(r"id=|sess|/\(|[?&;](?:s|cftoken|aspxauto\w+)=", re.IGNORECASE)
# A parameter of any name whose value looks like a token.
TOKEN = re.compile(
    r"(?<=[?&])(\w[\w.-]{0,40})=(?=[a-z]*\d)(?=\d*[a-z])[0-9a-z]{16,}(?:&|$)", re.IGNORECASE
)
# So many pairs of pages, with and without a parameter, must have the same text.
PAIRS = 2
MAX_NAMES, MAX_TESTED = 1_000, 4_000


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
    return SESSION_IN_PATH.sub("", path) + _without(SESSION_IN_QUERY, mark + query)


def _without(pattern: re.Pattern[str], query: str) -> str:
    """Return a query, which begins with ``?``, without the parameters that match a pattern."""
    shorter = pattern.sub("", query)
    return shorter.rstrip("&?") if len(shorter) < len(query) else query


@dataclass
class _Name:
    """A parameter: the *pairs* of addresses that test it (with it, without it),
    and whether it *is_session*; None until the tests have ended.
    """

    pairs: list[tuple[str, str]] = field(default_factory=list)
    is_session: bool | None = None


class SessionNames:
    """Finds out which parameters with values like tokens change no text, by host and name: for
    `PAIRS` addresses the page without the parameter is read, too. If the texts of each pair are the
    same, the parameter is a session id, and is removed from all addresses.
    """

    def __init__(self) -> None:
        self._names: LocalCache[tuple[str, str], _Name] = LocalCache(MAX_NAMES)
        # By address of a pair: its parameter, and a hash of its text when it has been read.
        self._tested: LocalCache[str, _Name] = LocalCache(MAX_TESTED)
        self._texts: LocalCache[str, bytes] = LocalCache(MAX_TESTED)

    def plain(self, address: str) -> str:
        """Return an address without its session ids."""
        address = without_session(address)
        for name in self._tokens(address):
            if self._name(name).is_session:
                address = _without_name(address, name[1])
        return address

    def found(self, address: str) -> str:
        """Return an address without the parameters that were found out to be session ids; "" if it
        has none.
        """
        plain = self.plain(address)
        return "" if plain == without_session(address) else plain

    def compare(self, links: Iterable[str]) -> None:
        """Note parameters that tell the links of one page apart, which a session id does not."""
        values: dict[tuple[str, str], str] = {}
        for link in links:
            for name in self._tokens(link):
                plain = _without_name(link, name[1])
                known = self._name(name)
                is_same = values.setdefault((plain, name[1]), link) == link
                if known.is_session is None and not is_same:
                    known.is_session = False

    def tests(self, address: str) -> list[str]:
        """Return the addresses to request in place of an address: itself, and before it the one
        without a parameter that is to be tested.
        """
        for name in self._tokens(address):
            known, plain = self._name(name), _without_name(address, name[1])
            is_new = address not in self._tested and plain not in self._tested
            if known.is_session is None and len(known.pairs) < PAIRS and is_new:
                known.pairs.append((address, plain))
                self._tested[address] = self._tested[plain] = known
                return [plain, address]
        return [address]

    def is_open(self, address: str) -> bool:
        """Tell whether it is not known yet if a parameter of an address is a session id."""
        names = map(self._name, self._tokens(address))
        return any(known.is_session is None and known.pairs for known in names)

    def is_tested(self, address: str) -> bool:
        """Tell whether an address tests a parameter."""
        return address in self._tested

    def read(self, address: str, page: Page | None) -> None:
        """Note the text of a page of a pair; None if it cannot be read."""
        known = self._tested.get(address)
        if known is None or known.is_session is not None:
            return
        self._texts[address] = _digest(page)
        results = [
            self._texts[first] == self._texts[plain] != _digest(None)
            for first, plain in known.pairs
            if first in self._texts and plain in self._texts
        ]
        if not all(results):
            known.is_session = False
        elif len(results) == PAIRS:
            known.is_session = True

    def _name(self, name: tuple[str, str]) -> _Name:
        known = self._names.get(name)
        if known is None:
            known = self._names[name] = _Name()
        return known

    def _tokens(self, address: str) -> list[tuple[str, str]]:
        """Return the host and the name of each parameter that has a value like a token."""
        if "=" not in address:
            return []
        names = TOKEN.findall(address)
        return [(split_address(address).netloc, name) for name in names] if names else []


def _without_name(address: str, name: str) -> str:
    path, mark, query = address.partition("?")
    pattern = re.compile(rf"(?<=[?&]){re.escape(name)}=[^&]*(?:&|$)", re.IGNORECASE)
    return path + _without(pattern, mark + query)


def _digest(page: Page | None) -> bytes:
    if page is None:
        return b""
    texts = [*page.hints.titles[:1], *(block.text for block in page.content.blocks)]
    text = "\n".join(map(without_counter, texts))
    return blake2b(text.encode("utf-8", "replace"), digest_size=12).digest()
