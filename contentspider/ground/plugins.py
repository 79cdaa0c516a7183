"""Plug-ins that are chosen by name: from this package, and from entry points."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Generic, TypeVar, cast

Part = TypeVar("Part")


class PlugIns(Generic[Part]):
    """The plug-ins of one kind by name: *shipped* ones, and others from the entry-point *group*.

    >>> words = PlugIns("example.words", {"join": "string:capwords"})
    >>> words.load("join")("two words")
    'Two Words'
    >>> words.load("cut")
    Traceback (most recent call last):
    LookupError: 'cut' is unknown; use one of 'join', or install a package that adds it (entry ...
    """

    def __init__(self, group: str, shipped: Mapping[str, str]) -> None:
        self.group = group
        self.shipped = dict(shipped)

    def names(self) -> list[str]:
        """Return the names of all plug-ins, shipped plug-ins first."""
        added = {entry.name for entry in entry_points(group=self.group)}
        return [*self.shipped, *sorted(added - set(self.shipped))]

    def check(self, name: str) -> None:
        """Raise LookupError, which lists all names, if *name* is unknown."""
        # Looking up entry points takes some ms, and is not needed for shipped plug-ins.
        if name not in self.shipped and name not in self.names():
            raise LookupError(
                f"{name!r} is unknown; use one of {', '.join(map(repr, self.names()))}, or install"
                f" a package that adds it (entry point group {self.group!r})"
            )

    def load(self, name: str) -> Part:
        """Return the plug-in with this *name*; raises LookupError if it is unknown."""
        self.check(name)
        if value := self.shipped.get(name):
            return cast("Part", EntryPoint(name, value, self.group).load())
        return cast("Part", next(iter(entry_points(group=self.group, name=name))).load())
