"""Extraction of HTML files that are already there: each folder is a site, no crawl needed."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from contentspider.ground.errors import ContentSpiderError
from contentspider.ground.sites import SiteKeys
from contentspider.page.input.files import html_files, read_pages
from contentspider.page.input.overrides import Overrides
from contentspider.page.input.page import Page
from contentspider.page.tree.blocks import new_walker
from contentspider.page.write.summary import document_counts, summarise
from contentspider.site.judge.featuresets import needs_attributes
from contentspider.site.judge.prior import Prior
from contentspider.site.learn.alone import extract_page, hidden_text
from contentspider.site.learn.options import LearningOptions
from contentspider.site.models.folder import MANIFEST
from contentspider.site.models.model import SiteModel
from contentspider.site.models.record import (
    NO_OPTIONAL_FIELDS,
    OptionalFields,
    page_fields,
    page_id,
)
from contentspider.site.vote.labels import VOTES
from contentspider.state.stores.models import ModelStore

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from contentspider.ground.fetch import Fetched

logger = logging.getLogger(__name__)

# Pages that are kept in memory between learning and extraction: some 100 kB each.
MAX_KEPT = 500


def _stored_model(models: Path, site: str) -> tuple[SiteModel, Overrides | None]:
    """Return the model of *site* among those below *models*, or the one that *models* itself is,
    and people's corrections beside it; raises `ContentSpiderError` if it cannot be used.
    """
    folder = models if (models / MANIFEST).is_file() else models / site
    try:
        return SiteModel.load(folder), Overrides.load(folder)
    except FileNotFoundError as error:
        raise ContentSpiderError(
            f"{models} has no model of {site!r}; it has: "
            f"{', '.join(ModelStore(models).sites()) or 'none'}. Name the pages' folder as the"
            f" site, or give the folder of one model ({models}/SITE)"
        ) from error


def _warn_of_directives(source: str, pages: int) -> None:
    """Say that text of so many *pages* was left out, as their owners ask."""
    if pages:
        logger.warning(
            "%s: text of %d pages is marked as not to be indexed, and left out (--no-directives"
            " keeps it)",
            source,
            pages,
        )


def _has_text(page: Page, is_alone: bool) -> bool:
    """Tell whether a page shows text, or states one that it is extracted from alone."""
    return bool(page.content.blocks or (is_alone and hidden_text(page)))


def _site_items(
    root: Path,
    files: Sequence[Path],
    options: LearningOptions,
    models: Path | None,
    optional_fields: OptionalFields,
) -> Iterator[dict[str, object]]:
    """Yield the items of a site's *files*; ``url`` is the file's path below *root*. More than
    `MAX_KEPT` pages are read twice, so that memory stays bounded.
    """
    site = root.resolve().name or "site"
    model, overrides = _stored_model(models, site) if models else (None, None)
    attributes = needs_attributes(model.features) if model else options.needs_attributes
    how = (attributes, overrides, options.obey_directives)
    kept = list(read_pages(root, files, *how)) if len(files) <= MAX_KEPT else None

    def pages() -> Iterable[Page]:
        return kept if kept is not None else read_pages(root, files, *how)

    is_alone = not model and len(files) == 1 and options.labels == VOTES
    if not any(_has_text(page, is_alone) for page in pages()):
        return
    if model:
        site = model.site
        model.judge = Prior.chosen(options.prior_file)
    elif not is_alone:
        # Imported here: a page alone does not need its scikit-learn, which takes a second.
        from contentspider.site.learn.learner import SiteLearner

        model = SiteLearner(site, options).fit(pages())
    left_out = 0
    for page in pages():
        if not _has_text(page, is_alone):
            logger.warning("%s/%s holds no text; it is left out", root, page.url)
            continue
        left_out += page.content.has_left_out
        if model:
            extraction = model.extract(page, options.keep_teasers)
        else:
            extraction = extract_page(page, site, Prior.chosen(options.prior_file))
        yield page_fields(page, site, extraction, extraction.model_version, optional_fields)
    _warn_of_directives(str(root), left_out)


def page_item(
    fetched: Fetched,
    options: LearningOptions,
    models: Path | None = None,
    optional_fields: OptionalFields = NO_OPTIONAL_FIELDS,
) -> dict[str, object]:
    """Return the fields of `ContentItem` for one page, which is judged by itself, or by the model
    of its site in *models*. Raises `ContentSpiderError` if it has no text.
    """
    site = SiteKeys().key(fetched.url) if fetched.url else ""
    model, overrides = _stored_model(models, site) if models else (None, None)
    attributes = needs_attributes(model.features) if model else options.needs_attributes
    page = Page.from_html(
        fetched.body,
        fetched.url,
        fetched.content_type,
        attributes,
        new_walker(options.obey_directives),
        overrides,
    )
    if not _has_text(page, is_alone=not model):
        raise ContentSpiderError(
            f"{fetched.url or 'standard input'}: there is no text in the HTML; if scripts make it,"
            " crawl the site with 'contentspider crawl URL --render auto'"
        )
    _warn_of_directives(fetched.url or "standard input", int(page.content.has_left_out))
    prior = Prior.chosen(options.prior_file)
    if model:
        model.judge = prior
        extraction = model.extract(page, options.keep_teasers)
    else:
        extraction = extract_page(page, site, prior)
    return page_fields(page, site, extraction, extraction.model_version, optional_fields)


def extract_paths(
    paths: Sequence[Path],
    options: LearningOptions | None = None,
    models: Path | None = None,
    optional_fields: OptionalFields = NO_OPTIONAL_FIELDS,
) -> Iterator[dict[str, object]]:
    """Yield the fields of `ContentItem` for each page of every site in *paths*: a folder is a site,
    single files of one folder are one, too.

    A site is learned from its files alone (a single one is judged by itself), or filtered by its
    model in *models*, or the one that *models* is. Of several sites, ``url`` begins with the
    folder as it was given.
    """
    singles: dict[Path, list[Path]] = {}
    for path in paths:
        if not path.is_dir():
            singles.setdefault(path.parent, []).append(path)
    folders = [(path, list(html_files(path))) for path in paths if path.is_dir()]
    sites = [*folders, *singles.items()]
    for root, files in sites:
        for item in _site_items(root, files, options or LearningOptions(), models, optional_fields):
            if len(sites) > 1:
                item["url"] = (root / str(item["url"])).as_posix()
                item["id"] = page_id(str(item["url"]))
            yield item


def summarise_folder(folder: Path, models: Path) -> Iterator[dict[str, str]]:
    """Yield ``url``, ``title`` and ``summary`` of each page of a folder of a site's HTML files, by
    the site's model in *models*, or one that is learned; raises `ContentSpiderError`.
    """
    from contentspider.site.learn.learner import SiteLearner

    site = folder.resolve().name
    store = ModelStore(models)
    learner, overrides = SiteLearner(site), store.overrides(site)
    files = list(html_files(folder))
    model = store.load(site) or learner.fit(
        learner.sample(read_pages(folder, files, overrides=overrides))
    )
    # Read twice: pages take much more memory than what is counted of them.
    extractions = (model.extract(page) for page in read_pages(folder, files, overrides=overrides))
    counts = document_counts(extraction.text for extraction in extractions)
    for page in read_pages(folder, files, overrides=overrides):
        extraction = model.extract(page)
        hints = (*page.hints.titles[:1], *page.hints.descriptions[:1])
        summary = summarise(extraction.blocks, hints, len(files), counts)
        yield {"url": page.url, "title": extraction.title, "summary": summary}
