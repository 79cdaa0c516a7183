"""Crawls by name, and the items of a crawl, from its ledger to files."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from contentspider.ground.errors import ContentSpiderError
from contentspider.ground.scope import crawl_name
from contentspider.ground.terminal import printable
from contentspider.recrawl.changes import UNCHANGED
from contentspider.state.crawls.folder import state_folder
from contentspider.state.crawls.ledgers import HISTORIES, crawl_ledger, history_of
from contentspider.state.ledger.ledger import Ledger

if TYPE_CHECKING:
    from contentspider.state.files.formats import Output


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


def export_items(crawl: Path, outputs: list[Output]) -> int:
    """Write all released items of a ledger to *outputs*, and return their number."""
    with closing(Ledger(crawl, read_only=True)) as ledger:
        written = ledger.items.count()
        if written or ledger.items.count(UNCHANGED):
            for output in outputs:
                output.write(ledger.items.records)
        return written
