"""The counters of a site, its texts that alternate and the changed lines of its template, found in
all pages of a crawl.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from contentspider.crawl.revisits.slot_watch import SlotWatch
from contentspider.ground.errors import DAMAGE
from contentspider.recrawl.changes import BY_PAGE
from contentspider.recrawl.counters import Counters
from contentspider.recrawl.judge import Facts, Knowledge, judge
from contentspider.recrawl.template import TemplateLines
from contentspider.state.book.pages import load_facts

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from contentspider.crawl.revisits.gone import Pause
    from contentspider.crawl.revisits.refilter import Refilter
    from contentspider.crawl.revisits.slot_watch import WatchedSlots
    from contentspider.state.book.book import Book
    from contentspider.state.book.pages import PageVersion


class CrawlKnowledge:
    """The knowledge of a crawl about each of its sites. At first it has only the places of the
    *counters*, and the keys of *alternating* slots, that earlier crawls have found. At the end of
    the crawl, `learn` adds the results of the crawl's own visits.
    """

    def __init__(
        self, counters: Mapping[str, Collection[str]], alternating: Mapping[str, Collection[str]]
    ) -> None:
        self._counters = {site: set(places) for site, places in counters.items()}
        self._alternating = {site: frozenset(slots) for site, slots in alternating.items()}
        self._templates: dict[str, TemplateLines] = {}

    def of(self, site: str) -> Knowledge:
        """Return the knowledge of a site so far."""
        counters, slots = self._counters.get(site, ()), self._alternating.get(site, ())
        return Knowledge(counters, self._templates.get(site), slots)

    async def learn(
        self, book: Book, distrusted: Collection[str], refilter: Refilter, pause: Pause
    ) -> Learned:
        """Find the template's lines, the counters and the slots that alternate in all visits of a
        crawl; return the places of the counters, and the slots, by site.

        A *distrusted* site has called changed pages unchanged, so its "not modified" answers do not
        show counters. *pause* is called after each visit.
        """
        differences = _Differences(distrusted)
        for site, count in book.pages.plain_counts():
            differences.add_plain(site, count)
        alternation = SlotWatch(book, refilter)
        await pause()
        for version in book.pages.all_found("AND facts != ''"):
            with suppress(*DAMAGE):
                site, facts = version.site, load_facts(version.facts)
                is_check = book.answers.of(version.address).is_check
                cause = judge(facts, self.of(site)).cause if facts.numbered else ""
                differences.add(site, facts, is_check, is_proof=cause == BY_PAGE)
                alternation.add(version, {*facts.slots, *facts.recut})
            await pause()
        counters = await _find_counters(differences, book, refilter, pause)
        self._templates = differences.templates
        for site, places in counters.items():
            self._counters.setdefault(site, set()).update(places)
        slots = await alternation.find(pause)
        self._alternating |= {site: frozenset(found.names) for site, found in slots.items()}
        return Learned(counters, slots)


@dataclass(frozen=True, slots=True)
class Learned:
    """The results of a crawl about its sites, by site: the places of *counters*, and the *slots*
    whose texts alternate.
    """

    counters: Mapping[str, set[str]]
    slots: Mapping[str, WatchedSlots]


class _Differences:
    """The differences between the pages of a crawl and their previous versions, by site.

    *numbered* has an entry for each page where only numbers have changed:
    the places of these numbers. *same* has the entries of the pages that the server called
    unmodified. *templates* has the differing lines.
    """

    def __init__(self, distrusted: Collection[str]) -> None:
        self._distrusted = distrusted
        self.numbered: dict[str, list[tuple[str, ...]]] = {}
        self.same: dict[str, list[tuple[str, ...]]] = {}
        self.templates: dict[str, TemplateLines] = {}

    def add_plain(self, site: str, count: int) -> None:
        """Add so many pages without differing numbers and lines."""
        self.templates.setdefault(site, TemplateLines()).add_plain(count)

    def add(self, site: str, facts: Facts, is_check: bool, is_proof: bool) -> None:
        """Add the *facts* of a page.

        With *is_proof* only numbers of the page have changed, in places that are not known as
        counters. With *is_check* the server has called the page unmodified.
        """
        template = self.templates.setdefault(site, TemplateLines())
        template.add(facts.lines, facts.is_remodelled)
        if is_proof:
            self.numbered.setdefault(site, []).append(facts.numbered)
            if is_check and not facts.slots and site not in self._distrusted:
                self.same.setdefault(site, []).append(facts.numbered)


async def _find_counters(
    differences: _Differences, book: Book, refilter: Refilter, pause: Pause
) -> dict[str, set[str]]:
    """Return the places of counters, by site. *pause* is called after each visit."""
    finders = {
        site: Counters(places, differences.same.get(site, ()))
        for site, places in differences.numbered.items()
    }
    for version in book.pages.all_found("AND origin = 'visit'") if finders else ():
        finder = finders.get(version.site)
        if finder is not None:
            with refilter.keeping(version.url):
                _count_places(finder, version, book, refilter)
        await pause()
    return {site: finder.places() for site, finder in finders.items()}


def _count_places(finder: Counters, version: PageVersion, book: Book, refilter: Refilter) -> None:
    """Count the places of a visited page whose numbers have changed."""
    slot_of = partial(refilter.slot_of, version.site)
    # A page that the server did not send may have other numbers now; a new page lacks old ones.
    is_unsent = book.answers.of(version.address).is_unsent
    previous_page = None if is_unsent else refilter.previous_page(version)
    if previous_page is None and not finder.needs_more:
        return
    page = book.known.blocks(version.page, version.id)
    if page is None:
        return
    if previous_page is not None:
        finder.add(page, previous_page, slot_of)
    if finder.needs_more:
        finder.share(page, slot_of)
