"""Collects the mistakes in a file of sites, so that a person hears of all of them at once."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from contentspider.ground.errors import ContentSpiderError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class SitesFileError(ContentSpiderError):
    """A file of sites is invalid; the message names file, sites and keys. Nothing is crawled."""

    code = "sites-file"


class Mistakes:
    """The mistakes in the file at *path*, each with its place in the file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._texts: dict[str, str] = {}  # with their places

    def note(self, place: str, text: object) -> None:
        """Note a mistake at a *place*, such as "site 'tea', key 'urls': "."""
        self._texts[f"{place}{text}"] = place

    @contextmanager
    def noted(self, place: str) -> Iterator[None]:
        """Note the error that ends this context, if one does."""
        try:
            yield
        except ContentSpiderError as error:
            self.note(place, error)

    def places(self) -> frozenset[str]:
        """Return the places of all mistakes so far."""
        return frozenset(self._texts.values())

    def check(self) -> None:
        """Raise `SitesFileError` with all mistakes, if there are any."""
        if len(self._texts) == 1:
            raise SitesFileError(f"{self._path}: {next(iter(self._texts))}")
        if self._texts:
            lines = "".join(f"\n  {text}" for text in self._texts)
            raise SitesFileError(f"{self._path} has {len(self._texts)} mistakes:{lines}")
