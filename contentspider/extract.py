"""Extracts stored HTML files without a crawl. Each folder of files is a site."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from contentspider.ground.errors import ContentSpiderError
from contentspider.ground.extras import require
from contentspider.ground.fetch import Fetched
from contentspider.ground.sites import SiteKeys
from contentspider.page.input.body import is_binary
from contentspider.page.input.documents import document_kind, read_document, seconds_for
from contentspider.page.input.files import html_files, read_pages
from contentspider.page.input.overrides import Overrides
from contentspider.page.input.page import Page
from contentspider.page.tree.blocks import new_walker
from contentspider.page.write.summary import document_counts, summarise
from contentspider.site.judge.featuresets import needs_attributes
from contentspider.site.judge.prior import Prior
from contentspider.site.learn.options import LearningOptions
from contentspider.site.learn.single_page import extract_page, hidden_text
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

logger = logging.getLogger(__name__)

# Pages that stay in memory between learning and extraction; each takes some 100 kB.
MAX_KEPT = 500


def _stored_model(models: Path, site: str) -> tuple[SiteModel, Overrides | None]:
    """Return the model and the overrides of *site* from the folder *models*, which has a folder for
    each site or is the folder of one model. Raises `ContentSpiderError`.
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
    """Log on how many *pages* text was left out because its owner forbids to index it."""
    if pages:
        logger.warning(
            "%s: text of %d pages is marked as not to be indexed, and left out (--no-directives"
            " keeps it)",
            source,
            pages,
        )


def _has_text(page: Page, is_alone: bool) -> bool:
    """Tell whether a page has text blocks, or, if *is_alone*, text in its metadata."""
    return bool(page.content.blocks or (is_alone and hidden_text(page)))


def _site_items(
    root: Path,
    files: Sequence[Path],
    options: LearningOptions,
    models: Path | None,
    optional_fields: OptionalFields,
) -> Iterator[dict[str, object]]:
    """Yield the items of a site's *files*; ``url`` is the file's path below *root*. If there are
    more than `MAX_KEPT` files, they are read twice to limit memory.
    """
    site = root.resolve().name or "site"
    model, overrides = _stored_model(models, site) if models else (None, None)
    attributes = needs_attributes(model.features) if model else options.needs_attributes
    reading = (attributes, overrides, options.obey_directives, options.own_fields)
    pages_in_memory = None
    if len(files) <= MAX_KEPT:
        pages_in_memory = list(read_pages(root, files, *reading))

    def pages() -> Iterable[Page]:
        if pages_in_memory is not None:
            return pages_in_memory
        return read_pages(root, files, *reading)

    is_alone = not model and len(files) == 1 and options.labels == VOTES
    if not any(_has_text(page, is_alone) for page in pages()):
        return
    if model:
        site = model.site
        model.judge = Prior.chosen(options.prior_file)
    elif not is_alone:
        # Imported here, because only learning a site needs scikit-learn, which takes a second.
        from contentspider.site.learn.learner import SiteLearner

        model = SiteLearner(site, options).fit(pages())
        for name, known in model.own_fields.items():
            for doubt in known.doubts:
                logger.warning("%s: the field %s: %s", site, name, doubt)
    left_out = 0
    for page in pages():
        if not _has_text(page, is_alone):
            logger.warning("%s/%s has no text and is left out", root, page.url)
            continue
        left_out += page.content.has_left_out
        if model:
            extraction = model.extract(page, options.keep_teasers)
        else:
            extraction = extract_page(page, site, Prior.chosen(options.prior_file))
        yield page_fields(page, site, extraction, extraction.model_version, optional_fields)
    _warn_of_directives(str(root), left_out)


def _document_item(
    fetched: Fetched, site: str, name: str, optional_fields: OptionalFields
) -> dict[str, object]:
    """Return the fields of `ContentItem` for a document; raises `ContentSpiderError` if it has no
    text or cannot be read. *name* stands for it in errors.
    """
    require("documents", f"{name}: reading documents")
    seconds = seconds_for(fetched.body)
    page = read_document(fetched.body, fetched.url, seconds, content_type=fetched.content_type)
    if page is None or not page.content.blocks:
        raise ContentSpiderError(
            f"{name}: no text can be read from the document: it may be encrypted, it may be"
            " damaged, or its text may be pictures"
        )
    extraction = extract_page(page, site)
    return page_fields(page, site, extraction, extraction.model_version, optional_fields)


def page_item(
    fetched: Fetched,
    options: LearningOptions,
    models: Path | None = None,
    optional_fields: OptionalFields = NO_OPTIONAL_FIELDS,
) -> dict[str, object]:
    """Return the fields of `ContentItem` for one page. The content is chosen by the prior, or by
    the model of the page's site in *models*. Raises `ContentSpiderError` if it has no text.
    """
    site = SiteKeys().key(fetched.url) if fetched.url else ""
    if document_kind(fetched.body, fetched.content_type, fetched.url):
        return _document_item(fetched, site, fetched.url or "standard input", optional_fields)
    if is_binary(fetched.body):
        raise ContentSpiderError(f"{fetched.url or 'standard input'} is not HTML")
    model, overrides = _stored_model(models, site) if models else (None, None)
    attributes = needs_attributes(model.features) if model else options.needs_attributes
    page = Page.from_html(
        fetched.body,
        fetched.url,
        fetched.content_type,
        attributes,
        new_walker(options.obey_directives),
        overrides,
        options.own_fields,
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
    """Yield the fields of `ContentItem` for each page of the sites in *paths*. A folder is a site;
    single files of one folder are a site, too, but for documents (PDF, DOCX), which come first.

    The model of a site is learned from its files; a single file is judged alone. With *models*, the
    model is read from that folder instead. If there are several sites, ``url`` begins with the
    folder as given in *paths*.
    """
    singles: dict[Path, list[Path]] = {}
    for path in paths:
        if path.is_dir():
            continue
        if (fetched := _document_file(path)) is not None:
            site = path.parent.resolve().name
            try:
                yield _document_item(fetched, site, str(path), optional_fields)
            except ContentSpiderError as error:
                logger.warning("%s; this file is left out", error)
        else:
            singles.setdefault(path.parent, []).append(path)
    folders = [(path, list(html_files(path))) for path in paths if path.is_dir()]
    sites = [*folders, *singles.items()]
    for root, files in sites:
        for item in _site_items(root, files, options or LearningOptions(), models, optional_fields):
            if len(sites) > 1:
                item["url"] = (root / str(item["url"])).as_posix()
                item["id"] = page_id(str(item["url"]))
            yield item


def _document_file(path: Path) -> Fetched | None:
    """Return a file that is a document; None if it is none, or cannot be read."""
    try:
        body = path.read_bytes()
    except OSError:  # `read_pages` says so
        return None
    url = path.as_posix().encode("utf-8", "replace").decode()
    return Fetched(url, body, "") if document_kind(body, "", url) else None


def summarise_folder(folder: Path, models: Path) -> Iterator[dict[str, str]]:
    """Yield ``url``, ``title`` and ``summary`` of each page in a folder of a site's HTML files. The
    site's model is read from *models*, or learned. Raises `ContentSpiderError`.
    """
    from contentspider.site.learn.learner import SiteLearner

    site = folder.resolve().name
    store = ModelStore(models)
    learner, overrides = SiteLearner(site), store.overrides(site)
    files = list(html_files(folder))
    model = store.load(site) or learner.fit(
        learner.sample(read_pages(folder, files, overrides=overrides))
    )
    # The files are read again, because pages need much more memory than their word counts.
    extractions = (model.extract(page) for page in read_pages(folder, files, overrides=overrides))
    counts = document_counts(extraction.text for extraction in extractions)
    for page in read_pages(folder, files, overrides=overrides):
        extraction = model.extract(page)
        hints = (*page.hints.titles[:1], *page.hints.descriptions[:1])
        summary = summarise(extraction.blocks, hints, len(files), counts)
        yield {"url": page.url, "title": extraction.title, "summary": summary}
