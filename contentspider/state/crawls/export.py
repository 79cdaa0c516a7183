"""Finds crawls by name, and writes their items to files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
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
    from contentspider.state.files.formats import Output
    from contentspider.state.files.text import Records
    from contentspider.state.history.pages import KeptPages
    from contentspider.state.ledger.items import Items
    from contentspider.state.ledger.pages import PageSample


ARCHIVED = re.compile(r"\.\d{8}T\d{6}(-\d+)?$")


def find_crawl(name: str, state_dir: str = "") -> Path:
    """Return the path of a crawl's ledger. *name* is an address that was crawled, the crawl's name
    or the ledger's file. Raises `ContentSpiderError` if no crawl matches.
    """
    folder = state_folder(state_dir)
    return _find(name, folder, (Path(name), crawl_ledger(name, state_dir), folder / name))


def find_history(name: str, state_dir: str = "") -> Path:
    """Return the path of a crawl's history. *name* is as in `find_crawl`, or the history's file."""
    folder = state_folder(state_dir) / HISTORIES
    path = Path(name)
    own = path if path.parent.name == HISTORIES else history_of(path)
    return _find(name, folder, (own, history_of(crawl_ledger(name, state_dir)), folder / name))


def crawls(state_dir: str = "") -> list[str]:
    """Return the names of all crawls that have a ledger or a history in the state folder."""
    folder = state_folder(state_dir)
    # Archived ledgers have the start time of their last run in their names.
    ledgers = [path for path in folder.glob("*.sqlite") if not ARCHIVED.search(path.stem)]
    return sorted({path.stem for path in (*ledgers, *histories(state_dir))})


def histories(state_dir: str = "") -> list[Path]:
    """Return the paths of all histories in the state folder."""
    return sorted((state_folder(state_dir) / HISTORIES).glob("*.sqlite"))


def _find(name: str, folder: Path, paths: Iterable[Path]) -> Path:
    """Return the first existing file of *paths*, else the only one in *folder* for the site."""
    for path in paths:
        if path.is_file():
            return path
    stems = sorted(path.stem for path in folder.glob("*.sqlite"))
    matches = _matching(name, stems)
    if len(matches) == 1:
        return folder / f"{matches[0]}.sqlite"
    raise ContentSpiderError(
        f"{printable(name)}: no such file or folder, and no crawl of that name in {folder}; its"
        f" crawls are: {', '.join(matches or stems) or 'none'}",
        code="no-such-crawl",
    )


def _matching(name: str, stems: Sequence[str]) -> list[str]:
    """Return the crawls that *name* can mean: the one with that name, else all of its site."""
    try:
        pattern = re.escape(crawl_name([name]))
    except (ContentSpiderError, ValueError):
        return []
    exact = [stem for stem in stems if re.fullmatch(pattern, stem)]
    # A crawl that does not start at the front page has a digest at the end of its name.
    return exact or [stem for stem in stems if re.fullmatch(f"{pattern}-.+-[0-9a-f]{{8}}", stem)]


@contextmanager
def open_crawl_data(crawl: Path) -> Iterator[tuple[Items, PageSample | KeptPages, Records]]:
    """Yield a crawl's items, pages and records, from its ledger and its history.

    The ledger of a finished crawl does not repeat the pages and items of the history.
    """
    with ExitStack() as opened:
        ledger = opened.enter_context(closing(Ledger(crawl, read_only=True)))
        if not (path := history_of(crawl)).is_file():
            yield ledger.items, ledger.pages, ledger.items.records
            return
        kept_pages = opened.enter_context(closing(History(path, read_only=True))).kept
        pages = ledger.pages if ledger.pages.sites() else kept_pages
        yield ledger.items, pages, partial(ledger.items.records, kept_pages.line)


def crawled_pages(crawl: Path, site: str) -> tuple[str, list[Page]]:
    """Return a site of a crawl and its kept pages with text. *site* may be empty if the crawl has
    one site only. Raises `ContentSpiderError` if the crawl lacks the site.
    """
    with open_crawl_data(crawl) as (_, sample, _):
        sites = sample.sites()
        chosen = site or (sites[0] if len(sites) == 1 else "")
        if chosen not in sites:
            names = ", ".join(sites) or "no site"
            raise ContentSpiderError(
                f"{crawl} has pages of {names}; choose one with --site", code="several-sites"
            )
        return chosen, [page for page in sample.sample(chosen) if page.content.blocks]


def export_items(crawl: Path, outputs: list[Output]) -> int:
    """Write all released items of a crawl to *outputs*, and return their number."""
    with open_crawl_data(crawl) as (items, _, records):
        written = items.count()
        if written or items.count(UNCHANGED):
            for output in outputs:
                output.write(records)
        return written
