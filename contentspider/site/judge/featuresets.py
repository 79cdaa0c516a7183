"""Feature sets of the per-site classifier: each gives the features of the blocks of a page.

A number becomes the bin that it falls in, so that one linear classifier and one model file serve
all of them, and what was learned can be read. ``slots`` is the default; the others are those of the
papers: Zhou and Mashuq (2013, section 3.3 and tables 4 to 7), Uzun, Agun and Yerlikaya (2013,
section 4.2), and a thesis on features that are derived from the tree.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from contentspider.page.words.names import step_tag
from contentspider.site.derived import derived
from contentspider.site.judge.rows import MAX_GROUPS, Group, SlotFeatures
from contentspider.site.judge.wordcounts import (
    CELLS,
    LAYOUT,
    bin_of,
    count_unit_words,
    count_words,
    named,
    units,
)
from contentspider.site.slots import step_names

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from contentspider.page.blocks import PageBlocks
    from contentspider.site.judge.rows import Feature, Row
    from contentspider.site.slots import SlotTable

Features = list[list[tuple[str, ...]]]
# The words of JavaScript that event handlers and javascript: addresses are made of.
SCRIPT_WORD = re.compile(
    r"\b(?:function|return|this|var|let|const|new|if|else|for|while|true|false|null|void|typeof|window|document|location|"
    r"open|close|event|submit|click|alert|confirm|print|href|value|form|style|display|src|getElementById|getElementsBy\w+|"
    r"querySelector|addEventListener|preventDefault|setTimeout|history|navigator|screen|parent|self|top|ga|gtag|dataLayer|jQuery)\b|\$(?=\()"
)
SCRIPT_ATTRIBUTE = re.compile(r"on[a-z]+$", re.IGNORECASE)
# Values of this length choose among a few (type, rel, align); longer ones are the page's own.
MAX_VALUE_CHARS = 16
CLASS = re.compile(r"\.[a-zA-Z][a-zA-Z0-9_-]+")
OWN_VALUES = frozenset(["style", "href", "src", "title", "alt"])


def text_length(page: PageBlocks, table: SlotTable) -> Features:
    """Name the length of the text (table 4)."""
    return [[("chars", f"{bin_of(len(block.text))}")] for block in page.blocks]


def tag_path(page: PageBlocks, table: SlotTable) -> Features:
    """Name the tags from the body to the block (table 5)."""
    paths = {block.path: "/".join(map(step_tag, block.path.split("/"))) for block in page.blocks}
    return [[("tags", paths[block.path])] for block in page.blocks]


def selectors(page: PageBlocks, table: SlotTable) -> Features:
    """Name the CSS selectors ``tag#id`` and ``tag.class`` of the block and of all elements above it
    (table 6).
    """

    def names(path: str) -> list[Feature]:
        steps = table.slot(path).split("/")[1:]
        return sorted(
            {("selector", step_tag(step) + name) for step in steps for name in step_names(step)}
        )

    rows = {block.path: names(block.path) for block in page.blocks}
    return [rows[block.path] for block in page.blocks]


def selectors_path(page: PageBlocks, table: SlotTable) -> Features:
    """Name the way from the body to the block as one value (table 6 as published): each step's tag
    and its classes, sorted, however few pages have them; no ids.
    """

    def step(key: str) -> str:
        return step_tag(key) + "".join(sorted(filter(CLASS.fullmatch, step_names(key))))

    rows: dict[str, list[Feature]] = {
        path: [("selectors", "/".join(map(step, path.split("/"))))]
        for path in {block.path for block in page.blocks}
    }
    return [rows[block.path] for block in page.blocks]


def tags(page: PageBlocks, table: SlotTable) -> Features:
    """Name the block's tag and the tags above it, without their order."""

    def names(path: str) -> list[Feature]:
        steps = [step_tag(step) for step in path.split("/")]
        return [("tag", steps[-1]), *sorted({("above", tag) for tag in steps[:-1]})]

    rows = {block.path: names(block.path) for block in page.blocks}
    return [rows[block.path] for block in page.blocks]


def classes(page: PageBlocks, table: SlotTable) -> Features:
    """Name the CSS classes of the block and of the elements above it."""

    def names(path: str) -> list[Feature]:
        *above, own = table.slot(path).split("/")
        found = {("class", name[1:]) for name in step_names(own) if name[0] == "."}
        return sorted(
            found
            | {
                ("above class", name[1:])
                for step in above
                for name in step_names(step)
                if name[0] == "."
            }
        )

    rows = {block.path: names(block.path) for block in page.blocks}
    return [rows[block.path] for block in page.blocks]


def _per_container(page: PageBlocks, own: Sequence[Collection[str]], family: str) -> Features:
    """Return for each block the names of its element as features of *family*, and as "above" it
    those of the elements around it.
    """
    above: list[frozenset[str]] = [frozenset()] * len(page.parents)
    for element in range(1, len(page.parents)):
        parent = page.parents[element]
        above[element] = above[parent].union(own[parent])
    rows: dict[int, list[Feature]] = {
        holder: [
            *((family, name) for name in sorted(own[holder])),
            *((f"above {family}", name) for name in sorted(above[holder])),
        ]
        for holder in {block.container for block in page.blocks}
    }
    return [rows[block.container] for block in page.blocks]


def attributes(page: PageBlocks, table: SlotTable) -> Features:
    """Name the attributes of the markup (but for id, class and handlers), with their values where
    these are short.
    """
    own: list[set[str]] = [set() for _ in page.parents]
    for element, found in enumerate(page.attributes):
        for name, value in found:
            if name in ("id", "class") or SCRIPT_ATTRIBUTE.match(name):
                continue
            chooses = (
                name not in OWN_VALUES
                and len(value) <= MAX_VALUE_CHARS
                and not any(character.isdigit() for character in value)
            )
            own[element].add(f"{name}={value}" if chooses else name)
    return _per_container(page, own, "attribute")


def attributes_names(page: PageBlocks, table: SlotTable) -> Features:
    """Name the attributes of the block's own element, whatever their values are."""
    if not page.attributes:
        return [[] for _ in page.blocks]
    return [
        sorted({("own attribute", name) for name, _ in page.attributes[block.container]})
        for block in page.blocks
    ]


def scripts(page: PageBlocks, table: SlotTable) -> Features:
    """Name the JavaScript keywords in event handlers and ``javascript:`` addresses of the block and
    of the elements above it.
    """
    own: list[set[str]] = [set() for _ in page.parents]
    for element, found in enumerate(page.attributes):
        for name, value in found:
            if SCRIPT_ATTRIBUTE.match(name):
                own[element].update([name.lower(), *SCRIPT_WORD.findall(value)])
            elif name == "href" and value.lstrip().lower().startswith("javascript:"):
                own[element].update(["javascript:", *SCRIPT_WORD.findall(value)])
    return _per_container(page, own, "script")


def uzun(page: PageBlocks, table: SlotTable) -> Features:
    """Name the six numbers of Uzun et al.: words, their share of the page's, links, words in links,
    these a link, and their ratio to all words.
    """
    return [list(named(count)) for count in count_words(page)]


def uzun_blocks(page: PageBlocks, table: SlotTable, tags: Collection[str] = CELLS) -> Features:
    """Name the six numbers of the paper's own block, or of that by other *tags*, around each."""
    counts = count_unit_words(page, tags)
    return [list(named(counts[unit])) for unit in units(page, tags)]


def visual(page: PageBlocks, table: SlotTable) -> Features:
    """Name the computed CSS properties and the box of a rendered block (table 7); a page that was
    not rendered has none.
    """
    if not page.visuals:
        return [[] for _ in page.blocks]
    rows = []
    for properties in page.visuals:
        row: list[Feature] = []
        for name, value in properties.items():
            if name.startswith("box ") and name != "box width":
                # Where on the page, within 100 pixels.
                row.append(("box", name.removeprefix("box "), f"{int(float(value)) // 100}"))
            else:
                row.append(("css", name, value))
        rows.append(row)
    return rows


def css(page: PageBlocks, table: SlotTable) -> Features:
    """Name the computed CSS properties alone, without the box (table 7 as published)."""
    return [
        [name for name in row if name[0] == "css" and name[1] != "box width"]
        for row in visual(page, table)
    ]


def text_chars(page: PageBlocks) -> list[tuple[float, ...]]:
    """Return how many characters each block has that are not white space."""
    return [(float(sum(map(len, block.text.split()))),) for block in page.blocks]


class FeatureSet(NamedTuple):
    """A feature set: what gives it, and whether the markup's attributes must have been kept.

    *numbers* gives its features as published where these are numbers, of which `features` are
    bins: models are made of names, only experiments ask for the numbers. What is a *part* of
    another set is not in ``all``.
    """

    features: Callable[[PageBlocks, SlotTable], Features]
    needs_attributes: bool = False
    numbers: Callable[[PageBlocks], list[tuple[float, ...]]] | None = None
    part: bool = False


FEATURE_SETS: dict[str, FeatureSet] = {
    "text-length": FeatureSet(text_length, numbers=text_chars),
    "tag-path": FeatureSet(tag_path),
    "selectors": FeatureSet(selectors),
    "selectors-path": FeatureSet(selectors_path, part=True),
    "visual": FeatureSet(visual),
    "css": FeatureSet(css, part=True),
    "tags": FeatureSet(tags),
    "attributes": FeatureSet(attributes, needs_attributes=True),
    "attributes-names": FeatureSet(attributes_names, needs_attributes=True, part=True),
    "classes": FeatureSet(classes),
    "scripts": FeatureSet(scripts, needs_attributes=True),
    "uzun": FeatureSet(uzun),
    "uzun-cells": FeatureSet(uzun_blocks),
    "uzun-layout": FeatureSet(partial(uzun_blocks, tags=LAYOUT)),
    "derived": FeatureSet(derived, needs_attributes=True),
}
# The default, which knows the site's repeated texts too, and all others together.
SLOTS, ALL = "slots", "all"
ALL_SETS = tuple(name for name, feature_set in FEATURE_SETS.items() if not feature_set.part)
FEATURE_SET_NAMES = (SLOTS, *FEATURE_SETS, ALL)


def parse_feature_sets(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of single sets, ``all`` spelled out; an unknown name raises ValueError."""
    if unknown := [name for name in names if name not in FEATURE_SET_NAMES]:
        raise ValueError(
            f"feature set {unknown[0]!r} is unknown; use one of {', '.join(FEATURE_SET_NAMES)}"
        )
    wanted = {single for name in names for single in (ALL_SETS if name == ALL else [name])}
    if not wanted:
        raise ValueError(f"no feature set is named; use one of {', '.join(FEATURE_SET_NAMES)}")
    return tuple(name for name in (SLOTS, *FEATURE_SETS) if name in wanted)


def needs_attributes(names: Sequence[str]) -> bool:
    """Tell whether one of the sets needs pages that were read with their markup's attributes."""
    return any(FEATURE_SETS[name].needs_attributes for name in names if name != SLOTS)


class SiteFeatures:
    """The rows of the blocks of one site's pages, by one or several feature sets.

    *names* are the sets. *noise_texts* are the keys of texts that recur as the site's boilerplate.

    >>> from contentspider.page.input.page import Page
    >>> from contentspider.site.slots import SlotTable
    >>> page = Page.from_html("<div class=text><p>Tea is made of leaves.</p></div>")
    >>> SiteFeatures(["tags"], SlotTable.of_names([".text"])).rows(page.content)
    [[Group(tag p, above body, above div)]]
    """

    def __init__(
        self,
        names: Sequence[str],
        table: SlotTable,
        noise_texts: frozenset[str] = frozenset(),
    ) -> None:
        self.table = table
        self._slots = SlotFeatures(table, noise_texts) if SLOTS in names else None
        self._sets = [FEATURE_SETS[name].features for name in names if name != SLOTS]
        self._groups: dict[tuple[Feature, ...], Group] = {}

    def rows(self, page: PageBlocks) -> list[Row]:
        """Return the row of each block of a page."""
        rows: list[Row] = self._slots.rows(page) if self._slots else [[] for _ in page.blocks]
        if len(self._groups) >= MAX_GROUPS:
            self._groups.clear()
        for features in self._sets:
            for row, found in zip(rows, features(page, self.table), strict=True):
                if found:
                    row.append(self._group(tuple(found)))
        return rows

    def _group(self, features: tuple[Feature, ...]) -> Group:
        group = self._groups.get(features)
        if group is None:
            group = self._groups[features] = Group(features)
        return group
