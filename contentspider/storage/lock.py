"""A lock that a process holds on a file until it ends, however it ends."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

try:
    import fcntl
except ImportError:  # not a Unix: two crawls of one name are not kept apart there
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from pathlib import Path


def lock_handle(handle: int) -> bool:
    """Lock an open file until it is closed; False if another process has it."""
    if fcntl is not None:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
    return True


class FileLock:
    """An advisory lock on *path*, which is made for it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._handle: int | None = None

    def acquire(self) -> bool:
        """Take the lock; False if another process has it."""
        handle = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644)
        if not lock_handle(handle):
            os.close(handle)
            return False
        self._handle = handle
        return True

    def release(self) -> None:
        """Give the lock back; the file stays, since another process may be about to lock it."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None
