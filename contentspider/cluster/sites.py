"""Many sites on many machines: one at a time crawls a site, with what is known in a store."""

from __future__ import annotations

import logging
import time
import uuid
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from contentspider.cluster import connection
from contentspider.cluster.connection import (
    RENEWALS,
    Connected,
    StoreDownError,
    check_url,
    repeated,
)
from contentspider.ground.errors import ContentSpiderError
from contentspider.state.crawls.ledgers import crawl_ledger
from contentspider.state.ledger.database import PARTS, is_in_use
from contentspider.state.stores.remote import RemoteError, open_objects
from contentspider.state.stores.remote import check_url as check_store
from contentspider.state.stores.shared import SharedHistory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from contentspider.run.jobs import Hold
    from contentspider.run.sitesfile import PlannedSite

logger = logging.getLogger(__name__)

SCHEMA = "CREATE TABLE sites (name text PRIMARY KEY, holder text NOT NULL, lease timestamptz)"


class Leases:
    """Leases of sites, in the PostgreSQL at a URL; raises `StoreDownError`."""

    def __init__(self, url: str) -> None:
        check_url(url)
        self._store = Connected(url, "contentspider sites")
        self._holder = uuid.uuid4().hex
        with self._store.transaction() as cursor:
            self._store.make(cursor, SCHEMA, "sites")

    def take(self, name: str) -> bool:
        """Take the lease of a site, or renew it; False if another process has it."""
        lease = f"{connection.LEASE_SECS} seconds"
        with self._store.transaction() as cursor:
            cursor.execute(
                "INSERT INTO sites VALUES (%s, %s, clock_timestamp() + %s::interval)"
                " ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, lease = excluded.lease"
                " WHERE sites.holder = excluded.holder OR sites.lease < clock_timestamp()",
                [name, self._holder, lease],
            )
            return cursor.rowcount == 1

    def give_back(self, name: str) -> None:
        """Let others have a site."""
        with self._store.transaction() as cursor:
            cursor.execute(
                "DELETE FROM sites WHERE name = %s AND holder = %s", [name, self._holder]
            )

    @contextmanager
    def held(self, name: str, stop: Callable[[], None]) -> Iterator[bool]:
        """Hold the lease of a site, if no other process does; *stop* is called if it is lost."""
        if not self.take(name):
            yield False
            return
        try:
            with repeated(self._renewer(name, stop), connection.LEASE_SECS / RENEWALS):
                yield True
        finally:
            try:
                self.give_back(name)
            except StoreDownError as error:
                logger.warning("%s: %s; its lease ends by itself", name, error)

    def _renewer(self, name: str, stop: Callable[[], None]) -> Callable[[], bool]:
        """Return what renews the lease of a site, and says no, and stops its crawl, if it cannot
        any more.
        """
        renewed = time.monotonic()

        def renew() -> bool:
            nonlocal renewed
            now, lease = time.monotonic(), connection.LEASE_SECS
            try:
                if self.take(name) and now - renewed < lease:
                    renewed = now
                    return True
            except StoreDownError as error:
                logger.warning("%s: %s", name, error)
                if now - renewed < lease * (1 - 1 / RENEWALS):
                    return True
            logger.error("%s: its lease was lost: another machine may crawl it now", name)
            stop()
            return False

        return renew


class Machines:
    """What `contentspider run` needs where other machines crawl the same sites: *leases*, if there
    are any, and the ledgers of crawls in a *state* store, if there is one.
    """

    def __init__(self, leases: Leases | None, state: str, state_dir: str) -> None:
        self._leases, self._state, self._state_dir = leases, state, state_dir

    @contextmanager
    def hold(self, name: str, stop: Callable[[], None]) -> Iterator[bool]:
        """Keep other machines from a site, and bring its ledger here and back; False if another
        one, or another process, has the site. Raises `ContentSpiderError`.
        """
        if self._leases is None:
            with self._ledger(name) as is_free:
                yield is_free
            return
        with self._leases.held(name, stop) as is_ours:
            if not is_ours:
                yield False
                return
            with self._ledger(name) as is_free:
                yield is_free

    @contextmanager
    def _ledger(self, name: str) -> Iterator[bool]:
        """Bring the ledger of a site's last crawl here, and, if it has changed then, back; False if
        a crawl that is running has it.
        """
        path = crawl_ledger(name, self._state_dir)
        if not self._state or is_in_use(path):
            yield not self._state
            return
        shared = SharedHistory(open_objects(f"{self._state}/ledgers"), path)
        shared.pull()
        before = _stamps(path)
        try:
            yield True
        finally:
            if _stamps(path) != before:
                shared.begin_change()
                try:
                    shared.push()
                except RemoteError as error:
                    logger.error("%s; the ledger stays here, and the next run sends it", error)


def _stamps(path: Path) -> list[tuple[int, int]]:
    found = (path.with_name(path.name + suffix) for suffix in PARTS[:2])
    return [(one.stat().st_mtime_ns, one.stat().st_size) for one in found if one.exists()]


def keep_apart(
    sites: list[PlannedSite], state: str | None, lease: str | None, state_dir: str
) -> tuple[list[PlannedSite], Hold]:
    """Return sites whose models and histories are in a store (*state*, a URL), and what holds a
    site (`contentspider.run.jobs.Jobs`). Raises `ContentSpiderError`.
    """
    state = (state or "").rstrip("/")
    if state:
        try:
            check_store(state)
        except ContentSpiderError as error:
            raise ContentSpiderError(f"--state {state}: {error}") from error
        places = {"models": f"{state}/models", "history": f"{state}/histories"}
        sites = [replace(site, options=places | site.options) for site in sites]
    try:
        leases = Leases(lease) if lease else None
    except ContentSpiderError as error:
        raise ContentSpiderError(f"--lease: {error}") from error
    return sites, Machines(leases, state, state_dir).hold
