"""Finds the search indexes of a project: those that its crawls update."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from contentspider.ground.errors import ContentSpiderError
from contentspider.run.overview import known_sites
from contentspider.run.results import logs_folder, read_result, result_file
from contentspider.state.crawls.folder import index_url, project_file

if TYPE_CHECKING:
    from collections.abc import Iterator


def crawled_indexes(state_dir: str = "") -> list[str]:
    """Return the URLs of the indexes that the settings of the Scrapy project name, and of those
    that the last crawls from the command line have updated. Raises `ContentSpiderError` if the
    settings cannot be read.
    """
    found = [index_url(url, state_dir, absolute=True) for url in _set_indexes()]
    return list(dict.fromkeys([*found, *_updated_indexes(state_dir)]))


def _set_indexes() -> list[str]:
    if not (project_file() or os.environ.get("SCRAPY_SETTINGS_MODULE")):
        return []
    from scrapy.utils.project import get_project_settings  # takes time

    try:
        return get_project_settings().getlist("CONTENTSPIDER_INDEX")
    except Exception as error:  # a module of the user's
        raise ContentSpiderError(
            f"the settings of the Scrapy project cannot be read ({type(error).__name__}: {error}):"
            " correct them, or name the index with --index"
        ) from error


def _updated_indexes(state_dir: str) -> Iterator[str]:
    for book in known_sites(state_dir):
        result = read_result(result_file(logs_folder(state_dir), book.stem))
        yield from result.indexes if result else ()
