"""Places: the elements around blocks, how rules may name them, and what the model decided."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from contentspider.page.tree.text import tokens
from contentspider.page.words.names import step_tag
from contentspider.site.slots import step_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from contentspider.page.input.page import Page
    from contentspider.site.models.model import SiteModel

    Numbers = NDArray[np.number[Any]]
    Ints = NDArray[np.integer[Any]]
    Bools = NDArray[np.bool_]

# The limits of rules, as `contentspider.rules.standalone` has them, which imports nothing.
VALUE = re.compile(r"[A-Za-z0-9_:-]{1,200}", re.ASCII)
MAX_PLACE = 9
PLACED_TAGS = frozenset("td table div section article main center".split())


class Element(NamedTuple):
    """How a rule names an element: by its *tag*, alone, with its *id*, or with one class *name*."""

    tag: str
    id: str = ""
    name: str = ""

    def __str__(self) -> str:
        return self.tag + (f"#{self.id}" if self.id else f".{self.name}" if self.name else "")


# The steps from the body to the block, each with its place among siblings of its tag (0: rules
# cannot name it).
Place = tuple[tuple[str, int], ...]
# A rule without its action; and a rule: the number of its key, and whether it keeps.
Key = tuple[Element, Element | None, int]
Choice = tuple[int, bool]


@dataclass(slots=True)
class Places:
    """The places of *pages* pages, and for each block its *page*, *place*, *chars*, *words*,
    whether the model *kept* it, and for how many blocks it stands (*counts*).
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
        """Return what stands on the *chosen* pages, numbered anew."""
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
    """Return the places of pages, and what the model decides on them."""
    # A place by its parent's number, its step, and its place among siblings.
    known: dict[tuple[int, str, int], int] = {}
    steps: dict[str, tuple[str, bool]] = {}
    rows: list[tuple[int, int, int, int, bool]] = []
    for number, page in enumerate(pages):
        content = page.content
        kept = (model.probabilities(page) > 0.5).tolist()
        of_container: list[int] = []
        for parent, path, position in zip(
            content.parents, content.paths, content.positions, strict=True
        ):
            found = steps.get(path)
            if found is None:
                step = model.slot_of(path).rpartition("/")[2]
                found = steps[path] = (step, step_tag(step) in PLACED_TAGS)
            above = of_container[parent] if parent >= 0 else -1
            if parent >= 0 and len(path) == len(content.paths[parent]):  # paths end at a depth
                of_container.append(above)
                continue
            at = position + 1 if found[1] and position < MAX_PLACE else 0
            of_container.append(known.setdefault((above, found[0], at), len(known)))
        rows += [
            (number, of_container[block.container], len(block.text), len(tokens(block.text)), keep)
            for block, keep in zip(content.blocks, kept, strict=True)
        ]
    places: list[Place] = []
    for above, step, at in known:
        places.append((*places[above], (step, at)) if above >= 0 else ((step, at),))
    page_, place_, chars, words, kept_ = (
        np.array(column, dtype=np.int64) for column in zip(*rows, strict=True)
    )
    present, place_ = np.unique(place_, return_inverse=True)
    places = [places[number] for number in present.tolist()]
    return Places(places, len(pages), page_, place_, chars, words, kept_ > 0, np.ones_like(page_))


def places_of_summary(model: SiteModel) -> Places:
    """Return the slots in a model's manifest as places, with the texts of their examples."""
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
    """Return the names of a step's element for rules: its tag, alone, with its id, or a class."""
    tag = step_tag(step)
    if not VALUE.fullmatch(tag):
        return []
    found = [Element(tag)]
    for name in step_names(step):
        if name[0] in "#." and VALUE.fullmatch(name[1:]):
            found.append(Element(tag, name[1:]) if name[0] == "#" else Element(tag, "", name[1:]))
    return found


class Keys:
    """The keys by which rules may name what is around the places, and how deep each matches.

    *is_particular* adds keys with the parent, or the place among siblings. Of keys that match alike
    everywhere only the plainest is here, and of those one with a name.
    """

    def __init__(self, places: Iterable[Place], is_particular: bool) -> None:
        numbers: dict[Element, int] = {}
        of_step: dict[str, list[int]] = {}
        known: dict[tuple[int, int, int], int] = {}  # by the numbers of elements, -1: no parent
        rows: list[tuple[int, int, int]] = []
        for number, place in enumerate(places):
            deepest: dict[int, int] = {}
            above: list[int] = []
            for depth, (step, at) in enumerate(place):
                own = of_step.get(step)
                if own is None:
                    found = elements(step)
                    own = of_step[step] = [numbers.setdefault(one, len(numbers)) for one in found]
                for element in own:
                    deepest[known.setdefault((element, -1, 0), len(known))] = depth
                if is_particular:
                    for parent in above:
                        for element in own:
                            deepest[known.setdefault((element, parent, 0), len(known))] = depth
                    if at and own:
                        deepest[known.setdefault((own[0], -1, at), len(known))] = depth
                above = own
            rows += [(key, number, depth) for key, depth in deepest.items()]
        named = list(numbers)
        keys: list[Key] = [
            (named[element], named[parent] if parent >= 0 else None, at)
            for element, parent, at in known
        ]
        table = np.array(rows, dtype=np.int64).reshape(-1, 3)
        table = table[np.argsort(table[:, 0], kind="stable")]
        parts = np.split(table[:, 1:], np.searchsorted(table[:, 0], np.arange(1, len(keys))))
        alike: dict[bytes, int] = {}
        for key in sorted(range(len(keys)), key=lambda key: _plainness(keys[key])):
            alike.setdefault(parts[key].tobytes(), key)
        kept = sorted(alike.values())
        self.keys = [keys[key] for key in kept]
        ranks = [rank_of(key) for key in self.keys]
        order = {rank: number for number, rank in enumerate(sorted(set(ranks)))}
        self.rank = np.array([order[rank] for rank in ranks])
        self.named = np.array([bool(key[0].id or key[0].name) for key in self.keys])
        self.particular = np.array([bool(key[1] or key[2]) for key in self.keys])
        self.key = np.repeat(np.arange(len(kept)), [len(parts[key]) for key in kept])
        self.place, self.depth = np.concatenate([parts[key] for key in kept]).T.copy()
        self.starts = np.searchsorted(self.key, np.arange(len(self.keys) + 1))

    def matches(self, key: int) -> tuple[Ints, Ints]:
        """Return the places inside of a key's elements, and the depth of the innermost."""
        rows = slice(self.starts[key], self.starts[key + 1])
        return self.place[rows], self.depth[rows]


def rank_of(key: Key) -> tuple[bool, bool, bool, bool]:
    """Return how particular a key is: of several that match an element the highest rank wins."""
    element, parent, at = key
    return bool(parent), bool(element.id), bool(element.name), bool(at)


def key_name(key: Key) -> str:
    """Return a key in words: ``main > div.a``, ``td:2``."""
    element, parent, at = key
    return (f"{parent} > " if parent else "") + f"{element}" + (f":{at}" if at else "")


def _plainness(key: Key) -> tuple[bool, bool, bool]:
    element, parent, at = key
    return bool(parent or at), bool(at), not (element.id or element.name)


class State:
    """The rule that decides at each place: its depth, rank, number (-1: none), whether it keeps."""

    def __init__(self, keys: Keys, places: int, chosen: Iterable[Choice] = ()) -> None:
        self.keys = keys
        self.depth = np.full(places, -1)
        self.rank = np.full(places, -1)
        self.rule = np.full(places, -1)
        self.keeps = np.zeros(places, dtype=bool)
        self._rules = 0
        for choice in chosen:
            self.add(*choice)

    def add(self, key: int, keeps: bool) -> None:
        """Add a rule, which comes last."""
        where, depth = self.keys.matches(key)
        rank = self.keys.rank[key]
        wins = (depth > self.depth[where]) | (
            (depth == self.depth[where]) & (rank >= self.rank[where])
        )
        where, depth = where[wins], depth[wins]
        self.depth[where], self.rank[where], self.keeps[where] = depth, rank, keeps
        self.rule[where] = self._rules
        self._rules += 1
