"""The learned knowledge of a user's own fields on a site, and its use: reads their values."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from contentspider.page.input.own_values import TEXT
from contentspider.site.fields.own_places import value_at, value_key
from contentspider.site.fields.places import PathEnds, Place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from contentspider.page.input.page import Page
    from contentspider.page.tree.blocks import Block

    PlaceValues = dict[Place, str | float]


@dataclass(frozen=True, slots=True)
class OwnKnowledge:
    """The places where a site's pages show an own field, and how well they have been tested.

    *kind* is the type of its values. *doubts* are sentences for the user: examples that do not fit,
    and places that contradict each other.

    A field is learned in one of two ways:

    - From examples: the places fit *fitting* of the *examples* on this site, and give a value on
      *given* of the *pages* in the sample. *stated* is 0.
    - From *stated* pages where selectors find the field: *pages* of them were held back, the places
      give a value on *given* of these, and *fitting* of the values are right.
    """

    kind: str = TEXT
    places: tuple[Place, ...] = ()
    examples: int = 0
    fitting: int = 0
    given: int = 0
    pages: int = 0
    doubts: tuple[str, ...] = ()
    stated: int = 0

    def to_record(self) -> dict[str, Any]:
        """Return the knowledge as JSON values, for `parse`."""
        return asdict(self)

    @classmethod
    def parse(cls, record: Mapping[str, Any]) -> OwnKnowledge:
        """Return the knowledge in a record; raises TypeError, KeyError or ValueError if damaged."""
        places = (Place.parse(place) for place in record["places"])
        return cls(
            str(record["kind"]),
            tuple(places),
            int(record["examples"]),
            int(record["fitting"]),
            int(record["given"]),
            int(record["pages"]),
            tuple(map(str, record["doubts"])),
            int(record["stated"]),
        )


class OwnReader:
    """Reads the values of own fields of a site's pages. *knowledge* has the learned knowledge by
    the field's name. *ends_of* returns the paths of places for a block's path.
    """

    def __init__(
        self, knowledge: Mapping[str, OwnKnowledge], ends_of: Callable[[str], list[str]]
    ) -> None:
        self._at: dict[str, list[tuple[str, str, Place]]] = {}
        self._stated: set[str] = set()
        for name, learned in knowledge.items():
            if learned.stated:
                self._stated.add(name)
            for place in learned.places:
                self._at.setdefault(place.path, []).append((name, learned.kind, place))
        self._ends = PathEnds(self._at, ends_of)

    def values(self, page: Page) -> dict[str, str | float]:
        """Return the values of a page by field. A field whose places contradict each other is left
        out.
        """
        values = {
            name: agreed_value(in_places.values())
            for name, in_places in self.place_values(page).items()
        }
        return {name: value for name, value in values.items() if value is not None}

    def place_values(self, page: Page) -> dict[str, PlaceValues]:
        """Return for each field the first value that a page has in each of its places.

        If stated pages taught the field, a place with values in several blocks of the page is left
        out: it shows the values of the entries of a listing, or of related products.
        """
        values_of: dict[str, dict[Place, str | float | None]] = {}
        for name, kind, place, block, before in self._blocks_in_places(page):
            values = values_of.setdefault(name, {})
            is_repeated = place in values
            if is_repeated and name not in self._stated:
                continue
            value = value_at(place, block, before, kind)
            if value is not None:
                values[place] = None if is_repeated else value
        return {
            name: {place: value for place, value in values.items() if value is not None}
            for name, values in values_of.items()
        }

    def _blocks_in_places(self, page: Page) -> Iterator[tuple[str, str, Place, Block, str]]:
        """Yield for each block in a place the field's name, its type, the place, the block, and the
        text of the block before it.
        """
        before = ""
        for block in page.content.blocks:
            for path in self._ends.of(block.path):
                for name, kind, place in self._at[path]:
                    yield name, kind, place, block, before
            before = block.text


class OneFieldReader:
    """Reads the values of one field in *places* of pages, for learning. *stated* is the number of
    pages that state the field, 0 if it is learned from examples.
    """

    def __init__(
        self,
        kind: str,
        places: Iterable[Place],
        ends_of: Callable[[str], list[str]],
        stated: int = 0,
    ) -> None:
        knowledge = OwnKnowledge(kind, tuple(places), stated=stated)
        self._reader = OwnReader({"": knowledge}, ends_of)

    def values(self, page: Page) -> PlaceValues:
        """Return the first value that a page has in each of the places."""
        return self._reader.place_values(page).get("", {})


def agreed_value(values: Iterable[str | float]) -> str | float | None:
    """Return the value that all *values* have; None if they differ, and for an empty iterable."""
    by_key = {value_key(value): value for value in values}
    return next(iter(by_key.values())) if len(by_key) == 1 else None
