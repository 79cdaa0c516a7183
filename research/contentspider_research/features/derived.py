"""The derived features of a thesis: what a block descends from, contains and stands beside, what it
is called, its words, its place, and headers that announce noise.

They become exact where the page was read with what stands around its elements
(`contentspider.page.input.page`); else, and for rendered pages, only elements with text are
known.
"""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

from contentspider.page.tree.text import runs
from contentspider.page.words.names import HEADINGS, NAME_GROUPS, name_groups, step_tag
from contentspider.page.words.phrases import NOISE_PHRASES
from contentspider.site.judge.slots import step_names
from contentspider_research.features.announced import block_ranges, noise_sections
from contentspider_research.features.geometry import BOTTOM, TOP, geometry, page_box, read_boxes
from contentspider_research.features.thesis_names import TAGS, called
from contentspider_research.features.wordcounts import bin_of

if TYPE_CHECKING:
    from contentspider.page.tree.blocks import Block, PageBlocks
    from contentspider.site.judge.rows import Feature
    from contentspider.site.judge.slots import SlotTable

CONTAINED = ("rights reserved", "like", "share")
# Texts of this length say what they are in this many characters, if at all.
SAYS_CHARS, SAYS_WITHIN = 400, 80


def derived(page: PageBlocks, table: SlotTable) -> list[list[Feature]]:
    """Name the derived features of each block; of the names in ids and classes both those that the
    thesis reads (`contentspider_research.features.thesis_names`), and ours by meaning
    (`NAME_GROUPS`).
    """
    first, end = block_ranges(page)
    words = [len(runs(block.text)) for block in page.blocks]
    sums = [0]
    for count in words:
        sums.append(sums[-1] + count)
    edges = _at_edges(page)
    levels = noise_sections(page)
    headers = _phrase_headers(page)
    steps: dict[str, tuple[set[str], set[str]]] = {}

    def says(step: str) -> tuple[set[str], set[str]]:
        if step not in steps:
            own = {name for each in step_names(step) for name in called(each[1:])}
            if (tag := step_tag(step)) in TAGS:
                own.add(tag)
            steps[step] = own, {NAME_GROUPS[group] for group in name_groups(step)}
        return steps[step]

    of_element = _kin(page)
    rows: list[list[Feature]] = []
    for number, block in enumerate(page.blocks):
        *above, own = block.path.split("/")
        kin = of_element[block.container]
        names: set[Feature] = set(kin)
        names |= {("is_desc", step_tag(step)) for step in above}
        names |= {("is_desc called", name) for step in above for name in says(step)[0]}
        names |= {("is called", name) for name in says(own)[0]}
        names |= {("is_desc", name) for step in [*above, own] for name in says(step)[1]}
        names |= _of_text(block)
        names |= {("contains", text) for text in CONTAINED if text in block.text.lower()}
        inner = sums[end[block.container]] - sums[first[block.container]]
        own_words = page.around[block.container].own_words if page.around else words[number]
        if edges[number]:
            names.add(("is_uppermost_or_bottommost",))
        if levels[number]:
            names.add(("under_noise_header", f"{levels[number]}"))
        if headers[number]:
            names.add(("after header", headers[number]))
        names |= {
            ("inner_text_length", f"{bin_of(inner)}"),
            ("child_text_length", f"{bin_of(own_words)}"),
            ("word count", f"{bin_of(words[number])}"),
            ("position", f"{10 * number // len(page.blocks)}"),
            ("tag", block.tag),
        }
        rows.append(sorted(names))
    return rows


def _of_text(block: Block) -> set[Feature]:
    """Return what a block's own text and marks say."""
    names: set[Feature] = set()
    if block.links:
        names.add(("has_child", "a"))
    if block.bold_chars:
        names.add(("has_child", "b"))
    if any(mark == "`" for *_, mark in block.spans):
        names.add(("has_child", "code"))
    if block.links == 1 and block.link_chars == len(block.text):
        names.add(("is_desc", "a"))
    if block.link_chars > 0.9 * len(block.text):
        names.add(("is_link",))
    if len(block.text) < SAYS_CHARS:
        head = block.text[:SAYS_WITHIN].lower()
        names |= {("says", name) for name, pattern in NOISE_PHRASES.items() if pattern.search(head)}
    return names


def _kin(page: PageBlocks) -> list[list[Feature]]:
    """Return for each element what stands above, beside and below it."""
    if page.around:
        return [
            [
                *(("is_desc", tag) for tag in around.above),
                *(("is_sib", tag) for tag in around.beside),
                *(("has_child", tag) for tag in around.below),
                *([("has_children",)] if around.below else []),
                *([("is_link",)] if around.is_link else []),
            ]
            for around in page.around
        ]
    below: list[dict[str, int]] = [{} for _ in page.parents]
    for element in range(1, len(page.parents)):
        counts, tag = below[page.parents[element]], page.tags[element]
        counts[tag] = counts.get(tag, 0) + 1
    found: list[list[Feature]] = []
    for element, parent in enumerate(page.parents):
        names: list[Feature] = [("has_child", tag) for tag in below[element]]
        if names:
            names.append(("has_children",))
        if parent >= 0:
            names += [
                ("is_sib", tag)
                for tag, count in below[parent].items()
                if tag != page.tags[element] or count > 1
            ]
        found.append(names)
    return found


def _at_edges(page: PageBlocks) -> list[bool]:
    """Tell which blocks are at the top or bottom edge of the page: by their boxes if it was
    rendered, else by the share of the characters before them.
    """
    if page.visuals:
        boxes = read_boxes(page)
        whole = page_box(page, boxes)
        return [geometry(box, whole).is_uppermost_or_bottommost for box in boxes]
    ends = list(accumulate((len(block.text) for block in page.blocks), initial=0))
    return [start < TOP * ends[-1] or end > BOTTOM * ends[-1] for start, end in pairwise(ends)]


def _phrase_headers(page: PageBlocks) -> list[str]:
    """Return for each block what the header above it says of itself in any of the languages that
    `NOISE_PHRASES` has; "" if nothing.
    """
    found, header = [], ""
    for block in page.blocks:
        if block.tag in HEADINGS:
            head = block.text[:SAYS_WITHIN].lower()
            header = next(
                (name for name, pattern in NOISE_PHRASES.items() if pattern.search(head)), ""
            )
        found.append(header)
    return found
