"""The end of a crawl: results that need all of its visits are written, and all is published."""

from __future__ import annotations

import logging
from collections import Counter
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from contentspider.crawl.revisits.broken import BrokenPages
from contentspider.crawl.revisits.gone import LOST_REASONS, GonePages
from contentspider.crawl.revisits.settle import Settlement
from contentspider.ground.sites import SiteKeys
from contentspider.recrawl.changes import LIVE
from contentspider.state.book.broken import FAILED_CRAWLS
from contentspider.state.book.losses import Losses

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Mapping
    from typing import TypeAlias

    from contentspider.crawl.base.options import CrawlOptions
    from contentspider.crawl.learning.models import SiteState
    from contentspider.crawl.revisits.comparison import PageComparison
    from contentspider.crawl.revisits.copies import KnownCopies
    from contentspider.crawl.revisits.due_pages import Lastmods
    from contentspider.crawl.revisits.gone import Exclusion, Pause
    from contentspider.crawl.revisits.knowledge import CrawlKnowledge, Learned
    from contentspider.crawl.revisits.refilter import Refilter
    from contentspider.state.book.book import Book
    from contentspider.state.outcome import Ending

    # Takes the present step of the end, such as "filters pages again".
    ProgressPause: TypeAlias = Callable[[str], Awaitable[None]]

logger = logging.getLogger(__name__)


async def no_pause(step: str) -> None:
    """Write on without a pause."""


class CrawlEnd:
    """Writes the end of a crawl into its *book*, in an order that readers can follow in `write`.

    Nothing of it is seen before it is published. An end that was interrupted begins anew, apart
    from the pages that were settled.
    """

    def __init__(
        self,
        book: Book,
        options: CrawlOptions,
        states: Mapping[str, SiteState],
        refilter: Refilter,
        comparison: PageComparison,
        knowledge: CrawlKnowledge,
        copies: KnownCopies,
        lastmods: Lastmods,
    ) -> None:
        self._book = book
        self._options = options
        self._states = states
        self._refilter = refilter
        self._knowledge = knowledge
        self._copies = copies
        self._lastmods = lastmods
        only = bool(options.only)
        self._settlement = Settlement(book, states, refilter, comparison, knowledge, only)
        self.state_of: Callable[[str], SiteState | None] = states.get
        self.reads_unlinked = True
        # Sites that are not trusted, and sites whose template their model did not know.
        self.distrusted: Collection[str] = ()
        self.stale: Collection[str] = ()

    async def write(
        self, ending: Ending, exclusion: Exclusion, starts: Collection[str], report: ProgressPause
    ) -> Counter[str]:
        """Write and publish the end of a crawl that ended so; return how many pages have each
        change.
        """
        book, settlement = self._book, self._settlement
        logger.info("the changes of the crawl are written into %s", book.path)
        book.begin_ending()
        # A step that finds nothing still reads a whole table: pauses are also between the steps.
        pause = partial(report, "looks for known pages that it has not read")
        await pause()
        gone = GonePages(book, self._options, ending, exclusion, self.reads_unlinked)
        await pause()
        await gone.find(pause)
        pause = partial(report, "filters pages again that another model has filtered")
        await settlement.settle(pause, is_visited=True)
        pause = partial(report, "compares copies, counters and lines of the template")
        await self._complete_copies(pause)
        learned = await self._knowledge.learn(book, self.distrusted, self._refilter, pause)
        await pause()
        stale = {site for site in self.stale if not self._is_relearned(site)}
        await settlement.judge_again(stale, pause)
        await pause()
        await settlement.complete_pending(pause)
        await pause()
        for move in gone.moved_to_new():
            settlement.move(move, self.state_of, bool(self._options.fields_file.fields))
            await pause()
        counts = await self._write_losses(gone, partial(report, "records the pages that are gone"))
        pause = partial(report, "filters pages again that another model has filtered")
        await settlement.settle(pause, is_visited=False, lost=gone.lost_ids)
        pause = partial(report, "records copies, dead links and texts of links")
        await self._copies.write(gone.is_complete, pause)
        await pause()
        await self._write_dead_links(pause)
        broken = BrokenPages(
            book.broken, book.frontier, starts, SiteKeys(self._options.site_by).key
        )
        counts.update(await broken.write(ending, gone.is_complete, pause))
        await pause()
        counts.update(self._write_refused())
        await self._write_anchors(pause)
        await pause()
        lastmods = await self._lastmods.count(pause)
        counts.update(book.changes.counts(), ignored=book.changes.ignored())
        # From here on everything is written in one transaction, without a pause.
        for site, places in learned.counters.items():
            for place in places:
                book.sites.add_counter(site, place)
        self._write_slots(learned)
        for site, site_counts in lastmods.items():
            book.sites.set_lastmods(site, site_counts)
        book.dead_links.forget()
        book.sites.distrust(self.distrusted)
        book.sites.set_stale(stale)
        for site in stale - set(self.stale):
            logger.info("%s: its template has new lines: the next crawl learns it again", site)
        book.own_answers.replace(book.own_texts.answers())
        book.publish(gone.is_complete)
        return counts

    def _write_slots(self, learned: Learned) -> None:
        """Store the slots whose texts alternate, and log each slot that earlier crawls did not know
        as such.
        """
        known = self._book.alternating.slots()
        for site, slots in learned.slots.items():
            for key in slots.names.keys() - known.get(site, ()):
                logger.info(
                    "%s: the text alternates, and does not count: %s", site, slots.names[key]
                )
            self._book.alternating.replace(
                site, slots.names, slots.histories, self._book.runs.crawl
            )

    def _write_refused(self) -> dict[str, int]:
        """Record which sites' models this crawl refused. Return in how many crawls in a row before
        it, by ``refused/SITE``, of the sites that are known for it.
        """
        refused = self._book.refused
        models = {key: state.model for key, state in self._states.items() if state.model}
        for site in {each.site for each in refused.all()}.intersection(models):
            if not models[site].is_refused:
                refused.remove(site)
        crawls = {
            f"refused/{site}": refused.add(site, self._book.runs.crawl)
            for site, model in sorted(models.items())
            if model.is_refused
        }
        return {name: count for name, count in crawls.items() if count >= FAILED_CRAWLS}

    def _is_relearned(self, site: str) -> bool:
        """Tell whether this crawl has learned a site."""
        state, begin = self._states.get(site), self._book.runs.all()[0].started
        model = state.model if state is not None and state.is_stored else None
        return model is not None and model.learned_at >= begin

    async def _complete_copies(self, pause: Pause) -> None:
        """Name all copies of a page in its items; some were read after the items were filled."""
        for original, addresses in list(self._copies.pages()):
            released = self._book.items.released(original)
            if released and released[1].get("also_at", addresses) != addresses:
                self._refill(original, {"also_at": addresses})
            await pause()

    def _refill(self, page_id: str, fields: dict[str, object]) -> None:
        """Write other fields into the items of a visited page."""
        refilled = self._book.items.refill(page_id, fields)
        version = self._book.pages.found(page_id)
        if refilled is not None and version is not None:
            number, item = refilled
            if version.content == version.item:
                version = self._book.visits.with_content(version, number, item)
            self._book.pages.put(self._book.visits.with_item(version, item, number))

    async def _write_losses(self, gone: GonePages, pause: Pause) -> Counter[str]:
        """Write which known pages have moved or are gone; return their numbers."""
        losses = Losses(self._book)
        moved_ids = set()
        for page_id, seq in self._book.changes.moves():
            losses.mark_moved(page_id, seq)
            moved_ids.add(page_id)
            await pause()
        counts = Counter(await gone.write(losses, moved_ids, pause))
        # The change records have these, too.
        for name in ("gone", "moved"):
            counts.pop(name, None)
        return counts

    async def _write_dead_links(self, pause: Pause) -> None:
        for address in list(self._book.frontier.failed(LOST_REASONS)):
            self._book.dead_links.add(address)
            await pause()

    async def _write_anchors(self, pause: Pause) -> None:
        """Write how the texts of links have changed, and give each page its texts."""
        book, run = self._book, self._book.runs.current
        for page_id, state, links, old_state, old_links in book.pages.link_changes():
            before = old_links if old_state == LIVE else None
            after = links if state == LIVE else None
            for _ in book.anchors.replace(before, after, run):
                await pause()
            if (state == LIVE) != (old_state == LIVE):
                book.copies.note(page_id, run)
            await pause()
        for _ in chain(book.anchors.flush(run), book.anchors.update(run, book.runs.crawl)):
            await pause()
