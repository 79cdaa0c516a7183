"""The memory of this process: its limit, its size, and returning free memory to the system."""

from __future__ import annotations

import gc
import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

if sys.platform != "win32":
    import resource

MB = 1 << 20
# The virtual size and the resident size of this process, counted in memory pages (proc(5)).
SIZES = Path("/proc/self/statm")


def memory_limit() -> float:
    """Return the limit of the address space in bytes (``ulimit -v``); infinite without a limit."""
    if sys.platform == "win32":
        return math.inf
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return math.inf if soft == resource.RLIM_INFINITY else soft


def spare_memory() -> float:
    """Return how many bytes the limit leaves to this process; infinite without a limit."""
    limit = memory_limit()
    return limit - virtual_memory() if limit < math.inf else limit


def virtual_memory() -> int:
    """Return the size of the address space in bytes; 0 on systems without ``/proc``."""
    return _size(0)


def resident_memory() -> int:
    """Return how many bytes of the process are in memory; 0 on systems without ``/proc``."""
    return _size(1)


def _size(column: int) -> int:
    """Return a size of this process in bytes, by its column in `SIZES`; 0 without ``/proc``."""
    with suppress(OSError):
        return int(SIZES.read_bytes().split()[column]) * resource.getpagesize()
    return 0


def release_memory() -> None:
    """Return free memory to the system.

    By itself glibc keeps all free memory below the highest block in use. After large web pages
    that can be gigabytes.
    """
    import ctypes  # most commands release nothing

    with suppress(AttributeError):  # another C library than glibc
        ctypes.CDLL(None).malloc_trim(0)


@contextmanager
def no_collection() -> Iterator[None]:
    """Pause the garbage collector while a page creates thousands of short-lived objects."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
