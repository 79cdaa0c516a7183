"""Learning the sites of a crawl, and saving what was learned."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from typing import TYPE_CHECKING

from scrapy.utils.asyncio import run_in_thread

from contentspider.crawl.hold.learning import LearningTimeoutError, learn_apart
from contentspider.ground.errors import NotEnoughTextError
from contentspider.site.models.generations import DRIFT
from contentspider.state.crawls.outcome import F1_STAT, PAGES_STAT
from contentspider.state.stores.shared_models import open_models

if TYPE_CHECKING:
    from scrapy.statscollectors import StatsCollector

    from contentspider.crawl.hold.learning import Learned
    from contentspider.crawl.hold.site_state import SiteState
    from contentspider.crawl.options import CrawlOptions
    from contentspider.crawl.queue.keeper import Keeper
    from contentspider.site.models.model import SiteModel

logger = logging.getLogger(__name__)

# Learning takes 2 to 3 seconds; after so many the site's items pass unfiltered.
LEARN_SECS = 300.0


def note_quality(model: SiteModel, key: str, stats: StatsCollector, least: float) -> None:
    """Have the stats say how good a site's model is, and the log if it was measured to be worse
    than *least* (F1).
    """
    quality = model.quality
    if quality is None:
        return
    stats.set_value(F1_STAT + key, quality.f1)
    stats.set_value(PAGES_STAT + key, quality.pages)
    if quality.is_measured and quality.f1 < least:
        logger.warning(
            "%s: %s, less than CONTENTSPIDER_MIN_QUALITY=%g. The worst pages: %s",
            key,
            quality,
            least,
            ", ".join(f"{page.url} ({page.f1:.2f})" for page in quality.worst),
        )


class Learners:
    """Learns the models of a *keeper*'s crawl, each in a process of its own, and saves them."""

    def __init__(self, options: CrawlOptions, stats: StatsCollector) -> None:
        self._options = options
        self._stats = stats
        self.store = open_models(options.models_dir, options.state_dir)
        # A learner takes one core, and the crawl wants one, too.
        self._free = asyncio.Semaphore(max(1, (os.cpu_count() or 1) // 2))

    async def learn(self, keeper: Keeper, state: SiteState, compare: bool = False) -> Learned:
        """Return the site's model, learned from the pages that the ledger has, at the second
        attempt if the first fails; *compare* it with the stored one on the same pages.
        """
        for attempt in (1, 2):
            started = time.monotonic()
            keeper.commit()  # the learner reads what is on disk
            path = keeper.ledger.path
            assert path  # in memory nothing is held
            try:
                async with self._free:
                    if state.held:
                        logger.info("%s: learning from %d held items", state.key, state.held)
                    else:
                        logger.info("%s: learning again, from a sample of all pages", state.key)
                    learned = await run_in_thread(
                        learn_apart,
                        path,
                        state.key,
                        self._options.learning,
                        LEARN_SECS,
                        self.store.folder / state.key if compare else None,
                    )
            except (NotEnoughTextError, LearningTimeoutError):
                raise
            except Exception as error:
                if attempt == 2:
                    raise
                logger.warning("%s: learning failed and is tried again: %s", state.key, error)
            else:
                logger.info(
                    "%s: learned model %s from %d pages in %.1f s",
                    state.key,
                    learned.model.version,
                    learned.model.pages,
                    time.monotonic() - started,
                )
                return learned
        raise AssertionError("unreachable")

    async def mend(self, keeper: Keeper, state: SiteState) -> SiteModel | None:
        """Return a model that knows the templates which the present one does not, learned anew;
        None if there are none, or it would be no better.

        The two are compared on the same pages, by how sure they are and how far they agree with the
        votes.
        """
        watch = state.watch
        if watch is None or not watch.is_found:
            return None
        self._stats.inc_value("contentspider/sites/drifted")
        logger.warning(
            "%s: its template has changed, or has a part that was not known: %s. The site is"
            " learned anew",
            state.key,
            watch.evidence(),
        )
        try:
            learned = await self.learn(keeper, state, compare=True)
        except Exception as error:  # noqa: BLE001 - whatever it is, there is a model
            logger.error("%s: it could not be learned anew, its model stays: %s", state.key, error)
            return None
        is_better = learned.before is None or learned.score > learned.before
        logger.warning(
            "%s: the new model is %s: on the same pages its mean confidence, times its agreement"
            " with the site's votes, is %.2f, the present one's %s",
            state.key,
            "taken" if is_better else "no better, and the present one stays",
            learned.score,
            "unknown" if learned.before is None else f"{learned.before:.2f}",
        )
        return learned.model if is_better else None

    def save(self, keeper: Keeper, state: SiteState, model: SiteModel, is_cut_short: bool) -> None:
        """Save the model of a site, if the crawl saw enough of it."""
        if is_cut_short:
            logger.info(
                "%s: its model is not saved, since the crawl was cut short: the next one learns the"
                " site from more pages",
                state.key,
            )
            state.is_stored = False
            return
        is_mended = state.watch is not None and state.watch.is_found
        try:
            self.store.save(model, DRIFT if is_mended else "")
        except OSError as error:
            logger.error(
                "%s: its model could not be saved in %s (%s): the next crawl will learn it again",
                state.key,
                self.store.folder,
                error.strerror,
            )
            return
        state.is_stored = True
        self._stats.inc_value("contentspider/models/saved")
        with keeper.guarded:
            learned = {state.key, *(keeper.ledger.runs.fact("learned") or [])}
            keeper.ledger.runs.set_fact("learned", sorted(learned))
