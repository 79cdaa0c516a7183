"""The search engines that are at hand, each behind one face for the contract that all keep."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

from contentspider.index.engine import connect
from contentspider.index.schema import Document, document_fields

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from contentspider.index.engine import Engine


def sqlite(folder: Path) -> Iterator[str]:
    """Give the URL of an index that is not there yet."""
    yield f"sqlite:{folder / 'pages.db'}"


def tantivy(folder: Path) -> Iterator[str]:
    """Give the URL of an index that is not there yet."""
    yield f"tantivy:{folder / 'pages'}"


# By scheme: the package that it needs, and what gives the URL of a new index.
AT_HAND: dict[str, tuple[str, Callable[[Path], Iterator[str]]]] = {
    "tantivy": ("tantivy", tantivy),
    "sqlite": ("sqlite3", sqlite),
}


@pytest.fixture(params=list(AT_HAND))
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Give the URL of a new index of each engine."""
    package, give = AT_HAND[request.param]
    if find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    yield from give(tmp_path)


@pytest.fixture
def engine(url: str) -> Iterator[Engine]:
    """Give an opened engine that writes."""
    engine = connect(url)
    engine.open(is_writer=True)
    yield engine
    engine.close()


def document(number: int, version: int = 1, crawl: str = "e.org", **fields: object) -> Document:
    """Return a document with an id of its own."""
    item = {
        "url": f"http://e.org/{number}",
        "site": "e.org",
        "title": f"Page number {number}",
        "content": "It holds some words.",
        "language": "en",
        "page_type": "article",
        "first_seen": "2026-01-02T03:04:05+00:00",
        "content_markdown": "It holds **some** words.",
    }
    whole = document_fields(item | fields)
    return Document(f"{number:032x}", crawl, version, f"{hash(str(whole)) % 2**64:032x}", whole)


def named(name: str, version: int = 1, **fields: object) -> Document:
    """Return a document whose id and title are its name."""
    own = {"url": f"http://example.org/{name}", "site": "example.org", "title": name}
    return Document(name, "crawl", version, f"hash{version}", own | fields)
