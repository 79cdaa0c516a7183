"""What ``contentspider-research experiment`` writes: a table in Markdown and a chart in SVG."""

from __future__ import annotations

from statistics import mean
from typing import TYPE_CHECKING

import numpy as np

from contentspider.evaluation.corpora import find_corpora
from contentspider.evaluation.predict import predict_site
from contentspider.ground.errors import ContentSpiderError
from contentspider.site.judge.featuresets import SLOTS, needs_attributes
from contentspider.site.learn.options import LearningOptions
from contentspider.site.scores import text_score
from contentspider.site.vote.labels import LABELS
from contentspider_research import EQUAL
from contentspider_research.baselines.comparison import compare_methods
from contentspider_research.experiments.cart import cart_tables
from contentspider_research.experiments.charts import bar_chart, confusion_chart, line_chart
from contentspider_research.experiments.experiments import (
    APPROACHES,
    UNITS,
    load_sites,
    measure,
    per_site,
    read_sites,
)
from contentspider_research.experiments.hybrid import hybrid_tables
from contentspider_research.experiments.judging import general_judges, site_judges, with_gold
from contentspider_research.experiments.rendered_curve import edit_curve
from contentspider_research.features.sets import ALL_SETS, FEATURE_SETS
from contentspider_research.metric import measures
from contentspider_research.rendered_sites import find_rendered
from contentspider_research.training import cross_fit

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from contentspider_research.experiments.experiments import ExperimentSite, Result

HEAD = (
    "agreement by block: P | R | F1 | agreement by word"
    " | truth by block | truth by word | truth by edit distance"
)
RULE = "---|---|---|---|---|---|---"
# What learns from gold leaves the judged site's owner out, in as many folds as the publication.
OWNER_FOLDS = 7
# What has the published classifier, too.
WEIGHTED = ("table1", "features", "labels", "confusion")
SIZES: list[tuple[str, dict[str, int | bool]]] = [
    ("1 (alone)", {"alone": True}),
    *((str(size), {"held_out": size}) for size in (5, 10, 20, 50, 100)),
    ("half", {"held_out": 0}),
    ("all (seen)", {}),
]


def _cell(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def _cells(results: Sequence[Result]) -> str:
    """Return the cells of a table's row: the means over sites; truth over those that have gold."""
    agreement = [mean(result.agreement[column] for result in results) for column in range(3)]
    gold = [result.gold for result in results if result.gold is not None]
    words = [result.gold_by_word for result in results if result.gold_by_word is not None]
    edits = [result.gold_by_edit for result in results if result.gold_by_edit is not None]
    values = [
        *agreement,
        mean(result.agreement_by_word for result in results),
        mean(gold) if gold else None,
        mean(words) if words else None,
        mean(edits) if edits else None,
    ]
    return " | ".join(map(_cell, values))


def _suites(results: Sequence[Result]) -> list[tuple[str, list[Result]]]:
    suites: dict[str, list[Result]] = {}
    for result in results:
        suites.setdefault(result.suite, []).append(result)
    return sorted(suites.items(), reverse=True)


def _chart(path: Path, rows: Sequence[tuple[str, Sequence[Result]]]) -> None:
    gold = [
        [result.gold_by_word for result in results if result.gold_by_word is not None]
        for _, results in rows
    ]
    series: dict[str, Sequence[float | None]] = {
        "agreement with own labels, by word": [
            mean(result.agreement_by_word for result in results) for _, results in rows
        ]
    }
    if any(gold):
        series["truth against gold, by word"] = [
            mean(values) if values else None for values in gold
        ]
    bar_chart(path, [name for name, _ in rows], series, "F1")


def _table_of_sites(results: Sequence[Result]) -> list[str]:
    lines = [f"| site | pages | blocks | {HEAD} |", f"|---|---|---|{RULE}|"]
    lines += [
        f"| {result.name} | {result.pages} | {result.blocks} | {_cells([result])} |"
        for result in results
    ]
    lines += [
        f"| **{suite}, mean of {len(members)}** | | | {_cells(members)} |"
        for suite, members in _suites(results)
    ]
    return lines


def _table_of_means(
    kind: str, rows: Iterable[tuple[str, list[Result]]]
) -> tuple[list[str], list[tuple[str, list[Result]]]]:
    lines = [f"| {kind} | suite | {HEAD} |", f"|---|---|{RULE}|"]
    charted = []
    for name, results in rows:
        for suite, members in _suites(results):
            lines.append(f"| {name} | {suite} | {_cells(members)} |")
            charted.append((f"{name} ({suite})", members))
    return lines, charted


def _table_of_means_and_sites(
    kind: str, rows: Sequence[tuple[str, list[Result]]]
) -> tuple[list[str], list[tuple[str, list[Result]]]]:
    lines, charted = _table_of_means(kind, rows)
    lines += ["", f"| {kind} | site | {HEAD} |", f"|---|---|{RULE}|"]
    lines += [
        f"| {name} | {result.name} | {_cells([result])} |"
        for name, results in rows
        for result in results
    ]
    return lines, charted


def _features(
    sites: Sequence[ExperimentSite], folds: int, weights: str
) -> tuple[list[str], list[tuple[str, list[Result]]]]:
    pages = [page.content for site in sites for page in site.pages]
    sets = [[name] for name in FEATURE_SETS] + [[SLOTS], list(ALL_SETS)]
    # What the pages do not have is no experiment: rendered pages have no attributes, others no
    # computed CSS.
    if not any(page.visuals for page in pages):
        sets = [names for names in sets if names not in (["visual"], ["css"])]
    if not any(page.attributes for page in pages):
        sets = [names for names in sets if len(names) > 1 or not needs_attributes(names)]
    names = [features[0] if len(features) == 1 else "all" for features in sets]
    rows = [
        (name, per_site(sites, features, folds, weights))
        for name, features in zip(names, sets, strict=True)
    ]
    return _table_of_means_and_sites("feature set", rows)


def _labels(
    sites: Sequence[ExperimentSite], features: Sequence[str], folds: int, weights: str
) -> tuple[list[str], list[tuple[str, list[Result]]]]:
    def rows() -> Iterable[tuple[str, list[Result]]]:
        for method in LABELS.names():
            for site in sites:
                site.labels = site.own_labels(method)
            yield f"{method}: the labels themselves", [measure(site, site.labels) for site in sites]
            yield f"{method}: a classifier of them", per_site(sites, features, folds, weights)

    return _table_of_means_and_sites("labels", list(rows()))


def _confusion(results: Sequence[Result], chart: Path) -> list[str]:
    """Return the table of the matrices summed over all pages, by blocks, words and characters, and
    what comes of the sums; draw those of blocks.
    """
    cells = ("noise, dropped", "noise, kept", "content, dropped", "content, kept")
    lines = [
        f"| what is counted | {' | '.join(cells)} | P | R | F1 | accuracy |",
        f"|{'---|' * 9}",
    ]
    drawn = {}
    for suite, members in _suites(results):
        gold = [result.gold_matrices for result in members if result.gold_matrices is not None]
        for name, found in (
            ("agreement with own labels", [result.matrices for result in members]),
            ("truth against gold", gold),
        ):
            for unit in UNITS if found else ():
                total = np.sum([matrices[unit] for matrices in found], axis=0)
                counts = " | ".join(f"{value:,}" for value in total.ravel())
                values = " | ".join(map(_cell, measures(total)))
                lines.append(f"| {suite}: {name}, {unit} | {counts} | {values} |")
                if unit == "blocks":
                    drawn[f"{suite}: {name}"] = total.tolist()
    confusion_chart(chart, drawn)
    return lines


def _learning_curve(source: Path, chart: Path, labels: str, features: Sequence[str]) -> list[str]:
    if rendered := find_rendered(source):
        return edit_curve(rendered, chart, labels)
    corpora = find_corpora(source)
    priors = cross_fit(corpora) if labels == "votes" and len(corpora) > 1 else {}
    curves: dict[str, list[float]] = {}
    for _, how in SIZES:
        scores: dict[str, list[float]] = {}
        for corpus in corpora:
            gold = {page.path: page for page in corpus.gold()}
            f1 = []
            rows = predict_site(
                corpus,
                LearningOptions(labels, features),
                priors.get(corpus.name),
                **how,  # type: ignore[arg-type]
            )
            for row in rows:
                page = gold[row["path"].lstrip("/")]
                f1.append(text_score(row["text"], page.text, page.optional).f1)
            scores.setdefault(corpus.suite, []).append(mean(f1))
        for suite, values in scores.items():
            curves.setdefault(suite, []).append(mean(values))
    line_chart(
        chart,
        [name for name, _ in SIZES],
        curves,
        "pages learned from",
        "token F1 on pages not seen",
    )
    lines = [
        f"| pages learned from | {' | '.join(f'{suite}: truth by word' for suite in curves)} |",
        "|---|" + "---|" * len(curves),
    ]
    return lines + [
        f"| {name} | {' | '.join(f'{curve[index]:.4f}' for curve in curves.values())} |"
        for index, (name, _) in enumerate(SIZES)
    ]


def _classifiers(
    sites: Sequence[ExperimentSite], folds: int, chart: Path
) -> tuple[list[str], list[tuple[str, list[Result]]]]:
    """Return the tables of other classifiers, and what is to be charted of them; draw beside it the
    scores by the pages' words.
    """
    gold = with_gold(sites)
    own, charted = _table_of_means("a site's classifier", site_judges(sites, folds))
    general, _ = _table_of_means("general judge", general_judges(gold, OWNER_FOLDS))
    words = hybrid_tables(gold, OWNER_FOLDS, chart.with_stem(f"{chart.stem}-words"))
    return [*own, "", *general, "", *words], charted


def _tables_of_sites(
    name: str,
    sites: Sequence[ExperimentSite],
    features: Sequence[str],
    folds: int,
    weights: str,
    chart: Path,
) -> list[str]:
    """Return the tables of an experiment on labelled sites, and draw its *chart*."""
    if name == "confusion":
        return _confusion(per_site(sites, features, folds, weights), chart)
    if name == "table1" or name in APPROACHES:
        results = (
            APPROACHES[name](sites, features, folds)
            if name in APPROACHES
            else per_site(sites, features, folds, weights)
        )
        _chart(chart, [(result.name, [result]) for result in results])
        return _table_of_sites(results)
    if name == "features":
        lines, charted = _features(sites, folds, weights)
    elif name == "classifiers":
        lines, charted = _classifiers(sites, folds, chart)
    else:
        lines, charted = _labels(sites, features, folds, weights)
    _chart(chart, charted)
    return lines


def run_experiment(
    name: str,
    source: Path,
    folder: Path,
    labels: str,
    features: Sequence[str],
    pages: int,
    folds: int,
    weights: str,
) -> Path:
    """Run an experiment of `EXPERIMENTS`, write ``NAME.md`` and ``NAME.svg`` into *folder*, and
    return the table's path.
    """
    folder.mkdir(parents=True, exist_ok=True)
    chart = folder / f"{name}.svg"
    if name == "baselines":
        lines = compare_methods(source, chart, pages)
    elif name == "learning-curve":
        lines = _learning_curve(source, chart, labels, features)
    elif name == "cart":
        lines = cart_tables(read_sites(source, pages), folds, chart)
    else:
        if weights == EQUAL and name not in WEIGHTED:
            raise ContentSpiderError(
                f"experiment {name} has no --weights {EQUAL}: that is for {', '.join(WEIGHTED)}"
            )
        sites = load_sites(source, labels, pages)
        lines = _tables_of_sites(name, sites, features, folds, weights, chart)
    table = folder / f"{name}.md"
    table.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return table
