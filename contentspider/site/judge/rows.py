# cython: language_level=3, annotation_typing=False
"""Rows: the features of a block, as the classifier of a site reads them.

A feature is a tuple of its family and its values: ``("slot", "body/div/p")``, ``("length", "4")``,
``("after", "body/nav/a", "body/div/p")``. The features describe the slot of a block, the slots of
its neighbours, and the length, links and ending of its text. Features that always occur together
form a `Group`, which is made once per site. On a page with a known template a row needs only a few
look-ups, and so does the sum of its weights in a linear classifier (`weigh`).

This module is compiled, with the types in rows.pxd.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

from contentspider.page.tree.text import SENTENCE_END
from contentspider.page.words.names import step_tag
from contentspider.site.judge.slots import step_names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from contentspider.page.tree.blocks import Block, PageBlocks
    from contentspider.site.judge.slots import SlotTable

    Feature = tuple[str, ...]
    Row = list["Group"]

SHAPES = 7 * 4 * 2
# Elements of the layout. Their positions among siblings tell a menu's table cell from an article's.
LAYOUT_TAGS = frozenset(["td", "table", "div", "section", "article", "main", "center"])
POSITION_DIGITS = "01234"
SENTENCE_ENDS = "".join(sorted(SENTENCE_END))
# Texts of this length are not looked up among the boilerplate: they hardly recur.
NOISE_CHARS = 400
# Limits of the caches of one site, about 50 MB at worst. Sites with new ids on each page reach
# them.
MAX_PATHS, MAX_PATH_CHARS, MAX_GROUPS, MAX_TEXTS = 20_000, 5_000_000, 100_000, 10_000
START, END = "start", "end"


class Group:
    """Features that always occur together: *features*, and all features of the group *above*.

    Iterating a group gives all of these features.
    """

    def __init__(self, features: tuple[Feature, ...], above: Group | None = None) -> None:
        self.features = features
        self.above = above
        # `total` caches the sum of these weights over all features of the group.
        self.weights: dict[Feature, float] | None = None
        self.total = 0.0

    def __iter__(self) -> Iterator[Feature]:
        features = list(self.features)
        group = self.above
        while group is not None:
            features = [*group.features, *features]
            group = group.above
        return iter(features)

    def __repr__(self) -> str:
        return f"Group({', '.join([' '.join(feature) for feature in self])})"


def weigh(rows: list[Row], weights: dict[Feature, float], intercept: float) -> list[float]:
    """Return for each row the sum of *intercept* and the *weights* of its features."""
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
        weight = weights.get(feature)
        if weight is not None:
            total += weight
    group.weights = weights
    group.total = total
    return total


def text_key(text: str) -> str:
    """Return a short key of a text: 16 hexadecimal digits. Models store it, so it never changes."""
    return blake2b(text.encode("utf-8", "replace"), digest_size=8).hexdigest()


def layout_positions(page: PageBlocks) -> list[str]:
    """Return for each block the positions of the layout elements around it, among their siblings.

    The positions are one string, with a digit for each layout element, the outermost first. Later
    positions than the fifth have the digit of the fifth.
    """
    parents, tags, positions = page.parents, page.tags, page.positions
    last = len(POSITION_DIGITS) - 1
    by_element = [""]
    for index in range(1, len(tags)):
        parent = parents[index]
        digits = by_element[parent]
        if tags[index] in LAYOUT_TAGS:
            position = positions[index]
            digits += POSITION_DIGITS[min(last, position)]
        by_element.append(digits)
    by_block = []
    for block in page.blocks:
        container = block.container
        by_block.append(by_element[container])
    return by_block


def shape(block: Block) -> int:
    """Return a number that encodes the bins of a block's length and link share, and its ending.

    The number is below `SHAPES`; `shape_features` decodes it.
    """
    text = block.text
    chars = len(text)
    length = (chars >= 10) + (chars >= 25) + (chars >= 50)
    length += (chars >= 80) + (chars >= 140) + (chars >= 300)
    share = block.link_chars / chars
    links = (share >= 0.02) + (share >= 0.3) + (share >= 0.9)
    end = text[-1]
    return 8 * length + 2 * links + (end in SENTENCE_ENDS)


def shape_features(code: int, slot: str) -> tuple[Feature, ...]:
    """Return the features of a `shape`, by themselves and combined with the slot."""
    length, links_and_ending = divmod(code, 8)
    links, ends = divmod(links_and_ending, 2)
    name = f"{length}{links}{ends}"
    return (
        ("length", f"{length}"),
        ("links", f"{links}"),
        ("ends", f"{ends}"),
        ("shape", name),
        ("shaped", name, slot),
        ("linked", f"{links}", slot),
    )


class SlotNode:
    """A node in the tree of a site's slots, with the groups of features of the blocks in its slot.

    *step* is the last step of the slot, *above* the node of its parent.
    """

    def __init__(self, step: str, above: SlotNode | None) -> None:
        self.step = step
        self.above = above
        self.below: dict[str, SlotNode] = {}
        tag = step_tag(step)
        self.slot: str = f"{above.slot}/{step}" if above is not None else step
        self.tags: str = f"{above.tags}/{tag}" if above is not None else tag
        inherited: list[Feature] = []
        # A feature of all slots would tell nothing, so the body is left out.
        if above is not None and above.above is not None:
            inherited.append(("under", above.slot))
        node = above
        while node is not None and node.step != step:
            node = node.above
        if node is None:  # a step that occurs twice in a slot counts once
            inherited += [("has", tag + name) for name in step_names(step)]
        # The features that all slots below this one have, too.
        self.inherited: Group = Group(
            tuple(inherited), above.inherited if above is not None else None
        )
        self.own: Group | None = None  # set by `complete`
        self.recurring: Group | None = None
        self.shapes: list[Group | None] = []
        self.positions: dict[str, Group] = {}
        self.bodies: dict[str, Group] = {}
        self.after: dict[str, Group] = {}
        self.before: dict[str, Group] = {}

    def complete(self) -> None:
        """Make the features of the blocks in this slot; nodes without blocks do not need them."""
        above = self.above
        tag = step_tag(self.step)
        end = f"{above.step}/{self.step}" if above is not None else self.step
        self.own = Group(
            (("slot", self.slot), ("tags", self.tags), ("end", end), ("tag", tag)), self.inherited
        )
        self.recurring = Group((("recurs",), ("recurs", self.slot)))
        self.shapes = [None] * SHAPES


class SlotFeatures:
    """Makes the rows of a site's blocks by the feature set ``slots``.

    *noise_texts* are the keys (`text_key`) of the site's boilerplate texts.
    """

    def __init__(self, table: SlotTable, noise_texts: frozenset[str]) -> None:
        self.table = table
        self.noise_texts = noise_texts
        self._texts: dict[str, bool] = {}
        self._clear_nodes()

    def _clear_nodes(self) -> None:
        self._paths: dict[str, SlotNode] = {}
        self._roots: dict[str, SlotNode] = {}
        self._chars = 0
        self.size = 0  # the number of groups

    def _node_of(self, path: str) -> SlotNode:
        """Return the node of a path's slot, and cache it for the path."""
        steps = path.split("/")
        tag = step_tag(steps[0])  # the names of ``body`` are a feature of their own
        node = self._roots.get(tag)
        if node is None:
            node = self._roots[tag] = SlotNode(tag, None)
        for index in range(1, len(steps)):
            raw_step = steps[index]
            child = node.below.get(raw_step)
            if child is None:
                child = node.below[raw_step] = self._child(node, raw_step)
                self._chars += len(raw_step)
            node = child
        if node.own is None:
            node.complete()
        self._chars += len(path)
        self._paths[path] = node
        return node

    def _child(self, parent: SlotNode, raw_step: str) -> SlotNode:
        """Return the node below *parent* for a step with all its names."""
        step = self.table.step(raw_step)
        child = parent.below.get(step)
        if child is None:  # a known child differs only in names that the template does not use
            child = parent.below[step] = SlotNode(step, parent)
            self._chars += len(child.slot) + len(child.tags)
            self.size += 3
        return child

    def _make_group(
        self, groups: dict[str, Group], value: str, slot: str, family: str, with_plain: bool
    ) -> Group:
        """Make the group for a value of a family in a slot.

        It has the feature of the value and the slot; *with_plain* adds the feature of the value
        by itself.
        """
        self.size += 1
        crossed = (family, value, slot)
        group = groups[value] = Group(((family, value), crossed) if with_plain else (crossed,))
        return group

    def _make_shape(self, node: SlotNode, code: int) -> Group:
        self.size += 1
        group = node.shapes[code] = Group(shape_features(code, node.slot))
        return group

    def _is_noise(self, text: str) -> bool:
        is_noise = self._texts.get(text)
        if is_noise is None:
            if len(self._texts) >= MAX_TEXTS:
                self._texts.clear()
            is_noise = self._texts[text] = text_key(text) in self.noise_texts
        return is_noise

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
            self._clear_nodes()
        body = self.table.body(page.paths[0])
        has_noise = len(self.noise_texts) > 0
        nodes = self._nodes(blocks)
        positions = layout_positions(page)
        rows: list[Row] = []
        previous = START
        last = len(nodes) - 1
        for index, block in enumerate(blocks):
            node = nodes[index]
            following = END
            if index < last:
                next_node = nodes[index + 1]
                following = next_node.slot
            row = self._row(node, shape(block), positions[index], body, previous, following)
            text = block.text
            if has_noise and len(text) < NOISE_CHARS and self._is_noise(text):
                row.append(node.recurring)  # type: ignore[arg-type]
            rows.append(row)
            previous = node.slot
        return rows

    def _nodes(self, blocks: list[Block]) -> list[SlotNode]:
        """Return the node of each block's slot."""
        nodes: list[SlotNode] = []
        for block in blocks:
            node = self._paths.get(block.path)
            nodes.append(self._node_of(block.path) if node is None else node)
        return nodes

    def _row(
        self, node: SlotNode, code: int, position: str, body: str, previous: str, following: str
    ) -> Row:
        """Return the row of a block in the slot of *node*, without the feature of boilerplate.

        *code* is the block's `shape`, *position* its `layout_positions`, *body* the slot of
        ``body``; *previous* and *following* are the slots of its neighbours.
        """
        by_shape = node.shapes[code]
        if by_shape is None:
            by_shape = self._make_shape(node, code)
        by_position = node.positions.get(position)
        if by_position is None:
            by_position = self._make_group(node.positions, position, node.slot, "place", False)
        by_body = node.bodies.get(body)
        if by_body is None:
            by_body = self._make_group(node.bodies, body, node.slot, "body", False)
        by_previous = node.after.get(previous)
        if by_previous is None:
            by_previous = self._make_group(node.after, previous, node.slot, "after", True)
        by_following = node.before.get(following)
        if by_following is None:
            by_following = self._make_group(node.before, following, node.slot, "before", True)
        return [node.own, by_shape, by_position, by_body, by_previous, by_following]  # type: ignore[list-item]
