"""The contract of engines (tests/test_index_engines.py), kept by those of this distribution."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from elasticsearch_proxy import as_elasticsearch
from meilisearch_server import fake_meilisearch
from opensearch_server import opensearch_server
from tests import test_index_engines
from tests.engines import engine
from tests.servers import KEY, index_url, postgresql_server, typesense_server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["engine"]
# The same tests, with the engines of the fixture below.
globals().update(
    {name: test for name, test in vars(test_index_engines).items() if name.startswith("test_")}
)


def postgresql() -> Iterator[str]:
    """Give the URL of an index that is not there yet, on a real server."""
    with index_url(postgresql_server) as made:
        yield made


def typesense() -> Iterator[str]:
    """Give the URL of an index that is not there yet, on a real server."""
    with index_url(typesense_server) as made:
        yield made


def opensearch() -> Iterator[str]:
    """Give the URL of an index that is not there yet, on a server that speaks as OpenSearch."""
    with index_url(opensearch_server) as made:
        yield made


def elasticsearch() -> Iterator[str]:
    """Give the URL of an index that is not there yet, on a server that speaks as Elasticsearch."""
    with index_url(opensearch_server) as made:
        parts = urlsplit(made)
        assert parts.port
        with as_elasticsearch(parts.port) as server:
            yield f"{server}{parts.path}"


def meilisearch() -> Iterator[str]:
    """Give the URL of an index that is not there yet, on a server that is no Meilisearch."""
    with fake_meilisearch() as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("MEILISEARCH_API_KEY", KEY)
        yield f"{server.url}/pages"


# It has no analyzer for Czech, and cuts Korean at spaces.
UNKNOWN_TO_OSMEM = ("Naše zahrada", "검색엔진을")
# By scheme: the package that it needs, and what gives the URL of a new index.
AT_HAND: dict[str, tuple[str, Callable[[], Iterator[str]]]] = {
    "postgresql": ("psycopg", postgresql),
    "typesense": ("typesense", typesense),
    "opensearch": ("opensearchpy", opensearch),
    "elasticsearch": ("elasticsearch", elasticsearch),
    "meilisearch": ("meilisearch", meilisearch),
}


@pytest.fixture(params=list(AT_HAND))
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    """Give the URL of a new index of each engine."""
    package, give = AT_HAND[request.param]
    if find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    content = str(request.node.callspec.params.get("content", ""))
    if give in (opensearch, elasticsearch) and content.startswith(UNKNOWN_TO_OSMEM):
        request.applymarker(pytest.mark.xfail(reason="osmem-server cannot do that", strict=True))
    yield from give()
