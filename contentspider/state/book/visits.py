"""Writes the visit of a page: a version of the page, and its change record."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from contentspider.ground.errors import DAMAGE
from contentspider.ground.times import days_between
from contentspider.recrawl.changes import (
    BY_FIELDS,
    BY_PAGE,
    CHANGED,
    LIVE,
    REFILTERED,
    UNCHANGED,
)
from contentspider.recrawl.judge import Facts
from contentspider.site.models.identity import item_hash
from contentspider.state.book.pages import (
    BY_VISIT,
    DROPPED,
    PENDING,
    RELEASED,
    PageVersion,
    dump_facts,
    is_live,
    load_facts,
)

if TYPE_CHECKING:
    from contentspider.recrawl.judge import Change
    from contentspider.state.book.answers import Answer
    from contentspider.state.book.changes import Changes
    from contentspider.state.book.pages import Pages


@dataclass(frozen=True, slots=True)
class Visit:
    """One visit of a page. `contentspider.recrawl.judge` decides from its *facts* how the page
    changed. *model* is the version of the site model that filtered the page. *base* is the known
    version that the page is compared with: of the page itself, or of the page that has moved here,
    for the *reason*; None for a new page. *page* is the number of its blocks (None: not kept), and
    *content* its main content's number. It is None until the item of the page comes (`take_item`).
    *reading* is a `Reading`, or b"".
    """

    id: str
    url: str
    site: str
    at: str
    facts: Facts
    content_hash: str
    text_hash: str
    layout_hash: str
    model: str
    base: PageVersion | None = None
    reason: str = ""
    page: int | None = None
    content: int | None = None
    reading: bytes = b""

    @property
    def previous_id(self) -> str:
        """The id of the page that moved here, "" for none."""
        return self.base.id if self.base and self.facts.is_moved else ""

    @property
    def has_new_content(self) -> bool:
        """Whether the content differs from the known content at the address."""
        return bool(self.facts.difference) or self.facts.is_moved


class Visits:
    """Writes versions of pages for the run *run* of the crawl *crawl*."""

    def __init__(self, pages: Pages, changes: Changes) -> None:
        self._pages, self._changes = pages, changes
        self.run = self.crawl = 0

    def write(self, visit: Visit, change: Change, answer: Answer, row: int | None) -> PageVersion:
        """Write the visit of a page, which has its address in *row*. It replaces an earlier visit
        of this crawl that is not published.
        """
        self.forget(visit.id)
        known = self._pages.known(visit.id)
        version = known or PageVersion(0, visit.id, 0, 0, "", None, visit.url, visit.site, LIVE, "")
        version = replace(
            version,
            number=0,
            run=self.run,
            crawl=self.crawl,
            origin=BY_VISIT,
            address=row,
            url=visit.url,
            site=visit.site,
            state=LIVE,
            last_seen=visit.at,
            last_fetched=version.last_fetched if answer.is_unsent else visit.at,
            etag=answer.etag,
            last_modified=answer.last_modified,
            links=answer.links,
            missing=version.missing if answer.is_orphan else 0,
            doubt="",
            item_state=PENDING,
        )
        version = self._with_change(version, known, visit, change)
        record = self._changes.add(
            version,
            self.run,
            self.crawl,
            **self._record(visit, change),
            at=visit.at,
            reason=visit.reason or change.ignored,
            previous_id=visit.previous_id,
        )
        return self._pages.put(replace(version, record=record))

    def again(self, version: PageVersion) -> Visit:
        """Return the visit that has written a version, to judge it in another way."""
        previous_id, reason = self._changes.of_visit(version.record)
        base = self._pages.known(previous_id or version.id)
        facts = Facts("")  # facts that are not stored, or damaged, are found anew where need be
        with suppress(*DAMAGE):
            facts = load_facts(version.facts) if version.facts else facts
        return Visit(
            id=version.id,
            url=version.url,
            site=version.site,
            at=version.last_seen,
            facts=facts,
            content_hash=version.content_hash,
            text_hash=version.text_hash,
            layout_hash=version.layout_hash,
            model=version.model,
            base=base if is_live(base) else None,
            reason=reason if previous_id else "",
            page=version.page,
            content=version.content,
            reading=version.reading,
        )

    def revise(self, version: PageVersion, visit: Visit, change: Change) -> PageVersion:
        """Write another result of a *visit* into its *version*."""
        known = self._pages.known(visit.id)
        version = self._with_change(version, known, visit, change)
        self._changes.revise(
            version.record,
            changed_at=version.changed_at,
            first_seen=version.first_seen,
            reason=visit.reason or change.ignored,
            previous_id=visit.previous_id,
            **self._record(visit, change),
        )
        return self._pages.put(version)

    def _record(self, visit: Visit, change: Change) -> dict[str, object]:
        changes = {name: [before, now] for name, before, now in visit.facts.fields}
        return {
            "change": change.change,
            "change_ratio": change.ratio,
            "change_cause": change.cause,
            "content_hash": visit.content_hash,
            "previous_hash": visit.base.content_hash if visit.base else "",
            "fields": json.dumps(changes) if changes else "",
        }

    def _with_change(
        self, version: PageVersion, known: PageVersion | None, visit: Visit, change: Change
    ) -> PageVersion:
        """Return a version with the columns that the change of the page decides. *known* is the
        known version of the page itself, even if it is gone.
        """
        before = visit.base or known
        changed_at = before.changed_at if before else ""
        if change.cause == BY_PAGE or not changed_at:  # otherwise the page itself is as it was
            changed_at = visit.at
        # A page that was gone keeps its first date when it comes back.
        values: dict[str, Any] = {
            "first_seen": before.first_seen if before else visit.at,
            "changed_at": changed_at,
            "content_hash": visit.content_hash,
            "text_hash": visit.text_hash,
            "layout_hash": visit.layout_hash,
            "model": visit.model,
            "facts": dump_facts(visit.facts),
            "page": visit.page,
            "reading": visit.reading,
            "content": known.content if known else None,
            "previous": known.previous if known else None,
        }
        if visit.has_new_content:
            values["content"] = visit.content
            if change.change != UNCHANGED and before:
                values["previous"] = before.content
        return replace(version, **values, **_intervals(known, visit.at, change))

    def forget(self, page_id: str) -> None:
        """Delete the visit of a page that is not published; the page then counts as unread."""
        version = self._pages.found(page_id)
        if version is not None:
            self._changes.remove(version.record)
            self._pages.remove(version)

    def take_item(
        self,
        page_id: str,
        item: dict[str, Any] | None,
        number: int | None,
        text: str | None,
        is_left_out: bool = False,
    ) -> None:
        """Write the outcome of an item of a visited page: the *item* has passed the pipelines, and
        *number* is the number of its line; or it was dropped (None). The first item of a page
        counts. *text* is the main content of the page if it is new. If the item *is_left_out*, the
        crawl wants changed pages only, and the page keeps its last item.
        """
        version = self._pages.found(page_id)
        if version is None:
            return
        state = DROPPED if item is None else RELEASED
        if not is_left_out and version.item_state < state:
            version = self.with_item(version, item, number)
        if text is not None and version.content is None:
            has_text = version.item == number is not None and item and item.get("content") == text
            content = number if has_text else self._pages.put_text(text)
            version = replace(version, content=content)
        self._pages.put(version)

    def keep_item(self, page_id: str) -> None:
        """Write that the item of a visited page has passed the pipelines, and is the known one."""
        version = self._pages.found(page_id)
        if version is not None and version.item_state < RELEASED:
            self._pages.put(replace(version, item_state=RELEASED))

    def with_content(self, version: PageVersion, number: int, item: dict[str, Any]) -> PageVersion:
        """Return a version whose content is in another line of its item."""
        return replace(version, content=number) if "content" in item else version

    def with_item(
        self, version: PageVersion, item: dict[str, Any] | None, number: int | None
    ) -> PageVersion:
        """Return a version with its item. Indexes read the item if the page is changed, or if
        anything in the item differs but the fields that differ in each crawl: the hashes in the
        book and in the index must stay equal.
        """
        state = DROPPED if item is None else RELEASED
        change, _ = self._changes.kind(version.record)
        new = item_hash(item) if item is not None else ""
        if change == UNCHANGED and new == version.item_hash:
            return replace(version, item_state=state)
        return replace(version, item=number, item_hash=new, seq=version.record, item_state=state)


def _intervals(known: PageVersion | None, at: str, change: Change) -> dict[str, Any]:
    """Return the values of `ChangeIntervals`, with the days before a visit added."""
    if known is None:
        return {"changes": 0, "changed_days": 0.0, "still_days": 0.0}
    days = 0.0
    if known.last_seen and change.change in (CHANGED, REFILTERED, UNCHANGED):
        days = max(days_between(known.last_seen, at), 0.0)
    has_changed = change.change == CHANGED and change.cause in (BY_PAGE, BY_FIELDS)
    return {
        "changes": known.changes + has_changed,
        "changed_days": known.changed_days + (days if has_changed else 0.0),
        "still_days": known.still_days + (0.0 if has_changed else days),
    }
