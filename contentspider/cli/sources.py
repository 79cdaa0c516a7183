"""Models of the sites that a command names, and the pages at hand."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from contentspider.ground.errors import ContentSpiderError
from contentspider.ground.terminal import printable, say

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Sequence

    from contentspider.page.input.page import Page
    from contentspider.site.models.model import SiteModel
    from contentspider.state.stores.models import ModelStore


def kept_pages(site: str, state_dir: str) -> list[Page]:
    """Return the pages of a site that its crawl has kept; none if there is no crawl of it."""
    try:
        return crawled_pages(site, site, state_dir)[1]
    except ContentSpiderError:
        return []


def crawled_pages(crawl: str, site: str, state_dir: str) -> tuple[str, list[Page]]:
    """Return a *site* of a crawl ("": its only one), and the pages of it that were kept."""
    from contentspider.state.crawls.export import find_crawl
    from contentspider.state.ledger.ledger import Ledger

    with closing(Ledger(find_crawl(crawl, state_dir), read_only=True)) as ledger:
        return ledger.pages.of_site(site)


def model_and_pages(options: argparse.Namespace) -> tuple[SiteModel, list[Page]]:
    """Return the model of the source that the options name (a site, a crawl or a folder), and its
    pages, if there are any. If there is no model, one is learned from them.
    """
    from contentspider.page.input.files import read_pages
    from contentspider.site.learn.learner import SiteLearner
    from contentspider.state.stores.shared_models import open_models

    store = open_models(options.models, options.state_dir)
    source, folder = options.source, Path(options.source)
    if source in store.sites():
        return store.read(source), kept_pages(source, options.state_dir)
    if folder.is_dir():
        site, pages = folder.resolve().name, SiteLearner.sample(read_pages(folder))
    else:
        site, pages = crawled_pages(source, options.site, options.state_dir)
    if not pages:
        raise ContentSpiderError(f"{printable(source)} has no pages with text")
    return model_for(store, [site], pages), pages


def model_for(store: ModelStore, names: Sequence[str], pages: Iterable[Page]) -> SiteModel:
    """Return the model of the first of the sites *names* that has one, or one that is learned from
    *pages*.
    """
    from contentspider.site.learn.learner import SiteLearner

    for name in names:
        if name in store.sites():
            return store.read(name)
    say(f"{names[0]}: no model in {store.folder}; learning one")
    return SiteLearner(names[0]).fit(pages)
