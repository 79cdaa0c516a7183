"""What a command is told of a site: its model, and the pages that are at hand."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from contentspider.cli.arguments import add_option
from contentspider.ground.errors import ContentSpiderError
from contentspider.ground.terminal import printable

if TYPE_CHECKING:
    import argparse

    from contentspider.page.input.page import Page
    from contentspider.site.models.model import SiteModel


def add_source(parser: argparse.ArgumentParser) -> None:
    """Add the argument and the options that name a site, a crawl or a folder."""
    parser.add_argument(
        "source",
        metavar="SITE_OR_CRAWL",
        help=(
            "a site that has a model, a crawl's name or ledger, or a folder of a site's HTML files"
        ),
    )
    parser.add_argument("--site", default="", help="which site of a crawl of several")
    add_models(parser)


def add_models(parser: argparse.ArgumentParser) -> None:
    """Add the options that say where models and crawls are."""
    add_option(parser, "models")
    add_option(parser, "state_dir")


def kept_pages(site: str, state_dir: str) -> list[Page]:
    """Return the pages of a site that its crawl has kept; none if there is no crawl of it."""
    from contentspider.state.crawls.export import find_crawl
    from contentspider.state.ledger.ledger import Ledger

    try:
        ledger = Ledger(find_crawl(site, state_dir), read_only=True)
    except ContentSpiderError:
        return []
    try:
        return list(ledger.pages.sample(site))
    finally:
        ledger.close()


def known_site(options: argparse.Namespace) -> tuple[SiteModel, list[Page]]:
    """Return the model of what the options name (`add_source`), and its pages, as far as they are
    at hand.

    Where a folder or a crawl has no model, one is learned from its pages.
    """
    from contentspider.site.learn.learner import SiteLearner
    from contentspider.state.stores.shared_models import open_models

    store = open_models(options.models, options.state_dir)
    source, state_dir = str(options.source), options.state_dir
    folder = Path(source)
    if source in store.sites():
        return store.read(source), kept_pages(source, state_dir)
    if folder.is_dir():
        from contentspider.page.input.files import read_pages

        site, pages = folder.resolve().name, read_pages(folder)
        model = store.load(site)
        sample = SiteLearner.sample(pages)
    else:
        site, sample = _of_crawl(source, state_dir, options.site)
        model = store.load(site)
    if not sample:
        raise ContentSpiderError(f"{printable(source)} has no pages with text")
    if model is None:
        _say_learning(site, options)
        model = SiteLearner(site).fit(sample)
    return model, sample


def _say_learning(site: str, options: argparse.Namespace) -> None:
    print(printable(f"{site}: no model in {options.models}; one is learned"), file=sys.stderr)


def _of_crawl(name: str, state_dir: str, site: str) -> tuple[str, list[Page]]:
    from contentspider.state.crawls.export import find_crawl
    from contentspider.state.ledger.ledger import Ledger

    ledger = Ledger(find_crawl(name, state_dir), read_only=True)
    try:
        return ledger.pages.of_site(site)
    finally:
        ledger.close()


def model_for(options: argparse.Namespace, site: str, files: list[Path]) -> SiteModel:
    """Return the model of *site*, or of the site that the folder of *files* is named as; one that
    is learned from them, if there is none.
    """
    from contentspider.page.input.page import Page
    from contentspider.site.learn.learner import SiteLearner
    from contentspider.state.stores.shared_models import open_models

    store = open_models(options.models, options.state_dir)
    name = options.source.resolve().name
    for known in (site, name):
        if known in store.sites():
            return store.read(known)
    _say_learning(name, options)
    pages = (Page.from_html(path.read_bytes(), path.as_posix()) for path in files)
    return SiteLearner(site or name).fit(pages)
