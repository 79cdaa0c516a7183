"""The engines that need no server, and a book of twenty pages with its index."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from contentspider.index.engine import create_engine
from tests.indexes import Crawls, Memory

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from contentspider.index.engine import Engine


@pytest.fixture(params=["sqlite", "tantivy"])
def embedded_engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    """Give a writer of a new index in each embedded engine."""
    if request.param == "tantivy":
        pytest.importorskip("tantivy")
    opened = create_engine(f"{request.param}:{tmp_path / 'index'}")
    opened.open(is_writer=True)
    yield opened
    opened.close()


@pytest.fixture
def crawls(tmp_path: Path) -> Iterator[Crawls]:
    """Give a book of twenty pages."""
    found = Crawls(tmp_path)
    found.crawl({number: f"title {number}" for number in range(20)})
    yield found
    found.close()


@pytest.fixture
def engine(crawls: Crawls) -> Memory:
    """Return an index that is up to date."""
    engine = Memory()
    report = crawls.sync(engine).run()
    assert (report.upserted, report.deleted) == (20, 0)
    crawls.assert_in(engine)
    return engine
