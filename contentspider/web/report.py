"""The report of a site as one HTML page, without scripts and external files.

It shows the site's clusters with scores and examples, and its pages with kept and dropped text. The
texts of pages are escaped.
"""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined

from contentspider.ground.atomic import replacing
from contentspider.ground.counts import counted
from contentspider.ground.errors import ContentSpiderError, NotEnoughTextError
from contentspider.page.input.files import read_pages
from contentspider.page.tree.resolver import Resolver
from contentspider.site.fields.site_fields import FIELD_NAMES
from contentspider.site.images import picture_key
from contentspider.site.learn.learner import SiteLearner
from contentspider.site.learn.options import LearningOptions
from contentspider.site.learn.sampling import CountingPages
from contentspider.site.models.record import page_fields
from contentspider.site.models.summary import main_slot
from contentspider.site.override_effects import override_effects
from contentspider.site.vote.blocks import TEMPLATE_SHARE, gather, group_mean
from contentspider.state.crawls.books import read_book
from contentspider.state.crawls.export import crawled_pages
from contentspider.state.crawls.field_report import field_reports
from contentspider.state.stores.models import ModelStore

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from contentspider.page.input.overrides import Overrides
    from contentspider.page.input.page import Page
    from contentspider.site.arrays import Bools
    from contentspider.site.models.model import SiteModel
    from contentspider.site.models.record import Extraction
    from contentspider.site.vote.blocks import SiteBlocks

MAX_CLUSTERS = 200
EXAMPLES = 4
EXAMPLE_CHARS = 160
# The report shows this many of the longest texts that were dropped from a page and are not on most
# pages.
LOST_BLOCKS = 12
PICTURES = 50
BINS = 10


class Reported(NamedTuple):
    """The *extractions* of the pages of a report, which may be a sample of *total* pages."""

    extractions: list[Extraction]
    total: int

    def __str__(self) -> str:
        pages = len(self.extractions)
        if pages == self.total:
            return counted(pages, "pages")
        return f"a sample of {pages:,} of {counted(self.total, 'pages')}"


def write_report(folder: Path, models: Path, output: Path) -> Reported:
    """Learn a site from its HTML files in *folder*, and write its report to *output*. Overrides are
    read from *models*.
    """
    site = folder.resolve().name
    overrides = ModelStore(models).overrides(site)
    learner = SiteLearner(site)
    counting = CountingPages(read_pages(folder, overrides=overrides))
    pages = learner.sample(counting)
    if not pages:
        raise ContentSpiderError(
            f"{folder} has no pages with text: name a folder of HTML files, or a crawl"
        )
    return _write(output, learner, learner.fit(pages), pages, counting.with_text, overrides)


def write_crawl_report(crawl: Path, models: Path, site: str, output: Path) -> Reported:
    """Write the report of a site of a crawl, from the pages in the crawl's book.

    *site* may be "" if the crawl has only one site. The report uses the site's model in *models*,
    or learns a model.
    """
    site_key, pages = crawled_pages(crawl, site)
    with closing(read_book(crawl)) as book:
        total = sum(record.get("site") == site_key for record in book.items.records())
    store = ModelStore(models)
    overrides, model = store.overrides(site_key), store.load(site_key)
    options = LearningOptions(model.labels, model.features) if model else LearningOptions()
    learner = SiteLearner(site_key, options)
    return _write(output, learner, model or learner.fit(pages), pages, total, overrides)


def _write(
    output: Path,
    learner: SiteLearner,
    model: SiteModel,
    pages: Sequence[Page],
    total: int,
    overrides: Overrides | None,
) -> Reported:
    pages = [page for page in pages if page.content.blocks]
    text = site_report(learner, model, pages, total, overrides)
    with replacing(output) as file:
        file.write(text.encode("utf-8", "replace"))  # pages may contain lone surrogates
    return Reported(list(map(model.extract, pages)), total)


def site_report(
    learner: SiteLearner,
    model: SiteModel,
    pages: Sequence[Page],
    total: int = 0,
    overrides: Overrides | None = None,
) -> str:
    """Return the report of a site as HTML.

    *pages* may be a sample of *total* pages, which *model* filters. *learner* computes the scores
    of clusters. The report lists the effects of *overrides*. Raises `NotEnoughTextError` if no page
    has text.
    """
    pages = [page for page in pages if page.content.blocks]
    if not pages:
        raise NotEnoughTextError("none of the pages has any text: there is nothing to report")
    extractions = [model.extract(page) for page in pages]
    clusters, more_clusters = _clusters(learner, model, extractions)
    rows = _pages(extractions)
    shares = [page["kept_chars"] / (page["kept_chars"] + page["dropped_chars"]) for page in rows]
    loader = PackageLoader("contentspider.web", "templates")
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined)
    environment.filters["counted"] = counted
    return environment.get_template("report.html").render(
        site=model.site,
        model=model,
        clusters=clusters,
        more_clusters=more_clusters,
        pages=sorted(rows, key=lambda page: (page["confidence"], page["url"])),
        types=dict(Counter(page["page_type"] for page in rows).most_common()),
        confidences=_histogram([page["confidence"] for page in rows]),
        kept_shares=_histogram(shares),
        total=max(total, len(pages)),
        doubtful=_doubtful_templates(learner, model, extractions),
        corrections=override_effects(overrides, pages) if overrides else [],
        fields=field_reports(model, map(_item_fields, extractions)),
    )


def _item_fields(extraction: Extraction) -> dict[str, object]:
    """Return the fields of an item that a site can teach."""
    page, names = extraction.page, (*FIELD_NAMES, "fields")
    return page_fields(page, extraction.site, extraction, extraction.model_version, wanted=names)


def _short(text: str) -> str:
    text = " ".join(text[: 4 * EXAMPLE_CHARS].split())
    return text if len(text) <= EXAMPLE_CHARS else text[: EXAMPLE_CHARS - 1] + "…"


def _histogram(values: Sequence[float]) -> list[int]:
    """Return the number of values in each of `BINS` equal bins from 0 to 1."""
    counts, _ = np.histogram(values, BINS, (0, 1))
    return [int(count) for count in counts]


def _clusters(
    learner: SiteLearner, model: SiteModel, extractions: list[Extraction]
) -> tuple[list[dict[str, Any]], int]:
    """Return the rows of the clusters with the highest scores, and the number of other clusters."""
    pages = [extraction.page for extraction in extractions]
    is_kept = np.concatenate([extraction.kept for extraction in extractions])
    site = gather(pages)
    label_probabilities = learner.label(pages, site).probabilities
    model_probabilities = np.concatenate([model.probabilities(page) for page in pages])
    weights = np.sqrt(site.chars)
    scores = np.bincount(site.clusters, label_probabilities * weights)
    shares = scores / max(float(scores.sum()), 1e-9)
    means = group_mean(site.clusters, model_probabilities, weights)
    texts = [block.text for page in pages for block in page.content.blocks]
    members: dict[int, list[int]] = {}
    for index, cluster in enumerate(site.clusters.tolist()):
        members.setdefault(cluster, []).append(index)
    best_clusters = sorted(members, key=lambda cluster: -scores[cluster])[:MAX_CLUSTERS]
    rows = []
    for cluster in best_clusters:
        row = _cluster_row(site, members[cluster], is_kept, texts)
        row["score"] = float(shares[cluster])
        row["probability"] = float(means[members[cluster][0]])
        rows.append(row)
    return rows, len(members) - len(rows)


def _cluster_row(
    site: SiteBlocks, indexes: Sequence[int], is_kept: Bools, texts: Sequence[str]
) -> dict[str, Any]:
    """Return the row of a cluster without its scores; *indexes* are the cluster's blocks."""
    slots = Counter(site.slots[index] for index in indexes).most_common(EXAMPLES)
    return {
        "slots": [slot for slot, _ in slots],
        "blocks": len(indexes),
        "pages": len(set(site.pages[indexes].tolist())),
        "kept": int(is_kept[indexes].sum()),
        "kept_examples": _examples(texts, [index for index in indexes if is_kept[index]]),
        "dropped_examples": _examples(texts, [index for index in indexes if not is_kept[index]]),
    }


def _examples(texts: Sequence[str], indexes: Sequence[int]) -> list[str]:
    """Return the first different texts at some indexes, shortened."""
    examples: list[str] = []
    for index in indexes:
        text = _short(texts[index])
        if text not in examples:
            examples.append(text)
        if len(examples) == EXAMPLES:
            break
    return examples


def _doubtful_templates(
    learner: SiteLearner, model: SiteModel, extractions: list[Extraction]
) -> list[dict[str, Any]]:
    """Return the doubtful templates, each with the differences on some of its pages."""
    templates = model.quality.doubtful if model.quality else []
    if not templates:
        return []
    by_slot: dict[str, list[Extraction]] = {template.slot: [] for template in templates}
    for extraction in extractions:
        slot, _ = main_slot(extraction.page, model.slot_of)
        if slot in by_slot:
            by_slot[slot].append(extraction)
    rows = []
    for template in templates:
        pages = by_slot[template.slot]
        examples = [_differences(learner, extraction) for extraction in pages[:EXAMPLES]]
        row = {"heading": str(template), "pages": examples, "more": len(pages) - len(examples)}
        rows.append(row)
    return rows


def _differences(learner: SiteLearner, extraction: Extraction) -> dict[str, Any]:
    """Return a page's longest texts that only the site model drops, and that only it keeps."""
    page = extraction.page
    prior_probabilities, _ = learner.judge.judge([page])
    differs = extraction.kept != (prior_probabilities > 0.5)
    texts: dict[bool, list[str]] = {True: [], False: []}
    for index in np.flatnonzero(differs).tolist():
        texts[bool(extraction.kept[index])].append(page.content.blocks[index].text)
    return {"url": page.url, "dropped": _longest(texts[False]), "kept": _longest(texts[True])}


def _longest(texts: list[str]) -> list[str]:
    """Return the longest texts, shortened."""
    return [_short(text) for text in sorted(texts, key=len, reverse=True)[:EXAMPLES]]


def _pages(extractions: list[Extraction]) -> list[dict[str, Any]]:
    """Return a row for each page: its first kept texts, and its dropped texts outside the template.

    A text belongs to the template if it is on most pages.
    """
    pages = [[block.text for block in extraction.page.content.blocks] for extraction in extractions]
    page_counts = Counter(text for texts in pages for text in set(texts))
    template_pages = max(2, TEMPLATE_SHARE * len(pages))
    rows = []
    for extraction, texts in zip(extractions, pages, strict=True):
        decisions = zip(texts, extraction.kept, strict=True)
        dropped = [text for text, is_kept in decisions if not is_kept]
        lost = [text for text in dropped if page_counts[text] < template_pages]
        longest = set(sorted(lost, key=len, reverse=True)[:LOST_BLOCKS])
        kept_chars = sum(len(block.text) for block in extraction.blocks)
        rows.append(
            {
                "url": extraction.page.url,
                "page_type": extraction.page_type,
                "confidence": extraction.confidence,
                "kept_chars": kept_chars,
                "dropped_chars": sum(map(len, texts)) - kept_chars,
                "kept": [_short(block.text) for block in extraction.blocks[:EXAMPLES]],
                "lost": [_short(text) for text in dict.fromkeys(lost) if text in longest],
                "template_blocks": len(dropped) - len(lost),
                "pictures": _pictures(extraction),
            }
        )
    return rows


def _pictures(extraction: Extraction) -> list[tuple[str, str]]:
    """Return a page's pictures with "kept" or "dropped", without pictures of the template."""
    page = extraction.page
    decisions: dict[str, str] = {}
    kept_urls = {image["url"] for image in extraction.images}
    resolve = Resolver(page.base).resolve
    for block in page.content.blocks:
        for image in block.images:
            url = resolve(image[1])
            is_template = picture_key(image[1]) in extraction.pictures
            if url and not is_template and len(decisions) < PICTURES:
                decisions[url] = "kept" if url in kept_urls else "dropped"
    return list(decisions.items())
