"""Blocks of one page: the runs of text between block-level boundaries, in reading order.

A block is the nearest block-level element around a run of text (a paragraph, a cell, a list
item, a bare ``div``). Inline tags are not blocks; two ``<br>`` in a row end one, since pages of the
1990s write their paragraphs that way.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from lxml import etree

BUILD_AGAIN = (
    "contentspider's compiled part is missing, or was built against an lxml unlike yours ({});"
    " build it again: pip install --force-reinstall --no-binary contentspider contentspider"
)
try:
    from contentspider.page.tree._block import Block
    from contentspider.page.tree._tree import element_key
    from contentspider.page.tree._walk import Walker
except (ImportError, ValueError) as error:  # ValueError: lxml's objects have another size
    raise ImportError(BUILD_AGAIN.format(error)) from error

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lxml.etree import _Element

    # Its kind, what it is about, its text, and how many elements stand before it.
    HintElement = tuple[str, str, str, int]

__all__ = ["Block", "PageBlocks", "common_element", "element_key", "new_walker", "read_tree"]

# A page with less text shows what it hides: a script shows it.
SHOWN_CHARS = 250
MAX_BLOCKS = 20_000


class Surroundings(NamedTuple):
    """What surrounds an element: the tags of HTML *above*, *beside* and *below* it (its children);
    how many words its own text nodes have; whether its only child is an ``a``.
    """

    above: list[str]
    beside: list[str]
    below: list[str]
    own_words: int
    is_link: bool


@dataclass(slots=True, repr=False)
class PageBlocks:
    """All blocks of a page with the tree of the elements that contain them.

    *parents*, *tags*, *paths* and *positions* have one entry an element that is not inline, in
    document order: the index of its parent (-1 for the first), its tag, its selector path, and its
    place among the siblings of its tag. Elements without text in or below them are left out, but
    for the first. *truncated* tells that blocks were left out; *base* is the address that the page
    says its links are relative to, if it says so.
    *has_left_out* tells that its owner's directives left text out.
    *attributes* has the markup attributes of each such element and of the inline ones in it, if
    they were asked for, and *visuals* the computed CSS and the box of each block, if the page was
    rendered; else they are empty. *around* has what stands around each element, if the attributes
    were asked for.
    """

    blocks: list[Block] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    truncated: bool = False
    has_left_out: bool = field(default=False, compare=False)  # of the page that was read, only
    attributes: list[list[tuple[str, str]]] = field(default_factory=list)
    visuals: list[dict[str, str]] = field(default_factory=list)
    base: str = ""
    around: list[Surroundings] = field(default_factory=list)

    def __repr__(self) -> str:
        return f"<PageBlocks: {len(self.blocks)} blocks in {len(self.tags)} elements>"


def new_walker(obeys_directives: bool = True) -> Walker:
    """Return a walker, which keeps the paths that the pages of a site share (8 MB at most), and
    leaves out what their owner says is not to be indexed if it *obeys_directives*. Raises
    ImportError if it cannot read the nodes of the lxml that is installed.
    """
    _check_walk()
    return Walker(obeys_directives)


@cache  # once a process, when the first page is read
def _check_walk() -> None:
    """Raise ImportError unless the compiled walk reads the nodes of the lxml that is installed."""
    root = etree.fromstring("<body>a<p id='b' class='c d'>e<a href='f'>g</a><!-- h -->i</p></body>")
    page, _ = read_tree(root, attributes=True, walker=Walker())
    found = [(block.path, block.text, block.spans) for block in page.blocks]
    expected = [("body", "a", ()), ("body/p#b.c.d", "egi", ((1, 2, "f"),))]
    if found != expected or page.attributes[1][0] != ("id", "b"):
        raise ImportError(BUILD_AGAIN.format("it reads nodes wrongly"))


def read_tree(
    root: _Element,
    max_blocks: int = MAX_BLOCKS,
    attributes: bool = False,
    walker: Walker | None = None,
    kept: list[_Element] | None = None,
) -> tuple[PageBlocks, list[HintElement]]:
    """Return the blocks of the tree below *root* in reading order, with the elements' *attributes*
    if asked for; and the elements that may hold hints. *kept*, if it is given, gets the element of
    each of the page's containers.

    The compiled walk keeps its own stack, so that deep markup exhausts nothing, and takes time
    proportional to the number of elements. Blocks after the first *max_blocks* are left out
    (`PageBlocks.truncated`). Of a page that shows hardly any text what it hides is read, too.
    """
    page = PageBlocks()
    walker = walker or new_walker()
    elements, has_hidden = walker.walk(page, root, max_blocks, attributes, kept=kept)
    if has_hidden and (shown := _chars(page)) < SHOWN_CHARS:
        revealed = PageBlocks()
        all_kept: list[_Element] | None = None if kept is None else []
        walker.walk(revealed, root, max_blocks, attributes, reveal=True, kept=all_kept)
        if _chars(revealed) - shown >= SHOWN_CHARS:
            if kept is not None and all_kept is not None:
                kept[:] = all_kept
            return revealed, elements
    return page, elements


def common_element(parents: Sequence[int], first: int, second: int) -> int:
    """Return the innermost element that holds two (parents have smaller indexes)."""
    while first != second:
        if first > second:
            first = parents[first]
        else:
            second = parents[second]
    return first


def _chars(page: PageBlocks) -> int:
    return sum(len(block.text) for block in page.blocks)
