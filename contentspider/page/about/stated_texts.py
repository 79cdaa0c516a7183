"""Texts that a page's markup names as its own: in JSON-LD, RDFa, microdata and h-entry classes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lxml import etree, html

from contentspider.page.about.jsonld import kinds, without_references
from contentspider.page.tree.text import tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from contentspider.page.tree.blocks import PageBlocks

MAX_TEXTS = 50
MAX_TEXT_CHARS = 200_000
MAX_PAGE_CHARS = 500_000
MAX_OBJECTS = 2_000
MAX_DEPTH = 8
# A shorter text could occur on any page.
MIN_TOKENS = 8

# The prefix of the sources of marked elements. These contain the whole text, and also boilerplate
# that the template adds inside the element.
MARKED = "marked "
# The steps of a block's path that mark a text: microdata properties, and the class of an h-entry.
MARK = re.compile(
    r"\[(?:[^/\]]*-)?(articleBody|reviewBody|recipeInstructions|text)(?:-[^/\]]*)?\]"
    r"|\.(e-content)(?![\w-])"
)
# Properties whose value is the text of the page's subject.
BODIES = ("articleBody", "text", "reviewBody")
# The names of texts that can occur several times on a page, by the type of their object.
PARTS = {
    "Answer": "answer",
    "Question": "question",
    **dict.fromkeys(("DiscussionForumPosting", "SocialMediaPosting"), "post"),
}
# Types whose ``description`` is their text. Other types have a summary there.
DESCRIBED = frozenset(
    "Product ProductGroup JobPosting Event Course Recipe SoftwareApplication Book Movie".split()
)
RECIPE = ("recipeIngredient", "recipeInstructions")
# Types of objects that contain none of the page's own text: other pages, people, readers' comments.
FOREIGN = frozenset(
    "Organization NewsMediaOrganization Person WebSite BreadcrumbList ItemList ImageObject"
    " VideoObject Comment UserComments AggregateRating Offer SiteNavigationElement".split()
)
# Elements whose text begins and ends a line.
LINES = "p br li div tr td th dt dd h1 h2 h3 h4 h5 h6 pre blockquote section article ul ol".split()
SKIPPED = frozenset(["comment", "isPartOf", "publisher", "author", "breadcrumb", "review"])


@dataclass(frozen=True, slots=True)
class StatedText:
    """A text that a page states as its own, as plain *text* with one paragraph per line.

    *source* says where the text was found, for example ``json-ld articleBody``.
    """

    source: str
    text: str


def stated_texts(
    entries: Iterable[dict[str, object]], marked: Iterable[tuple[str, str]] = ()
) -> tuple[StatedText, ...]:
    """Return the texts that a page states, one per property.

    *entries* are the objects of its JSON-LD (`read_json_ld`). *marked* has the property and the
    markup of each element that RDFa marks as a text. At most `MAX_TEXTS` texts with about
    `MAX_PAGE_CHARS` characters in total are returned.

    The posts of a thread and the steps of a recipe are joined to one text. Readers' comments are
    left out.
    """
    parts_of: dict[str, list[str]] = {}
    chars = 0
    sources = (
        *((f"json-ld {name}", value) for name, value in _values(entries)),
        *((f"{MARKED}rdfa {name}", markup) for name, markup in marked),
    )
    for source, value in sources:
        if chars >= MAX_PAGE_CHARS or len(parts_of) >= MAX_TEXTS:
            break
        text = plain_text(value[:MAX_TEXT_CHARS])
        if text and text not in parts_of.get(source, ()):
            parts_of.setdefault(source, []).append(text)
            chars += len(text)
    return _join_parts(parts_of)


def _join_parts(parts_of: dict[str, list[str]]) -> tuple[StatedText, ...]:
    """Return one text per source, without texts that are too short."""
    texts = ((source, "\n".join(parts)[:MAX_TEXT_CHARS]) for source, parts in parts_of.items())
    return tuple(
        StatedText(source, text) for source, text in texts if len(tokens(text)) >= MIN_TOKENS
    )


def _values(entries: Iterable[dict[str, object]]) -> Iterator[tuple[str, str]]:
    """Yield the names and values of all properties that are texts of the page, in document order.
    An object that occurs several times is read once.
    """
    visited_ids: set[int] = set()
    # The next object is at the end.
    pending: list[tuple[object, int]] = [(entry, 0) for entry in reversed(list(entries))]
    while pending and len(visited_ids) < MAX_OBJECTS:
        value, depth = pending.pop()
        if isinstance(value, list):
            pending += [(entry, depth) for entry in reversed(value[:MAX_OBJECTS])]
            continue
        if not isinstance(value, dict) or depth > MAX_DEPTH or id(value) in visited_ids:
            continue
        visited_ids.add(id(value))
        types = set(kinds(value))
        if types & FOREIGN:
            continue
        yield from _own_texts(value, types)
        pending += [(child, depth + 1) for child in _children(value)]


def _children(entry: dict[str, object]) -> Iterator[object]:
    """Yield the objects and lists in an object that may contain texts of the page, last first."""
    for name, value in reversed(entry.items()):
        if isinstance(value, (dict, list)) and name not in SKIPPED and name not in RECIPE:
            yield value


def _own_texts(entry: dict[str, object], types: set[str]) -> Iterator[tuple[str, str]]:
    """Yield the names and values of an object's properties that are texts, without its children."""
    for name in BODIES:
        if isinstance(text := entry.get(name), str):
            yield next((PARTS[kind] for kind in types if kind in PARTS), name), text
    if types & DESCRIBED and isinstance(text := entry.get("description"), str):
        yield "description", text
    for name in RECIPE:
        yield from ((name, text) for text in _strings(entry.get(name)))


def _strings(value: object, depth: int = 0) -> Iterator[str]:
    """Yield the strings of a recipe's list, whose entries are strings, steps or lists of steps."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list) and depth <= MAX_DEPTH:
        for entry in value[:MAX_OBJECTS]:
            yield from _strings(entry, depth + 1)
    elif isinstance(value, dict) and depth <= MAX_DEPTH:
        yield from _strings(value.get("text") or value.get("itemListElement"), depth + 1)


def marked_texts(page: PageBlocks) -> tuple[StatedText, ...]:
    """Return the texts of elements that a page marks as its text, one text per mark.

    Marks are microdata properties (``itemprop="articleBody"``) and the class of an h-entry
    (``class="e-content"``).
    """
    marks: dict[str, str] = {}
    parts_of: dict[str, list[str]] = {}
    for block in page.blocks:
        mark = marks.get(block.path)
        if mark is None:
            match = MARK.search(block.path)
            mark = marks[block.path] = (match[1] or match[2]) if match else ""
        if mark:
            parts_of.setdefault(MARKED + mark, []).append(block.text)
    return _join_parts(parts_of)


def plain_text(value: str) -> str:
    """Return a text or HTML without markup, one paragraph per line. Lone surrogates become "?"."""
    value = value.encode("utf-8", "replace").decode()
    if "<" not in value:
        value = without_references(value)
    else:
        try:
            root = html.fragment_fromstring(value, create_parent="div")
        except (etree.LxmlError, ValueError):
            return ""
        for element in root.iter("script", "style"):
            element.text = ""
        for element in root.iter(*LINES):
            element.text = "\n" + (element.text or "")
            element.tail = "\n" + (element.tail or "")
        value = "".join(root.itertext())
    lines = (" ".join(line.split()) for line in value.splitlines())
    return "\n".join(line for line in lines if line)
