"""The elements of a page as a thesis (Yunis, 2016) judges them: by type, by derived features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from contentspider.page.input.page import read_surroundings
from contentspider.page.tree.text import runs
from contentspider.page.words.names import step_tag
from contentspider.site.judge.slots import step_names
from contentspider_research.dataset.elements import tree_of
from contentspider_research.features.announced import block_ranges, noise_sections
from contentspider_research.features.derived import CONTAINED
from contentspider_research.features.geometry import box_around, geometry, page_box, read_boxes
from contentspider_research.features.thesis_names import CALLED, TAGS, called
from contentspider_research.training import label_blocks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from contentspider.evaluation.corpora import GoldPage
    from contentspider.page.input.page import Page
    from contentspider.page.tree.blocks import PageBlocks
    from contentspider_research.features.geometry import Geometry

TYPES = {
    "p": "p",
    "div": "div",
    "td": "td",
    "th": "td",
    "li": "li",
    **{f"h{level}": "h" for level in range(1, 7)},
    "figcaption": "figcaption",
    "pre": "pre",
}
# A `div` counts if there are no more levels below it; a cell and a `div` only without elements of
# the types below them.
DIV_LEVELS = 2
ABOVE = "a article aside blockquote div dl figure footer form header li main nav ol p section"
ABOVE += " table td ul"
BESIDE = "a blockquote div figure form h1 h2 h3 h4 img input li ol p pre span table ul"
BELOW = "a b blockquote br code div em h2 h3 i img input li ol p span strong table ul"
COLUMNS = [
    *("inner_text_length", "child_text_length", "position", "has_children", "is_link"),
    *("is_uppermost_or_bottommost", "under_noise_header"),
    *(f"is_desc_{name}" for name in CALLED),
    *(f"is_{name}" for name in CALLED),
    *(f"is_desc_tag_{tag}" for tag in ABOVE.split()),
    *(f"is_sib_{tag}" for tag in BESIDE.split()),
    *(f"has_child_{tag}" for tag in BELOW.split()),
    *(f"contains_{text.replace(' ', '_')}" for text in CONTAINED),
]
# What only a rendered page tells. The box of an element is the smallest one around its blocks: its
# own box, unless there are block-level elements below it. The last column tells by boxes what
# `is_uppermost_or_bottommost` tells by characters.
GEOMETRY_COLUMNS = [
    *("normalized_top", "normalized_bottom", "is_middle", "is_leftmost", "is_rightmost"),
    *("is_on_side", "rect_size", "is_uppermost_or_bottommost_by_box"),
]
COLUMN = {name: number for number, name in enumerate(COLUMNS)}
# What is noise whatever the tree says: the source joins the conditions by "and", under which hardly
# an element falls; any of them is meant here.
VETOES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("p", "div", "h"), ("is_desc_tag_a", "is_desc_nav", "is_desc_ad", "is_link")),
    "td": ("is_desc_nav",),
    "li": ("is_desc_ad",),
}
TOP, BOTTOM = 0.03, 0.97


@dataclass(slots=True)
class Elements:
    """The elements of one type on some pages: their features (`COLUMNS`; with geometry then
    `GEOMETRY_COLUMNS`), the words and characters that no element of a type below them has, whether
    they are content, and whether a rule makes them noise.
    """

    features: NDArray[np.float32]
    words: NDArray[np.int64]
    chars: NDArray[np.int64]
    labels: NDArray[np.bool_]
    vetoed: NDArray[np.bool_]

    @classmethod
    def joined(cls, parts: Sequence[Elements]) -> Elements:
        """Return the elements of all *parts*."""
        return cls(
            *(
                np.concatenate([getattr(part, column) for part in parts])
                for column in ("features", "words", "chars", "labels", "vetoed")
            )
        )


def read_elements(page: Page, gold: GoldPage, with_geometry: bool = False) -> dict[str, Elements]:
    """Return the elements of each of `TYPES` on a page that was read with its attributes, or that
    was rendered; content is what has half of its words or more in blocks of the gold.

    Elements of a rendered page that have no area are left out. *with_geometry* is for rendered
    pages.
    """
    content = page.content
    first, end = block_ranges(content)
    words = np.array([len(runs(block.text)) for block in content.blocks], dtype=np.int64)
    chars = np.array([len("".join(block.text.split())) for block in content.blocks])
    is_content, _ = label_blocks(page, gold)
    sums = [
        np.concatenate([[0], np.cumsum(column)]) for column in (words, chars, words * is_content)
    ]
    places = element_geometry(content, first, end)
    chosen: dict[str, list[int]] = {}
    for element in _countable(content):
        has_area = element in places or not content.visuals
        if has_area and sums[0][end[element]] > sums[0][first[element]]:
            chosen.setdefault(TYPES[content.tags[element]], []).append(element)
    own = np.zeros((2, len(content.parents)), dtype=np.int64)
    np.add.at(own.T, _typed(content), np.stack([words, chars], axis=1))
    features = _features(content, first, end, sums[0], sums[1])
    by_type = {}
    for kind, members in chosen.items():
        low = np.array([first[element] for element in members])
        high = np.array([end[element] for element in members])
        size, content_words = (column[high] - column[low] for column in (sums[0], sums[2]))
        rows = features[members]
        if with_geometry:
            boxes = np.array([_geometry_row(places[element]) for element in members])
            rows = np.hstack([rows, boxes.astype(np.float32)])
        vetoes = [COLUMN[name] for name in VETOES.get(kind, ())]
        by_type[kind] = Elements(
            rows,
            own[0][members],
            own[1][members],
            2 * content_words >= size,
            np.any(rows[:, vetoes] > 0, axis=1),
        )
    return by_type


def element_geometry(
    page: PageBlocks, first: Sequence[int], end: Sequence[int]
) -> dict[int, Geometry]:
    """Return where the elements of a rendered page stand that have an area, by element.

    The box of an element is the smallest one around the boxes of its blocks that the browser shows.
    *first* and *end* are its `block_ranges`.
    """
    places: dict[int, Geometry] = {}
    if not page.visuals:
        return places
    boxes = read_boxes(page)
    whole = page_box(page, boxes)
    for element, (start, stop) in enumerate(zip(first, end, strict=True)):
        shown = [box for box in boxes[start:stop] if box.right > box.left and box.bottom > box.top]
        if shown:
            places[element] = geometry(box_around(shown), whole)
    return places


def _geometry_row(place: Geometry) -> list[float]:
    """Return the values of `GEOMETRY_COLUMNS`."""
    top, bottom, *sides, size = place
    values = (top, bottom, *sides, place.is_on_side, size, place.is_uppermost_or_bottommost)
    return [float(value) for value in values]


def _typed(page: PageBlocks) -> list[int]:
    """Return for each block the innermost element of the types around it, so that no word counts
    twice; 0, the body, if there is none.
    """
    holder = [0] * len(page.parents)
    for element in range(1, len(page.parents)):
        is_typed = page.tags[element] in TYPES
        holder[element] = element if is_typed else holder[page.parents[element]]
    return [holder[block.container] for block in page.blocks]


def _countable(page: PageBlocks) -> list[int]:
    """Return the elements that count, by what is below them; levels are those of elements that are
    not inline.
    """
    levels = [0] * len(page.parents)
    has_typed = [False] * len(page.parents)
    for element in range(len(page.parents) - 1, 0, -1):
        parent = page.parents[element]
        levels[parent] = max(levels[parent], levels[element] + 1)
        has_typed[parent] |= has_typed[element] or page.tags[element] in TYPES
    return [
        element
        for element, tag in enumerate(page.tags)
        if tag in TYPES
        and not (tag in ("div", "td", "th") and has_typed[element])
        and not (tag == "div" and levels[element] > DIV_LEVELS)
    ]


def _features(
    page: PageBlocks,
    first: Sequence[int],
    end: Sequence[int],
    words: NDArray[np.int64],
    chars: NDArray[np.int64],
) -> NDArray[np.float32]:
    """Return the derived features of each element; *words* and *chars* are sums over the blocks."""
    features = np.zeros((len(page.parents), len(COLUMNS)), dtype=np.float32)
    # A page that was rendered without its HTML file has only the tags in its selectors.
    surroundings = page.around or read_surroundings(tree_of(page))
    noisy = noise_sections(page)
    total = max(int(chars[-1]), 1)
    names_of: list[frozenset[str]] = []
    above: list[frozenset[str]] = []
    for element, (parent, path) in enumerate(zip(page.parents, page.paths, strict=True)):
        around = surroundings[element]
        names_of.append(_called(path.rpartition("/")[2]))
        above.append(above[parent] | names_of[parent] if parent >= 0 else frozenset())
        start, stop = first[element], end[element]
        if start >= stop:
            continue
        text = " ".join(block.text for block in page.blocks[start:stop]).lower()
        names = [
            *(f"is_desc_{name}" for name in above[element]),
            *(f"is_{name}" for name in names_of[element]),
            *(f"is_desc_tag_{tag}" for tag in around.above),
            *(f"is_sib_{tag}" for tag in around.beside),
            *(f"has_child_{tag}" for tag in around.below),
            *(f"contains_{said.replace(' ', '_')}" for said in CONTAINED if said in text),
        ]
        if around.below:
            names.append("has_children")
        if around.is_link:
            names.append("is_link")
        if chars[start] < TOP * total or chars[stop] > BOTTOM * total:
            names.append("is_uppermost_or_bottommost")
        row = features[element]
        row[[COLUMN[name] for name in names if name in COLUMN]] = 1
        row[COLUMN["inner_text_length"]] = words[stop] - words[start]
        row[COLUMN["child_text_length"]] = around.own_words
        row[COLUMN["position"]] = chars[start] / total
        row[COLUMN["under_noise_header"]] = noisy[start]
    return features


def _called(step: str) -> frozenset[str]:
    """Return what a step's tag, id and classes call it."""
    tag = step_tag(step)
    found = {said for name in step_names(step) for said in called(name[1:])}
    return frozenset(found | {tag} if tag in TAGS else found)
