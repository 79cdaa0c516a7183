"""The texts of the links that lead to each page. They describe it in the words of other pages.

The table ``anchors`` of a history counts, for each target and each text, the live pages that have
such a link. A crawl writes the differences of these counts into its draft. `merge` adds them to the
history, and brings the column ``pages.anchors`` up to date, which indexes read. Links to a copy
count for the page that it copies.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING

from contentspider.ground.errors import DAMAGE
from contentspider.ground.times import now
from contentspider.site.models.record import page_id
from contentspider.state.history.copies import COPIES_OF, LINKED_PAGE
from contentspider.state.ledger.visits import read_links, unpack_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from contentspider.state.ledger.database import Database

# The texts of a page that indexes get.
MAX_ANCHORS = 10
# A text that leads to more pages, such as "read more", describes none of them.
MAX_TARGETS = 3
# Counts that stay in memory until they are written to the draft.
MAX_COUNTS = 20_000
# Indexes find changed pages by the number of their last change record. If only the link texts of
# pages have changed, the crawl adds one record of this kind, and these pages get its number. The
# kind is not one of `CHANGES`, so the change log does not show the record.
RECORD_KIND = "anchors"


class AnchorCounts:
    """Counts in a *draft* how the link texts of a crawl's pages differ from the history."""

    def __init__(self, draft: Database) -> None:
        self._do = draft.do
        # By address and text.
        self._counts: Counter[tuple[str, str]] = Counter()

    def replace(self, before: bytes | None, after: bytes | None) -> None:
        """Subtract the links that a page had *before* its visit, and add the links that it has
        *after* it. Both are packed lines (`link_lines`), or None for a page that is not live.
        """
        if before != after:
            self._counts.subtract(_texts(before))
            self._counts.update(_texts(after))
        if len(self._counts) > MAX_COUNTS:
            self.flush()

    def add_page(self, target: str) -> None:
        """Note that the page with the id *target* is new, so that `merge` gives it its texts."""
        self._do("INSERT OR IGNORE INTO anchors VALUES (?, '', 0)", (target,))

    def flush(self) -> None:
        """Write the counts to the draft."""
        for (address, text), pages in self._counts.items():
            if pages:
                _add(self._do, page_id(address), text, pages)
        self._counts.clear()


def _texts(packed: bytes | None) -> Iterator[tuple[str, str]]:
    """Yield address and text of each link in packed lines. Damaged lines yield nothing."""
    with suppress(*DAMAGE):
        for address, texts in read_links(unpack_lines(packed)).items():
            for text in texts:
                yield address, text


def _add(do: Callable[..., object], target: str, text: str, pages: int) -> None:
    do(
        "INSERT INTO anchors VALUES (?, ?, ?)"
        " ON CONFLICT (target, text) DO UPDATE SET pages = pages + excluded.pages",
        (target, text, pages),
    )


def merge(history: Database, draft: Database, last_change: int) -> Generator[None]:
    """Add the counts of a *draft* to the *history*, and write the texts of each page that they
    concern, in the history's open transaction. Yields often, so that the caller can pause.

    *last_change* is the number of the last change record before this crawl. If only the texts of a
    page have changed in this crawl, the page gets the number of the record of `RECORD_KIND`.
    """
    for target, text, pages in draft.rows("SELECT target, text, pages FROM anchors WHERE pages"):
        _add(history.do, target, text, pages)
        history.do(
            "DELETE FROM anchors WHERE target = ? AND text = ? AND pages <= 0", (target, text)
        )
        yield
    update = _Update(history, last_change)
    for (target,) in draft.rows("SELECT DISTINCT target FROM anchors"):
        update.write(target)
        yield
    for (text,) in draft.rows("SELECT DISTINCT text FROM anchors WHERE text != ''"):
        for target in _other_targets(history, draft, text):
            update.write(target)
        yield


def _other_targets(history: Database, draft: Database, text: str) -> list[str]:
    """Return the pages that links with a *text* lead to, without the pages of the draft.

    A text describes a page only if it leads to at most `MAX_TARGETS` pages. The draft changes this
    number, so the texts of the other pages may change, too. If more than `MAX_TARGETS` pages are
    not in the draft, the text described no page before and describes none now: return none.
    """
    pages: set[str] = set()
    query = f"SELECT target, {LINKED_PAGE} FROM anchors WHERE text = ?"  # noqa: S608 - our own names
    for target, page in history.rows(query, (text,)):
        if not draft.row("SELECT 1 FROM anchors WHERE target = ? AND text = ?", (target, text)):
            pages.add(page)
            if len(pages) > MAX_TARGETS:
                return []
    return sorted(pages)


class _Update:
    """Writes the texts of pages into a *history*."""

    def __init__(self, history: Database, last_change: int) -> None:
        self._history = history
        self._last_change = last_change
        self._number = 0
        # The pages that links to copies led to. A page may have very many copies, but its texts are
        # written once.
        self._originals: set[str] = set()

    def write(self, target: str) -> None:
        """Write the texts of the page that links to the id *target* lead to, if it is live."""
        row = self._history.row(
            f"SELECT id, anchors, seq FROM pages, (SELECT ? AS target)"  # noqa: S608 - our own names
            f" WHERE id = {LINKED_PAGE} AND state = 'live'",
            (target,),
        )
        if row is None:
            return
        page, old, seq = row
        if page in self._originals:
            return
        if page != target:
            self._originals.add(page)
        new = "\n".join(self._texts(page))
        if new == old:
            return
        if seq <= self._last_change:
            seq = self._number = self._number or self._record()
        self._history.do("UPDATE pages SET anchors = ?, seq = ? WHERE id = ?", (new, seq, page))

    def _texts(self, page: str) -> list[str]:
        """Return the texts that describe a page, ordered by the number of pages that use them."""
        rows = self._history.rows(
            f"SELECT text FROM anchors WHERE target = ? OR target IN ({COPIES_OF})"  # noqa: S608
            " GROUP BY text ORDER BY sum(pages) DESC, text",
            (page, page),
        )
        texts: list[str] = []
        for (text,) in rows:
            if self._is_telling(text):
                texts.append(text)
            if len(texts) == MAX_ANCHORS:
                break
        return texts

    def _is_telling(self, text: str) -> bool:
        pages = f"SELECT DISTINCT {LINKED_PAGE} FROM anchors WHERE text = ? LIMIT ?"  # noqa: S608
        query = f"SELECT count(*) FROM ({pages})"  # noqa: S608 - our own names
        return self._history.count(query, (text, MAX_TARGETS + 1)) <= MAX_TARGETS

    def _record(self) -> int:
        """Add the record of the pages whose texts alone have changed, and return its number."""
        cursor = self._history.do(
            "INSERT INTO changes (crawl, at, id, url, change, first_seen, changed_at)"
            " VALUES ((SELECT max(number) FROM crawls), ?, '', '', ?, '', '')",
            (now(), RECORD_KIND),
        )
        return cursor.lastrowid or 0
