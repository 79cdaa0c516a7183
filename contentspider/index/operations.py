"""Operations on a whole index: update it, verify it, rebuild it."""

from __future__ import annotations

import logging
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

from contentspider.ground.errors import ContentSpiderError
from contentspider.index.engine import create_engine
from contentspider.index.errors import EngineError, IndexDamagedError, Retries, redacted_url
from contentspider.index.marks import SchemaMismatchError
from contentspider.index.sync import Sync

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from contentspider.index.engine import Engine
    from contentspider.index.sync import Differences, ProgressCallback, Report
    from contentspider.state.crawls.entries import Entries

logger = logging.getLogger(__name__)


@contextmanager
def open_index(url: str, is_writer: bool) -> Iterator[tuple[Engine, str]]:
    """Give the opened engine of the index at *url*, and the index's identity.

    A writer waits while the engine is down; a reader raises `EngineDownError` at once.
    """
    with closing(create_engine(url)) as engine:
        retry = Retries() if is_writer else Retries(0)
        yield engine, retry(lambda: engine.open(is_writer))


@contextmanager
def _lock_book(book: Path) -> Iterator[Entries]:
    """Give the pages of a book. No other process may write them into an index meanwhile."""
    from contentspider.state.crawls.entries import Entries  # searches do not need it

    try:
        with (
            FileLock(book.with_suffix(".indexes.lock"), blocking=False),
            closing(Entries(book)) as entries,
        ):
            yield entries
    except Timeout:
        raise ContentSpiderError(
            f"another process is indexing {book.stem}: try again when it has ended"
        ) from None


def sync(
    book: Path,
    url: str,
    force: bool = False,
    take_over: bool = False,
    on_progress: ProgressCallback | None = None,
) -> Report:
    """Bring the index at *url* up to date with a book; see `Sync`."""
    with _lock_book(book) as entries, open_index(url, is_writer=True) as (engine, identity):
        return Sync(entries, engine, url, identity, force, take_over, on_progress).run()


def remove_crawl(url: str, crawl: str) -> int:
    """Delete the documents of a *crawl* from the index at *url*; return their number. Raises
    `EngineError` if the index does not exist: it may have moved.
    """
    retry = Retries()
    with open_index(url, is_writer=False):
        pass  # a writer would create it
    with open_index(url, is_writer=True) as (engine, _):
        ids = [state.id for state in retry(lambda: list(engine.documents(crawl)))]
        if ids:
            retry(lambda: engine.delete(ids))
        retry(lambda: engine.set_mark(crawl, ""))
    return len(ids)


def verify(
    book: Path, url: str, force: bool, is_mending: bool, take_over: bool = False
) -> Differences:
    """Compare the index at *url* with a book, document by document and field by field, and
    return the differences that it had.

    Raises `IndexDamagedError` if the index itself is damaged, so that nothing in it is certain.
    With *is_mending* the differences are corrected. With *force* any number of documents may be
    deleted for that. With *take_over* documents of other crawls count as missing.
    """
    with _lock_book(book) as entries, open_index(url, is_writer=True) as (engine, identity):
        update = Sync(entries, engine, url, identity, force, take_over)
        update.check_files()
        differences = update.differences()
        update.find_damage(differences)
        if is_mending and (differences or differences.refused):
            update.mend(differences)
        return differences


def rebuild(
    books: Sequence[Path],
    url: str,
    force: bool = False,
    on_progress: ProgressCallback | None = None,
) -> dict[str, Report]:
    """Fill a new index from *books*, and put it in the place of the index at *url*.

    Returns the reports by the names of the crawls. Raises `EngineError` if the old index has
    documents of other crawls, because they would be lost; *force* allows that. See
    `Engine.rebuild`.
    """
    reports = {}
    with closing(create_engine(url)) as engine:
        lost_crawls = _indexed_crawls(engine, force) - {book.stem for book in books}
        if lost_crawls and not force:
            raise EngineError(
                f"{redacted_url(url)} has documents of {', '.join(sorted(lost_crawls))}, which have"
                " no book here: a rebuild would delete them. If you want that, add --force"
            )
        with engine.rebuild() as (new_index, identity):
            # A page in two books belongs to the first writer: the most recent crawl.
            for book in sorted(books, key=_last_run_end, reverse=True):
                with _lock_book(book) as entries:
                    update = Sync(entries, new_index, url, identity, force, False, on_progress)
                    reports[book.stem] = update.run()
    return reports


def _last_run_end(book: Path) -> str:
    """Return the time when the last run of a book ended."""
    from contentspider.state.crawls.entries import Entries

    with closing(Entries(book)) as entries:
        return entries.position().ended


def _indexed_crawls(engine: Engine, force: bool) -> set[str]:
    """Return the crawls that an index has documents of, or for an index of another schema the
    crawls that it was filled from. A damaged index does not tell them: with *force* it counts as
    empty.
    """
    try:
        Retries()(lambda: engine.open(is_writer=True))
        return {state.crawl for state in engine.documents()}
    except SchemaMismatchError as error:
        logger.info("%s", error)
        return set(error.crawls)
    except IndexDamagedError as error:
        if force:
            logger.warning("%s", error)
            return set()
        raise EngineError(
            f"{error}. The crawls that it has documents of cannot be read, and a rebuild deletes"
            " the documents of crawls that have no book here: if you want that, add --force"
        ) from error
