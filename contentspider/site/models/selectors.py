"""CSS selectors for the places of blocks: how they are written, and which paths they match."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lxml import etree

from contentspider.page.tree.tags import MAX_STEP_CHARS
from contentspider.page.words.names import step_tag
from contentspider.site.judge.slots import step_names

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from contentspider.page.input.corrections import Selector

ESCAPED = re.compile(r"[^\w-]")
# A name that may differ in the page. A path has 0 for a long number, unless the page numbers nearly
# all of its names, and a dash for a slash. In Tailwind's classes, slashes stand in fractions
# (``w-1/2``), after colours and sizes (``text-white/5``), and before names (``group/item``).
CHANGED = re.compile(
    r"(?<!\d)0(?!\d)|\d-\d"
    r"|(?:[.:](?:bg|border|divide|fill|from|ring|stroke|text|to|via)-.+-\d$)"
    r"|(?:\.|:)(?:@container|group|peer)-"
)
# Dots, hashes and brackets in classes (``p-1.5``, ``w-[5px]``) look like the beginnings of names.
# These are the parts of such classes.
PART = re.compile(r"\]|..[-:(=]$|^.\d+$")
DECIMALS = re.compile(r"\.\d+$")
# Other tags, which a page may invent, cannot be written into a tree.
TAG = re.compile(r"[A-Za-z][\w:-]*", re.ASCII)


def selectors(slot: str, left_out: Collection[str] = ()) -> Iterator[str]:
    """Yield CSS selectors for a slot: more and more precise ones, of at most two steps at first.
    They do not use the names in *left_out*.

    >>> list(selectors("body/div#main/div/p.note"))
    ['div#main p.note', 'p.note', 'div#main > div > p.note']
    """
    steps = [css_step(step, left_out) for step in slot.split("/")[1:]]
    if not steps:
        return
    named_steps = [index for index, step in enumerate(steps) if re.search(r"[#.]", step)]
    id_steps = [index for index in named_steps if "#" in steps[index]]
    # A selector begins at the last id, else at the first class, else at the body.
    start = max(id_steps, default=min(named_steps, default=0))
    if start < len(steps) - 1:
        yield f"{steps[start]} {steps[-1]}"
    for index in reversed(named_steps):
        if index > start:
            yield " > ".join(steps[index:])
    yield " > ".join(steps[start:])
    if start:
        yield " > ".join(steps)


def css_step(step: str, left_out: Collection[str] = ()) -> str:
    """Return the selector of one step of a path, without the names that may differ in the page, and
    without those in *left_out*.
    """
    found = step_names(step)
    has_decimals = any(map(DECIMALS.match, found))
    names = [
        name
        for name in found
        if name[0] in "#."
        and name not in left_out
        and not CHANGED.search(name)
        and not PART.search(name)
        and not (has_decimals and name[-1].isdecimal())
    ]
    return css_name(step_tag(step)) + "".join(name[0] + css_name(name[1:]) for name in names)


def cut_names(path: str) -> set[str]:
    """Return the names in a path that were cut: the last ones of steps with long lists."""
    steps = (step for step in path.split("/") if len(step) - len(step_tag(step)) >= MAX_STEP_CHARS)
    return {names[-1] for step in steps if (names := step_names(step))}


def css_name(name: str) -> str:
    r"""Return a tag or a name as a CSS identifier, with special characters escaped.

    >>> print(css_name("2col"), css_name("-wide"), css_name("g:card"))
    \32 col \-wide g\:card
    """
    escaped = ESCAPED.sub(lambda match: "\\" + match[0], name)
    if name[0].isdecimal():
        return f"\\{ord(name[0]):x} {escaped[1:]}"
    return "\\" + escaped if name[0] == "-" else escaped


class PathTree:
    """Finds which *paths* of blocks a selector matches. A stored page has the paths of its blocks
    but not its HTML, so a tree is built that has an element for each step of each path.
    """

    def __init__(self, paths: Iterable[str]) -> None:
        # Tags of HTML may have colons.
        self._root = etree.HTMLParser().makeelement("html")
        self._ends = {path: self._add(path) for path in dict.fromkeys(paths)}

    def _add(self, path: str) -> etree._Element:
        element = self._root
        for step in path.split("/"):
            tag = step_tag(step)
            element = etree.SubElement(element, tag if TAG.fullmatch(tag) else "unknown")
            names = step_names(step)
            element.set("class", " ".join(name[1:] for name in names if name[0] == "."))
            for name in names:
                if name[0] == "#":
                    element.set("id", name[1:])
        return element

    def matched(self, selector: Selector) -> set[str]:
        """Return the paths with an element, or with one around it, that a selector matches."""
        elements = set(selector.elements(self._root))
        return {
            path
            for path, end in self._ends.items()
            if end in elements or not elements.isdisjoint(end.iterancestors())
        }
