"""The copies of pages in a history: addresses without an item, since another page, the original,
has the same text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from contentspider.state.ledger.database import Database

COPIES_KEPT = 3  # a copy that this many complete crawls did not see again is deleted
# An address that has become a page is a copy no longer.
IS_COPY = "NOT EXISTS (SELECT 1 FROM pages WHERE pages.id = copies.id AND state = 'live')"
# The id of the page that a link to ``target`` leads to, and the ids of the copies of a page.
LINKED_PAGE = (
    f"coalesce((SELECT original FROM copies WHERE copies.id = target AND {IS_COPY}), target)"  # noqa: S608
)
COPIES_OF = f"SELECT id FROM copies WHERE original = ? AND {IS_COPY}"  # noqa: S608


def replace_copies(history: Database, draft: Database) -> Iterator[None]:
    """Write the copies of a *draft* into the *history*, and delete old ones, before the pages of
    the draft are written. Yields after each copy, so that the caller can pause.

    If links to an address lead to another page then than before, the texts of these links and both
    pages are noted in the table ``anchors`` of the draft, with the count 0.
    """
    for copy, original in draft.rows("SELECT id, original FROM copies"):
        before = history.value("SELECT original FROM copies WHERE id = ?", (copy,))
        if before != original:
            _note(history, draft, copy, original, before or copy)
        yield
    oldest = history.count(
        "SELECT number FROM crawls WHERE is_complete ORDER BY number DESC LIMIT 1 OFFSET ?",
        (COPIES_KEPT - 1,),
    )
    for copy, original, crawl in history.rows("SELECT id, original, crawl FROM copies"):
        has_page = draft.row("SELECT 1 FROM pages WHERE id = ?", (copy,)) is not None
        is_new = draft.row("SELECT 1 FROM copies WHERE id = ?", (copy,)) is not None
        if has_page or (crawl < oldest and not is_new):
            _note(history, draft, copy, original)
        yield
    for row in draft.rows("SELECT * FROM copies"):
        history.do("INSERT OR REPLACE INTO copies VALUES (?, ?, ?, ?)", row)
        yield
    history.do("DELETE FROM copies WHERE crawl < ?", (oldest,))


def _note(history: Database, draft: Database, copy: str, *pages: str) -> None:
    """Note the texts of the links to a copy, and the *pages* that these may lead to."""
    add = "INSERT OR IGNORE INTO anchors VALUES (?, ?, 0)"
    for page in (copy, *pages):
        draft.do(add, (page, ""))
    for (text,) in history.rows("SELECT text FROM anchors WHERE target = ?", (copy,)):
        draft.do(add, (copy, text))
