"""The connection to an index that servers share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from contentspider.index import reader
from contentspider.index.errors import EngineDownError, EngineError
from contentspider.index.filters import FilterError

if TYPE_CHECKING:
    from collections.abc import Iterator


class Connection:
    """An engine that is opened and closed."""

    opened = closed = 0

    def open(self, is_writer: bool) -> str:
        Connection.opened += 1
        return "identity"

    def close(self) -> None:
        Connection.closed += 1


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch) -> Iterator[reader.IndexReader]:
    monkeypatch.setattr(reader, "create_engine", lambda url: Connection())
    Connection.opened = Connection.closed = 0
    yield reader.IndexReader("any:index")


def failing(*errors: Exception | None) -> Any:
    """Return a request that raises these errors, one at each call, and returns 1 for None."""
    remaining = list(errors)

    def request(engine: object) -> int:
        if error := remaining.pop(0):
            raise error
        return 1

    return request


def test_request_is_repeated_if_the_open_connection_was_closed(index: reader.IndexReader) -> None:
    assert index.call(failing(None)) == 1
    assert index.call(failing(EngineDownError("closed"), None)) == 1
    assert (Connection.opened, Connection.closed) == (2, 1)
    with pytest.raises(EngineDownError, match="twice"):
        index.call(failing(EngineDownError("once"), EngineDownError("twice")))
    with pytest.raises(EngineDownError, match="once"):
        index.call(failing(EngineDownError("once"), None))
    assert (Connection.opened, Connection.closed) == (4, 4)


def test_request_with_an_error_is_not_repeated(index: reader.IndexReader) -> None:
    for error, closed in ((FilterError("wrong"), 0), (EngineError("broken"), 1)):
        index.call(failing(None))
        with pytest.raises(type(error)):
            index.call(failing(error, None))
        assert Connection.closed == closed
