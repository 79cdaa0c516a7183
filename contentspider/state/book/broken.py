"""Addresses and models that fail in each crawl, while the rest of the site is read; dead links.

They do not count as failures of a crawl, and crawls request them less and less often.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING

from contentspider.ground.times import days_between, now
from contentspider.site.models.identity import page_id
from contentspider.state.outcome import is_large_loss

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from contentspider.state.book.database import Database

FAILED_CRAWLS = 3  # an address is known as broken after it failed in so many crawls in a row
# A broken address is requested after 1, 2, 4, ... crawls. It is never left out for more crawls, or
# for more days, than this.
MAX_WAIT, MAX_DAYS = 16, 30.0
MAX_DEAD_DAYS = 30.0  # the longest time between two requests of a dead link
FORGOTTEN_DAYS = 3 * MAX_DEAD_DAYS
RANDOM = re.compile(r"/[0-9a-f]{32}$")  # crawls request such addresses to get an error page
# Crawls of due pages may run each hour; they try a dead link once a day.
MIN_DUE_DAYS = 1.0


@dataclass(frozen=True, slots=True)
class BrokenAddress:
    """An address that failed for the *reason* in so many *crawls* in a row, the last one the crawl
    with the number *last_crawl*, at the time *last*. It waits until the crawl *next_crawl*.
    """

    url: str
    reason: str
    crawls: int
    last_crawl: int
    next_crawl: int
    last: str

    @property
    def is_known(self) -> bool:
        """Whether the address is known as broken."""
        return self.crawls >= FAILED_CRAWLS


class BrokenAddresses:
    """The addresses in a book that failed in the last crawls that requested them."""

    def __init__(self, database: Database) -> None:
        self._database = database
        # By page id, as they were before the crawl, and the crawl's number; `begin` sets these two.
        self._before: dict[str, BrokenAddress] = {}
        self.crawl = 0

    def begin(self, crawl: int) -> None:
        """Read the addresses for a crawl. A resumed run belongs to its crawl."""
        self.crawl = crawl
        self._before = {page_id(address.url): address for address in self.all()}

    def all(self) -> Iterator[BrokenAddress]:
        """Yield all addresses, also if they failed in fewer crawls than `FAILED_CRAWLS`."""
        columns = ", ".join(BrokenAddress.__dataclass_fields__)
        rows = self._database.rows(f"SELECT {columns} FROM broken ORDER BY url")  # noqa: S608 - our own names
        return (BrokenAddress(*row) for row in rows)

    def known(self) -> list[BrokenAddress]:
        """Return the addresses that are known as broken."""
        return [address for address in self.all() if address.is_known]

    def is_known(self, url: str) -> bool:
        """Tell whether an address was known as broken before this crawl."""
        address = self._before.get(page_id(url)) if self._before else None
        return address is not None and self._crawls_before(address) >= FAILED_CRAWLS

    def waits(self, url: str) -> bool:
        """Tell whether this crawl leaves out an address that is known as broken."""
        if not self.is_known(url):
            return False
        address = self._before[page_id(url)]
        days = days_between(address.last, now())
        return self.crawl < address.next_crawl and 0 <= days < MAX_DAYS

    def _crawls_before(self, address: BrokenAddress) -> int:
        """Return in how many crawls before this one an address failed."""
        return address.crawls - (address.last_crawl == self.crawl)

    def add(self, url: str, reason: str) -> bool:
        """Record that an address failed in this crawl. Return whether it is known as broken only
        since this crawl.
        """
        before = self._before.get(page_id(url))
        crawls = 1 + (self._crawls_before(before) if before else 0)
        wait = min(2 ** max(crawls - FAILED_CRAWLS, 0), MAX_WAIT)
        address = BrokenAddress(url, reason, crawls, self.crawl, self.crawl + wait, now())
        self._database.do(
            "INSERT OR REPLACE INTO broken VALUES (?, ?, ?, ?, ?, ?, ?)",
            (page_id(url), *astuple(address)),
        )
        return crawls == FAILED_CRAWLS

    def remove(self, url: str) -> None:
        """Forget an address, since it answers, or since no page links to it any more."""
        self._database.do("DELETE FROM broken WHERE id = ?", (page_id(url),))


def few(
    failed: Iterable[str], read: Mapping[str, int], site_of: Callable[[str], str]
) -> frozenset[str]:
    """Return the *failed* addresses of sites with few failed addresses. *read* counts the
    addresses that were read, by host; *site_of* returns the site of an address.

    If a site is down as a whole, or in large part, none of its addresses is broken.
    """
    addresses = list(failed)
    failures = Counter(map(site_of, addresses))
    answers: Counter[str] = Counter()
    for host, count in read.items():
        answers[site_of(f"http://{host}/")] += count

    def is_few(site: str) -> bool:
        count, total = failures[site], failures[site] + answers[site]
        return count <= answers[site] and not is_large_loss(count, total)

    return frozenset(address for address in addresses if is_few(site_of(address)))


@dataclass(frozen=True, slots=True)
class RefusedModel:
    """A *site* whose model was refused in so many *crawls* in a row, the last one the crawl with
    the number *last_crawl*.
    """

    site: str
    crawls: int
    last_crawl: int


class RefusedModels:
    """The sites in a book whose models were refused when they were last learned."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self) -> Iterator[RefusedModel]:
        """Yield all sites, also those whose models were refused in fewer crawls than it takes to
        be known.
        """
        rows = self._database.rows("SELECT site, crawls, last_crawl FROM refused ORDER BY site")
        return (RefusedModel(*row) for row in rows)

    def known(self) -> list[RefusedModel]:
        """Return the sites whose models are known to be refused."""
        return [model for model in self.all() if model.crawls >= FAILED_CRAWLS]

    def add(self, site: str, crawl: int) -> int:
        """Record that a model was refused in a *crawl*, by its number; return in how many crawls in
        a row before it. A resumed run belongs to its crawl.
        """
        before = next((model for model in self.all() if model.site == site), None)
        crawls = before.crawls - (before.last_crawl == crawl) if before else 0
        self._database.do(
            "INSERT OR REPLACE INTO refused VALUES (?, ?, ?)", (site, crawls + 1, crawl)
        )
        return crawls

    def remove(self, site: str) -> None:
        """Forget a site, since its model is not refused any more."""
        self._database.do("DELETE FROM refused WHERE site = ?", (site,))


class DeadLinks:
    """The addresses in a book that were missing when a crawl requested them."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def waiting(self, is_due: bool) -> frozenset[str]:
        """Return the page ids that a crawl must not request now; *is_due*: it crawls due pages."""
        at, least = now(), MIN_DUE_DAYS if is_due else 0.0
        return frozenset(
            dead
            for dead, first, last in self._database.rows("SELECT id, first, last FROM dead")
            if 0
            <= days_between(last, at)
            < min(max(days_between(first, last), least), MAX_DEAD_DAYS)
        )

    def add(self, address: str) -> None:
        """Record an address as missing."""
        if not RANDOM.search(address):
            at = now()
            self._database.do(
                "INSERT INTO dead VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET last = excluded.last",
                (page_id(address), at, at),
            )

    def forget(self) -> None:
        """Forget dead links that are pages by now, or that no crawl has tried for
        `FORGOTTEN_DAYS`.
        """
        do = self._database.do
        do(
            "DELETE FROM dead WHERE (SELECT state FROM pages WHERE pages.id = dead.id"
            " ORDER BY run DESC LIMIT 1) = 'live'"
        )
        do("DELETE FROM dead WHERE julianday(?) - julianday(last) > ?", (now(), FORGOTTEN_DAYS))
