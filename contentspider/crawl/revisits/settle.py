"""Brings the stored pages of a crawl to the present models of their sites."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from contentspider.ground.errors import DAMAGE
from contentspider.ground.json_text import json_text
from contentspider.recrawl.changes import BY_FIELDS, BY_PAGE, REFILTERED, UNCHANGED
from contentspider.recrawl.changes import BY_MODEL as CAUSE_MODEL
from contentspider.recrawl.difference import change_ratio
from contentspider.recrawl.judge import NEW_PAGE, Change, Facts, judge
from contentspider.site.models.identity import refilled
from contentspider.state.book.contents import ITEM
from contentspider.state.book.pages import BY_MODEL, PENDING, RELEASED, load_facts

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from contentspider.crawl.learning.models import SiteState
    from contentspider.crawl.revisits.comparison import PageComparison
    from contentspider.crawl.revisits.gone import Move, Pause
    from contentspider.crawl.revisits.knowledge import CrawlKnowledge
    from contentspider.crawl.revisits.refilter import Refilter
    from contentspider.page.input.page import Page
    from contentspider.state.book.book import Book
    from contentspider.state.book.pages import PageVersion
    from contentspider.state.book.visits import Visit


class Settlement:
    """Filters stored pages again by the present models, and writes the results into the *book*.

    Other models had filtered these pages, in this crawl or before. Only `settle` changes the result
    of a stored page. If the crawl wants items of changed pages only (*only_changed*), items of
    pages that turn out to be unchanged are left out.
    """

    def __init__(
        self,
        book: Book,
        states: Mapping[str, SiteState],
        refilter: Refilter,
        comparison: PageComparison,
        knowledge: CrawlKnowledge,
        only_changed: bool,
    ) -> None:
        self._only_changed = only_changed
        self._book = book
        self._states = states
        self._refilter = refilter
        self._comparison = comparison
        self._knowledge = knowledge

    async def settle(self, pause: Pause, is_visited: bool, lost: Collection[str] = ()) -> None:
        """Filter the pages that the crawl has visited (*is_visited*), or the other known pages, by
        the present models. Leave out pages whose id is in *lost*.
        """
        for state in list(self._states.values()):
            if state.model is None or not (is_visited or state.is_stored):
                continue  # the next crawl will not have a model that is not stored
            for number in self._book.pages.outdated(state.key, state.version, is_visited):
                version = self._book.pages.at(number)
                if version is not None and version.id not in lost:
                    with self._refilter.keeping(version.url):
                        self._settle(version, state)
                await pause()

    def _settle(self, version: PageVersion, state: SiteState) -> None:
        """Write the result of one page under the present model."""
        page = self._book.known.blocks(version.page, version.id)
        if page is None:
            return
        fields = self._refilter.new_fields(state, page, version.content_hash)
        if version.run <= self._book.pages.published:
            self._settle_known(version, page, state, fields)
        elif fields is None:
            reading = self._refilter.renewed(state, page, version.reading)
            self._book.pages.put(replace(version, model=state.version, reading=reading))
        else:
            visit = self._book.visits.again(version)
            facts = self._facts(visit.base, fields, page, visit, state)
            visit = replace(
                visit,
                facts=facts,
                content_hash=fields["content_hash"],
                content=None,
                model=state.version,
                reading=b"",
            )
            self._write(version, visit, fields)

    def _settle_known(
        self, known: PageVersion, page: Page, state: SiteState, fields: dict[str, Any] | None
    ) -> None:
        """Write the result of a page that this crawl has not visited."""
        book = self._book
        version = replace(
            known,
            number=0,
            run=book.runs.current,
            origin=BY_MODEL,
            record=0,
            model=state.version,
            reading=b"",
        )
        if fields is None:
            reading = self._refilter.renewed(state, page, known.reading)
            book.pages.put(replace(version, reading=reading))
            return
        ratio = change_ratio(book.known.content(known.id) or "", fields["content"])
        change = Change(REFILTERED, CAUSE_MODEL, ratio)
        record = book.changes.add(
            version,
            book.runs.current,
            book.runs.crawl,
            change=REFILTERED,
            change_cause=CAUSE_MODEL,
            change_ratio=ratio,
            content_hash=fields["content_hash"],
        )
        version = replace(
            version,
            record=record,
            content_hash=fields["content_hash"],
            previous=known.content,
            content=None,
        )
        book.pages.put(self._with_item(version, fields | _told(change), change))

    def _facts(
        self,
        base: PageVersion | None,
        fields: Mapping[str, Any],
        page: Page,
        visit: Visit,
        state: SiteState,
    ) -> Facts:
        """Return the facts of a visited page with these *fields*, compared with a known page."""
        if base is None:
            return NEW_PAGE
        facts = self._comparison.facts(base, fields, page, visit.text_hash, state)
        return replace(facts, is_moved=bool(visit.reason))

    def _write(self, version: PageVersion, visit: Visit, fields: dict[str, Any]) -> None:
        """Write another result of a *visit*, with the fields of its item."""
        change = judge(visit.facts, self._knowledge.of(visit.site))
        version = self._book.visits.revise(version, visit, change)
        self._book.pages.put(self._with_item(version, fields | _told(change), change))

    def _with_item(
        self, version: PageVersion, fields: dict[str, Any], change: Change
    ) -> PageVersion:
        """Return a version with its item, which gets other *fields*, and with its content."""
        found = self._item(version, fields, change)
        if found is not None:
            number, item = found
            version = self._book.visits.with_item(version, item, number)
            is_text = version.item == number and item.get("content") == fields.get("content")
            if version.content is None and is_text:
                version = replace(version, content=number)
        if version.content is None and "content" in fields:
            version = replace(version, content=self._book.pages.put_text(fields["content"]))
        return version

    def _item(
        self, version: PageVersion, fields: dict[str, Any], change: Change
    ) -> tuple[int, dict[str, Any]] | None:
        """Return the item of a page with other *fields*, and the number of its content. If this
        crawl has released none, because the page seemed unchanged or only the model had changed,
        that is the last item of the page, which the output gets now if the page is not unchanged.
        """
        items = self._book.items
        released = items.refill(version.id, fields)
        if released is not None:
            return released
        is_last = version.origin == BY_MODEL
        if version.item_state == PENDING and not is_last:
            is_last = change.cause == CAUSE_MODEL or items.has_dropped(version.id, UNCHANGED)
        item = self._book.known.item_in(version.item) if is_last else None
        if item is None:
            return None
        item = refilled(item, fields)
        line = json_text(item).encode("utf-8", "replace")
        base = version.page if version.page is not None else version.item
        number = self._book.contents.put(ITEM, line, base)
        if change.change != UNCHANGED:
            items.revive(version.id, UNCHANGED, item, number)
        return number, item

    async def judge_again(self, stale: set[str], pause: Pause) -> None:
        """Judge the visits again that the knowledge of the whole crawl may explain in another way.
        Add the sites to *stale* whose template has new lines.
        """
        for version in self._book.pages.all_found("AND facts != '' AND origin = 'visit'"):
            with suppress(*DAMAGE):
                load_facts(version.facts)
                visit = self._book.visits.again(version)
                change = judge(visit.facts, self._knowledge.of(version.site))
                if _has_new_template_lines(visit.facts, change):
                    stale.add(version.site)
                told = self._book.changes.kind(version.record)
                if (change.change, change.cause) != told:
                    self._revise(version, visit, change)
            await pause()

    def _revise(self, version: PageVersion, visit: Visit, change: Change) -> None:
        """Write another judgement of a visit, whose content stays."""
        known = self._book.pages.known(version.id)
        if change.change == UNCHANGED and known is not None:
            # Its last item stays, if the fields of the new one are the same.
            version = replace(version, item=known.item, item_hash=known.item_hash, seq=known.seq)
        is_unwanted = self._only_changed and change.change == UNCHANGED
        if is_unwanted and self._book.items.leave_out(version.id, UNCHANGED):
            version = replace(version, item_state=PENDING)
        version = self._book.visits.revise(version, visit, change)
        fields = _told(change) | {"changed_at": version.changed_at}
        state = self._states.get(version.site)
        if change.change == UNCHANGED and state is not None and state.keeps_content:
            fields |= self._book.known.same_content(
                version.id, version.content_hash, state.reading_key
            )
        released = self._book.items.refill(version.id, fields)
        if released is not None and version.item_state == RELEASED:
            number, item = released
            version = self._book.visits.with_item(version, item, number)
        elif change.cause == CAUSE_MODEL:
            version = self._with_last_item(version, change)
        self._book.pages.put(version)

    def _with_last_item(self, version: PageVersion, change: Change) -> PageVersion:
        """Return a version whose last item gets the fields of the present model, since the crawl
        has released none.
        """
        state = self._states.get(version.site)
        page = self._book.known.blocks(version.page, version.id)
        if state is None or page is None or version.item_state != PENDING:
            return version
        fields = self._refilter.fields(state, page) | _told(change)
        return self._with_item(version, fields, change)

    async def complete_pending(self, pause: Pause) -> None:
        """Write the fields of the present model into the stored items of visited pages, if this
        crawl released no new item of them, because only their model has changed.
        """
        for version in self._book.pages.all_found("AND origin = 'visit' AND item_state = 0"):
            change, cause = self._book.changes.kind(version.record)
            is_last = cause == CAUSE_MODEL or (
                cause in (BY_PAGE, BY_FIELDS)
                and self._book.items.has_dropped(version.id, UNCHANGED)
            )
            if is_last:
                with self._refilter.keeping(version.url):
                    told = Change(change, cause, self._book.changes.ratio(version.record))
                    self._book.pages.put(self._with_last_item(version, told))
            await pause()

    def move(
        self, move: Move, state_of: Callable[[str], SiteState | None], has_own_fields: bool
    ) -> None:
        """Write that a page which was read as new is a known page that has moved."""
        version = self._book.pages.found(move.id)
        if version is None:
            return
        visit = replace(self._book.visits.again(version), base=move.known_page, reason=move.reason)
        facts = Facts("", is_moved=True)
        if visit.content_hash != move.known_page.content_hash or has_own_fields:
            facts = self._moved_facts(version, visit, state_of(version.site))
        visit = replace(visit, facts=facts)
        self._revise(version, visit, judge(facts, self._knowledge.of(version.site)))
        self._book.changes.mark_moved(version.record)

    def _moved_facts(self, version: PageVersion, visit: Visit, state: SiteState | None) -> Facts:
        page = self._book.known.blocks(version.page, version.id)
        facts = replace(NEW_PAGE, is_new=False, is_moved=True)
        if state is None or page is None:
            return facts
        with self._refilter.keeping(version.url):
            fields = self._refilter.fields(state, page)
            return self._facts(visit.base, fields, page, visit, state)
        return facts


def _told(change: Change) -> dict[str, Any]:
    """Return the fields of an item that tell how its page has changed."""
    return {"change": change.change, "change_ratio": change.ratio}


def _has_new_template_lines(facts: Facts, change: Change) -> bool:
    """Tell whether the template has added lines to a page that has not changed itself. A model that
    was learned since the last version of the page knows these lines.
    """
    if facts.is_remodelled:
        return False
    return change.cause == CAUSE_MODEL and any(line.startswith("+") for line in facts.lines)
