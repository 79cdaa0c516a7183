"""Extracts stored HTML files without a crawl. Each folder of files is a site."""

from __future__ import annotations

import logging
import time
from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contentspider.ground.counts import counted
from contentspider.ground.errors import ContentSpiderError
from contentspider.ground.extras import MissingExtraError
from contentspider.ground.fetch import Fetched
from contentspider.ground.sites import SiteKeys, folder_name
from contentspider.page.input.documents import (
    SUFFIXES,
    document_kind,
)
from contentspider.page.input.files import DOCUMENT, NO_TEXT, html_files, page_url, read_pages
from contentspider.page.input.overrides import OVERRIDES, Overrides
from contentspider.page.write.summary import document_counts, summarise
from contentspider.site.judge.prior import Prior
from contentspider.site.learn.options import LearningOptions
from contentspider.site.learn.sampling import CountingPages
from contentspider.site.learn.single_page import hidden_text
from contentspider.site.models.failures import Failures
from contentspider.site.models.folder import MANIFEST
from contentspider.site.models.identity import page_id
from contentspider.site.models.model import SiteModel
from contentspider.site.models.record import NO_OPTIONAL_FIELDS, OptionalFields, page_fields
from contentspider.site.override_effects import OverrideEffects
from contentspider.state.stores.knowledge import Knowledge
from contentspider.state.stores.models import ModelStore

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from contentspider.page.input.fields_file import FieldsFile
    from contentspider.page.input.page import Page

logger = logging.getLogger(__name__)

DEFAULT_MODELS = Path("models")
# From this many files on, the log says how far the command is, every `TELL_SECS` seconds.
MANY_FILES, TELL_SECS = 100, 5.0
# Pages that stay in memory between learning and extraction; each takes some 100 kB.
MAX_KEPT = 500


def _known(models: Path | None, site: str, options: LearningOptions) -> Knowledge:
    """Return the knowledge about *site* in the folder *models*, which has a folder for each site,
    or is the folder of one model. It may have just corrections of the site, and without *models*
    these are read from the default folder. Raises `ContentSpiderError`.
    """
    folder = (models or DEFAULT_MODELS) / folder_name(site)
    if models and (models / MANIFEST).is_file():
        folder = models
    overrides = Overrides.load(folder) if site else None
    if overrides:
        logger.info("%s: the corrections in %s apply", site, folder / OVERRIDES)
    if models is None:
        return Knowledge(None, overrides, options)
    try:
        model = SiteModel.load(folder)
    except FileNotFoundError as error:
        if overrides:
            return Knowledge(None, overrides, options)
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
            "%s: text of %s is marked as not to be indexed, and left out (--no-directives"
            " keeps it)",
            source,
            counted(pages, "pages"),
        )


def _has_text(page: Page, is_alone: bool) -> bool:
    """Tell whether a page has text blocks, or, if *is_alone*, text in its metadata."""
    return bool(page.content.blocks or (is_alone and hidden_text(page)))


class _SitePages:
    """The pages in the *files* of a site. If there are more than `MAX_KEPT` files, they are read at
    each iteration, to limit memory.
    """

    def __init__(
        self,
        root: Path,
        files: Sequence[Path],
        known: Knowledge,
        failures: Failures,
        base: str,
    ) -> None:
        noted = failures.files, failures.guessed
        self._read = partial(read_pages, root, files, *known.reading, *noted, base)
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
    """Tells how far the pages of a folder are."""

    def __init__(self, root: Path, files: int) -> None:
        self._root, self._files = root, files
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


def _learn(site: str, options: LearningOptions, pages: Iterable[Page]) -> SiteModel:
    """Return a model learned from the pages of a site, and warn of doubts about own fields."""
    # Imported here, because only learning a site needs scikit-learn, which takes a second.
    from contentspider.site.learn.learner import SiteLearner

    counting = CountingPages(pages)
    model = SiteLearner(site, options).fit(counting)
    if model.pages < counting.with_text:
        logger.info(
            "%s: it was learned from a sample of its %d pages with text", site, counting.with_text
        )
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
    site: str,
    base: str,
) -> Iterator[dict[str, object]]:
    """Yield the items of a *site*'s *files*; ``url`` is the file's path below *root*, or below the
    address *base*. *alone*: the prior judges each page.
    """
    path_of = {page_url(path.relative_to(root), base): path for path in files}
    known = _known(models, site, options)
    watch = _Watch(root, len(files))
    pages = _SitePages(root, files, known, failures, base)
    is_single = len(files) < options.min_pages
    is_alone = not known.model and (is_single or alone)
    if not any(_has_text(page, is_alone) for page in pages):
        failures.files.update({path_of[page.url]: NO_TEXT for page in pages})
        return
    if known.model:
        site = known.model.site
    elif not is_alone:
        model = _learn(site, options, watch.watch(pages, "learning from"))
        known = known._replace(model=model)
        if model.quality:
            failures.quality[site] = model.quality
    left_out, check = 0, _FieldCheck(options.own_fields)
    effects = OverrideEffects(known.overrides or Overrides(()))
    for page in watch.watch(pages, "extracting"):
        effects.add(page)
        if not _has_text(page, is_alone):
            failures.files[path_of[page.url]] = NO_TEXT
            logger.warning("%s has no text and is left out", path_of[page.url])
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
    _warn_of_idle_rules(root, effects)


def _warn_of_idle_rules(root: Path, effects: OverrideEffects) -> None:
    for effect in effects.all():
        if not effect.pages:
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
    if not document_kind(fetched.body, fetched.content_type, fetched.url):
        known = _known(models, site, options)
    page = known.read_fetched(fetched, name)
    _warn_of_directives(name, int(page.content.has_left_out))
    if page.guessed_encoding:
        logger.warning("%s states no encoding, and is read as %s", name, page.guessed_encoding)
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
    base: str = "",
) -> Iterator[dict[str, object]]:
    """Yield the fields of `ContentItem` for each page of the sites in *paths*. Pages whose item
    cannot be made are left out, logged, and noted in *failures*.

    A folder is a site: its HTML files are read, and its documents (PDF, DOCX) are left out with a
    warning. The HTML files of one folder among *paths* are a site, too. Documents among *paths* are
    read first, each by itself.

    The model of a site is learned from its files. With *models*, it is read from that folder
    instead. A single file is judged without a model, and so is each file if *alone* is true. If
    there are several sites, ``url`` begins with the folder as given in *paths*. Folders of the same
    name are told apart by the folders above them. *base* is the address of the only folder: its
    host names the site, and addresses in the items are absolute.

    Files that are left out are noted in *failures*: documents in folders, files that cannot be read
    or are not HTML, and pages and documents without text. A page is also noted there if a
    site's model drops its prose, and a site that is learned with its quality.
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
                is_unread = isinstance(error, MissingExtraError)
                reason = str(error).removeprefix(f"{fetched.url}: ") if is_unread else NO_TEXT
                failures.files[path] = reason
        else:
            singles.setdefault(path.parent, []).append(path)
    folders = [(path, list(html_files(path))) for path in paths if path.is_dir()]
    for folder, files in folders:
        _note_others(folder, files, failures)
    sites = [*folders, *singles.items()]
    names = [SiteKeys().key(base)] if base else _site_names([root for root, _ in sites])
    for (root, files), site in zip(sites, names, strict=True):
        for item in _site_items(
            root, files, options, models, optional_fields, failures, alone, site, base
        ):
            if len(sites) > 1:
                item["url"] = (root / str(item["url"])).as_posix()
                item["id"] = page_id(str(item["url"]))
            yield item


def _site_names(roots: Sequence[Path]) -> list[str]:
    """Return a name of the site in each folder: the folder's, with as many of those above it as
    tell it from other folders.

    >>> _site_names([Path("/a/html"), Path("/b/html"), Path("/b/c")])
    ['a-html', 'b-html', 'c']
    """
    folders = [root.resolve() for root in roots]
    names: list[str] = []
    for folder in folders:
        parts, length = folder.parts[1:], 1
        others = {other.parts[1:] for other in folders if other != folder}
        while length < len(parts) and any(o[-length:] == parts[-length:] for o in others):
            length += 1
        names.append("-".join(parts[-length:]) or "site")
    return names


def _document_file(path: Path) -> Fetched | None:
    """Return the document in a file; None for other files, and if the file cannot be read."""
    try:
        body = path.read_bytes()
    except OSError:  # `read_pages` says so
        return None
    url = path.as_posix().encode("utf-8", "replace").decode()
    return Fetched(url, body, "") if document_kind(body, "", url) else None


def _note_others(folder: Path, pages: Iterable[Path], failures: Failures) -> None:
    """Note the files of a folder that are no *pages*: documents, which are left out with a warning,
    and files that are ignored.
    """
    known = set(pages)
    others = [path for path in sorted(folder.rglob("*")) if path.is_file() and path not in known]
    documents = [path for path in others if path.suffix.lower() in SUFFIXES]
    failures.files.update(dict.fromkeys(documents, DOCUMENT))
    failures.ignored.update(
        path.suffix.lower() or "no ending" for path in others if path not in documents
    )
    if documents:
        logger.warning(
            "%s: %s left out, such as %s; give them as files",
            folder,
            counted(len(documents), "documents"),
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
