"""The rows of the data set: what is known of each element, or block, of one page."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from contentspider.page.tree.text import runs
from contentspider.page.words.names import HEADINGS
from contentspider_research.dataset.elements import (
    NOTHING,
    nearest_headers,
    read_nodes,
    sibling_tags,
    tree_of,
)
from contentspider_research.dataset.pictures import find_pictures, rendered_pictures
from contentspider_research.features.announced import block_ranges, noise_sections
from contentspider_research.features.derived import CONTAINED
from contentspider_research.features.geometry import (
    BOTTOM,
    TOP,
    box_around,
    geometry,
    page_box,
    read_boxes,
)
from contentspider_research.features.thesis_names import CALLED
from contentspider_research.features.wordcounts import WordCounts, block_words

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from contentspider.site.judge.slots import SlotTable
    from contentspider_research.dataset.elements import Node
    from contentspider_research.dataset.sources import Read
    from contentspider_research.features.geometry import Box, Geometry

    Value = str | int | float | None
    Record = dict[str, Value]

ELEMENTS, BLOCKS = "elements", "blocks"
UNITS = (ELEMENTS, BLOCKS)

# The columns of families, with what each tells.
SIBLINGS = [(f"is_sib_{tag}", tag) for tag in ("a", "input", "img", "p")]
TEXTS = [(f"contains_{text.replace(' ', '_')}", text) for text in CONTAINED]
CHILDREN = [(f"has_child_{tag}", tag) for tag in ("a", "img", "p")]

TEXT, TRUTH, INTEGER, NUMBER = "text", "truth", "integer", "number"
# Raw as the thesis has them, derived, and ours; the order is that of the file.
COLUMNS: dict[str, str] = {
    **dict.fromkeys(("site", "url", "title", "meta_description"), TEXT),
    "doc_dom_depth": INTEGER,
    **dict.fromkeys(("ancestors_names", "ancestors_ids", "ancestors_classes"), TEXT),
    **dict.fromkeys(("siblings_names", "siblings_ids", "siblings_classes"), TEXT),
    "nearest_header": TEXT,
    **dict.fromkeys(("normalized_top", "normalized_bottom"), NUMBER),
    **dict.fromkeys(("is_middle", "is_leftmost", "is_rightmost"), TRUTH),
    **dict.fromkeys(("num_siblings", "distance_to_root"), INTEGER),
    **dict.fromkeys(("tag_name", "element_id", "class_name"), TEXT),
    **dict.fromkeys(("children_names", "children_ids", "children_classes"), TEXT),
    **dict.fromkeys(("image_url", "image_alt"), TEXT),
    "rect_size": NUMBER,
    **dict.fromkeys(("num_child_elements", "dom_subtree_depth"), INTEGER),
    **dict.fromkeys(("inner_text", "child_text"), TEXT),
    "is_desc_a": TRUTH,
    **dict.fromkeys([name for name, _ in SIBLINGS], TRUTH),
    **dict.fromkeys([f"is_desc_{name}" for name in CALLED], TRUTH),
    **dict.fromkeys([f"is_{name}" for name in CALLED], TRUTH),
    **dict.fromkeys([name for name, _ in (*TEXTS, *CHILDREN)], TRUTH),
    **dict.fromkeys(("inner_text_length", "child_text_length"), INTEGER),
    **dict.fromkeys(("has_children", "is_link", "is_uppermost_or_bottommost"), TRUTH),
    **dict.fromkeys(("is_on_side", "is_thumbnail"), TRUTH),
    **dict.fromkeys(("words", "words_in_links", "links"), INTEGER),
    **dict.fromkeys(("density", "words_per_link", "link_ratio", "stop_word_ratio"), NUMBER),
    "under_noise_header": INTEGER,
    "slot": TEXT,
    **dict.fromkeys(("cluster", "relevance"), INTEGER),
    **dict.fromkeys(("contrast", "prior", "vote"), NUMBER),
    "label": INTEGER,
    "label_source": TEXT,
}
DIGITS = 6


@dataclass(frozen=True, slots=True)
class Judged:
    """What is known of the blocks of one page, an entry a block; a label is 1 (main), 0 (noise) or
    -1 (unknown).
    """

    clusters: Sequence[int]
    relevance: NDArray[Any]
    contrast: NDArray[Any]
    prior: NDArray[Any]
    vote: NDArray[Any]
    labels: NDArray[Any]
    label_source: str


def page_records(
    read: Read,
    judged: Judged,
    table: SlotTable,
    *,
    site: str,
    site_names: Collection[str],
    language: str = "",
    units: str = ELEMENTS,
    images: bool = False,
) -> Iterator[Record]:
    """Yield the records of a page, each with all `COLUMNS` in their order; unknown values are None.

    A record is an element with text that is not inline, or, depending on *units*, a block. With
    *images*, the pictures follow. A picture has the label of the innermost element with text around
    it. *language* is for pages that name none: stop words are known only for English.
    """
    page, content = read.page, read.page.content
    marked_up = read.elements()
    elements = marked_up or tree_of(content)
    root = elements[0].getroottree().getroot()
    picture_boxes = rendered_pictures(elements, read) if images else {}
    nodes = read_nodes(root)
    language = page.hints.language or language
    sums = _Sums(read, judged, is_english=language.startswith("en"))
    first, end = block_ranges(content)
    headers = [
        element
        for element, tag in enumerate(content.tags)
        if tag in HEADINGS and first[element] < end[element]
    ]
    nearest = [
        sums.text(first[header], end[header]) if header >= 0 else None
        for header in nearest_headers(content, headers)
    ]
    levels = noise_sections(content, site_names)
    slots = [table.slot(path) for path in content.paths]
    owners = [block.container for block in content.blocks]
    boxes = read_boxes(content)
    whole = page_box(content, boxes) if boxes else None
    head: Record = {
        "site": site,
        "url": page.url,
        "title": page.hints.titles[0] if page.hints.titles else None,
        "meta_description": page.hints.descriptions[0] if page.hints.descriptions else None,
        "doc_dom_depth": nodes[root].height,
    }
    if units == BLOCKS:
        spots = [(owner, number, number + 1) for number, owner in enumerate(owners)]
    else:
        spots = [
            (element, first[element], end[element])
            for element in range(1, len(elements))
            if first[element] < end[element]
        ]
    counted: dict[Node, Counter[str]] = {}
    for element, start, stop in spots:
        node = nodes[elements[element]]
        text = sums.text(start, stop)
        own_text = node.text
        counts = sums.words(start, stop)
        if marked_up and units == ELEMENTS:
            counts = counts._replace(links=node.links)
        lower = text.lower()
        place = _place(boxes, whole, start, stop)
        under = levels[start] if all(levels[start:stop]) else 0
        yield {
            **dict.fromkeys(COLUMNS),
            **head,
            **_names_of(node, counted),
            "nearest_header": nearest[element],
            "normalized_top": round(place.normalized_top, DIGITS) if place else None,
            "normalized_bottom": round(place.normalized_bottom, DIGITS) if place else None,
            "is_middle": int(place.is_middle) if place else None,
            "is_leftmost": int(place.is_leftmost) if place else None,
            "is_rightmost": int(place.is_rightmost) if place else None,
            "rect_size": place.rect_size if place else None,
            "inner_text": text,
            "child_text": own_text or None,
            **{name: int(each in lower) for name, each in TEXTS},
            **{name: int(tag in node.child_tags) for name, tag in CHILDREN},
            "inner_text_length": counts.words,
            "child_text_length": len(runs(own_text)),
            "has_children": int(bool(node.child_tags)),
            "is_link": int(node.is_link),
            "is_uppermost_or_bottommost": int(
                place.is_uppermost_or_bottommost if place else sums.is_edge(start, stop)
            ),
            "is_on_side": int(place.is_on_side) if place else None,
            "words": counts.words,
            "words_in_links": counts.linked,
            "links": counts.links,
            "density": round(counts.density, DIGITS),
            "words_per_link": round(counts.words_per_link, DIGITS),
            "link_ratio": round(counts.link_ratio, DIGITS),
            "stop_word_ratio": sums.stop_words(start, stop),
            "under_noise_header": under,
            "slot": slots[element],
            "cluster": judged.clusters[start] if owners[start] == element else None,
            **sums.judgement(start, stop),
            "label": sums.label(start, stop),
            "label_source": judged.label_source or None,
        }
    if not images:
        return
    for picture in find_pictures(nodes, elements, content, picture_boxes):
        element, node = picture.container, picture.node
        start, stop = first[element], end[element]
        has_text = start < stop
        yield {
            **dict.fromkeys(COLUMNS),
            **head,
            **_names_of(node, counted),
            "nearest_header": nearest[element],
            **picture.columns(whole),
            "under_noise_header": levels[start] if has_text else None,
            "slot": slots[element],
            **(sums.judgement(start, stop) if has_text else {}),
            "label": sums.label(start, stop) if has_text else None,
            "label_source": judged.label_source or None,
        }


def _names_of(node: Node, counted: dict[Node, Counter[str]]) -> Record:
    """Return the columns with the names of a node, and of the nodes around it."""
    above = node.parent
    desc, tags = (above.called, above.tags) if above else (NOTHING, NOTHING)
    beside = sibling_tags(node, counted)
    return {
        **node.above_listed(),
        **node.beside_listed(),
        **node.below_listed(),
        "num_siblings": len(above.child_tags) - 1 if above else 0,
        "distance_to_root": node.depth,
        "tag_name": node.tag,
        "element_id": node.id or None,
        "class_name": node.own_classes or None,
        "num_child_elements": len(node.child_tags),
        "dom_subtree_depth": node.height,
        "is_desc_a": int("a" in tags),
        **{name: int(beside[tag] > (tag == node.tag)) for name, tag in SIBLINGS},
        **_truths("is_desc_", desc),
        **_truths("is_", node.own_called),
    }


@cache
def _truths(prefix: str, says: frozenset[str]) -> Record:
    """Return the columns of what an element is called; there are as many as sets of a few names."""
    return {f"{prefix}{name}": int(name in says) for name in CALLED}


def _place(boxes: Sequence[Box], whole: Box | None, start: int, stop: int) -> Geometry | None:
    """Return where the shown blocks stand together; None if none is, or if the page was not
    rendered.
    """
    shown = [box for box in boxes[start:stop] if any(box)]
    return geometry(box_around(shown), whole) if whole and shown else None


class _Sums:
    """Sums over the blocks of a page, for any run of them."""

    def __init__(self, read: Read, judged: Judged, *, is_english: bool) -> None:
        self._blocks = read.page.content.blocks
        counted = [block_words(block) for block in self._blocks]
        words = [each for each, _ in counted]
        counts = np.array([len(each) for each in words], dtype=np.int64)
        chars = np.array([len(block.text) for block in self._blocks], dtype=np.int64)
        self._stops = (
            _sums([sum(word.lower() in ENGLISH_STOP_WORDS for word in each) for each in words])
            if is_english
            else None
        )
        self._words, self._chars = _sums(counts), _sums(chars)
        self._linked = _sums([linked for _, linked in counted])
        self._links = _sums([block.links for block in self._blocks])
        # A block of no words counts as one.
        weights = np.maximum(counts, 1)
        self._known = _sums(weights * (judged.labels >= 0))
        self._main = _sums(weights * (judged.labels == 1))
        self._relevance = _sums(judged.relevance)
        self._means = {
            name: _sums(chars * np.asarray(values, dtype=np.float64))
            for name, values in (
                ("contrast", judged.contrast),
                ("prior", judged.prior),
                ("vote", judged.vote),
            )
        }

    def text(self, start: int, stop: int) -> str:
        """Return the blocks' text."""
        return " ".join([block.text for block in self._blocks[start:stop]])

    def words(self, start: int, stop: int) -> WordCounts:
        """Return the blocks' words and links."""
        words, links, linked = (
            sums[stop] - sums[start] for sums in (self._words, self._links, self._linked)
        )
        return WordCounts(words, links, linked, self._words[-1])

    def stop_words(self, start: int, stop: int) -> float | None:
        """Return the share of stop words, None if they are not known."""
        if self._stops is None:
            return None
        words = max(self._words[stop] - self._words[start], 1)
        return float(round((self._stops[stop] - self._stops[start]) / words, DIGITS))

    def is_edge(self, start: int, stop: int) -> bool:
        """Tell whether the blocks reach to the page's upper or lower edge, by its characters."""
        whole = self._chars[-1]
        return bool(self._chars[start] < TOP * whole or self._chars[stop] > BOTTOM * whole)

    def judgement(self, start: int, stop: int) -> Record:
        """Return the sum of the blocks' relevance, and the means of the rest by characters."""
        chars = self._chars[stop] - self._chars[start]
        return {
            "relevance": self._relevance[stop] - self._relevance[start],
            **{
                name: round((sums[stop] - sums[start]) / chars, DIGITS)
                for name, sums in self._means.items()
            },
        }

    def label(self, start: int, stop: int) -> int | None:
        """Return 1 if half or more of the words whose label is known are main, 0 if fewer are; None
        if none is known.
        """
        known = self._known[stop] - self._known[start]
        return int(2 * (self._main[stop] - self._main[start]) >= known) if known else None


def _sums(values: Iterable[Any] | NDArray[Any]) -> list[Any]:
    """Return the sums of the first 0, 1, 2, ... *values*."""
    numbers = values.tolist() if isinstance(values, np.ndarray) else values
    return list(accumulate(numbers, initial=0))
