"""Charts of experiments as SVG files."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


def _pyplot() -> Any:
    # Imported here: loading it takes long, and most commands draw nothing.
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams.update({"svg.hashsalt": "contentspider", "svg.fonttype": "none", "font.size": 9})
    from matplotlib import pyplot

    return pyplot


def _save(pyplot: Any, figure: Any, path: Path) -> None:
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})  # the same figures give the same file
    pyplot.close(figure)


def bar_chart(
    path: Path, names: Sequence[str], series: Mapping[str, Sequence[float | None]], label: str
) -> None:
    """Write a chart with a row of bars for each name, one for each series; None leaves a gap."""
    pyplot = _pyplot()
    figure, axes = pyplot.subplots(figsize=(8, 1 + 0.16 * len(names) * (len(series) + 1)))
    height = 0.8 / len(series)
    for number, (title, values) in enumerate(series.items()):
        axes.barh(
            [index + number * height for index in range(len(names))],
            [value or 0 for value in values],
            height,
            label=title,
        )
    axes.set_yticks([index + 0.4 - height / 2 for index in range(len(names))], names)
    axes.invert_yaxis()
    axes.set_xlim(0, 1)
    axes.set_xlabel(label)
    axes.grid(axis="x", alpha=0.3)
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=4, frameon=False)
    _save(pyplot, figure, path)


def line_chart(
    path: Path,
    names: Sequence[str],
    series: Mapping[str, Sequence[float]],
    x_label: str,
    y_label: str,
) -> None:
    """Write a chart with a line for each series over *names*."""
    pyplot = _pyplot()
    figure, axes = pyplot.subplots(figsize=(7, 4))
    for title, values in series.items():
        axes.plot(range(len(names)), values, marker="o", label=title)
    axes.set_xticks(range(len(names)), names)
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    axes.grid(alpha=0.3)
    axes.legend()
    _save(pyplot, figure, path)


def scatter_chart(
    path: Path,
    series: Mapping[str, Sequence[tuple[float, float]]],
    x_label: str,
    y_label: str,
) -> None:
    """Write a chart with a mark for each point of each series, and the line where both figures of a
    point are equal.
    """
    pyplot = _pyplot()
    figure, axes = pyplot.subplots(figsize=(6, 6))
    for marker, (title, points) in zip(cycle("os^Dv"), series.items(), strict=False):
        columns = zip(*points, strict=True)
        axes.scatter(*columns, s=18, marker=marker, alpha=0.7, label=title)
    lowest = min(value for points in series.values() for point in points for value in point)
    ends = [max(0, lowest - 0.02), 1]
    axes.plot(ends, ends, color="grey", linewidth=0.8)
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    axes.grid(alpha=0.3)
    axes.legend()
    _save(pyplot, figure, path)


def confusion_chart(path: Path, matrices: Mapping[str, Sequence[Sequence[int]]]) -> None:
    """Write a row of confusion matrices ``[[true noise, wrong content], [missed content, true
    content]]``.
    """
    pyplot = _pyplot()
    figure, rows = pyplot.subplots(
        1, len(matrices), figsize=(3.2 * len(matrices), 3.2), squeeze=False
    )
    for axes, (title, matrix) in zip(rows[0], matrices.items(), strict=True):
        total = max(sum(map(sum, matrix)), 1)
        axes.imshow(
            [[value / total for value in row] for row in matrix], cmap="Blues", vmin=0, vmax=1
        )
        for row in range(2):
            for column in range(2):
                share = matrix[row][column] / total
                axes.text(
                    column,
                    row,
                    f"{matrix[row][column]:,}\n{share:.2%}",
                    ha="center",
                    va="center",
                    color="white" if share > 0.5 else "black",
                )
        axes.set_xticks([0, 1], ["dropped", "kept"])
        axes.set_yticks([0, 1], ["noise", "content"])
        axes.set_title(title, fontsize=8)
    _save(pyplot, figure, path)


def tree_chart(path: Path, tree: Any, names: Sequence[str], title: str) -> None:
    """Write a chart of scikit-learn's *tree* over numbers of these *names*."""
    pyplot = _pyplot()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from sklearn.tree import plot_tree

    figure, axes = pyplot.subplots(
        figsize=(3 + 1.6 * tree.get_n_leaves(), 2 + 1.2 * tree.get_depth())
    )
    FigureCanvasAgg(figure)  # the nodes are placed by their size, which SVG does not tell
    kinds = [("noise", "content")[int(label)] for label in tree.classes_]
    plot_tree(tree, feature_names=list(names), class_names=kinds, filled=True, fontsize=7, ax=axes)
    axes.set_title(title, fontsize=9)
    _save(pyplot, figure, path)


def split_chart(path: Path, counts: Mapping[str, Sequence[int]]) -> None:
    """Write a chart with a bar for each part of a split: how many elements of it are noise, and how
    many content.
    """
    pyplot = _pyplot()
    figure, axes = pyplot.subplots(figsize=(7, 1 + 0.5 * len(counts)))
    noise, content = zip(*counts.values(), strict=True)
    axes.barh(list(counts), noise, label="noise")
    axes.barh(list(counts), content, left=noise, label="content")
    axes.invert_yaxis()
    axes.set_xlabel("elements")
    axes.legend()
    _save(pyplot, figure, path)
