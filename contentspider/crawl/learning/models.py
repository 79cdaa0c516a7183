"""Loads, learns and saves the models of a crawl's sites, and loads their overrides."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from threading import Event
from typing import TYPE_CHECKING

from scrapy.utils.asyncio import run_in_thread

from contentspider.crawl.base.engine import wake
from contentspider.crawl.base.state import shortage
from contentspider.crawl.learning.learn_process import (
    Learned,
    LearningStoppedError,
    LearningTimeoutError,
    learn_in_process,
)
from contentspider.ground import __version__
from contentspider.ground.counts import counted
from contentspider.ground.errors import (
    ContentSpiderError,
    NotEnoughTextError,
    OverridesError,
    StateError,
)
from contentspider.ground.sites import SiteKeys
from contentspider.recrawl.drift import Drift
from contentspider.site.judge.prior import Prior
from contentspider.site.models.folder import DRIFT
from contentspider.site.models.model import SiteModel
from contentspider.site.override_effects import OverrideEffects
from contentspider.site.vote.labels import VOTES
from contentspider.state.outcome import (
    DOUBT_STAT,
    DOUBTFUL_STAT,
    F1_STAT,
    IDLE_OVERRIDES_STAT,
    LEARNED_STAT,
    OUTDATED_STAT,
    PAGES_STAT,
    REFUSED_STAT,
    UNLEARNED_FACT,
)
from contentspider.state.stores.models import open_models
from contentspider.state.stores.remote import RemoteError

if TYPE_CHECKING:
    from collections.abc import Collection

    from scrapy.statscollectors import StatsCollector

    from contentspider.crawl.base.options import CrawlOptions
    from contentspider.crawl.base.state import CrawlState
    from contentspider.page.input.overrides import Overrides
    from contentspider.page.input.page import Page
    from contentspider.site.models.record import Extraction

logger = logging.getLogger(__name__)

# Learning takes 2 to 3 seconds. After this time the site's items pass unfiltered.
LEARN_SECS = 300.0
# Two models of one site whose scores differ by less than this are equally good.
SAME_SCORE = 0.02
# From this many pages on, a site is learned early; the model is used if its F1 is high enough.
FIRST_TRY = 500
KNOWN_F1 = 0.94


@dataclass(slots=True)
class SiteState:
    """The state of a site in a crawl.

    *held* counts its held items, and *pages* counts their pages; *last_url* is the last page.
    *work* is the task that learns the site or sends its items. The site is
    learned next when it has *try_at* pages. *failed*: the site could not be learned. *is_early*:
    the model was learned from the first pages and will be learned again. *watch* looks for
    templates that the model does not know. *is_stored*: the model is saved for the next crawl.
    *is_outdated*: the site could not be learned again, although its template has changed.
    *reading_options* tells the options of the crawl that decide what becomes of a page.
    *keeps_content* tells that items of unchanged pages keep the content of the last item.
    *restless* has the keys of the slots whose texts changed on many pages in the last crawls.
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
    is_outdated: bool = False
    reading_options: str = ""
    keeps_content: bool = True
    restless: Collection[str] = ()

    @property
    def is_ready(self) -> bool:
        """Whether items of the site pass at once instead of being held."""
        return self.model is not None or self.failed

    @property
    def is_busy(self) -> bool:
        """Whether the site is being learned, or its held items are being sent."""
        return bool(self.work and not self.work.done())

    @property
    def reading_key(self) -> bytes:
        """A key that changes with all that decides what becomes of the site's pages, beside the
        pages: its model, the options of the crawl, and the version of this package.
        """
        text = f"{__version__} {self.reading_options} {self.key} {self.version}"
        return blake2b(text.encode("utf-8", "replace"), digest_size=8).digest()

    @property
    def is_settled(self) -> bool:
        """Whether the site has a stored model, which does not change at present."""
        is_new = self.is_early or self.is_outdated or self.is_busy
        return self.model is not None and self.is_stored and not is_new

    @property
    def is_drifted(self) -> bool:
        """Whether the site has templates that the model does not know."""
        return self.watch is not None and self.watch.is_found

    def must_wait(self, page: Page) -> bool:
        """Tell whether the item of a page must wait for a model that knows the page's template."""
        return not self.is_ready or self.is_of_new_template(page)

    def is_of_new_template(self, page: Page) -> bool:
        """Tell whether the site has a template that the model does not know, with this page."""
        try:
            return self.watch is not None and self.watch.add(page)
        except Exception as error:  # noqa: BLE001 - the pipeline decides what becomes of the page
            kind = type(error).__name__
            logger.warning("%s: whether its template is new cannot be told (%s)", page.url, kind)
            return False

    def note_known(self) -> None:
        """Count a page that is as it was when the model was learned."""
        if self.watch is not None:
            self.watch.note_known()

    def use(self, model: SiteModel) -> None:
        """Use a *model* from now on, and watch whether it knows the site's templates."""
        self.model, self.version = model, model.version
        self.watch = Drift(model, self.restless)
        self.is_outdated = False

    def extract(self, page: Page, keep_teasers: bool) -> Extraction | None:
        """Return the content of a page by the model; None without a model, and for documents."""
        if self.model is None or page.is_document:
            return None
        return self.model.extract(page, keep_teasers)

    def is_time(self, max_pages: int) -> bool:
        """Tell whether enough pages are held to learn the site; *max_pages* always are."""
        return self.pages >= min(max(self.try_at, FIRST_TRY), max_pages)

    def is_enough(self, model: SiteModel, max_pages: int) -> bool:
        """Tell whether a *model* of the first pages is good enough to be used. If it is not, the
        site is learned again from twice as many pages, or from *max_pages*.
        """
        if self.pages >= max_pages or (model.quality and model.quality.f1 >= KNOWN_F1):
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
        self.fields_file = options.fields_file
        self._overrides: dict[str, Overrides | None] = {}
        self._effects: dict[str, OverrideEffects] = {}
        self._refused: set[str] = set()  # sites whose present model was refused
        self.stop = Event()
        # A learner uses one core. Half of the cores are left to the crawl.
        self._learner_slots = asyncio.Semaphore(max(1, (os.cpu_count() or 1) // 2))

    @cached_property
    def prior(self) -> Prior | None:
        """The prior that judges the blocks for which a model has too little data; None for the
        shipped prior.
        """
        learning = self._options.learning
        return Prior.chosen(learning.prior_file) if learning.labels == VOTES else None

    def load(self, key: str) -> SiteModel | None:
        """Return the stored model of a site. It is None if there is none, or if the model was
        learned with other options than this crawl has.
        """
        model, learning = self.store.load(key), self._options.learning
        method = (learning.labels, learning.features, learning.classifier)
        if model is None or (model.labels, model.features, model.classifier_name) != method:
            return None
        if model.examples_digest != self.fields_file.examples_digest:
            logger.info("%s: learned again, since the examples of own fields have changed", key)
            return None
        try:
            model.judge = self.prior
        except StateError as error:
            logger.warning("%s: its model cannot be used without its prior: %s", key, error)
            return None
        if not model.is_of(model.judge):
            logger.warning(
                f"{key}: its model was learned with another prior ({model.prior}) than this crawl"
                " has, and still decides by the old one. --relearn (CONTENTSPIDER_RELEARN) learns"
                " the site again with the new prior"
            )
        self._stats.inc_value("contentspider/models/loaded")
        pages = counted(model.pages, "pages")
        logger.info("%s: loaded model %s, learned from %s", key, model.version, pages)
        return model

    def overrides(self, url: str) -> Overrides | None:
        """Return the overrides of the site of an address; None if it has none, or broken ones."""
        key = self._keys.key(url)
        if key not in self._overrides:
            self._overrides[key] = None
            try:
                self._overrides[key] = self.store.overrides(key)
            except (OverridesError, RemoteError) as error:
                self._stats.inc_value("contentspider/overrides/broken")
                logger.error(
                    f"{error}; the overrides of {key} are ignored in this crawl. Mend the file, and"
                    " crawl again"
                )
        return self._overrides[key]

    def note_overrides(self, page: Page) -> None:
        """Count the lines of `overrides.toml` that decide about texts of a page."""
        key = self._keys.key(page.url)
        if (overrides := self._overrides.get(key)) is not None:
            if key not in self._effects:
                self._effects[key] = OverrideEffects(overrides)
            self._effects[key].add(page)

    def tell_idle_overrides(self) -> None:
        """Warn of overrides that decided nothing on the pages that were read."""
        for key, effects in self._effects.items():
            for number, effect in enumerate(effects.idle(), 1):
                text = (
                    f"{key}: in overrides.toml {effect} decides nothing: it matches no text on"
                    f" {counted(effect.fitting, 'pages')}, or an element within decides otherwise"
                )
                self._stats.inc_value("contentspider/overrides/idle")
                self._stats.set_value(f"{IDLE_OVERRIDES_STAT}{key}/{number}", text)
                logger.warning(text)

    async def learn(self, crawl: CrawlState, state: SiteState, compare: bool = False) -> Learned:
        """Return a model of a site, learned from the pages in the book, in at most two attempts.

        The model is compared with the stored one if *compare* is true.
        """
        source = f"from {state.held} held items" if state.held else "from a sample of all pages"
        logger.info("%s: learning %s", state.key, source)
        try:
            return await self._learn(crawl, state, compare)
        except (NotEnoughTextError, LearningTimeoutError, LearningStoppedError):
            raise
        except (ContentSpiderError, OSError, RuntimeError, MemoryError) as error:
            logger.warning("%s: learning failed, second attempt: %s", state.key, error)
            return await self._learn(crawl, state, compare)

    async def _learn(self, crawl: CrawlState, state: SiteState, compare: bool) -> Learned:
        started = time.monotonic()
        previous = self.store.place(state.key) if compare else None
        path = crawl.book.path
        assert path  # a book in memory holds no items
        task = (path, state.key, self._options.learning, LEARN_SECS, previous, self.stop)
        async with self._learner_slots:
            learned = await run_in_thread(learn_in_process, *task)
        model, seconds = learned.model, time.monotonic() - started
        model.judge = self.prior
        source = f"from {counted(model.pages, 'pages')} in {seconds:.1f} s"
        logger.info("%s: learned model %s %s", state.key, model.version, source)
        self._warn_of_doubts(state.key, model)
        return learned

    def _warn_of_doubts(self, key: str, model: SiteModel) -> None:
        """Warn if the examples of an own field are too few, or do not agree."""
        for name, own_field in model.own_fields.items():
            for doubt in own_field.doubts:
                self._stats.inc_value("contentspider/fields/doubts")
                logger.warning("%s: the field %s: %s", key, name, doubt)

    async def mend(self, crawl: CrawlState, state: SiteState) -> SiteModel | None:
        """Return a new model of a site whose template changed; None if it is not better."""
        if state.watch is None or not state.is_drifted:
            return None
        is_of_content = state.watch.is_of_content
        self._stats.inc_value("contentspider/sites/drifted")
        logger.warning(
            f"{state.key}: its template has changed, or has a part that the model does not know:"
            f" {state.watch.evidence()}. The site is learned again"
        )
        try:
            learned = await self.learn(crawl, state, compare=True)
        except LearningStoppedError:
            return None
        except Exception as error:  # noqa: BLE001 - after any error the present model is used
            self.note_outdated(crawl, state, error)
            return None
        if state.model is not None:
            learned.model.keep_own_fields(state.model)
        previous = learned.previous_score
        # A model that only finds the fields again hardly differs in its content.
        tolerance = 0.0 if is_of_content else SAME_SCORE
        is_better = previous is None or learned.score > previous - tolerance
        outcome = "used" if is_better else "discarded, because it is not better than the old one"
        previous_text = "unknown" if previous is None else f"{previous:.2f}"
        logger.warning(
            f"{state.key}: the new model is {outcome}. Mean confidence times agreement with the"
            f" votes, on the same pages: new {learned.score:.2f}, old {previous_text}"
        )
        return learned.model if is_better else None

    def save(self, crawl: CrawlState, state: SiteState, model: SiteModel, is_cut: bool) -> None:
        """Save the model of a site, unless the crawl *is_cut* short, or has seen too few pages of
        it, as a run has that continues a crawl by Scrapy's ``JOBDIR``.
        """
        state.is_stored = False
        if model.is_refused:
            logger.error(f"{state.key}: the refused model is not saved. The next crawl learns anew")
            return
        if model.pages < self._options.learning.min_pages:
            self._stats.inc_value("contentspider/models/of_one_page")
            logger.info(
                f"{state.key}: the model is not saved because it was learned from"
                f" {counted(model.pages, 'pages')}. The next crawl learns the site again"
            )
            return
        if is_cut:
            logger.info(
                f"{state.key}: the model is not saved because the crawl was cut short. The next"
                " crawl learns the site from more pages"
            )
            return
        try:
            self.store.save(model, DRIFT if state.is_drifted else "")
        except OSError as error:
            logger.error(
                f"{state.key}: the model could not be saved in {self.store.folder}"
                f" ({error.strerror}). The crawl counts as incomplete, and --resume"
                " (CONTENTSPIDER_RESUME) or the next crawl learns the site again"
            )
            self._stats.inc_value("contentspider/models/unsaved")
            self._set_unlearned(crawl, {state.key, *unlearned_sites(crawl)})
            return
        self.note_learned(crawl, state)
        state.is_stored = True
        self._stats.inc_value("contentspider/models/saved")
        with crawl.guarded:
            crawl.book.runs.set_fact("learned", sorted({state.key, *learned_sites(crawl)}))

    def note_outdated(self, crawl: CrawlState, state: SiteState, error: Exception) -> None:
        """Note that a site could not be learned again, so that its model is outdated: the crawl is
        incomplete, its next run learns the site again, and the F1 of the model does not count.
        """
        logger.error(
            f"{state.key} could not be learned again ({error}). Its items come from the model"
            f" {state.version}, which does not know the site as it is now: the crawl counts as"
            " incomplete, and --resume (CONTENTSPIDER_RESUME) or the next crawl tries again"
        )
        state.is_outdated = True
        self._stats.set_value(OUTDATED_STAT + state.key, 1)
        self._set_unlearned(crawl, {state.key, *unlearned_sites(crawl)})

    def note_learned(self, crawl: CrawlState, state: SiteState) -> None:
        """Note that a site has been learned, and that its model is not outdated any more."""
        if self._stats.get_value(OUTDATED_STAT + state.key):
            self._stats.set_value(OUTDATED_STAT + state.key, 0)
        self._set_unlearned(crawl, set(unlearned_sites(crawl)) - {state.key})

    def _set_unlearned(self, crawl: CrawlState, sites: set[str]) -> None:
        with crawl.guarded:
            if not crawl.is_broken and sites != set(unlearned_sites(crawl)):
                crawl.book.runs.set_fact(UNLEARNED_FACT, sorted(sites))

    def note_quality(self, key: str, model: SiteModel) -> None:
        """Write the quality of a model into the stats, and warn if the quality is low. A model
        that the learner refused is counted.
        """
        if model.is_refused != (key in self._refused):
            self._refused ^= {key}
            self._stats.set_value(REFUSED_STAT, len(self._refused))
        quality, min_quality = model.quality, self._options.min_quality
        if quality is None:
            return
        self._stats.set_value(F1_STAT + key, quality.f1)
        self._stats.set_value(PAGES_STAT + key, quality.pages)
        self._stats.set_value(LEARNED_STAT + key, model.pages)
        prefix = f"{DOUBTFUL_STAT}{key}/"
        for name in self._stats.get_stats():
            if name.startswith(prefix):  # an earlier model set it
                self._stats.set_value(name, 0)
        for template in quality.doubtful:
            self._stats.set_value(prefix + template.slot, template.pages)
            self._stats.set_value(f"{DOUBT_STAT}{key}/{template.slot}", template.doubt)
            logger.warning(
                "%s: a template is doubtful: %s. 'contentspider report' shows its pages",
                key,
                template,
            )
        if quality.is_measured and quality.f1 < min_quality:
            worst = ", ".join(f"{page.url} ({page.f1:.2f})" for page in quality.worst)
            logger.warning(
                f"{key}: {quality}, less than the limit {min_quality:g} (monitors.min_quality"
                f" in sites.toml, or CONTENTSPIDER_MIN_QUALITY). The worst pages: {worst}"
            )


class SiteLearning:
    """Learns the sites of a *crawl* at their time, and uses and saves their *models*."""

    def __init__(self, crawl: CrawlState, models: CrawlModels) -> None:
        self._crawl, self._models = crawl, models
        # The crawl was told to end, or has ended: it may not have seen all of its sites.
        self.is_closing = False

    def use(self, state: SiteState, model: SiteModel) -> None:
        """Use a model of a site from now on."""
        state.use(model)
        self._models.note_quality(state.key, model)

    def use_frozen(self, state: SiteState) -> None:
        """Use the stored model of a site, or else the prior, until the end of the crawl: with
        frozen models, and in an inspection.
        """
        model = self._models.load(state.key)
        state.is_stored = model is not None
        if model is not None:
            self.use(state, model)
        else:
            self._crawl.stats.inc_value("contentspider/models/missing")
            logger.warning(
                f"{state.key}: it has no model, and none is learned"
                f" ({'by this command' if self._crawl.is_inspection else '--models-frozen'}): the"
                " prior judges each of its pages alone"
            )
            state.use(SiteModel.of_prior(state.key, self._models.prior))
        state.watch = None  # a model that does not know a template is not learned again

    def _keep(self, state: SiteState, model: SiteModel) -> None:
        """Use a model from now on, and save it if this crawl has seen the whole site."""
        is_limited = getattr(self._crawl.crawler.spider, "is_limited", False)
        self._models.save(self._crawl, state, model, is_limited or self.is_closing)
        self.use(state, model)

    async def learn(self, state: SiteState, is_last: bool) -> None:
        """Learn a site from its held pages, and save the model if it is good enough. If learning
        fails, the site's items pass unfiltered.
        """
        state.is_early = not is_last
        try:
            model = (await self._models.learn(self._crawl, state)).model
        except NotEnoughTextError as error:
            self._give_up(state, error)
        except LearningStoppedError:
            logger.info("%s: its items stay held, because the crawl was told to end", state.key)
        except MemoryError:
            self._crawl.fail(shortage())
            state.failed = not self._crawl.is_durable
        except Exception as error:  # noqa: BLE001 - the crawl continues after any error (no thread, no memory)
            self._give_up(state, error)
        else:
            if is_last or state.is_enough(model, self._crawl.options.learn_pages):
                self._crawl.stats.inc_value("contentspider/sites/learned")
                self._keep(state, model)

    def _give_up(self, state: SiteState, error: Exception) -> None:
        """Use the stored model of a site that cannot be learned again. Without one, the site's
        items pass unfiltered.
        """
        if (model := self._models.load(state.key)) is not None:
            self.use(state, model)
            self._models.note_outdated(self._crawl, state, error)
            return
        state.failed = True
        if isinstance(error, NotEnoughTextError):
            logger.warning("%s; its items pass unfiltered", error)
            return
        logger.error(
            f"{state.key} could not be learned from its {counted(state.held, 'pages')} ({error})."
            " Its items pass with all of their text and model_version 'unfiltered', and the crawl"
            " counts as incomplete"
        )
        self._crawl.stats.inc_value("contentspider/sites/failed")

    async def mend(self, state: SiteState) -> None:
        """Learn a site again whose held pages have a template that its model does not know."""
        model = await self._models.mend(self._crawl, state)
        if model is not None:
            self._crawl.stats.inc_value("contentspider/sites/learned")
            self._crawl.stats.inc_value("contentspider/sites/relearned")
            self._keep(state, model)
            state.is_early = False
        elif state.is_drifted:
            # Otherwise every further page would report the same template.
            state.watch = None

    async def relearn(self, state: SiteState) -> None:
        """Replace the model of the first pages with a model of the whole site."""
        state.is_early = False
        self._crawl.commit()
        try:
            self._keep(state, (await self._models.learn(self._crawl, state)).model)
        except LearningStoppedError:
            logger.info("%s: the model of the first pages stays", state.key)
        except Exception as error:  # noqa: BLE001 - after any error the present model is used
            self._models.note_outdated(self._crawl, state, error)
        finally:
            wake(self._crawl.crawler)


def learned_sites(crawl: CrawlState) -> list[str]:
    """Return the sites whose models were learned in this crawl, in all of its runs."""
    return crawl.book.runs.fact("learned") or []


def unlearned_sites(crawl: CrawlState) -> list[str]:
    """Return the sites that this crawl could not learn again, or whose new model is not saved."""
    return crawl.book.runs.fact(UNLEARNED_FACT) or []
