"""The labels that people give to a site's blocks, with undo."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from contentspider.ground.errors import ContentSpiderError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from contentspider.site.arrays import Bools
    from contentspider.site.models.record import Extraction

MAIN, NOISE, UNSURE = "main", "noise", "unsure"
LABELS = (MAIN, NOISE, UNSURE)
# All kinds of noise; every other block is main content (from the papers' guideline for annotators).
KINDS = (
    "",
    "advertisement",
    "navigation",
    "promoted page",
    "legal",
    "irrelevant extra",
    "source or reference",
    "input or action",
)
MAX_UNDO = 1_000


class Label(NamedTuple):
    """A block's label (one of `LABELS`), and the kind of noise (an index into `KINDS`)."""

    name: str
    kind: int = 0


class LabelError(ContentSpiderError):
    """A request names a block, a label or a kind of noise that does not exist."""

    code = "label"


class Labels:
    """The labels of all blocks of some pages. At first they are the decisions of the model."""

    def __init__(self, extractions: Sequence[Extraction]) -> None:
        self._pages = [
            [Label(MAIN if is_kept else NOISE) for is_kept in extraction.kept.tolist()]
            for extraction in extractions
        ]
        # The previous labels of the blocks of each change: page, block, label.
        self._history: list[list[tuple[int, int, Label]]] = []

    def of_page(self, page: int) -> list[Label]:
        """Return the labels of a page's blocks."""
        return self._pages[page]

    def mask(self, page: int, name: str) -> Bools:
        """Return for each block of a page whether it has the label *name*."""
        return np.array([label.name == name for label in self._pages[page]], dtype=bool)

    def put(self, blocks: Iterable[tuple[int, int]], label: Label) -> set[int]:
        """Label blocks (page, number), and return the pages whose labels change.

        The change can be undone. Raises `LabelError` if a block or the label does not exist.
        """
        if label.name not in LABELS or not 0 <= label.kind < len(KINDS):
            raise LabelError(f"unknown label {label.name!r} or kind of noise {label.kind}")
        unique_blocks = list(dict.fromkeys(blocks))
        if any(not 0 <= number < len(self._pages[page]) for page, number in unique_blocks):
            raise LabelError("this block does not exist")
        previous = [(page, number, self._pages[page][number]) for page, number in unique_blocks]
        for page, number in unique_blocks:
            self._pages[page][number] = label
        self._history = [*self._history[1 - MAX_UNDO :], previous]
        return {page for page, _, old_label in previous if old_label != label}

    def undo(self) -> set[int]:
        """Undo the last change, and return its pages."""
        if not self._history:
            return set()
        previous = self._history.pop()
        for page, number, label in previous:
            self._pages[page][number] = label
        return {page for page, _, _ in previous}

    def clear_history(self) -> None:
        """Make the present labels the first state: earlier changes cannot be undone."""
        self._history.clear()
