"""The learned knowledge of a site's fields, and its use: reads the fields of its pages."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from contentspider.ground.pickles import pickled
from contentspider.page.about.authors import author_names
from contentspider.site.design import has_design, named_steps
from contentspider.site.fields.name_lists import ListReader, clean_names
from contentspider.site.fields.own_fields import OwnKnowledge, OwnReader
from contentspider.site.fields.places import (
    PathEnds,
    Place,
    date_places,
    name_places,
    path_ends,
    title_places,
)
from contentspider.site.fields.precision import LearnedPlace
from contentspider.site.title import page_heading

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from contentspider.ground.pickles import Pickled
    from contentspider.page.input.page import Page
    from contentspider.page.tree.blocks import Block

TITLE, PUBLISHED, AUTHOR, SECTION, KEYWORDS = FIELD_NAMES = (
    "title",
    "published_at",
    "author",
    "section",
    "keywords",
)
# Each reads a block of a page in a language.
READERS: dict[str, Callable[[Block, str], Iterator[tuple[Place, str]]]] = {
    TITLE: title_places,
    PUBLISHED: date_places,
    AUTHOR: name_places,
}


@dataclass(frozen=True, slots=True)
class FieldKnowledge:
    """The learned knowledge of a field.

    The *places* of a page are read in this order, until one has a value. *stated* is the number of
    pages in the sample that state the field. *trusts_stated* is False if all of them state one
    value but show different values; then statements are ignored. *distrusted* names the general
    rules (`contentspider.site.fields.shown`) whose values contradict the statements; these rules
    are ignored on pages of the *design* (`contentspider.site.design`) that the contradicted pages
    have (on all pages if it is empty). *common* has the keys of the values that nearly all pages
    have (only of titles).
    """

    places: tuple[LearnedPlace, ...] = ()
    stated: int = 0
    trusts_stated: bool = True
    distrusted: tuple[str, ...] = ()
    common: tuple[str, ...] = ()
    design: tuple[str, ...] = ()

    def to_record(self) -> dict[str, Any]:
        """Return the knowledge as JSON values, for `parse`."""
        return asdict(self)

    @classmethod
    def parse(cls, record: Mapping[str, Any]) -> FieldKnowledge:
        """Return the knowledge in a record; raises an error of `DAMAGE` if it is damaged."""
        return cls(
            tuple(map(LearnedPlace.parse, record["places"])),
            int(record["stated"]),
            bool(record["trusts_stated"]),
            tuple(map(str, record["distrusted"])),
            tuple(map(str, record.get("common", ()))),
            tuple(map(str, record.get("design", ()))),
        )

    def distrusted_on(self, page: Page) -> tuple[str, ...]:
        """Return the general rules that are ignored on a page."""
        is_meant = self.distrusted and has_design(named_steps(page), self.design)
        return self.distrusted if is_meant else ()


NO_KNOWLEDGE = FieldKnowledge()


@dataclass(slots=True)
class SiteFields:
    """Reads the fields of a site's pages. *knowledge* and *own* have the learned knowledge by the
    field's name; *own* has the user's own fields. *slot_of* maps paths of blocks to slots.
    """

    knowledge: Mapping[str, FieldKnowledge]
    slot_of: Callable[[str], str]
    own: Mapping[str, OwnKnowledge] = field(default_factory=dict)
    _readers: dict[str, PlaceReader] = field(init=False, default_factory=dict)
    _list_readers: dict[str, ListReader] = field(init=False, default_factory=dict)
    _own_reader: OwnReader = field(init=False)

    def __post_init__(self) -> None:
        for name, knowledge in self.knowledge.items():
            places = [learned.place for learned in knowledge.places]
            if name in READERS:
                self._readers[name] = PlaceReader(places, READERS[name], self.slot_of)
            else:
                self._list_readers[name] = ListReader(places, self.slot_of)
        self._own_reader = OwnReader(self.own, lambda path: path_ends(self.slot_of(path)))

    @classmethod
    def parse(
        cls,
        records: Mapping[str, Mapping[str, Any]],
        slot_of: Callable[[str], str],
        own_records: Mapping[str, Mapping[str, Any]],
    ) -> SiteFields:
        """Return the fields whose knowledge is in these records by the field's name."""
        knowledge = {name: FieldKnowledge.parse(each) for name, each in records.items()}
        own = {name: OwnKnowledge.parse(each) for name, each in own_records.items()}
        return cls(knowledge, slot_of, own)

    def __reduce__(self) -> Pickled:
        records = {name: each.to_record() for name, each in self.knowledge.items()}
        own_records = {name: each.to_record() for name, each in self.own.items()}
        return pickled(SiteFields.parse, records, self.slot_of, own_records)

    def of(self, name: str) -> FieldKnowledge:
        """Return the learned knowledge of a field."""
        return self.knowledge.get(name, NO_KNOWLEDGE)

    def title(self, page: Page) -> str:
        """Return the heading that a page shows in a learned place of titles, or ""."""
        return page_heading(self._value(TITLE, page))

    def published_at(self, page: Page) -> str:
        """Return the day of publication that a page shows in a learned place, or ""."""
        return self._value(PUBLISHED, page)

    def author(self, page: Page) -> tuple[str, ...]:
        """Return the authors that a page shows in a learned place."""
        text = self._value(AUTHOR, page)
        return author_names([text]) if text else ()

    def section(self, page: Page, title: str) -> tuple[str, ...]:
        """Return the names of the section that a page shows in a learned place. *title* is the
        title of the page.
        """
        return next(iter(self._lists(SECTION, page, title)), ())

    def keywords(self, page: Page, title: str) -> tuple[str, ...]:
        """Return the keywords that a page shows in all learned places."""
        return clean_names(name for names in self._lists(KEYWORDS, page, title) for name in names)

    def own_values(self, page: Page) -> dict[str, str | float]:
        """Return the values of own fields that a page shows in learned places."""
        return self._own_reader.values(page) if self.own else {}

    def unstated(self, page: Page) -> dict[str, bool]:
        """Return the fields, own fields too, that a page does not state as data, and whether it
        shows each of them in a learned place. Fields without places are left out.
        """
        selected = page.own.values if page.own else {}
        own = [
            name for name, learned in self.own.items() if learned.places and name not in selected
        ]
        values = self.own_values(page) if own else {}
        shown = {name: name in values for name in own}
        stated = {*page.metadata.stated, TITLE if page.metadata.title else ""}
        for name, reader in self._readers.items():
            if reader.places and name not in stated:
                shown[name] = bool(self._value(name, page))
        return shown

    def _lists(self, name: str, page: Page, title: str) -> list[tuple[str, ...]]:
        """Return the lists of names that a page shows in learned places, in their order."""
        reader = self._list_readers.get(name)
        if reader is None or not reader.places:
            return []
        values = reader.values(page, title)
        return [values[place] for place in reader.places if place in values]

    def _value(self, name: str, page: Page) -> str:
        reader = self._readers.get(name)
        if reader is None or not reader.places:
            return ""
        values = reader.values(page)
        return next((values[place] for place in reader.places if place in values), "")


class PlaceReader:
    """Reads the values in *places* of pages; *read* yields all ways to read a block."""

    def __init__(
        self,
        places: list[Place],
        read: Callable[[Block, str], Iterator[tuple[Place, str]]],
        slot_of: Callable[[str], str],
    ) -> None:
        self.places = places
        self._read = read
        self._ways: dict[str, dict[Place, Place]] = {}
        for place in places:
            way = Place("", place.way, place.mark, place.end, place.form)
            self._ways.setdefault(place.path, {})[way] = place
        self._ends = PathEnds(self._ways, lambda path: path_ends(slot_of(path)))

    def values(self, page: Page) -> dict[Place, str]:
        """Return the first value that a page has in each of the places."""
        values: dict[Place, str] = {}
        for block in page.content.blocks:
            paths = self._ends.of(block.path)
            if not paths:
                continue
            for way, value in self._read(block, page.hints.language):
                for path in paths:
                    place = self._ways[path].get(way)
                    if place is not None and value:
                        values.setdefault(place, value)
        return values
