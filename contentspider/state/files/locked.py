"""Output files that one process at a time writes."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from filelock import FileLock, Timeout

from contentspider.ground.errors import ContentSpiderError


class LockedFile:
    """Opens *partial*, made if it is not there, while no other process writes *path*.

    Raises `ContentSpiderError` if one does, or if the file cannot be written. *buffering* is that
    of `open`.
    """

    def __init__(self, path: Path, partial: Path, buffering: int = -1) -> None:
        self._lock = FileLock(
            path.with_name(f".{path.name}.lock"), thread_local=False, blocking=False
        )
        try:
            if path.is_dir():
                raise IsADirectoryError(0, "it is a folder")
            self._lock.acquire()
            self.file: BinaryIO = partial.open("r+b" if partial.exists() else "w+b", buffering)
        except Timeout as error:
            raise ContentSpiderError(
                f"{path} is being written by another crawl; give this one another file"
            ) from error
        except OSError as error:
            self._lock.release()
            raise ContentSpiderError(f"{path} cannot be written: {error.strerror}") from error

    def close(self) -> None:
        """Close the file, and let others write it."""
        with suppress(OSError):
            self.file.close()
        Path(self._lock.lock_file).unlink(missing_ok=True)  # before others can have it
        self._lock.release()
