"""Watches the slots whose texts differ, and finds out which of them alternate."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from contentspider.recrawl.alternating import (
    CRAWLS,
    MAX_PAGES,
    WATCHED_SHARE,
    AlternatingSlots,
    SlotTexts,
    is_watched,
    slot_texts,
)
from contentspider.recrawl.places import UNKNOWN, slot_key
from contentspider.site.models.identity import page_id
from contentspider.site.models.record import page_language
from contentspider.state.book.pages import load_facts

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from contentspider.crawl.revisits.gone import Pause
    from contentspider.crawl.revisits.refilter import Refilter
    from contentspider.page.input.page import Page
    from contentspider.recrawl.alternating import History
    from contentspider.state.book.book import Book
    from contentspider.state.book.pages import PageVersion

MAX_UNCHANGED = 100  # unchanged pages of a site, to estimate on how many pages a slot is


@dataclass(frozen=True, slots=True)
class WatchedSlots:
    """The slots of a site that alternate, their *names* by key, and the *histories* of all slots
    that may turn out to do so: their texts differed on many pages in one of the last crawls.
    """

    names: Mapping[str, str]
    histories: Mapping[str, History]


@dataclass
class _Site:
    """The visited pages of a site that differ in slots: their *count*, how many *differ* in each
    slot, and the ids of the *first* of them. *still* has the ids of some pages that do not.
    """

    count: int = 0
    differ: Counter[str] = field(default_factory=Counter)
    first: list[str] = field(default_factory=list)
    still: list[str] = field(default_factory=list)


class SlotWatch:
    """Finds the slots of a crawl's sites that alternate, by the lines that they had in the last
    crawls and have now.
    """

    def __init__(self, book: Book, refilter: Refilter) -> None:
        self._book = book
        self._refilter = refilter
        self._sites: dict[str, _Site] = defaultdict(_Site)

    def add(self, version: PageVersion, slots: Iterable[str]) -> None:
        """Add a visited page whose content differs in *slots* from its last visit."""
        keys = [key for key in slots if key != UNKNOWN]
        if keys:
            site = self._sites[version.site]
            site.count += 1
            site.differ.update(keys)
            if len(site.first) < MAX_PAGES:
                site.first.append(version.id)

    async def find(self, pause: Pause) -> dict[str, WatchedSlots]:
        """Return the watched slots of each site with pages that differ. *pause* is called after
        each page.
        """
        return {name: await self._watched(name, site, pause) for name, site in self._sites.items()}

    async def _watched(self, name: str, site: _Site, pause: Pause) -> WatchedSlots:
        stored = self._book.alternating.histories(name)
        keys = stored.keys() | await self._often(name, site, pause)
        histories = {key: stored.get(key, {}) for key in keys}
        alternated = self._book.alternating.slots().get(name, ())
        slots = AlternatingSlots(histories, alternated, self._on_front(site))
        known = {page for history in histories.values() for page in history}
        for number in sorted(known.union(site.first, site.still)) if histories else ():
            version = self._book.pages.found(number)
            if version is not None and version.page is not None:
                with self._refilter.keeping(version.url):
                    slots.add(self._extend(histories, version))
            await pause()
        names = {slot_key(slot): slot for slot in slots.slots()}
        since = self._book.runs.crawl - CRAWLS
        watched = {key: history for key, history in histories.items() if is_watched(history, since)}
        return WatchedSlots(names, watched)

    def _on_front(self, site: _Site) -> Collection[str]:
        """Return the keys of the slots of the front page of a site, if the crawl has visited it."""
        differing = self._book.pages.found(site.first[0])
        front = differing and self._book.pages.found(page_id(urljoin(differing.url, "/")))
        if not front or front.page is None:
            return ()
        with self._refilter.keeping(front.url):
            return self._texts(front, is_before=False).keys()
        return ()

    async def _often(self, name: str, site: _Site, pause: Pause) -> set[str]:
        """Return the keys of the slots that differ on many pages that have them."""
        unchanged = self._book.pages.visit_count(name) - site.count
        having = Counter[str]()
        for version in self._book.pages.all_found("AND site = ? AND origin = 'visit'", name):
            if len(site.still) == min(MAX_UNCHANGED, unchanged):
                break
            if not _differs(version):
                site.still.append(version.id)
                with self._refilter.keeping(version.url):
                    having.update(self._texts(version, is_before=False).keys())
            await pause()
        having_all = {key: n * unchanged / len(site.still) for key, n in having.items()}
        return {
            key
            for key, count in site.differ.items()
            if count >= WATCHED_SHARE * (count + having_all.get(key, 0))
        }

    def _extend(
        self, histories: Mapping[str, dict[str, dict[int, tuple[bytes, ...]]]], version: PageVersion
    ) -> dict[str, SlotTexts]:
        """Add the lines of a visited page to the *histories*; return its texts by slot, also of the
        slots that it had at the last visit only.
        """
        crawl = self._book.runs.crawl
        now, before = (self._texts(version, is_before) for is_before in (False, True))
        texts = {**before, **now}
        for key, pages in histories.items():
            if version.id in pages or (key in texts and len(pages) < MAX_PAGES):
                visits = pages.setdefault(version.id, {})
                if not visits and before:
                    visits[crawl - 1] = before[key].keys if key in before else ()
                visits[crawl] = now[key].keys if key in now else ()
        return texts

    def _texts(self, version: PageVersion, is_before: bool) -> dict[str, SlotTexts]:
        """Return the texts of a visited page by slot; with *is_before*, the texts of the version
        that the previous crawl knew.
        """
        page: Page | None
        if is_before:
            page = self._refilter.previous_page(version)
        else:
            page = self._book.known.blocks(version.page, version.id)
        if page is None:
            return {}
        slot_of = partial(self._refilter.slot_of, version.site)
        return slot_texts(page, slot_of, page_language(page, page.content.blocks))


def _differs(version: PageVersion) -> bool:
    try:
        facts = load_facts(version.facts) if version.facts else None
        return facts is not None and bool(facts.slots or facts.recut)
    except ValueError:
        return True
