"""Blocks of one page: the runs of text between block-level boundaries, in reading order.

A block is the nearest block-level element around a run of text (a paragraph, a cell, a list
item, a bare ``div``). Inline tags are not blocks; two ``<br>`` in a row end one, since pages of the
1990s write their paragraphs that way.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from lxml import etree

BUILD_AGAIN = (
    "contentspider's compiled part is missing, or was built against an lxml unlike yours ({});"
    " build it again: pip install --force-reinstall --no-binary contentspider contentspider"
)
try:
    from contentspider.page.block._block import Block
    from contentspider.page.block._paths import Paths
    from contentspider.page.tree._walk import Walker
except (ImportError, ValueError) as error:  # ValueError: lxml's objects have another size
    raise ImportError(BUILD_AGAIN.format(error)) from error

if TYPE_CHECKING:
    from lxml.etree import _Element

    # Its kind, what it is about, its text, and how many elements stand before it.
    HintElement = tuple[str, str, str, int]

__all__ = [
    "BOLD",
    "CODE",
    "PREFORMATTED_TAGS",
    "Block",
    "PageBlocks",
    "clean_text",
    "element_key",
    "new_walker",
    "read_tree",
]

# Subtrees that hold no readable text.
SKIPPED_TAGS = frozenset(
    "script style noembed noframes title svg math iframe frameset object embed"
    " applet canvas audio video map select datalist textarea input source track area link"
    " meta param col colgroup progress meter".split()
)

INLINE_TAGS = frozenset(
    "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark nobr noindex"
    " picture q rb rp rt ruby s samp small span strike strong sub sup time tt u var wbr output"
    " o:p".split()
)

# What the text inside an inline element is marked with: links get their address instead.
CODE, BOLD = "`", "*"
MARKS = {"code": CODE, "kbd": CODE, "samp": CODE, "tt": CODE, "b": BOLD, "strong": BOLD}

PREFORMATTED_TAGS = frozenset(["pre", "listing", "xmp", "plaintext"])

# What the walk does with a tag; one that is not here is a container.
KINDS = {
    **dict.fromkeys(SKIPPED_TAGS, "skipped"),
    **dict.fromkeys(INLINE_TAGS, "inline"),
    **dict.fromkeys(PREFORMATTED_TAGS, "preformatted"),
    "a": "link",
    "br": "break",
    "img": "image",
    "base": "base",
    "noscript": "noscript",
    "template": "template",
    "tr": "row",
    "td": "cell",
    "th": "cell",
    "li": "item",
}

HIDDEN_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
EXPRESSION = re.compile(r"\{\{[^{}]*\}\}|\{%[^{}]*%\}|\$\{[^{}]*\}")
# A page with less text shows what it hides: a script shows it.
SHOWN_CHARS = 250
# Soft hyphen, zero-width space, word joiner, byte order mark. ZWNJ and ZWJ stay: Persian needs
# them.
INVISIBLE = "\xad\u200b\u2060\ufeff"
# Long numbers name one page ("post-1234"); a single digit may name a part of the template
# ("column-2").
LONG_NUMBER = re.compile(r"\d{2,}")

MAX_BLOCKS = 20_000
# A path says where in the template a block stands; below this depth it adds nothing but bytes.
MAX_PATH_DEPTH = 60
MAX_STEP_CHARS = 200
MAX_PATH_CHARS = 3_000

MAX_IMAGES = 1_000


class Surroundings(NamedTuple):
    """What surrounds an element: the tags of HTML *above*, *beside* and *below* it (its children);
    how many words its own text nodes have; whether its only child is an ``a``.
    """

    above: frozenset[str]
    beside: frozenset[str]
    below: frozenset[str]
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
    attributes: list[list[tuple[str, str]]] = field(default_factory=list)
    visuals: list[dict[str, str]] = field(default_factory=list)
    base: str = ""
    around: list[Surroundings] = field(default_factory=list)

    def __repr__(self) -> str:
        return f"<PageBlocks: {len(self.blocks)} blocks in {len(self.tags)} elements>"


def _without_invisible(text: str) -> str:
    if not text.isascii():
        for character in INVISIBLE:  # 20 times as fast as `str.translate`
            text = text.replace(character, "")
    return text


def clean_text(text: str) -> str:
    """Return *text* with white space folded to single spaces and invisible characters removed."""
    return " ".join(_without_invisible(text).split())


def clean_preformatted(text: str) -> str:
    """Return *text* with its lines and indentation, without blank first and last lines."""
    lines = [line.rstrip() for line in _without_invisible(text).splitlines()]
    while lines and not lines[-1]:
        lines.pop()
    # To delete them one by one would take minutes where there are half a million.
    first = next((number for number, line in enumerate(lines) if line), 0)
    return "\n".join(lines[first:])


def element_key(tag: str, id_: str, class_: str, role: str, itemprop: str) -> str:
    """Return an element's step in a path: ``tag#id.class[role]``, long numbers as ``0``."""
    key = ""
    if id_:
        key += "#" + "-".join(id_.split())
    if class_:
        key += "." + ".".join(class_.split())
    if role:
        key += "[" + "-".join(role.split()) + "]"
    if itemprop:
        key += "[" + "-".join(itemprop.split()) + "]"
    return (
        tag + LONG_NUMBER.sub("0", key[:MAX_STEP_CHARS].replace("/", "-"))
        if key
        else tag[:MAX_STEP_CHARS]
    )


def hides(style: str) -> bool:
    """Tell whether an inline *style* hides its element."""
    return HIDDEN_STYLE.search(style) is not None


def is_expression(text: str) -> bool:
    """Tell whether *text* is nothing but expressions of templates, which a script was to fill in.

    >>> is_expression("{{ user.name }} ({{ user.role }})"), is_expression("Write {{ name }}")
    (True, False)
    """
    rest = EXPRESSION.sub("", text)
    return rest != text and not any(char.isalnum() for char in rest)


def new_walker() -> Walker:
    """Return a walker, which keeps what the pages that it reads share: paths, and which styles hide
    (8 MB at most). Who reads many pages of a site keeps one.

    Raises ImportError if it cannot read the nodes of the lxml that is installed.
    """
    _check_walk()
    return _walker()


def _walker() -> Walker:
    return Walker(
        KINDS,
        MARKS,
        paths=Paths(element_key=element_key, max_chars=MAX_PATH_CHARS, max_depth=MAX_PATH_DEPTH),
        code=CODE,
        bold=BOLD,
        hides=hides,
        clean_text=clean_text,
        clean_preformatted=clean_preformatted,
        is_expression=is_expression,
        max_value_chars=MAX_STEP_CHARS,
        max_images=MAX_IMAGES,
    )


@cache  # once a process, when the first page is read
def _check_walk() -> None:
    """Raise ImportError unless the compiled walk reads the nodes of the lxml that is installed."""
    root = etree.fromstring("<body>a<p id='b' class='c d'>e<a href='f'>g</a><!-- h -->i</p></body>")
    page, _ = read_tree(root, attributes=True, walker=_walker())
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

    The walk is compiled (`contentspider.page.tree._walk`) and keeps its own stack, so that deep
    markup exhausts nothing (libxml2 itself gives up what is nested more than 2,048 levels deep); it
    takes time proportional to the number of elements. Blocks after the first *max_blocks* are left
    out and `PageBlocks.truncated` is set. Of a page that shows hardly any text what it hides is
    read, too.
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


def _chars(page: PageBlocks) -> int:
    return sum(len(block.text) for block in page.blocks)
