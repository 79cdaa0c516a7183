"""The contents of a report: a site's clusters with scores and examples, and its pages with kept and
dropped text.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from contentspider.ground.errors import NotEnoughTextError
from contentspider.report.corrections import effects
from contentspider.site.vote.blocks import TEMPLATE_SHARE, gather, group_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from contentspider.page.input.overrides import Overrides
    from contentspider.page.input.page import Page
    from contentspider.report.corrections import CorrectionEffect
    from contentspider.site.learn.learner import SiteLearner
    from contentspider.site.models.model import SiteModel
    from contentspider.site.models.record import Extraction

MAX_CLUSTERS = 200
EXAMPLES = 4
EXAMPLE_CHARS = 160
# The longest dropped texts of a page that are not on most pages.
LOST_BLOCKS = 12
BINS = 10


@dataclass(frozen=True, slots=True)
class ClusterReport:
    """A cluster of slots: its share in the global score of Algorithm 1, the classifier's mean
    probability, and examples.
    """

    slots: list[str]
    score: float
    probability: float
    blocks: int
    pages: int
    kept: int
    kept_examples: list[str]
    dropped_examples: list[str]


@dataclass(frozen=True, slots=True)
class PageReport:
    """A page, the beginning of its kept text, and dropped texts that are not the template's."""

    url: str
    page_type: str
    confidence: float
    kept_chars: int
    dropped_chars: int
    kept: list[str]
    lost: list[str]
    template_blocks: int


@dataclass(frozen=True, slots=True)
class SiteReport:
    """All that a report shows; *clusters* by score, *pages* from the least sure; histograms have
    `BINS` bins of 0 to 1. *total* is the number of the site's pages, of which *pages* may be a
    sample; *more_clusters* that of clusters that are not shown.
    """

    site: str
    model: SiteModel
    clusters: list[ClusterReport]
    pages: list[PageReport]
    types: dict[str, int]
    confidences: list[int]
    kept_shares: list[int]
    total: int
    more_clusters: int
    corrections: list[CorrectionEffect]


def summarise(
    learner: SiteLearner,
    model: SiteModel,
    pages: Sequence[Page],
    total: int = 0,
    overrides: Overrides | None = None,
) -> SiteReport:
    """Return the report of a site's *pages* as *model* filters them; *learner* gives the clusters'
    scores. They may be a sample of *total* pages. The effects of *overrides* are listed.

    Raises `NotEnoughTextError` if no page has any text.
    """
    pages = [page for page in pages if page.content.blocks]
    if not pages:
        raise NotEnoughTextError("none of the pages has any text: there is nothing to report")
    extractions = [model.extract(page) for page in pages]
    clusters, more_clusters = _clusters(learner, model, extractions)
    reports = _pages(extractions)
    return SiteReport(
        site=model.site,
        model=model,
        clusters=clusters,
        pages=sorted(reports, key=lambda page: (page.confidence, page.url)),
        types=dict(Counter(page.page_type for page in reports).most_common()),
        confidences=_histogram([page.confidence for page in reports]),
        kept_shares=_histogram(
            [page.kept_chars / (page.kept_chars + page.dropped_chars) for page in reports]
        ),
        total=max(total, len(pages)),
        more_clusters=more_clusters,
        corrections=effects(overrides, pages) if overrides else [],
    )


def _short(text: str) -> str:
    text = " ".join(text[: 4 * EXAMPLE_CHARS].split())
    return text if len(text) <= EXAMPLE_CHARS else text[: EXAMPLE_CHARS - 1] + "…"


def _histogram(values: Sequence[float]) -> list[int]:
    counts, _ = np.histogram(values, BINS, (0, 1))
    return [int(count) for count in counts]


def _clusters(
    learner: SiteLearner, model: SiteModel, extractions: list[Extraction]
) -> tuple[list[ClusterReport], int]:
    """Return the clusters of the highest scores, and how many there are besides."""
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
            ClusterReport(
                slots=[slot for slot, _ in slots],
                score=float(shares[cluster]),
                probability=float(means[indexes[0]]),
                blocks=len(indexes),
                pages=len(set(site.pages[indexes].tolist())),
                kept=int(kept[indexes].sum()),
                kept_examples=examples[True],
                dropped_examples=examples[False],
            )
        )
    return found, len(members) - len(found)


def _pages(extractions: list[Extraction]) -> list[PageReport]:
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
            PageReport(
                url=extraction.page.url,
                page_type=extraction.page_type,
                confidence=extraction.confidence,
                kept_chars=kept_chars,
                dropped_chars=sum(map(len, texts)) - kept_chars,
                kept=[_short(block.text) for block in extraction.blocks[:EXAMPLES]],
                lost=[_short(text) for text in dict.fromkeys(own) if text in longest],
                template_blocks=len(dropped) - len(own),
            )
        )
    return found
