"""Reads the values of a user's own fields on a page by selectors, and converts them to types."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime, timezone
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from contentspider.page.about.jsonld import MAX_VALUES, kinds, main_entity, strings_of
from contentspider.page.about.things import StatedThings
from contentspider.page.about.written_dates import read_date
from contentspider.page.words.tidy import tidy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from lxml.etree import _Element

    from contentspider.page.about.metadata import Statements

CSS, XPATH, JSON, META = SELECTORS = ("css", "xpath", "json", "meta")
# A fact of the subject of a page, such as "event.start", for the fields of presets.
THING = "thing"
TEXT, NUMBER, DATE = KINDS = ("text", "number", "date")
# The value of a field: a text or a number, or a list of them if the field has many values.
OwnValue = str | float | list[str] | list[float]
MAX_CHARS = 2_000  # of a text
MAX_DIGITS = 100  # of a number, with its separators
MAX_LIST = 100  # texts or numbers of a list
MAX_MATCHES = 100  # elements of a selector that are read to find one with a value
PATH = re.compile(r"[\w@:-]+(?:\.[\w@:-]+)*")
# A number with its separators: "1 299,50", "1'299.50", "-3".
DIGITS = re.compile(
    r"(?<!\d)(?<!\d[.,])(?:(?<!\w)[-+\u2212])?\d+(?:[.,]\d+|['\u2019\u00a0\u202f ]\d{3}(?!\d))*"
)
LAST_DAY = datetime(9000, 1, 1, tzinfo=timezone.utc)  # events have dates in the future
TERM = re.compile(r"\Ahttps?://schema\.org/(?=\w+\Z)")
# Selectors fail with errors of parsel, lxml, and the regular expressions in XPath (`re:test`).
SELECTOR_ERRORS = (ValueError, TypeError, RuntimeError, OverflowError, re.error)
SPACES = re.compile(r"['\u2019\u00a0\u202f ]")


@dataclass(frozen=True, slots=True)
class OwnValues:
    """The *values* that selectors found on a page, by the field's name. *digest* is the digest of
    the selectors (`FieldsFile.selectors_digest`).
    """

    digest: str
    values: Mapping[str, OwnValue] = field(default_factory=dict)

    @classmethod
    def load(cls, record: Mapping[str, Any]) -> OwnValues:
        """Return the values in a record of `asdict`; raises TypeError for values of other types."""
        values = dict(record["values"])
        for value in values.values():
            entries = value if isinstance(value, list) else [value]
            if not all(isinstance(entry, (str, float)) for entry in entries):
                raise TypeError("an own value is neither text nor number")
        return cls(str(record["digest"]), values)


class Rule(NamedTuple):
    """How the field *name* is read on a page.

    *kind* is the type of its values. *selectors* are pairs of one of `SELECTORS` and an expression.
    The first selector that finds a value counts. With *many* the value is a list of all values that
    this selector finds.
    """

    name: str
    kind: str
    selectors: Sequence[tuple[str, str]]
    many: bool = False


class Source(NamedTuple):
    """The parts of a page that selectors read: its tree, its metadata, and its things."""

    root: _Element
    statements: Statements
    things: StatedThings


def check_selector(way: str, selector: str) -> None:
    """Raise ValueError if a selector is invalid."""
    if way == JSON and not PATH.fullmatch(selector):
        raise ValueError("write names with dots between them, such as offers.price")
    if way not in (CSS, XPATH):
        return
    import parsel
    from cssselect import SelectorError

    page = parsel.Selector("<p>")
    try:
        page.css(selector) if way == CSS else page.xpath(selector)
    except (SelectorError, *SELECTOR_ERRORS) as error:
        raise ValueError(str(error) or "it ends too early") from error


def read_values(
    rules: Iterable[Rule],
    root: _Element,
    statements: Statements,
    on_error: Callable[[str, Exception], None],
) -> dict[str, OwnValue]:
    """Return the values that *rules* find on a page, by the field's name.

    If a selector fails, *on_error* is called with the field's name, and the field gets no value.
    Some selectors fail only on pages that have the selected elements.
    """
    source = Source(root, statements, StatedThings(root, statements))
    values: dict[str, OwnValue] = {}
    for rule in rules:
        try:
            value = _value(rule, source)
        except SELECTOR_ERRORS as error:
            on_error(rule.name, error)
            continue
        if value is not None:
            values[rule.name] = value
    return values


def _value(rule: Rule, source: Source) -> OwnValue | None:
    """Return the value of the first selector that finds one; None if no selector does. A list has
    its entries in the order of the page, each once.
    """
    for way, selector in rule.selectors:
        texts = _texts(way, selector, source)
        is_data, language = way not in (CSS, XPATH), source.statements.language
        candidates = (typed(text, rule.kind, is_data, language) for text in texts)
        values = (value for value in candidates if value is not None)
        if not rule.many:
            value = next(values, None)
            if value is not None:
                return value
        elif entries := list(islice(dict.fromkeys(values), MAX_LIST)):
            return entries  # type: ignore[return-value]
    return None


def _texts(way: str, selector: str, source: Source) -> Iterable[str]:
    """Return the texts that a selector finds, in document order."""
    if way == META:
        return source.statements.meta.get(selector.strip().lower(), ())
    if way == JSON:
        return _texts_at(selector.split("."), source.statements)
    if way == THING:
        kind, fact = selector.split(".")
        return source.things.texts(kind, fact)
    return _selected_texts(way, selector, source.root)


def _selected_texts(way: str, selector: str, root: _Element) -> Iterator[str]:
    """Yield the texts of the elements that a CSS selector or an XPath expression finds."""
    import parsel

    page = parsel.Selector(root=root, type="html")
    matches = page.css(selector) if way == CSS else page.xpath(selector)
    for match in matches[:MAX_MATCHES]:
        is_element = hasattr(match.root, "tag")
        yield str(match.xpath("string()").get() or "") if is_element else str(match.get())


def _texts_at(path: Sequence[str], statements: Statements) -> Iterator[str]:
    """Yield the texts at a *path* into the JSON-LD of a page.

    The first step may be the type of an object, such as ``Product``: types begin with a capital
    letter, properties do not. If the page has several objects of the type, only the object of the
    page's subject (`main_entity`) is read.
    """
    entries = list(statements.entries[:MAX_VALUES])
    first = path[0]
    if first[:1].isupper():
        path = path[1:] or ["name"]
        about, _ = main_entity(entries, [statements.title, *statements.meta.get("og:title", ())])
        entries = [entry for entry in entries if first in kinds(entry)]
        if len(entries) > 1:
            entries = [entry for entry in entries if entry is about]
    for entry in entries:
        yield from _descend(entry, path)


def _descend(value: object, path: Sequence[str]) -> Iterator[str]:
    if isinstance(value, list):
        for each in value[:MAX_VALUES]:
            yield from _descend(each, path)
    elif not path:
        yield from strings_of(value)
    elif isinstance(value, dict):
        yield from _descend(value.get(path[0]), path[1:])


def typed(text: str, kind: str, is_data: bool = False, language: str = "") -> str | float | None:
    """Return the first value of a type in a text, None without any. *is_data* tells that the text
    was written for programs, so that the point in ``1.299`` is a decimal point. The names of months
    are read in the *language* (a tag of BCP 47).

    >>> typed(" 12,90 EUR ", "text"), typed("1.299,00 EUR", "number"), typed("1.299", "number")
    ('12,90 EUR', 1299.0, 1299.0)
    >>> typed("1.299", "number", is_data=True), typed("3 March 2024", "date")
    (1.299, '2024-03-03')
    """
    text = TERM.sub("", tidy(text, MAX_CHARS))
    if kind == NUMBER:
        return number_in(text, is_data)
    if kind == DATE:
        return read_date(text, LAST_DAY, language) or None
    return text or None


def number_in(text: str, is_data: bool = False) -> float | None:
    """Return the first number in a text, None without any (see `number_of`)."""
    match = DIGITS.search(text)
    return number_of(match[0], is_data) if match else None


@lru_cache(maxsize=4_096)  # the pages of a site have the same numbers
def number_of(digits: str, is_data: bool = False) -> float | None:
    """Return the value of digits with separators; None for others, such as the version 1.2.3, and
    for more than `MAX_DIGITS`.

    If there are a point and a comma, the last one is the decimal separator. A single separator
    before three digits separates thousands, unless *is_data*.
    """
    if len(digits) > MAX_DIGITS:
        return None
    digits = SPACES.sub("", digits).replace("\u2212", "-")
    separators = re.findall("[.,]", digits)
    if len(set(separators)) == 2:
        return _with_both_separators(digits, separators[-1])
    groups = re.split("[.,]", digits)
    if _are_thousands(groups) and not (is_data and len(groups) == 2):
        return float("".join(groups))
    return float(".".join(groups)) if len(groups) <= 2 else None


def _with_both_separators(digits: str, decimal: str) -> float | None:
    """Return the value of digits with a point and a comma; *decimal* is the decimal separator."""
    thousands = "," if decimal == "." else "."
    groups = digits.replace(thousands, "").split(decimal)
    return float(".".join(groups)) if len(groups) == 2 else None


def _are_thousands(groups: list[str]) -> bool:
    """Tell whether groups of digits form a whole number, with separators between thousands."""
    if len(groups) == 1 or not groups[0].strip("+-0"):
        return False
    return all(len(group) == 3 for group in groups[1:])
