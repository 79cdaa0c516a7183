"""Apply the keep and drop rules of a website to its pages, with Python's standard library alone.

This file needs nothing else: copy it where pages are to be read, under any name. ``contentspider
rules export`` writes rule files, as XML or JSON.

    python standalone.py [--jsonl] RULES FILE...

    from standalone import Rules
    text = Rules.load("rules.xml").text(html)

A page is read tag by tag, without a tree, in time proportional to its length. What matches a rule
has the rule's action for all inside, until it ends: the innermost element that matches decides, and
what no rule holds for is dropped. Elements end where libxml2 ends them, which the rules were
learned by.
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
# The tags of which rules may say a place.
PLACED_TAGS = frozenset("td table div section article main center".split())

VOID_TAGS = frozenset(
    "area base br col embed hr img input link meta param source track wbr".split()
)
NO_BREAK_TAGS = frozenset(["img", "input", "wbr"])
# They are no elements of their own: all of a page is in its body, whatever it writes.
ROOT_TAGS = frozenset("html head body".split())
INLINE_TAGS = frozenset(
    "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark nobr noindex"
    " picture q rb rt ruby s samp small span strike strong sub sup time tt u var wbr output"
    " o:p mjx-container mjx-math mjx-assistive-mml".split()
)
# What is in them is no text of the page.
SKIPPED_TAGS = (
    "script style title template noscript svg math select textarea datalist iframe object applet"
    " canvas audio video map noembed noframes rp"
).split()
PREFORMATTED_TAGS = frozenset(["pre", "listing", "xmp"])
# Where a tag ends what is open before it.
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
# They may end without an end tag, so that nothing is wrong where they do.
OPTIONAL_ENDS = frozenset("p li dt dd tr td th tbody thead tfoot option colgroup".split())
# An end tag does not reach beyond open elements of a higher rank.
RANKS = {"p": 10, "div": 150, "td": 160, "th": 160, "tr": 170, "thead": 180, "tbody": 180}
RANKS |= {"tfoot": 180, "table": 190}
USUAL_RANK = 100
RANKED = sorted((rank, name) for name, rank in RANKS.items() if rank > USUAL_RANK)

FOLD = re.IGNORECASE
# Each alternative takes what it has taken for good, so that no page takes more than its length.
TAG = re.compile(
    r"""(</?[a-zA-Z][^>"'=]*(?:(?:=\s*(?:"[^"]*"|'[^']*')?|["'])[^>"'=]*)*>?|<[!?/][^>]*>?)"""
)
# The same where no value has a ">" in it, in less than half of the time.
SHORT_TAG = re.compile(r"(<[a-zA-Z!?/][^>]*>?)")
# A tag in which no quote is open at its end.
CLOSED_TAG = re.compile(
    r"""</?[a-zA-Z][^>"'=]*(?:(?:=\s*(?:"[^"]*"|'[^']*'|(?!["'\s]))|["'])[^>"'=]*)*>|<[!?/][^>]*>?"""
)
NAME = re.compile(r"</?([^\s/>]+)")
ATTRIBUTE = re.compile(r"""([^\s"'<>/=]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]*)))?""")
# By their first letters, of which the rest is looked at only if they are there: far faster.
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

# What ends a line of the text, and what begins one that is preformatted.
LINE, PREFORMATTED = "\x1e", "\x1f"
# Tags as they are written of which it is remembered what they are.
MAX_TAGS = 20_000
# What is nested deeper ends where its ancestors do.
MAX_DEPTH = 10_000
# What rule is in force where none is, and in what the page hides.
NO_RULE, HIDDEN = -1, -2
# What a tag is.
NOTHING, BREAK, START, END, INLINE_END = range(5)

# What a file that is no rule file may fail with.
UNREADABLE = (ElementTree.ParseError, AttributeError, LookupError, TypeError, ValueError)

Key = tuple[str, str, tuple[str, ...]]
# What a tag is, its name, what it does, and what it is called: see `Rules.tag`.
Kind = tuple[int, str, Any, Key]


class _UncommonError(Exception):
    """What has been met is to be read in the slower way."""


class RuleError(ValueError):
    """A rule, or a file of rules, cannot be used; the message says why."""


@dataclass(frozen=True)
class Element:
    """What an element must be for a rule to match it: its *tag*, and its *id* or one *name* of its
    class, if they are not empty. In both, numbers of two digits and more stand as ``0``, which
    matches any such number.
    """

    tag: str
    id: str = ""
    name: str = ""

    def __post_init__(self) -> None:
        for value in (self.tag, self.id, self.name):
            if value and not VALUE.fullmatch(value):
                raise RuleError(f"{value!r} cannot be in a rule: it may be letters, digits, _ : -")
        if not self.tag or (self.id and self.name):
            raise RuleError("a rule names a tag, and an id or a class at most")

    def __str__(self) -> str:
        return self.tag + (f"#{self.id}" if self.id else f".{self.name}" if self.name else "")

    def matches(self, key: Key) -> bool:
        """Tell whether it matches an element, given by its tag, its id and its classes."""
        tag, id_, names = key
        return (
            tag == self.tag
            and (not self.id or id_ == self.id)
            and (not self.name or self.name in names)
        )


@dataclass(frozen=True)
class Rule:
    """Keep or drop (*action*) what is in an *element*, if it is in *parent* (None: wherever it is),
    and the *place*-th of its tag there, from 1 (0: any).

    *pages* and *chars* say on how many pages it matched when it was learned, and how much text.
    """

    action: str
    element: Element
    parent: Element | None = None
    place: int = 0
    pages: int = 0
    chars: int = 0

    def __post_init__(self) -> None:
        if self.action not in (KEEP, DROP):
            raise RuleError(f"{self.action!r} is no action: it is keep or drop")
        if self.place and (not 1 <= self.place <= MAX_PLACE or self.element.tag not in PLACED_TAGS):
            raise RuleError(
                f"place {self.place} of {self.element.tag}: a place is 1 to {MAX_PLACE}, of"
                f" {', '.join(sorted(PLACED_TAGS))}"
            )

    def __str__(self) -> str:
        above = f"{self.parent} > " if self.parent else ""
        return f"{self.action} {above}{self.element}{f':{self.place}' if self.place else ''}"

    @property
    def rank(self) -> tuple[bool, bool, bool, bool]:
        """Return how particular the rule is: of several that match an element, the highest rank
        wins, then the later rule.
        """
        element = self.element
        return bool(self.parent), bool(element.id), bool(element.name), bool(self.place)


@dataclass
class Reading:
    """A page's text, and by rule: how many elements it *matched*, how many of these never ended,
    so that their ends are those of what is around them (*unbalanced*), and the characters of text
    that it decided on.
    """

    text: str
    matched: list[int]
    unbalanced: list[int]
    chars: list[int]


@dataclass
class Rules:
    """The rules of a site, and what they were learned from: the version of the *model*, the number
    of *pages*, and the *agreement* with the model (F1 of words, 0 to 1) on pages that they were not
    learned from (None: not measured). *nested* are pairs of rules, by number, of which the first
    kept something that the second would have dropped; files do not have them.

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
        # By tag, the one that wins first.
        self._of_tag: dict[str, list[int]] = {}
        for number in reversed(order):
            self._of_tag.setdefault(self.rules[number].element.tag, []).append(number)
        # The last two are `HIDDEN` and `NO_RULE`.
        self._keeps = [*(rule.action == KEEP for rule in self.rules), False, False]
        self._has_parents = any(rule.parent for rule in self.rules)
        self._placed = {rule.element.tag for rule in self.rules if rule.place}
        self._tags = _Tags(self)
        self._marks = _Marks(self._tags)
        self._counts = {
            tag: re.compile(rf"<(?:{_SKIPPED}|(/?)(?i:{re.escape(tag)})(?=[\s/>]))")
            for tag in self._of_tag
        }
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
        """Return the rules in an XML or JSON file; raises `RuleError` if it is none, and OSError if
        it cannot be read.
        """
        try:
            return cls.parse(Path(path).read_text(encoding="utf-8"))
        except ValueError as error:  # of `parse`, or of the encoding
            raise RuleError(f"{path} has no rules that can be used: {error}") from error

    @classmethod
    def parse(cls, text: str) -> Rules:
        """Return the rules that a file's text is, XML or JSON; raises `RuleError`."""
        try:
            return _from_json(text) if text.lstrip()[:1] == "{" else _from_xml(text)
        except UNREADABLE as error:
            raise RuleError(str(error) or repr(error)) from error

    def text(self, html: str | bytes) -> str:
        """Return the text of a page that the rules keep, a line a block-level element. Bytes are
        decoded by their mark or what the page says they are, else as UTF-8 or Windows-1252.
        """
        html = html if isinstance(html, str) else decode(html)
        if self._is_simple and (regions := self._regions(html)) is not None:
            return _join([self._all_of(region) for region in regions])
        return _join([_walk(self, _without_skipped(html), None)])

    def read(self, html: str | bytes) -> Reading:
        """Return a page's text as `text` does, and what each rule did."""
        count = len(self.rules)
        reading = Reading("", [0] * count, [0] * count, [0] * count)
        html = _without_skipped(html if isinstance(html, str) else decode(html))
        reading.text = _join([_walk(self, html, reading)])
        return reading

    def _all_of(self, html: str) -> str:
        """Return the text of what is kept as a whole, as `_walk` does."""
        parts = SHORT_TAG.split(html)
        try:
            parts[1::2] = map(self._marks.__getitem__, parts[1::2])
        except _UncommonError:
            return _walk(self, html, None, True)
        return LINE + "".join(parts)

    def _regions(self, html: str) -> list[str] | None:
        """Return the markup inside the outermost elements that rules match, without scripts and the
        like. Return None if one of the elements never ends.
        """
        seeks = [_seek(rule.element) for rule in self.rules]
        places = [_found(seek, html, 0) for seek in seeks]
        regions: list[str] = []
        missing: set[str] = set()
        end = 0  # what is before it has been read
        while (place := min(places, default=len(html))) < len(html):
            while match := SKIPPED.search(html, end, place):
                end = _skip(html, match, missing)
            if end <= place:
                start = max(html.rfind("<", end, place + 1), end)
                written = TAG.match(html, start)
                end = max(place + 1, written.end() if written else 0)
                code, name, effect, _ = self.tag(written[0] if written else "")
                if code == START and effect is not None and effect != HIDDEN:
                    found = self._until_balanced(html, start, name, missing)
                    if found is None:
                        return None
                    region, end = found
                    regions.append(region)
            places = [
                found if found >= end else _found(seek, html, end)
                for seek, found in zip(seeks, places, strict=True)
            ]
        return regions

    def _until_balanced(
        self, html: str, start: int, name: str, missing: set[str]
    ) -> tuple[str, int] | None:
        """Return an element from its start tag on, without what is no text of the page, and where
        it ends; None if it never does.
        """
        pattern = self._counts[name]
        kept: list[str] = []
        depth, end = 0, start
        while match := pattern.search(html, end):
            end = match.end()
            if match[2] is None:
                kept.append(html[start : match.start()])
                start = end = _skip(html, match, missing)
                continue
            depth += -1 if match[2] else 1
            if not depth:
                kept.append(html[start : match.start()])
                return "".join(kept), end
        return None

    def tag(self, written: str) -> Kind:
        """Return what a tag is, as it is written: `START`, `END` and so on; its name; what it does
        (None: nothing, a rule's number, `HIDDEN`, or rules that depend on where it is); and what it
        is called.
        """
        return self._tags.get(written) or self._read_tag(written)

    def _read_tag(self, written: str) -> tuple[int, str, Any, Key]:
        match = NAME.match(written)
        name = match[1].lower() if match else ""
        key: Key = (name, "", ())
        if not match or not name[0].isalpha() or name in ROOT_TAGS:
            return NOTHING, name, None, key
        if written[1] == "/":
            return (INLINE_END if name in INLINE_TAGS else END), name, None, key
        if name in VOID_TAGS:
            return (NOTHING if name in NO_BREAK_TAGS else BREAK), name, None, key
        low = written.lower()
        is_plain = "hidden" not in low and "style" not in low
        if is_plain and name in INLINE_TAGS:
            return NOTHING, name, None, key
        if is_plain and name not in self._of_tag and not self._has_parents:
            return START, name, None, key
        attributes: dict[str, str] = {}
        for attribute in ATTRIBUTE.finditer(written, match.end()):
            value = attribute[2] or attribute[3] or attribute[4] or ""
            attributes.setdefault(attribute[1].lower(), value)
        is_hidden = attributes.get("hidden", "until-found") != "until-found"
        if (is_hidden and attributes.get("role") != "tabpanel") or HIDDEN_STYLE.search(
            attributes.get("style", "")
        ):
            return START, name, HIDDEN, key
        if name in INLINE_TAGS:
            return NOTHING, name, None, key
        id_ = LONG_NUMBER.sub("0", "-".join(attributes.get("id", "").split()))
        names = tuple(LONG_NUMBER.sub("0", attributes.get("class", "")).split())
        key = (name, id_, names)
        where = []
        effect: Any = None
        for number in self._of_tag.get(name, ()):
            rule = self.rules[number]
            if rule.element.matches(key):
                where.append(number)
                if not rule.parent and not rule.place:
                    effect = number
                    break
        if where and where[0] != effect:
            effect = tuple(where)
        return START, name, effect, key


class _Tags(dict[str, Kind]):
    """What tags are, as they are written (`SHORT_TAG`); raises `_UncommonError` for one that may go
    on beyond its end.
    """

    def __init__(self, rules: Rules) -> None:
        super().__init__()
        self._read = rules._read_tag

    def __missing__(self, written: str) -> Kind:
        if not CLOSED_TAG.fullmatch(written):
            raise _UncommonError
        if len(self) >= MAX_TAGS:
            self.clear()
        found = self[written] = self._read(written)
        return found


class _Marks(dict[str, str]):
    """What tags leave in a text that is kept as a whole, as they are written; raises
    `_UncommonError` for one that hides what is in it, too.
    """

    def __init__(self, tags: _Tags) -> None:
        super().__init__()
        self._tags = tags

    def __missing__(self, written: str) -> str:
        code, name, effect, _ = self._tags[written]
        if effect == HIDDEN:
            raise _UncommonError
        if len(self) >= MAX_TAGS:
            self.clear()
        is_preformatted = code == START and name in PREFORMATTED_TAGS
        mark = LINE + PREFORMATTED * is_preformatted if code in (BREAK, START, END) else ""
        self[written] = mark
        return mark


def _seek(element: Element) -> str | re.Pattern[str]:
    """Return a text that each start tag of an element contains: the longest part of its id or class
    without numbers. If that is short, return a pattern of its tag's name.
    """
    part = max((element.id or element.name).split("0"), key=len)
    return part if len(part) > 2 else re.compile(rf"<(?i:{re.escape(element.tag)})(?=[\s/>])")


def _found(seek: str | re.Pattern[str], html: str, start: int) -> int:
    """Return where it is, from *start* on, or the page's end."""
    if isinstance(seek, str):
        found = html.find(seek, start)
        return len(html) if found < 0 else found
    match = seek.search(html, start)
    return match.start() if match else len(html)


def _walk(rules: Rules, html: str, reading: Reading | None, is_inside: bool = False) -> str:
    """Return what is kept of *html*, with `LINE` where a line ends; all that is not hidden if it
    *is_inside* an element that is kept. *reading* is told what the rules did.
    """
    keeps = rules._keeps
    rule = next(iter(rules._of_tag.get("body", ())), NO_RULE)
    keep = is_inside or keeps[rule]
    names: list[str] = []  # of the open elements, and for each:
    before: list[tuple[int, bool]] = []  # what was in force before it
    keys: list[Key] = [("body", "", ())]  # with that of the body
    counts: list[dict[str, int]] = [{}]
    own: list[int] = []  # the rule that matched it
    where: dict[str, list[int]] = defaultdict(list)  # which of the open elements have a name
    out: list[str] = []
    line = False
    has_parents, placed = rules._has_parents, rules._placed

    def close(index: int, ends_itself: bool) -> tuple[int, bool]:
        """End the open elements from *index* on; return what is in force then."""
        while len(names) > index:
            name = names.pop()
            where[name].pop()
            state = before.pop()
            if has_parents:
                keys.pop()
            if placed:
                counts.pop()
            if reading and (matched := own.pop()) >= 0 and name not in OPTIONAL_ENDS:
                reading.unbalanced[matched] += not (ends_itself and len(names) == index)
        return state

    try:
        parts = SHORT_TAG.split(html)
        kinds = [*map(rules._tags.__getitem__, parts[1::2])]
    except _UncommonError:
        parts = TAG.split(html)
        kinds = [*map(rules.tag, parts[1::2])]
    kinds.insert(0, rules.tag(""))
    for (code, name, effect, key), text in zip(kinds, parts[::2], strict=True):
        if code == START:
            line = True
            while names and name in ENDED_BY.get(names[-1], ()):
                rule, keep = close(len(names) - 1, False)
            matched = NO_RULE
            if effect is not None and rule != HIDDEN:
                place = 0
                if name in placed and effect != HIDDEN:
                    place = counts[-1][name] = counts[-1].get(name, 0) + 1
                if effect.__class__ is tuple:
                    matched = _chosen(rules.rules, effect, keys[-1], place)
                else:
                    matched = effect
            elif name in placed:
                counts[-1][name] = counts[-1].get(name, 0) + 1
            if len(names) < MAX_DEPTH:
                where[name].append(len(names))
                names.append(name)
                before.append((rule, keep))
                if has_parents:
                    keys.append(key)
                if placed:
                    counts.append({})
                if reading:
                    own.append(matched)
                if matched != NO_RULE:
                    rule, keep = matched, keeps[matched]
                    if reading and matched >= 0:
                        reading.matched[matched] += 1
            if keep and name in PREFORMATTED_TAGS:
                text = LINE + PREFORMATTED + text
        elif code >= END:
            line = line or code == END
            if spots := where.get(name):
                index = spots[-1]
                if index == len(names) - 1 or _reaches(name, index, where):
                    rule, keep = close(index, True)
        elif code == BREAK:
            line = True
        if text:
            if keep:
                if line:
                    out.append(LINE)
                    line = False
                out.append(text)
            if reading and rule >= 0:
                reading.chars[rule] += len(text.strip())
    if names:
        close(0, False)
    return "".join(out)


def _chosen(rules: list[Rule], numbers: tuple[int, ...], parent: Key, place: int) -> int:
    """Return the first of the rules that holds at a place in its parent, or `NO_RULE`."""
    for number in numbers:
        rule = rules[number]
        if (not rule.parent or rule.parent.matches(parent)) and rule.place in (0, place):
            return number
    return NO_RULE


def _reaches(name: str, index: int, where: dict[str, list[int]]) -> bool:
    """Tell whether an end tag may end the open element *index*, with those in it."""
    rank = RANKS.get(name, USUAL_RANK)
    return not any(
        above > rank and where.get(other) and where[other][-1] > index for above, other in RANKED
    )


def _without_skipped(html: str) -> str:
    """Return a page without comments, and without the elements whose text is none of the page."""
    kept: list[str] = []
    start = 0
    missing: set[str] = set()
    while match := SKIPPED.search(html, start):
        kept.append(html[start : match.start()])
        start = _skip(html, match, missing)
    kept.append(html[start:])
    return "".join(kept)


def _skip(html: str, match: re.Match[str], missing: set[str]) -> int:
    """Return where what `SKIPPED` has found ends. *missing* are the names of elements that the rest
    of the page does not end.
    """
    start = match.end()
    if not match[1]:
        end = html.find("-->", start - 2)
        return len(html) if end < 0 else end + 3
    name = match[1].lower()
    if name == "script":
        return _script_end(html, start)
    tag_end = html.find(">", start) + 1 or len(html)
    is_closed = html[tag_end - 2] == "/" and name in ("svg", "math")
    if is_closed or name in missing:
        return tag_end
    if end_tag := SKIPPED_ENDS[name].search(html, start):
        return html.find(">", end_tag.end()) + 1 or len(html)
    missing.add(name)
    return len(html) if name == "style" else tag_end  # all that follows is its


def _script_end(html: str, start: int) -> int:
    """Return where a script ends. In a comment in it another script may begin and end."""
    end_tag = SKIPPED_ENDS["script"].search(html, start)
    if end_tag and html.find("<!--", start, end_tag.start()) < 0:
        return html.find(">", end_tag.end()) + 1 or len(html)
    is_comment = is_inner = False
    for match in SCRIPT_PARTS.finditer(html, start):
        part = match[0][:3].lower()
        if part == "</s" and not is_inner:
            return html.find(">", match.end()) + 1 or len(html)
        if part == "<!-":
            is_comment = is_comment or match[0][-1] != ">"
        elif part == "-->":
            is_comment = is_inner = False
        else:
            is_inner = is_comment and part == "<sc"
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
        # Most lines have no white space to fold.
        elif folded := (
            line.strip(" ") if line.isprintable() and "  " not in line else " ".join(line.split())
        ):
            lines.append(folded)
    return "\n".join(lines)


def decode(body: bytes) -> str:
    """Return the text of a page's bytes: by their mark, else by what the page says, else UTF-8, or
    Windows-1252 if it is not.
    """
    for mark, encoding in MARKS:
        if body.startswith(mark):
            return body.decode(encoding, "replace")
    said = CHARSET.search(body, 0, 4096)
    for encoding in (said[1].decode() if said else "", "utf-8"):
        with suppress(LookupError, ValueError):
            return body.decode(encoding)
    return body.decode("cp1252", "replace")


def _from_xml(text: str) -> Rules:
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise RuleError("it declares a document type; rule files have none")
    root = ElementTree.fromstring(text)  # noqa: S314 - without a document type it has no entities
    if root.tag != "rules":
        raise RuleError(f"its root is {root.tag!r}, not 'rules'")
    return _from_record(dict(root.attrib), [{"action": rule.tag, **rule.attrib} for rule in root])


def _from_json(text: str) -> Rules:
    record = json.loads(text)
    return _from_record(record, record["rules"])


def _from_record(about: dict[str, Any], rules: list[dict[str, Any]]) -> Rules:
    if str(about.get("schema")) != str(SCHEMA):
        raise RuleError(f"its schema is {about.get('schema')!r}, this version reads {SCHEMA}")
    agreement = about.get("agreement")
    return Rules(
        [_rule(rule) for rule in rules],
        str(about.get("site", "")),
        str(about.get("model", "")),
        int(about.get("pages", 0)),
        None if agreement is None else float(agreement),
    )


def _rule(record: dict[str, Any]) -> Rule:
    def element(prefix: str) -> Element:
        return Element(*(str(record.get(prefix + name, "")) for name in ("tag", "id", "class")))

    unknown = record.keys() - FIELDS
    if unknown:
        raise RuleError(
            f"a rule has {', '.join(sorted(unknown))}, which this version does not know"
        )
    return Rule(
        record["action"],
        element(""),
        element("parent-") if "parent-tag" in record else None,
        *(int(record.get(name, 0)) for name in ("place", "pages", "chars")),
    )


FIELDS = set("action tag id class parent-tag parent-id parent-class place pages chars".split())


def main(arguments: list[str]) -> int:
    """Print the text of HTML files by a rule file, or JSON lines of path and text."""
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
                    sys.stderr.write(f"{page}: {rule} never ends here; what is around ends it\n")
    except (RuleError, OSError) as error:
        sys.stderr.write(f"{Path(__file__).stem}: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
