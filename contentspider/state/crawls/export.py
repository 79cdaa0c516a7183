"""Crawls by name, and the items of a crawl, from its ledger to files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from contentspider.ground.errors import ContentSpiderError
from contentspider.ground.scope import crawl_name
from contentspider.ground.terminal import printable
from contentspider.recrawl.changes import UNCHANGED
from contentspider.state.crawls.folder import state_folder
from contentspider.state.crawls.ledgers import HISTORIES, crawl_ledger, history_of
from contentspider.state.history.history import History
from contentspider.state.ledger.ledger import Ledger

if TYPE_CHECKING:
    from contentspider.page.input.page import Page
    from contentspider.state.files.formats import Output, Records
    from contentspider.state.history.pages import KeptPages
    from contentspider.state.ledger.items import Items
    from contentspider.state.ledger.pages import PageSample


ARCHIVED = re.compile(r"\.\d{8}T\d{6}(-\d+)?$")


def find_crawl(name: str, state_dir: str = "") -> Path:
    """Return the ledger of a crawl, by what it crawls, its name or file; `ContentSpiderError`."""
    folder = state_folder(state_dir)
    return _find(name, folder, (Path(name), crawl_ledger(name, state_dir), folder / name))


def find_history(name: str, state_dir: str = "") -> Path:
    """Return the history of a crawl, given as in `find_crawl`, or by its own file."""
    folder = state_folder(state_dir) / HISTORIES
    given = Path(name)
    own = given if given.parent.name == HISTORIES else history_of(given)
    return _find(name, folder, (own, history_of(crawl_ledger(name, state_dir)), folder / name))


def crawls(state_dir: str = "") -> list[str]:
    """Return the names of all crawls that have a ledger or a history in a folder of state."""
    folder = state_folder(state_dir)
    # Those of earlier crawls end in the time of their last run.
    ledgers = [path for path in folder.glob("*.sqlite") if not ARCHIVED.search(path.stem)]
    return sorted({path.stem for path in (*ledgers, *histories(state_dir))})


def histories(state_dir: str = "") -> list[Path]:
    """Return all histories in a folder of crawls' state."""
    return sorted((state_folder(state_dir) / HISTORIES).glob("*.sqlite"))


def _find(name: str, folder: Path, paths: Iterable[Path]) -> Path:
    """Return the first of *paths* that is a file, else the one in *folder* that is the site's."""
    for path in paths:
        if path.is_file():
            return path
    known = sorted(path.stem for path in folder.glob("*.sqlite"))
    try:
        asked = re.escape(crawl_name([name]))
    except (ContentSpiderError, ValueError):
        asked = r"\Z."  # matches nothing
    # Without the digest of a scope or a path: it is one of the site's, if there is only one.
    fitting = [stem for stem in known if re.fullmatch(asked, stem)] or [
        stem for stem in known if re.fullmatch(f"{asked}-.+-[0-9a-f]{{8}}", stem)
    ]
    if len(fitting) == 1:
        return folder / f"{fitting[0]}.sqlite"
    raise ContentSpiderError(
        f"{printable(name)}: no such file or folder, and no crawl of that name in {folder}; there"
        f" are: {', '.join(fitting or known) or 'none'}"
    )


@contextmanager
def open_kept(crawl: Path) -> Iterator[tuple[Items, PageSample | KeptPages, Records]]:
    """Give a crawl's items, pages and records, from its ledger, or the history it left them to."""
    with ExitStack() as opened:
        ledger = opened.enter_context(closing(Ledger(crawl, read_only=True)))
        if not (path := history_of(crawl)).is_file():
            yield ledger.items, ledger.pages, ledger.items.records
            return
        kept = opened.enter_context(closing(History(path, read_only=True))).kept
        pages = ledger.pages if ledger.pages.sites() else kept
        yield ledger.items, pages, partial(ledger.items.records, kept.line)


def crawled_pages(crawl: Path, site: str) -> tuple[str, list[Page]]:
    """Return a *site* of a crawl ("": its only one), and its kept pages with text;
    `ContentSpiderError`.
    """
    with open_kept(crawl) as (_, kept, _):
        sites = kept.sites()
        chosen = site or (sites[0] if len(sites) == 1 else "")
        if chosen not in sites:
            there = ", ".join(sites) or "no site"
            raise ContentSpiderError(f"{crawl} has pages of {there}; say with --site which")
        return chosen, [page for page in kept.sample(chosen) if page.content.blocks]


def export_items(crawl: Path, outputs: list[Output]) -> int:
    """Write all released items of a crawl to *outputs*, and return their number."""
    with open_kept(crawl) as (items, _, records):
        written = items.count()
        if written or items.count(UNCHANGED):
            for output in outputs:
                output.write(records)
        return written
