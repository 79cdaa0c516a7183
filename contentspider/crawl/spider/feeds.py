"""Which of the feeds that a site's pages name are read."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from contentspider.ground.addresses import host_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# Feeds of a host that are read in a crawl: its own, its sections', one in each language. Each names
# some ten pages, most of them linked elsewhere.
MAX_FEEDS = 20
# Posts have a feed of their comments each, which no other page names: one that so many pages name
# is that of a section. What a start page names is read at once.
MIN_NAMING = 3
# Of feeds that were named less often so many are remembered; the oldest are forgotten first.
MAX_NAMED = 10_000


class Feeds:
    """Chooses the feeds that a crawl reads, each once."""

    def __init__(self) -> None:
        self._naming: dict[str, int] = {}
        self._chosen: set[str] = set()
        self._counts: Counter[str] = Counter()

    def choose(self, named: Iterable[str], is_start: bool) -> Iterator[str]:
        """Yield those of the feeds that a page has *named* which are to be read now."""
        for feed in dict.fromkeys(named):
            host = host_of(feed)
            if feed in self._chosen or self._counts[host] >= MAX_FEEDS:
                continue
            naming = self._naming.pop(feed, 0) + 1
            if is_start or naming >= MIN_NAMING:
                self._chosen.add(feed)
                self._counts[host] += 1
                yield feed
                continue
            self._naming[feed] = naming
            if len(self._naming) > MAX_NAMED:
                del self._naming[next(iter(self._naming))]
