"""Apply the keep and drop rules of a website to its pages, with Python's standard library alone.

This file needs no other packages. Copy it, under any name, to the project that reads pages.
``contentspider rules export`` writes rule files as XML or JSON.

    python standalone.py [--jsonl] RULES FILE...

    from standalone import Rules
    text = Rules.load("rules.xml").text(html)

A page is read tag by tag, without a tree, in time proportional to its length. An element that
matches a rule has the rule's action for all text inside it. The innermost matching element decides,
and text outside of all matching elements is dropped. Elements end where libxml2 ends them, because
the rules were learned with libxml2.
"""

from __future__ import annotations

import json
import re
import sys
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

SCHEMA = 1
KEEP, DROP = "keep", "drop"
VALUE = re.compile(r"[A-Za-z0-9_:-]{1,200}", re.ASCII)
LONG_NUMBER = re.compile(r"[0-9]{2,}")
MAX_PLACE = 9
# The tags for which rules may name a place.
PLACED_TAGS = frozenset("td table div section article main center".split())

VOID_TAGS = frozenset(
    "area base br col embed hr img input link meta param source track wbr".split()
)
NO_BREAK_TAGS = frozenset(["img", "input", "wbr"])
# These tags are ignored: all of a page is in its body, even if the markup puts text elsewhere.
ROOT_TAGS = frozenset("html head body".split())
INLINE_TAGS = frozenset(
    "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark nobr noindex"
    " picture q rb rt ruby s samp small span strike strong sub sup time tt u var wbr output"
    " o:p mjx-container mjx-math mjx-assistive-mml".split()
)
# Elements whose content is not text of the page.
SKIPPED_TAGS = (
    "script style title template noscript svg math select textarea datalist iframe object applet"
    " canvas audio video map noembed noframes rp"
).split()
PREFORMATTED_TAGS = frozenset(["pre", "listing", "xmp"])
# The start tags that end an open element of each tag, if it is the innermost open element.
_CELL_ENDS = frozenset("td th tr tbody thead tfoot".split())
_HEADING_ENDS = frozenset("fieldset form li p table".split())
ENDED_BY = {
    "p": frozenset(
        "address blockquote caption center col colgroup dd dir div dl dt fieldset form h1 h2 h3 h4"
        " h5 h6 hr li listing menu ol p pre table tbody td tfoot th thead tr ul xmp".split()
    ),
    "li": frozenset(["li"]),
    "dt": frozenset(["dt", "dd", "dl"]),
    "dd": frozenset(["dt", "dd"]),
    "option": frozenset(["option"]),
    "td": _CELL_ENDS,
    "th": _CELL_ENDS,
    "tr": frozenset("tr tbody thead tfoot".split()),
    "tbody": frozenset(["tbody", "tfoot"]),
    "thead": frozenset(["tbody", "tfoot"]),
    "tfoot": frozenset(["tbody"]),
    **dict.fromkeys("h1 h2 h3 h4 h5 h6".split(), _HEADING_ENDS),
}
# Elements that may lack an end tag.
OPTIONAL_ENDS = frozenset("p li dt dd tr td th tbody thead tfoot option colgroup".split())
# An end tag cannot end an element that contains open elements of a higher rank.
RANKS = {"p": 10, "div": 150, "td": 160, "th": 160, "tr": 170, "thead": 180, "tbody": 180}
RANKS |= {"tfoot": 180, "table": 190}
USUAL_RANK = 100
RANKED = sorted((rank, name) for name, rank in RANKS.items() if rank > USUAL_RANK)

FOLD = re.IGNORECASE
# A tag, or a comment or declaration up to its first ">". The alternatives exclude each other, so
# that the pattern never backtracks and takes time proportional to the page's length.
TAG = re.compile(
    r"""(</?[a-zA-Z][^>"'=]*(?:(?:=\s*(?:"[^"]*"|'[^']*')?|["'])[^>"'=]*)*>?|<[!?/][^>]*>?)"""
)
# The same for pages without a ">" inside an attribute's value, in less than half of the time.
SHORT_TAG = re.compile(r"(<[a-zA-Z!?/][^>]*>?)")
# A tag that ends outside of quotes.
CLOSED_TAG = re.compile(
    r"""</?[a-zA-Z][^>"'=]*(?:(?:=\s*(?:"[^"]*"|'[^']*'|(?!["'\s]))|["'])[^>"'=]*)*>|<[!?/][^>]*>?"""
)
NAME = re.compile(r"</?([^\s/>]+)")
ATTRIBUTE = re.compile(r"""([^\s"'<>/=]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]*)))?""")
# The pattern of `SKIPPED_TAGS` is grouped by first letters, which is far faster: the rest of a name
# is only compared after its first letter matched.
_LETTERS = {letter for tag in SKIPPED_TAGS for letter in (tag[0], tag[0].upper())}
_REST = {
    letter: "|".join(tag[1:] for tag in SKIPPED_TAGS if tag[0] == letter.lower())
    for letter in sorted(_LETTERS)
}
_SKIPPED = "!--|(" + "|".join(f"{a}(?i:{rest})" for a, rest in _REST.items()) + r")(?=[\s/>])"
SKIPPED = re.compile(f"<(?=[!{''.join(_REST)}])(?:{_SKIPPED})")
SKIPPED_ENDS = {name: re.compile(f"</(?i:{name})(?=[\\s/>])") for name in SKIPPED_TAGS}
SCRIPT_PARTS = re.compile(r"<!--(?:-?>)?|-->|</?script(?=[\s/>])", FOLD)
HIDDEN_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", FOLD)
CHARSET = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([\w:.-]{1,40})""", FOLD)
MARKS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
INVISIBLE = "\xad\u200b\u2060\ufeff"

# Marks in the text of a page that is being read: a line's end, and a preformatted line's beginning.
LINE, PREFORMATTED = "\x1e", "\x1f"
# The size of the caches of tags.
MAX_TAGS = 20_000
# Elements that are nested deeper are treated as part of their ancestor at this depth.
MAX_DEPTH = 10_000
# In place of a rule's number: outside of all matching elements, and inside hidden elements.
NO_RULE, HIDDEN = -1, -2
# The kinds of tags.
NOTHING, BREAK, START, END, INLINE_END = range(5)

# The errors that reading an invalid rule file may raise.
UNREADABLE = (ElementTree.ParseError, AttributeError, LookupError, TypeError, ValueError)

# The tag, the id and the classes of an element.
Key = tuple[str, tuple[str, ...], tuple[str, ...]]
# The kind, name, effect and key of a tag: see `Rules.tag`.
Tag = tuple[int, str, Any, Key]


class _UncommonMarkupError(Exception):
    """The fast way to read a page does not support its markup; the slow way must be used."""


class RuleError(ValueError):
    """A rule or a rule file is invalid; the message says why."""


@dataclass(frozen=True)
class Element:
    """Describes the elements that a rule matches by their *tag*, and by their *id* or one *name* of
    their classes unless these are empty. ``0`` in an id or name also matches any number of two or
    more digits.
    """

    tag: str
    id: str = ""
    name: str = ""

    def __post_init__(self) -> None:
        for value in (self.tag, self.id, self.name):
            if value and not VALUE.fullmatch(value):
                raise RuleError(f"{value!r} cannot be in a rule: use letters, digits, _ : -")
        if not self.tag or (self.id and self.name):
            raise RuleError("a rule must name a tag, and may name an id or a class, but not both")

    def __str__(self) -> str:
        if self.id:
            return f"{self.tag}#{self.id}"
        return f"{self.tag}.{self.name}" if self.name else self.tag

    def matches(self, key: Key) -> bool:
        """Tell whether an element with the tag, id and classes in *key* matches."""
        tag, ids, names = key
        return (
            tag == self.tag
            and (not self.id or self.id in ids)
            and (not self.name or self.name in names)
        )


@dataclass(frozen=True)
class Rule:
    """Keeps or drops (*action*) the text inside of an *element*.

    The element must be a child of *parent* (None: any parent), and the *place*-th child with its
    tag, counted from 1 (0: any). *pages* and *chars* are the numbers of pages and of characters
    that the rule decided on when it was learned.
    """

    action: str
    element: Element
    parent: Element | None = None
    place: int = 0
    pages: int = 0
    chars: int = 0

    def __post_init__(self) -> None:
        if self.action not in (KEEP, DROP):
            raise RuleError(f"{self.action!r} is not an action: use keep or drop")
        if self.place and (not 1 <= self.place <= MAX_PLACE or self.element.tag not in PLACED_TAGS):
            raise RuleError(
                f"place {self.place} of {self.element.tag}: a place must be 1 to {MAX_PLACE}, and"
                f" the tag one of {', '.join(sorted(PLACED_TAGS))}"
            )

    def __str__(self) -> str:
        parent = f"{self.parent} > " if self.parent else ""
        place = f":{self.place}" if self.place else ""
        return f"{self.action} {parent}{self.element}{place}"

    @property
    def rank(self) -> tuple[bool, bool, bool, bool]:
        """Return how specific the rule is. If several rules match an element, the one with the
        highest rank wins, and among equal ranks the later rule.
        """
        element = self.element
        return bool(self.parent), bool(element.id), bool(element.name), bool(self.place)


@dataclass
class Reading:
    """A page's text, and what each rule did on the page, in lists with an entry per rule.

    *matched* is the number of elements that matched. *unbalanced* is the number of these that lack
    an end tag, and therefore ended with an element around them. *chars* is the number of characters
    that the rule kept or dropped.
    """

    text: str
    matched: list[int]
    unbalanced: list[int]
    chars: list[int]


@dataclass
class Rules:
    """The rules of a site.

    *model* is the version of the model and *pages* the number of pages that the rules were learned
    from. *agreement* is the F1 of the words that rules and model keep of other pages, 0 to 1 (None:
    not measured). *nested* are pairs of rule numbers: the first rule kept text that the second
    would have dropped. Rule files do not contain these pairs.

    >>> rules = Rules([Rule("keep", Element("div", name="post")), Rule("drop", Element("ul"))])
    >>> print(rules.text("<h1>Tea</h1><div class='post post-1'>Leaves <b>of</b> tea<ul><li>Share"))
    Leaves of tea
    """

    rules: list[Rule]
    site: str = ""
    model: str = ""
    pages: int = 0
    agreement: float | None = None
    nested: list[tuple[int, int]] = field(default_factory=list, compare=False)

    def __post_init__(self) -> None:
        order = sorted(range(len(self.rules)), key=lambda number: (self.rules[number].rank, number))
        # Rule numbers by tag, the winning rule first.
        self._of_tag: dict[str, list[int]] = {}
        for number in reversed(order):
            self._of_tag.setdefault(self.rules[number].element.tag, []).append(number)
        # The last two entries are for `HIDDEN` (-2) and `NO_RULE` (-1).
        self._keeps = [*(rule.action == KEEP for rule in self.rules), False, False]
        self._has_parents = any(rule.parent for rule in self.rules)
        self._placed = {rule.element.tag for rule in self.rules if rule.place}
        self._tags = _TagCache(self)
        self._marks = _MarkCache(self._tags)
        # Patterns that find the start and end tags of an element, and skipped elements.
        self._counts = {
            tag: re.compile(rf"<(?:{_SKIPPED}|(/?)(?i:{re.escape(tag)})(?=[\s/>]))")
            for tag in self._of_tag
        }
        # If all rules are simple, only the markup around matching elements is read.
        self._is_simple = all(
            rule.action == KEEP
            and not rule.parent
            and not rule.place
            and rule.element.tag
            not in ENDED_BY.keys() | VOID_TAGS | ROOT_TAGS | PREFORMATTED_TAGS | INLINE_TAGS
            for rule in self.rules
        )

    @classmethod
    def load(cls, path: str | Path) -> Rules:
        """Return the rules in an XML or JSON file; raises `RuleError` if its content is invalid,
        and OSError if it cannot be read.
        """
        try:
            return cls.parse(Path(path).read_text(encoding="utf-8"))
        except ValueError as error:  # raised by `parse`, or by decoding the file
            raise RuleError(f"{path} is not a valid rule file: {error}") from error

    @classmethod
    def parse(cls, text: str) -> Rules:
        """Return the rules in the text of a rule file (XML or JSON); raises `RuleError` for an
        invalid text.
        """
        try:
            return _from_json(text) if text.lstrip()[:1] == "{" else _from_xml(text)
        except UNREADABLE as error:
            raise RuleError(str(error) or repr(error)) from error

    def text(self, html: str | bytes) -> str:
        """Return the text of a page that the rules keep, with one line per block-level element.

        Bytes are decoded by their byte order mark or the page's declaration, or else as UTF-8 or
        Windows-1252.
        """
        html = html if isinstance(html, str) else decode(html)
        if self._is_simple and (regions := self._regions(html)) is not None:
            return _join([self._all_of(region) for region in regions])
        return _join([_walk(self, _without_skipped(html), None)])

    def read(self, html: str | bytes) -> Reading:
        """Return a page's text as `text` does, with the effects of each rule."""
        count = len(self.rules)
        reading = Reading("", [0] * count, [0] * count, [0] * count)
        html = _without_skipped(html if isinstance(html, str) else decode(html))
        reading.text = _join([_walk(self, html, reading)])
        return reading

    def _all_of(self, html: str) -> str:
        """Return all text of an element that is kept as a whole, as `_walk` does but faster."""
        parts = SHORT_TAG.split(html)
        try:
            parts[1::2] = map(self._marks.__getitem__, parts[1::2])
        except _UncommonMarkupError:
            return _walk(self, html, None, True)
        return LINE + "".join(parts)

    def _regions(self, html: str) -> list[str] | None:
        """Return the markup of the outermost elements that match rules, without scripts and other
        skipped elements. Return None if a matching element never ends.
        """
        needles = [_needle(rule.element) for rule in self.rules]
        places = [_find(needle, html, 0) for needle in needles]
        regions: list[str] = []
        missing: set[str] = set()
        end = 0  # the index where reading continues
        while (place := min(places, default=len(html))) < len(html):
            while match := SKIPPED.search(html, end, place):
                end = _skip(html, match, missing)
            if end <= place:
                element = self._element_at(html, place, end, missing)
                if element is None:
                    return None
                region, end = element
                if region is not None:
                    regions.append(region)
            for number, needle in enumerate(needles):
                if places[number] < end:
                    places[number] = _find(needle, html, end)
        return regions

    def _element_at(
        self, html: str, place: int, end: int, missing: set[str]
    ) -> tuple[str | None, int] | None:
        """Return the markup and the end of the element whose start tag contains *place*.

        The markup is None if no rule matches. The result is None if the matching element never
        ends. The page is read up to *end*.
        """
        start = max(html.rfind("<", end, place + 1), end)
        match = TAG.match(html, start)
        if match is None:
            return None, place + 1
        kind, name, effect, _ = self.tag(match[0])
        if kind != START or effect is None or effect == HIDDEN:
            return None, max(place + 1, match.end())
        return self._until_balanced(html, start, name, missing)

    def _until_balanced(
        self, html: str, start: int, name: str, missing: set[str]
    ) -> tuple[str, int] | None:
        """Return the markup of an element that begins at *start*, without skipped elements, and its
        end; None if the element never ends.
        """
        pattern = self._counts[name]
        parts: list[str] = []
        depth, end = 0, start
        while match := pattern.search(html, end):
            end = match.end()
            if match[2] is None:
                parts.append(html[start : match.start()])
                start = end = _skip(html, match, missing)
                continue
            depth += -1 if match[2] else 1
            if not depth:
                parts.append(html[start : match.start()])
                return "".join(parts), end
        return None

    def tag(self, tag_text: str) -> Tag:
        """Return the kind, name, effect and key of a tag, given as it is written.

        The kind is `START`, `END` and so on. The effect is None if no rule matches, a rule's
        number, `HIDDEN`, or a tuple of rules whose match depends on the parent or place.
        """
        return self._tags.get(tag_text) or self._read_tag(tag_text)

    def _read_tag(self, tag_text: str) -> Tag:
        """Return the kind, name, effect and key of a tag, without the cache."""
        match = NAME.match(tag_text)
        name = match[1].lower() if match else ""
        key: Key = (name, (), ())
        if not match or not name[0].isalpha() or name in ROOT_TAGS:
            return NOTHING, name, None, key
        if tag_text[1] == "/":
            return (INLINE_END if name in INLINE_TAGS else END), name, None, key
        if name in VOID_TAGS:
            return (NOTHING if name in NO_BREAK_TAGS else BREAK), name, None, key
        is_inline = name in INLINE_TAGS
        if self._needs_attributes(name, tag_text):
            attributes = _read_attributes(tag_text, match.end())
            if _is_hidden(attributes):
                return START, name, HIDDEN, key
            if not is_inline:
                key = _key(name, attributes)
                return START, name, self._effect(key), key
        return (NOTHING if is_inline else START), name, None, key

    def _needs_attributes(self, name: str, tag_text: str) -> bool:
        """Tell whether the attributes of a start tag can hide its element, or match a rule."""
        lower = tag_text.lower()
        if "hidden" in lower or "style" in lower:
            return True
        return name not in INLINE_TAGS and (name in self._of_tag or self._has_parents)

    def _effect(self, key: Key) -> int | tuple[int, ...] | None:
        """Return the number of the rule that matches an element, or all possible rules if the
        parent or place decides; None if no rule can match.
        """
        numbers: list[int] = []
        for number in self._of_tag.get(key[0], ()):
            rule = self.rules[number]
            if rule.element.matches(key):
                is_unconditional = not rule.parent and not rule.place
                if is_unconditional and not numbers:
                    return number
                numbers.append(number)
                if is_unconditional:
                    break
        return tuple(numbers) or None


def _read_attributes(tag_text: str, start: int) -> dict[str, str]:
    """Return the attributes of a start tag; the first of several with one name counts."""
    attributes: dict[str, str] = {}
    for match in ATTRIBUTE.finditer(tag_text, start):
        attributes.setdefault(match[1].lower(), match[2] or match[3] or match[4] or "")
    return attributes


def _is_hidden(attributes: dict[str, str]) -> bool:
    """Tell whether attributes hide their element. Scripts show the panels of tabs, so these count
    as visible.
    """
    has_hidden = attributes.get("hidden", "until-found") != "until-found"
    if has_hidden and attributes.get("role") != "tabpanel":
        return True
    return HIDDEN_STYLE.search(attributes.get("style", "")) is not None


def _key(name: str, attributes: dict[str, str]) -> Key:
    """Return the tag, id and classes of an element: as they are, and with ``0`` for long numbers.
    Models know names with numbers of pages that number nearly all of their names.
    """
    id_, classes = "-".join(attributes.get("id", "").split()), attributes.get("class", "")
    names = tuple(classes.split())
    if LONG_NUMBER.search(classes):
        names += tuple(LONG_NUMBER.sub("0", classes).split())
    return name, (id_, LONG_NUMBER.sub("0", id_)), names


class _TagCache(dict[str, Tag]):
    """Tags by the way that they are written (`SHORT_TAG`).

    Raises `_UncommonMarkupError` for a tag that may continue beyond its first ">".
    """

    def __init__(self, rules: Rules) -> None:
        super().__init__()
        self._read = rules._read_tag

    def __missing__(self, tag_text: str) -> Tag:
        if not CLOSED_TAG.fullmatch(tag_text):
            raise _UncommonMarkupError
        if len(self) >= MAX_TAGS:
            self.clear()
        tag = self[tag_text] = self._read(tag_text)
        return tag


class _MarkCache(dict[str, str]):
    """Maps tags, as they are written, to the marks that replace them in an element that is kept.

    Raises `_UncommonMarkupError` for a tag that hides its content.
    """

    def __init__(self, tags: _TagCache) -> None:
        super().__init__()
        self._tags = tags

    def __missing__(self, tag_text: str) -> str:
        kind, name, effect, _ = self._tags[tag_text]
        if effect == HIDDEN:
            raise _UncommonMarkupError
        if len(self) >= MAX_TAGS:
            self.clear()
        mark = LINE if kind in (BREAK, START, END) else ""
        if kind == START and name in PREFORMATTED_TAGS:
            mark += PREFORMATTED
        self[tag_text] = mark
        return mark


def _needle(element: Element) -> str | re.Pattern[str]:
    """Return a text that each start tag of an element contains: the longest part of its id or class
    without numbers. If this part is short, return a pattern of the tag's name.
    """
    part = max((element.id or element.name).split("0"), key=len)
    return part if len(part) > 2 else re.compile(rf"<(?i:{re.escape(element.tag)})(?=[\s/>])")


def _find(needle: str | re.Pattern[str], html: str, start: int) -> int:
    """Return the first place of *needle* from *start* on, or the page's length if it is missing."""
    if isinstance(needle, str):
        place = html.find(needle, start)
        return len(html) if place < 0 else place
    match = needle.search(html, start)
    return match.start() if match else len(html)


def _walk(rules: Rules, html: str, reading: Reading | None, is_inside: bool = False) -> str:
    """Return the text of *html* that the rules keep, with `LINE` at the end of each line.

    *html* must not contain skipped elements. With *is_inside* it is part of a kept element, and all
    visible text is kept. *reading*, if given, receives the effects of the rules.
    """
    try:
        parts = SHORT_TAG.split(html)
        tags = [*map(rules._tags.__getitem__, parts[1::2])]
    except _UncommonMarkupError:
        parts = TAG.split(html)
        tags = [*map(rules.tag, parts[1::2])]
    tags.insert(0, rules.tag(""))
    elements = _OpenElements(rules, reading, is_inside)
    out: list[str] = []
    begins_line = False
    for (kind, name, effect, key), text in zip(tags, parts[::2], strict=True):
        if kind == START:
            begins_line = True
            elements.start(name, effect, key)
            if elements.keeps and name in PREFORMATTED_TAGS:
                text = LINE + PREFORMATTED + text
        elif kind >= END:
            begins_line = begins_line or kind == END
            elements.end(name)
        elif kind == BREAK:
            begins_line = True
        if text:
            if elements.keeps:
                if begins_line:
                    out.append(LINE)
                    begins_line = False
                out.append(text)
            if reading and elements.rule >= 0:
                reading.chars[elements.rule] += len(text.strip())
    elements.close(0, False)
    return "".join(out)


class _OpenElements:
    """The elements that are open while a page is read. *rule* is the number of the rule that
    decides about the text that follows, and *keeps* tells whether this rule keeps text.
    """

    __slots__ = (
        "_counts",
        "_indexes",
        "_keys",
        "_matched",
        "_names",
        "_previous",
        "_reading",
        "_rules",
        "keeps",
        "rule",
    )

    def __init__(self, rules: Rules, reading: Reading | None, is_inside: bool) -> None:
        self._rules, self._reading = rules, reading
        self.rule = next(iter(rules._of_tag.get("body", ())), NO_RULE)
        self.keeps = is_inside or rules._keeps[self.rule]
        # Stacks with an entry per open element: its name, the state before it, the rule that
        # matched it. The other two also have an entry for the body: the key of each element, and
        # the number of its children by tag.
        self._names: list[str] = []
        self._previous: list[tuple[int, bool]] = []
        self._matched: list[int] = []
        self._keys: list[Key] = [("body", (), ())]
        self._counts: list[dict[str, int]] = [{}]
        # The indexes of the open elements by name.
        self._indexes: dict[str, list[int]] = defaultdict(list)

    def start(self, name: str, effect: Any, key: Key) -> None:
        """Open an element, after the elements that its start tag ends."""
        names = self._names
        while names and name in ENDED_BY.get(names[-1], ()):
            self.close(len(names) - 1, False)
        place = 0
        if name in self._rules._placed and effect != HIDDEN:
            place = self._counts[-1][name] = self._counts[-1].get(name, 0) + 1
        matched = NO_RULE
        if effect is not None and self.rule != HIDDEN:
            matched = effect
            if effect.__class__ is tuple:
                matched = _first_match(self._rules.rules, effect, self._keys[-1], place)
        if len(names) < MAX_DEPTH:
            self._push(name, key, matched)

    def _push(self, name: str, key: Key, matched: int) -> None:
        """Add an element that a rule *matched*, or `NO_RULE`, or `HIDDEN`."""
        rules, reading = self._rules, self._reading
        self._indexes[name].append(len(self._names))
        self._names.append(name)
        self._previous.append((self.rule, self.keeps))
        if rules._has_parents:
            self._keys.append(key)
        if rules._placed:
            self._counts.append({})
        if reading:
            self._matched.append(matched)
        if matched != NO_RULE:
            self.rule, self.keeps = matched, rules._keeps[matched]
            if reading and matched >= 0:
                reading.matched[matched] += 1

    def end(self, name: str) -> None:
        """End the innermost open element of a name, if its end tag reaches it."""
        indexes = self._indexes.get(name)
        if indexes:
            index = indexes[-1]
            if index == len(self._names) - 1 or _reaches(name, index, self._indexes):
                self.close(index, True)

    def close(self, index: int, has_end_tag: bool) -> None:
        """End the open elements from *index* on. *has_end_tag* is for the element at *index*."""
        names, rules, reading = self._names, self._rules, self._reading
        while len(names) > index:
            name = names.pop()
            self._indexes[name].pop()
            self.rule, self.keeps = self._previous.pop()
            if rules._has_parents:
                self._keys.pop()
            if rules._placed:
                self._counts.pop()
            if reading:
                matched = self._matched.pop()
                is_balanced = has_end_tag and len(names) == index
                if matched >= 0 and name not in OPTIONAL_ENDS and not is_balanced:
                    reading.unbalanced[matched] += 1


def _first_match(rules: list[Rule], numbers: tuple[int, ...], parent: Key, place: int) -> int:
    """Return the first rule of *numbers* that matches an element with this parent and place, or
    `NO_RULE`.
    """
    for number in numbers:
        rule = rules[number]
        if (not rule.parent or rule.parent.matches(parent)) and rule.place in (0, place):
            return number
    return NO_RULE


def _reaches(name: str, index: int, indexes: dict[str, list[int]]) -> bool:
    """Tell whether an end tag ends the open element at *index*: the elements inside it must not
    have a higher rank.
    """
    rank = RANKS.get(name, USUAL_RANK)
    return not any(
        inner_rank > rank and indexes.get(inner) and indexes[inner][-1] > index
        for inner_rank, inner in RANKED
    )


def _without_skipped(html: str) -> str:
    """Return a page without comments and without the elements of `SKIPPED_TAGS`."""
    parts: list[str] = []
    start = 0
    missing: set[str] = set()
    while match := SKIPPED.search(html, start):
        parts.append(html[start : match.start()])
        start = _skip(html, match, missing)
    parts.append(html[start:])
    return "".join(parts)


def _skip(html: str, match: re.Match[str], missing: set[str]) -> int:
    """Return the end of the comment or element that `SKIPPED` matched. *missing* collects the names
    of elements that lack an end tag in the rest of the page.
    """
    start = match.end()
    if not match[1]:
        end = html.find("-->", start - 2)
        return len(html) if end < 0 else end + 3
    name = match[1].lower()
    if name == "script":
        return _script_end(html, start)
    tag_end = html.find(">", start) + 1 or len(html)
    is_self_closing = html[tag_end - 2] == "/" and name in ("svg", "math")
    if is_self_closing or name in missing:
        return tag_end
    if end_tag := SKIPPED_ENDS[name].search(html, start):
        return html.find(">", end_tag.end()) + 1 or len(html)
    missing.add(name)
    return len(html) if name == "style" else tag_end  # an unclosed style takes the rest of the page


def _script_end(html: str, start: int) -> int:
    """Return the end of a script. A comment in the script may contain a whole inner script."""
    end_tag = SKIPPED_ENDS["script"].search(html, start)
    if end_tag and html.find("<!--", start, end_tag.start()) < 0:
        return html.find(">", end_tag.end()) + 1 or len(html)
    in_comment = in_inner_script = False
    for match in SCRIPT_PARTS.finditer(html, start):
        part = match[0][:3].lower()
        if part == "</s":
            if not in_inner_script:
                return html.find(">", match.end()) + 1 or len(html)
            in_inner_script = False
        elif part == "<!-":
            if match[0][-1] != ">":
                in_comment = True
        elif part == "-->":
            in_comment = in_inner_script = False
        else:
            in_inner_script = in_comment
    return len(html)


def _join(texts: list[str]) -> str:
    """Return the lines of the texts, with white space folded and entities decoded."""
    text = unescape(LINE.join(texts))
    if not text.isascii():
        for character in INVISIBLE:
            text = text.replace(character, "")
    lines: list[str] = []
    for line in text.split(LINE):
        if line[:1] == PREFORMATTED:
            lines += [row.rstrip() for row in line[1:].strip("\r\n").split("\n")]
            continue
        if line.isprintable() and "  " not in line:  # most lines need no folding
            line = line.strip(" ")
        else:
            line = " ".join(line.split())
        if line:
            lines.append(line)
    return "\n".join(lines)


def decode(body: bytes) -> str:
    """Return the text of a page's bytes, decoded by the byte order mark or the page's declaration,
    or else as UTF-8, or as Windows-1252 if it is not UTF-8.
    """
    for mark, encoding in MARKS:
        if body.startswith(mark):
            return body.decode(encoding, "replace")
    declaration = CHARSET.search(body, 0, 4096)
    for encoding in (declaration[1].decode() if declaration else "", "utf-8"):
        with suppress(LookupError, ValueError):
            return body.decode(encoding)
    return body.decode("cp1252", "replace")


def _from_xml(text: str) -> Rules:
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise RuleError("the file declares a document type, which rule files must not")
    root = ElementTree.fromstring(text)  # noqa: S314 - checked for entities
    if root.tag != "rules":
        raise RuleError(f"the root element is {root.tag!r}, not 'rules'")
    return _from_record(dict(root.attrib), [{"action": rule.tag, **rule.attrib} for rule in root])


def _from_json(text: str) -> Rules:
    record = json.loads(text)
    return _from_record(record, record["rules"])


def _from_record(header: dict[str, Any], rules: list[dict[str, Any]]) -> Rules:
    """Return the rules of a rule file.

    *header* has the attributes of the file, *rules* the attributes of each rule.
    """
    if str(header.get("schema")) != str(SCHEMA):
        raise RuleError(f"the schema is {header.get('schema')!r}; this version reads {SCHEMA}")
    agreement = header.get("agreement")
    return Rules(
        [_rule(rule) for rule in rules],
        str(header.get("site", "")),
        str(header.get("model", "")),
        int(header.get("pages", 0)),
        None if agreement is None else float(agreement),
    )


def _rule(record: dict[str, Any]) -> Rule:
    """Return a rule from its attributes in a rule file."""

    def element(prefix: str) -> Element:
        return Element(*(str(record.get(prefix + name, "")) for name in ("tag", "id", "class")))

    unknown = record.keys() - FIELDS
    if unknown:
        raise RuleError(
            f"a rule has {', '.join(sorted(unknown))}, which this version does not support"
        )
    return Rule(
        record["action"],
        element(""),
        element("parent-") if "parent-tag" in record else None,
        *(int(record.get(name, 0)) for name in ("place", "pages", "chars")),
    )


FIELDS = set("action tag id class parent-tag parent-id parent-class place pages chars".split())


def main(arguments: list[str]) -> int:
    """Apply a rule file to HTML files, and print the text that it keeps, or JSON lines of path and
    text.
    """
    is_jsonl = arguments[:1] == ["--jsonl"]
    path, *pages = arguments[is_jsonl:] or [""]
    if not pages:
        sys.stderr.write(f"usage: python {Path(__file__).name} [--jsonl] RULES FILE...\n")
        return 2
    try:
        rules = Rules.load(path)
        for page in pages:
            reading = rules.read(Path(page).read_bytes())
            text = reading.text
            sys.stdout.write(
                (json.dumps({"path": page, "text": text}) if is_jsonl else text) + "\n"
            )
            for rule, unended in zip(rules.rules, reading.unbalanced, strict=True):
                if unended:
                    sys.stderr.write(
                        f"{page}: an element of the rule '{rule}' lacks its end tag; an outer"
                        " element ends it\n"
                    )
    except (RuleError, OSError) as error:
        sys.stderr.write(f"{Path(__file__).stem}: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
