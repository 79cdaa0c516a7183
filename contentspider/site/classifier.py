"""The per-site classifier: a linear SVM over where a block stands and a few facts of its text.

Every feature is a name that a block has or has not, so that the decision is a sum of looked-up
weights, and what was learned can be read: each slot, step and cross of them has one weight.
"""

from __future__ import annotations

from bisect import bisect_right
from hashlib import blake2b
from itertools import islice, repeat
from typing import TYPE_CHECKING, Any

import numpy as np

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
PLACES = "01234"
MAX_PLACE = len(PLACES) - 1
MAX_PATHS = MAX_SLOTS = 20_000
# A text of this length does not recur as boilerplate.
NOISE_CHARS = 400
# Sums of weights that a scorer keeps, and texts that it knows to recur or not: some 20 MB.
MAX_SUMS = 100_000
MAX_TEXTS = 10_000


def text_key(text: str) -> str:
    """Return a short stable key of a text that recurs, for the model's list of them."""
    return blake2b(text.encode("utf-8", "replace"), digest_size=8).hexdigest()


def places(page: PageBlocks) -> list[str]:
    """Return for each block the positions of the layout elements around it among their siblings."""
    found = [""]
    for parent, tag, position in islice(zip(page.parents, page.tags, page.positions, strict=True), 1, None):
        place = found[parent]
        if tag in LAYOUT_TAGS:
            place += PLACES[position] if position < MAX_PLACE else PLACES[MAX_PLACE]
        found.append(place)
    return [found[block.container] for block in page.blocks]


def _shape(block: Block) -> tuple[int, int, int]:
    """Return the bins of a block's length and share of links, and whether it ends like a sentence."""
    chars = len(block.text)
    links = bisect_right(LINK_BINS, block.link_chars / chars) if block.link_chars else 0
    return bisect_right(LENGTH_BINS, chars), links, int(block.text[-1] in SENTENCE_END)


def _shape_names(length: int, links: int, ends: int, slot: str) -> list[str]:
    shape = f"{length}{links}{ends}"
    return [f"length {length}", f"links {links}", f"ends {ends}", f"shape {shape}", f"shaped {shape} {slot}", f"linked {links} {slot}"]


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
            names = [f"slot {slot}", f"tags {'/'.join(tags)}", f"end {'/'.join(steps[-2:])}", f"tag {tags[-1]}"]
            names += [f"under {'/'.join(steps[:depth])}" for depth in range(2, len(steps))]
            names += [f"has {tag}{name}" for tag, step in set(zip(tags, steps, strict=True)) for name in step_names(step)]
            if len(self._static) >= MAX_SLOTS:  # ids that name a page each would fill the memory
                self._static.clear()
            self._static[slot] = names
        return names

    def page(self, page: PageBlocks, noise_texts: frozenset[str] | set[str]) -> list[list[str]]:
        """Return the feature names of each block of a page."""
        body = self.table.body(page.paths[0]) if page.paths else ""
        result: list[list[str]] = []
        previous = "start"
        slot_of = {path: self.table.slot(path) for path in {block.path for block in page.blocks}}
        slots = [slot_of[block.path] for block in page.blocks]
        for block, slot, place, following in zip(page.blocks, slots, places(page), [*slots[1:], "end"], strict=False):
            result.append(self.static(slot) + self._dynamic(block, slot, body, place, previous, following, noise_texts))
            previous = slot
        return result

    def _dynamic(self, block: Block, slot: str, body: str, place: str, previous: str, following: str, noise_texts: frozenset[str] | set[str]) -> list[str]:
        shape = _shape_names(*_shape(block), slot)
        after, before = _after_names(previous, slot), _before_names(following, slot)
        names = [*shape[:3], *_place_names(place, body, slot), *shape[3:], after[0], before[0], after[1], before[1]]
        if len(block.text) < NOISE_CHARS and text_key(block.text) in noise_texts:
            names += _recurring_names(slot)
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
        # Imported here: who filters with a model that is there needs neither library, nor their 100 MB.
        from scipy.sparse import csr_matrix
        from sklearn.svm import LinearSVC

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


class _SlotSums:
    """What the features of a block in one slot weigh, summed by what they depend on."""

    __slots__ = ("after", "before", "known", "places", "recurring", "shapes", "slot", "static")

    def __init__(self, slot: str, known: bool, static: float, recurring: float) -> None:
        self.slot = slot
        self.known = known
        self.static = static
        self.recurring = recurring
        self.shapes: dict[tuple[int, int, int], float] = {}
        self.places: dict[tuple[str, str], float] = {}
        self.after: dict[str, float] = {}
        self.before: dict[str, float] = {}


class BlockScorer:
    """What `BlockNames` and `BlockClassifier.decide` give together, without the names.

    The pages of a site repeat the same few features: their weights are summed once, and a block's margin
    is the sum of five looked-up numbers.
    """

    def __init__(self, names: BlockNames, classifier: BlockClassifier, noise_texts: frozenset[str]) -> None:
        self.names = names
        self.classifier = classifier
        self.noise_texts = noise_texts
        self._paths: dict[str, _SlotSums] = {}
        self._slots: dict[str, _SlotSums] = {}
        self._texts: dict[str, bool] = {}
        self._size = 0

    def _sum(self, names: list[str]) -> float:
        self._size += 1
        return sum(map(self.classifier.weights.get, names, repeat(0.0)))

    def _sums(self, path: str) -> _SlotSums:
        slot = self.names.table.slot(path)
        sums = self._slots.get(slot)
        if sums is None:
            weights = self.classifier.weights
            static = self.classifier.intercept + self._sum(self.names.static(slot))
            sums = self._slots[slot] = _SlotSums(slot, not weights or f"slot {slot}" in weights, static, self._sum(_recurring_names(slot)))
        if len(self._paths) < MAX_PATHS:
            self._paths[path] = sums
        return sums

    def _recurs(self, text: str) -> bool:
        known = self._texts.get(text)
        if known is None:
            if len(self._texts) >= MAX_TEXTS:
                self._texts.clear()
            known = self._texts[text] = text_key(text) in self.noise_texts
        return known

    def score(self, page: PageBlocks) -> tuple[list[float], list[bool]]:
        """Return the margin of each block of a page, and whether the model has a weight for its slot."""
        if self._size >= MAX_SUMS or len(self._paths) >= MAX_PATHS:  # ids that name a page each would fill the memory
            self._paths.clear()
            self._slots.clear()
            self._size = 0
        body = self.names.table.body(page.paths[0]) if page.paths else ""
        paths = self._paths
        slots = [paths.get(block.path) or self._sums(block.path) for block in page.blocks]
        following = [sums.slot for sums in slots[1:]]
        following.append("end")
        previous = "start"
        margins: list[float] = []
        for block, sums, place, after in zip(page.blocks, slots, places(page), following, strict=False):
            slot = sums.slot
            shape = _shape(block)
            if (by_shape := sums.shapes.get(shape)) is None:
                by_shape = sums.shapes[shape] = self._sum(_shape_names(*shape, slot))
            if (by_place := sums.places.get((place, body))) is None:
                by_place = sums.places[place, body] = self._sum(_place_names(place, body, slot))
            if (by_previous := sums.after.get(previous)) is None:
                by_previous = sums.after[previous] = self._sum(_after_names(previous, slot))
            if (by_following := sums.before.get(after)) is None:
                by_following = sums.before[after] = self._sum(_before_names(after, slot))
            margin = sums.static + by_shape + by_place + by_previous + by_following
            if sums.recurring and self.noise_texts and len(block.text) < NOISE_CHARS and self._recurs(block.text):
                margin += sums.recurring
            margins.append(margin)
            previous = slot
        return margins, [sums.known for sums in slots]
