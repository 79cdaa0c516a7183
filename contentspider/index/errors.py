"""Errors of search engines."""

from __future__ import annotations

from contentspider.ground.errors import ContentSpiderError


class EngineError(ContentSpiderError):
    """An engine cannot be used, or refuses what it is asked; to ask again does not help."""


class EngineDownError(EngineError):
    """An engine does not answer, or has too much to do (429, 503): it may be asked again later.

    *wait* is in how many seconds, if the engine says so.
    """

    def __init__(self, message: str, wait: float = 0.0) -> None:
        super().__init__(message)
        self.wait = wait
