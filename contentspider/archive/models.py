"""The models and overrides of sites, for a process that reads stored pages of these sites."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from contentspider.page.input.page import Page
from contentspider.site.judge.featuresets import needs_attributes
from contentspider.site.learn.single_page import extract_page
from contentspider.state.stores.shared_models import open_models

if TYPE_CHECKING:
    from collections.abc import Callable

    from contentspider.page.input.overrides import Overrides
    from contentspider.page.tree._walk import Walker
    from contentspider.site.models.model import SiteModel
    from contentspider.site.models.record import Extraction
    from contentspider.state.stores.models import ModelStore

MIN_PAGES = 2  # a site with fewer pages is not learned: the prior judges its page
MODELS_KEPT = 64  # models in the cache of a process


class Knowledge(NamedTuple):
    """A site's *model* (None: the prior judges its pages) and people's *overrides* of it."""

    model: SiteModel | None = None
    overrides: Overrides | None = None

    def read(
        self, html: bytes | str, url: str, content_type: str | None, walker: Walker | None = None
    ) -> Page:
        """Return a page of the site, with the attributes that its model needs."""
        attributes = self.model is not None and needs_attributes(self.model.features)
        return Page.from_html(html, url, content_type, attributes, walker, self.overrides)

    def extract(self, page: Page, site: str) -> Extraction:
        """Return the content of a page by the model or the prior; *site* is the site's name."""
        return self.model.extract(page) if self.model else extract_page(page, site)


UNKNOWN = Knowledge()


@lru_cache(maxsize=4)
def stored_knowledge(
    models: str, state_dir: str, read: Callable[[ModelStore, str], SiteModel | None]
) -> Callable[[str], Knowledge]:
    """Return a function that returns the knowledge of a site in a store, with a cache of recent
    sites. *read* reads a site's model from the store.
    """
    store = open_models(models, state_dir)

    @lru_cache(maxsize=MODELS_KEPT)
    def of_learned(site: str) -> Knowledge:
        model = read(store, site)
        if model is None:
            raise LookupError(site)  # not in the cache: the site may be learned later
        return Knowledge(model, store.overrides(site))

    def knowledge_of(site: str) -> Knowledge:
        try:
            return of_learned(site)
        except LookupError:
            return UNKNOWN

    return knowledge_of
