"""Shared crawls of many sites: one machine at a time crawls a site, with its ledger in a store."""

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
    PostgresConnection,
    StoreDownError,
    check_url,
    repeated_calls,
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
    """Leases of sites in a PostgreSQL database. The methods raise `StoreDownError`."""

    def __init__(self, url: str) -> None:
        check_url(url)
        self._store = PostgresConnection(url, "contentspider sites")
        self._holder = uuid.uuid4().hex
        with self._store.transaction() as cursor:
            self._store.create_schema(cursor, SCHEMA, "sites")

    def acquire(self, name: str) -> bool:
        """Acquire or renew the lease of a site; return False if another process has it."""
        lease = f"{connection.LEASE_SECS} seconds"
        with self._store.transaction() as cursor:
            cursor.execute(
                "INSERT INTO sites VALUES (%s, %s, clock_timestamp() + %s::interval)"
                " ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, lease = excluded.lease"
                " WHERE sites.holder = excluded.holder OR sites.lease < clock_timestamp()",
                [name, self._holder, lease],
            )
            return cursor.rowcount == 1

    def release(self, name: str) -> None:
        """Give up the lease of a site."""
        with self._store.transaction() as cursor:
            cursor.execute(
                "DELETE FROM sites WHERE name = %s AND holder = %s", [name, self._holder]
            )

    @contextmanager
    def held(self, name: str, stop: Callable[[], None]) -> Iterator[bool]:
        """Hold the lease of a site in a context; yield False if another process has it. *stop* is
        called if the lease is lost.
        """
        if not self.acquire(name):
            yield False
            return
        try:
            with repeated_calls(self._renewer(name, stop), connection.LEASE_SECS / RENEWALS):
                yield True
        finally:
            try:
                self.release(name)
            except StoreDownError as error:
                logger.warning("%s: %s; its lease ends by itself", name, error)

    def _renewer(self, name: str, stop: Callable[[], None]) -> Callable[[], bool]:
        """Return a function that renews the lease of a site. If the lease is lost, the function
        calls *stop* and returns False.
        """
        renewed = time.monotonic()

        def renew() -> bool:
            nonlocal renewed
            now, lease = time.monotonic(), connection.LEASE_SECS
            try:
                if self.acquire(name) and now - renewed < lease:
                    renewed = now
                    return True
            except StoreDownError as error:
                logger.warning("%s: %s", name, error)
                if now - renewed < lease * (1 - 1 / RENEWALS):
                    return True
            logger.error("%s: the lease was lost: another machine may crawl the site now", name)
            stop()
            return False

        return renew


class SharedSites:
    """Keeps the machines that run the same sites apart: by *leases* (or None), and with the ledgers
    of crawls in a *state* store (or "").
    """

    def __init__(self, leases: Leases | None, state: str, state_dir: str) -> None:
        self._leases, self._state, self._state_dir = leases, state, state_dir

    @contextmanager
    def hold(self, name: str, stop: Callable[[], None]) -> Iterator[bool]:
        """Hold a site in a context, with its ledger copied from the store and back. Yield False if
        another machine or process has the site. Raises `ContentSpiderError`.
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
        """Copy the ledger of a site's last crawl from the store, and back if it changes. Yield
        False if a running crawl uses it.
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
                    logger.error("%s; the ledger stays here, and the next run uploads it", error)


def _stamps(path: Path) -> list[tuple[int, int]]:
    """Return the modification time and size of each file of a ledger."""
    files = (path.with_name(path.name + suffix) for suffix in PARTS[:2])
    return [(file.stat().st_mtime_ns, file.stat().st_size) for file in files if file.exists()]


def share_sites(
    sites: list[PlannedSite], state: str | None, lease: str | None, state_dir: str
) -> tuple[list[PlannedSite], Hold]:
    """Return the sites with their models and histories in the store at the URL *state*, and the
    function that holds a site during its crawl (`contentspider.run.jobs.Jobs`). Raises
    `ContentSpiderError` for a wrong URL.
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
    return sites, SharedSites(leases, state, state_dir).hold
