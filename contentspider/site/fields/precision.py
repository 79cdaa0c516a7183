"""Chooses the places where the pages of a site show right values.

The pages with a known value are divided in two halves. Candidates are places on pages of the first
half. The second half is held back, to test how precise the candidates are.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from contentspider.site.fields.places import Place

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

MIN_RIGHT = 3  # right values that a place needs, both on the pages of candidates and on the others
MIN_PRECISION = 0.95
MAX_CANDIDATES, MAX_PLACES = 30, 6
MAX_EXAMPLES = 80  # pages; more take longer and teach the same


@dataclass(frozen=True, slots=True)
class LearnedPlace:
    """A place of a field. It gives a value on *given* of the pages that were held back, and *right*
    of these values are equal to the stated value.
    """

    place: Place
    right: int
    given: int

    @classmethod
    def parse(cls, record: Mapping[str, Any]) -> LearnedPlace:
        """Return the place in a record; raises an error of `DAMAGE` if it is damaged."""
        return cls(Place.parse(record["place"]), int(record["right"]), int(record["given"]))


def frequent_places(pages: Iterable[Iterable[Place]]) -> list[Place]:
    """Return the most frequent places of *pages*; each of these has its places.

    The iterables must be in a fixed order, because it decides between places that are equally
    frequent. Sets have another order in each process.
    """
    counts: Counter[Place] = Counter()
    for places in pages:
        counts.update(places)
    return [place for place, count in counts.most_common(MAX_CANDIDATES) if count >= MIN_RIGHT]


def precise_places(
    candidates: Iterable[Place], pages: Sequence[Mapping[Place, bool]]
) -> list[LearnedPlace]:
    """Return the candidates that are precise on both halves of *pages*.

    Each of *pages* maps places to whether their value is right; places without a value are missing.
    Pages with an odd index are held back.
    """
    precise = []
    for place in candidates:
        learned = [page[place] for page in pages[::2] if place in page]
        held_back = [page[place] for page in pages[1::2] if place in page]
        if _is_precise(learned) and _is_precise(held_back):
            precise.append(LearnedPlace(place, sum(held_back), len(held_back)))
    return precise


def _is_precise(values: Sequence[bool]) -> bool:
    return sum(values) >= max(MIN_RIGHT, MIN_PRECISION * len(values))
