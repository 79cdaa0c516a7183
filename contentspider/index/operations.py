"""What is done to an index as a whole: brought up to date, compared, made anew."""

from __future__ import annotations

import logging
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

from contentspider.ground.errors import ContentSpiderError
from contentspider.index.engine import connect, shown
from contentspider.index.errors import EngineError, Retries
from contentspider.index.schema import SchemaMismatchError
from contentspider.index.sync import Sync

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from contentspider.index.engine import Engine
    from contentspider.index.sync import Differences, Report, Tell
    from contentspider.state.history.entries import Entries

logger = logging.getLogger(__name__)


@contextmanager
def opened(url: str, is_writer: bool) -> Iterator[tuple[Engine, str]]:
    """Give the engine and the identity of the index at *url*; a writer waits for it to be up."""
    with closing(connect(url)) as engine:
        ask = Retries() if is_writer else Retries(0)
        yield engine, ask(lambda: engine.open(is_writer))


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


def sync(history: Path, url: str, force: bool = False, tell: Tell | None = None) -> Report:
    """Bring the index at *url* to what a history has; see `Sync.run`."""
    with _alone(history) as entries, opened(url, is_writer=True) as (engine, identity):
        return Sync(entries, engine, url, identity, force, tell).run()


def verify(history: Path, url: str, force: bool, is_mending: bool) -> Differences:
    """Compare the index at *url* with a history, and mend it if wanted; return what differed."""
    with _alone(history) as entries, opened(url, is_writer=True) as (engine, identity):
        syncing = Sync(entries, engine, url, identity, force)
        found = syncing.differences()
        if is_mending and (found or found.refused):
            syncing.mend(found)
        return found


def rebuild(
    histories: Sequence[Path], url: str, force: bool = False, tell: Tell | None = None
) -> dict[str, Report]:
    """Make the index at *url* anew from *histories*; return what was done, by the names of crawls.
    See `Engine.rebuild`. Raises `EngineError` if it has documents of other crawls, unless *force*
    says so.
    """
    reports = {}
    with closing(connect(url)) as engine:
        lost = _crawls(engine) - {history.stem for history in histories}
        if lost and not force:
            raise EngineError(
                f"{shown(url)} has documents of {', '.join(sorted(lost))}, of which there is no"
                " history here: they would be lost. If they are to go, say --force"
            )
        with engine.rebuild() as (fresh, identity):
            # A page of two crawls is of the one that puts it in last: that which saw it last.
            for history in sorted(histories, key=_ended):
                with _alone(history) as entries:
                    sync = Sync(entries, fresh, url, identity, force, tell)
                    reports[history.stem] = sync.run()
    return reports


def _ended(history: Path) -> str:
    """Return when the last crawl of a history ended."""
    from contentspider.state.history.entries import Entries

    with closing(Entries(history)) as entries:
        return entries.position().ended


def _crawls(engine: Engine) -> set[str]:
    """Return of which crawls an index has documents; none if it is of another schema."""
    try:
        Retries()(lambda: engine.open(is_writer=True))
    except SchemaMismatchError as error:
        logger.info("%s", error)
        return set()
    return {stored.crawl for stored in engine.documents()}
