"""Reports on the fields of a site's pages: their places, values, tests and doubts."""

from __future__ import annotations

import logging
from collections import Counter
from contextlib import closing
from dataclasses import asdict, dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

from contentspider.ground.counts import counted
from contentspider.ground.errors import StateError
from contentspider.site.fields.site_fields import FIELD_NAMES, FieldKnowledge
from contentspider.state.crawls.books import read_book
from contentspider.state.crawls.export import books

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from contentspider.page.input.fields_file import FieldsFile
    from contentspider.site.fields.own_fields import OwnKnowledge
    from contentspider.site.models.model import SiteModel

logger = logging.getLogger(__name__)

MAX_PAGES = 20_000  # of a site, whose items are read
MAX_EXAMPLES = 3
# The same value on fewer pages raises no doubt.
MIN_EQUAL = 5
STATEMENTS, EXAMPLES, SELECTOR = "statements", "examples", "selector"
Value = Any  # of a field of an item: a text, a number, or a list of them


@dataclass(frozen=True, slots=True)
class FieldExample:
    """The *value* that a field has on the page at *url*."""

    url: str
    value: Value


@dataclass(slots=True)
class FieldValues:
    """The values of a field in the items of a site: on how many *pages*, the first different ones
    as *examples*, and how many pages have each of the types of values (*types*).
    """

    pages: int = 0
    examples: list[FieldExample] = field(default_factory=list)
    types: Counter[str] = field(default_factory=Counter)

    def add(self, url: str, value: Value) -> None:
        """Add the value of a page, unless it is empty."""
        if value in (None, "", [], {}):
            return
        self.pages += 1
        entries = value if isinstance(value, list) else [value]
        self.types["number" if isinstance(entries[0], (int, float)) else "text"] += 1
        is_new = all(example.value != value for example in self.examples)
        if is_new and len(self.examples) < MAX_EXAMPLES:
            self.examples.append(FieldExample(url, value))


@dataclass(frozen=True, slots=True)
class FieldReport:
    """The knowledge of a field of a site.

    *source* is the origin of its *places*: `STATEMENTS` of pages (metadata), `EXAMPLES` of the
    user, or a `SELECTOR`. *is_own* tells whether it is a field of the user. *with_value* of *pages*
    have a value. *stated* pages of the sample state the field. Some of these pages were held back:
    the places give a value on *tested* of them, and *right* of the values are right. With
    `EXAMPLES` the places fit *right* of *tested* examples. *doubts* name possible mistakes, and the
    remedy.
    """

    name: str
    is_own: bool
    source: str
    pages: int
    with_value: int
    stated: int = 0
    right: int = 0
    tested: int = 0
    places: tuple[str, ...] = ()
    examples: tuple[FieldExample, ...] = ()
    doubts: tuple[str, ...] = ()

    @property
    def precision(self) -> float | None:
        """The share of right values among those tested; None if none was tested."""
        return round(self.right / self.tested, 4) if self.tested else None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields that ``contentspider fields --json`` prints."""
        return asdict(self) | {"precision": self.precision}


def field_reports(
    model: SiteModel, items: Iterable[Mapping[str, Any]], file: FieldsFile | None = None
) -> list[FieldReport]:
    """Return a report on each field of a site, from its *model* and the *items* of its pages.
    *file* has the user's fields; without it, the fields of the model and of the items count.
    """
    values = {name: FieldValues() for name in FIELD_NAMES}
    own_values: dict[str, FieldValues] = {}
    pages = 0
    for item in islice(items, MAX_PAGES):
        pages += 1
        for name, field_values in values.items():
            field_values.add(item["url"], item.get(name))
        fields = item.get("fields")
        for name, value in fields.items() if isinstance(fields, dict) else ():
            own_values.setdefault(name, FieldValues()).add(item["url"], value)
    reports = [
        _report(name, model.fields.get(name, FieldKnowledge()), pages, field_values)
        for name, field_values in values.items()
    ]
    names = [each.name for each in file.fields] if file else [*model.own_fields, *own_values]
    is_outdated = file is not None and file.examples_digest != model.examples_digest
    for name in dict.fromkeys(names):
        knowledge = model.own_fields.get(name)
        field_values = own_values.get(name, FieldValues())
        reports.append(_own_report(name, knowledge, pages, field_values, is_outdated))
    return reports


def stored_items(site: str, state_dir: str) -> Iterator[Mapping[str, Any]]:
    """Yield the items of a site's live pages from all books.

    A damaged book is left out with a warning, because it may belong to another crawl.
    """
    for path in books(state_dir):
        yield from _items(path, site)


def _items(path: Path, site: str) -> Iterator[Mapping[str, Any]]:
    try:
        with closing(read_book(path)) as book:
            for page in book.known.live():
                if page.site == site and (item := book.known.item(page.id)):
                    yield item | {"url": page.url}
    except StateError as error:
        logger.warning("%s is left out: %s", path.name, error)


def _report(name: str, knowledge: FieldKnowledge, pages: int, values: FieldValues) -> FieldReport:
    """Return the report on a field of all items, such as the date of publication."""
    doubts = []
    if not knowledge.trusts_stated:
        doubts.append(
            f"all {counted(knowledge.stated, 'pages')} of the sample that state it state the same"
            " value, but show others: the statements are not used. If the site is yours, correct"
            " its template"
        )
    elif knowledge.stated and not knowledge.places and values.pages < pages:
        doubts.append(
            "no place of the template shows the stated values on enough pages, so that pages which"
            " do not state it have a value by general rules only. If they show it, make it a field"
            " of your own, with examples"
        )
    return FieldReport(
        name,
        is_own=False,
        source=STATEMENTS,
        pages=pages,
        with_value=values.pages,
        stated=knowledge.stated,
        right=sum(learned.right for learned in knowledge.places),
        tested=sum(learned.given for learned in knowledge.places),
        places=tuple(str(learned.place) for learned in knowledge.places),
        examples=tuple(values.examples),
        doubts=tuple(doubts),
    )


def _own_report(
    name: str, knowledge: OwnKnowledge | None, pages: int, values: FieldValues, is_outdated: bool
) -> FieldReport:
    """Return the report on a field of the user. *is_outdated*: the file has changed since the site
    was learned.
    """
    doubts = list(knowledge.doubts) if knowledge else []
    if is_outdated:
        doubts.append("the file of fields has changed since the site was learned: crawl it again")
    doubts += _value_doubts(pages, values, knowledge is None)
    source, right, tested = SELECTOR, 0, 0
    if knowledge is not None:
        source = STATEMENTS if knowledge.stated else EXAMPLES
        right = knowledge.fitting
        tested = knowledge.given if knowledge.stated else knowledge.examples
    return FieldReport(
        name,
        is_own=True,
        source=source,
        pages=pages,
        with_value=values.pages,
        stated=knowledge.stated if knowledge else 0,
        right=right,
        tested=tested,
        places=tuple(map(str, knowledge.places)) if knowledge else (),
        examples=tuple(values.examples),
        doubts=tuple(doubts),
    )


def _value_doubts(pages: int, values: FieldValues, is_selector: bool) -> list[str]:
    """Return the doubts about the values of a field of the user."""
    doubt = ""
    if pages and not values.pages:
        advice = "check its selector" if is_selector else "give other examples, or use a selector"
        doubt = f"no page has a value: {advice}, and crawl the site again"
    elif len(values.types) > 1:
        counts = " and ".join(
            f"{kind}s on {counted(count, 'pages')}" for kind, count in values.types.items()
        )
        doubt = (
            f"the type of the field has changed: {counts}. A crawl without --due reads all pages"
            " again"
        )
    elif len(values.examples) == 1 and values.pages >= MIN_EQUAL:
        doubt = (
            f"all {counted(values.pages, 'pages')} with a value have the same one: if it is wrong,"
            " use a more precise selector, or examples with different values"
        )
    return [doubt] if doubt else []
