"""Extraction and learning as functions of columns, for pandas, Polars, Spark, Ray, Dask and DuckDB.

Each function takes a batch of rows and returns a table. Batches do not depend on each other.
"""

from __future__ import annotations

import os
from collections import defaultdict
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from contentspider.ground.counts import counted
from contentspider.ground.errors import ContentSpiderError, NotEnoughTextError
from contentspider.ground.extras import require
from contentspider.ground.sites import SiteKeys
from contentspider.page.tree.blocks import new_walker
from contentspider.site.learn.options import LearningOptions
from contentspider.site.models.folder import MANIFEST
from contentspider.site.models.model import SiteModel
from contentspider.site.models.record import page_fields
from contentspider.state.stores.knowledge import UNKNOWN, Knowledge, stored_knowledge
from contentspider.state.stores.remote import is_url

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import TypeAlias

    import pyarrow as pa

    from contentspider.page.input.page import Page
    from contentspider.page.tree._walk import Walker
    from contentspider.state.stores.models import ModelStore

    Column: TypeAlias = Iterable[Any]
    Models: TypeAlias = (
        "str | os.PathLike[str] | Mapping[str, SiteModel | bytes] | SiteModel | bytes | None"
    )

# The fields of an item (docs/items.md) that are columns, and the types of all columns' values.
ITEM_COLUMNS = {
    "title": str,
    "content": str,
    "content_markdown": str,
    "published_at": str,
    "modified_at": str,
    "author": list,
    "language": str,
    "page_type": str,
    "confidence": float,
    "model_version": str,
}
COLUMNS = {
    "url": str,
    "site": str,
    **ITEM_COLUMNS,
    "by_prior": bool,
    "quality": float,
    "error": str,
}
LEARNED_COLUMNS = {
    "site": str,
    "model": bytes,
    "pages": int,
    "unread": int,
    "quality": float,
    "error": str,
}
MODELS_KEPT = 64
# Models, walkers and the detection of languages have caches that are not for several threads, and
# engines call a function from any of theirs. Python runs one thread at a time anyway.
_LOCK = Lock()


class _Rows:
    """The rows of a batch: addresses, HTML and content types, and the *numbers* of the rows of each
    site, "" for rows without an address. *problems* has the rows whose HTML cannot be read.
    """

    def __init__(self, urls: Column, htmls: Column, content_types: Column | None) -> None:
        self.urls = [url if isinstance(url, str) else None for url in _listed(urls)]
        self.htmls, size = _listed(htmls), len(self.urls)
        self.content_types = [None] * size if content_types is None else _listed(content_types)
        if not size == len(self.htmls) == len(self.content_types):
            raise ValueError(
                f"urls has {counted(size, 'rows')}, htmls {len(self.htmls)}, and content_types"
                f" {len(self.content_types)}; they must have one row for each page"
            )
        self.problems = {
            number: problem for number, html in enumerate(self.htmls) if (problem := _problem(html))
        }
        self.numbers: dict[str, list[int]] = defaultdict(list)
        keys = SiteKeys()
        for number, url in enumerate(self.urls):
            self.numbers[_site(keys, url)].append(number)

    def row(self, number: int) -> tuple[str, Any, str | None]:
        """Return the address ("": unknown), the HTML and the content type of a row."""
        content_type = self.content_types[number]
        is_known = isinstance(content_type, str)
        return self.urls[number] or "", self.htmls[number], content_type if is_known else None

    def pages(
        self, numbers: Iterable[int], options: LearningOptions, unread: list[int]
    ) -> Iterator[Page]:
        """Yield the pages of rows, to learn from with *options*. The numbers of unreadable rows are
        added to *unread*.
        """
        walker, known = new_walker(options.obey_directives), Knowledge(options=options)
        for number in numbers:
            url, html, content_type = self.row(number)
            try:
                if number in self.problems:
                    raise ValueError(self.problems[number])
                page = known.read(html, url, content_type, walker)
            except Exception:  # noqa: BLE001 - one page must not end a job of millions
                unread.append(number)
            else:
                yield page


def _listed(values: Column) -> list[Any]:
    """Return the values of a column as a list of Python's objects."""
    for name in ("to_pylist", "tolist"):  # Arrow; NumPy and pandas
        if hasattr(values, name):
            return list(getattr(values, name)())
    return list(values)


def _problem(html: object) -> str:
    """Return why a value cannot be read as HTML; "" if it can."""
    if not isinstance(html, bytes | str):
        return f"there is no HTML, but {type(html).__name__}"
    return ""


def _site(keys: SiteKeys, url: str | None) -> str:
    try:
        return keys.key(url) if url else ""
    except ValueError:
        return ""


def _read_model(store: ModelStore, site: str) -> SiteModel | None:
    """Return a site's model; raises `StateError` if it cannot be used. Many processes read one
    store, so that none of them renames a model.
    """
    try:
        return store.read(site) if site else None
    except FileNotFoundError:
        return None


@lru_cache(maxsize=MODELS_KEPT)
def _model_of(data: bytes) -> SiteModel:
    return SiteModel.from_bytes(data)


def _opened(models: Models, state_dir: str) -> Callable[[str], Knowledge]:
    """Return a function that returns what *models* knows of a site.

    Raises `ContentSpiderError` if *models* is neither models nor their folder.
    """
    if models is None:
        return lambda site: UNKNOWN
    if isinstance(models, bytes):
        models = _model_of(models)
    if isinstance(models, SiteModel):
        known = Knowledge(models)
        return lambda site: known
    if isinstance(models, str | os.PathLike):
        return _in_store(os.fspath(models), state_dir)
    by_site = models

    def knowledge_of(site: str) -> Knowledge:
        model = by_site.get(site)
        return Knowledge(_model_of(model) if isinstance(model, bytes) else model)

    return knowledge_of


def _in_store(models: str, state_dir: str) -> Callable[[str], Knowledge]:
    """Return a function that returns the knowledge of a site in a folder or at a URL."""
    if is_url(models):
        return stored_knowledge(models, state_dir, _read_model)
    folder = Path(models)
    if not folder.is_dir():
        raise ContentSpiderError(
            f"{models} is no folder of models: give the folder or the URL that a crawl,"
            " 'contentspider archive' or SiteModel.save wrote"
        )
    if (folder / MANIFEST).is_file():  # the folder of one model, for all rows
        of_one = stored_knowledge(str(folder.resolve().parent), state_dir, _read_model)
        return lambda site: of_one(folder.resolve().name)
    return stored_knowledge(str(folder.resolve()), state_dir, _read_model)


def extract_column(
    urls: Column,
    htmls: Column,
    *,
    models: Models = None,
    content_types: Column | None = None,
    state_dir: str = "",
) -> pa.Table:
    """Return the content of a batch of pages: a table of one row for each, in the same order.

    *urls*, *htmls* and *content_types* (the header; None: unknown) are columns of one length:
    lists, arrays of NumPy or Arrow, series of pandas or Polars. HTML is bytes or text. *models* is
    the folder or URL of the sites' models, a mapping of sites to models (`SiteModel`, or the bytes
    of `learn_column`), or one model for all rows. The prior that ships judges the pages of sites
    without a model, and of all sites if *models* is None. Each process reads a model once.

    The columns ``title`` to ``model_version`` have the fields of an item (docs/items.md), with the
    types ``string``, ``list<string>`` (``author``) and ``float64`` (``confidence``). ``by_prior``
    tells that the prior took part in the decision, and ``model_version`` is the prior's digest if
    no model did. ``quality`` is the F1 of the site's labels, from 0 to 1, null without a model.

    A row that is unreadable, or without text, has the reason in ``error``, and null in all columns
    except ``url`` and ``site``; it never raises an error.

    Raises `MissingExtraError` without the ``parquet`` extra, ValueError if the columns differ in
    length, and `ContentSpiderError` if *models* is not a store of models.
    """
    require("parquet", "extract_column")
    lists = extract_lists(
        urls, htmls, models=models, content_types=content_types, state_dir=state_dir
    )
    return _table(lists, COLUMNS)


def extract_lists(
    urls: Column,
    htmls: Column,
    *,
    models: Models = None,
    content_types: Column | None = None,
    state_dir: str = "",
) -> dict[str, list[Any]]:
    """Return the columns of `extract_column` as lists by their names, which needs no extra."""
    rows = _Rows(urls, htmls, content_types)
    knowledge_of = _opened(models, state_dir)
    columns: dict[str, list[Any]] = {name: [None] * len(rows.urls) for name in COLUMNS}
    columns["url"] = list(map(_printable, rows.urls))
    with _LOCK:
        walker = new_walker()
        for site, numbers in rows.numbers.items():
            known, error = _known(knowledge_of, site)
            for number in numbers:
                columns["site"][number] = known.model.site if known.model else site
                values = {"error": error} if error else _values(rows, number, known, site, walker)
                for name, value in values.items():
                    columns[name][number] = value
    return columns


def _known(knowledge_of: Callable[[str], Knowledge], site: str) -> tuple[Knowledge, str]:
    """Return the knowledge of a site, and the error if it cannot be read."""
    try:
        return knowledge_of(site), ""
    except (ContentSpiderError, OSError) as error:
        return UNKNOWN, f"the model of {site} cannot be read: {error}"


def _values(
    rows: _Rows, number: int, known: Knowledge, site: str, walker: Walker
) -> dict[str, object]:
    """Return the values of a row by the names of their columns."""
    if number in rows.problems:
        return {"error": rows.problems[number]}
    try:
        url, html, content_type = rows.row(number)
        page = known.read(html, url, content_type, walker)
        extraction = known.extract(page, site)
        fields = page_fields(
            page, extraction.site, extraction, extraction.model_version, wanted=ITEM_COLUMNS
        )
    except Exception as error:  # noqa: BLE001 - one page must not end a job of millions
        return {"error": f"{type(error).__name__}: {error}"}
    if not fields["content"]:
        return {"error": "the page has no text"}
    values = {name: _printable(fields[name]) for name in ITEM_COLUMNS}
    quality = known.model.quality if known.model else None
    return values | {"by_prior": extraction.by_prior, "quality": quality.f1 if quality else None}


def _printable(value: object) -> object:
    """Return a value without halves of surrogate pairs, which Arrow cannot store."""
    if isinstance(value, list):
        return list(map(_printable, value))
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


def _table(columns: Mapping[str, list[Any]], types: Mapping[str, type]) -> pa.Table:
    """Return *columns* with values of these *types* as a table; ``list`` is a list of texts."""
    import pyarrow as pa

    of_arrow = {
        str: pa.string(),
        list: pa.list_(pa.string()),
        float: pa.float64(),
        int: pa.int64(),
        bool: pa.bool_(),
        bytes: pa.binary(),
    }
    schema = pa.schema([(name, of_arrow[kind]) for name, kind in types.items()])
    return pa.table(columns, schema=schema)


def sample_column(urls: Column, htmls: Column, *, content_types: Column | None = None) -> pa.Table:
    """Return the rows of a batch that its sites can be learned from, for `learn_column`.

    The table has the columns ``site``, ``url``, ``html`` (with the type of *htmls*) and
    ``content_type``. A site with more than 200 pages in the batch keeps some 400 at most: the pages
    that a sample of the whole site may have, independent of the other batches. So samples of
    batches can be put together in any order, and sampled again. Rows without an address are left
    out, and so are pages of large sites that cannot be read. Raises the errors of `extract_column`.
    """
    require("parquet", "sample_column")
    import pyarrow as pa

    rows = _Rows(urls, htmls, content_types)
    kept: list[tuple[str, int]] = []
    with _LOCK:
        for site in filter(None, rows.numbers):
            kept += [(site, number) for number in _sampled(rows, rows.numbers[site])]
    numbers = [number for _, number in kept]
    kind = getattr(htmls, "type", None) if hasattr(htmls, "to_pylist") else None
    columns = {
        "site": pa.array([site for site, _ in kept], pa.string()),
        "url": pa.array([_printable(rows.urls[number]) for number in numbers], pa.string()),
        "html": pa.array([rows.htmls[number] for number in numbers], kind),
        "content_type": pa.array([rows.content_types[number] for number in numbers], pa.string()),
    }
    return pa.table(columns)


def _sampled(rows: _Rows, numbers: list[int]) -> list[int]:
    """Return the *numbers* of the rows of a site that belong to its sample."""
    from contentspider.site.learn.sampling import MAX_SAMPLE, mergeable_sample

    if len(numbers) <= MAX_SAMPLE:
        return numbers
    pages = rows.pages(numbers, LearningOptions(), [])
    urls = {page.url for page in mergeable_sample(pages)}
    return [number for number in numbers if rows.urls[number] in urls]


def learn_column(
    urls: Column,
    htmls: Column,
    *,
    options: LearningOptions | None = None,
    content_types: Column | None = None,
) -> pa.Table:
    """Return a model for each site of a batch: a table of one row for each site, sorted.

    The batch must have all pages of its sites, or the rows that `sample_column` returned for them:
    group rows by site first. (*options* with ``labels="paper"`` or examples of own fields need all
    pages.) The model does not depend on the order of the rows.

    The columns are ``site`` (``string``), ``model`` (``binary``: `SiteModel.from_bytes` and the
    *models* of `extract_column` read it), ``pages`` (``int64``: how many it was learned from),
    ``unread`` (``int64``: rows that cannot be read), ``quality`` (``float64``: the F1 of its
    labels, from 0 to 1), and ``error`` (``string``). A site with fewer than two pages with text is
    not learned: its model is null, and the reason is in ``error``. Raises the errors of
    `extract_column`.
    """
    require("parquet", "learn_column")
    rows = _Rows(urls, htmls, content_types)
    columns: dict[str, list[Any]] = {name: [] for name in LEARNED_COLUMNS}
    with _LOCK:
        for site in sorted(rows.numbers):
            for name, value in _learned(rows, site, options or LearningOptions()).items():
                columns[name].append(value)
    return _table(columns, LEARNED_COLUMNS)


def _learned(rows: _Rows, site: str, options: LearningOptions) -> dict[str, object]:
    """Return the row of a site in the table of `learn_column`."""
    # Imported here: only learning needs scikit-learn and its second.
    from contentspider.site.learn.learner import SiteLearner

    unread: list[int] = []
    values: dict[str, object] = dict.fromkeys(LEARNED_COLUMNS)
    try:
        if not site:
            raise NotEnoughTextError("the rows have no address, so that their site is unknown")
        model = SiteLearner(site, options).fit(rows.pages(rows.numbers[site], options, unread))
        if model.pages < options.min_pages:
            raise NotEnoughTextError(f"{site} has one page with text: the prior judges it")
        quality = model.quality.f1 if model.quality else None
        values |= {"model": model.to_bytes(), "pages": model.pages, "quality": quality}
    except ContentSpiderError as error:
        values["error"] = str(error)
    return values | {"site": site, "unread": len(unread)}
