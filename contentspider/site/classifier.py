"""The per-site classifier: a linear SVM over where a block stands and a few facts of its text.

Every feature is a name that a block has or has not, so that the decision is a sum of looked-up
weights, and what was learned can be read: each slot, step and cross of them has one weight.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.svm import LinearSVC

from contentspider.page.features import SENTENCE_END
from contentspider.page.names import step_tag
from contentspider.site.slots import step_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from contentspider.page.blocks import Block, PageBlocks
    from contentspider.site.slots import SlotTable

LENGTH_BINS = (10, 25, 50, 80, 140, 300)
LINK_BINS = (0.02, 0.3, 0.9)
# Less than 1 smooths labels that differ within a slot; measured flat between 0.1 and 3.
PENALTY = 0.3
# Elements that lay a page out: which of its kind one is tells the menu's cell from the article's.
LAYOUT_TAGS = frozenset(["td", "table", "div", "section", "article", "main", "center"])
MAX_PLACE = 4
MAX_PATHS = 20_000


def text_key(text: str) -> str:
    """Return a short stable key of a text that recurs, for the model's list of them."""
    return blake2b(text.encode("utf-8", "replace"), digest_size=8).hexdigest()


def places(page: PageBlocks) -> list[str]:
    """Return for each block the positions of the layout elements around it among their siblings."""
    found = [""] * len(page.parents)
    for element in range(1, len(found)):
        place = found[page.parents[element]]
        if page.tags[element] in LAYOUT_TAGS:
            place += str(min(page.positions[element], MAX_PLACE))
        found[element] = place
    return [found[block.container] for block in page.blocks]


def _bin(value: float, limits: tuple[float, ...]) -> int:
    for index, limit in enumerate(limits):
        if value < limit:
            return index
    return len(limits)


class BlockNames:
    """The feature names of blocks on one site; those of a path are worked out once."""

    def __init__(self, table: SlotTable) -> None:
        self.table = table
        self._static: dict[str, tuple[str, list[str]]] = {}

    def static(self, path: str) -> tuple[str, list[str]]:
        """Return the slot of a path, and the features that every block there has."""
        known = self._static.get(path)
        if known is None:
            slot = self.table.slot(path)
            steps = slot.split("/")
            tags = [step_tag(step) for step in steps]
            names = [f"slot {slot}", f"tags {'/'.join(tags)}", f"end {'/'.join(steps[-2:])}", f"tag {tags[-1]}"]
            names += [f"under {'/'.join(steps[:depth])}" for depth in range(2, len(steps))]
            names += [f"has {tag}{name}" for tag, step in set(zip(tags, steps, strict=True)) for name in step_names(step)]
            if len(self._static) >= MAX_PATHS:  # ids that name a page each would fill the memory
                self._static.clear()
            known = self._static[path] = (slot, names)
        return known

    def page(self, page: PageBlocks, noise_texts: frozenset[str] | set[str]) -> list[list[str]]:
        """Return the feature names of each block of a page."""
        body = self.table.body(page.paths[0]) if page.paths else ""
        result: list[list[str]] = []
        previous = "start"
        slots = [self.static(block.path)[0] for block in page.blocks]
        for index, (block, place) in enumerate(zip(page.blocks, places(page), strict=True)):
            slot, static = self.static(block.path)
            following = slots[index + 1] if index + 1 < len(slots) else "end"
            result.append(static + self._dynamic(block, slot, body, place, previous, following, noise_texts))
            previous = slot
        return result

    def _dynamic(self, block: Block, slot: str, body: str, place: str, previous: str, following: str, noise_texts: frozenset[str] | set[str]) -> list[str]:
        chars = len(block.text)
        length = _bin(chars, LENGTH_BINS)
        links = _bin(block.link_chars / chars, LINK_BINS)
        ends = int(block.text[-1] in SENTENCE_END)
        names = [
            f"length {length}", f"links {links}", f"ends {ends}", f"place {place} {slot}", f"body {body} {slot}",
            f"shape {length}{links}{ends}", f"shaped {length}{links}{ends} {slot}", f"linked {links} {slot}",
            f"after {previous}", f"before {following}", f"after {previous} {slot}", f"before {following} {slot}",
        ]  # fmt: skip
        if chars < 400 and text_key(block.text) in noise_texts:
            names += ["recurs", f"recurs {slot}"]
        return names


class BlockClassifier:
    """A linear SVM on feature names; *weights* maps each name to its weight, plus *intercept*."""

    def __init__(self, weights: dict[str, float], intercept: float) -> None:
        self.weights = weights
        self.intercept = intercept

    @classmethod
    def train(cls, rows: Sequence[Sequence[str]], labels: NDArray[np.bool_], weights: NDArray[np.floating[Any]]) -> BlockClassifier:
        """Fit on blocks given by their feature names; *weights* are their importances.

        The classes are balanced, since boilerplate outnumbers content (Zhou and Mashuq, section 3.4).
        With one class only, or without any feature, there is nothing to separate: every block is then of
        the class that most are of.
        """
        if labels.all() or not labels.any() or not any(rows):
            return cls({}, 1.0 if len(labels) and labels.mean() > 0.5 else -1.0)
        columns: dict[str, int] = {}
        indices = [columns.setdefault(name, len(columns)) for row in rows for name in row]
        pointers = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
        # liblinear takes 32-bit indices only.
        matrix = csr_matrix((np.ones(len(indices)), np.asarray(indices, dtype=np.int32), pointers.astype(np.int32)), shape=(len(rows), len(columns)))
        svm = LinearSVC(C=PENALTY, class_weight="balanced", dual=True, random_state=0, max_iter=5_000, tol=1e-2)
        svm.fit(matrix, labels, sample_weight=weights / weights.mean())
        coefficients = svm.coef_.ravel()
        kept = np.abs(coefficients) > 1e-4
        found = {name: round(float(coefficients[column]), 5) for name, column in columns.items() if kept[column]}
        return cls(found, round(float(svm.intercept_[0]), 5))

    def decide(self, rows: Sequence[Sequence[str]]) -> NDArray[np.float32]:
        """Return the margin of each block: above 0 is content."""
        get = self.weights.get
        return np.array([self.intercept + sum(get(name, 0.0) for name in row) for row in rows], dtype=np.float32)
