"""The report as one HTML page without scripts and external files; page texts are escaped."""

from __future__ import annotations

import json
from contextlib import closing
from importlib.resources import files
from typing import TYPE_CHECKING

from contentspider.ground.atomic import replacing
from contentspider.ground.errors import ContentSpiderError
from contentspider.page.input.files import html_files, read_pages
from contentspider.report.summary import summarise
from contentspider.site.learn.learner import SiteLearner
from contentspider.site.learn.options import LearningOptions
from contentspider.state.ledger.ledger import Ledger
from contentspider.state.stores.models import ModelStore

if TYPE_CHECKING:
    from pathlib import Path

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


def write_report(folder: Path, models: Path, output: Path) -> int:
    """Learn a site from its HTML files in *folder*, write its report to *output*, and return the
    number of pages in it: a sample, if there are more than the learner takes.

    People's corrections in *models* for a site with the folder's name are applied.
    """
    site, files = folder.resolve().name, list(html_files(folder))
    overrides = ModelStore(models).overrides(site)
    learner = SiteLearner(site)
    pages = learner.sample(read_pages(folder, files, overrides=overrides))
    if not pages:
        raise ContentSpiderError(
            f"{folder} has no pages with text: give a folder of HTML files, or a crawl"
        )
    return _write(summarise(learner, learner.fit(pages), pages, len(files), overrides), output)


def write_crawl_report(crawl: Path, models: Path, site: str, output: Path) -> int:
    """Write the report of a crawl's *site* ("": its only one) from the pages in its ledger, and
    return their number.

    They are filtered with the site's model in *models*; if there is none, one is learned.
    """
    with closing(Ledger(crawl, read_only=True)) as ledger:
        chosen, pages = ledger.pages.of_site(site)
        records = map(json.loads, ledger.items.lines())
        total = sum(record.get("site") == chosen for record in records)
    store = ModelStore(models)
    overrides, model = store.overrides(chosen), store.load(chosen)
    options = LearningOptions(model.labels, model.features) if model else LearningOptions()
    learner = SiteLearner(chosen, options)
    model = model or learner.fit(pages)
    return _write(summarise(learner, model, pages, total, overrides), output)
