"""The learning curve as published: of rendered sites, by the edit distance to their gold."""

from __future__ import annotations

from math import isnan, nan
from statistics import mean
from typing import TYPE_CHECKING

from contentspider.ground.errors import ContentSpiderError
from contentspider_research.experiments.charts import line_chart
from contentspider_research.experiments.experiments import ExperimentSite, text_of
from contentspider_research.metric import edit_score

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from contentspider_research.rendered_sites import RenderedSite


def edit_scores(site: RenderedSite, labels: str, count: int) -> list[float | None]:
    """Return `edit_score` of the blocks that are labelled content on each of the first *count*
    pages of a site, if nothing but these is known of it; None: no block of the page is.
    """
    gold = [page for page in site.gold if page is not None][:count]
    pages = [page for page, has in zip(site.pages, site.gold, strict=True) if has][:count]
    known = ExperimentSite(site.name, site.file, "rendered", pages, [*gold], [], None)
    return [
        edit_score(text_of(page, kept), wanted.text) if kept.any() else None
        for page, kept, wanted in zip(pages, known.own_labels(labels), gold, strict=True)
    ]


def edit_curve(sites: Sequence[RenderedSite], chart: Path, labels: str) -> list[str]:
    """Return the lines of a table of 2, 3, ... pages of each site that has gold, and write its
    chart: the mean over these pages, and over those of them that are not left empty.
    """
    curves: dict[str, list[float]] = {}
    for site in sites:
        count = sum(page is not None for page in site.gold)
        for known in range(2, count + 1):
            found = edit_scores(site, labels, known)
            filled = [score for score in found if score is not None]
            every = curves.setdefault(site.name, [])
            every.append(mean(score or 0.0 for score in found))
            some = curves.setdefault(f"{site.name}, pages not left empty", [])
            some.append(mean(filled) if filled else nan)
    if not curves:
        raise ContentSpiderError(
            "the rendered pages have no gold text: it is SITE.gold.jsonl beside SITE.jsonl.gz"
        )
    longest = max(map(len, curves.values()))
    rows = [[*curve, *[nan] * (longest - len(curve))] for curve in curves.values()]
    sizes = [str(number) for number in range(2, longest + 2)]
    line_chart(
        chart, sizes, dict(zip(curves, rows, strict=True)), "pages known", "truth by edit distance"
    )
    means = [mean([value for value in row if not isnan(value)] or [nan]) for row in rows]
    lines = [
        f"| pages | {' | '.join(f'{name}: truth by edit distance' for name in curves)} |",
        "|---|" + "---|" * len(curves),
    ]
    for size, values in [*zip(sizes, zip(*rows, strict=True), strict=True), ("mean", means)]:
        cells = ("-" if isnan(value) else f"{value:.4f}" for value in values)
        lines.append(f"| {size} | {' | '.join(cells)} |")
    return lines
