"""Which elements hold a part of the text together, as generators of documentation write them.

The walk over a page gives each element a *kind* by its tag and classes, and writers show the kinds:
quotes, lists, definitions, boxes with notes, folded text and the panels of tabs.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

QUOTE, ITEM, TERM, DEFINITION, DETAILS, SUMMARY = "quote", "li", "dt", "dd", "details", "summary"
BULLETS, NUMBERS, DEFINITIONS, TABLE, NOTE = "ul", "ol", "dl", "table", "footnote"
# Lines that are not joined, the panel of a tab, and the label above it.
LINES, PANEL, LABEL = "lines", "tab", "label"
CITATION = "citation"  # an entry of a list of sources, which begins with its label
LISTS = frozenset([BULLETS, NUMBERS, DEFINITIONS])
# All kinds except boxes, which are in upper case: ``WARNING``.
KINDS = LISTS | {
    QUOTE,
    ITEM,
    TERM,
    DEFINITION,
    DETAILS,
    SUMMARY,
    TABLE,
    NOTE,
    LINES,
    PANEL,
    LABEL,
    CITATION,
}
OF_TAGS = {
    "blockquote": QUOTE,
    "li": ITEM,
    **dict.fromkeys(["ul", "menu", "dir"], BULLETS),
    "ol": NUMBERS,
    "dl": DEFINITIONS,
    "dt": TERM,
    "dd": DEFINITION,
    "details": DETAILS,
    "summary": SUMMARY,
}
# As docutils and Asciidoctor write them, and editions of poems (TEI).
OF_CLASSES = {
    **dict.fromkeys(["line-block", "stanza", "strophe", "lg"], LINES),
    "citation": CITATION,
    "hdlist1": TERM,
    "hdlist2": DEFINITION,
}

# The words in classes that name the kinds of boxes.
WORDS = {
    **{word: word.upper() for word in (
        "note tip important warning caution danger info hint attention error success question"
        " example bug abstract todo seealso failure help remark"
    ).split()},
    "warn": "WARNING",
    "information": "INFO",
    **dict.fromkeys(["primary", "secondary", "tldr", "summary"], "NOTE"),
}  # fmt: skip
BOX_KINDS = frozenset(WORDS.values())
# An element whose classes are nothing but such words is a box if one of them is among these.
ALONE = frozenset("note tip important warning caution danger hint attention".split())
# Classes of boxes that need no word: without one, the box is a note.
BOXES = frozenset(
    "admonition admonitionblock theme-admonition markdown-alert starlight-aside"
    " admonish notecard nextra-callout notion-callout intercom-interblocks-callout".split()
)
# Classes that make an element a box together with a word, as of its own (``alert warning``) or as
# an ending (``alert-warning``, ``starlight-aside--caution``, ``callout_warn``).
FRAMES = BOXES | frozenset(
    "custom-block callout alert hint book-hint blockquote-tag confluence-information-macro notice"
    " notices message rspress-directive directive wrap".split()
)
# The endings of a theme's own frames: ``rp-callout--note``, ``tsd-alert-warning``
OF_THEMES = ("-callout", "-admonition", "-alert")
ENDING = re.compile(r"(?P<frame>[a-z-]*[a-z])(?:--?|__?)(?P<word>[a-z]+)\Z")
# ``notewarning`` (DokuWiki), ``warningMacro`` (Confluence), ``warningmessage`` (XWiki)
JOINED = re.compile(r"note(?P<after>[a-z]+)\Z|(?P<before>[a-z]+)(?:macro|message)\Z")
# Just the Docs: the first line of ``blockquote.note-title`` is the title.
TITLED = re.compile(r"(?P<word>[a-z]+)-title\Z")
# Names of quotations and hints that are boxes, beside words for kinds.
OF_QUOTES, OF_HINTS = re.compile(r"is-|[a-z]+-title\Z"), re.compile("bg-")
# These are boxes if an attribute names their kind (Obsidian, Mintlify, Nextra).
STATED = frozenset(["callout", "nextra-callout"])
BOX_TAGS = frozenset("div aside section p blockquote table dl article figure".split())

# The roles of elements that hold nothing together, and yet are read in a way of their own.
TABS, SIGNATURE, API, CALLOUTS, ENTRIES = "tabs", "signature", "api", "callouts", "entries"
CALLOUT = "callout"
CALLOUT_LISTS = frozenset(["colist", "calloutlist"])  # of Asciidoctor and DocBook
HEADINGS = frozenset("h1 h2 h3 h4 h5 h6".split())
# The classes of Texinfo's definitions: ``deffn``, ``deftypefun``.
TEXINFO = re.compile(r"def(?:fn|un|vr|var|tp|mac|opt|spec|op|cv|ivar|method|type[a-z]+)x?\Z")
TAB_SETS = frozenset(
    "tabbed-set tabset vp-code-group sd-tab-set book-tabs docsify-tabs tablist".split()
)
SIGNATURES = frozenset(
    "sig-object member-signature type-signature memproto tsd-signature method-signature"
    " code-header functionHeader method-heading".split()
)
# pdoc's: ``attr function``. Shops have an ``attr`` of another kind.
PARTS_OF_PDOC = frozenset(["function", "class", "variable"])
# Lists of an API's parts, as Sphinx wrote them before it named signatures (version 4).
PARTS_OF_API = frozenset(
    "class function method attribute data exception staticmethod classmethod describe".split()
)
DIAGRAMS = frozenset(["mermaid"])
# How many answers about the names of elements are kept, and about how long ones.
MAX_CACHED, MAX_CACHED_CHARS = 10_000, 200


class Names(NamedTuple):
    """The *kind* and the *role* of an element according to its names, each "" for none."""

    kind: str
    role: str


def named(tag: str, classes: str, role: str) -> Names:
    """Return the kind and the role of an element with this *tag*, these *classes* and this *role*
    (the attribute).

    >>> named("div", "admonition warning", ""), named("li", "", "")
    (Names(kind='WARNING', role=''), Names(kind='li', role=''))
    """
    if len(classes) + len(role) > MAX_CACHED_CHARS:
        return _names_of(tag, classes, role)
    return _cached_names_of(tag, classes, role)


def _names_of(tag: str, classes: str, role: str) -> Names:
    words = classes.split()
    kind = OF_TAGS.get(tag, "")
    for word in words if tag in ("div", "td") else ():
        kind = OF_CLASSES.get(word, kind)
    if tag in BOX_TAGS and words:
        kind = box_kind(tag, words) or kind
    return Names(kind, _role(tag, frozenset(words), role))


# The pages of a site have the same names.
_cached_names_of = lru_cache(MAX_CACHED)(_names_of)


def _role(tag: str, words: frozenset[str], role: str) -> str:
    if role == "tablist" or not TAB_SETS.isdisjoint(words) or words >= {"openblock", "tabs"}:
        return TABS
    is_of_pdoc = tag == "div" and "attr" in words and not PARTS_OF_PDOC.isdisjoint(words)
    if is_of_pdoc or not SIGNATURES.isdisjoint(words) or _is_signature(tag, words):
        return SIGNATURE
    if tag == "dl" and not PARTS_OF_API.isdisjoint(words):
        return API
    if not CALLOUT_LISTS.isdisjoint(words):
        return CALLOUTS
    if tag == "div" and not STATED.isdisjoint(words):
        return CALLOUT
    return ENTRIES if "hdlist" in words else ""


def _is_signature(tag: str, words: frozenset[str]) -> bool:
    """Tell whether the classes of an element are those of a signature for a tag like this."""
    if "monospace" in words:  # Dokka, Scaladoc
        return not words.isdisjoint(["symbol", "signature"])
    if tag in HEADINGS:  # ExDoc, YARD
        return "signature" in words
    if tag == "p":  # Haddock
        return words == {"src"}
    return tag == "dt" and any(map(TEXINFO.match, words))


def box_kind(tag: str, words: list[str]) -> str:
    """Return the kind of the box that an element with these class names is, "" if it is none."""
    names = [word.lower() for word in words]
    read = [_word_of(name) for name in names]
    # "hint" is a kind in ``admonition hint``, and none in ``hint hint-warning``.
    told = [word for word, _ in read if word and word not in FRAMES]
    kinds = [WORDS[word] for word in told or [word for word, _ in read if word]]
    is_framed = any(is_frame for _, is_frame in read) or (tag == "dl" and "section" in names)
    # Wiki.js: ``blockquote.is-warning``; GitBook: ``hint bg-warning``; Notion: ``figure.callout``
    is_framed = (
        is_framed
        or (tag == "blockquote" and any(kinds) and any(map(OF_QUOTES.match, names)))
        or ("hint" in names and any(map(OF_HINTS.match, names)) and bool(kinds))
        or (tag == "figure" and "callout" in names)
    )
    if not is_framed and (not all(word for word, _ in read) or ALONE.isdisjoint(names)):
        return ""
    without_word = "" if BOXES.isdisjoint(names) and tag != "figure" else "NOTE"
    return next((kind for kind in kinds if kind != "NOTE"), "NOTE" if kinds else without_word)


def stated_kind(word: str) -> str:
    """Return the kind of a box that an attribute names, "" for another word."""
    return WORDS.get(word.lower(), "")


def _word_of(name: str) -> tuple[str, bool]:
    """Return the word for a kind in a class name ("" for none), and whether the name is a box's."""
    if name in WORDS:
        return ("" if name in BOXES else name), name in FRAMES and name not in ALONE
    if name in FRAMES or name.endswith(OF_THEMES):
        return "", True
    if (titled := TITLED.match(name)) and titled["word"] in WORDS:
        return titled["word"], False
    if ending := ENDING.match(name):
        # Wiki.js: ``is-warning``; DITA: ``note warning note_warning``; GitBook: ``hint bg-warning``
        is_beside = ending["frame"] in ("is", "note", "bg")
        is_told = ending["word"] in WORDS and (
            is_beside or ending["frame"] in FRAMES or ending["frame"].endswith(OF_THEMES)
        )
        return (ending["word"] if is_told else ""), is_told and not is_beside
    joined = JOINED.match(name)
    word = (joined["after"] or joined["before"]) if joined else ""
    return (word, True) if word in WORDS else ("", False)
