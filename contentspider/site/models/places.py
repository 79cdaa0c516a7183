"""Places for extraction rules: a block's place is the chain of elements around it.

`Places` has the places of blocks and the model's decisions on them. `Keys` lists the conditions
that rules can have. `Decisions` applies rules to places.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from contentspider.page.tree.text import tokens
from contentspider.page.words.names import step_tag
from contentspider.site.judge.slots import step_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from contentspider.page.input.page import Page
    from contentspider.page.tree.blocks import PageBlocks
    from contentspider.site.models.model import SiteModel

    Numbers = NDArray[np.number[Any]]
    Ints = NDArray[np.integer[Any]]
    Bools = NDArray[np.bool_]

# The limits of rules. `contentspider.rules.standalone` repeats them, since it must not import other
# modules.
VALUE = re.compile(r"[A-Za-z0-9_:-]{1,200}", re.ASCII)
MAX_PLACE = 9
PLACED_TAGS = frozenset("td table div section article main center".split())


class Element(NamedTuple):
    """The way a rule names an element: by its *tag*, and possibly its *id* or one class *name*."""

    tag: str
    id: str = ""
    name: str = ""

    def __str__(self) -> str:
        if self.id:
            return f"{self.tag}#{self.id}"
        return f"{self.tag}.{self.name}" if self.name else self.tag


# The steps from the body to a block. Each has its position among siblings with its tag, counted
# from 1; 0 means that rules cannot name the position.
Place = tuple[tuple[str, int], ...]
# The condition of a rule: the element, its parent (None: any), and its position (0: any).
Key = tuple[Element, Element | None, int]
# A rule: the number of its key in `Keys`, and whether it keeps blocks.
Choice = tuple[int, bool]


@dataclass(slots=True)
class Places:
    """The *places* on a number of *pages*. The arrays have one entry per block.

    *page* and *place* are the numbers of the block's page and place, *chars* and *words* the length
    of its text. *kept* tells whether the model keeps the block. *counts* is the number of blocks
    that the entry represents.
    """

    places: list[Place]
    pages: int
    page: Ints
    place: Ints
    chars: Ints
    words: Ints
    kept: Bools
    counts: Ints

    def of_pages(self, chosen: Bools) -> Places:
        """Return the blocks of the *chosen* pages. Pages are numbered anew, and places are not."""
        blocks = chosen[self.page]
        numbers = np.cumsum(chosen) - 1
        return Places(
            self.places,
            int(chosen.sum()),
            numbers[self.page[blocks]],
            self.place[blocks],
            self.chars[blocks],
            self.words[blocks],
            self.kept[blocks],
            self.counts[blocks],
        )


def places_of(model: SiteModel, pages: Sequence[Page]) -> Places:
    """Return the places of the blocks of pages, with the model's decisions on them."""
    numbering = _PlaceNumbers(model)
    rows: list[tuple[int, int, int, int, bool]] = []
    for number, page in enumerate(pages):
        is_kept = (model.probabilities(page) > 0.5).tolist()
        place_of = numbering.of_elements(page.content)
        rows += [
            (number, place_of[block.container], len(block.text), len(tokens(block.text)), keep)
            for block, keep in zip(page.content.blocks, is_kept, strict=True)
        ]
    page_numbers, place_numbers, chars, words, decisions = (
        np.array(column, dtype=np.int64) for column in zip(*rows, strict=True)
    )
    # Only places that hold blocks are needed.
    present, place_numbers = np.unique(place_numbers, return_inverse=True)
    all_places = numbering.places()
    return Places(
        places=[all_places[number] for number in present.tolist()],
        pages=len(pages),
        page=page_numbers,
        place=place_numbers,
        chars=chars,
        words=words,
        kept=decisions > 0,
        counts=np.ones_like(page_numbers),
    )


class _PlaceNumbers:
    """Numbers the places of elements, on all pages of a site."""

    def __init__(self, model: SiteModel) -> None:
        self._model = model
        # The number of each place, by its parent's number, its step and its position.
        self._numbers: dict[tuple[int, str, int], int] = {}
        # The last step of each path, and whether rules can name its position.
        self._steps: dict[str, tuple[str, bool]] = {}

    def of_elements(self, content: PageBlocks) -> list[int]:
        """Return the number of the place of each element of a page."""
        numbers: list[int] = []
        for parent, path, position in zip(
            content.parents, content.paths, content.positions, strict=True
        ):
            above = numbers[parent] if parent >= 0 else -1
            # Very deep elements have the path of their parent.
            if parent >= 0 and len(path) == len(content.paths[parent]):
                numbers.append(above)
                continue
            step, has_position = self._step(path)
            named_position = position + 1 if has_position and position < MAX_PLACE else 0
            place = (above, step, named_position)
            numbers.append(self._numbers.setdefault(place, len(self._numbers)))
        return numbers

    def _step(self, path: str) -> tuple[str, bool]:
        entry = self._steps.get(path)
        if entry is None:
            step = self._model.slot_of(path).rpartition("/")[2]
            entry = self._steps[path] = (step, step_tag(step) in PLACED_TAGS)
        return entry

    def places(self) -> list[Place]:
        """Return the places in the order of their numbers."""
        places: list[Place] = []
        for above, step, position in self._numbers:
            parent_place = places[above] if above >= 0 else ()
            places.append((*parent_place, (step, position)))
        return places


def places_of_summary(model: SiteModel) -> Places:
    """Return the slots in a model's manifest as places, with the texts of their examples.

    The manifest does not know the positions of elements, nor the pages of a slot.
    """
    slots = model.summary
    places = [tuple((step, 0) for step in slot.slot.split("/")) for slot in slots]
    nothing = np.zeros(len(slots), dtype=np.int64)
    chars = np.array([max(len(slot.example), 1) for slot in slots], dtype=np.int64)
    return Places(
        places,
        model.pages,
        nothing,
        np.arange(len(slots)),
        chars,
        chars,
        np.array([slot.is_content for slot in slots], dtype=bool),
        np.array([slot.blocks for slot in slots], dtype=np.int64),
    )


def elements(step: str) -> list[Element]:
    """Return the names of a step's element: its tag alone, with its id, and with each class."""
    tag = step_tag(step)
    if not VALUE.fullmatch(tag):
        return []
    names = [Element(tag)]
    for name in step_names(step):
        if not VALUE.fullmatch(name[1:]):
            continue
        if name[0] == "#":
            names.append(Element(tag, id=name[1:]))
        elif name[0] == ".":
            names.append(Element(tag, name=name[1:]))
    return names


class _KeyTable:
    """Numbers the keys that match *places*, and collects the places that each key matches.

    With *is_particular* keys may name the parent, or the position among siblings.
    """

    def __init__(self, places: Iterable[Place], is_particular: bool) -> None:
        self._is_particular = is_particular
        self._element_numbers: dict[Element, int] = {}
        self._elements_of_step: dict[str, list[int]] = {}
        # The number of each key, by the numbers of its element and parent (-1: any), and position.
        self._key_numbers: dict[tuple[int, int, int], int] = {}
        rows: list[tuple[int, int, int]] = []
        for number, place in enumerate(places):
            depths = self._deepest_matches(place)
            rows += [(key, number, depth) for key, depth in depths.items()]
        self._rows = np.array(rows, dtype=np.int64).reshape(-1, 3)

    def _deepest_matches(self, place: Place) -> dict[int, int]:
        """Return the keys that match a place, with the depth of the innermost element of each."""
        depths: dict[int, int] = {}
        parents: list[int] = []
        for depth, (step, position) in enumerate(place):
            elements_of_step = self._elements(step)
            keys = [(element, -1, 0) for element in elements_of_step]
            if self._is_particular:
                for parent in parents:
                    keys += [(element, parent, 0) for element in elements_of_step]
                if position and elements_of_step:
                    keys.append((elements_of_step[0], -1, position))
            for key in keys:
                depths[self._key_numbers.setdefault(key, len(self._key_numbers))] = depth
            parents = elements_of_step
        return depths

    def _elements(self, step: str) -> list[int]:
        """Return the numbers of all names of a step's element."""
        numbers = self._elements_of_step.get(step)
        if numbers is None:
            numbers = self._elements_of_step[step] = [
                self._element_numbers.setdefault(element, len(self._element_numbers))
                for element in elements(step)
            ]
        return numbers

    def keys(self) -> list[Key]:
        """Return the keys in the order of their numbers."""
        names = list(self._element_numbers)
        return [
            (names[element], names[parent] if parent >= 0 else None, position)
            for element, parent, position in self._key_numbers
        ]

    def matches(self) -> list[Ints]:
        """Return a table for each key, whose rows are a matching place and an element's depth."""
        rows = self._rows[np.argsort(self._rows[:, 0], kind="stable")]
        ends = np.searchsorted(rows[:, 0], np.arange(1, len(self._key_numbers)))
        return np.split(rows[:, 1:], ends)


class Keys:
    """The *keys* that rules can have for elements around places, and the matching places.

    With *is_particular* there are keys with the parent, or with the position among siblings. If
    several keys match the same elements, only the plainest is kept. Of equally plain keys, a key
    with an id or a class is kept.

    *rank*, *named* and *particular* have one entry per key: its rank (see `rank_of`), whether it
    has an id or a class, and whether it has a parent or a position. The arrays *key*, *place* and
    *depth* have one entry for each pair of a key and a place that it matches, in the order of the
    keys: the entries of key number n begin at *starts*[n]. *depth* is the depth of the innermost
    element that matches.
    """

    def __init__(self, places: Iterable[Place], is_particular: bool) -> None:
        table = _KeyTable(places, is_particular)
        keys, matches = table.keys(), table.matches()
        plainest: dict[bytes, int] = {}
        for number in sorted(range(len(keys)), key=lambda number: _plainness(keys[number])):
            plainest.setdefault(matches[number].tobytes(), number)
        numbers = sorted(plainest.values())
        self.keys = [keys[number] for number in numbers]
        ranks = [rank_of(key) for key in self.keys]
        order = {rank: number for number, rank in enumerate(sorted(set(ranks)))}
        self.rank = np.array([order[rank] for rank in ranks])
        self.named = np.array([bool(key[0].id or key[0].name) for key in self.keys])
        self.particular = np.array([bool(key[1] or key[2]) for key in self.keys])
        self.key = np.repeat(np.arange(len(numbers)), [len(matches[n]) for n in numbers])
        self.place, self.depth = np.concatenate([matches[n] for n in numbers]).T.copy()
        self.starts = np.searchsorted(self.key, np.arange(len(self.keys) + 1))

    def matches(self, key: int) -> tuple[Ints, Ints]:
        """Return the places that a key matches, and the depth of the innermost element of each."""
        rows = slice(self.starts[key], self.starts[key + 1])
        return self.place[rows], self.depth[rows]


def rank_of(key: Key) -> tuple[bool, bool, bool, bool]:
    """Return the rank of a key. If several keys match an element, the highest rank wins."""
    element, parent, position = key
    return bool(parent), bool(element.id), bool(element.name), bool(position)


def key_name(key: Key) -> str:
    """Return a key as a text for people: ``main > div.a``, ``td:2``."""
    element, parent, position = key
    name = f"{parent} > {element}" if parent else f"{element}"
    return f"{name}:{position}" if position else name


def _plainness(key: Key) -> tuple[bool, bool, bool]:
    """Return a sort key: plain keys come first, and equally plain keys with an id or a class."""
    element, parent, position = key
    return bool(parent or position), bool(position), not (element.id or element.name)


class Decisions:
    """The decisions of *rules* on *places*, which are numbered from 0.

    Each array has one entry per place, for the rule that decides there: *rule* is its number (-1 if
    no rule decides), *rank* its rank, *depth* the depth of the element that it matches, and *keeps*
    tells whether it keeps blocks.
    """

    def __init__(self, keys: Keys, places: int, rules: Iterable[Choice] = ()) -> None:
        self.keys = keys
        self.depth = np.full(places, -1)
        self.rank = np.full(places, -1)
        self.rule = np.full(places, -1)
        self.keeps = np.zeros(places, dtype=bool)
        self._rules = 0
        for rule in rules:
            self.add(*rule)

    def add(self, key: int, keeps: bool) -> None:
        """Add a rule after the others.

        The rule decides at the places where it matches a deeper element than the earlier rules, or
        the same element with at least their rank.
        """
        places, depth = self.keys.matches(key)
        rank = self.keys.rank[key]
        is_deeper, is_same = depth > self.depth[places], depth == self.depth[places]
        wins = is_deeper | (is_same & (rank >= self.rank[places]))
        places, depth = places[wins], depth[wins]
        self.depth[places], self.rank[places], self.keeps[places] = depth, rank, keeps
        self.rule[places] = self._rules
        self._rules += 1
