"""What people say of a site's blocks: the labels, how they change, and what is undone."""

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
# The kinds of noise, and only these: all else is main (papers: guideline of the annotators).
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
MAX_UNDONE = 1_000


class Label(NamedTuple):
    """A block's label, and the kind of noise it is (a number of `KINDS`)."""

    name: str
    kind: int = 0


class LabelError(ContentSpiderError):
    """What is asked of a block cannot be done."""


class Labels:
    """The labels of all blocks of some pages, at first by what the model decided."""

    def __init__(self, extractions: Sequence[Extraction]) -> None:
        self._pages = [
            [Label(MAIN if kept else NOISE) for kept in found.kept.tolist()]
            for found in extractions
        ]
        self._undone: list[list[tuple[int, int, Label]]] = []

    def of_page(self, page: int) -> list[Label]:
        """Return the labels of a page's blocks."""
        return self._pages[page]

    def named(self, page: int, name: str) -> Bools:
        """Tell of each block of a page whether it has the label of a name."""
        return np.array([label.name == name for label in self._pages[page]], dtype=bool)

    def put(self, blocks: Iterable[tuple[int, int]], label: Label) -> set[int]:
        """Label blocks, given by page and number, and return the pages that this changes; it can be
        undone. Raises `LabelError` if there is no such block or label.
        """
        if label.name not in LABELS or not 0 <= label.kind < len(KINDS):
            raise LabelError(f"there is no label {label.name!r}, or kind of noise {label.kind}")
        chosen = list(dict.fromkeys(blocks))
        if any(not 0 <= number < len(self._pages[page]) for page, number in chosen):
            raise LabelError("there is no such block")
        old = [(page, number, self._pages[page][number]) for page, number in chosen]
        for page, number in chosen:
            self._pages[page][number] = label
        self._undone = [*self._undone[1 - MAX_UNDONE :], old]
        return {page for page, _, was in old if was != label}

    @property
    def can_undo(self) -> bool:
        """Tell whether there is a change to take back."""
        return bool(self._undone)

    def undo(self) -> set[int]:
        """Take the last change back, and return the pages that this changes."""
        changed = set()
        for page, number, label in self._undone.pop() if self._undone else ():
            self._pages[page][number] = label
            changed.add(page)
        return changed

    def forget(self) -> None:
        """Forget what could be undone."""
        self._undone.clear()
