"""Finds the search indexes that the crawls of a folder update."""

from __future__ import annotations

import os
from contextlib import contextmanager
from itertools import chain
from typing import TYPE_CHECKING

from contentspider.ground.errors import ContentSpiderError
from contentspider.run.results import known_sites, logs_folder, read_result, result_file
from contentspider.state.crawls.folder import index_url, project_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from contentspider.run.results import SiteResult

SETTINGS_MODULE = "SCRAPY_SETTINGS_MODULE"


def crawled_indexes(state_dir: str = "") -> list[str]:
    """Return the URLs of the indexes that the spiders of the Scrapy project update, and of those
    that the last crawls from the command line have updated. Raises `ContentSpiderError` if the
    project cannot be read.
    """
    found = chain(*project_indexes(state_dir).values(), _updated_indexes(state_dir))
    return list(dict.fromkeys(found))


def indexes_of(
    crawl: str,
    result: SiteResult | None,
    state_dir: str,
    of_project: Callable[[str], Mapping[str, Sequence[str]]],
) -> Sequence[str]:
    """Return the URLs of the indexes that a crawl updates. Its *result* names them. Crawls of a
    Scrapy project have no result: *of_project* (`project_indexes`) names them.
    """
    if result is not None:
        return result.indexes
    found = of_project(state_dir)
    return found.get(crawl, found.get("", []))


def project_indexes(state_dir: str = "") -> dict[str, list[str]]:
    """Return the URLs of the indexes that the crawls of the Scrapy project update, by the name of
    the crawl: that of its spider, or "" for all other crawls. It is empty outside of a project.
    Raises `ContentSpiderError` if the settings or the spiders cannot be read.
    """
    if not (project_file() or os.environ.get("SCRAPY_SETTINGS_MODULE")):
        return {}
    from scrapy.spiderloader import get_spider_loader  # takes time
    from scrapy.utils.project import get_project_settings

    try:
        with _other_crawls_unchanged():
            settings = get_project_settings()
        loader = get_spider_loader(settings)
        found = {"": settings.getlist("CONTENTSPIDER_INDEX")}
        for name in loader.list():
            own = settings.copy()
            loader.load(name).update_settings(own)
            crawl = own.get("CONTENTSPIDER_CRAWL") or name
            found.setdefault(crawl, []).extend(own.getlist("CONTENTSPIDER_INDEX"))
    except Exception as error:  # a module of the user's
        raise ContentSpiderError(
            "the settings or the spiders of the Scrapy project cannot be read"
            f" ({type(error).__name__}: {error}): correct them, or name the index with --index"
        ) from error
    return {
        crawl: [index_url(url, state_dir, absolute=True) for url in urls]
        for crawl, urls in found.items()
    }


@contextmanager
def _other_crawls_unchanged() -> Iterator[None]:
    """Undo that Scrapy, when it looks for a project's settings, notes their module for all later
    crawls of this process and of its children.
    """
    before = os.environ.get(SETTINGS_MODULE)
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(SETTINGS_MODULE, None)


def _updated_indexes(state_dir: str) -> Iterator[str]:
    for book in known_sites(state_dir):
        result = read_result(result_file(logs_folder(state_dir), book.stem))
        yield from result.indexes if result else ()
