"""The models of a crawl's sites: loaded, learned, and saved; and people's corrections of them."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from functools import cached_property
from typing import TYPE_CHECKING

from scrapy.utils.asyncio import run_in_thread

from contentspider.crawl.hold.learning import LearningTimeoutError, learn_apart
from contentspider.ground.errors import (
    ContentSpiderError,
    NotEnoughTextError,
    OverridesError,
    StateError,
)
from contentspider.ground.sites import SiteKeys
from contentspider.site.judge.prior import Prior
from contentspider.site.models.generations import DRIFT
from contentspider.site.vote.labels import VOTES
from contentspider.state.crawls.outcome import F1_STAT, PAGES_STAT
from contentspider.state.stores.remote import RemoteError
from contentspider.state.stores.shared_models import open_models

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy.statscollectors import StatsCollector

    from contentspider.crawl.hold.learning import Learned
    from contentspider.crawl.hold.site_state import SiteState
    from contentspider.crawl.options import CrawlOptions
    from contentspider.crawl.queue.keeper import Keeper
    from contentspider.page.input.overrides import Overrides
    from contentspider.site.models.model import SiteModel

logger = logging.getLogger(__name__)

# Learning takes 2 to 3 seconds; after so many the site's items pass unfiltered.
LEARN_SECS = 300.0


class CrawlModels:
    """Loads the models of a crawl's sites, learns them, each in a process of its own, and saves
    them.
    """

    def __init__(self, options: CrawlOptions, stats: StatsCollector) -> None:
        self._options = options
        self._stats = stats
        self._keys = SiteKeys(options.site_by)
        self.store = open_models(options.models_dir, options.state_dir)
        self._overrides: dict[str, Overrides | None] = {}
        # A learner takes one core, and the crawl wants one, too.
        self._free = asyncio.Semaphore(max(1, (os.cpu_count() or 1) // 2))

    @cached_property
    def _prior(self) -> Prior | None:
        """The prior that judges what a model knows too little of (None: the shipped one)."""
        learning = self._options.learning
        return Prior.chosen(learning.prior_file) if learning.labels == VOTES else None

    def load(self, key: str) -> SiteModel | None:
        """Return the stored model of a site if it was learned as this crawl would learn it."""
        model, learning = self.store.load(key), self._options.learning
        wanted = (learning.labels, learning.features, learning.classifier)
        if model is None or (model.labels, model.features, model.classifier_name) != wanted:
            return None
        try:
            model.judge = self._prior
        except StateError as error:
            logger.warning("%s: its model cannot be used without its prior: %s", key, error)
            return None
        if not model.is_of(model.judge):
            logger.warning(
                "%s: its model was learned with another prior (%s) than the present one: it decides"
                " as that one did; --relearn (CONTENTSPIDER_RELEARN) learns the site anew",
                key,
                model.prior,
            )
        self._stats.inc_value("contentspider/models/loaded")
        logger.info("%s: loaded model %s, learned from %d pages", key, model.version, model.pages)
        return model

    def overrides(self, url: str) -> Overrides | None:
        """Return the corrections of an address' site, None if there are none.

        Those that cannot be used are said once, and counted: the site's pages pass without.
        """
        key = self._keys.key(url)
        if key not in self._overrides:
            self._overrides[key] = None
            try:
                self._overrides[key] = self.store.overrides(key)
            except (OverridesError, RemoteError) as error:
                self._stats.inc_value("contentspider/overrides/broken")
                logger.error(
                    "%s; the pages of %s pass without its corrections. Mend that and crawl again",
                    error,
                    key,
                )
        return self._overrides[key]

    async def learn(self, keeper: Keeper, state: SiteState, compare: bool = False) -> Learned:
        """Return the site's model, learned from the pages that the ledger has, at the second
        attempt if the first fails; *compare* it with the stored one on the same pages.
        """
        if state.held:
            logger.info("%s: learning from %d held items", state.key, state.held)
        else:
            logger.info("%s: learning again, from a sample of all pages", state.key)
        try:
            return await self._learn(keeper, state, compare)
        except (NotEnoughTextError, LearningTimeoutError):
            raise
        except (ContentSpiderError, OSError, RuntimeError, MemoryError) as error:
            logger.warning("%s: learning failed and is tried again: %s", state.key, error)
            return await self._learn(keeper, state, compare)

    async def _learn(self, keeper: Keeper, state: SiteState, compare: bool) -> Learned:
        started = time.monotonic()
        keeper.commit()  # the learner reads what is on disk
        before = self.store.folder / state.key if compare else None
        path, options = keeper.ledger.path, self._options.learning
        assert path  # in memory nothing is held
        async with self._free:
            learned = await run_in_thread(learn_apart, path, state.key, options, LEARN_SECS, before)
        learned.model.judge = self._prior
        logger.info(
            "%s: learned model %s from %d pages in %.1f s",
            state.key,
            learned.model.version,
            learned.model.pages,
            time.monotonic() - started,
        )
        return learned

    async def mend(self, keeper: Keeper, state: SiteState) -> SiteModel | None:
        """Return a model that knows the templates which the present one does not, learned anew;
        None if there are none, or it would be no better.

        The two are compared on the same pages, by how sure they are and how far they agree with the
        votes.
        """
        if state.watch is None or not state.is_drifted:
            return None
        self._stats.inc_value("contentspider/sites/drifted")
        logger.warning(
            "%s: its template has changed, or has a part that was not known: %s. The site is"
            " learned anew",
            state.key,
            state.watch.evidence(),
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
        state.is_stored = False
        if is_cut_short:
            logger.info(
                "%s: its model is not saved, since the crawl was cut short: the next one learns the"
                " site from more pages",
                state.key,
            )
            return
        try:
            self.store.save(model, DRIFT if state.is_drifted else "")
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
            keeper.ledger.runs.set_fact("learned", sorted({state.key, *learned_sites(keeper)}))

    def note_quality(self, key: str, model: SiteModel) -> None:
        """Have the stats say how good a site's model is, and the log if it was measured to be
        worse than it should be.
        """
        quality, least = model.quality, self._options.min_quality
        if quality is None:
            return
        self._stats.set_value(F1_STAT + key, quality.f1)
        self._stats.set_value(PAGES_STAT + key, quality.pages)
        if quality.is_measured and quality.f1 < least:
            logger.warning(
                "%s: %s, less than CONTENTSPIDER_MIN_QUALITY=%g. The worst pages: %s",
                key,
                quality,
                least,
                ", ".join(f"{page.url} ({page.f1:.2f})" for page in quality.worst),
            )


def learned_sites(keeper: Keeper) -> list[str]:
    """Return the sites whose models were learned in this crawl, in any of its runs."""
    return keeper.ledger.runs.fact("learned") or []


def check_overrides(addresses: Iterable[str], options: CrawlOptions) -> None:
    """Raise `OverridesError` if the corrections of a site in *addresses* cannot be used."""
    keys = SiteKeys(options.site_by)
    store = open_models(options.models_dir, options.state_dir)
    for key in dict.fromkeys(map(keys.key, addresses)):
        store.overrides(key)
