"""Chooses the places in which the pages of a site show right values.

Candidates come from every other page that states a value. The pages between them are held back, so
that they tell how precise a place is.
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
    """A place of a field. On *given* of the pages that were held back it gives a value, and *right*
    of these values equal what the pages state.
    """

    place: Place
    right: int
    given: int

    @classmethod
    def parse(cls, record: Mapping[str, Any]) -> LearnedPlace:
        """Return the place in a record; raises an error of `DAMAGE` if it is damaged."""
        return cls(Place.parse(record["place"]), int(record["right"]), int(record["given"]))


def frequent_places(pages: Iterable[Iterable[Place]]) -> list[Place]:
    """Return the places that most *pages* have, the most frequent first.

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
    """Return the candidates that are precise on the pages that they come from, and on the others.

    Each of *pages* tells for each place with a value whether the value is right. The candidates
    come from the first, the third, the fifth page, and so on.
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
