"""The papers' feature sets for the per-site classifier (``--features NAME``).

They are those of Zhou and Mashuq (2013, section 3.3 and tables 4 to 7), Uzun, Agun and Yerlikaya
(2013, section 4.2), and a thesis on features that are derived from the tree.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from contentspider.page.words.names import step_tag
from contentspider.site.judge.featuresets import SLOTS, FeatureSet
from contentspider.site.judge.slots import step_names
from contentspider_research.features.derived import derived
from contentspider_research.features.geometry import geometry, page_box, read_boxes
from contentspider_research.features.wordcounts import (
    CELLS,
    LAYOUT,
    bin_of,
    count_unit_words,
    count_words,
    named,
    units,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from contentspider.page.tree.blocks import PageBlocks
    from contentspider.site.judge.featuresets import Features
    from contentspider.site.judge.rows import Feature
    from contentspider.site.judge.slots import SlotTable

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


def geometry_names(page: PageBlocks, table: SlotTable) -> Features:
    """Name where a rendered block stands on its page: the thesis' numbers, by tenths of the page's
    height and powers of two of the box's area.
    """
    if not page.visuals:
        return [[] for _ in page.blocks]
    boxes = read_boxes(page)
    whole = page_box(page, boxes)
    rows: list[list[Feature]] = []
    for box, visual in zip(boxes, page.visuals, strict=True):
        if not visual:
            rows.append([])
            continue
        found = geometry(box, whole)
        row: list[Feature] = [
            ("geometry", "top", f"{int(10 * found.normalized_top)}"),
            ("geometry", "bottom", f"{int(10 * found.normalized_bottom)}"),
            ("geometry", "size", f"{bin_of(int(found.rect_size))}"),
        ]
        flags = ("is_middle", "is_leftmost", "is_rightmost", "is_on_side")
        names = (*flags, "is_uppermost_or_bottommost")
        rows.append(row + [("geometry", name) for name in names if getattr(found, name)])
    return rows


def text_chars(page: PageBlocks) -> list[tuple[float, ...]]:
    """Return how many characters each block has that are not white space."""
    return [(float(sum(map(len, block.text.split()))),) for block in page.blocks]


# Entry points name these (research/pyproject.toml).
TEXT_LENGTH = FeatureSet(text_length)
TAG_PATH = FeatureSet(tag_path)
SELECTORS = FeatureSet(selectors)
SELECTORS_PATH = FeatureSet(selectors_path)
VISUAL = FeatureSet(visual)
CSS = FeatureSet(css)
TAGS = FeatureSet(tags)
ATTRIBUTES = FeatureSet(attributes, needs_attributes=True)
ATTRIBUTES_NAMES = FeatureSet(attributes_names, needs_attributes=True)
CLASSES = FeatureSet(classes)
SCRIPTS = FeatureSet(scripts, needs_attributes=True)
UZUN = FeatureSet(uzun)
UZUN_CELLS = FeatureSet(uzun_blocks, needs_attributes=True)
UZUN_LAYOUT = FeatureSet(partial(uzun_blocks, tags=LAYOUT), needs_attributes=True)
DERIVED = FeatureSet(derived, needs_attributes=True)
GEOMETRY = FeatureSet(geometry_names)
FEATURE_SETS = {
    "text-length": TEXT_LENGTH,
    "tag-path": TAG_PATH,
    "selectors": SELECTORS,
    "selectors-path": SELECTORS_PATH,
    "visual": VISUAL,
    "css": CSS,
    "tags": TAGS,
    "attributes": ATTRIBUTES,
    "attributes-names": ATTRIBUTES_NAMES,
    "classes": CLASSES,
    "scripts": SCRIPTS,
    "uzun": UZUN,
    "uzun-cells": UZUN_CELLS,
    "uzun-layout": UZUN_LAYOUT,
    "derived": DERIVED,
    "geometry": GEOMETRY,
}
# The sets that the papers give as numbers, of which the features are bins.
NUMBERS = {"text-length": text_chars}
# Sets that are no part of another one, and all sets.
ALL_SETS = tuple(
    name
    for name in FEATURE_SETS
    if name not in ("selectors-path", "css", "attributes-names", "geometry")
)
ALL = "all"


def spelled_out(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of single sets, those of ``all`` in its place."""
    wanted = {single for name in names for single in (ALL_SETS if name == ALL else [name])}
    return tuple(name for name in (SLOTS, *FEATURE_SETS) if name in wanted)
