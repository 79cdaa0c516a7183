"""Compares the pages of a crawl with the history, and writes the crawl's results to it."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contentspider.crawl.revisits.broken import BrokenPages
from contentspider.crawl.revisits.comparison import PageComparison
from contentspider.crawl.revisits.copies import KnownCopies
from contentspider.crawl.revisits.due_pages import Lastmods, due_pages
from contentspider.crawl.revisits.gone import LOST_REASONS, GonePages, no_exclusion
from contentspider.crawl.revisits.knowledge import CrawlKnowledge
from contentspider.crawl.revisits.refilter import Refilter
from contentspider.ground.addresses import join
from contentspider.ground.sites import SiteKeys
from contentspider.recrawl.changes import (
    BY_FIELDS,
    BY_MODEL,
    BY_PAGE,
    CHANGED,
    LIVE,
    MOVED,
    REFILTERED,
    UNCHANGED,
)
from contentspider.recrawl.difference import layout_hash, text_hash
from contentspider.recrawl.judge import Facts, judge
from contentspider.recrawl.soft_404 import (
    is_blank,
    is_error_page,
    is_gone,
    is_like,
    is_login,
    texts_of,
)
from contentspider.site.models.record import UNFILTERED, is_site_item, page_id
from contentspider.state.crawls.ledgers import open_history
from contentspider.state.history.broken import FAILED_CRAWLS
from contentspider.state.ledger.threads import run_in_thread
from contentspider.state.ledger.visits import Visit

if TYPE_CHECKING:
    from typing import TypeAlias

    from contentspider.crawl.base.options import CrawlOptions
    from contentspider.crawl.learning.models import SiteState
    from contentspider.crawl.revisits.gone import Exclusion, Move, Pause
    from contentspider.page.input.page import Page
    from contentspider.recrawl.judge import Change
    from contentspider.site.models.failures import Failures
    from contentspider.state.history.page_records import PageRecord
    from contentspider.state.history.writer import HistoryWriter
    from contentspider.state.ledger.ledger import Ledger
    from contentspider.state.ledger.visits import StoredVisit
    from contentspider.state.outcome import Ending

    ProgressPause: TypeAlias = Callable[[int, int], Awaitable[None]]

logger = logging.getLogger(__name__)

CRAWL_FACT = "crawl"
DISTRUSTED_FACT = "distrusted"
ERROR_FACT = "error_page"
REFILLED_FACT = "refilled"
PORTION = 1_000  # pages of a history that are written, and then kept for the next run
UNSURE = "unsure"  # maybe an error page: the spider probes its folder first


async def no_pause(written: int, pages: int) -> None:
    """Write on without a pause."""


class Revisits:
    """The known pages of a crawl, from the history file at *path*, and how they have changed.
    *starts* are the crawl's start addresses.

    `compare` records each visit in the ledger during the crawl; `end` writes the visits to the
    history.
    """

    def __init__(
        self,
        ledger: Ledger,
        path: Path,
        options: CrawlOptions,
        failures: Failures,
        starts: Collection[str] = (),
    ) -> None:
        self._facts, self._visits = ledger.runs, ledger.visits
        self._ledger = ledger
        self._options = options
        self._selectors_digest = options.fields_file.selectors_digest
        self._history = open_history(path, options.history_mb * 1_000_000)
        self.is_first = not self._history.live_count()
        if self._facts.fact(CRAWL_FACT) is None:
            self._facts.set_fact(CRAWL_FACT, uuid.uuid4().hex)
        distrusted = self._facts.fact(DISTRUSTED_FACT) or []
        self._distrusted = self._history.distrusted | frozenset(distrusted)
        # The states of the sites that have yielded items.
        self._states: dict[str, SiteState] = {}
        # Returns the state of a site. A resumed crawl loads the models of other sites, too.
        self.state_of: Callable[[str], SiteState | None] = self._states.get
        self._refilter = Refilter(self._history, self._states, options, failures)
        self._comparison = PageComparison(
            self._history, self._refilter, bool(options.fields_file.fields)
        )
        self._knowledge = CrawlKnowledge(self._history.counters())
        self.lastmods = Lastmods(self._history, self._visits)
        self.known_copies = KnownCopies(self._visits, self._history, self._refilter)
        self.own_answers = self._history.own_answers
        self.stale = self._history.stale
        self.broken = self._history.broken
        self.broken.begin(str(self._facts.fact(CRAWL_FACT)))
        site_of = SiteKeys(options.site_by).key
        self._broken_pages = BrokenPages(self.broken, ledger.frontier, starts, site_of)
        self._dead_links = self._history.dead_links.waiting(options.due)
        # The texts of error pages, by folder.
        errors = self._facts.fact(ERROR_FACT) or {}
        self._errors = {folder: frozenset(texts) for folder, texts in errors.items()}
        self.close = self._history.close
        self.kept = self._history.kept

    @property
    def has_refilled(self) -> bool:
        """Whether a later model of this crawl has changed items that are in the output already."""
        return bool(self._facts.fact(REFILLED_FACT))

    def add_states(self, states: Mapping[str, SiteState]) -> None:
        """Add the states of sites whose items earlier runs of the crawl have yielded."""
        self._states |= states

    def compare(
        self,
        fields: dict[str, Any],
        page: Page,
        row: int | None,
        state: SiteState,
        is_unsent: bool = False,
    ) -> bool:
        """Record the visit of a page at ledger *row*, and set the change of the page in the fields
        of its item. Return whether the content changed only because the model has. *is_unsent*: the
        page comes from the history.
        """
        self._states[state.key] = state
        base, move_reason = self._baseline(fields, page, row)
        whole_hash = text_hash(page)
        facts = self._comparison.facts(base, fields, page, whole_hash, state)
        facts = replace(facts, is_moved=bool(move_reason))
        hashes = whole_hash, layout_hash(page)
        visit = self._new_visit(fields, facts, hashes, base, move_reason)
        change = judge(facts, self._knowledge.of(visit.site))
        is_page_stored = not move_reason and _is_stored(base, page, visit, is_unsent)
        if _has_changed(facts, change) and self._visits.answer_of(row).is_check:
            self._distrust(visit.site, visit.url)
        content = _new_content(facts, fields)
        self._visits.note(visit, row, content, None if is_page_stored else page.dump())
        fields |= {"change": change.change, "change_ratio": change.ratio}
        fields |= {"first_seen": visit.first_seen, "changed_at": visit.at}
        if base is not None and change.cause != BY_PAGE:
            fields["changed_at"] = base.changed_at
        return change.change == REFILTERED

    def _baseline(
        self, fields: Mapping[str, Any], page: Page, row: int | None
    ) -> tuple[PageRecord | None, str]:
        """Return the known page to compare a page with. If that page moved here from another
        address, also return the reason of the move, otherwise "".
        """
        known_page = self._history.page(fields["id"])
        return (known_page, "") if _is_live(known_page) else self._moved_from(page, row)

    def _new_visit(
        self,
        fields: Mapping[str, Any],
        facts: Facts,
        hashes: tuple[str, str],
        base: PageRecord | None,
        move_reason: str,
    ) -> Visit:
        """Return the visit of a page whose known version is *base*. *hashes* are the hashes of its
        text and of its layout.
        """
        whole_hash, whole_layout = hashes
        # A page that was gone keeps its first date when it comes back.
        first_visited = base or self._history.page(fields["id"])
        return Visit(
            id=fields["id"],
            url=fields["url"],
            site=fields["site"],
            at=fields["crawled_at"],
            facts=facts,
            content_hash=fields["content_hash"],
            text_hash=whole_hash,
            model=fields["model_version"],
            first_seen=first_visited.first_seen if first_visited else fields["crawled_at"],
            previous_hash=base.content_hash if base else "",
            previous_id=base.id if base and move_reason else "",
            reason=move_reason,
            layout_hash=whole_layout,
        )

    def _moved_from(self, page: Page, row: int | None) -> tuple[PageRecord | None, str]:
        """Return the known page that redirects to a page or that names it canonical, and the reason
        (``HTTP 301``, ``canonical``, ...); None and "" if there is none.
        """
        redirects = self._visits.answer_of(row).moved_from if row is not None else ()
        for address, reason in (*redirects, (page.url, "canonical")):
            known_page = self.known_page(address)
            if (
                known_page is not None
                and known_page.state == LIVE
                and not self._visits.has(known_page.id)
            ):
                return known_page, reason
        return None, ""

    def known_page(self, url: str) -> PageRecord | None:
        """Return the known page at an address, also if it is gone; None if there is none."""
        return self._history.page(page_id(url))

    def _is_relearned(self, site: str) -> bool:
        state, begin = self._states.get(site), self._facts.all()[0].started
        model = state.model if state is not None and state.is_stored else None
        return model is not None and model.learned_at >= begin

    def item(self, url: str) -> dict[str, Any]:
        """Return the last item of the page at an address, {} if there is none."""
        return self._history.item(page_id(url))

    def is_known(self, url: str) -> bool:
        """Tell whether an address has a known page that is not gone."""
        return _is_live(self.known_page(url))

    def previous_links(self, url: str) -> dict[str, tuple[str, ...]]:
        """Return the links that the page at an address had at its last visit, with their texts."""
        return self._history.links(page_id(url))

    def page_with_validators(self, url: str, site: str) -> PageRecord | None:
        """Return the known page at an address if it has validators and its site is trusted."""
        known_page = self.known_page(url) if site not in self._distrusted else None
        if known_page is None or known_page.state != LIVE:
            return None
        has_validator = known_page.etag or known_page.last_modified
        if not has_validator or not self._history.has_page(known_page.id):
            return None
        # A page that no model has filtered must be read again; a document is never filtered.
        is_final = known_page.model != UNFILTERED or self._is_document(known_page.id)
        return known_page if is_final else None

    def _is_document(self, page_id: str) -> bool:
        page = self.stored_page(page_id)
        return page is not None and page.is_document

    def validator_of(self, page_id: str) -> str:
        """Return the ETag of a known page, or the validator of its body; "" if there is none."""
        known_page = self._history.page(page_id)
        return known_page.etag if known_page is not None else ""

    def is_stored(self, url: str) -> bool:
        """Tell whether the history has the whole page at an address."""
        return self._history.has_page(page_id(url))

    def stored_page(self, page_id: str) -> Page | None:
        """Return a page as it was last read; None if it is not stored, if a person corrected it, or
        if the crawl has other selectors of own fields, or treats the directives of the site's owner
        in another way.
        """
        page = self._history.stored(page_id)
        if page is None or page.corrections is not None:
            return None
        # Selectors match elements of HTML only: a stored document fits any selectors.
        if not page.is_document and self._selectors_digest != (page.own.digest if page.own else ""):
            if self._selectors_digest:
                return None
            page = replace(page, own=None)
        return page if page.content.fits(self._options.obey_directives) else None

    def _distrust(self, site: str, url: str) -> None:
        """Stop trusting the "not modified" answers of a site, in later runs, too."""
        if site in self._distrusted:
            return
        self._distrusted |= {site}
        self._facts.set_fact(DISTRUSTED_FACT, sorted(self._distrusted))
        logger.warning(
            "%s: the server answered that the page has not changed, but it has: pages of %s are"
            " fetched in full from now on",
            url,
            site,
        )

    def learn_error_page(self, page: Page) -> None:
        """Remember the error page of a folder, the answer to a random address there."""
        self._errors[join(page.url, ".")] = texts_of(page)
        errors = {folder: sorted(texts) for folder, texts in self._errors.items()}
        self._facts.set_fact(ERROR_FACT, errors)

    def replacement_kind(
        self, page: Page, url: str, has_password: bool, content_of: Callable[[], str]
    ) -> str:
        """Return the kind of page that replaces the page at an address: ``soft_404``, ``login``,
        ``blank``, `UNSURE` if the folder's error page is not known, or "" if the server sent the
        page.
        """
        errors = self._error_pages(url)
        known_page = self.known_page(url)
        if known_page is None:
            return "soft_404" if any(is_like(page, error) for error in errors) else ""
        if not self._has_lost_text(known_page, page):
            return ""
        if is_blank(page):
            return "blank"
        content = content_of()
        if has_password and is_login(content):
            return "login"
        if any(is_error_page(page, content, error) for error in errors):
            return "soft_404"
        return "" if join(url, ".") in self._errors else UNSURE

    def _error_pages(self, url: str) -> list[frozenset[str]]:
        """Return the texts of the error pages of an address' folder, and of its host."""
        folders = (join(url, "."), join(url, "/"))
        return [texts for folder in folders if (texts := self._errors.get(folder))]

    def _has_lost_text(self, known_page: PageRecord, page: Page) -> bool:
        """Tell whether a page has lost the content that it had as a known page."""
        if known_page.state != LIVE or known_page.text_hash == text_hash(page):
            return False
        return is_gone(page, self._history.content(known_page.id) or "")

    def is_deferred(self, url: str) -> bool:
        """Tell whether a link need not be followed: it is dead, or (in a crawl of due pages) it
        leads to a known page or to a copy of one.
        """
        if self._dead_links and page_id(url) in self._dead_links:
            return True
        if not self._options.due:
            return False
        known_page = self.known_page(url)
        has_page = known_page is not None and known_page.state in (LIVE, MOVED)
        return has_page or bool(self._history.original_of(page_id(url)))

    def pages_to_visit(self) -> Iterator[str]:
        """Yield the known pages to request: the due pages, or all that have not been visited."""
        if self._options.due:
            yield from self.lastmods.choose(due_pages(self._history, self._options))
            return
        for known_page in self._history.live():
            if is_site_item(known_page.url):
                continue
            is_missing = known_page.missing + 1 >= self._options.missing_crawls > 0
            if not is_missing and not self._visits.has(known_page.id):
                yield known_page.url

    async def end(
        self, ending: Ending, exclusion: Exclusion = no_exclusion, pause: ProgressPause = no_pause
    ) -> Counter[str]:
        """Write the visits of a crawl to the history; return how many pages have each change.

        Known pages for which *exclusion* returns a reason are gone. *pause* is called after each
        page with the number of pages that were written, and of all pages. If it raises an error,
        the history stays as it is, and the next run continues where this run ended.
        """
        crawl = str(self._facts.fact(CRAWL_FACT))
        pages, path = self._visits.count(), self._history.path
        wait = partial(pause, 0, pages)
        gone = GonePages(self._history, self._ledger, self._options, ending, exclusion)
        await gone.find(wait)
        logger.info("writing %d pages to the history %s", pages, path)
        check = self._history.draft_check()
        await run_in_thread(check.run, check.interrupt, wait)
        takeover = self._history.begin_writing(crawl, gone.is_complete, self._basis(gone))
        counts, moved_ids = Counter(takeover.counts()), takeover.moved_ids()
        wait = partial(pause, counts.total(), pages)
        await self._compare_again(takeover.last_visit, wait)
        await self._complete_copies(wait)
        stale = {site for site in self.stale if not self._is_relearned(site)} | takeover.stale()
        self.lastmods.resume(takeover.lastmods())
        async for visit, change in self._write_visits(takeover, gone, stale, wait):
            self.lastmods.judge(visit, change)
            counts[change.change] += 1
            moved_ids.add(visit.previous_id)
            if counts.total() % PORTION == 0:
                self._keep(takeover, stale)
            await pause(counts.total(), pages)
        wait = partial(pause, pages, pages)
        counts.update(await gone.write(takeover, moved_ids, wait))
        await self.known_copies.write(takeover, wait)
        for address in self._ledger.frontier.failed(LOST_REASONS):
            self._history.dead_links.add(address)
            await wait()
        counts.update(await self._broken_pages.write(ending, gone.is_complete, wait))
        counts.update(self._write_refused())
        is_visited = partial(self._visits.has_after, takeover.published_visit)
        for known_id, fields in self._refilter.filter_unvisited(takeover, is_visited):
            if fields is not None:
                counts[REFILTERED] += 1
                if self._ledger.items.refill(known_id, fields):
                    self._facts.set_fact(REFILLED_FACT, True)
            await wait()
        self._write_sites(takeover, stale)
        # The ledger comes first: its items are written out again if a later model changed them.
        self._ledger.commit()
        self.own_answers.replace(self._ledger.own_texts.answers())
        for _ in takeover.rows():
            await wait()
        takeover.publish()
        await asyncio.to_thread(takeover.sync)
        takeover.delete_draft()
        return counts

    def _basis(self, gone: GonePages) -> list[Any]:
        """Return the values that a draft of the history depends on. A draft of another crawl, or of
        a changed history, is never continued.
        """
        models = {site: state.version for site, state in self._states.items()}
        learned = sorted(site for site in models if self._is_relearned(site))
        first_run = self._facts.all()[0]
        return [
            # The ledger, which numbers the visits.
            [first_run.started, first_run.pid],
            self._visits.last_number(),
            [(site, models[site]) for site in learned],
            sorted(self._distrusted),
            gone.moves(),
        ]

    async def _write_visits(
        self, takeover: HistoryWriter, gone: GonePages, stale: set[str], pause: Pause
    ) -> AsyncIterator[tuple[Visit, Change]]:
        """Write the visits that are not written yet, and yield each with its final change. Add the
        sites to *stale* whose template has new lines.
        """
        knowledge = self._knowledge
        counters = await knowledge.learn(self._visits, self._distrusted, self._refilter, pause)
        for site, places in counters.items():
            for place in places:
                takeover.add_counter(site, place)
        for record in self._visits.after(takeover.last_visit):
            if (move := gone.take_move(record.visit)) is not None:
                record = replace(record, visit=self._moved_visit(record, move))
            visit = record.visit
            change = judge(visit.facts, knowledge.of(visit.site))
            if _has_new_template_lines(visit.facts, change):
                stale.add(visit.site)
            takeover.add_visit(self._with_item(record, change, takeover), change)
            yield visit, change

    def _moved_visit(self, record: StoredVisit, move: Move) -> Visit:
        """Return the visit of a page that was read as new, compared with the known page that has
        moved to its address.
        """
        visit, known_page = move.add_to(record.visit), move.known_page
        is_same = visit.content_hash == known_page.content_hash
        if is_same and not self._options.fields_file.fields:
            return replace(visit, facts=Facts("", is_moved=True))
        state, page = self.state_of(visit.site), self._refilter.page(record)
        if state is None or page is None:
            return visit
        facts = visit.facts
        with self._refilter.keeping(visit.url):
            fields = self._refilter.fields(state, page)
            facts = self._comparison.facts(known_page, fields, page, visit.text_hash, state)
        return replace(visit, facts=replace(facts, is_moved=True))

    def _keep(self, takeover: HistoryWriter, stale: set[str]) -> None:
        """Commit the rows that were written so far, so that the next run continues after them."""
        takeover.set_stale(stale)
        self.lastmods.write(takeover)
        # The ledger comes first, because it has the items that a later model changed.
        self._ledger.commit()
        self._ledger.sync()
        takeover.keep()

    async def _compare_again(self, last: int, pause: Pause) -> None:
        """Compare the visits after the number *last* again, if the model that filtered their pages
        is not the final one. Items with another content are written again in the ledger.
        """
        outdated = []
        for number, site, model in self._visits.models(last):
            if self._refilter.is_outdated(site, model):
                outdated.append(number)
            await pause()
        for number in outdated:
            record = next(self._visits.after(number - 1))
            with self._refilter.keeping(record.visit.url):
                self._refilter_visit(record)
            await pause()

    async def _complete_copies(self, pause: Pause) -> None:
        """Name all copies of a page in its items; some were read after the items were filled."""
        for original, addresses in self.known_copies.pages():
            _, item = self._ledger.items.item_of_page(original, unless=UNCHANGED)
            if item and item.get("also_at", addresses) != addresses:
                self._ledger.items.refill(original, {"also_at": addresses})
                self._facts.set_fact(REFILLED_FACT, True)
            await pause()

    def _refilter_visit(self, record: StoredVisit) -> None:
        """Compare a visited page again with its previous version, under the current model."""
        visit, state = record.visit, self._states[record.visit.site]
        page = self._refilter.page(record)
        if page is None:
            return
        content = record.content
        fields = self._refilter.new_fields(state, page, visit.content_hash)
        if fields is not None:
            facts = self._facts_again(visit, fields, page, state)
            content = _new_content(facts, fields)
            visit = replace(visit, facts=facts, content_hash=fields["content_hash"])
            self._refill(visit, fields)
        self._visits.replace(record.number, replace(visit, model=state.version), content)

    def _facts_again(
        self, visit: Visit, fields: Mapping[str, Any], page: Page, state: SiteState
    ) -> Facts:
        """Return the facts of a visited page that has other *fields* now."""
        if visit.facts.is_new:
            return visit.facts
        base = self._history.page(visit.previous_id or visit.id)
        facts = self._comparison.facts(base, fields, page, visit.text_hash, state)
        return replace(facts, is_moved=visit.facts.is_moved)

    def _refill(self, visit: Visit, fields: Mapping[str, Any]) -> None:
        """Write the items of a visited page again, with other *fields*."""
        change = judge(visit.facts, self._knowledge.of(visit.site))
        fields = {**fields, "change": change.change, "change_ratio": change.ratio}
        if self._ledger.items.refill(visit.id, fields):
            self._facts.set_fact(REFILLED_FACT, True)

    def _with_item(
        self, record: StoredVisit, change: Change, takeover: HistoryWriter
    ) -> StoredVisit:
        """Return a visit with its item. If this crawl has yielded no item, because the page seemed
        unchanged or only the model had changed, that is its last item under the final model.
        """
        page_id, items = record.visit.id, self._ledger.items
        is_item_known, item = items.item_of_page(page_id, unless=UNCHANGED)
        is_left_out = not is_item_known and change.cause == BY_MODEL
        # Under an earlier model of this crawl, a changed page may have seemed unchanged.
        if not is_item_known and change.cause in (BY_PAGE, BY_FIELDS):
            is_left_out = items.has_dropped(page_id, UNCHANGED)
        if is_left_out:
            item = self._refilter.refilled(record, takeover.item(page_id), change)
            is_item_known = item is not None
        return replace(record, is_item_known=is_item_known, item=item)

    def _write_refused(self) -> dict[str, int]:
        """Record which sites' models this crawl refused. Return in how many crawls in a row before
        it, by ``refused/SITE``, of the sites that are known for it.
        """
        refused = self._history.refused
        models = {key: state.model for key, state in self._states.items() if state.model}
        for site in {each.site for each in refused.all()}.intersection(models):
            if not models[site].is_refused:
                refused.remove(site)
        crawls = {
            f"refused/{site}": refused.add(site, self.broken.crawl)
            for site, model in sorted(models.items())
            if model.is_refused
        }
        return {name: count for name, count in crawls.items() if count >= FAILED_CRAWLS}

    def _write_sites(self, takeover: HistoryWriter, stale: set[str]) -> None:
        """Write to the history which sites are distrusted, stale, or have wrong sitemap dates."""
        for site in self._distrusted:
            takeover.distrust(site)
        takeover.set_stale(stale)
        for site in stale - self.stale:
            logger.info("%s: its template has new lines: the next crawl learns it again", site)
        self.lastmods.write(takeover)


def _is_stored(base: PageRecord | None, page: Page, visit: Visit, is_unsent: bool) -> bool:
    """Tell whether the history has a page as it is now, so that it need not be written again.

    The template may have changed around the same text. Directives of the site's owner may have
    changed which text is left out, and selectors may find other values in attributes. The hashes of
    text and layout do not show these two, so pages with directives or selectors are written again
    if they were sent.
    """
    if base is None:
        return False
    if (base.text_hash, base.layout_hash) != (visit.text_hash, visit.layout_hash):
        return False
    if is_unsent and base.id == page_id(page.url):
        return True
    return page.own is None and page.content.fits(True) and page.content.fits(False)


def _new_content(facts: Facts, fields: Mapping[str, Any]) -> str | None:
    """Return the content of a page; None if the history has the same content at its address."""
    return fields["content"] if facts.difference or facts.is_moved else None


def _has_changed(facts: Facts, change: Change) -> bool:
    """Tell whether the page itself has changed. A server's software ignores changes of counters."""
    by_page = change.cause == BY_FIELDS or (change.cause == BY_PAGE and not facts.numbered)
    return change.change == CHANGED and by_page


def _has_new_template_lines(facts: Facts, change: Change) -> bool:
    """Tell whether the template has added lines to a page that has not changed itself. A model that
    was learned since the last version of the page knows these lines.
    """
    if facts.is_remodelled:
        return False
    return change.cause == BY_MODEL and any(line.startswith("+") for line in facts.lines)


def _is_live(known_page: PageRecord | None) -> bool:
    return known_page is not None and known_page.state == LIVE
