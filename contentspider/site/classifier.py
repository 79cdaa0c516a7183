"""The per-site classifier: a linear SVM over where a block stands and a few facts of its text.

Every feature is a name that a block has or has not, so that the decision is a sum of looked-up
weights, and what was learned can be read: each slot, step and cross of them has one weight.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from contentspider.page.names import step_tag
from contentspider.site.scorer import NOISE_CHARS, places, shape, text_key
from contentspider.site.slots import step_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from contentspider.page.blocks import Block, PageBlocks
    from contentspider.site.slots import SlotTable

# Less than 1 smooths labels that differ within a slot; measured flat between 0.1 and 3.
PENALTY = 0.3
MAX_SLOTS = 20_000


def _shape_names(code: int, slot: str) -> list[str]:
    length, rest = divmod(code, 8)
    links, ends = divmod(rest, 2)
    name = f"{length}{links}{ends}"
    return [
        f"length {length}",
        f"links {links}",
        f"ends {ends}",
        f"shape {name}",
        f"shaped {name} {slot}",
        f"linked {links} {slot}",
    ]


def _place_names(place: str, body: str, slot: str) -> list[str]:
    return [f"place {place} {slot}", f"body {body} {slot}"]


def _after_names(previous: str, slot: str) -> list[str]:
    return [f"after {previous}", f"after {previous} {slot}"]


def _before_names(following: str, slot: str) -> list[str]:
    return [f"before {following}", f"before {following} {slot}"]


def _recurring_names(slot: str) -> list[str]:
    return ["recurs", f"recurs {slot}"]


class BlockNames:
    """The feature names of blocks on one site; those of a slot are worked out once."""

    def __init__(self, table: SlotTable) -> None:
        self.table = table
        self._static: dict[str, list[str]] = {}

    def static(self, slot: str) -> list[str]:
        """Return the features that every block in a slot has."""
        names = self._static.get(slot)
        if names is None:
            steps = slot.split("/")
            tags = [step_tag(step) for step in steps]
            names = [
                f"slot {slot}",
                f"tags {'/'.join(tags)}",
                f"end {'/'.join(steps[-2:])}",
                f"tag {tags[-1]}",
            ]
            names += [f"under {'/'.join(steps[:depth])}" for depth in range(2, len(steps))]
            names += [
                f"has {tag}{name}"
                for tag, step in dict.fromkeys(zip(tags, steps, strict=True))
                for name in step_names(step)
            ]
            if len(self._static) >= MAX_SLOTS:  # ids that name a page each would fill the memory
                self._static.clear()
            self._static[slot] = names
        return names

    def page(self, page: PageBlocks, noise_texts: frozenset[str] | set[str]) -> list[list[str]]:
        """Return the feature names of each block of a page."""
        if not page.blocks:
            return []
        body = self.table.body(page.paths[0])
        result: list[list[str]] = []
        previous = "start"
        slot_of = {path: self.table.slot(path) for path in {block.path for block in page.blocks}}
        slots = [slot_of[block.path] for block in page.blocks]
        for block, slot, place, following in zip(
            page.blocks, slots, places(page), [*slots[1:], "end"], strict=True
        ):
            result.append(
                self.static(slot)
                + self._dynamic(block, slot, body, place, previous, following, noise_texts)
            )
            previous = slot
        return result

    def _dynamic(
        self,
        block: Block,
        slot: str,
        body: str,
        place: str,
        previous: str,
        following: str,
        noise_texts: frozenset[str] | set[str],
    ) -> list[str]:
        shaped = _shape_names(shape(block), slot)
        after, before = _after_names(previous, slot), _before_names(following, slot)
        names = [
            *shaped[:3],
            *_place_names(place, body, slot),
            *shaped[3:],
            after[0],
            before[0],
            after[1],
            before[1],
        ]
        if len(block.text) < NOISE_CHARS and text_key(block.text) in noise_texts:
            names += _recurring_names(slot)
        return names


class BlockClassifier:
    """A linear SVM on feature names; *weights* maps each name to its weight, plus *intercept*."""

    def __init__(self, weights: dict[str, float], intercept: float) -> None:
        self.weights = weights
        self.intercept = intercept

    @classmethod
    def train(
        cls,
        rows: Sequence[Sequence[str]],
        labels: NDArray[np.bool_],
        weights: NDArray[np.floating[Any]],
    ) -> BlockClassifier:
        """Fit on blocks given by their feature names; *weights* are their importances.

        The classes are balanced, since boilerplate outnumbers content (Zhou and Mashuq, section
        3.4). With one class only, or without any feature, there is nothing to separate: every block
        is then of the class that most are of.
        """
        if labels.all() or not labels.any() or not any(rows):
            return cls({}, 1.0 if len(labels) and labels.mean() > 0.5 else -1.0)
        # Imported here: who filters with a model that is there needs neither library, nor their 100
        # MB.
        from scipy.sparse import csr_matrix
        from sklearn.svm import LinearSVC

        columns: dict[str, int] = {}
        indices = [columns.setdefault(name, len(columns)) for row in rows for name in row]
        pointers = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
        # liblinear takes 32-bit indices only.
        matrix = csr_matrix(
            (np.ones(len(indices)), np.asarray(indices, dtype=np.int32), pointers.astype(np.int32)),
            shape=(len(rows), len(columns)),
        )
        svm = LinearSVC(
            C=PENALTY, class_weight="balanced", dual=True, random_state=0, max_iter=5_000, tol=1e-2
        )
        svm.fit(matrix, labels, sample_weight=weights / weights.mean())
        coefficients = svm.coef_.ravel()
        kept = np.abs(coefficients) > 1e-4
        found = {
            name: round(float(coefficients[column]), 5)
            for name, column in columns.items()
            if kept[column]
        }
        return cls(found, round(float(svm.intercept_[0]), 5))

    def decide(self, rows: Sequence[Sequence[str]]) -> NDArray[np.float32]:
        """Return the margin of each block: above 0 is content."""
        get = self.weights.get
        return np.array(
            [self.intercept + sum(get(name, 0.0) for name in row) for row in rows], dtype=np.float32
        )
