"""Runs contentspider's command line while some of its functions fail.

The environment variable FAULTS has lines of the form ``MODULE:NAME ERROR [PATH]``: the function or
method raises the error, at once, or only for pages whose address ends with the path.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

ERRORS: dict[str, Callable[[], Exception]] = {
    "KeyError": lambda: KeyError("tea"),
    "MemoryError": MemoryError,
    "ENOSPC": lambda: OSError(28, "No space left on device"),
}


def install(fault: str) -> None:
    """Let a function fail as a line of FAULTS says."""
    place, error, *path = fault.split()
    module_name, _, name = place.partition(":")
    holder: Any = import_module(module_name)
    *owners, name = name.split(".")
    for owner in owners:
        holder = getattr(holder, owner)
    function = getattr(holder, name)

    def failing(*values: Any, **options: Any) -> Any:
        urls = (str(getattr(value, "url", "")) for value in values)
        if not path or any(url.endswith(path[0]) for url in urls):
            raise ERRORS[error]()
        return function(*values, **options)

    setattr(holder, name, failing)


if __name__ == "__main__":
    for line in filter(None, os.environ.get("FAULTS", "").splitlines()):
        install(line)
    from contentspider.cli import main

    sys.exit(main())
