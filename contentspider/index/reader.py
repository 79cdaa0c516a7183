"""A shared connection to a search index, for servers that answer many requests."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, TypeVar

from contentspider.index.engine import create_engine
from contentspider.index.errors import EngineDownError, EngineError
from contentspider.index.filters import FilterError

if TYPE_CHECKING:
    from collections.abc import Callable

    from contentspider.index.engine import Engine

Reply = TypeVar("Reply")


class IndexReader:
    """The index at *url*. Requests use it one at a time. After an error it is opened again. If an
    open connection fails, the request is repeated once: the server may have closed it meanwhile.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._engine: Engine | None = None
        self._lock = threading.Lock()

    def call(self, request: Callable[[Engine], Reply]) -> Reply:
        """Return the result of *request* with the opened engine; raises `EngineError`."""
        with self._lock:
            was_open = self._engine is not None
            try:
                return self._call(request)
            except EngineDownError:
                if not was_open:
                    raise
            return self._call(request)

    def _call(self, request: Callable[[Engine], Reply]) -> Reply:
        try:
            if self._engine is None:
                engine = create_engine(self._url)
                engine.open(is_writer=False)
                self._engine = engine
            return request(self._engine)
        except FilterError:  # a mistake in the query; the connection is good
            raise
        except EngineError:
            self.close()
            raise

    def close(self) -> None:
        """Close the connection."""
        if self._engine is not None:
            self._engine.close()
            self._engine = None
