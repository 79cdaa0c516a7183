"""The metrics of crawls, models and an index, for Prometheus."""

from __future__ import annotations

import logging
from collections import Counter
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from operator import methodcaller
from typing import TYPE_CHECKING, Any

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily

from contentspider.ground.errors import DAMAGE, ContentSpiderError
from contentspider.index.engine import Query
from contentspider.index.marks import changes_behind
from contentspider.site.models.folder import read_manifest
from contentspider.site.own.quality import Quality
from contentspider.state.crawls.books import read_book
from contentspider.state.crawls.entries import Entries

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from contentspider.index.engine import Engine
    from contentspider.state.stores.models import ModelStore

logger = logging.getLogger(__name__)

CONTENT_TYPE = CONTENT_TYPE_LATEST
# Each metric with its description and its labels.
CRAWL_METRICS = {
    "contentspider_crawl_ended_timestamp_seconds": ("The end of the last crawl", ["crawl"]),
    "contentspider_crawl_complete": ("Whether the last crawl saw the whole site", ["crawl"]),
    "contentspider_crawl_pages": ("The site's pages after the last crawl", ["crawl"]),
    "contentspider_crawl_changes": ("Changes that the last crawl has seen", ["crawl", "change"]),
    "contentspider_crawl_addresses": ("Addresses of the last crawl", ["crawl", "state"]),
}
INDEX_METRICS = {
    "contentspider_index_up": ("Whether the index answers searches", []),
    "contentspider_index_documents": ("Documents in the index", ["site"]),
    "contentspider_index_changes_behind": ("Changed pages that the index lacks", ["crawl"]),
}
MODEL_METRICS = {
    "contentspider_model_f1": ("F1 of the present model", ["site", "kind"]),
    "contentspider_model_learned_timestamp_seconds": ("When a model was learned", ["site"]),
}

UNREADABLE = "contentspider_unreadable_files"

# A value of a metric: the metric's name, the values of its labels, and the value.
Sample = tuple[str, list[str], float]


@dataclass(frozen=True, eq=False)
class Metrics:
    """Collects metrics of crawls from their *books*, of the *models* in a store,
    and of an index. Files that cannot be read are left out, and counted.

    *call_index* calls a function with the opened index; None without an index.
    """

    books: Sequence[Path]
    models: ModelStore
    call_index: Callable[[Callable[[Engine], Any]], Any] | None

    def text(self) -> bytes:
        """Return the metrics in the text format of Prometheus."""
        registry = CollectorRegistry()
        registry.register(self)
        return generate_latest(registry)

    def is_index_up(self) -> bool:
        """Return whether the index answers searches; without an index True."""
        try:
            if self.call_index is not None:
                self.call_index(lambda engine: engine.identity())
        except ContentSpiderError:
            return False
        return True

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield the metrics; Prometheus' client calls this."""
        unreadable = Counter({"book": 0, "model": 0})
        yield from _families(CRAWL_METRICS, self._crawl_samples(unreadable))
        yield from _families(MODEL_METRICS, self._model_samples(unreadable))
        if self.call_index is not None:
            yield from _families(INDEX_METRICS, self._index_samples(self.call_index))
        description = "Files that cannot be read, so that the other metrics lack their values"
        samples = [(UNREADABLE, [kind], float(count)) for kind, count in unreadable.items()]
        yield from _families({UNREADABLE: (description, ["kind"])}, samples)

    def _crawl_samples(self, unreadable: Counter[str]) -> Iterator[Sample]:
        for path in self.books:
            crawl = path.stem
            with _counting(unreadable, "book"), closing(Entries(path)) as entries:
                if results := entries.last_crawl():
                    ended = datetime.fromisoformat(results["ended"]).timestamp()
                    yield "contentspider_crawl_ended_timestamp_seconds", [crawl], ended
                    is_complete = entries.has_all(results["ended"])
                    yield "contentspider_crawl_complete", [crawl], is_complete
                    yield "contentspider_crawl_pages", [crawl], entries.live_count()
                    for change, count in results["changes"].items():
                        yield "contentspider_crawl_changes", [crawl, change], count
                with closing(read_book(path)) as book:
                    states = book.frontier.states()
                for state, count in states.items():
                    yield "contentspider_crawl_addresses", [crawl, state], count

    def _model_samples(self, unreadable: Counter[str]) -> Iterator[Sample]:
        sites: list[str] = []
        with _counting(unreadable, "model"):
            sites = self.models.sites()
        for site in sites:
            with _counting(unreadable, "model"):
                manifest = read_manifest(self.models.place(site))
                learned_at = datetime.fromisoformat(str(manifest["learned_at"])).timestamp()
                yield "contentspider_model_learned_timestamp_seconds", [site], learned_at
                if record := manifest.get("quality"):
                    quality = Quality.parse(record)
                    kind = "measured" if quality.is_measured else "predicted"
                    yield "contentspider_model_f1", [site, kind], quality.f1

    def _index_samples(
        self, call_index: Callable[[Callable[[Engine], Any]], Any]
    ) -> Iterator[Sample]:
        try:
            results = call_index(lambda engine: engine.search(Query("", limit=1)))
        except ContentSpiderError:
            yield "contentspider_index_up", [], 0
            return
        yield "contentspider_index_up", [], 1
        for site, count in results.facets["site"].items():
            yield "contentspider_index_documents", [site], count
        for path in self.books:
            with suppress(ContentSpiderError), closing(Entries(path)) as entries:
                mark = call_index(methodcaller("mark", path.stem))
                behind = changes_behind(entries, mark)
                yield "contentspider_index_changes_behind", [path.stem], behind


@contextmanager
def _counting(unreadable: Counter[str], kind: str) -> Iterator[None]:
    """Count a file of a *kind* that the block cannot read."""
    try:
        yield
    except (ContentSpiderError, FileNotFoundError, *DAMAGE) as error:
        logger.info("a %s is left out of the metrics: %s", kind, error)
        unreadable[kind] += 1


def _families(
    metrics: Mapping[str, tuple[str, list[str]]], samples: Iterable[Sample]
) -> list[GaugeMetricFamily]:
    """Return the *metrics* with their *samples*."""
    families = {
        name: GaugeMetricFamily(name, description, labels=labels)
        for name, (description, labels) in metrics.items()
    }
    for name, label_values, value in samples:
        families[name].add_metric(label_values, value)
    return list(families.values())
