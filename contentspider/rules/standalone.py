"""Apply the keep and drop rules of a website to its pages, with lxml alone.

This file needs no other package. Copy it, under any name, to the project that reads pages.
``contentspider rules export`` writes rule files as XML or JSON.

    python standalone.py [--jsonl] RULES FILE...

    from standalone import Rules
    text = Rules.load("rules.xml").text(html)

An element that matches a rule has the rule's action for all text inside it. The innermost matching
element decides, and text outside of all matching elements is dropped.
"""

from __future__ import annotations

import json
import re
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lxml import etree

if TYPE_CHECKING:
    from lxml.etree import _Element

SCHEMA = 1
KEEP, DROP = "keep", "drop"
VALUE = re.compile(r"[A-Za-z0-9_:-]{1,200}", re.ASCII)
LONG_NUMBER = re.compile(r"[0-9]{2,}")
MAX_PLACE = 9
# The tags for which rules may name a place.
PLACED_TAGS = frozenset("td table div section article main center".split())

INLINE_TAGS = frozenset(
    "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark nobr noindex"
    " picture q rb rbc ruby s samp small span strike strong sub sup time tt u var wbr output"
    " o:p mjx-container mjx-math mjx-assistive-mml".split()
)
# Elements whose content is not text of the page.
SKIPPED_TAGS = (
    "script style title template noscript svg math select textarea datalist iframe object applet"
    " canvas audio video map noembed noframes rp rt rtc"
).split()
# Other elements without text that do not end a line.
EMPTY_TAGS = ["img", "input"]
PREFORMATTED_TAGS = frozenset(["pre", "listing", "xmp", "plaintext"])
# Elements that may lack an end tag.
OPTIONAL_ENDS = frozenset("p li dt dd tr td th tbody thead tfoot option colgroup".split())

HIDDEN_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
# libxml2 drops what follows the end of a page's body, which is not always the end of its text.
ENDS_OF_PAGE = re.compile(r"</(?i:body|html)(?=[\s>])[^>]*>")
CHARSET = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([\w:.-]{1,40})""", re.IGNORECASE)
BYTE_ORDER_MARKS = (
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
UNSEEN = "\xad\u200b\u2060\ufeff"
# The rule of text outside of all matching elements.
NO_RULE = -1
# The errors that reading an invalid rule file may raise.
UNREADABLE = (etree.XMLSyntaxError, AttributeError, LookupError, TypeError, ValueError)


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

    def matches(self, node: _Element) -> bool:
        """Tell whether an element of a page matches."""
        return (
            node.tag == self.tag
            and (not self.id or self.id in _names("-".join(node.get("id", "").split())))
            and (not self.name or self.name in _names(node.get("class", "")))
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
        tags = "|".join(map(re.escape, self._of_tag.keys() - OPTIONAL_ENDS)) or "(?!)"
        self._end_tag = re.compile(rf"</((?i:{tags}))(?=[\s>])")
        self._mark = re.compile(rf"<\?(?i:{tags})>(?=</)")

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
            return _from_text(text)
        except UNREADABLE as error:
            raise RuleError(str(error) or repr(error)) from error

    def text(self, html: str | bytes) -> str:
        """Return the text of a page that the rules keep, with one line per block-level element.

        Bytes are decoded by their byte order mark or the page's declaration, or else as UTF-8 or
        Windows-1252.
        """
        return self.read(html).text

    def read(self, html: str | bytes) -> Reading:
        """Return a page's text as `text` does, with the effects of each rule."""
        count = len(self.rules)
        reading = Reading("", [0] * count, [0] * count, [0] * count)
        html = html if isinstance(html, str) else decode(html)
        # A parser does not tell which elements lack their end tag. The others end with a mark.
        root = _parse(self._end_tag.sub(r"<?\1></\1", html))
        ended = _ended(root)
        _simplify(root)
        lines: list[str] = []
        deciding = [NO_RULE]  # the rule of each open element
        for event, node in etree.iterwalk(root, events=("start", "end")):
            if event == "start":
                rule = self._match(node)
                if rule == NO_RULE:
                    rule = deciding[-1]
                else:
                    reading.matched[rule] += 1
                    is_ended = node in ended or node.tag in OPTIONAL_ENDS or node is root
                    reading.unbalanced[rule] += not is_ended
                deciding.append(rule)
                text, is_preformatted = node.text, node.tag in PREFORMATTED_TAGS
                if text and is_preformatted:  # in some of these elements, tags are text
                    text = self._mark.sub("", text)
            else:
                deciding.pop()
                rule, text, is_preformatted = deciding[-1], node.tail, False
            if text and rule != NO_RULE:
                found = _lines(text, is_preformatted)
                reading.chars[rule] += sum(map(len, found))
                if self.rules[rule].action == KEEP:
                    lines += found
        reading.text = "\n".join(lines)
        return reading

    def _match(self, node: _Element) -> int:
        """Return the number of the rule that decides about an element, or `NO_RULE`."""
        for number in self._of_tag.get(node.tag, ()):
            rule = self.rules[number]
            if rule.element.matches(node) and _is_at(node, rule):
                return number
        return NO_RULE


def _is_at(node: _Element, rule: Rule) -> bool:
    """Tell whether an element has the parent and the place that a rule names."""
    if rule.parent:
        parent = node.getparent()
        if parent is None or not rule.parent.matches(parent):
            return False
    before = islice(node.itersiblings(node.tag, preceding=True), rule.place)
    return not rule.place or sum(1 for _ in before) == rule.place - 1


def _names(value: str) -> list[str]:
    """Return the names in an attribute: as they are, and with ``0`` for long numbers. Models know
    names with numbers of pages that number nearly all of their names.
    """
    return [*value.split(), *LONG_NUMBER.sub("0", value).split()]


def _parse(html: str) -> _Element:
    """Return the root element of a page."""
    parser = etree.HTMLParser(huge_tree=True, encoding="utf-8")
    body = ENDS_OF_PAGE.sub("", html).replace("\0", "").encode("utf-8", "replace")
    root = etree.fromstring(body, parser)
    return etree.Element("html") if root is None else root


def _ended(root: _Element) -> set[_Element]:
    """Return the elements that end with a mark. It may be in elements that end with them."""
    ended: set[_Element] = set()
    mark: Any
    for mark in root.iter(etree.Comment, etree.PI):
        # Depending on its version, libxml2 reads a mark as a comment or as an instruction.
        name = (getattr(mark, "target", "") or mark.text.partition("?")[2]).lower()
        node = mark
        while node is not None and node.tag != name:
            is_last = not (node.tail or "").strip() and node.getnext() is None
            node = node.getparent() if is_last else None
        if node is not None:
            ended.add(node)
    return ended


def _simplify(root: _Element) -> None:
    """Reduce a page to block-level elements in its body, with the text of other elements in these,
    and with an empty element in place of each hidden one.
    """
    # All of a page is in its body, even if the markup puts text elsewhere.
    etree.strip_tags(root, "html", "head", "body")
    root.tag = "body"
    root.attrib.clear()
    nodes: Any = root.xpath("descendant::*[@hidden or @style]")
    for node in nodes:
        if _is_hidden(node):
            node.clear(keep_tail=True)
            node.tag = "hr"
    etree.strip_elements(root, *SKIPPED_TAGS, *EMPTY_TAGS, etree.Comment, etree.PI, with_tail=False)
    etree.strip_tags(root, *INLINE_TAGS)


def _is_hidden(node: _Element) -> bool:
    """Tell whether attributes hide their element. Scripts show the panels of tabs, so these count
    as visible.
    """
    has_hidden = node.get("hidden", "until-found") != "until-found"
    if has_hidden and node.get("role") != "tabpanel":
        return True
    return HIDDEN_STYLE.search(node.get("style", "")) is not None


def _lines(text: str, is_preformatted: bool) -> list[str]:
    """Return the lines of a text, with white space folded unless the text is preformatted."""
    if not text.isascii():
        for character in UNSEEN:
            text = text.replace(character, "")
    if is_preformatted:
        return [row.rstrip() for row in text.strip("\r\n").split("\n")]
    line = " ".join(text.split())
    return [line] if line else []


def decode(body: bytes) -> str:
    """Return the text of a page's bytes, decoded by the byte order mark or the page's declaration,
    or else as UTF-8, or as Windows-1252 if it is not UTF-8.
    """
    for mark, encoding in BYTE_ORDER_MARKS:
        if body.startswith(mark):
            return body.decode(encoding, "replace")
    declaration = CHARSET.search(body, 0, 4096)
    for encoding in (declaration[1].decode() if declaration else "", "utf-8"):
        with suppress(LookupError, ValueError):
            return body.decode(encoding)
    return body.decode("cp1252", "replace")


def _from_text(text: str) -> Rules:
    """Return the rules of a rule file: the attributes of the file and of each rule."""
    header: dict[str, Any]
    if text.lstrip()[:1] == "{":
        header = json.loads(text)
        records = header["rules"]
    else:
        if "<!DOCTYPE" in text:
            raise RuleError("the file declares a document type, which rule files must not")
        root: Any = etree.fromstring(text.encode(), etree.XMLParser(resolve_entities=False))
        if root.tag != "rules":
            raise RuleError(f"the root element is {root.tag!r}, not 'rules'")
        header = dict(root.attrib)
        records = [{"action": rule.tag, **rule.attrib} for rule in root.iterchildren("*")]
    if str(header.get("schema")) != str(SCHEMA):
        raise RuleError(f"the schema is {header.get('schema')!r}; this version reads {SCHEMA}")
    agreement = header.get("agreement")
    return Rules(
        [*map(_rule, records)],
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
