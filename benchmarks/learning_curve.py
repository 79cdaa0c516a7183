"""How many pages of a site it takes: F1 on pages that the model has not seen, by the pages it learned from.

    python benchmarks/learning_curve.py CORPORA SCORE_PY [-o docs/learning-curve.svg]

CORPORA is the folder of unpacked corpora, SCORE_PY the metric's script. Priors are cross-fitted: no site is
judged by one that has seen it. Prints a Markdown table and draws the curve with matplotlib.
"""

from __future__ import annotations

import argparse
import importlib.util
from pathlib import Path
from statistics import mean

import matplotlib as mpl

from contentspider.evaluation.corpora import find_corpora
from contentspider.evaluation.predict import predict_site
from contentspider.evaluation.training import cross_fit

mpl.use("svg")
import matplotlib.pyplot as plt

SIZES: list[tuple[str, dict[str, object]]] = [
    ("1 (alone)", {"alone": True}),
    *((str(size), {"held_out": size}) for size in (5, 10, 20, 50, 100)),
    ("half", {"held_out": 0}),
    ("all (seen)", {}),
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("corpora", type=Path)
    parser.add_argument("score", type=Path)
    parser.add_argument("-o", "--output", type=Path, default=Path("docs/learning-curve.svg"))
    options = parser.parse_args()
    spec = importlib.util.spec_from_file_location("score", options.score)
    assert spec
    assert spec.loader
    score = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(score)
    corpora = find_corpora(options.corpora)
    priors = cross_fit(corpora, 7)
    curves: dict[str, list[float]] = {"sites": [], "news": []}
    print("| pages learned from | sites F1 | news F1 |\n|---|---|---|")
    for name, how in SIZES:
        results: dict[str, list[float]] = {"sites": [], "news": []}
        for corpus in corpora:
            gold = {page.path: page for page in corpus.gold()}
            f1 = []
            for row in predict_site(corpus, "votes", priors[corpus.name], **how):  # type: ignore[arg-type]
                page = gold[row["path"].lstrip("/")]
                f1.append(score.page_score(row["text"], page.text, page.optional)[2])
            results[str(corpus.about.get("suite", "sites"))].append(mean(f1))
        for suite, curve in curves.items():
            curve.append(mean(results[suite]))
        print(f"| {name} | {curves['sites'][-1]:.4f} | {curves['news'][-1]:.4f} |", flush=True)
    figure, axes = plt.subplots(figsize=(7, 4))
    for suite, curve in curves.items():
        axes.plot([name for name, _ in SIZES], curve, marker="o", label=suite)
    axes.set_xlabel("pages learned from")
    axes.set_ylabel("token F1 on pages not seen")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.tight_layout()
    figure.savefig(options.output, metadata={"Date": None})


if __name__ == "__main__":
    main()
