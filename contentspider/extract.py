"""Extraction of HTML files that are already there: each folder is a site, no crawl needed."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from contentspider.page.files import html_files, read_pages
from contentspider.site.featuresets import needs_attributes
from contentspider.site.learner import SiteLearner
from contentspider.site.record import page_fields

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from contentspider.page.document import Page

logger = logging.getLogger(__name__)

# Pages that are kept in memory between learning and extraction: some 100 kB each.
MAX_KEPT = 500


@dataclass(frozen=True, slots=True)
class Options:
    """How files are learned and extracted: labels, feature sets, and whether listings keep their
    teasers.
    """

    labels: str = "votes"
    features: tuple[str, ...] = ("slots",)
    keep_teasers: bool = False


DEFAULT = Options()


def extract_site(
    root: Path, files: Sequence[Path], options: Options
) -> Iterator[dict[str, object]]:
    """Yield the fields of `ContentItem` for each of a site's *files*, learned from these files
    alone.

    ``url`` is the file's path below *root*. Pages are read twice beyond `MAX_KEPT`, so that memory
    stays bounded.
    """
    site = root.resolve().name or "site"
    attributes = needs_attributes(options.features)
    kept = list(read_pages(root, files, attributes)) if len(files) <= MAX_KEPT else None

    def pages() -> Iterable[Page]:
        return kept if kept is not None else read_pages(root, files, attributes)

    if not any(page.content.blocks for page in pages()):
        return
    model = SiteLearner(site, options.labels, features=options.features).fit(pages())
    version = model.version
    for page in pages():
        if not page.content.blocks:
            logger.warning("%s/%s holds no text; it is left out", root, page.url)
            continue
        yield page_fields(page, site, model.extract(page, options.keep_teasers), version)


def extract_paths(paths: Sequence[Path], options: Options = DEFAULT) -> Iterator[dict[str, object]]:
    """Yield the items of every site in *paths*: a folder is a site, single files of one folder are
    one, too.
    """
    singles: dict[Path, list[Path]] = {}
    for path in paths:
        if path.is_dir():
            yield from extract_site(path, list(html_files(path)), options)
        else:
            singles.setdefault(path.parent, []).append(path)
    for folder, files in singles.items():
        yield from extract_site(folder, files, options)
