"""Applies a person's corrections (CSS selectors) to a page, and records which blocks they match.

The matches are recorded while the page is parsed, because its tree is not kept.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from lxml import etree

from contentspider.page.about.authors import MAX_AUTHORS, author_names
from contentspider.page.about.dates import parse_date
from contentspider.page.about.metadata import MAX_TITLE_CHARS
from contentspider.page.tree.text import clean_text
from contentspider.page.words.tidy import tidy

if TYPE_CHECKING:
    import re
    from collections.abc import Collection, Sequence

    import numpy as np
    from lxml.etree import _Element
    from numpy.typing import NDArray

    from contentspider.page.tree.blocks import PageBlocks

# Attributes of ``time`` and ``meta`` elements that hold a date for machines.
DATE_ATTRIBUTES = ("datetime", "content")
# Limits for inline elements: how many of a page's matches are read, and how many characters are
# compared to find their blocks (half a second).
MAX_INLINE = 1_000
MAX_COMPARED = 1_000_000_000

_text = etree.XPath("string()")


class Selector(NamedTuple):
    """A CSS selector as a person wrote it (*text*), and its compiled form."""

    text: str
    path: etree.XPath

    def elements(self, root: _Element) -> list[_Element]:
        """Return the matching elements of a tree in document order."""
        elements: Any = self.path(root)
        return list(elements)


class Rule(NamedTuple):
    """One table of an overrides file: corrections for the addresses that match *pattern*.

    *pattern* is empty for all addresses. *keep* and *drop* select the blocks to keep and to drop,
    *title*, *date* and *author* the elements with the page's title, date and authors.
    """

    pattern: str
    address: re.Pattern[str]
    keep: tuple[Selector, ...]
    drop: tuple[Selector, ...]
    title: Selector | None
    date: Selector | None
    author: Selector | None

    def holds_for(self, address: str) -> bool:
        """Tell whether the rule applies to the page at *address*."""
        # A page from a file has a path as its address, which patterns of paths must match, too.
        url = address if "://" in address else "file:///" + address.lstrip("/")
        return self.address.search(url) is not None


@dataclass(frozen=True, slots=True)
class Corrections:
    """The corrections that apply to one page.

    *keep* and *drop* map selectors to the numbers of the blocks to keep and to drop. A block is
    listed under its innermost matching element only. *title*, *published_at* (ISO 8601) and
    *author* are empty if no selector finds them.
    """

    keep: dict[str, list[int]] = field(default_factory=dict)
    drop: dict[str, list[int]] = field(default_factory=dict)
    title: str = ""
    published_at: str = ""
    author: tuple[str, ...] = ()

    @property
    def kept(self) -> list[int]:
        """Return the numbers of the blocks to keep."""
        return [number for numbers in self.keep.values() for number in numbers]

    @property
    def dropped(self) -> list[int]:
        """Return the numbers of the blocks to drop."""
        return [number for numbers in self.drop.values() for number in numbers]

    def correct(self, probabilities: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return a copy of *probabilities*, one per block, with 1 for blocks to keep and 0 for
        blocks to drop.
        """
        corrected = probabilities.copy()
        corrected[self.kept] = 1
        corrected[self.dropped] = 0
        return corrected

    @classmethod
    def load(cls, record: dict[str, Any], blocks: int) -> Corrections:
        """Return the corrections of a page with *blocks* blocks from a record that `asdict` wrote.

        Raises ValueError, KeyError, TypeError or AttributeError if the record is damaged.
        """
        corrections = cls(
            {str(name): list(map(int, numbers)) for name, numbers in record["keep"].items()},
            {str(name): list(map(int, numbers)) for name, numbers in record["drop"].items()},
            str(record["title"]),
            str(record["published_at"]),
            tuple(map(str, record["author"])),
        )
        if not all(0 <= number < blocks for number in corrections.kept + corrections.dropped):
            raise ValueError("a correction names a block that the page does not have")
        return corrections


def correct(
    root: _Element, page: PageBlocks, containers: Sequence[_Element], rules: Sequence[Rule]
) -> Corrections:
    """Return the corrections that *rules* make on the page with the tree below *root*.

    *page* has the blocks, *containers* the element of each of its containers. An element selects
    all blocks in it; an inline element selects the block whose whole text it contains. The
    innermost matching element around a block decides. If rules both keep and drop that element, it
    is dropped. Titles, dates and authors of later rules come first.
    """
    matches = _match(root, rules)
    keep: dict[str, list[int]] = {}
    drop: dict[str, list[int]] = {}
    for number, element in sorted(_innermost_matches(page, containers, matches).items()):
        is_kept = all(matches[element].values())
        for selector_text, keeps in matches[element].items():
            if keeps is not is_kept:
                continue
            if is_kept:
                keep.setdefault(selector_text, []).append(number)
            else:
                drop.setdefault(selector_text, []).append(number)
    titles = (_title(root, rule.title) for rule in reversed(rules) if rule.title)
    dates = (_date(root, rule.date) for rule in reversed(rules) if rule.date)
    authors = (_author(root, rule.author) for rule in reversed(rules) if rule.author)
    return Corrections(
        keep,
        drop,
        next(filter(None, titles), ""),
        next(filter(None, dates), ""),
        next(filter(None, authors), ()),
    )


def _match(root: _Element, rules: Sequence[Rule]) -> dict[_Element, dict[str, bool]]:
    """Return the elements that the rules select, each with its selectors and whether they keep."""
    matches: dict[_Element, dict[str, bool]] = {}
    for rule in rules:
        for selector in rule.keep:
            for element in selector.elements(root):
                matches.setdefault(element, {})[selector.text] = True
    for rule in rules:
        for selector in rule.drop:
            for element in selector.elements(root):
                matches.setdefault(element, {})[selector.text] = False
    return matches


def _innermost_matches(
    page: PageBlocks, containers: Sequence[_Element], matches: Collection[_Element]
) -> dict[int, _Element]:
    """Return, by block number, the innermost element of *matches* around each block."""
    if not matches:
        return {}
    nearest = _nearest_matches(page, containers, matches)
    blocks_in: dict[_Element, list[int]] = {}
    innermost: dict[int, _Element] = {}
    for number, block in enumerate(page.blocks):
        container = containers[block.container]
        blocks_in.setdefault(container, []).append(number)
        if (match := nearest[container]) is not None:
            innermost[number] = match
    inline = list(islice((element for element in matches if element not in nearest), MAX_INLINE))
    # Inner elements come last, so that they replace the matches around them.
    inline.sort(key=lambda element: sum(1 for _ in element.iterancestors()))
    compared_chars = 0
    for element in inline:
        parent = _container_of(element, nearest)
        numbers = blocks_in.get(parent, []) if parent is not None else []
        text = clean_text(str(_text(element))) if numbers else ""
        compared_chars += len(text) * len(numbers)
        if compared_chars > MAX_COMPARED:
            break
        for number in numbers:
            if text and page.blocks[number].text in text:
                innermost[number] = element
    return innermost


def _nearest_matches(
    page: PageBlocks, containers: Sequence[_Element], matches: Collection[_Element]
) -> dict[_Element, _Element | None]:
    """Return for each container the innermost matching element that is or contains it."""
    nearest: dict[_Element, _Element | None] = {}
    for container, parent in zip(containers, page.parents, strict=True):
        ancestor: _Element | None = container
        while ancestor is not None and ancestor not in matches and ancestor not in nearest:
            ancestor = ancestor.getparent()
        match: _Element | None = None
        if ancestor in matches:
            match = ancestor
        elif ancestor is not None:
            match = nearest[ancestor]
        # An element that a script moves (React's segments) has other ancestors in the markup than
        # on the page.
        if match is None and parent >= 0:
            match = nearest[containers[parent]]
        nearest[container] = match
    return nearest


def _container_of(element: _Element, containers: Collection[_Element]) -> _Element | None:
    """Return the innermost of *containers* around *element*."""
    ancestor = element.getparent()
    while ancestor is not None and ancestor not in containers:
        ancestor = ancestor.getparent()
    return ancestor


def _title(root: _Element, selector: Selector) -> str:
    """Return the first text of the selected elements that is not empty."""
    texts = (element.get("content") or str(_text(element)) for element in selector.elements(root))
    return next(filter(None, (tidy(text, MAX_TITLE_CHARS) for text in texts)), "")


def _date(root: _Element, selector: Selector) -> str:
    """Return the date of the first selected element in ISO 8601; "" if it has none."""
    for element in selector.elements(root)[:1]:
        attribute = next(filter(None, map(element.get, DATE_ATTRIBUTES)), "")
        return parse_date(attribute or tidy(str(_text(element)), MAX_TITLE_CHARS))
    return ""


def _author(root: _Element, selector: Selector) -> tuple[str, ...]:
    """Return the authors that the selected elements name."""
    elements = selector.elements(root)[:MAX_AUTHORS]
    return author_names(element.get("content") or str(_text(element)) for element in elements)
