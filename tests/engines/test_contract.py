"""The engines of this package keep the contract of `contentspider.testing.engines`."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from contentspider.ground.extras import is_installed
from contentspider.index.engine import EXTRA_OF, Engine
from contentspider.testing.engines import EngineContract, document
from tests.engines.documents import engine
from tests.engines.elasticsearch_proxy import as_elasticsearch
from tests.engines.meilisearch_server import fake_meilisearch
from tests.engines.opensearch_server import opensearch_server
from tests.outside import ASK
from tests.servers import KEY, index_url, postgresql_server, typesense_server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

__all__ = ["engine"]


def sqlite(folder: Path) -> Iterator[str]:
    """Give the URL of an index that is not there yet."""
    yield f"sqlite:{folder / 'pages.db'}"


def tantivy(folder: Path) -> Iterator[str]:
    """Give the URL of an index that is not there yet."""
    yield f"tantivy:{folder / 'pages'}"


def postgresql(_: Path) -> Iterator[str]:
    """Give the URL of an index that is not there yet, on a real server."""
    with index_url(postgresql_server) as made:
        yield made


def typesense(_: Path) -> Iterator[str]:
    """Give the URL of an index that is not there yet, on a real server."""
    with index_url(typesense_server) as made:
        yield made


def opensearch(_: Path) -> Iterator[str]:
    """Give the URL of an index that is not there yet, on a server that speaks as OpenSearch."""
    with index_url(opensearch_server) as made:
        yield made


def elasticsearch(_: Path) -> Iterator[str]:
    """Give the URL of an index that is not there yet, on a server that speaks as Elasticsearch."""
    with index_url(opensearch_server) as made:
        parts = urlsplit(made)
        assert parts.port
        with as_elasticsearch(parts.port) as server:
            yield f"{server}{parts.path}"


def meilisearch(_: Path) -> Iterator[str]:
    """Give the URL of an index that is not there yet, on a server that is no Meilisearch."""
    with fake_meilisearch() as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("MEILISEARCH_API_KEY", KEY)
        yield f"{server.url}/pages"


# Texts whose words an engine does not find by other forms, or by parts without spaces.
# osmem-server has no analyzers for Czech and Thai, and cuts Korean at spaces.
UNKNOWN_TO_OSMEM = ("Naše zahrada", "검색엔진을", "ภาษาไทย")
UNKNOWN = {
    "opensearch": UNKNOWN_TO_OSMEM,
    "elasticsearch": UNKNOWN_TO_OSMEM,
    "typesense": ("검색엔진을",),
    "meilisearch": ("We walk", "He walked", "Naše zahrada"),
}
GIVE: dict[str, Callable[[Path], Iterator[str]]] = {
    "sqlite": sqlite,
    "tantivy": tantivy,
    "postgresql": postgresql,
    "typesense": typesense,
    "opensearch": opensearch,
    "elasticsearch": elasticsearch,
    "meilisearch": meilisearch,
}


@pytest.fixture(params=list(GIVE))
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Give the URL of a new index of each engine."""
    scheme = request.param
    if scheme in EXTRA_OF and not is_installed(EXTRA_OF[scheme]):
        pytest.skip(f"the extra {EXTRA_OF[scheme]} is not installed")
    content = str(request.node.callspec.params.get("content", ""))
    if content.startswith(UNKNOWN.get(scheme, ("\0",))):
        request.applymarker(pytest.mark.xfail(reason=f"{scheme} cannot do that", strict=True))
    yield from GIVE[scheme](tmp_path)


class TestEngines(EngineContract):
    """Each engine passes the contract."""


def test_search_fields_and_dates_are_usable_by_other_clients(engine: Engine, url: str) -> None:
    ferry, old = document(1, title="The ferry"), document(2, title="The ferry")
    for number, day in enumerate(["2026-03-01T10:00+02:00", "2025-03-01", "2026-03-01T00:00Z"], 1):
        title = "The ferry" if number < 3 else "Another"
        engine.upsert([document(number, title=title, published_at=day)])
    engine.flush()
    ask = ASK[url.partition(":")[0]]
    assert list(ask(url, "ferry", "2026-01-01")) == [ferry.id]
    assert sorted(ask(url, "ferry", "2025-01-01")) == [ferry.id, old.id]
    found = engine.get(ferry.id)
    assert found is not None
    assert found["published_at"] == "2026-03-01T08:00:00+00:00"
