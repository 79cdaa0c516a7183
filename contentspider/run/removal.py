"""Removes a site: its documents in search indexes, its book, its logs and its models,
on this machine and in a store of states.
"""

from __future__ import annotations

import shutil
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from contentspider.ground.counts import counted
from contentspider.ground.errors import ContentSpiderError
from contentspider.index.errors import redacted_url
from contentspider.index.operations import remove_crawl
from contentspider.run.indexes import indexes_of, project_indexes
from contentspider.run.overview import names_in
from contentspider.run.results import LOGS, SiteResult, logs_folder, read_result, result_file
from contentspider.state.book.database import BookBusyError, is_in_use, remove
from contentspider.state.crawls.books import crawl_book
from contentspider.state.crawls.export import books, sites_of
from contentspider.state.crawls.folder import state_folder
from contentspider.state.stores.lease import acquire, read_record, renewed
from contentspider.state.stores.models import COPIES
from contentspider.state.stores.remote import open_objects
from contentspider.state.stores.site_state import SITES, SiteState, note_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from contentspider.state.stores.models import ModelStore
    from contentspider.state.stores.remote import Objects

BESIDE = (".webhooks.json", ".webhooks.lock", ".indexes.lock")  # files beside a book
LOG_ENDINGS = ("log", "previous.log", "stats.json", "result.json", "progress.json")


def is_here(name: str, state_dir: str) -> bool:
    """Tell whether this machine has a book or a result of the site *name*."""
    file = result_file(logs_folder(state_dir), name)
    return crawl_book(name, state_dir).exists() or file.exists()


def remove_site(name: str, state_dir: str, store: ModelStore) -> Iterator[str]:
    """Remove the site *name* after its table was deleted from the file of sites. Yield a text for
    each deleted thing. Outputs stay. Raises `ContentSpiderError` if the file still has the site, if
    the site is unknown, or if an index cannot be written; only documents are deleted then.
    """
    book, logs = crawl_book(name, state_dir), logs_folder(state_dir)
    result = read_result(result_file(logs, name))
    if not is_here(name, state_dir):
        raise ContentSpiderError(
            f"nothing of {name!r} is in {book.parent}; if its state is in a store, name that with"
            " --state",
            code="no-such-crawl",
        )
    _check(name, result)
    if is_in_use(book):
        raise BookBusyError(f"{book} is in use: its crawl is running")
    indexes = indexes_of(name, result, state_dir, project_indexes)
    yield from _remove_documents(name, indexes)
    models = _own_models(book, state_dir, store)
    remove(book)
    copies = state_folder(state_dir) / COPIES / name  # of the models of a store's state
    for file in (*map(book.with_suffix, BESIDE), note_of(book)):
        file.unlink(missing_ok=True)
    yield str(book)
    for ending in LOG_ENDINGS:
        (logs / f"{name}.{ending}").unlink(missing_ok=True)
    for folder in filter(Path.is_dir, (*models, copies)):
        shutil.rmtree(folder)
        yield str(folder)


def remove_stored(name: str, objects: Objects) -> Iterator[str]:
    """Remove the site *name* from a store of states (``--state``), as `remove_site` does from this
    machine. Raises `BookBusyError` if the site is being crawled.
    """
    state = SiteState(objects, name, Path(name), Path())
    record, mark = read_record(objects, state.lease.name)
    if not mark:
        raise ContentSpiderError(f"nothing of {name!r} is in {objects.url}", code="no-such-crawl")
    found = record.facts.get("result")
    result = SiteResult.load(found) if found else None
    _check(name, result)
    if not acquire([state.lease], threading.Event()):
        raise BookBusyError(f"{objects.url}/{state.lease.name}: the site is being crawled")
    with ExitStack() as on_failure:
        on_failure.callback(state.lease.release)
        with renewed([state.lease], dict, lambda _: None, lambda _: None):
            yield from _remove_documents(name, result.indexes if result else ())
            files = [f"models/{folder}" for folder in _own_stored_models(state, objects)]
            files += [f"{LOGS}/{name}.{ending}" for ending in LOG_ENDINGS]
            count = sum(map(objects.delete_below, files))
            state.lease.write(state="")  # after a kill no reader looks for it
            count += state.delete()
        on_failure.pop_all()
    count += objects.delete_below(f"{SITES}/{name}")
    yield f"{counted(count, 'files')} of {objects.url}"


def _own_stored_models(state: SiteState, objects: Objects) -> set[str]:
    """Return the folders of the models in a store that only one site uses."""
    names = open_objects(f"{objects.url}/{SITES}").folders_with("lease.json")
    others = (SiteState(objects, other, Path(other), Path()) for other in names)
    used = (other.model_folders() for other in others if other.name != state.name)
    return state.model_folders().difference(*used)


def _remove_documents(name: str, indexes: Sequence[str]) -> Iterator[str]:
    for url in indexes:
        yield f"{counted(remove_crawl(url, name), 'documents')} of {redacted_url(url)}"


def _check(name: str, result: SiteResult | None) -> None:
    """Raise `ContentSpiderError` if the file of sites still has a site."""
    if result and result.file and name in (names_in(result.file) or ()):
        raise ContentSpiderError(
            f"{result.file} has the site {name!r}: delete its table there first",
            code="site-planned",
        )


def _own_models(book: Path, state_dir: str, store: ModelStore) -> list[Path]:
    """Return the folders of the models that only the crawl with this book uses."""
    others = {site for other in books(state_dir) if other != book for site in sites_of(other)}
    folders = (store.place(site) for site in sorted(set(sites_of(book)) - others))
    return [folder for folder in folders if folder.is_dir()]
