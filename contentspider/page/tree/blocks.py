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

    # Kind, subject, text, and the number of elements before it, see `HintElements`.
    HintElement = tuple[str, str, str, int]

__all__ = ["Block", "PageBlocks", "common_element", "element_key", "new_walker", "read_tree"]

# If a page shows less text, its hidden text is read as well: a script may show it.
SHOWN_CHARS = 250
MAX_BLOCKS = 20_000


class Surroundings(NamedTuple):
    """The surroundings of an element: the tags of its ancestors (*above*), siblings (*beside*) and
    children (*below*), the number of words in its own text nodes, and whether its only child is an
    ``a``.
    """

    above: list[str]
    beside: list[str]
    below: list[str]
    own_words: int
    is_link: bool


@dataclass(slots=True, repr=False)
class PageBlocks:
    """All blocks of a page with the tree of the elements that contain them.

    *parents*, *tags*, *paths* and *positions* have one entry for each element that is not inline,
    in document order: the index of its parent (-1 for the first), its tag, its tag path, and its
    position among the siblings of the same tag. Elements without text in them are left out, except
    for the first. *truncated* is true if the page had too many blocks. *base* is the address in the
    page's ``base`` element, else "". *has_left_out* is true if directives of the site's owner
    excluded text. *attributes* has the attributes of each element and of the inline elements in it,
    and *around* the surroundings of each element; both are empty unless attributes were requested.
    *visuals* has the computed CSS and the box of each block if the page was rendered, else it is
    empty.
    """

    blocks: list[Block] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    truncated: bool = False
    has_left_out: bool = field(default=False, compare=False)  # is not stored
    attributes: list[list[tuple[str, str]]] = field(default_factory=list)
    visuals: list[dict[str, str]] = field(default_factory=list)
    base: str = ""
    around: list[Surroundings] = field(default_factory=list)

    def __repr__(self) -> str:
        return f"<PageBlocks: {len(self.blocks)} blocks in {len(self.tags)} elements>"


def new_walker(obeys_directives: bool = True) -> Walker:
    """Return a walker for the pages of a site. It caches the tag paths that they share (up to 8
    MB).

    With *obeys_directives* it leaves out text that the site's owner excludes from indexing. Raises
    ImportError if it cannot read the nodes of the installed lxml.
    """
    _check_walk()
    return Walker(obeys_directives)


@cache  # the check runs once in each process, before the first page is read
def _check_walk() -> None:
    """Raise ImportError unless the compiled walk can read the nodes of the installed lxml."""
    root = etree.fromstring("<body>a<p id='b' class='c d'>e<a href='f'>g</a><!-- h -->i</p></body>")
    page, _ = read_tree(root, attributes=True, walker=Walker())
    blocks = [(block.path, block.text, block.spans) for block in page.blocks]
    expected = [("body", "a", ()), ("body/p#b.c.d", "egi", ((1, 2, "f"),))]
    if blocks != expected or page.attributes[1][0] != ("id", "b"):
        raise ImportError(BUILD_AGAIN.format("it reads nodes wrongly"))


def read_tree(
    root: _Element,
    max_blocks: int = MAX_BLOCKS,
    attributes: bool = False,
    walker: Walker | None = None,
    kept: list[_Element] | None = None,
) -> tuple[PageBlocks, list[HintElement]]:
    """Return the blocks of the tree below *root* in reading order, and the elements that may hold
    hints. With *attributes* the attributes of elements are read, too. If *kept* is a list, the
    element of each container of the page is appended to it.

    The walk has its own stack, so deep markup cannot exhaust Python's. It takes time proportional
    to the number of elements. Blocks after the first *max_blocks* are left out
    (`PageBlocks.truncated`). If a page shows hardly any text, its hidden text is read as well.
    """
    page = PageBlocks()
    walker = walker or new_walker()
    elements, has_hidden = walker.walk(page, root, max_blocks, attributes, kept=kept)
    if has_hidden and (visible_chars := _chars(page)) < SHOWN_CHARS:
        whole_page = PageBlocks()
        containers: list[_Element] | None = None if kept is None else []
        walker.walk(whole_page, root, max_blocks, attributes, reveal=True, kept=containers)
        if _chars(whole_page) - visible_chars >= SHOWN_CHARS:
            if kept is not None and containers is not None:
                kept[:] = containers
            return whole_page, elements
    return page, elements


def common_element(parents: Sequence[int], first: int, second: int) -> int:
    """Return the index of the innermost element around two elements.

    *parents* has the index of each element's parent, which is smaller than the element's own.
    """
    while first != second:
        if first > second:
            first = parents[first]
        else:
            second = parents[second]
    return first


def _chars(page: PageBlocks) -> int:
    return sum(len(block.text) for block in page.blocks)
