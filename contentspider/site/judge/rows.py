# cython: language_level=3, annotation_typing=False
"""What a classifier sees of a block: its row, the features that it has.

A feature is its family and its values: ``("slot", "body/div/p")``, ``("length", "4")``, ``("after",
"body/nav/a", "body/div/p")``. They say in which slot a block stands, what is beside it, and a few
facts of its text. Features that always come together are one `Group`, which is made once for a
site: on a page of a known template a row is a few look-ups, and so is a linear classifier's sum of
its weights (`weigh`).

This module is compiled, with the types in rows.pxd.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

from contentspider.page.tree.text import SENTENCE_END
from contentspider.page.words.names import step_tag
from contentspider.site.slots import step_names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from contentspider.page.tree.blocks import Block, PageBlocks
    from contentspider.site.slots import SlotTable

    Feature = tuple[str, ...]
    Row = list["Group"]

SHAPES = 7 * 4 * 2
# Layout elements: which of its kind one is tells the menu's cell from the article's.
LAYOUT_TAGS = frozenset(["td", "table", "div", "section", "article", "main", "center"])
PLACES = "01234"
ENDS = "".join(sorted(SENTENCE_END))
# A text of this length does not recur as boilerplate.
NOISE_CHARS = 400
# Bounds of what is kept for a site, some 50 MB at worst: each page may have ids of its own.
MAX_PATHS, MAX_PATH_CHARS, MAX_GROUPS, MAX_TEXTS = 20_000, 5_000_000, 100_000, 10_000
START, END = "start", "end"


class Group:
    """*features* that come together with those of the group *above*; iterating gives them all."""

    def __init__(self, features: tuple[Feature, ...], above: Group | None = None) -> None:
        self.features = features
        self.above = above
        # What these weights of the features sum up to.
        self.weights: dict[Feature, float] | None = None
        self.total = 0.0

    def __iter__(self) -> Iterator[Feature]:
        found = list(self.features)
        at = self.above
        while at is not None:
            found = [*at.features, *found]
            at = at.above
        return iter(found)

    def __repr__(self) -> str:
        return f"Group({', '.join([' '.join(feature) for feature in self])})"


def weigh(rows: list[Row], weights: dict[Feature, float], intercept: float) -> list[float]:
    """Return for each row *intercept* and the *weights* of its features, summed."""
    totals: list[float] = []
    for row in rows:
        total = intercept
        for group in row:
            if group.weights is not weights:
                _weigh_group(group, weights)
            total += group.total
        totals.append(total)
    return totals


def _weigh_group(group: Group, weights: dict[Feature, float]) -> float:
    above = group.above
    total = 0.0
    if above is not None:
        total = above.total if above.weights is weights else _weigh_group(above, weights)
    for feature in group.features:
        found = weights.get(feature)
        if found is not None:
            total += found
    group.weights = weights
    group.total = total
    return total


def text_key(text: str) -> str:
    """Return a short stable key of a text that recurs."""
    return blake2b(text.encode("utf-8", "replace"), digest_size=8).hexdigest()


def places(page: PageBlocks) -> list[str]:
    """Return the positions among siblings of the layout elements around each block."""
    parents, tags, positions = page.parents, page.tags, page.positions
    last = len(PLACES) - 1
    found = [""]
    for index in range(1, len(tags)):
        above = parents[index]
        place = found[above]
        if tags[index] in LAYOUT_TAGS:
            position = positions[index]
            place += PLACES[min(last, position)]
        found.append(place)
    around = []
    for block in page.blocks:
        above = block.container
        around.append(found[above])
    return around


def shape(block: Block) -> int:
    """Return the bins of a block's length and links, and how it ends, as a number."""
    text = block.text
    chars = len(text)
    length = (chars >= 10) + (chars >= 25) + (chars >= 50)
    length += (chars >= 80) + (chars >= 140) + (chars >= 300)
    share = block.link_chars / chars
    links = (share >= 0.02) + (share >= 0.3) + (share >= 0.9)
    end = text[-1]
    return 8 * length + 2 * links + (end in ENDS)


def shape_features(code: int, slot: str) -> tuple[Feature, ...]:
    """Return the features of a text's shape, alone and crossed with the slot."""
    length, rest = divmod(code, 8)
    links, ends = divmod(rest, 2)
    name = f"{length}{links}{ends}"
    return (
        ("length", f"{length}"),
        ("links", f"{links}"),
        ("ends", f"{ends}"),
        ("shape", name),
        ("shaped", name, slot),
        ("linked", f"{links}", slot),
    )


class Place:
    """A place in the tree of a site's slots, with the groups of features of blocks there."""

    def __init__(self, step: str, above: Place | None) -> None:
        self.step = step
        self.above = above
        self.below: dict[str, Place] = {}
        tag = step_tag(step)
        self.slot: str = f"{above.slot}/{step}" if above is not None else step
        self.tags: str = f"{above.tags}/{tag}" if above is not None else tag
        # Passed on to all below; that they are under the body tells nothing.
        is_inner = above is not None and above.above is not None
        passed: list[Feature] = [("under", above.slot)] if is_inner and above is not None else []
        at = above
        while at is not None and at.step != step:
            at = at.above
        if at is None:  # what is there twice counts once
            passed += [("has", tag + name) for name in step_names(step)]
        self.passed: Group = Group(tuple(passed), above.passed if above is not None else None)
        self.own: Group | None = None  # until `complete`
        self.recurring: Group | None = None
        self.shapes: list[Group | None] = []
        self.places: dict[str, Group] = {}
        self.bodies: dict[str, Group] = {}
        self.after: dict[str, Group] = {}
        self.before: dict[str, Group] = {}

    def complete(self) -> None:
        """Make the features of the blocks that stand here."""
        above = self.above
        tag = step_tag(self.step)
        end = f"{above.step}/{self.step}" if above is not None else self.step
        self.own = Group(
            (("slot", self.slot), ("tags", self.tags), ("end", end), ("tag", tag)), self.passed
        )
        self.recurring = Group((("recurs",), ("recurs", self.slot)))
        self.shapes = [None] * SHAPES


class SlotFeatures:
    """The rows of a site's blocks; *noise_texts* are the keys of texts that recur as noise."""

    def __init__(self, table: SlotTable, noise_texts: frozenset[str]) -> None:
        self.table = table
        self.noise_texts = noise_texts
        self._texts: dict[str, bool] = {}
        self._forget()

    def _forget(self) -> None:
        self._paths: dict[str, Place] = {}
        self._tops: dict[str, Place] = {}
        self._chars = 0
        self.size = 0  # groups that are kept

    def _at(self, path: str) -> Place:
        """Return the place that a path leads to."""
        steps = path.split("/")
        tag = step_tag(steps[0])  # body's own names are a feature by themselves
        at = self._tops.get(tag)
        if at is None:
            at = self._tops[tag] = Place(tag, None)
        for index in range(1, len(steps)):
            raw = steps[index]
            below = at.below.get(raw)
            if below is None:
                below = at.below[raw] = self._below(at, raw)
                self._chars += len(raw)
            at = below
        if at.own is None:
            at.complete()
        self._chars += len(path)
        self._paths[path] = at
        return at

    def _below(self, above: Place, raw: str) -> Place:
        step = self.table.step(raw)
        below = above.below.get(step)
        if below is None:  # else they differ in names that the template does not use
            below = above.below[step] = Place(step, above)
            self._chars += len(below.slot) + len(below.tags)
            self.size += 3
        return below

    def _make(
        self, groups: dict[str, Group], value: str, slot: str, family: str, alone: bool
    ) -> Group:
        """Make the group of a family's value at a slot, and also of the value alone."""
        self.size += 1
        crossed = (family, value, slot)
        group = groups[value] = Group(((family, value), crossed) if alone else (crossed,))
        return group

    def _make_shape(self, at: Place, code: int) -> Group:
        self.size += 1
        group = at.shapes[code] = Group(shape_features(code, at.slot))
        return group

    def _recurs(self, text: str) -> bool:
        known = self._texts.get(text)
        if known is None:
            if len(self._texts) >= MAX_TEXTS:
                self._texts.clear()
            known = self._texts[text] = text_key(text) in self.noise_texts
        return known

    def rows(self, page: PageBlocks) -> list[Row]:
        """Return the row of each block of a page."""
        blocks = page.blocks
        if not blocks:
            return []
        if (
            len(self._paths) >= MAX_PATHS
            or self._chars >= MAX_PATH_CHARS
            or self.size >= MAX_GROUPS
        ):
            self._forget()
        body = self.table.body(page.paths[0])
        has_noise = len(self.noise_texts) > 0
        slots: list[Place] = []
        for block in blocks:
            found = self._paths.get(block.path)
            slots.append(self._at(block.path) if found is None else found)
        around = places(page)
        rows: list[Row] = []
        previous = START
        last = len(slots) - 1
        for index, block in enumerate(blocks):
            at = slots[index]
            following = END
            if index < last:
                then = slots[index + 1]
                following = then.slot
            code = shape(block)
            by_shape = at.shapes[code]
            if by_shape is None:
                by_shape = self._make_shape(at, code)
            place = around[index]
            by_place = at.places.get(place)
            if by_place is None:
                by_place = self._make(at.places, place, at.slot, "place", False)
            by_body = at.bodies.get(body)
            if by_body is None:
                by_body = self._make(at.bodies, body, at.slot, "body", False)
            by_previous = at.after.get(previous)
            if by_previous is None:
                by_previous = self._make(at.after, previous, at.slot, "after", True)
            by_following = at.before.get(following)
            if by_following is None:
                by_following = self._make(at.before, following, at.slot, "before", True)
            row = [at.own, by_shape, by_place, by_body, by_previous, by_following]
            text = block.text
            if has_noise and len(text) < NOISE_CHARS and self._recurs(text):
                row.append(at.recurring)
            rows.append(row)  # type: ignore[arg-type]
            previous = at.slot
        return rows
