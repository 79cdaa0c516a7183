"""What the crawl knows of a site while it goes on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from contentspider.recrawl.drift import Drift

if TYPE_CHECKING:
    import asyncio

    from contentspider.site.models.model import SiteModel

# With so many pages it is tried whether a site is known well enough to be learned before the last.
FIRST_TRY = 500
KNOWN_F1 = 0.95


@dataclass(slots=True)
class SiteState:
    """What the crawl knows of a site: its *model*, once there is one (or learning has *failed*),
    and what is being done for it (*work*).

    *held* items wait, of so many *pages*, the last at *last_url*; with *try_at* pages it is tried
    whether the site is known well enough. *is_early*: the model was learned before the last pages
    were seen, and is learned again at the end. *watch* tells whether later pages have templates
    that the model does not know. *is_stored*: the next crawl will begin with the model.
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
        return self.work is not None and not self.work.done()

    @property
    def is_drifted(self) -> bool:
        """Tell whether there are templates that the model does not know."""
        return self.watch is not None and self.watch.is_found

    def use(self, model: SiteModel) -> None:
        """Decide by a *model* from now on, and watch whether it knows the site's templates."""
        self.model, self.version, self.watch = model, model.version, Drift(model)

    def is_time(self, most: int) -> bool:
        """Tell whether so many pages are held that the site is to be learned: *most*, or fewer to
        see whether it is known well enough.
        """
        return self.pages >= min(max(self.try_at, FIRST_TRY), most)

    def is_enough(self, model: SiteModel, most: int) -> bool:
        """Tell whether a *model* of the first pages knows the site well enough for items to go, by
        its F1, or because *most* pages are held; if not, the next try is at twice as many.
        """
        if self.pages >= most or (model.quality and model.quality.f1 >= KNOWN_F1):
            return True
        self.try_at = 2 * self.pages
        return False
