"""Texts that a page states as its own: in its JSON-LD, and in marked blocks."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lxml import etree, html

from contentspider.page.about.jsonld import kinds
from contentspider.page.tree.text import tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from contentspider.page.tree.blocks import PageBlocks

MAX_TEXTS = 50
MAX_TEXT_CHARS = 200_000
MAX_PAGE_CHARS = 500_000
MAX_OBJECTS = 2_000
MAX_DEPTH = 8
# A shorter text may be on any page.
MIN_TOKENS = 8

# The prefix of the sources of marked elements: they have the whole text, and what the template adds
# inside.
MARKED = "marked "
# In a block's path: microdata's properties, and the class of h-entry.
MARK = re.compile(
    r"\[(?:[^/\]]*-)?(articleBody|reviewBody|recipeInstructions|text)(?:-[^/\]]*)?\]"
    r"|\.(e-content)(?![\w-])"
)
# Properties whose value is the text of what the page is about.
BODIES = ("articleBody", "text", "reviewBody")
# What texts are called that are one of several of their page, by type.
PARTS = {
    "Answer": "answer",
    "Question": "question",
    **dict.fromkeys(("DiscussionForumPosting", "SocialMediaPosting"), "post"),
}
# Those that many an object has, with the types of which they are the text.
DESCRIBED = frozenset(
    "Product ProductGroup JobPosting Event Course Recipe SoftwareApplication Book Movie".split()
)
RECIPE = ("recipeIngredient", "recipeInstructions")
# Objects below which nothing is the page's own text: other pages, people, and readers' words.
FOREIGN = frozenset(
    "Organization NewsMediaOrganization Person WebSite BreadcrumbList ItemList ImageObject"
    " VideoObject Comment UserComments AggregateRating Offer SiteNavigationElement".split()
)
# Elements whose text stands on lines of its own.
LINES = "p br li div tr td th dt dd h1 h2 h3 h4 h5 h6 pre blockquote section article ul ol".split()
SKIPPED = frozenset(["comment", "isPartOf", "publisher", "author", "breadcrumb", "review"])


@dataclass(frozen=True, slots=True)
class StatedText:
    """A text that a page states: *source* is its property, *text* plain, a paragraph a line."""

    source: str
    text: str


def stated_texts(
    entries: Iterable[dict[str, object]], marked: Iterable[tuple[str, str]] = ()
) -> tuple[StatedText, ...]:
    """Return the texts in the objects of a page's JSON-LD (`read_json_ld`), and those of elements
    *marked* by RDFa, each with its property and markup; one text a property, at most `MAX_TEXTS` of
    `MAX_PAGE_CHARS` in all.

    Of a list of posts, as of a recipe's steps, the parts make one text. Comments are left out: they
    are readers' words, not the page's.
    """
    found: dict[str, list[str]] = {}
    chars = 0
    named = (
        *((f"json-ld {name}", value) for name, value in _values(entries)),
        *((f"{MARKED}rdfa {name}", markup) for name, markup in marked),
    )
    for name, value in named:
        if chars >= MAX_PAGE_CHARS or len(found) >= MAX_TEXTS:
            break
        text = plain_text(value[:MAX_TEXT_CHARS])
        if text and text not in found.get(name, ()):
            found.setdefault(name, []).append(text)
            chars += len(text)
    return _joined(found)


def _joined(found: dict[str, list[str]]) -> tuple[StatedText, ...]:
    joined = ((name, "\n".join(parts)[:MAX_TEXT_CHARS]) for name, parts in found.items())
    return tuple(StatedText(name, text) for name, text in joined if len(tokens(text)) >= MIN_TOKENS)


def _values(entries: Iterable[dict[str, object]]) -> Iterator[tuple[str, str]]:
    """Yield the names and values of properties that are texts of the page, each object's once."""
    seen: set[int] = set()
    # Objects in document order: the next is taken from the end.
    waiting: list[tuple[object, int]] = [(entry, 0) for entry in reversed(list(entries))]
    while waiting and len(seen) < MAX_OBJECTS:
        value, depth = waiting.pop()
        if isinstance(value, list):
            waiting += [(entry, depth) for entry in reversed(value[:MAX_OBJECTS])]
            continue
        if not isinstance(value, dict) or depth > MAX_DEPTH or id(value) in seen:
            continue
        seen.add(id(value))
        types = set(kinds(value))
        if types & FOREIGN:
            continue
        yield from _own(value, types)
        waiting += [
            (below, depth + 1)
            for name, below in reversed(value.items())
            if isinstance(below, (dict, list)) and name not in SKIPPED and name not in RECIPE
        ]


def _own(entry: dict[str, object], types: set[str]) -> Iterator[tuple[str, str]]:
    for name in BODIES:
        if isinstance(text := entry.get(name), str):
            yield next((PARTS[kind] for kind in types if kind in PARTS), name), text
    if types & DESCRIBED and isinstance(text := entry.get("description"), str):
        yield "description", text
    for name in RECIPE:
        yield from ((name, text) for text in _strings(entry.get(name)))


def _strings(value: object, depth: int = 0) -> Iterator[str]:
    """Yield the strings of a recipe's list: plain, or in steps and sections of steps."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list) and depth <= MAX_DEPTH:
        for entry in value[:MAX_OBJECTS]:
            yield from _strings(entry, depth + 1)
    elif isinstance(value, dict) and depth <= MAX_DEPTH:
        yield from _strings(value.get("text") or value.get("itemListElement"), depth + 1)


def marked_texts(page: PageBlocks) -> tuple[StatedText, ...]:
    """Return the texts of the blocks in elements that a page marks as its text, by microdata
    (``itemprop="articleBody"``) or as an h-entry (``class="e-content"``), one a mark.
    """
    marks: dict[str, str] = {}
    found: dict[str, list[str]] = {}
    for block in page.blocks:
        mark = marks.get(block.path)
        if mark is None:
            match = MARK.search(block.path)
            mark = marks[block.path] = (match[1] or match[2]) if match else ""
        if mark:
            found.setdefault(MARKED + mark, []).append(block.text)
    return _joined(found)


def plain_text(value: str) -> str:
    """Return text or HTML without markup, a paragraph a line; half an emoji becomes "?"."""
    value = value.encode("utf-8", "replace").decode()
    if "<" in value or "&" in value:
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
