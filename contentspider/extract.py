"""Extracts stored HTML files without a crawl. Each folder of files is a site."""

from __future__ import annotations

import logging
import time
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any

from contentspider.ground.addresses import is_web_address
from contentspider.ground.errors import ContentSpiderError
from contentspider.ground.fetch import Fetched
from contentspider.ground.sites import SiteKeys
from contentspider.page.input.documents import (
    SUFFIXES,
    document_kind,
)
from contentspider.page.input.files import html_files, read_pages
from contentspider.page.input.overrides import Overrides
from contentspider.page.write.summary import document_counts, summarise
from contentspider.site.judge.prior import Prior
from contentspider.site.learn.options import LearningOptions
from contentspider.site.learn.single_page import hidden_text
from contentspider.site.models.failures import Failures
from contentspider.site.models.folder import MANIFEST
from contentspider.site.models.identity import page_id
from contentspider.site.models.model import SiteModel
from contentspider.site.models.record import NO_OPTIONAL_FIELDS, OptionalFields, page_fields
from contentspider.site.override_effects import OverrideEffects
from contentspider.site.vote.labels import VOTES
from contentspider.state.stores.knowledge import Knowledge
from contentspider.state.stores.models import ModelStore

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from contentspider.page.input.fields_file import FieldsFile
    from contentspider.page.input.page import Page

logger = logging.getLogger(__name__)

# From this many files on, the log says how far the command is, every `TELL_SECS` seconds.
MANY_FILES, TELL_SECS = 100, 5.0
# A page may name its site by its canonical address. If at least `MIN_NAMING` pages do, and fewer
# than this share of them name the same site, the pages are of several sites.
ONE_SITE_SHARE, MIN_NAMING = 0.8, 5
# Pages that stay in memory between learning and extraction; each takes some 100 kB.
MAX_KEPT = 500


def _stored(models: Path, site: str, options: LearningOptions) -> Knowledge:
    """Return the knowledge about *site* in the folder *models*, which has a folder for each
    site, or is the folder of one model. Warns if the model knows other examples. Raises
    `ContentSpiderError`.
    """
    folder = models if (models / MANIFEST).is_file() else models / site
    try:
        model, overrides = SiteModel.load(folder), Overrides.load(folder)
    except FileNotFoundError as error:
        raise ContentSpiderError(
            f"{models} has no model of {site!r}; it has: "
            f"{', '.join(ModelStore(models).sites()) or 'none'}. Name the pages' folder as the"
            f" site, or give the folder of one model ({models}/SITE)"
        ) from error
    model.judge = Prior.chosen(options.prior_file)
    digest = options.own_fields.examples_digest
    if digest not in ("", model.examples_digest):
        logger.warning(
            "%s: the stored model was not learned with the examples in %s; fields by examples come"
            " from the examples that it was learned with, if any. Learn the site again with this"
            " file",
            model.site,
            options.fields,
        )
    return Knowledge(model, overrides, options)


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


class _SitePages:
    """The pages in the *files* of a site. If there are more than `MAX_KEPT` files, they are read at
    each iteration, to limit memory.
    """

    def __init__(
        self, root: Path, files: Sequence[Path], known: Knowledge, left_out: set[Path]
    ) -> None:
        self._read = partial(read_pages, root, files, *known.reading, left_out)
        self._in_memory = list(self._read()) if len(files) <= MAX_KEPT else None

    def __iter__(self) -> Iterator[Page]:
        return self._read() if self._in_memory is None else iter(self._in_memory)


class _FieldCheck:
    """Counts the values of own fields, and warns of fields without any."""

    def __init__(self, file: FieldsFile) -> None:
        self._file = file
        self._pages = 0
        self._counts: Counter[str] = Counter()

    def count(self, item: Mapping[str, Any]) -> None:
        """Count the values of an item."""
        self._pages += 1
        self._counts.update(item["fields"].keys())

    def warn(self, source: str) -> None:
        """Log the fields without a value on any page. *source* is the pages' folder or address."""
        missing = [field.name for field in self._file.fields if not self._counts[field.name]]
        if missing:
            logger.warning(
                "%s: no value of %s was found on any page (%d in all): check the selectors; fields"
                " with examples need several pages of the site, to learn from",
                source,
                ", ".join(missing),
                self._pages,
            )


class _Watch:
    """Tells how far the pages of a folder are, and whether they seem to be of several sites."""

    def __init__(self, root: Path, files: int) -> None:
        self._root, self._files = root, files
        self._keys = SiteKeys()
        self._sites: Counter[str] = Counter()
        self._told = time.monotonic()

    def watch(self, pages: Iterable[Page], step: str) -> Iterator[Page]:
        """Yield the pages of a *step*."""
        if self._files >= MANY_FILES:
            logger.info("%s: %s %d files", self._root, step, self._files)
        for number, page in enumerate(pages, 1):
            if time.monotonic() - self._told >= TELL_SECS:
                self._told = time.monotonic()
                logger.info("%s: %s, %d of %d files", self._root, step, number, self._files)
            yield page

    def note(self, page: Page) -> None:
        """Count the site that a page names as its own."""
        if is_web_address(address := page.hints.canonical):
            self._sites[self._keys.key(address)] += 1

    def warn(self) -> None:
        """Warn if the pages name several sites as their own."""
        count = self._sites.total()
        if count >= MIN_NAMING and max(self._sites.values()) < ONE_SITE_SHARE * count:
            names = ", ".join(f"{site} ({n})" for site, n in self._sites.most_common(3))
            logger.warning(
                "%s: its pages are of several sites, by their canonical addresses: %s. They were"
                " learned as one site: give a folder for each site, or --alone",
                self._root,
                names,
            )


def _learn(site: str, options: LearningOptions, pages: Iterable[Page]) -> SiteModel:
    """Return a model learned from the pages of a site, and warn of doubts about own fields."""
    # Imported here, because only learning a site needs scikit-learn, which takes a second.
    from contentspider.site.learn.learner import SiteLearner

    model = SiteLearner(site, options).fit(pages)
    for name, knowledge in model.own_fields.items():
        for doubt in knowledge.doubts:
            logger.warning("%s: the field %s: %s", site, name, doubt)
    return model


def _item(
    page: Page,
    site: str,
    known: Knowledge,
    optional_fields: OptionalFields,
    failures: Failures,
) -> dict[str, object]:
    """Return the item fields of a page."""
    extraction = known.extract(page, site)
    if known.model:
        failures.lost.note(known.model, extraction)
    return page_fields(
        page,
        site,
        extraction,
        extraction.model_version,
        optional_fields,
        report=failures.note_field,
    )


def _site_items(
    root: Path,
    files: Sequence[Path],
    options: LearningOptions,
    models: Path | None,
    optional_fields: OptionalFields,
    failures: Failures,
    alone: bool,
) -> Iterator[dict[str, object]]:
    """Yield the items of a site's *files*; ``url`` is the file's path below *root*. *alone*: the
    prior judges each page.
    """
    site = root.resolve().name or "site"
    known = _stored(models, site, options) if models else Knowledge(options=options)
    watch = _Watch(root, len(files))
    pages = _SitePages(root, files, known, failures.files)
    is_single = len(files) == 1 and options.labels == VOTES
    is_alone = not known.model and (is_single or alone)
    if not any(_has_text(page, is_alone) for page in pages):
        return
    if known.model:
        site = known.model.site
    elif not is_alone:
        known = known._replace(model=_learn(site, options, watch.watch(pages, "learning from")))
    left_out, check = 0, _FieldCheck(options.own_fields)
    effects = OverrideEffects(known.overrides or Overrides(()))
    for page in watch.watch(pages, "extracting"):
        effects.add(page)
        watch.note(page)
        if not _has_text(page, is_alone):
            logger.warning("%s/%s has no text and is left out", root, page.url)
            continue
        left_out += page.content.has_left_out
        try:
            item = _item(page, site, known, optional_fields, failures)
        except (ContentSpiderError, MemoryError):
            raise
        except Exception as error:  # noqa: BLE001 - one page must not cost the others
            failures.note_page(page.url, error, "the page is left out")
            continue
        check.count(item)
        yield item
    _warn_of_directives(str(root), left_out)
    check.warn(str(root))
    if not is_alone and not models:
        watch.warn()
    for effect in effects.idle():
        logger.warning("%s: in overrides.toml %s decides nothing on the pages", root, effect)


def page_item(
    fetched: Fetched,
    options: LearningOptions,
    models: Path | None = None,
    optional_fields: OptionalFields = NO_OPTIONAL_FIELDS,
    site: str = "",
) -> dict[str, object]:
    """Return the fields of `ContentItem` for one page or document. The prior chooses the content of
    a page, or the model of its *site* in *models*. Raises `ContentSpiderError` without text.
    """
    if fetched.url and not site:
        site = SiteKeys().key(fetched.url)
    name = fetched.url or "standard input"
    known = Knowledge(options=options)
    if models and not document_kind(fetched.body, fetched.content_type, fetched.url):
        known = _stored(models, site, options)
    page = known.read_fetched(fetched, name)
    _warn_of_directives(name, int(page.content.has_left_out))
    extraction = known.extract(page, site)
    item = page_fields(page, site, extraction, extraction.model_version, optional_fields)
    if not page.is_document:
        check = _FieldCheck(options.own_fields)
        check.count(item)
        check.warn(name)
    return item


def extract_paths(
    paths: Sequence[Path],
    options: LearningOptions | None = None,
    models: Path | None = None,
    optional_fields: OptionalFields = NO_OPTIONAL_FIELDS,
    failures: Failures | None = None,
    alone: bool = False,
) -> Iterator[dict[str, object]]:
    """Yield the fields of `ContentItem` for each page of the sites in *paths*. Pages whose item
    cannot be made are left out, logged, and noted in *failures*.

    A folder is a site: its HTML files are read, and its documents (PDF, DOCX) are left out with a
    warning. The HTML files of one folder among *paths* are a site, too. Documents among *paths* are
    read first, each by itself.

    The model of a site is learned from its files. With *models*, it is read from that folder
    instead. A single file is judged without a model, and so is each file if *alone* is true. If
    there are several sites, ``url`` begins with the folder as given in *paths*.

    Files that cannot be read are left out with a warning, and noted in *failures*: packed pages
    that are damaged or too large, and documents without text. A page is also noted there if a
    site's model drops its prose.
    """
    options, failures = options or LearningOptions(), failures or Failures()
    singles: dict[Path, list[Path]] = {}
    for path in paths:
        if path.is_dir():
            continue
        if (fetched := _document_file(path)) is not None:
            site = path.parent.resolve().name
            try:
                yield page_item(fetched, options, None, optional_fields, site)
            except ContentSpiderError as error:
                logger.warning("%s; this file is left out", error)
                failures.files.add(path)
        else:
            singles.setdefault(path.parent, []).append(path)
    folders = [(path, list(html_files(path))) for path in paths if path.is_dir()]
    for folder, _ in folders:
        _warn_of_documents(folder)
    sites = [*folders, *singles.items()]
    for root, files in sites:
        for item in _site_items(root, files, options, models, optional_fields, failures, alone):
            if len(sites) > 1:
                item["url"] = (root / str(item["url"])).as_posix()
                item["id"] = page_id(str(item["url"]))
            yield item


def _document_file(path: Path) -> Fetched | None:
    """Return the document in a file; None for other files, and if the file cannot be read."""
    try:
        body = path.read_bytes()
    except OSError:  # `read_pages` says so
        return None
    url = path.as_posix().encode("utf-8", "replace").decode()
    return Fetched(url, body, "") if document_kind(body, "", url) else None


def _warn_of_documents(folder: Path) -> None:
    """Log how many documents a folder has, since only its HTML files are read."""
    documents = sorted(path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES)
    if documents:
        logger.warning(
            "%s: %d documents are left out, such as %s; give them as files",
            folder,
            len(documents),
            documents[0],
        )


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
