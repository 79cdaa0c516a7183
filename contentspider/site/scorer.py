# cython: language_level=3, annotation_typing=False
"""The decision: what the weights of a site's linear SVM sum up to for each block of a page.

This module is compiled, with the types in scorer.pxd; it is Python so that what checks Python
checks it, too. It knows what the names of the features in `contentspider.site.classifier` say; a
test compares the sums with those by the names.
"""

from __future__ import annotations

from hashlib import blake2b
from math import exp, sqrt
from typing import TYPE_CHECKING

from contentspider.page.features import SENTENCE_END
from contentspider.page.names import step_tag
from contentspider.site.slots import step_names

if TYPE_CHECKING:
    from contentspider.page.blocks import Block, PageBlocks
    from contentspider.site.slots import SlotTable

SHAPES = 7 * 4 * 2
# Elements that lay a page out: which of its kind one is tells the menu's cell from the article's.
LAYOUT_TAGS = frozenset(["td", "table", "div", "section", "article", "main", "center"])
PLACES = "01234"
# A text of this length does not recur as boilerplate.
NOISE_CHARS = 400
# Features of a slot that are crossed with something else: their names end with the slot.
CROSSED = frozenset(["shaped", "linked", "place", "body", "after", "before"])
# Bounds of what a scorer keeps, some 30 MB at worst: ids that name a page each would fill the
# memory, and so would texts.
MAX_PATHS, MAX_STEP_CHARS, MAX_TEXTS = 20_000, 5_000_000, 10_000


def text_key(text: str) -> str:
    """Return a short stable key of a text that recurs, for the model's list of them."""
    return blake2b(text.encode("utf-8", "replace"), digest_size=8).hexdigest()


def places(page: PageBlocks) -> list[str]:
    """Return for each block the positions of the layout elements around it among their siblings."""
    parents, tags, positions = page.parents, page.tags, page.positions
    last = len(PLACES) - 1
    found = [""]
    for index in range(1, len(tags)):
        place = found[parents[index]]
        if tags[index] in LAYOUT_TAGS:
            place += PLACES[min(positions[index], last)]
        found.append(place)
    return [found[block.container] for block in page.blocks]


def shape(block: Block) -> int:
    """Return the bins of a block's length and share of links, and whether it ends like a sentence,
    in one number below `SHAPES`.
    """
    text = block.text
    chars = len(text)
    length = (
        (chars >= 10)
        + (chars >= 25)
        + (chars >= 50)
        + (chars >= 80)
        + (chars >= 140)
        + (chars >= 300)
    )
    share = block.link_chars / chars
    links = (share >= 0.02) + (share >= 0.3) + (share >= 0.9)
    return 8 * length + 2 * links + (text[-1] in SENTENCE_END)


def confidence(blocks: list[Block], margins: list[float], known: list[bool]) -> float:
    """Return how sure the decision is: the mean probability of being right, by length of text, from
    0 to 1.

    A margin of 1 is where the SVM puts its own training examples. Slots that the site had not shown
    when the model was learned count half: their margin comes from what they share with others.
    """
    sure = total = 0.0
    for index, block in enumerate(blocks):
        weight = sqrt(len(block.text))
        total += weight
        sure += weight * (1.0 if known[index] else 0.5) / (1.0 + exp(-3.0 * abs(margins[index])))
    return round(sure / total, 4) if total else 0.0


class Slot:
    """What the features of a block in one slot weigh: *common* those that all have, the others by
    what they depend on.
    """

    def __init__(self, slot: str) -> None:
        self.slot = slot
        self.known = False
        self.is_summed = False
        self.common = 0.0
        self.recurring = 0.0
        self.shapes: list[float | None] = [None] * SHAPES  # sums, of those that were met
        self.shaped: dict[str, float] = {}
        self.linked: dict[str, float] = {}
        self.place: dict[str, float] = {}
        self.body: dict[str, float] = {}
        self.after: dict[str, float] = {}
        self.before: dict[str, float] = {}


class Step:
    """A place in the tree of selector paths, and what the features of it and of those above it
    weigh.
    """

    def __init__(self, slot: str, step: str, tags: str, above: Step | None) -> None:
        self.slot = slot
        self.step = step
        self.tags = tags
        self.above = above
        self.under = 0.0
        self.has = 0.0
        self.below: dict[str, Step] = {}
        self.weights: Slot | None = None


class BlockScorer:
    """What `BlockNames` and `BlockClassifier.decide` give together, without the names.

    The weights are sorted by slot once, and summed along the paths of the template, so that a
    block's margin is the sum of a few that are looked up by what its place and its text are.
    """

    def __init__(
        self,
        table: SlotTable,
        weights: dict[str, float],
        intercept: float,
        noise_texts: frozenset[str],
    ) -> None:
        self.table = table
        self.weights = weights
        self.intercept = intercept
        self.noise_texts = noise_texts
        self._slots: dict[str, Slot] = {}  # those that a weight names
        self._after: dict[str, float] = {}
        self._before: dict[str, float] = {}
        self._texts: dict[str, bool] = {}
        for name, weight in weights.items():
            kind, *values = name.split(" ")
            if kind in CROSSED and len(values) == 2:
                getattr(self._named(values[1]), kind)[values[0]] = weight
            elif len(values) != 1:
                continue
            elif kind == "after":
                self._after[values[0]] = weight
            elif kind == "before":
                self._before[values[0]] = weight
            elif kind == "recurs":
                self._named(values[0]).recurring = weight
            elif kind == "slot":
                self._named(values[0]).known = True
        self._forget()

    def _forget(self) -> None:
        self._paths: dict[str, Slot] = {}
        self._tops: dict[str, Step] = {}
        self._chars = 0

    def _named(self, slot: str) -> Slot:
        found = self._slots.get(slot)
        if found is None:
            found = self._slots[slot] = Slot(slot)
        return found

    def _at(self, path: str) -> Slot:
        """Return the weights of the slot that a path leads to."""
        if len(self._paths) >= MAX_PATHS or self._chars >= MAX_STEP_CHARS:
            self._forget()
        steps = path.split("/")
        tag = step_tag(steps[0])  # body's own names are a feature by themselves
        at = self._tops.get(tag)
        if at is None:
            at = self._tops[tag] = Step(tag, tag, tag, None)
        end = at.step
        for index in range(1, len(steps)):
            raw = steps[index]
            below = at.below.get(raw)
            if below is None:
                below = at.below[raw] = self._below(at, raw)
                self._chars += len(raw)
            end = at.step + "/" + below.step
            at = below
        if at.weights is None:
            at.weights = self._sum(at, end)
        self._paths[path] = at.weights
        return at.weights

    def _below(self, above: Step, raw: str) -> Step:
        get = self.weights.get
        step = self.table.step(raw)
        below = above.below.get(step)
        if below is not None:  # they differ in names that the template does not use
            return below
        tag = step_tag(step)
        below = Step(above.slot + "/" + step, step, above.tags + "/" + tag, above)
        below.under = above.under + (
            get("under " + above.slot, 0.0) if above.above is not None else 0.0
        )
        below.has = above.has
        at: Step | None = above
        while at is not None and at.step != step:
            at = at.above
        if at is None:  # what is there twice counts once
            for name in step_names(step):
                below.has += get("has " + tag + name, 0.0)
        self._chars += len(below.slot) + len(below.tags)
        above.below[step] = below
        return below

    def _sum(self, at: Step, end: str) -> Slot:
        get = self.weights.get
        slot = self._slots.get(at.slot)
        if slot is None:
            slot = Slot(at.slot)
        if not slot.is_summed:
            slot.is_summed = True
            slot.known = slot.known or not self.weights
            slot.recurring += get("recurs", 0.0)
            slot.common = (
                self.intercept
                + get("slot " + at.slot, 0.0)
                + get("tags " + at.tags, 0.0)
                + get("end " + end, 0.0)
            )
            slot.common += get("tag " + step_tag(at.step), 0.0) + at.under + at.has
        return slot

    def _shape_sum(self, slot: Slot, code: int) -> float:
        get = self.weights.get
        length, rest = divmod(code, 8)
        links, ends = divmod(rest, 2)
        name = f"{length}{links}{ends}"
        found = (
            get(f"length {length}", 0.0)
            + get(f"links {links}", 0.0)
            + get(f"ends {ends}", 0.0)
            + get(f"shape {name}", 0.0)
        )
        found += slot.shaped.get(name, 0.0) + slot.linked.get(f"{links}", 0.0)
        slot.shapes[code] = found
        return found

    def _recurs(self, text: str) -> bool:
        known = self._texts.get(text)
        if known is None:
            if len(self._texts) >= MAX_TEXTS:
                self._texts.clear()
            known = self._texts[text] = text_key(text) in self.noise_texts
        return known

    def score(self, page: PageBlocks) -> tuple[list[float], list[bool]]:
        """Return the margin of each block of a page, and whether the model has a weight for its
        slot.
        """
        blocks = page.blocks
        body = self.table.body(page.paths[0]) if page.paths else ""
        all_after, all_before = self._after, self._before
        has_noise = len(self.noise_texts) > 0
        slots: list[Slot] = []
        for block in blocks:
            found = self._paths.get(block.path)
            slots.append(self._at(block.path) if found is None else found)
        margins: list[float] = []
        known: list[bool] = []
        previous = "start"
        around = places(page)
        last = len(slots) - 1
        for index, block in enumerate(blocks):
            slot = slots[index]
            after = "end"
            if index < last:
                following = slots[index + 1]
                after = following.slot
            code = shape(block)
            by_shape = slot.shapes[code]
            margin = self._shape_sum(slot, code) if by_shape is None else by_shape
            margin += slot.common + all_after.get(previous, 0.0) + all_before.get(after, 0.0)
            margin += (
                slot.place.get(around[index], 0.0)
                + slot.body.get(body, 0.0)
                + slot.after.get(previous, 0.0)
                + slot.before.get(after, 0.0)
            )
            if (
                slot.recurring
                and has_noise
                and len(block.text) < NOISE_CHARS
                and self._recurs(block.text)
            ):
                margin += slot.recurring
            margins.append(margin)
            known.append(slot.known)
            previous = slot.slot
        return margins, known
