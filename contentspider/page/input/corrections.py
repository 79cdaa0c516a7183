"""The matches of people's CSS selectors on a page, recorded while its tree is there."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from lxml import etree

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

# Attributes that hold a date for machines (``time``, ``meta``).
DATE_ATTRIBUTES = ("datetime", "content")
# Bounds for the inline elements of a page: how many are read, and how many characters are compared
# (half a second).
MAX_INLINE = 1_000
MAX_COMPARED = 1_000_000_000

_text = etree.XPath("string()")


class Selector(NamedTuple):
    """A CSS selector as it was written, and its compiled form."""

    text: str
    path: etree.XPath

    def elements(self, root: _Element) -> list[_Element]:
        """Return the elements of a tree that match, in document order."""
        found: Any = self.path(root)
        return list(found)


class Rule(NamedTuple):
    """What to keep and to drop, and where title and date are, on pages at addresses of a *pattern*
    ("": all).
    """

    pattern: str
    address: re.Pattern[str]
    keep: tuple[Selector, ...]
    drop: tuple[Selector, ...]
    title: Selector | None
    date: Selector | None

    def holds_for(self, address: str) -> bool:
        """Tell whether the rule applies to an address."""
        # Pages from files have a path as address; patterns of paths match them, too.
        whole = address if "://" in address else "file:///" + address.lstrip("/")
        return self.address.search(whole) is not None


@dataclass(frozen=True, slots=True)
class Corrections:
    """The matches of selectors on a page: by selector the numbers of the blocks to keep and to
    drop, a block under its innermost match only; the title and the date (ISO 8601), empty if no
    selector gives them.
    """

    keep: dict[str, list[int]] = field(default_factory=dict)
    drop: dict[str, list[int]] = field(default_factory=dict)
    title: str = ""
    published_at: str = ""

    @property
    def kept(self) -> list[int]:
        """Return the numbers of the blocks to keep."""
        return [number for numbers in self.keep.values() for number in numbers]

    @property
    def dropped(self) -> list[int]:
        """Return the numbers of the blocks to drop."""
        return [number for numbers in self.drop.values() for number in numbers]

    def correct(self, probabilities: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the probabilities of the page's blocks with the corrections applied, as 1 or 0."""
        corrected = probabilities.copy()
        corrected[self.kept] = 1
        corrected[self.dropped] = 0
        return corrected

    @classmethod
    def load(cls, record: dict[str, Any], blocks: int) -> Corrections:
        """Return what `asdict` wrote of the corrections of a page of so many blocks; raises
        ValueError, KeyError, TypeError or AttributeError if it is damaged.
        """
        found = cls(
            {str(name): list(map(int, numbers)) for name, numbers in record["keep"].items()},
            {str(name): list(map(int, numbers)) for name, numbers in record["drop"].items()},
            str(record["title"]),
            str(record["published_at"]),
        )
        if not all(0 <= number < blocks for number in found.kept + found.dropped):
            raise ValueError("corrections of blocks that are not there")
        return found


def correct(
    root: _Element, page: PageBlocks, containers: Sequence[_Element], rules: Sequence[Rule]
) -> Corrections:
    """Return the matches of *rules* in the tree below *root*; *page* has its blocks, *containers*
    the page's elements. Titles and dates of later rules come first.

    An element stands for all blocks in it, an inline element for the block whose whole text it has.
    The innermost match around a block decides; if it is to be kept and dropped, it is dropped.
    """
    matches: dict[_Element, dict[str, bool]] = {}
    wanted = [(selector, True) for rule in rules for selector in rule.keep]
    wanted += [(selector, False) for rule in rules for selector in rule.drop]
    for selector, keeps in wanted:
        for element in selector.elements(root):
            said = matches.setdefault(element, {})
            said[selector.text] = keeps and said.get(selector.text, True)
    keep: dict[str, list[int]] = {}
    drop: dict[str, list[int]] = {}
    deciding = _deciding(page, containers, matches) if matches else {}
    for number, element in sorted(deciding.items()):
        said = matches[element]
        keeps = all(said.values())
        for text, is_kept in said.items():
            if is_kept is keeps:
                (keep if keeps else drop).setdefault(text, []).append(number)
    return Corrections(
        keep,
        drop,
        next(filter(None, (_title(root, r.title) for r in reversed(rules) if r.title)), ""),
        next(filter(None, (_date(root, r.date) for r in reversed(rules) if r.date)), ""),
    )


def _deciding(
    page: PageBlocks, containers: Sequence[_Element], matches: Collection[_Element]
) -> dict[int, _Element]:
    """Return for each block inside an element of *matches* the innermost such element."""
    nearest: dict[_Element, _Element | None] = {}
    for element, parent in zip(containers, page.parents, strict=True):
        at: _Element | None = element
        while at is not None and at not in matches and at not in nearest:
            at = at.getparent()
        found = at if at in matches else nearest.get(at) if at is not None else None
        # What a script moves to its place (React's segments) is in no element that is around it.
        nearest[element] = nearest[containers[parent]] if found is None and parent >= 0 else found
    blocks: dict[_Element, list[int]] = {}
    deciding: dict[int, _Element] = {}
    for number, block in enumerate(page.blocks):
        blocks.setdefault(containers[block.container], []).append(number)
        if (around := nearest[containers[block.container]]) is not None:
            deciding[number] = around
    inline = list(islice((element for element in matches if element not in nearest), MAX_INLINE))
    compared = 0
    # The innermost has the last word.
    for element in sorted(inline, key=lambda each: sum(1 for _ in each.iterancestors())):
        at = element.getparent()
        while at is not None and at not in nearest:
            at = at.getparent()
        beside = blocks.get(at, ()) if at is not None else ()
        if beside and (text := clean_text(str(_text(element)))):
            compared += len(text) * len(beside)
            if compared > MAX_COMPARED:
                break
            for number in beside:
                if page.blocks[number].text in text:
                    deciding[number] = element
    return deciding


def _title(root: _Element, selector: Selector) -> str:
    texts = (element.get("content") or str(_text(element)) for element in selector.elements(root))
    return next(filter(None, (tidy(text, MAX_TITLE_CHARS) for text in texts)), "")


def _date(root: _Element, selector: Selector) -> str:
    for element in selector.elements(root)[:1]:
        stated = next(filter(None, map(element.get, DATE_ATTRIBUTES)), "")
        return parse_date(stated or tidy(str(_text(element)), MAX_TITLE_CHARS))
    return ""
