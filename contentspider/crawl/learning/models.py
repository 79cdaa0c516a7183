"""The models of a crawl's sites: loaded, learned, and saved; and people's corrections of them."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from scrapy.utils.asyncio import run_in_thread

from contentspider.crawl.learning.learn_process import Learned, LearningTimeoutError, learn_apart
from contentspider.ground.errors import (
    ContentSpiderError,
    NotEnoughTextError,
    OverridesError,
    StateError,
)
from contentspider.ground.sites import SiteKeys
from contentspider.recrawl.drift import Drift
from contentspider.site.judge.prior import Prior
from contentspider.site.models.generations import DRIFT
from contentspider.site.vote.labels import VOTES
from contentspider.state.crawls.outcome import (
    DOUBTFUL_STAT,
    F1_STAT,
    LEARNED_STAT,
    LOST_STAT,
    PAGES_STAT,
)
from contentspider.state.stores.remote import RemoteError
from contentspider.state.stores.shared_models import open_models

if TYPE_CHECKING:
    from scrapy.statscollectors import StatsCollector

    from contentspider.crawl.base.options import CrawlOptions
    from contentspider.crawl.base.state import CrawlState
    from contentspider.page.input.overrides import Overrides
    from contentspider.page.input.page import Page
    from contentspider.site.models.model import SiteModel

logger = logging.getLogger(__name__)

LEARN_SECS = 300.0  # learning takes 2 to 3 seconds; then the site's items pass unfiltered
FIRST_TRY = 500  # with so many pages it is tried whether a site is known well enough
KNOWN_F1 = 0.95


@dataclass(slots=True)
class SiteState:
    """What the crawl knows of a site: its *model*, *work* that is done for it, how much is *held*;
    when to *try_at*. *is_early*: the model is of the first pages, and is learned again. *watch*
    looks for unknown templates. *is_stored*: the next crawl has it, too.
    """

    key: str
    model: SiteModel | None = None
    version: str = ""
    held: int = 0
    pages: int = 0
    last_url: str = ""
    work: asyncio.Task[None] | None = None
    failed: bool = False
    is_early: bool = False
    watch: Drift | None = None
    is_stored: bool = False
    try_at: int = 0

    @property
    def is_ready(self) -> bool:
        """Tell whether items need not be held (any more)."""
        return self.model is not None or self.failed

    @property
    def is_busy(self) -> bool:
        """Tell whether the site is being learned, or its items sent."""
        return bool(self.work and not self.work.done())

    @property
    def is_drifted(self) -> bool:
        """Tell whether there are templates that the model does not know."""
        return self.watch is not None and self.watch.is_found

    def must_wait(self, page: Page) -> bool:
        """Tell whether an item waits for a model: there is none, or none that knows its page."""
        try:
            return not self.is_ready or (self.watch is not None and self.watch.add(page))
        except Exception:  # whatever it is: of what breaks the filter, too, the pipeline tells
            logger.debug("%s: it is not watched for a new template", page.url, exc_info=True)
            return False

    def use(self, model: SiteModel) -> None:
        """Decide by a *model* from now on, and watch whether it knows the site's templates."""
        self.model, self.version, self.watch = model, model.version, Drift(model)

    def is_time(self, most: int) -> bool:
        """Tell whether so many pages are held that the site is to be learned, or tried."""
        return self.pages >= min(max(self.try_at, FIRST_TRY), most)

    def is_enough(self, model: SiteModel, most: int) -> bool:
        """Tell whether items may go by a *model* of the first pages; else the next try is set."""
        if self.pages >= most or (model.quality and model.quality.f1 >= KNOWN_F1):
            return True
        self.try_at = 2 * self.pages
        return False


class CrawlModels:
    """Loads the models of a crawl's sites, learns them in other processes, and saves them."""

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
                f"{key}: its model was learned with another prior ({model.prior}) than the present"
                " one: it decides as that one did; --relearn (CONTENTSPIDER_RELEARN) learns the"
                " site anew"
            )
        self._stats.inc_value("contentspider/models/loaded")
        logger.info("%s: loaded model %s, learned from %d pages", key, model.version, model.pages)
        return model

    def overrides(self, url: str) -> Overrides | None:
        """Return the corrections of an address' site, None if there are none that can be used."""
        key = self._keys.key(url)
        if key not in self._overrides:
            self._overrides[key] = None
            try:
                self._overrides[key] = self.store.overrides(key)
            except (OverridesError, RemoteError) as error:
                self._stats.inc_value("contentspider/overrides/broken")
                logger.error(
                    f"{error}; pages of {key} pass without its corrections. Mend that, crawl again"
                )
        return self._overrides[key]

    async def learn(self, crawl: CrawlState, state: SiteState, compare: bool = False) -> Learned:
        """Return a site's model, learned from the ledger's pages, in two attempts if need be."""
        how = f"from {state.held} held items" if state.held else "again, from a sample of all pages"
        logger.info("%s: learning %s", state.key, how)
        try:
            return await self._learn(crawl, state, compare)
        except (NotEnoughTextError, LearningTimeoutError):
            raise
        except (ContentSpiderError, OSError, RuntimeError, MemoryError) as error:
            logger.warning("%s: learning failed and is tried again: %s", state.key, error)
            return await self._learn(crawl, state, compare)

    async def _learn(self, crawl: CrawlState, state: SiteState, compare: bool) -> Learned:
        started = time.monotonic()
        before = self.store.place(state.key) if compare else None
        path, options = crawl.ledger.path, self._options.learning
        assert path  # in memory nothing is held
        async with self._free:
            learned = await run_in_thread(learn_apart, path, state.key, options, LEARN_SECS, before)
        model, seconds = learned.model, time.monotonic() - started
        model.judge = self._prior
        what = f"learned model {model.version} from {model.pages} pages"
        logger.info("%s: %s in %.1f s", state.key, what, seconds)
        return learned

    async def mend(self, crawl: CrawlState, state: SiteState) -> SiteModel | None:
        """Return a new model for templates that the present one does not know, if it is better."""
        if state.watch is None or not state.is_drifted:
            return None
        self._stats.inc_value("contentspider/sites/drifted")
        logger.warning(
            f"{state.key}: its template has changed, or has a part that was not known:"
            f" {state.watch.evidence()}. The site is learned anew"
        )
        try:
            learned = await self.learn(crawl, state, compare=True)
        except Exception as error:  # noqa: BLE001 - whatever it is, there is a model
            logger.error("%s: it could not be learned anew, its model stays: %s", state.key, error)
            return None
        is_better = learned.before is None or learned.score > learned.before
        done = "taken" if is_better else "no better, and the present one stays"
        before = "unknown" if learned.before is None else f"{learned.before:.2f}"
        logger.warning(
            f"{state.key}: the new model is {done}: on the same pages its mean confidence, times"
            f" its agreement with the votes, is {learned.score:.2f}, the present one's {before}"
        )
        return learned.model if is_better else None

    def save(self, crawl: CrawlState, state: SiteState, model: SiteModel, is_cut: bool) -> None:
        """Save the model of a site, if the crawl saw enough of it."""
        state.is_stored = False
        if is_cut:
            logger.info(
                f"{state.key}: its model is not saved, since the crawl was cut short: the next one"
                " learns the site from more pages"
            )
            return
        try:
            self.store.save(model, DRIFT if state.is_drifted else "")
        except OSError as error:
            logger.error(
                f"{state.key}: its model could not be saved in {self.store.folder}"
                f" ({error.strerror}): the next crawl will learn it again"
            )
            return
        state.is_stored = True
        self._stats.inc_value("contentspider/models/saved")
        with crawl.guarded:
            crawl.ledger.runs.set_fact("learned", sorted({state.key, *learned_sites(crawl)}))

    def note_quality(self, key: str, model: SiteModel) -> None:
        """Have the stats say how good a model is, and the log if it was measured to be bad."""
        quality, least = model.quality, self._options.min_quality
        if quality is None:
            return
        self._stats.set_value(F1_STAT + key, quality.f1)
        self._stats.set_value(PAGES_STAT + key, quality.pages)
        self._stats.set_value(LEARNED_STAT + key, model.pages)
        prefix = f"{DOUBTFUL_STAT}{key}/"
        for name in self._stats.get_stats():
            if name.startswith(prefix):  # of an earlier model
                self._stats.set_value(name, 0)
        for template in quality.doubtful:
            self._stats.set_value(prefix + template.slot, template.pages)
            self._stats.set_value(f"{LOST_STAT}{key}/{template.slot}", template.lost)
            logger.warning(
                "%s: a template is doubtful: %s. contentspider report shows what is kept of them",
                key,
                template,
            )
        if quality.is_measured and quality.f1 < least:
            worst = ", ".join(f"{page.url} ({page.f1:.2f})" for page in quality.worst)
            said = f"{quality}, less than CONTENTSPIDER_MIN_QUALITY={least:g}"
            logger.warning("%s: %s. The worst pages: %s", key, said, worst)


def learned_sites(crawl: CrawlState) -> list[str]:
    """Return the sites whose models were learned in this crawl, in any of its runs."""
    return crawl.ledger.runs.fact("learned") or []


def check_overrides(addresses: Iterable[str], options: CrawlOptions) -> None:
    """Raise `OverridesError` if the corrections of a site in *addresses* cannot be used."""
    keys = SiteKeys(options.site_by)
    store = open_models(options.models_dir, options.state_dir)
    for key in dict.fromkeys(map(keys.key, addresses)):
        store.overrides(key)
