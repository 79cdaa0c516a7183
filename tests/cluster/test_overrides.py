"""A crawl on several machines changes a crawl of one process only where this is foreseen."""

from __future__ import annotations

import importlib
import inspect
import pkgutil

from contentspider import cluster

ROOM = f"{cluster.__name__}."


def private_overrides(kind: type) -> set[str]:
    """Return the private members that a class overrides of classes in other rooms."""
    bases = [
        base
        for base in kind.__mro__
        if base.__module__.startswith("contentspider.") and not base.__module__.startswith(ROOM)
    ]
    names = {name for base in bases for name in vars(base)}
    return {name for name in vars(kind) if name.startswith("_") and not name.endswith("__")} & names


def test_cluster_overrides_no_private_members() -> None:
    overrides = {
        f"{kind.__name__}.{name}"
        for module in pkgutil.iter_modules(cluster.__path__, ROOM)
        for _, kind in inspect.getmembers(importlib.import_module(module.name), inspect.isclass)
        if kind.__module__ == module.name
        for name in private_overrides(kind)
    }
    assert overrides == set()
