"""What the crawl knows of a site while it goes on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from contentspider.recrawl.drift import Drift

if TYPE_CHECKING:
    import asyncio

    from contentspider.site.models.model import SiteModel

# A site of more pages than this is learned before all of them have come, if it is known so well by
# then.
FIRST_TRY = 500
KNOWN_F1 = 0.95


@dataclass(slots=True)
class SiteState:
    """What the crawl knows of a site: its model, once there is one, and what is being done for
    it.
    """

    key: str
    model: SiteModel | None = None
    version: str = ""
    held: int = 0
    pages: int = 0
    last_url: str = ""
    work: asyncio.Task[None] | None = None
    failed: bool = False
    # The model was learned before the site's last pages were seen: it is learned again at the end.
    is_early: bool = False
    # Pages that come after the model was learned, and whether their templates are those that it
    # knows.
    watch: Drift | None = None
    # The next crawl will begin with the model.
    is_stored: bool = False
    # With so many held pages it is tried whether the site is known well enough.
    try_at: int = 0

    def use(self, model: SiteModel) -> None:
        """Decide by a *model* from now on, and watch whether it knows the site's templates."""
        self.model, self.version = model, model.version
        self.watch = Drift(model)

    def is_time(self, most: int) -> bool:
        """Tell whether so many pages are held that the site is to be learned: *most*, or fewer to
        see whether it is known well enough.
        """
        return self.pages >= min(max(self.try_at, FIRST_TRY), most)

    def is_enough(self, model: SiteModel, most: int) -> bool:
        """Tell whether a *model* of the first pages knows the site well enough for items to go, by
        its measured or predicted F1, or because *most* pages are held; if not, the next try is at
        twice as many.
        """
        if self.pages >= most or (model.quality and model.quality.f1 >= KNOWN_F1):
            return True
        self.try_at = 2 * self.pages
        return False

    @property
    def is_ready(self) -> bool:
        """Tell whether items need not be held (any more)."""
        return self.model is not None or self.failed
