"""The report as one HTML page without scripts and external files; page texts are escaped."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import TYPE_CHECKING

from contentspider.ground.atomic import replacing
from contentspider.ground.errors import ContentSpiderError
from contentspider.page.input.files import read_pages
from contentspider.report.summary import summarise
from contentspider.site.learn.learner import SiteLearner
from contentspider.site.learn.options import LearningOptions
from contentspider.state.ledger.ledger import Ledger
from contentspider.state.stores.models import ModelStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from contentspider.page.input.overrides import Overrides
    from contentspider.page.input.page import Page
    from contentspider.report.summary import SiteReport


def render_report(report: SiteReport) -> str:
    """Return the report as HTML; raises `ContentSpiderError` if Jinja2 is not installed."""
    try:
        from jinja2 import Environment, StrictUndefined
    except ImportError as error:
        raise ContentSpiderError(
            "the report needs Jinja2: pip install 'contentspider[report]'"
        ) from error
    source = files("contentspider.report").joinpath("page.html").read_text(encoding="utf-8")
    environment = Environment(autoescape=True, undefined=StrictUndefined)
    return environment.from_string(source).render(report=report)


def _write(report: SiteReport, output: Path) -> int:
    text = render_report(report)
    with replacing(output) as file:
        file.write(text.encode("utf-8", "replace"))  # lone surrogates
    return len(report.pages)


def write_report(source: Path, output: Path, options: LearningOptions, models: Path) -> int:
    """Learn a site from its saved pages, write its report to *output*, and return the number of
    pages in it.

    *source* is a folder of HTML files; if there are more pages than the learner takes, a sample is
    shown. If *models* has people's corrections of a site with the
    folder's name, they are applied.
    """
    overrides = ModelStore(models).overrides(source.resolve().name) if source.is_dir() else None
    learner = SiteLearner(source.resolve().name, options)
    read = 0

    def pages_read() -> Iterator[Page]:
        nonlocal read
        for page in _read(source, options.needs_attributes, overrides):
            read += 1
            yield page

    pages = learner.sample(pages_read())
    if not pages:
        raise ContentSpiderError(
            f"{source} has no pages with text: give a folder of HTML files, or a crawl"
        )
    return _write(summarise(learner, learner.fit(pages), pages, read, overrides), output)


def write_crawl_report(crawl: Path, models: Path, site: str, output: Path) -> int:
    """Write the report of a crawl's *site* ("": its only one) from the pages in its ledger, and
    return their number.

    They are filtered with the site's model in *models*; if there is none, one is learned.
    """
    ledger = Ledger(crawl, read_only=True)
    try:
        chosen, pages = ledger.pages.of_site(site)
        records = map(json.loads, ledger.items.lines())
        total = sum(record.get("site") == chosen for record in records)
    finally:
        ledger.close()
    store = ModelStore(models)
    overrides, model = store.overrides(chosen), store.load(chosen)
    options = LearningOptions(model.labels, model.features) if model else LearningOptions()
    learner = SiteLearner(chosen, options)
    model = model or learner.fit(pages)
    return _write(summarise(learner, model, pages, total, overrides), output)


def _read(source: Path, attributes: bool, overrides: Overrides | None) -> Iterator[Page]:
    if not source.is_dir():
        raise ContentSpiderError(f"{source}: no such file or folder")
    yield from read_pages(source, attributes=attributes, overrides=overrides)
