"""Where the ledgers of crawls are, and what becomes of those that are damaged, left behind, or of
earlier crawls.
"""

from __future__ import annotations

import glob
import logging
import re
from pathlib import Path

from scrapy.utils.project import data_path

from contentspider.errors import StateError
from contentspider.storage.database import PARTS, is_in_use, remove
from contentspider.storage.ledger import Ledger

logger = logging.getLogger(__name__)


def crawl_ledger(name: str) -> Path:
    """Return where the ledger of a crawl of that name is."""
    safe = re.sub(r"[^\w.+-]", "_", name).lstrip(".") or "crawl"
    return Path(data_path("contentspider", createdir=True)) / f"{safe}.sqlite"


def open_ledger(path: Path) -> Ledger | None:
    """Return the ledger at *path*, None if there is none; a damaged one is set aside with a
    warning.
    """
    if not path.exists():
        return None
    ledger = None
    try:
        ledger = Ledger(path)
        ledger.check()
        return ledger
    except StateError as error:
        if ledger is not None:
            ledger.close()
        aside = path.with_name(path.name + ".broken")
        logger.warning("%s; it is set aside as %s and the crawl starts anew", error, aside.name)
        for suffix in PARTS:
            if (part := path.with_name(path.name + suffix)).exists():
                part.replace(aside.with_name(aside.name + suffix))
        return None


def remove_left(path: Path) -> None:
    """Delete what killed processes have left of ledgers that were theirs alone."""
    for left in path.parent.glob(f"{glob.escape(path.stem)}-[0-9]*-[0-9]*.sqlite"):
        if not is_in_use(left):
            remove(left)


def archive(path: Path, started: str, keep: int) -> None:
    """Put a crawl's ledger aside under the time of its last run, and delete all but the last *keep*
    of them.
    """
    stamp = re.sub(r"[^0-9T]", "", started.partition("+")[0])
    path.replace(path.with_name(f"{path.stem}.{stamp}.sqlite"))
    for suffix in PARTS[1:]:  # empty, but somebody may have them open
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    old = sorted(path.parent.glob(f"{glob.escape(path.stem)}.[0-9]*T[0-9]*.sqlite"))
    for outdated in old[: max(len(old) - keep, 0)]:
        remove(outdated)
