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
    r"|cfid=\d+&cftoken=[\w-]{8,}|aspxautodetectcookiesupport=\d)"
)
# At least 26 letters and digits without a hyphen, as in PHP's session ids. UUIDs and words are ids
# of content.
LIKELY_SESSION = (
    r"(?:(?:sid|sess|session|sess(?:ion)?_?id)=(?=[a-z]*\d)(?=\d*[a-z])[0-9a-z]{26,}"
    r"|s=[0-9a-f]{32}(?![\w-]))"
)
SURE = re.compile(f"[;?&]{SURE_SESSION}", re.IGNORECASE)
SESSION = f"(?:{SURE_SESSION}|{LIKELY_SESSION})"
SESSION_IN_PATH = re.compile(
    rf";{SESSION}(?=[;/?]|$)|/\((?:[asf]\([\w-]{{16,}}\))+\)(?=/)", re.IGNORECASE
)  # /(S(...))/: ASP.NET without cookies
SESSION_IN_QUERY = re.compile(rf"(?<=[?&]){SESSION}(?:&|$)", re.IGNORECASE)
MAY_HOLD_SESSION = re.compile(r"id=|sess|/\(|[?&;](?:s|aspxauto\w+)=", re.IGNORECASE)
# A parameter of any name whose value looks like a token.
TOKEN = re.compile(
    r"(?<=[?&])(\w[\w.-]{0,40})=(?=[a-z]*\d)(?=\d*[a-z])[0-9a-z]{16,}(?:&|$)", re.IGNORECASE
)
# A parameter is a session id if so many pages, all different, are the same with and without it.
PAGES = 8
# Without it, and with so many of its values, a page of any parameter is the same with all values.
VALUES = 3
MAX_NAMES = 1_000


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
    """A parameter: for each address without it, the addresses with and without it that test it, and
    a hash of what each of them has given, b"" before it is read. It *is_session*; None until the
    tests have ended.
    """

    tests: dict[str, dict[str, bytes]] = field(default_factory=dict)
    is_session: bool | None = None

    def is_same(self, plain: str, values: int = VALUES) -> bool:
        """Tell whether an address gives the same page without the parameter and with *values*."""
        found = self.tests.get(plain, {})
        read = [digest for digest in found.values() if digest]
        return bool(found.get(plain)) and len(read) > values and len(set(read)) == 1

    def decide(self) -> None:
        """Set *is_session*, if the pages read so far show whether the parameter is a session id."""
        if any(len(set(filter(None, found.values()))) > 1 for found in self.tests.values()):
            self.is_session = False
            return
        same = {found[plain] for plain, found in self.tests.items() if self.is_same(plain, 1)}
        # The same page everywhere, such as a notice, is counted once: it tells nothing.
        if len(same) >= PAGES:
            self.is_session = True


class SessionNames:
    """Finds out which parameters with values like tokens change no page, by host and name. The
    first links with a parameter are read without it, too, and with several of its values: the
    parameter may select a page, and the page without it may be the first one of them.

    If `PAGES` different pages are the same with it and without it, the parameter is a session id,
    and is removed from all addresses. A small site may have fewer: from the addresses of a page
    that is the same with `VALUES` of its values it is removed, too.
    """

    def __init__(self) -> None:
        self._names: LocalCache[tuple[str, str], _Name] = LocalCache(MAX_NAMES)
        self._tested: dict[str, tuple[_Name, str]] = {}  # by address

    @property
    def found_names(self) -> list[list[str]]:
        """The host and the name of each parameter that is a session id, for `restore`."""
        return [list(name) for name, known in self._names.items() if known.is_session]

    def restore(self, names: Iterable[Iterable[str]]) -> None:
        """Take over the `found_names` of an earlier run."""
        for host, name in names:
            self._name((host, name)).is_session = True

    def plain(self, address: str) -> str:
        """Return an address without its session ids."""
        address = without_session(address)
        for name in self._tokens(address):
            known, plain = self._name(name), _without_name(address, name[1])
            if known.is_session or (known.is_session is None and known.is_same(plain)):
                address = plain
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
            if known.is_session is not None or address in self._tested:
                continue
            found = known.tests.get(plain)
            if found is not None and len(found) <= VALUES:
                self._test(known, plain, address)
            elif found is None and len(known.tests) < PAGES and plain not in self._tested:
                known.tests[plain] = {}
                self._test(known, plain, plain)
                self._test(known, plain, address)
                return [plain, address]
        return [address]

    def _test(self, known: _Name, plain: str, address: str) -> None:
        known.tests[plain][address] = b""
        self._tested[address] = known, plain

    def is_open(self, address: str) -> bool:
        """Tell whether it is not known yet if a parameter of an address is a session id."""
        names = map(self._name, self._tokens(address))
        return any(known.is_session is None and known.tests for known in names)

    def is_tested(self, address: str) -> bool:
        """Tell whether an address tests a parameter."""
        return address in self._tested

    def read(self, address: str, page: Page | None, directives: Iterable[str] = ()) -> bool:
        """Note the answer of an address: its page with the *directives* for robots, or None if it
        could not be read. Return whether the parameter that the address tests is now known to be a
        session id.
        """
        known, plain = self._tested.get(address, (None, ""))
        if known is None or known.is_session is not None:
            return False
        known.tests[plain][address] = _digest(page, directives)
        if page is None:
            known.is_session = False
        else:
            known.decide()
        return bool(known.is_session)

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


def _digest(page: Page | None, directives: Iterable[str]) -> bytes:
    if page is None:
        return b""
    texts = [*page.hints.titles[:1], *(block.text for block in page.content.blocks)]
    text = "\n".join([*sorted(directives), *map(without_counter, texts)])
    return blake2b(text.encode("utf-8", "replace"), digest_size=12).digest()
