"""The report of a site as one HTML page without scripts and external files: its clusters with
scores and examples, and its pages with kept and dropped text. Page texts are escaped.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined

from contentspider.ground.atomic import replacing
from contentspider.ground.errors import ContentSpiderError, NotEnoughTextError
from contentspider.page.input.files import html_files, read_pages
from contentspider.page.tree.resolver import Resolver
from contentspider.site.corrections import effects
from contentspider.site.images import picture_key
from contentspider.site.learn.learner import SiteLearner
from contentspider.site.learn.options import LearningOptions
from contentspider.site.models.summary import main_slot
from contentspider.site.vote.blocks import TEMPLATE_SHARE, gather, group_mean
from contentspider.state.crawls.export import crawled_pages, open_kept
from contentspider.state.stores.models import ModelStore

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from contentspider.page.input.overrides import Overrides
    from contentspider.page.input.page import Page
    from contentspider.site.models.model import SiteModel
    from contentspider.site.models.record import Extraction

MAX_CLUSTERS = 200
EXAMPLES = 4
EXAMPLE_CHARS = 160
# The longest dropped texts of a page that are not on most pages.
LOST_BLOCKS = 12
PICTURES = 50
BINS = 10


def write_report(folder: Path, models: Path, output: Path) -> list[Extraction]:
    """Learn a site from its HTML files in *folder*, with people's corrections in *models*; write
    its report to *output*, and return its pages as they are filtered, a sample if there are many.
    """
    site, files = folder.resolve().name, list(html_files(folder))
    overrides = ModelStore(models).overrides(site)
    learner = SiteLearner(site)
    pages = learner.sample(read_pages(folder, files, overrides=overrides))
    if not pages:
        raise ContentSpiderError(
            f"{folder} has no pages with text: give a folder of HTML files, or a crawl"
        )
    return _write(output, learner, learner.fit(pages), pages, len(files), overrides)


def write_crawl_report(crawl: Path, models: Path, site: str, output: Path) -> list[Extraction]:
    """Write the report of a crawl's *site* ("": its only one) from the pages in its ledger, by the
    model in *models*, or one that is learned; return its pages as `write_report` does.
    """
    chosen, pages = crawled_pages(crawl, site)
    with open_kept(crawl) as (_, _, records):
        total = sum(record.get("site") == chosen for record in records())
    store = ModelStore(models)
    overrides, model = store.overrides(chosen), store.load(chosen)
    options = LearningOptions(model.labels, model.features) if model else LearningOptions()
    learner = SiteLearner(chosen, options)
    return _write(output, learner, model or learner.fit(pages), pages, total, overrides)


def _write(
    output: Path,
    learner: SiteLearner,
    model: SiteModel,
    pages: Sequence[Page],
    total: int,
    overrides: Overrides | None,
) -> list[Extraction]:
    pages = [page for page in pages if page.content.blocks]
    text = site_report(learner, model, pages, total, overrides)
    with replacing(output) as file:
        file.write(text.encode("utf-8", "replace"))  # lone surrogates
    return list(map(model.extract, pages))


def site_report(
    learner: SiteLearner,
    model: SiteModel,
    pages: Sequence[Page],
    total: int = 0,
    overrides: Overrides | None = None,
) -> str:
    """Return the report of a site's *pages*, perhaps a sample of *total*, as *model* filters them,
    with the clusters' scores by *learner* and the effects of *overrides*. Raises
    `NotEnoughTextError`.
    """
    pages = [page for page in pages if page.content.blocks]
    if not pages:
        raise NotEnoughTextError("none of the pages has any text: there is nothing to report")
    extractions = [model.extract(page) for page in pages]
    clusters, more_clusters = _clusters(learner, model, extractions)
    shown = _pages(extractions)
    shares = [page["kept_chars"] / (page["kept_chars"] + page["dropped_chars"]) for page in shown]
    loader = PackageLoader("contentspider.web", "templates")
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined)
    return environment.get_template("report.html").render(
        site=model.site,
        model=model,
        clusters=clusters,
        more_clusters=more_clusters,
        pages=sorted(shown, key=lambda page: (page["confidence"], page["url"])),
        types=dict(Counter(page["page_type"] for page in shown).most_common()),
        confidences=_histogram([page["confidence"] for page in shown]),
        kept_shares=_histogram(shares),
        total=max(total, len(pages)),
        doubtful=_doubtful(learner, model, extractions),
        corrections=effects(overrides, pages) if overrides else [],
    )


def _short(text: str) -> str:
    text = " ".join(text[: 4 * EXAMPLE_CHARS].split())
    return text if len(text) <= EXAMPLE_CHARS else text[: EXAMPLE_CHARS - 1] + "…"


def _histogram(values: Sequence[float]) -> list[int]:
    """Return how many of the values, 0 to 1, are in each of `BINS` bins."""
    counts, _ = np.histogram(values, BINS, (0, 1))
    return [int(count) for count in counts]


def _clusters(
    learner: SiteLearner, model: SiteModel, extractions: list[Extraction]
) -> tuple[list[dict[str, Any]], int]:
    """Return the clusters with the highest shares of the global score, and how many are left."""
    pages = [extraction.page for extraction in extractions]
    kept = np.concatenate([extraction.kept for extraction in extractions])
    site = gather([page.content for page in pages], [page.hints for page in pages])
    probabilities = learner.label(pages, site).probabilities
    decided = np.concatenate([model.probabilities(page) for page in pages])
    weights = np.sqrt(site.chars)
    scores = np.bincount(site.clusters, probabilities * weights)
    shares = scores / max(float(scores.sum()), 1e-9)
    means = group_mean(site.clusters, decided, weights)
    texts = [block.text for page in pages for block in page.content.blocks]
    members: dict[int, list[int]] = {}
    for index, cluster in enumerate(site.clusters.tolist()):
        members.setdefault(cluster, []).append(index)
    found = []
    for cluster in sorted(members, key=lambda cluster: -scores[cluster])[:MAX_CLUSTERS]:
        indexes = members[cluster]
        slots = Counter(site.slots[index] for index in indexes).most_common(EXAMPLES)
        examples: dict[bool, list[str]] = {True: [], False: []}
        for index in indexes:
            shown = examples[bool(kept[index])]
            if len(shown) < EXAMPLES and (text := _short(texts[index])) not in shown:
                shown.append(text)
        found.append(
            {
                "slots": [slot for slot, _ in slots],
                "score": float(shares[cluster]),
                "probability": float(means[indexes[0]]),  # the classifier's, in the mean
                "blocks": len(indexes),
                "pages": len(set(site.pages[indexes].tolist())),
                "kept": int(kept[indexes].sum()),
                "kept_examples": examples[True],
                "dropped_examples": examples[False],
            }
        )
    return found, len(members) - len(found)


def _doubtful(
    learner: SiteLearner, model: SiteModel, extractions: list[Extraction]
) -> list[dict[str, Any]]:
    """Return the doubtful templates, each with pages of it on which the site keeps other text than
    each page alone would.
    """
    templates = model.quality.doubtful if model.quality else []
    by_slot: dict[str, list[Extraction]] = {template.slot: [] for template in templates}
    for extraction in extractions if templates else ():
        slot, _ = main_slot(extraction.page, model.slot_of)
        if slot in by_slot:
            by_slot[slot].append(extraction)
    found = []
    for template in templates:
        pages = by_slot[template.slot]
        shown = [_differences(learner, extraction) for extraction in pages[:EXAMPLES]]
        found.append({"said": str(template), "pages": shown, "more": len(pages) - len(shown)})
    return found


def _differences(learner: SiteLearner, extraction: Extraction) -> dict[str, Any]:
    """Return the longest texts that only the site drops of a page, and that only it keeps."""
    page = extraction.page
    judged, _ = learner.judge.judge([page])
    differs = extraction.kept != (judged > 0.5)
    texts: dict[bool, list[str]] = {True: [], False: []}
    for index in np.flatnonzero(differs).tolist():
        texts[bool(extraction.kept[index])].append(page.content.blocks[index].text)
    dropped, kept = (sorted(texts[one], key=len, reverse=True)[:EXAMPLES] for one in (False, True))
    return {
        "url": page.url,
        "dropped": [_short(text) for text in dropped],
        "kept": [_short(text) for text in kept],
    }


def _pages(extractions: list[Extraction]) -> list[dict[str, Any]]:
    """Return of each page how its kept text begins, and dropped texts not of the template."""
    pages = [[block.text for block in extraction.page.content.blocks] for extraction in extractions]
    times = Counter(text for texts in pages for text in set(texts))
    template = max(2, TEMPLATE_SHARE * len(pages))
    found = []
    for extraction, texts in zip(extractions, pages, strict=True):
        dropped = [text for text, keeps in zip(texts, extraction.kept, strict=True) if not keeps]
        own = [text for text in dropped if times[text] < template]
        longest = set(sorted(own, key=len, reverse=True)[:LOST_BLOCKS])
        kept_chars = sum(len(block.text) for block in extraction.blocks)
        found.append(
            {
                "url": extraction.page.url,
                "page_type": extraction.page_type,
                "confidence": extraction.confidence,
                "kept_chars": kept_chars,
                "dropped_chars": sum(map(len, texts)) - kept_chars,
                "kept": [_short(block.text) for block in extraction.blocks[:EXAMPLES]],
                "lost": [_short(text) for text in dict.fromkeys(own) if text in longest],
                "template_blocks": len(dropped) - len(own),
                "pictures": _pictures(extraction),
            }
        )
    return found


def _pictures(extraction: Extraction) -> list[tuple[str, str]]:
    """Return a page's pictures, each with "kept" or "dropped"; those of the template are none."""
    page = extraction.page
    shown: dict[str, str] = {}
    kept = {image["url"] for image in extraction.images}
    resolve = Resolver(page.base).resolve
    for block in page.content.blocks:
        for image in block.images:
            url = resolve(image[1])
            if url and picture_key(image[1]) not in extraction.pictures and len(shown) < PICTURES:
                shown[url] = "kept" if url in kept else "dropped"
    return list(shown.items())
