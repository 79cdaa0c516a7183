"""What earlier crawls knew of the pages of this one, and what this one makes of it."""

from __future__ import annotations

import logging
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contentspider.crawl.revisits.due import Lastmods, due_pages
from contentspider.crawl.revisits.gone import LOST_REASONS, GonePages, no_exclusion
from contentspider.crawl.revisits.originals import Originals
from contentspider.crawl.revisits.refilter import (
    Refilter,
    find_counters,
    find_templates,
    without_counters,
    without_template,
)
from contentspider.ground.addresses import join
from contentspider.recrawl.changes import BY_MODEL, BY_PAGE, CHANGED, LIVE, MOVED, NEW, UNCHANGED
from contentspider.recrawl.counters import are_counters, numbered_places
from contentspider.recrawl.difference import (
    Difference,
    change_ratio,
    is_recut,
    text_hash,
    without_recut,
)
from contentspider.recrawl.soft_404 import is_error_page, is_gone, is_like, is_login, texts_of
from contentspider.recrawl.template import differing_lines
from contentspider.site.models.record import UNFILTERED, page_id
from contentspider.state.crawls.ledgers import open_history
from contentspider.state.ledger.visits import Visit

if TYPE_CHECKING:
    from contentspider.crawl.base.options import CrawlOptions
    from contentspider.crawl.learning.models import SiteState
    from contentspider.crawl.revisits.gone import Exclusion
    from contentspider.page.input.page import Page
    from contentspider.state.crawls.outcome import Ending
    from contentspider.state.history.known import KnownPage
    from contentspider.state.ledger.ledger import Ledger

logger = logging.getLogger(__name__)

CRAWL_FACT = "crawl"
DISTRUSTED_FACT = "distrusted"
ERROR_FACT = "error_page"
UNSURE = "unsure"


class Revisits:
    """Compares the pages of a crawl with the history in a file, and adds to it at the end."""

    def __init__(self, ledger: Ledger, path: Path, options: CrawlOptions) -> None:
        self._facts, self._visits = ledger.runs, ledger.visits
        self._ledger = ledger
        self._options = options
        self._history = open_history(path, options.history_mb * 1_000_000)
        self.is_first = not self._history.live_count()
        if self._facts.fact(CRAWL_FACT) is None:
            self._facts.set_fact(CRAWL_FACT, uuid.uuid4().hex)
        distrusted = self._facts.fact(DISTRUSTED_FACT) or []
        self._distrusted = self._history.distrusted | frozenset(distrusted)
        # The states of the sites of which items have come.
        self._states: dict[str, SiteState] = {}
        self._refilter = Refilter(self._history, self._states, options)
        self._counters = self._history.counters()
        self.lastmods = Lastmods(self._history, self._visits)
        self.originals = Originals(self._visits, self._history, self._refilter)
        self.own_answers = self._history.own_answers
        self.stale = self._history.stale
        self.has_refilled = False  # some items of this crawl, by a model that came later
        self._dead = self._history.dead_links.waiting(options.due)
        # The texts of the error pages, by folder.
        errors = self._facts.fact(ERROR_FACT) or {}
        self._errors = {folder: frozenset(texts) for folder, texts in errors.items()}
        self.close = self._history.close
        self.kept = self._history.kept

    def know(self, states: Mapping[str, SiteState]) -> None:
        """Note the states of sites of which other processes had the items."""
        self._states |= states

    def compare(
        self, fields: dict[str, Any], page: Page, row: int | None, state: SiteState
    ) -> bool:
        """Set an item's fields that say how its page, at a *row*, changed; note the visit. Tell
        whether only another model cuts it otherwise.
        """
        at, whole = fields["crawled_at"], text_hash(page)
        self._states[state.key] = state
        known = self._history.page(fields["id"])
        previous, how = None, ""
        if not _is_live(known):
            previous, how = self._moved_from(page, row)
        base = known if _is_live(known) else previous
        found = Difference(NEW, BY_PAGE, 1.0)
        if base is not None:
            found = self._difference(base, fields, page, whole, state)
        change = MOVED if previous is not None else found.change
        # Counters are none of what a server's software takes for a change.
        is_page = change == CHANGED and found.cause == BY_PAGE and not found.numbered
        if is_page and self._visits.answer_of(row).is_check:
            self._distrust(fields["site"], fields["url"])
        is_same = found.change == UNCHANGED or found.cause == BY_MODEL
        before = base or known
        visit = Visit(
            id=fields["id"],
            url=fields["url"],
            site=fields["site"],
            at=at,
            content_hash=fields["content_hash"],
            text_hash=whole,
            model=fields["model_version"],
            first_seen=before.first_seen if before else at,
            changed_at=base.changed_at if base and is_same else at,
            previous_hash=base.content_hash if base else "",
            previous_id=previous.id if previous else "",
            reason=how,
            **{**asdict(found), "change": change},
        )
        is_kept = change == UNCHANGED and visit.previous_hash == visit.content_hash
        is_stored = base is not None and previous is None and base.text_hash == whole
        content, dumped = None if is_kept else fields["content"], None if is_stored else page.dump()
        self._visits.note(visit, row, content, dumped)
        fields |= {"change": change, "change_ratio": found.ratio}
        fields |= {"first_seen": visit.first_seen, "changed_at": visit.changed_at}
        return change == CHANGED and found.cause == BY_MODEL

    def _difference(
        self, base: KnownPage, fields: Mapping[str, Any], page: Page, whole: str, state: SiteState
    ) -> Difference:
        """Return how a page differs from what is known of it."""
        content = fields["content"]
        if base.content_hash == fields["content_hash"]:
            return Difference(UNCHANGED)
        before = self._history.content(base.id) or ""
        ratio = change_ratio(before, content)
        old = self._history.stored(base.id)
        # The page says what it said: under another model, in another template, beside other texts.
        is_same = base.text_hash == whole
        if not is_same and old is not None:
            is_other_model = base.model != fields["model_version"]
            anew = self._refilter.fields(state, old) if is_other_model else {}
            is_same = anew.get("content_hash") == fields["content_hash"]
            is_same = is_same or is_recut(old, before, page, content)
        if is_same:
            return Difference(CHANGED, BY_MODEL, ratio)
        slot_of = partial(self._refilter.slot_of, state.key)
        places = numbered_places(before, page, content, slot_of)
        is_cut = False
        if not places and old is not None:
            was, is_now = without_recut(old, before, page, content)
            places = numbered_places(was, page, is_now, slot_of)
            is_cut = bool(places)
        if places and are_counters(places, self._counters.get(state.key, set())):
            return Difference(CHANGED, BY_MODEL, ratio) if is_cut else Difference(UNCHANGED)
        lines = differing_lines(old, before, page, content, slot_of) if old is not None else ()
        return Difference(CHANGED, BY_PAGE, ratio, places, is_cut, lines)

    def _moved_from(self, page: Page, row: int | None) -> tuple[KnownPage | None, str]:
        """Return the known page that redirected here, or names this canonical now; and which."""
        redirects = self._visits.answer_of(row).moved_from if row is not None else ()
        for address, how in (*redirects, (page.url, "canonical")):
            known = self.known(address)
            if known is not None and known.state == LIVE and not self._visits.has(known.id):
                return known, how
        return None, ""

    def known(self, url: str) -> KnownPage | None:
        """Return what is known of the page at an address."""
        return self._history.page(page_id(url))

    def _is_learned_anew(self, site: str) -> bool:
        state, begin = self._states.get(site), self._facts.all()[0].started
        model = state.model if state is not None and state.is_stored else None
        return model is not None and model.learned_at >= begin

    def item(self, url: str) -> dict[str, Any]:
        """Return the item of the page at an address as it was last; empty if there is none."""
        return self._history.item(page_id(url))

    def is_known(self, url: str) -> bool:
        """Tell whether an address is that of a known page that is not gone."""
        return _is_live(self.known(url))

    def previous_links(self, url: str) -> list[str]:
        """Return where a page led when it was last read."""
        return list(self._history.links(page_id(url)))

    def conditional(self, url: str, site: str) -> KnownPage | None:
        """Return what is known of a page with validators, if its server is to be believed."""
        known = self.known(url) if site not in self._distrusted else None
        # What was not filtered may be no page (a PDF file).
        if known is None or known.state != LIVE or known.model == UNFILTERED:
            return None
        has_validator = known.etag or known.last_modified
        return known if has_validator and self._history.has_page(known.id) else None

    def is_stored(self, url: str) -> bool:
        """Tell whether the page at an address is kept as a whole."""
        return self._history.has_page(page_id(url))

    def stored(self, page_id: str) -> Page | None:
        """Return a page as it was last read, if it is kept and no correction changed it."""
        page = self._history.stored(page_id)
        return page if page is not None and page.corrections is None else None

    def _distrust(self, site: str, url: str) -> None:
        if site in self._distrusted:
            return
        self._distrusted |= {site}
        self._facts.set_fact(DISTRUSTED_FACT, sorted(self._distrusted))
        said = "its server said that the page has not changed, but it has"
        logger.warning("%s: %s: pages of %s are fetched whole from now on", url, said, site)

    def learn_error_page(self, page: Page) -> None:
        """Learn the error page of a folder, from the answer to a random address there."""
        self._errors[join(page.url, ".")] = texts_of(page)
        errors = {folder: sorted(texts) for folder, texts in self._errors.items()}
        self._facts.set_fact(ERROR_FACT, errors)

    def replacement_kind(
        self, page: Page, url: str, has_password: bool, content_of: Callable[[], str]
    ) -> str:
        """Return what stands in a page's place: ``soft_404``, ``login``, `UNSURE` or nothing."""
        folder = join(url, ".")
        folders = (folder, join(url, "/"))
        errors = [texts for key in folders if (texts := self._errors.get(key))]
        known = self.known(url)
        if known is None:
            return "soft_404" if any(is_like(page, error) for error in errors) else ""
        if known.state != LIVE or known.text_hash == text_hash(page):
            return ""
        if not is_gone(page, self._history.content(known.id) or ""):
            return ""
        content = content_of()
        if has_password and is_login(content):
            return "login"
        if any(is_error_page(page, content, error) for error in errors):
            return "soft_404"
        return "" if folder in self._errors else UNSURE

    def may_wait(self, url: str) -> bool:
        """Tell whether a link leads to what is known, or was, and is asked only when it is due, or
        to what is dead.
        """
        if self._dead and page_id(url) in self._dead:
            return True
        if not self._options.due:
            return False
        known = self.known(url)
        is_here = known is not None and known.state in (LIVE, MOVED)
        return is_here or bool(self._history.original_of(page_id(url)))

    def unseen(self) -> Iterator[str]:
        """Yield the known pages that are still to be asked: unseen ones, or those that are due."""
        if self._options.due:
            yield from self.lastmods.choose(due_pages(self._history, self._options))
            return
        for known in self._history.live():
            enough = known.missing + 1 >= self._options.missing_crawls > 0
            if not enough and not self._visits.has(known.id):
                yield known.url

    def end(self, ending: Ending, exclusion: Exclusion = no_exclusion) -> Counter[str]:
        """Take over what a crawl found into the history; return how many pages have each change.
        Those for which *exclusion* gives a reason are gone.
        """
        crawl = str(self._facts.fact(CRAWL_FACT))
        gone = GonePages(self._history, self._ledger, self._options, ending, exclusion)
        pages, path = self._visits.count(), self._history.path
        logger.info("taking %d pages over into the history %s", pages, path)
        takeover = self._history.take_over(crawl, gone.is_complete)
        counts: Counter[str] = Counter()
        arrived = set()
        stale = {site for site in self.stale if not self._is_learned_anew(site)}
        counters = find_counters(self._visits, self._distrusted, self._refilter)
        for site, places in counters.items():
            for place in places:
                takeover.add_counter(site, place)
        templates = find_templates(self._visits)
        for seen in self._visits.after(self._history.taken_over(crawl)):
            is_item_known, item = self._ledger.items.of_page(seen.visit.id, unless=UNCHANGED)
            seen = replace(seen, is_item_known=is_item_known, item=item)
            seen = without_counters(self._refilter.visit(seen), counters)
            kept, seen = seen, without_template(seen, templates)
            if seen is not kept and any(line.startswith("+") for line in seen.visit.lines):
                stale.add(seen.visit.site)
            if seen.item is not item and seen.item is not None:
                self._ledger.items.refill(seen.visit.id, seen.item)
                self.has_refilled = True
            if not is_item_known and seen.visit.cause == BY_MODEL:  # it was not given on
                item = self._refilter.refilled(seen, takeover.item(seen.visit.id))
                seen = replace(seen, is_item_known=item is not None, item=item)
            visit = takeover.take(gone.as_moved(seen))
            self.lastmods.judge(visit)
            counts[visit.change] += 1
            arrived.add(visit.previous_id)
        counts.update(gone.take(takeover, arrived))
        self.originals.take(takeover)
        self._history.dead_links.take(self._ledger.frontier.failed(LOST_REASONS))
        counts[CHANGED] += self._refilter.filter_unvisited(takeover, self._visits.has)
        for site in self._distrusted:
            takeover.distrust(site)
        takeover.set_stale(stale)
        for site in stale - self.stale:
            logger.info("%s: its template has new lines: the next crawl learns it anew", site)
        self.lastmods.take(takeover)
        self._ledger.commit()  # first: an output with items of two models is then written again
        self.own_answers.replace(self._ledger.own_texts.answers())
        takeover.commit()
        return counts


def _is_live(known: KnownPage | None) -> bool:
    return known is not None and known.state == LIVE
