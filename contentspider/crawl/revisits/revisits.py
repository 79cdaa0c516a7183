"""Compares the pages of a crawl with the known pages of its book."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from contentspider.crawl.base.known_page import KnownPage, as_known
from contentspider.crawl.revisits.comparison import PageComparison
from contentspider.crawl.revisits.copies import KnownCopies
from contentspider.crawl.revisits.due_pages import Lastmods, due_pages
from contentspider.crawl.revisits.ending import CrawlEnd, no_pause
from contentspider.crawl.revisits.gone import no_exclusion
from contentspider.crawl.revisits.knowledge import CrawlKnowledge
from contentspider.crawl.revisits.moved_hosts import MIN_SHARE, texts_read
from contentspider.crawl.revisits.refilter import Refilter
from contentspider.crawl.revisits.replaced import ReplacedPages
from contentspider.ground.errors import StateError
from contentspider.recrawl.changes import BY_FIELDS, BY_PAGE, CHANGED, LIVE, MOVED
from contentspider.recrawl.difference import layout_hash, text_hash
from contentspider.recrawl.judge import judge
from contentspider.site.models.identity import UNFILTERED, is_site_item, page_id
from contentspider.state.book.broken import MAX_WAIT
from contentspider.state.book.contents import PAGE
from contentspider.state.book.pages import is_live
from contentspider.state.book.reading import Reading
from contentspider.state.book.visits import Visit

if TYPE_CHECKING:
    from collections import Counter

    from contentspider.crawl.base.options import CrawlOptions
    from contentspider.crawl.learning.models import SiteState
    from contentspider.crawl.revisits.ending import ProgressPause
    from contentspider.crawl.revisits.gone import Exclusion
    from contentspider.page.input.page import Page
    from contentspider.recrawl.judge import Change, Facts
    from contentspider.site.models.failures import Failures
    from contentspider.state.book.answers import Answer
    from contentspider.state.book.book import Book
    from contentspider.state.book.items import ItemBinding
    from contentspider.state.book.pages import PageVersion
    from contentspider.state.outcome import Ending

logger = logging.getLogger(__name__)

DISTRUSTED_FACT = "distrusted"


class Revisits:
    """The known pages of a crawl's *book*, and how they have changed. *starts* are the crawl's
    start addresses.

    `compare` writes each visit into the book during the crawl; `end` publishes them.
    """

    def __init__(
        self, book: Book, options: CrawlOptions, failures: Failures, starts: Collection[str] = ()
    ) -> None:
        self._book = book
        self._facts, self._known = book.runs, book.known
        self._options = options
        self._starts = starts
        self._selectors_digest = options.fields_file.selectors_digest
        self.is_first = not self._known.live_count()
        # The spider reads known pages that no page links to.
        self.reads_unlinked = True
        distrusted = self._facts.fact(DISTRUSTED_FACT) or []
        self._distrusted = book.sites.distrusted | frozenset(distrusted)
        # The states of the sites that have yielded items.
        self._states: dict[str, SiteState] = {}
        # Returns the state of a site. A resumed crawl loads the models of other sites, too.
        self.state_of: Callable[[str], SiteState | None] = self._states.get
        self._refilter = Refilter(book, self._states, options, failures)
        self._knowledge = CrawlKnowledge(book.sites.counters(), book.alternating.slots())
        self._comparison = PageComparison(
            self._known, self._refilter, self._knowledge, bool(options.fields_file.fields)
        )
        self.lastmods = Lastmods(book)
        self.known_copies = KnownCopies(book, self._refilter)
        self.own_answers = book.own_answers
        self.stale = book.sites.stale
        self.broken = book.broken
        self.broken.begin(book.runs.crawl)
        self._dead_links = book.dead_links.waiting(options.due)
        self.replaced = ReplacedPages(book)

    def add_states(self, states: Mapping[str, SiteState]) -> None:
        """Add the states of sites whose items earlier runs of the crawl have yielded."""
        self._states |= states

    def restless(self, site: str) -> Collection[str]:
        """Return the keys of the slots of a site that alternate, or may turn out to do so."""
        return self._book.alternating.watched(site)

    def compare(self, fields: dict[str, Any], hand: ItemBinding, state: SiteState) -> None:
        """Write the visit of an item's page, and set the change of the page in the *fields* of the
        item.
        """
        self._states[state.key] = state
        page, row = hand.page, hand.page_row
        base, move_reason = self._baseline(fields, page, row)
        hashes = _hashes(page, base)
        facts = self._comparison.facts(base, fields, page, hashes[0], state)
        facts = replace(facts, is_moved=bool(move_reason))
        change = judge(facts, self._knowledge.of(fields["site"]))
        answer = self._book.answers.of(row)
        if _has_changed(facts, change) and answer.is_check:
            self._distrust(fields["site"], fields["url"])
        may_be_stored = not move_reason and base is not None
        if may_be_stored and _is_stored(base, page, hashes, hand.is_unsent):
            hand.content = base.page if base else None
        visit = Visit(
            id=fields["id"],
            url=fields["url"],
            site=fields["site"],
            at=fields["crawled_at"],
            facts=facts,
            content_hash=fields["content_hash"],
            text_hash=hashes[0],
            layout_hash=hashes[1],
            model=fields["model_version"],
            base=base,
            reason=move_reason,
            page=self._stored_number(hand),
            reading=_reading(hand, answer),
        )
        hand.text = fields["content"] if visit.has_new_content else None
        version = self._book.visits.write(visit, change, answer, row)
        fields |= {"change": change.change, "change_ratio": change.ratio}
        fields |= {"first_seen": version.first_seen, "changed_at": version.last_seen}
        if base is not None and change.cause != BY_PAGE:
            fields["changed_at"] = base.changed_at

    def _stored_number(self, hand: ItemBinding) -> int | None:
        """Return the number of a page's blocks, which are stored if the book has room for them."""
        if not self._book.has_room:
            return None
        if hand.content is None:
            hand.content = self._book.contents.put(PAGE, hand.page.to_json())
        return hand.content

    def _baseline(
        self, fields: Mapping[str, Any], page: Page, row: int | None
    ) -> tuple[PageVersion | None, str]:
        """Return the known page to compare a page with. If that page moved here from another
        address, also return the reason of the move, otherwise "".
        """
        known_page = self._known.page(fields["id"])
        return (known_page, "") if is_live(known_page) else self._moved_from(page, row)

    def _moved_from(self, page: Page, row: int | None) -> tuple[PageVersion | None, str]:
        """Return the known page that redirects to a page or that names it canonical, and the reason
        (``HTTP 301``, ``canonical``, ...); None and "" if there is none.
        """
        redirects = self._book.answers.of(row).moved_from if row is not None else ()
        for address, reason in (*redirects, (page.url, "canonical")):
            known_page = self.known_page(address)
            if known_page is None or not is_live(known_page):
                continue
            if not self._is_visited(known_page.id):
                return known_page, reason
        return None, ""

    def _is_visited(self, page_id: str) -> bool:
        return self._book.pages.is_visited(page_id, self._book.runs.crawl)

    def known_page(self, url: str) -> PageVersion | None:
        """Return the known page at an address, also if it is gone; None if there is none."""
        return self._known.page(page_id(url))

    def item(self, url: str) -> dict[str, Any]:
        """Return the last item of the page at an address, {} if there is none."""
        return self._known.item(page_id(url))

    def is_known(self, url: str) -> bool:
        """Tell whether an address has a known page that is not gone."""
        return is_live(self.known_page(url))

    def previous_links(self, url: str) -> dict[str, tuple[str, ...]]:
        """Return the links that the page at an address had at its last visit, with their texts."""
        return self._known.links(page_id(url))

    def page_with_validators(self, url: str, site: str) -> PageVersion | None:
        """Return the known page at an address if it has validators and its site is trusted."""
        known_page = self.known_page(url) if site not in self._distrusted else None
        if known_page is None or known_page.state != LIVE:
            return None
        has_validator = known_page.etag or known_page.last_modified
        if not has_validator or not self._known.has_page(known_page.id):
            return None
        # A page that no model has filtered must be read again; a document is never filtered.
        is_final = known_page.model != UNFILTERED or self._is_document(known_page.id)
        return known_page if is_final else None

    def _is_document(self, page_id: str) -> bool:
        page = self.stored_page(page_id)
        return page is not None and page.is_document

    def validator_of(self, page_id: str) -> str:
        """Return the ETag of a known page, or the validator of its body; "" if there is none."""
        known_page = self._known.page(page_id)
        return known_page.etag if known_page is not None else ""

    def is_stored(self, url: str) -> bool:
        """Tell whether the book has the whole page at an address."""
        return self._known.has_page(page_id(url))

    def stored_page(self, page_id: str) -> Page | None:
        """Return a page as it was last read; None if it is not stored, if a person corrected it, or
        if the crawl has other selectors of own fields, or treats the directives of the site's owner
        in another way.
        """
        page = self._known.stored(page_id)
        if page is None or page.corrections is not None:
            return None
        # Selectors match elements of HTML only: a stored document fits any selectors.
        if not page.is_document and self._selectors_digest != (page.own.digest if page.own else ""):
            if self._selectors_digest:
                return None
            page = replace(page, own=None)
        return page if page.content.fits(self._options.obey_directives) else None

    def same_reading(self, page: Page) -> Reading | None:
        """Return the last crawl's reading of a page; None if its text was different."""
        version = self.known_page(page.url)
        is_same = version is not None and version.text_hash == text_hash(page)
        return Reading.load(version.reading) if version is not None and is_same else None

    def unchanged_page(self, page_id: str, key: bytes) -> Page | None:
        """Return a page that the server did not send as `KnownPage`, if its result has this *key*
        (`Reading`) and its item is as new as the page; otherwise None. With ``--only changed``, an
        item stays if only such things as counters differ.
        """
        version = self._known.page(page_id)
        reading = Reading.load(version.reading) if version is not None else None
        if version is None or reading is None or reading.key != key:
            return None
        item = self._known.item_in(version.item)
        if item and item.get("content_hash", version.content_hash) != version.content_hash:
            return None

        def read() -> Page:
            page = self.stored_page(page_id)
            if page is None:
                raise StateError(f"{version.url}: the book does not have the page any more")
            return page

        return KnownPage(version.url, reading, item, read).as_page() if item else None

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
        return has_page or bool(self._known.original_of(page_id(url)))

    def pages_to_visit(self) -> Iterator[str]:
        """Yield the known pages to request: the due pages, or all that have not been visited."""
        if self._options.due:
            yield from self.lastmods.choose(due_pages(self._known, self._options))
            return
        for known_page in self._known.live():
            if is_site_item(known_page.url):
                continue
            is_missing = known_page.missing + 1 >= self._options.missing_crawls > 0
            if not is_missing and not self._is_visited(known_page.id):
                yield known_page.url

    def pages_to_ask(self) -> Iterator[PageVersion]:
        """Yield the known pages that have not been visited, in the first, second, fourth, eighth
        and then every sixteenth complete crawl without a link to them.
        """
        for known_page in self._known.live() if not self._options.due else ():
            crawls = known_page.missing + 1
            is_its_turn = crawls & (crawls - 1) == 0 or crawls % MAX_WAIT == 0
            if is_site_item(known_page.url) or not is_its_turn:
                continue
            if not self._is_visited(known_page.id):
                yield known_page

    def without_moved(self, pages: Collection[PageVersion]) -> list[str]:
        """Return the addresses of *pages* of a host that the crawl has left. Pages whose texts
        another host has now are left out: `LeftHosts` finds them.
        """
        texts = {page.text_hash for page in pages}
        found = texts_read(self._book, texts)
        if len(found) < MIN_SHARE * len(pages):
            found = set()
        return [page.url for page in pages if page.text_hash not in found]

    async def end(
        self, ending: Ending, exclusion: Exclusion = no_exclusion, pause: ProgressPause = no_pause
    ) -> Counter[str]:
        """Publish the visits of a crawl; return how many pages have each change.

        Known pages for which *exclusion* returns a reason are gone. *pause* is called after each
        page with the name of the step. If it raises an error, nothing is published, and the next
        run begins the end anew.
        """
        end = CrawlEnd(
            self._book,
            self._options,
            self._states,
            self._refilter,
            self._comparison,
            self._knowledge,
            self.known_copies,
            self.lastmods,
        )
        end.state_of, end.distrusted, end.stale = self.state_of, self._distrusted, self.stale
        end.reads_unlinked = self.reads_unlinked
        return await end.write(ending, exclusion, self._starts, pause)


def _is_stored(
    base: PageVersion | None, page: Page, hashes: tuple[str, str], is_unsent: bool
) -> bool:
    """Tell whether the book already stores this state of a page. *hashes* are the hash of its text
    and the hash of its layout.

    The template may have changed around the same text. Directives of the site's owner may have
    changed which text is left out, and selectors may find other values in attributes. The hashes of
    text and layout do not show these two, so pages with directives or selectors are written again
    if they were sent.
    """
    if base is None or (base.text_hash, base.layout_hash) != hashes:
        return False
    if is_unsent and base.id == page_id(page.url):
        return True
    return page.own is None and page.content.fits(True) and page.content.fits(False)


def _hashes(page: Page, base: PageVersion | None) -> tuple[str, str]:
    """Return the hashes of a page's text and layout, from *base* if the page is unchanged."""
    if base is not None and as_known(page) is not None:
        return base.text_hash, base.layout_hash
    return text_hash(page), layout_hash(page)


def _reading(hand: ItemBinding, answer: Answer) -> bytes:
    """Return the reading of an item's page for the next crawl, b"" if it must be read again."""
    reading = hand.reading
    if reading is not None and not reading.claims:
        reading = reading.with_claims(answer.reading)
    return reading.dump() if reading is not None else b""


def _has_changed(facts: Facts, change: Change) -> bool:
    """Tell whether the page itself has changed. A server's software ignores changes of counters."""
    has_text = bool(facts.slots) or not facts.numbered
    by_page = change.cause == BY_FIELDS or (change.cause == BY_PAGE and has_text)
    return change.change == CHANGED and by_page
