"""The stored form of pickled objects: plain values with a version, not the objects within."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from contentspider.ground.errors import StateError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    Pickled: TypeAlias = tuple[Callable[..., object], tuple[object, ...]]

# Increased when a class that `pickled` stores changes the values that it stores.
VERSION = 1

T = TypeVar("T")


def pickled(load: Callable[..., object], *values: object) -> Pickled:
    """Return what `__reduce__` returns for an object that *load* makes of *values*.

    The values should be builtin types, arrays, or objects that are pickled in this way themselves:
    then a pickle of another version is recognised before anything else can fail.
    """
    return _restore, (VERSION, load, *values)


def _restore(version: int, load: Callable[..., T], *values: object) -> T:
    """Return the object that was pickled; raises `StateError` for another version's pickle."""
    if version != VERSION:
        raise StateError(
            f"this pickle has the format {version}, but this version of contentspider reads"
            f" {VERSION}: use one version on all machines, or pickle the object again",
            code="pickle-version",
        )
    return load(*values)
