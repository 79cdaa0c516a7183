"""The texts of the links that lead to each page. They describe it in the words of other pages.

The table ``anchors`` counts, for each target and each text, the live pages that have such a link. A
crawl adds rows with the differences; the sum over all runs counts. `update` writes the column
``pages.anchors`` for the pages that the differences concern, which indexes read. Links to a copy
count for the page that it copies.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from itertools import pairwise
from typing import TYPE_CHECKING

from contentspider.ground.errors import DAMAGE
from contentspider.ground.times import now
from contentspider.site.models.identity import page_id
from contentspider.state.book.answers import read_links

if TYPE_CHECKING:
    from collections.abc import Iterator

    from contentspider.state.book.contents import Contents
    from contentspider.state.book.database import Database
    from contentspider.state.book.pages import Pages

# An address that has become a page is a copy no longer.
IS_COPY = (
    "original != '' AND coalesce((SELECT state FROM pages WHERE pages.id = copies.id"
    " ORDER BY run DESC LIMIT 1), '') != 'live'"
)
NEWEST = (
    "NOT EXISTS (SELECT 1 FROM copies AS newer WHERE newer.id = copies.id"
    " AND newer.run > copies.run)"
)
# The id of the page that a link to ``target`` leads to, and the ids of the copies of a page.
LINKED_PAGE = (
    f"coalesce((SELECT original FROM copies WHERE copies.id = target AND {NEWEST} AND {IS_COPY}),"  # noqa: S608
    " target)"
)
COPIES_OF = f"SELECT id FROM copies WHERE original = ? AND {NEWEST} AND {IS_COPY}"  # noqa: S608
# The texts of a page that indexes get.
MAX_ANCHORS = 10
# A text that leads to more pages, such as "read more", describes none of them.
MAX_TARGETS = 3
# Counts that stay in memory until they are written, and texts that were looked at last.
MAX_COUNTS = 50_000
MAX_TEXTS = 50_000
PORTION = 1_000  # counts that are written at a time
# The first digits of the ids in each of 256 portions of the table.
FIRSTS, END = [f"{number:02x}" for number in range(256)], "g"
# Indexes find changed pages by the number of their last change record. If only the link texts of
# pages have changed, the crawl adds one record of this kind, and these pages get its number. The
# kind is not one of `CHANGES`, so the change log does not show the record.
RECORD_KIND = "anchors"


class Anchors:
    """Counts for a run how the link texts of a crawl's pages differ from the published ones."""

    def __init__(self, database: Database, contents: Contents, pages: Pages) -> None:
        self._database = database
        self._contents = contents
        self._pages = pages
        # By address and text.
        self._counts: Counter[tuple[str, str]] = Counter()

    def replace(self, before: int | None, after: int | None, run: int) -> Iterator[None]:
        """Subtract the links that a page had *before*, and add the links that it has *after*: both
        are numbers of contents, or None for a page that is not live. Yields so that the caller can
        pause.
        """
        if before != after:
            self._counts.subtract(self._texts(before))
            self._counts.update(self._texts(after))
        if len(self._counts) > MAX_COUNTS:
            yield from self.flush(run)

    def note(self, target: str, text: str, run: int) -> None:
        """Have `update` write the texts of a page, and of all pages with a text."""
        self._database.do("INSERT OR IGNORE INTO anchors VALUES (?, ?, ?, 0)", (target, text, run))

    def texts_of(self, target: str) -> list[str]:
        """Return the texts of the links to an address."""
        query = "SELECT DISTINCT text FROM anchors WHERE target = ?"
        return [text for (text,) in self._database.rows(query, (target,))]

    def flush(self, run: int) -> Iterator[None]:
        """Write the counts to the book, in the order of the table. Yields after each portion."""
        counts = ((page_id(url), text, n) for (url, text), n in self._counts.items() if n)
        for number, (target, text, pages) in enumerate(sorted(counts)):
            self._add(target, text, pages, run)
            if number % PORTION == 0:
                yield
        self._counts.clear()

    def _texts(self, number: int | None) -> Iterator[tuple[str, str]]:
        """Yield address and text of each link in a content. A damaged one yields nothing."""
        if number is None:
            return
        with suppress(*DAMAGE):
            lines = self._contents.get(number).decode("utf-8", "surrogatepass").split("\n")
            for address, texts in read_links(lines).items():
                for text in texts:
                    yield address, text

    def _add(self, target: str, text: str, pages: int, run: int) -> None:
        """Add a difference."""
        if self._pages.published:
            self._join(target, text)
        self._database.do(
            "INSERT INTO anchors VALUES (?, ?, ?, ?)"
            " ON CONFLICT (target, text, run) DO UPDATE SET pages = pages + excluded.pages",
            (target, text, run, pages),
        )

    def _join(self, target: str, text: str) -> None:
        """Make one row of the rows of earlier runs, so that they stay few."""
        query = "SELECT run, pages FROM anchors WHERE target = ? AND text = ? AND run <= ?"
        rows = list(self._database.rows(query, (target, text, self._pages.published)))
        if len(rows) > 1:
            first, total = min(rows)[0], sum(count for _, count in rows)
            self._database.do(
                "DELETE FROM anchors WHERE target = ? AND text = ? AND run > ? AND run <= ?",
                (target, text, first, self._pages.published),
            )
            self._database.do(
                "UPDATE anchors SET pages = ? WHERE target = ? AND text = ? AND run = ?",
                (total, target, text, first),
            )

    def update(self, run: int, crawl: int) -> Iterator[None]:
        """Write the texts of each page that the counts of a run concern. Yields often, so that the
        caller can pause.

        If only the texts of a page have changed in this crawl, the page gets the number of the
        record of `RECORD_KIND`.
        """
        update = _Update(self._database, self._pages, run, crawl)
        query = (
            "SELECT target, text FROM anchors WHERE target >= ? AND target < ? AND run > ?"
            " ORDER BY target"
        )
        texts: dict[str, None] = {}
        for bounds in self._ranges():
            last = ""
            for target, text in self._database.rows(query, (*bounds, self._pages.published)):
                if target != last:
                    update.write(target)
                last = target
                if self._pages.published and text and text not in texts:
                    texts[text] = None
                    for other in self._other_targets(text):
                        update.write(other)
                yield
            while len(texts) > MAX_TEXTS:
                del texts[next(iter(texts))]
            yield

    def clean(self) -> Iterator[None]:
        """Delete the published counts of links that no page has any more. Yields after each
        portion, so that the caller can pause.
        """
        for first, end in self._ranges():
            self._database.do(
                "DELETE FROM anchors WHERE target >= ? AND target < ? AND (target, text) IN"
                " (SELECT target, text FROM anchors WHERE target >= ? AND target < ?"
                " GROUP BY target, text HAVING sum(pages) = 0"
                " AND max(run) <= (SELECT run FROM published))",
                (first, end, first, end),
            )
            yield

    def _ranges(self) -> Iterator[tuple[str, str]]:
        """Yield ranges of targets that have about `PORTION` rows each."""
        rows = self._database.count("SELECT count(*) FROM anchors")
        step = max(len(FIRSTS) // (rows // PORTION + 1), 1)
        return pairwise([*FIRSTS[::step], END])

    def _other_targets(self, text: str) -> list[str]:
        """Return the pages that links with a *text* lead to, without this run's pages.

        A text describes a page only if it leads to at most `MAX_TARGETS` pages. The run changes
        this number, so the texts of the other pages may change, too. If more than `MAX_TARGETS`
        pages are not of the run, the text described no page before and describes none now: return
        none.
        """
        pages: set[str] = set()
        query = (
            f"SELECT {LINKED_PAGE}, max(run) FROM anchors WHERE text = ?"  # noqa: S608 - our own names
            " GROUP BY target HAVING sum(pages) > 0"
        )
        for page, run in self._database.rows(query, (text,)):
            if run <= self._pages.published:
                pages.add(page)
                if len(pages) > MAX_TARGETS:
                    return []
        return sorted(pages)


class _Update:
    """Writes the texts of pages."""

    def __init__(self, database: Database, pages: Pages, run: int, crawl: int) -> None:
        self._database = database
        self._pages = pages
        self._run, self._crawl = run, crawl
        self._number = 0
        # The pages that links to copies led to. A page may have very many copies, but its texts are
        # written once.
        self._originals: set[str] = set()
        self._has_copies = bool(database.count("SELECT EXISTS (SELECT 1 FROM copies)"))

    def _page_of(self, target: str) -> str:
        """Return the id of the page that links to the id *target* lead to."""
        if not self._has_copies:
            return target
        query = f"SELECT {LINKED_PAGE} FROM (SELECT ? AS target)"  # noqa: S608 - our own names
        return str(self._database.value(query, (target,)))

    def write(self, target: str) -> None:
        """Write the texts of the page that links to the id *target* lead to, if it is live."""
        page = self._page_of(target)
        version = self._pages.anchors_of(page)
        if version is None or page in self._originals:
            return
        if page != target:
            self._originals.add(page)
        new = "\n".join(self._texts(page))
        if new == version.anchors:
            return
        if version.is_changed:
            self._pages.set_anchors(version, new)
        else:
            self._number = self._number or self._record()
            self._pages.renew(page, self._run, anchors=new, seq=self._number)

    def _texts(self, page: str) -> list[str]:
        """Return the texts that describe a page, ordered by the number of pages that use them."""
        copies = f" OR target IN ({COPIES_OF})" if self._has_copies else ""
        rows = self._database.rows(
            f"SELECT text FROM anchors WHERE target = ?{copies}"  # noqa: S608 - our own names
            " GROUP BY text HAVING sum(pages) > 0 ORDER BY sum(pages) DESC, text",
            (page, page) if copies else (page,),
        )
        texts: list[str] = []
        for (text,) in rows:
            if self._is_telling(text):
                texts.append(text)
            if len(texts) == MAX_ANCHORS:
                break
        return texts

    def _is_telling(self, text: str) -> bool:
        few = "SELECT count(*) FROM (SELECT 1 FROM anchors WHERE text = ? LIMIT ?)"
        if self._database.count(few, (text, MAX_TARGETS + 1)) <= MAX_TARGETS:
            return True
        targets = "SELECT target FROM anchors WHERE text = ? GROUP BY target HAVING sum(pages) > 0"
        pages = f"SELECT DISTINCT {LINKED_PAGE} FROM ({targets}) LIMIT ?"  # noqa: S608
        query = f"SELECT count(*) FROM ({pages})"  # noqa: S608 - our own names
        return self._database.count(query, (text, MAX_TARGETS + 1)) <= MAX_TARGETS

    def _record(self) -> int:
        """Add the record of the pages whose texts alone have changed, and return its number."""
        cursor = self._database.do(
            "INSERT INTO changes (run, crawl, origin, at, id, url, change, first_seen, changed_at)"
            " VALUES (?, ?, 'end', ?, '', '', ?, '', '')",
            (self._run, self._crawl, now(), RECORD_KIND),
        )
        return cursor.lastrowid or 0
