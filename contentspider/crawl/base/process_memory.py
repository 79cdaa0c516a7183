"""The memory of this process: what its limit leaves it, and giving back what is free."""

from __future__ import annotations

import ctypes
import gc
import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

if sys.platform != "win32":
    import resource

MB = 1 << 20
# Sizes of this process in pages: virtual, resident, ... (proc(5)).
SIZES = Path("/proc/self/statm")


def limit() -> float:
    """Return how many bytes of addresses the process may have (``ulimit -v``)."""
    if sys.platform == "win32":
        return math.inf
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return math.inf if soft == resource.RLIM_INFINITY else soft


def spare() -> float:
    """Return how many bytes are left of the limit; infinite without one, or where nobody says."""
    most = limit()
    return most - _pages(0) if most < math.inf else most


def resident() -> int:
    """Return how many bytes the process has in memory; 0 where nobody says."""
    return _pages(1)


def _pages(column: int) -> int:
    with suppress(OSError):
        return int(SIZES.read_bytes().split()[column]) * resource.getpagesize()
    return 0


def give_back() -> None:
    """Give free memory back to the system. By itself glibc keeps what lies below anything in use:
    after large pages, gigabytes.
    """
    with suppress(AttributeError):  # another C library
        ctypes.CDLL(None).malloc_trim(0)


@contextmanager
def no_collection() -> Iterator[None]:
    """Let the garbage collector rest while a page is thousands of objects, none of which stays."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
