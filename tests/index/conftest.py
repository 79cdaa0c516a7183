"""The engines that need no server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from contentspider.index.engine import create_engine

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
