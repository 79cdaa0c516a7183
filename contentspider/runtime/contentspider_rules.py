"""Apply the keep and drop rules of a website to its pages, with Python's standard library alone.

Copy this file to where pages are to be read. ``contentspider rules export`` writes rule files.

    python contentspider_rules.py [--jsonl] RULES FILE...

    from contentspider_rules import Rules
    text = Rules.load("rules.xml").text(html)

A page is read tag by tag, in time proportional to its length. The innermost element that matches a
rule decides, and what no rule matches is dropped. Elements end where libxml2 ends them.
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

VOID_TAGS = set("area base br col embed hr img input link meta param source track wbr".split())
NO_BREAK_TAGS = frozenset(["img", "input", "wbr"])
# All of a page is in its body, whatever tags it has.
ROOT_TAGS = frozenset("html head body".split())
INLINE_TAGS = frozenset(
    "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark nobr noindex"
    " picture q rb rp rt ruby s samp small span strike strong sub sup time tt u var wbr output"
    " o:p".split()
)
# Their contents are no text of the page.
SKIPPED_TAGS = (
    "script style title template noscript svg math select textarea datalist iframe object applet"
    " canvas audio video map noembed noframes"
).split()
PREFORMATTED_TAGS = frozenset(["pre", "listing", "xmp"])
# Tags that end an open element.
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
# Elements that may end without an end tag.
OPTIONAL_ENDS = frozenset("p li dt dd tr td th tbody thead tfoot option colgroup".split())
# An end tag does not reach beyond open elements of a higher rank.
RANKS = {"p": 10, "div": 150, "td": 160, "th": 160, "tr": 170, "thead": 180, "tbody": 180}
RANKS |= {"tfoot": 180, "table": 190}
DEFAULT_RANK = 100
RANKED = sorted((rank, name) for name, rank in RANKS.items() if rank > DEFAULT_RANK)

FOLD = re.IGNORECASE
# No alternative gives back what it has taken, so that it takes linear time.
TAG = re.compile(
    r"""(</?[a-zA-Z][^>"'=]*(?:(?:=\s*(?:"[^"]*"|'[^']*')?|["'])[^>"'=]*)*>?|<[!?/][^>]*>?)"""
)
# The same where no value has a ">" in it, twice as fast.
SHORT_TAG = re.compile(r"(<[a-zA-Z!?/][^>]*>?)")
# A tag in which no quote is open at its end.
CLOSED_TAG = re.compile(
    r"""</?[a-zA-Z][^>"'=]*(?:(?:=\s*(?:"[^"]*"|'[^']*'|(?!["'\s]))|["'])[^>"'=]*)*>|<[!?/][^>]*>?"""
)
NAME = re.compile(r"</?([^\s/>]+)")
ATTRIBUTE = re.compile(r"""([^\s"'<>/=]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]*)))?""")
# By first letters, of which only those that are there are compared further: far faster.
_LETTERS = {letter for tag in SKIPPED_TAGS for letter in (tag[0], tag[0].upper())}
_REST = {
    letter: "|".join(tag[1:] for tag in SKIPPED_TAGS if tag[0] == letter.lower())
    for letter in sorted(_LETTERS)
}
_NAMES = "|".join(f"{letter}(?i:{rest})" for letter, rest in _REST.items())
SKIPPED = re.compile(f"<(?=[!{''.join(_REST)}])(?:!--|({_NAMES})(?=[\\s/>]))")
SKIPPED_ENDS = {name: re.compile(f"</(?i:{name})(?=[\\s/>])") for name in SKIPPED_TAGS}
SCRIPT_PARTS = re.compile(r"<!--(?:-?>)?|-->|</?script(?=[\s/>])", FOLD)
HIDDEN_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", FOLD)
CHARSET = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([\w:.-]{1,40})""", FOLD)
MARKS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
INVISIBLE = "\xad\u200b\u2060\ufeff"

# Marks of the end of a line, and of the beginning of a preformatted one.
LINE, PREFORMATTED = "\x1e", "\x1f"
MAX_TAGS = 20_000  # in the cache
# What is nested deeper ends where its ancestors do.
MAX_DEPTH = 10_000
# In place of a rule's number: no rule matches, or the page hides the element.
NO_RULE, HIDDEN = -1, -2
# Kinds of tags.
NOTHING, BREAK, START, END, INLINE_END = range(5)
# An element's tag, id and classes.
Key = tuple[str, str, tuple[str, ...]]
# A tag's kind, its name, its effect (None, a rule's number, `HIDDEN`, or a tuple of the rules that
# may match, by where it stands), and its element's key.
Kind = tuple[int, str, Any, Key]
NO_TAG: Kind = (NOTHING, "", None, ("", "", ()))
UNCLOSED: Kind = (NOTHING, "unclosed", None, ("", "", ()))


class RuleError(ValueError):
    """A rule, or a file of rules, is invalid; the message says why."""


@dataclass(frozen=True)
class Element:
    """A tag with an *id* or one *name* of a class, or neither; ``0`` in them is any long number."""

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
        """Tell whether it matches an element with this key."""
        tag, id_, names = key
        return tag == self.tag and self.id in ("", id_) and self.name in ("", *names)


@dataclass(frozen=True)
class Rule:
    """Keep or drop (*action*) what is in an *element*, if its parent is *parent* (None: any), and
    it is the *place*-th of its tag there, from 1 (0: any).

    *pages* and *chars* say how many pages and characters it decided when it was learned.
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
        """Return how particular the rule is: the highest rank wins, then the later rule."""
        element = self.element
        return bool(self.parent), bool(element.id), bool(element.name), bool(self.place)


@dataclass
class Reading:
    """A page's text, and by rule: elements that *matched*, that never end, and characters."""

    text: str
    matched: list[int]
    unbalanced: list[int]
    chars: list[int]


@dataclass
class Rules:
    """The rules of a site, the version of the *model* and the number of *pages* that they were
    learned from, and their *agreement* with the model (F1 of words) on other pages (None: not
    measured). *nested* are pairs of rules, by number, of which the first kept what the second would
    have dropped; files do not have them.

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

    @classmethod
    def load(cls, path: str | Path) -> Rules:
        """Return the rules in an XML or JSON file; raises `RuleError` or OSError."""
        try:
            return cls.parse(Path(path).read_text(encoding="utf-8"))
        except ValueError as error:  # of `parse`, or of the encoding
            raise RuleError(f"{path} has no rules that can be used: {error}") from error

    @classmethod
    def parse(cls, text: str) -> Rules:
        """Return the rules in a file's text, XML or JSON; raises `RuleError`."""
        try:
            return _from_json(text) if text.lstrip()[:1] == "{" else _from_xml(text)
        # XML that cannot be parsed is a SyntaxError.
        except (SyntaxError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise RuleError(str(error) or repr(error)) from error

    def text(self, html: str | bytes) -> str:
        """Return the text of a page that the rules keep, a line a block-level element."""
        return _join(_walk(self, _without_skipped(html), None))

    def read(self, html: str | bytes) -> Reading:
        """Return a page's text as `text` does, and what each rule did."""
        reading = Reading("", *([0] * len(self.rules) for _ in range(3)))
        reading.text = _join(_walk(self, _without_skipped(html), reading))
        return reading

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
    """What tags are, as they are written (`SHORT_TAG`): `UNCLOSED` where a quote is open."""

    def __init__(self, rules: Rules) -> None:
        super().__init__()
        self._read = rules._read_tag

    def __missing__(self, written: str) -> Kind:
        if not CLOSED_TAG.fullmatch(written):
            return UNCLOSED
        if len(self) >= MAX_TAGS:
            self.clear()
        found = self[written] = self._read(written)
        return found


def _walk(rules: Rules, html: str, reading: Reading | None) -> str:
    """Return what is kept of *html*, with `LINE` where a line ends; count into *reading*."""
    keeps = rules._keeps
    rule = next(iter(rules._of_tag.get("body", ())), NO_RULE)
    keep = keeps[rule]
    names: list[str] = []  # of the open elements; the next lists have an entry for each, too
    before: list[tuple[int, bool]] = []  # the rule around it
    keys: list[Key] = [("body", "", ())]
    counts: list[dict[str, int]] = [{}]
    own: list[int] = []  # the rule that matched it
    where: dict[str, list[int]] = defaultdict(list)  # the indexes of open elements by name
    out: list[str] = []
    line = False
    has_parents, placed = rules._has_parents, rules._placed

    def close(index: int, ends_itself: bool) -> tuple[int, bool]:
        """End the open elements from *index* on; return the rule around them."""
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

    parts = SHORT_TAG.split(html)
    kinds = [NO_TAG, *map(rules._tags.__getitem__, parts[1::2])]
    if UNCLOSED in kinds:
        parts = TAG.split(html)
        kinds = [NO_TAG, *map(rules._read_tag, parts[1::2])]
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
    """Return the first of the rules that matches at a place in its parent, or `NO_RULE`."""
    for number in numbers:
        rule = rules[number]
        if (not rule.parent or rule.parent.matches(parent)) and rule.place in (0, place):
            return number
    return NO_RULE


def _reaches(name: str, index: int, where: dict[str, list[int]]) -> bool:
    """Tell whether an end tag may end the open element *index*, with those in it."""
    rank = RANKS.get(name, DEFAULT_RANK)
    return not any(
        above > rank and where.get(other) and where[other][-1] > index for above, other in RANKED
    )


def _without_skipped(html: str | bytes) -> str:
    """Return a page without comments, and without elements whose text is none of the page."""
    html = html if isinstance(html, str) else decode(html)
    kept: list[str] = []
    start = 0
    missing: set[str] = set()
    while match := SKIPPED.search(html, start):
        kept.append(html[start : match.start()])
        start = _skip(html, match, missing)
    kept.append(html[start:])
    return "".join(kept)


def _skip(html: str, match: re.Match[str], missing: set[str]) -> int:
    """Return where a match of `SKIPPED` ends. *missing* names elements without an end tag."""
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
    """Return where a script ends; a comment in it may hold another script."""
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


def _join(text: str) -> str:
    """Return the lines of a text, with white space folded and entities decoded."""
    text = unescape(text)
    if not text.isascii():
        for character in INVISIBLE:
            text = text.replace(character, "")
    lines: list[str] = []
    for line in text.split(LINE):
        if line[:1] == PREFORMATTED:
            lines += [row.rstrip() for row in line[1:].strip("\r\n").split("\n")]
        elif folded := " ".join(line.split()):
            lines.append(folded)
    return "\n".join(lines)


def decode(body: bytes) -> str:
    """Return the text of bytes: by their mark, the page's charset, UTF-8, or Windows-1252."""
    for mark, encoding in MARKS:
        if body.startswith(mark):
            return body.decode(encoding, "replace")
    named = CHARSET.search(body, 0, 4096)
    for encoding in (named[1].decode() if named else "", "utf-8"):
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
        sys.stderr.write("usage: python contentspider_rules.py [--jsonl] RULES FILE...\n")
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
        sys.stderr.write(f"contentspider_rules: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
