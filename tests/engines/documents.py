"""What tests of engines share: an opened engine, and documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from contentspider.index.engine import create_engine
from contentspider.index.schema import Document

if TYPE_CHECKING:
    from collections.abc import Iterator

    from contentspider.index.engine import Engine


@pytest.fixture
def engine(url: str) -> Iterator[Engine]:
    """Give an opened engine that writes."""
    engine = create_engine(url)
    engine.open(is_writer=True)
    yield engine
    engine.close()


def named(name: str, version: int = 1, **fields: object) -> Document:
    """Return a document whose id and title are its name."""
    own = {"url": f"http://example.org/{name}", "site": "example.org", "title": name}
    return Document(name, "crawl", version, f"hash{version}", own | fields)
