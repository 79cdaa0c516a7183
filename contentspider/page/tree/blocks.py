"""The blocks of a page: the runs of text between block-level tags, in reading order.

A block has the text directly in one block-level element: a paragraph, a table cell, a list item, a
``div`` without paragraphs. Inline tags do not end a block. Two ``<br>`` in a row do, because
pages of the 1990s separate their paragraphs that way.
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

    # Kind, attributes, text, and the number of elements before it: see `HintElements`.
    HintElement = tuple[str, str, str, int]

__all__ = ["Block", "PageBlocks", "common_element", "element_key", "new_walker", "read_tree"]

# On a page with fewer visible characters, hidden text counts as visible: a script reveals it.
SHOWN_CHARS = 250
# The limit only bounds the memory of a hostile page: a block takes up to 3.5 kB.
MAX_BLOCKS = 80_000


class Surroundings(NamedTuple):
    """The surroundings of an element.

    *above*, *beside* and *below* are the HTML tags of its ancestors, siblings and children, sorted.
    *own_words* is the number of words in its own text nodes. *is_link* tells that it contains only
    an ``a`` element. *links* has an entry for each ``a`` element with an address that stands in no
    other element of `PageBlocks` below it, with text or without: the tags of the elements between
    the two, sorted, with spaces between them.
    """

    above: list[str]
    beside: list[str]
    below: list[str]
    own_words: int
    is_link: bool
    links: Sequence[str] = ()


@dataclass(slots=True, repr=False)
class PageBlocks:
    """All blocks of a page with the tree of the elements that contain them.

    *parents*, *tags*, *paths* and *positions* have one entry per block-level element, in document
    order: the index of its parent (-1 for the root), its tag, its selector path, and its position
    among the siblings with its tag. Elements without text are left out, except the root.
    *truncated* tells that the rest of the page was left out, because it has too many blocks or
    elements that are nested too deeply. *base* is the address in the page's ``base`` element.
    *has_left_out* tells that directives of the site's owner excluded text, *ignores_directives*
    that the walker did not obey them.

    The other lists are empty unless requested. *attributes* has the attributes of each element and
    of the inline elements in it. *around* has the surroundings of each element. *visuals* has the
    computed CSS and the box of each block of a rendered page, and *extent* the width and height of
    the page, in pixels.
    """

    blocks: list[Block] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    truncated: bool = False
    has_left_out: bool = field(default=False, compare=False)
    ignores_directives: bool = field(default=False, compare=False)
    attributes: list[list[tuple[str, str]]] = field(default_factory=list)
    visuals: list[dict[str, str]] = field(default_factory=list)
    extent: tuple[float, float] = (0.0, 0.0)
    base: str = ""
    around: list[Surroundings] = field(default_factory=list)

    def fits(self, obeys_directives: bool) -> bool:
        """Tell whether a walker that *obeys_directives* would surely read the same blocks."""
        return not (self.ignores_directives if obeys_directives else self.has_left_out)

    def __repr__(self) -> str:
        return f"<PageBlocks: {len(self.blocks)} blocks in {len(self.tags)} elements>"


def new_walker(obeys_directives: bool = True) -> Walker:
    """Return a walker for the pages of a site; it caches their paths (8 MB at most).

    If it *obeys_directives*, it leaves out the text that the site's owner excludes from indexing.
    Raises ImportError if the compiled code does not fit the installed lxml.
    """
    _check_walk()
    return Walker(obeys_directives)


@cache  # the check runs once in each process, before the first page is read
def _check_walk() -> None:
    """Raise ImportError if the compiled walk misreads a small page with the installed lxml."""
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
    containers: list[_Element] | None = None,
) -> tuple[PageBlocks, list[HintElement]]:
    """Return the blocks of the tree below *root* in reading order, and the elements of its hints.

    *attributes* requests the elements' attributes. The list *containers*, if given, receives the
    element of each container of the page. Blocks after the first *max_blocks* are left out
    (`PageBlocks.truncated`). If a page shows hardly any text, its hidden text is read, too.

    The compiled walk does not recurse, so that deeply nested markup cannot overflow the stack. It
    takes time proportional to the number of elements.
    """
    page = PageBlocks()
    walker = walker or new_walker()
    hint_elements, has_hidden = walker.walk(page, root, max_blocks, attributes, kept=containers)
    if has_hidden and (shown_chars := _chars(page)) < SHOWN_CHARS:
        revealed = PageBlocks()
        revealed_containers: list[_Element] | None = None if containers is None else []
        walker.walk(revealed, root, max_blocks, attributes, reveal=True, kept=revealed_containers)
        if _chars(revealed) - shown_chars >= SHOWN_CHARS:
            if containers is not None and revealed_containers is not None:
                containers[:] = revealed_containers
            return revealed, hint_elements
    return page, hint_elements


def shows_little(page: PageBlocks) -> bool:
    """Tell whether a page shows hardly any text (less than `SHOWN_CHARS` characters)."""
    chars = 0
    for block in page.blocks:
        chars += len(block.text)
        if chars >= SHOWN_CHARS:
            return False
    return True


def common_element(parents: Sequence[int], first: int, second: int) -> int:
    """Return the innermost element that contains the elements *first* and *second*.

    *parents* has the index of each element's parent, which is smaller than the element's own.
    """
    while first != second:
        if first > second:
            first = parents[first]
        else:
            second = parents[second]
    return first


def _chars(page: PageBlocks) -> int:
    """Return the number of characters in all blocks of a page."""
    return sum(len(block.text) for block in page.blocks)
