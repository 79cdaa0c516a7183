"""What is done to an index as a whole: brought up to date, compared, made anew."""

from __future__ import annotations

import logging
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

from contentspider.ground.errors import ContentSpiderError
from contentspider.index.cursors import Cursors
from contentspider.index.engine import connect, shown
from contentspider.index.errors import EngineError
from contentspider.index.retries import Retries
from contentspider.index.schema import SchemaMismatchError
from contentspider.index.sync import Sync, no_tell

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from contentspider.index.engine import Engine
    from contentspider.index.sync import Differences, Limits, Report, Tell
    from contentspider.state.history.entries import Entries

logger = logging.getLogger(__name__)


@contextmanager
def opened(url: str, is_writer: bool, patience: float = 0.0) -> Iterator[tuple[Engine, str]]:
    """Open the index at *url* and give its engine and its identity; an engine that is down is asked
    again for *patience* seconds.
    """
    engine = connect(url)
    try:
        yield engine, Retries(patience)(lambda: engine.open(is_writer))
    finally:
        engine.close()


@contextmanager
def _alone(history: Path) -> Iterator[Entries]:
    """Give the pages of a history; keep other processes from bringing it into indexes."""
    from contentspider.state.history.entries import Entries  # searches do without

    try:
        with (
            FileLock(history.with_suffix(".indexes.lock"), blocking=False),
            closing(Entries(history)) as entries,
        ):
            yield entries
    except Timeout:
        raise ContentSpiderError(
            f"{history.stem} is being indexed by another process: wait for it"
        ) from None


def sync(history: Path, url: str, limits: Limits, tell: Tell = no_tell) -> Report:
    """Bring the index at *url* to what a history has; see `Sync.run`."""
    with _alone(history) as entries, opened(url, True, limits.patience) as (engine, identity):
        return Sync(entries, engine, url, identity, Cursors(history), limits, tell).run()


def verify(history: Path, url: str, limits: Limits, is_mending: bool) -> Differences:
    """Compare the index at *url* with a history, document by document, mend what differs if that is
    wanted, and return what differed.
    """
    with _alone(history) as entries, opened(url, True, limits.patience) as (engine, identity):
        syncing = Sync(entries, engine, url, identity, Cursors(history), limits)
        found = syncing.differences()
        if is_mending and (found or found.refused):
            syncing.mend(found)
        return found


def rebuild(
    histories: Sequence[Path], url: str, limits: Limits, tell: Tell = no_tell
) -> list[Report]:
    """Make the index at *url* anew from *histories*, beside the present one, which is searched
    until the new one takes its place.

    Raises `EngineError` if the present one has documents of crawls that none of the histories is
    of: they would be lost (but not if `Limits.force` says so).
    """
    reports = []
    with closing(connect(url)) as engine:
        lost = _crawls(engine, limits) - {history.stem for history in histories}
        if lost and not limits.force:
            raise EngineError(
                f"{shown(url)} has documents of {', '.join(sorted(lost))}, of which there is no"
                " history here: they would be lost. If they are to go, say --force"
            )
        with engine.rebuild() as (fresh, identity):
            for history in histories:
                with _alone(history) as entries:
                    cursors = Cursors(history)
                    new = Sync(entries, fresh, url, identity, cursors, limits, tell)
                    reports.append(new.run())
    return reports


def _crawls(engine: Engine, limits: Limits) -> set[str]:
    """Return of which crawls an index has documents; none if it is of another schema, which is why
    it is made anew.
    """
    try:
        Retries(limits.patience)(lambda: engine.open(True))
    except SchemaMismatchError as error:
        logger.info("%s", error)
        return set()
    return {stored.crawl for stored in engine.documents()}
