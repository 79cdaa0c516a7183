"""What a site teaches of a user's own fields, and the values that its pages show."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from contentspider.page.input.own_values import TEXT
from contentspider.site.fields.own_places import value_at, value_key
from contentspider.site.fields.places import PathEnds, Place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from contentspider.page.input.page import Page

    Values = dict[Place, str | float]


@dataclass(frozen=True, slots=True)
class OwnKnowledge:
    """What the examples of a field teach on a site.

    *kind* is the type of its values. *places* fit *fitting* of the *examples* of this site, and
    give a value on *given* of the *pages* of the sample. *doubts* says which examples do not fit,
    and where places contradict each other. If selectors found the examples, *stated* is the number
    of their pages, *pages* were held back, and *fitting* values of the *given* are right.
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
    """Reads the values of own fields of pages, by the knowledge of their site. *ends_of* returns
    the paths of places for a block's path.
    """

    def __init__(
        self, known: Mapping[str, OwnKnowledge], ends_of: Callable[[str], list[str]]
    ) -> None:
        self._at: dict[str, list[tuple[str, str, Place]]] = {}
        for name, knowledge in known.items():
            for place in knowledge.places:
                self._at.setdefault(place.path, []).append((name, knowledge.kind, place))
        self._ends = PathEnds(self._at, ends_of)

    def values(self, page: Page) -> dict[str, str | float]:
        """Return the values of a page by field. A field has one if its places do not contradict."""
        agreed = {name: agreed_value(found.values()) for name, found in self.found(page).items()}
        return {name: value for name, value in agreed.items() if value is not None}

    def found(self, page: Page) -> dict[str, Values]:
        """Return for each field the first value that a page has in each of its places."""
        found: dict[str, Values] = {}
        before = ""
        for block in page.content.blocks:
            for path in self._ends.of(block.path):
                for name, kind, place in self._at[path]:
                    values = found.setdefault(name, {})
                    if place not in values:
                        value = value_at(place, block, before, kind)
                        if value is not None:
                            values[place] = value
            before = block.text
        return found


def agreed_value(values: Iterable[str | float]) -> str | float | None:
    """Return the value that all *values* are; None if they differ, or if there are none."""
    by_key = {value_key(value): value for value in values}
    return next(iter(by_key.values())) if len(by_key) == 1 else None
