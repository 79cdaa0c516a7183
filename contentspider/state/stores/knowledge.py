"""The knowledge about a site, which all readers of stored pages use to read and extract them."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from contentspider.ground.encodings import PackedError
from contentspider.ground.errors import ContentSpiderError, NotHTMLError
from contentspider.ground.extras import require
from contentspider.ground.fetch import FetchError
from contentspider.page.input.body import unpacked
from contentspider.page.input.documents import document_kind, read_document, seconds_for
from contentspider.page.input.page import Page
from contentspider.page.tree.blocks import new_walker
from contentspider.site.judge.featuresets import needs_attributes
from contentspider.site.judge.prior import Prior
from contentspider.site.learn.options import LearningOptions
from contentspider.site.learn.single_page import extract_page, hidden_text
from contentspider.state.stores.models import open_models

if TYPE_CHECKING:
    from collections.abc import Callable

    from contentspider.ground.fetch import Fetched
    from contentspider.page.input.fields_file import FieldsFile
    from contentspider.page.input.overrides import Overrides
    from contentspider.page.tree._walk import Walker
    from contentspider.site.models.model import SiteModel
    from contentspider.site.models.record import Extraction
    from contentspider.state.stores.models import ModelStore

MODELS_KEPT = 64  # models in the cache of a process
DEFAULTS = LearningOptions()


class Knowledge(NamedTuple):
    """A site's *model* (None: the prior judges its pages), people's *overrides* of it, and the
    *options* of its user.
    """

    model: SiteModel | None = None
    overrides: Overrides | None = None
    options: LearningOptions = DEFAULTS

    @property
    def reading(self) -> tuple[bool, Overrides | None, bool, FieldsFile]:
        """How pages are read: whether the attributes of elements are read, the overrides, whether
        the directives of the site's owner are obeyed, and the own fields.
        """
        options = self.options
        features = self.model.features if self.model else options.features
        attributes = needs_attributes(features)
        return attributes, self.overrides, options.obey_directives, options.own_fields

    def read(
        self, html: bytes | str, url: str, content_type: str | None, walker: Walker | None = None
    ) -> Page:
        """Return a page of the site, with the attributes that its model needs."""
        attributes, overrides, obeys, fields = self.reading
        walker = walker or new_walker(obeys)
        return Page.from_html(html, url, content_type, attributes, walker, overrides, fields)

    def read_fetched(self, fetched: Fetched, name: str) -> Page:
        """Return a single page or document with text. Raises `ContentSpiderError`, whose message
        calls the page *name*.
        """
        body, kind = fetched.body, fetched.content_type
        if document_kind(body, kind, fetched.url):
            require("documents", f"{name}: reading documents")
            document = read_document(body, fetched.url, seconds_for(body), content_type=kind)
            if document is None or not document.content.blocks:
                raise ContentSpiderError(
                    f"{name}: no text can be read from the document: it may be encrypted, it may be"
                    " damaged, or its text may be pictures"
                )
            return document
        try:
            body = unpacked(body)
        except PackedError as error:
            raise ContentSpiderError(f"{name}: {error}") from error
        try:
            page = self.read(body, fetched.url, kind)
        except NotHTMLError as error:
            raise FetchError(f"{name} is not a page: it is not HTML", code="no-page") from error
        if not page.content.blocks and (self.model or not hidden_text(page)):
            raise ContentSpiderError(
                f"{name}: there is no text in the HTML; if scripts make it, crawl the site with"
                " 'contentspider crawl URL --render auto'"
            )
        return page

    def extract(self, page: Page, site: str) -> Extraction:
        """Return the content of a page by the model, or by the prior; *site* is the site's name.
        All text of a document is content.
        """
        if self.model and not page.is_document:
            return self.model.extract(page, self.options.keep_teasers)
        return extract_page(page, site, Prior.chosen(self.options.prior_file))


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
